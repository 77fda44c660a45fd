"""Which tables a server keeps, for whom, and for how long."""

import pytest

from fanlight import RegistrationError
from fanlight.show import Keep
from fanlight.show.kept import Kept
from fanlight.show.tables.query import Query, Sort
from fanlight.show.tables.rows import RowsTable
from fanlight.show.tables.table import Order

ALICE, BOB = ("user", "alice"), ("user", "bob")
PLAIN = Query()


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Counting(RowsTable):
    """Counts how often its rows are put in order."""

    orders = 0

    def order(self, query: Query) -> Order:
        self.orders += 1
        return super().order(query)


def table(rows: int = 2) -> Counting:
    return Counting(["n"], [[n] for n in range(rows)])


def test_a_table_is_found_by_its_handle() -> None:
    kept = Kept(Keep())
    made = table()
    handle = kept.add(made, ALICE)
    assert handle is not None
    assert len(handle) >= 24
    assert kept.arranged(handle, ALICE, PLAIN) == (made, None)


def test_a_handle_is_useless_to_another_caller() -> None:
    kept = Kept(Keep())
    handle = kept.add(table(), ALICE)
    assert handle is not None
    assert kept.arranged(handle, BOB, PLAIN) is None
    assert kept.arranged(handle, None, PLAIN) is None
    assert kept.arranged(handle, ALICE, PLAIN) is not None


def test_the_table_that_was_used_least_recently_goes_first() -> None:
    kept = Kept(Keep(tables=2))
    first, second = kept.add(table(), None), kept.add(table(), None)
    assert first
    assert second
    assert kept.arranged(first, None, PLAIN) is not None
    third = kept.add(table(), None)
    assert third
    assert kept.arranged(second, None, PLAIN) is None
    assert kept.arranged(first, None, PLAIN) is not None
    assert len(kept) == 2


def test_a_table_is_dropped_when_it_was_not_used_for_long_enough() -> None:
    clock = Clock()
    kept = Kept(Keep(seconds=60), clock)
    handle = kept.add(table(), None)
    assert handle
    for _ in range(3):
        clock.now += 50
        assert kept.arranged(handle, None, PLAIN) is not None
    clock.now += 61
    assert kept.arranged(handle, None, PLAIN) is None
    assert len(kept) == 0


def test_tables_beyond_the_size_are_dropped_and_one_that_is_too_large_is_not_kept() -> None:
    size = table(100).size
    kept = Kept(Keep(bytes=round(size * 2.5)))
    handles = [kept.add(table(100), None) for _ in range(3)]
    assert [kept.arranged(handle or "", None, PLAIN) is not None for handle in handles] == [False, True, True]
    assert kept.add(table(1000), None) is None


def test_the_pages_of_one_query_are_sorted_once() -> None:
    kept = Kept(Keep())
    made = table()
    handle = kept.add(made, None) or ""
    down = Query(sort=(Sort(column=0, descending=True),))
    for _ in range(3):
        found = kept.arranged(handle, None, down)
        assert found is not None
        assert found[1] == [1, 0]
    assert made.orders == 1
    kept.arranged(handle, None, Query(sort=(Sort(column=0),)))
    assert made.orders == 2


@pytest.mark.parametrize("options", [{"tables": 0}, {"seconds": -1}, {"bytes": "1 GB"}, {"tables": True}])
def test_limits_are_numbers_above_0(options: dict[str, object]) -> None:
    with pytest.raises(RegistrationError, match="expected a number above 0"):
        Keep(**options)  # type: ignore[arg-type]
