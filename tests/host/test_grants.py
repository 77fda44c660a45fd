"""The routes of `<mcp-grants>`: whose grants are listed, who may revoke them, and from which pages."""

import json
from typing import Any

import httpx2
import pytest
from starlette.requests import HTTPConnection

from fanlight.host.store.base import Grant
from fanlight.host.web.asgi import Web
from fanlight.host.web.origins import HostNames
from support.fake_web import APPLICATION, PROXY_NAME, VIEW_NAME, FakeBackend

pytestmark = pytest.mark.anyio

RUN = {"server": "crm", "uri": "ui://crm/deals", "kind": "tool", "key": "delete_deal"}
OWN = {"origin": "http://localhost:8000", "sec-fetch-site": "same-origin"}


class Grants:
    def __init__(self, *grants: Grant) -> None:
        self.kept = list(grants)

    async def grants(self, user: str | None) -> list[Grant]:
        return [grant for grant in self.kept if grant.user == user]

    async def revoke(self, grant: Grant, by: str) -> None:
        assert by == "user"
        self.kept = [kept for kept in self.kept if kept != grant]


def cookie(connection: HTTPConnection) -> str | None:
    return connection.cookies.get("user")


def client(store: Grants, user: str | None = None, *, identify: Any = cookie, **names: Any) -> httpx2.AsyncClient:
    backend = FakeBackend()
    web = Web(backend, HostNames(**names), backend.lifetime, grants=store, identify=identify)
    return httpx2.AsyncClient(
        transport=httpx2.ASGITransport(app=web.wrap(APPLICATION)),
        base_url="http://localhost:8000",
        cookies={} if user is None else {"user": user},
    )


async def test_a_user_sees_their_own_grants_in_words() -> None:
    store = Grants(Grant(**RUN, user="alice"), Grant("maps", "ui://m", "link", "a.example", "bob"))
    async with client(store, "alice") as http:
        response = await http.get("/apps/grants")
    words = {"app": "An app of crm", "place": "ui://crm/deals", "text": "run delete_deal"}
    assert response.json() == {"grants": [{**RUN, **words}]}
    assert response.headers["cache-control"] == "no-store"
    assert response.headers["cross-origin-resource-policy"] == "same-origin"
    assert "access-control-allow-origin" not in response.headers


async def test_a_user_revokes_only_their_own_grants() -> None:
    """Goes red if the user is read from the request's body, or left out of the grant."""
    alice, bob = Grant(**RUN, user="alice"), Grant(**RUN, user="bob")
    store = Grants(alice, bob)
    async with client(store, "bob") as http:
        for _ in range(2):
            response = await http.post("/apps/grants/revoke", json={**RUN, "user": "alice"}, headers=OWN)
            assert response.status_code == 204
    assert store.kept == [alice]


async def test_nobody_sees_or_revokes_grants_without_signing_in() -> None:
    store = Grants(Grant(**RUN, user="alice"), Grant(**RUN, user=None))
    async with client(store) as http:
        for response in (
            await http.get("/apps/grants"),
            await http.post("/apps/grants/revoke", json=RUN, headers=OWN),
        ):
            assert (response.status_code, response.text) == (401, "You are not signed in. Sign in and reload the page.")
    assert len(store.kept) == 2


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"origin": "null"},
        {"origin": "http://evil.example"},
        {"origin": "http://sandbox.localhost:8000"},
        {"origin": f"http://{VIEW_NAME}"},
        {"origin": "http://localhost:8000", "sec-fetch-site": "cross-site"},
        {"origin": "https://app.example"},
    ],
)
async def test_a_page_of_another_origin_cannot_revoke(headers: dict[str, str]) -> None:
    """Cross-site request forgery. Goes red without the check of the origin."""
    store = Grants(Grant(**RUN, user="alice"))
    async with client(store, "alice", pages=frozenset({"https://app.example.com"})) as http:
        response = await http.post("/apps/grants/revoke", content=json.dumps(RUN), headers=headers)
    assert response.status_code == 403
    assert len(store.kept) == 1


@pytest.mark.parametrize("headers", [{"origin": "http://evil.example"}, {"sec-fetch-site": "cross-site"}])
async def test_a_page_of_another_origin_cannot_list(headers: dict[str, str]) -> None:
    async with client(Grants(Grant(**RUN, user="alice")), "alice") as http:
        assert (await http.get("/apps/grants", headers=headers)).status_code == 403


@pytest.mark.parametrize("name", [PROXY_NAME, VIEW_NAME, "evil.example:8000"])
async def test_no_other_host_name_has_the_routes(name: str) -> None:
    async with client(Grants(Grant(**RUN, user="alice")), "alice") as http:
        response = await http.get("/apps/grants", headers={"host": name})
    assert response.status_code in (404, 421)


