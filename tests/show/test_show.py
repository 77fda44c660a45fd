"""`Apps.show` on both kinds of servers: results, pages by an app-only tool, annotations, and whose rows they are."""

import gzip
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional, TypedDict

import pandas as pd
import polars as pl
import pytest
from fastmcp import Context as FastContext
from fastmcp import FastMCP
from mcp.server import MCPServer
from mcp.server.auth.middleware.auth_context import auth_context_var
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.mcpserver import Context
from mcp_types import CallToolResult, TextContent
from pydantic import BaseModel

from fanlight import Apps, ArgumentError, RegistrationError
from fanlight.show import Keep
from fanlight.show.shows import DATA_TOOL
from support.shop import HIGH_LEVEL, Kind
from support.wire import NO_UI, UI, VERSIONS, Connect, in_memory, over_http

if TYPE_CHECKING:
    from a_module_that_does_not_exist import Frame  # type: ignore[import-not-found]

pytestmark = pytest.mark.anyio

kinds = pytest.mark.parametrize("kind", HIGH_LEVEL)
URI = "ui://sales/fanlight-table"


def make(kind: Kind = "MCPServer", **options: Any) -> tuple[Any, Apps]:
    server: Any = MCPServer("sales") if kind == "MCPServer" else FastMCP("sales")
    return server, Apps(server, **options)


def frame(rows: int = 200) -> pd.DataFrame:
    return pd.DataFrame({"id": range(rows), "name": [f"name {n}" for n in range(rows)]})


def with_orders(kind: Kind = "MCPServer", rows: int = 200, **options: Any) -> Any:
    server, apps = make(kind)

    @apps.show(**options)
    def orders(region: str = "all") -> pd.DataFrame:
        "Orders of a region."
        return frame(rows)

    return server


@kinds
@pytest.mark.parametrize("version", [VERSIONS[0], VERSIONS[-1]])
async def test_a_frame_becomes_a_summary_and_a_first_page(kind: Kind, version: str) -> None:
    async with in_memory(with_orders(kind), version, UI) as client:
        tool = (await client.tools())["orders"]
        assert tool["_meta"]["ui"]["resourceUri"] == URI
        assert tool["description"] == "Orders of a region."
        assert list(tool["inputSchema"]["properties"]) == ["region"]
        result = await client.call("orders", region="north")
    assert not result.get("isError")
    (block,) = result["content"]
    assert block["text"].startswith("A table of 200 rows and 2 columns.\n\nColumns: id (int64), name (str).")
    assert "Left out here: 190 rows. The user sees the whole table" in block["text"]
    data = result["structuredContent"]
    assert (data["title"], data["tool"]) == ("Orders", "orders")
    assert len(data["item"]["rows"]) == 50
    assert data["item"]["total"] == 200
    assert [column["kind"] for column in data["item"]["columns"]] == ["integer", "text"]


@kinds
@pytest.mark.parametrize("version", [VERSIONS[0], VERSIONS[-1]])
async def test_further_pages_come_from_one_tool_that_only_views_can_call(kind: Kind, version: str) -> None:
    server = with_orders(kind)
    async with in_memory(server, version, UI) as client:
        listed = (await client.tools())[DATA_TOOL]
        assert listed["_meta"]["ui"]["visibility"] == ["app"]
        handle = (await client.call("orders"))["structuredContent"]["item"]["handle"]
        sort = [{"column": 0, "descending": True}]
        data = (await client.call(DATA_TOOL, handle=handle, start=2, count=2, sort=sort))["structuredContent"]
        assert data == {"rows": [[197, "name 197"], [196, "name 196"]], "start": 2, "total": 200}
        filters = [{"column": 1, "op": "contains", "value": "NAME 19"}]
        data = (await client.call(DATA_TOOL, handle=handle, filters=filters))["structuredContent"]
        assert data["total"] == 11
        data = (await client.call(DATA_TOOL, handle=handle, csv=True, search="name 5"))["structuredContent"]
        assert data["text"].startswith("id,name\r\n5,name 5\r\n50,")
        assert (data["next"], data["skip"], data["total"]) == (12, 0, 12)


