"""Requests of Views, as the host serves them: lists of the server, messages, downloads, closing, and their errors."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from mcp.server import MCPServer

from fanlight import Apps, View
from fanlight.host import DeclinedError, Host, NotConnectedError, Policy, RequestError
from fanlight.host.host import runtime_of
from fanlight.host.views.requests.handler import is_web_link
from fanlight.testing.scripted import HostError, ScriptedView, scripted_view

pytestmark = pytest.mark.anyio

ALLOW = Policy({"tools": "allow", "links": "allow", "downloads": "allow", "messages": "allow"})


def library() -> MCPServer[Any]:
    server: MCPServer[Any] = MCPServer("library")
    apps = Apps(server)

    @apps.tool(view=View.html("<!doctype html><title>x</title>", uri="ui://library/view"))
    def show() -> str:
        return "x"

    @apps.tool(visibility=["model"])
    def only_model() -> str:
        return "x"

    @server.resource("text://{name}")
    def read(name: str) -> str:
        return name

    @server.resource("text://all")
    def everything() -> str:
        return "all"

    @server.prompt()
    def summary() -> str:
        return "Summarize."

    return server


@asynccontextmanager
async def shown(**options: Any) -> AsyncIterator[ScriptedView]:
    """Show the View of the library in a host that asks nothing."""
    async with Host({"library": library()}, **{"policy": ALLOW, **options}) as host:
        await host.servers["library"].ready()
        async with scripted_view(host, "show", name="library") as view:
            yield view


async def test_a_view_gets_the_lists_of_its_server() -> None:
    async with shown() as view:
        resources = await view.request("resources/list", {})
        assert "text://all" in [each["uri"] for each in resources["resources"]]
        templates = await view.request("resources/templates/list", {"cursor": None})
        assert [each["uriTemplate"] for each in templates["resourceTemplates"]] == ["text://{name}"]
        prompts = await view.request("prompts/list", {"cursor": 7})  # not a cursor
        assert [each["name"] for each in prompts["prompts"]] == ["summary"]


async def test_a_view_gets_the_error_of_its_server() -> None:
    async with shown() as view:
        with pytest.raises(HostError, match="uri is missing, expected a string") as missing:
            await view.request("resources/read", {"uri": ["text://all"]})
        assert missing.value.code == -32602
        with pytest.raises(HostError, match="nosuch"):
            await view.request("resources/read", {"uri": "other://nosuch"})


@pytest.mark.parametrize("name", ["only_model", "removed"])
async def test_a_tool_is_looked_up_again_when_it_is_called(name: str) -> None:
    """Goes red if the list that the bridge validated against is trusted: the tool may have changed meanwhile."""
    async with shown() as view:
        runtime = runtime_of(view.host)
        session = runtime.views.live(str(view.call.view))

        async def report(progress: float, total: float | None, message: str | None) -> None:
            pass

        with pytest.raises(RequestError, match=f"Unknown tool, or one that a View may not call: '{name}'"):
            await runtime.requests.call_tool(session, name, {}, report)


async def test_a_handler_declines_a_message_or_fails_at_it(caplog: pytest.LogCaptureFixture) -> None:
    async with shown() as view:

        @view.host.on_message
        async def answer(message: Any) -> None:
            await anyio.lowlevel.checkpoint()
            if message.text == "declined":
                raise DeclinedError("Not now.")
            raise ValueError("a secret of the program")

        with pytest.raises(HostError, match=r"^Not now\."):
            await view.send_message("declined")
        with pytest.raises(HostError) as failed:
            await view.send_message("fails")
        assert "secret" not in str(failed.value)
    assert "a secret of the program" in caplog.text


async def test_a_message_without_a_handler_is_refused() -> None:
    async with shown() as view:
        with pytest.raises(HostError, match="takes no messages"):
            await view.send_message("hello")


async def test_a_link_in_a_download_is_opened_by_the_page() -> None:
    async with shown() as view:
        link = {"type": "resource_link", "uri": "https://files.example/a.pdf", "name": "a.pdf"}
        await view.request("ui/download-file", {"contents": [link]})
        assert view.links == ["https://files.example/a.pdf"]
        assert view.downloads == []


async def test_a_link_in_a_download_needs_consent_as_any_link_does() -> None:
    """Goes red if a View can open links by calling them downloads."""
    async with shown(policy=Policy({"links": "deny", "downloads": "allow"})) as view:
        link = {"type": "resource_link", "uri": "https://files.example/a.pdf", "name": "a.pdf"}
        with pytest.raises(HostError):
            await view.request("ui/download-file", {"contents": [link]})
        assert view.links == []


async def test_a_link_without_an_address_is_not_downloaded() -> None:
    async with shown() as view:
        with pytest.raises(HostError, match="resource_link has no uri"):
            await view.request("ui/download-file", {"contents": [{"type": "resource_link", "name": "a.pdf"}]})


@pytest.mark.parametrize("url", ["http://[", "javascript:alert(1)", "https://", "//a.example", "ftp://a.example", ""])
def test_only_addresses_of_web_pages_are_links(url: str) -> None:
    assert not is_web_link(url)
    assert is_web_link("HTTPS://a.example/")


async def test_a_view_without_a_connection_gets_words_for_its_user() -> None:
    """Goes red if the View gets the reason, which names the user."""

    async def credentials(user: str, server: str) -> None:
        if broken:
            raise NotConnectedError("library", f"there is no account of {user}@example.com")

    broken = False
    async with (
        Host({"library": library()}, credentials=credentials, policy=ALLOW) as host,
        scripted_view(host, "show", name="library", user="alice", conversation="c1") as view,
    ):
        broken = True
        await runtime_of(host).servers.disconnect("alice")
        with pytest.raises(HostError) as failed:
            await view.call_tool("show")
        assert failed.value.code != -32603
        assert "alice" not in str(failed.value)


async def test_a_view_that_asks_to_be_closed_is_torn_down_and_gone() -> None:
    async with shown() as view:
        await view.notify("ui/notifications/request-teardown", {})
        with anyio.fail_after(60):
            while (await view.host.view(str(view.call.view))).state != "closed":  # noqa: ASYNC110
                await anyio.sleep(0.01)
        assert view.received("ui/resource-teardown")
