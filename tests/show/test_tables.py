"""The same table in each library: columns, pages, sorting, filters, search and CSV files."""

import csv
import dataclasses
import io
import json
import sqlite3
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

import duckdb
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pydantic_core
import pytest
from pydantic import BaseModel, computed_field

from fanlight import ArgumentError
from fanlight.show.item import as_table
from fanlight.show.part import PART_BYTES
from fanlight.show.tables.frame import FrameTable
from fanlight.show.tables.query import Filter, Query, Sort
from fanlight.show.tables.rows import RowsTable
from fanlight.show.tables.table import Table, csv_part, describe, page

DATA: dict[str, list[Any]] = {
    "id": [3, 1, 2, 4],
    "name": ["Tea", "milk", "", None],
    "price": [2.5, 0.99, 100.0, None],
    "day": [date(2026, 1, 3), date(2026, 1, 1), date(2026, 1, 2), None],
    "at": [
        datetime(2026, 1, 3, 8, tzinfo=UTC),
        datetime(2026, 1, 1, 23, 30, tzinfo=UTC),
        datetime(2026, 1, 2, tzinfo=UTC),
        None,
    ],
    "paid": [True, False, True, None],
    "cost": [Decimal("1.50"), Decimal("0.20"), Decimal("30.00"), None],
}
ROWS = [dict(zip(DATA, values, strict=True)) for values in zip(*DATA.values(), strict=True)]


