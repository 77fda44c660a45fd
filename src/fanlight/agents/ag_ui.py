"""Views in any AG-UI event stream, whichever framework makes it: `follow(chat, events)`."""

import json
from collections import defaultdict
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable
from typing import Any, Final
from urllib.parse import urlsplit
from uuid import uuid4

from ag_ui.core import (
    ActivitySnapshotEvent,
    BaseEvent,
    CustomEvent,
    RunAgentInput,
    RunErrorEvent,
    RunFinishedEvent,
    RunStartedEvent,
    ToolCallArgsEvent,
    ToolCallChunkEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
    UserMessage,
)

from fanlight.agents.content import NOT_RUN, context_text, parse_arguments
from fanlight.host.calls.runner import CallView
from fanlight.host.calls.turn import Turn
from fanlight.host.conversation import Conversation
from fanlight.host.errors import RequestError, UnknownViewError
from fanlight.host.relay.frame import relay_frame
from fanlight.protocol.errors import ArgumentError
from fanlight.protocol.extension import MIME_TYPE
from fanlight.protocol.jsonrpc import JSONObject

__all__ = ["VIEW_OPENED", "follow", "turn_input"]

VIEW_OPENED: Final = "fanlight.view_opened"
"""The name of the `CUSTOM` event of `follow`. Its value has `view`, `token`, `uri` and `toolCallId`."""


_ACTIVITY: Final = "mcp-apps"
_PROXIED: Final = "__proxiedMCPRequest"
_PROXIED_METHODS: Final = frozenset({"ping", "resources/read", "tools/call"})


async def follow(
    chat: Conversation,
    events: AsyncIterable[BaseEvent],
    *,
    tool_name: Callable[[str], str] | None = None,
    relay: RunAgentInput | None = None,
    src: str = "/apps",
) -> AsyncIterator[BaseEvent]:
    """Yield the events of a run, and a `CUSTOM` event named `fanlight.view_opened` when a page can show a View.

    Arguments stream into Views while the model writes them. A call that has no result at the end is cancelled.

    The agent may run its calls with `chat.run_call` or with another adapter of Fanlight. If it has connections to the
    servers of its own, Views get the results from the stream.

    Args:
        chat: The conversation.
        events: The event stream, as objects of `ag_ui.core`.
        tool_name: Returns the name that a tool of the agent has in `chat.tools()`, if the agent has another one for it.
        relay: The input of the run, for front ends that render MCP Apps themselves, such as CopilotKit. With it, each
            call with a View also gives an `ACTIVITY_SNAPSHOT` event of the type `mcp-apps`, and a run that is a request
            of such a front end is answered here, without the agent.
        src: Where pages of such a front end find the host: the path of `Host.wrap`, or a URL if they are of another
            origin.
    """
    if relay is not None and (request := _proxied_request(relay)) is not None:
        if isinstance(events, AsyncGenerator):
            await events.aclose()
        yield RunStartedEvent(thread_id=relay.thread_id, run_id=relay.run_id)
        yield await _answer(chat, relay, request, src)
        return
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
                if relay is not None and isinstance(event, ToolCallResultEvent):
                    yield calls.snapshot(event, view)


def _proxied_request(run_input: RunAgentInput) -> JSONObject | None:
    """Return the request of a View that a run is, or None if it is a run of the agent."""
    props = run_input.forwarded_props
    request = props.get(_PROXIED) if isinstance(props, dict) else None
    return request if isinstance(request, dict) else None


async def _answer(chat: Conversation, run_input: RunAgentInput, request: JSONObject, src: str) -> BaseEvent:
    """Return the event that ends a run which is a request of a View."""
    view, method, params = (
        request.get("serverId") or request.get("serverHash"),
        request.get("method"),
        request.get("params"),
    )
    params = params if isinstance(params, dict) else {}
    try:
        if not isinstance(view, str) or not isinstance(method, str):
            raise RequestError(f"Expected {_PROXIED} to have serverId and method, which are strings.")
        if method not in _PROXIED_METHODS:
            raise RequestError(f"The method is {method!r}, expected one of {', '.join(sorted(_PROXIED_METHODS))}.")
        info = next((each for each in await chat.views() if each.id == view), None)
        if method == "resources/read" and info is not None and params.get("uri") == info.uri:
            result = _frame(info.uri, relay_frame(view, await chat.token(view), src), src)
        else:
            result = await chat.relay(view, method, params)
    except (RequestError, UnknownViewError) as error:
        if method != "tools/call":
            return RunErrorEvent(message=str(error))
        # As a result, because a run that fails is shown as a failure of the agent.
        result = {"content": [{"type": "text", "text": str(error)}], "isError": True}
    return RunFinishedEvent(thread_id=run_input.thread_id, run_id=run_input.run_id, result=result)


def _frame(uri: str, html: str, src: str) -> JSONObject:
    """Return the result of `resources/read` that shows a View: with `<mcp-app>`, which has a sandbox of its own."""
    url = urlsplit(src)
    csp = {"resourceDomains": [f"{url.scheme}://{url.netloc}"]} if url.netloc else {}
    return {"contents": [{"uri": uri, "mimeType": MIME_TYPE, "text": html, "_meta": {"ui": {"csp": csp}}}]}


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

    def snapshot(self, event: ToolCallResultEvent, view: CallView) -> ActivitySnapshotEvent:
        """Return the event that makes a front end show a View itself."""
        try:
            arguments = parse_arguments(self._texts[event.tool_call_id])
        except ArgumentError:
            arguments = {}
        content = {
            "result": _result(event.content),
            "resourceUri": view.uri,
            # The name of the server for the front end. Each View has its own, so that its requests name the View.
            "serverHash": view.view,
            "serverId": view.view,
            "toolInput": arguments,
        }
        return ActivitySnapshotEvent(message_id=view.view, activity_type=_ACTIVITY, content=content, replace=True)

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
    # agno writes a text as JSON, too.
    return {"content": [{"type": "text", "text": result if isinstance(result, str) else content}]}


async def turn_input(chat: Conversation, run_input: RunAgentInput) -> RunAgentInput:
    """Return the input of a run with what open Views want the model to know, marked as theirs, before the last message.

    Not needed for an agent that has another adapter of Fanlight.
    """
    if (news := context_text(await chat.context())) is None:
        return run_input
    messages = list(run_input.messages)
    messages.insert(max(len(messages) - 1, 0), UserMessage(id=uuid4().hex, content=news))
    return run_input.model_copy(update={"messages": messages})
