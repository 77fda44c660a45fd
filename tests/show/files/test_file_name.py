"""Names of files from a user's machine: what is left of hostile ones."""

import pytest

from fanlight.show.files.file_name import safe_name, suffix_of


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("orders.csv", "orders.csv"),
        ("Bestellungen März.csv", "Bestellungen März.csv"),
        ("Ma\u0308rz.csv", "März.csv"),
        ("../../etc/passwd", "passwd"),
        ("..\\..\\windows\\system32\\x.dll", "x.dll"),
        ("C:\\Users\\me\\orders.csv", "orders.csv"),
        ("/etc/shadow/", "file"),
        ("..", "file"),
        (".", "file"),
        ("", "file"),
        (".bashrc", "bashrc"),
        ("~", "file"),
        ("a\0b.csv", "ab.csv"),
        ("a\r\nSet-Cookie: x.csv", "aSet-Cookie_ x.csv"),
        ("invoice\u202egpj.exe", "invoicegpj.exe"),
        ("\u2066x\u2069\u200b.csv", "x.csv"),
        ("a\u2028b.csv", "ab.csv"),
        ("<img src=x onerror=alert(1)>.csv", "_img src=x onerror=alert(1)_.csv"),
        ('a"b|c?d*e.csv', "a_b_c_d_e.csv"),
        ("CON", "_CON"),
        ("nul.txt", "_nul.txt"),
        ("trailing. ", "trailing"),
        ("\ud800.csv", "csv"),
    ],
)
def test_a_name_is_one_visible_part_of_a_path(name: str, safe: str) -> None:
    assert safe_name(name) == safe


def test_a_long_name_keeps_its_ending() -> None:
    name = safe_name("x" * 500 + ".csv")
    assert len(name) == 120
    assert name.endswith("x.csv")


@pytest.mark.parametrize(
    ("name", "suffix"),
    [
        ("a.csv", ".csv"),
        ("a.tar.gz", ".gz"),
        ("a", ""),
        ("a.", ""),
        ("a.c/v", ""),
        ("a.c v", ""),
        ("a." + "x" * 13, ""),
    ],
)
def test_only_an_ending_of_letters_and_digits_gets_into_a_path(name: str, suffix: str) -> None:
    assert suffix_of(name) == suffix
