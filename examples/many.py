"""Reads many documents side by side: they share passes, and what all prompts begin with is computed once.

python examples/many.py
"""

import time

from pydantic import BaseModel

import constrained


class Order(BaseModel):
    customer: str
    item: str
    quantity: int


DOCUMENTS = [
    "Hello, this is Carla Mendes. Please send me 3 reading lamps.",
    "Order of Jonas Berg: 12 folding chairs, as soon as you can.",
    "We need 2 carpets for the hall. Yours, Amina Diallo",
    "Dear shop, one kettle (1 piece) for Piet de Vries.",
]

model = constrained.load()
model.extract(DOCUMENTS[0], Order)  # so that both ways below find the beginning of the prompts in the cache


def read_one_by_one() -> list[Order]:
    return [model.extract(document, Order).value for document in DOCUMENTS]


def read_side_by_side() -> list[Order]:
    requests = (model.extraction(document, Order, max_tokens=60, on_budget="close") for document in DOCUMENTS)
    orders = []
    for outcome in model.generate_many(requests, batch_size=4):
        if outcome.error is not None:  # of this document alone
            print(f"document {outcome.index}: {outcome.error}")
            continue
        usage = outcome.result.usage
        print(f"{outcome.value!r}: {usage.forced_tokens} tokens forced, {usage.accepted_tokens} copied")
        orders.append(outcome.value)
    return orders


for read in (read_one_by_one, read_side_by_side):
    started = time.perf_counter()
    orders = read()
    print(f"{read.__name__}: {len(orders)} orders in {time.perf_counter() - started:.1f} s")
