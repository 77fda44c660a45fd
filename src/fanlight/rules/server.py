"""Rules about how a server behaves: its lists, its responses and the results of its tools."""

import json
from collections.abc import Iterator
from typing import Final

from fanlight.protocol.errors import sentence
from fanlight.protocol.jsonrpc import JSONObject
from fanlight.protocol.visibility import for_model
from fanlight.rules.observation import Look, Response, ServerObservation, ToolCall, label_of, texts
from fanlight.rules.rule import ADVICE, IMPLIED, MUST, Problem, Section, stable_text

LONG_TEXT: Final = 20_000
"""In characters, which are about 5,000 tokens."""
_LONGEST_QUOTE: Final = 200

section = Section("How a server behaves")


@section.rule(
    "LNT-06",
    IMPLIED,
    "A server offers the same Views on every protocol version.",
    aliases=["mcp-apps-reg-02"],
    fix="Offer the same tools with the same Views on every version.",
)
def same_views_on_every_version(seen: ServerObservation) -> Iterator[Problem]:
    newest = seen.newest()
    if newest is None:
        return
    links = {str(tool.get("name")): uri for tool, uri in newest.links()}
    for look in seen.looks:
        if not look.ui or look.failures:
            continue
        others = {str(tool.get("name")): uri for tool, uri in look.links()}
        for name in sorted(links.keys() | others.keys()):
            if links.get(name) != others.get(name):
                message = f"has the View {others.get(name)} on {look.version}, and {links.get(name)} on later versions."
                yield Problem(f"tool {name}", message)


@section.rule(
    "LNT-08",
    IMPLIED,
    "Tools and resources can be listed, to the last page.",
    fix="Correct the list: clients request it when they connect.",
)
def complete_lists(look: Look) -> Iterator[Problem]:
    for failure in look.failures:
        yield Problem("server", failure, key=stable_text(failure))


@section.rule("LNT-11", MUST, "The lists of a server are valid by the schema of MCP.")
def valid_lists(look: Look) -> Iterator[Problem]:
    for error in look.schema_errors:
        yield Problem(error.where, error.message, error.fix)


@section.rule(
    "LNT-13",
    MUST,
    "A server responds to every request, and no request ends it.",
    fix="Return a result with isError instead of failing or exiting. The last output of the server says where to look.",
)
def survives_requests(seen: ServerObservation) -> Iterator[Problem]:
    for where, request, response in _worst_responses(seen):
        if response.disconnected is not None:
            message = f"ends the server when it is {request}: {response.disconnected}"
            yield Problem(where, message, key="ends the server")


@section.rule(
    "LNT-14",
    IMPLIED,
    "A server responds to calls and reads in time.",
    fix=(
        "Look for what it waits for, or for a thread that it ends (sys.exit). If it only needs longer: "
        "--timeout SECONDS."
    ),
)
def responds_in_time(seen: ServerObservation) -> Iterator[Problem]:
    for where, request, response in _worst_responses(seen):
        if response.timed_out:
            reason = (response.error or {}).get("message")
            message = f"does not respond when it is {request}: {reason}.{response.last_output}"
            yield Problem(where, message, key="does not respond")


@section.rule(
    "LNT-15",
    MUST,
    "A server writes nothing but MCP to its stdout.",
    fix="Write to stderr instead (print(..., file=sys.stderr) or logging): stdout is reserved for messages.",
)
def clean_stdout(seen: ServerObservation) -> Iterator[Problem]:
    noise = next((look.stdout_noise for look in seen.looks if look.stdout_noise), None)
    if noise is not None:
        yield Problem("server", f"writes text to its stdout that is not MCP: {noise!r}.", key="writes to its stdout")


@section.rule("LNT-16", MUST, "The result of a tool is valid by the schema of MCP.")
def valid_results(seen: ServerObservation) -> Iterator[Problem]:
    for where, _, response in _worst_responses(seen):
        if where.startswith("tool "):  # RES-04 and others explain invalid resources better
            for error in response.schema_errors:
                yield Problem(where, error.message, error.fix)


def _worst_responses(seen: ServerObservation) -> Iterator[tuple[str, str, Response]]:
    """Yield each tool that was called and each View that was read, with the request and the response.

    Of several responses, the first one that shows a fault is yielded, otherwise the last.
    """
    responses: dict[str, tuple[str, Response]] = {}

    def add(where: str, request: str, response: Response) -> None:
        earlier = responses[where][1] if where in responses else Response()
        if earlier.disconnected is None and not earlier.timed_out and not earlier.schema_errors:
            responses[where] = (request, response)

    for look in seen.looks:
        for uri, response in look.reads.items():
            add(uri, "read", response)
        called = "called" if look.ui else "called without MCP Apps"
        for name, call in look.calls.items():
            add(f"tool {name}", f"{called} with {short_json(call.arguments)}", call.response)
    for name, call in seen.view_calls.items():
        add(f"tool {name}", f"called by a View with {short_json(call.arguments)}", call.response)
    for where, (request, response) in responses.items():
        yield where, request, response


