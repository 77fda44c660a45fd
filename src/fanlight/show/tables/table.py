"""A table as Views and models see it: columns with kinds, pages of rows, and rows in the order of a query."""

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import pydantic_core

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


def csv_part(table: Table, order: Order | None, start: int, budget: int) -> tuple[str, int]:
    """Return the next lines of a CSV file, the names of the columns first, and the position of the row after them.

    A part ends after the row with which it reaches `budget` characters, so it may be a little longer than that.
    """
    height = table.height if order is None else len(order)
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\r\n")
    if start == 0:
        writer.writerow([to_csv(column.name) for column in table.columns])
    for row in _rows_from(table, order, start, height):
        writer.writerow([to_csv(value) for value in row])
        start += 1
        if buffer.tell() >= budget:
            break
    return buffer.getvalue(), start


def _rows_from(table: Table, order: Order | None, start: int, height: int) -> Iterator[list[Any]]:
    while start < height:
        yield from table.rows(order, start, min(start + _CSV_ROWS, height))
        start += _CSV_ROWS
