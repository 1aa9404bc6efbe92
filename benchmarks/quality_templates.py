"""Prompt templates that the quality benchmark compares; the library's own is among them as `library`.

They differ in what is said of the wanted answer (the names of its properties, its JSON Schema, nothing), in whether
that stands before or after the document, and in whether a worked example goes before, and which.
"""

from __future__ import annotations

from collections.abc import Mapping

from constrained.prompts import DEFAULT_TEMPLATE, PromptTemplate, WorkedExample

_NAMES = "Extract {names} from the document as JSON."
_BEFORE = "{instructions}\n\nDocument:\n{document}"
_AFTER = "Document:\n{document}\n\n{instructions}"

_ENGLISH_EXAMPLE = WorkedExample(
    document=(
        "Order 7731 from Carla Mendes, placed on 3 November 2023.\n"
        "2 desk lamps, 1 rug. Total: 1,056.40 EUR. Express delivery."
    ),
    answer={
        "customer": "Carla Mendes",
        "order_date": "2023-11-03",
        "items": ["desk lamps", "rug"],
        "total": 1056.4,
        "express": True,
        "phone": None,
    },
)

TEMPLATES: Mapping[str, PromptTemplate] = {
    "library": DEFAULT_TEMPLATE,
    "english_example": PromptTemplate(user=_BEFORE, instructions=_NAMES, examples=(_ENGLISH_EXAMPLE,)),
    "names": PromptTemplate(user=_BEFORE, instructions=_NAMES),
    "names_last": PromptTemplate(user=_AFTER, instructions=_NAMES),
    "schema": PromptTemplate(
        user=_BEFORE,
        instructions="Extract data from the document as JSON that follows this JSON Schema:\n{schema}",
    ),
    "bare": PromptTemplate(user="{instructions}\n\n{document}", instructions="Extract the information as JSON."),
}


def example_values(template: PromptTemplate) -> list[str]:
    """Texts and numbers of the examples' answers: in an answer for another document they are leaked, not read.

    >>> example_values(TEMPLATES["english_example"])
    ['Carla Mendes', '2023-11-03', 'desk lamps', 'rug', '1056.4']
    """
    values = [value for example in template.examples for value in example.answer.values()]
    flat = [item for value in values for item in (value if isinstance(value, list) else [value])]
    return [str(value) for value in flat if isinstance(value, str | float)]
