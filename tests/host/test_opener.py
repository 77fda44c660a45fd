import json
import logging
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from mcp.server import MCPServer

from fanlight import Apps, Csp, View
from fanlight.host import Host, Policy, Profile, SqliteStore
from fanlight.host.host import runtime_of
from fanlight.host.web.origins import HostNames, app_label
from fanlight.host.web.sandbox.document_cache import DocumentCache
from support.calls import call_tool
from support.page import Page

pytestmark = pytest.mark.anyio

SCHEMA = json.loads(
    (Path(__file__).parents[2] / "node_modules/ext-apps-2/dist/src/generated/schema.json").read_text(encoding="utf-8")
)
CSP = Csp(connect_domains=["https://api.example.com", "https://denied.example"], frame_domains=["https://a.example"])


def server(csp: Csp | None, permissions: list[Any]) -> MCPServer[Any]:
    made = MCPServer("map")
    apps = Apps(made)
    view = View.html("<!doctype html><title>x</title>", uri="ui://map/view", csp=csp, permissions=permissions)
    apps.tool("show", view=view)(lambda: "text")
    return made


async def greeting(host: Host) -> dict[str, Any]:
    """Show the View and return the result of `ui/initialize`."""
    await host.servers["map"].ready()
    call = await call_tool(host, "map", "show", {})
    page = await Page().open(host, call.view, call.token)
    await page.next()
    params = {"protocolVersion": "2026-01-26", "appInfo": {"name": "x", "version": "1"}, "appCapabilities": {}}
    result: dict[str, Any] = (await page.ask("ui/initialize", params))["result"]
    return result


def validate(result: dict[str, Any]) -> None:
    """Validate against the schema that the standard publishes, which allows no other properties."""
    jsonschema.validate(result, {**SCHEMA, "$ref": "#/$defs/McpUiInitializeResult"})


async def test_a_view_learns_which_domains_and_permissions_the_host_approved() -> None:
    policy = Policy({"permissions": ["geolocation"], "block_domains": ["https://denied.example"]})
    async with Host({"map": server(CSP, ["camera", "geolocation"])}, policy=policy) as host:
        result = await greeting(host)
    assert result["hostCapabilities"]["sandbox"] == {
        "csp": {"connectDomains": ["https://api.example.com"], "frameDomains": ["https://a.example"]},
        "permissions": {"geolocation": {}},
    }
    validate(result)


async def test_a_client_that_forges_its_scheme_changes_nothing_for_the_pages_of_others() -> None:
    """A client that is not a browser can send any Origin. The host believes its scheme, for its own document only."""
    async with Host({"map": server(None, [])}) as host:
        await host.servers["map"].ready()
        call = await call_tool(host, "map", "show", {})
        documents = runtime_of(host).opener.documents
        shown = []
        for origin in ("https://localhost:8443", "http://localhost:8443", "https://localhost:8443"):
            origins = HostNames().page_origins("http", "localhost:8443", origin)
            assert origins is not None
            page = await Page().open(host, call.view, call.token, origins=origins)
            shown.append((await page.next())["document"])
        honest, forged, again = (url.rpartition("/")[2] for url in shown)
        assert forged != honest == again
        label = app_label("map", "ui://map/view", None)
        for address, scheme in ((honest, "https"), (forged, "http")):
            document = await documents.get(label, address)
            assert document is not None
            ancestors = f"frame-ancestors {scheme}://localhost:8443 {scheme}://sandbox.localhost:8443;"
            assert ancestors in document.headers["content-security-policy"]


async def test_a_user_that_is_forgotten_leaves_no_document_behind(tmp_path: Path) -> None:
    """Goes red without `forget` or `erase_user` in `Runtime.erase`."""
    path = tmp_path / "host.db"
    async with Host({"map": server(None, [])}, store=f"sqlite:///{path}") as host:
        await host.servers["map"].ready()
        shown = {}
        for user in ("alice", "bob"):
            call = await host.conversation("c1", user=user).call_tool("map__show", {})
            page = await Page().open(host, call.view, call.token)
            label = app_label("map", "ui://map/view", user, await runtime_of(host).store.secret())
            shown[user] = label, (await page.next())["document"].rpartition("/")[2]
            assert await runtime_of(host).opener.documents.get(*shown[user]) is not None
        await host.forget(user="alice")
        for documents in (runtime_of(host).opener.documents, DocumentCache(SqliteStore(path))):
            assert await documents.get(*shown["alice"]) is None
            assert await documents.get(*shown["bob"]) is not None


async def test_a_view_that_declares_nothing_learns_that_nothing_is_approved() -> None:
    async with Host({"map": server(None, [])}) as host:
        result = await greeting(host)
    assert result["hostCapabilities"]["sandbox"] == {"csp": {}, "permissions": {}}
    validate(result)


@pytest.mark.parametrize("profile", [Profile(refused=["sandbox"]), Profile(capabilities={"openLinks": {}})])
async def test_a_profile_can_leave_the_sandbox_out(profile: Profile) -> None:
    async with Host({"map": server(CSP, [])}, profile=profile) as host:
        assert "sandbox" not in (await greeting(host))["hostCapabilities"]


async def test_the_policy_of_each_view_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """CSP-05."""
    caplog.set_level(logging.INFO, "fanlight.host.documents.admission")
    async with Host({"map": server(CSP, [])}) as host:
        await greeting(host)
    (message,) = [
        record.getMessage() for record in caplog.records if record.name == "fanlight.host.documents.admission"
    ]
    assert "of map: ui://map/view has the Content-Security-Policy: default-src 'none'; " in message
    assert "connect-src 'self' https://api.example.com https://denied.example" in message
