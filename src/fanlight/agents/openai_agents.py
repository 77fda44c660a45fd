"""Views in agents of the OpenAI Agents SDK: `AppsAgent(name=..., chat=chat)`, and `follow` around a streamed run."""

import base64
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, cast

from agents import (
    Agent,
    FunctionTool,
    FunctionToolCustomDataContext,
    RawResponsesStreamEvent,
    RunContextWrapper,
    RunItem,
    RunItemStreamEvent,
    RunResultStreaming,
    Session,
    SessionSettings,
    StreamEvent,
    Tool,
    ToolCallOutputItem,
    ToolOutputFileContent,
    ToolOutputImage,
    ToolOutputText,
    TResponseInputItem,
)
from agents.run_context import TContext
from agents.tool_context import ToolContext
from openai.types.responses import (
    ResponseFunctionCallArgumentsDeltaEvent,
    ResponseFunctionToolCall,
    ResponseOutputItemAddedEvent,
)

from fanlight.agents.content import (
    HISTORY_KEY,
    NOT_RUN,
    Block,
    context_text,
    history_entry,
    parse_arguments,
    result_blocks,
    views_in_entry,
)
from fanlight.host.calls.runner import CallView
from fanlight.host.calls.turn import Turn
from fanlight.host.conversation import Conversation
from fanlight.host.errors import CallCancelledError
from fanlight.protocol.errors import ArgumentError

__all__ = ["AppsAgent", "ViewOpened", "ViewsSession", "follow", "tools", "turn_input", "views_of"]

_Output = str | list[ToolOutputText | ToolOutputImage | ToolOutputFileContent]


@dataclass
class ViewOpened:
    """A page can show a View of a tool call from now on. `follow` yields it among the events of the run."""

    view: str
    """The id, for `<mcp-app view=...>`. Get a token for it with `await chat.token(view)`."""
    uri: str
    """The `ui://` URI of its document."""
    tool_call_id: str
    """The id of the tool call."""
    type: Literal["fanlight_view_opened"] = "fanlight_view_opened"
    """The type of the event."""


@dataclass
class AppsAgent(Agent[TContext]):
    """An `Agent` with the tools of a conversation besides its own, listed for each step of a run.

    All options of `Agent` work as they do there.
    """

    chat: Conversation = field(kw_only=True)
    """The conversation, from `host.conversation(...)`."""

    async def get_all_tools(self, run_context: RunContextWrapper[TContext]) -> list[Tool]:
        """Return the agent's own tools, and those of servers and open Views."""
        return [*await super().get_all_tools(run_context), *await tools(self.chat)]


async def tools(chat: Conversation) -> list[Tool]:
    """Return the tools of servers and open Views as they are now, for an `Agent` that is made for one run."""
    return [
        FunctionTool(
            name=tool.name,
            description=tool.description,
            params_json_schema=tool.input_schema,
            on_invoke_tool=partial(_invoke, chat, tool.name),
            strict_json_schema=False,
            custom_data_extractor=partial(_custom_data, chat),
        )
        for tool in await chat.tools()
    ]


async def _invoke(chat: Conversation, name: str, context: ToolContext[Any], text: str) -> _Output:
    try:
        arguments = parse_arguments(text)
    except ArgumentError as error:
        return str(error)
    try:
        call = await chat.run_call(context.tool_call_id, name, arguments)
    except CallCancelledError as error:
        return str(error)
    news = context_text(await chat.context())
    return _output([*result_blocks(call), *([] if news is None else [news])])


def _output(blocks: list[Block]) -> _Output:
    texts = [block for block in blocks if isinstance(block, str)]
    return "\n".join(texts) if len(texts) == len(blocks) else [_structured(block) for block in blocks]


def _structured(block: Block) -> ToolOutputText | ToolOutputImage | ToolOutputFileContent:
    if isinstance(block, str):
        return ToolOutputText(text=block)
    url = f"data:{block.mime_type};base64,{base64.b64encode(block.data).decode()}"
    match block.mime_type.split("/"):
        case ["image", _]:
            return ToolOutputImage(image_url=url)
        case ["audio" | "video", _]:
            return ToolOutputText(text=str(block))  # no model API takes them as the output of a tool
        case [_, subtype]:
            return ToolOutputFileContent(file_data=url, filename=f"result.{subtype.partition('+')[0]}")
    return ToolOutputText(text=str(block))


def _custom_data(chat: Conversation, context: FunctionToolCustomDataContext) -> dict[str, Any] | None:
    views = chat.views_of_call(context.tool_context.tool_call_id)
    return history_entry(views) if views else None


