"""One turn of a conversation as the page shows it: a message, and the model's answer in blocks.

`Turn.data` is what is stored, and what a page gets when it opens the conversation. What changes while the model answers
is published in small events, numbered by `data["seq"]`, so that a page applies each of them once.
"""

import copy
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import anyio
from pydantic_ai import (
    FunctionToolCallEvent,
    FunctionToolResultEvent,
    PartDeltaEvent,
    PartEndEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
    ToolCallPartDelta,
)
from pydantic_ai.messages import ToolReturnPart
from pydantic_ai.usage import RunUsage

from fanlight.agents.content import is_error_entry
from fanlight.agents.pydantic_ai import ViewOpened
from fanlight.host.calls.model_tools import ModelTool
from fanlight.protocol.jsonrpc import JSONObject

Publish = Callable[[str, JSONObject], None]

_MAX_RESULT: Final = 20_000
"""How many characters of a tool's result the page shows. The model gets all of it."""


UNFINISHED: Final = ("writing", "asking", "running")
"""The states of a call without a result."""
_DENIED: Final[JSONObject] = {"state": "denied", "result": "You did not allow this."}


@dataclass
class _Question:
    """Whether a call may be made, which the user is asked."""

    answered: anyio.Event = field(default_factory=anyio.Event)
    is_allowed: bool = False


