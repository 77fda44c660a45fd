"""Views in agents of LangChain and LangGraph: `create_agent(model, middleware=[Apps(chat)])`."""

import base64
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from typing import Any, Literal, TypedDict
from uuid import UUID, uuid4

import anyio
from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
from langchain.tools.tool_node import ToolCallRequest
from langchain_core.callbacks import AsyncCallbackHandler, BaseCallbackManager, Callbacks
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, ToolCall, ToolMessage
from langchain_core.outputs import ChatGenerationChunk, GenerationChunk
from langchain_core.tools import BaseTool, ToolException
from langgraph.runtime import Runtime
from langgraph.types import Command

from fanlight.agents.content import (
    NOT_RUN,
    Block,
    context_text,
    history_entry,
    parse_arguments,
    result_blocks,
    views_in_entry,
)
from fanlight.host.calls.runner import CallView
from fanlight.host.calls.turn import Turn, ViewHandler
from fanlight.host.conversation import Conversation
from fanlight.host.errors import CallCancelledError
from fanlight.protocol.errors import ArgumentError, StateError
from fanlight.protocol.jsonrpc import JSONObject

__all__ = ["Apps", "ViewOpened", "tools", "views_of"]

_Content = str | list[str | dict[str, Any]]


class ViewOpened(TypedDict):
    """A page can show a View of a tool call from now on. It is in the stream `custom` of the agent."""

    type: Literal["fanlight.view_opened"]
    """The type of the event, which no other has."""
    view: str
    """The id, for `<mcp-app view=...>`. Get a token for it with `await chat.token(view)`."""
    uri: str
    """The `ui://` URI of its document."""
    tool_call_id: str
    """The id of the tool call."""


