import pytest

from fanlight.protocol.source_lines import Run, after, find

RUNS = [Run(1, 1, "", 0), Run(3, 1, "view.html", 3), Run(5, 10, "app.js", 1), Run(9, 1, "", 0)]


@pytest.mark.parametrize(("text", "place"), [("", (2, 5)), ("abc", (2, 8)), ("abc\n", (3, 1)), ("a\n\nbc", (4, 3))])
def test_the_place_behind_a_text(text: str, place: tuple[int, int]) -> None:
    assert after(text, 2, 5) == place


@pytest.mark.parametrize(
    ("line", "column", "found"),
    [
        (1, 1, None),
        (3, 1, ("view.html", 3)),
        (4, 7, ("view.html", 4)),
        (5, 9, ("view.html", 5)),
        (5, 10, ("app.js", 1)),
        (7, 1, ("app.js", 3)),
        (9, 1, None),
        (0, 1, None),
    ],
)
def test_a_place_in_a_document_comes_from_a_line_of_a_file(line: int, column: int, found: object) -> None:
    assert find(RUNS, line, column) == found
