"""Figures of bokeh: what the View gets and draws without eval, and what the model reads."""

import json
from typing import Any

import numpy as np
import pytest
from bokeh.layouts import column
from bokeh.models import CustomJS, CustomJSTickFormatter
from bokeh.models.widgets import Slider
from bokeh.plotting import figure
from mcp.server import MCPServer
from playwright.async_api import Browser, expect

from fanlight import Apps, ArgumentError
from fanlight.show.figures.figure import figure_of
from fanlight.show.figures.library import library
from support.stage import on_stage
from support.wire import UI, in_memory

pytestmark = pytest.mark.anyio


def lines(title: str = "Sales", **options: Any) -> Any:
    plot: Any = figure(title=title, x_axis_label="month", y_axis_label="total", **options)
    plot.line([1, 2, 3], [3, 1, 2], name="north")
    plot.scatter(np.arange(500), np.arange(500))
    return plot


def test_the_model_reads_title_axes_and_glyphs() -> None:
    made = figure_of(lines())
    assert made is not None
    assert made.kind == "bokeh"
    assert made.summary == (
        "A bokeh figure, titled “Sales”; x axis “month”, y axis “total”; "
        "2 glyphs: Line “north” (3 points), Scatter (500 points)."
    )


@pytest.mark.parametrize("code", ["callback", "formatter"])
def test_code_that_is_text_is_refused_with_the_cure(code: str) -> None:
    slider, plot = Slider(start=0, end=1, value=0), lines()
    if code == "callback":
        slider.js_on_change("value", CustomJS(code="alert(1)"))
    else:
        plot.xaxis.formatter = CustomJSTickFormatter(code="return 1")
    with pytest.raises(ArgumentError, match=r"runs the code of CustomJS\w* with eval.*by an argument of the tool"):
        figure_of(column(slider, plot))


def test_a_figure_fits_the_view_and_has_no_button_that_saves_a_picture() -> None:
    made = figure_of(lines(width=300))
    assert made is not None
    (root,) = json.loads(made.data)["doc"]["roots"]
    assert (root["attributes"]["sizing_mode"], root["attributes"]["max_width"]) == ("scale_width", 300)
    assert "SaveTool" not in made.data
    assert library("bokeh")["parts"] <= 3


@pytest.mark.parametrize("bridge", [None, "ext-apps-2"])
async def test_a_figure_and_its_widgets_are_drawn_without_eval(bridge: str | None, browser: Browser) -> None:
    server: Any = MCPServer("sales")
    title = "<img src=x onerror=alert(1)>"
    Apps(server).show("report")(lambda: [lines(title), column(Slider(start=0, end=9, value=1, title="n"), lines())])
    async with (
        in_memory(server, "2025-11-25", UI) as client,
        on_stage(browser, (await client.read("ui://sales/fanlight-show"))["text"], client, bridge=bridge) as stage,
    ):
        await stage.run("report", {})
        figures = stage.view.locator("figure")
        await expect(figures.nth(0).locator("canvas").first).to_be_visible(timeout=60_000)
        await expect(figures.nth(1).locator("canvas").first).to_be_visible(timeout=60_000)
        await expect(figures.nth(1).locator(".noUi-handle")).to_be_visible()
        box = await figures.nth(0).bounding_box()
        assert box is not None
        assert box["width"] <= 640
        assert await stage.view.locator("img").count() == 0
        assert stage.problems == []
