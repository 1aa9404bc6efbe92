"""Free text up to a marker, then JSON of a type: the model may think, so long, and its answer can still be read."""

import constrained

NUMBER = {"type": "integer", "minimum": 0, "maximum": 999}
THINK = constrained.seq("<think>", constrained.until("</think>", max_tokens=80), "\n", NUMBER)

model = constrained.load()
question = "A box holds 6 eggs. How many are in 7 boxes? Think in one sentence inside <think>...</think>, then answer."
result = model.generate(question, THINK, temperature=0.7, seed=1)
print(result.text)
if result.value is not None:
    print("the answer:", int(result.value.rpartition("\n")[2]))
