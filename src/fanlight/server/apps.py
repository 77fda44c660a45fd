"""`Apps`: link the tools of a server to Views."""

import difflib
import inspect
from collections.abc import Callable, Hashable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, Unpack

from mcp.server import MCPServer
from mcp.server.lowlevel import Server
from mcp_types import EmbeddedResource

from fanlight.protocol import metadata, openai
from fanlight.protocol.errors import ArgumentError, RegistrationError
from fanlight.protocol.metadata import UI_KEYS, Visibility
from fanlight.protocol.openai import MetadataFormat
from fanlight.server import negotiation
from fanlight.server.html_source import HtmlFunction, resolve
from fanlight.server.negotiation import Mode
from fanlight.server.registry import Registry
from fanlight.server.tool_schema import schema_error
from fanlight.server.view import View, ViewOptions, tool_meta

if TYPE_CHECKING:
    from fastmcp import FastMCP

    from fanlight.show.files.storage import UploadStorage
    from fanlight.show.files.uploads import Uploads
    from fanlight.show.forms.forms import Forms
    from fanlight.show.kept import Keep
    from fanlight.show.shows import Shows
    from fanlight.show.templates.pages import Pages

Function = TypeVar("Function", bound=Callable[..., Any])

# Options of tools and of Views. In apps.tool they are those of the tool.
_COMMON_OPTIONS = frozenset({"name", "title", "description"})


class ServerAdapter(Protocol):
    """Registers tools and Views on one kind of server."""

    def add_view(self, view: View) -> None: ...

    def has_tool(self, name: str, options: Mapping[str, Any]) -> bool: ...

    def may_have_tool(self, name: str) -> bool:
        """Return whether a call may find a tool of this name, also one that the server gets from elsewhere."""
        ...

    def tool(self, meta: dict[str, Any] | None, options: dict[str, Any]) -> Callable[[Callable[..., Any]], Any]: ...

    async def find_meta(self, name: str) -> Mapping[str, Any] | None: ...

    context: type | None
    """The class of the context that a tool of this server asks for by annotation; None if it needs none."""

    def without_injected(self, function: Callable[..., Any]) -> tuple[Callable[..., Any], str | None]:
        """Return a function for use in a tool, without the parameters that the server fills in itself.

        The name is that of the parameter that still takes the context, if any.
        """
        ...


