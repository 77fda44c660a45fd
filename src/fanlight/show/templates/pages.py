"""The tools of a server that show rendered templates: `Apps.pages` returns a `Pages`."""

import functools
import inspect
import logging
import secrets
import urllib.parse
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import anyio.to_thread
from mcp_types import CallToolResult, InputRequiredResult, TextContent

from fanlight.protocol.csp import Csp
from fanlight.protocol.errors import ArgumentError, BundleError, RegistrationError
from fanlight.server.bundle import bundle_text
from fanlight.server.bundle.source_map import in_development
from fanlight.server.caller import current_request
from fanlight.server.html_source import InFolder, resolve
from fanlight.server.negotiation import negotiation_of
from fanlight.server.view import View, ViewOptions
from fanlight.show.annotation import evaluated_signature
from fanlight.show.templates.arguments import Arguments
from fanlight.show.templates.environment import Templates
from fanlight.show.templates.model_text import ModelText, TextSource
from fanlight.show.templates.shell import shell
from fanlight.show.tool_function import as_tool, is_async

if TYPE_CHECKING:
    from jinja2 import Environment

    from fanlight.server.apps import Apps, ServerAdapter

Function = TypeVar("Function", bound=Callable[..., Any])

logger = logging.getLogger(__name__)

_VIEW_OPTIONS: Final = frozenset(ViewOptions.__annotations__) - {"name", "title", "description"}
_MOST_FRESH: Final = 20


@dataclass(frozen=True)
class Refresh:
    """What an action returns to have the page rendered again by the tool that opened it, with the same arguments."""


