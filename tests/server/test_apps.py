import json
import runpy
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from fastmcp import Context as FastContext
from fastmcp import FastMCP
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from pydantic import BaseModel

from fanlight import Apps, Csp, RegistrationError, View
from fanlight.protocol.source_lines import VARIABLE
from support.shop import HIGH_LEVEL, Kind
from support.wire import NO_UI, UI, WireError, in_memory

pytestmark = pytest.mark.anyio

kinds = pytest.mark.parametrize("kind", HIGH_LEVEL)
PAGE = "<!doctype html><html><head><title>Page</title></head><body></body></html>"


def make(kind: Kind, name: str = "clock") -> tuple[Any, Apps]:
    server: Any = MCPServer(name) if kind == "MCPServer" else FastMCP(name)
    return server, Apps(server)


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "clock.html"
    path.write_text(PAGE, encoding="utf-8")
    return path


@kinds
async def test_one_line_links_a_tool_to_a_file(kind: Kind, page: Path) -> None:
    server, apps = make(kind)

    @apps.tool(view=page)
    def get_time() -> str:
        "The time."
        return "noon"

    async with in_memory(server, "2025-11-25", UI) as client:
        assert (await client.tools())["get_time"]["_meta"]["ui"] == {"resourceUri": "ui://clock/clock"}
        entry = (await client.resources())["ui://clock/clock"]
        assert (entry["name"], entry["title"]) == ("clock", "Page")
        assert (await client.read("ui://clock/clock"))["text"] == PAGE
        assert (await client.call("get_time"))["content"][0]["text"] == "noon"


@kinds
async def test_a_folder_is_its_index_and_takes_the_folders_name(kind: Kind, tmp_path: Path) -> None:
    folder = tmp_path / "board"
    folder.mkdir()
    (folder / "index.html").write_text(PAGE, encoding="utf-8")
    server, apps = make(kind)
    assert apps.view(folder).uri == "ui://clock/board"
    async with in_memory(server, "2025-11-25", UI) as client:
        assert (await client.read("ui://clock/board"))["text"] == PAGE


def test_a_path_is_relative_to_the_file_that_registers_it() -> None:
    _, apps = make("MCPServer")
    view = apps.view("pages/hello.html")
    assert view.sources == (Path(__file__).parent / "pages" / "hello.html",)
    assert View("pages/hello.html").sources == view.sources


def test_a_path_is_found_if_the_script_was_started_by_a_relative_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "clock"
    folder.mkdir()
    (folder / "view.html").write_text(PAGE, encoding="utf-8")
    (folder / "server.py").write_text(
        "from mcp.server import MCPServer\nfrom fanlight import Apps\n"
        "apps = Apps(MCPServer('clock'))\napps.tool('show', view='view.html')(lambda: 'shown')\n",
        encoding="utf-8",
    )
    monkeypatch.chdir(tmp_path)
    apps = runpy.run_path("clock/server.py")["apps"]
    monkeypatch.chdir("/")
    assert apps._views["ui://clock/view"].sources == (folder / "view.html",)


@kinds
async def test_one_file_used_by_two_tools_is_one_view(kind: Kind, page: Path) -> None:
    server, apps = make(kind)
    apps.tool("one", view=page)(lambda: "1")
    apps.tool("two", view=str(page))(lambda: "2")
    async with in_memory(server, "2025-11-25", UI) as client:
        assert set(await client.resources()) == {"ui://clock/clock"}
        assert set(await client.tools()) == {"one", "two"}


@kinds
async def test_a_registered_view_is_named_by_its_uri_or_itself(kind: Kind, page: Path) -> None:
    server, apps = make(kind)
    view = apps.view(page, uri="ui://other/name", csp=Csp(connect_domains=["https://a.example.com"]))
    apps.tool("one", view="ui://other/name")(lambda: "1")
    apps.tool("two", view=view)(lambda: "2")
    apps.tool("three", view=page)(lambda: "3")
    async with in_memory(server, "2025-11-25", UI) as client:
        links = {name: tool["_meta"]["ui"]["resourceUri"] for name, tool in (await client.tools()).items()}
        assert links == dict.fromkeys(["one", "two", "three"], "ui://other/name")


