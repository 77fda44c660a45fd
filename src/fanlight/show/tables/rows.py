"""A table of Python objects: dicts, dataclasses, pydantic models, named tuples, or plain values."""

import dataclasses
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from pydantic import BaseModel

from fanlight.protocol.errors import ArgumentError
from fanlight.show.tables.cell import TEMPORAL, UNORDERED, Kind, common_kind, plain, to_text
from fanlight.show.tables.query import Filter, Query, bound, is_day, next_day
from fanlight.show.tables.table import Column, Order

_MOST_ROWS: Final = 1_000_000
_SAMPLE: Final = 200
_ONLY_COLUMN: Final = "value"


class RowsTable:
    """A table of rows that are lists of values, one for each column."""

    def __init__(self, names: Sequence[str], rows: list[list[Any]]) -> None:
        self._rows = rows
        self.height = len(rows)
        self.columns = [_column(name, [row[index] for row in rows]) for index, name in enumerate(names)]
        sample = rows[:_SAMPLE]
        total = sum(sys.getsizeof(row) + sum(map(sys.getsizeof, row)) for row in sample)
        self.size = round(total / max(len(sample), 1) * self.height)

    @classmethod
    def of(cls, objects: Iterable[Any]) -> "RowsTable":
        """Return the table of some objects. Its columns are the fields of all of them, in order of appearance."""
        found = list(islice(objects, _MOST_ROWS + 1))
        if len(found) > _MOST_ROWS:
            raise ArgumentError(f"More than {_MOST_ROWS} rows. Return a frame of polars, pandas or pyarrow instead.")
        fields = [fields_of(each) for each in found]
        names = list(dict.fromkeys(name for row in fields for name in row))
        rows = [[_missing_as_none(plain(row.get(name))) for name in names] for row in fields]
        return cls([str(plain(name)) for name in names], rows)

    def order(self, query: Query) -> Order:
        tests = [self._test(condition) for condition in query.filters]
        if query.search:
            needle = query.search.casefold()
            tests.append(lambda row: any(needle in to_text(value).casefold() for value in row))
        positions = [index for index, row in enumerate(self._rows) if all(test(row) for test in tests)]
        # The last key first: each sort keeps the order of the previous one among equal values.
        for part in reversed(query.sort):
            present = [index for index in positions if self._rows[index][part.column] is not None]
            missing = [index for index in positions if self._rows[index][part.column] is None]
            try:
                present.sort(key=lambda index: self._rows[index][part.column], reverse=part.descending)
            except TypeError:  # values of several types
                present.sort(key=lambda index: to_text(self._rows[index][part.column]), reverse=part.descending)
            positions = present + missing
        return positions

    def rows(self, order: Order | None, start: int, stop: int) -> list[list[Any]]:
        return self._rows[start:stop] if order is None else [self._rows[index] for index in order[start:stop]]

    def _test(self, condition: Filter) -> Callable[[list[Any]], bool]:
        index, column = condition.column, self.columns[condition.column]
        compare = comparison(condition, column.kind, column.zone)
        if condition.op in ("null", "not_null"):
            return lambda row: (row[index] is None) == (condition.op == "null")

        def test(row: list[Any]) -> bool:
            try:
                return row[index] is not None and compare(row[index])
            except TypeError:  # a value of another type than the rest of its column
                return False

        return test


def comparison(condition: Filter, kind: Kind, zone: str | None) -> Callable[[Any], bool]:
    """Return the test of a filter, for one plain value that is not missing."""
    if condition.op == "contains" or kind not in ("integer", "number", "decimal", "boolean", *TEMPORAL):
        needle = condition.value.casefold()
        if condition.op == "equals":
            return lambda value: to_text(value).casefold() == needle
        return lambda value: needle in to_text(value).casefold()
    if condition.op in ("null", "not_null"):
        return lambda value: condition.op == "not_null"
    limit = bound(kind, zone, condition.value)
    if condition.op == "equals":
        return lambda value: bool(value == limit)
    if condition.op == "at_least":
        return lambda value: bool(value >= limit)
    if kind == "datetime" and is_day(condition.value):
        after = next_day(limit)
        return lambda value: bool(value < after)
    return lambda value: bool(value <= limit)


def is_row(value: Any) -> bool:
    """Return whether a value has named fields, so that a list of such values is a table."""
    if isinstance(value, type):
        return False
    return (
        isinstance(value, Mapping | BaseModel)
        or dataclasses.is_dataclass(value)
        or (isinstance(value, tuple) and hasattr(value, "_fields"))
        or (hasattr(value, "keys") and hasattr(value, "__getitem__"))  # a row of sqlite3
    )


def fields_of(value: Any) -> Mapping[Any, Any]:
    """Return the fields of an object by name. Objects in the fields stay as they are."""
    if isinstance(value, Mapping):
        return value
    if isinstance(value, BaseModel):
        return {**dict(value), **{name: getattr(value, name) for name in type(value).model_computed_fields}}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        named: Mapping[Any, Any] = value._asdict()
        return named
    if is_row(value):
        return {name: value[name] for name in value.keys()}  # noqa: SIM118  a row of sqlite3 iterates over its values
    value = plain(value)
    if isinstance(value, list | tuple):
        return dict(enumerate(value))
    return {_ONLY_COLUMN: value}


def _missing_as_none(value: Any) -> Any:
    """Return None for the missing values of pandas, which equal nothing and are no numbers."""
    return None if type(value).__name__ in ("NAType", "NaTType") else value


def _column(name: str, values: list[Any]) -> Column:
    kind = common_kind(values)
    first = next((value for value in values if value is not None), None)
    zone = None
    if kind == "datetime" and first is not None and first.tzinfo is not None:
        if any(value is not None and value.tzinfo is None for value in values):
            kind = "mixed"
        else:
            zone = str(getattr(first.tzinfo, "key", None) or "UTC")
    is_uniform = kind not in UNORDERED | {"mixed"} or len({type(value) for value in values if value is not None}) == 1
    return Column(name, kind, type(first).__name__ if first is not None and is_uniform else kind, zone)
