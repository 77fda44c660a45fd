"""Users who sign in to a server with OAuth: a real authorization server, and browsers played by HTTP requests."""

import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import anyio
import anyio.lowlevel
import httpx2
import pytest
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from starlette.applications import Starlette
from starlette.requests import HTTPConnection

from fanlight.host import (
    Call,
    CredentialsRejectedError,
    Host,
    NotConnectedError,
    OAuthClient,
    SignIn,
    SignInRequiredError,
    Timeouts,
    UserOAuth,
)
from fanlight.host.host import runtime_of
from fanlight.host.store.sqlite import SqliteStore
from fanlight.host.upstream.auth.sign_in_auth import SignInAuth
from fanlight.protocol.errors import ArgumentError
from support.databases import RedisServer
from support.docs import ROOT, blocks
from support.oauth_server import Protected, protected_server

pytestmark = pytest.mark.anyio

ORIGIN = "http://127.0.0.1:8000"
REDIRECT_URI = f"{ORIGIN}/apps/oauth/callback"
PATIENCE = 30
SHORT = Timeouts(connect=0.2, tools=PATIENCE)


def identify(connection: HTTPConnection) -> str | None:
    return connection.cookies.get("user")


class Program:
    """A program with many users, and the sign-ins that it was asked to show."""

    def __init__(
        self, url: str, store: str | None = None, timeouts: Timeouts = SHORT, bus: str | None = None, **options: Any
    ) -> None:
        oauth = UserOAuth({"crm"}, REDIRECT_URI, **options)
        self.host = Host({"crm": url}, store=store, bus=bus, user=identify, oauth=oauth, timeouts=timeouts)
        self.app = self.host.wrap(Starlette())
        self.asked: list[SignIn] = []
        self._changed = anyio.Event()
        self.host.on_sign_in(self._ask)

    def _ask(self, sign_in: SignIn) -> None:
        self.asked.append(sign_in)
        self._changed.set()

    async def sign_in_of(self, user: str, number: int = 1) -> SignIn:
        """Return the sign-in that a user was asked for, or a later one, after it has begun."""
        with anyio.fail_after(PATIENCE):
            while len(found := [each for each in self.asked if each.user == user]) < number:
                self._changed = anyio.Event()
                await self._changed.wait()
        return found[number - 1]

    async def visit(self, url: str, user: str | None) -> httpx2.Response:
        """Open an address of the program in the browser of a user."""
        transport = httpx2.ASGITransport(app=self.app)
        cookies = {} if user is None else {"user": user}
        async with httpx2.AsyncClient(transport=transport, cookies=cookies) as browser:
            return await browser.get(url)

    async def whoami(self, user: str) -> str:
        """Return who a user is to the server."""
        with anyio.fail_after(PATIENCE):
            chat = self.host.conversation("c", user=user)
            await chat.tools()  # connects without the short timeout of a call
            call = await chat.call_tool("crm__whoami", {})
        return text_of(call)

    async def sign_in(self, user: str, number: int = 1) -> httpx2.Response:
        """Let a user use the server, and sign in."""
        with anyio.fail_after(PATIENCE):
            while len([each for each in self.asked if each.user == user]) < number:
                await self.host.conversation("c", user=user).tools()
                await anyio.lowlevel.checkpoint()  # the connection of the last sign-in may still be closing
        sign_in = await self.sign_in_of(user, number)
        return await self.visit(await account(sign_in.url, user), user)


def text_of(call: Call) -> str:
    """Return the text of a call's result."""
    assert call.result is not None
    return str(call.result["content"][0]["text"])


async def account(url: str, name: str, **answer: str) -> str:
    """Sign in at the authorization server under a name; return the address to which it sends the browser back."""
    async with httpx2.AsyncClient() as browser:
        login = await browser.get(url)
        assert login.status_code == 302
        back = await browser.get(f"{login.headers['location']}&{urlencode(answer or {'as': name})}")
    assert back.status_code == 302
    return str(back.headers["location"])


@asynccontextmanager
async def running(crm: Protected, **options: Any) -> AsyncIterator[Program]:
    program = Program(crm.url, **options)
    async with program.host:
        yield program


