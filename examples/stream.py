"""Text as it is written, drawn with a seed: the same seed gives the same text."""

import constrained

model = constrained.load()
stream = model.stream("Write two sentences about the sea.", temperature=0.8, top_p=0.95, seed=7, max_tokens=80)
for piece in stream:
    print(piece, end="", flush=True)
print(f"\n[{stream.result.stop_reason}, {stream.result.usage.sampled_tokens} tokens]")