@kinds
async def test_a_client_without_views_gets_the_text_and_nothing_else(kind: Kind) -> None:
    async with in_memory(with_orders(kind), "2025-11-25", NO_UI) as client:
        tools = await client.tools()
        assert set(tools) == {"orders"}
        assert "ui" not in tools["orders"].get("_meta", {})
        text = (await client.call("orders"))["content"][0]["text"]
    assert text.endswith("| 9 | name 9 |\n\nLeft out here: 190 rows.")


@kinds
async def test_sync_and_async_functions_get_their_context(kind: Kind) -> None:
    server, apps = make(kind)
    context: Any = Context if kind == "MCPServer" else FastContext

    def first(ctx: Any, n: int = 1) -> list[dict[str, Any]]:
        return [{"request": str(ctx.request_id)} for _ in range(n)]

    async def second(n: int, ctx: Any) -> pl.DataFrame:
        return pl.DataFrame({"request": [str(ctx.request_id)] * n})

    for function in (first, second):
        function.__annotations__["ctx"] = context
        apps.show()(function)

    async with in_memory(server, "2025-11-25", UI) as client:
        for name in ("first", "second"):
            assert list((await client.tools())[name]["inputSchema"]["properties"]) == ["n"]
            result = await client.call(name, n=2)
            assert result["structuredContent"]["item"]["total"] == 2, result


@kinds
async def test_annotations_as_strings_optional_unions_and_unknown_ones_work(kind: Kind) -> None:
    server, apps = make(kind)

    def as_string(n: "int") -> "pd.DataFrame":
        return frame(n)

    def optional(n: int) -> Optional[pd.DataFrame]:  # noqa: UP045
        return None

    def union(n: int) -> pd.DataFrame | pl.DataFrame | None:
        return pl.DataFrame({"a": [1] * n})

    def for_type_checkers(n: int) -> "Frame":
        return frame(n)

    def without(n: int):  # type: ignore[no-untyped-def]  # noqa: ANN202
        return frame(n)

    totals = {as_string: 3, optional: 0, union: 3, for_type_checkers: 3, without: 3}
    for function in totals:
        assert apps.show()(function) is function
    async with in_memory(server, "2025-11-25", UI) as client:
        for function, total in totals.items():
            result = await client.call(function.__name__, n=3)
            assert result["structuredContent"]["item"]["total"] == total, result


FUTURE = """
from __future__ import annotations
from typing import TYPE_CHECKING, Annotated
from mcp.server import MCPServer
from pydantic import Field
from fanlight import Apps
if TYPE_CHECKING:
    import pandas as pd
server = MCPServer("sales")
apps = Apps(server)
@apps.show()
def orders(n: Annotated[int, Field(ge=1, description="How many.")]) -> pd.DataFrame:
    return [{"a": 1}] * n
"""


async def test_postponed_annotations_work() -> None:
    names: dict[str, Any] = {"__name__": "future"}
    exec(FUTURE, names)
    async with in_memory(names["server"], "2025-11-25", UI) as client:
        schema = (await client.tools())["orders"]["inputSchema"]["properties"]["n"]
        assert (schema["minimum"], schema["description"]) == (1, "How many.")
        assert (await client.call("orders", n=2))["structuredContent"]["item"]["total"] == 2


class Model(BaseModel):
    a: int


class Typed(TypedDict):
    a: int


@pytest.mark.parametrize("annotation", [int, str, bytes, float | None, dict[str, int], Model, Typed, None])
def test_an_annotation_of_what_is_not_a_table_is_an_error_at_registration(annotation: Any) -> None:
    _, apps = make()

    def tool() -> Any: ...

    tool.__annotations__["return"] = annotation
    with pytest.raises(RegistrationError, match=r"tool\(\) returns .*, which cannot be shown"):
        apps.show()(tool)


