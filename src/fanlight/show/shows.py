"""The tools of a server that show what they return: `Apps.show` registers them here."""

import base64
import functools
import inspect
import urllib.parse
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeVar

import anyio.to_thread
from mcp_types import CallToolResult, ImageContent, InputRequiredResult, TextContent, ToolAnnotations
from pydantic import Field

from fanlight.protocol.errors import ArgumentError, RegistrationError
from fanlight.server.caller import current_caller, current_request
from fanlight.server.view import View
from fanlight.show.annotation import tool_signature
from fanlight.show.document import document
from fanlight.show.figures import library
from fanlight.show.files.download import Download
from fanlight.show.item import Builder, Keeping, as_table
from fanlight.show.kept import Keep, Kept
from fanlight.show.part import part_of
from fanlight.show.tables.query import Filter, Query, Sort
from fanlight.show.tables.table import csv_part, page
from fanlight.show.tool_function import as_tool, is_async

if TYPE_CHECKING:
    from fanlight.server.apps import Apps

Function = TypeVar("Function", bound=Callable[..., Any])

Page = Literal["table", "show", "upload"]
"""The Views of this package, by the end of their URIs: their titles, descriptions and scripts are in `_DOCUMENTS`."""

DATA_TOOL: Final = "fanlight_data"
"""The one tool of a server by which its Views get more than what came with a result."""

_RESULT_BYTES: Final = 64_000
_PAGE_BYTES: Final = 256_000
_MOST_ROWS: Final = 500
_MOST_PICTURES: Final = 4
_GONE: Final = "This is no longer kept on the server. Run the tool again to see all of it."
_DEFAULT_KEEP: Final = Keep()
_DOCUMENTS: Final[dict[Page, tuple[str, str, list[str]]]] = {
    "table": ("Table", "A table to sort, filter, search, copy and download.", ["base", "table", "page"]),
    "show": ("Result", "Tables, charts, pictures and text.", ["base", "table", "figures", "page"]),
    "upload": ("Upload", "A file to upload, and what became of it.", ["base", "table", "figures", "upload", "page"]),
}
_READ_ONLY: Final = ToolAnnotations(read_only_hint=True, open_world_hint=False)


@dataclass(frozen=True)
class ShowOptions:
    """The options of `Apps.show` that are not those of the tool."""

    title: str | None
    page_rows: int
    summary_rows: int
    summary_characters: int
    image_for_model: bool

    def __post_init__(self) -> None:
        for name, least, most in (
            ("page_rows", 1, _MOST_ROWS),
            ("summary_rows", 0, _MOST_ROWS),
            ("summary_characters", 0, 100_000),
        ):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
                raise RegistrationError(f"{name} is {value!r}, expected a number from {least} to {most}.")
        if not isinstance(self.image_for_model, bool):
            raise RegistrationError(f"image_for_model is {self.image_for_model!r}, expected True or False.")


class Shows:
    """What one server shows. `Apps` has one from its first `show` on."""

    def __init__(self, apps: "Apps") -> None:
        self._apps = apps
        self._kept: dict[Keep, Kept] = {}
        self._views: dict[str, View] = {}
        self._has_library = False
        self._add_data_tool()

    def tool(
        self, name: str | None, options: "ShowOptions", keep: Keep | None, tool_options: dict[str, Any]
    ) -> Callable[[Function], Function]:
        """Return the decorator of `Apps.show`."""
        if callable(name):
            raise ArgumentError("apps.show was used without being called. Write @apps.show() with parentheses.")
        if "view" in tool_options:
            raise RegistrationError("apps.show chooses the View. For one of your own, write @apps.tool(view=...).")

        def decorate(function: Function) -> Function:
            tool = str(name or getattr(function, "__name__", type(function).__name__))
            signature, only_tables = tool_signature(function)
            shown = self.shown(tool, options, only_tables, keep)
            # A tool that only Views can call gives its result to the View that calls it.
            view = None if is_only_for_views(tool_options) else self.view("table" if only_tables else "show")
            self._apps.tool(name, view=view, **tool_options)(wrapped(function, signature, shown))
            return function

        return decorate

    def shown(self, tool: str, options: "ShowOptions", only_tables: bool, keep: Keep | None = None) -> "Shown":
        """Return what makes the results of a tool."""
        kept = self._kept.setdefault(keep or _DEFAULT_KEEP, Kept(keep or _DEFAULT_KEEP))
        return Shown(tool, options, only_tables, kept, self._apps)

    def view(self, name: Page) -> View:
        """Return one of the Views, registered when a tool first needs it."""
        if name not in self._views:
            uri = f"ui://{urllib.parse.quote(self._apps.server.name, safe='-._~')}/fanlight-{name}"
            made = View.html(_document(name), uri=uri, name=f"fanlight-{name}", prefers_border=True)
            self._views[name] = self._apps.view(made)
            if name != "table":
                self.add_library()
        return self._views[name]

    def add_library(self) -> None:
        """Register the resource from which Views load chart libraries, if that was not done yet."""
        if not self._has_library:
            self._has_library = True
            server: Any = self._apps.server
            about = "A part of a chart library, for Views."
            server.resource(library.URI, name="fanlight-library", description=about)(_library_part)

    def keeping(self) -> Keeping:
        """Return what keeps tables and figures for the caller of the current request."""
        kept, caller = self._kept.setdefault(_DEFAULT_KEEP, Kept(_DEFAULT_KEEP)), current_caller()
        return lambda thing: kept.add(thing, caller)

    def _add_data_tool(self) -> None:
        def fanlight_data(
            handle: Annotated[str, Field(max_length=100, description="The handle of what was shown.")],
            start: Annotated[int, Field(ge=0)] = 0,
            count: Annotated[int, Field(ge=1, le=_MOST_ROWS)] = 50,
            sort: Annotated[list[Sort], Field(max_length=4)] = [],  # noqa: B006  never changed
            filters: Annotated[list[Filter], Field(max_length=50)] = [],  # noqa: B006
            search: Annotated[str, Field(max_length=500)] = "",
            csv: bool = False,
            skip: Annotated[int, Field(ge=0)] = 0,
        ) -> CallToolResult:
            """Return more of what a tool of this server showed: rows of a table, or a part of a figure or a file."""
            query = Query(sort=tuple(sort), filters=tuple(filters), search=search.strip())
            return self._data(handle, query, start, count, skip if csv else None)

        fanlight_data.__annotations__["return"] = CallToolResult
        self._apps.tool(visibility=["app"], annotations=_READ_ONLY)(fanlight_data)

    def _data(self, handle: str, query: Query, start: int, count: int, skip: int | None) -> CallToolResult:
        caller = current_caller()
        try:
            found = next(
                (found for kept in self._kept.values() if (found := kept.arranged(handle, caller, query))), None
            )
        except ArgumentError as error:
            return failed(str(error))
        if found is None:
            return failed(_GONE, {"gone": True})
        thing, order = found
        if isinstance(thing, Download):
            return _file_part(thing, start)
        if isinstance(thing, str):
            text = part_of(thing, start)
            after = start + len(text)
            return done(f"Characters {start + 1} to {after} of {len(thing)}.", _part(text, after, len(thing)))
        total = thing.height if order is None else len(order)
        if skip is not None:
            text, after, skipped = csv_part(thing, order, start, skip)
            # The names of the columns are a line, too.
            content = _part(text, after, total + 1) | {"skip": skipped}
            return done(f"Lines {start + 1} to {after} of {total + 1} as CSV.", content)
        rows = page(thing, order, start, count, _PAGE_BYTES)
        return done(
            f"{len(rows)} of {total} rows, from row {start + 1}.", {"rows": rows, "start": start, "total": total}
        )


