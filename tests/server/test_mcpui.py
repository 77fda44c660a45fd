"""fanlight.mcpui compared with the published packages, and its widgets in a real browser."""

import base64
import importlib
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from fastmcp import FastMCP
from mcp.server import MCPServer
from playwright.async_api import Browser, expect
from starlette.applications import Starlette
from starlette.responses import HTMLResponse
from starlette.routing import Route

from fanlight import Apps, RegistrationError
from fanlight.mcpui import (
    InvalidContentError,
    InvalidURIError,
    MCPUIServerError,
    UIActionResult,
    UIMetadataKey,
    UIResource,
    create_ui_resource,
    get_adapter_mime_type,
    ui_action_result_intent,
    ui_action_result_link,
    ui_action_result_notification,
    ui_action_result_prompt,
    ui_action_result_tool_call,
)
from fanlight.mcpui.utils import (
    create_mcp_tool_result_content,
    deserialize_ui_action_result,
    serialize_ui_action_result,
    serialize_ui_resource,
    wrap_html_with_communication,
)
from fanlight.protocol.extension import MIME_TYPE
from support.node import node
from support.shop import HIGH_LEVEL, Kind
from support.stage import DEFAULT_CSP, on_stage
from support.wire import NO_UI, UI, in_memory, serving

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[2]
kinds = pytest.mark.parametrize("kind", HIGH_LEVEL)

HTML = {"type": "rawHtml", "htmlString": "<h1>Grüße</h1>"}
URL = {"type": "externalUrl", "iframeUrl": "https://example.com/page?a=1&b=2"}
REACT = {"type": "remoteDom", "script": "root.append('hi')", "framework": "react"}
WEB = {"type": "remoteDom", "script": "root.append('hi')", "framework": "webcomponents"}

# Each differs from the ones before in the option that is under test.
OPTIONS: list[dict[str, Any]] = [
    {"content": HTML, "encoding": "text"},
    {"content": HTML, "encoding": "blob"},
    {"content": HTML, "encoding": "text", "uiMetadata": {"preferred-frame-size": ["800px", "600px"]}},
    {"content": HTML, "encoding": "text", "uiMetadata": {"initial-render-data": {"a": 1}}, "metadata": {"b": 2}},
    {
        "content": HTML,
        "encoding": "text",
        "uiMetadata": {"own": 1},
        "metadata": {"mcpui.dev/ui-own": 2, "x": 2},
        "resourceProps": {"name": "n", "title": "T", "description": "D", "_meta": {"x": 3}},
    },
    {
        "content": HTML,
        "encoding": "blob",
        "embeddedResourceProps": {"annotations": {"audience": ["user"], "priority": 0.5}, "_meta": {"y": 1}},
    },
]


def published(*calls: tuple[Any, ...]) -> list[dict[str, Any]]:
    """Run the published @mcp-ui/server."""
    script = ROOT / "tests" / "support" / "published_mcpui.js"
    done = subprocess.run(
        [node(), str(script)], input=json.dumps(calls), capture_output=True, text=True, check=True, timeout=60
    )
    answers: list[dict[str, Any]] = json.loads(done.stdout)
    return answers


@pytest.mark.process
def test_html_equals_that_of_version_6_or_with_legacy_that_of_version_5() -> None:
    all_options = [{"uri": "ui://a/b", **options} for options in OPTIONS]
    of_six = published(*((6, "createUIResource", options) for options in all_options))
    of_five = published(*((5, "createUIResource", options) for options in all_options))
    for options, six, five in zip(all_options, of_six, of_five, strict=True):
        assert create_ui_resource(options).to_dict() == six["value"]
        assert create_ui_resource({**options, "legacy": True}).to_dict() == five["value"]
    assert of_six[0]["value"]["resource"]["mimeType"] == MIME_TYPE
    assert of_five[0]["value"]["resource"]["mimeType"] == "text/html"


@pytest.mark.parametrize("content", [URL, REACT, WEB])
@pytest.mark.parametrize("encoding", ["text", "blob"])
@pytest.mark.process
def test_older_kinds_of_content_equal_those_of_version_5(content: dict[str, str], encoding: str) -> None:
    options = {"uri": "ui://a/b", "content": content, "encoding": encoding}
    (five,) = published((5, "createUIResource", options))
    assert create_ui_resource(options, legacy=True).to_dict() == five["value"]


