"""`Apps.pages` on both servers: templates, what the model gets, arguments of actions, errors with their lines."""

import builtins
import gzip
import re
from collections.abc import Callable, Mapping
from datetime import date
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from fastmcp import FastMCP
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp_types import CallToolResult, TextContent
from pydantic import BaseModel, Field

from fanlight import Apps, ArgumentError, BundleError, RegistrationError, browser
from fanlight.show import Refresh
from fanlight.show.templates.shell import _script
from support.wire import NO_UI, UI, VERSIONS, in_memory

pytestmark = pytest.mark.anyio

KINDS: list[Any] = [MCPServer, FastMCP]
WORDS = {"page.html": "<p>{{ word }}</p>", "words.txt": "{{ word }}!"}


@pytest.fixture(params=KINDS, ids=["mcp", "fastmcp"])
def kind(request: pytest.FixtureRequest) -> Callable[[str], Any]:
    made: Callable[[str], Any] = request.param
    return made


@pytest.fixture
def folder(tmp_path: Path) -> Callable[[Mapping[str, str]], Path]:
    """Write templates."""

    def write(files: Mapping[str, str]) -> Path:
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text, encoding="utf-8")
        return tmp_path

    return write


async def result_of(server: Any, tool: str, capabilities: dict[str, Any] = UI, **arguments: Any) -> dict[str, Any]:
    async with in_memory(server, "2025-11-25", capabilities) as client:
        return await client.call(tool, **arguments)


def text_of(result: dict[str, Any]) -> str:
    text: str = result["content"][0]["text"]
    return text


@pytest.mark.parametrize("version", VERSIONS)
async def test_the_result_has_the_html_for_the_view_and_the_values_for_the_model(
    kind: Callable[[str], Any], version: str, folder: Any
) -> None:
    server = kind("shop")
    pages = Apps(server).pages(
        folder({"page.html": "<b>{{ who }}</b>{% for n in numbers %}<i>{{ n }}</i>{% endfor %}"})
    )

    @pages.view("page.html")
    def show_page(who: str) -> dict[str, Any]:
        "Show a page."
        return {"who": who, "numbers": [1, 2], "price": Decimal("1.50"), "day": date(2026, 1, 2)}

    async with in_memory(server, version, UI) as client:
        tool = (await client.tools())["show_page"]
        assert tool["_meta"]["ui"]["resourceUri"] == "ui://shop/page"
        assert tool["inputSchema"]["required"] == ["who"]
        entry = (await client.resources())["ui://shop/page"]
        assert (entry["title"], entry["description"]) == ("Show page", "Show a page.")
        result = await client.call("show_page", who="<Ada>")
        assert result["structuredContent"] == {"html": "<b>&lt;Ada&gt;</b><i>1</i><i>2</i>", "tool": "show_page"}
        assert text_of(result) == 'who: <Ada>\nnumbers: [1,2]\nprice: "1.50"\nday: "2026-01-02"'
        assert "<b>" not in text_of(result)
    assert show_page("x")["who"] == "x"


async def test_a_client_without_views_gets_the_text_alone(kind: Callable[[str], Any], folder: Any) -> None:
    server = kind("shop")
    pages = Apps(server).pages(folder(WORDS))
    pages.view("page.html", "say", text="words.txt")(lambda word: {"word": word})
    pages.action("page.html", "change")(lambda word: {"word": word})
    async with in_memory(server, "2025-11-25", NO_UI) as client:
        assert set(await client.tools()) == {"say"}
        result = await client.call("say", word="hi")
        assert text_of(result) == "hi!"
        assert "structuredContent" not in result


async def test_a_server_that_always_shows_apps_sends_the_html_to_every_client(folder: Any) -> None:
    server: Any = MCPServer("shop")
    Apps(server, negotiate="always").pages(folder(WORDS)).view("page.html", "say")(lambda word: {"word": word})
    assert (await result_of(server, "say", NO_UI, word="hi"))["structuredContent"]["html"] == "<p>hi</p>"


