"""Where a View's HTML comes from: a file or folder, a string, or a function called per read."""

import abc
import inspect
import os
import stat
import sys
import time
from collections.abc import Awaitable, Callable, Hashable
from pathlib import Path

import anyio.to_thread

from fanlight.protocol.csp import Csp
from fanlight.protocol.errors import BundleError, RegistrationError
from fanlight.server.bundle import Bundle, bundle_file, bundle_text

Maker = Callable[[], str | bytes | Awaitable[str | bytes]]

# A file whose last change is this near to our reading it may change again without its stamp showing it.
_CLOCK_GRAIN_NS = 50_000_000

_Stamp = tuple[int, int, int, int]


class Document(abc.ABC):
    """One HTML document, read anew each time a host asks for it."""

    stem: str | None = None
    title: str | None = None
    description: str | None = None
    sources: tuple[Hashable, ...] = ()

    @abc.abstractmethod
    async def read(self) -> str: ...


class TextDocument(Document):
    """A document given as a string."""

    def __init__(self, text: str, csp: Csp, openai: bool) -> None:
        bundle = bundle_text(text, csp, openai=openai)
        self._html = bundle.html
        self.title = bundle.title
        self.description = bundle.description

    async def read(self) -> str:
        return self._html


class MadeDocument(Document):
    """A document that a function makes for each read, so its faults show at the read."""

    def __init__(self, maker: Maker, csp: Csp, openai: bool) -> None:
        _check_maker(maker)
        self._maker = maker
        self.sources = (maker,) if isinstance(maker, Hashable) else ()
        self._csp = csp
        self._openai = openai
        name = getattr(maker, "__name__", type(maker).__name__)
        self._label = f"{name}()"
        self.stem = name if name.isidentifier() else None
        self.description = inspect.getdoc(maker) if hasattr(maker, "__name__") else None

    async def read(self) -> str:
        # A plain function may take its time, so it goes to a worker thread, as a plain tool does.
        if inspect.iscoroutinefunction(self._maker):
            made = await self._maker()
        else:
            made = await anyio.to_thread.run_sync(self._maker)
            if inspect.isawaitable(made):
                made = await made
        if isinstance(made, bytes):
            try:
                made = made.decode("utf-8")
            except UnicodeDecodeError as error:
                raise BundleError(self._label, None, f"returned bytes that are not UTF-8: {error}.") from None
        if not isinstance(made, str):
            raise BundleError(self._label, None, f"returned {type(made).__name__}, expected the HTML as a str.")
        return bundle_text(made, self._csp, openai=self._openai, name=self._label).html


def _check_maker(maker: Maker) -> None:
    name = getattr(maker, "__name__", type(maker).__name__)
    if inspect.isgeneratorfunction(maker) or inspect.isasyncgenfunction(maker):
        raise RegistrationError(f"{name}() is a generator. A function that makes a View returns the HTML as a str.")
    try:
        inspect.signature(maker).bind()
    except TypeError as error:
        raise RegistrationError(f"{name}() makes a View and is called without arguments: {error}.") from None
    except ValueError:
        return  # built in: its parameters cannot be known


class FileDocument(Document):
    """A document on disk with all it refers to; a change to any of the files shows at the next read."""

    def __init__(self, path: Path, csp: Csp, openai: bool) -> None:
        self._path = _document_path(path)
        self.sources = (self._path,) if self._path.name != "index.html" else (self._path, self._path.parent)
        self._csp = csp
        self._openai = openai
        self.stem = path.stem if self._path == path else path.name
        self._load()
        self.title = self._bundle.title
        self.description = self._bundle.description

    async def read(self) -> str:
        if self._has_changed():
            await anyio.to_thread.run_sync(self._load)
        return self._bundle.html

    def _has_changed(self) -> bool:
        if self._stamps is None:
            return True
        for path, stamp in self._stamps.items():  # noqa: SIM110  a loop is twice as fast, at each read
            if _stamp(path) != stamp:
                return True
        return False

    def _load(self) -> None:
        started = time.time_ns()
        bundle = bundle_file(self._path, self._csp, openai=self._openai)
        self._bundle: Bundle = bundle
        stamps = {str(path): _stamp(str(path)) for path in bundle.files}
        settled = all(
            stamp is not None and max(stamp[0], stamp[3]) < started - _CLOCK_GRAIN_NS for stamp in stamps.values()
        )
        self._stamps: dict[str, _Stamp | None] | None = stamps if settled else None


def _stamp(path: str) -> _Stamp | None:
    try:
        status = os.stat(path)  # noqa: PTH116  pathlib's costs twice as much, at each read
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino, status.st_ctime_ns


def _document_path(path: Path) -> Path:
    """Return the HTML file that `path` names, itself or a folder's index.html."""
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116  one look at the file, which tells all that is asked here
    except FileNotFoundError:
        mode = 0
    except OSError as error:
        raise BundleError(str(path)[:200], None, f"cannot be read: {error.strerror}. Check the path.") from None
    is_html = path.suffix.lower() in (".html", ".htm")
    if is_html and stat.S_ISREG(mode):
        return path
    if stat.S_ISDIR(mode):
        index = path / "index.html"
        if index.is_file():
            return index
        raise BundleError(path, None, "is a folder with no index.html. Add one, or name the .html file itself.")
    if not is_html:
        raise BundleError(path, None, "is not an .html file. A View is an .html file, or a folder with an index.html.")
    if mode:
        raise BundleError(path, None, "is no regular file. A View is an .html file, or a folder with an index.html.")
    raise BundleError(path, None, f"does not exist.{_what_is_there(path)}")


def _what_is_there(path: Path) -> str:
    if not path.parent.is_dir():
        return f" Neither does its folder {path.parent}. Paths are relative to the file that registers the View."
    there = sorted(found.name for found in path.parent.iterdir() if found.suffix.lower() in (".html", ".htm"))
    if not there:
        return f" {path.parent} holds no .html file. Paths are relative to the file that registers the View."
    return f" {path.parent} holds {', '.join(there[:8])}."


def resolve(source: str | Path) -> Path:
    """Return `source` as an absolute path, relative to the file of the first caller outside Fanlight."""
    if isinstance(source, str) and (source.lstrip()[:1] == "<" or "\n" in source):
        raise RegistrationError("This View is HTML text where a path was expected. Write View.html(text).")
    if isinstance(source, str) and ("://" in source or not source):
        raise RegistrationError(
            f"The source of a View is {source!r}, expected a path. "
            'Write View("file.html", uri="ui://clock/view"); what is on the web cannot be a View.'
        )
    # Lexically, so that a/../x.html is x.html and a link stays the link that the author sees.
    path = os.path.normpath(source)
    return Path(path if os.path.isabs(path) else os.path.normpath(_calling_folder() / path))  # noqa: PTH117  a third of the cost


def _calling_folder() -> Path:
    frame = sys._getframe(1)
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module != "fanlight" and not module.startswith("fanlight."):
            file = frame.f_globals.get("__file__")
            return Path(os.path.abspath(file)).parent if file else Path.cwd()  # noqa: PTH100  lexically, as above
        frame = frame.f_back  # type: ignore[assignment]
    return Path.cwd()
