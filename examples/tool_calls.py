"""Several tools by their types, triggered by a tag in free text; the value is the list of calls."""

from typing import Literal

from pydantic import BaseModel

import constrained


class Weather(BaseModel):
    city: str
    unit: Literal["celsius", "fahrenheit"]


class Sum(BaseModel):
    numbers: list[int]


TOOLS = constrained.tool_calls({"weather": Weather, "sum": Sum}, required=True, free_text=False)

model = constrained.load()
for request in ("What is the weather in Paris?", "Please add 17 and 25."):
    prompt = f"Call one of the tools weather(city, unit) and sum(numbers). {request}"
    result = model.generate(prompt, TOOLS, whitespace="spaced", max_tokens=80)
    print(request, "->", *(result.value or ["cut off"]))

PARALLEL = constrained.tool_calls({"weather": Weather}, parallel=True, required=True, max_text_tokens=20)
prompt = "Call the tool weather(city, unit) for Paris, then for Rome."
result = model.generate(prompt, PARALLEL, whitespace="spaced", max_tokens=200)
print(prompt, "->", *(result.value or ["cut off"]))
