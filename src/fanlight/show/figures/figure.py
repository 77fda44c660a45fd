"""Figures and other things that a notebook would show: what a View gets of them, and what the model reads.

Which library made a value is known by what the value offers, so nothing of ours imports any of them.
"""

import base64
import importlib
import io
import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from fanlight.protocol.errors import ArgumentError
from fanlight.show.tables.cell import cut, one_line, to_text

FigureKind = Literal["image", "plotly", "vega", "bokeh", "html", "markdown", "text"]

_MOST_SVG: Final = 400_000
_MOST_BYTES: Final = 20_000_000
_WIDEST: Final = 1_600
_LABEL_CHARACTERS: Final = 80
_NAMED: Final = 12

# Kinds of traces that plotly draws with WebGL, which needs eval, and those that look the same without it.
_WITHOUT_WEBGL: Final = {"scattergl": "scatter", "heatmapgl": "heatmap", "scatterpolargl": "scatterpolar"}
_NEEDS_EVAL: Final = frozenset({"splom", "parcoords", "pointcloud"})
_NEEDS_NETWORK: Final = ("map", "mapbox")
# Models of bokeh whose code is text, such as CustomJS and CustomJSHover.
_BOKEH_CODE: Final = ("CustomJS", "CustomESM", "FuncTickFormatter")


@dataclass(frozen=True)
class Figure:
    """What a View gets: `data` is text, or base64 for an image that is not SVG."""

    kind: FigureKind
    data: str
    summary: str
    mime: str = ""
    picture: bytes | None = None
    """A PNG for the model, if there is one at hand."""


def figure_of(value: Any) -> Figure | None:
    """Return what a View shows of a value, or None if the value offers nothing to show. It may take long."""
    for is_one, convert in _CONVERSIONS:
        if is_one(value):
            made = convert(value)
            if len(made.data) > _MOST_BYTES:
                raise ArgumentError(
                    f"This {type(value).__name__} has {len(made.data):,} characters, and at most {_MOST_BYTES:,} can "
                    "be shown. Aggregate or sample its data."
                )
            return made
    return None


def is_figure(value: Any) -> bool:
    """Return whether `figure_of` has something to show."""
    return any(is_one(value) for is_one, _ in _CONVERSIONS)


def is_figure_type(kind: type) -> bool:
    """Return whether a class is one of figures."""
    return (
        _is_of(kind, "matplotlib", "Figure", "Axes")
        or _is_of(kind, "PIL", "Image")
        or _is_of(kind, "bokeh", "Model")
        or any(hasattr(kind, f"_repr_{name}_") for name in ("mimebundle", "svg", "png", "jpeg", "html", "markdown"))
    )


# plotly


def _plotly(value: Any) -> Figure:
    spec = json.loads(value.to_json())
    traces = spec.get("data", [])
    for trace in traces:
        kind = trace.get("type", "scatter")
        if kind in _NEEDS_EVAL:
            raise ArgumentError(
                f"plotly draws {kind!r} with WebGL code that it compiles at run time, which the policy of MCP Apps "
                "forbids. Show it as a picture: return the bytes of fig.to_image() as a PIL image."
            )
        if kind.endswith(_NEEDS_NETWORK):
            raise ArgumentError(
                f"plotly loads the map of {kind!r} from the internet, which a View cannot. Use 'scattergeo', or show "
                "it as a picture."
            )
        trace["type"] = _WITHOUT_WEBGL.get(kind, kind)
    return Figure("plotly", json.dumps(spec), _plotly_summary(spec))


def _plotly_summary(spec: Mapping[str, Any]) -> str:
    layout, traces = spec.get("layout", {}), spec.get("data", [])
    axes = [
        f"{name[0]} axis {_quoted(title)}"
        for name in ("xaxis", "yaxis")
        if (title := _text_of(layout.get(name, {}).get("title")))
    ]
    named = [
        f"{trace.get('type', 'scatter')}{_named(trace.get('name'))} ({_points(_longest(trace))})"
        for trace in traces[:_NAMED]
    ]
    return _sentences("A plotly figure", _text_of(layout.get("title")), axes, "trace", named, len(traces))


