"""`Apps.upload` on both kinds of servers: the tools, whose uploads they are, and what becomes of a file."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

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
from mcp_types import CallToolResult, TextContent, ToolAnnotations

from fanlight import Apps, ArgumentError, RegistrationError
from fanlight.show import UploadedFile, UploadStorage
from fanlight.show.files.uploads import PART_BYTES, UPLOAD_TOOL
from fanlight.show.shows import DATA_TOOL
from support.shop import HIGH_LEVEL, Kind
from support.uploads import begin, send, write
from support.wire import NO_UI, UI, VERSIONS, in_memory

pytestmark = pytest.mark.anyio

kinds = pytest.mark.parametrize("kind", HIGH_LEVEL)
CSV = b"id,name\n1,Ada\n2,Grace\n"


def make(kind: Kind = "MCPServer") -> tuple[Any, Apps]:
    server: Any = MCPServer("orders") if kind == "MCPServer" else FastMCP("orders")
    return server, Apps(server)


def with_import(kind: Kind = "MCPServer", **options: Any) -> Any:
    server, apps = make(kind)

    @apps.upload(**{"accept": [".csv"], "max_bytes": 1_000_000, **options})
    def import_orders(file: UploadedFile, year: int = 2026) -> pd.DataFrame:
        "Import orders."
        return pd.read_csv(file.path).assign(year=year)

    return server


@kinds
@pytest.mark.parametrize("version", [VERSIONS[0], VERSIONS[-1]])
async def test_the_model_opens_the_view_and_the_function_runs_with_the_uploaded_file(kind: Kind, version: str) -> None:
    async with in_memory(with_import(kind), version, UI) as client:
        tools = await client.tools()
        assert set(tools) == {"import_orders", "import_orders_upload", UPLOAD_TOOL, DATA_TOOL}
        assert list(tools["import_orders"]["inputSchema"]["properties"]) == ["year"]
        assert tools["import_orders"]["_meta"]["ui"]["resourceUri"] == "ui://orders/fanlight-upload"
        for hidden in ("import_orders_upload", UPLOAD_TOOL):
            assert tools[hidden]["_meta"]["ui"] == {"visibility": ["app"]}
        opened = await client.call("import_orders", year=2025)
        assert opened["content"][0]["text"] == (
            "The user now sees where to upload a file (.csv) of up to 1 MB. Nothing has been uploaded yet. After the "
            "upload, the result is added to your context. Wait for the user."
        )
        item = opened["structuredContent"]["item"]
        assert (item["kind"], item["target"], item["accept"], item["files"]) == ("upload", "import_orders", [".csv"], 1)
        upload = await send(client, "import_orders", "orders.csv", CSV)
        result = await client.call("import_orders_upload", file=[upload], year=2025)
    assert result["content"][0]["text"].startswith(
        "The user uploaded orders.csv (22 bytes).\n\nA table of 2 rows and 3 columns."
    )
    assert result["structuredContent"]["item"]["rows"][0] == [1, "Ada", 2025]


@kinds
async def test_a_client_without_views_gets_what_to_do_and_none_of_the_other_tools(kind: Kind) -> None:
    async with in_memory(with_import(kind), "2025-11-25", NO_UI) as client:
        assert set(await client.tools()) == {"import_orders"}
        text = (await client.call("import_orders"))["content"][0]["text"]
        assert text.startswith("This tool takes a file (.csv) of up to 1 MB from the user, which needs a client")
        assert (await begin(client, "import_orders", "a.csv", 1))["isError"]
    server = with_import(kind, without_views="Mail it to orders@example.com.")
    async with in_memory(server, "2025-11-25", NO_UI) as client:
        assert (await client.call("import_orders"))["content"][0]["text"] == "Mail it to orders@example.com."


@kinds
async def test_several_files_and_a_context_reach_an_async_function(kind: Kind) -> None:
    server, apps = make(kind)
    context: Any = Context if kind == "MCPServer" else FastContext
    reported = []

    async def merge(files: list[UploadedFile], ctx: Any) -> dict[str, int]:
        "Merge files."
        reported.append(type(ctx).__name__)
        return {file.name: len(file.path.read_bytes()) for file in files}

    merge.__annotations__["ctx"] = context
    apps.upload()(merge)
    async with in_memory(server, "2025-11-25", UI) as client:
        assert (await client.tools())["merge"]["inputSchema"].get("properties", {}) == {}
        uploads = [await send(client, "merge", name, b"abc") for name in ("a.txt", "b.txt")]
        result = await client.call("merge_upload", files=uploads)
        assert (await client.call("merge_upload", files=[]))["isError"]
    assert reported == ["Context"]
    assert result["structuredContent"]["item"] == {"kind": "text", "data": '{\n  "a.txt": 3,\n  "b.txt": 3\n}'}


@kinds
async def test_a_lazy_frame_is_read_before_its_file_is_removed(kind: Kind) -> None:
    server, apps = make(kind)
    paths: list[Path] = []

    @apps.upload()
    def scan(file: UploadedFile) -> pl.LazyFrame:
        paths.append(file.path)
        return pl.scan_csv(file.path)

    async with in_memory(server, "2025-11-25", UI) as client:
        result = await client.call("scan_upload", file=[await send(client, "scan", "a.csv", CSV)])
    assert result["structuredContent"]["item"]["total"] == 2
    assert not paths[0].exists()


@kinds
async def test_the_author_decides_what_the_model_and_the_view_get(kind: Kind) -> None:
    server, apps = make(kind)

    @apps.upload(tell_model=False)
    def keep(file: UploadedFile) -> CallToolResult:
        return CallToolResult(content=[TextContent(type="text", text="kept")], structured_content={"id": 7})

    @apps.upload()
    def nothing(file: UploadedFile) -> None:
        pass

    async with in_memory(server, "2025-11-25", UI) as client:
        assert (await client.call("keep"))["structuredContent"]["item"]["tellModel"] is False
        result = await client.call("keep_upload", file=[await send(client, "keep", "a", b"x")])
        assert (result["content"][0]["text"], result["structuredContent"]) == ("kept", {"id": 7})
        result = await client.call("nothing_upload", file=[await send(client, "nothing", "a", b"x")])
        assert result["structuredContent"]["item"] == {"kind": "text", "data": "Done."}


@kinds
async def test_a_value_error_is_the_reason_that_the_user_reads_and_other_errors_are_not(kind: Kind) -> None:
    server, apps = make(kind)

    @apps.upload()
    def picky(file: UploadedFile) -> str:
        raise ValueError("The column id is missing.") if file.size == 1 else RuntimeError("secret path")

    async with in_memory(server, "2025-11-25", UI) as client:
        result = await client.call("picky_upload", file=[await send(client, "picky", "a", b"x")])
        assert (result["isError"], result["content"][0]["text"]) == (True, "The column id is missing.")
        result = await client.call("picky_upload", file=[await send(client, "picky", "a", b"xx")])
        assert result["isError"]
        if kind == "MCPServer":  # FastMCP sends the message of every exception
            assert "secret" not in result["content"][0]["text"]


async def test_what_is_not_accepted_is_refused_before_its_first_part() -> None:
    async with in_memory(with_import(), "2025-11-25", UI) as client:
        for name, size, reason in (
            ("a.exe", 1, "a.exe is of another type. Accepted: .csv."),
            ("a.csv", 2_000_000, "a.csv has 2 MB, and at most 1 MB can be uploaded."),
        ):
            result = await begin(client, "import_orders", name, size)
            assert result["isError"]
            assert result["content"][0]["text"] == reason
            assert result["structuredContent"] == {"refused": True}
        assert (await begin(client, "something else", "a.csv", 1))["isError"]


async def test_more_than_was_announced_and_what_is_not_base64_is_refused() -> None:
    async with in_memory(with_import(), "2025-11-25", UI) as client:
        upload = (await begin(client, "import_orders", "a.csv", 4))["structuredContent"]["upload"]
        result = await write(client, upload, 0, b"abcde")
        assert "announced with 4 bytes" in result["content"][0]["text"]
        result = await client.call(UPLOAD_TOOL, action="write", upload=upload, start=0, data="%%%")
        assert result["content"][0]["text"] == "The part is not base64."
        result = await client.call("import_orders_upload", file=[upload])
        assert result["content"][0]["text"] == "a.csv is not complete: 0 of 4 bytes."


async def test_an_upload_can_be_continued_and_cancelled() -> None:
    async with in_memory(with_import(), "2025-11-25", UI) as client:
        upload = (await begin(client, "import_orders", "a.csv", len(CSV)))["structuredContent"]["upload"]
        await write(client, upload, 0, CSV[:9])
        status = await client.call(UPLOAD_TOOL, action="status", upload=upload)
        assert status["structuredContent"] == {"upload": upload, "received": 9}
        assert not (await client.call(UPLOAD_TOOL, action="cancel", upload=upload))["isError"]
        status = await client.call(UPLOAD_TOOL, action="status", upload=upload)
        assert (status["isError"], status["structuredContent"]) == (True, {"gone": True})


async def test_the_upload_of_another_session_does_nothing() -> None:
    server = with_import()
    async with in_memory(server, "2025-11-25", UI) as alice, in_memory(server, "2025-11-25", UI) as bob:
        upload = await send(alice, "import_orders", "a.csv", CSV)
        assert (await client_status(bob, upload)) == {"gone": True}
        assert (await write(bob, upload, 0, b"evil"))["structuredContent"] == {"gone": True}
        await bob.call(UPLOAD_TOOL, action="cancel", upload=upload)
        assert (await bob.call("import_orders_upload", file=[upload]))["isError"]
        assert (await alice.call("import_orders_upload", file=[upload]))["structuredContent"]["item"]["total"] == 2


async def client_status(client: Any, upload: str) -> Any:
    return (await client.call(UPLOAD_TOOL, action="status", upload=upload))["structuredContent"]


async def test_an_upload_belongs_to_the_authenticated_user() -> None:
    server = with_import()

    async def as_user(user: str, work: Any) -> Any:
        token = AccessToken(token=user, client_id="app", scopes=[], subject=user)
        before = auth_context_var.set(AuthenticatedUser(token))
        try:
            async with in_memory(server, VERSIONS[-1], UI) as client:
                return await work(client)
        finally:
            auth_context_var.reset(before)

    upload = await as_user("alice", lambda client: send(client, "import_orders", "a.csv", CSV))
    assert (await as_user("bob", lambda client: client_status(client, upload))) == {"gone": True}
    assert (await as_user("alice", lambda client: client_status(client, upload)))["received"] == len(CSV)


async def test_hosts_ask_for_the_function_and_not_for_each_part() -> None:
    server, apps = make()

    @apps.upload(annotations=ToolAnnotations(destructive_hint=True))
    def replace_all(file: UploadedFile) -> str:
        return "replaced"

    async with in_memory(server, "2025-11-25", UI) as client:
        tools = await client.tools()
    assert tools["replace_all_upload"]["annotations"] == {"destructiveHint": True}
    assert tools["replace_all"]["annotations"]["readOnlyHint"]
    assert tools[UPLOAD_TOOL]["annotations"]["readOnlyHint"]


async def test_a_tool_for_views_of_the_authors_own_is_not_seen_by_the_model() -> None:
    server, apps = make()

    @apps.upload(visibility=["app"])
    def attach(file: UploadedFile) -> str:
        return file.name

    async with in_memory(server, "2025-11-25", UI) as client:
        assert set(await client.tools()) == {"attach_upload", UPLOAD_TOOL, DATA_TOOL}
        assert await client.resources() == {}
        begun = (await begin(client, "attach", "a", 1))["structuredContent"]
        assert (begun["tool"], begun["parameter"], begun["part"]) == ("attach_upload", "file", PART_BYTES)


def test_a_part_fits_through_every_transport() -> None:
    assert PART_BYTES * 4 / 3 <= 1024 * 1024 / 2


async def test_several_tools_share_one_view_and_one_tool_for_parts() -> None:
    server, apps = make()
    apps.upload("one", storage=UploadStorage(uploads=1))(lambda_for("one"))
    apps.upload("two")(lambda_for("two"))
    async with in_memory(server, "2025-11-25", UI) as client:
        assert list(await client.resources()) == ["ui://orders/fanlight-upload"]
        await begin(client, "one", "a", 1)
        assert "no room" in (await begin(client, "one", "a", 1))["content"][0]["text"]
        assert not (await begin(client, "two", "a", 1))["isError"]


def lambda_for(name: str) -> Any:
    def function(file: UploadedFile) -> str:
        return name

    return function


def functions() -> Iterator[tuple[Any, str]]:
    def no_file(year: int) -> str:
        return ""

    def two_files(a: UploadedFile, b: UploadedFile) -> str:
        return ""

    yield no_file, r"no_file\(\) has no parameter for what the user uploads, expected one: write file: UploadedFile"
    yield two_files, r"two_files\(\) has 2 parameters"


@pytest.mark.parametrize(("function", "message"), list(functions()))
def test_a_function_without_one_parameter_for_files_is_refused(function: Any, message: str) -> None:
    _, apps = make()
    with pytest.raises(RegistrationError, match=message):
        apps.upload()(function)


def test_the_decorator_needs_parentheses() -> None:
    _, apps = make()
    with pytest.raises(ArgumentError, match=r"Write @apps\.upload\(\) with parentheses"):
        apps.upload(lambda_for("x"))
