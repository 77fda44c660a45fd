"""Views in agents of pydantic-ai: `Agent(model, capabilities=[Apps(chat)])`."""

import copy
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from pydantic_ai import (
    AgentRunResult,
    BinaryContent,
    FunctionToolResultEvent,
    ModelMessage,
    PartDeltaEvent,
    PartStartEvent,
    RunContext,
    ToolCallPart,
    ToolCallPartDelta,
    ToolReturn,
    ToolReturnPart,
)
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.capabilities.abstract import WrapRunHandler
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import AgentStreamEvent, CapabilityEvent
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
from pydantic_core import SchemaValidator, core_schema

from fanlight.agents.content import NOT_RUN, Block, context_text, history_entry, result_blocks, views_in_entry
from fanlight.host.calls.call import Call
from fanlight.host.calls.runner import CallView
from fanlight.host.calls.turn import Turn
from fanlight.host.conversation import Conversation
from fanlight.host.errors import CallCancelledError
from fanlight.protocol.errors import StateError

__all__ = ["Apps", "ViewOpened", "views_of"]

_OBJECT: Final = SchemaValidator(core_schema.dict_schema(core_schema.str_schema(), core_schema.any_schema()))
"""The server validates the arguments; the model only has to write a JSON object."""


@dataclass(kw_only=True)
class ViewOpened(CapabilityEvent, namespace="fanlight"):
    """A page can show a View of a tool call from now on. It is in the event stream of the run."""

    view: str
    """The id, for `<mcp-app view=...>`. Get a token for it with `await chat.token(view)`."""
    uri: str
    """The `ui://` URI of its document."""


class Apps(AbstractCapability[Any]):
    """Gives an agent the tools of a conversation, and shows their Views.

    Arguments stream into a View while the model writes them, also with a plain `agent.run()`. A call that is never run
    is cancelled. What open Views want the model to know becomes part of the history, marked as theirs.

    Args:
        chat: The conversation, from `host.conversation(...)`.
    """

    def __init__(self, chat: Conversation) -> None:
        self.chat = chat
        """The conversation."""
        self._turn: Turn | None = None
        self._opened: list[tuple[str, CallView]] = []
        self._calls: dict[int, str] = {}

    async def for_run(self, ctx: RunContext[Any]) -> "Apps":
        """Return a copy with the state of one run."""
        run = copy.copy(self)
        run._turn, run._opened, run._calls = None, [], {}
        return run

    def get_toolset(self) -> AbstractToolset[Any]:
        """Return the tools of servers and open Views."""
        return _Toolset(self)

    async def wrap_run(self, ctx: RunContext[Any], *, handler: WrapRunHandler) -> AgentRunResult[Any]:
        """Run as one turn: at its end, calls that were begun and never run are cancelled."""
        async with self.chat.turn(on_view=self._keep_view) as self._turn:
            return await handler()

    async def before_run(self, ctx: RunContext[Any]) -> None:
        """Give the model what open Views want it to know."""
        await self._add_context(ctx)

    async def on_event(self, ctx: RunContext[Any], *, event: AgentStreamEvent) -> None:
        """Show Views the arguments as the model writes them."""
        match event:
            case PartStartEvent(index=index, part=ToolCallPart() as part):
                self._calls[index] = part.tool_call_id
                await self._feed(ctx, part.tool_call_id, part.tool_name, part.args_as_json_str() if part.args else "")
            case PartDeltaEvent(index=index, delta=ToolCallPartDelta(args_delta=str(piece)) as delta):
                call_id = delta.tool_call_id or self._calls.get(index)
                if call_id is not None:
                    await self._feed(ctx, call_id, None, piece)
            case FunctionToolResultEvent(part=part):
                # A call that has a result and was not run had arguments that are not valid, or was denied.
                await self._current_turn().cancel(part.tool_call_id, NOT_RUN)

    def _current_turn(self) -> Turn:
        if self._turn is None:
            raise StateError("Apps works inside the run of an agent only.")
        return self._turn

    def _keep_view(self, call_id: str, view: CallView) -> None:
        self._opened.append((call_id, view))

    async def _feed(self, ctx: RunContext[Any], call_id: str, name: str | None, piece: str) -> None:
        await self._current_turn().feed(call_id, name, piece)
        await self._announce_views(ctx)

    async def _announce_views(self, ctx: RunContext[Any]) -> None:
        while self._opened:
            call_id, view = self._opened.pop(0)
            await ctx.emit(ViewOpened(view=view.view, uri=view.uri, tool_call_id=call_id))

    async def _add_context(self, ctx: RunContext[Any]) -> None:
        if (text := context_text(await self.chat.context())) is not None:
            ctx.enqueue(text)

    async def run(self, ctx: RunContext[Any], name: str, arguments: dict[str, Any]) -> ToolReturn:
        """Run a call of the model, and return what the model and the history are given of it."""
        try:
            call = await self._current_turn().run(str(ctx.tool_call_id), name, arguments)
        except CallCancelledError as error:
            raise ToolFailed(str(error)) from error
        await self._announce_views(ctx)
        await self._add_context(ctx)
        return _tool_return(call)


class _Toolset(AbstractToolset[Any]):
    """The tools of a conversation, listed for each step, because open Views offer tools, too."""

    def __init__(self, apps: Apps) -> None:
        self._apps = apps

    @property
    def id(self) -> str:
        return "fanlight"

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        return {
            tool.name: ToolsetTool(
                toolset=self,
                tool_def=ToolDefinition(
                    name=tool.name,
                    description=tool.description,
                    parameters_json_schema=tool.input_schema,
                    strict=False,
                    metadata={"title": tool.title, "annotations": tool.annotations, "server": tool.server},
                ),
                max_retries=1,
                args_validator=_OBJECT,
            )
            for tool in await self._apps.chat.tools()
        }

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> ToolReturn:
        return await self._apps.run(ctx, name, tool_args)


def _tool_return(call: Call) -> ToolReturn:
    contents = [_content(block) for block in result_blocks(call)]
    value: Any = contents[0] if len(contents) == 1 else contents
    is_error = (call.result or {}).get("isError") is True
    return ToolReturn(value if contents else "", metadata=history_entry(call.views, is_error=is_error))


def _content(block: Block) -> str | BinaryContent:
    return block if isinstance(block, str) else BinaryContent(block.data, media_type=block.mime_type)


def views_of(messages: Iterable[ModelMessage]) -> list[tuple[str, str]]:
    """Return the Views in the history of an agent, each with the id of its tool call, in order.

    A page shows them again with `<mcp-app view=...>` and the token of `await chat.token(view)`.
    """
    return [
        (part.tool_call_id, view)
        for message in messages
        for part in message.parts
        if isinstance(part, ToolReturnPart)
        for view in views_in_entry(part.metadata)
    ]
