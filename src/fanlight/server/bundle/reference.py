"""The references of a document: files to read, URLs to check against the CSP, and others, which are left alone."""

import base64
import difflib
import os
import re
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, NamedTuple
from urllib.parse import quote, unquote, urljoin

from fanlight.protocol.csp import Csp, is_declared
from fanlight.protocol.origin import Origin
from fanlight.server.bundle.mediatype import media_type
from fanlight.server.bundle.source import Source, decode

MAX_SIZE = 50_000_000  # characters inlined into one document

Domains = Literal["resource_domains", "frame_domains", "base_uri_domains"]

_IN_FRAGMENT = "#%/:?=&@!$()*+,;~"
_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*):")


class Local(NamedTuple):
    """A file, and the fragment of the reference with its `#`, or an empty string."""

    path: Path
    fragment: str


class References:
    """Resolves the references of one bundle, and records every file that it reads.

    `root` is the folder of the document, for paths that begin with a slash. `missing` is the first reference of a
    `<style>` or `style` attribute to an image that does not exist.
    """

    def __init__(self, csp: Csp, root: Path | None = None) -> None:
        self.files: dict[Path, None] = {}
        self.missing: tuple[str, Source, int] | None = None
        self._csp = csp
        self._root = root
        self._size = 0
        self._data_uris: dict[Path, str] = {}

    def local(self, reference: str, source: Source, pos: int, domains: Domains = "resource_domains") -> Local | None:
        """Return the file of a reference, or None if it stays as it is. Raise BundleError if hosts would block it."""
        reference = _normal(reference)
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
        if reference[0] == "?":
            return None
        path = None if scheme else self._path(reference, source)
        if path is None:
            is_relative = source.folder is None and not scheme and reference[0] != "/"
            raise source.error(pos, _unresolvable(reference, is_relative=is_relative))
        _, mark, fragment = reference.partition("#")
        return Local(path, mark + fragment)

    def is_missing(self, reference: str, source: Source) -> bool:
        """Return whether a reference is the path of a file that does not exist."""
        reference = _normal(reference)
        is_path = reference and reference[0] not in "#?" and not reference.startswith("//")
        if not is_path or _SCHEME.match(reference) or source.base is not None:
            return False
        path = self._path(reference, source)
        return path is None or not os.path.exists(path)  # noqa: PTH110  never raises

    def _path(self, reference: str, source: Source) -> Path | None:
        """Return the path of a reference, or None if there is no folder to resolve it in."""
        path = unquote(reference.partition("#")[0].partition("?")[0])
        if not path.startswith("/"):
            return source.folder and Path(os.path.normpath(source.folder / path))
        # As in Vite, a leading slash means the folder of the document.
        found = self._root and Path(os.path.normpath(self._root / path.lstrip("/")))
        return found if found and os.path.isfile(found) else None  # noqa: PTH113  never raises

    def check_url(self, url: str, source: Source, pos: int, domains: Domains) -> None:
        """Raise BundleError unless the declared domains cover the URL."""
        try:
            origin = Origin.of(url)
        except ValueError:
            raise source.error(pos, f'"{_short(url)}" is not a valid URL. Correct it.') from None
        declared: Iterable[str] = getattr(self._csp, domains)
        if is_declared(origin, declared):
            return
        advice = f'Declare Csp({domains}=["{origin}"])'
        if domains == "resource_domains":
            advice += ", or save the file beside the View and refer to it with a relative path"
        raise source.error(
            pos, f'"{_short(url)}" is not in the {domains} of the View, so hosts would block it. {advice}.'
        )

    def count(self, size: int, source: Source, pos: int) -> None:
        """Add to the size of the bundle, and raise BundleError if it exceeds MAX_SIZE."""
        self._size += size
        if self._size > MAX_SIZE:
            raise source.error(
                pos,
                f"with this file, more than {MAX_SIZE / 1e6:g} MB are inlined into the View, which is the limit. "
                "Make the files smaller, or load the data with a tool call.",
            )

    def read(self, path: Path, source: Source, pos: int, advice: str = "") -> bytes:
        """Read a file that the source refers to at `pos`. `advice` is added to the error if it does not exist."""
        try:
            status = path.stat()
            # Checked before opening, because opening a pipe blocks until another process writes to it.
            problem = None if stat.S_ISREG(status.st_mode) else _not_regular(path, status.st_mode)
            content = b"" if problem or status.st_size > MAX_SIZE else path.read_bytes()
        except (OSError, ValueError) as error:
            raise source.error(pos, _unreadable(path, error) + advice) from None
        if problem:
            raise source.error(pos, problem)
        if status.st_size > MAX_SIZE:
            self.count(status.st_size, source, pos)
        self.files[path] = None
        return content

    def read_text(self, path: Path, source: Source, pos: int) -> Source:
        """Return a text file, without its byte order mark, as a source of further references."""
        text = decode(path, self.read(path, source, pos)).removeprefix("\ufeff")
        return Source(path, text, path.parent)

    def data_uri(self, reference: str, source: Source, pos: int, advice: str = "") -> str | None:
        """Return the file of a reference as a `data:` URI, or None if the reference is not to be inlined."""
        found = self.local(reference, source, pos)
        if found is None:
            return None
        uri = self._data_uris.get(found.path)
        if uri is None:
            encoded = base64.b64encode(self.read(found.path, source, pos, advice)).decode("ascii")
            uri = self._data_uris[found.path] = f"data:{media_type(found.path)};base64,{encoded}"
        self.count(len(uri), source, pos)
        return uri + quote(found.fragment, safe=_IN_FRAGMENT)


def _normal(reference: str) -> str:
    return re.sub(r"[\t\n\r]", "", reference.strip()).replace("\\", "/")


def _unresolvable(reference: str, *, is_relative: bool) -> str:
    if not is_relative:
        return f'"{_short(reference)}" is an absolute path, which a View cannot reach. Write a relative path.'
    return (
        f'"{_short(reference)}" is a relative path, and a View that is a string has no folder. '
        "Save the View as an .html file beside it, or write its content into the document."
    )


def _not_regular(path: Path, mode: int) -> str:
    if stat.S_ISDIR(mode):
        return f'"{path}" is a folder, expected a file. Name the file in it.'
    return f'"{path}" is a pipe, a socket or a device, expected a file. Name a regular file.'


def _unreadable(path: Path, error: OSError | ValueError) -> str:
    if not isinstance(error, FileNotFoundError | NotADirectoryError):
        reason = error.strerror if isinstance(error, OSError) else error
        return f'"{_short(str(path))}" cannot be read: {reason}. Check the path and its permissions.'
    try:
        names = sorted(os.listdir(path.parent))  # noqa: PTH208  only the names are needed
    except OSError:
        return f'there is no folder "{path.parent}" for "{path.name}". Correct the path.'
    near = difflib.get_close_matches(path.name, names, n=3)
    advice = "Did you mean " + " or ".join(f'"{name}"' for name in near) + "?" if near else "Correct the path."
    return f'there is no file "{path.name}" in "{path.parent}". {advice}'


def _short(reference: str) -> str:
    return reference if len(reference) <= 120 else reference[:117] + "..."
