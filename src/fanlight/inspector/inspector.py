"""The program behind `fanlight dev`: a host, and the JSON behind each panel of its page."""

import functools
import mimetypes
import sys
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, replace
from importlib.resources import files
from pathlib import Path
from time import time
from typing import Any, Final

import anyio
import orjson
from starlette.applications import Starlette
from starlette.requests import HTTPConnection, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from fanlight import __version__
from fanlight.dev.presets import PRESETS
from fanlight.dev.prewarm import Spares
from fanlight.dev.source_lines import Lines, Place
from fanlight.dev.targets import Served
from fanlight.host import Allow, App, Ask, Decision, Host, Policy, Unfinished
from fanlight.host.upstream.config import Command, Target
from fanlight.host.upstream.events import News
from fanlight.host.views.documents import for_app, for_model, link_problem, view_uri
from fanlight.host.views.session import RequestFailed
from fanlight.host.web.origins import app_label
from fanlight.inspector.calls import Calls
from fanlight.inspector.events import Events
from fanlight.inspector.faults import Trials
from fanlight.inspector.guard import Guard
from fanlight.inspector.recording import Recording
from fanlight.inspector.watch import changes
from fanlight.protocol.errors import FanlightError
from fanlight.protocol.jsonrpc import JSONObject

Answer = Callable[[JSONObject], Awaitable[Any]]

_CSP: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; frame-src {sandbox}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_KINDS: Final = ("tools", "app_tools", "links", "downloads", "messages", "sampling")
_STAGE: Final = frozenset(
    {"theme", "locale", "timeZone", "containerDimensions", "safeAreaInsets", "deviceCapabilities", "styles"}
)
_MOST_RECORDS: Final = 500
_MOST_MESSAGES: Final = 2_000
_REST: Final = 2.0  # seconds that a server has for its start, before a Python is made ready for the next one


class Unusable(Exception):
    """What the page asked for cannot be done, and why."""


class _AskAll(Policy):
    """Asks also about external pages, which a host refuses until it has a rule for them."""

    def external(self, app: App, url: str, source: str) -> Decision:
        return Ask(f"{app.name} wants to show the page {url}")


class _AllowAll(Policy):
    def external(self, app: App, url: str, source: str) -> Decision:
        return Allow()


