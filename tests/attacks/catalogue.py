"""The attacks, as data: one list for the tests and for the page that says what a View can and cannot do.

    python tests/attacks/catalogue.py            print the tables
    python tests/attacks/catalogue.py --write    put them into docs/explanation/what-a-view-can-do.md

A test is marked with the ids of its attacks; those of `EXFILTRATION` are run by one test, from attempts.js.
"""

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import pytest

Way = Literal["strict", "compat", "html"]
Theme = Literal["exfiltration", "isolation", "input", "spoofing", "shims", "users"]
EVERYWHERE: Final[tuple[Way, ...]] = ("strict", "compat", "html")


@dataclass(frozen=True)
class Defence:
    """What stops an attack. `sign` is the trace that a stopped attempt leaves in the browser."""

    name: str
    without: str = ""
    """What was removed once to see the tests of `EXFILTRATION` fail; other tests name it in their docstring."""
    sign: str = ""


@dataclass(frozen=True)
class Attack:
    """One thing that an attacker tries."""

    id: str
    tries: str
    defence: Defence
    theme: Theme
    sign: str | Mapping[Way, str] = ""
    alone: bool = False
    """Whether it may unload the document that tries it."""
    control: bool = True
    """Whether it succeeds in a page without our defences; if not, the browser itself stops it everywhere."""
    open_in: tuple[Way, ...] = ()
    """Where it is not stopped."""
    measured: str = ""
    """What happens where it is not stopped."""

    def expected_sign(self, way: Way) -> str:
        own = self.sign if isinstance(self.sign, str) else self.sign.get(way, "")
        return own or self.defence.sign


def _csp(directive: str, sign: str = "") -> Defence:
    return Defence(
        f"`{directive}`", f"{directive} in headers.view_directives and in sandbox.js's policy()", sign or directive
    )


CONNECT = _csp("connect-src")
SCRIPT = _csp("script-src", "script-src-elem")
STYLE = _csp("style-src", "style-src-elem")
IMG = _csp("img-src")
MEDIA = _csp("media-src")
FONT = _csp("font-src")
OBJECT = _csp("object-src")
WORKER = _csp("worker-src")
BASE = _csp("base-uri")
FORM = _csp("form-action")
FRAME = _csp("frame-src")
DEFAULT = _csp("default-src")
INHERITED = Defence(
    "the policy, which a document made by the View inherits", "connect-src in headers.view_directives", "connect-src"
)
ALLOWLIST = Defence(
    "`Connection-Allowlist`, in browsers that know it (Chromium does)",
    "connection-allowlist in documents.served_document",
)
LOCK = Defence(
    "`frame-src` of the proxy: its frame holds the View's own origin and nothing else",
    "frame-src in headers.proxy_directives and lock() in sandbox.js",
    "chrome-error:",
)
NO_TOP = Defence(
    "`sandbox` without `allow-top-navigation`: a frame moves itself and what is in it, nothing else",
    "the sandbox attribute of both frames",
    "sandboxed",
)
NO_POPUPS = Defence("`sandbox` without `allow-popups`", "the sandbox attribute of both frames", "allow-popups")
FEATURES = Defence(
    "Permissions-Policy: a frame of another origin gets nothing that was not granted", "the three origins"
)
BROWSER = Defence("the browser, in any page", "")


def _out(id: str, tries: str, defence: Defence, **more: object) -> Attack:
    return Attack(id, tries, defence, "exfiltration", **more)  # type: ignore[arg-type]


def _other(theme: Theme, id: str, tries: str, defence: str, **more: object) -> Attack:
    return Attack(id, tries, Defence(defence), theme, **more)  # type: ignore[arg-type]


