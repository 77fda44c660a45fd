"""Rules about what a View requests from its host: links, messages, downloads, tools and the model."""

from collections.abc import Iterator, Mapping
from typing import Final

from fanlight.dev.presets import PRESETS, Preset
from fanlight.protocol.transcript import RecordedMessage
from fanlight.rules.errors import error_problems, requested_modes
from fanlight.rules.observation import ViewObservation
from fanlight.rules.rule import (
    ADVICE,
    IMPLIED,
    MAY,
    MUST,
    NOT_BREAKABLE,
    SHOULD,
    Problem,
    Section,
    by_nobody,
    by_person,
)

_SERVER_METHODS: Final = ("tools/call", "tools/list", "resources/read", "resources/list")
_CAPABILITIES: Final = {
    "ui/message": "message",
    "ui/update-model-context": "updateModelContext",
    "ui/download-file": "downloadFile",
    "sampling/createMessage": "sampling",
    "tools/call": "serverTools",
    "resources/read": "serverResources",
}
"""The capability by which a host offers a request."""

section = Section("Requests of a View")


@section.rule(
    "QUA-22",
    IMPLIED,
    "A View survives if the host denies a request.",
    fix="Catch the rejection of callServerTool() and other requests, and tell the user.",
)
def survives_denied_requests(view: ViewObservation) -> Iterator[Problem]:
    yield from error_problems(view, "QUA-22", "does not catch the error when the host denies a request")


# Links, messages and the model's context

section.host_rule(
    "LNK-01",
    SHOULD,
    "The host opens a link in the user's browser.",
    by_person("Press the button. Did https://modelcontextprotocol.io open in a tab or window of its own?"),
    aliases=["links/open-external", "mcp-apps-req-01"],
)
section.host_rule("LNK-02", IMPLIED, "The host responds with an error if it does not open a link.")
section.host_rule(
    "MSG-01",
    SHOULD,
    "The host adds a message of a View to the conversation.",
    by_person("Press the button. Did the summary appear in the conversation as yours?"),
    aliases=["messages/add-to-conversation", "mcp-apps-req-02"],
)
section.unchecked(
    "MSG-02",
    MAY,
    "The host may ask the user before it adds a message of a View.",
    NOT_BREAKABLE,
    binds="host",
    aliases=["messages/consent"],
)
section.unchecked(
    "MCX-01",
    MAY,
    "A View may send context for the model; each update replaces the one before.",
    NOT_BREAKABLE,
    binds="view",
)
section.host_rule(
    "MCX-02",
    SHOULD,
    "The host gives the model the context of a View in later turns.",
    by_person("Ask the model for the word of the probe. Is it the word that is shown here?"),
    aliases=["model-context/provide-future-turns", "mcp-apps-req-03"],
)
section.unchecked(
    "MCX-03",
    MAY,
    "The host may overwrite the context that a View sent before.",
    NOT_BREAKABLE,
    binds="host",
    aliases=["model-context/overwrite-defer-dedupe-display"],
)
section.unchecked(
    "MCX-04", MAY, "The host may hold back a View's context until the next user message.", NOT_BREAKABLE, binds="host"
)
section.unchecked(
    "MCX-05",
    MAY,
    "The host may drop a context update that is identical to the one before.",
    NOT_BREAKABLE,
    binds="host",
)
section.host_rule(
    "MCX-06",
    SHOULD,
    "The host gives the model only the last of several context updates before a turn.",
    by_person("Ask the model for every word of the probe. Does it know only the one that is shown here?"),
    aliases=["model-context/last-wins"],
)
section.unchecked("MCX-07", MAY, "The host may show context updates to the user.", NOT_BREAKABLE, binds="host")


@section.rule(
    "ADV-10",
    ADVICE,
    "Context that a View sends for the model reaches it in every host.",
    fix="Send structuredContent beside the text.",
)
def portable_model_context(view: ViewObservation) -> Iterator[Problem]:
    updates = [message for message in _sent(view) if message.method == "ui/update-model-context"]
    if any("structuredContent" not in message.params for message in updates):
        message = "sends the model only text; VS Code (1.130) accepts every kind of content there except text."
        yield Problem(view.where, message)


def _sent(view: ViewObservation) -> Iterator[RecordedMessage]:
    for scene in view.played():
        yield from scene.sent()


# Downloads