def test_keywords_give_the_same_resource_as_a_dict() -> None:
    made = create_ui_resource(
        uri="ui://a/b",
        content=HTML,
        encoding="blob",
        ui_metadata={UIMetadataKey.PREFERRED_FRAME_SIZE: ["1px", "2px"]},
        metadata={"m": 1},
        resource_props={"title": "T"},
        embedded_resource_props={"annotations": {"audience": ["user"]}},
        adapters={"mcpApps": {"enabled": False}},
    )
    options = {
        "uri": "ui://a/b",
        "content": HTML,
        "encoding": "blob",
        "uiMetadata": {"preferred-frame-size": ["1px", "2px"]},
        "metadata": {"m": 1},
        "resourceProps": {"title": "T"},
        "embeddedResourceProps": {"annotations": {"audience": ["user"]}},
        "adapters": {"mcpApps": {"enabled": False}},
    }
    assert made == create_ui_resource(options)
    assert create_ui_resource(uri="ui://a/b", content=HTML) == create_ui_resource(
        {"uri": "ui://a/b", "content": HTML, "encoding": "text"}
    )


@pytest.mark.process
def test_an_adapter_has_the_mime_type_of_the_published_one() -> None:
    configs: list[dict[str, Any]] = [
        {"appsSdk": {"enabled": True}},
        {"appsSdk": {"enabled": True, "mimeType": "text/html+other"}},
        {"appsSdk": {"enabled": False}},
        {"mcpApps": {"enabled": True}},
        {},
    ]
    for version in (5, 6):
        answers = published(*((version, "getAdapterMimeType", config) for config in configs))
        assert [get_adapter_mime_type(config) for config in configs] == [answer.get("value") for answer in answers]
    for config in configs[:4]:
        options = {"uri": "ui://a/b", "content": HTML, "encoding": "text", "adapters": config}
        (six,) = published((6, "createUIResource", options))
        ours = create_ui_resource(options).to_dict()["resource"]
        assert ours["mimeType"] == six["value"]["resource"]["mimeType"]
        assert ("<script>" in ours["text"]) == ("<script>" in six["value"]["resource"]["text"])
        assert ours["text"].endswith(HTML["htmlString"])


@pytest.mark.parametrize(
    ("html", "before", "after"),
    [
        ("<!doctype html><p>x", "<!doctype html>", "<p>x"),
        ("<!doctype html><html lang=en><p>x", "<!doctype html><html lang=en>", "<p>x"),
        ("<html><HEAD class='a>b'><p>", "<html><HEAD class='a>b'>", "<p>"),
        ("<!-- <head> --><html><head><p>", "<!-- <head> --><html><head>", "<p>"),
        ("<p>$& $1", "", "<p>$& $1"),
    ],
)
def test_an_adapter_comes_before_every_script_of_the_widget(html: str, before: str, after: str) -> None:
    content = {"type": "rawHtml", "htmlString": html}
    text = create_ui_resource(uri="ui://a/b", content=content, adapters={"mcpApps": {"enabled": True}}).to_dict()
    assert text["resource"]["text"].startswith(f"{before}<script>globalThis[")
    assert text["resource"]["text"].endswith(f"</script>{after}")


@pytest.mark.process
def test_a_page_on_the_web_is_framed_and_its_origin_declared() -> None:
    resource = create_ui_resource({"uri": "ui://a/b", "content": URL, "encoding": "text"}).to_dict()["resource"]
    assert resource["mimeType"] == MIME_TYPE
    assert resource["_meta"] == {"ui": {"csp": {"frameDomains": ["https://example.com"]}}}
    assert '<iframe id="page" src="https://example.com/page?a=1&amp;b=2"' in resource["text"]
    (six,) = published((6, "createUIResource", {"uri": "ui://a/b", "content": URL, "encoding": "text"}))
    # The published one types the address itself as HTML, so that hosts show it as a line of text.
    assert six["value"]["resource"]["text"] == URL["iframeUrl"] != resource["text"]


def test_a_page_with_render_data_gets_the_parameter_to_wait_for_it() -> None:
    for url, waiting in (
        ("https://a.com/p?x=1+2&y=%20#top", "https://a.com/p?x=1+2&amp;y=%20&amp;waitForRenderData=true#top"),
        ("https://a.com", "https://a.com?waitForRenderData=true"),
    ):
        content = {"type": "externalUrl", "iframeUrl": url}
        made = create_ui_resource(uri="ui://a/b", content=content, ui_metadata={"initial-render-data": {"a": 1}})
        assert f'src="{waiting}"' in made.to_dict()["resource"]["text"]


