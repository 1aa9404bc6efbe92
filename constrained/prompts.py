"""What the model is told when it is asked to extract."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["DEFAULT_INSTRUCTIONS", "DEFAULT_TEMPLATE", "Message", "PromptTemplate"]

Message = dict[str, str]
"""One turn of a chat: ``role`` and ``content``."""

DEFAULT_INSTRUCTIONS = "Extract the data from the document as JSON."

_PLACE = re.compile(r"\{(document|instructions|schema)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptTemplate:
    """The turns of an extraction. ``{document}``, ``{instructions}`` and ``{schema}`` are filled in, once.

    >>> PromptTemplate(user="{instructions} {document}").messages("{schema}", "Sum:", schema_text="")
    [{'role': 'user', 'content': 'Sum: {schema}'}]
    """

    user: str
    system: str | None = None

    def messages(self, document: str, instructions: str | None = None, *, schema_text: str | None) -> list[Message]:
        """The chat for one document. Instructions that say ``{document}`` themselves take the place of ``user``."""
        values = {
            "document": document.strip("\n"),
            "instructions": instructions or DEFAULT_INSTRUCTIONS,
            "schema": schema_text or "",
        }
        template = instructions if instructions and "{document}" in instructions else self.user
        messages = [] if self.system is None else [{"role": "system", "content": _filled(self.system, values)}]
        return [*messages, {"role": "user", "content": _filled(template, values)}]


def _filled(template: str, values: dict[str, str]) -> str:
    """All places at once, so that a document may hold such a place as text."""
    return _PLACE.sub(lambda place: values[place[1]], template)


DEFAULT_TEMPLATE = PromptTemplate(user="{document}\n\n{instructions}")
"""Used by ``extract`` unless told otherwise."""