def test_a_parameter_that_cannot_be_evaluated_is_an_error_at_registration() -> None:
    _, apps = make()

    def tool(order: "Frame") -> pd.DataFrame: ...

    with pytest.raises(RegistrationError, match=r"annotation 'Frame' of the parameter order of tool\(\) cannot be"):
        apps.show()(tool)


def test_wrong_options_are_errors_at_registration() -> None:
    _, apps = make()
    with pytest.raises(ArgumentError, match=r"Write @apps.show\(\) with parentheses"):
        apps.show(frame)  # type: ignore[arg-type]
    for option in ({"page_rows": 0}, {"page_rows": 501}, {"summary_rows": -1}, {"summary_characters": "many"}):
        with pytest.raises(RegistrationError, match=f"{next(iter(option))} is .*, expected a number from"):
            apps.show(**option)
    with pytest.raises(RegistrationError, match=r"apps.show chooses the View"):
        apps.show(view="x.html")
    with pytest.raises(ArgumentError, match=r"has no option 'titel'\. Write title="):
        apps.show(titel="x")(frame)


@kinds
async def test_the_size_of_page_and_summary_are_options(kind: Kind) -> None:
    server = with_orders(kind, page_rows=5, summary_rows=0, title="All orders")
    async with in_memory(server, "2025-11-25", UI) as client:
        result = await client.call("orders")
        assert (await client.tools())["orders"]["title"] == "All orders"
    assert len(result["structuredContent"]["item"]["rows"]) == 5
    assert result["structuredContent"]["title"] == "All orders"
    assert "|---|" not in result["content"][0]["text"]


@kinds
async def test_a_complete_result_and_an_exception_pass_through(kind: Kind) -> None:
    server, apps = make(kind)

    @apps.show()
    def complete() -> CallToolResult:
        return CallToolResult(content=[TextContent(type="text", text="as it is")])

    @apps.show()
    def failing() -> list[dict[str, int]]:
        raise ValueError("no orders")

    @apps.show()
    def wrong() -> Any:
        return object()

    async with in_memory(server, "2025-11-25", UI) as client:
        assert (await client.call("complete"))["content"][0]["text"] == "as it is"
        assert (await client.call("failing"))["isError"]
        assert (await client.call("wrong"))["isError"]


@kinds
async def test_several_tools_share_one_view_and_one_tool_for_rows(kind: Kind) -> None:
    server, apps = make(kind)
    apps.show("one")(frame)
    apps.show("two", keep=Keep(tables=1))(frame)
    async with in_memory(server, "2025-11-25", UI) as client:
        assert set(await client.tools()) == {"one", "two", DATA_TOOL}
        assert list(await client.resources()) == [URI]
        first = (await client.call("two"))["structuredContent"]["item"]["handle"]
        second = (await client.call("two"))["structuredContent"]["item"]["handle"]
        other = (await client.call("one"))["structuredContent"]["item"]["handle"]
        assert (await client.call(DATA_TOOL, handle=first))["isError"]
        assert not (await client.call(DATA_TOOL, handle=second)).get("isError")
        assert not (await client.call(DATA_TOOL, handle=other)).get("isError")


async def test_rows_that_are_gone_are_an_error_that_views_recognize() -> None:
    async with in_memory(with_orders(), "2025-11-25", UI) as client:
        result = await client.call(DATA_TOOL, handle="unknown")
    assert result["isError"]
    assert result["structuredContent"] == {"gone": True}
    assert result["content"][0]["text"].startswith("This is no longer kept on the server. Run the tool again")


async def test_a_table_that_is_too_large_to_keep_has_a_first_page_and_no_handle() -> None:
    async with in_memory(with_orders(keep=Keep(bytes=10)), "2025-11-25", UI) as client:
        table = (await client.call("orders"))["structuredContent"]["item"]
    assert table["handle"] is None
    assert len(table["rows"]) == 50


