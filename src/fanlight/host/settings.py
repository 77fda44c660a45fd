"""What a program can set about a host: how much Views may use, how long to wait, what to keep, what to offer."""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from datetime import timedelta
from typing import Any, Final

from fanlight.host.validation import check_limits, check_seconds
from fanlight.protocol.errors import ArgumentError
from fanlight.protocol.jsonrpc import JSONObject

_AT_LEAST_ONE: Final = (
    "message_bytes",
    "messages_per_second",
    "requests_in_flight",
    "server_bytes",
    "size_changes_per_second",
    "user_connections",
)
_SHORTEST_LEASE: Final = 0.1


@dataclass(frozen=True)
class Limits:
    """How much each View, and the host as a whole, may use.

    A View that exceeds a limit gets an error that names it; others are not affected.
    """

    message_bytes: int = 16_000_000
    """The bytes of a message from a View. A larger request is answered with an error in the page and never sent."""
    messages_per_second: float = 200.0
    """Messages from a View. Beyond the limit, requests are refused, notifications dropped, and reading slows down."""
    requests_in_flight: int = 64
    """Unanswered requests of a View. Further ones are refused."""
    server_bytes: int = 32_000_000
    """The bytes of a message from a server, as it is sent. A call with a larger response is a failed call."""
    result_characters: int = 50_000_000
    """The characters of a response to a View, as JSON. The View gets an error instead of a larger one."""
    size_changes_per_second: float = 60.0
    """Size changes that a View reports. Beyond the limit, only the latest one is applied, a little later."""
    state_characters: int = 1_000_000
    """The characters of model context and widget state, as JSON, that the host keeps for a View. More are refused."""
    questions_per_minute: int = 10
    """How often a View may make the host ask the user. Further requests are denied without asking."""
    denials: int = 3
    """After this many denials in a row, the user is not asked about the View again."""
    result_views: int = 20
    """Views that one result may embed, as with mcp-ui. Further ones are ignored."""
    app_tools: int = 50
    """Tools that a View may offer to the model (D-SEC-04). Further ones are ignored."""
    app_tool_bytes: int = 10_000_000
    """The bytes of the result of a View's tool. A larger one is an error."""
    description: int = 1024
    """The characters of a tool's description that the model is given, of servers and Views alike. The rest is cut."""
    bus_bytes: int = 65_536
    """The length of a message between workers. Larger ones go through the store; larger partial input is dropped."""
    user_connections: int = 1000
    """Connections with the credentials of single users. Beyond it, the least recently used is closed."""
    app_tools_interval: float = 1.0
    """Seconds between two `tools/list` requests to a View, however often it reports a change."""

    def __post_init__(self) -> None:
        check_limits(self, _AT_LEAST_ONE)


