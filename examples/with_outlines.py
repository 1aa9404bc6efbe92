"""Our engine in Outlines: its generator, its types, our grammars.

    python examples/with_outlines.py [FOLDER OR HUB ID]

Without an argument it runs the embedded default model.
"""

from __future__ import annotations

import sys
from typing import Literal

import outlines
from pydantic import BaseModel
from transformers import AutoModelForCausalLM, AutoTokenizer

from constrained.integrations.outlines import grammar_processor
from constrained.model.embedded import default_model_folder


class Review(BaseModel):
    """What is asked for."""

    sentiment: Literal["good", "mixed", "bad"]
    stars: Literal[1, 2, 3, 4, 5]


source = sys.argv[1] if len(sys.argv) > 1 else default_model_folder(progress=lambda line: print(line, file=sys.stderr))
model = outlines.from_transformers(AutoModelForCausalLM.from_pretrained(source), AutoTokenizer.from_pretrained(source))
generator = outlines.Generator(model, processor=grammar_processor(model, Review))
print(Review.model_validate_json(generator("The film was a joy. As JSON: ", max_new_tokens=60)))
