"""JSON Schema to the intermediate form: what a schema allows, exactly, or a refusal that names what is missing."""

from .layout import Layout
from .lower import lower_json_schema

__all__ = ["Layout", "lower_json_schema"]