class Turn:
    """A turn that runs.

    Args:
        conversation: The conversation.
        publish: Sends an event to all pages.
        text: What was written.
        sender: The server of the View that wrote it in the user's name, or None if the user wrote it.
        files: The attached files, as the page shows them.
        source: The model that answers, and the address of its service if the user gave one.
    """

    def __init__(
        self,
        conversation: str,
        publish: Publish,
        *,
        text: str,
        sender: str | None = None,
        files: list[JSONObject] | None = None,
        source: tuple[str, str | None],
    ) -> None:
        self.conversation = conversation
        self.source = source
        self._cancel: Callable[[], None] | None = None
        self._is_stopped = False
        self._publish = publish
        self._asked: dict[str, _Question] = {}
        self._denied: set[str] = set()  # the calls that the user did not allow
        self._parts: dict[int, int] = {}  # the block of each part of the response that the model writes now
        self._started = time.monotonic()
        self.data: JSONObject = {
            "id": secrets.token_hex(8),
            "created": time.time(),
            "state": "running",
            "text": text,
            "sender": sender,
            "files": files or [],
            "model": source[0],
            "blocks": [],
            "error": None,
            "note": None,
            "usage": None,
            "first": None,
            "seconds": None,
            "seq": 0,
        }

    @property
    def id(self) -> str:
        """The id of the turn."""
        return str(self.data["id"])

    @property
    def words(self) -> str:
        """What a search finds."""
        texts = [block["text"] for block in self.data["blocks"] if block["type"] == "text"]
        return "\n".join([self.data["text"], *(file["name"] for file in self.data["files"]), *texts])

    def stop(self) -> None:
        """Stop the answer, now or as soon as it begins."""
        self._is_stopped = True
        if self._cancel is not None:
            self._cancel()

    def on_stop(self, cancel: Callable[[], None]) -> None:
        """Set what cancels the answer."""
        self._cancel = cancel
        if self._is_stopped:
            cancel()

    def publish(self) -> None:
        """Send the whole turn to all pages."""
        self._send("turn", turn=self.data)

    def apply(self, event: object, tools: Mapping[str, ModelTool]) -> bool:
        """Apply an event of the agent's run. Return whether it ends a step, after which the turn should be saved."""
        match event:
            case PartStartEvent(index=index, part=part):
                self._start_part(index, part, tools)
            case PartDeltaEvent(index=index, delta=TextPartDelta(content_delta=str(text))):
                self._append(index, "text", text)
            case PartDeltaEvent(index=index, delta=ThinkingPartDelta(content_delta=str(text))):
                self._append(index, "text", text)
            case PartDeltaEvent(index=index, delta=ToolCallPartDelta(args_delta=str(text))):
                self._append(index, "arguments", text)
            case PartEndEvent(index=index):
                self._parts.pop(index, None)
            case ViewOpened(view=view, uri=uri, tool_call_id=str(call)):
                self._change_call(call, lambda block: block["views"].append({"view": view, "uri": uri}))
                return True
            case FunctionToolCallEvent(part=part):
                arguments = part.args_as_json_str()
                self._change_call(part.tool_call_id, lambda block: block.update(state="running", arguments=arguments))
                return True
            case FunctionToolResultEvent(part=part):
                outcome = _DENIED if part.tool_call_id in self._denied else _outcome(part)
                self._change_call(part.tool_call_id, lambda block: block.update(outcome))
                return True
        return False

    async def ask(self, call: str, seconds: float) -> bool:
        """Ask the user whether a call may be made, and return the answer."""
        self._asked[call] = question = _Question()
        self._change_call(call, lambda block: block.update(state="asking"))
        with anyio.move_on_after(seconds):
            await question.answered.wait()
        del self._asked[call]
        if not question.is_allowed:
            self._denied.add(call)
        self._change_call(call, lambda block: block.update(state="running"))
        return question.is_allowed

    def answer(self, call: str, is_allowed: bool) -> str | None:
        """Answer a question, and return the name of the tool, or None if nobody asks for this call."""
        if call not in self._asked:
            return None
        self._asked[call].is_allowed = is_allowed
        self._asked[call].answered.set()
        return next(str(block["name"]) for block in self.data["blocks"] if block.get("id") == call)

    def count(self, usage: RunUsage) -> None:
        """Keep how many tokens the model has read and written."""
        self.data["usage"] = {"input": usage.input_tokens, "output": usage.output_tokens}

    def finish(self, state: str, error: str | None = None) -> None:
        """End the turn: "done", "stopped" by the user, or "failed" with an error. It is not published yet."""
        for block in self.data["blocks"]:
            if block["type"] == "tool" and block["state"] in UNFINISHED:
                block["state"] = "cancelled"
        self.data.update(state=state, error=error, seconds=round(time.monotonic() - self._started, 2))

    def _start_part(self, index: int, part: object, tools: Mapping[str, ModelTool]) -> None:
        match part:
            case TextPart(content=text):
                block: JSONObject = {"type": "text", "text": text}
            case ThinkingPart(content=text):
                block = {"type": "thinking", "text": text}
            case ToolCallPart():
                block = _call_block(part, tools.get(part.tool_name))
            case _:
                return
        blocks: list[JSONObject] = self.data["blocks"]
        if self.data["first"] is None:
            self.data["first"] = round(time.monotonic() - self._started, 2)
        if index in self._parts:  # the model has started this part over
            blocks[self._parts[index]] = block
        else:
            self._parts[index] = len(blocks)
            blocks.append(block)
        self._send_block(self._parts[index])

    def _append(self, index: int, field: str, text: str) -> None:
        if index in self._parts:
            at = self._parts[index]
            self.data["blocks"][at][field] += text
            self._send("delta", block=at, field=field, text=text)

    def _change_call(self, call: str, change: Callable[[JSONObject], object]) -> None:
        for at, block in enumerate(self.data["blocks"]):
            if block["type"] == "tool" and block["id"] == call:
                change(block)
                self._send_block(at)

    def _send_block(self, at: int) -> None:
        # A copy, because events are encoded later, and the block may have grown by then.
        self._send("block", block=at, data=copy.deepcopy(self.data["blocks"][at]))

    def _send(self, kind: str, **fields: Any) -> None:
        self.data["seq"] += 1
        self._publish(kind, {"conversation": self.conversation, "id": self.id, "seq": self.data["seq"], **fields})


def _call_block(part: ToolCallPart, tool: ModelTool | None) -> JSONObject:
    return {
        "type": "tool",
        "id": part.tool_call_id,
        "name": part.tool_name,
        "server": tool.server if tool else None,
        "title": (tool.title or tool.tool) if tool else part.tool_name,
        "arguments": part.args_as_json_str() if part.args else "",
        "state": "writing",
        "result": None,
        "views": [],
    }


def _outcome(part: object) -> JSONObject:
    """Return what a result changes in the block of its call."""
    if not isinstance(part, ToolReturnPart):
        return {"state": "failed", "result": "The arguments were not valid, and the model was told so."}
    failed = part.outcome != "success" or is_error_entry(part.metadata)
    return {"state": "failed" if failed else "done", "result": part.model_response_str()[:_MAX_RESULT]}
