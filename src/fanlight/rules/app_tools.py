"""Rules about app tools: the tools that a View offers to the model."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from fanlight.rules.observation import Scene, ViewObservation
from fanlight.rules.rule import (
    HOST_PAGE,
    IMPLIED,
    MAY,
    MUST,
    NEEDS_JUDGEMENT,
    NEEDS_SOURCE,
    NOT_BREAKABLE,
    NOT_OBSERVABLE,
    SHOULD,
    VIEW_IS_GONE,
    Problem,
    Section,
)

_METHOD_NOT_FOUND: Final = -32601

section = Section("App tools")


def _declares_tools(view: ViewObservation) -> Iterator[Scene]:
    return (scene for scene in view.played("plain") if "tools" in scene.app_capabilities())


def _error_code(response: Mapping[str, Any] | None) -> object:
    error = (response or {}).get("error")
    return error.get("code") if isinstance(error, Mapping) else None


def _failed(response: Mapping[str, Any]) -> bool:
    """Return whether a call of an app tool failed, as an error or as a result with `isError`."""
    result = response.get("result")
    return "error" in response or (isinstance(result, Mapping) and result.get("isError") is True)


@section.rule(
    "D-APT-01",
    MUST,
    "A View that declares tools responds to `tools/call`.",
    fix="Handle tools/call, or do not declare tools.",
)
def handles_tool_calls(view: ViewObservation) -> Iterator[Problem]:
    for scene in _declares_tools(view):
        tried = [scene.responses.get(name) for name in ("call-unknown", "call-known") if f"{name}?" in scene.steps]
        if tried and all(response is None or _error_code(response) == _METHOD_NOT_FOUND for response in tried):
            yield Problem(view.where, "declares tools, but does not respond to tools/call.")


@section.rule(
    "D-APT-02",
    MUST,
    "A View that declares tools responds to `tools/list`.",
    fix="Handle tools/list, or do not declare tools.",
)
def lists_its_tools(view: ViewObservation) -> Iterator[Problem]:
    for scene in _declares_tools(view):
        response = scene.responses.get("list")
        if "list?" in scene.steps and (response is None or _error_code(response) == _METHOD_NOT_FOUND):
            yield Problem(view.where, "declares tools, but does not respond to tools/list.")


@section.rule("D-APT-03", SHOULD, "A View rejects calls of tools that it does not have.", fix="Respond with an error.")
def rejects_unknown_tools(view: ViewObservation) -> Iterator[Problem]:
    for scene in _declares_tools(view):
        response = scene.responses.get("call-unknown")
        if response is not None and not _failed(response):
            yield Problem(view.where, "responds to a call of a tool that it does not have as if it had succeeded.")


section.unchecked(
    "D-APT-04", SHOULD, "An app tool that fails returns a result with `isError`.", NEEDS_SOURCE, binds="view"
)


@section.rule(
    "D-APT-05",
    SHOULD,
    "A View lists its tools with descriptions and schemas.",
    fix="Give the model a description and a schema.",
)
def describes_its_tools(view: ViewObservation) -> Iterator[Problem]:
    for scene in _declares_tools(view):
        for tool in scene.app_tools():
            missing = [key for key in ("description", "inputSchema") if not tool.get(key)]
            if missing:
                yield Problem(view.where, f"lists its tool {tool.get('name')} without {' and '.join(missing)}.")


section.unchecked("D-APT-06", MAY, "A View may list different tools at different times.", NOT_BREAKABLE, binds="view")
section.unchecked("D-APT-07", IMPLIED, "A View announces changes of its tools.", NEEDS_SOURCE, binds="view")


@section.rule(
    "D-APT-08",
    IMPLIED,
    "A View rejects invalid arguments before the app tool runs.",
    fix="Validate the arguments against the schema before the tool runs.",
)
def rejects_invalid_arguments(view: ViewObservation) -> Iterator[Problem]:
    for scene in _declares_tools(view):
        response = scene.responses.get("call-bad")
        if response is not None and not _failed(response):
            yield Problem(view.where, "runs a tool although required arguments are missing.")


section.unchecked("D-APT-09", MAY, "App tools that take long may be tasks.", NOT_BREAKABLE, binds="view")
section.unchecked("D-APT-10", SHOULD, "A View delegates long work to the server.", NEEDS_JUDGEMENT, binds="view")
section.host_rule("D-SEC-01", SHOULD, "The user can see which app an app tool belongs to.", HOST_PAGE)
section.host_rule("D-SEC-02", SHOULD, "The host asks the user before an app tool changes something.", HOST_PAGE)
section.host_rule("D-SEC-03", SHOULD, "The names of app tools cannot clash with those of server tools.", HOST_PAGE)
section.unchecked(
    "D-SEC-04",
    SHOULD,
    "The host limits the number of app tools, and the time and the size of their results.",
    NOT_OBSERVABLE,
    binds="host",
)
section.unchecked(
    "D-SEC-05", SHOULD, "The host records registrations and calls of app tools.", NOT_OBSERVABLE, binds="host"
)
section.unchecked("D-SEC-06", SHOULD, "The host validates the results of app tools.", NOT_OBSERVABLE, binds="host")
section.unchecked(
    "D-SEC-07", MAY, "The host may decide by the annotations of an app tool.", NOT_BREAKABLE, binds="host"
)
section.host_rule("D-SEC-08", MUST, "App tools exist only as long as their View.", VIEW_IS_GONE)
section.unchecked(
    "D-SEC-09", MUST, "The host does not keep app tools for the next session.", NOT_OBSERVABLE, binds="host"
)
section.host_rule("D-SEC-10", MUST, "A call of an app tool whose View is closed is an error.", VIEW_IS_GONE)
