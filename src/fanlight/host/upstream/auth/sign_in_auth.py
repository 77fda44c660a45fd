"""Authenticates requests with the tokens of a user, and lets the user sign in if there are none that work."""

import logging
from collections.abc import AsyncGenerator, Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final, Protocol
from urllib.parse import parse_qs, urlencode, urlsplit

import anyio
import httpx2
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider, OAuthFlowError, TokenStorage
from mcp.client.auth.oauth2 import PKCEParameters
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken

from fanlight.host.settings import Timeouts
from fanlight.host.upstream.auth.sign_in import PendingSignIn, SignIn
from fanlight.host.upstream.auth.tokens import UserTokens

logger = logging.getLogger(__name__)

_REJECTED: Final = (httpx2.codes.UNAUTHORIZED, httpx2.codes.FORBIDDEN)


@dataclass
class Sending:
    """How far the sending of a request has come that may have to wait for a sign-in."""

    is_repeatable: bool = True
    """Whether the server has certainly not run the request: it was not sent, or was rejected."""
    status: int = httpx2.codes.UNAUTHORIZED
    """The status with which it was rejected."""

    def received(self, response: httpx2.Response) -> None:
        self.is_repeatable = response.status_code in _REJECTED
        if self.is_repeatable:
            self.status = response.status_code


current_sending: ContextVar[Sending | None] = ContextVar("current_sending", default=None)
"""Set by the task that makes a request. The SDK authenticates the request in another task with the same context."""


class _SignInEndedError(OAuthFlowError):
    """A sign-in ended without a token, and nothing is broken: the user refused it, or did not come back in time."""


class _RegistrationLostError(_SignInEndedError):
    """The authorization server does not know the registration of this program any more."""


def _is_news(record: logging.LogRecord) -> bool:
    """Return whether a record of the SDK's log is news: it has a traceback also for what users decide."""
    return record.exc_info is None or not isinstance(record.exc_info[1], _SignInEndedError)


logging.getLogger("mcp.client.auth.oauth2").addFilter(_is_news)


class PendingSignIns(Protocol):
    """The sign-ins that wait for the browsers of users."""

    timeouts: Timeouts

    async def begin(self, sign_in: SignIn) -> PendingSignIn: ...

    def end(self, pending: PendingSignIn) -> None: ...


class _Storage(TokenStorage):
    """The tokens of a `SignInAuth`, as the SDK reads and writes them."""

    def __init__(self, auth: "SignInAuth") -> None:
        self._auth = auth

    async def get_tokens(self) -> OAuthToken | None:
        return await self._auth.tokens.restore_tokens(self._auth.context)

    async def set_tokens(self, tokens: OAuthToken) -> None:
        await self._auth.tokens.store_tokens(tokens, self._auth.context)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return await self._auth.tokens.get_client_info()

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        await self._auth.tokens.set_client_info(client_info)


class SignInAuth(OAuthClientProvider):
    """Authenticates the requests of one user to one server. Nothing in it opens a browser."""

    def __init__(self, sign_ins: PendingSignIns, tokens: UserTokens, metadata: OAuthClientMetadata) -> None:
        self.tokens = tokens
        super().__init__(tokens.url, metadata, _Storage(self), self._begin, self._wait)
        self.user = tokens.user
        self.timeout = sign_ins.timeouts.sign_in
        self._may_begin: Callable[[], bool] = lambda: True
        self._on_begin: Callable[[], None] = lambda: None
        self._is_over = False
        self._sign_ins = sign_ins
        self._pending: PendingSignIn | None = None
        self._scopes: frozenset[str] = frozenset()
        self._rejection: httpx2.Response | None = None
        """The last response that rejected a request."""
        self._challenge: httpx2.Response | None = None
        """The response that has to be answered with a sign-in before anything else is sent."""

    @property
    def sign_in(self) -> SignIn | None:
        """The sign-in that waits for the user, if there is one."""
        pending = self._pending
        return None if pending is None or pending.returned.is_set() else pending.sign_in

    def begin_only_if(self, may_begin: Callable[[], bool], on_begin: Callable[[], None]) -> None:
        """Call `may_begin` before each sign-in from now on, and `on_begin` when it has begun.

        If `may_begin` returns false, no further request is sent until this is called again: the server would run it for
        nobody.
        """
        self._may_begin = may_begin
        self._on_begin = on_begin
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
                raise _SignInEndedError(f"{self.user} has to sign in again")
            while True:
                if sent is not request:
                    sent = await flow.asend((yield sent))
                    continue
                if self._challenge is not None:
                    # A server may accept connections without a token: the sign-in would never begin.
                    challenge, self._challenge = self._challenge, None
                    sent = await flow.asend(challenge)
                    continue
                sending.is_repeatable = False
                response = yield request
                sending.received(response)
                if response.status_code == httpx2.codes.UNAUTHORIZED and self.context.can_refresh_token():
                    refreshed = yield await self._refresh_token()
                    if await self._handle_refresh_response(refreshed):
                        self._add_auth_header(request)
                        sending.is_repeatable = False
                        response = yield request
                        sending.received(response)
                self._rejection = response if response.status_code in _REJECTED else None
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
            with anyio.fail_after(self._sign_ins.timeouts.authorization):
                async with httpx2.AsyncClient(timeout=None) as client:
                    error = (await client.send(request)).json().get("error")
        except (TimeoutError, httpx2.HTTPError, ValueError, AttributeError):
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
            self._challenge = self._rejection
            self.context.clear_tokens()
            raise _SignInEndedError(f"{self.user} has to sign in again")
        await self._check_registration()
        if self._scopes:
            query["scope"] = " ".join(sorted(self._scopes))
        url = parts._replace(query=urlencode(query)).geturl()
        self._pending = await self._sign_ins.begin(SignIn(self.user, self.tokens.server, url))
        self._on_begin()

    async def _wait(self) -> AuthorizationCodeResult:
        pending = self._pending
        assert pending is not None
        try:
            with anyio.fail_after(self.timeout):
                await pending.returned.wait()
        except TimeoutError:
            raise _SignInEndedError(f"{self.user} did not sign in within {self.timeout:g} seconds") from None
        finally:
            self._sign_ins.end(pending)
        if isinstance(pending.answer, str):
            raise _SignInEndedError(pending.answer)
        return pending.answer
