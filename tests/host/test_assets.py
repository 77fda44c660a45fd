import re
from importlib.resources import files

import pytest
from starlette.types import ASGIApp

from fanlight.host.web.asgi import Web
from fanlight.host.web.assets import PAGE_SCRIPTS
from fanlight.host.web.origins import HostNames
from fanlight.host.web.sandbox.routes import proxy_url
from support.fake_web import APPLICATION, ORIGINS, PROXY_NAME, FakeBackend, client

pytestmark = pytest.mark.anyio


@pytest.fixture
def app() -> ASGIApp:
    return Web(FakeBackend(), HostNames(), FakeBackend().lifetime).wrap(APPLICATION)


async def test_browser_files_are_served_as_scripts(app: ASGIApp) -> None:
    async with client(app) as http:
        scripts = [await http.get(f"/apps/{name}") for name in PAGE_SCRIPTS]
        sandbox = await http.get("/sandbox.js", headers={"host": PROXY_NAME})
        for response in (*scripts, sandbox):
            assert response.status_code == 200
            assert response.headers["content-type"].startswith("text/javascript")
            assert response.headers["x-content-type-options"] == "nosniff"


async def test_listed_pages_on_other_origins_may_load_the_scripts() -> None:
    """Goes red if every origin is allowed."""
    names = HostNames(pages=frozenset({"https://app.example.com"}))
    async with client(Web(FakeBackend(), names, FakeBackend().lifetime).wrap(APPLICATION)) as http:
        for name in PAGE_SCRIPTS:
            for origin, allowed in (
                ("https://app.example.com", "https://app.example.com"),
                ("http://app.example.com", None),
                ("https://evil.example", None),
                ("null", None),
                (None, None),
            ):
                headers = {} if origin is None else {"origin": origin}
                response = await http.get(f"/apps/{name}", headers=headers)
                assert response.headers.get("access-control-allow-origin") == allowed
                assert response.headers["vary"] == "accept-encoding, origin"
                again = await http.get(f"/apps/{name}", headers={**headers, "if-none-match": response.headers["etag"]})
                assert again.status_code == 304
                assert again.headers.get("access-control-allow-origin") == allowed


async def test_versioned_addresses_are_cached_forever_and_others_are_revalidated(app: ASGIApp) -> None:
    async with client(app) as http:
        headers = {"host": PROXY_NAME}
        proxy = await http.get(proxy_url(ORIGINS), headers=headers)
        address = proxy.text.partition('src="')[2].partition('"')[0]
        script = await http.get(f"/{address}", headers=headers)
        for response in (proxy, script):
            assert "immutable" in response.headers["cache-control"]
        for path, name in (("/sandbox.js", headers), *((f"/apps/{name}", {}) for name in PAGE_SCRIPTS)):
            response = await http.get(path, headers=name)
            assert response.headers["cache-control"] == "no-cache"
            again = await http.get(path, headers={**name, "if-none-match": response.headers["etag"]})
            assert (again.status_code, again.content) == (304, b"")
        stale = proxy_url(ORIGINS) + "x"
        assert (await http.get(stale, headers=headers)).headers["cache-control"] == "no-cache"


def test_the_host_serves_every_module_that_the_element_imports() -> None:
    sources = [path.read_text("utf-8") for path in files("fanlight.browser").iterdir() if path.name in PAGE_SCRIPTS]
    imported = {name for source in sources for name in re.findall(r'(?:import\(|from )"\./([\w.-]+)"', source)}
    assert imported | {"mcp-grants.js"} == PAGE_SCRIPTS
