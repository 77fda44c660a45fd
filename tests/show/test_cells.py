"""Values of tables as JSON, as text and in CSV files."""

import dataclasses
import enum
import json
import uuid
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from pydantic import BaseModel

from fanlight.show.tables.cell import common_kind, kind_of, plain, to_cell, to_csv, to_text


class Colour(enum.Enum):
    RED = "red"


@dataclasses.dataclass
class Point:
    x: int


class Place(BaseModel):
    name: str


class Unprintable:
    def __str__(self) -> str:
        raise RuntimeError("no text")


CYCLE: list[Any] = []
CYCLE.append(CYCLE)


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        (None, None),
        ("", ""),
        ("tea", "tea"),
        (True, True),
        (np.bool_(False), False),
        (7, 7),
        (np.int64(7), 7),
        (np.uint8(7), 7),
        (2**53, "9007199254740992"),
        (1.5, 1.5),
        (np.float32(1.5), 1.5),
        (float("nan"), "NaN"),
        (float("inf"), "Infinity"),
        (np.float64("-inf"), "-Infinity"),
        (Decimal("1.50"), "1.50"),
        (Decimal("NaN"), "NaN"),
        (date(2026, 1, 31), "2026-01-31"),
        (datetime(2026, 1, 31, 12, tzinfo=UTC), "2026-01-31T12:00:00+00:00"),
        (time(9, 30), "09:30:00"),
        (timedelta(days=1, hours=2, microseconds=500_000), "1 d 02:00:00.5"),
        (-timedelta(minutes=5), "-00:05:00"),
        (b"abc", "3 bytes"),
        (b"a", "1 byte"),
        (Colour.RED, "red"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        ({"a": [1, None]}, '{"a":[1,null]}'),
        (np.array([1, 2]), "[1,2]"),
        (Point(1), '{"x":1}'),
        (Place(name="Rome"), '{"name":"Rome"}'),
        ({1}, "[1]"),
        ("half \ud83d", "half ?"),
        (complex(1, 2), "(1+2j)"),
        (Unprintable(), "Unprintable (RuntimeError)"),
    ],
)
def test_a_value_becomes_json_of_its_own_kind(value: Any, cell: Any) -> None:
    made = to_cell(value, 1000)
    assert made == cell
    assert type(made) is type(cell)
    assert json.loads(json.dumps(made, allow_nan=False)) == cell


def test_a_value_that_contains_itself_is_still_text() -> None:
    assert to_cell(CYCLE, 100) == "[[...]]"


def test_a_huge_integer_is_text() -> None:
    assert to_cell(10**100, 1000) == "1" + "0" * 100
    assert to_cell(10**100_000, 1000) == "about 2^332193"


def test_long_text_is_cut_with_an_ellipsis() -> None:
    assert to_cell("x" * 50, 10) == "x" * 9 + "…"
    assert len(str(to_cell(["x" * 500], 20))) == 20


@pytest.mark.parametrize(
    "text",
    ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1+1", '=HYPERLINK("http://x")', "=cmd|' /C calc'!A0"],
)
def test_a_formula_in_a_csv_file_is_plain_text(text: str) -> None:
    assert to_csv(text) == f"'{text}"


@pytest.mark.parametrize("value", [-1, -1.5, Decimal("-1"), np.int64(-1), -timedelta(1)])
def test_a_negative_number_in_a_csv_file_stays_a_number(value: Any) -> None:
    assert to_csv(value) == to_text(value)
    assert to_csv(value).startswith("-")


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2, None], "integer"),
        ([1, 2.5], "number"),
        ([True, False], "boolean"),
        ([True, 1], "mixed"),
        (["a", None], "text"),
        (["a", 1], "mixed"),
        ([None, None], "mixed"),
        ([], "mixed"),
        ([date(2026, 1, 1)], "date"),
        ([date(2026, 1, 1), datetime(2026, 1, 1)], "mixed"),
        ([Decimal(1)], "decimal"),
        ([{"a": 1}, [1]], "nested"),
        ([b"x"], "binary"),
    ],
)
def test_the_kind_of_a_column_is_the_kind_that_its_values_share(values: list[Any], kind: str) -> None:
    assert common_kind(values) == kind


def test_a_value_of_numpy_has_the_kind_of_its_python_value() -> None:
    assert [kind_of(plain(value)) for value in (np.int8(1), np.float16(1), np.bool_(True), np.str_("a"))] == [
        "integer",
        "number",
        "boolean",
        "text",
    ]