async def test_each_user_signs_in_and_is_known_to_the_server() -> None:
    with protected_server() as crm:
        async with running(crm) as program:
            for user in ("alice", "bob"):
                page = await program.sign_in(user)
                assert page.status_code == 200
                assert "You are signed in to crm. You can close this window." in page.text
            assert await program.whoami("alice") == "alice"
            assert await program.whoami("bob") == "bob"
        assert crm.accounts.sign_ins == 2


async def test_a_call_before_the_sign_in_says_so_and_the_sign_in_stays_valid() -> None:
    with protected_server() as crm:
        async with running(crm) as program:
            for _ in range(2):
                with pytest.raises(SignInRequiredError, match=r"^crm: alice has to sign in to crm first\.$") as caught:
                    await program.whoami("alice")
            assert [each.url for each in program.asked] == [caught.value.url]
            assert program.asked[0].url not in repr(program.asked[0])
            page = await program.visit(await account(caught.value.url, "alice"), "alice")
            assert page.status_code == 200
            assert await program.whoami("alice") == "alice"


async def test_a_restart_needs_no_sign_in_and_forget_needs_one(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/host.db"
    with protected_server() as crm:
        async with running(crm, store=store) as program:
            await program.sign_in("alice")
            await program.sign_in("bob")
        async with running(crm, store=store) as program:
            assert await program.whoami("alice") == "alice"
            assert program.asked == []
            await program.host.forget(user="alice")
            stored = SqliteStore(tmp_path / "host.db")
            assert await stored.credentials("alice", "crm") is None
            assert await stored.credentials("bob", "crm") is not None
            with pytest.raises(SignInRequiredError):
                await program.whoami("alice")
            assert await program.whoami("bob") == "bob"


async def test_a_token_that_expired_while_the_program_was_stopped_is_refreshed(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/host.db"
    with protected_server(lifetime=1) as crm:
        async with running(crm, store=store) as program:
            await program.sign_in("alice")
        stored = SqliteStore(tmp_path / "host.db")
        credentials = await stored.credentials("alice", "crm")
        assert credentials is not None
        await stored.set_credentials("alice", "crm", {**credentials, "expires": 1.0})
        crm.accounts.access.clear()
        async with running(crm, store=store) as program:
            assert await program.whoami("alice") == "alice"
            assert program.asked == []
        assert crm.accounts.refreshed >= 1
        assert crm.accounts.sign_ins == 1


async def test_a_user_whose_tokens_were_revoked_signs_in_again() -> None:
    with protected_server() as crm:
        async with running(crm) as program:
            await program.sign_in("alice")
            assert await program.whoami("alice") == "alice"
            crm.accounts.revoke("alice")
            with pytest.raises(SignInRequiredError) as caught:
                await program.whoami("alice")
            assert caught.value.url == (await program.sign_in_of("alice", 2)).url
            await program.sign_in("alice", number=2)
            assert await program.whoami("alice") == "alice"
        assert crm.accounts.sign_ins == 2


async def test_a_token_that_is_rejected_before_it_expires_is_refreshed_and_the_call_goes_on() -> None:
    """Goes red if the user is asked to sign in although a refresh would do."""
    with protected_server() as crm:
        async with running(crm) as program:
            await program.sign_in("alice")
            assert await program.whoami("alice") == "alice"
            crm.accounts.access.clear()
            assert await program.whoami("alice") == "alice"
            assert len(program.asked) == 1
        assert (crm.accounts.sign_ins, crm.accounts.refreshed) == (1, 1)


async def test_a_user_who_signs_in_while_a_call_waits_gets_its_result() -> None:
    """The server rejected the call, so it can be sent again without being run twice."""
    with protected_server() as crm:
        async with running(crm, timeouts=Timeouts(connect=PATIENCE)) as program:
            await program.sign_in("alice")
            assert await program.whoami("alice") == "alice"
            crm.accounts.revoke("alice")
            results: list[str] = []

            async def call() -> None:
                results.append(await program.whoami("alice"))

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(call)
                sign_in = await program.sign_in_of("alice", 2)
                await program.visit(await account(sign_in.url, "alice"), "alice")
            assert results == ["alice"]


@pytest.mark.parametrize("when", ["with tokens", "with expired tokens", "without tokens"])
async def test_a_program_whose_registration_was_lost_registers_again(tmp_path: Path, when: str) -> None:
    """Goes red without the check: the sign-in page of the authorization server is a dead end."""
    store = f"sqlite:///{tmp_path}/host.db"
    with protected_server() as crm:
        async with running(crm, store=store) as program:
            if when == "without tokens":
                await program.host.conversation("c", user="alice").tools()
                await program.sign_in_of("alice")
            else:
                await program.sign_in("alice")
        stored = SqliteStore(tmp_path / "host.db")
        credentials = await stored.credentials("alice", "crm")
        assert credentials is not None
        if when == "with expired tokens":
            await stored.set_credentials("alice", "crm", {**credentials, "expires": 1.0})
        crm.accounts.clients.clear()
        crm.accounts.access.clear()
        async with running(crm, store=store) as program:
            assert (await program.sign_in("alice")).status_code == 200
            assert await program.whoami("alice") == "alice"
            assert len(program.asked) == 1
        assert len(crm.accounts.clients) == 1
        credentials = await stored.credentials("alice", "crm")
        assert credentials is not None
        assert {credentials["client"]["client_id"]} == set(crm.accounts.clients)


@pytest.mark.parametrize("needs_handshake", [False, True], ids=["2026", "handshake"])
async def test_a_user_signs_in_to_a_server_that_needs_a_token_for_calls_only(needs_handshake: bool) -> None:
    """Goes red if a sign-in begins only when a connection is rejected: such a server never rejects one."""
    with protected_server(only_calls_need_tokens=True, needs_handshake=needs_handshake) as crm:
        async with running(crm) as program:
            chat = program.host.conversation("c", user="alice")
            assert [tool.name for tool in await chat.tools()] == ["crm__whoami", "crm__delete"]
            assert not program.asked
            with pytest.raises(SignInRequiredError):
                await chat.call_tool("crm__whoami", {})
            sign_in = await program.sign_in_of("alice")
            assert (await program.visit(await account(sign_in.url, "alice"), "alice")).status_code == 200
            assert await program.whoami("alice") == "alice"
            assert len(program.asked) == 1


async def test_a_call_that_is_rejected_again_after_the_sign_in_says_so() -> None:
    """Goes red if the second rejection is a lost connection, as if nobody knew why."""
    with protected_server(only_calls_need_tokens=True) as crm:
        crm.accounts.rejects_calls = True
        async with running(crm, timeouts=Timeouts(connect=PATIENCE)) as program:
            rejections: list[CredentialsRejectedError] = []
            program.host.on_credentials_rejected(rejections.append)
            chat = program.host.conversation("c", user="alice")
            await chat.tools()
            found: list[CredentialsRejectedError] = []

            async def call() -> None:
                with pytest.raises(CredentialsRejectedError) as error:
                    await chat.call_tool("crm__whoami", {})
                found.append(error.value)

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(call)
                sign_in = await program.sign_in_of("alice")
                await program.visit(await account(sign_in.url, "alice"), "alice")
            words = "crm: the server rejected the credentials of alice (HTTP 401). Sign in again."
            assert [str(error) for error in found] == [words]
            assert found[0].user_message == "crm does not accept your sign-in any more. Sign in again."
            assert (found[0].user, found[0].status, rejections) == ("alice", 401, found)


async def test_an_authorization_server_that_is_silent_does_not_hold_up_a_sign_in(tmp_path: Path) -> None:
    """Goes red if the check of a registration does not end after `Timeouts.authorization`."""
    store = f"sqlite:///{tmp_path}/host.db"
    with protected_server() as crm:
        async with running(crm, store=store) as program:
            await program.sign_in("alice")
        stored = SqliteStore(tmp_path / "host.db")
        credentials = await stored.credentials("alice", "crm")
        assert credentials is not None
        del credentials["tokens"]
        await stored.set_credentials("alice", "crm", credentials)
        crm.accounts.is_silent = True
        timeouts = Timeouts(connect=0.2, tools=PATIENCE, authorization=0.05)
        async with running(crm, store=store, timeouts=timeouts) as program:
            await program.host.conversation("c", user="alice").tools()
            assert (await program.sign_in_of("alice")).user == "alice"


async def test_a_sign_in_that_is_never_accepted_is_reported() -> None:
    """The browser waits for `Timeouts.exchange` at most."""
    with protected_server() as crm:
        async with running(crm, timeouts=Timeouts(connect=0.2, tools=PATIENCE, exchange=0.05)) as program:
            crm.accounts.is_silent = True
            page = await program.sign_in("alice")
            assert "You are not signed in to crm: its authorization server did not accept the sign-in" in page.text


async def test_a_registration_that_is_known_is_kept_for_the_next_sign_in() -> None:
    with protected_server() as crm:
        async with running(crm) as program:
            await program.sign_in("alice")
            crm.accounts.revoke("alice")
            await program.sign_in("alice", number=2)
            assert await program.whoami("alice") == "alice"
        assert len(crm.accounts.clients) == 1


async def test_another_user_cannot_finish_a_sign_in() -> None:
    # Mallory is sent Alice's link, or Alice is sent Mallory's: each time the account would go to the wrong user.
    with protected_server() as crm:
        async with running(crm) as program:
            await program.host.conversation("c", user="alice").tools()
            sign_in = await program.sign_in_of("alice")
            for user in ("mallory", None):
                refused = await program.visit(await account(sign_in.url, "mallory"), user)
                assert refused.status_code == 400
                assert "not known" in refused.text if user else "You are not signed in." in refused.text
            assert crm.accounts.sign_ins == 0
            finished = await program.visit(await account(sign_in.url, "alice"), "alice")
            assert finished.status_code == 200  # the attempts changed nothing
            assert await program.whoami("alice") == "alice"


@pytest.mark.process
async def test_a_redirect_that_arrives_at_another_worker_finishes_the_sign_in(
    tmp_path: Path, redis_server: RedisServer
) -> None:
    """Goes red if the worker that began a sign-in is not stored, or the others do not learn that it was finished."""
    redis_server.clear()
    shared = {"store": f"sqlite:///{tmp_path / 'host.db'}", "bus": redis_server.url}
    with protected_server() as crm:
        async with running(crm, **shared) as first, running(crm, **shared) as second:
            for program in (first, second):
                with pytest.raises(SignInRequiredError):
                    await program.whoami("alice")
            back = await account((await first.sign_in_of("alice")).url, "alice")
            assert "not known" in (await second.visit(back, "bob")).text
            page = await second.visit(back, "alice")
            assert "You are signed in to crm." in page.text
            assert await first.whoami("alice") == "alice"
            with anyio.fail_after(PATIENCE):
                while await whoami_or_none(second) != "alice":  # noqa: ASYNC110
                    await anyio.sleep(0.05)
        assert crm.accounts.sign_ins == 1


async def whoami_or_none(program: Program) -> str | None:
    try:
        return await program.whoami("alice")
    except SignInRequiredError:
        return None


async def test_a_redirect_is_accepted_once_and_an_unknown_one_not_at_all() -> None:
    with protected_server() as crm:
        async with running(crm) as program:
            await program.host.conversation("c", user="alice").tools()
            back = await account((await program.sign_in_of("alice")).url, "alice")
            assert (await program.visit(back, "alice")).status_code == 200
            for url in (back, REDIRECT_URI, f"{REDIRECT_URI}?state=x&code=y", f"{REDIRECT_URI}?error=access_denied"):
                refused = await program.visit(url, "alice")
                assert refused.status_code == 400
                assert "This sign-in is not known." in refused.text
            assert await program.whoami("alice") == "alice"
        assert crm.accounts.sign_ins == 1


async def test_a_sign_in_expires() -> None:
    with protected_server() as crm:
        async with running(crm, timeouts=Timeouts(connect=PATIENCE, sign_in=0.2)) as program:
            with pytest.raises(NotConnectedError, match=r"alice did not sign in within 0\.2 seconds"):
                await program.whoami("alice")
            late = await program.visit(await account(program.asked[0].url, "alice"), "alice")
            assert late.status_code == 400
            assert "This sign-in is not known." in late.text
        assert crm.accounts.sign_ins == 0


async def test_a_refusal_of_the_authorization_server_is_shown_in_words_and_escaped(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with protected_server() as crm:
        async with running(crm) as program:
            await program.host.conversation("c", user="alice").tools()
            sign_in = await program.sign_in_of("alice")
            page = await program.visit(await account(sign_in.url, "alice", refuse="1"), "alice")
            assert page.status_code == 400
            assert "You are not signed in to crm" in page.text
            assert "access_denied: She said &lt;b&gt;no&lt;/b&gt;" in page.text
            # What a user decides is not an error of the program.
            assert [record.getMessage() for record in caplog.records if record.exc_info] == []
            again = await program.sign_in("alice", number=2)
            assert again.status_code == 200
            assert program.asked[1].url != sign_in.url


async def test_a_code_that_the_authorization_server_rejects_is_reported() -> None:
    with protected_server() as crm:
        async with running(crm) as program:
            await program.host.conversation("c", user="alice").tools()
            state = parse_qs(urlsplit((await program.sign_in_of("alice")).url).query)["state"][0]
            page = await program.visit(f"{REDIRECT_URI}?state={state}&code=made-up", "alice")
            assert page.status_code == 400
            assert "its authorization server did not accept the sign-in" in page.text


async def test_the_page_allows_nothing_but_its_own_style() -> None:
    with protected_server() as crm:
        async with running(crm) as program:
            page = await program.visit(REDIRECT_URI, "alice")
            policy = page.headers["content-security-policy"]
            assert policy.startswith("default-src 'none'; style-src 'sha256-")
            assert "frame-ancestors 'none'" in policy
            assert "unsafe" not in policy
            assert page.headers["referrer-policy"] == "no-referrer"
            assert page.headers["cache-control"] == "no-store"
            transport = httpx2.ASGITransport(app=program.app)
            async with httpx2.AsyncClient(transport=transport) as browser:
                assert (await browser.post(REDIRECT_URI)).status_code == 405
                assert (await browser.get(REDIRECT_URI.replace("127.0.0.1", "evil.example"))).status_code == 421


async def test_tokens_are_not_sent_to_another_address_under_the_same_name(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/host.db"
    with protected_server() as crm, protected_server() as other:
        async with running(crm, store=store) as program:
            await program.sign_in("alice")
        # If it saw them, it would accept them.
        other.accounts.access = crm.accounts.access
        for token in other.accounts.access.values():
            token.resource = other.url
        async with running(other, store=store) as program:
            with pytest.raises(SignInRequiredError):
                await program.whoami("alice")


async def test_a_connection_that_still_closes_stores_nothing_of_a_forgotten_user() -> None:
    program = Program("https://crm.example/mcp")
    async with program.host:
        runtime = runtime_of(program.host)
        assert runtime.sign_ins is not None
        auth = await runtime.sign_ins.credentials("alice", "crm")
        assert isinstance(auth, SignInAuth)
        await auth.context.storage.set_tokens(OAuthToken(access_token="before"))
        assert await runtime.store.credentials("alice", "crm") is not None
        await program.host.forget(user="alice")
        await auth.context.storage.set_tokens(OAuthToken(access_token="refreshed meanwhile"))
        assert await runtime.store.credentials("alice", "crm") is None


async def test_forgetting_a_user_leaves_the_tokens_of_others_alone() -> None:
    program = Program("https://crm.example/mcp")
    async with program.host:
        runtime = runtime_of(program.host)
        assert runtime.sign_ins is not None
        bob = await runtime.sign_ins.credentials("bob", "crm")
        await runtime.sign_ins.credentials("alice", "crm")
        assert isinstance(bob, SignInAuth)
        await program.host.forget(user="alice")
        await bob.context.storage.set_tokens(OAuthToken(access_token="of bob"))
        assert await runtime.store.credentials("bob", "crm") is not None


async def test_servers_without_oauth_get_the_credentials_of_the_program() -> None:
    async def credentials(user: str, server: str) -> dict[str, str]:
        return {"Authorization": f"{user} at {server}"}

    servers = {"crm": "https://crm.example/mcp", "wiki": "https://wiki.example/mcp"}
    oauth = UserOAuth({"crm"}, REDIRECT_URI)
    for given, expected in ((credentials, {"Authorization": "alice at wiki"}), (None, None)):
        sign_ins = runtime_of(Host(servers, user=identify, oauth=oauth, credentials=given)).sign_ins
        assert sign_ins is not None
        assert await sign_ins.credentials("alice", "wiki") == expected
        assert isinstance(await sign_ins.credentials("alice", "crm"), SignInAuth)


async def test_a_forgotten_user_cannot_finish_a_sign_in() -> None:
    with protected_server() as crm:
        async with running(crm) as program:
            await program.host.conversation("c", user="alice").tools()
            sign_in = await program.sign_in_of("alice")
            await program.host.forget(user="alice")
            page = await program.visit(await account(sign_in.url, "alice"), "alice")
            assert page.status_code == 400
            with pytest.raises(SignInRequiredError):
                await program.whoami("alice")


# Clients that are registered already


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post", None])
async def test_a_program_can_bring_its_own_registration(tmp_path: Path, method: Any) -> None:
    store = f"sqlite:///{tmp_path}/host.db"
    with protected_server(registers=False) as crm:
        known = {"client_id": "chat", "redirect_uris": [REDIRECT_URI], "token_endpoint_auth_method": method or "none"}
        secret = None if method is None else "a secret of the program"
        registered = OAuthClientInformationFull.model_validate({**known, "client_secret": secret})
        crm.accounts.clients["chat"] = registered
        client = OAuthClient(crm.address, "chat", secret, **({} if method is None else {"method": method}))
        async with running(crm, store=store, clients={"crm": client}) as program:
            for user in ("alice", "bob"):
                assert (await program.sign_in(user)).status_code == 200
                assert await program.whoami(user) == user
            assert "a secret" not in repr(client)
            stored = await runtime_of(program.host).store.credentials("alice", "crm")
            assert stored is not None
            assert "a secret" not in json.dumps(stored)
            await runtime_of(program.host).store.set_credentials("alice", "crm", {**stored, "expires": 1.0})
        crm.accounts.access.clear()
        async with running(crm, store=store, clients={"crm": client}) as program:
            assert await program.whoami("alice") == "alice"
        assert crm.accounts.refreshed >= 1
        assert list(crm.accounts.clients) == ["chat"]


async def test_the_registration_of_the_program_goes_to_its_own_authorization_server_only(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Goes red without the issuer: the server could name an authorization server that collects secrets."""
    with protected_server() as crm:
        client = OAuthClient("https://accounts.example", "chat", "a secret of the program")
        async with running(crm, clients={"crm": client}) as program:
            with pytest.raises(NotConnectedError, match=r"is registered at https://accounts\.example: correct the iss"):
                await program.whoami("alice")
            assert program.asked == []
        assert "a secret" not in caplog.text
        assert "chat" not in crm.accounts.clients


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"issuer": "accounts", "id": "chat"}, "expected the address of an authorization server"),
        ({"issuer": "https://accounts.example", "id": ""}, "expected the client id"),
        ({"issuer": "https://accounts.example", "id": "chat", "method": "none"}, "client_secret_post"),
    ],
)
def test_a_wrong_registration_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        OAuthClient(**arguments)
    client = OAuthClient("https://accounts.example", "chat")
    with pytest.raises(ArgumentError, match="which is not in servers"):
        UserOAuth({"crm"}, REDIRECT_URI, clients={"mail": client})
    with pytest.raises(ArgumentError, match="expected OAuthClient"):
        UserOAuth({"crm"}, REDIRECT_URI, clients={"crm": ("chat", "a secret")})  # type: ignore[dict-item]


# Other servers


async def test_users_sign_in_to_a_server_of_the_handshake_era() -> None:
    with protected_server(needs_handshake=True) as crm:
        async with running(crm) as program:
            for user in ("alice", "bob"):
                assert (await program.sign_in(user)).status_code == 200
                assert await program.whoami(user) == user
            connection = await program.host.servers.connect("crm", "alice")
            assert connection.status.state == "ready"
            crm.accounts.revoke("alice")
            with pytest.raises(SignInRequiredError):
                await program.whoami("alice")
            assert await program.whoami("bob") == "bob"
            await program.sign_in("alice", number=2)
            assert await program.whoami("alice") == "alice"


async def test_a_tool_that_needs_more_rights_lets_the_user_sign_in_for_them() -> None:
    with protected_server() as crm:
        async with running(crm) as program:
            for user in ("alice", "bob"):
                await program.sign_in(user)
                assert await program.whoami(user) == user
            chat = program.host.conversation("c", user="alice")
            with pytest.raises(SignInRequiredError):
                await chat.call_tool("crm__delete", {})
            page = await program.sign_in("alice", number=2)
            assert page.status_code == 200
            assert "write" in parse_qs(urlsplit(program.asked[-1].url).query)["scope"][0].split()
            await chat.tools()
            assert (await chat.call_tool("crm__delete", {})).text == "deleted"
            assert await program.whoami("alice") == "alice"
            with pytest.raises(SignInRequiredError):
                await program.host.conversation("c", user="bob").call_tool("crm__delete", {})


async def test_no_log_and_no_representation_has_a_token(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with protected_server() as crm:
        async with running(crm) as program:
            await program.sign_in("alice")
            assert await program.whoami("alice") == "alice"
            connection = await program.host.servers.connect("crm", "alice")
            texts = [caplog.text, repr(connection.target), repr(vars(connection.target)["auth"])]
        secrets = [*crm.accounts.access, *crm.accounts.refresh]
        assert len(secrets) == 2
        assert not [secret for secret in secrets for text in texts if secret in text]


async def test_the_example_of_the_how_to_signs_a_user_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # for its store
    page = ROOT / "docs" / "how-to" / "serve-many-users.md"
    code = [block for language, _, block in blocks(page) if language == "python"]
    with protected_server() as crm:
        names: dict[str, Any] = {}
        for block in (code[0], next(block for block in code if "UserOAuth" in block)):
            local = block.replace("https://crm.example/mcp", crm.url).replace("https://chat.example.com", ORIGIN)
            exec(compile(local, str(page), "exec"), names)
        names["sessions"]["s1"] = "alice"
        host: Host = names["host"]
        app = host.wrap(Starlette())
        async with host:
            chat = host.conversation("c1", user="alice")
            assert await chat.tools() == []
            with anyio.fail_after(PATIENCE):
                while ("alice", "crm") not in names["links"]:
                    await anyio.lowlevel.checkpoint()
            back = await account(names["links"]["alice", "crm"].url, "alice")
            transport = httpx2.ASGITransport(app=app)
            async with httpx2.AsyncClient(transport=transport, cookies={"session": "s1"}) as browser:
                assert (await browser.get(back)).status_code == 200
            call = await chat.call_tool("crm__whoami", {})
            assert text_of(call) == "alice"
        assert {client.client_name for client in crm.accounts.clients.values()} == {"Example Chat"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"servers": "crm", "redirect_uri": REDIRECT_URI}, "expected names of servers"),
        ({"servers": {"crm"}, "redirect_uri": "http://chat.example.com/apps/oauth/callback"}, "with https"),
        ({"servers": {"crm"}, "redirect_uri": "https://chat.example.com/back"}, "ends in /oauth/callback"),
        ({"servers": {"crm"}, "redirect_uri": f"{REDIRECT_URI}?x=/oauth/callback"}, "ends in /oauth/callback"),
        ({"servers": {"crm"}, "redirect_uri": None}, "None"),
    ],
)
def test_wrong_options_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        UserOAuth(**arguments)


def test_oauth_fits_the_host() -> None:
    url, oauth = "https://crm.example/mcp", UserOAuth({"crm"}, REDIRECT_URI)
    with pytest.raises(ArgumentError, match="oauth needs the user of each browser"):
        Host({"crm": url}, oauth=oauth)
    with pytest.raises(ArgumentError, match=r"'crm', which Host does not have\. The servers are: mail"):
        Host({"mail": url}, user=identify, oauth=oauth)
    with pytest.raises(ArgumentError, match="Expected a server at a URL"):
        Host({"crm": "python server.py"}, user=identify, oauth=oauth)
    with pytest.raises(ArgumentError, match="this host answers at /other/oauth/callback"):
        Host({"crm": url}, user=identify, oauth=oauth).wrap(Starlette(), "/other")
