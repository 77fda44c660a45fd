"""What the model reads of a table: its size, its columns, and the first rows."""

import re
from collections.abc import Sequence
from typing import Any, Final

from fanlight.show.tables.cell import cut, one_line, to_text
from fanlight.show.tables.table import Column, Table

_CELL_CHARACTERS: Final = 60
_NAMED_COLUMNS: Final = 60
_TABLE_COLUMNS: Final = 20
# Ends a cell of a Markdown table.
_SPECIAL: Final = re.compile(r"(\|)")


def summarize(table: Table, rows: int, characters: int, *, shown: bool) -> str:
    """Return the summary of a table: at most `rows` of its rows, and about as many characters as given.

    `shown` says whether the client shows the table to the user.
    """
    height, width = table.height, len(table.columns)
    parts = [f"A table of {_count(height, 'row')} and {_count(width, 'column')}.", _columns(table.columns)]
    left = characters - sum(map(len, parts))
    lines, count = _first_rows(table, rows, left)
    if lines:
        parts.append("\n".join(lines))
    if note := _note(count, height, min(width, _TABLE_COLUMNS), width, shown):
        parts.append(note)
    return "\n\n".join(part for part in parts if part)


def _columns(columns: Sequence[Column]) -> str:
    if not columns:
        return ""
    named = [f"{_inline(column.name)} ({_inline(column.type)})" for column in columns[:_NAMED_COLUMNS]]
    more = len(columns) - len(named)
    return "Columns: " + ", ".join(named) + (f", and {more} more." if more > 0 else ".")


def _first_rows(table: Table, rows: int, characters: int) -> tuple[list[str], int]:
    """Return the lines of a Markdown table, and how many rows it has."""
    columns = table.columns[:_TABLE_COLUMNS]
    if not columns or not table.height or not rows:
        return [], 0
    lines = [_line([_inline(column.name) for column in columns]), "|" + "---|" * len(columns)]
    left = characters - sum(map(len, lines))
    count = 0
    for row in table.rows(None, 0, rows):
        line = _line([_value(value) for value in row[:_TABLE_COLUMNS]])
        left -= len(line)
        if left < 0 and count:
            break
        lines.append(line)
        count += 1
    return lines, count


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _value(value: Any) -> str:
    return "null" if value is None else _inline(to_text(value))


def _inline(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", cut(one_line(text), _CELL_CHARACTERS))


def _note(count: int, height: int, columns: int, width: int, shown: bool) -> str:
    left_out = [
        *([f"{_count(height - count, 'row')}"] if count < height else []),
        *([f"{_count(width - columns, 'column')}"] if columns < width else []),
    ]
    sentences = []
    if left_out:
        sentences.append(f"Left out here: {' and '.join(left_out)}.")
    if shown:
        sentences.append(
            "The user sees the whole table, and can sort, filter and search it; do not repeat its rows."
            if left_out
            else "The user sees this table; do not repeat it."
        )
    return " ".join(sentences)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
