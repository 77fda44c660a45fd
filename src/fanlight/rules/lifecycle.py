"""Rules about the lifecycle of a View: the handshake, the tool's input and result, and the teardown."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from fanlight.rules.errors import LOOK_AT_PROBLEMS, error_problems
from fanlight.rules.observation import HANGS, ViewObservation
from fanlight.rules.rule import (
    IMPLIED,
    MAY,
    MUST,
    NOT_BREAKABLE,
    SHOULD,
    Problem,
    Section,
    by_person,
)

_METHODS: Final = frozenset(
    {
        *("ui/initialize", "ui/notifications/initialized", "ui/open-link", "ui/message", "ui/request-display-mode"),
        *("ui/update-model-context", "ui/download-file", "ui/notifications/size-changed"),
        *("ui/notifications/request-teardown", "tools/call", "tools/list", "resources/read", "resources/list"),
        *("resources/templates/list", "prompts/list", "sampling/createMessage", "notifications/message", "ping"),
        *("notifications/cancelled", "notifications/tools/list_changed"),
    }
)
_RENAMED: Final = {
    "initialize": "ui/initialize",
    "notifications/initialized": "ui/notifications/initialized",
    "ui/size-change": "ui/notifications/size-changed",
    "ui/notifications/size-change": "ui/notifications/size-changed",
}
_SIDE_EFFECTS: Final = ("tools/call", "ui/message", "ui/open-link", "ui/download-file", "sampling/createMessage")

section = Section("Lifecycle of a View")

# The handshake


@section.rule(
    "INI-01",
    MUST,
    "A View sends its `appCapabilities` in `ui/initialize`.",
    fix="Send an object, which may be empty: {}.",
)
def sends_app_capabilities(view: ViewObservation) -> Iterator[Problem]:
    for scene in view.played("plain"):
        for message in scene.sent("ui/initialize"):
            declared = message.params.get("appCapabilities")
            if not isinstance(declared, Mapping):
                yield Problem(view.where, f"sends ui/initialize with the appCapabilities {declared!r}.")
                return


section.host_rule(
    "INI-02",
    SHOULD,
    "The response to `ui/initialize` has a `hostContext` with values of the right types.",
    aliases=["context/initialize-hostcontext"],
)
section.host_rule(
    "INI-03",
    IMPLIED,
    "The response to `ui/initialize` has `protocolVersion`, `hostInfo` and `hostCapabilities`.",
    aliases=["lifecycle/initialize-capabilities"],
)


@section.rule(
    "INI-04", IMPLIED, "A View sends `ui/initialize` first, and `ui/notifications/initialized` after the response."
)
def completes_the_handshake(view: ViewObservation) -> Iterator[Problem]:
    scene = view.scenes.get("plain")
    if scene is None:
        return
    methods = [message.method for message in scene.sent() if message.method != "ping"]
    if not methods:
        if scene.unreached or scene.unfinished == HANGS:
            return  # QUA-20 and QUA-21 report it
        message = "never starts the handshake, so that no host can give it data or learn its size."
        if scene.errors:
            failure = f"{message} Its script fails first: {scene.errors[0][1]}"
            yield Problem(view.where, failure, LOOK_AT_PROBLEMS, key=message)
            return
        yield Problem(view.where, message, "Send ui/initialize when it loads. With view.js: await app.connect().")
        return
    if methods[0] != "ui/initialize":
        fix = f"Send ui/initialize first{' (the method was renamed)' if methods[0] in _RENAMED else ''}."
        yield Problem(view.where, f"begins with {methods[0]}, not with ui/initialize.", fix)
    elif "ui/notifications/initialized" not in methods:
        message = "does not send ui/notifications/initialized, so hosts send it nothing."
        yield Problem(view.where, message, "Send it after the response to ui/initialize.")
    else:
        early = methods[1 : methods.index("ui/notifications/initialized")]
        if early := [method for method in early if method not in ("ui/initialize", "notifications/message")]:
            message = f"sends {early[0]} before ui/notifications/initialized."
            yield Problem(view.where, message, "Wait until the handshake is complete.")


@section.rule("INI-05", IMPLIED, "A View sends only methods of the standard.")
def standard_methods(view: ViewObservation) -> Iterator[Problem]:
    sent = (message.method for scene in view.scenes.values() for message in scene.sent())
    for method in dict.fromkeys(sent):
        if method not in _METHODS:
            fix = f"Write {_RENAMED[method]}." if method in _RENAMED else "Use a method of the standard instead."
            yield Problem(view.where, f"sends {method}, which is not in the standard.", fix)


section.host_rule("INI-06", IMPLIED, "The host responds to `ping` at any time, even before the handshake is complete.")


@section.rule("QUA-10", IMPLIED, "A View ignores unknown fields and unknown messages.", fix="Ignore what is unknown.")
def ignores_unknown_fields(view: ViewObservation) -> Iterator[Problem]:
    yield from error_problems(view, "QUA-10", "fails on unknown fields or messages")
    for scene in view.played("odd"):
        if "unknown?" in scene.steps and "unknown" not in scene.responses:
            message = "does not respond to an unknown request."
            yield Problem(view.where, message, "Respond with the error -32601.")


@section.rule(
    "QUA-11",
    IMPLIED,
    "A View works in a host that offers only what the standard requires.",
    fix="Look at hostCapabilities and hostContext before you use them.",
)
def works_in_a_minimal_host(view: ViewObservation) -> Iterator[Problem]:
    yield from error_problems(view, "QUA-11", "fails in a host that offers only what the standard requires")


# Input

section.host_rule(
    "TIN-01",
    MUST,
    "The host sends the complete arguments in `tool-input`, after the handshake.",
    aliases=["lifecycle/tool-input", "mcp-apps-life-01"],
)
section.host_rule("TIN-02", IMPLIED, "The host sends `tool-input` at most once.")
section.host_rule("TIN-03", IMPLIED, "The host sends `tool-input` before `tool-result`.")
section.host_rule(
    "TIP-01",
    MAY,
    "The host may stream the arguments in `tool-input-partial` while the model writes them.",
    aliases=["lifecycle/tool-input-partial", "mcp-apps-life-02"],
)
section.host_rule("TIP-02", MAY, "The host may close unfinished JSON, so that partial arguments are an object.")
section.unchecked(
    "TIP-03", MAY, "The host may send partial arguments as fields become available.", NOT_BREAKABLE, binds="host"
)
section.host_rule(
    "TIP-04",
    MUST,
    "The host sends no `tool-input-partial` after `tool-input`.",
    aliases=["lifecycle/tool-input-partial-stop"],
)
section.unchecked("TIP-05", MAY, "A View may ignore partial arguments.", NOT_BREAKABLE, binds="view")
section.unchecked("TIP-06", MAY, "A View may show partial arguments as they arrive.", NOT_BREAKABLE, binds="view")


@section.rule(
    "TIP-07",
    MUST,
    "A View does no critical work with partial arguments.",
    fix="Act on ui/notifications/tool-input, not on the partial arguments.",
)
def waits_for_complete_arguments(view: ViewObservation) -> Iterator[Problem]:
    harmless = {str(tool.get("name")) for tool in view.document.tools if _is_read_only(tool)}
    for scene in view.played("partial"):
        since = scene.sent(*_SIDE_EFFECTS, since="partials")
        everything = scene.sent(*_SIDE_EFFECTS)
        earlier = everything[: len(everything) - len(since)]
        known = {(message.method, str(message.params.get("name"))) for message in earlier}
        for message in since:
            method, name = message.method, str(message.params.get("name"))
            if (method, name) not in known and not (method == "tools/call" and name in harmless):
                request = f"{method} ({name})" if method == "tools/call" else method
                yield Problem(view.where, f"sends {request} for arguments that are not complete yet.")
                break


def _is_read_only(tool: Mapping[str, Any]) -> bool:
    annotations = tool.get("annotations")
    return isinstance(annotations, Mapping) and annotations.get("readOnlyHint") is True


@section.rule(
    "TIP-08",
    SHOULD,
    "A View tolerates fields that are missing from partial arguments or that change.",
    fix="Expect every field to be missing or to change.",
)
def tolerates_partial_arguments(view: ViewObservation) -> Iterator[Problem]:
    yield from error_problems(view, "TIP-08", "fails on partial arguments")


# Result

section.host_rule(
    "TRS-01",
    MUST,
    "The host sends the whole result in `tool-result`, with `structuredContent` and `_meta`.",
    aliases=["lifecycle/tool-result", "mcp-apps-life-03"],
)
section.host_rule(
    "TCX-01",
    MUST,
    "The host sends `tool-cancelled` if the tool call is cancelled.",
    aliases=["lifecycle/tool-cancelled", "mcp-apps-life-04"],
)


@section.rule("QUA-12", IMPLIED, "A View survives the cancellation of its tool call.", fix="Handle tool-cancelled.")
def survives_cancellation(view: ViewObservation) -> Iterator[Problem]:
    yield from error_problems(view, "QUA-12", "fails if its tool call is cancelled")


@section.rule(
    "QUA-13",
    IMPLIED,
    "A View survives a result that is an error.",
    fix="Look at isError, and show the text of the content.",
)
def survives_error_results(view: ViewObservation) -> Iterator[Problem]:
    yield from error_problems(view, "QUA-13", "fails on a result that is an error")


@section.rule(
    "QUA-16",
    IMPLIED,
    "A View shows something when it has its result.",
    fix="Show the data, or say that there is none.",
)
def shows_its_result(view: ViewObservation) -> Iterator[Problem]:
    for scene in view.played("plain"):
        if scene.measurements.get("result") and not scene.measurements["result"].get("visible"):
            yield Problem(view.where, "shows nothing when it has its result.")


# Teardown

section.host_rule(
    "TDN-01",
    MUST,
    "The host sends `ui/resource-teardown` before it removes a View.",
    by_person("Close the View, then ask for the report again: the View reports to the server while it closes."),
    aliases=["lifecycle/teardown-notify", "mcp-apps-life-05"],
)
section.unchecked("TDN-02", MAY, "The host may give a reason in `ui/resource-teardown`.", NOT_BREAKABLE, binds="host")
section.host_rule(
    "TDN-03",
    SHOULD,
    "The host waits for the response to `ui/resource-teardown` before it removes the View.",
    by_person(
        "Close the View, then ask for the report again: the View responds after a second, then reports to the server."
    ),
    aliases=["lifecycle/teardown-await"],
)


@section.rule("QUA-14", IMPLIED, "A View responds to `ui/resource-teardown`.")
def responds_to_teardown(view: ViewObservation) -> Iterator[Problem]:
    for scene in view.played("plain"):
        if "teardown?" in scene.steps and "teardown" not in scene.responses:
            message = "does not respond to ui/resource-teardown, so hosts wait before they can remove it."
            yield Problem(view.where, message, "Respond with {} if there is nothing to do.")
    yield from error_problems(view, "QUA-14", "fails during its teardown", "Catch the error, and respond.")


@section.rule("QUA-15", IMPLIED, "A View works again after the host's page was reloaded.")
def survives_page_reload(view: ViewObservation) -> Iterator[Problem]:
    scene = view.scenes.get("ours")
    if scene is None:
        return
    if scene.unfinished is not None:
        key = "is not shown by Fanlight's host"
        yield Problem(view.where, f"{key}: {scene.unfinished}", LOOK_AT_PROBLEMS, key=key)
    elif "reloaded" in scene.steps and "reloaded" not in scene.measurements:
        message = "does not come back after the host's page was reloaded."
        yield Problem(view.where, message, "Keep no state that breaks a second handshake.")


section.unchecked("D-TDN-01", MAY, "A View may ask the host to remove it.", NOT_BREAKABLE, binds="view")
section.unchecked(
    "D-TDN-02", MAY, "The host may defer or ignore a View's request to be removed.", NOT_BREAKABLE, binds="host"
)
section.host_rule(
    "D-TDN-03",
    MUST,
    "The host sends `ui/resource-teardown` to a View that asked to be removed, too.",
    by_person("Press the button, then ask for the report again: the View closes if the host agrees."),
)
section.host_rule(
    "D-TDN-04",
    SHOULD,
    "The host waits for the response of a View that asked to be removed, too.",
    by_person("Press the button of D-TDN-03, then ask for the report again."),
)
section.unchecked(
    "D-TDN-05",
    MUST,
    "The host sends `ui/resource-teardown` in every teardown, whether the host, the user or the View started it.",
    "TDN-01 and D-TDN-03 cover it.",
    binds="host",
)
