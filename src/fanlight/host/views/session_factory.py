"""Creates sessions: owns the host context, the capabilities and the profile that Views see."""

import secrets
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from fanlight.host.documents.tool_link import link_row
from fanlight.host.errors import NotConnectedError
from fanlight.host.handlers import Handlers
from fanlight.host.settings import Limits, Profile, Timeouts
from fanlight.host.store.base import ViewRecord
from fanlight.host.upstream.connection import Connection
from fanlight.host.upstream.servers import Servers
from fanlight.host.views.interfaces import MessageLog, RequestHandler, Tasks
from fanlight.host.views.records import app_of
from fanlight.host.views.session import MessageObserver, Save, Session
from fanlight.protocol.bridge import Bridge
from fanlight.protocol.jsonrpc import JSONObject
from fanlight.protocol.visibility import for_app

_DEFAULT_CONTEXT: JSONObject = {
    "displayMode": "inline",
    "availableDisplayModes": ["inline", "fullscreen", "pip"],
    "platform": "web",
}
# All sessions share these objects; what differs between Views replaces a key of a copy.
_CAPABILITIES: Final[JSONObject] = {
    "openLinks": {},
    "downloadFile": {},
    "logging": {},
    "sandbox": {},  # `Session.begin` fills it
    "serverTools": {"listChanged": True},
    "serverResources": {"listChanged": True},
    "updateModelContext": {"text": {}, "image": {}, "resource": {}, "resourceLink": {}, "structuredContent": {}},
}
_MESSAGE: Final[JSONObject] = {"text": {}, "image": {}, "resource": {}, "resourceLink": {}}
_SAMPLING: Final[JSONObject] = {"tools": {}}


@dataclass(frozen=True)
class SessionOptions:
    """What differs for the Views of one conversation, for tests and tools."""

    context: JSONObject = field(default_factory=dict)
    """Keys of the host context. The page's reports do not change them; a change of display mode does."""
    observer: MessageObserver | None = None
    """Called with each message in both directions."""


class SessionFactory:
    """Creates the sessions of Views, with the context and the capabilities that the host has at that time."""

    def __init__(
        self,
        servers: Servers,
        requests: RequestHandler,
        log: MessageLog,
        handlers: Handlers,
        tasks: Tasks,
        *,
        info: JSONObject | None = None,
        context: JSONObject | None = None,
        profile: Profile,
        dialects: bool = True,
        timeouts: Timeouts,
        limits: Limits,
    ) -> None:
        self.profile = profile
        """What the host offers to Views that are opened from now on."""
        self._servers = servers
        self._requests = requests
        self._log = log
        self._handlers = handlers
        self._tasks = tasks
        self._info = info or {"name": "fanlight", "version": _version()}
        self._context = {**_DEFAULT_CONTEXT, **(context or {})}
        self._pinned: JSONObject = {}
        self._dialects = dialects
        self._timeouts = timeouts
        self._limits = limits
        self._options: dict[str, SessionOptions] = {}

    def set_context(self, changes: JSONObject) -> None:
        """Change keys of the host context for sessions that are created later."""
        self._context |= changes

    def pin_context(self, values: JSONObject) -> None:
        """Override keys of the host context for all sessions, which need `refresh_context` then. None unpins a key."""
        for key, value in values.items():
            if value is None:
                self._pinned.pop(key, None)
            else:
                self._pinned[key] = value

    def set_options(self, conversation: str, options: SessionOptions | None) -> None:
        """Set the options of sessions that are created later for a conversation, or remove them with None."""
        if options is None:
            self._options.pop(conversation, None)
        else:
            self._options[conversation] = options

    def bridge(self, record: ViewRecord) -> Bridge:
        """Create the host's end of the protocol for a View."""
        connection = self._servers.find(record.server, record.user)
        tool = next((tool for tool in connection.tools if tool["name"] == record.tool), None)
        context = dict(self._context)
        if tool is not None:
            context["toolInfo"] = {"tool": tool}
        profile = self.profile
        capabilities = profile.serve(self._capabilities())
        return Bridge(
            self._info if profile.info is None else dict(profile.info),
            capabilities,
            profile.limit_context(context),
            tools=_CallableTools(self._servers, connection),
            dialects=self._dialects,
            pinned=self._pinned,
            suppressed=profile.suppressed,
            advertised=profile.advertise(capabilities),
            server_dialect=row.dialect if (row := link_row(tool or {})) is not None else None,
        )

    def create(
        self,
        record: ViewRecord,
        on_close: Callable[[Session], Awaitable[None]],
        save: Save | None = None,
        on_away: Callable[[], None] = lambda: None,
        *,
        restarted: bool = False,
    ) -> Session:
        """Create the session of a View; with `restarted`, one that continues for a process that ended."""
        bridge = self.bridge(record)
        options = self._options.get(record.conversation or "", SessionOptions())
        session = Session(
            app_of(record),
            bridge,
            self._requests,
            self._log,
            self._tasks,
            on_close,
            timeouts=self._timeouts,
            limits=self._limits,
            labels=span_labels(record),
            observer=options.observer,
            fixed_context=options.context.keys(),
            save=save,
            on_away=on_away,
            first_command=1 + (secrets.randbelow(2**40) if restarted else 0),
        )
        session.set_context(options.context)
        return session

    def _capabilities(self) -> JSONObject:
        capabilities = dict(_CAPABILITIES)
        if self._handlers.message is not None:
            capabilities["message"] = _MESSAGE
        if self._handlers.sampling is not None:
            capabilities["sampling"] = _SAMPLING
        return capabilities


class _CallableTools(Collection[str]):
    """The names of the tools that a server offers to the Views of a user at the moment (VIS-03, VIS-04)."""

    def __init__(self, servers: Servers, connection: Connection) -> None:
        self._servers = servers
        self._connection = connection

    def _tools(self) -> Sequence[JSONObject]:
        # A user's connection that was idle has been closed, and may have been replaced. The new one has no tools until
        # it is ready; what a View calls meanwhile waits for it.
        with suppress(NotConnectedError):
            if self._connection.user is not None:
                found = self._servers.find(self._connection.name, self._connection.user)
                self._connection = found if found.tools else self._connection
        return self._connection.tools

    def __contains__(self, name: object) -> bool:
        return any(tool["name"] == name and for_app(tool) for tool in self._tools())

    def __iter__(self) -> Iterator[str]:
        return (tool["name"] for tool in self._tools() if for_app(tool))

    def __len__(self) -> int:
        return sum(1 for _ in self)


def span_labels(record: ViewRecord) -> dict[str, str]:
    """Return the attributes of the trace spans of a View."""
    labels = {"fanlight.server": record.server, "fanlight.tool": record.tool}
    if record.conversation is not None:
        labels["fanlight.conversation"] = record.conversation
    if record.user is not None:
        labels["fanlight.user"] = record.user
    return labels


def _version() -> str:
    import fanlight

    return fanlight.__version__
