"""Views in any AG-UI event stream, whichever framework makes it: `follow(chat, events)`."""

import json
from collections import defaultdict
from collections.abc import AsyncIterable, AsyncIterator, Callable
from typing import Any, Final
from uuid import uuid4

from ag_ui.core import (
    BaseEvent,
    CustomEvent,
    RunAgentInput,
    ToolCallArgsEvent,
    ToolCallChunkEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
    UserMessage,
)

from fanlight.agents.content import NOT_RUN, context_text, parse_arguments
from fanlight.host.calls.turn import Turn
from fanlight.host.conversation import Conversation
from fanlight.protocol.errors import ArgumentError
from fanlight.protocol.jsonrpc import JSONObject

__all__ = ["VIEW_OPENED", "follow", "turn_input"]

VIEW_OPENED: Final = "fanlight.view_opened"
"""The name of the `CUSTOM` event of `follow`. Its value has `view`, `token`, `uri` and `toolCallId`."""


async def follow(
    chat: Conversation, events: AsyncIterable[BaseEvent], *, tool_name: Callable[[str], str] | None = None
) -> AsyncIterator[BaseEvent]:
    """Yield the events of a run, and a `CUSTOM` event named `fanlight.view_opened` when a page can show a View.

    Arguments stream into Views while the model writes them. A call that has no result at the end is cancelled.

    The agent may run its calls with `chat.run_call` or with another adapter of Fanlight. If it has connections to the
    servers of its own, Views get the results from the stream.

    Args:
        chat: The conversation.
        events: The event stream, as objects of `ag_ui.core`.
        tool_name: Returns the name that a tool of the agent has in `chat.tools()`, if the agent has another one for it.
    """
    async with chat.turn() as turn:
        calls = _Calls(turn, tool_name or str)
        announced: set[str] = set()
        async for event in events:
            call_id = await calls.receive(event)
            yield event
            for view in chat.views_of_call(call_id) if call_id is not None else ():
                if view.view not in announced:
                    announced.add(view.view)
                    # The stream is for the page, so the token is in it. It is not part of any message.
                    token = await chat.token(view.view)
                    value = {"view": view.view, "token": token, "uri": view.uri, "toolCallId": call_id}
                    yield CustomEvent(name=VIEW_OPENED, value=value)


class _Calls:
    """Shows Views what the events of a stream say about tool calls."""

    def __init__(self, turn: Turn, tool_name: Callable[[str], str]) -> None:
        self._turn = turn
        self._tool_name = tool_name
        self._texts: defaultdict[str, str] = defaultdict(str)
        self._chunked: str | None = None

    async def receive(self, event: BaseEvent) -> str | None:
        """Handle an event, and return the id of the call that it is about, if any."""
        match event:
            case ToolCallStartEvent():
                return await self._feed(event.tool_call_id, event.tool_call_name, "")
            case ToolCallArgsEvent():
                return await self._feed(event.tool_call_id, None, event.delta)
            case ToolCallChunkEvent():
                self._chunked = event.tool_call_id or self._chunked  # only the first chunk of a call has to have it
                if self._chunked is not None:
                    return await self._feed(self._chunked, event.tool_call_name, event.delta or "")
            case ToolCallResultEvent():
                await self._finish(event.tool_call_id, event.content)
                return event.tool_call_id
        return None

    async def _feed(self, call_id: str, name: str | None, delta: str) -> str:
        self._texts[call_id] += delta
        await self._turn.feed(call_id, None if name is None else self._tool_name(name), delta)
        return call_id

    async def _finish(self, call_id: str, content: Any) -> None:
        """Show the result of a call that was run elsewhere."""
        try:
            arguments = parse_arguments(self._texts[call_id])
        except ArgumentError:
            await self._turn.cancel(call_id, NOT_RUN)  # the result is the agent's, for the model
        else:
            await self._turn.show_result(call_id, arguments, _result(content))


def _result(content: Any) -> JSONObject:
    """Return the result of a tool from what the event has of it: the whole result as JSON, or its content."""
    if not isinstance(content, str):
        parts = [part.model_dump(by_alias=True, exclude_none=True) for part in content]
        return {"content": [part for part in parts if part.get("type") == "text"]}
    try:
        result = json.loads(content)
    except ValueError:
        result = None
    if isinstance(result, dict) and isinstance(result.get("content"), list):
        return result
    return {"content": [{"type": "text", "text": content}]}


async def turn_input(chat: Conversation, run_input: RunAgentInput) -> RunAgentInput:
    """Return the input of a run with what open Views want the model to know, marked as theirs, before the last message.

    Not needed for an agent that has another adapter of Fanlight.
    """
    if (news := context_text(await chat.context())) is None:
        return run_input
    messages = list(run_input.messages)
    messages.insert(max(len(messages) - 1, 0), UserMessage(id=uuid4().hex, content=news))
    return run_input.model_copy(update={"messages": messages})
