"""Views of other dialects in a real browser, as their makers publish or describe them."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from playwright.async_api import Browser, Frame, Page, expect

from fanlight.host import Host, Policy
from support.mcpui import embedding, made
from support.program import Program, program_of, view_of
from support.stage import chromium, until
from support.wire import serving

pytestmark = pytest.mark.anyio

PACKAGES = ("mcp-ui-server-5", "mcp-ui-server-6")
ALLOW = dict.fromkeys(("tools", "links", "messages"), "allow")

# All that mcp-ui's documentation says a document can say, and a log of what it hears.
ACTING = """<h1>Acting</h1><ol id="log"></ol><script>
const log = (words) => document.getElementById("log").append(
  Object.assign(document.createElement("li"), {textContent: words}));
const say = (message) => window.parent.postMessage(message, "*");
let rendered = {};
window.addEventListener("message", ({data}) => {
  if (data.type === "ui-lifecycle-iframe-render-data") rendered = data.payload.renderData;
  if (data.type === "ui-message-received") log(`received ${data.messageId ?? data.payload?.messageId}`);
  if (data.type === "ui-message-response") {
    const {response, error} = data.payload;
    log(`response ${data.messageId ?? data.payload.messageId} ${JSON.stringify(error ?? response)}`);
  }
});
say({type: "ui-lifecycle-iframe-ready"});
</script>"""


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with chromium() as launched:
        yield launched


class Heard:
    """What a host's program and page were asked for."""

    def __init__(self, host: Host) -> None:
        self.messages: list[str] = []
        host.on_message(lambda conversation, role, content: self.messages.append(content[0]["text"]))

    async def links(self, page: Page) -> None:
        await page.evaluate(
            """() => { window.links = []; addEventListener("mcp-link", (event) => {
              event.preventDefault(); links.push(event.detail.url); }); }"""
        )


def raw_html(html: str, adapter: str | None, **more: Any) -> dict[str, Any]:
    content = {"type": "rawHtml", "htmlString": html}
    options = {"uri": "ui://made/view", "content": content, "encoding": "text", **more}
    return {**options, "adapters": {adapter: {"enabled": True}}} if adapter else options


@pytest.mark.parametrize("encoding", ["text", "blob"])
@pytest.mark.parametrize("adapter", [None, "mcpApps", "appsSdk"])
@pytest.mark.parametrize("package", PACKAGES)
async def test_raw_html_of_the_published_package_is_shown_and_its_actions_arrive(
    package: str, adapter: str | None, encoding: str, browser: Browser
) -> None:
    (resource,) = made(package, raw_html(ACTING, adapter, encoding=encoding))
    assert resource is not None
    host = Host({"made": embedding("made", show=resource)}, policy=Policy(ALLOW))
    heard = Heard(host)
    with program_of(host) as program:
        async with program.shown(browser, "made", "show", {}) as (page, problems):
            view = await view_of(page)
            await expect(view.get_by_role("heading")).to_have_text("Acting")
            await heard.links(page)

            async def acted(type: str, payload: dict[str, Any], answer: str) -> None:
                await view.evaluate("(message) => say(message)", {"type": type, "messageId": type, "payload": payload})
                await expect(view.locator("li", has_text=f"received {type}")).to_have_count(1)
                await expect(view.locator("li", has_text=f"response {type} ")).to_contain_text(answer)

            await acted("tool", {"toolName": "look", "params": {"at": "it"}}, "looked at it")
            await acted("prompt", {"prompt": "Tell me more"}, "")
            await acted("intent", {"intent": "buy", "params": {"id": 7}}, "")
            assert heard.messages[0] == "Tell me more"
            assert "buy" in heard.messages[1]
            assert '{"id":7}' in heard.messages[1]
            if adapter != "appsSdk":  # which refuses links, and has no word for sizes
                await acted("link", {"url": "https://a.example/x"}, "{}")
                assert await page.evaluate("links") == ["https://a.example/x"]
                await view.evaluate("say({type: 'ui-size-change', payload: {height: 432}})")
                await expect(page.locator("mcp-app").locator("iframe")).to_have_css("height", "432px")
            await view.evaluate("say({type: 'notify', payload: {message: 'hello'}})")
            if adapter is None:
                await until(view, "rendered.toolOutput?.content[0].text === 'Here is show.'")
            assert problems == []
            assert {record.name for record in host.audit(kind="message")} <= STANDARD


STANDARD = {
    *("ui/initialize", "ui/notifications/initialized", "ui/notifications/size-changed", "ui/open-link", "ui/message"),
    *("tools/call", "notifications/message"),
}
