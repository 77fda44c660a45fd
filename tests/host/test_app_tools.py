"""App tools: their number is limited, and their results are validated."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from mcp.server import MCPServer
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from fanlight import Apps, View
from fanlight.host import Host, Limits, Policy, RequestError, Timeouts, UnknownViewError
from support.calls import app_tools_of, begin, call_app_tool
from support.page import Page
from support.wire import serving

pytestmark = pytest.mark.anyio

HELLO = {"protocolVersion": "2026-01-26", "appInfo": {"name": "V", "version": "1"}, "appCapabilities": {"tools": {}}}
SCHEMA = {"type": "object", "properties": {"moved": {"type": "boolean"}}, "required": ["moved"]}


@asynccontextmanager
async def board(
    limits: Limits | None = None, timeouts: Timeouts | None = None
) -> AsyncIterator[tuple[Host, str, Page]]:
    server: MCPServer[Any] = MCPServer("board")
    apps = Apps(server)

    @apps.tool(view=View.html("<!doctype html><title>x</title>", uri="ui://board/view"))
    def show() -> str:
        return "x"

    policy = Policy({"app_tools": "allow"})
    async with Host({"board": server}, limits=limits, timeouts=timeouts, policy=policy) as host:
        await host.servers.wait_until_settled()
        call = await begin(host, "board", "show", conversation="c1")
        assert call.view is not None
        page = Page()
        await page.open(host, call.view, call.token)
        await page.next()
        await page.ask("ui/initialize", HELLO, id=0)
        await page.say({"method": "ui/notifications/initialized"})
        yield host, call.view, page


async def called(
    result: Any, schema: Any = None, limits: Limits | None = None, timeouts: Timeouts | None = None
) -> Any:
    """Call a tool of a View that offers `move` and returns this result."""
    outcome: list[Any] = []
    async with board(limits, timeouts) as (host, view, page):
        await offer(page, {"name": "move", "inputSchema": {"type": "object"}, "outputSchema": schema})
        async with anyio.create_task_group() as tasks:

            async def call() -> None:
                try:
                    outcome.append(await call_app_tool(host, view, "move", {"to": 1}))
                except RequestError as failed:
                    outcome.append(str(failed))
                tasks.cancel_scope.cancel()

            tasks.start_soon(call)
            asked = await page.message()
            assert (asked["method"], asked["params"]) == ("tools/call", {"name": "move", "arguments": {"to": 1}})
            await page.say({"id": asked["id"], "result": result})
            await anyio.sleep_forever()
    return outcome[0]


async def offer(page: Page, *tools: Any, **more: Any) -> None:
    """Answer the host's `tools/list`."""
    asked = await page.message()
    assert asked["method"] == "tools/list"
    await page.say({"id": asked["id"], "result": {"tools": list(tools), **more}})
    await anyio.wait_all_tasks_blocked()


async def test_a_result_that_matches_its_schema_is_returned_unchanged() -> None:
    result = {"content": [], "structuredContent": {"moved": True}, "_meta": {"a": 1}}
    assert await called(result, SCHEMA) == result
    assert await called(result) == result


@pytest.mark.parametrize(
    ("result", "words"),
    [
        ({"content": [], "structuredContent": {"moved": "yes"}}, "structuredContent['moved']"),
        ({"content": [], "structuredContent": {}}, "'moved' is a required property"),
        ({"content": []}, "None is not of type 'object'"),
        ({"content": "text"}, "content that is not a list"),
        ({"content": [{"type": "text", "text": "x" * 2000}]}, "at most 1,000"),
    ],
)
async def test_an_invalid_result_is_refused(result: Any, words: str) -> None:
    assert words in await called(result, SCHEMA, Limits(app_tool_bytes=1000))


async def test_an_error_result_need_not_match_the_schema() -> None:
    result = {"content": [{"type": "text", "text": "no such square"}], "isError": True}
    assert await called(result, SCHEMA) == result


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "nonsense"},
        {"$ref": "#/$defs/missing"},
        {"$ref": "#"},
    ],
)
async def test_an_invalid_or_external_schema_is_an_error(schema: Any) -> None:
    assert "output schema that" in await called({"content": [], "structuredContent": {}}, schema)


