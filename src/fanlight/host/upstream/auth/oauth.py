"""OAuth for many users: tokens by user and server, and sign-ins that wait for the browser to come back.

The `mcp` SDK runs the protocol (discovery, registration, PKCE, exchange, refresh). This module connects the redirect,
which arrives at a route of the host, to the connection that waits for it.
"""

import hashlib
import json
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, Literal
from urllib.parse import parse_qs, urlsplit
from weakref import WeakSet

import anyio
from mcp.client.auth import AuthorizationCodeResult
from mcp.shared.auth import (
    OAuthClientInformationFull,
    OAuthClientMetadata,
)
from pydantic import AnyUrl

from fanlight.host.bus.messages import SignedIn, SignInFinished
from fanlight.host.bus.workers import Workers
from fanlight.host.errors import BusError, RequestError
from fanlight.host.settings import Timeouts
from fanlight.host.store.base import Store
from fanlight.host.upstream.auth.credentials import Credential, Credentials
from fanlight.host.upstream.auth.sign_in import PendingSignIn, SignIn, SignInResult
from fanlight.host.upstream.auth.sign_in_auth import SignInAuth
from fanlight.host.upstream.auth.tokens import UserTokens
from fanlight.host.upstream.config import Url, parse_target
from fanlight.host.validation import shown
from fanlight.protocol.errors import ArgumentError

CALLBACK: Final = "oauth/callback"
"""The path of the redirect below the path that `Host.wrap` serves."""

_MARGIN: Final = 2.0
_MAX_REASON: Final = 300
_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")
_NOT_ACCEPTED: Final = "its authorization server did not accept the sign-in"
_UNKNOWN: Final = (
    "This sign-in is not known. It was finished already, has expired, or was begun by another user. "
    "Go back to the chat and begin again."
)


@dataclass(frozen=True)
class OAuthClient:
    """The registration of the program at an authorization server, for one that does not register clients by itself."""

    issuer: str
    """The authorization server, by the `issuer` of its metadata. No other one gets the id and the secret."""
    id: str
    """The client id."""
    secret: str | None = field(default=None, repr=False)
    """The client secret, or None for a public client."""
    method: Literal["client_secret_basic", "client_secret_post"] = "client_secret_basic"
    """How the secret is sent: in a header, or in the body of the request."""

    def __post_init__(self) -> None:
        if not isinstance(self.issuer, str) or urlsplit(self.issuer).scheme not in ("https", "http"):
            raise ArgumentError(
                f"issuer is {shown(self.issuer)}, expected the address of an authorization server. "
                'Write "https://accounts.example.com".'
            )
        if not isinstance(self.id, str) or not self.id:
            raise ArgumentError(f"id is {shown(self.id)}, expected the client id that the authorization server issued.")
        if self.method not in ("client_secret_basic", "client_secret_post"):
            raise ArgumentError(
                f'method is {shown(self.method)}, expected "client_secret_basic" or "client_secret_post".'
            )


@dataclass(frozen=True)
class UserOAuth:
    """Lets each user sign in to servers with OAuth. The host stores the tokens of each user.

    Args:
        servers: The names of the servers. Each is at a URL.
        redirect_uri: The address to which the authorization server sends the browser back: the program's origin, the
            path of `Host.wrap`, and `/oauth/callback`.
        client_name: The name under which the program registers itself, which users see when they sign in.
        clients: Existing registrations of the program, by server name. For the other servers, the program registers
            itself.
    """

    servers: Collection[str]
    redirect_uri: str
    client_name: str = "Fanlight"
    clients: Mapping[str, OAuthClient] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if isinstance(self.servers, str) or not isinstance(self.servers, Collection):
            raise ArgumentError(f'servers is {shown(self.servers)}, expected names of servers. Write {{"crm"}}.')
        if not _is_redirect_uri(self.redirect_uri):
            raise ArgumentError(
                f"redirect_uri is {shown(self.redirect_uri)}, expected an address with https (or with http on this "
                f'machine) that ends in /{CALLBACK}. Write "https://chat.example.com/apps/{CALLBACK}".'
            )
        for server, client in self.clients.items():
            if server not in self.servers:
                raise ArgumentError(f"clients has the server {server!r}, which is not in servers. Add it there.")
            if not isinstance(client, OAuthClient):
                raise ArgumentError(
                    f"clients[{server!r}] is of type {type(client).__name__}, expected OAuthClient(issuer, id, secret)."
                )


def _is_redirect_uri(value: object) -> bool:
    if not isinstance(value, str):
        return False
    parts = urlsplit(value)
    is_safe = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)
    is_plain = not (parts.query or parts.fragment or parts.username)
    return is_safe and bool(parts.hostname) and is_plain and parts.path.endswith(f"/{CALLBACK}")