async def test_the_text_for_the_model_is_a_template_or_a_function_and_is_bounded(folder: Any) -> None:
    server: Any = MCPServer("shop")
    pages = Apps(server).pages(folder(WORDS), text_characters=10)
    pages.view("page.html", "by_template", text="words.txt")(lambda word: {"word": word})
    pages.view("page.html", "by_function", text=lambda values: f"about {values['word']}")(lambda word: {"word": word})
    # Text is not HTML, and so it is not escaped.
    assert text_of(await result_of(server, "by_template", word="<&>")) == "<&>!"
    assert text_of(await result_of(server, "by_function", word="x")) == "about x"
    assert text_of(await result_of(server, "by_function", word="xxxxxxxx")) == "about xxxx… (4 more characters)"


async def test_async_functions_contexts_and_complete_results_work(kind: Callable[[str], Any], folder: Any) -> None:
    server = kind("shop")
    pages = Apps(server).pages(folder(WORDS))
    if kind is FastMCP:
        from fastmcp import Context as ServerContext
    else:
        ServerContext = Context  # type: ignore[assignment,misc]

    async def later(word: str, ctx: ServerContext) -> dict[str, str]:
        return {"word": f"{word} {ctx.request_id is not None}"}

    def own(word: str) -> CallToolResult:
        return CallToolResult(content=[TextContent(type="text", text=word)])

    pages.view("page.html", "show_later")(later)
    pages.action("page.html", "act_later")(later)
    pages.view("page.html", "own")(own)
    async with in_memory(server, "2025-11-25", UI) as client:
        assert (await client.call("show_later", word="a"))["structuredContent"]["html"] == "<p>a True</p>"
        assert (await client.call("act_later", word="b"))["structuredContent"]["html"] == "<p>b True</p>"
        assert text_of(await client.call("own", word="mine")) == "mine"


# Actions


class Size(Enum):
    SMALL = "s"
    LARGE = "l"


class Item(BaseModel):
    name: str


async def act(
    kind: Callable[[str], Any], folder: Any, function: Callable[..., Any], **arguments: Any
) -> dict[str, Any]:
    server = kind("shop")
    Apps(server).pages(folder({"out.html": "{{ out }}"})).action("out.html", "act")(function)
    return await result_of(server, "act", **arguments)


async def test_fields_become_the_types_of_the_parameters(kind: Callable[[str], Any], folder: Any) -> None:
    def function(
        count: int,
        price: Decimal,
        day: date,
        size: Size,
        gift: bool,
        sort: Literal["up", "down"],
        numbers: list[int],
        item: Item,
        note: str = "none",
        limit: int | None = None,
        pages: Annotated[int, Field(ge=1)] = 7,
    ) -> dict[str, Any]:
        return {"out": [count, price, day, size, gift, sort, numbers, item.name, note, limit, pages].__repr__()}

    fields = {"count": "3", "price": "1.5", "day": "2026-01-02", "size": "l", "gift": "on", "sort": "up"}
    result = await act(
        kind, folder, function, **fields, numbers=["1", "2"], item={"name": "x"}, note="", limit="", pages=""
    )
    out = result["structuredContent"]["html"].replace("&#39;", "'").replace("&lt;", "<").replace("&gt;", ">")
    assert out == (
        "[3, Decimal('1.5'), datetime.date(2026, 1, 2), <Size.LARGE: 'l'>, True, 'up', [1, 2], 'x', '', None, 7]"
    )
    assert text_of(result) == "Rendered out.html."


