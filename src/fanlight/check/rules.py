"""The rules, as one table.

Ids with two or three letters are those of the standard's statements (D- for its draft). Ours are LNT (what the standard
leaves to good sense), QUA (how a View behaves), REV (the security review) and ADV (what differs between hosts, as
far as it was seen in 2026). Aliases are the ids of other people's catalogues, so that results can be compared.
"""

from collections.abc import Iterator
from typing import Final

from fanlight.check import review as r
from fanlight.check import server_rules as s
from fanlight.check import view_rules as v
from fanlight.check.rule import Check, Rule, Strength
from fanlight.probe.rules import HOST_RULES

# Why a row cannot be checked from outside.
PROBE: Final = "It binds hosts. `fanlight probe` tests the host that shows it."
HOST: Final = "It binds hosts."
_PROBED: Final = {rule.id: rule.why for rule in HOST_RULES}
FREE: Final = "It allows something, so nothing can break it."
PERSON: Final = "Whether it holds is for a person to judge."
INSIDE: Final = "It cannot be provoked without knowing the View's code."


def _look(id: str, strength: Strength, check: Check, sentence: str, *aliases: str) -> Rule:
    return Rule(id, "server", strength, sentence, "", "look", check, None, aliases)


def _server(id: str, strength: Strength, check: Check, sentence: str, *aliases: str) -> Rule:
    return Rule(id, "server", strength, sentence, "", "server", check, None, aliases)


def _view(id: str, strength: Strength, check: Check, sentence: str, *aliases: str) -> Rule:
    return Rule(id, "view", strength, sentence, "", "view", check, None, aliases)


def _document(id: str, check: Check, sentence: str) -> Rule:
    return Rule(id, "view", "security", sentence, "", "document", check)


def _host(id: str, strength: Strength, sentence: str, *aliases: str, role: str = "host") -> Rule:
    return Rule(id, role, strength, sentence, "", None, None, _why(id, strength), aliases)


def _why(id: str, strength: Strength) -> str:
    """Say why a rule for hosts is not checked here, and who does it."""
    if id in _PROBED:
        return f"{HOST} {_PROBED[id]}" if _PROBED[id] else PROBE
    return FREE if strength == "MAY" else f"{HOST} Neither servers nor Views can see it."


def _unchecked(id: str, role: str, strength: Strength, why: str, sentence: str, *aliases: str) -> Rule:
    return Rule(id, role, strength, sentence, "", None, None, why, aliases)


