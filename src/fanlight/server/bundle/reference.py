"""What a document refers to: files to read, URLs to check against the CSP, and the rest to leave alone."""

import base64
import difflib
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, NamedTuple
from urllib.parse import quote, unquote, urljoin

from fanlight.protocol.csp import Csp
from fanlight.server.bundle.mediatype import media_type
from fanlight.server.bundle.origin import Origin
from fanlight.server.bundle.source import Source, decode

Domains = Literal["resource_domains", "frame_domains", "base_uri_domains"]

_IN_FRAGMENT = "#%/:?=&@!$()*+,;~"
_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*):")


class Local(NamedTuple):
    """A file that was referred to, and the fragment with its `#`, or an empty string."""

    path: Path
    fragment: str


class References:
    """Resolves the references of one bundle, and remembers every file that it reads."""

    def __init__(self, csp: Csp) -> None:
        self.files: dict[Path, None] = {}
        self._csp = csp

    def local(self, reference: str, source: Source, pos: int, domains: Domains = "resource_domains") -> Local | None:
        """Return the file a reference means, or None if it stays as it is. Raise if it cannot work."""
        reference = re.sub(r"[\t\n\r]", "", reference.strip()).replace("\\", "/")
        if not reference or reference[0] == "#":
            return None
        scheme = _SCHEME.match(reference)
        if reference.startswith("//") or (scheme and scheme[1].lower() in ("http", "https")):
            self.check_url(reference, source, pos, domains)
            return None
        if scheme and scheme[1].lower() != "file" and len(scheme[1]) > 1:
            return None
        if source.base is not None:
            self.check_url(urljoin(source.base, reference), source, pos, domains)
            return None
        if reference[0] == "/" or scheme:
            raise source.error(
                pos, f'"{_short(reference)}" is an absolute path, which a View cannot reach. Write a relative path.'
            )
        return _file(reference, source, pos)

    def check_url(self, url: str, source: Source, pos: int, domains: Domains) -> None:
        """Raise unless the declared domains cover the URL."""
        try:
            origin = Origin(url)
        except ValueError:
            raise source.error(pos, f'"{_short(url)}" is not a valid URL. Correct it.') from None
        declared: Iterable[str] = getattr(self._csp, domains)
        if origin.is_in(declared):
            return
        advice = f'Declare Csp({domains}=["{origin}"])'
        if domains == "resource_domains":
            advice += ", or save the file beside the View and refer to it with a relative path"
        raise source.error(
            pos, f'"{_short(url)}" is not in the {domains} of the View, so hosts would block it. {advice}.'
        )

    def read(self, path: Path, source: Source, pos: int) -> bytes:
        """Read a file that the source refers to."""
        try:
            content = path.read_bytes()
        except (OSError, ValueError) as error:
            raise source.error(pos, _unreadable(path, error)) from None
        self.files[path] = None
        return content

    def read_text(self, path: Path, source: Source, pos: int) -> Source:
        """Read a text file, without its byte order mark, as a source of further references."""
        text = decode(path, self.read(path, source, pos)).removeprefix("\ufeff")
        return Source(path, text, path.parent)

    def data_uri(self, reference: str, source: Source, pos: int) -> str | None:
        """Return the file a reference means as a `data:` URI, or None if the reference stays as it is."""
        found = self.local(reference, source, pos)
        if found is None:
            return None
        encoded = base64.b64encode(self.read(found.path, source, pos)).decode("ascii")
        return f"data:{media_type(found.path)};base64,{encoded}{quote(found.fragment, safe=_IN_FRAGMENT)}"


def _file(reference: str, source: Source, pos: int) -> Local | None:
    path, mark, fragment = reference.partition("#")
    path = unquote(path.partition("?")[0])
    if not path:
        return None
    if source.folder is None:
        raise source.error(
            pos,
            f'"{_short(reference)}" is a relative path, and a View that is a string has no folder. '
            "Save the View as an .html file beside it, or write its content into the document.",
        )
    return Local(Path(os.path.normpath(source.folder / path)), mark + fragment)


def _unreadable(path: Path, error: OSError | ValueError) -> str:
    if path.is_dir():
        return f'"{path}" is a folder, expected a file. Name the file in it.'
    if not isinstance(error, FileNotFoundError | NotADirectoryError):
        return f'"{path}" cannot be read: {error}. Check the path and its permissions.'
    if not path.parent.is_dir():
        return f'there is no folder "{path.parent}", so no "{path.name}" in it. Correct the path.'
    near = difflib.get_close_matches(path.name, sorted(file.name for file in path.parent.iterdir()), n=3)
    advice = "Did you mean " + " or ".join(f'"{name}"' for name in near) + "?" if near else "Correct the path."
    return f'there is no file "{path.name}" in "{path.parent}". {advice}'


def _short(reference: str) -> str:
    return reference if len(reference) <= 120 else reference[:117] + "..."
