"""Thinking in a turn of its own, which a special token ends, and the answer in the next: one generation."""

import constrained
from constrained import seq, special, until

NUMBER = {"type": "integer", "minimum": 0, "maximum": 999}
TURNS = seq(
    until(special("<|im_end|>"), max_tokens=60),  # free text, of 60 tokens at most
    "\n",
    special("<|im_start|>"),
    "assistant\nThe answer is ",
    NUMBER,
)

model = constrained.load()
question = "A box holds 6 eggs. How many are in 7 boxes? Say how to find it."
result = model.generate(question, TURNS, temperature=0.5, seed=1)
print(result.text)
print(result.usage.sampled_tokens, "tokens drawn,", result.usage.forced_tokens, "forced")
