"""Strings that must stand in the document: no name is made up, and each comes with its place."""

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, Field

import constrained

Quoted = Annotated[str, constrained.Verbatim()]


class Invoice(BaseModel):
    vendor: Quoted
    billed_to: Quoted
    goods: Annotated[list[Quoted], Field(max_length=3)]


model = constrained.load()
text = Path(__file__).with_name("invoice.txt").read_text(encoding="utf-8")
result = model.extract(text, Invoice)
for pointer, (start, end) in result.spans.items():
    print(f"{pointer:12} {start:4} to {end:4}: {text[start:end]}")
