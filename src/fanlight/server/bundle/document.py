"""A View's document and all that it refers to, made one document."""

import re
from dataclasses import dataclass
from pathlib import Path

from fanlight.protocol.csp import Csp
from fanlight.protocol.errors import BundleError
from fanlight.server.bundle.elements import Elements
from fanlight.server.bundle.markup import Scanner, skip_comment
from fanlight.server.bundle.source import Source, decode

_DOCTYPE = re.compile(
    r"""<!doctype\s++html\s*+(?:system\s++(?:"about:legacy-compat"|'about:legacy-compat')\s*+)?>""", re.IGNORECASE
)
_NOT_SPACE = re.compile(r"[^\s\ufeff]")


@dataclass(frozen=True, slots=True)
class Bundle:
    """One self-contained HTML document.

    `files` are all files that went into it, the document first. `title` and `description` are those
    that the document states.
    """

    html: str
    files: tuple[Path, ...]
    title: str | None
    description: str | None


def bundle_file(path: Path, csp: Csp) -> Bundle:
    """Make an `.html` file and all that it refers to one document, or raise BundleError."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise BundleError(path, None, f"cannot be read: {error.strerror}. Check the path.") from None
    return _bundle(Source(path, decode(path, content), path.parent), csp, (path,))


def bundle_text(text: str, csp: Csp, *, name: str = "View.html(...)") -> Bundle:
    """Make a document that is not in a file, so has no files beside it, ready to be served."""
    source = Source(name, text, None)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        code = f"U+{ord(text[error.start]):04X}"
        raise source.error(
            error.start, f"holds {code}, half of a surrogate pair, which UTF-8 cannot write. Remove it."
        ) from None
    return _bundle(source, csp, ())


def _bundle(source: Source, csp: Csp, files: tuple[Path, ...]) -> Bundle:
    _check_document(source)
    scanner = Scanner(source.text)
    elements = Elements(source, csp)
    for tag in scanner.tags():
        elements.add(tag)
    text = elements.apply(scanner.body_end)
    return Bundle(text, (*files, *elements.files), _folded(elements.title), _folded(elements.description))


def _folded(text: str | None) -> str | None:
    return " ".join(text.split()) or None if text else None


def _check_document(source: Source) -> None:
    """Raise unless the text begins as an HTML5 document does (RES-05)."""
    text = source.text
    pos = 0
    while (found := _NOT_SPACE.search(text, pos)) and text.startswith("<!--", found.start()):
        pos = skip_comment(text, found.start())
    if found is None:
        raise source.error(0, "is empty, expected an HTML document. Begin it with <!doctype html>.")
    if not _DOCTYPE.match(text, found.start()):
        begin = text[found.start() : found.start() + 40].splitlines()[0]
        raise source.error(
            found.start(), f"starts with `{begin}`, expected `<!doctype html>`. Write that on the first line."
        )
