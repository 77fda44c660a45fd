"""A table of a frame: pandas, polars, pyarrow, DuckDB, and whatever has the Arrow PyCapsule interface, by narwhals."""

import importlib.util
import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

from fanlight.protocol.errors import ArgumentError
from fanlight.show.tables.cell import NUMERIC, TEMPORAL, UNORDERED, Kind, common_kind, kind_of, plain, to_text
from fanlight.show.tables.query import Filter, Query, bound, is_day, next_day
from fanlight.show.tables.table import Column, Order

try:
    import narwhals as nw
except ImportError:  # pragma: no cover
    _missing = True
else:
    _missing = False

_SAMPLE: Final = 200
_POSITION: Final = "fanlight position"
_ARROW_BACKENDS: Final = ("pyarrow", "polars", "pandas")
_NUMBER: Final = re.compile(r"-?\d+(?:\.\d*)?")
_TIME: Final = re.compile(r"\d{4}-\d.*|\d\d:\d\d.*")
_TEXT_KINDS: Final = ("text", "mixed")
NEEDS_NARWHALS: Final = "narwhals is missing, which reads frames: pip install 'fanlight[show]'."


def narwhals_is_missing() -> bool:
    """Return whether frames cannot be read."""
    return _missing


def is_frame(value: Any) -> bool:
    """Return whether a value is a frame or a series of a known library, or can be read as one through Arrow."""
    return not isinstance(value, type) and is_frame_type(type(value))


def is_frame_type(kind: type) -> bool:
    """Return whether a class is one of frames."""
    if hasattr(kind, "__arrow_c_stream__") or hasattr(kind, "__dataframe__"):
        return True
    names = {(base.__module__.partition(".")[0], base.__name__) for base in kind.__mro__}
    return bool(names & _FRAMES)


_FRAMES: Final = {
    ("pandas", "DataFrame"),
    ("pandas", "Series"),
    ("modin", "DataFrame"),
    ("polars", "LazyFrame"),
    ("narwhals", "DataFrame"),
    ("narwhals", "LazyFrame"),
    ("_duckdb", "DuckDBPyRelation"),
    ("duckdb", "DuckDBPyRelation"),
}


