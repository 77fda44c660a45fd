"""What may begin an HTML document: a byte order mark, white space, comments, and the doctype."""

import re
from typing import Final, NamedTuple

_NOT_SPACE: Final = re.compile(r"[^\s\ufeff]")
_COMMENT_END: Final = re.compile(r"--!?>")
_DOCTYPE: Final = re.compile(r"<!doctype(?P<rest>[^>]*)>", re.IGNORECASE)
# The two forms of HTML5. Others choose an older rendering mode, or mean another language.
_HTML5: Final = re.compile(
    r"""\s+html\s*(?:\ssystem\s+(?:"about:legacy-compat"|'about:legacy-compat')\s*)?""", re.IGNORECASE
)


class Doctype(NamedTuple):
    """The doctype of a document."""

    end: int
    """The index behind it."""
    is_html5: bool
    """Whether it is `<!doctype html>`, as HTML5 wants it (RES-05)."""


def find_doctype(html: str) -> Doctype | None:
    """Return the doctype of a document, or None if the document does not begin with one."""
    found = _DOCTYPE.match(html, first_content(html))
    return Doctype(found.end(), _HTML5.fullmatch(found["rest"]) is not None) if found else None


def first_content(html: str, pos: int = 0) -> int:
    """Return the index of the first tag or text from `pos`, after white space and comments."""
    while (found := _NOT_SPACE.search(html, pos)) and html.startswith("<!--", found.start()):
        pos = skip_comment(html, found.start())
    return found.start() if found else len(html)


def skip_comment(html: str, start: int) -> int:
    """Return the index behind the comment that starts with `<!--` at `start`."""
    if html.startswith((">", "->"), start + 4):  # abruptly closed
        return html.index(">", start) + 1
    found = _COMMENT_END.search(html, start + 4)
    return found.end() if found else len(html)
