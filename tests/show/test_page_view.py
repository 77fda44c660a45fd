"""Rendered pages in Chromium, under the standard's default policy, with a real server behind them."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any

import anyio
import pytest
from mcp.server import MCPServer
from playwright.async_api import Browser, expect
from pydantic import Field

from fanlight import Apps
from fanlight.show import Pages, Refresh
from support.node import node_module
from support.stage import Stage, on_stage
from support.wire import UI, in_memory

pytestmark = pytest.mark.anyio

Shown = Callable[..., Any]
Setup = Callable[[Pages], object]


@pytest.fixture
def shown(browser: Browser, tmp_path: Path) -> Shown:
    """Show the template page.html. `setup` adds the actions, and `values` are the variables of the page."""

    @asynccontextmanager
    async def show(
        files: Mapping[str, str],
        setup: Setup = lambda pages: None,
        values: Callable[[], dict[str, Any]] = lambda: {},
        options: Mapping[str, Any] | None = None,
        **stage_options: Any,
    ) -> AsyncIterator[Stage]:
        for name, text in files.items():
            (tmp_path / name).write_text(text, encoding="utf-8")
        server: Any = MCPServer("shop")
        pages = Apps(server).pages(tmp_path, **(options or {}))
        pages.view("page.html", "show_page")(values)
        setup(pages)
        async with in_memory(server, "2025-11-25", UI) as client:
            html = (await client.read("ui://shop/page"))["text"]
            async with on_stage(browser, html, client, **{"width": 700, "height": 700} | stage_options) as stage:
                await stage.run("show_page", {})
                yield stage
                assert stage.problems == []

    return show


async def test_each_way_to_swap_puts_the_fragment_where_it_says(shown: Shown) -> None:
    modes = ["inner", "outer", "before", "after", "prepend", "append", "remove", "none"]
    page = """{% for mode in modes %}<div class="{{ mode }}"><p class="t">old</p>
      <button data-action="say" data-swap="{{ mode }}" data-target=".{{ mode }} .t">{{ mode }}</button></div>
      {% endfor %}
      <div id="same" data-target="#same"><button data-action="same">same</button></div>
      <button data-action="page">page</button>"""

    def setup(pages: Pages) -> None:
        pages.action("say.html", "say")(lambda: {})
        pages.action("same.html", "same")(lambda: {})
        pages.action("whole.html", "page")(lambda: {})

    files = {
        "page.html": page,
        "say.html": "<b>new</b>",
        "same.html": '<div id="same">again</div>',
        "whole.html": "all",
    }
    async with shown(files, setup, lambda: {"modes": modes}) as stage:
        view = stage.view
        for mode in modes:
            await view.get_by_role("button", name=mode, exact=True).click()
        await view.get_by_role("button", name="same").click()
        await expect(view.locator("#same")).to_have_text("again")
        found = {}
        for mode in modes:
            box = view.locator(f"div.{mode}")
            found[mode] = await box.evaluate("(box) => { box.querySelector('button').remove(); return box.innerHTML }")
        assert {mode: html.replace("\n", "").strip() for mode, html in found.items()} == {
            "inner": '<p class="t"><b>new</b></p>',
            "outer": "<b>new</b>",
            "before": '<b>new</b><p class="t">old</p>',
            "after": '<p class="t">old</p><b>new</b>',
            "prepend": '<p class="t"><b>new</b>old</p>',
            "append": '<p class="t">old<b>new</b></p>',
            "remove": "",
            "none": '<p class="t">old</p>',
        }
        # Without a target it is the whole page.
        await view.get_by_role("button", name="page").click()
        await expect(view.locator("main")).to_have_text("all")


async def test_a_value_with_an_override_of_direction_leaves_the_text_after_it_in_order(shown: Shown) -> None:
    page = """<p>{{ who }} pays 12 euros</p><pre>{{ lines }} pays 12 euros</pre>
      <form data-action="save"><input name="who" value="{{ who }}"><textarea name="note">{{ who }}</textarea>
      <button>Save</button></form>"""

    def setup(pages: Pages) -> None:
        @pages.action()
        def save(who: str, note: str) -> None: ...

    who = "\u202eEve"
    left = """(element) => ["pays", "euros"].map((word) => {
      const text = element.firstChild;
      const range = document.createRange();
      range.setStart(text, text.data.indexOf(word));
      range.setEnd(text, text.data.indexOf(word) + word.length);
      return range.getBoundingClientRect().left;
    })"""
    async with shown({"page.html": page}, setup, lambda: {"who": who, "lines": f"one\n{who}"}) as stage:
        for tag in ("p", "pre"):
            pays, euros = await stage.view.locator(f"#fanlight-page > {tag}").evaluate(left)
            assert pays < euros
        await stage.view.get_by_role("button", name="Save").click()
        (sent,) = await stage.sent("tools/call", 1)
        assert sent["arguments"] == {"who": who, "note": who}


async def test_fields_and_values_are_the_arguments(shown: Shown) -> None:
    page = """<div data-value-line-id="7" data-value-note="far">
      <form id="form" data-action="send" data-value-note="near" data-include="#more">
        <input name="text" value="a b"><input type="checkbox" name="on" checked><input type="checkbox" name="off">
        <input type="checkbox" name="tags" value="x" checked><input type="checkbox" name="tags" value="y" checked>
        <input type="radio" name="size" value="s"><input type="radio" name="size" value="l" checked>
        <select name="many" multiple><option selected>1</option><option>2</option><option selected>3</option></select>
        <textarea name="long">some</textarea><input name="gone" value="x" disabled><input type="file" name="file">
        <button name="how" value="save">Save</button><button name="how" value="send">Send</button></form>
      <p id="more"><input name="more" value="m"></p>
      <button data-action="send" data-value-how="alone">Alone</button></div>"""

    def setup(pages: Pages) -> None:
        @pages.action()
        def send(
            line_id: int,
            how: str,
            note: str,
            tags: list[str],
            many: list[int],
            on: bool,
            off: bool,
            text: str = "",
            size: str = "",
            long: str = "",
            more: str = "",
        ) -> None: ...

    async with shown({"page.html": page}, setup) as stage:
        await stage.view.get_by_role("button", name="Send").click()
        (sent,) = await stage.sent("tools/call", 1)
        fields = {"text": "a b", "on": "on", "tags": ["x", "y"], "size": "l", "many": ["1", "3"], "long": "some"}
        assert sent["arguments"] == {"line_id": "7", "note": "near", "more": "m", "how": "send"} | fields
        await stage.view.get_by_role("button", name="Alone").click()
        assert (await stage.sent("tools/call", 2))[1]["arguments"] == {"line_id": "7", "note": "far", "how": "alone"}


async def test_errors_stand_at_their_fields_and_what_was_typed_stays(shown: Shown) -> None:
    page = """<form data-action="book" data-target="#out" data-reset>
      <label>Count <input name="count"></label> <label>Name <input name="name"></label><button>Book</button></form>
      <p id="out"></p><button data-action="{{ 'broken' }}">Broken</button>"""

    def setup(pages: Pages) -> None:
        @pages.action("out.html")
        def book(count: Annotated[int, Field(le=5)], name: str) -> dict[str, Any]:
            if name == "Eve":
                raise ValueError("<b>No</b> tables for Eve.")
            return {"count": count}

    async with shown({"page.html": page, "out.html": "{{ count }} booked"}, setup) as stage:
        view = stage.view
        count, name, submit = view.get_by_label("Count"), view.get_by_label("Name"), view.get_by_role("button").first
        await count.fill("9")
        await name.fill("Eve")
        await submit.click()
        await expect(view.locator("label:has([name=count]) .error")).to_have_text(
            "Input should be less than or equal to 5"
        )
        await expect(count).to_have_attribute("aria-invalid", "true")
        await expect(count).to_have_value("9")
        await count.fill("3")
        await submit.click()
        # An error that is not about one field is at the end of the form. It is text.
        await expect(view.locator("form > .error[role=alert]")).to_have_text("<b>No</b> tables for Eve.")
        await expect(view.locator(".error")).to_have_count(1)
        assert await count.get_attribute("aria-invalid") is None
        await name.fill("Ada")
        await name.press("Enter")
        await expect(view.locator("#out")).to_have_text("3 booked")
        await expect(view.locator(".error")).to_have_count(0)
        await expect(name).to_have_value("")
        # What the server does not know, and what the host refuses, is an error beside the button.
        await view.get_by_role("button", name="Broken").click()
        await expect(view.locator("button + .error")).to_contain_text("broken")


async def test_focus_selection_scroll_position_typed_text_and_open_details_survive_a_swap(shown: Shown) -> None:
    page = """<div id="list" style="height: 100px; overflow: auto">
      {% for n in range(30) %}<p id="p{{ n }}">{{ n }} of {{ turn }}</p>{% endfor %}</div>
      {% if turn %}<p>One more in front</p>{% endif %}
      <input name="text" aria-label="Text"><textarea name="long" aria-label="Long"></textarea>
      <input type="checkbox" name="box" aria-label="Box"><input name="was" aria-label="Was" value="{{ turn }}">
      <select name="pick" aria-label="Pick"><option>a</option><option>b</option></select>
      <details><summary>More</summary>Text</details><span id="turn">{{ turn }}</span>
      <i data-action="again" data-trigger="load"></i>"""
    started = anyio.Event()

    def setup(pages: Pages) -> None:
        @pages.action("page.html")
        async def again() -> dict[str, Any]:
            await started.wait()
            return {"turn": 1}

    async with shown({"page.html": page}, setup, lambda: {"turn": 0}) as stage:
        view = stage.view
        await view.get_by_label("Long").fill("typed, too")
        await view.get_by_label("Box").check()
        await view.get_by_label("Pick").select_option("b")
        await view.locator("#list").evaluate("(list) => { list.scrollTop = 333 }")
        await view.get_by_text("More").click()
        text = view.get_by_label("Text")
        await text.fill("hello world")
        await text.evaluate("(text) => { text.setSelectionRange(2, 7); window.node = text; }")
        started.set()
        await expect(view.locator("#turn")).to_have_text("1")
        await expect(view.locator("#p3")).to_have_text("3 of 1")
        await expect(text).to_be_focused()
        await expect(text).to_have_value("hello world")
        assert await text.evaluate("(text) => [text === node, text.selectionStart, text.selectionEnd]") == [True, 2, 7]
        await expect(view.get_by_label("Long")).to_have_value("typed, too")
        await expect(view.get_by_label("Box")).to_be_checked()
        await expect(view.get_by_label("Pick")).to_have_value("b")
        # What nobody typed follows the server.
        await expect(view.get_by_label("Was")).to_have_value("1")
        assert await view.locator("#list").evaluate("(list) => list.scrollTop") == 333
        assert await view.locator("details").evaluate("(details) => details.open")


async def test_rows_keep_their_fields_when_others_come_go_and_move(shown: Shown) -> None:
    page = """<ul id="rows" data-target="#rows">{% for key in keys %}
      <li data-key="{{ key }}"><input aria-label="{{ key }}">
      <button data-action="set" data-value-keys="{{ next }}">{{ key }}</button></li>{% endfor %}</ul>"""

    def setup(pages: Pages) -> None:
        @pages.action("page.html", "set")
        def set_keys(keys: str) -> dict[str, Any]:
            return {"keys": keys, "next": "xdab"}

    async with shown({"page.html": page}, setup, lambda: {"keys": "abcd", "next": "bd"}) as stage:
        view = stage.view
        for key in "abcd":
            await view.get_by_label(key).fill(f"typed {key}")
        await view.get_by_role("button", name="d").click()
        await expect(view.locator("li")).to_have_count(2)
        await expect(view.get_by_role("button", name="d")).to_be_focused()
        await view.get_by_role("button", name="d").click()
        await expect(view.locator("li")).to_have_count(4)
        inputs = view.locator("input")
        assert [await inputs.nth(n).input_value() for n in range(4)] == ["", "typed d", "", "typed b"]
        await expect(view.get_by_role("button", name="d")).to_be_focused()


async def test_a_value_of_the_server_replaces_what_was_sent(shown: Shown) -> None:
    page = """<form data-action="clamp"><input name="count" aria-label="Count" value="{{ count }}">
      <input name="query" aria-label="Query"><select name="sort" aria-label="Sort">{% for s in "ab" %}
      <option {% if s == sort %}selected{% endif %}>{{ s }}</option>{% endfor %}</select>
      <select name="free" aria-label="Free"><option value="1">1</option><option value="2">2</option></select>
      <button>Go</button></form><b>{{ turn }}</b>"""
    turns = iter(range(1, 9))

    def setup(pages: Pages) -> None:
        @pages.action("page.html")
        def clamp(count: int, query: str, sort: str, free: str) -> dict[str, Any]:
            return {"count": min(count, 10), "sort": "a", "turn": next(turns)}

    async with shown({"page.html": page}, setup, lambda: {"count": 10, "sort": "a", "turn": 0}) as stage:
        view = stage.view
        for turn in ("1", "2"):
            await view.get_by_label("Count").fill("99")
            await view.get_by_label("Query").fill("lamp")
            await view.get_by_label("Sort").select_option("b")
            await view.get_by_label("Free").select_option("2")
            await view.get_by_role("button", name="Go").click()
            await expect(view.locator("b")).to_have_text(turn)
            await expect(view.get_by_label("Count")).to_have_value("10")
            await expect(view.get_by_label("Sort")).to_have_value("a")
            # A field for which the server has no value keeps its own.
            await expect(view.get_by_label("Query")).to_have_value("lamp")
            await expect(view.get_by_label("Free")).to_have_value("2")


async def test_a_slow_answer_never_replaces_a_newer_one_and_a_double_click_acts_once(shown: Shown) -> None:
    page = """<input aria-label="Query" name="query" data-action="find" data-trigger="input" data-target="#found"
      data-indicator="#wait"><span id="wait" hidden>Searching</span><p id="found"></p>
      <button data-action="add" data-target="#total">Add</button><button data-action="add" data-target="#total">Add too
      </button><p id="total">0</p>"""
    queries: list[str] = []
    first, adding = anyio.Event(), anyio.Event()
    total = 0

    def setup(pages: Pages) -> None:
        @pages.action("out.html")
        async def find(query: str) -> dict[str, Any]:
            queries.append(query)
            if query == "a":
                await first.wait()
            return {"out": f"found {query}"}

        @pages.action("out.html")
        async def add() -> dict[str, Any]:
            nonlocal total
            await adding.wait()
            total += 1
            return {"out": total}

    async with shown({"page.html": page, "out.html": "{{ out }}"}, setup) as stage:
        view = stage.view
        query = view.get_by_label("Query")
        await query.press_sequentially("a")
        await expect(view.locator("#wait")).to_be_visible()
        await expect(view.locator("#found")).to_have_attribute("aria-busy", "true")
        await expect(query).to_have_attribute("aria-busy", "true")
        await expect(view.get_by_role("status")).to_have_text("Loading")
        await query.press_sequentially("bc")
        first.set()
        await expect(view.locator("#found")).to_have_text("found abc")
        # "ab" was typed over while it waited.
        assert queries == ["a", "abc"]
        await expect(view.locator("#wait")).to_be_hidden()
        assert await view.locator("#found").get_attribute("aria-busy") is None
        await expect(view.get_by_role("status")).to_have_text("Updated")
        await view.get_by_role("button", name="Add", exact=True).dblclick()
        await stage.sent("tools/call", 3)
        await view.get_by_role("button", name="Add", exact=True).click()
        await view.get_by_role("button", name="Add too").dblclick()
        await expect(view.locator("#total")).to_have_attribute("aria-busy", "true")
        adding.set()
        await expect(view.locator("#total")).to_have_text("2")
        assert len(await stage.sent("tools/call", 4)) == 4


async def test_a_question_is_asked_in_the_page(shown: Shown) -> None:
    page = """<button data-action="drop" data-target="p" data-confirm="Remove <b>it</b>?">Drop</button><p>there</p>"""
    async with shown(
        {"page.html": page, "out.html": "gone"}, lambda pages: pages.action("out.html", "drop")(lambda: {})
    ) as stage:
        view, dialog = stage.view, stage.view.get_by_role("dialog", name="Remove <b>it</b>?")
        for answer in ("Cancel", "Escape"):
            await view.get_by_role("button", name="Drop").click()
            await expect(dialog).to_be_visible()
            if answer == "Escape":
                await stage.page.keyboard.press("Escape")
            else:
                await view.get_by_role("button", name=answer).click()
            await expect(dialog).to_be_hidden()
        await expect(view.locator("p").first).to_have_text("there")
        await view.get_by_role("button", name="Drop").click()
        await view.get_by_role("button", name="OK").click()
        await expect(view.locator("main p")).to_have_text("gone")
        assert len(await stage.sent("tools/call", 1)) == 1


async def test_a_page_polls_while_it_is_visible(shown: Shown) -> None:
    page = """<p id="seen" data-action="tick" data-trigger="load, every 0.2s" data-target="#seen">-</p>
      <p hidden data-action="never" data-trigger="every 0.1s">-</p>"""
    count = 0

    def setup(pages: Pages) -> None:
        @pages.action("out.html")
        def tick() -> dict[str, Any]:
            nonlocal count
            count += 1
            return {"out": min(count, 3)}

        pages.action("out.html", "never")(lambda: {})

    async with shown({"page.html": page, "out.html": "{{ out }}"}, setup) as stage:
        await expect(stage.view.locator("#seen")).to_have_text("3")
        # Polling says nothing to screen readers.
        await expect(stage.view.get_by_role("status")).to_have_text("")
        names = await stage.page.evaluate("messages.filter(m => m.method === 'tools/call').map(m => m.params.name)")
        assert set(names) == {"tick"}


async def test_an_action_changes_other_places_tells_the_model_and_refreshes(shown: Shown) -> None:
    files = {
        "page.html": '<h1>{{ turn }}</h1><ul id="list"></ul>{% include "total.html" %}'
        '<button data-action="add" data-target="#list">Add</button><button data-action="again">Again</button>'
        '<a href="https://shop.example/help">Help</a>',
        "add.html": '<li>{{ turn }}</li>{% include "total.html" %}',
        "total.html": '<p id="total" data-oob>total {{ turn }}</p>',
        "add.txt": "The user added {{ turn }}.",
    }
    turns = iter(range(1, 9))

    def setup(pages: Pages) -> None:
        pages.action("add.html", "add", text="add.txt")(lambda: {"turn": 77})
        pages.action(None, "again")(Refresh)

    async with shown(files, setup, lambda: {"turn": next(turns)}) as stage:
        view = stage.view
        await expect(view.locator("#total")).to_have_text("total 1")
        await view.get_by_role("button", name="Add").click()
        await expect(view.locator("#list")).to_have_text("77")
        await expect(view.locator("#total")).to_have_text("total 77")
        (told,) = await stage.sent("ui/update-model-context", 1)
        assert told["content"] == [{"type": "text", "text": "The user added 77."}]
        await view.get_by_role("button", name="Again").click()
        await expect(view.get_by_role("heading")).to_have_text("2")
        await expect(view.locator("#total")).to_have_text("total 2")
        await view.get_by_role("link", name="Help").click()
        assert await stage.sent("ui/open-link", 1) == [{"url": "https://shop.example/help"}]


async def test_the_page_shows_the_changed_template_when_dev_reloads_it(
    shown: Shown, browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FANLIGHT_LINES", str(tmp_path))
    async with shown({"page.html": "<b>{{ word }}</b>"}, values=lambda: {"word": "hi"}) as stage:
        client = stage.client
        assert client is not None
        result = await client.call("show_page")
        (tmp_path / "page.html").write_text("<i>{{ word }} again</i>", encoding="utf-8")
        html = (await client.read("ui://shop/page"))["text"]
        async with on_stage(browser, html, client) as reloaded:
            await reloaded.notify("ui/notifications/tool-result", result)
            await expect(reloaded.view.locator("main i")).to_have_text("hi again")


# Attacks

HIT = "parent.postMessage('hit', '*'); window.hit = 1"
VALUES = [
    f"<script>{HIT}</script>",
    f'<img src=data:, onerror="{HIT}">',
    f'\' onmouseover="{HIT}" autofocus onfocus="{HIT}" x=\'',
    f'" onmouseover="{HIT}" data-action="steal" data-trigger="load" x="',
    '"><button data-action="steal" data-trigger="load">x</button>',
    f"javascript:{HIT}",
    "\u202egpj.exe\u202c",
    "{{ 7 * 7 }}{% include 'secret.txt' %}",
    "</main></template><script>window.hit = 1</script>",
]
MARKUP = [
    *VALUES[:3],
    f'<svg onload="{HIT}"><a href="javascript:{HIT}"><text y="20">x</text></a><script>{HIT}</script></svg>',
    f'<svg><a><animate attributeName="href" values="javascript:{HIT}" /><text y="20">y</text></a></svg>',
    f'<a class="bad" href=" java&#10;script&#9;:{HIT}">z</a>',
    f'<a class="bad" href="&#1;JAVASCRIPT:{HIT}">z</a>',
    f'<iframe srcdoc="<script>{HIT}</script>"></iframe><embed src="x"><object data="x"></object>',
    '<meta http-equiv="refresh" content="0;url=https://evil.example/"><base href="https://evil.example/">',
    '<link rel="stylesheet" href="https://evil.example/x.css">',
    f'<form onmouseover="{HIT}" action="javascript:{HIT}"><input name="attributes"><input name="attributes"></form>',
    f'<details open ontoggle="{HIT}"><summary>w</summary></details><input onfocus="{HIT}">',
    f'<template><img src=data:, onerror="{HIT}"></template>',
    f'<noscript><p title="</noscript><img src=data:, onerror={HIT}>"></noscript>',
    f'<math><mtext><table><mglyph><style><img src=data:, onerror="{HIT}"></style></mglyph></table></mtext></math>',
]


async def test_values_are_text_whatever_they_contain(shown: Shown) -> None:
    page = """{% for v in values %}<p class="v">{{ v }}</p><p title="{{ v }}" data-v='{{ v }}'>t</p>
      <a href="{{ v }}">l</a><input value="{{ v }}">{% endfor %}<button data-action="again">Again</button>"""
    stolen: list[int] = []

    def setup(pages: Pages) -> None:
        pages.action("page.html", "again")(lambda: {"values": VALUES[::-1]})
        pages.action(None, "steal")(lambda: stolen.append(1))

    async with shown({"page.html": page, "secret.txt": "s"}, setup, lambda: {"values": VALUES}) as stage:
        view = stage.view
        for expected in (VALUES, VALUES[::-1]):
            await expect(view.locator(".v").first).to_have_text(expected[0], use_inner_text=False)
            isolated = [f"\u2068{each}\u2069" if "\u202e" in each else each for each in expected]
            assert await view.locator(".v").all_text_contents() == isolated
            assert await view.locator("input").evaluate_all("(all) => all.map((each) => each.value)") == expected
            assert await view.locator("main [data-action]").count() == 1
            assert await view.locator("main :is(img, script, [onmouseover], [onfocus], [autofocus])").count() == 0
            assert await view.locator("main a[href^=javascript]").count() == 0
            if expected is VALUES:
                await view.get_by_role("button", name="Again").click()
        assert await view.locator("main").evaluate("() => window.hit") is None
        assert stolen == []


async def test_markup_that_is_marked_safe_cannot_run_anything(shown: Shown) -> None:
    page = """{% for m in markup %}<div class="m">{{ m|safe }}</div>{% endfor %}
      <b style="color: red">bold</b><style>b { font-weight: 900 }</style><button data-action="again">Again</button>"""

    def setup(pages: Pages) -> None:
        pages.action("page.html", "again")(lambda: {"markup": [*MARKUP, "<b>again</b>"]})

    async with shown({"page.html": page}, setup, lambda: {"markup": MARKUP}) as stage:
        view = stage.view
        for _ in range(2):
            await expect(view.locator("main > b")).to_have_text("bold")
            found = await view.locator("main").evaluate(
                """(main) => [...main.querySelectorAll("*")].flatMap((each) => [
                  ...(/^(script|iframe|embed|object|meta|base|link|animate|template)$/i.test(each.localName)
                    ? [each.outerHTML] : []),
                  ...Element.prototype.getAttributeNames.call(each).filter((name) => /^on/.test(name)),
                  ...["href", "action"].map((name) => Element.prototype.getAttribute.call(each, name))
                    .filter((url) => url && /script/i.test(url)),
                ])"""
            )
            assert found == []
            for number in range(await view.locator("main a").count()):
                await view.locator("main a").nth(number).dispatch_event("click")
            await view.locator("main form").dispatch_event("mouseover")
            await view.locator("main input").last.focus()
            await view.get_by_role("button", name="Again").click()
            await expect(view.get_by_role("status")).to_have_text("Updated")
        assert await view.locator("main").evaluate("() => window.hit") is None
        messages = await stage.page.evaluate("messages.map((message) => message.method ?? message)")
        assert "hit" not in messages
        assert await view.locator("main > b").evaluate("(b) => getComputedStyle(b).color") == "rgb(255, 0, 0)"


async def test_scripts_in_templates_run_if_the_author_asks_for_it(shown: Shown) -> None:
    page = """<p id="p" onclick="this.textContent = 'handled'">x</p><script>document.title = "ran"</script>"""
    async with shown({"page.html": page}, options={"allow_scripts": True}) as stage:
        await stage.view.locator("#p").click()
        await expect(stage.view.locator("#p")).to_have_text("handled")
        assert await stage.view.locator("#p").evaluate("() => document.title") == "ran"


# Other hosts, and htmx


@pytest.mark.parametrize("bridge", ["ext-apps-1", "ext-apps-2"])
async def test_a_page_works_in_the_published_app_bridge(shown: Shown, bridge: str) -> None:
    page = """<form data-action="greet" data-target="#out"><input name="name" aria-label="Name">
      <button>Greet</button></form><p id="out"></p>"""

    def setup(pages: Pages) -> None:
        pages.action("out.html", "greet", text="out.html")(lambda name: {"name": name})

    async with shown({"page.html": page, "out.html": "Hello {{ name }}"}, setup, bridge=bridge) as stage:
        await stage.view.get_by_label("Name").fill("<Ada>")
        await stage.view.get_by_label("Name").press("Enter")
        await expect(stage.view.locator("#out")).to_have_text("Hello <Ada>")
        assert len(await stage.sent("ui/update-model-context", 1)) == 1


async def test_htmx_calls_actions_by_the_bridge(shown: Shown, tmp_path: Path) -> None:
    (tmp_path / "htmx.min.js").write_bytes(node_module("htmx.org/dist/htmx.min.js").read_bytes())
    (tmp_path / "head.html").write_text('<script src="htmx.min.js"></script>', encoding="utf-8")
    page = """<input name="query" aria-label="Query" hx-get="action:find" hx-trigger="input" hx-target="#found">
      <p id="found"></p><form hx-post="action:add" hx-target="#list" hx-swap="beforeend">
      <input name="name" aria-label="Name"><button>Add</button></form><ul id="list"></ul><p id="count">0</p>"""
    files = {
        "page.html": page,
        "find.html": "found {{ query }}",
        "add.html": """<li onclick="window.hit = 1">{{ name }} <button hx-post="action:add" hx-target="#list"
          hx-vals='{"name": "second"}'>More</button><script>window.hit = 1</script></li>
          <p id="count" hx-swap-oob="true">1</p>""",
    }

    def setup(pages: Pages) -> None:
        @pages.action("find.html")
        def find(query: str) -> dict[str, Any]:
            return {"query": query}

        @pages.action("add.html")
        def add(name: Annotated[str, Field(min_length=2)]) -> dict[str, Any]:
            return {"name": name}

    async with shown(files, setup, options={"head": "head.html", "htmx": True}) as stage:
        view = stage.view
        await view.get_by_label("Query").fill("<b>")
        await expect(view.locator("#found")).to_have_text("found <b>")
        await view.get_by_label("Name").fill("first")
        await view.get_by_role("button", name="Add").click()
        await expect(view.locator("li")).to_contain_text("first")
        await expect(view.locator("#count")).to_have_text("1")
        await view.locator("li").click()
        # What htmx swaps in calls actions, too.
        await view.get_by_role("button", name="More").click()
        await expect(view.locator("#list")).to_contain_text("second")
        assert await view.locator("main").evaluate("() => window.hit") is None
        await view.get_by_label("Name").fill("x")
        await view.get_by_role("button", name="Add").click()
        await expect(view.locator("#list .error")).to_contain_text("at least 2 characters")
        assert [params["name"] for params in await stage.sent("tools/call", 4)] == ["find", "add", "add", "add"]