@kinds
async def test_uris_stay_byte_exact(kind: Kind) -> None:
    server, apps = make(kind)
    uris = ["ui://a/../b", "ui://A/%7Ex", "ui://a//b/", "ui://a/b?c=d#e"]
    for uri in uris:
        apps.view(View.html(PAGE, uri=uri))
    async with in_memory(server, "2025-11-25", UI) as client:
        assert list(await client.resources()) == uris
        for uri in uris:
            assert (await client.read(uri))["uri"] == uri


@kinds
async def test_a_name_with_odd_characters_still_makes_a_uri(kind: Kind, tmp_path: Path) -> None:
    path = tmp_path / "größe 1.html"
    path.write_text(PAGE, encoding="utf-8")
    _, apps = make(kind, "My Shop")
    assert apps.view(path).uri == "ui://My%20Shop/gr%C3%B6%C3%9Fe%201"


@kinds
async def test_a_function_is_called_for_each_read(kind: Kind) -> None:
    server, apps = make(kind)
    reads = iter(range(10))

    def sync_page() -> str:
        "Counts."
        return f"<!doctype html><title>{next(reads)}</title>"

    async def async_page() -> bytes:
        return f"<!doctype html><title>ä{next(reads)}</title>".encode()

    assert apps.view(sync_page).uri == "ui://clock/sync_page"
    apps.view(async_page, uri="ui://clock/made")
    async with in_memory(server, "2025-11-25", UI) as client:
        assert "<title>0<" in (await client.read("ui://clock/sync_page"))["text"]
        assert "<title>ä1<" in (await client.read("ui://clock/made"))["text"]
        assert "<title>2<" in (await client.read("ui://clock/sync_page"))["text"]
        assert (await client.resources())["ui://clock/sync_page"]["description"] == "Counts."


@kinds
async def test_a_function_that_returns_no_document_is_a_read_error_whose_reason_is_logged(
    kind: Kind, caplog: pytest.LogCaptureFixture
) -> None:
    server, apps = make(kind)

    def broken() -> str:
        return '{"not": "html"}'

    def wrong() -> str:
        return 7  # type: ignore[return-value]

    def torn() -> bytes:
        return b"<!doctype html>\xff"

    for maker in (broken, wrong, torn):
        apps.view(maker)
    async with in_memory(server, "2025-11-25", UI) as client:
        for name, reason in (
            ("broken", "starts with"),
            ("wrong", "returned int, expected the HTML as a str"),
            ("torn", "not UTF-8"),
        ):
            with pytest.raises(WireError, match=f"ui://clock/{name} cannot be read"):
                await client.read(f"ui://clock/{name}")
            assert f"{name}():" in caplog.text
            assert reason in caplog.text


@kinds
async def test_a_changed_file_shows_at_the_next_read(kind: Kind, page: Path) -> None:
    server, apps = make(kind)
    apps.view(page)
    async with in_memory(server, "2025-11-25", UI) as client:
        for text in ("one", "two", "six"):
            page.write_text(PAGE.replace("Page", text), encoding="utf-8")
            assert f"<title>{text}<" in (await client.read("ui://clock/clock"))["text"]