async def test_a_host_without_users_shows_grants_on_its_own_machine_only() -> None:
    """Goes red if everybody sees the grants of a program that does not say who its users are."""
    store = Grants(Grant(**RUN))
    async with client(store, identify=None, sandbox="https://sandbox.example.net") as http:
        assert len((await http.get("/apps/grants")).json()["grants"]) == 1
        away = await http.get("/apps/grants", headers={"host": "chat.example.com"})
        assert away.status_code == 403
        assert "Host(user=...)" in away.text


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/apps/grants", "{}", 405),
        ("GET", "/apps/grants/revoke", None, 405),
        ("POST", "/apps/grants/revoke", "", 400),
        ("POST", "/apps/grants/revoke", "[]", 400),
        ("POST", "/apps/grants/revoke", '{"server": "crm"}', 400),
        ("POST", "/apps/grants/revoke", json.dumps({**RUN, "key": 7}), 400),
        ("POST", "/apps/grants/revoke", "x" * 30_000, 413),
        ("GET", "/apps/grants/other", None, 200),  # the application's
    ],
)
async def test_other_requests_are_errors(method: str, path: str, body: str | None, status: int) -> None:
    async with client(Grants(), "alice") as http:
        assert (await http.request(method, path, content=body, headers=OWN)).status_code == status


async def test_texts_of_servers_are_safe_to_show() -> None:
    store = Grants(Grant("crm", "ui://x\u202e\n/y", "tool", "a\u200b. It is safe", "alice"))
    async with client(store, "alice") as http:
        (entry,) = (await http.get("/apps/grants")).json()["grants"]
    assert (entry["place"], entry["text"]) == ("ui://x /y", "run “a . It is safe”")


async def test_apps_and_tools_have_their_titles_as_far_as_the_user_knows_them() -> None:
    tools: dict[str, list[dict[str, Any]]] = {
        "crm": [
            {"name": "delete_deal", "title": "Delete a deal\u202e"},
            {"name": "show_deals", "title": "Deals", "_meta": {"ui": {"resourceUri": "ui://crm/deals"}}},
        ]
    }
    store = Grants(Grant(**RUN, user="alice"), Grant("crm", "ui://crm/other", "app-tool", "delete_deal", "alice"))
    web = Web(
        backend := FakeBackend(),
        HostNames(),
        backend.lifetime,
        grants=store,
        identify=cookie,
        known_tools=lambda user: tools if user == "alice" else {},
    )
    transport = httpx2.ASGITransport(app=web.wrap(APPLICATION))
    async with httpx2.AsyncClient(
        transport=transport, base_url="http://localhost:8000", cookies={"user": "alice"}
    ) as http:
        entries = (await http.get("/apps/grants")).json()["grants"]
    assert [(entry["app"], entry["text"]) for entry in entries] == [
        ("Deals (crm)", "run “Delete a deal” (delete_deal)"),
        # The tool of a View is not the server's tool of the same name.
        ("An app of crm", "let the model run delete_deal inside it"),
    ]


PAGE = {"origin": "https://app.example.com", "sec-fetch-site": "cross-site"}


async def test_a_page_of_another_origin_that_the_program_names_lists_and_revokes() -> None:
    store = Grants(Grant(**RUN, user="alice"), Grant(**RUN, user="bob"))
    async with client(store, "alice", pages=frozenset({PAGE["origin"]})) as http:
        listed = await http.get("/apps/grants", headers=PAGE)
        asking = {**PAGE, "access-control-request-method": "POST", "access-control-request-headers": "content-type"}
        preflight = await http.options("/apps/grants/revoke", headers=asking)
        revoked = await http.post("/apps/grants/revoke", json=RUN, headers=PAGE)
    assert [listed.status_code, preflight.status_code, revoked.status_code] == [200, 204, 204]
    for response in (listed, preflight, revoked):
        assert response.headers["access-control-allow-origin"] == PAGE["origin"]
        assert response.headers["access-control-allow-credentials"] == "true"
        assert response.headers["vary"] == "Origin"
    assert preflight.headers["access-control-allow-headers"] == "content-type"
    assert [grant.user for grant in store.kept] == ["bob"]


@pytest.mark.parametrize(
    "origin", ["https://app.example.com.evil.example", "http://app.example.com", "https://app.example.com:444", "null"]
)
async def test_a_page_of_any_other_origin_gets_nothing(origin: str) -> None:
    """Goes red if the Origin header is reflected, or compared as a prefix."""
    store = Grants(Grant(**RUN, user="alice"))
    headers = {**PAGE, "origin": origin}
    async with client(store, "alice", pages=frozenset({PAGE["origin"]})) as http:
        for response in (
            await http.get("/apps/grants", headers=headers),
            await http.options("/apps/grants/revoke", headers=headers),
            await http.post("/apps/grants/revoke", json=RUN, headers=headers),
            await http.get("/apps/grants", headers={"sec-fetch-site": "cross-site"}),
        ):
            assert response.status_code == 403
            assert "access-control-allow-origin" not in response.headers
    assert len(store.kept) == 1