def test_a_framed_page_keeps_the_other_declarations_of_its_server() -> None:
    ui = {"csp": {"frameDomains": ["https://b.com"], "connectDomains": ["https://c.com"]}, "prefersBorder": True}
    made = create_ui_resource(uri="ui://a/b", content=URL, metadata={"ui": ui}).to_dict()
    assert made["resource"]["_meta"]["ui"] == {
        "csp": {"frameDomains": ["https://example.com", "https://b.com"], "connectDomains": ["https://c.com"]},
        "prefersBorder": True,
    }


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "data:text/html,hi",
        "file:///etc/passwd",
        "//example.com",
        "example.com",
        "https://",
        "https://a.com;script-src *",
        "https://a.com b.com/",
        "https://me:secret@example.com/",
        "https://*.example.com/",
        "https://exa\nmple.com/",
        'https://"onload="x.com/',
    ],
)
@pytest.mark.parametrize("legacy", [False, True])
def test_an_invalid_address_of_a_page_raises(url: str, legacy: bool) -> None:
    with pytest.raises(InvalidContentError, match="iframeUrl"):
        create_ui_resource(uri="ui://a/b", content={"type": "externalUrl", "iframeUrl": url}, legacy=legacy)


def test_an_address_cannot_end_its_attribute() -> None:
    url = 'https://example.com/"><script>alert(1)</script>'
    made = create_ui_resource(uri="ui://a/b", content={"type": "externalUrl", "iframeUrl": url}).to_dict()
    assert "<script>alert" not in made["resource"]["text"]
    assert "&quot;&gt;&lt;script&gt;alert(1)" in made["resource"]["text"]


def test_render_data_cannot_end_the_script() -> None:
    data = {"initial-render-data": {"a": "</script><script>alert(1)</script>"}}
    for content, adapters in ((URL, None), (HTML, {"mcpApps": {"enabled": True}})):
        made = create_ui_resource(uri="ui://a/b", content=content, ui_metadata=data, adapters=adapters).to_dict()
        assert "<script>alert" not in made["resource"]["text"]
        assert made["resource"]["text"].count("</script>") == 1


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"uri": "http://a", "content": HTML}, InvalidURIError, "not a ui:// URI"),
        ({"content": HTML}, InvalidURIError, "not a ui:// URI"),
        ({"uri": "ui://a/b"}, InvalidContentError, "content.type"),
        ({"uri": "ui://a/b", "content": "<p>"}, InvalidContentError, "content"),
        ({"uri": "ui://a/b", "content": {"type": "html"}}, InvalidContentError, "rawHtml"),
        ({"uri": "ui://a/b", "content": {"type": "rawHtml", "htmlString": ""}}, InvalidContentError, "htmlString"),
        ({"uri": "ui://a/b", "content": {**REACT, "framework": "vue"}}, InvalidContentError, "framework"),
        ({"uri": "ui://a/b", "content": HTML, "encoding": "gzip"}, InvalidContentError, "encoding"),
        ({"uri": "ui://a/b", "content": HTML, "colour": "red"}, InvalidContentError, "colour"),
        ({"uri": "ui://a/b", "content": HTML, "adapters": {"other": {}}}, InvalidContentError, "adapter"),
        ({"uri": "ui://a/b", "content": HTML, "resourceProps": {"text": "x"}}, InvalidContentError, "writes itself"),
        (
            {
                "uri": "ui://a/b",
                "content": HTML,
                "adapters": {"appsSdk": {"enabled": True}, "mcpApps": {"enabled": True}},
            },
            InvalidContentError,
            "Both adapters",
        ),
        (
            {"uri": "ui://a/b", "content": URL, "uiMetadata": {"preferred-frame-size": ["1px;}", "2px"]}},
            InvalidContentError,
            "CSS length",
        ),
    ],
)
def test_invalid_options_raise(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        create_ui_resource(options)
    assert issubclass(error, MCPUIServerError)
    assert issubclass(error, RegistrationError)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"legacy": "no"}, "legacy is 'no', expected True or False"),
        ({"embeddedResourceProps": {"bogus": 1}}, "It takes annotations and _meta"),
        (
            {"embeddedResourceProps": {"annotations": {"audience": "me"}}},
            "embeddedResourceProps cannot be used: audience",
        ),
        ({"uiMetadata": {"anything": object()}}, "cannot be written as JSON"),
        ({"adapters": {"mcpApps": {"enabled": "yes"}}}, "enabled is 'yes', expected True or False"),
        ({"adapters": {"mcpApps": {"config": {"timeout": "soon"}}}}, "timeout is 'soon', expected milliseconds"),
        ({"adapters": {"mcpApps": {"config": {"intentHandling": "x"}}}}, "intentHandling is 'x', expected"),
        ({"adapters": {"mcpApps": {"config": 5}}}, "config is 5, not a dict"),
    ],
)
def test_an_option_of_the_wrong_type_raises_with_its_name(option: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidContentError, match=message):
        create_ui_resource({"uri": "ui://a/b", "content": HTML, **option})