async def test_a_schema_cannot_make_the_host_fetch_anything() -> None:
    """Goes red without our own schema registry: the library would fetch the address."""
    hits: list[str] = []

    async def answer(request: Request) -> Response:
        hits.append(request.url.path)
        return JSONResponse({})

    with serving(Starlette(routes=[Route("/{path:path}", answer)])) as address:
        outcome = await called({"content": [], "structuredContent": {}}, {"$ref": f"{address}/schema.json"})
    assert "output schema that" in outcome
    assert hits == []


async def test_validation_has_a_time_limit() -> None:
    """Takes minutes without `_UNCHECKED`, because the pattern backtracks."""
    schema = {"properties": {"x": {"pattern": "^(a+)+$"}}, "patternProperties": {"^(a+)+$": {}}}
    result = {"content": [], "structuredContent": {"x": "a" * 40 + "!", "a" * 40 + "!": 1}}
    assert await called(result, schema) == result


async def test_a_result_that_cannot_be_checked_in_time_is_an_error() -> None:
    result = {"content": [], "structuredContent": {"moved": True}}
    outcome = await called(result, SCHEMA, timeouts=Timeouts(schema=0))
    assert outcome == "The result of the View's tool 'move' cannot be checked in 0 seconds."


async def test_a_tool_that_the_view_does_not_offer_is_not_called() -> None:
    async with board() as (host, view, page):
        await offer(page, {"name": "move"})
        with pytest.raises(RequestError, match=r"offers no tool 'other'\. Its tools are: move"):
            await call_app_tool(host, view, "other", {})
        assert page.frames.empty()


async def test_all_pages_are_read_and_invalid_entries_ignored() -> None:
    async with board() as (host, view, page):
        await offer(page, {"name": "a"}, {"name": "a", "description": "again"}, {}, 7, {"name": 7}, nextCursor="2")
        await offer(page, {"name": "b", "inputSchema": 7, "description": 7})
        found = app_tools_of(host, "c1")
        assert [(tool.name, tool.entry) for tool in found] == [
            ("a", {"name": "a"}),
            ("b", {"name": "b", "inputSchema": 7, "description": 7}),
        ]
        assert found[0].server == "board"
        (offered, _) = [tool for tool in await host.conversation("c1").tools() if tool.view == view]
        assert (offered.name, offered.input_schema) == (f"app_{view}__a", {"type": "object", "properties": {}})
        assert app_tools_of(host, "other") == []


async def test_the_number_of_app_tools_is_limited() -> None:
    async with board() as (host, _, page):
        await offer(page, *({"name": f"t{i}"} for i in range(60)), nextCursor="more")
        assert len(app_tools_of(host, "c1")) == 50


@pytest.mark.parametrize(
    "answer", [{"result": {}}, {"result": {"tools": 7}}, {"error": {"code": -32601, "message": "x"}}]
)
async def test_a_view_with_an_invalid_response_has_no_tools(answer: dict[str, Any]) -> None:
    async with board() as (host, _, page):
        await page.say({"id": (await page.message())["id"], **answer})
        await anyio.wait_all_tasks_blocked()
        assert app_tools_of(host, "c1") == []


async def test_changes_are_read_again_at_a_limited_rate() -> None:
    async with board(Limits(app_tools_interval=0.05)) as (host, _, page):
        await offer(page, {"name": "a"})
        for _ in range(100):
            await page.say({"method": "notifications/tools/list_changed"})
        await offer(page, {"name": "b"})
        assert [tool.name for tool in app_tools_of(host, "c1")] == ["b"]
        await anyio.sleep(0.2)
        assert page.frames.empty()


async def test_a_closed_view_offers_no_tools() -> None:
    async with board() as (host, view, page):
        await offer(page, {"name": "a"})
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(host.close_view, view)
            await page.say({"id": (await page.message())["id"], "result": {}})
        assert app_tools_of(host, "c1") == []
        with pytest.raises(UnknownViewError):
            await call_app_tool(host, view, "a", {})
