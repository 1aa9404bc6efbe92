"""Chat templates: a list of messages becomes the one text that the model was taught to answer.

Templates are Jinja programs that come with a model, so they run in Jinja's sandbox, with the helpers that templates of
Hugging Face models expect (`raise_exception`, `strftime_now`, `tojson` without escapes for HTML).
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import jinja2
from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

from constrained.errors import ChatTemplateError

__all__ = ["ChatTemplate"]


class ChatTemplate:
    """A compiled template and the strings (``bos_token`` ...) that it may write.

    >>> template = ChatTemplate("{{ bos_token }}{% for m in messages %}[{{ m.role }}] {{ m.content }}\\n{% endfor %}",
    ...                         {"bos_token": "<s>"})
    >>> template.render([{"role": "user", "content": "Hi"}])
    '<s>[user] Hi\\n'
    """

    def __init__(self, source: str, special_tokens: Mapping[str, str]) -> None:
        environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])
        environment.filters["tojson"] = _tojson
        environment.globals["raise_exception"] = _refuse
        environment.globals["strftime_now"] = _strftime_now
        self.source = source
        self.special_tokens = dict(special_tokens)
        try:
            self._template = environment.from_string(source)
        except jinja2.TemplateError as error:
            raise ChatTemplateError(f"the model's chat template is not valid Jinja: {error}") from error

    def render(
        self, messages: Sequence[Mapping[str, Any]], *, add_generation_prompt: bool = True, **variables: Any
    ) -> str:
        """The text of ``messages``; ``variables`` are passed on to the template.

        Raises :class:`ChatTemplateError` with the template's own words if it refuses them.
        """
        try:
            return self._template.render(
                messages=messages, add_generation_prompt=add_generation_prompt, **self.special_tokens, **variables
            )
        except jinja2.TemplateError as error:
            raise ChatTemplateError(f"the model's chat template refused the messages: {error}") from error


def _tojson(value: Any, indent: int | None = None, ensure_ascii: bool = False, sort_keys: bool = False) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, sort_keys=sort_keys)


def _refuse(message: str) -> NoReturn:
    raise jinja2.TemplateError(message)


def _strftime_now(pattern: str) -> str:
    return datetime.datetime.now().strftime(pattern)