class Inspector:
    """Shows the apps of some servers."""

    def __init__(
        self,
        servers: Mapping[str, Served],
        *,
        policy: str = "ask",
        reload: bool = True,
        theme: str | None = None,
        spares: Spares | None = None,
        lines: str | None = None,
    ) -> None:
        self.guard = Guard()
        self._spares = spares
        self._served = dict(servers)
        self._reload = reload
        self._theme = theme
        self._messages: list[JSONObject] = []
        self._passed: dict[str, deque[JSONObject]] = {name: deque(maxlen=_MOST_MESSAGES) for name in servers}
        self._words: dict[str, deque[JSONObject]] = {name: deque(maxlen=_MOST_RECORDS) for name in servers}
        self._events = Events()
        self._lines = Lines(lines)
        self.host = Host(
            {name: self._quick(served) for name, served in servers.items()},
            policy=_AllowAll(dict.fromkeys(_KINDS, "allow")) if policy == "allow" else _AskAll(),
            info={"name": "fanlight-dev", "version": __version__},
            authorize=self._is_ours,
            audit_arguments="whole",
            report_errors=True,
        )
        self.host.on_message(self._heard)
        self.host.servers.listen(self._news)
        for name, connection in self.host.servers.items():
            connection.tap = functools.partial(self._overheard, name)
            connection.on_stderr = functools.partial(self._wrote, name)
        self._calls = Calls(self.host)
        self._trials = Trials(self.host.servers)
        self._preset = "fanlight"
        self._stage: JSONObject = {}
        asked: Mapping[str, Answer] = {
            "servers": self._list_servers,
            "presets": self._list_presets,
            "resources": self._list_resources,
            "resource": self._read_resource,
            "model": self._model,
            "audit": self._audit,
            "grants": self._grants,
            "connection": self._connection,
            "place": self._place,
        }
        told: Mapping[str, Answer] = {
            "call": self._call,
            "stream": self._stream,
            "cancel": self._cancel,
            "replay": self._replay,
            "stage": self._set_stage,
            "mode": self._set_mode,
            "host": self._set_host,
            "trial": self._set_trial,
            "reconnect": self._reconnect,
            "close": self._close,
            "app-tool": self._call_app_tool,
            "revoke": self._revoke,
        }
        routes = [
            Route("/", self._page),
            Route("/pages/{name}", self._file),
            Route("/api/events", self._listen),
            *(Route(f"/api/{name}", _query(answer)) for name, answer in asked.items()),
            *(Route(f"/api/{name}", _posted(answer), methods=["POST"]) for name, answer in told.items()),
        ]
        program = Starlette(routes=routes, lifespan=self._lifespan)
        self.app: ASGIApp = self.host.wrap(self.guard.wrap(program))

    def _quick(self, served: Served) -> Target:
        """Return a server as one that may be run by a Python that is kept ready for it."""
        target = self._lines.asked_of(served.target)
        if isinstance(target, Command) and served.folder is not None:
            return replace(target, spares=self._spares)
        return target

    def _is_ours(self, connection: HTTPConnection, view: str) -> bool:
        return self.guard.knows(connection)

    # The page

    async def _page(self, request: Request) -> Response:
        if (answer := self.guard.admit(request)) is not None:
            return answer
        sandbox = " ".join(
            f"{request.url.scheme}://{name}.localhost:{request.url.port or 80}" for name in ("sandbox", "*.sandbox")
        )
        return _file("index.html", {"content-security-policy": _CSP.format(sandbox=sandbox)})

    async def _file(self, request: Request) -> Response:
        return _file(request.path_params["name"])

    async def _listen(self, request: Request) -> Response:
        start = {"servers": await self._list_servers({}), "preset": self._preset, "theme": self._theme}
        return self._events.stream({"kind": "start", **start})

    # Servers

    async def _list_servers(self, asked: JSONObject) -> list[JSONObject]:
        return [self._server(name) for name in self._served]

    def _server(self, name: str) -> JSONObject:
        connection = self.host.servers[name]
        return {
            "name": name,
            "target": str(connection.target),
            "status": asdict(connection.status),
            "protocol": connection.protocol_version,
            "info": connection.info,
            "instructions": connection.instructions,
            "capabilities": connection.capabilities,
            "trial": asdict(self._trials.of(name)),
            "log": list(self._words[name]),
            "tools": [_tool(name, tool) for tool in connection.tools],
        }

    async def _list_resources(self, asked: JSONObject) -> JSONObject:
        """List what a server has besides tools; what it does not offer is empty."""
        connection = self.host.servers[_text(asked, "server")]
        found: JSONObject = {"resources": [], "resourceTemplates": [], "prompts": []}
        lists = {
            "resources": connection.list_resources,
            "resourceTemplates": connection.list_resource_templates,
            "prompts": connection.list_prompts,
        }
        for name, pages in lists.items():
            if ("prompts" if name == "prompts" else "resources") not in connection.capabilities:
                continue
            page = await pages(None)
            found[name] = page.get(name, [])
            while (cursor := page.get("nextCursor")) and len(found[name]) < _MOST_RECORDS:
                page = await pages(cursor)
                found[name] += page.get(name, [])
        return found

    async def _read_resource(self, asked: JSONObject) -> JSONObject:
        return await self.host.servers[_text(asked, "server")].read_resource(_text(asked, "uri"))

    async def _set_trial(self, told: JSONObject) -> JSONObject:
        server = _text(told, "server")
        slow, failing, lost = told.get("slow"), told.get("failing"), told.get("lost")
        self._trials.set(
            server,
            float(slow) if isinstance(slow, int | float) else None,
            failing if isinstance(failing, bool) else None,
            lost if isinstance(lost, bool) else None,
        )
        self._events.publish("server", self._server(server))
        return {}

    async def _reconnect(self, told: JSONObject) -> JSONObject:
        self.host.servers[_text(told, "server")].restart()
        return {}

    async def _connection(self, asked: JSONObject) -> list[JSONObject]:
        return list(self._passed[_text(asked, "server")])

    # Calls

    async def _call(self, told: JSONObject) -> JSONObject:
        server, tool, arguments = _text(told, "server"), _text(told, "tool"), told.get("arguments")
        if not isinstance(arguments, dict):
            raise Unusable("The arguments are no JSON object.")
        self._trials.stop(server)
        try:
            id = await self._begin(server, tool, told)
        except Unfinished as error:
            return {"cancelled": error.message}
        pace = told.get("pace")
        paused = told.get("paused") is True
        return await self._calls.finish(
            id, arguments, float(pace) if isinstance(pace, int | float) else None, paused=paused
        )

    async def _begin(self, server: str, tool: str, told: JSONObject) -> str:
        """Begin a call in the conversation of its page, and tell the pages which View it has."""
        key = _text(told, "key") if "key" in told else ""
        id, call = await self._calls.begin(server, tool, _page(told), key)
        self._events.publish("called", {"id": id, "key": key, "view": call.view})
        return id

    async def _stream(self, told: JSONObject) -> JSONObject:
        writing = self._calls.writing(_text(told, "id"))
        if writing is None:
            raise Unusable("The arguments of this call are complete.")
        pace, paused, steps = told.get("pace"), told.get("paused"), told.get("steps")
        writing.change(
            float(pace) if isinstance(pace, int | float) else None,
            paused if isinstance(paused, bool) else None,
            steps if isinstance(steps, int) else 0,
        )
        await writing.stepped()
        return {"written": writing.written, "of": len(writing.text), "paused": writing.paused}

    async def _cancel(self, told: JSONObject) -> JSONObject:
        waits = "key" in told
        if not (self._calls.give_up(_text(told, "key")) if waits else await self._calls.cancel(_text(told, "id"))):
            raise Unusable("There is no such call.")
        return {}

    async def _replay(self, told: JSONObject) -> JSONObject:
        """Show a View what it was shown then, its server's answers included."""
        recording = Recording(_text(told, "lines"))
        server, tool = _text(told, "server"), _text(told, "tool")
        try:
            id = await self._begin(server, tool, told)
        except Unfinished as error:
            return {"cancelled": error.message}
        self._trials.play(server, recording)
        answer = await self._calls.finish(id, recording.arguments)
        return {**answer, "arguments": recording.arguments, "said": recording.said}

    async def _close(self, told: JSONObject) -> JSONObject:
        await self.host.close_view(_text(told, "view"))
        return {}

    # The stage

    async def _set_stage(self, told: JSONObject) -> JSONObject:
        """Set what Views are told of where they are; what is null is left to the page."""
        self._stage = {key: value for key, value in told.items() if key in _STAGE and value is not None}
        self._pin()
        return {}

    def _pin(self) -> None:
        values = {**dict.fromkeys((*_STAGE, "platform")), **PRESETS[self._preset].context, **self._stage}
        self.host.pin_context(**values)

    async def _set_mode(self, told: JSONObject) -> JSONObject:
        await self.host.show_as(_text(told, "view"), _text(told, "mode"))
        return {}

    async def _list_presets(self, asked: JSONObject) -> JSONObject:
        return {
            id: {
                "name": preset.name,
                "seen": preset.seen,
                "differs": preset.differs,
                "modes": list(preset.profile.display_modes),
                "container": preset.context.get("containerDimensions"),
            }
            for id, preset in PRESETS.items()
        }

    async def _set_host(self, told: JSONObject) -> JSONObject:
        """Be like another host; the Views that are open are loaded anew."""
        preset = _text(told, "preset")
        if preset not in PRESETS:
            raise Unusable(f"There is no preset {preset!r}. The presets are: {', '.join(PRESETS)}.")
        self._preset = preset
        self.host.profile = PRESETS[preset].profile
        self._pin()
        for name in self._served:
            await self.host.reload_views(name)
        self._events.publish("preset", {"preset": preset})
        return {}

    # What the model sees, and what was decided

    async def _model(self, asked: JSONObject) -> JSONObject:
        page = _page(asked)
        tools = [asdict(tool) for tool in self.host.app_tools(page)]
        messages = [message for message in self._messages if message["conversation"] == page]
        return {"context": self.host.model_context(page), "messages": messages, "appTools": tools}

    async def _call_app_tool(self, told: JSONObject) -> JSONObject:
        arguments = told.get("arguments")
        if not isinstance(arguments, dict):
            raise Unusable("The arguments are no JSON object.")
        return await self.host.call_app_tool(_text(told, "view"), _text(told, "name"), arguments)

    async def _audit(self, asked: JSONObject) -> list[JSONObject]:
        """Tell what was recorded, of one View or of all."""
        view = asked.get("view")
        records = list(self.host.audit(view=view))
        shown = self._shown(view) if isinstance(view, str) else None
        if shown is None:
            return [record._asdict() for record in records[-_MOST_RECORDS:]]
        # The browser names the app alone: what it blocked of one of several Views is recorded of none. What was
        # blocked before this one was shown is not its own.
        blocked = self.host.audit(kind="violation", server=shown["server"], since=shown["at"])
        records += [each for each in blocked if each.view is None and (each.data or {}).get("uri") == shown["uri"]]
        records.sort(key=lambda record: record.time)
        return [self._placed(record._asdict(), shown["sha256"]) for record in records[-_MOST_RECORDS:]]

    def _shown(self, view: str) -> JSONObject | None:
        """Return what was recorded of the document that a View showed last."""
        shown = [record for record in self.host.audit(view=view, kind="document") if record.data]
        last = next((record for record in reversed(shown) if "sha256" in (record.data or {})), None)
        return None if last is None else {"server": last.server, "at": last.time, **(last.data or {})}

    def _placed(self, record: JSONObject, sha256: str) -> JSONObject:
        """Return a record with the author's file and line, if it has a line of the document."""
        line = (record["data"] or {}).get("line")
        place = self._lines.place(sha256, line, 1) if isinstance(line, int) else None
        return {**record, "data": {**record["data"], "place": _told(place)}} if place else record

    async def _place(self, asked: JSONObject) -> JSONObject:
        """Tell the file and the line of the author's that a place in a View's document is, if it is known."""
        shown = self._shown(_text(asked, "view"))
        line, column = int(_text(asked, "line")), int(_text(asked, "column"))
        place = self._lines.place(shown["sha256"], line, column) if shown else None
        return _told(place) if place else {}

    async def _grants(self, asked: JSONObject) -> list[JSONObject]:
        return [asdict(grant) for grant in self.host.grants()]

    async def _revoke(self, told: JSONObject) -> JSONObject:
        for grant in self.host.grants():
            if asdict(grant) == told.get("grant"):
                self.host.revoke(grant)
                return {}
        raise Unusable("There is no such permission any more.")

    # What happens meanwhile

    def _news(self, news: News) -> None:
        self._events.publish("server", self._server(news.server))

    def _wrote(self, server: str, line: str) -> None:
        """Show what a server writes to its stderr, here and in the page."""
        sys.stderr.write(f"  {server}: {line}\n")
        entry = {"at": time(), "line": line}
        self._words[server].append(entry)
        self._events.publish("wrote", {"server": server, **entry})

    def stop(self) -> None:
        """Let the pages go."""
        self._events.close()

    def _overheard(self, server: str, direction: str, message: JSONObject) -> None:
        entry = {"at": time(), "direction": direction, "message": message}
        self._passed[server].append(entry)
        self._events.publish("passed", {"server": server, **entry})

    async def _heard(self, conversation: str | None, role: str, content: list[JSONObject]) -> None:
        message = {"conversation": conversation, "role": role, "content": content, "at": time()}
        self._messages.append(message)
        self._events.publish("message", message)

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        try:
            async with anyio.create_task_group() as tasks:
                for name, served in self._served.items():
                    if self._reload and served.folder is not None:
                        tasks.start_soon(self._watch, name, served.folder)
                        tasks.start_soon(self._make_ready, self.host.servers[name].target)
                self._tasks = tasks
                yield
                tasks.cancel_scope.cancel()
            if self._spares is not None:
                await self._spares.aclose()
        finally:
            self._lines.close()

    async def _make_ready(self, to: Target) -> None:
        """Have a Python ready for the next start of a server, once this one is over."""
        if self._spares is not None and isinstance(to, Command):
            await anyio.sleep(_REST)
            await self._spares.prepare(Path(to.args[0]), to.env or {})

    async def _renew(self, name: str) -> None:
        """Load the Views anew that are others since their server was started again. One that does not start says so."""
        with suppress(FanlightError):
            await self.host.servers[name].ready()
            await self.host.reload_views(name, changed=True)

    async def _watch(self, name: str, folder: Path) -> None:
        """Restart a server whose code changed, and load its Views anew when one of their files did."""
        async for changed in changes(folder):
            if any(path.suffix == ".py" for path in changed):
                self.host.servers[name].restart()
                self._tasks.start_soon(self._renew, name)
                self._tasks.start_soon(self._make_ready, self.host.servers[name].target)
            else:
                await self.host.reload_views(name)
            self._events.publish("changed", {"server": name, "files": sorted(path.name for path in changed)})


