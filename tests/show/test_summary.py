"""What the model reads of a table."""

from fanlight.show.tables.rows import RowsTable
from fanlight.show.tables.summary import summarize


def test_a_small_table_is_shown_whole() -> None:
    table = RowsTable.of([{"id": 1, "name": "tea"}, {"id": 2, "name": None}])
    assert summarize(table, 10, 4000, shown=False).splitlines() == [
        "A table of 2 rows and 2 columns.",
        "",
        "Columns: id (int), name (str).",
        "",
        "| id | name |",
        "|---|---|",
        "| 1 | tea |",
        "| 2 | null |",
    ]


def test_rows_that_are_left_out_are_counted() -> None:
    table = RowsTable.of({"id": n} for n in range(10_000))
    text = summarize(table, 3, 4000, shown=False)
    assert text.startswith("A table of 10,000 rows and 1 column.")
    assert text.endswith("| 2 |\n\nLeft out here: 9,997 rows.")


def test_the_model_learns_whether_the_user_sees_the_table() -> None:
    table = RowsTable.of({"id": n} for n in range(20))
    note = "The user sees the whole table, and can sort, filter and search it; do not repeat its rows."
    assert summarize(table, 3, 4000, shown=True).endswith(note)
    assert note not in summarize(table, 3, 4000, shown=False)


def test_an_empty_table_says_so() -> None:
    assert summarize(RowsTable.of([]), 10, 4000, shown=False) == "A table of 0 rows and 0 columns."


def test_the_text_is_bounded() -> None:
    table = RowsTable.of({f"column {n}": "x" * 5_000 for n in range(500)} for _ in range(50))
    text = summarize(table, 50, 4000, shown=True)
    assert len(text) < 8_000
    assert "and 440 more." in text
    assert "480 columns" in text


def test_a_value_stays_in_its_cell_and_cannot_turn_the_text_around() -> None:
    table = RowsTable.of([{"a|b": "1 | 2\n| 3 |", "c": "\u202egpj.exe\u2066"}])
    lines = summarize(table, 10, 4000, shown=False).splitlines()
    assert "| a\\|b | c |" in lines
    assert "| 1 \\| 2 \\| 3 \\| |  gpj.exe  |" in lines
