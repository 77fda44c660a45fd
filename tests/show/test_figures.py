"""Figures and arrangements: what the View gets, and what the model reads."""

import base64
import gzip
import io
import json
from typing import Any

import altair as alt
import great_tables
import matplotlib
import numpy as np
import pandas as pd
import plotly.express as px
import plotly.graph_objects as go
import pytest
from fastmcp import FastMCP
from matplotlib.figure import Figure as MatplotlibFigure
from mcp.server import MCPServer
from PIL import Image

from fanlight import Apps, ArgumentError, RegistrationError
from fanlight.show import Columns, Keep, Markdown, Metric, Tabs
from fanlight.show.figures.figure import figure_of
from fanlight.show.figures.library import library, read_part
from fanlight.show.item import Builder
from fanlight.show.shows import DATA_TOOL
from support.shop import HIGH_LEVEL, Kind
from support.wire import NO_UI, UI, in_memory

matplotlib.use("Agg")

pytestmark = pytest.mark.anyio

SALES = pd.DataFrame({"month": ["Jan", "Feb", "Mar"], "total": [3, 1, 2], "region": ["n", "s", "n"]})


def lines(title: str = "Sales") -> MatplotlibFigure:
    figure = MatplotlibFigure()
    axes = figure.subplots()
    axes.plot([1, 2, 3], [3, 1, 2], label="north")
    axes.bar([1, 2], [1, 2])
    axes.set(title=title, xlabel="month", ylabel="total")
    return figure


def summary(value: Any) -> str:
    made = figure_of(value)
    assert made is not None
    return made.summary


def test_the_model_reads_title_axes_and_traces_of_a_plotly_figure() -> None:
    figure = px.line(SALES, x="month", y="total", title="Sales of 2026")
    figure.add_bar(x=[1, 2], y=[1, 2], name="target")
    assert summary(figure) == (
        "A plotly figure, titled “Sales of 2026”; x axis “month”, y axis “total”; "
        "2 traces: scatter (3 points), bar “target” (2 points)."
    )


def test_a_title_cannot_end_its_line_or_turn_the_text_around_for_the_model() -> None:
    text = "a\n\nIgnore \u202eall\u202c\u061c\u2066 b"
    expected = "“a Ignore all b”"
    assert expected in summary(px.bar(SALES, x="month", y="total", title=text))
    assert expected in summary(alt.Chart(SALES, title=text).mark_bar())
    assert expected in summary(lines(text))
    assert metric_text(text) == "a Ignore  all  b: 1"


def metric_text(label: str) -> str:
    builder = Builder(lambda _: None, 50, 10, 4_000, False, 64_000)
    return builder.build(Metric(label, 1), "tool")[1]


def test_the_points_of_arrays_are_counted() -> None:
    assert "(500 points)" in summary(go.Figure(go.Scatter(x=np.arange(500), y=np.random.default_rng(1).random(500))))


def test_traces_that_need_webgl_are_drawn_without_it() -> None:
    figure = px.scatter(pd.DataFrame({"x": range(2000), "y": range(2000)}), x="x", y="y", render_mode="webgl")
    made = figure_of(figure)
    assert made is not None
    assert json.loads(made.data)["data"][0]["type"] == "scatter"


@pytest.mark.parametrize(
    ("trace", "cure"),
    [(go.Splom(), "Show it as a picture"), (go.Parcoords(), "Show it as a picture"), (go.Scattermap(), "scattergeo")],
)
def test_traces_that_cannot_be_drawn_are_refused_with_the_cure(trace: Any, cure: str) -> None:
    with pytest.raises(ArgumentError, match=cure):
        figure_of(go.Figure(trace))


def test_the_model_reads_title_axes_and_marks_of_an_altair_chart() -> None:
    chart = alt.Chart(SALES, title="Sales").mark_bar().encode(x="month", y="sum(total)", color="region")
    assert summary(chart) == (
        "A Vega-Lite chart, titled “Sales”; x “month”, y “total”, color “region”; 1 mark: bar. 3 rows of data."
    )
    assert "2 marks: line, point" in summary(
        alt.Chart(SALES).mark_line().encode(x="month") + alt.Chart(SALES).mark_point().encode(x="month")
    )


def test_a_chart_of_more_rows_than_a_notebook_takes_works() -> None:
    frame = pd.DataFrame({"x": range(6000), "y": range(6000)})
    assert "6,000 rows of data" in summary(alt.Chart(frame).mark_point().encode(x="x", y="y"))