EXFILTRATION: Final = (
    _out("out-fetch", "`fetch` an address", CONNECT),
    _out("out-fetch-keepalive", "`fetch` that outlives the page (`keepalive`)", CONNECT),
    _out("out-fetch-later", "`fetchLater`", FEATURES, sign="QuotaExceededError"),
    _out("out-xhr", "XMLHttpRequest", CONNECT),
    _out("out-websocket", "WebSocket", CONNECT),
    _out("out-websocket-stream", "WebSocketStream", CONNECT),
    _out("out-eventsource", "EventSource", CONNECT),
    _out("out-beacon", "`navigator.sendBeacon`", CONNECT),
    _out("out-ping", "a link with `ping`", CONNECT, alone=True, sign={"html": "chrome-error:"}),
    _out("out-webtransport", "WebTransport", CONNECT),
    _out(
        "out-webrtc-stun",
        "WebRTC, by a request to a STUN server over UDP",
        ALLOWLIST,
        sign="returned",
        open_in=("html",),
        measured="packets reach any address",
    ),
    _out(
        "out-webrtc-turn",
        "WebRTC, by logging in to a TURN server over TCP with a secret as the user name",
        ALLOWLIST,
        sign="returned",
        open_in=("html",),
        measured="connections reach any address",
    ),
    _out("out-fedcm", "federated sign-in with a provider of its own", FEATURES, sign="NotAllowedError"),
    _out(
        "out-report-uri",
        "a policy of its own with a `report-uri`",
        BROWSER,
        sign="returned",
        alone=True,
        control=False,
    ),
    _out("out-image", "an image", IMG),
    _out("out-srcset", "an image in `srcset`", IMG),
    _out("out-input-image", '`<input type="image">`', IMG),
    _out("out-svg-image", "an image in an SVG", IMG),
    _out("out-background", "the `background` attribute", IMG),
    _out("out-css-url", "`url()` in a style", IMG),
    _out("out-border-image", "`border-image`", IMG),
    _out("out-css-mask", "`mask`", IMG),
    _out("out-css-import", "`@import` in a style", STYLE),
    _out("out-stylesheet", "a style sheet", STYLE),
    _out("out-font-face", "`@font-face`", FONT),
    _out("out-font-api", "`new FontFace`", FONT),
    _out("out-audio", "`<audio>`", MEDIA),
    _out("out-video", "`<video>`", MEDIA),
    _out("out-poster", "the `poster` of a video", IMG),
    _out("out-source", "`<source>`", MEDIA),
    _out("out-track", "`<track>`", MEDIA),
    _out("out-object", "`<object>`", OBJECT),
    _out("out-embed", "`<embed>`", OBJECT),
    _out("out-base", "`<base>`, which redirects relative URLs", BASE),
    _out("out-script", "a script", SCRIPT),
    _out("out-module", "a module", SCRIPT),
    _out("out-import", "`import()`", SCRIPT),
    _out("out-worker", "a worker from elsewhere", BROWSER, sign="SecurityError", control=False),
    _out("out-shared-worker", "a shared worker from elsewhere", BROWSER, sign="SecurityError", control=False),
    _out("out-service-worker", "a service worker from elsewhere", BROWSER, sign="SecurityError", control=False),
    _out("out-blob-worker", "a worker made of text, which fetches", WORKER, sign={"compat": "returned"}),
    _out("out-data-worker", "the same, by a `data:` address", WORKER, sign={"compat": "returned"}),
    _out("out-import-scripts", "`importScripts` in such a worker", WORKER, sign={"compat": "WorkerError"}),
    _out(
        "out-blob-shared-worker",
        "a shared worker made of text, which fetches",
        WORKER,
        sign={"compat": "WorkerError", "html": "SecurityError"},
    ),
    _out("out-worklet", "an audio worklet", SCRIPT, sign="AbortError"),
    _out(
        "out-eval",
        "`eval` of a `fetch`",
        SCRIPT,
        sign={"strict": "EvalError", "compat": "connect-src", "html": "EvalError"},
    ),
    _out("out-prefetch", "`<link>` with `prefetch`", DEFAULT),
    _out("out-preload", "`<link>` with `preload`", IMG),
    _out("out-preload-fetch", "`<link>` with `preload` for a fetch", CONNECT),
    _out("out-modulepreload", "`<link>` with `modulepreload`", SCRIPT),
    _out(
        "out-preconnect",
        "`<link>` with `preconnect`",
        ALLOWLIST,
        sign="returned",
        open_in=("html",),
        measured="a connection is opened; its name can hold a secret",
    ),
    _out(
        "out-dns-prefetch",
        "`<link>` with `dns-prefetch`",
        ALLOWLIST,
        sign="returned",
        open_in=("html",),
        measured="a name is looked up; it can hold a secret",
    ),
    _out("out-speculation", "speculation rules", BROWSER, sign="returned"),
    _out("out-frame", "a frame", FRAME),
    _out("out-frame-blob", "a frame of a `blob:` document, which fetches", FRAME),
    _out("out-frame-data", "a frame of a `data:` document, which fetches", FRAME),
    _out("out-frame-srcdoc", "a frame with `srcdoc`, which fetches", INHERITED, sign="returned"),
    _out("out-frame-javascript", "a frame with a `javascript:` address, which fetches", INHERITED, sign="returned"),
    _out(
        "out-frame-written",
        "an empty frame, written into, which fetches",
        INHERITED,
        sign={"strict": "returned", "compat": "returned", "html": "TypeError"},
    ),
    _out(
        "out-frame-borrowed-fetch",
        "`fetch` of an empty frame",
        INHERITED,
        sign={"strict": "TypeError", "compat": "TypeError", "html": "SecurityError"},
    ),
    _out("out-frame-moved", "an empty frame, moved", FRAME),
    _out("out-frame-refresh", "a frame that refreshes to another site", FRAME),
    _out("out-frame-target", "a link whose target is a frame", FRAME),
    _out(
        "out-nested-webrtc",
        "WebRTC in a frame inside",
        ALLOWLIST,
        sign={"strict": "crashed", "compat": "crashed", "html": "returned"},
        alone=True,
        open_in=("html",),
        measured="packets reach any address",
    ),
    _out(
        "out-nested-preconnect",
        "`preconnect` in a frame inside",
        ALLOWLIST,
        sign="returned",
        open_in=("html",),
        measured="a connection is opened",
    ),
    _out("go-location", "`location = …`", LOCK, alone=True),
    _out("go-assign", "`location.assign`", LOCK, alone=True),
    _out("go-replace", "`location.replace`", LOCK, alone=True),
    _out("go-navigation", "`navigation.navigate`", LOCK, alone=True),
    _out("go-refresh", '`<meta http-equiv="refresh">`', LOCK, alone=True),
    _out("go-link", "a link", LOCK, alone=True),
    _out("go-link-area", "a link in an image map", LOCK, alone=True),
    _out("go-open-self", '`window.open` with `"_self"`', LOCK, alone=True),
    _out("go-data", "a `data:` document in its place, which fetches", LOCK, alone=True),
    _out("go-blob", "a `blob:` document in its place, which fetches", LOCK, alone=True),
    _out(
        "go-javascript",
        "a `javascript:` document in its place, which fetches",
        INHERITED,
        alone=True,
        sign={"html": "returned"},
    ),
    _out("go-write", "a written document in its place, which fetches", INHERITED, alone=True),
    _out("go-form-get", "a form", FORM, alone=True),
    _out("go-form-post", "a form that posts", FORM, alone=True),
    _out("go-form-action", "a button with `formaction`", FORM, alone=True),
    _out("go-form-submit", "`form.submit()`", FORM, alone=True),
    _out("go-form-dialog", "a dialog's form with a button that overrides the method", FORM, alone=True),
    _out("go-link-download", "a link with `download`", LOCK, alone=True),
    _out("go-top", "`top.location`", NO_TOP, sign="SecurityError"),
    _out("go-top-replace", "`top.location.replace`", NO_TOP, sign="SecurityError"),
    _out("go-parent", "`parent.location`, to replace the proxy", NO_TOP, sign="SecurityError"),
    _out("go-link-top", "a link with target `_top`", NO_TOP),
    _out("go-link-parent", "a link with target `_parent`", NO_TOP),
    _out("go-link-unfenced", "a link with target `_unfencedTop`", NO_POPUPS),
    _out("go-form-top", "a form with target `_top`", NO_TOP),
    _out("go-form-parent", "a form with target `_parent`", NO_TOP),
    _out("go-open-top", '`window.open` with `"_top"`', NO_TOP),
    _out("go-open-parent", '`window.open` with `"_parent"`', NO_TOP),
    _out("go-link-blank", "a link with target `_blank`", NO_POPUPS),
    _out("go-link-noopener", "the same with `noopener`", NO_POPUPS),
    _out("go-link-named", "a link whose target is a window of another name", NO_POPUPS),
    _out("go-form-blank", "a form with target `_blank`", NO_POPUPS),
    _out("go-open", "`window.open`", NO_POPUPS, sign="returned null"),
    _out("go-open-noopener", "`window.open` with `noopener`", NO_POPUPS, sign="returned null"),
)

