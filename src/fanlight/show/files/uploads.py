"""The uploads of a server: the tool by which their parts travel, and the tools that `Apps.upload` registers.

A View begins an upload for a target, which is a tool or a field of a form, writes its parts, and hands its id to the
target. A lost connection costs one part: the View asks how many bytes have arrived and goes on from there.
"""

import base64
import binascii
import dataclasses
import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeVar

import anyio.to_thread
import pydantic_core
from mcp_types import CallToolResult, InputRequiredResult, TextContent, ToolAnnotations
from pydantic import BaseModel, Field

from fanlight.protocol.errors import ArgumentError, RegistrationError
from fanlight.server.caller import current_caller, current_request
from fanlight.show.annotation import tool_signature
from fanlight.show.files.limits import MOST_FILES, FileLimits, size_text
from fanlight.show.files.storage import Storage, UploadStorage
from fanlight.show.files.uploaded_file import UploadedFile
from fanlight.show.shows import Shown, ShowOptions, Shows, done, failed, is_only_for_views
from fanlight.show.tool_function import as_tool, is_async

if TYPE_CHECKING:
    from fanlight.server.apps import Apps

Function = TypeVar("Function", bound=Callable[..., Any])

UPLOAD_TOOL: Final = "fanlight_upload"
"""The one tool of a server by which Views upload files."""

PART_BYTES: Final = 384 * 1024
"""How much of a file one call carries: 512 KiB as base64. Servers of the SDK refuse HTTP requests beyond 4 MiB, other
transports and hosts have limits from 1 MiB on, and a lost connection costs one part."""
_MOST_BASE64: Final = 2_000_000
_DEFAULT_STORAGE: Final = UploadStorage()
_GONE: Final = "The upload is no longer on the server. Upload the file again."
# Hosts ask users before a View calls a tool that changes something. Parts only get into temporary files of the caller,
# which nothing reads until the tool runs that gets the file, and hosts ask for that one.
_PARTS: Final = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
_OPENS: Final = ToolAnnotations(read_only_hint=True, open_world_hint=False)


@dataclass(frozen=True)
class UploadOptions:
    """The options of `Apps.upload` that are not those of the tool."""

    limits: FileLimits
    storage: UploadStorage
    without_views: str | None
    tell_model: bool


@dataclass(frozen=True)
class _Target:
    limits: FileLimits
    storage: Storage
    tool: str = ""
    parameter: str = ""


