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

from fanlight.node_project import NodeProject, project_of
from fanlight.protocol.csp import Csp
from fanlight.protocol.errors import BundleError, RegistrationError
from fanlight.server.bundle import Bundle, bundle_file, bundle_text
from fanlight.server.bundle.source_map import in_development, report_build


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
    """A file with all files that it refers to. A change to any of them shows at the next read.

    A document that the build of a Node project writes may not exist yet. While it is replaced, the last one is read.
    """

    def __init__(self, path: Path, csp: Csp, openai: bool) -> None:
        self._path, self._project = _document(path)
        self.sources = (self._path,) if self._path.name != "index.html" else (self._path, self._path.parent)
        self._csp = csp
        self._openai = openai
        self.stem = path.stem if self._path == path else path.name
        self._bundle: Bundle | None = None
        self._stamps: dict[str, _Stamp | None] | None = None
        if self._project is not None and in_development():
            report_build(self._path, self._project.folder)
        try:
            bundle = self._load()
        except BundleError:
            if self._project is None or not self._is_being_written():
                raise
        else:
            self.title = bundle.title
            self.description = bundle.description

    async def read(self) -> str:
        if self._bundle is None or self._has_changed():
            return (await anyio.to_thread.run_sync(self._load)).html
        return self._bundle.html

    def _has_changed(self) -> bool:
        if self._stamps is None:
            return True
        for path, stamp in self._stamps.items():  # noqa: SIM110  runs for each read, and a loop is twice as fast
            if _stamp(path) != stamp:
                return True
        return False

    def _load(self) -> Bundle:
        started = time.time_ns()
        try:
            bundle = bundle_file(self._path, self._csp, openai=self._openai)
        except BundleError:
            if self._project is None or not self._is_being_written():
                raise
            if self._bundle is None:
                folder = self._project.folder
                message = f"is not built yet. Run `npm install && npm run build` in {folder}."
                raise BundleError(self._path, None, message) from None
            return self._bundle
        if self._project is not None and self._ends_early(bundle.html):
            assert self._bundle is not None
            return self._bundle
        self._bundle = bundle
        stamps = {str(path): _stamp(str(path)) for path in bundle.files}
        settled = all(
            stamp is not None and max(stamp[0], stamp[3]) < started - _CLOCK_RESOLUTION_NS for stamp in stamps.values()
        )
        self._stamps = stamps if settled else None
        return bundle

    def _is_being_written(self) -> bool:
        """Return whether the document of a build is missing, empty or incomplete."""
        try:
            content = self._path.read_bytes()
        except FileNotFoundError:
            return True
        except OSError:
            return False
        return not content.strip() or self._ends_early(content.decode("utf-8", "replace"))

    def _ends_early(self, html: str) -> bool:
        """Return whether a document lacks the end that the last version of it had."""
        had_end = self._bundle is not None and self._bundle.html.rstrip().endswith("</html>")
        return had_end and not html.rstrip().endswith("</html>")


def _stamp(path: str) -> _Stamp | None:
    try:
        status = os.stat(path)  # noqa: PTH116  runs for each read, and pathlib takes twice as long
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino, status.st_ctime_ns


def _document(path: Path) -> tuple[Path, NodeProject | None]:
    """Return the HTML file that `path` names, and the project whose build writes it, if any. A build may be missing."""
    try:
        document = _document_path(path)
    except BundleError:
        document = path if _is_html(path) else path / "index.html"
        project = project_of(document)
        if project is None or path.is_file() or (path.suffix and not _is_html(path)) or _html_files(document.parent):
            raise
        return document, project
    return document, project_of(document)


def _is_html(path: Path) -> bool:
    return path.suffix.lower() in (".html", ".htm")


def _html_files(folder: Path) -> list[str]:
    return sorted(found.name for found in folder.iterdir() if _is_html(found)) if folder.is_dir() else []


def _document_path(path: Path) -> Path:
    """Return the HTML file that `path` names, itself or a folder's index.html."""
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116  one system call answers all questions below
    except FileNotFoundError:
        mode = 0
    except OSError as error:
        raise BundleError(str(path)[:200], None, f"cannot be read: {error.strerror}. Check the path.") from None
    is_html = _is_html(path)
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
    names = _html_files(path.parent)
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
