"""How long the host waits for servers, pages, Views and users."""

import math
from dataclasses import dataclass, fields

from fanlight.host.validation import check_seconds
from fanlight.protocol.errors import ArgumentError

_SHORTEST_LEASE = 0.1


@dataclass(frozen=True)
class Timeouts:
    """How long the host waits, in seconds from 0 up. `math.inf` means without a limit."""

    tools: float = 5.0
    """For servers to answer for the first time, counted from their start, when `Conversation.tools` is called."""
    connect: float = 10.0
    """For a server to connect, when one of its tools is called."""
    call: float = 300.0
    """For a server to run a tool."""
    teardown: float = 2.0
    """For a View to answer `ui/resource-teardown`."""
    browser: float = 30.0
    """For a page to do something, such as opening a link, or to reconnect while a question is open."""
    app_tool: float = 30.0
    """For a View to run one of its own tools (D-SEC-04)."""
    question: float = 120.0
    """For a user to answer a question. After that, the request is denied."""
    sign_in: float = 600.0
    """For a user to sign in to a server with OAuth, after the link was made."""
    message: float = 10.0
    """For the message handler of the program. After that, the View gets its response, and the handler goes on."""
    begun: float = 300.0
    """For the model to write more of a call's arguments, or for the program to run the call. Then it is cancelled."""
    token: float = 43_200.0
    """For a page to open a View with a token. Each use of the token starts the time again."""
    drain: float = 5.0
    """For requests of Views and calls that are running when the program stops. Then they are cancelled."""
    lease: float = 10.0
    """For a worker to renew its lease on the bus. Then it counts as dead, and its calls as cancelled."""
    handover: float = 2.0
    """For another worker to hand a View over. Then it is taken without its consent."""
    idle: float = 600.0
    """For a connection with the credentials of one user to be used again. Then it is closed."""

    def __post_init__(self) -> None:
        for field in fields(self):
            check_seconds(field.name, getattr(self, field.name))
        if not _SHORTEST_LEASE <= self.lease < math.inf:
            raise ArgumentError(f"lease is {self.lease!r}, expected a number of seconds from {_SHORTEST_LEASE} up.")
