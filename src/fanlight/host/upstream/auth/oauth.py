"""OAuth for many users: tokens by user and server, and sign-ins that wait for the browser to come back.

The `mcp` SDK runs the protocol (discovery, registration, PKCE, exchange, refresh). This module stores what it learns,
and connects the redirect, which arrives at a route of the host, to the connection that waits for it.
"""

import hashlib
import json
import logging
import time
from collections.abc import AsyncGenerator, Callable, Collection, Mapping
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple, TypeVar
from urllib.parse import parse_qs, urlencode, urlsplit
from weakref import WeakSet

import anyio
import httpx2
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider, OAuthFlowError
from mcp.client.auth.oauth2 import OAuthContext, PKCEParameters
from mcp.shared.auth import (
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import AnyUrl, BaseModel

from fanlight.host.bus.messages import SignedIn, SignInFinished
from fanlight.host.bus.workers import Workers
from fanlight.host.errors import BusError, RequestError
from fanlight.host.store.base import Store
from fanlight.host.upstream.auth.credentials import Credential, Credentials
from fanlight.host.upstream.config import Url, parse_target
from fanlight.host.validation import shown
from fanlight.protocol.errors import ArgumentError
from fanlight.protocol.jsonrpc import JSONObject

logger = logging.getLogger(__name__)

Model = TypeVar("Model", bound=BaseModel)

CALLBACK: Final = "oauth/callback"
"""The path of the redirect below the path that `Host.wrap` serves."""

_REJECTED: Final = (httpx2.codes.UNAUTHORIZED, httpx2.codes.FORBIDDEN)
_EXCHANGE_TIMEOUT: Final = 30.0  # for the authorization server to exchange a code for a token
_MARGIN: Final = 2.0
_MAX_REASON: Final = 300
_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")
_NOT_ACCEPTED: Final = "its authorization server did not accept the sign-in"
_UNKNOWN: Final = (
    "This sign-in is not known. It was finished already, has expired, or was begun by another user. "
    "Go back to the chat and begin again."
)


@dataclass
class Sending:
    """How far the sending of a request has come that may have to wait for a sign-in."""

    is_repeatable: bool = True
    """Whether the server has certainly not run the request: it was not sent, or was rejected."""


current_sending: ContextVar[Sending | None] = ContextVar("current_sending", default=None)
"""Set by the task that makes a request. The SDK authenticates the request in another task with the same context."""


class SignInEndedError(OAuthFlowError):
    """A sign-in ended without a token, and nothing is broken: the user refused it, or did not come back in time."""


class _RegistrationLostError(SignInEndedError):
    """The authorization server does not know the registration of this program any more."""


def _is_news(record: logging.LogRecord) -> bool:
    """Return whether a record of the SDK's log is news: it has a traceback also for what users decide."""
    return record.exc_info is None or not isinstance(record.exc_info[1], SignInEndedError)


logging.getLogger("mcp.client.auth.oauth2").addFilter(_is_news)


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
        clients: The registrations that the program has already, by the name of the server. It registers itself at the
            authorization servers of the others.
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


class _Pending:
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


class SignIns:
    """The sign-ins of all users of one host.

    Args:
        options: What the program configured.
        servers: What `Host` accepts as servers.
        store: Stores tokens and registrations by user and server.
        timeout: For how many seconds a sign-in can be finished.
        notify: Is called with each sign-in that begins.
        workers: The other workers, to which the browser of a user may come back.
        others: Returns the credentials for the servers that are not signed in to with OAuth.
    """

    def __init__(
        self,
        options: UserOAuth,
        servers: Mapping[str, object],
        store: Store,
        timeout: float,
        notify: Callable[[SignIn], None],
        workers: Workers,
        others: Credentials | None = None,
    ) -> None:
        self.redirect_uri = options.redirect_uri
        self.timeout = timeout
        self._client_name = options.client_name
        self._clients = options.clients
        self._store = store
        self._notify = notify
        self._workers = workers
        self._others = others
        self._urls = {name: _url_of(name, servers) for name in options.servers}
        self._pending: dict[str, _Pending] = {}
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

    async def begin(self, sign_in: SignIn) -> _Pending:
        """Let the user of a sign-in finish it, until `end`."""
        state = parse_qs(urlsplit(sign_in.url).query)["state"][0]
        if self._workers.id is not None:
            expires = time.time() + self.timeout
            await self._store.put_payload(_route(state, sign_in.user), self._workers.id.encode(), expires)
        pending = self._pending[state] = _Pending(sign_in, state)
        self._notify(sign_in)
        return pending

    def end(self, pending: _Pending) -> None:
        """Let nobody finish a sign-in any more."""
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
            done = await self._workers.request(worker, request, _EXCHANGE_TIMEOUT + _MARGIN)
        except RequestError:
            return SignInResult(False, _UNKNOWN)
        return SignInResult(done["is_signed_in"], done["message"])

    async def finish_here(self, user: str, query: Mapping[str, str]) -> SignInResult:
        """Finish a sign-in that this worker began, if it is of the user whose browser brought the redirect."""
        pending = self._pending.get(query.get("state", ""))
        # A user who gets the link or the redirect of another user must not connect one's account to the other's.
        if pending is None or pending.sign_in.user != user:
            return SignInResult(False, _UNKNOWN)
        del self._pending[pending.state]  # each state is used once
        pending.answer = _answer(query, pending.state)
        pending.returned.set()
        with anyio.move_on_after(_EXCHANGE_TIMEOUT):
            await pending.settled.wait()
        server = pending.sign_in.server
        if pending.is_signed_in:
            with suppress(BusError):  # the other workers ask the user again
                await self._workers.broadcast(SignedIn(user, server))
            return SignInResult(True, f"You are signed in to {server}. You can close this window.")
        reason = pending.answer if isinstance(pending.answer, str) else _NOT_ACCEPTED
        return SignInResult(False, f"You are not signed in to {server}: {reason}. Go back to the chat and begin again.")

    def forget(self, user: str) -> None:
        """Let connections of a user that still close store nothing, and let no sign-in of the user be finished."""
        for auth in tuple(self._auths):
            if auth.user == user:
                auth.tokens.is_erased = True
        for pending in [each for each in self._pending.values() if each.sign_in.user == user]:
            self.end(pending)


def _route(state: str, user: str) -> str:
    """Return the key of the worker that began a sign-in. Without its user, nobody else finds and removes it."""
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


class UserTokens:
    """The tokens and the registration of one user at one server: the SDK's `TokenStorage`, in a `Store`."""

    def __init__(
        self, store: Store, user: str, server: str, url: str, registration: OAuthClientInformationFull | None = None
    ) -> None:
        self.user = user
        self.server = server
        self.url = url
        self.is_erased = False
        """Whether the user was forgotten, so that nothing may be stored any more."""
        self.may_be_lost = registration is None
        """Whether the registration is one that the authorization server may have forgotten since it was stored."""
        self.context: OAuthContext | None = None
        """The state of the SDK's provider that goes with the tokens."""
        self._store = store
        self._registration = registration

    async def _load(self) -> JSONObject:
        stored = await self._store.credentials(self.user, self.server) or {}
        # A name that leads to another address now is another server, which must not see the tokens.
        return stored if stored.get("url") == self.url and not self.is_erased else {"url": self.url}

    async def _save(self, stored: JSONObject) -> None:
        if not self.is_erased:
            await self._store.set_credentials(self.user, self.server, stored)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        if self._registration is not None:
            return self._registration
        client = (await self._load()).get("client")
        return None if client is None else OAuthClientInformationFull.model_validate(client)

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        if self._registration is not None:
            raise OAuthFlowError(
                f"{self.server} names the authorization server {client_info.issuer}, but the client of the program is "
                f"registered at {self._registration.issuer}: correct the issuer in UserOAuth(clients=...)"
            )
        # Without the tokens, which belong to the registration that is replaced.
        await self._save({"url": self.url, "client": _dump(client_info)})
        self.may_be_lost = False

    async def drop_client_info(self) -> None:
        """Forget a registration that the authorization server does not know."""
        await self._save({"url": self.url})

    async def get_tokens(self) -> OAuthToken | None:
        stored = await self._load()
        if "tokens" not in stored:
            return None
        assert self.context is not None
        # The SDK stores none of these, and without them it cannot refresh a token that expired meanwhile.
        self.context.token_expiry_time = stored.get("expires")
        self.context.auth_server_url = stored.get("issuer")
        self.context.oauth_metadata = _parse(OAuthMetadata, stored.get("metadata"))
        self.context.protected_resource_metadata = _parse(ProtectedResourceMetadata, stored.get("resource"))
        return OAuthToken.model_validate(stored["tokens"])

    async def set_tokens(self, tokens: OAuthToken) -> None:
        assert self.context is not None
        known = {
            "tokens": _dump(tokens),
            "expires": self.context.token_expiry_time,
            "issuer": self.context.auth_server_url,
            "metadata": _dump(self.context.oauth_metadata),
            "resource": _dump(self.context.protected_resource_metadata),
        }
        await self._save({**await self._load(), **known})


def _dump(model: BaseModel | None) -> JSONObject | None:
    return None if model is None else model.model_dump(mode="json", exclude_none=True)


def _parse(kind: type[Model], stored: Any) -> Model | None:
    return None if stored is None else kind.model_validate(stored)


class SignInAuth(OAuthClientProvider):
    """Authenticates the requests of one user to one server. Nothing in it opens a browser."""

    def __init__(self, sign_ins: SignIns, tokens: UserTokens, metadata: OAuthClientMetadata) -> None:
        super().__init__(tokens.url, metadata, tokens, self._begin, self._wait)
        tokens.context = self.context
        self.tokens = tokens
        self.user = tokens.user
        self.timeout = sign_ins.timeout
        self._may_begin: Callable[[], bool] = lambda: True
        self._is_over = False
        self._sign_ins = sign_ins
        self._pending: _Pending | None = None
        self._scopes: frozenset[str] = frozenset()

    @property
    def sign_in(self) -> SignIn | None:
        """The sign-in that waits for the user, if there is one."""
        pending = self._pending
        return None if pending is None or pending.returned.is_set() else pending.sign_in

    def begin_only_if(self, may_begin: Callable[[], bool]) -> None:
        """Call `may_begin` before each sign-in from now on; it returns whether the sign-in may begin.

        If it may not, no further request is sent until this is called again: the server would run it for nobody.
        """
        self._may_begin = may_begin
        self._is_over = False

    def settle(self, *, is_signed_in: bool) -> None:
        """End the sign-in that is under way, if there is one."""
        if self._pending is not None:
            self._pending.settle(is_signed_in=is_signed_in)
            self._pending = None

    async def _auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Authenticate a request as the SDK does, but trust neither the expiry of a token nor an old registration.

        The SDK lets the user sign in as soon as a token is rejected, and with a registration that it has stored.
        """
        while True:
            flow = self._refreshed(request, super()._auth_flow(request))
            try:
                sent = await flow.__anext__()
                while True:
                    sent = await flow.asend((yield sent))
            except StopAsyncIteration:
                return
            except _RegistrationLostError:
                logger.info(
                    "%s: %s lost the registration of this program", self.tokens.server, self.context.auth_server_url
                )
                self.context.client_info = None
                self.context.clear_tokens()
                await self.tokens.drop_client_info()
            finally:
                await flow.aclose()

    async def _refreshed(
        self, request: httpx2.Request, flow: AsyncGenerator[httpx2.Request, httpx2.Response]
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Run a flow of the SDK. It sees the rejection of a token only if the token cannot be refreshed."""
        sending = current_sending.get() or Sending()
        try:
            sent = await flow.__anext__()
            if self._is_over:  # while this request waited for another one
                raise SignInEndedError(f"{self.user} has to sign in again")
            while True:
                if sent is not request:
                    sent = await flow.asend((yield sent))
                    continue
                sending.is_repeatable = False
                response = yield request
                sending.is_repeatable = response.status_code in _REJECTED
                if response.status_code == httpx2.codes.UNAUTHORIZED and self.context.can_refresh_token():
                    refreshed = yield await self._refresh_token()
                    if await self._handle_refresh_response(refreshed):
                        self._add_auth_header(request)
                        sending.is_repeatable = False
                        response = yield request
                        sending.is_repeatable = response.status_code in _REJECTED
                sent = await flow.asend(response)
        except StopAsyncIteration:
            return
        finally:
            await flow.aclose()

    async def _check_registration(self) -> None:
        """Raise if the authorization server does not know our registration: its sign-in page would be a dead end.

        The check is an exchange of a code that does not exist. A server that knows the client rejects the code instead.
        """
        if not self.tokens.may_be_lost:
            return
        request = await self._exchange_token_authorization_code("none", PKCEParameters.generate().code_verifier)
        try:
            async with httpx2.AsyncClient(timeout=_EXCHANGE_TIMEOUT) as client:
                error = (await client.send(request)).json().get("error")
        except (httpx2.HTTPError, ValueError, AttributeError):
            return  # whatever is wrong, the user will see it
        if error == "invalid_client":
            raise _RegistrationLostError("the authorization server does not know this program any more")
        self.tokens.may_be_lost = False

    async def _begin(self, url: str) -> None:
        parts = urlsplit(url)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        # A server may ask for more scopes in the middle of a connection, and no longer when it is opened again.
        self._scopes |= frozenset(query.get("scope", "").split())
        if not self._may_begin():
            self._is_over = True
            self.context.clear_tokens()
            raise SignInEndedError(f"{self.user} has to sign in again")
        await self._check_registration()
        if self._scopes:
            query["scope"] = " ".join(sorted(self._scopes))
        url = parts._replace(query=urlencode(query)).geturl()
        self._pending = await self._sign_ins.begin(SignIn(self.user, self.tokens.server, url))

    async def _wait(self) -> AuthorizationCodeResult:
        pending = self._pending
        assert pending is not None
        try:
            with anyio.fail_after(self.timeout):
                await pending.returned.wait()
        except TimeoutError:
            raise SignInEndedError(f"{self.user} did not sign in within {self.timeout:g} seconds") from None
        finally:
            self._sign_ins.end(pending)
        if isinstance(pending.answer, str):
            raise SignInEndedError(pending.answer)
        return pending.answer
