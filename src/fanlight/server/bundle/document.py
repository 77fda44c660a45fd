"""Bundles the document of a View and the files that it refers to into one document."""

import re
from dataclasses import dataclass
from pathlib import Path

from fanlight.protocol.csp import Csp
from fanlight.protocol.errors import BundleError
from fanlight.protocol.html import find_doctype, first_content
from fanlight.server.bundle.elements import Elements
from fanlight.server.bundle.markup import Scanner
from fanlight.server.bundle.source import Source, decode
from fanlight.server.bundle.source_map import in_development, write

_HTML_TAG, _HEAD_TAG = (
    re.compile(rf"""<{name}(?:\s(?:[^>"']|"[^"]*"|'[^']*')*)?>""", re.IGNORECASE) for name in ("html", "head")
)


@dataclass(frozen=True, slots=True)
class Bundle:
    """One self-contained HTML document.

    `files` are the files that it was made of, the document first. `title` and `description` are those of the document.
    """

    html: str
    files: tuple[Path, ...]
    title: str | None
    description: str | None


def bundle_file(path: Path, csp: Csp, *, openai: bool = False) -> Bundle:
    """Bundle an `.html` file and the files that it refers to, or raise BundleError.

    With `openai`, the inlined View SDK also runs on `window.openai`, without an MCP Apps host.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise BundleError(path, None, f"cannot be read: {error.strerror}. Check the path.") from None
    return _bundle(Source(path, decode(path, content), path.parent), csp, (path,), openai)


def bundle_text(
    text: str, csp: Csp, *, openai: bool = False, name: str = "View.html(...)", folder: Path | None = None
) -> Bundle:
    """Bundle a document that is a string. Without a folder it cannot refer to files. `name` is its path in errors."""
    source = Source(name, text, folder)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        code = f"U+{ord(text[error.start]):04X}"
        raise source.error(
            error.start, f"contains {code}, half of a surrogate pair, which UTF-8 cannot encode. Remove it."
        ) from None
    return _bundle(source, csp, (), openai)


def _bundle(source: Source, csp: Csp, files: tuple[Path, ...], openai: bool) -> Bundle:
    _check_document(source)
    scanner = Scanner(source.text)
    elements = Elements(source, csp, openai)
    for tag in scanner.tags():
        elements.add(tag)
    text = elements.apply(scanner.body_end)
    if in_development():
        write(text, source, elements.lines())
    return Bundle(text, (*files, *elements.files), _folded(elements.title), _folded(elements.description))


def as_document(text: str) -> str:
    """Return HTML with a doctype, added if it is missing."""
    doctype = find_doctype(text)
    return text if doctype and doctype.is_html5 else f"<!doctype html>\n{text}"


def first_script(text: str) -> int:
    """Return the position for a script that runs before all others: after the doctype, `<html>` and `<head>`."""
    doctype = find_doctype(text)
    place = doctype.end if doctype and doctype.is_html5 else 0
    for beginning in (_HTML_TAG, _HEAD_TAG):
        found = beginning.match(text, first_content(text, place))
        place = found.end() if found else place
    return place


def _folded(text: str | None) -> str | None:
    return " ".join(text.split()) or None if text else None


def _check_document(source: Source) -> None:
    """Raise BundleError unless the text begins with the doctype of HTML5 (RES-05)."""
    text = source.text
    start = first_content(text)
    if start == len(text):
        raise source.error(0, "is empty, expected an HTML document. Start it with <!doctype html>.")
    doctype = find_doctype(text)
    if doctype is None or not doctype.is_html5:
        begin = text[start : start + 40].splitlines()[0]
        raise source.error(start, f"starts with `{begin}`, expected `<!doctype html>`. Write that on the first line.")