async def test_what_is_not_checked_or_selected_is_false_or_empty_and_one_value_is_a_list(
    kind: Callable[[str], Any], folder: Any
) -> None:
    def function(gift: bool, tags: list[str], ids: set[int] | None = None) -> dict[str, Any]:
        return {"out": f"{gift} {tags} {ids}"}

    assert (await act(kind, folder, function))["structuredContent"]["html"] == "False [] None"
    result = await act(kind, folder, function, tags="a", ids="1")
    assert result["structuredContent"]["html"] == "False [&#39;a&#39;] {1}"


async def test_the_errors_of_all_fields_come_at_once(kind: Callable[[str], Any], folder: Any) -> None:
    def function(count: Annotated[int, Field(le=20)], day: date, name: str) -> dict[str, Any]:
        raise AssertionError("not called")

    result = await act(kind, folder, function, count="99", day="", name="x")
    assert result["isError"]
    assert result["structuredContent"]["errors"] == {
        "count": "Input should be less than or equal to 20",
        "day": "This field is required.",
    }
    assert text_of(result).startswith("count: Input should be")


async def test_a_value_error_of_the_function_reaches_the_user(kind: Callable[[str], Any], folder: Any) -> None:
    def function(code: str) -> dict[str, Any]:
        raise ValueError(f"There is no {code}.")

    result = await act(kind, folder, function, code="X")
    assert (result["isError"], result["structuredContent"]) == (True, {"errors": {"": "There is no X."}})


async def test_an_action_can_change_nothing_refresh_the_page_or_tell_the_model(folder: Any) -> None:
    server: Any = MCPServer("shop")
    pages = Apps(server).pages(folder(WORDS))
    pages.action("page.html", "nothing")(lambda: None)
    pages.action(None, "alone")(lambda: None)
    pages.action(None, "refresh")(Refresh)
    pages.action("page.html", "tell", text="words.txt")(lambda: {"word": "hi"})
    async with in_memory(server, "2025-11-25", UI) as client:
        results = {name: (await client.call(name))["structuredContent"] for name in await client.tools()}
        assert all(tool["_meta"]["ui"]["visibility"] == ["app"] for tool in (await client.tools()).values())
    assert results == {
        "nothing": {"html": None},
        "alone": {"html": None},
        "refresh": {"refresh": True},
        "tell": {"html": "<p>hi</p>", "model": "hi!"},
    }


# Errors


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"other.html": ""}, r"page\.html: it does not exist\. .* contains other\.html\."),
        ({"page.html": "a\n{% if %}"}, r"page\.html:2: Expected an expression, got 'end of statement block'\."),
        ({"page.html": "\n\n{{ x|nothing }}"}, r"page\.html:3: No filter named 'nothing'\."),
        ({"page.html": "{% include 'rows.html' %}"}, r"rows\.html: page\.html uses it, and it does not exist\."),
        ({"page.html": "{% extends 'base.html' %}", "base.html": "\n{{ }"}, r"base\.html:2: .*"),
    ],
    ids=["missing", "syntax", "filter", "include", "extends"],
)
def test_a_template_that_cannot_be_used_is_an_error_at_registration(
    files: dict[str, str], message: str, folder: Any
) -> None:
    pages = Apps(MCPServer("shop")).pages(folder(files))
    with pytest.raises(BundleError, match=message):
        pages.view("page.html")
    with pytest.raises(BundleError, match=message):
        pages.action("page.html")