ISOLATION: Final = (
    _other("isolation", "in-dom", "read the page, the proxy, their scripts and storage", "three origins"),
    _other(
        "isolation",
        "in-name",
        "read `window.name`, `opener` or the referrer",
        "`Referrer-Policy`; frames without names",
    ),
    _other("isolation", "in-cookie", "read the program's cookies", "a name of its own"),
    _other("isolation", "in-cookie-planted", "set a cookie for the program", "a name of its own"),
    _other("isolation", "in-storage", "read the program's storage, caches, databases, locks", "an origin of its own"),
    _other("isolation", "in-history", "go back in the page's history", "`sandbox` without `allow-top-navigation`"),
    _other(
        "isolation",
        "in-top-spoof",
        "send messages to the page past the proxy",
        "the element accepts messages of its own frame and origin only",
    ),
    _other(
        "isolation",
        "in-sandbox-words",
        "send messages of the proxy (`ui/notifications/sandbox-…`)",
        "the proxy does not forward such messages",
    ),
    _other("isolation", "in-early", "send or receive messages before the handshake", "the states of the bridge"),
    _other(
        "isolation",
        "in-after-leaving",
        "load another document, and receive the result there",
        "the proxy counts documents, and forwards nothing after the first",
    ),
    _other("isolation", "in-foreign-page", "navigate to a page of another site", "the same"),
    _other(
        "isolation",
        "in-foreign-early",
        "navigate to a page that it declared for frames, before it has loaded",
        "",
        open_in=("html",),
        measured="the page is taken for the View; it can do no more than the View, which may frame it anyway",
    ),
    _other(
        "isolation", "in-other-dom", "reach the View of another app", "an origin for each app; frames in shadow trees"
    ),
    _other("isolation", "in-other-frame", "read or move frames of another app", "origins; `sandbox`"),
    _other(
        "isolation",
        "in-other-forged",
        "send messages to the proxy of another app",
        "the proxy accepts messages of its own page and View only",
    ),
    _other(
        "isolation",
        "in-other-window",
        "send messages to the View of another app",
        "",
        open_in=("html",),
        measured="where a page frames proxies itself, the message arrives. It does not come from the parent,"
        " which Views have to check; Fanlight's SDK does. `<mcp-app>` hides its frames",
    ),
    _other("isolation", "in-other-storage", "read what another app stored", "an origin for each app"),
    _other("isolation", "in-broadcast", "use a BroadcastChannel with another app", "an origin for each app"),
    _other(
        "isolation",
        "in-cookie-shared",
        "share a cookie with another app, which agrees to it",
        "",
        open_in=("strict", "compat"),
        measured="a cookie for the sandbox's name is seen by all apps of this browser. The host reads none. A"
        " sandbox name that is on the Public Suffix List has no such cookies",
    ),
    _other(
        "isolation",
        "in-other-document",
        "read the document of another app by its URL",
        "`frame-src`, `connect-src`; a URL works at its own app's name only",
    ),
    _other(
        "isolation",
        "in-tool",
        "call a tool of another server, or an unknown tool",
        "the bridge knows the tools of the View's own server",
    ),
    _other("isolation", "in-framed", "be shown by another site", "`frame-ancestors`"),
    _other(
        "isolation",
        "in-declared-program",
        "declare the program's own origin, and send requests as the user",
        "the sandbox is another site, so it gets no cookies",
    ),
    _other("isolation", "in-token", "open a socket with another View's token, or none", "a token for each View"),
    _other(
        "isolation",
        "in-origin",
        "open a socket from a sandbox name or another site",
        "`Origin` has to be the program's",
    ),
    _other(
        "isolation",
        "in-host-header",
        "confuse names by the `Host` header",
        "a name has one role, and the host's routes answer 421 under other names",
    ),
    _other(
        "isolation",
        "in-proxy-host",
        "make the proxy serve another page",
        "`host` is checked as one origin of the program",
    ),
    _other(
        "isolation",
        "in-traversal",
        "find a file or another document by a path",
        "documents are looked up by their whole URL",
    ),
    _other("isolation", "in-clipboard", "read or write the clipboard", "Permissions-Policy"),
    _other(
        "isolation",
        "in-clipboard-copy",
        "copy its own text after a click",
        "",
        open_in=EVERYWHERE,
        measured="the old `execCommand('copy')` works; no header governs it",
    ),
    _other(
        "isolation",
        "in-devices",
        "use a camera, a microphone, devices, payments, …",
        "Permissions-Policy; nothing is granted unless requested and allowed",
    ),
    _other(
        "isolation",
        "in-focus",
        "take the keyboard focus while the user types",
        "",
        open_in=EVERYWHERE,
        measured="the focus moves into the View. A header against it exists, but no browser knows it yet",
    ),
)