class Uploads:
    """The uploads of one server. `Apps` has one from its first `upload` on."""

    def __init__(self, apps: "Apps", shows: Shows) -> None:
        self._apps = apps
        self._shows = shows
        self._targets: dict[str, _Target] = {}
        self._storages: dict[UploadStorage, Storage] = {}
        self._add_part_tool()

    def add_target(
        self, name: str, limits: FileLimits, storage: UploadStorage | None = None, tool: str = "", parameter: str = ""
    ) -> None:
        """Accept uploads for a target. `tool` and `parameter` say what a View calls with the ids of its uploads."""
        options = storage or _DEFAULT_STORAGE
        stored = self._storages.setdefault(options, Storage(options))
        self._targets[name] = _Target(limits, stored, tool, parameter)

    def take(
        self, target: str, ids: Sequence[str], *, again: bool = False
    ) -> AbstractContextManager[list[UploadedFile]]:
        """Return the files of complete uploads of the current caller to a target; see `Storage.take`."""
        return self._targets[target].storage.take(ids, target, current_caller(), again=again)

    def tool(
        self, name: str | None, options: UploadOptions, tool_options: dict[str, Any]
    ) -> Callable[[Function], Function]:
        """Return the decorator of `Apps.upload`."""
        if callable(name):
            raise ArgumentError("apps.upload was used without being called. Write @apps.upload() with parentheses.")
        only_views = is_only_for_views(tool_options)

        def decorate(function: Function) -> Function:
            tool = str(name or getattr(function, "__name__", type(function).__name__))
            signature, only_tables = tool_signature(function, any_result=True)
            parameter, is_list = _file_parameter(tool, signature)
            runner = f"{tool}_upload"
            self.add_target(tool, options.limits, options.storage, runner, parameter.name)
            shown = self._shows.shown(tool, ShowOptions(tool_options.get("title"), 50, 10, 4_000, False), only_tables)
            run = _runner(function, parameter.name, is_list, lambda ids: self.take(tool, ids), shown)
            ids = Annotated[
                list[Annotated[str, Field(max_length=100)]],
                Field(min_length=1, max_length=MOST_FILES if is_list else 1, description="The ids of the uploads."),
            ]
            takes_ids = [
                each.replace(annotation=ids, default=each.empty) if each.name == parameter.name else each
                for each in signature.parameters.values()
            ]
            self._apps.tool(
                runner,
                visibility=["app"],
                description=f"Run {tool} with files that the user uploaded.",
                annotations=tool_options.get("annotations"),
            )(as_tool(run, function, signature.replace(parameters=_ordered(takes_ids))))
            if not only_views:
                self._add_opener(tool, function, signature, parameter.name, is_list, options, tool_options)
            return function

        return decorate

    def _add_opener(
        self,
        tool: str,
        function: Callable[..., Any],
        signature: inspect.Signature,
        file: str,
        is_list: bool,
        options: UploadOptions,
        tool_options: dict[str, Any],
    ) -> None:
        """Register the tool that the model calls: it shows where the user chooses a file."""
        about = inspect.getdoc(function) or ""
        title = tool_options.get("title") or tool.replace("_", " ").strip().capitalize()
        limits = options.limits
        item = {
            "kind": "upload",
            "target": tool,
            "about": about.partition("\n\n")[0].replace("\n", " "),
            "accept": list(limits.accept),
            "maxBytes": limits.max_bytes,
            "files": MOST_FILES if is_list else 1,
            "tellModel": options.tell_model,
        }
        kinds = f" ({', '.join(limits.accept)})" if limits.accept else ""
        what = f"{'files' if is_list else 'a file'}{kinds} of up to {size_text(limits.max_bytes)}"
        result = "After the upload, the result is added to your context. " if options.tell_model else ""
        waiting = f"The user now sees where to upload {what}. Nothing has been uploaded yet. {result}Wait for the user."
        without = options.without_views or (
            f"This tool takes {what} from the user, which needs a client that shows MCP Apps. This client does not. "
            "Say so to the user, and suggest to use such a client."
        )

        def opener(**arguments: Any) -> CallToolResult:
            request = current_request.get()
            shows = request is not None and self._apps.supported(request)
            return done(waiting if shows else without, {"title": title, "tool": tool, "item": item})

        rest = [each for each in signature.parameters.values() if each.name != file]
        view = tool_options.get("view") or self._shows.view("upload")
        others = {key: value for key, value in tool_options.items() if key not in ("view", "annotations", "name")}
        opens = as_tool(opener, function, signature.replace(parameters=rest))
        self._apps.tool(tool, view=view, annotations=_OPENS, **others)(opens)

    def _add_part_tool(self) -> None:
        def fanlight_upload(
            action: Literal["begin", "write", "status", "cancel"],
            target: Annotated[str, Field(max_length=200, description="What the file is for.")] = "",
            name: Annotated[str, Field(max_length=1_000, description="The name of the file.")] = "",
            size: Annotated[int, Field(ge=0, description="The number of its bytes.")] = 0,
            type: Annotated[str, Field(max_length=200, description="Its MIME type.")] = "",
            upload: Annotated[str, Field(max_length=100, description="The id of the upload.")] = "",
            start: Annotated[int, Field(ge=0, description="The position of a part.")] = 0,
            data: Annotated[str, Field(max_length=_MOST_BASE64, description="A part, in base64.")] = "",
        ) -> CallToolResult:
            """Take a part of a file that the user uploads in a View of this server."""
            try:
                match action:
                    case "begin":
                        return self._begin(target, name, size, type)
                    case "write":
                        return self._write(upload, start, _decoded(data))
                    case "status":
                        return self._write(upload, 0, b"")
                    case "cancel":
                        return self._cancel(upload)
            except ArgumentError as error:
                return failed(str(error), {"refused": True})

        fanlight_upload.__annotations__["return"] = CallToolResult
        self._apps.tool(visibility=["app"], annotations=_PARTS)(fanlight_upload)

    def _begin(self, target: str, name: str, size: int, type: str) -> CallToolResult:
        found = self._targets.get(target)
        if found is None:
            raise ArgumentError(f"There is nothing to upload to called {target!r}.")
        id = found.storage.begin(target, found.limits, current_caller(), name, size, type)
        return done(
            "The upload has begun.",
            {"upload": id, "received": 0, "part": PART_BYTES, "tool": found.tool, "parameter": found.parameter},
        )

    def _write(self, id: str, start: int, data: bytes) -> CallToolResult:
        caller = current_caller()
        for storage in self._storages.values():
            received = storage.write(id, caller, start, data) if data else storage.received(id, caller)
            if received is not None:
                return done(f"{received:,} bytes have arrived.", {"upload": id, "received": received})
        return failed(_GONE, {"gone": True})

    def _cancel(self, id: str) -> CallToolResult:
        for storage in self._storages.values():
            storage.cancel(id, current_caller())
        return done("The upload is cancelled.", {})