def test_what_is_wrong_with_the_call_is_an_error_at_registration(folder: Any) -> None:
    apps: Any = Apps(MCPServer("shop"))
    with pytest.raises(BundleError, match=r"nowhere: does not exist, expected a folder of templates"):
        apps.pages("nowhere")
    with pytest.raises(BundleError, match=r"page\.html: is not a folder"):
        apps.pages(folder(WORDS) / "page.html")
    with pytest.raises(RegistrationError, match="max_html is 0, expected a number above 0"):
        apps.pages(folder(WORDS), max_html=0)
    pages = apps.pages(folder(WORDS))
    with pytest.raises(ArgumentError, match=r"Write @pages\.view\(\"page\.html\"\)"):
        pages.view(lambda: {})
    with pytest.raises(RegistrationError, match="The template is None"):
        pages.view(None)
    with pytest.raises(RegistrationError, match="a View of their own"):
        pages.view("page.html", view="x.html")
    with pytest.raises(RegistrationError, match="Only pages can call an action"):
        pages.action("page.html", visibility=["model"])
    with pytest.raises(RegistrationError, match="text is 3"):
        pages.view("page.html", text=3)
    with pytest.raises(BundleError, match=r"head\.html: cannot be read"):
        apps.pages(folder(WORDS), head="head.html").view("page.html")(lambda: {})
    folder({"head.html": '<title>x</title>\n\n<link rel="stylesheet" href="no.css">'})
    with pytest.raises(BundleError, match=r"head\.html:3: .*no\.css"):
        apps.pages(folder(WORDS), head="head.html").view("page.html")(lambda: {})