section.host_rule(
    "D-DL-01",
    SHOULD,
    "The host asks the user before a download.",
    by_person("Press the button. Were you asked before the report was saved?"),
)
section.host_rule(
    "D-DL-02",
    SHOULD,
    "The host names a downloaded file after the last segment of its URI.",
    by_person("Press the button. Is the file named fanlight-probe.json?"),
)
section.unchecked("D-DL-03", MAY, "The host may reject a download.", NOT_BREAKABLE, binds="host")
section.host_rule(
    "D-DL-04",
    SHOULD,
    "The host sanitizes the names of downloaded files.",
    by_person("Press the button. Is the file in your downloads folder, and not in a folder above it?"),
)

# Tools, resources and sampling

section.host_rule(
    "D-STD-01",
    IMPLIED,
    "The host serves `tools/call` and `tools/list` of a View if it advertises `serverTools`, "
    "and may send them to a View that declares `tools`.",
)


@section.rule("ADV-13", ADVICE, "A View that uses its server works in hosts that do not offer that.")
def works_without_server(view: ViewObservation) -> Iterator[Problem]:
    for scene in view.played("bare"):
        if not scene.errors:
            continue  # it handles the rejection, as a View should that tries what some hosts do not advertise
        for method in dict.fromkeys(str(message.method) for message in scene.sent(*_SERVER_METHODS)):
            needed = "serverTools" if method.startswith("tools") else "serverResources"
            message = f"sends {method} to a host that does not offer {needed}, and a script fails there."
            fix = (
                f"Look at hostCapabilities.{needed} first, or handle the rejection: some hosts support it without "
                "advertising it."
            )
            yield Problem(view.where, message, fix)


@section.rule(
    "D-SMP-01",
    MUST,
    "A View requests sampling only if the host offers it.",
    fix="Look at hostCapabilities.sampling first.",
)
def requests_offered_sampling(view: ViewObservation) -> Iterator[Problem]:
    for scene in view.played():
        if "sampling" not in scene.host_capabilities() and scene.sent("sampling/createMessage"):
            yield Problem(view.where, "sends sampling/createMessage to a host that does not offer it.")
            return


@section.rule(
    "D-SMP-02",
    MUST,
    "A View sends tools for sampling only if the host accepts them.",
    fix="Look at hostCapabilities.sampling.tools first.",
)
def sends_accepted_sampling_tools(view: ViewObservation) -> Iterator[Problem]:
    for scene in view.played():
        sampling = scene.host_capabilities().get("sampling")
        if isinstance(sampling, Mapping) and "tools" in sampling:
            continue
        if any("tools" in message.params for message in scene.sent("sampling/createMessage")):
            yield Problem(view.where, "sends tools with sampling/createMessage to a host that does not accept them.")
            return


section.host_rule(
    "D-SMP-03",
    SHOULD,
    "The host limits the sampling of a View, and asks the user.",
    by_nobody("A View cannot distinguish a limit from a denial, and the probe spends no tokens."),
)


@section.rule("ADV-09", ADVICE, "A View works in hosts that lack some requests or display modes.")
def works_in_known_hosts(view: ViewObservation) -> Iterator[Problem]:
    methods = {str(message.method) for message in _sent(view)}
    modes = {mode for scene in view.played() for mode in requested_modes(scene)}
    for minimal in view.played("bare"):  # a View works in hosts that lack what it does without here
        methods &= {str(message.method) for message in minimal.sent()}
        modes &= set(requested_modes(minimal))
        if not minimal.errors:
            methods -= set(_SERVER_METHODS)  # some hosts serve these without advertising it, and a View may try
    for method in sorted(methods & _CAPABILITIES.keys()):
        needed = _CAPABILITIES[method]
        lacking = [
            f"{host.name} ({host.observed})" for host in _hosts() if needed not in (host.profile.capabilities or {})
        ]
        if lacking:
            message = f"uses {method}, which {' and '.join(lacking)} did not offer."
            yield Problem(view.where, message, "Let the View work when the request is denied.")
    for mode in sorted(modes):
        lacking = [f"{host.name} ({host.observed})" for host in _hosts() if mode not in host.profile.display_modes]
        if lacking:
            message = f"requests the display mode {mode!r}, which {' and '.join(lacking)} did not have."
            yield Problem(view.where, message, "Let the View work inline.")


def _hosts() -> list[Preset]:
    """Return the presets of hosts whose capabilities are known."""
    return [preset for preset in PRESETS.values() if preset.profile.capabilities is not None]