@pytest.mark.process
def test_actions_equal_the_published_ones() -> None:
    ours: list[UIActionResult] = [
        ui_action_result_tool_call("t", {"a": 1}),
        ui_action_result_prompt("p"),
        ui_action_result_link("https://example.com"),
        ui_action_result_intent("i", {"b": 2}),
        ui_action_result_notification("n"),
    ]
    theirs = published(
        (6, "uiActionResultToolCall", "t", {"a": 1}),
        (6, "uiActionResultPrompt", "p"),
        (6, "uiActionResultLink", "https://example.com"),
        (6, "uiActionResultIntent", "i", {"b": 2}),
        (6, "uiActionResultNotification", "n"),
    )
    assert [action.model_dump(exclude_none=True) for action in ours] == [answer["value"] for answer in theirs]
    for action in ours:
        assert deserialize_ui_action_result(serialize_ui_action_result(action)) == action
    for wrong in ("{", "[]", '{"type": "tool"}', '{"type": "other", "payload": {}}'):
        with pytest.raises(ValueError, match=r"JSON|action"):
            deserialize_ui_action_result(wrong)


def test_resources_are_serialized_in_their_wire_form() -> None:
    resource = create_ui_resource(uri="ui://a/b", content=HTML, metadata={"m": 1})
    for written in (resource.to_dict(), serialize_ui_resource(resource), create_mcp_tool_result_content(resource)):
        assert written == {
            "type": "resource",
            "resource": {"uri": "ui://a/b", "mimeType": MIME_TYPE, "text": HTML["htmlString"], "_meta": {"m": 1}},
        }


# What `mcp_ui_server` has, by its modules: servers import from each of them.
NAMES = {
    "": (
        "URI MimeType ResourceContentPayload CreateUIResourceOptions UIActionType UIActionResult UIResource "
        "UIActionResultToolCall UIActionResultPrompt UIActionResultLink UIActionResultIntent "
        "UIActionResultNotification UIMetadataKey"
    ),
    ".core": (
        "UIResource create_ui_resource ui_action_result_tool_call ui_action_result_prompt ui_action_result_link "
        "ui_action_result_intent ui_action_result_notification"
    ),
    ".types": "UI_METADATA_PREFIX UIMetadataKey RawHtmlPayload ExternalUrlPayload RemoteDomPayload UIActionResult",
    ".utils": "validate_uri ReservedUrlParams InternalMessageType create_iframe_communication_script",
    ".exceptions": "MCPUIServerError InvalidURIError InvalidContentError EncodingError",
}


@pytest.mark.parametrize("module", NAMES)
def test_every_name_of_mcp_ui_server_can_be_imported_from_the_same_module(module: str) -> None:
    found = importlib.import_module(f"fanlight.mcpui{module}")
    assert [name for name in NAMES[module].split() if not hasattr(found, name)] == []


# In a server


def make(kind: Kind, **options: Any) -> tuple[Any, Apps]:
    server: Any = MCPServer("shop") if kind == "MCPServer" else FastMCP("shop")
    return server, Apps(server, **options)


@kinds
async def test_a_tool_returns_a_resource_in_its_result(kind: Kind) -> None:
    server: Any = MCPServer("shop") if kind == "MCPServer" else FastMCP("shop")

    @server.tool()  # type: ignore[untyped-decorator]
    def show() -> list[UIResource]:
        return [
            create_ui_resource({"uri": "ui://shop/cart", "content": HTML, "encoding": "text", "metadata": {"m": 1}})
        ]

    async with in_memory(server, "2025-11-25", NO_UI) as client:
        (block,) = (await client.call("show"))["content"]
    assert block["type"] == "resource"
    assert block["resource"] == {
        "uri": "ui://shop/cart",
        "mimeType": MIME_TYPE,
        "text": HTML["htmlString"],
        "_meta": {"m": 1},
    }


