"""A table as Views and models see it: columns with kinds, pages of rows, and rows in the order of a query."""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import pydantic_core

from fanlight.show.part import PART_BYTES, json_size, part_of
from fanlight.show.tables.cell import UNORDERED, Cell, Kind, cut, to_cell, to_csv
from fanlight.show.tables.query import Query

MOST_COLUMNS: Final = 200
"""How many columns a page has at most. CSV files have all."""
_NAME_CHARACTERS: Final = 120
_CELL_CHARACTERS: Final = 1_000
_SHORTEST_CELL: Final = 15
_CSV_ROWS: Final = 1_000


@dataclass(frozen=True)
class Column:
    """A column: the name that people see, the kind of its values, and its type in the words of its library."""

    name: str
    kind: Kind
    type: str
    zone: str | None = None
    """The time zone of a `datetime` column whose values have one."""


Order = Any
"""Positions of rows, in the order of a query: whatever a table needs to find them. `len()` is their number."""


class Table(Protocol):
    """Rows and columns. Nothing about a table changes."""

    columns: list[Column]
    height: int
    size: int
    """About how many bytes it takes in memory."""

    def order(self, query: Query) -> Order:
        """Return the positions of the rows that fit a query, in its order. It may take long: call it in a thread."""
        ...

    def rows(self, order: Order | None, start: int, stop: int) -> list[list[Any]]:
        """Return rows of an order, or of the table itself, as plain values in which None is missing."""
        ...


def describe(columns: Sequence[Column]) -> list[dict[str, Any]]:
    """Return the columns as a View gets them."""
    return [
        {
            "name": cut(column.name, _NAME_CHARACTERS),
            "kind": column.kind,
            "type": cut(column.type, _NAME_CHARACTERS),
            **({"zone": column.zone} if column.zone else {}),
            **({"fixed": True} if column.kind in UNORDERED else {}),
        }
        for column in columns[:MOST_COLUMNS]
    ]


def page(table: Table, order: Order | None, start: int, count: int, budget: int) -> list[list[Cell]]:
    """Return up to `count` rows that together have at most `budget` bytes as JSON, and at least one if there is any."""
    raw = table.rows(order, start, start + count)
    limit = _CELL_CHARACTERS
    while True:
        cells = _fitting(raw, limit, budget)
        if cells or not raw or limit <= _SHORTEST_CELL:
            return cells or [[to_cell(value, limit) for value in row[:MOST_COLUMNS]] for row in raw[:1]]
        limit //= 4


def _fitting(raw: list[list[Any]], limit: int, budget: int) -> list[list[Cell]]:
    cells: list[list[Cell]] = []
    for row in raw:
        made = [to_cell(value, limit) for value in row[:MOST_COLUMNS]]
        budget -= len(pydantic_core.to_json(made)) + 1
        if budget < 0:
            break
        cells.append(made)
    return cells


def csv_part(
    table: Table, order: Order | None, start: int, skip: int, budget: int = PART_BYTES
) -> tuple[str, int, int]:
    """Return the next lines of a CSV file, and where the next part begins.

    Line 0 has the names of the columns, line 1 the first row. A part has at most `budget` bytes as JSON. If a line is
    longer, a part ends within it, and the next one skips the characters of the line that were already sent.
    """
    parts: list[str] = []
    for line in _csv_lines(table, order, start):
        left = line[skip:]
        size = json_size(left)
        if size > budget:
            if not parts:
                parts.append(part_of(left, 0, budget))
                skip += len(parts[0])
            break
        parts.append(left)
        start, skip, budget = start + 1, 0, budget - size
    return "".join(parts), start, skip


def _csv_lines(table: Table, order: Order | None, start: int) -> Iterator[str]:
    height = table.height if order is None else len(order)
    if start == 0:
        yield _csv_line(column.name for column in table.columns)
    for row in _rows_from(table, order, max(start - 1, 0), height):
        yield _csv_line(row)


def _csv_line(values: Iterable[Any]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\r\n").writerow([to_csv(value) for value in values])
    return buffer.getvalue()


def _rows_from(table: Table, order: Order | None, start: int, height: int) -> Iterator[list[Any]]:
    while start < height:
        yield from table.rows(order, start, min(start + _CSV_ROWS, height))
        start += _CSV_ROWS