class Apps:
    """The apps of one server: links its tools to Views. Create one per server.

    Args:
        server: An `mcp.server.MCPServer` or a `fastmcp.FastMCP` (4.x).
        negotiate: `"strict"` shows apps only to clients that negotiated MCP Apps; other clients see ordinary text
            tools. `"always"` shows them to every client, for hosts that show Views without negotiation.
        also: `["openai"]` adds ChatGPT's own metadata keys to tools and Views, and lets Views run on `window.openai`.
    """

    def __init__(
        self, server: "MCPServer[Any] | FastMCP[Any]", negotiate: Mode = "strict", also: Iterable[MetadataFormat] = ()
    ) -> None:
        if isinstance(server, Server):
            raise RegistrationError(
                "Apps cannot add tools to a lowlevel Server, because that has handlers of its own. Call "
                "negotiate(server), and use view.tool_meta(), view.resource() and view.contents() in the handlers."
            )
        self.server = server
        self._also = openai.check_formats(also)
        self._adapter = _adapter(server)
        self._registry = Registry(self._adapter.find_meta)
        negotiation.install(server, negotiate, self._also, self._registry)
        self._views: dict[str, View] = {}
        self._sources: dict[Hashable, View] = {}
        self._embedded: list[tuple[EmbeddedResource, View]] = []
        self._shows: Shows | None = None
        self._uploads: Uploads | None = None
        self._forms: Forms | None = None

    def view(
        self,
        source: "str | Path | HtmlFunction | View | EmbeddedResource",
        uri: str | None = None,
        **options: Unpack[ViewOptions],
    ) -> View:
        """Register a View and return it.

        Args:
            source: The source of a new `View`; or a `View`, or a resource of `fanlight.mcpui.create_ui_resource`, which
                already have their options.
            uri: As for `View`.
            options: As for `View`.
        """
        if isinstance(source, EmbeddedResource):
            source = self._view_of(source)
        if not isinstance(source, View):
            return self._register(View(source, uri, also=self._also, **options))
        if uri is not None or options:
            raise RegistrationError("This View already has its options. Give them to View(...) or View.html(...).")
        return self._register(source)

    def tool(
        self,
        name: str | None = None,
        *,
        view: "str | Path | HtmlFunction | View | EmbeddedResource | None" = None,
        visibility: Iterable[Visibility] | None = None,
        invoking: str | None = None,
        invoked: str | None = None,
        **options: Any,
    ) -> Callable[[Function], Function]:
        """Register a function as a tool that is linked to a View. Use it as a decorator, always with parentheses.

        The function may be sync or async and return anything that the server accepts. A result with structured content
        and no text gets its content as text, so that the model and clients without MCP Apps can read it.

        Args:
            name: The name of the tool. Default: the name of the function.
            view: A path to an `.html` file or to a folder with an `index.html`, relative to the file that registers it;
                a `View`; a resource of `fanlight.mcpui.create_ui_resource`; or the `ui://` URI of a registered View.
                Tools that name the same file share one View.
            visibility: `["model"]`, `["app"]` or both, which is the default. `["app"]` makes a tool that only Views can
                call. Such a tool needs no `view`.
            invoking: The text that ChatGPT shows while the tool runs, up to 64 characters. Needs `also=["openai"]`.
            invoked: The text that ChatGPT shows after the tool has run, up to 64 characters. Needs `also=["openai"]`.
            options: The options of the server's own tool decorator: `title`, `description`, `annotations`, `meta`,
                `structured_output` and so on. Options of the View, such as `csp`, belong to the View:
                `view=View("clock.html", csp=...)`.
        """
        if callable(name):
            raise ArgumentError("apps.tool was used without being called. Write @apps.tool(view=...) with parentheses.")
        if isinstance(name, str) and name.endswith((".html", ".htm")):
            raise RegistrationError(f"The first argument is the tool's name. Write @apps.tool(view={name!r}).")
        meta = options.pop("meta", None)
        if not isinstance(meta, Mapping | None):
            raise RegistrationError(f"meta is {meta!r}, expected a dict.")
        meta = dict(meta or {})
        for key in (*UI_KEYS, *(openai.IMPLIED_KEYS if self._also else ())):
            if key in meta:
                raise RegistrationError(f"apps.tool writes _meta[{key!r}] itself. Write view=... and visibility=....")
        for key in options:
            if key == "uri" or (key in ViewOptions.__annotations__ and key not in _COMMON_OPTIONS):
                raise RegistrationError(
                    f"{key} is an option of the View, not of the tool: several tools may share a View. "
                    f"Write @apps.tool(view=View({view if isinstance(view, str) else 'file.html'!r}, {key}=...))."
                )
        _check_options(self.server, options)
        chosen = metadata.check_visibility(visibility)
        uri = None if view is None else self._linked(view).uri
        meta = tool_meta(uri, chosen, self._also, invoking, invoked) | meta
        if name is not None:
            options["name"] = name

        def decorate(function: Function) -> Function:
            tool = str(options.get("name") or getattr(function, "__name__", type(function).__name__))
            if self._adapter.has_tool(tool, options):
                raise RegistrationError(f"The server already has a tool {tool}. Give one of them another name.")
            register = self._adapter.tool(meta or None, options)
            try:
                registered: Function = register(function)
            except Exception as error:  # whatever the SDK, pydantic or an annotated class raises
                if isinstance(error, RegistrationError) or (explained := schema_error(function, error)) is None:
                    raise
                raise explained from None
            self._registry.tools.add(tool)
            return registered

        return decorate

    def show(
        self,
        name: str | None = None,
        *,
        page_rows: int = 50,
        summary_rows: int = 10,
        summary_characters: int = 4_000,
        image_for_model: bool = False,
        keep: "Keep | None" = None,
        **options: Any,
    ) -> Callable[[Function], Function]:
        """Register a function as a tool that shows what it returns, as a notebook would. Use it with parentheses.

        The function may be sync or async. It returns a frame or series of pandas, polars, pyarrow or DuckDB, or a list
        of dicts, dataclasses, pydantic models or values, which become a table; a figure of matplotlib, plotly or
        altair, a PIL image, or anything with a `_repr_mimebundle_`, `_repr_svg_`, `_repr_png_` or `_repr_html_`; or
        several of these, in a list or arranged with `fanlight.show`. Frames need narwhals:
        `pip install 'fanlight[show]'`. The decorated function itself is returned unchanged.

        The View gets a first page of each table and what is small; it gets the rest by a tool that only Views can call.
        The model gets a summary: size, columns and first rows of a table; title, axes and traces of a figure.

        Args:
            name: The name of the tool. Default: the name of the function.
            page_rows: The number of rows on a page of a table, up to 500.
            summary_rows: The number of rows in the text for the model, up to 500.
            summary_characters: About how many characters that text has at most.
            image_for_model: Whether the model gets pictures (PIL, PNG), too, if they are smaller than 500 kB.
            keep: How much is kept for Views, and for how long. Default: `Keep()`. Tools with equal values share it.
            options: The options of `apps.tool`, except `view`.
        """
        # Imports of a package above this one, here and below: authors find everything at one object.
        from fanlight.show.shows import ShowOptions

        chosen = ShowOptions(options.get("title"), page_rows, summary_rows, summary_characters, image_for_model)
        return self._showing().tool(name, chosen, keep, options)

    def upload(
        self,
        name: str | None = None,
        *,
        accept: Iterable[str] | None = None,
        max_bytes: int = 50_000_000,
        storage: "UploadStorage | None" = None,
        without_views: str | None = None,
        tell_model: bool = True,
        **options: Any,
    ) -> Callable[[Function], Function]:
        """Register a function that gets files which the user uploads. Use it as a decorator, with parentheses.

        The function may be sync or async. One of its parameters is a `fanlight.show.UploadedFile`, or a list of them
        for several files at once. The tool has the other parameters. When the model calls it, the user sees a View in
        which to choose or drop files; the function runs when they have been uploaded. The View shows what the function
        returns as `apps.show` does, or its JSON; a `ValueError` is shown as the reason why a file is refused.

        Args:
            name: The name of the tool. Default: the name of the function.
            accept: Endings such as `".csv"` and types such as `"text/csv"` or `"image/*"`. Default: every file.
            max_bytes: How many bytes a file may have. Default: 50 MB.
            storage: How much is stored of uploads that the function has not got yet, and for how long. Default:
                `UploadStorage()`. Tools with equal values share it.
            without_views: What the model gets from a client that shows no Views, such as another way to send a file.
                Default: that the tool needs a client that shows MCP Apps.
            tell_model: Whether the model gets the text of the result, as context for its next turn. Default: True.
            options: The options of `apps.tool`. `annotations` are those of the function. With `view`, the tool shows a
                View of your own, which calls `upload` of `"fanlight/files"`. With `visibility=["app"]`, only Views can
                upload, and the model does not see a tool.
        """
        from fanlight.show.files.limits import FileLimits
        from fanlight.show.files.storage import UploadStorage
        from fanlight.show.files.uploads import UploadOptions

        limits = FileLimits(() if accept is None else accept, max_bytes)
        chosen = UploadOptions(limits, storage or UploadStorage(), without_views, tell_model)
        return self._uploading().tool(name, chosen, options)

    def form(
        self,
        name: str | None = None,
        *,
        submit: str = "Submit",
        confirm: bool = True,
        answer_seconds: float = 600,
        storage: "UploadStorage | None" = None,
        **options: Any,
    ) -> Callable[[Function], Function]:
        """Register a function as a form: the tool opens it, the user completes it, and then the function runs.

        The fields are those of the function's one parameter, if that is a pydantic model, a dataclass or a TypedDict;
        otherwise each parameter is a field. The tool takes them all as optional, and shows the form with what the model
        filled in. When the user submits, the values are validated, and the function is called. Errors of validation and
        of `fanlight.show.FieldError` stand at their fields, the message of a `ValueError` above the form.

        What the function returns is shown in place of the form, as `apps.show` would; text, models, dataclasses and
        dicts need nothing else. The model gets what was submitted, without secrets such as a `SecretStr`, and the text
        of the result; of a file, which is a `fanlight.show.UploadedFile`, it gets the name and the size. The decorated
        function itself is returned unchanged.

        Args:
            name: The name of the tool. Default: the name of the function.
            submit: The text of the button.
            confirm: Whether a user has to confirm in clients without Views, too: by elicitation, if the client supports
                that; otherwise the function does not run there. With `False` it runs there as an ordinary tool does,
                as soon as the model has sent all that is required.
            answer_seconds: How long the answer to such a question may take.
            storage: How much is stored of files that were uploaded and not submitted yet, and for how long. Default:
                `UploadStorage()`.
            options: The options of `apps.tool`, except `view`.
        """
        from fanlight.show.forms.form import FormOptions
        from fanlight.show.forms.forms import Forms

        if self._forms is None:
            self._forms = Forms(self, self._adapter, self._showing, self._uploading)
        chosen = FormOptions(options.get("title"), submit, confirm, answer_seconds, storage)
        return self._forms.tool(name, chosen, options)

    def _showing(self) -> "Shows":
        from fanlight.show.shows import Shows

        if self._shows is None:
            self._shows = Shows(self)
        return self._shows

    def _uploading(self) -> "Uploads":
        from fanlight.show.files.uploads import Uploads

        if self._uploads is None:
            self._uploads = Uploads(self, self._showing())
        return self._uploads

    def pages(
        self,
        folder: str | Path,
        *,
        head: str | None = None,
        htmx: bool = False,
        allow_scripts: bool = False,
        max_html: int = 500_000,
        text_characters: int = 4_000,
    ) -> "Pages":
        """Return a `Pages`, whose decorators `view` and `action` show templates of a folder. Needs Jinja2.

        Args:
            folder: The folder of the templates, relative to the file that calls this.
            head: A file in the folder whose content is added to the `<head>` of every page, with the stylesheets and
                scripts that it refers to. It is not a template.
            htmx: Whether `hx-get="action:name"` and `hx-post="action:name"` call actions. The `head` loads htmx 4.
            allow_scripts: Whether scripts and `on...` attributes in templates run. Default: they are removed.
            max_html: The number of characters that a rendered template may have.
            text_characters: About how many characters the text for the model has at most.
        """
        # As in show.
        from fanlight.show.templates.pages import Pages

        return Pages(self, self._adapter, folder, head, htmx, allow_scripts, max_html, text_characters)

    def supported(self, ctx: Any) -> bool:
        """Return whether the client of a request negotiated MCP Apps, also under `negotiate="always"`.

        Args:
            ctx: The context that a tool receives, of either kind of server.
        """
        return negotiation.negotiation_of(self.server).supported(ctx)

    def _linked(self, view: "str | Path | HtmlFunction | View | EmbeddedResource") -> View:
        """Return the View that `view` stands for, registering it on first use."""
        if isinstance(view, str) and "://" in view:
            return self._known(metadata.check_uri(view))
        if isinstance(view, EmbeddedResource):
            view = self._view_of(view)
        if isinstance(view, View):
            return view if view.is_bound and self._views.get(view.uri) is view else self._register(view)
        if isinstance(view, str | Path):
            view = resolve(view)
        known = self._sources.get(view)
        return known if known is not None else self._register(View(view, also=self._also))

    def _view_of(self, resource: EmbeddedResource) -> View:
        """Return the View of an embedded resource, the same one each time."""
        for known, view in self._embedded:
            if known is resource:
                return view
        view = View.embedded(resource, self._also)
        self._embedded.append((resource, view))
        return view

    def _known(self, uri: str) -> View:
        if uri in self._views:
            return self._views[uri]
        registered = ", ".join(sorted(self._views)) or "none"
        raise RegistrationError(
            f"No View is registered as {uri} (registered: {registered}). "
            f'Register it first: apps.view("file.html", uri="{uri}").'
        )

    def _register(self, view: View) -> View:
        view.bind(self.server.name, self._also)
        known = self._views.get(view.uri)
        if known is not None:
            raise RegistrationError(
                f"Two Views have the URI {view.uri}. Give one of them another: "
                f'view=View("file.html", uri="{view.uri}-2").'
            )
        self._adapter.add_view(view)
        self._views[view.uri] = view
        self._sources |= dict.fromkeys(view.sources, view)
        if not view.listed:
            self._registry.unlisted.add(view.uri)
        return view


def _adapter(server: "MCPServer[Any] | FastMCP[Any]") -> ServerAdapter:
    negotiation.lowlevel(server)  # raises for any other object
    if isinstance(server, MCPServer):
        from fanlight.server.mcpserver import MCPServerAdapter

        return MCPServerAdapter(server)
    from fanlight.server.fastmcp import FastMCPAdapter

    return FastMCPAdapter(server)


def _check_options(server: "MCPServer[Any] | FastMCP[Any]", options: Mapping[str, Any]) -> None:
    """Raise for an option that the server's own tool decorator does not have."""
    if not options:
        return
    parameters = inspect.signature(server.tool).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return
    known = ("view", "visibility", "invoking", "invoked", *parameters)
    for key in options:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            hint = f"Write {near[0]}=..." if near else f"Its options are {', '.join(known)}."
            raise ArgumentError(f"apps.tool has no option {key!r}. {hint}")
