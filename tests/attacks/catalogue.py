"""The attacks, as data: one list for the tests and for the page that says what a View can and cannot do.

    python tests/attacks/catalogue.py            print the tables
    python tests/attacks/catalogue.py --write    put them into docs/explanation/what-a-view-can-do.md

A test is marked with the ids of its attacks; those of `OUT` are run by one test, from attempts.js.
"""

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import pytest

Way = Literal["strict", "compat", "html"]
Theme = Literal["out", "in", "words", "looks", "shims"]
EVERYWHERE: Final[tuple[Way, ...]] = ("strict", "compat", "html")


@dataclass(frozen=True)
class Defence:
    """What stops an attack. `sign` is the trace that a stopped attempt leaves in the browser."""

    name: str
    without: str = ""
    """What was removed once, by hand, to see the tests of `OUT` fail; other tests name it in their docstring."""
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
    return Attack(id, tries, defence, "out", **more)  # type: ignore[arg-type]


def _other(theme: Theme, id: str, tries: str, defence: str, **more: object) -> Attack:
    return Attack(id, tries, Defence(defence), theme, **more)  # type: ignore[arg-type]


OUT: Final = (
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
        "WebRTC, by asking a STUN server over UDP",
        ALLOWLIST,
        sign="returned",
        open_in=("html",),
        measured="packets reach any address",
    ),
    _out(
        "out-webrtc-turn",
        "WebRTC, by logging in to a TURN server over TCP with a secret for its name",
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
    _out("out-base", "`<base>`, so that harmless addresses lead elsewhere", BASE),
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
    _out("out-frame-refresh", "a frame that refreshes itself to elsewhere", FRAME),
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
    _out("go-form-dialog", "a dialog's form whose button says otherwise", FORM, alone=True),
    _out("go-link-download", "a link with `download`", LOCK, alone=True),
    _out("go-top", "`top.location`", NO_TOP, sign="SecurityError"),
    _out("go-top-replace", "`top.location.replace`", NO_TOP, sign="SecurityError"),
    _out("go-parent", "`parent.location`, to put itself in the proxy's place", NO_TOP, sign="SecurityError"),
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

IN: Final = (
    _other("in", "in-dom", "read the page, the proxy, their scripts and storage", "three origins"),
    _other(
        "in",
        "in-name",
        "find something in `window.name`, `opener`, the referrer",
        "`Referrer-Policy`; frames without names",
    ),
    _other("in", "in-cookie", "read the program's cookies", "a name of its own"),
    _other("in", "in-cookie-planted", "set a cookie for the program", "a name of its own"),
    _other("in", "in-storage", "read the program's storage, caches, databases, locks", "an origin of its own"),
    _other("in", "in-history", "go back in the page's history", "`sandbox` without `allow-top-navigation`"),
    _other("in", "in-top-spoof", "speak to the page past the proxy", "the element hears its own frame and origin only"),
    _other(
        "in",
        "in-sandbox-words",
        "speak as the proxy (`ui/notifications/sandbox-…`)",
        "the proxy passes no such message on",
    ),
    _other("in", "in-early", "ask, or hear, before the handshake", "the states of the bridge"),
    _other(
        "in",
        "in-after-leaving",
        "load another document, and hear the result there",
        "the proxy counts documents, and is silent after the first",
    ),
    _other("in", "in-foreign-page", "put a page from elsewhere in its place", "the same"),
    _other(
        "in",
        "in-foreign-early",
        "put a page that it declared for frames in its place, before it has loaded",
        "",
        open_in=("html",),
        measured="the page is taken for the View; it can do no more than the View, which may frame it anyway",
    ),
    _other("in", "in-other-dom", "reach the View of another app", "an origin for each app; frames in shadow trees"),
    _other("in", "in-other-frame", "read or move frames of another app", "origins; `sandbox`"),
    _other("in", "in-other-forged", "speak to the proxy of another app", "the proxy hears its own page and View only"),
    _other(
        "in",
        "in-other-window",
        "post to the View of another app",
        "",
        open_in=("html",),
        measured="where a page frames proxies itself, the message arrives. It does not come from the parent,"
        " which Views have to check; Fanlight's SDK does. `<mcp-app>` hides its frames",
    ),
    _other("in", "in-other-storage", "read what another app stored", "an origin for each app"),
    _other("in", "in-broadcast", "talk to another app by BroadcastChannel", "an origin for each app"),
    _other(
        "in",
        "in-cookie-shared",
        "share a cookie with another app, which agrees to it",
        "",
        open_in=("strict", "compat"),
        measured="a cookie for the sandbox's name is seen by all apps of this browser. The host reads none. A"
        " sandbox name that is on the Public Suffix List has no such cookies",
    ),
    _other(
        "in",
        "in-other-document",
        "read the document of another app by its address",
        "`frame-src`, `connect-src`; an address is good at its own app's name",
    ),
    _other(
        "in",
        "in-tool",
        "call a tool of another server, or one that there is not",
        "the bridge knows the tools of the View's own server",
    ),
    _other("in", "in-framed", "be shown by another site", "`frame-ancestors`"),
    _other(
        "in",
        "in-declared-program",
        "declare the program's own address, and reach it as the user",
        "the sandbox is another site, so it gets no cookies",
    ),
    _other("in", "in-token", "open a socket with another View's token, or none", "a token for each View"),
    _other("in", "in-origin", "open a socket from a sandbox name or another site", "`Origin` has to be the program's"),
    _other(
        "in",
        "in-host-header",
        "confuse names by the `Host` header",
        "a name has one role, and what has none is answered with 421",
    ),
    _other(
        "in", "in-proxy-host", "make the proxy serve another page", "`host` is checked as one origin of the program"
    ),
    _other(
        "in",
        "in-traversal",
        "find a file or another document by a path",
        "documents are looked up by their whole address",
    ),
    _other("in", "in-clipboard", "read or write the clipboard", "Permissions-Policy"),
    _other(
        "in",
        "in-clipboard-copy",
        "copy a text of its own after a click",
        "",
        open_in=EVERYWHERE,
        measured="the old `execCommand('copy')` works; no header governs it",
    ),
    _other(
        "in",
        "in-devices",
        "use a camera, a microphone, devices, payments, …",
        "Permissions-Policy; nothing is granted unless asked for and allowed",
    ),
    _other(
        "in",
        "in-focus",
        "take the keyboard focus while the user types",
        "",
        open_in=EVERYWHERE,
        measured="the focus moves into the View. A header against it exists, but no browser knows it yet",
    ),
)

LOOKS: Final = (
    _other("looks", "look-fullscreen", "fill the screen by itself", "Permissions-Policy"),
    _other(
        "looks",
        "look-bar",
        "hide whose it is in full screen or in a corner",
        "the bar above it names tool and server, in full",
    ),
    _other("looks", "look-stay", "keep the user in full screen", "the bar's button is the page's"),
    _other("looks", "look-window", "open a window by picture-in-picture", "Permissions-Policy of View and proxy"),
    _other("looks", "look-dialogs", "speak in the browser's own dialogs", "`sandbox` without `allow-modals`"),
    _other("looks", "look-pointer", "catch the pointer", "`sandbox` without `allow-pointer-lock`"),
    _other("looks", "look-title", "say what the page is called", "the name comes from the host's own list of servers"),
    _other("looks", "look-size", "push the page aside", "a greatest height; the width is the page's"),
)

WORDS: Final = (
    _other(
        "words",
        "word-links",
        "open `javascript:`, `data:`, `file:`, `vscode:` … links",
        "`http` and `https` only, in the host and in the page",
    ),
    _other(
        "words",
        "word-names",
        "save a file outside of the folder, or as what it is not",
        "names are made safe in the host and in the page",
    ),
    _other(
        "words",
        "word-csp",
        "add a directive by a declared domain",
        "each is matched whole as one CSP source, or left out",
    ),
    _other("words", "word-csp-server", "the same, in a server made with Fanlight", "refused when it is registered"),
    _other("words", "word-sizes", "report sizes without end, or negative", "ignored"),
    _other("words", "word-replies", "answer what nobody asked", "ids are looked up"),
    _other("words", "word-shapes", "say what is no JSON-RPC", "answered as invalid, or dropped"),
    _other("words", "word-half", "say half a character", "passed on as it is"),
    _other(
        "words",
        "word-socket",
        "send 50 MB, binary frames or nonsense to the socket",
        "the socket ends, the host goes on",
    ),
    _other("words", "word-deep", "nest a message a thousand deep", "150 levels; the rest is refused"),
    _other("words", "word-report", "forge reports of violations", "bounded, and only written down"),
    _other("words", "word-freeze", "send what is small to send and endless to write", "measured before it is written"),
    _other("words", "word-huge", "send 50 MB from the View", "refused in the page"),
    _other("words", "word-flood", "send ten thousand messages at once", "limits for each View"),
    _other(
        "words", "word-prototype", "use `__proto__` and `constructor` as names", "data is never copied by assignment"
    ),
    _other(
        "words",
        "word-head",
        "put something before the head, or hide it",
        "the policy is a header, or set before the first character",
    ),
    _other("words", "word-liar-kind", "serve what is no HTML", "refused"),
    _other("words", "word-liar-type", "name another character set", "the content type is fixed"),
    _other("words", "word-liar-visibility", "call tools that are not for Views", "refused unless listed for apps"),
    _other("words", "word-liar-uri", "give a View an address outside of its server", "`ui://` only"),
    _other(
        "words",
        "word-liar-permissions",
        "grant itself permissions and domains by metadata",
        "metadata asks, the policy grants",
    ),
    _other("words", "word-liar-large", "serve 30 MB", "served; nobody else waits"),
    _other(
        "words",
        "word-fuzz-bridge",
        "say anything in any order (made up by machine)",
        "the bridge never fails, loses or invents an answer",
    ),
    _other("words", "word-fuzz-growth", "say it a hundred thousand times", "nothing grows"),
    _other("words", "word-fuzz-line", "number frames in any way", "every frame arrives once, in order"),
    _other("words", "word-fuzz-frames", "send any frame to a real host", "the View lives on"),
    _other("words", "word-fuzz-session", "ask and give up, again and again", "nothing is kept"),
)

SHIMS: Final = (
    _other(
        "shims",
        "shim-child",
        "speak to a shim from a frame inside, as the document or as the host",
        "a shim hears its document's own calls, and the host by its window",
    ),
    _other(
        "shims",
        "shim-external",
        "speak for a framed page from another frame, or from what took its place",
        "a shim hears that one frame, while it has the origin that was allowed",
    ),
    _other("shims", "shim-prototype", "use `__proto__` and `constructor` as names", "names are looked up in maps"),
    _other("shims", "shim-fragment", "put something else behind the `#` of the address", "read with care, or left out"),
    _other(
        "shims",
        "shim-leak",
        "read from the address what the View was given",
        "it is taken out before anything else runs",
    ),
)

ATTACKS: Final[tuple[Attack, ...]] = (*OUT, *IN, *LOOKS, *WORDS, *SHIMS)


def attack(*ids: str) -> pytest.MarkDecorator:
    """Mark the test that runs attacks."""
    return pytest.mark.attack(*ids)


# The page

PAGE: Final = Path(__file__).parents[2] / "docs" / "explanation" / "what-a-view-can-do.md"
_NAMES: Final[Mapping[Way, str]] = {"strict": "`strict`", "compat": "`compat`", "html": "HTML by message"}
_PLACE: Final = re.compile(r"(<!-- attacks: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def table(name: str) -> str:
    """Return one of the tables: what stops the attacks of a theme or, for `open`, the attacks that are not stopped."""
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
    return _markdown(("A View tries to" if name != "out" else "A View tries", "stopped by", ""), rows)


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
        sys.stdout.write("\n".join(table(name) for name in ("out", "in", "looks", "words", "shims", "open")))
