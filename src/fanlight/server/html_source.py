"""Where a View's HTML comes from: a file or folder, a string, or a function that is called for each read."""

import abc
import inspect
import os
import stat
import sys
import time
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from pathlib import Path

import anyio.to_thread

from fanlight.protocol.csp import Csp
from fanlight.protocol.errors import BundleError, RegistrationError
from fanlight.server.bundle import Bundle, bundle_file, bundle_text


@dataclass(frozen=True)
class InFolder:
    """HTML that refers to files of a folder. Functions of Fanlight itself may return it. `name` is for errors."""

    text: str
    folder: Path
    name: str


HtmlFunction = Callable[[], str | bytes | InFolder | Awaitable[str | bytes]]
"""A function that returns the HTML of a View."""

# A file that was changed this shortly before it was read may change again and keep its time stamp.
_CLOCK_RESOLUTION_NS = 50_000_000

_Stamp = tuple[int, int, int, int]


class HtmlSource(abc.ABC):
    """The source of one HTML document, read for each request of a host.

    The default URI and name are derived from `stem`. `sources` are the values by which an author may refer to this
    document: its path, its folder or its function.
    """

    stem: str | None = None
    title: str | None = None
    description: str | None = None
    sources: tuple[Hashable, ...] = ()

    @abc.abstractmethod
    async def read(self) -> str: ...


class TextSource(HtmlSource):
    """A document that is a string."""

    def __init__(self, text: str, csp: Csp, openai: bool) -> None:
        bundle = bundle_text(text, csp, openai=openai)
        self._html = bundle.html
        self.title = bundle.title
        self.description = bundle.description

    async def read(self) -> str:
        return self._html


class FunctionSource(HtmlSource):
    """A document that a function returns for each read. Its errors are raised by the read, not at registration."""

    def __init__(self, function: HtmlFunction, csp: Csp, openai: bool) -> None:
        _check_function(function)
        self._function = function
        self.sources = (function,) if isinstance(function, Hashable) else ()
        self._csp = csp
        self._openai = openai
        name = _name_of(function)
        self._label = f"{name}()"
        self.stem = name if name.isidentifier() else None
        self.description = inspect.getdoc(function) if hasattr(function, "__name__") else None

    async def read(self) -> str:
        # A sync function may block, so it runs in a worker thread, as a sync tool does.
        if inspect.iscoroutinefunction(self._function):
            html = await self._function()
        else:
            html = await anyio.to_thread.run_sync(self._function)
            if inspect.isawaitable(html):
                html = await html
        if isinstance(html, InFolder):
            return await anyio.to_thread.run_sync(self._bundled, html)
        if isinstance(html, bytes):
            try:
                html = html.decode("utf-8")
            except UnicodeDecodeError as error:
                raise BundleError(self._label, None, f"returned bytes that are not UTF-8: {error}.") from None
        if not isinstance(html, str):
            raise BundleError(self._label, None, f"returned {type(html).__name__}, expected the HTML as a str.")
        return bundle_text(html, self._csp, openai=self._openai, name=self._label).html

    def _bundled(self, html: InFolder) -> str:
        return bundle_text(html.text, self._csp, openai=self._openai, name=html.name, folder=html.folder).html


def _check_function(function: HtmlFunction) -> None:
    name = _name_of(function)
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise RegistrationError(
            f"{name}() is a generator. Expected a function that returns the HTML of a View as a str."
        )
    try:
        inspect.signature(function).bind()
    except TypeError as error:
        raise RegistrationError(
            f"{name}() cannot be called without arguments, as the function of a View is: {error}. Give them defaults."
        ) from None
    except ValueError:
        return  # a built-in function without a known signature


def _name_of(function: HtmlFunction) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


class FileSource(HtmlSource):
    """A file with all files that it refers to. A change to any of them shows at the next read."""

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
        for path, stamp in self._stamps.items():  # noqa: SIM110  runs for each read, and a loop is twice as fast
            if _stamp(path) != stamp:
                return True
        return False

    def _load(self) -> None:
        started = time.time_ns()
        bundle = bundle_file(self._path, self._csp, openai=self._openai)
        self._bundle: Bundle = bundle
        stamps = {str(path): _stamp(str(path)) for path in bundle.files}
        settled = all(
            stamp is not None and max(stamp[0], stamp[3]) < started - _CLOCK_RESOLUTION_NS for stamp in stamps.values()
        )
        self._stamps: dict[str, _Stamp | None] | None = stamps if settled else None


def _stamp(path: str) -> _Stamp | None:
    try:
        status = os.stat(path)  # noqa: PTH116  runs for each read, and pathlib takes twice as long
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino, status.st_ctime_ns


def _document_path(path: Path) -> Path:
    """Return the HTML file that `path` names, itself or a folder's index.html."""
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116  one system call answers all questions below
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
        raise BundleError(path, None, "is not a regular file. A View is an .html file, or a folder with an index.html.")
    raise BundleError(path, None, f"does not exist.{_existing_files(path)}")


def _existing_files(path: Path) -> str:
    if not path.parent.is_dir():
        return f" Neither does its folder {path.parent}. Paths are relative to the file that registers the View."
    names = sorted(found.name for found in path.parent.iterdir() if found.suffix.lower() in (".html", ".htm"))
    if not names:
        return f" {path.parent} contains no .html file. Paths are relative to the file that registers the View."
    return f" {path.parent} contains {', '.join(names[:8])}."


def resolve(source: str | Path) -> Path:
    """Return `source` as an absolute path, relative to the file of the first caller outside Fanlight."""
    if isinstance(source, str) and (source.lstrip()[:1] == "<" or "\n" in source):
        raise RegistrationError(
            "This View is HTML text where a path was expected. "
            'Write View.html(text, uri="ui://<server>/<name>"), for example "ui://clock/view".'
        )
    if isinstance(source, str) and ("://" in source or not source):
        raise RegistrationError(
            f"The source of a View is {source!r}, expected a path. "
            'Write View("file.html", uri="ui://clock/view"). A page on the web cannot be a View.'
        )
    # normpath keeps symbolic links, so errors name the path that the author wrote.
    path = os.path.normpath(source)
    return Path(path if os.path.isabs(path) else os.path.normpath(_calling_folder() / path))  # noqa: PTH117  takes a third of the time


def _calling_folder() -> Path:
    frame = sys._getframe(1)
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module != "fanlight" and not module.startswith("fanlight."):
            file = frame.f_globals.get("__file__")
            return Path(os.path.abspath(file)).parent if file else Path.cwd()  # noqa: PTH100  keeps symbolic links
        frame = frame.f_back  # type: ignore[assignment]
    return Path.cwd()
