"""Which files may be uploaded."""

from pathlib import Path
from typing import Any

import pytest

from fanlight import ArgumentError, RegistrationError
from fanlight.show.files.limits import FileLimits, size_text, type_of


@pytest.mark.parametrize(
    ("accept", "name", "type"),
    [
        ((), "a", "application/octet-stream"),
        ([".csv"], "A.CSV", "text/plain"),
        ([".tar.gz"], "a.tar.gz", ""),
        (["text/csv"], "a.csv", "application/vnd.ms-excel"),
        (["text/csv"], "a", "text/csv"),
        (["image/*"], "a.png", "image/png"),
        ([".CSV "], "a.csv", ""),
    ],
)
def test_a_file_of_an_accepted_type_passes(accept: Any, name: str, type: str) -> None:
    FileLimits(accept, 10).check(name, 10, type)


@pytest.mark.parametrize(
    ("accept", "name", "size", "message"),
    [
        ([".csv"], "a.exe", 1, r"a\.exe is of another type\. Accepted: \.csv\."),
        (["image/*"], "a.csv", 1, "is of another type"),
        ([".csv"], "acsv", 1, "is of another type"),
        ((), "a.csv", 2_500_000, r"a\.csv has 2\.5 MB, and at most 1 MB can be uploaded\."),
    ],
)
def test_any_other_file_is_refused_with_the_reason(accept: Any, name: str, size: int, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        FileLimits(accept, 1_000_000).check(name, size, type_of(name, ""))


@pytest.mark.parametrize(
    ("accept", "max_bytes", "message"),
    [
        (".csv", 1, r"Write accept=\['\.csv'\]"),
        (["csv"], 1, "expected an ending"),
        ([7], 1, "expected an ending"),
        (["*/*"], 1, "expected an ending"),
        (None, 0, "expected a number of bytes"),
        (None, True, "expected a number of bytes"),
        (None, "5MB", "expected a number of bytes"),
    ],
)
def test_limits_that_make_no_sense_are_refused(accept: Any, max_bytes: Any, message: str) -> None:
    with pytest.raises(RegistrationError, match=message):
        FileLimits(accept, max_bytes)


def test_content_of_another_type_than_the_name_says_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"MZ\x90\x00")
    with pytest.raises(ArgumentError, match=r"a\.png is not a png file: its content is something else\."):
        FileLimits([".png"], 10).check_content(path, "a.png")
    FileLimits([".csv"], 10).check_content(path, "a.csv")
    path.write_bytes(b"\x89PNG\r\n\x1a\n....")
    FileLimits(["image/*"], 100).check_content(path, "a.PNG")


@pytest.mark.parametrize(
    ("declared", "found"),
    [
        ("text/csv; charset=utf-8", "text/csv"),
        ("", "text/csv"),
        ("image/*", "text/csv"),
        ("<script>", "text/csv"),
    ],
)
def test_a_type_is_the_declared_one_or_that_of_the_name(declared: str, found: str) -> None:
    assert type_of("a.csv", declared) == found


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0 bytes"), (1, "1 byte"), (999, "999 bytes"), (1_500, "1.5 kB"), (50_000_000, "50 MB")]
)
def test_a_size_is_written_for_people(size: int, text: str) -> None:
    assert size_text(size) == text
