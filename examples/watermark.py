"""Mark what is written, and find the marks again from the text, the schema and the key alone."""

import tempfile
from pathlib import Path

import constrained
from constrained.watermark import WatermarkConfig, WatermarkKey, detect

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 40}, "summary": {"type": "string", "maxLength": 200}},
    "required": ["name", "summary"],
    "additionalProperties": False,
}

key_file = Path(tempfile.mkdtemp()) / "key.txt"
key_file.write_text(WatermarkKey.generate().text)  # `constrained watermark keygen key.txt` does the same
marks = WatermarkConfig(key_file=str(key_file))

model = constrained.load()
result = model.generate("Describe a lamp as JSON.", SCHEMA, temperature=1.0, seed=7, watermark=marks)
print(result.text)

for name, key in (("the key", marks.load_key()), ("another key", WatermarkKey.generate())):
    found = detect(result.text, model.tokenizer, key=key, config=marks, schema=SCHEMA)
    print(f"{name:12} {found.reason}; {found.num_scored} of {found.num_tokens} tokens scored")
