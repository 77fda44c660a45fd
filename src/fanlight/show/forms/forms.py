"""The forms of a server: `Apps.form` registers them here, and one tool submits all of them."""

import functools
import hashlib
import inspect
import urllib.parse
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

import anyio.to_thread
import pydantic_core
from mcp_types import CallToolResult, ToolAnnotations
from pydantic import Field

from fanlight.protocol.errors import ArgumentError, RegistrationError
from fanlight.server.caller import current_caller, current_request
from fanlight.server.negotiation import negotiation_of
from fanlight.server.view import View
from fanlight.show.annotation import evaluated_signature, return_annotation
from fanlight.show.document import document
from fanlight.show.files.storage import UploadStorage
from fanlight.show.forms.fields import UNSET, Fields
from fanlight.show.forms.form import Call, Form, FormOptions
from fanlight.show.forms.form_files import Take
from fanlight.show.forms.outcome import is_simple
from fanlight.show.forms.submissions import Submissions
from fanlight.show.shows import failed
from fanlight.show.tool_function import as_tool, is_async

if TYPE_CHECKING:
    from fanlight.server.apps import Apps, ServerAdapter
    from fanlight.show.files.uploads import Uploads
    from fanlight.show.shows import Shows

Function = TypeVar("Function", bound=Callable[..., Any])

SUBMIT_TOOL: Final = "fanlight_submit"
"""The one tool of a server by which its Views submit forms."""

_CONTEXT: Final = "fanlight_context"
_OPENS: Final = ToolAnnotations(read_only_hint=True, open_world_hint=False)
_FORM: Final = ("form/schema", "form/fields", "form/form")
_NOT_OFFERED: Final = {
    "view": "apps.form has a View of its own. For another one, write @apps.tool(view=...).",
    "auth": "auth= would protect the tool that opens the form, not the submission. Check the caller in the function.",
}


class Forms:
    """The forms of one server. `Apps` has one from its first `form` on."""

    def __init__(
        self,
        apps: "Apps",
        adapter: "ServerAdapter",
        shows: "Callable[[], Shows]",
        uploads: "Callable[[], Uploads]",
    ) -> None:
        self._apps = apps
        self._adapter = adapter
        self._shows = shows
        self._uploads = uploads
        self._forms: dict[str, Form] = {}
        self._views: dict[str, View] = {}
        self._submissions = Submissions()
        self._add_submit_tool()

    def tool(
        self, name: str | None, options: FormOptions, tool_options: dict[str, Any]
    ) -> Callable[[Function], Function]:
        """Return the decorator of `Apps.form`."""
        if callable(name):
            raise ArgumentError("apps.form was used without being called. Write @apps.form() with parentheses.")
        for key, reason in _NOT_OFFERED.items():
            if key in tool_options:
                raise RegistrationError(reason)

        def decorate(function: Function) -> Function:
            tool = str(name or getattr(function, "__name__", type(function).__name__))
            inner, context = self._adapter.without_injected(function)
            signature = evaluated_signature(function)
            taken = inspect.signature(inner).parameters
            fields = Fields(
                tool, [each for each in signature.parameters.values() if each.name in taken and each.name != context]
            )
            simple = is_simple(return_annotation(function))
            form = Form(
                tool,
                inspect.getdoc(function) or "",
                fields,
                options,
                _caller(inner, context),
                None if simple else self._shows().keeping,
                self._take(tool, fields, options.storage),
            )
            tool_options.setdefault("annotations", _OPENS if options.confirm else None)
            self._apps.tool(name, view=self._view(simple, has_files=bool(fields.targets)), **tool_options)(
                self._opener(function, fields, form)
            )
            self._forms[tool] = form
            return function

        return decorate

    def _take(self, tool: str, fields: Fields, storage: UploadStorage | None) -> Take | None:
        """Accept uploads for the files of a form, and return what takes them; None if it has no files."""
        if not fields.targets:
            if storage is not None:
                raise RegistrationError(f"{tool} has no field for files, so storage has no effect. Leave it out.")
            return None
        uploads = self._uploads()
        for limits, target in fields.targets.items():
            uploads.add_target(target, limits, storage)
        return functools.partial(uploads.take, again=True)

    def _opener(self, function: Callable[..., Any], fields: Fields, form: Form) -> Callable[..., Any]:
        """Return the function of the tool that opens a form."""
        context = self._adapter.context
        signature, names = fields.signature(None if context is None else (_CONTEXT, context))
        negotiation = negotiation_of(self._apps.server)

        async def opener(**arguments: Any) -> Any:
            injected = arguments.pop(_CONTEXT, None)
            values = {names.get(name, name): value for name, value in arguments.items() if value is not UNSET}
            request = current_request.get()
            if request is not None and negotiation.shows(request):
                return form.open(values)
            return await form.without_view(values, injected, request)

        return as_tool(opener, function, signature)

    def _view(self, simple: bool, *, has_files: bool) -> View:
        """Return one of the four Views, registered when a form first needs it."""
        name = ("form" if simple else "form-show") + ("-files" if has_files else "")
        if name not in self._views:
            uri = f"ui://{urllib.parse.quote(self._apps.server.name, safe='-._~')}/fanlight-{name}"
            made = View.html(_document(simple, has_files), uri=uri, name=f"fanlight-{name}", prefers_border=True)
            self._views[name] = self._apps.view(made)
            if not simple:
                self._shows().add_library()
        return self._views[name]

    def _add_submit_tool(self) -> None:
        async def fanlight_submit(
            form: Annotated[str, Field(max_length=200, description="The name of the form.")],
            values: Annotated[dict[str, Any], Field(description="The values of its fields.")],
            submission: Annotated[str, Field(max_length=100, description="Equal for equal submissions.")] = "",
            fanlight_context: Any = None,
        ) -> CallToolResult:
            """Submit a form that a tool of this server opened."""
            found = self._forms.get(form)
            if found is None:
                return failed(f"This server has no form {form!r}. Open the form again.")
            digest = hashlib.sha256(pydantic_core.to_json(values)).digest()
            key = (current_caller(), form, submission, digest)
            run = functools.partial(found.submit, values, fanlight_context)
            return await self._submissions.once(key, run) if submission else await run()

        hints: dict[str, Any] = fanlight_submit.__annotations__
        hints["return"] = CallToolResult
        if self._adapter.context is None:
            signature = inspect.signature(fanlight_submit)
            kept = [each for each in signature.parameters.values() if each.name != _CONTEXT]
            fanlight_submit.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
            del hints[_CONTEXT]
        else:
            hints[_CONTEXT] = self._adapter.context
        self._apps.tool(visibility=["app"])(fanlight_submit)


def _caller(function: Callable[..., Any], context: str | None) -> Call:
    """Return what calls a function in a tool: an async one here, another one in a thread."""
    awaits = is_async(function)

    async def call(arguments: dict[str, Any], injected: Any) -> Any:
        bound = functools.partial(function, **arguments, **({context: injected} if context else {}))
        return await bound() if awaits else await anyio.to_thread.run_sync(bound)

    return call


@functools.cache
def _document(simple: bool, has_files: bool) -> str:
    about = "A form to fill in and submit."
    files = ["form-files"] if has_files else []
    if simple:
        return document("Form", about, [*_FORM, "form-base", "form", *files], page="form")
    return document("Form", about, ["base", "table", "figures", *_FORM, "form", *files, "page"])
