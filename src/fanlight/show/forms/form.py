"""One form: it opens with what the model filled in, and runs its function when the user submits it."""

import json
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import anyio.to_thread
import pydantic_core
from mcp.server.context import ServerRequestContext
from mcp_types import CallToolResult, InputRequiredResult, TextContent

from fanlight.protocol.errors import RegistrationError
from fanlight.show.files.storage import UploadStorage
from fanlight.show.forms import elicitation
from fanlight.show.forms.fields import Fields, Problem
from fanlight.show.forms.form_files import FormFiles, Take
from fanlight.show.forms.outcome import outcome
from fanlight.show.item import Keeping

Call = Callable[[dict[str, Any], Any], Awaitable[Any]]
"""Calls the function of a form with its arguments and the context of the request."""

_MOST_ROUNDS: Final = 3


@dataclass(frozen=True)
class FormOptions:
    """The options of `Apps.form` that are not those of the tool."""

    title: str | None
    submit: str
    confirm: bool
    answer_seconds: float
    storage: UploadStorage | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.submit, str) or not self.submit.strip():
            raise RegistrationError(f"submit is {self.submit!r}, expected the text of a button.")
        if not isinstance(self.confirm, bool):
            raise RegistrationError(f"confirm is {self.confirm!r}, expected True or False.")
        seconds = self.answer_seconds
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds > 0:
            raise RegistrationError(f"answer_seconds is {seconds!r}, expected a number above 0.")
        if not isinstance(self.storage, UploadStorage | None):
            raise RegistrationError(f"storage is {self.storage!r}, expected show.UploadStorage(...).")