SPOOFING: Final = (
    _other("spoofing", "look-fullscreen", "fill the screen by itself", "Permissions-Policy"),
    _other(
        "spoofing",
        "look-bar",
        "hide its server in full screen or picture in picture",
        "the bar above it names tool and server, in full",
    ),
    _other("spoofing", "look-stay", "keep the user in full screen", "the button in the bar belongs to the page"),
    _other("spoofing", "look-window", "open a window by picture-in-picture", "Permissions-Policy of View and proxy"),
    _other("spoofing", "look-dialogs", "open the browser's own dialogs", "`sandbox` without `allow-modals`"),
    _other("spoofing", "look-pointer", "catch the pointer", "`sandbox` without `allow-pointer-lock`"),
    _other(
        "spoofing", "look-title", "change the title of the page", "the name comes from the host's own list of servers"
    ),
    _other(
        "spoofing", "look-size", "take more space than the page allows", "a maximum height; the page sets the width"
    ),
)

HOSTILE_INPUT: Final = (
    _other(
        "input",
        "word-links",
        "open `javascript:`, `data:`, `file:`, `vscode:` … links",
        "`http` and `https` only, in the host and in the page",
    ),
    _other(
        "input",
        "word-names",
        "save a file outside of the folder, or with a misleading name",
        "names are sanitized in the host and in the page",
    ),
    _other(
        "input",
        "word-csp",
        "add a directive by a declared domain",
        "each has to match the grammar of one CSP source, or is ignored",
    ),
    _other("input", "word-csp-server", "the same, in a server made with Fanlight", "rejected when it is registered"),
    _other("input", "word-sizes", "report infinite or negative sizes", "ignored"),
    _other("input", "word-replies", "send responses without a request", "ids are looked up"),
    _other("input", "word-shapes", "send messages that are not JSON-RPC", "answered as invalid, or dropped"),
    _other("input", "word-half", "send half of a surrogate pair", "forwarded unchanged"),
    _other(
        "input",
        "word-socket",
        "send 50 MB, binary frames or nonsense to the socket",
        "the socket is closed, the host is not affected",
    ),
    _other("input", "word-deep", "nest a message a thousand levels deep", "at most 150 levels are accepted"),
    _other("input", "word-report", "forge reports of violations", "limited in number, and only logged"),
    _other(
        "input", "word-freeze", "send a small message that is huge when serialized", "measured before it is serialized"
    ),
    _other("input", "word-huge", "send 50 MB from the View", "rejected in the page"),
    _other("input", "word-flood", "send ten thousand messages at once", "limits for each View"),
    _other(
        "input", "word-prototype", "use `__proto__` and `constructor` as names", "data is never copied by assignment"
    ),
    _other(
        "input",
        "word-head",
        "put content before the head, or hide the head",
        "the policy is a header, or set before the first character",
    ),
    _other("input", "word-liar-kind", "serve a resource that is not HTML", "rejected"),
    _other("input", "word-liar-type", "declare another character set", "the content type is fixed"),
    _other(
        "input",
        "word-liar-visibility",
        "call tools that are not for Views",
        "rejected unless the tool is visible to apps",
    ),
    _other("input", "word-liar-uri", "link a View outside of its server", "`ui://` only"),
    _other(
        "input",
        "word-liar-permissions",
        "grant itself permissions and domains by metadata",
        "metadata only requests, the policy grants",
    ),
    _other("input", "word-liar-large", "serve 30 MB", "served; other Views are not delayed"),
    _other(
        "input",
        "word-fuzz-bridge",
        "send generated messages in any order",
        "the bridge never fails, and loses or invents no response",
    ),
    _other("input", "word-fuzz-growth", "send a hundred thousand generated messages", "memory does not grow"),
    _other("input", "word-fuzz-line", "number frames in any way", "every frame arrives once, in order"),
    _other("input", "word-fuzz-frames", "send any frame to a real host", "the View keeps working"),
    _other("input", "word-fuzz-session", "send and cancel requests repeatedly", "nothing is kept"),
)