@pytest.mark.parametrize(
    "arguments",
    [
        {"sort": [{"column": 9}]},
        {"filters": [{"column": 0, "op": "at_least", "value": "many"}]},
        {"filters": [{"column": 0, "op": "drop table", "value": ""}]},
        {"count": 1_000_000},
        {"start": -1},
        {"sort": [{"column": 0}] * 5},
        {"search": "x" * 501},
    ],
)
async def test_a_query_out_of_bounds_is_an_error(arguments: dict[str, Any]) -> None:
    async with in_memory(with_orders(), "2025-11-25", UI) as client:
        handle = (await client.call("orders"))["structuredContent"]["item"]["handle"]
        assert (await client.call(DATA_TOOL, handle=handle, **arguments))["isError"]


@pytest.mark.parametrize("connect", [in_memory, over_http])
async def test_the_handle_of_another_session_is_useless(connect: Connect) -> None:
    server = with_orders()
    if connect is in_memory:
        async with connect(server, "2025-11-25", UI) as alice, connect(server, "2025-11-25", UI) as bob:
            await check_sessions(alice, bob)
    else:
        from support.wire import at_url, serving

        with serving(server.streamable_http_app()) as address:
            url = f"{address}/mcp"
            async with at_url(url, "2025-11-25", UI) as alice, at_url(url, "2025-11-25", UI) as bob:
                await check_sessions(alice, bob)


async def check_sessions(alice: Any, bob: Any) -> None:
    handle = (await alice.call("orders"))["structuredContent"]["item"]["handle"]
    stolen = await bob.call(DATA_TOOL, handle=handle)
    assert stolen["isError"]
    assert stolen["structuredContent"] == {"gone": True}
    assert (await alice.call(DATA_TOOL, handle=handle))["structuredContent"]["total"] == 200


async def test_a_table_belongs_to_the_authenticated_user() -> None:
    server = with_orders()

    async def call(user: str, name: str, **arguments: Any) -> Any:
        token = AccessToken(token=user, client_id="app", scopes=[], subject=user)
        before = auth_context_var.set(AuthenticatedUser(token))
        try:
            async with in_memory(server, VERSIONS[-1], UI) as client:
                return await client.call(name, **arguments)
        finally:
            auth_context_var.reset(before)

    handle = (await call("alice", "orders"))["structuredContent"]["item"]["handle"]
    assert (await call("bob", DATA_TOOL, handle=handle))["isError"]
    assert not (await call("alice", DATA_TOOL, handle=handle)).get("isError")


async def test_the_rows_tool_is_unknown_to_clients_without_views() -> None:
    async with in_memory(with_orders(), "2025-11-25", NO_UI) as client:
        result = await client.call(DATA_TOOL, handle="x")
    assert result["isError"]
    assert "Unknown tool" in result["content"][0]["text"]


@pytest.mark.parametrize("rows", [10, 300_000])
async def test_the_result_has_at_most_100_kilobytes_at_any_number_of_rows(rows: int) -> None:
    server, apps = make()

    @apps.show(page_rows=500)
    def large() -> pl.DataFrame:
        return pl.DataFrame({f"column {n}": ["some text of an ordinary length"] * rows for n in range(40)})

    async with in_memory(server, "2025-11-25", UI) as client:
        result = await client.call("large")
    assert len(json.dumps(result).encode()) <= 100_000
    assert len(result["content"][0]["text"]) <= 5_000


async def test_the_document_of_the_table_view_has_at_most_15_kilobytes_compressed() -> None:
    async with in_memory(with_orders(), "2025-11-25", UI) as client:
        html = (await client.read(URI))["text"]
    assert len(gzip.compress(html.encode(), 9)) <= 15_000
    assert "/* s" not in html
    assert "./base.js" not in html
    assert "@type" not in html


def test_a_server_without_tables_loads_neither_narwhals_nor_show() -> None:
    source = Path(__file__).parents[2] / "src" / "fanlight" / "server" / "apps.py"
    assert "\nfrom fanlight.show" not in source.read_text(encoding="utf-8")


def test_the_name_of_a_server_may_have_any_characters() -> None:
    server: Any = MCPServer("Sales & Co")
    Apps(server).show("orders")(frame)
    assert "ui://Sales%20%26%20Co/fanlight-table" in server._resource_manager._resources