# The results of tools


def _calls(seen: ServerObservation) -> Iterator[tuple[JSONObject, object, ToolCall]]:
    """Yield each tool that names a View and was called, with the View's URI."""
    if (look := seen.newest()) is not None:
        for tool, uri in look.links():
            if (call := look.calls.get(str(tool.get("name")))) is not None:
                yield tool, uri, call


@section.rule(
    "ADV-04",
    ADVICE,
    "The text of a result says what the model should know.",
    fix="Put what the model should know into the text: not every host gives it structuredContent.",
)
def informative_text(seen: ServerObservation) -> Iterator[Problem]:
    for tool, _, call in _calls(seen):
        result = call.response.result
        if result is None or result.get("isError") or not result.get("structuredContent"):
            continue
        if not for_model(tool):
            continue
        length = sum(len(text.strip()) for text in texts(result))
        data = len(json.dumps(result["structuredContent"]))
        if 0 < length < 25 and data > 4 * length:
            message = f"returns the text {' '.join(texts(result))!r} to the model, and all data in structuredContent."
            yield Problem(label_of(tool), message)


@section.rule(
    "ADV-14",
    ADVICE,
    "The text of a result is short enough for the model.",
    fix=(
        "Return a summary as text, and the data for the View in structuredContent. In Python: "
        "CallToolResult(content=[TextContent(text=summary)], structured_content=data), both from mcp_types."
    ),
)
def short_text(seen: ServerObservation) -> Iterator[Problem]:
    for tool, _, call in _calls(seen):
        length = sum(map(len, texts(call.response.result)))
        if for_model(tool) and length > LONG_TEXT:
            message = f"returns {length:,} characters of text, which the model has to read."
            yield Problem(label_of(tool), message, key="returns long text")


@section.rule(
    "ADV-11",
    ADVICE,
    "The data for a View is in `structuredContent`.",
    fix=(
        "Return structuredContent, too. In Python, annotate what the tool returns: -> dict[str, str], or a TypedDict."
    ),
)
def structured_data(seen: ServerObservation) -> Iterator[Problem]:
    for tool, _, call in _calls(seen):
        result = call.response.result
        if result is None or result.get("isError") or result.get("structuredContent") is not None:
            continue
        if "outputSchema" not in tool and any(_is_json(text) for text in texts(result)):
            message = "returns JSON only as text: hosts and Views look for data in structuredContent."
            yield Problem(label_of(tool), message)


def _is_json(text: str) -> bool:
    if not text.lstrip().startswith(("{", "[")):
        return False
    try:
        return isinstance(json.loads(text), dict | list)
    except (ValueError, RecursionError):
        return False


@section.rule("ADV-12", ADVICE, "A tool with a View succeeds with the arguments that `fanlight check` calls it with.")
def successful_call(seen: ServerObservation) -> Iterator[Problem]:
    if seen.saved:
        return
    failed = {str(tool.get("name")): (uri, call) for tool, uri, call in _calls(seen) if _error_text(call.response)}
    succeeded = [
        uri for _, uri, call in _calls(seen) if call.response.result is not None and _error_text(call.response) is None
    ]
    for name, (uri, call) in failed.items():
        unseen = "" if uri in succeeded else " So its View was not shown with a real result."
        arguments, response = short_json(call.arguments), call.response
        others = f"--args '{name}={{...}}'"
        raised = response.exception is not None or _is_crash(name, response)
        if response.exception is not None:
            message = f"raises {_sentence(response.exception)} It was called with {arguments}.{unseen}"
            fix = f"Fix the exception. Only if these arguments are invalid, give others: {others}."
        elif raised:
            message = f"raises an exception if it is called with {arguments}; the server's log has it.{unseen}"
            fix = f"Fix the exception. Only if these arguments are invalid, give others: {others}."
        else:
            message = f"returns an error for {arguments}: {_error_text(response)}{unseen}"
            fix = f"Give it arguments that it accepts: {others}."
        yield Problem(f"tool {name}", message, fix, key="returns an error", raised=raised)


def _is_crash(name: str, response: Response) -> bool:
    """Return whether the result is the one that the Python SDK returns for an exception that it does not disclose."""
    return texts(response.result) == [f"Error executing tool {name}"]


def _error_text(response: Response) -> str | None:
    """Return the text of an error as a sentence; None if it is not an error, or if other rules report it."""
    if response.timed_out or response.disconnected is not None or response.schema_errors:
        return None
    if response.error is not None:
        return _sentence(str(response.error.get("message")))
    if response.result is not None and response.result.get("isError"):
        return _sentence(" ".join(texts(response.result)))
    return None


def _sentence(text: str) -> str:
    return sentence(text.strip() or "it has no text", _LONGEST_QUOTE)


def short_json(value: object) -> str:
    """Return a value as JSON, cut to one line of a message."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}..."