class Form:
    """The form of one function."""

    def __init__(
        self,
        tool: str,
        about: str,
        fields: Fields,
        options: FormOptions,
        call: Call,
        keeping: Callable[[], Keeping] | None,
        take: Take | None,
    ) -> None:
        self._tool = tool
        self._about = about
        self._fields = fields
        self._options = options
        self._call = call
        self._keeping = keeping
        self._take = take
        self.title = options.title or tool.replace("_", " ").strip().capitalize()

    def open(self, values: Mapping[str, Any]) -> CallToolResult:
        """Return the result that shows the form with some values."""
        public = self._fields.public(values)
        wrong = self._fields.wrong(public)
        item = {
            "kind": "form",
            "form": self._tool,
            "about": self._about,
            "submit": self._options.submit,
            "schema": self._fields.schema,
            "values": public,
            "errors": [problem.wire() for problem in wrong],
            "submission": secrets.token_urlsafe(9),
        }
        parts = [
            f'The user sees the form "{self.title}" now, and has not submitted it yet.',
            f"Filled in: {_json(public)}." if public else "Nothing is filled in.",
            f"The user is asked to correct: {_list(wrong)}." if wrong else "",
            "Wait for the user to complete and submit it. Do not ask for the values in the chat.",
        ]
        structured = {"title": self.title, "tool": self._tool, "item": item}
        return _result(" ".join(filter(None, parts)), structured)

    async def submit(self, values: Mapping[str, Any], context: Any) -> CallToolResult:
        """Run the function, and return what came of it, or what is wrong with the values."""
        try:
            with FormFiles(self._fields.targets, self._take) as files:
                arguments = self._fields.arguments(values, files)
                returned = await self._call(arguments, context)
                keep = self._keeping() if self._keeping is not None else None
                # A lazy frame reads its file now.
                item, text = await anyio.to_thread.run_sync(outcome, returned, self._tool, keep)
        except ValueError as error:  # of pydantic, or the author's own
            return self._wrong(self._fields.problems(error))
        public = self._fields.public(values, files.taken)
        said = f'The user submitted the form "{self.title}" ({self._tool}) with: {_json(public)}.'
        failed = isinstance(returned, CallToolResult) and bool(returned.is_error)
        result = _result(f"{said}\n\nResult: {text or 'done'}", {"item": item} if item else {})
        return result.model_copy(update={"is_error": True}) if failed else result

    async def without_view(
        self, values: Mapping[str, Any], context: Any, request: ServerRequestContext[Any, Any] | None
    ) -> CallToolResult | InputRequiredResult:
        """Answer a client that shows no Views: ask its user by elicitation, or say what to do."""
        public = self._fields.public(values)
        problems = self._fields.check(public)
        if not problems and not self._options.confirm:
            return await self.submit(public, context)
        asked = elicitation.question(self._fields.schema, public)
        only_view = [each for each in problems if self._fields.needs_view(each)]
        if only_view or request is None or not elicitation.can_ask(request) or not asked.properties:
            return _result(self._refusal(problems, only_view), is_error=True)
        if beyond := [each for each in problems if any(_is_below(each, name) for name in asked.left_out)]:
            return _result(self._call_again(beyond), is_error=True)
        if elicitation.asks_in_results(request):
            answer = elicitation.answer_in(request)
            if answer is None:
                return elicitation.request_of(self._question(public, asked, []), asked)
            return await self._answered(answer, public, context, request)
        wrong: list[Problem] = []
        for _ in range(_MOST_ROUNDS):
            answer = await elicitation.ask(
                request, self._question(public, asked, wrong), asked, self._options.answer_seconds
            )
            if answer is None or answer.action != "accept":
                return self._declined(answer is None)
            public = elicitation.merged(public, answer.content or {})
            wrong = self._fields.check(public)
            if not wrong:
                return await self.submit(public, context)
            asked = elicitation.question(self._fields.schema, public)
        return self._wrong(wrong)

    async def _answered(
        self, answer: Any, values: dict[str, Any], context: Any, request: ServerRequestContext[Any, Any]
    ) -> CallToolResult | InputRequiredResult:
        if answer.action != "accept":
            return self._declined(late=False)
        given = elicitation.merged(values, answer.content or {})
        wrong = self._fields.check(given)
        if not wrong:
            return await self.submit(given, context)
        asked = elicitation.question(self._fields.schema, given)
        return elicitation.request_of(self._question(given, asked, wrong), asked)

    def _question(self, values: Mapping[str, Any], asked: elicitation.Question, wrong: list[Problem]) -> str:
        fixed = {name: values[name] for name in asked.left_out if name in values}
        parts = [
            self._about or self.title,
            f"Also submitted: {_json(fixed)}." if fixed else "",
            f"Please correct: {_list(wrong)}." if wrong else "",
            f"Files need a client that shows MCP Apps: {', '.join(asked.files)}." if asked.files else "",
        ]
        return "\n\n".join(filter(None, parts))

    def _call_again(self, problems: list[Problem]) -> str:
        return (
            f'The form "{self.title}" was not submitted, because this client cannot show it. Ask the user, and call '
            f"{self._tool} again with all of the fields. Wrong or missing: {_list(problems)}."
        )

    def _refusal(self, problems: list[Problem], only_view: list[Problem]) -> str:
        said = f'The form "{self.title}" was not submitted, because this client cannot show it.'
        if only_view:
            return (
                f"{said} Only the form can take: {_list(only_view)}. Ask the user to use a client that shows MCP Apps."
            )
        if not self._options.confirm:
            return self._call_again(problems)
        state = f"Wrong or missing: {_list(problems)}." if problems else "All of its fields are complete."
        return f"{said} The user has to confirm it, in a client that shows MCP Apps or supports elicitation. {state}"

    def _declined(self, late: bool) -> CallToolResult:
        why = "did not answer in time" if late else "declined"
        return _result(f'The user {why}. The form "{self.title}" was not submitted.')

    def _wrong(self, problems: list[Problem]) -> CallToolResult:
        return _result(
            f"Not submitted: {_list(problems)}.", {"errors": [problem.wire() for problem in problems]}, is_error=True
        )


def _is_below(problem: Problem, name: str) -> bool:
    dotted = ".".join(map(str, problem.path))
    return dotted == name or dotted.startswith(f"{name}.")


def _list(problems: list[Problem]) -> str:
    return "; ".join(problem.text().rstrip(".") for problem in problems)


def _json(values: Mapping[str, Any]) -> str:
    return json.dumps(json.loads(pydantic_core.to_json(values)), ensure_ascii=False)


def _result(text: str, structured: dict[str, Any] | None = None, *, is_error: bool = False) -> CallToolResult:
    return CallToolResult(
        content=[TextContent(type="text", text=text)], structured_content=structured, is_error=is_error
    )