@kinds
@pytest.mark.parametrize("encoding", ["text", "blob"])
async def test_apps_takes_a_resource_wherever_it_takes_a_view(kind: Kind, encoding: str) -> None:
    server, apps = make(kind)
    cart = create_ui_resource(
        {
            "uri": "ui://shop/cart",
            "content": HTML,
            "encoding": encoding,
            "uiMetadata": {"preferred-frame-size": ["1px", "2px"]},
            "metadata": {"ui": {"csp": {"connectDomains": ["https://api.example.com"]}, "permissions": {"camera": {}}}},
            "resourceProps": {"title": "Cart", "description": "What is in it."},
        }
    )
    page = create_ui_resource(uri="ui://shop/page", content=URL, resource_props={"name": "page"})
    assert apps.view(page).uri == "ui://shop/page"

    @apps.tool(view=cart)
    def show() -> str:
        return "shown"

    @apps.tool(view=cart, visibility=["app"])
    def pay() -> str:
        return "paid"

    async with in_memory(server, "2025-11-25", UI) as client:
        tools = await client.tools()
        assert tools["show"]["_meta"]["ui"] == {"resourceUri": "ui://shop/cart"}
        assert tools["pay"]["_meta"]["ui"] == {"resourceUri": "ui://shop/cart", "visibility": ["app"]}
        entry = (await client.resources())["ui://shop/cart"]
        assert (entry["title"], entry["description"]) == ("Cart", "What is in it.")
        read = await client.read("ui://shop/cart")
        text = base64.b64decode(read["blob"]).decode() if encoding == "blob" else read["text"]
        assert text == f"<!doctype html>\n{HTML['htmlString']}"
        for wire in (entry, read):
            assert wire["mimeType"] == MIME_TYPE
            assert wire["_meta"]["mcpui.dev/ui-preferred-frame-size"] == ["1px", "2px"]
            assert wire["_meta"]["ui"] == {
                "csp": {"connectDomains": ["https://api.example.com"]},
                "permissions": {"camera": {}},
            }
        framed = await client.read("ui://shop/page")
        assert framed["_meta"]["ui"]["csp"] == {"frameDomains": ["https://example.com"]}
        assert "<iframe" in framed["text"]
    async with in_memory(server, "2025-11-25", NO_UI) as client:
        assert set(await client.tools()) == {"show"}
        assert await client.resources() == {}


@pytest.mark.parametrize("content", [URL, REACT])
def test_a_resource_that_is_not_html_cannot_be_a_view(content: dict[str, str]) -> None:
    _, apps = make("MCPServer")
    resource = create_ui_resource(uri="ui://a/b", content=content, legacy=True)
    with pytest.raises(RegistrationError, match="only HTML can be a View"):
        apps.view(resource)
    with pytest.raises(RegistrationError, match="only HTML can be a View"):
        apps.tool(view=resource)


@pytest.mark.parametrize(
    "ui",
    [{"csp": {"connectDomains": ["*"]}}, {"csp": []}, {"permissions": {"everything": {}}}, "yes", {"domain": "a b"}],
)
def test_invalid_declarations_of_a_resource_raise(ui: object) -> None:
    _, apps = make("MCPServer")
    with pytest.raises(RegistrationError):
        apps.view(create_ui_resource(uri="ui://a/b", content=HTML, metadata={"ui": ui}))


# In a browser

WIDGET = """<button id="go">go</button><p id="out"></p><p id="data"></p>
<script>
const out = document.getElementById("out");
const say = (message) => window.parent.postMessage(message, "*");
window.addEventListener("message", ({ data }) => {
  if (data.type === "ui-message-received") out.textContent += `got ${data.payload.messageId} `;
  if (data.type === "ui-message-response") {
    const { messageId, response, error } = data.payload;
    const outcome = error ? `failed ${error.message}` : `done ${JSON.stringify(response)}`;
    out.textContent += `${messageId} ${outcome} `;
  }
  if (data.type === "ui-lifecycle-iframe-render-data") {
    document.getElementById("data").textContent = JSON.stringify(data.payload.renderData);
  }
});
document.getElementById("go").onclick = () => {
  say({ type: "tool", messageId: "1", payload: { toolName: "add", params: { a: 20, b: 22 } } });
  say({ type: "prompt", payload: { prompt: "Hello" } });
  say({ type: "link", payload: { url: "https://example.com/" } });
  say({ type: "intent", payload: { intent: "buy", params: { id: 3 } } });
  say({ type: "notify", messageId: "3", payload: { message: "Note" } });
  say({ type: "ui-request-data", messageId: "2", payload: {} });
};
say({ type: "ui-lifecycle-iframe-ready" });
say({ type: "ui-size-change", payload: { width: 300, height: 321 } });
</script>"""


