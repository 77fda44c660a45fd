"""One sign-in of a user to a server: the link, and what the browser brings back."""

from dataclasses import dataclass, field
from typing import NamedTuple

import anyio
from mcp.client.auth import AuthorizationCodeResult


@dataclass(frozen=True)
class SignIn:
    """A user has to sign in to a server before it can be used for them."""

    user: str
    """The user."""
    server: str
    """The name of the server."""
    url: str = field(repr=False)
    """The page of the authorization server. Show it to this user as a link; it is of no use to others."""


class SignInResult(NamedTuple):
    """What to show a browser that came back from the authorization server."""

    is_signed_in: bool
    message: str


class PendingSignIn:
    """A sign-in that waits for the browser to come back."""

    def __init__(self, sign_in: SignIn, state: str) -> None:
        self.sign_in = sign_in
        self.state = state
        self.returned = anyio.Event()
        self.answer: AuthorizationCodeResult | str = ""
        """What the browser brought: a code, or the reason why there is none."""
        self.settled = anyio.Event()
        """Set when the server has accepted the code, or has not."""
        self.is_signed_in = False

    def settle(self, *, is_signed_in: bool) -> None:
        if not self.settled.is_set():
            self.is_signed_in = is_signed_in
            self.settled.set()