SHIMS: Final = (
    _other(
        "shims",
        "shim-child",
        "send messages to a shim from a nested frame, as the document or as the host",
        "a shim accepts calls of its own document, and messages of the host's window",
    ),
    _other(
        "shims",
        "shim-external",
        "send messages for a framed page from another frame, or from a page that replaced it",
        "a shim accepts messages of that one frame, while it has the allowed origin",
    ),
    _other("shims", "shim-prototype", "use `__proto__` and `constructor` as names", "names are looked up in maps"),
    _other("shims", "shim-fragment", "put other data into the fragment of the URL", "validated, or ignored"),
    _other(
        "shims",
        "shim-leak",
        "read the View's data from the URL",
        "it is removed before other scripts run",
    ),
)

USERS: Final = tuple(
    _other("users", id, tries, defence)
    for id, tries, defence in (
        ("user-token", "open a View with a stolen id and token", "the user of the page has to be the View's"),
        ("user-resume", "resume a View with a stolen epoch", "the same, before anything is resumed"),
        ("user-guess", "find out which ids of Views exist", "one error for all Views that are not theirs"),
        ("user-claim", "say to be the other user, in a frame, a header or a cookie", "only `Host(user=...)` says that"),
        ("user-frames", "close the View of another user", "a socket is for one View, whatever its frames say"),
        ("user-document", "load a document that was made for another user", "an origin of its own for each user"),
        ("user-grants", "list or revoke what another user allowed", "the routes use the user of the request"),
        ("user-oauth", "finish a sign-in of another user", "a sign-in belongs to the user who was given the link"),
        ("user-consent", "use what another user always allows", "grants are stored by user"),
        ("user-pin", "be shown a changed document that another user approved", "pinned documents are stored by user"),
        ("user-model", "reach Views, context and tools in a conversation of the same id", "the user is in each key"),
        ("user-credentials", "be served with another user's credentials", "connections and documents are by user"),
        ("user-forget", "erase, end or read in the audit what is not theirs", "the user is in each selection"),
        ("user-names", "have a name that looks like another, or has separators", "names are compared as a whole"),
        ("user-none", "have no user", "refused where users are known"),
        ("user-page", "show a View of another user in a page", "the user of the page has to be the View's"),
        (
            "user-elements",
            "see or revoke in a page what another user allowed",
            "the routes use the user of the request",
        ),
        (
            "user-storage",
            "read in one browser what a View of another user stored",
            "an origin of its own for each user",
        ),
    )
)
ATTACKS: Final[tuple[Attack, ...]] = (*EXFILTRATION, *ISOLATION, *SPOOFING, *HOSTILE_INPUT, *SHIMS, *USERS)