def _decoded(data: str) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except binascii.Error:
        raise ArgumentError("The part is not base64.") from None


def _file_parameter(tool: str, signature: inspect.Signature) -> tuple[inspect.Parameter, bool]:
    """Return the parameter that gets the file, and whether it gets a list of files."""
    found = [
        (each, each.annotation is not UploadedFile)
        for each in signature.parameters.values()
        if each.annotation is UploadedFile or _is_list_of_files(each.annotation)
    ]
    if len(found) != 1:
        raise RegistrationError(
            f"{tool}() has {len(found) or 'no'} parameter{'s' if len(found) > 1 else ''} for what the user uploads, "
            "expected one: write file: UploadedFile, or files: list[UploadedFile], from fanlight.show."
        )
    return found[0]


def _is_list_of_files(annotation: Any) -> bool:
    return typing.get_origin(annotation) in (list, Sequence) and typing.get_args(annotation) == (UploadedFile,)


def _ordered(parameters: list[inspect.Parameter]) -> list[inspect.Parameter]:
    """Return parameters as keywords, because those without a default may follow others then."""
    return [each.replace(kind=each.KEYWORD_ONLY) for each in parameters]


def _runner(
    function: Callable[..., Any],
    parameter: str,
    is_list: bool,
    take: Callable[[list[str]], AbstractContextManager[list[UploadedFile]]],
    shown: Shown,
) -> Callable[..., Any]:
    """Return a function that takes ids of uploads in place of files, and shows what another one makes of the files."""

    def arguments(kwargs: dict[str, Any], files: list[UploadedFile]) -> dict[str, Any]:
        return {**kwargs, parameter: files if is_list else files[0]}

    async def asynchronous(**kwargs: Any) -> Any:
        try:
            with take(kwargs.pop(parameter)) as files:
                value = await function(**arguments(kwargs, files))
                # A lazy frame reads its file now.
                return await anyio.to_thread.run_sync(_result, value, files, shown)
        except ValueError as error:
            return _problem(error)

    def synchronous(**kwargs: Any) -> Any:
        try:
            with take(kwargs.pop(parameter)) as files:
                return _result(function(**arguments(kwargs, files)), files, shown)
        except ValueError as error:
            return _problem(error)

    return asynchronous if is_async(function) else synchronous


def _result(value: Any, files: list[UploadedFile], shown: Shown) -> CallToolResult | InputRequiredResult:
    if isinstance(value, CallToolResult | InputRequiredResult):
        return value
    result = shown.result(_presentable(value))
    assert isinstance(result, CallToolResult)
    names = ", ".join(f"{file.name} ({size_text(file.size)})" for file in files)
    text, *rest = result.content
    assert isinstance(text, TextContent)
    first = TextContent(type="text", text=f"The user uploaded {names}.\n\n{text.text}")
    return result.model_copy(update={"content": [first, *rest]})


def _presentable(value: Any) -> Any:
    """Return what can be shown of a value that `Apps.show` would refuse: its JSON."""
    if value is None:
        return "Done."
    is_record = dataclasses.is_dataclass(value) and type(value).__module__.partition(".")[0] != "fanlight"
    if isinstance(value, Mapping | BaseModel) or is_record:
        return pydantic_core.to_json(value, indent=2).decode("utf-8")
    return value


def _problem(error: ValueError) -> CallToolResult:
    """Return what a file is wrong about, for the user. Other exceptions are the server's own problem."""
    return failed(str(error) or "The file could not be read.", {"refused": True})