async def turn_input(chat: Conversation, input: str | list[TResponseInputItem]) -> list[TResponseInputItem]:
    """Return the input of a run: what open Views want the model to know, marked as theirs, and what the user wrote."""
    items: list[TResponseInputItem] = [{"role": "user", "content": input}] if isinstance(input, str) else input
    news = context_text(await chat.context())
    return items if news is None else [{"role": "user", "content": news}, *items]


async def follow(chat: Conversation, result: RunResultStreaming) -> AsyncIterator[StreamEvent | ViewOpened]:
    """Yield the events of a streamed run, and `ViewOpened` when a page can show a View.

    Arguments stream into Views while the model writes them. A call that is never run is cancelled. Follow a run to its
    end, also after `result.cancel()`.

    Args:
        chat: The conversation whose tools the agent has.
        result: What `Runner.run_streamed(...)` returned.
    """
    opened: list[ViewOpened] = []

    def keep(call_id: str, view: CallView) -> None:
        opened.append(ViewOpened(view.view, view.uri, call_id))

    async with chat.turn(on_view=keep) as turn:
        calls: dict[int, str] = {}
        async for event in result.stream_events():
            await _feed(turn, calls, event)
            while opened:
                yield opened.pop(0)
            yield event


async def _feed(turn: Turn, calls: dict[int, str], event: StreamEvent) -> None:
    """Show Views what the model writes. `calls` has the ids of the calls of a response by their index in it."""
    match event:
        case RawResponsesStreamEvent(
            data=ResponseOutputItemAddedEvent(item=ResponseFunctionToolCall() as call, output_index=index)
        ):
            calls[index] = call.call_id
            await turn.feed(call.call_id, call.name, call.arguments or "")
        case RawResponsesStreamEvent(data=ResponseFunctionCallArgumentsDeltaEvent(output_index=index, delta=delta)) if (
            index in calls
        ):
            await turn.feed(calls[index], None, delta)
        case RunItemStreamEvent(item=ToolCallOutputItem() as output) if output.call_id is not None:
            # A call that has an output and was not run had invalid arguments, or a guardrail rejected it.
            await turn.cancel(output.call_id, NOT_RUN)


class ViewsSession:
    """Keeps the Views of tool calls in a session of the framework, in a key that no model is given.

    Args:
        chat: The conversation.
        session: The session that stores the items, such as `SQLiteSession`. It has to store them as they are.
    """

    def __init__(self, chat: Conversation, session: Session) -> None:
        self.session_id = session.session_id
        """The id of the session."""
        self._chat = chat
        self._session = session

    @property
    def session_settings(self) -> SessionSettings | None:
        """The settings of the session."""
        return self._session.session_settings

    @session_settings.setter
    def session_settings(self, settings: SessionSettings | None) -> None:
        self._session.session_settings = settings

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return the history as the model is given it."""
        return [_without_views(item) for item in await self._session.get_items(limit)]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Add items, those of calls with the ids of their Views."""
        await self._session.add_items([self._with_views(item) for item in items])

    async def pop_item(self) -> TResponseInputItem | None:
        """Remove the newest item, and return it."""
        item = await self._session.pop_item()
        return None if item is None else _without_views(item)

    async def clear_session(self) -> None:
        """Remove all items."""
        await self._session.clear_session()

    async def views(self) -> list[tuple[str, str]]:
        """Return the Views in the history, each with the id of its tool call, in order."""
        return views_of(await self._session.get_items())

    def _with_views(self, item: TResponseInputItem) -> TResponseInputItem:
        call_id = item.get("call_id") if item.get("type") == "function_call_output" else None
        views = self._chat.views_of_call(call_id) if isinstance(call_id, str) else ()
        return cast(TResponseInputItem, {**item, **history_entry(views)}) if views else item


def _without_views(item: TResponseInputItem) -> TResponseInputItem:
    return cast(TResponseInputItem, {key: value for key, value in item.items() if key != HISTORY_KEY})


def views_of(items: Iterable[RunItem | TResponseInputItem]) -> list[tuple[str, str]]:
    """Return the Views in `result.new_items`, each with the id of its tool call, in order.

    A page shows them again with `<mcp-app view=...>` and the token of `await chat.token(view)`.
    """
    return [
        (str(call_id), view)
        for item in items
        for call_id, entry in [
            (item.call_id, item.custom_data) if isinstance(item, ToolCallOutputItem) else _stored(item)
        ]
        for view in views_in_entry(entry)
    ]


def _stored(item: RunItem | TResponseInputItem) -> tuple[object, object]:
    return (item.get("call_id"), item) if isinstance(item, dict) else (None, None)
