"""Our grammar in `model.generate` of transformers: two prompts at once, sampled.

    python examples/with_transformers.py [FOLDER OR HUB ID]

Without an argument it runs the embedded default model.
"""

from __future__ import annotations

import sys
from typing import Literal

import torch
from pydantic import BaseModel
from transformers import AutoModelForCausalLM, AutoTokenizer

from constrained.integrations.transformers import GrammarProcessor
from constrained.model.embedded import default_model_folder

torch.set_num_threads(1)  # more are slower for a small model, and where others use the cores


class Review(BaseModel):
    """What is asked for."""

    sentiment: Literal["good", "mixed", "bad"]
    stars: Literal[1, 2, 3, 4, 5]


source = sys.argv[1] if len(sys.argv) > 1 else default_model_folder(progress=lambda line: print(line, file=sys.stderr))
tokenizer = AutoTokenizer.from_pretrained(source, padding_side="left")
model = AutoModelForCausalLM.from_pretrained(source)
tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token

processor = GrammarProcessor.from_output_type(Review, tokenizer, vocab_size=model.config.vocab_size)
prompts = ["The film was a joy. As JSON: ", "I fell asleep twice. As JSON: "]
inputs = tokenizer(prompts, return_tensors="pt", padding=True)
outputs = model.generate(**inputs, logits_processor=[processor], max_new_tokens=60, do_sample=True)
for text in tokenizer.batch_decode(outputs[:, inputs["input_ids"].shape[1] :], skip_special_tokens=True):
    print(Review.model_validate_json(text))