@dataclass(frozen=True)
class Timeouts:
    """How long the host waits, in seconds from 0 up. `math.inf` means without a limit."""

    tools: float = 5.0
    """For servers to answer for the first time, counted from their start, when `Conversation.tools` is called."""
    connect: float = 10.0
    """For a server to connect, when one of its tools is called. `credentials` counts on its own, before it."""
    start: float = 60.0
    """For one attempt to connect a server: its process starts, and the handshake ends. Then the host tries again."""
    exit: float = 2.0
    """For the process of a server to exit by itself, after its stdin was closed. Then it is terminated."""
    call: float = 300.0
    """For a server to run a tool."""
    http: float = 30.0
    """For a server to accept an HTTP connection, and each part of a request. A response may take as long as `call`."""
    request: float = 60.0
    """For a server to answer a request that runs no tool, such as reading a resource."""
    credentials: float = 30.0
    """For the function `Host(credentials=...)` to return. Then the call raises `NotConnectedError`."""
    teardown: float = 2.0
    """For a View to answer `ui/resource-teardown`."""
    open: float = 10.0
    """For a page to say which View it shows, after its socket was opened."""
    prewarm: float = 600.0
    """The same for a page that asked for the sandbox first (`prewarm`)."""
    browser: float = 30.0
    """For a page to do something, such as opening a link, or to reconnect while a question is open."""
    linger: float = 300.0
    """For a page to come back to its View. Then the session ends; a page that opens the View later restores it."""
    app_tool: float = 30.0
    """For a View to run one of its own tools (D-SEC-04)."""
    schema: float = 5.0
    """For checking the result of a View's tool against the schema that the View gave for it."""
    question: float = 120.0
    """For a user to answer a question. After that, the request is denied."""
    sign_in: float = 600.0
    """For a user to sign in to a server with OAuth, after the link was made."""
    authorization: float = 10.0
    """For an authorization server to give a link to sign in, and to answer whether it still knows the program."""
    exchange: float = 30.0
    """For a server to accept a sign-in, after the browser came back with it."""
    message: float = 10.0
    """For the message handler of the program. After that, the View gets its response, and the handler goes on."""
    begun: float = 300.0
    """For the model to write more of a call's arguments, or for the program to run the call. Then it is cancelled."""
    token: float = 43_200.0
    """For a page to open a View with a token. Each use of the token starts the time again."""
    outcome: float = 60.0
    """For a store that fails to record the result of a call, with several workers. Then `run` raises `StoreError`."""
    drain: float = 5.0
    """For requests of Views and calls that are running when the program stops. Then they are cancelled."""
    health: float = 2.0
    """For the store and the bus to answer a health check. Then the process counts as not ready."""
    record: float = 5.0
    """For the store to record responses and progress of Views whose sessions end. Then their requests count as lost."""
    lease: float = 10.0
    """For a worker to renew its lease on the bus. Then it counts as dead, and its calls as cancelled."""
    handover: float = 2.0
    """For another worker to hand a View over, or to say that it drains. Then it is taken without its consent."""
    idle: float = 600.0
    """For a connection with the credentials of one user to be used again. Then it is closed."""

    def __post_init__(self) -> None:
        for field in fields(self):
            check_seconds(field.name, getattr(self, field.name))
        if not _SHORTEST_LEASE <= self.lease < math.inf:
            raise ArgumentError(f"lease is {self.lease!r}, expected a number of seconds from {_SHORTEST_LEASE} up.")


@dataclass(frozen=True)
class Retention:
    """Erases old Views and audit records on a schedule. Views that a page shows, or may come back to, are kept."""

    views: timedelta | None = None
    """The age at which Views are erased, with their arguments, results and tokens. None keeps them."""
    audit: timedelta | None = None
    """The age at which audit records are erased. None keeps them."""
    every: timedelta = timedelta(hours=1)
    """The time between two runs. The first is when the host starts."""

    def __post_init__(self) -> None:
        for name in ("views", "audit", "every"):
            value = getattr(self, name)
            if value is None and name != "every":
                continue
            if not isinstance(value, timedelta) or value <= timedelta(0):
                raise ArgumentError(f"{name} is {value!r}, expected a timedelta above 0, such as timedelta(days=30).")


@dataclass(frozen=True)
class Profile:
    """What a host offers to Views and servers, to behave like another host. By default, everything it can do."""

    info: Mapping[str, Any] | None = None
    """The name and version that Views see. None means those of `Host(info=...)`."""
    capabilities: Mapping[str, Any] | None = None
    """The `hostCapabilities` that are advertised to Views, without those that this host lacks. None means all."""
    refused: Collection[str] = ()
    """Capabilities whose requests are refused. One that is merely not advertised still works, as in some hosts."""
    display_modes: Collection[str] = ("inline", "fullscreen", "pip")
    """The display modes that Views may use."""
    suppressed: Collection[str] = ()
    """Methods that are never sent to Views."""
    withheld: Collection[str] = ()
    """Keys of the host context that Views do not get, such as "toolInfo"."""
    extension: bool = True
    """Whether the MCP Apps extension is advertised to servers. Without it, servers answer in text."""

    def serve(self, capabilities: JSONObject) -> JSONObject:
        """Return the capabilities of the host whose requests are served."""
        return {name: value for name, value in capabilities.items() if name not in self.refused}

    def advertise(self, capabilities: JSONObject) -> JSONObject:
        """Return the capabilities to advertise to Views, of those that are served."""
        if self.capabilities is None:
            return capabilities
        return {name: value for name, value in self.capabilities.items() if name in capabilities}

    def limit_context(self, context: JSONObject) -> JSONObject:
        """Return the host context without the keys and display modes that Views do not get."""
        modes = [mode for mode in context.get("availableDisplayModes", ()) if mode in self.display_modes]
        limited = {key: value for key, value in context.items() if key not in self.withheld}
        return {**limited, "availableDisplayModes": modes} if "availableDisplayModes" in limited else limited