async def test_a_change_within_the_resolution_of_the_file_systems_clock_is_served(
    page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    same = (time.time_ns(), 0, 0, 0)
    monkeypatch.setattr("fanlight.server.html_source._stamp", lambda path: same)
    view = View(page, uri="ui://clock/coarse")
    page.write_text(PAGE.replace("Page", "Next"), encoding="utf-8")
    assert "<title>Next<" in str(await view.read())


@kinds
async def test_a_file_broken_by_a_change_is_a_read_error_until_it_is_fixed(
    kind: Kind, page: Path, caplog: pytest.LogCaptureFixture
) -> None:
    server, apps = make(kind)
    apps.view(page)
    async with in_memory(server, "2025-11-25", UI) as client:
        page.write_text("", encoding="utf-8")
        with pytest.raises(WireError, match="ui://clock/clock cannot be read") as caught:
            await client.read("ui://clock/clock")
        assert str(page.parent) not in str(caught.value.error)
        assert str(page) in caplog.text
        page.unlink()
        with pytest.raises(WireError, match="ui://clock/clock cannot be read"):
            await client.read("ui://clock/clock")
        page.write_text(PAGE, encoding="utf-8")
        assert (await client.read("ui://clock/clock"))["text"] == PAGE


@kinds
async def test_a_change_to_an_inlined_file_shows_too(kind: Kind, tmp_path: Path) -> None:
    (tmp_path / "a.css").write_text("p{color:red}", encoding="utf-8")
    page = tmp_path / "styled.html"
    page.write_text('<!doctype html><link rel="stylesheet" href="a.css"><p>x</p>', encoding="utf-8")
    server, apps = make(kind)
    apps.view(page)
    async with in_memory(server, "2025-11-25", UI) as client:
        assert "color:red" in (await client.read("ui://clock/styled"))["text"]
        (tmp_path / "a.css").write_text("p{color:tan}", encoding="utf-8")
        assert "color:tan" in (await client.read("ui://clock/styled"))["text"]


@dataclass
class Point:
    x: int
    y: int


class Model(BaseModel):
    name: str


@kinds
async def test_every_kind_of_result_carries_text_a_model_can_use(kind: Kind, page: Path) -> None:
    server, apps = make(kind)

    @apps.tool(view=page)
    def typed() -> Point:
        return Point(1, 2)

    @apps.tool(view=page)
    async def model() -> Model:
        return Model(name="Ada")

    @apps.tool(view=page)
    def mapping() -> dict[str, int]:
        return {"a": 1}

    @apps.tool(view=page)
    def structured_only() -> types.CallToolResult:
        return types.CallToolResult(content=[], structured_content={"iso": "2026-01-26"})

    @apps.tool(view=page)
    def own_text() -> types.CallToolResult:
        text = types.TextContent(type="text", text="It is noon.")
        return types.CallToolResult(content=[text], structured_content={"iso": "2026-01-26"})

    @apps.tool(view=page, visibility=["app"])
    def nothing() -> None:
        return None

    async with in_memory(server, "2025-11-25", UI) as client:
        for tool, expected in {"typed": {"x": 1, "y": 2}, "model": {"name": "Ada"}, "mapping": {"a": 1}}.items():
            result = await client.call(tool)
            assert result["structuredContent"] == expected
            assert json.loads(result["content"][0]["text"]) == expected
        assert json.loads((await client.call("structured_only"))["content"][0]["text"]) == {"iso": "2026-01-26"}
        assert (await client.call("own_text"))["content"][0]["text"] == "It is noon."
        assert "nothing" in (await client.call("nothing"))["content"][0]["text"]


@kinds
async def test_a_tool_may_be_app_only_with_no_view(kind: Kind) -> None:
    server, apps = make(kind)
    apps.tool("tick", visibility=["app"])(lambda: "tock")
    async with in_memory(server, "2025-11-25", UI) as client:
        meta = (await client.tools())["tick"]["_meta"]
        assert meta["ui"] == {"visibility": ["app"]}
        assert "ui/resourceUri" not in meta
    async with in_memory(server, "2025-11-25", NO_UI) as client:
        assert "tick" not in await client.tools()


@kinds
async def test_the_options_of_the_server_are_passed_on(kind: Kind, page: Path) -> None:
    server, apps = make(kind)

    @apps.tool(
        "renamed",
        view=page,
        title="A title",
        description="Another description.",
        annotations=types.ToolAnnotations(read_only_hint=True),
        meta={"mine": 1},
    )
    def original() -> str:
        "Words."
        return "x"

    async with in_memory(server, "2025-11-25", UI) as client:
        tool = (await client.tools())["renamed"]
        assert (tool["title"], tool["description"]) == ("A title", "Another description.")
        assert tool["annotations"]["readOnlyHint"] is True
        assert tool["_meta"]["mine"] == 1
        assert tool["_meta"]["ui"]["resourceUri"] == "ui://clock/clock"


async def test_a_tool_can_return_something_else_to_a_client_without_apps() -> None:
    server = MCPServer("text")
    apps = Apps(server)

    @apps.tool()
    def greet(ctx: Context) -> str:
        return "see the View" if apps.supported(ctx) else "hello in text"

    fast: FastMCP[Any] = FastMCP("text")
    fast_apps = Apps(fast)

    @fast_apps.tool("greet")
    async def greet_fast(ctx: FastContext) -> str:
        return "see the View" if fast_apps.supported(ctx) else "hello in text"

    for version in ("2025-11-25", "2026-07-28"):
        for one in (server, fast):
            async with in_memory(one, version, UI) as client:
                assert (await client.call("greet"))["content"][0]["text"] == "see the View"
            async with in_memory(one, version, NO_UI) as client:
                assert (await client.call("greet"))["content"][0]["text"] == "hello in text"


async def test_supported_raises_for_anything_but_a_context() -> None:
    _, apps = make("MCPServer")
    with pytest.raises(TypeError, match="takes the context that a tool receives"):
        apps.supported(None)


@kinds
async def test_the_same_file_by_another_path_and_the_same_function_are_one_view(kind: Kind, page: Path) -> None:
    server, apps = make(kind)

    def made() -> str:
        return PAGE

    (page.parent / "sub").mkdir()
    apps.tool("one", view=page)(lambda: "1")
    apps.tool("two", view=page.parent / "sub" / ".." / page.name)(lambda: "2")
    apps.tool("three", view=made)(lambda: "3")
    apps.tool("four", view=made)(lambda: "4")
    async with in_memory(server, "2025-11-25", UI) as client:
        assert set(await client.resources()) == {"ui://clock/clock", "ui://clock/made"}


@kinds
async def test_a_folder_keeps_the_whole_of_its_name(kind: Kind, tmp_path: Path) -> None:
    _, apps = make(kind)
    for name in ("v1.1", "v1.2"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "index.html").write_text(PAGE, encoding="utf-8")
    assert [apps.view(tmp_path / name).uri for name in ("v1.1", "v1.2")] == ["ui://clock/v1.1", "ui://clock/v1.2"]


@kinds
async def test_a_failure_without_text_gets_a_text_that_says_so(kind: Kind) -> None:
    server, apps = make(kind)

    @apps.tool()
    def fails() -> types.CallToolResult:
        return types.CallToolResult(content=[], is_error=True)

    async with in_memory(server, "2025-11-25", NO_UI) as client:
        result = await client.call("fails")
        assert result["isError"] is True
        assert result["content"][0]["text"] == "fails failed without a message."


def view_of(**options: Any) -> Any:
    return lambda apps, tmp: apps.view(View.html(PAGE, **{"uri": "ui://a/b", **options}))


def a_generator() -> Any:
    yield PAGE


def a_taken_uri(apps: Apps) -> None:
    @apps.server.resource("ui://taken/x", mime_type="text/html")
    def taken() -> str:
        return PAGE

    apps.view(View.html(PAGE, uri="ui://taken/x"))


INVALID: dict[str, tuple[Any, str]] = {
    "another scheme": (lambda apps, tmp: apps.view(tmp / "ok.html", uri="https://a/b"), 'Write "ui://clock/view"'),
    "another scheme in view=": (lambda apps, tmp: apps.tool(view="https://a/b"), 'Write "ui://clock/view"'),
    "a missing file": (lambda apps, tmp: apps.view(tmp / "nope.html"), r"nope\.html: does not exist\..*ok\.html"),
    "a missing folder": (lambda apps, tmp: apps.view(tmp / "x" / "nope.html"), "Neither does its folder"),
    "a folder without index": (lambda apps, tmp: apps.view(tmp / "empty"), "folder with no index.html"),
    "a file of another kind": (lambda apps, tmp: apps.view(tmp / "data.json"), "is not an .html file"),
    "a file that is not a document": (lambda apps, tmp: apps.view(tmp / "bad.html"), r"bad\.html.*<!doctype html>"),
    "HTML where a path belongs": (lambda apps, tmp: apps.view(PAGE), r'Write View\.html\(text, uri="ui://'),
    "text that is not a document": (lambda apps, tmp: apps.view(View.html("hello", uri="ui://a/b")), "<!doctype html>"),
    "a View never registered": (lambda apps, tmp: apps.tool(view="ui://a/b"), "No View is registered as ui://a/b"),
    "two Views with one URI": (
        lambda apps, tmp: (apps.view(tmp / "ok.html"), apps.view(tmp / "sub" / "ok.html")),
        "Two Views have the URI ui://clock/ok",
    ),
    "a string View without URI": (lambda apps, tmp: View.html(PAGE), r'Write View\.html\(text, uri="ui://'),
    "a lambda without URI": (lambda apps, tmp: apps.view(lambda: PAGE), "has no file name from which to make its URI"),
    "unknown visibility": (lambda apps, tmp: apps.tool(visibility=["user"]), "expected a list with any of model, app"),
    "unknown permission": (view_of(permissions=["usb"]), "expected a list with any of camera"),
    "a bad domain": (view_of(domain="https://a.example.com"), "not a host name"),
    "a bad csp": (view_of(csp={"connectDomains": []}), "expected a Csp"),
    "a bad encoding": (view_of(encoding="base64"), 'expected "text" or "blob"'),
    "a bad border": (view_of(prefers_border="yes"), "expected True, False or None"),
    "a source of another kind": (lambda apps, tmp: apps.view(7), "A View's source is 7"),
    "own _meta.ui": (lambda apps, tmp: apps.tool(meta={"ui": {}}), "writes _meta"),
    "own _meta of another kind": (lambda apps, tmp: apps.tool(meta="abc"), "expected a dict"),
    "an empty path": (lambda apps, tmp: apps.view(""), "expected a path"),
    "an address": (lambda apps, tmp: apps.view("https://a.example.com"), "expected a path"),
    "a URI as source": (lambda apps, tmp: apps.view("ui://a/b"), r'View\("file.html", uri='),
    "a name too long": (lambda apps, tmp: apps.view(tmp / ("x" * 300 + ".html")), "cannot be read"),
    "a function that wants arguments": (
        lambda apps, tmp: apps.view(lambda zone: PAGE, uri="ui://a/b"),
        "without arguments",
    ),
    "a generator": (lambda apps, tmp: apps.view(a_generator), "is a generator"),
    "a name of another kind": (view_of(name=5), "name is 5, expected a str"),
    "a title of another kind": (view_of(title=b"x"), "title is b'x', expected a str"),
    "listed of another kind": (view_of(listed="no"), "listed is 'no'"),
    "unlisted after creation": (
        lambda apps, tmp: apps.view(View.html(PAGE, uri="ui://a/b"), listed=False),
        "This View already has its options",
    ),
    "a URI that the server has": (lambda apps, tmp: a_taken_uri(apps), "already has a resource ui://taken/x"),
    "a second Apps": (lambda apps, tmp: Apps(apps.server), "already has an Apps"),
    "an option of the View": (
        lambda apps, tmp: apps.tool(view="clock.html", prefers_border=True),
        r"Write @apps\.tool\(view=View\('clock\.html', prefers_border=\.\.\.\)\)",
    ),
    "the URI of the View": (
        lambda apps, tmp: apps.tool(view="clock.html", uri="ui://a/b"),
        r"uri is an option of the View, not of the tool",
    ),
    "own flat key": (lambda apps, tmp: apps.tool(meta={"ui/resourceUri": "ui://a/b"}), "writes _meta"),
    "options for a View that exists": (
        lambda apps, tmp: apps.view(View.html(PAGE, uri="ui://a/b"), title="x"),
        "This View already has its options",
    ),
    "a missing reference": (lambda apps, tmp: apps.view(tmp / "refers.html"), r"refers\.html:2: .*missing\.js"),
    "an undeclared origin": (lambda apps, tmp: apps.view(tmp / "cdn.html"), r"cdn\.html:2: .*resource_domains"),
}


@kinds
@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("viev", r"apps\.tool has no option 'viev'\. Write view=\.\.\."),
        ("anotations", r"Write annotations="),
        ("colour", r"Its options are view, "),
    ],
)
def test_an_unknown_option_of_a_tool_raises_with_the_nearest_one(kind: Kind, option: str, words: str) -> None:
    _, apps = make(kind)
    with pytest.raises(TypeError, match=words):
        apps.tool(**{option: None})