class SignIns:
    """The sign-ins of all users of one host.

    Args:
        options: What the program configured.
        servers: What `Host` accepts as servers.
        store: Stores tokens and registrations by user and server.
        timeouts: How long sign-ins can be finished, and how long authorization servers may take.
        notify: Is called with each sign-in that begins.
        workers: The other workers, to which the browser of a user may come back.
        others: Returns the credentials for the servers without OAuth.
    """

    def __init__(
        self,
        options: UserOAuth,
        servers: Mapping[str, object],
        store: Store,
        timeouts: Timeouts,
        notify: Callable[[SignIn], None],
        workers: Workers,
        others: Credentials | None = None,
    ) -> None:
        self.redirect_uri = options.redirect_uri
        self.timeouts = timeouts
        self._client_name = options.client_name
        self._clients = options.clients
        self._store = store
        self._notify = notify
        self._workers = workers
        self._others = others
        self._urls = {name: _url_of(name, servers) for name in options.servers}
        self._pending: dict[str, PendingSignIn] = {}
        self._auths: WeakSet[SignInAuth] = WeakSet()

    async def credentials(self, user: str, server: str) -> Credential:
        """Return the credential of a user for a server, as `Host(credentials=...)` does."""
        url = self._urls.get(server)
        if url is None:
            return None if self._others is None else await self._others(user, server)
        metadata = OAuthClientMetadata(
            redirect_uris=[AnyUrl(self.redirect_uri)],
            client_name=self._client_name,
            application_type="native" if urlsplit(self.redirect_uri).hostname in _LOOPBACK else "web",
        )
        tokens = UserTokens(self._store, user, server, url, self._registration(server))
        auth = SignInAuth(self, tokens, metadata)
        self._auths.add(auth)
        return auth

    def _registration(self, server: str) -> OAuthClientInformationFull | None:
        """Return the registration that the program was given for a server, or None."""
        client = self._clients.get(server)
        if client is None:
            return None
        return OAuthClientInformationFull(
            client_id=client.id,
            client_secret=client.secret,
            token_endpoint_auth_method="none" if client.secret is None else client.method,
            redirect_uris=[AnyUrl(self.redirect_uri)],
            issuer=client.issuer,
        )

    async def begin(self, sign_in: SignIn) -> PendingSignIn:
        """Keep a sign-in, so that its user can finish it until `end` is called."""
        state = parse_qs(urlsplit(sign_in.url).query)["state"][0]
        if self._workers.id is not None:
            expires = time.time() + self.timeouts.sign_in
            await self._store.put_payload(_route(state, sign_in.user), self._workers.id.encode(), expires)
        pending = self._pending[state] = PendingSignIn(sign_in, state)
        self._notify(sign_in)
        return pending

    def end(self, pending: PendingSignIn) -> None:
        """Drop a sign-in, so that it can no longer be finished."""
        self._pending.pop(pending.state, None)

    async def finish(self, user: str, query: Mapping[str, str]) -> SignInResult:
        """Finish the sign-in that a redirect belongs to, here or at the worker that began it."""
        state = query.get("state", "")
        if state not in self._pending and self._workers.id is not None:
            worker = await self._store.take_payload(_route(state, user))
            if worker is not None and worker.decode() != self._workers.id:
                return await self._finish_at(worker.decode(), user, query)
        return await self.finish_here(user, query)

    async def _finish_at(self, worker: str, user: str, query: Mapping[str, str]) -> SignInResult:
        request = SignInFinished(user, dict(query))
        try:
            done = await self._workers.request(worker, request, self.timeouts.exchange + _MARGIN)
        except RequestError:
            return SignInResult(False, _UNKNOWN)
        return SignInResult(done["is_signed_in"], done["message"])

    async def finish_here(self, user: str, query: Mapping[str, str]) -> SignInResult:
        """Finish a sign-in that this worker began, if it is of the user whose browser brought the redirect."""
        pending = self._pending.get(query.get("state", ""))
        # Whoever follows the link or the redirect of another user must not connect an account to that user.
        if pending is None or pending.sign_in.user != user:
            return SignInResult(False, _UNKNOWN)
        del self._pending[pending.state]  # each state is used once
        pending.answer = _answer(query, pending.state)
        pending.returned.set()
        with anyio.move_on_after(self.timeouts.exchange):
            await pending.settled.wait()
        server = pending.sign_in.server
        if pending.is_signed_in:
            with suppress(BusError):  # the other workers ask the user again
                await self._workers.broadcast(SignedIn(user, server))
            return SignInResult(True, f"You are signed in to {server}. You can close this window.")
        reason = pending.answer if isinstance(pending.answer, str) else _NOT_ACCEPTED
        return SignInResult(False, f"You are not signed in to {server}: {reason}. Go back to the chat and begin again.")

    def forget(self, user: str) -> None:
        """Drop the sign-ins of an erased user, and keep connections that are still closing from storing tokens."""
        for auth in tuple(self._auths):
            if auth.user == user:
                auth.tokens.is_erased = True
        for pending in [each for each in self._pending.values() if each.sign_in.user == user]:
            self.end(pending)


def _route(state: str, user: str) -> str:
    """Return the key of the worker that began a sign-in. It contains the user, so that no other user can take it."""
    return f"sign-in {hashlib.sha256(json.dumps([state, user]).encode()).hexdigest()}"


def _answer(query: Mapping[str, str], state: str) -> AuthorizationCodeResult | str:
    """Return what a redirect brought: a code, or the reason why there is none."""
    code = query.get("code")
    if code is not None and "error" not in query:
        return AuthorizationCodeResult(code=code, state=state, iss=query.get("iss"))
    reason = ": ".join(query[name] for name in ("error", "error_description") if query.get(name))
    return f"the authorization server refused it ({reason[:_MAX_REASON] or 'without a reason'})"


def _url_of(name: str, servers: Mapping[str, object]) -> str:
    if name not in servers:
        known = ", ".join(servers) or "none"
        raise ArgumentError(f"UserOAuth has the server {name!r}, which Host does not have. The servers are: {known}.")
    target = parse_target(servers[name], name)
    if not isinstance(target, Url):
        raise ArgumentError(f"UserOAuth has the server {name!r}, which is {target}. Expected a server at a URL.")
    return target.url
