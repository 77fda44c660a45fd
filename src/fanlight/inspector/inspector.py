"""`Inspector`: a host for developers, built from the panels of its page."""

import math
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Final

import anyio
from starlette.applications import Starlette
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from fanlight import __version__
from fanlight.dev.events import Events
from fanlight.dev.guard import Guard
from fanlight.dev.page_files import page_file, page_policy
from fanlight.dev.prewarm import PrewarmedProcesses
from fanlight.dev.source_lines import Lines
from fanlight.dev.targets import Served, with_diagnostics, with_source_lines
from fanlight.host import Allow, App, Ask, Decision, Host, Policy, Timeouts
from fanlight.host.upstream.config import Target
from fanlight.inspector.locations import Locations
from fanlight.inspector.panel import Panel
from fanlight.inspector.panels.calls import CallsPanel
from fanlight.inspector.panels.faults import Faults
from fanlight.inspector.panels.model import ModelPanel
from fanlight.inspector.panels.problems import ProblemsPanel
from fanlight.inspector.panels.security import ObservedStore, SecurityPanel
from fanlight.inspector.panels.servers import ServersPanel
from fanlight.inspector.panels.stage import StagePanel
from fanlight.inspector.reload import Reloader
from fanlight.inspector.view_builds import ViewBuilds

_ACTIONS: Final = ("tools", "app_tools", "links", "downloads", "messages", "sampling")


class _AskPolicy(Policy):
    """The default policy, which also asks about external pages instead of denying them."""

    def external(self, app: App, url: str, source: str) -> Decision:
        return Ask(f"{app.name} wants to show the page {url}")


class _AllowPolicy(Policy):
    def __init__(self) -> None:
        super().__init__(dict.fromkeys(_ACTIONS, "allow"))

    def external(self, app: App, url: str, source: str) -> Decision:
        return Allow()


class Inspector:
    """Shows the apps of some servers to their developer.

    Args:
        servers: The servers by name.
        policy: "ask" asks the user as a host does; "allow" allows everything.
        reload: Whether to watch the servers' folders, and to reload what changes.
        build: Whether to build Views that need Node while their folders are watched.
        guard: Who may use the page. Default: whoever has a token of its own.
        theme: The theme that the page starts with. Default: that of the system.
        prewarmed: Where Python processes are prewarmed for restarts.
        lines: Where servers write their source lines. Default: a folder of its own, removed at the end.
        chat_command: The command line that starts `fanlight chat` with the same servers, for the page to show.
    """

    def __init__(
        self,
        servers: Mapping[str, Served],
        *,
        policy: str = "ask",
        reload: bool = True,
        build: bool = True,
        guard: Guard | None = None,
        theme: str | None = None,
        prewarmed: PrewarmedProcesses | None = None,
        lines: Lines | None = None,
        chat_command: str | None = None,
    ) -> None:
        self.guard = guard or Guard("fanlight dev")
        self._prewarmed = prewarmed
        self._theme = theme
        self._chat_command = chat_command
        self._events = Events()
        self._lines = lines or Lines()
        self.host = Host(
            {name: self._target(served) for name, served in servers.items()},
            store=ObservedStore(self._events),
            policy=_AllowPolicy() if policy == "allow" else _AskPolicy(),
            info={"name": "fanlight-dev", "version": __version__},
            authorize=self._is_own_page,
            timeouts=Timeouts(begun=math.inf),  # a developer may pause the arguments of a call
            audit_arguments="whole",
            report_errors=True,
        )
        # Without a limit, the examples would all be ready only when the last of them is.
        self.host.servers.start_in_turn(2 * (os.cpu_count() or 1))
        if prewarmed is not None:
            self.host.servers.launch_with(prewarmed.launch)
        locations = Locations(self.host, self._lines)
        self._builds = ViewBuilds(self._lines, self._events, enabled=build and reload)
        # A server registers its Views before it is ready, or before it fails.
        self.host.servers.add_listener(lambda event: self._builds.read_reports())
        self._reloader = Reloader(self.host, servers if reload else {}, prewarmed, self._builds, self._events)
        faults = Faults(self.host.servers)
        self._servers = ServersPanel(self.host, servers, faults, self._events)
        self._stage = StagePanel(self.host, self._events)
        panels: tuple[Panel, ...] = (
            self._servers,
            self._stage,
            CallsPanel(self.host, faults, self._events),
            SecurityPanel(self.host, locations),
            ProblemsPanel(self.host, locations),
            ModelPanel(self.host, self._events),
        )
        program = Starlette(
            routes=[
                Route("/", self._index),
                Route("/pages/{name}", self._file),
                Route("/browser/form/{name}", self._form_file),
                Route("/api/events", self._stream_events),
                *(route for panel in panels for route in panel.routes()),
            ],
            lifespan=self._lifespan,
        )
        self.app: ASGIApp = self.host.wrap(self.guard.wrap(program))

    def close_streams(self) -> None:
        """End the event streams that pages hold open, so that the program can exit."""
        self._events.close()

    def _target(self, served: Served) -> Target:
        """Return the target of a server, with what this program adds for the servers that it starts."""
        add = with_source_lines if served.folder is None else with_diagnostics
        return add(served.target, self._lines)

    def _is_own_page(self, connection: HTTPConnection, view: str) -> bool:
        return self.guard.is_authenticated(connection)

    async def _index(self, request: Request) -> Response:
        if (response := self.guard.sign_in(request)) is not None:
            return response
        return page_file("fanlight.inspector", "index.html", {"content-security-policy": page_policy(request)})

    async def _file(self, request: Request) -> Response:
        return page_file("fanlight.inspector", request.path_params["name"])

    async def _form_file(self, request: Request) -> Response:
        return page_file("fanlight.browser", request.path_params["name"], folder="form")

    async def _stream_events(self, request: Request) -> Response:
        state = {
            "servers": self._servers.describe_all(),
            "preset": self._stage.preset,
            "theme": self._theme,
            "chat": self._chat_command,
            "builds": self._builds.describe_all(),
        }
        return self._events.stream({"kind": "start", **state})

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._reloader.run)
                tasks.start_soon(self._builds.run)
                yield
                tasks.cancel_scope.cancel()
            if self._prewarmed is not None:
                await self._prewarmed.aclose()
        finally:
            self._lines.close()
