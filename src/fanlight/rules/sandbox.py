"""Rules about how a host isolates Views: the sandbox, the content security policy, and the host's own security."""

from fanlight.rules.rule import (
    ADVICE,
    HOST_PAGE,
    IMPLIED,
    MAY,
    MUST,
    NOT_BREAKABLE,
    SHOULD,
    Section,
    by_nobody,
    by_person,
)

_BEFORE_THE_VIEW = by_nobody("The messages pass between proxy and host before the View is loaded.")

section = Section("Sandbox and content security policy")

# Content security policy

section.host_rule(
    "CSP-01",
    MUST,
    "The host builds the content security policy of a View from the domains that the View declares.",
    aliases=["security/csp-construct-from-domains"],
)
section.host_rule(
    "CSP-02",
    MUST,
    "A View that declares no `csp` can reach no other origin.",
    aliases=["security/csp-default-deny"],
)
section.host_rule(
    "CSP-03",
    MUST,
    "The policy allows no origin that the View did not declare.",
    aliases=["security/csp-no-loosening"],
)
section.unchecked("CSP-04", MAY, "The policy may allow less than the View declares.", NOT_BREAKABLE, binds="host")
section.host_rule(
    "CSP-05", SHOULD, "The host logs the policy of each View.", HOST_PAGE, aliases=["security/csp-audit-log"]
)
section.host_rule("CSP-06", MUST, "The host blocks connections of every kind to domains that the View did not declare.")
section.host_rule(
    "CSP-07",
    SHOULD,
    "The host warns the user if a View needs external domains.",
    by_person("This View declares domains under fanlight-probe.invalid. Does the host say so?"),
    aliases=["security/external-domain-warning"],
)
section.host_rule(
    "CSP-08",
    MAY,
    "The host may keep allow and block lists for all servers.",
    by_nobody("It depends on the host's configuration."),
    aliases=["security/global-allowlist"],
)
section.host_rule(
    "CSP-09",
    IMPLIED,
    "Each list of domains opens its own directives of the policy, and an empty list opens none.",
)
section.host_rule("CSP-10", IMPLIED, "A wildcard such as `https://*.example.com` covers all subdomains.")
section.host_rule(
    "CSP-11",
    IMPLIED,
    "If `csp` is declared, `connect-src` includes the View's own origin; if not, `connect-src` is none.",
)
section.unchecked(
    "D-CSP-01",
    SHOULD,
    "A View that declares no `csp` gets the draft's restrictive default, which also forbids plug-ins.",
    "CSP-02 and SBX-06d cover it.",
    binds="host",
)

# Sandbox

section.host_rule(
    "SBX-01",
    MUST,
    "A host that is a web page puts a sandbox proxy between itself and the View.",
    aliases=["security/sandbox-proxy-required"],
)
section.host_rule(
    "SBX-02", MUST, "The host and the sandbox have different origins.", aliases=["security/sandbox-distinct-origin"]
)
section.host_rule(
    "SBX-03",
    MUST,
    "The sandbox has `allow-scripts` and `allow-same-origin`.",
    aliases=["security/sandbox-permissions"],
)
section.host_rule(
    "SBX-04",
    MUST,
    "The sandbox proxy sends `sandbox-proxy-ready` when it can accept HTML.",
    _BEFORE_THE_VIEW,
    aliases=["security/sandbox-proxy-ready", "mcp-apps-sbox-01"],
    binds="sandbox",
)
section.host_rule(
    "SBX-05",
    MUST,
    "The host sends the HTML after `sandbox-proxy-ready`, in `sandbox-resource-ready`.",
    _BEFORE_THE_VIEW,
    aliases=["security/sandbox-resource-ready"],
)
section.host_rule(
    "SBX-06a",
    MUST,
    "The sandbox proxy loads the HTML under a policy that enforces the declared domains.",
    aliases=["security/sandbox-csp-enforced", "mcp-apps-sbox-02"],
    binds="sandbox",
)
section.host_rule("SBX-06b", MUST, "`frame-src` is limited to `frameDomains`, by default to none.", binds="sandbox")
section.host_rule(
    "SBX-06c", MUST, "`base-uri` is limited to `baseUriDomains`, by default to the View's own origin.", binds="sandbox"
)
section.host_rule("SBX-06d", MUST, "`object-src` is none, so plug-ins are forbidden.", binds="sandbox")
section.host_rule(
    "SBX-06e", MUST, "Without `csp`, the sandbox proxy applies the restrictive default policy.", binds="sandbox"
)
section.unchecked(
    "SBX-06f",
    MAY,
    "The sandbox proxy may set the `allow` attribute of the inner frame from the permissions.",
    "RES-11 covers it.",
    binds="sandbox",
)
section.host_rule(
    "SBX-07",
    MUST,
    "The sandbox proxy relays all messages but its own, in both directions and unchanged.",
    aliases=["security/sandbox-message-forwarding"],
    binds="sandbox",
)
section.host_rule(
    "SBX-08",
    IMPLIED,
    "The sandbox proxy's own messages never reach the View, and the View cannot forge them.",
    binds="sandbox",
)
section.host_rule(
    "SBX-09", MUST, "The host sends the View nothing but responses before `ui/notifications/initialized`."
)
section.host_rule(
    "SBX-10",
    SHOULD,
    "The sandbox proxy sends no requests of its own.",
    aliases=["security/sandbox-no-self-requests"],
    binds="sandbox",
)
section.host_rule(
    "SBX-11",
    MAY,
    "The host may forward messages that do not belong to MCP Apps to the server.",
    aliases=["capabilities/server-passthrough"],
)
section.host_rule(
    "SBX-12",
    SHOULD,
    "The host speaks correct MCP with the View: ids are echoed, responses are well formed, errors have a code.",
)
section.unchecked("SBX-13", MAY, "The host may block messages, or ask the user first.", NOT_BREAKABLE, binds="host")
section.unchecked(
    "D-SBX-01",
    SHOULD,
    "The sandbox proxy and the host exchange `sandbox-proxy-ready` and `sandbox-resource-ready`, as the draft asks.",
    "SBX-04 and SBX-05 ask for the same, as a MUST.",
    binds="host",
)

# The host

section.host_rule(
    "SEC-01",
    MUST,
    "The host shows a View in a sandboxed frame, without permissions that it did not ask for.",
    aliases=["security/iframe-sandboxed"],
)
section.host_rule(
    "SEC-02", IMPLIED, "The host validates every message, and ignores malformed ones and those of other frames."
)
section.unchecked(
    "SEC-03", MAY, "The host may review Views, and recognize them by their hash.", NOT_BREAKABLE, binds="host"
)
section.host_rule(
    "SEC-04",
    ADVICE,
    "The user can see where a View begins and ends, and the host limits a View's resources.",
    HOST_PAGE,
)