def adder() -> MCPServer[Any]:
    server: MCPServer[Any] = MCPServer("sum")
    apps = Apps(server)

    @apps.tool()
    def add(a: int, b: int) -> dict[str, int]:
        return {"sum": a + b}

    return server


async def check_actions(stage: Any, widget: Any) -> None:
    """Press the button of the widget, and assert that its actions arrive as messages of the standard."""
    await expect(widget.locator("#data")).to_contain_text('"theme":"light"')
    await expect(widget.locator("#data")).to_contain_text('"first":true')
    await stage.run("add", {"a": 1, "b": 2})
    await expect(widget.locator("#data")).to_contain_text('"toolInput":{"a":1,"b":2}')
    await expect(widget.locator("#data")).to_contain_text('"sum":3')
    await widget.get_by_role("button").click()
    await expect(widget.locator("#out")).to_contain_text("got 1")
    await expect(widget.locator("#out")).to_contain_text('"sum":42')
    await expect(widget.locator("#out")).to_contain_text("2 failed ui-request-data has no equivalent")
    prompt, intent = await stage.sent("ui/message", 2)
    assert prompt == {"role": "user", "content": [{"type": "text", "text": "Hello"}]}
    assert intent["content"] == [{"type": "text", "text": 'buy: {"id":3}'}]
    assert await stage.sent("ui/open-link", 1) == [{"url": "https://example.com/"}]
    await expect(widget.locator("#out")).to_contain_text("3 done {}")
    (call,) = await stage.sent("tools/call", 1)
    assert (call["name"], call["arguments"]) == ("add", {"a": 20, "b": 22})
    assert stage.problems == []


async def test_a_widget_with_the_adapter_runs_in_an_mcp_apps_host(browser: Browser) -> None:
    resource = create_ui_resource(
        uri="ui://a/b",
        content={"type": "rawHtml", "htmlString": f"<!doctype html><title>w</title>{WIDGET}"},
        ui_metadata={"initial-render-data": {"first": True}},
        adapters={"mcpApps": {"enabled": True}},
    )
    html = resource.to_dict()["resource"]["text"]
    async with in_memory(adder(), "2025-11-25", UI) as client, on_stage(browser, html, client) as stage:
        await check_actions(stage, stage.view)
        sizes = await stage.page.evaluate(
            "messages.filter((m) => m.method === 'ui/notifications/size-changed').map((m) => m.params)"
        )
        assert {"width": 300, "height": 321} in sizes


async def test_a_framed_page_written_for_mcp_ui_runs_in_an_mcp_apps_host(browser: Browser) -> None:
    async def page(request: object) -> HTMLResponse:
        return HTMLResponse(f"<!doctype html><title>w</title>{WIDGET}")

    with serving(Starlette(routes=[Route("/page", page)])) as address:
        resource = create_ui_resource(
            uri="ui://a/b",
            content={"type": "externalUrl", "iframeUrl": f"{address}/page"},
            ui_metadata={"initial-render-data": {"first": True}, "preferred-frame-size": ["100%", 250]},
        )
        made = resource.to_dict()["resource"]
        csp = DEFAULT_CSP.replace("frame-src 'none'", f"frame-src {address}")
        assert made["_meta"]["ui"]["csp"]["frameDomains"] == [address]
        async with (
            in_memory(adder(), "2025-11-25", UI) as client,
            on_stage(browser, made["text"], client, csp=csp) as stage,
        ):
            widget = stage.view.frame_locator("#page")
            # Messages count only if they come from the page in the frame, which check_actions asserts.
            stranger = {"type": "prompt", "payload": {"prompt": "I am somebody else"}}
            await stage.page.frames[1].evaluate("(message) => postMessage(message, '*')", stranger)
            stage.problems.remove(f"request: {address}/page?waitForRenderData=true")
            await check_actions(stage, widget)
            await expect(stage.view.locator("#page")).to_have_css("height", "321px")


async def test_html_with_communication_can_post_messages(browser: Browser) -> None:
    html = wrap_html_with_communication("<!doctype html><title>w</title><p>hi")
    assert wrap_html_with_communication(html, include_script=False) == html
    page = await browser.new_page()
    await page.set_content(html)
    received = await page.evaluate(
        "new Promise((done) => { mcpUI.onMessage(done); mcpUI.postMessage({ type: 'prompt', payload: {} }); })"
    )
    assert received == {"type": "prompt", "payload": {}}
