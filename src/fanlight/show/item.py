"""What a function returned, as items: what a View shows, and what the model reads of it."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from fanlight.protocol.errors import ArgumentError
from fanlight.show.arrangement import Columns, Markdown, Metric, Tabs
from fanlight.show.figures.figure import Figure, figure_of, is_figure
from fanlight.show.figures.library import library
from fanlight.show.files.download import Download
from fanlight.show.tables.cell import one_line, to_cell, to_text
from fanlight.show.tables.frame import FrameTable, is_frame
from fanlight.show.tables.rows import RowsTable
from fanlight.show.tables.summary import summarize
from fanlight.show.tables.table import MOST_COLUMNS, Table, describe, page

_ARRANGEMENTS: Final = (Tabs, Columns, Metric, Markdown, Download)
_MOST_THINGS: Final = 100
_MODEL_PICTURE: Final = 500_000

Keeping = Callable[["Table | str | Download"], str | None]
"""Keeps a table, a text or a file for a View, and returns its handle, or None if it is too large."""


@dataclass
class Builder:
    """Makes the items of one result."""

    keep: Keeping
    page_rows: int
    summary_rows: int
    summary_characters: int
    shown: bool
    """Whether the client shows the items to the user."""
    budget: int
    """How many bytes of data the result may have."""
    pictures: list[bytes] = field(default_factory=list)
    """Pictures that the model may look at, as PNG."""

    def build(self, value: Any, tool: str) -> tuple[dict[str, Any], str]:
        """Return the item of a value, and its summary for the model. It may take long: call it in a thread."""
        things = _count(value)
        if things > _MOST_THINGS:
            raise ArgumentError(f"{tool}() returned {things} things, and at most {_MOST_THINGS} can be shown at once.")
        self.budget //= max(things, 1)
        self.summary_characters //= max(things, 1)
        self.summary_rows = -(-self.summary_rows // max(things, 1))
        return self._item(value, tool)

    def _item(self, value: Any, tool: str) -> tuple[dict[str, Any], str]:
        match value:
            case Tabs():
                parts = [self._item(part, tool) for part in value.tabs.values()]
                labels = list(value.tabs)
                texts = [f"{label}:\n\n{text}" for label, (_, text) in zip(labels, parts, strict=True)]
                return {"kind": "tabs", "labels": labels, "items": [item for item, _ in parts]}, "\n\n".join(texts)
            case Columns():
                return self._several("columns", value.things, tool)
            case Metric():
                return _metric(value)
            case Markdown():
                return {"kind": "markdown", "data": value.text}, value.text
            case Download():
                return self._download(value)
        if isinstance(value, FrameTable | RowsTable):
            return self._table(value)
        if is_stack(value):
            return self._several("stack", value, tool)
        if not is_frame(value) and is_figure(value):
            made = figure_of(value)
            assert made is not None
            return self._figure(made)
        if isinstance(value, str | int | float):
            return {"kind": "text", "data": to_text(value)}, to_text(value)
        return self._table(as_table(value, tool))

    def _several(self, kind: str, values: Sequence[Any], tool: str) -> tuple[dict[str, Any], str]:
        parts = [self._item(part, tool) for part in values]
        return {"kind": kind, "items": [item for item, _ in parts]}, "\n\n".join(text for _, text in parts)

    def _table(self, table: Table) -> tuple[dict[str, Any], str]:
        item = {
            "kind": "table",
            "handle": self.keep(table),
            "columns": describe(table.columns),
            "rows": page(table, None, 0, self.page_rows, self.budget),
            "start": 0,
            "total": table.height,
            "pageRows": self.page_rows,
            "hiddenColumns": max(len(table.columns) - MOST_COLUMNS, 0),
        }
        return item, summarize(table, self.summary_rows, self.summary_characters, shown=self.shown)

    def _download(self, download: Download) -> tuple[dict[str, Any], str]:
        handle = self.keep(download)
        if handle is None:
            raise ArgumentError(f"{download} is larger than all that the server keeps. Raise keep=Keep(bytes=...).")
        item = {"kind": "download", "handle": handle, "name": download.name, "type": download.type}
        return {**item, "size": download.size}, f"A file that the user can save: {download}."

    def _figure(self, figure: Figure) -> tuple[dict[str, Any], str]:
        item: dict[str, Any] = {"kind": figure.kind, "alt": figure.summary}
        if figure.mime:
            item["mime"] = figure.mime
        if figure.kind in ("plotly", "vega", "bokeh"):
            item["library"] = library(figure.kind)
        if len(figure.data) <= self.budget or figure.kind in ("text", "markdown"):
            item["data"] = figure.data
        else:
            item["handle"] = self.keep(figure.data)
            if item["handle"] is None:
                raise ArgumentError("This figure is larger than all that the server keeps. Raise keep=Keep(bytes=...).")
        if figure.picture is not None and len(figure.picture) <= _MODEL_PICTURE:
            self.pictures.append(figure.picture)
        return item, figure.summary


def as_table(value: Any, tool: str) -> Table:
    """Return what a function returned as a table, or raise ArgumentError."""
    if is_frame(value):
        return FrameTable.of(value)
    if value is None:
        return RowsTable([], [])
    if isinstance(value, Iterable) and not is_figure(value) and not isinstance(value, str | bytes | bytearray | dict):
        return RowsTable.of(value)
    raise ArgumentError(
        f"{tool}() returned {type(value).__module__}.{type(value).__qualname__}, which cannot be shown. Return a frame "
        "of pandas, polars, pyarrow or DuckDB, a list of dicts, dataclasses or pydantic models, or a figure."
    )


def is_stack(value: Any) -> bool:
    """Return whether a list or tuple has things to show, not the rows of a table."""
    if not isinstance(value, list | tuple) or hasattr(value, "_fields"):
        return False
    return any(isinstance(part, _ARRANGEMENTS) or is_frame(part) or is_figure(part) for part in value[:_MOST_THINGS])


def _count(value: Any) -> int:
    match value:
        case Tabs():
            return sum(map(_count, value.tabs.values()))
        case Columns():
            return sum(map(_count, value.things))
    return sum(map(_count, value)) if is_stack(value) else 1


def _metric(metric: Metric) -> tuple[dict[str, Any], str]:
    for name, value in (("value", metric.value), ("delta", metric.delta)):
        if type(value).__str__ is object.__str__ and type(value).__repr__ is object.__repr__:
            raise ArgumentError(
                f"Metric({metric.label!r}): the {name} is of the class {type(value).__name__}, which has no text of "
                "its own. Give it a number or a str."
            )
    delta = "" if metric.delta is None else to_text(metric.delta)
    if isinstance(metric.delta, int | float) and metric.delta > 0:
        delta = f"+{delta}"
    good = metric.good if metric.good is not None else not delta.startswith(("-", "−"))
    item = {"kind": "metric", "label": metric.label, "value": to_cell(metric.value, 200), "delta": delta, "good": good}
    return item, one_line(f"{metric.label}: {to_text(metric.value)}" + (f" ({delta})" if delta else ""))