class Pages:
    """A folder of templates, and the tools that render them. `Apps.pages` makes one."""

    def __init__(
        self,
        apps: "Apps",
        adapter: "ServerAdapter",
        folder: str | Path,
        head: str | None,
        htmx: bool,
        allow_scripts: bool,
        max_html: int,
        text_characters: int,
    ) -> None:
        for name, value in (("max_html", max_html), ("text_characters", text_characters)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise RegistrationError(f"{name} is {value!r}, expected a number above 0.")
        self._apps = apps
        self._adapter = adapter
        self._templates = Templates(resolve(folder))
        self._head = None if head is None else self._templates.folder / head
        self._htmx = htmx
        self._allow_scripts = allow_scripts
        self._max_html = max_html
        self._text_characters = text_characters
        self._views: dict[str, View] = {}
        self._actions: set[str] = set()
        self._recent: OrderedDict[str, tuple[str, Mapping[str, Any]]] = OrderedDict()

    @property
    def environment(self) -> "Environment":
        """The `jinja2.Environment`, for filters, tests and globals of your own."""
        return self._templates.environment

    def view(
        self, template: str, name: str | None = None, *, text: TextSource | None = None, **options: Any
    ) -> Callable[[Function], Function]:
        """Register a function as a tool that shows a template. Use it as a decorator.

        The function may be sync or async, and returns a dict of the template's variables. The decorated function
        itself is returned unchanged.

        Args:
            template: The name of a template in the folder.
            name: The name of the tool. Default: the name of the function.
            text: What the model gets: the name of a template, such as `"cart.txt"`, or a function that gets the dict
                and returns a str. Default: the values of the dict, cut after `text_characters`.
            options: The options of `apps.tool`, except `view`, and those of a `View`, such as `csp`.
        """
        _check_call(template, "view", options)
        self._templates.check(template)
        view_options = {key: options.pop(key) for key in list(options) if key in _VIEW_OPTIONS}
        made = ModelText(text, self._templates, self._text_characters)

        def decorate(function: Function) -> Function:
            tool = name or _name_of(function)
            view = self._view(template, options.get("title") or _title(tool), _about(function, options), view_options)
            render = functools.partial(self._page, tool, template, made)
            wrapped = _wrapped(function, evaluated_signature(function), render)
            self._apps.tool(name, view=view, **options)(wrapped)
            return function

        return decorate

    def action(
        self,
        template: str | None = None,
        name: str | None = None,
        *,
        text: TextSource | None = None,
        **options: Any,
    ) -> Callable[[Function], Function]:
        """Register a function as a tool that pages call and models do not. Use it as a decorator.

        The function may be sync or async, and returns a dict of the template's variables, None to change nothing, or
        `Refresh()`. A `ValueError` that it raises is shown to the user beside what called the action. Fields of the
        page fill in the parameters, which are validated with pydantic. An empty field counts as missing where its type
        does not accept an empty text, and a parameter that is a list gets all fields of its name.

        Args:
            template: The name of a template in the folder. Default: none, for functions that return no dict.
            name: The name of the tool. Default: the name of the function.
            text: What the model is told after the action, as for `view`. It replaces what it was told before.
                Default: nothing.
            options: The options of `apps.tool`, except `view` and `visibility`.
        """
        _check_call(template, "action", options)
        if template is not None:
            self._templates.check(template)
        made = None if text is None else ModelText(text, self._templates, self._text_characters)

        def decorate(function: Function) -> Function:
            tool = name or _name_of(function)
            arguments = Arguments(evaluated_signature(function))
            render = functools.partial(self._fragment, tool, template, made)
            wrapped = _wrapped(_checked(function, arguments), arguments.signature, render, function)
            self._apps.tool(name, visibility=["app"], **options)(wrapped)
            self._actions.add(tool)
            return function

        return decorate

    def _view(self, template: str, title: str, about: str, options: dict[str, Any]) -> View:
        """Return the View of a template. Tools that show the same one share it."""
        if template in self._views:
            if options:
                raise RegistrationError(f"The View of {template} already has its options. Give them to the first tool.")
            return self._views[template]

        def document() -> str | InFolder:
            return shell(
                title, about, self._head, htmx=self._htmx, scripts=self._allow_scripts, fresh=self._rendered_again()
            )

        made = document()
        if isinstance(made, InFolder):  # raises for what is wrong with the author's files
            bundle_text(made.text, options.get("csp") or Csp(), name=made.name, folder=made.folder)
        stem = Path(template).with_suffix("").as_posix().replace("/", "-")
        uri = "ui://" + "/".join(urllib.parse.quote(part, safe="-._~") for part in (self._apps.server.name, stem))
        defaults: dict[str, Any] = {"name": stem, "title": title, "description": about, "prefers_border": True}
        view = View(document, uri, **defaults | options)
        self._views[template] = self._apps.view(view)
        return view

    def _page(self, tool: str, template: str, text: ModelText, values: Any) -> CallToolResult:
        values = _mapping(values, tool)
        told = text.of(values)
        request = current_request.get()
        if request is not None and not negotiation_of(self._apps.server).shows(request):
            return _result(told, None)
        content = {"html": self._html(template, values), "tool": tool}
        if in_development():
            content["id"] = self._remember(template, values)
        return _result(told, content)

    def _fragment(self, tool: str, template: str | None, text: ModelText | None, values: Any) -> CallToolResult:
        if isinstance(values, _Invalid):
            told = "\n".join(f"{name}: {message}" if name else message for name, message in values.messages.items())
            return _result(told, {"errors": values.messages}, is_error=True)
        if isinstance(values, Refresh):
            return _result("The page is rendered again.", {"refresh": True})
        if values is None and template is not None:
            return _result("Nothing changed.", {"html": None})
        if template is None:
            if values is not None:
                raise ArgumentError(f"{tool}() returned {type(values).__name__} and has no template to render it with.")
            return _result("Done.", {"html": None})
        values = _mapping(values, tool)
        content = {"html": self._html(template, values)}
        if text is not None:
            content["model"] = text.of(values)
        return _result(f"Rendered {template}.", content)

    def _html(self, template: str, values: Mapping[str, Any]) -> str:
        self._check_actions(template)
        html = self._templates.render(template, values)
        if len(html) > self._max_html:
            raise BundleError(
                self._templates.folder / template,
                None,
                f"rendered {len(html)} characters of HTML, at most max_html={self._max_html} are sent. "
                "Show less at once, or give apps.pages a larger max_html.",
            )
        return html

    def _check_actions(self, template: str) -> None:
        """Raise if a template names an action that does not exist. All are registered when a page is rendered."""
        for action, path, line in self._templates.actions(template):
            if not self._adapter.may_have_tool(action):
                known = ", ".join(sorted(self._actions)) or "none"
                raise BundleError(
                    path,
                    line,
                    f'data-action="{action}" names no tool of this server. Correct the name, or register it with '
                    f"@pages.action(). Known actions: {known}.",
                )

    def _remember(self, template: str, values: Mapping[str, Any]) -> str:
        """Keep what a page shows, so that a change of its template shows when its document is read again."""
        key = secrets.token_hex(8)
        self._recent[key] = template, values
        while len(self._recent) > _MOST_FRESH:
            self._recent.popitem(last=False)
        return key

    def _rendered_again(self) -> dict[str, str]:
        return {key: self._html(template, values) for key, (template, values) in list(self._recent.items())}


@dataclass(frozen=True)
class _Invalid:
    """What is wrong with the arguments of an action: messages by field, or by "" if it is not one field."""

    messages: dict[str, str]


def _checked(function: Callable[..., Any], arguments: Arguments) -> Callable[..., Any]:
    """Return a function that validates its arguments, and returns what is wrong with them instead of raising it."""

    async def asynchronous(**values: Any) -> Any:
        parsed, messages = arguments.parse(values)
        if messages:
            return _Invalid(messages)
        try:
            return await function(**parsed)
        except ValueError as error:
            return _Invalid({"": str(error)})

    def synchronous(**values: Any) -> Any:
        parsed, messages = arguments.parse(values)
        if messages:
            return _Invalid(messages)
        try:
            return function(**parsed)
        except ValueError as error:
            return _Invalid({"": str(error)})

    return asynchronous if is_async(function) else synchronous


def _wrapped(
    function: Callable[..., Any],
    signature: inspect.Signature,
    render: Callable[[Any], CallToolResult],
    named: Callable[..., Any] | None = None,
) -> Callable[..., Any]:
    """Return the function of a tool that calls another one and renders what that returns."""

    def result(value: Any) -> CallToolResult | InputRequiredResult:
        if isinstance(value, CallToolResult | InputRequiredResult):
            return value
        try:
            return render(value)
        except (ArgumentError, BundleError) as error:
            logger.error("%s", error)
            told = str(error) if in_development() else "This page cannot be rendered; the server's log has the reason."
            return _result(told, None, is_error=True)

    async def asynchronous(**kwargs: Any) -> Any:
        return await anyio.to_thread.run_sync(result, await function(**kwargs))

    def synchronous(**kwargs: Any) -> Any:
        return result(function(**kwargs))

    return as_tool(asynchronous if is_async(function) else synchronous, named or function, signature)


def _check_call(template: object, decorator: str, options: Mapping[str, Any]) -> None:
    if callable(template):
        raise ArgumentError(f'pages.{decorator} was used without being called. Write @pages.{decorator}("page.html").')
    if not isinstance(template, str | None) or (template is None and decorator == "view"):
        raise RegistrationError(f"The template is {template!r}, expected the name of a file in the folder.")
    if "view" in options:
        raise RegistrationError("Rendered pages have a View of their own. For another, write @apps.tool(view=...).")
    if decorator == "action" and "visibility" in options:
        raise RegistrationError("Only pages can call an action. For a tool that models call, write @pages.view(...).")


def _mapping(values: object, tool: str) -> Mapping[str, Any]:
    if isinstance(values, Mapping):
        return values
    raise ArgumentError(f"{tool}() returned {type(values).__name__}, expected a dict of the template's variables.")


def _name_of(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


def _title(tool: str) -> str:
    return tool.replace("_", " ").strip().capitalize()


def _about(function: Callable[..., Any], options: Mapping[str, Any]) -> str:
    text = options.get("description") or inspect.getdoc(function) or f"The page of {_name_of(function)}."
    return " ".join(str(text).split())


def _result(text: str, structured: dict[str, Any] | None, *, is_error: bool = False) -> CallToolResult:
    return CallToolResult(
        content=[TextContent(type="text", text=text)], structured_content=structured, is_error=is_error
    )
