"""A choice and a regular expression: plain text, no JSON."""

import constrained

model = constrained.load()

mood = constrained.choice(["happy", "angry", "neutral"])
for review in ("I love this lamp!", "It broke on the first day. Never again."):
    result = model.generate(f"What is the mood of this review: happy, angry, or neutral?\n\n{review}", mood)
    print(f"{result.value:8} {review}")

year = model.generate("In which year did the first people land on the Moon?", constrained.regex(r"(19|20)\d{2}"))
print(year.value)