class FrameTable:
    """A table of an eager frame whose columns have distinct names. `names` are those that people see."""

    def __init__(self, frame: Any, names: Sequence[str]) -> None:
        self._frame = frame
        self.height = len(frame)
        self.size = _size(frame)
        series = [frame.get_column(name) for name in frame.columns]
        self.columns = [_column(name, each) for name, each in zip(names, series, strict=True)]

    @classmethod
    def of(cls, native: Any) -> "FrameTable":
        """Return the table of a frame of any library. It may take long for one that is computed now."""
        if _missing:
            raise ArgumentError(NEEDS_NARWHALS)
        native = nw.to_native(native, pass_through=True)
        if _is_pandas(native):
            native, names = _plain_pandas(native)
        else:
            native, names = _distinct(native), None
        frame = _eager(native)
        # pyarrow can neither filter nor sort these yet.
        views = [name for name in frame.columns if _type_name(frame.get_column(name)) == "string_view"]
        if views:
            frame = frame.with_columns(nw.col(*views).cast(nw.String))
        return cls(frame, names if names is not None else _names(native, frame))

    def rows(self, order: Order | None, start: int, stop: int) -> list[list[Any]]:
        if order is None:
            part = self._frame[start:stop]
        else:
            positions = order[start:stop].to_list()
            try:
                part = self._frame[positions] if positions else self._frame[:0]
            except Exception:  # whatever a library raises for a type from which it cannot take rows
                return [row for position in positions for row in self.rows(None, position, position + 1)]
        columns = [_values(part.get_column(name)) for name in part.columns]
        return [list(row) for row in zip(*columns, strict=True)] if columns else [[] for _ in range(len(part))]

    def order(self, query: Query) -> Order:
        try:
            return self._order(query, as_text=False)
        except ArgumentError:
            raise
        except Exception:  # whatever a library raises for a type that it cannot compare
            return self._order(query, as_text=True)

    def _order(self, query: Query, *, as_text: bool) -> Order:
        """Return the positions for a query. Only the columns that it names are read, and only positions are sorted.

        With `as_text`, columns of mixed values, those of the sort and those of a search are compared as text.
        """
        names = self._frame.columns
        used = {part.column for part in (*query.sort, *query.filters)}
        searched = self._searched(query.search) if query.search else []
        frame = self._frame.select(names[index] for index in sorted(used | set(searched)))
        replaced = [names[index] for index in used | set(searched) if self._needs_text(index, query, as_text)]
        if replaced:
            frame = frame.with_columns(_as_text(frame.get_column(name)) for name in replaced)
        frame = frame.with_row_index(_POSITION) if frame.columns else self._frame.with_row_index(_POSITION)
        conditions = [self._condition(condition, names[condition.column] in replaced) for condition in query.filters]
        if query.search and not searched:
            frame = frame[:0]
        elif query.search:
            found = [self._match(index, query.search, names[index] in replaced) for index in searched]
            conditions.append(nw.any_horizontal(*found, ignore_nulls=True))
        if conditions:
            frame = frame.filter(*conditions)
        if query.sort:
            by = [names[part.column] for part in query.sort]
            frame = frame.select(_POSITION, *dict.fromkeys(by))
            frame = frame.sort(*by, descending=[part.descending for part in query.sort], nulls_last=True)
        return frame.get_column(_POSITION)

    def _needs_text(self, index: int, query: Query, as_text: bool) -> bool:
        if self.columns[index].kind == "mixed":
            return True
        is_filtered = any(part.column == index for part in query.filters)
        return as_text and (any(part.column == index for part in query.sort) or not is_filtered)

    def _searched(self, text: str) -> list[int]:
        """Return the columns that a search reads: text, and those of numbers or times for what looks like one."""
        kinds = set(_TEXT_KINDS)
        if _NUMBER.fullmatch(text):
            kinds |= NUMERIC
        if _TIME.fullmatch(text):
            kinds |= TEMPORAL
        return [index for index, column in enumerate(self.columns) if column.kind in kinds]

    def _match(self, index: int, text: str, is_text: bool) -> Any:
        """Return the condition of a search for one column."""
        name, kind = self._frame.columns[index], self.columns[index].kind
        if kind in ("number", "decimal") and not is_text:
            # Writing a million fractions as text takes seconds, and a part of one is rarely what is searched.
            return nw.col(name) == bound(kind, None, text)
        return _contains(name, text.lower())

    def _condition(self, condition: Filter, is_text: bool) -> Any:
        name, column = self._frame.columns[condition.column], self.columns[condition.column]
        found = nw.col(name)
        if condition.op == "null":
            return found.is_null()
        if condition.op == "not_null":
            return ~found.is_null()
        if is_text or condition.op == "contains" or column.kind not in (*NUMERIC, *TEMPORAL, "boolean"):
            if condition.op == "equals":
                return _lower(name) == condition.value.lower()
            return _contains(name, condition.value.lower())
        limit = bound(column.kind, column.zone, condition.value)
        if condition.op == "equals":
            return found == limit
        if condition.op == "at_least":
            return found >= limit
        if column.kind == "datetime" and is_day(condition.value):
            return found < next_day(limit)
        return found <= limit


def _lower(name: str) -> Any:
    return nw.col(name).cast(nw.String).str.to_lowercase()


def _contains(name: str, needle: str) -> Any:
    return _lower(name).str.contains(needle, literal=True)


def _as_text(series: Any) -> Any:
    """Return a series as text, made in Python, for values that its library cannot compare."""
    values = [None if value is None else to_text(value) for value in _values(series)]
    return nw.new_series(series.name, values, nw.String, backend=series.implementation)


def _values(series: Any) -> list[Any]:
    """Return the values of a series, of the standard library where there is an equal one. None is a missing value."""
    missing = series.is_null().to_list()
    try:
        values = series.to_list()
    except Exception:  # a value that Python cannot represent, such as an infinite date of DuckDB
        values = [_value(series[position : position + 1]) for position in range(len(series))]
    return [None if gone else plain(value) for value, gone in zip(values, missing, strict=True)]


def _value(single: Any) -> Any:
    """Return the value of a series with one, as text if Python cannot represent it."""
    with suppress(Exception):
        return single.to_list()[0]
    with suppress(Exception):
        return single.cast(nw.String).to_list()[0]
    return f"({_type_name(single)})"


def _eager(native: Any) -> Any:
    found = nw.from_native(native, allow_series=True, pass_through=True)
    if isinstance(found, nw.Series):
        return found.to_frame()
    if isinstance(found, nw.LazyFrame):
        return (
            found.collect(backend="pyarrow" if importlib.util.find_spec("pyarrow") else "polars")
            if (found.implementation.is_duckdb())
            else found.collect()
        )
    if isinstance(found, nw.DataFrame):
        return found
    for backend in _ARROW_BACKENDS:
        if hasattr(native, "__arrow_c_stream__") and importlib.util.find_spec(backend):
            return nw.from_arrow(native, backend=backend)
    raise ArgumentError(
        f"{type(native).__module__}.{type(native).__qualname__} cannot be read as a frame. "
        "Return a frame of pandas, polars, pyarrow or DuckDB."
    )