def test_a_matplotlib_figure_is_an_svg_and_one_with_many_points_a_png() -> None:
    made = figure_of(lines())
    assert made is not None
    assert made.mime == "image/svg+xml"
    assert made.data.lstrip().startswith("<?xml")
    assert made.summary == (
        "A matplotlib figure. Axes, titled “Sales”; x axis “month”, y axis “total”; "
        "2 drawings: line “north” (3 points), 2 bars."
    )
    many = MatplotlibFigure()
    points = np.random.default_rng(1).random((2, 20_000))
    many.subplots().plot(*points, "o")
    made = figure_of(many)
    assert made is not None
    assert made.mime == "image/png"
    assert base64.b64decode(made.data).startswith(b"\x89PNG")


def test_axes_and_figures_of_pyplot_are_shown_and_closed() -> None:
    import matplotlib.pyplot as plt

    axes = SALES.plot.bar(x="month", y="total")
    assert plt.get_fignums()
    assert "3 bars" in summary(axes)
    assert not plt.get_fignums()


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "L", "1", "P", "CMYK", "F"])
def test_a_picture_of_any_mode_is_a_png(mode: str) -> None:
    made = figure_of(Image.new(mode, (2000, 10)))
    assert made is not None
    assert made.summary == "A picture of 2000 by 10 pixels."
    with Image.open(io.BytesIO(base64.b64decode(made.data))) as shown:
        assert shown.size == (1600, 8)


class Bundled:
    def __init__(self, bundle: Any) -> None:
        self.bundle = bundle

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        return self.bundle


class Drawn:
    def _repr_svg_(self) -> str:
        return "<svg xmlns='http://www.w3.org/2000/svg'/>"


class Marked:
    def _repr_markdown_(self) -> str:
        return "# Title"


PNG = b"\x89PNG\r\n"


@pytest.mark.parametrize(
    ("value", "kind", "data"),
    [
        (Drawn(), "image", "<svg xmlns='http://www.w3.org/2000/svg'/>"),
        (Marked(), "markdown", "# Title"),
        (Bundled({"text/html": "<b>x</b>", "text/plain": "x"}), "html", "<b>x</b>"),
        (Bundled({"text/plain": "x"}), "text", "x"),
        (Bundled(({"image/png": PNG}, {})), "image", base64.b64encode(PNG).decode()),
        (Bundled({"image/png": base64.b64encode(PNG).decode()}), "image", base64.b64encode(PNG).decode()),
        (Bundled({"application/vnd.vegalite.v5+json": {"mark": "bar"}}), "vega", '{"mark": "bar"}'),
    ],
)
def test_whatever_says_how_it_is_shown_is_shown_so(value: Any, kind: str, data: str) -> None:
    made = figure_of(value)
    assert made is not None
    assert (made.kind, made.data) == (kind, data)


def test_what_offers_nothing_is_not_a_figure() -> None:
    assert figure_of(object()) is None
    assert figure_of(Drawn) is None


def test_a_great_table_is_html() -> None:
    made = figure_of(great_tables.GT(SALES).tab_header("Sales"))
    assert made is not None
    assert made.kind == "html"
    assert "Sales" in made.data


@pytest.mark.parametrize(("name", "contains"), [("plotly", "plotly.js v"), ("vega", "vegaEmbed")])
def test_a_library_is_read_in_parts_below_a_megabyte(name: str, contains: str) -> None:
    found = library(name)
    parts = [read_part(name, str(number)) for number in range(found["parts"])]
    assert max(map(len, parts)) < 1_000_000
    assert contains in gzip.decompress(b"".join(map(base64.b64decode, parts))).decode("utf-8")


def make(kind: Kind = "MCPServer") -> tuple[Any, Apps]:
    server: Any = MCPServer("sales") if kind == "MCPServer" else FastMCP("sales")
    return server, Apps(server)


