"""The server of `fanlight chat`: a host, an agent for each turn, and the JSON API of the page.

It is also the program to read before building a host: `docs/how-to/chat.md` walks through it. What is stored is in
`conversations.py`, one turn as the page shows it in `turn.py`, and the page in `pages`.
"""

import logging
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup
from pydantic_ai import Agent, BinaryContent, ModelMessage, ModelRequest, RunContext, UserContent, UserPromptPart
from pydantic_ai.agent import AgentRunEvents
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import AgentRunError, RunCancelled, ToolFailed, UserError
from pydantic_ai.messages import ModelMessagesTypeAdapter, ToolCallPart
from pydantic_ai.models import Model
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.usage import UsageLimits
from starlette.applications import Starlette
from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from fanlight import __version__
from fanlight.agents.pydantic_ai import Apps, ViewOpened
from fanlight.chat.conversations import Conversations, File
from fanlight.chat.export import as_json, as_markdown
from fanlight.chat.model_errors import explain, note
from fanlight.chat.models import NO_MODEL, SCRIPTED, ModelError, create_model
from fanlight.chat.turn import UNFINISHED, Turn
from fanlight.dev.api import BadRequestError, get, post, text
from fanlight.dev.events import Events
from fanlight.dev.guard import Guard
from fanlight.dev.page_files import page_file, page_policy
from fanlight.dev.styles import DEFAULT_STYLES, STYLES
from fanlight.dev.targets import Served
from fanlight.host import DeclinedError, Host, Message, SignIn, UserOAuth
from fanlight.host.calls.model_tools import ModelTool
from fanlight.host.documents.tool_link import view_uri
from fanlight.host.errors import NotConnectedError, StoreError
from fanlight.host.upstream.config import Target, Url
from fanlight.host.upstream.connection import Connection
from fanlight.host.upstream.events import ServerEvent, Status, StatusChanged
from fanlight.protocol.errors import FanlightError
from fanlight.protocol.jsonrpc import JSONObject
from fanlight.protocol.visibility import for_model

logger = logging.getLogger(__name__)

Prompt = str | list[UserContent]

USER: Final = "you"
"""The one user. The host knows users, because only those can sign in to servers."""
INSTRUCTIONS: Final = (
    "You are a helpful assistant. Some tools show the user an interactive view of their result: do not repeat what it "
    "shows. Write Markdown."
)
_SCRIPT_ANSWERS: Final = "No model is connected: a script answers, and calls the tools of your servers."
_PACKAGE: Final = "fanlight.chat"
_MAX_TITLE: Final = 60
_MAX_WAITING: Final = 5
"""How many messages of Views may wait for the answer that is being written."""
_SAVE_EVERY: Final = 1.0
"""Seconds after which an answer that is being written is saved."""
_NO_SNIFF: Final = {"x-content-type-options": "nosniff"}
_IMAGES: Final = ("image/png", "image/jpeg", "image/gif", "image/webp")


@dataclass(frozen=True)
class ChatLimits:
    """How much the chat accepts, and how long it waits."""

    file_bytes: int = 10_000_000
    """The size of one attached file."""
    model_timeout: float = 300.0
    """How many seconds the model may be silent before a turn fails."""
    answer_timeout: float = 600.0
    """How many seconds the user has to allow a call. After that, it is not made."""
    steps: int = 50
    """How many requests to the model one turn may make."""


@dataclass
class _Room:
    """What the program knows about a conversation while it runs: the turn that is being answered, and who waits."""

    turn: Turn | None = None
    slot: anyio.Semaphore = field(default_factory=lambda: anyio.Semaphore(1))
    waiting: int = 0


class _Switches(AbstractCapability[Any]):
    """Keeps the tools of servers that the user has switched off from the model."""

    def __init__(self, off: list[str]) -> None:
        self._off = off

    async def prepare_tools(self, ctx: RunContext[Any], tool_defs: list[ToolDefinition]) -> list[ToolDefinition]:
        return [tool for tool in tool_defs if (tool.metadata or {}).get("server") not in self._off]


