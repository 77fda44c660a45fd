"""A stand-in for a model, which needs no API key: it picks a tool by a word in the prompt."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from typing import Any

from pydantic_ai import ModelMessage, ModelResponse, RetryPromptPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

PEAKS = {"Everest": 8849, "K2": 8611, "Kangchenjunga": 8586, "Lhotse": 8516, "Makalu": 8485}
ROWS = [{"label": name, "value": height} for name, height in PEAKS.items()]
TOOLS: dict[str, tuple[str, dict[str, Any]]] = {
    "your turn": ("__drop_disc", {"column": 4}),
    "chart": ("__draw_chart", {"title": "The five highest mountains", "unit": "m", "rows": ROWS}),
    "meeting": ("__start_booking", {}),
    "play": ("__start_game", {}),
}


def _since_the_last_response(messages: list[ModelMessage]) -> list[ModelMessage]:
    last = max((index for index, message in enumerate(messages) if isinstance(message, ModelResponse)), default=-1)
    return messages[last + 1 :]


async def write(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | dict[int, DeltaToolCall]]:
    """Write a call of the tool that fits the prompt, or text, in small pieces as models do."""
    parts = [part for message in _since_the_last_response(messages) for part in message.parts]
    prompt = [str(part.content) for part in parts if isinstance(part, UserPromptPart)]
    returned = [str(part.content) for part in parts if isinstance(part, ToolReturnPart | RetryPromptPart)]
    words = [word for word in TOOLS if not returned and word in "".join(prompt[:1]).lower()]
    suffix, arguments = TOOLS[words[0]] if words else (None, {})
    tool = next((each.name for each in info.function_tools if suffix and each.name.endswith(suffix)), None)
    pieces = ["I am a demo without a language model. This is what a model would get:", *prompt]
    if returned:
        pieces = returned[0].splitlines()[:1]
    if tool is not None:
        yield {0: DeltaToolCall(tool)}
        pieces = re.findall(".{1,8}", json.dumps(arguments))
    for piece in pieces:
        await asyncio.sleep(0.03)
        yield {0: DeltaToolCall(json_args=piece)} if tool else f"{piece}\n"


MODEL = FunctionModel(stream_function=write)
