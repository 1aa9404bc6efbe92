"""Record a run, run it again bit by bit, and see what another seed makes of it."""

import tempfile
from pathlib import Path

import constrained
from constrained.determinism import RunRecord, replay

model = constrained.load(numerics="invariant", device="cpu")
file = Path(tempfile.mkdtemp()) / "run.json"
result = model.generate("Name a colour.", constrained.regex("[a-z]{3,12}"), temperature=1.0, seed=7, record=file)
print(result.text)

record = RunRecord.from_file(file)
again = replay(record, model)
print(again.exit_code, again.num_steps, "draws in", again.num_passes, "passes")

other = replay(record, model, seed=8)
print(other.exit_code, other.cause, [str(change) for change in other.explained_by])