def _told(place: Place) -> JSONObject:
    return {"file": place.file, "line": place.line}


def _tool(server: str, tool: JSONObject) -> JSONObject:
    kinds = {(True, True): "both", (True, False): "model", (False, True): "app", (False, False): "none"}
    who = kinds[for_model(tool), for_app(tool)]
    uri = view_uri(tool)
    label = None if uri is None else app_label(server, uri)
    return {**tool, "who": who, "view": uri, "label": label, "problem": link_problem(tool)}


def _query(answer: Answer) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        return await _answered(answer, dict(request.query_params))

    return endpoint


def _posted(answer: Answer) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        try:
            told = orjson.loads(await request.body())
        except ValueError:
            told = None
        if not isinstance(told, dict):
            return _json({"error": "Expected a JSON object."}, 400)
        return await _answered(answer, told)

    return endpoint


async def _answered(answer: Answer, asked: JSONObject) -> Response:
    """Answer, also with what went wrong: that a server fails is no fault of the page, and no error of HTTP."""
    try:
        return _json(await answer(asked))
    except (FanlightError, RequestFailed) as error:
        return _json({"error": str(error)})
    except (Unusable, KeyError, ValueError) as error:
        words = error.args[0] if isinstance(error, KeyError) and error.args else error
        return _json({"error": str(words)}, 400)


def _text(fields: JSONObject, key: str) -> str:
    value = fields.get(key)
    if isinstance(value, str):
        return value
    raise Unusable(f"{key} is {value!r}, expected a string.")


def _page(fields: JSONObject) -> str:
    """Return which page asks: each is a conversation of its own."""
    return _text(fields, "page") if "page" in fields else "dev"


def _json(value: Any, status: int = 200) -> Response:
    return Response(orjson.dumps(value), status, media_type="application/json", headers={"cache-control": "no-store"})


def _file(name: str, headers: Mapping[str, str] | None = None) -> Response:
    page = files("fanlight.inspector").joinpath("pages", name)
    if not page.is_file():
        return PlainTextResponse("There is no such page.", 404)
    fixed = {"cache-control": "no-cache", "x-content-type-options": "nosniff", "referrer-policy": "no-referrer"}
    kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
    return Response(page.read_bytes(), media_type=kind, headers={**fixed, **(headers or {})})