def _names(native: Any, frame: Any) -> list[str]:
    names = getattr(native, "column_names", None)
    if isinstance(names, list) and len(names) == len(frame.columns):
        return [str(name) for name in names]
    return [str(name) for name in frame.columns]


def _distinct(native: Any) -> Any:
    """Return a table of pyarrow with distinct column names, or anything else as it is."""
    names = getattr(native, "column_names", None)
    if isinstance(names, list) and hasattr(native, "rename_columns") and len(set(names)) < len(names):
        return _Renamed(native)
    return native


class _Renamed:
    """A table of pyarrow whose columns have the names of their positions, with its own names beside it."""

    def __init__(self, native: Any) -> None:
        self.column_names = list(native.column_names)
        self._native = native.rename_columns([str(index) for index in range(len(self.column_names))])

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._native.__arrow_c_stream__(requested_schema)


def _is_pandas(native: Any) -> bool:
    return any(
        base.__module__.partition(".")[0] == "pandas" and base.__name__ in ("DataFrame", "Series")
        for base in type(native).__mro__
    )


def _plain_pandas(native: Any) -> tuple[Any, list[str]]:
    """Return a frame of pandas whose index has become columns, and the names for people.

    The names in the frame are those of positions: pandas allows names that are equal, or are not strings. An index that
    only counts the rows is left out, as it says nothing.
    """
    frame = native.to_frame(_series_name(native)) if native.ndim == 1 else native.copy(deep=False)
    names = [_label(name) for name in frame.columns]
    frame.columns = [f"c{position}" for position in range(len(names))]
    index = frame.index
    is_count = type(index).__name__ == "RangeIndex" and index.name is None and index.start == 0 and index.step == 1
    if is_count:
        return frame, names
    levels = [f"i{position}" for position in range(index.nlevels)]
    shown = [
        _label(name) if name is not None else _level(position, index.nlevels)
        for position, name in enumerate(index.names)
    ]
    return frame.reset_index(names=levels if len(levels) > 1 else levels[0]), [*shown, *names]


def _series_name(native: Any) -> Any:
    return "value" if native.name is None else native.name


def _level(position: int, levels: int) -> str:
    return "index" if levels == 1 else f"level {position}"


def _label(name: Any) -> str:
    """Return the name of a column of pandas for people. Those of a MultiIndex are tuples."""
    if isinstance(name, tuple):
        return " / ".join(text for part in name if (text := to_text(part)))
    return to_text(name)


def _column(name: str, series: Any) -> Column:
    dtype = series.dtype
    kind = _kind(series, dtype)
    # narwhals does not know every time zone of pandas, such as America/New_York.
    zone = getattr(dtype, "time_zone", None) or getattr(getattr(nw.to_native(series), "dtype", None), "tz", None)
    return Column(name, kind, _type_name(series), str(zone) if zone is not None and kind == "datetime" else None)


def _type_name(series: Any) -> str:
    dtype = getattr(nw.to_native(series), "dtype", None)
    return str(dtype if dtype is not None else getattr(nw.to_native(series), "type", series.dtype))


def _kind(series: Any, dtype: Any) -> Kind:
    if dtype.is_integer():
        return "integer"
    if dtype.is_float():
        return "number"
    for types, kind in _KINDS:
        if isinstance(dtype, types):
            return kind
    if isinstance(dtype, nw.List | nw.Array | nw.Struct):
        return "nested"
    if getattr(getattr(nw.to_native(series), "dtype", None), "tz", None) is not None:
        return "datetime"
    # Objects of Python, or a type that narwhals does not know: the values tell.
    found = common_kind(_values(series[:_SAMPLE]))
    if found in UNORDERED or found in ("decimal", "date", "mixed"):
        return found if found in UNORDERED or _all_of(series, found) else "mixed"
    return "mixed"


def _all_of(series: Any, kind: Kind) -> bool:
    return all(kind_of(value) in (kind, None) for value in _values(series))


_KINDS: Final[tuple[tuple[Any, Kind], ...]] = (
    ()
    if _missing
    else (
        (nw.Boolean, "boolean"),
        (nw.Decimal, "decimal"),
        (nw.String, "text"),
        ((nw.Categorical, nw.Enum), "text"),
        (nw.Datetime, "datetime"),
        (nw.Date, "date"),
        (nw.Time, "time"),
        (nw.Duration, "duration"),
        (nw.Binary, "binary"),
    )
)


def _size(frame: Any) -> int:
    try:
        return int(frame.estimated_size())
    except Exception:  # whatever a library raises for a column whose size it does not know
        return sys.getsizeof(frame) + 64 * len(frame) * len(frame.columns)