@kinds
@pytest.mark.parametrize("what", INVALID)
def test_registration_raises_with_what_to_write_instead(kind: Kind, what: str, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "empty").mkdir()
    for name, text in {
        "ok.html": PAGE,
        "sub/ok.html": PAGE,
        "data.json": "{}",
        "bad.html": '{"not": "html"}',
        "refers.html": '<!doctype html>\n<script src="missing.js"></script>',
        "cdn.html": '<!doctype html>\n<script src="https://cdn.example.com/x.js"></script>',
    }.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    _, apps = make(kind)
    attempt, message = INVALID[what]
    with pytest.raises(RegistrationError, match=message):
        attempt(apps, tmp_path)


def test_an_unknown_option_of_a_view_raises_with_those_that_exist() -> None:
    with pytest.raises(TypeError, match=r"no option 'border'\. Its options are .*prefers_border"):
        View.html(PAGE, uri="ui://a/b", border=True)  # type: ignore[call-arg]


class Manager:
    pass


class DataFrame:
    """As in pandas: an annotation that cannot be resolved where it is read."""

    _mgr: "Unresolved"  # type: ignore[name-defined]  # noqa: F821


def test_an_annotation_without_a_json_schema_raises_with_what_to_return() -> None:
    _, apps = make("MCPServer")  # FastMCP registers such a tool without an output schema

    def get_rows() -> DataFrame:
        return DataFrame()

    with pytest.raises(RegistrationError) as caught:
        apps.tool()(get_rows)

    assert str(caught.value).startswith("get_rows() returns ")
    assert 'return frame.to_dict("records")' in str(caught.value)
    assert caught.value.__suppress_context__