class _Approvals(AbstractCapability[Any]):
    """Asks the user before the model calls a tool that says that it may destroy something."""

    def __init__(self, turn: Turn, allowed: list[str], timeout: float) -> None:
        self._turn = turn
        self._allowed = allowed
        self._timeout = timeout

    async def wrap_tool_execute(
        self, ctx: RunContext[Any], *, call: ToolCallPart, tool_def: ToolDefinition, args: Any, handler: Any
    ) -> Any:
        annotations = (tool_def.metadata or {}).get("annotations") or {}
        is_asked = annotations.get("destructiveHint") is True and tool_def.name not in self._allowed
        if is_asked and not await self._turn.ask(call.tool_call_id, self._timeout):
            raise ToolFailed("The user did not allow this call.")
        return await handler(args)


class ChatProgram:
    """A chat for the user of this machine.

    Args:
        servers: The servers by name.
        origin: The address of the page, such as `http://localhost:8000`: where the sign-in to a server returns to.
        store: The SQLite file of conversations and Views.
        model: The model, such as "openai:gpt-5". Default: the one that was used last, or else the scripted one.
        base_url: The address of an OpenAI-compatible service that has the model.
        limits: How much the chat accepts.
    """

    def __init__(
        self,
        servers: Mapping[str, Served],
        *,
        origin: str,
        store: Path,
        model: str | None = None,
        base_url: str | None = None,
        limits: ChatLimits | None = None,
    ) -> None:
        self.guard = Guard("fanlight chat")
        self._limits = limits or ChatLimits()
        self._events = Events()
        self._rooms: defaultdict[str, _Room] = defaultdict(_Room)
        self._reported: dict[str, str] = {}  # why each server that is not connected is not
        self._sign_ins: dict[str, str] = {}  # the link of each server that the user has to sign in to
        self._tasks: TaskGroup | None = None
        self._opened = AsyncExitStack()
        self._models: dict[tuple[str, str | None], Model] = {}
        self.conversations = Conversations(store)
        self._settings = self.conversations.settings()
        if model is not None:
            self._settings.update(model=model, base_url=base_url)
            self.conversations.keep_settings({"model": model, "base_url": base_url})
        self.model_problem = self._find_model_problem()
        """Why no model can answer, or None."""
        with_oauth = {name for name, served in servers.items() if _may_want_sign_in(served.target)}
        self.host = Host(
            {name: served.target for name, served in servers.items()},
            store=f"sqlite:///{store.resolve()}",
            info={"name": "fanlight-chat", "version": __version__},
            context={"styles": STYLES[DEFAULT_STYLES]},
            user=self._identify,
            oauth=UserOAuth(with_oauth, f"{origin}/apps/oauth/callback", "Fanlight Chat") if with_oauth else None,
        )
        self.host.on_message(self._on_view_message)
        self.host.on_sign_in(self._on_sign_in)
        self.host.servers.add_listener(self._on_server_event)
        self.app: ASGIApp = self.host.wrap(self.guard.wrap(Starlette(routes=self._routes(), lifespan=self._lifespan)))

    def close_streams(self) -> None:
        """End the event streams that pages hold open, so that the program can exit."""
        self._events.close()

    def _routes(self) -> list[Route]:
        return [
            Route("/", self._index),
            Route("/pages/{name}", self._page_file),
            Route("/files/{id}", self._download),
            Route("/api/events", self._stream_events),
            Route("/api/files", self._upload, methods=["POST"]),
            Route("/api/export", self._export),
            get("conversations", self._search),
            get("conversation", self._open),
            post("send", self._send),
            post("stop", self._stop),
            post("allow", self._allow),
            post("rename", self._rename),
            post("delete", self._delete),
            post("view", self._show_view),
            post("fullscreen", self._show_fullscreen),
            post("settings", self._change_settings),
            post("server", self._change_server),
        ]

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        try:
            async with AsyncExitStack() as self._opened, anyio.create_task_group() as self._tasks:
                self._tasks.start_soon(self._connect)
                yield
                self._tasks.cancel_scope.cancel()
        finally:
            self.conversations.close()

    async def _model(self, name: str, base_url: str | None) -> Model:
        """Return a model whose connections are kept until the end of the program."""
        if (name, base_url) not in self._models:
            model = create_model(name, base_url)
            self._models[name, base_url] = await self._opened.enter_async_context(model)
        return self._models[name, base_url]

    async def _connect(self) -> None:
        """Connect all servers at once, so that the page can show their tools."""
        await self.host.servers.connect_all(USER)
        for name in self.host.servers:
            self._events.publish("server", {"server": self._describe_server(name)})

    # The page

    def _identify(self, connection: HTTPConnection) -> str | None:
        return USER if self.guard.is_authenticated(connection) else None

    async def _index(self, request: Request) -> Response:
        if (response := self.guard.sign_in(request)) is not None:
            return response
        policy = f"{page_policy(request)}; require-trusted-types-for 'script'"
        return page_file(_PACKAGE, "index.html", {"content-security-policy": policy})

    async def _page_file(self, request: Request) -> Response:
        return page_file(_PACKAGE, request.path_params["name"])

    async def _stream_events(self, request: Request) -> Response:
        start = {
            "kind": "start",
            "settings": self._describe_settings(),
            "servers": [self._describe_server(name) for name in self.host.servers],
            "running": [id for id, room in self._rooms.items() if room.turn is not None],
        }
        return self._events.stream(start)

    # Conversations

    async def _search(self, query: JSONObject) -> list[JSONObject]:
        return await self.conversations.search(query.get("q", ""))

    async def _find(self, fields: JSONObject) -> JSONObject:
        found = await self.conversations.find(text(fields, "conversation"))
        if found is None:
            raise BadRequestError("There is no such conversation. It may have been deleted in another window.")
        return found

    async def _open(self, query: JSONObject) -> JSONObject:
        found = await self._find(query)
        return {**found, "turns": await self._turns(found["id"])}

    async def _turns(self, conversation: str) -> list[JSONObject]:
        """Return the turns of a conversation. Those that another run of the program did not finish are interrupted."""
        room = self._rooms[conversation]
        before = room.turn
        turns = await self.conversations.turns(conversation)
        running = {turn.id: turn for turn in (before, room.turn) if turn is not None}
        for turn in turns:
            if turn["id"] in running:
                turn.update(running[turn["id"]].data)
            elif turn["state"] == "running":
                turn["state"] = "interrupted"
                for block in turn["blocks"]:
                    if block.get("state") in UNFINISHED:
                        block["state"] = "cancelled"
        return turns

    async def _rename(self, body: JSONObject) -> JSONObject:
        found, title = await self._find(body), text(body, "title").strip()
        if not title:
            raise BadRequestError("The title is empty. Write at least one character.")
        await self._set_title(found["id"], title[:200])
        self._events.publish("conversations", {})
        return {}

    async def _set_title(self, conversation: str, title: str) -> None:
        await self.conversations.rename(conversation, title)
        self._events.publish("title", {"conversation": conversation, "title": title})

    async def _delete(self, body: JSONObject) -> JSONObject:
        found = await self._find(body)
        self._cancel(found["id"])
        await self.conversations.delete(found["id"])
        await self.host.forget(user=USER, conversation=found["id"])
        self._events.publish("deleted", {"conversation": found["id"]})
        return {}

    async def _export(self, request: Request) -> Response:
        found = await self.conversations.find(request.query_params.get("conversation", ""))
        if found is None:
            return PlainTextResponse("There is no such conversation.", 404, _NO_SNIFF)
        turns = await self._turns(found["id"])
        if request.query_params.get("format") == "json":
            return _attachment(as_json(found, turns), "application/json", "conversation.json")
        return _attachment(as_markdown(found, turns), "text/markdown; charset=utf-8", "conversation.md")

    # Files

    async def _upload(self, request: Request) -> Response:
        """Keep an attached file, which is the body of the request."""
        name, type = request.query_params.get("name", "file")[:200], request.headers.get("content-type", "")
        data = bytearray()
        async for chunk in request.stream():
            data += chunk
            if len(data) > self._limits.file_bytes:
                reason = f"{name} is larger than {self._limits.file_bytes / 1e6:g} MB. Attach a smaller file."
                return JSONResponse({"error": reason}, 413, _NO_SNIFF)
        if type not in (*_IMAGES, "application/pdf"):
            try:
                data.decode()
            except UnicodeDecodeError:
                reason = f"{name} is neither an image (PNG, JPEG, GIF, WebP), a PDF nor a text in UTF-8."
                return JSONResponse({"error": reason}, 400, _NO_SNIFF)
            type = "text/plain"
        file = await self.conversations.add_file(name, type, bytes(data))
        return JSONResponse(file.describe(), headers=_NO_SNIFF)

    async def _download(self, request: Request) -> Response:
        files = await self.conversations.files([request.path_params["id"]])
        if not files:
            return PlainTextResponse("Not found.", 404, _NO_SNIFF)
        return _attachment(files[0].data, files[0].type, files[0].name, inline=files[0].type in _IMAGES)

    # Turns

    async def _send(self, body: JSONObject) -> JSONObject:
        """Begin a turn with what the user wrote; with `replace`, in place of a turn and all after it."""
        message, file_ids, replaced = text(body, "text").strip(), body.get("files") or [], body.get("replace")
        files = await self.conversations.files(map(str, file_ids))
        if len(files) != len(file_ids):
            raise BadRequestError("An attached file is no longer there. Attach it again.")
        if not message and not files:
            raise BadRequestError("The message is empty. Write something, or attach a file.")
        if body.get("conversation") is None:
            conversation = await self.conversations.create(_title(message or files[0].name))
        else:
            conversation = (await self._find(body))["id"]
        room = self._rooms[conversation]
        try:
            room.slot.acquire_nowait()
        except anyio.WouldBlock:
            raise BadRequestError("The model still writes its answer. Stop it, or wait for its end.") from None
        try:
            if replaced is not None:
                await self._cut(conversation, str(replaced), message)
            await self.conversations.send_files(conversation, [file.id for file in files])
        except BaseException:
            room.slot.release()
            raise
        turn = await self._begin(room, conversation, message, files=files)
        return {"conversation": conversation, "turn": turn.id}

    async def _on_view_message(self, message: Message) -> None:
        """Begin a turn with what a View wrote in the user's name. The user has agreed to it."""
        conversation = message.conversation or ""
        room = self._rooms[conversation]
        if await self.conversations.find(conversation) is None:
            raise DeclinedError("This conversation was deleted.")
        if room.waiting >= _MAX_WAITING:
            raise DeclinedError("Too many messages wait for an answer.")
        room.waiting += 1
        try:
            await room.slot.acquire()
        finally:
            room.waiting -= 1
        await self._begin(room, conversation, message.text, sender=message.server)

    async def _begin(
        self,
        room: _Room,
        conversation: str,
        message: str,
        *,
        sender: str | None = None,
        files: list[File] | None = None,
    ) -> Turn:
        """Begin a turn. The caller has taken the room's slot, which is released at the turn's end."""
        assert self._tasks is not None
        files, settings = files or [], self._describe_settings()
        turn = room.turn = Turn(
            conversation,
            self._events.publish,
            text=message,
            sender=sender,
            files=[file.describe() for file in files],
            source=(settings["model"], settings["base_url"]),
        )
        prompt = _prompt(message, sender, files)
        try:
            await self._save(turn, [ModelRequest(parts=[UserPromptPart(prompt)])])
        except BaseException:
            self._leave(room)
            raise
        turn.publish()
        self._events.publish("conversations", {})
        self._tasks.start_soon(self._run, room, turn, prompt)
        return turn

    async def _run(self, room: _Room, turn: Turn, prompt: Prompt) -> None:
        """Run a turn to its end, whatever happens in it."""
        try:
            turn.finish(*await self._outcome(turn, prompt))
            await self.conversations.save_end(turn.data)
        except StoreError as error:
            logger.warning("a turn could not be saved: %s", error)
        finally:
            self._leave(room)
        turn.publish()
        self._events.publish("conversations", {})

    async def _outcome(self, turn: Turn, prompt: Prompt) -> tuple[str, str | None]:
        """Let the model answer, and return how the turn has ended, with the error if it has failed."""
        try:
            await self._answer(turn, prompt)
        except RunCancelled:
            return "stopped", None
        except FanlightError as error:
            return "failed", str(error)
        except AgentRunError as error:
            logger.debug("a turn has failed", exc_info=True)
            return "failed", self._explain(turn, error)
        except Exception as error:
            logger.exception("a turn has failed")
            return "failed", f"{type(error).__name__}: {error}"
        return "done", None

    def _explain(self, turn: Turn, error: AgentRunError) -> str:
        model, base_url = turn.source
        used = self._models.get((model, base_url))
        return explain(
            error,
            model=model,
            address=base_url or (used.base_url if used else None) or "",
            is_compatible=base_url is not None,
            timeout=self._limits.model_timeout,
        )

    def _leave(self, room: _Room) -> None:
        room.turn = None
        room.slot.release()

    async def _answer(self, turn: Turn, prompt: Prompt) -> None:
        """Let the model answer, and publish and save what it writes."""
        chat = self.host.conversation(turn.conversation, user=USER)
        settings = self._describe_settings()
        agent = Agent(
            await self._model(*turn.source),
            instructions=settings["instructions"],
            capabilities=[
                Apps(chat),
                _Switches(settings["off"]),
                _Approvals(turn, settings["allowed"], self._limits.answer_timeout),
            ],
            model_settings={"timeout": self._limits.model_timeout},
        )
        history = await self._history(turn)
        tools: dict[str, ModelTool] = {tool.name: tool for tool in await chat.tools()}
        limits = UsageLimits(request_limit=self._limits.steps)
        async with agent.run_stream_events(prompt, message_history=history, usage_limits=limits) as events:
            turn.on_stop(events.cancel)
            saving = anyio.CancelScope()
            assert self._tasks is not None
            self._tasks.start_soon(self._save_regularly, saving, turn, events)
            try:
                async for event in events:
                    if isinstance(event, ViewOpened):  # with its token, so that a page need not ask for one
                        self._events.publish("token", {"view": event.view, "token": await chat.token(event.view)})
                    if turn.apply(event, tools):
                        await self._save(turn, events.new_messages())
                turn.data["note"] = note(events.new_messages(), is_compatible=turn.source[1] is not None)
            finally:
                saving.cancel()
                # Also at the end of the program. What a run has done so far is its history, however it ended.
                with suppress(UserError), anyio.CancelScope(shield=True):  # UserError: it was stopped before its start
                    turn.count(events.usage)
                    await self._save(turn, events.new_messages())

    async def _save_regularly(self, scope: anyio.CancelScope, turn: Turn, events: AgentRunEvents[str]) -> None:
        """Save a turn once a second while the model writes, for a program that is killed."""
        saved = 0
        with scope:
            while True:
                await anyio.sleep(_SAVE_EVERY)
                if turn.data["seq"] != saved:
                    saved = turn.data["seq"]
                    # The run has not started yet, or the disk is full, which the end of the turn reports.
                    with suppress(UserError, StoreError):
                        await self._save(turn, events.new_messages())

    async def _save(self, turn: Turn, messages: list[ModelMessage]) -> None:
        await self.conversations.save(
            turn.conversation, turn.data, turn.words, ModelMessagesTypeAdapter.dump_json(messages)
        )

    async def _history(self, turn: Turn) -> list[ModelMessage]:
        """Return what the model and the user wrote before a turn."""
        stored = await self.conversations.messages(turn.conversation, turn.id)

        def parse() -> list[ModelMessage]:
            return [message for each in stored for message in ModelMessagesTypeAdapter.validate_json(each)]

        return await anyio.to_thread.run_sync(parse)

    async def _stop(self, body: JSONObject) -> JSONObject:
        self._cancel(text(body, "conversation"))
        return {}

    async def _allow(self, body: JSONObject) -> JSONObject:
        """Answer the question whether the model may make a call: "once", "always" or "deny"."""
        turn, answer, call = self._rooms[text(body, "conversation")].turn, text(body, "answer"), text(body, "call")
        if answer not in ("once", "always", "deny"):
            raise BadRequestError(f'answer is {answer!r}, expected "once", "always" or "deny".')
        tool = turn.answer(call, answer != "deny") if turn is not None else None
        if tool is None:
            raise BadRequestError("This call does not wait for an answer any more.")
        if answer == "always":
            self._settings["allowed"] = sorted({*self._describe_settings()["allowed"], tool})
            await self.conversations.change_setting("allowed", self._settings["allowed"])
            self._events.publish("settings", {"settings": self._describe_settings()})
        return {}

    def _cancel(self, conversation: str) -> None:
        turn = self._rooms[conversation].turn
        if turn is not None:
            turn.stop()

    async def _cut(self, conversation: str, turn: str, message: str) -> None:
        """Remove a turn and all after it, close their Views, and let a title that came from the message follow it."""
        assert self._tasks is not None
        removed = await self.conversations.cut(conversation, turn)
        if not removed:
            raise BadRequestError("This message is no longer there. Reload the page.")
        found = await self.conversations.find(conversation)
        is_first = not await self.conversations.turns(conversation)
        if is_first and message and found is not None and found["title"] == _title(removed[0]["text"]):
            await self._set_title(conversation, _title(message))
        self._events.publish("cut", {"conversation": conversation, "turns": [each["id"] for each in removed]})
        for each in removed:
            for block in each["blocks"]:
                for view in block.get("views", ()):
                    self._tasks.start_soon(self._close_view, view["view"])

    async def _close_view(self, view: str) -> None:
        with suppress(FanlightError):
            await self.host.close_view(view)

    # Views

    async def _show_view(self, body: JSONObject) -> JSONObject:
        """Return a token with which the page can show a View."""
        chat = self.host.conversation(text(body, "conversation"), user=USER)
        return {"token": await chat.token(text(body, "view"))}

    async def _show_fullscreen(self, body: JSONObject) -> JSONObject:
        await self.host.show_as(text(body, "view"), "fullscreen")
        return {}

    # Settings and servers

    def _find_model_problem(self) -> str | None:
        """Return why the model of the settings cannot be used, such as one of an earlier run that has no key now."""
        if not self._settings.get("model"):
            return NO_MODEL
        try:
            create_model(self._settings["model"], self._settings.get("base_url"))
        except ModelError as error:
            return str(error)
        return None

    def _describe_settings(self) -> JSONObject:
        model = self._settings.get("model")
        return {
            "model": model or SCRIPTED,
            "base_url": self._settings.get("base_url"),
            "notice": _SCRIPT_ANSWERS if self.model_problem == NO_MODEL else self.model_problem,
            "instructions": self._settings.get("instructions", INSTRUCTIONS),
            "off": self._settings.get("off", []),
            "allowed": self._settings.get("allowed", []),
        }

    async def _change_settings(self, body: JSONObject) -> JSONObject:
        """Use another model or other instructions from the next turn on."""
        model, base_url = text(body, "model").strip(), text(body, "base_url").strip() or None
        try:
            create_model(model, base_url)
        except ModelError as error:
            raise BadRequestError(str(error)) from None
        changed: JSONObject = {"model": model, "base_url": base_url, "instructions": text(body, "instructions")}
        if isinstance(allowed := body.get("allowed"), list):
            changed["allowed"] = [str(name) for name in allowed]
        for name, value in changed.items():
            await self.conversations.change_setting(name, value)
        self._settings.update(changed)
        self.model_problem = None
        self._events.publish("settings", {"settings": self._describe_settings()})
        return {}

    async def _change_server(self, body: JSONObject) -> JSONObject:
        """Switch a server on or off, or connect it again."""
        name = text(body, "server")
        connection = self._connection(name)
        if body.get("reconnect"):
            connection.restart()
        elif isinstance(on := body.get("on"), bool):
            off = set(self._describe_settings()["off"])
            self._settings["off"] = sorted(off - {name} if on else off | {name})
            await self.conversations.change_setting("off", self._settings["off"])
        self._events.publish("server", {"server": self._describe_server(name)})
        return {}

    def _connection(self, name: str) -> Connection:
        try:
            return self.host.servers.find(name, USER)
        except NotConnectedError:
            return self.host.servers[name]

    def _describe_server(self, name: str) -> JSONObject:
        connection = self._connection(name)
        return {
            "name": name,
            "target": str(connection.target),
            "status": asdict(connection.status),
            "was_connected": connection.protocol_version is not None,
            "on": name not in self._describe_settings()["off"],
            "sign_in": self._sign_ins.get(name),
            "tools": [_describe_tool(tool) for tool in connection.tools if for_model(tool)],
        }

    def _on_server_event(self, event: ServerEvent) -> None:
        if self._connection(event.server).status.state == "ready":
            self._sign_ins.pop(event.server, None)
        if isinstance(event, StatusChanged):
            self._report(event.server, event.status)
        self._events.publish("server", {"server": self._describe_server(event.server)})

    def _report(self, server: str, status: Status) -> None:
        """Write to the terminal why a server is not connected, once for each reason."""
        if status.state == "ready":
            self._reported.pop(server, None)
        # Right after a connection is lost, its cause is not known yet, and there is no delay.
        has_ended = status.state in ("failed", "closed") or (status.state == "retrying" and status.delay is not None)
        if has_ended and status.reason and self._reported.get(server) != status.reason:
            self._reported[server] = status.reason
            advice = "" if status.state == "failed" else " Fix this, then reconnect it in the settings of the page."
            logger.warning("  %s is not connected: %s%s", server, " ".join(status.reason.split()), advice)

    def _on_sign_in(self, sign_in: SignIn) -> None:
        self._sign_ins[sign_in.server] = sign_in.url
        self._events.publish("server", {"server": self._describe_server(sign_in.server)})


