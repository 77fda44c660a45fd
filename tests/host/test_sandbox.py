import pytest
from starlette.types import ASGIApp

from fanlight.host.web.asgi import Web
from fanlight.host.web.origins import HostNames, app_label
from fanlight.host.web.sandbox.routes import proxy_url
from support.fake_web import APPLICATION, HTML, LABEL, ORIGINS, PROXY_NAME, VIEW_NAME, FakeBackend, client

pytestmark = pytest.mark.anyio


@pytest.fixture
def backend() -> FakeBackend:
    return FakeBackend()


@pytest.fixture
def app(backend: FakeBackend) -> ASGIApp:
    return Web(backend, HostNames(), backend.lifetime).wrap(APPLICATION)


async def test_a_document_is_served_only_at_the_origin_of_its_app(app: ASGIApp, backend: FakeBackend) -> None:
    path = f"/{backend.document.address}"
    async with client(app) as http:
        response = await http.get(path, headers={"host": VIEW_NAME})
        assert response.text == HTML
        assert response.headers["content-encoding"] == "gzip"
        assert response.headers["content-security-policy"] == backend.document.headers["content-security-policy"]
        assert response.headers["origin-agent-cluster"] == "?1"
        plain = await http.get(path, headers={"host": VIEW_NAME, "accept-encoding": "identity"})
        assert plain.text == HTML
        assert "content-encoding" not in plain.headers
        again = await http.get(path, headers={"host": VIEW_NAME, "if-none-match": response.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        other = f"{app_label('clock', 'ui://clock/other', None)}.sandbox.localhost:8000"
        assert (await http.get(path, headers={"host": other})).status_code == 404
        assert (await http.get(path, headers={"host": PROXY_NAME})).status_code == 404
        for odd in (
            f"/{backend.document.address}/",
            f"/./{backend.document.address}x",
            "/..%2f",
            "/%00",
            "/../../etc/passwd",
        ):
            assert (await http.get(odd, headers={"host": VIEW_NAME})).status_code == 404
        assert (await http.post(path, headers={"host": VIEW_NAME})).status_code == 405


async def test_a_csp_report_is_accepted_only_at_the_name_of_an_app(app: ASGIApp, backend: FakeBackend) -> None:
    report = {"csp-report": {"effective-directive": "img-src", "blocked-uri": "x" * 600, "line-number": 3}}
    async with client(app) as http:
        headers = {"host": VIEW_NAME}
        assert (await http.post("/report", json=report, headers=headers)).status_code == 204
        ((label, taken),) = backend.reports
        assert label == LABEL
        assert (taken["directive"], taken["blocked"], taken["line"]) == ("img-src", "x" * 500, 3)
        for body, status in (
            (b"", 400),
            (b"[]", 400),
            (b'{"csp-report":7}', 400),
            (b"\xff", 400),
            (b"x" * 70_000, 413),
        ):
            assert (await http.post("/report", content=body, headers=headers)).status_code == status
        assert (await http.get("/report", headers=headers)).status_code == 404
        assert (await http.post("/report", json=report, headers={"host": PROXY_NAME})).status_code == 405
    assert len(backend.reports) == 1


async def test_the_proxy_is_served_only_for_origins_of_the_host(app: ASGIApp) -> None:
    async with client(app) as http:
        headers = {"host": PROXY_NAME}
        response = await http.get(proxy_url(ORIGINS), headers=headers)
        assert response.status_code == 200
        policy = response.headers["content-security-policy"]
        assert "frame-ancestors http://localhost:8000" in policy
        assert "frame-src *.sandbox.localhost:8000;" in policy  # with the scheme of the proxy's page
        assert "default-src 'none'" in policy
        bad: list[dict[str, str]] = [
            {},
            {"view": "*"},
            {"host": "*", "view": "*"},
            {"host": "http://localhost:8000; script-src *", "view": "*"},
            {"host": "http://localhost:8000", "view": "https://evil.example"},
            {"host": "http://localhost:8000", "view": ""},
            {"host": ORIGINS.proxy, "view": "*"},
            {"host": ORIGINS.view(LABEL), "view": "*"},
        ]
        by_message = await http.get("/proxy", params={"host": "http://localhost:8000"}, headers=headers)
        assert by_message.headers["content-security-policy"] == "frame-ancestors http://localhost:8000"
        for query in bad:
            assert (await http.get("/proxy", params=query, headers=headers)).status_code == 400, query


async def test_the_proxy_follows_the_scheme_of_the_page_around_it(app: ASGIApp) -> None:
    """Behind a proxy that terminates TLS, the request for the proxy's page is one for http."""
    async with client(app) as http:
        query = {"host": "https://localhost:8000", "view": "*"}
        policy = (await http.get("/proxy", params=query, headers={"host": PROXY_NAME})).headers[
            "content-security-policy"
        ]
    assert "frame-ancestors https://localhost:8000" in policy
    assert "http://" not in policy


async def test_the_prewarm_page_of_an_app_may_do_nothing_and_only_the_host_page_can_frame_it(app: ASGIApp) -> None:
    async with client(app) as http:
        headers = {"host": f"{LABEL}.sandbox.localhost:8000"}
        response = await http.get("/warm", params={"host": "http://localhost:8000"}, headers=headers)
        assert response.status_code == 200
        assert response.headers["content-security-policy"] == (
            "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors http://localhost:8000"
        )
        assert response.headers["connection-allowlist"] == "(response-origin)"
        assert response.headers["origin-agent-cluster"] == "?1"
        assert "=(self" not in response.headers["permissions-policy"]
        assert "<script" not in response.text
        for host in ("", "*", "http://localhost:8000; script-src *", "http://evil.example", ORIGINS.view(LABEL)):
            refused = await http.get("/warm", params={"host": host}, headers=headers)
            assert refused.status_code == 400, host


async def test_every_response_of_an_apps_name_gives_it_a_process_of_its_own(app: ASGIApp) -> None:
    async with client(app) as http:
        headers = {"host": f"{LABEL}.sandbox.localhost:8000"}
        for path in ("/nothing", "/warm", "/report", "/"):
            response = await http.get(path, headers=headers)
            assert (response.status_code >= 400, response.headers["origin-agent-cluster"]) == (True, "?1"), path


@pytest.mark.parametrize("path", ["document", "/" + "0" * 64])
async def test_the_proxy_and_nobody_else_can_see_whether_a_document_was_found(path: str) -> None:
    """Goes red if a page of another origin can read the status, or the proxy a body."""
    backend = FakeBackend()
    app = Web(backend, HostNames(), backend.lifetime).wrap(APPLICATION)
    address = f"/{backend.document.address}" if path == "document" else path
    async with client(app) as http:
        for method, origin, readable in (
            ("HEAD", f"http://{PROXY_NAME}", True),
            ("GET", f"http://{PROXY_NAME}", False),
            ("HEAD", "http://localhost:8000", False),
            ("HEAD", f"http://{VIEW_NAME}", False),
            ("HEAD", "null", False),
            ("HEAD", "http://sandbox.localhost.evil.example", False),
        ):
            response = await http.request(method, address, headers={"host": VIEW_NAME, "origin": origin})
            assert response.status_code == (200 if path == "document" else 404)
            allowed = response.headers.get("access-control-allow-origin")
            assert allowed == (origin if readable else None), (method, origin)
