"""Bundled Views run in a real browser under the default CSP of the standard, and request nothing else."""

import struct
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser

from fanlight.protocol.csp import Csp
from fanlight.server.bundle import bundle_file

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[3]
# CSP-02, word for word.
DEFAULT_CSP = (
    "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; media-src 'self' data:; connect-src 'none'"
)
PAGE = "<!doctype html><link rel=icon href=data:,>"  # or the browser asks the server for one
WATCH = """
window.violations = [];
addEventListener("securitypolicyviolation", (e) => violations.push(`${e.violatedDirective} ${e.blockedURI}`));
"""


@contextmanager
def _served(document: str) -> Iterator[tuple[str, list[str]]]:
    """Serve one document with the default CSP, and yield its URL and the list of requested paths."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            found = self.path == "/view"
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Security-Policy", DEFAULT_CSP)
            self.end_headers()
            self.wfile.write(document.encode() if found else b"")

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/view", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


async def _open(browser: Browser, document: str, expression: str) -> tuple[Any, list[str]]:
    """Open a document, wait for `window.done`, and return the value of an expression and all errors."""
    problems: list[str] = []
    with _served(document) as (url, asked):
        page = await browser.new_page()
        await page.add_init_script(WATCH)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
        page.on("requestfailed", lambda request: problems.append(f"failed {request.url[:80]}"))
        await page.goto(url)
        # Not wait_for_function, which calls eval in the page: the policy forbids that.
        await page.evaluate(
            "new Promise((done) => { const look = () => (window.done ? done() : setTimeout(look, 10)); look(); })"
        )
        problems += await page.evaluate("violations")
        result = await page.evaluate(expression)
        await page.close()
    return result, problems + [f"asked for {path}" for path in asked if path != "/view"]


async def _run(browser: Browser, folder: Path, expression: str) -> Any:
    """Bundle view.html, open it, and return the value of an expression; there must be no errors."""
    result, problems = await _open(browser, bundle_file(folder / "view.html", Csp()).html, expression)
    assert problems == []
    return result


def _png(width: int, height: int) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + b"\xff\0\0" * width for _ in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def _font() -> bytes:
    """Return the smallest TrueType font that browsers accept, with an empty glyph for A that is 5 em wide."""
    tables = {
        b"OS/2": struct.pack(
            ">HhHHH11h10s4I4s3H3h2H", 0, 5000, 400, 5, *[0] * 12, b"", *[0] * 4, b"", *[65] * 3, *[0] * 5
        ),
        b"cmap": struct.pack(">HHHHI", 0, 1, 3, 1, 12)
        + struct.pack(">12H2h2H", 4, 32, 0, 4, 4, 1, 0, 65, 0xFFFF, 0, 65, 0xFFFF, 1 - 65, 1, 0, 0),
        b"glyf": b"\0",
        b"head": struct.pack(
            ">4I2H2q4h2H3h", 0x10000, 0, 0, 0x5F0F3CF5, 0, 1000, 0, 0, 0, 0, 1000, 1000, 0, 8, 2, 0, 0
        ),
        b"hhea": struct.pack(">I3hH11hH", 0x10000, 800, -200, 0, 5000, *[0] * 11, 2),
        b"hmtx": struct.pack(">HhHh", 1000, 0, 5000, 0),
        b"loca": struct.pack(">3H", 0, 0, 0),
        b"maxp": struct.pack(">I14H", 0x10000, 2, 0, 0, 0, 0, 2, *[0] * 8),
        b"name": struct.pack(">3H", 0, 0, 6),
        b"post": struct.pack(">2I2h5I", 0x30000, *[0] * 8),
    }
    records, data = b"", b""
    for tag, table in tables.items():
        padded = table + b"\0" * (-len(table) % 4)
        checksum = sum(struct.unpack(f">{len(padded) // 4}I", padded)) & 0xFFFFFFFF
        records += struct.pack(">4s3I", tag, checksum, 12 + 16 * len(tables) + len(data), len(table))
        data += padded
    return struct.pack(">I4H", 0x10000, len(tables), 128, 3, 32) + records + data


async def test_a_folder_of_files_runs_as_one_document_under_the_default_csp(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "styles").mkdir()
    (tmp_path / "a.png").write_bytes(_png(7, 5))
    (tmp_path / "a.ttf").write_bytes(_font())
    (tmp_path / "styles" / "main.css").write_text("""
        @import "theme.css" screen;
        @import "no.css" print;
        @font-face { font-family: "Wide One"; src: local("no such font"), url("../a.ttf") format("truetype") }
        #letter { font: 10px "Wide One"; background: url(../a.png) }
    """)
    (tmp_path / "styles" / "theme.css").write_text("@import 'base.css' layer(base); p { color: rgb(1, 2, 3) }")
    (tmp_path / "styles" / "base.css").write_text("p { color: red; margin-top: 3px")
    (tmp_path / "styles" / "no.css").write_text("p { color: blue !important }")
    (tmp_path / "classic.js").write_text("var order = ['classic']; window.close = '</script><!--';")
    (tmp_path / "deferred.js").write_text("order.push('deferred', document.querySelector('#last') !== null)")
    (tmp_path / "app.js").write_text("""
        import { App } from "@modelcontextprotocol/ext-apps";
        order.push("module", typeof App, document.readyState);
        await document.fonts.ready;
        window.done = true;
    """)
    (tmp_path / "view.html").write_text("""<!doctype html>
        <html lang=en>
        <head>
          <title>Folder</title>
          <link rel="icon" href="a.png">
          <link rel="preload" as="image" href="a.png">
          <link rel="stylesheet" href="styles/main.css">
          <script src="classic.js"></script>
          <script defer src="deferred.js"></script>
          <script type="module" src="app.js"></script>
        </head>
        <body>
          <p><span id="letter">A</span><img id="image" src="a.png" srcset="a.png 1x"></p>
          <svg width="20" height="20"><image id="inner" href="a.png" width="9" /></svg>
          <div id="attribute" style="background: url('a.png')"></div>
          <i id="last"></i>
        </body>
        </html>""")

    found = await _run(
        browser,
        tmp_path,
        """() => {
            const style = (id) => getComputedStyle(document.querySelector(id));
            return {
                order, close: window.close,
                image: [document.querySelector("#image").naturalWidth, document.querySelector("#image").naturalHeight],
                color: style("p").color, margin: style("p").marginTop,
                font: document.fonts.check('10px "Wide One"'),
                width: document.querySelector("#letter").getBoundingClientRect().width,
                backgrounds: ["#letter", "#attribute"].map((id) => style(id).backgroundImage.slice(0, 20)),
            };
        }""",
    )

    assert found == {
        "order": ["classic", "deferred", True, "module", "function", "interactive"],
        "close": "</script><!--",
        "image": [7, 5],
        "color": "rgb(1, 2, 3)",
        "margin": "3px",
        "font": True,
        "width": 50,
        "backgrounds": ['url("data:image/png;', 'url("data:image/png;'],
    }


async def test_modules_bundled_by_esbuild_run_and_share_the_sdk(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "node_modules").symlink_to(ROOT / "node_modules", target_is_directory=True)
    (tmp_path / "a.ts").write_text("""
        import { b } from "./b.js";
        import * as sdk from "fanlight";
        const text: string = b("</script>");
        Object.assign(window, { text, first: sdk.App });
    """)
    (tmp_path / "b.js").write_text("import ms from 'ms'; export const b = (x) => `${ms('2 minutes')}${x}`;")
    (tmp_path / "view.html").write_text(
        PAGE
        + """<script type="module" src="a.ts"></script>
        <script type="module">
          const { App } = await import("fanlight");
          const { b } = await import("./b.js");
          window.second = App;
          window.done = b("!");
        </script>"""
    )

    found = await _run(browser, tmp_path, "({ text, same: first === second, done })")

    assert found == {"text": "120000</script>", "same": True, "done": "120000!"}


async def test_a_view_with_the_layout_of_vite_runs_unchanged(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "node_modules").symlink_to(ROOT / "node_modules", target_is_directory=True)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.png").write_bytes(_png(7, 5))
    (tmp_path / "src" / "a.ttf").write_bytes(_font())
    (tmp_path / "src" / "global.css").write_text("""
        @font-face { font-family: Wide; src: url("./a.ttf") }
        #letter { font: 10px Wide; background: url(./a.png); color: red }
    """)
    (tmp_path / "src" / "mcp-app.css").write_text("#letter { color: rgb(1, 2, 3) }")
    (tmp_path / "src" / "mcp-app.ts").write_text("""
        import { App, type McpUiHostContext } from "@modelcontextprotocol/ext-apps";
        import "./global.css";
        import "./mcp-app.css";
        const letter = document.getElementById("letter")!;
        document.fonts.ready.then(() => Object.assign(window, { done: [
            typeof App, getComputedStyle(letter).color, letter.getBoundingClientRect().width,
            getComputedStyle(letter).backgroundImage.slice(0, 20),
        ] }));
    """)
    (tmp_path / "view.html").write_text(
        f'{PAGE}<span id="letter">A</span><script type="module" src="/src/mcp-app.ts"></script>'
    )

    done = await _run(browser, tmp_path, "done")

    assert done == ["function", "rgb(1, 2, 3)", 50, 'url("data:image/png;']


async def test_end_tags_in_a_script_are_escaped_without_changing_its_behaviour(
    browser: Browser, tmp_path: Path
) -> None:
    script = """
        const script = 1, b = { c: 2 };
        let n = 1;
        window.done = [
            "</script>", '<!--<script>', `</SCRIPT ${"<!--"}`, /<!--/.test("<!--"), 5</script/.source, n<!--n,
        ];
        // </script> <!-- <script>
    """
    (tmp_path / "a.js").write_text(script)
    (tmp_path / "view.html").write_text(f"{PAGE}<script type=module src=a.js></script>")

    done = await _run(browser, tmp_path, "done")

    assert done == ["</script>", "<!--<script>", "</SCRIPT <!--", True, False, False]


async def test_captions_of_a_video_are_loaded_from_the_document(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "a.vtt").write_text("WEBVTT\n\n00:00.000 --> 00:01.000\nHello\n")
    (tmp_path / "view.html").write_text(
        PAGE + '<video><track id="track" default src="a.vtt" onload="window.done = true"></video>'
    )

    assert await _run(browser, tmp_path, "track.track.cues[0].text") == "Hello"


async def test_the_default_csp_blocks_the_forms_that_the_bundler_avoids(browser: Browser) -> None:
    document = (
        f"{PAGE}<style>@font-face {{ font-family: x; src: url(data:font/ttf;base64,AAAA) }} p {{ font: 9px x }}</style>"
        "<p>A<script src='data:text/javascript,1'></script><link rel=stylesheet href='data:text/css,'>"
        "<script>document.fonts.load('9px x').catch(() => {}).finally(() => { window.done = true })</script>"
    )

    violated, _ = await _open(browser, document, "violations")

    assert {each.split()[0] for each in violated} == {"font-src", "script-src-elem", "style-src-elem"}
