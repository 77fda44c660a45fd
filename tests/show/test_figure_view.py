"""Figures, text and arrangements in Chromium, under the standard's default policy, with a real server behind them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import altair as alt
import great_tables
import numpy as np
import pandas as pd
import plotly.express as px
import plotly.graph_objects as go
import pytest
from matplotlib.figure import Figure
from mcp.server import MCPServer
from PIL import Image
from playwright.async_api import Browser, expect

from fanlight import Apps
from fanlight.show import Columns, Markdown, Metric, Tabs
from support.stage import Stage, on_stage
from support.wire import UI, in_memory

pytestmark = pytest.mark.anyio

URI = "ui://sales/fanlight-show"
SALES = pd.DataFrame({"month": ["Jan", "Feb", "Mar"], "total": [3, 1, 2], "region": ["n", "s", "n"]})
PATIENCE = 60_000


@asynccontextmanager
async def shown(browser: Browser, value: Any, **stage_options: Any) -> AsyncIterator[Stage]:
    server: Any = MCPServer("sales")

    @Apps(server).show()
    def report(region: str = "all") -> Any:
        "A report."
        return value() if callable(value) else value

    options = {"width": 800, "height": 700} | stage_options
    async with (
        in_memory(server, "2025-11-25", UI) as client,
        on_stage(browser, (await client.read(URI))["text"], client, **options) as stage,
    ):
        await stage.run("report", {})
        await expect(stage.view.locator("#waiting")).to_be_hidden(timeout=PATIENCE)
        yield stage
        assert stage.problems == []


def lines(title: str = "Sales") -> Figure:
    figure = Figure()
    axes = figure.subplots()
    axes.plot([1, 2, 3], [3, 1, 2])
    axes.set_title(title)
    return figure


@pytest.mark.parametrize("bridge", [None, "ext-apps-2"])
async def test_a_plotly_figure_is_drawn_by_the_servers_own_library(bridge: str | None, browser: Browser) -> None:
    figure = px.bar(SALES, x="month", y="total", title="Sales of 2026")
    async with shown(browser, figure, bridge=bridge) as stage:
        await expect(stage.view.locator(".gtitle")).to_have_text("Sales of 2026", timeout=PATIENCE)
        await expect(stage.view.locator(".bars .point")).to_have_count(3)
        await expect(stage.view.get_by_role("figure", name="A plotly figure, titled “Sales of 2026”")).to_be_visible()


async def test_many_points_and_arrays_are_drawn_without_webgl(browser: Browser) -> None:
    points = np.random.default_rng(1).random((2, 2000))
    figure = px.scatter(x=points[0], y=points[1], render_mode="webgl")
    async with shown(browser, figure) as stage:
        await expect(stage.view.locator(".scatterlayer .point")).to_have_count(2000, timeout=PATIENCE)


async def test_a_plotly_figure_takes_the_colours_of_the_host(browser: Browser) -> None:
    async with shown(browser, px.line(SALES, x="month", y="total", title="Sales"), dark=True) as stage:
        title = stage.view.locator(".gtitle")
        await expect(title).to_have_css("fill", "rgb(240, 241, 243)", timeout=PATIENCE)
        await stage.notify("ui/notifications/host-context-changed", {"theme": "light"})
        await expect(title).to_have_css("fill", "rgb(28, 29, 32)", timeout=PATIENCE)


async def test_a_large_figure_is_loaded_in_parts(browser: Browser) -> None:
    figure = go.Figure(go.Scatter(x=list(range(60_000)), y=[1.25] * 60_000, mode="lines", name="long"))
    figure.update_layout(title="Long", showlegend=True)
    async with shown(browser, figure) as stage:
        await expect(stage.view.locator(".gtitle")).to_have_text("Long", timeout=PATIENCE)
        assert len(await stage.sent("tools/call", 2)) == 2


@pytest.mark.parametrize("dark", [False, True])
async def test_an_altair_chart_is_drawn_without_eval(dark: bool, browser: Browser) -> None:
    chart = alt.Chart(SALES, title="Sales").mark_bar().encode(x="month", y="total", tooltip="region")
    async with shown(browser, chart, dark=dark) as stage:
        await expect(stage.view.locator("svg .mark-rect path")).to_have_count(3, timeout=PATIENCE)
        await stage.view.locator("svg .mark-rect path").first.hover()
        await expect(stage.view.locator("#vg-tooltip-element")).to_have_text("n")


async def test_matplotlib_and_pil_are_pictures_with_a_text_for_those_who_do_not_see_them(browser: Browser) -> None:
    async with shown(browser, [lines(), Image.new("RGB", (40, 20), "red")]) as stage:
        first = stage.view.get_by_role("img", name="titled “Sales”")
        await expect(first).to_be_visible(timeout=PATIENCE)
        assert await first.evaluate("image => image.decode().then(() => image.naturalWidth > 100)")
        second = stage.view.get_by_role("img", name="A picture of 40 by 20 pixels.")
        assert await second.evaluate("image => image.decode().then(() => image.naturalWidth)") == 40


async def test_a_great_table_is_shown_with_its_style(browser: Browser) -> None:
    async with shown(browser, great_tables.GT(SALES).tab_header("Sales")) as stage:
        await expect(stage.view.locator(".gt_title")).to_have_text("Sales", timeout=PATIENCE)
        await expect(stage.view.locator("td.gt_row").first).to_have_text("Jan")
        await expect(stage.view.locator(".gt_title")).to_have_css("text-align", "center")


class Html:
    def __init__(self, html: str) -> None:
        self._html = html

    def _repr_html_(self) -> str:
        return self._html


class Svg:
    def _repr_svg_(self) -> str:
        return (
            "<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9' onload='parent.hacked=1'>"
            "<script>parent.hacked=1;top.hacked=1</script><image href='https://x.example/a.png'/></svg>"
        )


HOSTILE = """
<p onclick="hacked=1" style="color: red">text</p>
<script>window.hacked = 1</script>
<img src=x onerror="window.hacked=1"><img src="https://x.example/a.png">
<img src="data:text/html,<script>hacked=1</script>">
<a href="javascript:hacked=1" id=bad>bad</a><a href="https://example.com/" id=good target=_top>good</a>
<iframe src="https://x.example"></iframe><iframe srcdoc="<script>parent.hacked=1</script>"></iframe>
<form action="https://x.example"><input name=a autofocus onfocus="hacked=1"><button>send</button></form>
<svg><script>hacked=1</script><a href="javascript:hacked=1"><text>x</text></a></svg>
<math><mtext><table><mglyph><style><img src onerror=hacked=1></style></mglyph></table></mtext></math>
<template><script>hacked=1</script></template><meta http-equiv=refresh content="0;url=https://x.example">
<base href="https://x.example"><link rel=stylesheet href="https://x.example/a.css"><object data=x></object>
<style>@import "https://x.example/b.css"; .x { background: url(https://x.example/c.png) }</style>
<div style="position: fixed; inset: 0; background: blue" id=overlay>overlay</div>
"""


async def test_hostile_html_is_only_text_and_style(browser: Browser) -> None:
    async with shown(browser, [Html(HOSTILE), Markdown("below")]) as stage:
        view = stage.view
        html = view.locator(".html")
        await expect(html.get_by_text("text", exact=True)).to_be_visible(timeout=PATIENCE)
        forbidden = "script, iframe, form, input, button, svg, math, template, meta, base, link, object, [target]"
        count = f"host => host.shadowRoot.querySelectorAll({forbidden!r}).length"
        assert await html.evaluate(count) == 0
        handlers = "host => [...host.shadowRoot.querySelectorAll('*')].flatMap((e) => e.getAttributeNames())"
        assert not [name for name in await html.evaluate(handlers) if name.startswith("on")]
        assert await html.evaluate("host => host.shadowRoot.querySelectorAll('[src]').length") == 0
        assert await html.evaluate("host => host.shadowRoot.querySelector('#bad').hasAttribute('href')") is False
        await html.locator("#good").dispatch_event("click")
        assert (await stage.sent("ui/open-link", 1))[0]["url"] == "https://example.com/"
        # Nothing of it covers the rest of the View.
        overlay = await html.locator("#overlay").bounding_box()
        below = await view.get_by_text("below").bounding_box()
        assert overlay
        assert below
        assert overlay["y"] + overlay["height"] <= below["y"] + 1
        assert await view.locator("body").evaluate("() => window.hacked") is None
        stage.problems[:] = [problem for problem in stage.problems if "x.example" not in problem]


async def test_a_hostile_svg_is_only_a_picture(browser: Browser) -> None:
    async with shown(browser, Svg()) as stage:
        image = stage.view.get_by_role("img")
        await expect(image).to_be_visible(timeout=PATIENCE)
        await image.evaluate("image => image.decode()")
        assert await stage.view.locator("body").evaluate("() => window.hacked") is None


@pytest.mark.parametrize("text", ["<img src=x onerror=alert(1)>", "</script><script>alert(1)</script>", "\u202eevil"])
async def test_hostile_titles_labels_and_markdown_are_only_text(text: str, browser: Browser) -> None:
    value = [
        Metric(text, text, delta=text),
        Markdown(f"{text}\n\n# {text}\n\n- **{text}**\n\n[link](javascript:alert(1)) `{text}`"),
        Tabs({text: px.bar(SALES, x="month", y="total", title=text), "other": lines(text)}),
    ]
    async with shown(browser, value) as stage:
        view = stage.view
        await expect(view.locator(".metric strong")).to_have_text(text)
        await expect(view.get_by_role("tab").first).to_have_text(text)
        await expect(view.locator(".bars .point")).to_have_count(3, timeout=PATIENCE)
        await expect(view.locator(".markdown h2")).to_have_text(text)
        await expect(view.locator(".markdown li strong")).to_have_text(text)
        await expect(view.locator(".markdown")).to_contain_text("[link](javascript:alert(1))")
        assert await view.locator(".markdown img, .markdown a, .metric img").count() == 0
        await view.get_by_role("tab", name="other").click()
        await expect(view.get_by_role("img", name="A matplotlib")).to_be_visible()


async def test_hostile_titles_names_and_tooltips_of_charts_do_nothing(browser: Browser) -> None:
    link = '<a href="javascript:window.hacked=1" style="x">click</a>'
    image = "<img src=x onerror=window.hacked=1>"
    rows = pd.DataFrame({"month": [image, "Feb"], "total": [1, 2], "note": [image, image]})
    chart = alt.Chart(rows, title=image).mark_bar().encode(x="month", y="total", tooltip="note")
    figure = px.bar(rows, x="month", y="total", title=link, color="note")
    async with shown(browser, [figure, chart], height=1200) as stage:
        view = stage.view
        await expect(view.locator(".gtitle")).to_have_text("click", timeout=PATIENCE)
        addresses = await view.locator("figure a").evaluate_all("all => all.map((a) => a.href.baseVal ?? a.href)")
        assert not [address for address in addresses if address.startswith("javascript:")]
        bar = view.locator("svg .mark-rect path").first
        await expect(bar).to_be_visible(timeout=PATIENCE)
        await bar.hover()
        await expect(view.locator("#vg-tooltip-element")).to_have_text(image)
        assert await view.locator("img").count() == 0
        assert await view.locator("body").evaluate("() => window.hacked") is None


async def test_markdown_has_headings_lists_code_and_links(browser: Browser) -> None:
    text = (
        "# Title\n\nSome *quiet* and **loud** text\n\n1. one\n2. two\n\n```\na  b\n```\n\n[site](https://example.com/x)"
    )
    async with shown(browser, Markdown(text)) as stage:
        view = stage.view
        await expect(view.get_by_role("heading", name="Title", level=2)).to_be_visible()
        await expect(view.locator("em")).to_have_text("quiet")
        await expect(view.get_by_role("listitem")).to_have_text(["one", "two"])
        await expect(view.locator("pre")).to_have_text("a  b")
        await view.get_by_role("link", name="site").click()
        assert (await stage.sent("ui/open-link", 1))[0]["url"] == "https://example.com/x"


async def test_tabs_work_with_the_keyboard_and_metrics_have_the_format_of_the_locale(browser: Browser) -> None:
    value = [Columns(Metric("Revenue", 1234567.5, delta=-3)), Tabs({"One": SALES, "Two": Markdown("second")})]
    async with shown(browser, value, context={"locale": "de-DE"}) as stage:
        view = stage.view
        await expect(view.locator(".metric strong")).to_have_text("1.234.567,5")
        await expect(view.locator(".metric .bad")).to_have_text("-3")
        await expect(view.get_by_role("tab", name="One")).to_have_attribute("aria-selected", "true")
        await expect(view.locator(".status")).to_have_text("3 rows")
        await view.get_by_role("tab", name="One").press("ArrowRight")
        await expect(view.get_by_role("tab", name="Two")).to_be_focused()
        await expect(view.get_by_role("tabpanel", name="Two")).to_have_text("second")


async def test_two_tables_are_sorted_on_their_own(browser: Browser) -> None:
    async with shown(browser, [SALES, SALES.iloc[::-1]]) as stage:
        first, second = stage.view.locator("section").nth(0), stage.view.locator("section").nth(1)
        await second.get_by_role("columnheader", name="total").click()
        await expect(second.locator("tbody td").nth(2)).to_have_text("1")
        await expect(first.locator("tbody td").nth(0)).to_have_text("Jan")


@pytest.mark.parametrize("width", [320, 390, 1000])
async def test_the_page_is_never_wider_than_the_view(width: int, browser: Browser) -> None:
    value = [
        Columns(Metric("Revenue", 1), Metric("Orders", 2), Metric("Customers", 3)),
        Columns(px.bar(SALES, x="month", y="total"), lines()),
        Tabs({f"A long label {n}": Markdown("x" * 300) for n in range(6)}),
        SALES,
    ]
    async with shown(browser, value, width=width) as stage:
        await expect(stage.view.locator(".bars .point")).to_have_count(3, timeout=PATIENCE)
        wider = await stage.view.locator("html").evaluate("root => root.scrollWidth - root.clientWidth")
        assert wider <= 0


@pytest.mark.parametrize(
    ("figure", "cells"),
    [
        (go.Figure(go.Scatter(x=np.array([1.5, 2.5]), y=[None, "b"], name="<b>n</b>")), ["1.5", "null", "2.5", "b"]),
        (alt.Chart(SALES).mark_bar().encode(x="month", y="total"), ["Jan", "3", "n", "Feb", "1", "s", "Mar", "2", "n"]),
    ],
)
async def test_where_a_host_passes_no_resources_on_the_data_of_a_chart_is_shown(
    figure: Any, cells: list[str], browser: Browser
) -> None:
    server: Any = MCPServer("sales")
    Apps(server).show("report")(lambda: figure)
    async with (
        in_memory(server, "2025-11-25", UI) as client,
        on_stage(browser, (await client.read(URI))["text"], client, bridge="ext-apps-2") as stage,
    ):
        stage.unsupported.add("resources/read")
        await stage.run("report", {})
        await expect(stage.view.get_by_role("alert")).to_contain_text("The chart could not be drawn", timeout=PATIENCE)
        await expect(stage.view.locator("figure > p").first).to_contain_text("A ")
        await expect(stage.view.locator("tbody td")).to_have_text(cells)
        assert await stage.view.locator("figure b").count() == 0


async def test_a_library_that_cannot_be_read_is_an_error_with_a_way_out(browser: Browser) -> None:
    server: Any = MCPServer("sales")
    Apps(server).show("report")(lambda: px.bar(SALES, x="month", y="total"))
    async with (
        in_memory(server, "2025-11-25", UI) as client,
        on_stage(browser, (await client.read(URI))["text"], client) as stage,
    ):
        stage.unsupported.add("resources/read")
        await stage.run("report", {})
        await expect(stage.view.get_by_role("alert")).to_contain_text("The chart could not be drawn", timeout=PATIENCE)
        await expect(stage.view.locator("tbody td")).to_have_text(["Jan", "3", "Feb", "1", "Mar", "2"])
        stage.unsupported.clear()
        await stage.view.get_by_role("button", name="Run again").click()
        await expect(stage.view.locator(".bars .point")).to_have_count(3, timeout=PATIENCE)