class Shown:
    """Makes the results of one tool."""

    def __init__(self, tool: str, options: "ShowOptions", only_tables: bool, kept: Kept, apps: "Apps") -> None:
        self._tool = tool
        self._options = options
        self._only_tables = only_tables
        self._kept = kept
        self._apps = apps

    def result(self, value: Any) -> CallToolResult | InputRequiredResult:
        """Return the result of the tool for what its function returned. It may take long: call it in a thread."""
        if isinstance(value, CallToolResult | InputRequiredResult):
            return value
        caller, request = current_caller(), current_request.get()
        builder = Builder(
            keep=lambda thing: self._kept.add(thing, caller),
            page_rows=self._options.page_rows,
            summary_rows=self._options.summary_rows,
            summary_characters=self._options.summary_characters,
            shown=request is not None and self._apps.supported(request),
            budget=_RESULT_BYTES,
        )
        try:
            item, text = builder.build(as_table(value, self._tool) if self._only_tables else value, self._tool)
        except ArgumentError as error:  # says what is wrong and what to return; the SDK would hide it
            return failed(str(error))
        pictures = builder.pictures[:_MOST_PICTURES] if self._options.image_for_model else []
        title = self._options.title or self._tool.replace("_", " ").strip().capitalize()
        return done(text, {"title": title, "tool": self._tool, "item": item}, pictures)


def wrapped(function: Callable[..., Any], signature: inspect.Signature, shown: Shown) -> Callable[..., Any]:
    """Return the function of a tool that calls another one and shows what that returns."""

    async def asynchronous(*args: Any, **kwargs: Any) -> Any:
        return await anyio.to_thread.run_sync(shown.result, await function(*args, **kwargs))

    def synchronous(*args: Any, **kwargs: Any) -> Any:
        return shown.result(function(*args, **kwargs))

    return as_tool(asynchronous if is_async(function) else synchronous, function, signature)


def _file_part(download: Download, start: int) -> CallToolResult:
    try:
        data, after = download.part(start)
        total = download.size
    except (ArgumentError, OSError) as error:
        return failed(str(error), {"gone": True})
    return done(f"Bytes {start + 1} to {after} of {total}.", {"data": data, "next": after, "total": total})


def _part(text: str, after: int, total: int) -> dict[str, Any]:
    return {"text": text, "next": after, "total": total}


def done(text: str, structured: dict[str, Any], pictures: Iterable[bytes] = ()) -> CallToolResult:
    images = (base64.b64encode(picture).decode("ascii") for picture in pictures)
    return CallToolResult(
        content=[
            TextContent(type="text", text=text),
            *(ImageContent(type="image", data=data, mime_type="image/png") for data in images),
        ],
        structured_content=structured,
    )


def failed(text: str, structured: dict[str, Any] | None = None) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=structured, is_error=True)


def is_only_for_views(tool_options: dict[str, Any]) -> bool:
    """Return whether the options of a tool hide it from the model."""
    visibility = tool_options.get("visibility")
    return visibility is not None and list(visibility) == ["app"]


def _library_part(name: str, part: str) -> str:
    return library.read_part(name, part)


@functools.cache
def _document(name: Page) -> str:
    return document(*_DOCUMENTS[name])
