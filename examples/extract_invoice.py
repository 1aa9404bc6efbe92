"""A Pydantic model as the output type: the value is an instance of it."""

from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Literal

from pydantic import BaseModel

import constrained


class Invoice(BaseModel):
    invoice_number: str
    vendor: str
    issued: date
    currency: Literal["EUR", "GBP", "USD"]
    total: Decimal


model = constrained.load()
text = Path(__file__).with_name("invoice.txt").read_text(encoding="utf-8")
result = model.extract(text, Invoice)
invoice = result.value
print(f"{invoice.vendor} wants {invoice.total} {invoice.currency}, written on {invoice.issued:%d %B %Y}")
print(f"{result.usage.sampled_tokens} tokens drawn, {result.usage.forced_tokens} forced by the schema")