def _longest(trace: Mapping[str, Any]) -> int:
    """Return how many points a trace of plotly has."""
    lengths = [0]
    for key in ("x", "y", "z", "values", "labels", "r", "theta", "lat", "lon", "open", "locations"):
        data = trace.get(key)
        if isinstance(data, list):
            lengths.append(sum(map(len, data)) if data and isinstance(data[0], list) else len(data))
        elif isinstance(data, Mapping) and isinstance(data.get("bdata"), str):
            size = re.sub(r"\D", "", str(data.get("dtype", ""))) or "8"
            padding = data["bdata"].count("=", -2)
            lengths.append((len(data["bdata"]) * 3 // 4 - padding) // max(int(size), 1))
    return max(lengths)


def _text_of(title: Any) -> str:
    """Return the text of a title, which plotly has as a str or as an object."""
    return to_text(title.get("text") if isinstance(title, Mapping) else title)


# altair


def _altair(value: Any) -> Figure:
    altair = sys.modules.get("altair")
    if altair is not None and hasattr(altair, "data_transformers"):
        # A View can take more rows than a notebook; what is too much is refused by its size.
        with altair.data_transformers.disable_max_rows():
            spec = value.to_dict()
    else:
        spec = value.to_dict()
    return Figure("vega", json.dumps(spec, default=to_text), _vega_summary(spec))


def _vega_summary(spec: Mapping[str, Any]) -> str:
    layers = list(_layers(spec))
    axes: dict[str, str] = {}
    channels = ("x", "y", "color", "size", "row", "column")
    marks = []
    for layer in layers:
        mark = layer.get("mark")
        if mark is not None:
            marks.append(str(mark.get("type") if isinstance(mark, Mapping) else mark))
        for channel, definition in layer.get("encoding", {}).items():
            if isinstance(definition, Mapping) and channel in channels:
                name = definition.get("title") or definition.get("field") or definition.get("aggregate")
                if name:
                    axes.setdefault(channel, f"{channel} {_quoted(to_text(name))}")
    rows = sum(len(rows) for rows in spec.get("datasets", {}).values() if isinstance(rows, Sequence))
    title = spec.get("title")
    named = [axes[channel] for channel in channels if channel in axes]
    text = _sentences("A Vega-Lite chart", _text_of(title), named, "mark", marks[:_NAMED], len(marks))
    return f"{text} {rows:,} rows of data." if rows else text


def _layers(spec: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    yield spec
    for key in ("layer", "hconcat", "vconcat", "concat"):
        for part in spec.get(key, ()):
            if isinstance(part, Mapping):
                yield from _layers(part)
    if isinstance(spec.get("spec"), Mapping):
        yield from _layers(spec["spec"])


# bokeh


def _bokeh(value: Any) -> Figure:
    spec = json.loads(json.dumps(importlib.import_module("bokeh.embed").json_item(value)))
    names = sorted({name for model in _bokeh_models(spec) if (name := str(model["name"])).startswith(_BOKEH_CODE)})
    if names:
        raise ArgumentError(
            f"bokeh runs the code of {', '.join(names)} with eval, which the policy of MCP Apps forbids. Remove it, or "
            "let the user choose by an argument of the tool."
        )
    for root in spec["doc"]["roots"]:
        attributes = root.get("attributes", {})
        if root.get("name") == "Figure" and "sizing_mode" not in attributes:
            # A figure of bokeh is 600 pixels wide, which not every View is.
            attributes |= {"sizing_mode": "scale_width", "max_width": attributes.get("width", 600)}
    return Figure("bokeh", json.dumps(spec), _bokeh_summary(value))


def _bokeh_models(value: Any) -> Iterable[dict[str, Any]]:
    """Yield the models in a document of bokeh, without the button that saves a picture, which a View cannot."""
    if isinstance(value, dict):
        if value.get("type") == "object" and "name" in value:
            yield value
        for part in value.values():
            yield from _bokeh_models(part)
    elif isinstance(value, list):
        value[:] = [part for part in value if not (isinstance(part, dict) and part.get("name") == "SaveTool")]
        for part in value:
            yield from _bokeh_models(part)


def _bokeh_summary(value: Any) -> str:
    models = sorted(value.references(), key=lambda model: (len(model.id), model.id))
    plots = [model for model in models if _is_of(type(model), "bokeh", "Plot")]
    if not plots:
        return f"A bokeh {type(value).__name__}."
    parts = []
    for plot in plots[:_NAMED]:
        sides = (("x", (*plot.below, *plot.above)), ("y", (*plot.left, *plot.right)))
        axes = [
            f"{name} axis {_quoted(label)}"
            for name, found in sides
            for axis in found[:1]
            if (label := to_text(getattr(axis, "axis_label", None)))
        ]
        glyphs = [
            f"{type(drawn.glyph).__name__}{_named(drawn.name)} ({_points(_bokeh_points(drawn.data_source))})"
            for drawn in plot.renderers
            if hasattr(drawn, "glyph")
        ]
        title = to_text(getattr(plot.title, "text", plot.title))
        parts.append(_sentences("A bokeh figure", title, axes, "glyph", glyphs[:_NAMED], len(glyphs)))
    return " ".join(parts)


def _bokeh_points(source: Any) -> int:
    return max((len(data) for data in getattr(source, "data", {}).values()), default=0)


# matplotlib


def _matplotlib(value: Any) -> Figure:
    figure = value if hasattr(value, "savefig") else value.get_figure(root=True)
    svg = io.StringIO()
    figure.savefig(svg, format="svg", bbox_inches="tight")
    picture = io.BytesIO()
    summary = _matplotlib_summary(figure)
    # The text of an SVG stays sharp at every size, but one with a million points is larger than its pixels.
    if svg.tell() <= _MOST_SVG:
        made = Figure("image", svg.getvalue(), summary, "image/svg+xml")
    else:
        figure.savefig(picture, format="png", dpi=144, bbox_inches="tight")
        made = Figure("image", _base64(picture.getvalue()), summary, "image/png", picture.getvalue())
    if (pyplot := sys.modules.get("matplotlib.pyplot")) is not None:
        pyplot.close(figure)  # pyplot keeps its figures until they are closed
    return made


def _matplotlib_summary(figure: Any) -> str:
    parts = []
    heading = figure.get_suptitle()
    for axes in figure.axes:
        labels = [
            f"{name} axis {_quoted(label)}" for name in ("x", "y") if (label := getattr(axes, f"get_{name}label")())
        ]
        drawn = [
            *(f"line{_named(line.get_label())} ({_points(len(line.get_xdata()))})" for line in axes.get_lines()),
            *(
                f"{type(drawing).__name__}{_named(drawing.get_label())} ({_points(len(drawing.get_offsets()))})"
                for drawing in axes.collections
            ),
            *(f"{len(container)} bars{_named(container.get_label())}" for container in axes.containers),
            *("image" for _ in axes.images),
        ]
        parts.append(_sentences("Axes", axes.get_title(), labels, "drawing", drawn[:_NAMED], len(drawn)))
    start = f"A matplotlib figure, titled {_quoted(heading)}." if heading else "A matplotlib figure."
    return " ".join([start, *parts[:_NAMED]])


# Pictures, and whatever says how it is shown


def _pil(value: Any) -> Figure:
    width, height = value.size
    picture = value
    if max(width, height) > _WIDEST:
        picture = value.copy()
        picture.thumbnail((_WIDEST, _WIDEST))
    if picture.mode not in ("1", "L", "LA", "P", "RGB", "RGBA"):
        picture = picture.convert("RGB")
    buffer = io.BytesIO()
    picture.save(buffer, format="PNG")
    summary = f"A picture of {width} by {height} pixels."
    return Figure("image", _base64(buffer.getvalue()), summary, "image/png", buffer.getvalue())


def _bundled(value: Any) -> Figure:
    """Return what the best of the forms that a value offers to notebooks becomes."""
    offered = _mime_bundle(value)
    label = type(value).__name__
    for mime, data in offered.items():
        if mime.startswith("application/vnd.vega"):
            return Figure("vega", json.dumps(data), _vega_summary(data))
        if mime.startswith("application/vnd.plotly"):
            return Figure("plotly", json.dumps(data), _plotly_summary(data))
    if svg := offered.get("image/svg+xml"):
        return Figure("image", _text(svg), f"A picture ({label}).", "image/svg+xml")
    for mime in ("image/png", "image/jpeg"):
        if data := offered.get(mime):
            raw = data if isinstance(data, bytes) else base64.b64decode(data)
            return Figure("image", _base64(raw), f"A picture ({label}).", mime, raw if mime == "image/png" else None)
    plain = offered.get("text/plain") or offered.get("text/markdown") or ""
    if html := offered.get("text/html"):
        return Figure("html", _text(html), f"{label}: {cut(_text(plain), 500)}" if plain else f"{label}, as HTML.")
    if markdown := offered.get("text/markdown"):
        return Figure("markdown", _text(markdown), _text(markdown))
    return Figure("text", _text(plain), _text(plain))


def _mime_bundle(value: Any) -> dict[str, Any]:
    if callable(getattr(value, "_repr_mimebundle_", None)):
        bundle = value._repr_mimebundle_()
        bundle = bundle[0] if isinstance(bundle, tuple) else bundle
        if bundle:
            return dict(bundle)
    found = {}
    for name, mime in _REPRESENTATIONS.items():
        method = getattr(value, name, None)
        shown = method() if callable(method) else None
        if isinstance(shown, tuple):
            shown = shown[0]
        if shown:
            found[mime] = shown
    return found


_REPRESENTATIONS: Final = {
    "_repr_svg_": "image/svg+xml",
    "_repr_png_": "image/png",
    "_repr_jpeg_": "image/jpeg",
    "_repr_html_": "text/html",
    "_repr_markdown_": "text/markdown",
}


def _is_of(kind: type, package: str, *names: str) -> bool:
    return any(base.__module__.partition(".")[0] == package and base.__name__ in names for base in kind.__mro__)


def _instance(package: str, *names: str) -> Callable[[Any], bool]:
    return lambda value: _is_of(type(value), package, *names)


def _represents_itself(value: Any) -> bool:
    return not isinstance(value, type) and any(
        callable(getattr(value, name, None)) for name in ("_repr_mimebundle_", *_REPRESENTATIONS)
    )


_CONVERSIONS: Final[tuple[tuple[Callable[[Any], bool], Callable[[Any], Figure]], ...]] = (
    (_instance("plotly", "BaseFigure"), _plotly),
    (_instance("altair", "TopLevelMixin"), _altair),
    (_instance("matplotlib", "Figure", "Axes"), _matplotlib),
    (_instance("PIL", "Image"), _pil),
    (_instance("bokeh", "Model"), _bokeh),
    (_represents_itself, _bundled),
)


def _sentences(what: str, title: str, axes: list[str], noun: str, parts: list[str], total: int) -> str:
    words = [f"{what}, titled {_quoted(title)}" if title else what]
    if axes:
        words.append(", ".join(axes))
    if total:
        more = f" and {total - len(parts)} more" if total > len(parts) else ""
        words.append(f"{total} {noun}{'' if total == 1 else 's'}: {', '.join(parts)}{more}")
    return "; ".join(words) + "."


def _named(name: Any) -> str:
    text = to_text(name)
    return f" {_quoted(text)}" if text and not text.startswith("_") else ""


def _quoted(text: str) -> str:
    return f"“{cut(' '.join(one_line(text).split()), _LABEL_CHARACTERS)}”"


def _points(count: int) -> str:
    return "1 point" if count == 1 else f"{count:,} points"


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else to_text(value)


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