_TABLE: Final[dict[str, list[Rule]]] = {
    "Resources": [
        _look("RES-01", "MUST", s.res_01, "The URI of a View has the scheme ui://.", "mcp-apps-tool-01"),
        _look("RES-02", "SHOULD", s.res_02, "A View is listed with the MIME type of Views.", "mcp-apps-res-01"),
        _look("RES-03", "MUST", s.res_03, "A View is served with exactly the MIME type of Views.", "mcp-apps-res-03"),
        _look("RES-04", "MUST", s.res_04, "A View's HTML is in text, or as base64 in blob.", "mcp-apps-res-04"),
        _look("RES-05", "MUST", s.res_05, "A View is a valid HTML5 document."),
        _look("RES-06", "implied", s.res_06, "What is read has the URI that was asked for."),
        _look("RES-07", "MUST", s.res_07, "A domain is written as the host's documentation asks.", "mcp-apps-res-07"),
        _look("RES-08", "advice", s.res_08, "A View says whether it wants a border.", "mcp-apps-res-08"),
        _host("RES-09", "implied", "A wish for a border, for none, or for neither is followed."),
        _host("RES-10", "implied", "Without a domain, a View gets the host's usual origin."),
        _host(
            *("RES-11", "MAY", "Permissions are granted through the frame's allow attribute."),
            *("security/permissions-allow-attr", "mcp-apps-sbox-03"),
        ),
        _view("RES-12", "SHOULD", v.res_12, "A View does not take a permission for granted."),
        _look("D-RES-02", "advice", s.d_res_02, "Metadata is where the View is read, and the same in the list."),
        _host("D-RES-01", "MUST", "Metadata is looked for where the View is read, and else in the list."),
        _look("LNT-02", "implied", s.lnt_02, "Metadata is at the place where hosts look for it."),
        _look("LNT-03", "implied", s.lnt_03, "Each declared domain is one origin.", "mcp-apps-res-05"),
        _look("LNT-04", "implied", s.lnt_04, "Permissions are those of the standard.", "mcp-apps-res-06"),
        _look("LNT-05", "implied", s.lnt_05, "Reading a View that does not exist is an error.", "mcp-apps-res-09"),
        _look("LNT-07", "implied", s.lnt_07, "A View is read as exactly one item."),
        _look("LNT-09", "advice", s.lnt_09, "A View's URI survives libraries that rewrite URIs."),
    ],
    "Content security policy": [
        _host("CSP-01", "MUST", "The policy is made of the declared domains.", "security/csp-construct-from-domains"),
        _host("CSP-02", "MUST", "Without declared domains nothing can be reached.", "security/csp-default-deny"),
        _host("CSP-03", "MUST", "No origin is allowed that was not declared.", "security/csp-no-loosening"),
        _host("CSP-04", "MAY", "The policy may be narrower than declared."),
        _host("CSP-05", "SHOULD", "Policies are logged.", "security/csp-audit-log"),
        _host("CSP-06", "MUST", "Connections to undeclared domains are blocked."),
        _host("CSP-07", "SHOULD", "The user is told of external domains.", "security/external-domain-warning"),
        _host("CSP-08", "MAY", "There may be lists for all servers.", "security/global-allowlist"),
        _host("CSP-09", "implied", "Each list of domains has its directives; an empty list is as none."),
        _host("CSP-10", "implied", "Wildcards for subdomains work."),
        _host("CSP-11", "implied", "With declared domains a View reaches its own origin, without none."),
        _host("D-CSP-01", "SHOULD", "The draft's form of the default that blocks all."),
    ],
    "Tools and their Views": [
        _look("DSC-01", "MUST", s.dsc_01, "The View that a tool names exists."),
        _host("DSC-02", "MUST", "A View is read by resources/read.", "resources/read-referenced"),
        _host("DSC-03", "MAY", "Views may be read early and kept.", "resources/prefetch"),
        _unchecked("DSC-04", "server", "MAY", FREE, "Views may be left out of the list of resources."),
        _host("DSC-05", "implied", "The result of a tool with a View is shown by it."),
        _host("DSC-06", "implied", "Without MCP Apps, the tool is one like others."),
        _look("DSC-07", "implied", s.dsc_07, "The link is in _meta.ui; the older flat key, if any, says the same."),
        _unchecked("DSC-08", "all", "implied", "NEG-01 to NEG-06 say it in detail.", "MCP Apps is negotiated."),
        _look("LNT-08", "implied", s.lnt_08, "Tools and resources can be listed, to the last page."),
        _server("LNT-06", "implied", s.lnt_06, "Every protocol version has the same Views.", "mcp-apps-reg-02"),
        _look("LNT-11", "MUST", s.lnt_11, "What is listed is what the schema of MCP demands."),
        _look("LNT-12", "SHOULD", s.lnt_12, "Each tool has a name of its own."),
        _server("LNT-13", "MUST", s.lnt_13, "A request is answered, and does not end the server."),
        _server("LNT-14", "implied", s.lnt_14, "Calls and reads are answered in time."),
        _server("LNT-16", "MUST", s.lnt_16, "The result of a call is what the schema of MCP demands."),
        _server("LNT-15", "MUST", s.lnt_15, "Nothing but MCP is written to the stdout of a server."),
    ],
    "Visibility": [
        _host("VIS-01", "implied", "Without visibility, all may call a tool.", "mcp-apps-tool-03", "mcp-apps-tool-06"),
        _host(
            *("VIS-02", "MUST", "A tool that is not for the model is not offered to it."),
            *("visibility/app-tool-hidden", "mcp-apps-tool-04"),
        ),
        _host(
            *("VIS-03", "MUST", "A View cannot call a tool that is not for Views."),
            *("visibility/app-tool-call-guard", "mcp-apps-tool-05"),
        ),
        _host("VIS-04", "implied", "A View cannot call the tools of another server."),
        _host("VIS-05", "implied", "An empty visibility means nobody."),
        _look("LNT-01", "implied", s.lnt_01, "Visibility is a list of model and app.", "mcp-apps-tool-07"),
        _look("LNT-10", "advice", s.lnt_10, "A tool for Views alone has a View that could call it."),
    ],
    "Sandbox": [
        _host("SBX-01", "MUST", "A View in a web page is behind a sandbox proxy.", "security/sandbox-proxy-required"),
        _host("SBX-02", "MUST", "Host and sandbox are of two origins.", "security/sandbox-distinct-origin"),
        _host("SBX-03", "MUST", "The sandbox may run scripts and has an origin.", "security/sandbox-permissions"),
        _host(
            *("SBX-04", "MUST", "The sandbox tells when it is ready."),
            *("security/sandbox-proxy-ready", "mcp-apps-sbox-01"),
            role="sandbox",
        ),
        _host("SBX-05", "MUST", "Then it is sent the HTML.", "security/sandbox-resource-ready"),
        _host(
            *("SBX-06a", "MUST", "The HTML is loaded under the declared policy."),
            *("security/sandbox-csp-enforced", "mcp-apps-sbox-02"),
            role="sandbox",
        ),
        _host("SBX-06b", "MUST", "Frames are limited to the declared ones.", role="sandbox"),
        _host("SBX-06c", "MUST", "So is the base address.", role="sandbox"),
        _host("SBX-06d", "MUST", "Plug-ins are forbidden.", role="sandbox"),
        _host("SBX-06e", "MUST", "Without metadata, the default that blocks all holds.", role="sandbox"),
        _host("SBX-06f", "MAY", "The inner frame may have an allow attribute.", role="sandbox"),
        _host(
            *("SBX-07", "MUST", "Other messages pass the sandbox unchanged, both ways."),
            "security/sandbox-message-forwarding",
            role="sandbox",
        ),
        _host(
            "SBX-08", "implied", "The sandbox's own messages never reach the View, nor come from it.", role="sandbox"
        ),
        _host("SBX-09", "MUST", "Nothing is sent to a View before it has said that it is initialized."),
        _host(
            *("SBX-10", "SHOULD", "The sandbox asks nothing itself.", "security/sandbox-no-self-requests"),
            role="sandbox",
        ),
        _host(
            *("SBX-11", "MAY", "What is not of MCP Apps may be passed on to the server."),
            *("capabilities/server-passthrough", "mcp-apps-req-04"),
        ),
        _host("SBX-12", "SHOULD", "The View's link is correct MCP."),
        _host("SBX-13", "MAY", "Messages may be blocked, or the user asked first."),
        _host("D-SBX-01", "SHOULD", "The draft's form of the exchange between sandbox and host."),
    ],
    "Handshake": [
        _view("INI-01", "MUST", v.ini_01, "A View tells its capabilities in ui/initialize."),
        _host("INI-02", "SHOULD", "The answer has the host's context.", "context/initialize-hostcontext"),
        _host("INI-03", "implied", "It has version, name and capabilities.", "lifecycle/initialize-capabilities"),
        _view("INI-04", "implied", v.ini_04, "A View begins with ui/initialize, then says that it is initialized."),
        _view("INI-05", "implied", v.ini_05, "A View sends only what the standard has."),
        _host("INI-06", "implied", "A ping is answered at any time."),
        _view("QUA-10", "implied", v.qua_10, "A View ignores fields and messages that it does not know."),
        _view("QUA-11", "implied", v.qua_11, "A View works in a host that offers the least."),
    ],
    "Size and display mode": [
        _host(
            *("DIM-01", "MUST", "The frame follows the size that a View reports."),
            *("dimensions/listen-size-changed", "mcp-apps-life-06", "mcp-apps-ctx-05"),
        ),
        _host("DIM-02", "implied", "Each side is fixed, limited or free.", "mcp-apps-ctx-04"),
        _view("DIM-03", "advice", v.dim_03, "A View fits the size that it is given."),
        _view("SIZ-01", "SHOULD", v.siz_01, "A View reports when its size changes."),
        _view("QUA-04", "implied", v.qua_04, "A View does not report its size for ever."),
        _view("DSP-01", "MUST", v.dsp_01, "A View declares the display modes that it asks for."),
        _view("DSP-02", "MUST", v.dsp_02, "A View asks only for display modes that the host offers."),
        _view("DSP-03", "MUST", v.dsp_03, "A View copes with another display mode than it asked for."),
        _host(
            *("DSP-04", "MUST", "No display mode is chosen that the View did not declare."),
            *("display/no-undeclared-mode", "mcp-apps-ctx-02"),
        ),
        _host(
            *("DSP-05", "MUST", "The answer tells the display mode that came of it."),
            *("display/return-resulting-mode", "mcp-apps-ctx-03"),
        ),
        _host("DSP-06", "SHOULD", "It is the current one if not available.", "display/unavailable-returns-current"),
        _host("DSP-07", "MAY", "Undeclared display modes may be declined.", "display/decline-undeclared"),
        _host("DSP-08", "implied", "A new display mode is told as a change of context."),
        _view("QUA-17", "implied", v.qua_17, "A View survives every display mode, and changes of theme and locale."),
    ],
    "Theme": [
        _host("THM-01", "implied", "Only variables of the standard are sent, any number.", "mcp-apps-ctx-01"),
        _host("THM-02", "advice", "Colours are written for both themes."),
        _view("THM-03", "advice", v.thm_03, "A View has a fallback for every variable of the host."),
        _host("THM-04", "implied", "Fonts of the host come as CSS.", "mcp-apps-ctx-06"),
        _host("HCC-01", "MAY", "Changes of context may be sent.", "context/context-changed", "mcp-apps-life-07"),
        _view("HCC-02", "SHOULD", v.hcc_02, "A View adds what changed to the context that it has."),
        _view("QUA-18", "advice", v.qua_18, "A View follows the theme of the host."),
        _view("QUA-05", "implied", v.qua_05, "Text can be read, in both themes (contrast 4.5, large text 3)."),
        _view("QUA-06", "implied", v.qua_06, "Controls and pictures have a name for who cannot see them."),
        _view("QUA-07", "advice", v.qua_07, "The document has a language and a title."),
    ],
    "What a View asks of its host": [
        _host("LNK-01", "SHOULD", "A link is opened outside of the View.", "links/open-external", "mcp-apps-req-01"),
        _host("LNK-02", "implied", "A refusal is an error."),
        _host("MSG-01", "SHOULD", "A message joins the talk.", "messages/add-to-conversation", "mcp-apps-req-02"),
        _host("MSG-02", "MAY", "The user may be asked first.", "messages/consent"),
        _unchecked("MCX-01", "view", "MAY", FREE, "A View may tell the model what it shows."),
        _host(
            *("MCX-02", "SHOULD", "The model is told in later turns."),
            *("model-context/provide-future-turns", "mcp-apps-req-03"),
        ),
        _host("MCX-03", "MAY", "A new context may replace the old.", "model-context/overwrite-defer-dedupe-display"),
        _host("MCX-04", "MAY", "It may wait for the user's next message."),
        _host("MCX-05", "MAY", "Repeats may be dropped."),
        _host("MCX-06", "SHOULD", "Only the last of several is sent.", "model-context/last-wins"),
        _host("MCX-07", "MAY", "The user may be shown it."),
        _host("D-DL-01", "SHOULD", "The user is asked before a download."),
        _host("D-DL-02", "SHOULD", "A file is named after its URI."),
        _host("D-DL-03", "MAY", "A download may be refused."),
        _host("D-DL-04", "SHOULD", "Names of files are made harmless."),
        _view("D-STD-01", "advice", v.d_std_01, "A View uses the server only where the host offers it."),
        _view("D-SMP-01", "MUST", v.d_smp_01, "A View asks for sampling only where it is offered."),
        _view("D-SMP-02", "MUST", v.d_smp_02, "It gives tools to sampling only where that is offered."),
        _host("D-SMP-03", "SHOULD", "Sampling is limited, and the user asked."),
        _view("ADV-09", "advice", v.adv_09, "A View works in hosts that lack some requests or display modes."),
        _view("ADV-10", "advice", v.adv_10, "What a View tells the model reaches it in every host."),
    ],
    "What a host sends": [
        _host("TIN-01", "MUST", "The arguments are sent.", "lifecycle/tool-input", "mcp-apps-life-01"),
        _host("TIN-02", "implied", "They are sent once."),
        _host("TIN-03", "implied", "They are sent before the result."),
        _host("TIP-01", "MAY", "They may be streamed.", "lifecycle/tool-input-partial", "mcp-apps-life-02"),
        _host("TIP-02", "MAY", "Unfinished JSON may be closed."),
        _host("TIP-03", "MAY", "Fields may be sent as they come."),
        _host("TIP-04", "MUST", "Streaming ends with the complete arguments.", "lifecycle/tool-input-partial-stop"),
        _unchecked("TIP-05", "view", "MAY", FREE, "Streamed arguments may be ignored."),
        _unchecked("TIP-06", "view", "MAY", FREE, "They may be shown as they come."),
        _view("TIP-07", "MUST", v.tip_07, "A View does nothing that matters with arguments that are not complete."),
        _view("TIP-08", "SHOULD", v.tip_08, "It bears fields that are missing or change meanwhile."),
        _host("TRS-01", "MUST", "The whole result is sent.", "lifecycle/tool-result", "mcp-apps-life-03"),
        _host("TCX-01", "MUST", "A cancellation is sent.", "lifecycle/tool-cancelled", "mcp-apps-life-04"),
        _view("QUA-12", "implied", v.qua_12, "A View survives that its call is cancelled."),
        _view("QUA-13", "implied", v.qua_13, "A View survives a result that is an error."),
        _view("QUA-16", "implied", v.qua_16, "A View shows something when it has its result."),
        _host("TDN-01", "MUST", "A View is told before it goes.", "lifecycle/teardown-notify", "mcp-apps-life-05"),
        _host("TDN-02", "MAY", "It may be told why."),
        _host("TDN-03", "SHOULD", "Its answer is waited for.", "lifecycle/teardown-await"),
        _view("QUA-14", "implied", v.qua_14, "A View answers when it is to go."),
        _view("QUA-15", "implied", v.qua_15, "A View comes back when the page is loaded again."),
        _unchecked("D-TDN-01", "view", "MAY", FREE, "A View may ask to be removed."),
        _host("D-TDN-02", "MAY", "That may be ignored."),
        _host("D-TDN-03", "MUST", "A View that asked is told as any other."),
        _host("D-TDN-04", "SHOULD", "Its answer is waited for, too."),
        _host("D-TDN-05", "MUST", "Every View that goes is told."),
    ],
    "App tools": [
        _view("D-APT-01", "MUST", v.d_apt_01, "A View that declares tools answers calls."),
        _view("D-APT-02", "MUST", v.d_apt_02, "It lists them."),
        _view("D-APT-03", "SHOULD", v.d_apt_03, "It refuses names that it does not have."),
        _unchecked("D-APT-04", "view", "SHOULD", INSIDE, "A tool that failed answers with a result that is an error."),
        _view("D-APT-05", "SHOULD", v.d_apt_05, "It lists them with description and schema."),
        _unchecked("D-APT-06", "view", "MAY", FREE, "It may list some tools at some times."),
        _unchecked("D-APT-07", "view", "implied", INSIDE, "It tells when its tools change."),
        _view("D-APT-08", "implied", v.d_apt_08, "Arguments that do not fit are refused before the tool runs."),
        _unchecked("D-APT-09", "view", "MAY", FREE, "Long tools may be tasks."),
        _unchecked("D-APT-10", "view", "SHOULD", PERSON, "Long work is given to the server."),
        _host("D-SEC-01", "SHOULD", "App tools are shown as the app's."),
        _host("D-SEC-02", "SHOULD", "The user is asked for tools that change things."),
        _host("D-SEC-03", "SHOULD", "Names of app tools cannot hide those of servers."),
        _host("D-SEC-04", "SHOULD", "Number, time and size are limited."),
        _host("D-SEC-05", "SHOULD", "Calls are recorded."),
        _host("D-SEC-06", "SHOULD", "Results are checked."),
        _host("D-SEC-07", "MAY", "Annotations may decide."),
        _host("D-SEC-08", "MUST", "App tools live as long as their View."),
        _host("D-SEC-09", "MUST", "They are not kept for the next session."),
        _host("D-SEC-10", "MUST", "A tool of a closed View is an error."),
    ],
    "Negotiation": [
        _host("NEG-01", "implied", "A host advertises MCP Apps.", "mcp-apps-cap-01"),
        _host("NEG-02", "MUST", "It names the MIME types that it shows.", "capabilities/mimetypes-required"),
        _server(
            *("NEG-03", "SHOULD", s.neg_03, "Views are offered to clients that asked for MCP Apps."),
            *("mcp-apps-cap-02", "mcp-apps-cap-03", "mcp-apps-cap-04", "mcp-apps-res-02", "mcp-apps-tool-02"),
        ),
        _server(
            *("NEG-04", "SHOULD", s.neg_04, "Every tool with a View works as text."),
            *("mcp-apps-cap-05", "mcp-apps-reg-01", "mcp-apps-reg-03"),
        ),
        _server("NEG-05", "MUST", s.neg_05, "A tool with a View answers the model with content, too."),
        _unchecked("NEG-06", "server", "MAY", FREE, "There may be other tools for other hosts."),
        _look("RSV-01", "implied", s.rsv_01, "ui:// and the name of the extension are kept for it.", "mcp-apps-reg-04"),
        _server("ADV-08", "advice", s.adv_08, "A server with Views advertises MCP Apps."),
    ],
    "Security of hosts": [
        _host("SEC-01", "MUST", "Views are in sandboxed frames.", "security/iframe-sandboxed"),
        _host("SEC-02", "implied", "Messages are checked before they are believed."),
        _host("SEC-03", "MAY", "Views may be reviewed and known by their hash."),
        _host("SEC-04", "advice", "Users see what is a View; Views are limited."),
    ],
    "How a View behaves": [
        _view("QUA-01", "implied", v.qua_01, "A View does nothing that its policy forbids."),
        _view("QUA-02", "implied", v.qua_02, "A View catches its errors."),
        _view("QUA-03", "advice", v.qua_03, "A View writes no errors to the console."),
        _view("QUA-19", "advice", v.qua_19, "A View does not try to make code out of text."),
        _view("QUA-20", "advice", v.qua_20, "A View needs nothing from elsewhere."),
        _view("QUA-21", "implied", v.qua_21, "A View does not run without end."),
        _view("QUA-08", "advice", v.qua_08, "A View weighs less than 1 MB."),
        _view("QUA-09", "advice", v.qua_09, "A View can be used within 5 seconds."),
    ],
    "Security review": [
        _document("REV-01", r.rev_01, "Every origin that the source uses is declared."),
        _document("REV-02", r.rev_02, "Every origin that is declared is used."),
        _document("REV-03", r.rev_03, "The source makes no code out of text."),
        _document("REV-04", r.rev_04, "There is no code in attributes."),
        _document("REV-05", r.rev_05, "Only permissions that are used are asked for."),
        _document(
            "REV-06", r.rev_06, "No key logger: keys of the whole document meet neither the network nor the model."
        ),
        _document("REV-07", r.rev_07, "No form asks for passwords or cards."),
        _document("REV-08", r.rev_08, "There are no hidden frames."),
        _document("REV-09", r.rev_09, "There are no secrets in the source."),
        _document("REV-10", r.rev_10, "Declared origins are narrow, and encrypted on the way."),
        _document("REV-11", r.rev_11, "The source does not reach for the pages around it."),
        _document("REV-12", r.rev_12, "Code of others is pinned."),
        _document("REV-14", r.rev_14, "Frames that a script makes are declared."),
        _document("REV-15", r.rev_15, "What a tool returned is not made into HTML as it is."),
        _document("REV-16", r.rev_16, "Every permission that is used is asked for."),
        Rule("REV-13", "server", "security", "A View is the same at each read.", "", "server", r.rev_13),
    ],
    "What differs between hosts": [
        _look("ADV-01", "advice", s.adv_01, "The link is also at the older flat key."),
        _look("ADV-02", "advice", s.adv_02, "No View asks for a domain without need."),
        _look("ADV-03", "advice", s.adv_03, "The Views of a server are less than 5 MB together."),
        _server("ADV-04", "advice", s.adv_04, "The text says what the model should know."),
        _look("ADV-05", "advice", s.adv_05, "What ChatGPT reads is also said as the standard has it."),
        _look("ADV-06", "advice", s.adv_06, "Tools with a View have annotations."),
        _look("ADV-07", "advice", s.adv_07, "A View works where some wishes are ignored."),
        _server("ADV-11", "advice", s.adv_11, "The data for a View is in structuredContent."),
        _server("ADV-12", "advice", s.adv_12, "A tool with a View answers what it is called with here."),
    ],
}


def _rules() -> Iterator[Rule]:
    for section, rows in _TABLE.items():
        for row in rows:
            yield Rule(**{**vars(row), "section": section})


RULES: Final[tuple[Rule, ...]] = tuple(_rules())
"""All rules, in the order of the reference page."""
BY_NAME: Final[dict[str, Rule]] = {name: rule for rule in RULES for name in rule.names}