def test_without_jinja_one_line_says_what_to_install(folder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    imported = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name == "jinja2":
            raise ImportError(name)
        return imported(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(RegistrationError, match=r"^Jinja2 is missing.*: pip install 'fanlight\[pages\]'$"):
        Apps(MCPServer("shop")).pages(folder(WORDS))


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("\n{{ wrod }}", r"page\.html:2: 'wrod' is undefined\. Return it in the dict, or write"),
        ("\n\n{{ word / 2 }}", r"page\.html:3: TypeError: unsupported operand"),
        ("{% include name %}", r"page\.html:1: uses gone\.html, which does not exist"),
        ("{{ 'x' * 300 }}", r"page\.html: rendered 300 characters of HTML, at most max_html=200 are sent"),
    ],
    ids=["undefined", "raises", "include", "large"],
)
async def test_a_template_that_cannot_be_rendered_is_logged_with_its_line(
    template: str, message: str, folder: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    server: Any = MCPServer("shop")
    pages = Apps(server).pages(folder({"page.html": template}), max_html=200)
    pages.view("page.html", "say")(lambda: {"word": "x", "name": "gone.html"})
    result = await result_of(server, "say")
    assert result["isError"]
    assert text_of(result) == "This page cannot be rendered; the server's log has the reason."
    assert re.search(message, caplog.text)
    # The reason names files of the server, and is for its author.
    monkeypatch.setenv("FANLIGHT_LINES", str(folder({})))
    assert re.search(message, text_of(await result_of(server, "say")))


async def test_an_action_that_does_not_exist_is_an_error_with_its_line_and_the_known_ones(
    kind: Callable[[str], Any], folder: Any, caplog: pytest.LogCaptureFixture
) -> None:
    server = kind("shop")
    part = """<!-- <b data-action="old"> -->{# <b data-action="older"> #}
<p data-action="{{ word }}">data-action="text"</p><a data-x="{% if word %}y{% endif %}"
  data-action="chnage">x</a>"""
    pages = Apps(server).pages(folder({"page.html": "{% include 'part.html' %}", "part.html": part}))
    pages.view("page.html", "say")(lambda: {"word": "x"})
    pages.action(None, "change")(lambda: None)
    pages.action(None, "add")(lambda: None)
    assert (await result_of(server, "say"))["isError"]
    message = 'part.html:3: data-action="chnage" names no tool of this server.'
    assert message in caplog.text
    assert "register it with @pages.action(). Known actions: add, change." in caplog.text
    # Any tool of the server can be called.
    server.tool(name="chnage")(lambda: None)
    assert "structuredContent" in await result_of(server, "say")


async def test_an_action_of_a_mounted_server_is_found(folder: Any) -> None:
    inner, server = FastMCP("inner"), FastMCP("shop")
    pages = Apps(server).pages(folder({"page.html": '<button data-action="inner_go">Go</button>'}))
    pages.view("page.html", "say")(lambda: {})
    inner.tool(name="go")(lambda: "gone")
    server.mount(inner, "inner")
    assert "structuredContent" in await result_of(server, "say")


async def test_what_is_not_a_dict_is_an_error_that_says_so(folder: Any, caplog: pytest.LogCaptureFixture) -> None:
    server: Any = MCPServer("shop")
    pages = Apps(server).pages(folder(WORDS))
    pages.view("page.html", "say")(lambda: ["x"])
    pages.action(None, "act")(lambda: {"x": 1})
    assert (await result_of(server, "say"))["isError"]
    assert (await result_of(server, "act"))["isError"]
    assert "say() returned list, expected a dict of the template's variables." in caplog.text
    assert "act() returned dict and has no template to render it with." in caplog.text


# Documents


async def test_a_changed_template_shows_at_the_next_call(folder: Any) -> None:
    server: Any = MCPServer("shop")
    Apps(server).pages(folder(WORDS)).view("page.html", "say")(lambda: {"word": "x"})
    assert (await result_of(server, "say"))["structuredContent"]["html"] == "<p>x</p>"
    folder({"page.html": "<b>{{ word }}</b> changed"})
    assert (await result_of(server, "say"))["structuredContent"]["html"] == "<b>x</b> changed"


async def test_while_dev_watches_the_document_has_the_changed_template_of_what_is_shown(
    folder: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FANLIGHT_LINES", str(folder({})))
    server: Any = MCPServer("shop")
    Apps(server).pages(folder(WORDS)).view("page.html", "say")(lambda word: {"word": word})
    async with in_memory(server, "2025-11-25", UI) as client:
        shown = (await client.call("say", word="</script>"))["structuredContent"]["id"]
        folder({"page.html": "<b>{{ word }}</b>"})
        document = (await client.read("ui://shop/page"))["text"]
        assert f"{shown}&quot;: &quot;&lt;b&gt;&amp;lt;/script&amp;gt;&lt;/b&gt;" in document


async def test_the_head_is_inlined_into_every_document(folder: Any) -> None:
    files = {
        "head.html": '<link rel="stylesheet" href="a.css"><script>let own = 1;</script>',
        "a.css": "p { color: red }",
    }
    server: Any = MCPServer("shop")
    pages = Apps(server).pages(folder({**WORDS, **files}), head="head.html")
    pages.view("page.html", "say")(lambda: {"word": "x"})
    async with in_memory(server, "2025-11-25", UI) as client:
        document = (await client.read("ui://shop/page"))["text"]
    assert "p { color: red }" in document
    assert "let own = 1;" in document
    assert document.count("Symbol.for(") >= 1


async def test_tools_that_show_the_same_template_share_a_view(folder: Any) -> None:
    server: Any = MCPServer("shop")
    pages = Apps(server).pages(folder(WORDS))
    pages.view("page.html", "one", prefers_border=False)(lambda: {"word": "x"})
    pages.view("page.html", "two")(lambda: {"word": "x"})
    with pytest.raises(RegistrationError, match="already has its options"):
        pages.view("page.html", "three", prefers_border=True)(lambda: {"word": "x"})
    async with in_memory(server, "2025-11-25", UI) as client:
        resources = await client.resources()
        assert [entry["_meta"]["ui"]["prefersBorder"] for entry in resources.values()] == [False]


async def test_the_runtime_adds_less_than_3_kb_to_the_compressed_document(folder: Any) -> None:
    server: Any = MCPServer("shop")
    Apps(server).pages(folder(WORDS)).view("page.html", "say")(lambda: {"word": "x"})
    async with in_memory(server, "2025-11-25", UI) as client:
        document = (await client.read("ui://shop/page"))["text"]
    sdk = browser.view_sdk()
    alone, together = (len(gzip.compress(text.encode(), 9)) for text in (sdk, sdk + _script(False)))
    assert together - alone <= 3_000
    assert len(gzip.compress(document.encode(), 9)) <= 12_000
