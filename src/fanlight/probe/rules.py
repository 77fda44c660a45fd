"""What the standard asks of hosts, and which of it a View can see.

A rule with neither `why` nor `you` is tested by the View, in `pages/checks.js`.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

Strength = Literal["MUST", "MUST NOT", "REQUIRED", "SHOULD", "SHOULD NOT", "should", "MAY", "implied"]
"""The word of the standard. `implied`: stated as a fact, and peers rely on it."""


@dataclass(frozen=True)
class HostRule:
    """One rule for hosts."""

    id: str
    strength: Strength
    sentence: str
    section: str
    aliases: tuple[str, ...] = ()
    """Names of the same rule in other catalogues."""
    why: str | None = None
    """Why a View cannot test it."""
    you: str | None = None
    """What a person has to do or look at, where the View cannot tell alone."""


_START: Final = "Handshake"
_CALL: Final = "The tool call"
_TOOLS: Final = "Tools and resources"
_LINK: Final = "Messages"
_LOOK: Final = "Size, display and theme"
_CSP: Final = "Content Security Policy"
_BOX: Final = "Sandbox"
_TALK: Final = "Links, messages and model context"
_END: Final = "Closing"
_DRAFT: Final = "Draft"

_HOST_PAGE: Final = "It shows in the host's own page, which a View cannot see."
_TWO: Final = "It takes two Views, or two servers, to see it."

HOST_RULES: Final[Sequence[HostRule]] = (
    # Handshake
    HostRule(
        "NEG-01",
        "implied",
        "The host names the extension io.modelcontextprotocol/ui to the server.",
        _START,
        ("mcp-apps-cap-01",),
    ),
    HostRule(
        "NEG-02",
        "REQUIRED",
        "It does so with the MIME types that it shows.",
        _START,
        ("conf:capabilities/mimetypes-required", "mcp-apps-cap-03"),
    ),
    HostRule(
        "INI-02",
        "SHOULD",
        "The answer to ui/initialize has a hostContext, in which every value is of its type.",
        _START,
        ("conf:context/initialize-hostcontext",),
    ),
    HostRule(
        "INI-03",
        "implied",
        "The answer to ui/initialize has protocolVersion, hostInfo and hostCapabilities.",
        _START,
        ("conf:lifecycle/initialize-capabilities",),
    ),
    HostRule("INI-06", "implied", "ping is answered at any time, also before initialized.", _START),
    HostRule("SBX-09", "MUST NOT", "Nothing but answers is sent before the View has said initialized.", _START),
    # The tool call
    HostRule(
        "TIN-01",
        "MUST",
        "tool-input brings the complete arguments after the handshake.",
        _CALL,
        ("conf:lifecycle/tool-input", "mcp-apps-life-01"),
    ),
    HostRule("TIN-02", "implied", "tool-input comes at most once.", _CALL),
    HostRule("TIN-03", "implied", "tool-input comes before tool-result.", _CALL),
    HostRule(
        "TIP-01",
        "MAY",
        "tool-input-partial shows the arguments as the model writes them.",
        _CALL,
        ("conf:lifecycle/tool-input-partial", "mcp-apps-life-02"),
    ),
    HostRule("TIP-02", "MAY", "What a partial brings is an object, with open structures closed.", _CALL),
    HostRule(
        "TIP-04",
        "MUST",
        "No partial comes after tool-input.",
        _CALL,
        ("conf:lifecycle/tool-input-partial-stop",),
    ),
    HostRule(
        "TRS-01",
        "MUST",
        "tool-result brings the whole result, with structuredContent and _meta.",
        _CALL,
        ("conf:lifecycle/tool-result", "mcp-apps-life-03"),
    ),
    HostRule(
        "TCX-01",
        "MUST",
        "tool-cancelled tells of a call that was cancelled.",
        _CALL,
        ("conf:lifecycle/tool-cancelled", "mcp-apps-life-04"),
    ),
    # Tools and resources
    HostRule(
        "DSC-02",
        "MUST",
        "The View is read from the server with resources/read.",
        _TOOLS,
        ("conf:resources/read-referenced",),
    ),
    HostRule("DSC-05", "implied", "A tool that names a View is shown with it.", _TOOLS),
    HostRule("DSC-07", "implied", "Of a nested and a flat resourceUri, the nested one counts.", _TOOLS, why=_TWO),
    HostRule(
        "VIS-01",
        "implied",
        "A tool without visibility can be called by the View.",
        _TOOLS,
        ("mcp-apps-tool-03", "mcp-apps-tool-06", "mcp-apps-req-04"),
    ),
    HostRule(
        "VIS-02",
        "MUST NOT",
        'The model is not offered a tool without "model" in its visibility.',
        _TOOLS,
        ("conf:visibility/app-tool-hidden", "mcp-apps-tool-04"),
        you="Ask the model which tools of this server it has. probe_wait, probe_saw and probe_report must be missing.",
    ),
    HostRule(
        "VIS-03",
        "MUST",
        'A View\'s call of a tool without "app" in its visibility is refused.',
        _TOOLS,
        ("conf:visibility/app-tool-call-guard", "mcp-apps-tool-05"),
    ),
    HostRule("VIS-04", "implied", "A View cannot call the tools of another server, nor one that nobody lists.", _TOOLS),
    HostRule("VIS-05", "implied", "An empty visibility admits neither the model nor the View.", _TOOLS),
    HostRule(
        "SBX-11",
        "MAY",
        "Other requests of the protocol are passed to the server.",
        _TOOLS,
        ("conf:capabilities/server-passthrough",),
    ),
    # Messages
    HostRule(
        "SBX-07",
        "MUST",
        "Messages pass between View and host unchanged.",
        _LINK,
        ("conf:security/sandbox-message-forwarding",),
    ),
    HostRule(
        "SBX-08",
        "implied",
        "The sandbox's own messages never reach the View, and the View cannot forge them.",
        _LINK,
    ),
    HostRule(
        "SBX-10",
        "SHOULD NOT",
        "Nobody in between asks or answers on its own.",
        _LINK,
        ("conf:security/sandbox-no-self-requests",),
    ),
    HostRule(
        "SBX-12", "SHOULD", "The link is plain MCP: ids are echoed, answers well formed, errors as defined.", _LINK
    ),
    HostRule("SEC-02", "implied", "What is malformed, or comes from another frame, is not acted on.", _LINK),
    # Size, display and theme
    HostRule(
        "DIM-01",
        "MUST",
        "Where the height is not fixed, the frame follows size-changed.",
        _LOOK,
        ("conf:dimensions/listen-size-changed", "mcp-apps-life-06"),
    ),
    HostRule(
        "DIM-02",
        "implied",
        "Each axis of containerDimensions is fixed or has a limit, never both.",
        _LOOK,
        ("mcp-apps-ctx-04", "mcp-apps-ctx-05"),
    ),
    HostRule(
        "DSP-04",
        "MUST NOT",
        "The View is not put into a mode that it did not declare.",
        _LOOK,
        ("conf:display/no-undeclared-mode", "conf:display/decline-undeclared", "mcp-apps-ctx-02"),
    ),
    HostRule(
        "DSP-05",
        "MUST",
        "request-display-mode is answered with the resulting mode.",
        _LOOK,
        ("conf:display/return-resulting-mode", "mcp-apps-ctx-03"),
    ),
    HostRule(
        "DSP-06",
        "SHOULD",
        "For a mode that is not available, the answer is the current one.",
        _LOOK,
        ("conf:display/unavailable-returns-current",),
    ),
    HostRule("DSP-08", "implied", "A change of mode is told by host-context-changed too.", _LOOK),
    HostRule(
        "HCC-01",
        "MAY",
        "host-context-changed tells what changed, each value of its type.",
        _LOOK,
        ("conf:context/context-changed", "mcp-apps-life-07"),
    ),
    HostRule(
        "THM-01",
        "implied",
        "styles.variables has standard names only, with texts.",
        _LOOK,
        ("mcp-apps-ctx-01",),
    ),
    HostRule("THM-02", "should", "Colours that depend on the theme use light-dark().", _LOOK),
    HostRule("THM-04", "implied", "The fonts of styles.css.fonts can be loaded.", _LOOK, ("mcp-apps-ctx-06",)),
    HostRule(
        "RES-09",
        "implied",
        "prefersBorder decides on border and background.",
        _LOOK,
        you="This View asks for no border. Look whether the host draws one around it.",
    ),
    # Content Security Policy
    HostRule(
        "CSP-01",
        "MUST",
        "The policy is built from the declared domains.",
        _CSP,
        ("conf:security/csp-construct-from-domains", "mcp-apps-sbox-02"),
    ),
    HostRule(
        "CSP-02",
        "MUST",
        "A View that declares nothing reaches nothing.",
        _CSP,
        ("conf:security/csp-default-deny", "D-CSP-01"),
    ),
    HostRule(
        "CSP-03",
        "MUST NOT",
        "No origin that was not declared is allowed.",
        _CSP,
        ("conf:security/csp-no-loosening",),
    ),
    HostRule("CSP-06", "MUST", "Connections to undeclared domains are blocked, of every kind.", _CSP),
    HostRule("CSP-09", "implied", "Each list of domains opens its own directives.", _CSP),
    HostRule("CSP-10", "implied", "A wildcard such as https://*.example.com covers its subdomains.", _CSP),
    HostRule("CSP-11", "implied", "With declared domains, the View's own origin can be reached as well.", _CSP),
    HostRule(
        "SBX-06a",
        "MUST",
        "The document is loaded under that policy.",
        _CSP,
        ("conf:security/sandbox-csp-enforced",),
    ),
    HostRule("SBX-06b", "MUST", "frame-src is what frameDomains declares, otherwise nothing.", _CSP),
    HostRule("SBX-06c", "MUST", "base-uri is what baseUriDomains declares, otherwise the View itself.", _CSP),
    HostRule("SBX-06d", "MUST", "object-src is nothing.", _CSP),
    HostRule("SBX-06e", "MUST", "Without declared domains, the restrictive defaults hold.", _CSP),
    HostRule(
        "CSP-05", "SHOULD", "The policy is written to a log.", _CSP, ("conf:security/csp-audit-log",), why=_HOST_PAGE
    ),
    HostRule(
        "CSP-07",
        "SHOULD",
        "The user is warned of external domains.",
        _CSP,
        ("conf:security/external-domain-warning",),
        you="This View declares domains under fanlight-probe.invalid. Look whether the host says so.",
    ),
    HostRule(
        "CSP-08",
        "MAY",
        "The host keeps lists of its own.",
        _CSP,
        ("conf:security/global-allowlist",),
        why="It depends on how the host is set up.",
    ),
    # Sandbox
    HostRule(
        "SBX-01",
        "MUST",
        "A host that is a web page puts a sandbox proxy around the View.",
        _BOX,
        ("conf:security/sandbox-proxy-required",),
    ),
    HostRule(
        "SBX-02",
        "MUST",
        "The View cannot reach into the frames around it.",
        _BOX,
        ("conf:security/sandbox-distinct-origin",),
    ),
    HostRule(
        "SBX-03",
        "MUST",
        "The sandbox has allow-scripts and allow-same-origin.",
        _BOX,
        ("conf:security/sandbox-permissions",),
    ),
    HostRule(
        "SBX-04",
        "MUST",
        "The proxy says when it is ready.",
        _BOX,
        ("conf:security/sandbox-proxy-ready", "mcp-apps-sbox-01", "D-SBX-01"),
        why="It passes between proxy and host before the View is there.",
    ),
    HostRule(
        "SBX-05",
        "MUST",
        "The host then sends the document.",
        _BOX,
        ("conf:security/sandbox-resource-ready",),
        why="It passes between proxy and host before the View is there.",
    ),
    HostRule(
        "SEC-01",
        "MUST",
        "The View is in a sandboxed frame without permissions that it did not ask for.",
        _BOX,
        ("conf:security/iframe-sandboxed",),
    ),
    HostRule(
        "RES-11",
        "MAY",
        "A permission that the View asks for is granted through the allow attribute.",
        _BOX,
        ("conf:security/permissions-allow-attr", "SBX-06f", "mcp-apps-sbox-03"),
    ),
    HostRule("RES-10", "implied", "Without a domain, the View is at the host's default origin.", _BOX, why=_TWO),
    HostRule("SEC-04", "should", "The user sees where sandboxed content begins and ends.", _BOX, why=_HOST_PAGE),
    # Links, messages and model context
    HostRule(
        "LNK-01",
        "SHOULD",
        "A link is opened in the user's browser.",
        _TALK,
        ("conf:links/open-external", "mcp-apps-req-01"),
        you="Press the button. Did https://modelcontextprotocol.io open in a tab or window of its own?",
    ),
    HostRule("LNK-02", "implied", "A link that cannot be opened is answered with an error.", _TALK),
    HostRule(
        "MSG-01",
        "SHOULD",
        "A message of the View stands in the conversation.",
        _TALK,
        ("conf:messages/add-to-conversation", "conf:messages/consent", "mcp-apps-req-02"),
        you="Press the button. Did the summary appear in the conversation as yours?",
    ),
    HostRule(
        "MCX-02",
        "SHOULD",
        "The model knows what the View told it, from its next turn on.",
        _TALK,
        ("conf:model-context/provide-future-turns", "mcp-apps-req-03"),
        you="Ask the model for the word that the probe told it. Is it the word that stands here?",
    ),
    HostRule(
        "MCX-06",
        "SHOULD",
        "Of several updates before a turn, the model gets the last.",
        _TALK,
        ("conf:model-context/last-wins", "conf:model-context/overwrite-defer-dedupe-display"),
        you="Ask the model for every word that the probe told it. Is there only the one that stands here?",
    ),
    # Closing
    HostRule(
        "TDN-01",
        "MUST",
        "The View is asked with ui/resource-teardown before it is removed.",
        _END,
        ("conf:lifecycle/teardown-notify", "mcp-apps-life-05"),
        you="Close the View, then ask for the report again: the server is told while the View closes.",
    ),
    HostRule(
        "TDN-03",
        "SHOULD",
        "The host waits for the answer.",
        _END,
        ("conf:lifecycle/teardown-await",),
        you="Close the View, then ask for the report again: the View answers after a second, and tells the server.",
    ),
    # Draft
    HostRule("D-RES-01", "MUST", "Metadata of the content item counts before that of the list.", _DRAFT, why=_TWO),
    HostRule("D-STD-01", "implied", "tools/list is served, in both directions.", _DRAFT),
    HostRule(
        "D-SMP-03",
        "SHOULD",
        "Questions of a View to the model are limited and confirmed.",
        _DRAFT,
        why="A View cannot tell a limit from a refusal, and the probe spends no tokens.",
    ),
    HostRule(
        "D-DL-01",
        "SHOULD",
        "The user confirms a download.",
        _DRAFT,
        you="Press the button. Were you asked before the report was saved?",
    ),
    HostRule(
        "D-DL-02",
        "SHOULD",
        "A file has the name of the last part of its URI.",
        _DRAFT,
        you="Press the button. Is the file named fanlight-probe.json?",
    ),
    HostRule(
        "D-DL-04",
        "SHOULD",
        "File names are made safe.",
        _DRAFT,
        you="Press the button. Is the file in your folder of downloads, and not in a folder above it?",
    ),
    HostRule(
        "D-TDN-03",
        "MUST",
        "A View that asks to be closed gets the same teardown.",
        _DRAFT,
        ("D-TDN-05",),
        you="Press the button, then ask for the report again: the View closes, if the host agrees to it.",
    ),
    HostRule(
        "D-TDN-04",
        "SHOULD",
        "The host waits for the answer there too.",
        _DRAFT,
        you="Press the button of D-TDN-03, then ask for the report again.",
    ),
    HostRule("D-SEC-01", "SHOULD", "The user sees which app a tool of a View belongs to.", _DRAFT, why=_HOST_PAGE),
    HostRule("D-SEC-02", "SHOULD", "Tools that change something are confirmed.", _DRAFT, why=_HOST_PAGE),
    HostRule("D-SEC-03", "SHOULD", "Tools of Views do not clash with those of servers.", _DRAFT, why=_HOST_PAGE),
    HostRule(
        "D-SEC-08", "MUST", "Tools of a View live as long as the View.", _DRAFT, why="The View is gone when it counts."
    ),
    HostRule(
        "D-SEC-10",
        "MUST",
        "Calling a tool of a closed View is an error.",
        _DRAFT,
        why="The View is gone when it counts.",
    ),
)


def as_json() -> list[dict[str, Any]]:
    """The table as the View gets it."""
    return [asdict(rule) for rule in HOST_RULES]