class Streamed:
    """Anything with the Arrow PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return pa.table(DATA).__arrow_c_stream__(requested_schema)


def duckdb_relation() -> Any:
    source = pa.table(DATA)
    return duckdb.connect().from_arrow(source)


MAKERS: dict[str, Callable[[], Any]] = {
    "pandas": lambda: pd.DataFrame(DATA),
    "pandas-arrow": lambda: pa.table(DATA).to_pandas(types_mapper=pd.ArrowDtype),
    "pandas-nullable": lambda: pd.DataFrame(DATA).convert_dtypes(),
    "polars": lambda: pl.DataFrame(DATA),
    "polars-lazy": lambda: pl.LazyFrame(DATA),
    "pyarrow": lambda: pa.table(DATA),
    "batch": lambda: pa.table(DATA).to_batches()[0],
    "duckdb": duckdb_relation,
    "narwhals": lambda: nw.from_native(pl.DataFrame(DATA)),
    "capsule": Streamed,
    "dicts": lambda: ROWS,
}
each = pytest.mark.parametrize("library", MAKERS)


def table_of(library: str) -> Table:
    return as_table(MAKERS[library](), "tool")


def ids(table: Table, query: Query) -> list[Any]:
    order = table.order(query)
    return [row[0] for row in table.rows(order, 0, 100)]


def filtered(column: int, op: Any, value: str = "") -> Query:
    return Query(filters=(Filter(column=column, op=op, value=value),))


@each
def test_a_frame_of_any_library_has_the_same_columns(library: str) -> None:
    table = table_of(library)
    assert [column.name for column in table.columns] == list(DATA)
    kinds = [column.kind for column in table.columns]
    assert kinds == ["integer", "text", "number", "date", "datetime", "boolean", "decimal"] or (
        # numpy has no integers or booleans with missing values
        library == "pandas" and kinds[5] == "mixed" and kinds[3] == "date"
    )
    assert table.columns[4].zone in ("UTC", "Etc/UTC")
    assert table.height == 4
    assert table.size > 0


@each
def test_a_page_of_any_library_is_the_same_json(library: str) -> None:
    rows = page(table_of(library), None, 0, 50, 100_000)
    json.dumps(rows, allow_nan=False)
    assert rows[0] == [3, "Tea", 2.5, "2026-01-03", "2026-01-03T08:00:00+00:00", True, "1.50"]
    assert rows[3] == [4, None, None, None, None, None, None]
    assert rows[2][1] == ""


@each
@pytest.mark.parametrize(
    ("column", "ascending"),
    [(0, [1, 2, 3, 4]), (2, [1, 3, 2, 4]), (3, [1, 2, 3, 4]), (4, [1, 2, 3, 4]), (6, [1, 3, 2, 4])],
)
def test_rows_are_sorted_with_missing_values_last(library: str, column: int, ascending: list[int]) -> None:
    table = table_of(library)
    assert ids(table, Query(sort=(Sort(column=column),))) == ascending
    down = ids(table, Query(sort=(Sort(column=column, descending=True),)))
    if column:
        assert down == [*reversed(ascending[:3]), 4]
    else:
        assert down == ascending[::-1]


@each
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (filtered(1, "contains", "TE"), [3]),
        (filtered(1, "contains", "i"), [1]),
        (filtered(1, "null"), [4]),
        (filtered(1, "not_null"), [3, 1, 2]),
        (filtered(0, "at_least", "3"), [3, 4]),
        (filtered(2, "at_most", "2.5"), [3, 1]),
        (filtered(2, "null"), [4]),
        (filtered(3, "at_least", "2026-01-02"), [3, 2]),
        (filtered(4, "at_most", "2026-01-01"), [1]),
        (filtered(4, "at_least", "2026-01-02T00:00:01Z"), [3]),
        (filtered(5, "equals", "true"), [3, 2]),
        (filtered(6, "at_least", "1.5"), [3, 2]),
        (filtered(0, "equals", "2"), [2]),
        (Query(search="tea"), [3]),
        (Query(search="2026-01-02"), [2]),
        (Query(search="nothing of it"), []),
        (
            Query(filters=(Filter(column=0, op="at_least", value="2"), Filter(column=0, op="at_most", value="3"))),
            [3, 2],
        ),
        (Query(filters=(Filter(column=5, op="equals", value="true"),), sort=(Sort(column=0),)), [2, 3]),
    ],
)
def test_rows_are_filtered_and_searched(library: str, query: Query, expected: list[int]) -> None:
    assert ids(table_of(library), query) == expected


@pytest.mark.parametrize("make", [pl.DataFrame, pl.LazyFrame, pd.DataFrame, pa.table])
def test_a_search_for_text_in_a_table_without_text_finds_nothing(make: Callable[[Any], Any]) -> None:
    table = as_table(make({"id": [1, 2], "price": [0.5, 2.0]}), "tool")
    assert ids(table, Query(search="tea")) == []
    assert ids(table, Query(search="tea", sort=(Sort(column=0),), filters=filtered(1, "at_least", "1").filters)) == []
    assert ids(table, Query(search="2")) == [2]


@each
def test_no_rows_that_fit_are_an_empty_page(library: str) -> None:
    table = table_of(library)
    order = table.order(filtered(0, "at_least", "99"))
    assert len(order) == 0
    assert page(table, order, 0, 50, 1000) == []


@each
def test_a_csv_file_has_all_rows_of_a_query_in_parts(library: str) -> None:
    table = table_of(library)
    order = table.order(Query(sort=(Sort(column=0),)))
    text, start, skip = "", 0, 0
    while start <= 4:
        part, start, skip = csv_part(table, order, start, skip, 1)
        text += part
    lines = text.split("\r\n")
    assert lines[0] == "id,name,price,day,at,paid,cost"
    assert [line.split(",")[0] for line in lines[1:]] == ["1", "2", "3", "4", ""]
    assert lines[4] == "4,,,,,,"


def test_a_part_of_a_csv_file_is_bounded_in_bytes_whatever_the_cells_contain() -> None:
    cells = ["x" * 900_000, "💡" * 400_000, "\x00" * 200_000, '"' * 300_000, *map(str, range(99))]
    table = as_table([{"id": i, "text": text} for i, text in enumerate(cells)], "tool")
    text, start, skip, sizes = "", 0, 0, []
    while start <= table.height:
        part, start, skip = csv_part(table, None, start, skip)
        assert part
        sizes.append(len(pydantic_core.to_json(part)))
        text += part
    assert max(sizes) <= PART_BYTES + 2
    assert len(sizes) <= 12
    expected = io.StringIO()
    csv.writer(expected).writerows([("id", "text"), *enumerate(cells)])
    assert text == expected.getvalue()


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, lambda data: [{"=1+1": "=2+2", "b": '"\r\n=3'}]])
def test_formulas_in_names_and_values_of_a_csv_file_are_plain_text(make: Callable[[Any], Any]) -> None:
    table = as_table(make({"=1+1": ["=2+2"], "b": ['"\r\n=3']}), "tool")
    text, *_ = csv_part(table, None, 0, 0)
    assert list(csv.reader(io.StringIO(text, newline=""))) == [["'=1+1", "b"], ["'=2+2", '"\r\n=3']]


@pytest.mark.parametrize("library", ["polars", "dicts"])
@pytest.mark.parametrize(
    ("query", "message"),
    [
        (filtered(0, "at_least", "many"), "'many' is not a number"),
        (filtered(0, "at_least", "nan"), "'nan' is not a number"),
        (filtered(3, "at_least", "soon"), "'soon' is not a date such as 2026-01-31"),
        (filtered(5, "equals", "perhaps"), "'perhaps' is not true or false"),
    ],
)
def test_a_filter_that_cannot_be_read_says_what_is_expected(library: str, query: Query, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        table_of(library).order(query)


def test_a_column_that_does_not_exist_or_cannot_be_sorted_is_an_error() -> None:
    with pytest.raises(ArgumentError, match="There is no column 9; the last one is 0"):
        Query(sort=(Sort(column=9),)).check(["text"], ["name"])
    with pytest.raises(ArgumentError, match="tags has nested values, which cannot be sorted or filtered"):
        Query(sort=(Sort(column=0),)).check(["nested"], ["tags"])
    filtered(0, "null").check(["nested"], ["tags"])


def test_equal_other_and_missing_names_of_pandas_columns_stay_apart() -> None:
    frame = pd.DataFrame([[1, 2, 3, 4, 5]], columns=["a", "a", 7, None, ("x", 1)])
    table = FrameTable.of(frame)
    assert [column.name for column in table.columns] == ["a", "a", "7", "", "x / 1"]
    assert table.rows(None, 0, 1) == [[1, 2, 3, 4, 5]]
    assert list(frame.columns) == ["a", "a", 7, None, ("x", 1)]


def test_equal_names_of_pyarrow_columns_stay_apart() -> None:
    table = FrameTable.of(pa.table([pa.array([1]), pa.array(["x"])], names=["a", "a"]))
    assert [(column.name, column.kind) for column in table.columns] == [("a", "integer"), ("a", "text")]
    assert table.rows(None, 0, 1) == [[1, "x"]]


def test_the_index_of_pandas_is_a_column_unless_it_only_counts() -> None:
    by_name = pd.DataFrame({"n": [1, 2]}, index=pd.Index(["x", "y"], name="key"))
    assert [column.name for column in FrameTable.of(by_name).columns] == ["key", "n"]
    unnamed = pd.DataFrame({"n": [1, 2]}, index=[5, 6])
    assert FrameTable.of(unnamed).rows(None, 0, 2) == [[5, 1], [6, 2]]
    assert FrameTable.of(unnamed).columns[0].name == "index"
    assert [column.name for column in FrameTable.of(pd.DataFrame({"n": [1]})).columns] == ["n"]


def test_a_multiindex_of_pandas_becomes_columns_and_joined_names() -> None:
    frame = pd.DataFrame({"shop": ["a", "a"], "year": [2025, 2026], "n": [1, 2]})
    table = FrameTable.of(frame.set_index(["shop", "year"]))
    assert [column.name for column in table.columns] == ["shop", "year", "n"]
    pivot = frame.pivot_table(index="shop", columns="year", values=["n"], aggfunc=["sum", "max"])
    names = [column.name for column in FrameTable.of(pivot).columns]
    assert names == ["shop", "sum / n / 2025", "sum / n / 2026", "max / n / 2025", "max / n / 2026"]


def test_series_and_their_names_are_tables_with_one_column() -> None:
    assert FrameTable.of(pd.Series([1, 2])).columns[0].name == "value"
    counts = pd.Series(["a", "b", "a"], name="letter").value_counts()
    assert [column.name for column in FrameTable.of(counts).columns] == ["letter", "count"]
    assert FrameTable.of(pl.Series("n", [1])).columns[0].name == "n"


STRANGE = pd.DataFrame(
    {
        "mixed": [1, "b", None, 2.5],
        "nested": [{"a": 1}, [1, 2], None, {}],
        "category": pd.Categorical(["x", "y", None, "x"]),
        "float": [np.nan, np.inf, -np.inf, 1.0],
        "stamp": pd.to_datetime(["2026-01-01", None, "1700-01-01", "2200-12-31"]),
        "zoned": pd.to_datetime(["2026-01-01", None, "2026-07-01", "2026-01-01"]).tz_localize("America/New_York"),
        "delta": pd.to_timedelta(["1 day", None, "-1 hour", "1 us"]),
        "period": pd.period_range("2026-01", periods=4, freq="M"),
        "interval": pd.interval_range(0, 4),
        "complex": [1j, 2j, None, 3j],
        "bytes": [b"x", b"", None, b"yy"],
        "int8": np.array([1, 2, 3, 4], "int8"),
        "nullable": pd.array([1, None, 3, 4], "Int64"),
        "boolean": pd.array([True, None, False, True], "boolean"),
        "decimal": [Decimal("1.10"), None, Decimal("-2"), Decimal("0")],
        "numpy": [np.int64(1), np.float32(2), np.str_("s"), np.array([1])],
        "empty": [None, None, None, None],
        "big": [2**80, 1, 2, 3],
    }
)


def test_every_strange_column_of_pandas_can_be_shown_sorted_filtered_and_searched() -> None:
    table = FrameTable.of(STRANGE)
    rows = page(table, None, 0, 50, 100_000)
    json.dumps([describe(table.columns), rows], allow_nan=False)
    kinds = {column.name: column.kind for column in table.columns}
    assert kinds["mixed"] == "mixed"
    assert kinds["nested"] == "nested"
    assert kinds["category"] == "text"
    assert kinds["bytes"] == "binary"
    assert kinds["decimal"] == "decimal"
    assert [row[3] for row in rows] == [None, "Infinity", "-Infinity", 1.0]
    assert [row[0] for row in rows] == [1, "b", None, 2.5]
    assert rows[0][17] == str(2**80)
    assert table.columns[5].zone == "America/New_York"
    for index, column in enumerate(table.columns):
        queries = [filtered(index, "null"), filtered(index, "not_null")]
        if column.kind not in ("nested", "binary"):
            queries += [Query(sort=(Sort(column=index),)), Query(sort=(Sort(column=index, descending=True),))]
            queries += [filtered(index, "contains", "1")]
        for query in queries:
            query.check([each.kind for each in table.columns], [each.name for each in table.columns])
            assert len(table.order(query)) <= 4, column
    assert len(table.order(Query(search="2026"))) > 0
    csv_part(table, None, 0, 0)


def test_every_strange_column_of_polars_can_be_shown_and_sorted() -> None:
    frame = pl.DataFrame(
        {
            "list": [[1, 2], None],
            "struct": [{"a": 1}, None],
            "nan": [float("nan"), None],
            "category": pl.Series(["b", "a"], dtype=pl.Categorical),
            "time": [datetime(2026, 1, 1).time(), None],
            "delta": [timedelta(hours=1), None],
            "null": [None, None],
            "object": pl.Series([object(), 1], dtype=pl.Object),
            "binary": [b"x", None],
            "u64": pl.Series([2**64 - 1, 0], dtype=pl.UInt64),
        },
        strict=False,
    )
    table = FrameTable.of(frame)
    rows = page(table, None, 0, 50, 100_000)
    json.dumps(rows, allow_nan=False)
    assert rows[0][:3] == ["[1,2]", '{"a":1}', "NaN"]
    assert rows[0][9] == str(2**64 - 1)
    for index, column in enumerate(table.columns):
        if column.kind not in ("nested", "binary"):
            assert len(table.order(Query(sort=(Sort(column=index),)))) == 2, column


@pytest.mark.parametrize(
    ("column", "cells"),
    [
        (pa.array(["b", "a"], pa.string_view()), ["b", "a"]),
        (pa.RunEndEncodedArray.from_arrays([1, 2], ["b", "a"]), ["b", "a"]),
        (pa.array([np.float16(2.5), np.float16(1)], pa.float16()), [2.5, 1.0]),
        (pa.array([2**31 - 1, 0], pa.int32()).cast(pa.date32()), ["<value out of range: 2147483647>", "1970-01-01"]),
        (pa.array([{"a": 1}, None]), ['{"a":1}', None]),
        (pa.array(["b", "a"]).dictionary_encode(), ["b", "a"]),
    ],
    ids=lambda value: str(getattr(value, "type", "")),
)
def test_a_column_that_arrow_cannot_take_rows_from_or_python_cannot_represent_is_shown(column: Any, cells: Any) -> None:
    table = FrameTable.of(pa.table({"x": column}))
    assert [row[0] for row in page(table, None, 0, 50, 100_000)] == cells
    order = table.order(filtered(0, "not_null"))
    assert len(page(table, order, 0, 50, 100_000)) == sum(cell is not None for cell in cells)
    if table.columns[0].kind != "nested":
        assert len(table.order(Query(sort=(Sort(column=0),)))) == 2
        assert len(table.order(Query(search="1"))) in (0, 1)
    csv_part(table, None, 0, 1_000)


@dataclasses.dataclass
class Item:
    name: str
    tags: list[str]


class Pair(NamedTuple):
    a: int
    b: str


class Order(BaseModel):
    number: int
    pieces: int = 2

    @computed_field  # type: ignore[prop-decorator]
    @property
    def double(self) -> int:
        return self.pieces * 2


def test_rows_are_dicts_dataclasses_models_named_tuples_sequences_or_values() -> None:
    def columns(value: Any) -> list[tuple[str, str]]:
        return [(column.name, column.kind) for column in as_table(value, "tool").columns]

    assert columns([Item("a", ["x"])]) == [("name", "text"), ("tags", "nested")]
    assert columns([Order(number=1)]) == [("number", "integer"), ("pieces", "integer"), ("double", "integer")]
    assert columns([Pair(1, "x")]) == [("a", "integer"), ("b", "text")]
    assert columns([(1, "x"), (2, "y", True)]) == [("0", "integer"), ("1", "text"), ("2", "boolean")]
    assert columns([1.5, None]) == [("value", "number")]
    assert columns(np.array([[1, 2], [3, 4]])) == [("0", "integer"), ("1", "integer")]
    assert columns(n for n in range(3)) == [("value", "integer")]
    assert columns([{"a": 1}, {"b": 2, "a": None}]) == [("a", "integer"), ("b", "integer")]
    assert columns([]) == []
    assert columns(None) == []
    connection = sqlite3.connect(":memory:")
    connection.row_factory = sqlite3.Row
    assert columns(connection.execute("SELECT 1 AS one, 'x' AS two")) == [("one", "integer"), ("two", "text")]
    connection.close()


@pytest.mark.parametrize("value", ["text", b"bytes", {"a": 1}, 7, object()])
def test_what_is_not_a_table_is_an_error_that_says_what_to_return(value: object) -> None:
    with pytest.raises(ArgumentError, match=r"which cannot be shown\. Return a frame of pandas"):
        as_table(value, "orders")


def test_rows_of_several_types_are_sorted_as_text() -> None:
    table = RowsTable.of([{"a": "b"}, {"a": 10}, {"a": None}, {"a": "a"}])
    assert [row[0] for row in table.rows(table.order(Query(sort=(Sort(column=0),))), 0, 9)] == [10, "a", "b", None]


def test_a_change_of_the_returned_frame_does_not_change_the_table() -> None:
    frame = pd.DataFrame({"a": [1, 2]})
    table = FrameTable.of(frame)
    frame.loc[0, "a"] = 99
    assert table.rows(None, 0, 1) == [[1]]


def test_a_page_is_bounded_whatever_its_cells_contain() -> None:
    long = [{"text": "ä" * 5_000, "n": n} for n in range(1_000)]
    rows = page(as_table(long, "tool"), None, 0, 500, 64_000)
    assert 1 <= len(rows) < 500
    assert len(json.dumps(rows, ensure_ascii=False).encode()) <= 64_000
    wide = page(as_table([{f"column {n}": "x" * 5_000 for n in range(2_000)}], "tool"), None, 0, 50, 64_000)
    assert len(wide) == 1
    assert len(wide[0]) == 200
    assert len(json.dumps(wide, ensure_ascii=False).encode()) <= 64_000
