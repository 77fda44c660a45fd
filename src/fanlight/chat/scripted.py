"""A model that needs no key and no network: it picks a tool by the words of the message, and calls it.

Its answers have the shape of a real model's: text and arguments come in small pieces.
"""

import json
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any, Final

import anyio
from pydantic_ai import ModelMessage, ModelResponse, RetryPromptPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel
from pydantic_ai.tools import ToolDefinition

from fanlight.agents.content import is_error_entry, views_in_entry
from fanlight.dev.arguments import example_arguments

PAUSE: Final = 0.02
"""Seconds between two pieces, so that one sees an answer grow."""
_PIECE: Final = 12
_MAX_TOOLS: Final = 12
_MAX_RESULT: Final = 1_000
_WORD: Final = re.compile(r"[a-z0-9]+")
_COMMON: Final = frozenset(
    re.findall("[a-z]+", "a an and are can do for from i in is it me my of on or please that the to use with you")
)

Piece = str | dict[int, DeltaToolCall]


def scripted_model(pause: float = PAUSE) -> FunctionModel:
    """Return the model. `pause` is the number of seconds between two pieces of an answer."""

    async def write(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Piece]:
        for piece in _answer(messages, info.function_tools):
            await anyio.sleep(pause)
            yield piece

    return FunctionModel(stream_function=write, model_name="scripted")


def _answer(messages: Sequence[ModelMessage], tools: Sequence[ToolDefinition]) -> Iterator[Piece]:
    parts = [part for message in _since_the_last_response(messages) for part in message.parts]
    returned = [part for part in parts if isinstance(part, ToolReturnPart | RetryPromptPart)]
    if returned:
        yield from _pieces(_about_result(returned[-1]))
        return
    prompt = next((_text(part) for part in parts if isinstance(part, UserPromptPart)), "")
    tool = _best_tool(prompt, tools)
    if tool is None:
        yield from _pieces(_help(tools))
        return
    yield from _pieces(f"I call `{tool.name}`.")
    yield {0: DeltaToolCall(tool.name)}
    arguments = _arguments_in(prompt) or example_arguments(tool.parameters_json_schema) or {}
    for piece in _pieces(json.dumps(arguments, ensure_ascii=False)):
        yield {0: DeltaToolCall(json_args=piece)}


def _since_the_last_response(messages: Sequence[ModelMessage]) -> Sequence[ModelMessage]:
    last = max((index for index, message in enumerate(messages) if isinstance(message, ModelResponse)), default=-1)
    return messages[last + 1 :]


def _text(part: UserPromptPart) -> str:
    content = [part.content] if isinstance(part.content, str) else part.content
    return "\n".join(each for each in content if isinstance(each, str))


def _pieces(text: str) -> list[str]:
    return re.findall(f"(?s).{{1,{_PIECE}}}", text)


def _words(text: str) -> set[str]:
    split = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text)  # names of tools, such as getTime
    return {word.removesuffix("s") for word in _WORD.findall(split.lower()) if word not in _COMMON}


def _best_tool(prompt: str, tools: Sequence[ToolDefinition]) -> ToolDefinition | None:
    """Return the tool that shares the most words with a message, or None if none shares any."""
    said = _words(re.sub(r"\{.*\}", "", prompt, flags=re.DOTALL))

    def score(tool: ToolDefinition) -> int:
        title = (tool.metadata or {}).get("title") or ""
        return 3 * len(said & _words(f"{tool.name} {title}")) + len(said & _words(tool.description or ""))

    best = max(tools, key=score, default=None)
    return best if best is not None and score(best) > 0 else None


def _arguments_in(prompt: str) -> dict[str, Any] | None:
    """Return the JSON object in a message, which are the arguments of the call."""
    found = re.search(r"\{.*\}", prompt, re.DOTALL)
    try:
        arguments = json.loads(found[0]) if found else None
    except ValueError:
        return None
    return arguments if isinstance(arguments, dict) else None


def _about_result(part: ToolReturnPart | RetryPromptPart) -> str:
    if isinstance(part, RetryPromptPart):
        return "The call failed, and this model does not try again."
    if views_in_entry(part.metadata) and not is_error_entry(part.metadata):
        return "The View shows the result."
    result = part.model_response_str().strip()[:_MAX_RESULT]
    return (
        f"The tool returned:\n\n> {result.replace(chr(10), chr(10) + '> ')}\n" if result else "The call has finished."
    )


def _help(tools: Sequence[ToolDefinition]) -> str:
    if not tools:
        return "I am a script, not a language model, and I call tools. No server has a tool for me at the moment."
    lines = [f"- **{tool.name}**: {(tool.description or '').strip().partition('. ')[0]}" for tool in tools[:_MAX_TOOLS]]
    return (
        "I am a script, not a language model: I call the tool that has the most words in common with your message, "
        "with the JSON object in it as arguments, or with made-up ones.\n\n" + "\n".join(lines)
    )