class Apps(AgentMiddleware[AgentState[Any], Any, Any]):
    """Gives an agent the tools of a conversation, and shows their Views.

    Arguments stream into a View while the model writes them, also with a plain `agent.ainvoke(...)`. A call that is
    never run is cancelled. What open Views want the model to know becomes part of the messages, marked as theirs. Use
    the asynchronous methods of the agent.

    Args:
        chat: The conversation, from `host.conversation(...)`.
    """

    def __init__(self, chat: Conversation) -> None:
        super().__init__()
        self.chat = chat
        """The conversation."""
        self._turns: list[Turn] = []
        self._invalid: dict[str, str] = {}

    async def abefore_model(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Give the model what open Views want it to know."""
        news = context_text(await self.chat.context())
        return None if news is None else {"messages": [HumanMessage(news)]}

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """Add the tools of servers and open Views, and show Views the arguments as the model writes them."""
        # Whoever approves calls may have rejected one: then it has an answer and was not run.
        await self._cancel(message.tool_call_id for message in request.messages if isinstance(message, ToolMessage))
        # It ends when its calls have run, which is after this method. An interrupt may come between.
        turn = await self.chat.turn(on_view=_announcer(request.runtime.stream_writer)).__aenter__()
        self._turns.append(turn)
        feeder = _Feeder(turn)
        model = request.model.model_copy(update={"callbacks": _with_handler(request.model.callbacks, feeder)})
        will_run: set[str] = set()
        try:
            offered = [*request.tools, *await tools(self.chat)]
            response = await handler(request.override(model=model, tools=offered))
            called = {str(call["id"]) for message in response.result for call in _tool_calls(message)}
            # LangChain completes what it can of streamed JSON that is cut off or invalid, and would run it.
            invalid = feeder.invalid_calls()
            self._invalid |= {call_id: invalid[call_id] for call_id in called & invalid.keys()}
            will_run = called - invalid.keys()
            return response
        finally:
            await self._cancel(feeder.texts.keys() - will_run)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]]
    ) -> ToolMessage | Command[Any]:
        """Run a call, unless it is of one of the agent's own tools."""
        if request.tool is not None:
            return await handler(request)
        name, call_id = request.tool_call["name"], str(request.tool_call["id"])
        if (error := self._invalid.pop(call_id, None)) is not None:
            return ToolMessage(error, name=name, tool_call_id=call_id, status="error")
        tool = _AppTool.of(self.chat, name)
        # For a call that was not streamed: one that was is run in the turn that has it.
        async with self.chat.turn(on_view=_announcer(request.runtime.stream_writer)):
            return await handler(request.override(tool=tool))

    async def aafter_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:
        """Cancel the calls of the agent that were begun and never run."""
        await self._cancel(str(call["id"]) for message in state["messages"] for call in _tool_calls(message))

    async def _cancel(self, call_ids: Iterable[str]) -> None:
        """Cancel calls that will not be run, and end the turns that have no other ones."""
        with anyio.CancelScope(shield=True):
            for call_id in call_ids:
                for turn in self._turns:
                    await turn.cancel(call_id, NOT_RUN)
            for turn in [turn for turn in self._turns if not turn.is_waiting]:
                self._turns.remove(turn)
                await turn.__aexit__(None, None, None)


def _announcer(write: Callable[[Any], None]) -> ViewHandler:
    """Return a function that writes `ViewOpened` to a stream."""

    def announce(call_id: str, view: CallView) -> None:
        write(ViewOpened(type="fanlight.view_opened", view=view.view, uri=view.uri, tool_call_id=call_id))

    return announce


def _with_handler(callbacks: Callbacks, handler: AsyncCallbackHandler) -> Callbacks:
    if isinstance(callbacks, BaseCallbackManager):
        manager = callbacks.copy()
        manager.add_handler(handler)
        return manager
    return [*(callbacks or ()), handler]


def _tool_calls(message: BaseMessage) -> list[ToolCall]:
    return message.tool_calls if isinstance(message, AIMessage) else []


class _Feeder(AsyncCallbackHandler):
    """Shows Views the arguments as the model writes them."""

    def __init__(self, turn: Turn) -> None:
        self.texts: defaultdict[str, str] = defaultdict(str)
        """What the model has written, by the ids of the calls."""
        self._turn = turn
        self._by_index: dict[int | str | None, str] = {}

    async def on_llm_new_token(
        self,
        token: str | list[str | dict[str, Any]],
        *,
        chunk: GenerationChunk | ChatGenerationChunk | None = None,
        **kwargs: Any,
    ) -> None:
        message = getattr(chunk, "message", None)
        for piece in message.tool_call_chunks if isinstance(message, AIMessageChunk) else ():
            if call_id := piece.get("id"):  # only the first piece of a call has it
                self._by_index[piece.get("index")] = call_id
            call_id = self._by_index.get(piece.get("index"))
            if call_id is not None:
                self.texts[call_id] += piece.get("args") or ""
                await self._turn.feed(call_id, piece.get("name"), piece.get("args") or "")

    def invalid_calls(self) -> dict[str, str]:
        """Return the calls whose arguments are not valid, each with the reason for the model."""
        found = {}
        for call_id, text in self.texts.items():
            try:
                parse_arguments(text)
            except ArgumentError as error:
                found[call_id] = str(error)
        return found

    # A handler with these two methods lets a model stream also if the agent is run without streaming.

    def tap_output_aiter(self, run_id: UUID, output: AsyncIterator[Any]) -> AsyncIterator[Any]:
        return output

    def tap_output_iter(self, run_id: UUID, output: Iterator[Any]) -> Iterator[Any]:
        return output


class _AppTool(BaseTool):
    """A tool of a conversation. The arguments reach it as one object, so that they can have any names."""

    chat: Any
    response_format: Literal["content", "content_and_artifact"] = "content_and_artifact"
    handle_tool_error: Any = True

    @classmethod
    def of(cls, chat: Conversation, name: str, description: str = "", schema: JSONObject | None = None) -> "_AppTool":
        return cls(name=name, description=description, args_schema=schema or {"type": "object"}, chat=chat)

    def _to_args_and_kwargs(self, tool_input: Any, tool_call_id: str | None) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return (tool_input, tool_call_id), {}

    async def _arun(self, arguments: JSONObject, call_id: str | None) -> tuple[_Content, dict[str, Any]]:
        try:
            call = await self.chat.run_call(call_id or uuid4().hex, self.name, arguments)
        except CallCancelledError as error:
            raise ToolException(str(error)) from error
        return _content(result_blocks(call)), history_entry(call.views)

    def _run(self, *arguments: Any) -> Any:
        raise StateError(f"The tool {self.name} is asynchronous. Run the agent with ainvoke() or astream().")


async def tools(chat: Conversation) -> list[BaseTool]:
    """Return the tools of servers and open Views as they are now, for a graph without `create_agent`.

    The artifact of a tool's message has the ids of its Views.
    """
    return [_AppTool.of(chat, tool.name, tool.description, tool.input_schema) for tool in await chat.tools()]


def _content(blocks: list[Block]) -> _Content:
    texts = [block for block in blocks if isinstance(block, str)]
    return "\n".join(texts) if len(texts) == len(blocks) else [_content_block(block) for block in blocks]


def _content_block(block: Block) -> dict[str, Any]:
    if isinstance(block, str):
        return {"type": "text", "text": block}
    kind = block.mime_type.partition("/")[0]
    data = base64.b64encode(block.data).decode()
    return {
        "type": kind if kind in ("image", "audio", "video") else "file",
        "base64": data,
        "mime_type": block.mime_type,
    }


def views_of(messages: Iterable[BaseMessage]) -> list[tuple[str, str]]:
    """Return the Views in the messages of an agent, each with the id of its tool call, in order.

    A page shows them again with `<mcp-app view=...>` and the token of `await chat.token(view)`.
    """
    return [
        (message.tool_call_id, view)
        for message in messages
        if isinstance(message, ToolMessage)
        for view in views_in_entry(message.artifact)
    ]