def _may_want_sign_in(target: Target) -> bool:
    """Return whether a server may want the user to sign in: it has a URL, and no credentials of its own."""
    return isinstance(target, Url) and not target.headers and target.auth is None


def _title(message: str) -> str:
    line = " ".join(message.split())
    return line if len(line) <= _MAX_TITLE else line[: _MAX_TITLE - 1].rstrip() + "…"


def _prompt(message: str, sender: str | None, files: list[File]) -> Prompt:
    """Return what the model is given of a message. What a View wrote is marked, because the user did not write it."""
    written = f"[A View of the server {sender} wrote this for the user] {message}" if sender else message
    if not files:
        return written
    attached: list[UserContent] = [
        f"The attached file {file.name}:\n\n{file.data.decode()}"
        if file.type == "text/plain"
        else BinaryContent(file.data, media_type=file.type)
        for file in files
    ]
    return [written, *attached] if written else attached


def _describe_tool(tool: JSONObject) -> JSONObject:
    return {
        "name": tool["name"],
        "title": tool.get("title") or tool["name"],
        "description": tool.get("description") or "",
        "view": view_uri(tool) is not None,
    }


def _attachment(data: bytes, type: str, name: str, *, inline: bool = False) -> Response:
    """Return a file, which is saved or shown as an image: what a user or a model wrote is never a page of ours."""
    kind = "inline" if inline else "attachment"
    headers = {
        "content-disposition": f"{kind}; filename*=utf-8''{quote(name, safe='')}",
        "content-security-policy": "default-src 'none'; sandbox",
        **_NO_SNIFF,
        "cache-control": "no-store",
    }
    return Response(data, media_type=type, headers=headers)