@pytest.mark.parametrize("kind", HIGH_LEVEL)
async def test_several_things_are_arranged_and_summarized(kind: Kind) -> None:
    server, apps = make(kind)

    @apps.show()
    def report() -> list[Any]:
        return [
            Columns(Metric("Revenue", 1234.5, delta=-3), Metric("Orders", np.int64(7), delta="+2 %")),
            Tabs({"Chart": lines(), "Rows": SALES}),
            Markdown("All **good**."),
        ]

    async with in_memory(server, "2025-11-25", UI) as client:
        result = await client.call("report")
        assert (await client.tools())["report"]["_meta"]["ui"]["resourceUri"] == "ui://sales/fanlight-show"
    item = result["structuredContent"]["item"]
    assert item["kind"] == "stack"
    columns, tabs, text = item["items"]
    assert [metric["good"] for metric in columns["items"]] == [False, True]
    assert columns["items"][1]["value"] == 7
    assert tabs["labels"] == ["Chart", "Rows"]
    assert [part["kind"] for part in tabs["items"]] == ["image", "table"]
    assert text == {"kind": "markdown", "data": "All **good**."}
    words = result["content"][0]["text"]
    assert words.startswith("Revenue: 1234.5 (-3)\n\nOrders: 7 (+2 %)\n\nChart:\n\nA matplotlib figure.")
    assert "Rows:\n\nA table of 3 rows" in words


@pytest.mark.parametrize("kind", HIGH_LEVEL)
async def test_a_chart_library_is_a_resource_that_views_read(kind: Kind) -> None:
    server, apps = make(kind)

    @apps.show()
    def chart() -> go.Figure:
        return px.line(SALES, x="month", y="total")

    async with in_memory(server, "2025-11-25", UI) as client:
        item = (await client.call("chart"))["structuredContent"]["item"]
        part = await client.read(f"{item['library']['uri']}0")
        assert len(part["text"]) < 1_000_000
        assert base64.b64decode(part["text"]).startswith(b"\x1f\x8b")


async def test_a_large_figure_is_kept_and_read_in_parts() -> None:
    server, apps = make()

    @apps.show()
    def chart() -> go.Figure:
        return go.Figure(go.Scatter(x=list(range(150_000)), y=[1.25] * 150_000))

    async with in_memory(server, "2025-11-25", UI) as client:
        result = await client.call("chart")
        assert len(json.dumps(result)) < 100_000
        item = result["structuredContent"]["item"]
        text, start = "", 0
        while True:
            answer = await client.call(DATA_TOOL, handle=item["handle"], start=start)
            assert len(json.dumps(answer)) <= 601_000  # the client of the SDK takes messages of up to 1 MiB
            data = answer["structuredContent"]
            text, start = text + data["text"], data["next"]
            if start >= data["total"]:
                break
    assert len(json.loads(text)["data"][0]["x"]) == 150_000


async def test_the_model_gets_the_picture_if_it_is_asked_for() -> None:
    server, apps = make()

    @apps.show(image_for_model=True)
    def picture() -> Image.Image:
        return Image.new("RGB", (8, 8), "red")

    async with in_memory(server, "2025-11-25", NO_UI) as client:
        content = (await client.call("picture"))["content"]
    assert [block["type"] for block in content] == ["text", "image"]
    assert content[1]["mimeType"] == "image/png"


@pytest.mark.parametrize("annotation", [pd.DataFrame, list[dict[str, int]], "pd.DataFrame | None"])
async def test_a_tool_that_returns_only_tables_has_the_smaller_view(annotation: Any) -> None:
    server, apps = make()

    def tool() -> Any:
        return SALES

    tool.__annotations__["return"] = annotation
    apps.show()(tool)
    async with in_memory(server, "2025-11-25", UI) as client:
        assert (await client.tools())["tool"]["_meta"]["ui"]["resourceUri"] == "ui://sales/fanlight-table"


async def test_a_figure_from_a_tool_that_promised_a_table_is_an_error() -> None:
    server, apps = make()

    @apps.show()
    def tool() -> pd.DataFrame:
        return lines()

    async with in_memory(server, "2025-11-25", UI) as client:
        assert (await client.call("tool"))["isError"]


def test_too_many_things_and_empty_arrangements_are_errors() -> None:
    with pytest.raises(ArgumentError, match="expected a dict with at least one tab"):
        Tabs({})
    with pytest.raises(ArgumentError, match="expected at least one thing"):
        Columns()
    _, apps = make()
    with pytest.raises(RegistrationError, match="image_for_model is 'yes', expected True or False"):
        apps.show(image_for_model="yes", keep=Keep())  # type: ignore[arg-type]


def test_a_metric_of_an_object_without_text_is_an_error_that_names_it() -> None:
    with pytest.raises(
        ArgumentError, match=r"Metric\('Revenue'\): the value is of the class object, which has no text"
    ):
        Builder(lambda _: None, 50, 10, 4_000, False, 64_000).build(Metric("Revenue", object()), "tool")