@kinds
def test_a_parameter_without_a_json_schema_raises_with_its_name(kind: Kind) -> None:
    _, apps = make(kind)

    def count(frame: Manager) -> int:
        return 0

    with pytest.raises(
        RegistrationError, match=r"The parameter frame of count\(\) is .*Manager, which has no JSON schema"
    ):
        apps.tool()(count)


@kinds
def test_other_errors_of_registration_are_the_servers_own(kind: Kind) -> None:
    _, apps = make(kind)

    with pytest.raises(ValueError, match="name for lambda") as caught:
        apps.tool()(lambda: "x")

    assert not isinstance(caught.value, RegistrationError)


@kinds
async def test_a_development_tool_gets_the_reason_of_a_read_error(
    kind: Kind, page: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    server, apps = make(kind)
    apps.view(page)
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    async with in_memory(server, "2025-11-25", UI) as client:
        page.write_text("hello", encoding="utf-8")
        with pytest.raises(WireError, match=r"clock\.html:1: starts with `hello`, expected `<!doctype html>`"):
            await client.read("ui://clock/clock")


def test_app_config_beside_view_is_refused_on_fastmcp(page: Path) -> None:
    _, apps = make("FastMCP")
    with pytest.raises(RegistrationError, match="instead of app="):
        apps.tool(view=page, app=True)(lambda: "x")


def test_a_path_in_place_of_the_name_raises() -> None:
    with pytest.raises(RegistrationError, match=r"Write @apps.tool\(view='clock.html'\)\."):
        Apps(MCPServer("clock")).tool("clock.html")


def test_a_decorator_without_parentheses_raises() -> None:
    _, apps = make("MCPServer")
    with pytest.raises(TypeError, match="with parentheses"):
        apps.tool(lambda: "x")  # type: ignore[arg-type]


def test_a_view_without_uri_raises_with_how_to_get_one(page: Path) -> None:
    with pytest.raises(RegistrationError, match="has no URI yet"):
        View(page).resource()