def attack(*ids: str) -> pytest.MarkDecorator:
    """Mark the test that runs attacks."""
    return pytest.mark.attack(*ids)


# The page

PAGE: Final = Path(__file__).parents[2] / "docs" / "explanation" / "what-a-view-can-do.md"
_NAMES: Final[Mapping[Way, str]] = {"strict": "`strict`", "compat": "`compat`", "html": "HTML by message"}
_PLACE: Final = re.compile(r"(<!-- attacks: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def table(name: str) -> str:
    """Return the table of a theme or, for `open`, of the attacks that are not stopped."""
    if name == "open":
        standing = [attack for attack in ATTACKS if attack.open_in]
        return _markdown(
            ("A View can", "shown as", "what was measured", ""),
            [(attack.tries, _where(attack.open_in), attack.measured, attack.id) for attack in standing],
        )
    stopped = [attack for attack in ATTACKS if attack.theme == name and set(attack.open_in) != set(EVERYWHERE)]
    rows = [
        (attack.tries, attack.defence.name + _except(attack), attack.id) for attack in stopped if attack.defence.name
    ]
    heads = {"exfiltration": "A View tries", "users": "A user tries to"}
    return _markdown((heads.get(name, "A View tries to"), "stopped by", ""), rows)


def _where(ways: tuple[Way, ...]) -> str:
    return "anything" if set(ways) == set(EVERYWHERE) else ", ".join(_NAMES[way] for way in ways)


def _except(attack: Attack) -> str:
    return f"; not in {_where(attack.open_in)}" if attack.open_in else ""


def _markdown(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *((*cells, f"`{id}`") for *cells, id in rows)]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def filled(page: str) -> str:
    """Return a page with up-to-date tables."""
    return _PLACE.sub(lambda place: place[1] + table(place[2]) + place[3], page)


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        sys.stdout.write(
            "\n".join(
                table(name) for name in ("exfiltration", "isolation", "spoofing", "input", "shims", "users", "open")
            )
        )
