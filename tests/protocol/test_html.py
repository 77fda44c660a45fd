import pytest

from fanlight.protocol.html import find_doctype, first_content


@pytest.mark.parametrize(
    ("before", "doctype"),
    [
        ("", "<!doctype html>"),
        ("\ufeff", "<!DOCTYPE HTML>"),
        (" \n\t", "<!doctype  html >"),
        ("<!-- a --> <!-- b -->\n", "<!doctype html>"),
        ("<!--> <!---> <!-- --!>", "<!doctype html>"),
        ("<!-- <!doctype x> -->", "<!doctype html>"),
        ("", '<!doctype html SYSTEM "about:legacy-compat">'),
        ("", "<!doctype html\nsystem 'about:legacy-compat' >"),
    ],
)
def test_the_doctype_of_html5_is_found_behind_space_and_comments(before: str, doctype: str) -> None:
    found = find_doctype(f"{before}{doctype}<p>")
    assert found == (len(before) + len(doctype), True)


@pytest.mark.parametrize(
    "doctype",
    [
        '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd">',
        "<!doctype svg>",
        "<!doctype>",
        "<!doctypehtml>",
    ],
)
def test_other_doctypes_are_found_and_are_not_of_html5(doctype: str) -> None:
    assert find_doctype(f"{doctype}<p>") == (len(doctype), False)


@pytest.mark.parametrize(
    "html", ["", " ", "<p>", "x <!doctype html>", "<!-- <!doctype html>", "<!doctype html", "<html>"]
)
def test_a_document_that_begins_otherwise_has_no_doctype(html: str) -> None:
    assert find_doctype(html) is None


@pytest.mark.parametrize(("html", "index"), [("", 0), ("  ", 2), (" <p>", 1), ("<!-- a -->x", 10), ("<!-- a", 6)])
def test_the_first_content_is_behind_space_and_comments(html: str, index: int) -> None:
    assert first_content(html) == index
