"""The security review of a View's document: what its source uses, against what it declares. Nothing is run.

It reads the text as a reviewer with a search box would. It finds what was not hidden, and proves nothing by silence.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from html.parser import HTMLParser
from typing import Any, Final, NamedTuple

from fanlight.protocol.csp import CSP_LISTS, is_declared, source_covers
from fanlight.protocol.origin import Origin
from fanlight.protocol.source_lines import after
from fanlight.rules.observation import Document, ServerObservation, content_item, html_of
from fanlight.rules.rule import SECURITY, Problem, Section, Severity

section = Section("Security review")


class Spot(NamedTuple):
    """A place in a document, from 1."""

    line: int
    column: int

    def after(self, text: str, at: int) -> "Spot":
        """Return the place of a letter of a text that begins here."""
        return Spot(*after(text[:at], *self))


Part = tuple[Spot, str]
"""Where a text begins, and the text."""

_URL: Final = re.compile(r"(?:https?|wss?):(?:\\?/){2}[A-Za-z0-9.-]+(?::[0-9]+)?", re.IGNORECASE)
_SENDS: Final = re.compile(
    r"\bfetch\s*\(|XMLHttpRequest|sendBeacon|new\s+(?:WebSocket|EventSource)\b|\.src\s*=\s*[`\"']https?:"
)
_SENDS_AWAY: Final = re.compile(
    r"(?:\bfetch|sendBeacon|WebSocket|EventSource)\s*\(\s*[`\"'](?:https?|wss?):|\.src\s*=\s*[`\"']https?:"
)
_ALL_KEYS: Final = re.compile(
    r"(?:\b(?:window|document|self|globalThis|document\.body)\s*\.|^|[;{}\s])addEventListener\s*\(\s*[\"'`]key(?:down|up|press)"
    r"|\b(?:window|document|document\.body)\.onkey(?:down|up|press)\s*=",
    re.MULTILINE,
)
_EVAL: Final = re.compile(
    r"(?<![\w.$])eval\s*\(|\bnew\s+Function\s*\(|\bset(?:Timeout|Interval)\s*\(\s*[\"'`]|(?<![\w.$])Function\s*\(\s*[\"'`]"
)
_ABOVE: Final = re.compile(
    r"\b(?:window\s*\.\s*)?(?:top|parent)\s*\.\s*(?:document|location|frames|localStorage|sessionStorage|cookie)\b"
    r"|\bframeElement\b"
)
_SECRETS: Final = (
    ("a private key", re.compile(r"-----BEGIN (?:RSA |EC |OPENSSH |DSA |)PRIVATE KEY-----")),
    ("an AWS access key", re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b")),
    ("a GitHub token", re.compile(r"\bgh[pousr]_[A-Za-z0-9]{36,}\b|\bgithub_pat_[A-Za-z0-9_]{60,}\b")),
    ("an OpenAI or Anthropic key", re.compile(r"\bsk-(?:ant-|proj-)?[A-Za-z0-9_-]{32,}\b")),
    ("a Slack token", re.compile(r"\bxox[abprs]-[A-Za-z0-9-]{20,}\b")),
    ("a Google API key", re.compile(r"\bAIza[0-9A-Za-z_-]{35}\b")),
    ("a Stripe secret key", re.compile(r"\b[rs]k_live_[0-9A-Za-z]{20,}\b")),
    ("a JSON web token", re.compile(r"\beyJ[A-Za-z0-9_-]{15,}\.eyJ[A-Za-z0-9_-]{15,}\.[A-Za-z0-9_-]{20,}\b")),
    (
        "a password or key",
        re.compile(
            r"\b(?:api[_-]?key|secret[_-]?key|client[_-]?secret|access[_-]?token|password)[\"']?\s*[:=]\s*"
            r"[\"'](?=[^\"']*[0-9])(?=[^\"']*[A-Za-z])[A-Za-z0-9+/_=-]{20,}[\"']",
            re.IGNORECASE,
        ),
    ),
)
_PERMISSION_USES: Final = {
    "camera": re.compile(r"getUserMedia|mediaDevices"),
    "microphone": re.compile(r"getUserMedia|mediaDevices|SpeechRecognition"),
    "geolocation": re.compile(r"geolocation"),
    "clipboardWrite": re.compile(r"clipboard|execCommand"),
}
_LARGE: Final = 200_000
"""Documents of this size are mostly libraries, which can do more than the View does."""

# What takes a key, and what carries it to the model or to the server.
_RECORDS: Final = re.compile(
    r"(?:\+=|\.(?:push|concat|add|append)\s*\()[^;\n]{0,60}?\b\w+\.key(?:Code)?\b(?!\s*[=!]=)"
    r"|\b\w+(?:\.(?:value|data))?\s*=\s*\w+\s*\+\s*\w+\.key\b(?!\s*[=!]=)"
    r"|(?:updateModelContext|sendMessage|callServerTool|callTool|sendFollowUpMessage|postMessage)\s*\("
    r"[^;]{0,200}?\b\w+\.key(?:Code)?\b(?!\s*[=!]=)"
)
_TELLS: Final = re.compile(
    r"\.\s*(?:updateModelContext|sendMessage|callServerTool|callTool|sendFollowUpMessage|setWidgetState)\s*\("
    r"|[\"'`](?:ui/message|ui/update-model-context|tools/call)[\"'`]"
)
_HANDLER: Final = re.compile(r"[\s\S]{0,40}?,\s*([A-Za-z_$][\w$]*)\s*[,)]|\s*=?\s*([A-Za-z_$][\w$]*)\s*;")
_NEARBY: Final = 500

# Frames that a script makes.
_FRAME: Final = re.compile(r"createElement\s*\(\s*[\"'`]i?frame[\"'`]\s*\)")
_KEPT_AS: Final = re.compile(r"([A-Za-z_$][\w$]*)\s*=\s*(?:\w+\s*\.\s*)*$")
_ANY_SRC: Final = re.compile(r"\bsrc\b")
_FRAME_PROPS: Final = re.compile(r"[\"'`]iframe[\"'`]\s*,\s*\{((?:[^{}]|\{[^{}]*\})*)\}")
_FRAME_MARKUP: Final = re.compile(r"<iframe\b[^>]*", re.IGNORECASE)
_SRC: Final = re.compile(r"\bsrc[\"']?\s*(?:=|:|[\"'`]\s*,)\s*\\?[\"'`]?((?:https?:)?\\?/\\?/[^\"'`\s>\\$]+)")
_HIDES: Final = re.compile(
    r"display[\"']?\s*(?:=|:)\s*[\"'`]?none|visibility[\"']?\s*(?:=|:)\s*[\"'`]?hidden|\bhidden\s*(?:=|:)\s*(?:true|!0)"
    r"|opacity[\"']?\s*(?:=|:)\s*[\"'`]?0(?![.\d])|\b(?:width|height)[\"']?\s*(?:=|:)\s*[\"'`]?[01](?:px)?[\"'`;,\s}]"
    r"|\b(?:left|top)[\"']?\s*(?:=|:)\s*[\"'`]?-\d{3,}px|<iframe\b[^>]*\shidden\b"
)

# HTML that is made out of data.
_TO_HTML: Final = re.compile(
    r"\.(?:innerHTML|outerHTML)\s*\+?=(?!=)|\binsertAdjacentHTML\s*\(|\bdocument\.write(?:ln)?\s*\("
    r"|\bdangerouslySetInnerHTML\b[\"']?\s*[:=]\s*\{+\s*__html\s*:"
)
_TOOL_DATA: Final = re.compile(r"\bstructuredContent\b|\bcontent\s*(?:\?\.)?\s*\[|\btool(?:Input|Output|Result)\b")
_NAMED_DATA: Final = re.compile(
    r"(?:const|let|var)\s+(\w{2,})\s*=[^;\n]{0,200}\b(?:structuredContent|content\s*(?:\?\.)?\s*\[)"
    r"|\bstructuredContent\s*:\s*(\w{2,})\s*[,}=]"
    r"|\bontool(?:result|input)\s*=\s*(?:async\s*)?\(?\s*(\w+)\s*(?:\)|=>)"
)
_MADE_SAFE: Final = re.compile(
    r"escape|sanitize|purify|encode|\besc\b|setHTML|\bNumber\s*\(|parse(?:Int|Float)\s*\(", re.IGNORECASE
)
_MINIFIED: Final = 400
"""In lines as long as this, names are a letter or two and mean something else each time."""

_NEEDS_PERMISSION: Final = {
    "camera": re.compile(r"\bgetUserMedia\s*\(\s*\{[^}]{0,200}?\bvideo\b\s*(?::(?!\s*(?:false|!1))|[,}])"),
    "microphone": re.compile(
        r"\bgetUserMedia\s*\(\s*\{[^}]{0,200}?\baudio\b\s*(?::(?!\s*(?:false|!1))|[,}])|\bnew\s+(?:\w+\.)?(?:webkit)?SpeechRecognition\b"
    ),
    "geolocation": re.compile(r"\bgeolocation\s*(?:\?\.|\.)\s*(?:getCurrentPosition|watchPosition)\s*(?:\?\.)?\("),
    "clipboardWrite": re.compile(r"\bclipboard\s*(?:\?\.|\.)\s*write(?:Text)?\s*(?:\?\.)?\("),
}
_CARD: Final = re.compile(r"^(?:cc-(?:number|csc|exp)|current-password|new-password|one-time-code)\b")
_HIDDEN: Final = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*hidden|opacity\s*:\s*0(?:\.0+)?(?:;|$|\s)|(?:width|height)\s*:\s*[01](?:px)?\s*(?:;|$)"
    r"|(?:left|top)\s*:\s*-\d{3,}px",
    re.IGNORECASE,
)
# Addresses that name things and are never fetched.
_NAMES_ONLY: Final = ("http://www.w3.org", "https://www.w3.org", "http://json-schema.org", "https://json-schema.org")


class _Source(HTMLParser):
    """The parts of a document, each with its place."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[Spot, str, dict[str, str]]] = []
        self.scripts: list[Part] = []
        self.styles: list[Part] = []
        self._inside = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.elements.append((self._spot(), tag, given))
        self._inside = tag if tag in ("script", "style") else ""
        if tag == "script" and given.get("type", "").lower() not in ("", "module", "text/javascript"):
            self._inside = ""

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside:
            (self.scripts if self._inside == "script" else self.styles).append((self._spot(), data))

    def _spot(self) -> Spot:
        line, offset = self.getpos()
        return Spot(line, offset + 1)


@lru_cache(maxsize=2)
def _source(html: str) -> _Source:
    """Read a document, once for all rules."""
    return _Source(html)


def _matches(pattern: re.Pattern[str], parts: Iterable[Part]) -> Iterator[Part]:
    for spot, text in parts:
        for found in pattern.finditer(text):
            yield spot.after(text, found.start()), found[0].strip()


def _problem(document: Document, spot: Spot | None, severity: Severity, message: str, fix: str) -> Problem:
    where = document.file or document.uri
    place = document.place(*spot) if spot and document.place else None
    if place is not None and place.path.is_file():  # a View in a string is in none
        return Problem(where, message, fix, place.line, severity, path=place.path)
    return Problem(where, message, fix, spot.line if spot else None, severity)


def _origin(address: str) -> Origin | None:
    try:
        return Origin.of(address.replace("\\/", "/"))
    except ValueError:
        return None


def _declared(csp: Mapping[str, Any], *names: str) -> list[str]:
    found: list[str] = []
    for name in names:
        values = csp.get(name)
        found += [value for value in values if isinstance(value, str)] if isinstance(values, list) else []
    return found


_REFERS: Final = {
    "script": ("src", "resourceDomains"),
    "img": ("src", "resourceDomains"),
    "link": ("href", "resourceDomains"),
    "audio": ("src", "resourceDomains"),
    "video": ("src", "resourceDomains"),
    "source": ("src", "resourceDomains"),
    "iframe": ("src", "frameDomains"),
    "base": ("href", "baseUriDomains"),
}
_IN_STYLE: Final = re.compile(r"(?:url\(\s*[\"']?|@import\s+[\"'])((?:https?:)?//[^\"')\s]+)", re.IGNORECASE)
_IN_SCRIPT: Final = re.compile(
    r"(?:\bfetch\s*\(\s*|new\s+(?:WebSocket|EventSource)\s*\(\s*|sendBeacon\s*\(\s*|\.open\s*\(\s*[\"'`]\w+[\"'`]\s*,\s*)"
    r"[\"'`]((?:https?|wss?):\\?/\\?/[^\"'`\s$]+)"
)
_IMPORT: Final = re.compile(r"\b(?:import|from)\s*\(?\s*[\"'](https?://[^\"']+)[\"']")
_LINKS_THAT_LOAD: Final = frozenset({"stylesheet", "icon", "preload", "modulepreload", "manifest", "prefetch"})


def _used(html: str) -> Iterator[tuple[Spot, str, str]]:
    """Yield where the document uses another origin: place, address, and the list that would have to declare it."""
    source = _source(html)
    for spot, tag, given in source.elements:
        key, needs = _REFERS.get(tag, ("", ""))
        if tag == "link" and not _LINKS_THAT_LOAD & {*given.get("rel", "").lower().split()}:
            continue
        address = given.get(key, "")
        if address.startswith("//"):
            address = f"https:{address}"
        if key and _origin(address):
            yield spot, address, needs
    in_style = [*source.styles, *((spot, given["style"]) for spot, _, given in source.elements if "style" in given)]
    for spot, text in in_style:
        for found in _IN_STYLE.finditer(text):
            address = found[1] if not found[1].startswith("//") else f"https:{found[1]}"
            yield spot.after(text, found.start()), address, "resourceDomains"
    for frame in _script_frames(html):
        if frame.address is not None:
            yield frame.spot, frame.address, "frameDomains"
    for pattern, needs in ((_IN_SCRIPT, "connectDomains"), (_IMPORT, "resourceDomains")):
        for spot, text in source.scripts:
            for found in pattern.finditer(text):
                yield spot.after(text, found.start()), found[1], needs


@dataclass(frozen=True)
class _ScriptFrame:
    """A frame that a script makes."""

    spot: Spot
    address: str | None
    hidden: bool
    own: bool
    """Whether it is given a document and no address."""


@lru_cache(maxsize=2)
def _script_frames(html: str) -> tuple[_ScriptFrame, ...]:
    return tuple(_frames_of(_source(html)))


def _frames_of(source: _Source) -> Iterator[_ScriptFrame]:
    for spot, text in source.scripts:
        for at, nearby in _frames_in(text):
            found = _SRC.search(nearby)
            address = found[1].replace("\\/", "/") if found else None
            if address is not None and address.startswith("//"):
                address = f"https:{address}"
            own = "srcdoc" in nearby.lower() and _ANY_SRC.search(nearby) is None
            yield _ScriptFrame(spot.after(text, at), address, _HIDES.search(nearby) is not None, own)


def _frames_in(text: str) -> Iterator[tuple[int, str]]:
    """Yield where a script makes a frame, and what it says of that frame."""
    for found in _FRAME.finditer(text):
        kept = _KEPT_AS.search(text, max(0, found.start() - 80), found.start())
        said = text[found.end() : found.end() + _NEARBY]
        mine = re.findall(rf"(?<![\w$.]){re.escape(kept[1])}\.[^;\n]{{0,200}}", said) if kept else []
        yield found.start(), "; ".join(mine)
    for found in _FRAME_PROPS.finditer(text):
        yield found.start(), found[1]
    for found in _FRAME_MARKUP.finditer(text):
        yield found.start(), found[0]


@section.rule("REV-01", SECURITY, "Every origin that the source uses is declared.")
def used_origins_are_declared(document: Document) -> Iterator[Problem]:
    told = set()
    for spot, address, needs in _used(document.html):
        origin = _origin(address)
        if origin is None or str(origin) in _NAMES_ONLY or (origin, needs) in told:
            continue
        if not is_declared(origin, _declared(document.csp, needs)):
            told.add((origin, needs))
            message = f"uses {origin}, which its csp does not declare: hosts block it."
            yield _problem(document, spot, "medium", message, f"Add '{origin}' to {needs}, or do without it.")


@section.rule("REV-02", SECURITY, "Every declared origin is used.")
def declared_origins_are_used(document: Document) -> Iterator[Problem]:
    origins = {origin for found in _URL.finditer(document.html) if (origin := _origin(found[0]))}
    for entry in dict.fromkeys(_declared(document.csp, *CSP_LISTS)):
        bare = entry.rpartition("://")[2]
        if not any(source_covers(entry, origin) for origin in origins) and bare.removeprefix("*.") not in document.html:
            message = f"declares {entry}, which its source never names."
            yield _problem(document, None, "low", message, "Remove it: a View can leak data to whatever it declares.")


@section.rule("REV-03", SECURITY, "The source does not evaluate text as code.")
def no_code_from_text(document: Document) -> Iterator[Problem]:
    places = list(_matches(_EVAL, _source(document.html).scripts))
    if places:
        spot, what = places[0]
        more = f" ({len(places)} places)" if len(places) > 1 else ""
        message = f"makes code out of text: {what!r}{more}. A host's policy forbids it."
        yield _problem(document, spot, "low", message, "Do without; or make sure that the View works when it throws.")


@section.rule("REV-04", SECURITY, "There is no code in attributes.")
def no_inline_handlers(document: Document) -> Iterator[Problem]:
    handlers = [
        (spot, tag, name)
        for spot, tag, given in _source(document.html).elements
        for name in given
        if re.fullmatch(r"on[a-z]+", name)
    ]
    if handlers:
        spot, tag, name = handlers[0]
        more = f" ({len(handlers)} places)" if len(handlers) > 1 else ""
        message = f"has code in an attribute: <{tag} {name}=...>{more}."
        yield _problem(document, spot, "low", message, "Use addEventListener: hosts may forbid code in attributes.")


@section.rule("REV-05", SECURITY, "The View requests only permissions that it uses.")
def requested_permissions_are_used(document: Document) -> Iterator[Problem]:
    asked = document.ui.get("permissions")
    for name, uses in _PERMISSION_USES.items():
        if isinstance(asked, Mapping) and asked.get(name) not in (None, False) and not uses.search(document.html):
            message = f"asks for {name}, and its source never uses it."
            yield _problem(document, None, "medium", message, "Do not ask for what the View does not need.")


@section.rule(
    "REV-06", SECURITY, "The View does not send the keys of the whole document to the network, the model or the server."
)
def no_key_logger(document: Document) -> Iterator[Problem]:
    scripts = _source(document.html).scripts
    keys = next(_matches(_ALL_KEYS, scripts), None)
    sends = next(_matches(_SENDS, scripts), None)
    # What a host would block today is one declared domain away.
    reaches = _declared(document.csp, "connectDomains", "resourceDomains") or any(_matches(_SENDS_AWAY, scripts))
    if keys and sends and reaches:
        message = "listens to every key of the document and sends to other origins."
        fix = "Listen at the field that needs it, and declare no origin that need not hear it."
        yield _problem(document, keys[0], "high" if len(document.html) < _LARGE else "medium", message, fix)
    elif (spot := _recorded_keys(scripts)) is not None and any(_matches(_TELLS, scripts)):
        message = "takes down the keys of the whole document, and can tell them to the model or to the server."
        fix = "Listen at the field that needs it, and send what the user means to send."
        yield _problem(document, spot, "medium" if len(document.html) < _LARGE else "low", message, fix)


def _recorded_keys(scripts: Iterable[Part]) -> Spot | None:
    """Return the place of a listener to all keys that keeps which ones they were, rather than look for some."""
    for spot, text in scripts:
        for found in _ALL_KEYS.finditer(text):
            bodies = [text[found.end() : found.end() + _NEARBY]]
            handler = _HANDLER.match(text, found.end())
            if handler is not None:
                name = re.escape(handler[1] or handler[2])
                named = re.search(rf"\bfunction\s+{name}\s*\(|(?<![\w$.]){name}\s*=\s*(?:async\b|function\b|\()", text)
                bodies = [text[named.end() : named.end() + _NEARBY]] if named else []
            if any(_RECORDS.search(body) for body in bodies):
                return spot.after(text, found.start())
    return None


@section.rule("REV-07", SECURITY, "No form asks for passwords or payment cards.")
def no_secret_inputs(document: Document) -> Iterator[Problem]:
    for spot, tag, given in _source(document.html).elements:
        secret = tag == "input" and (given.get("type", "").lower() == "password")
        if secret or (tag == "input" and _CARD.match(given.get("autocomplete", "").lower())):
            what = given.get("autocomplete") or given.get("type")
            message = f"asks the user for a secret: <input {what}>."
            fix = "Never ask for passwords or cards in a View: let the server sign in with OAuth, or open a link."
            yield _problem(document, spot, "high", message, fix)


@section.rule("REV-08", SECURITY, "There are no hidden frames.")
def no_hidden_frames(document: Document) -> Iterator[Problem]:
    for spot, tag, given in _source(document.html).elements:
        if tag not in ("iframe", "frame", "object", "embed"):
            continue
        small = any(given.get(side, "").strip() in ("0", "1") for side in ("width", "height"))
        if small or "hidden" in given or _HIDDEN.search(given.get("style", "")):
            message = f"has a <{tag}> that nobody can see."
            yield _problem(document, spot, "medium", message, "Show it, or remove it.")
    may_load = bool(_declared(document.csp, "frameDomains"))
    for frame in _script_frames(document.html):
        if frame.hidden:
            message = "makes an <iframe> by script that nobody can see."
            severity: Severity = "medium" if frame.address or may_load else "low"
            yield _problem(document, frame.spot, severity, message, "Show it, or remove it.")
            return


@section.rule("REV-09", SECURITY, "There are no secrets in the source.")
def no_secrets(document: Document) -> Iterator[Problem]:
    for what, pattern in _SECRETS:
        for spot, _ in _matches(pattern, [(Spot(1, 1), document.html)]):
            message = f"holds what looks like {what}; every user can read it."
            yield _problem(document, spot, "high", message, "Revoke it, and let a tool of the server use the new one.")
            break


@section.rule("REV-10", SECURITY, "Declared origins are narrow and encrypted.")
def narrow_origins(document: Document) -> Iterator[Problem]:
    for entry in dict.fromkeys(_declared(document.csp, *CSP_LISTS)):
        scheme, _, host = entry.rpartition("://")
        if host.startswith("*.") and host.count(".") < 2:
            message = f"declares {entry}, which covers everybody under it."
            yield _problem(document, None, "high", message, "Name the hosts.")
        elif scheme.lower() in ("http", "ws") and not re.match(r"(?:localhost|127\.|\[::1\])", host):
            message = f"declares {entry}, which others on the way can read and change."
            yield _problem(document, None, "medium", message, f"Use {'wss' if scheme == 'ws' else 'https'}.")


@section.rule("REV-11", SECURITY, "The source does not access the pages around the View.")
def no_access_to_outer_pages(document: Document) -> Iterator[Problem]:
    found = next(_matches(_ABOVE, _source(document.html).scripts), None)
    if found:
        message = f"reaches for the pages around it: {found[1]!r}."
        yield _problem(document, found[0], "medium", message, "Talk to the host by messages alone.")


@section.rule("REV-12", SECURITY, "Code that is loaded from other servers is pinned.")
def pinned_libraries(document: Document) -> Iterator[Problem]:
    for spot, tag, given in _source(document.html).elements:
        loads = tag == "script" or (tag == "link" and given.get("rel", "").lower() == "stylesheet")
        address = given.get("src" if tag == "script" else "href", "")
        if loads and _origin(address) and not given.get("integrity"):
            message = f"runs {address[:80]} as it is that day."
            yield _problem(document, spot, "low", message, 'Bundle it, or pin it with integrity="sha384-...".')


@section.rule("REV-14", SECURITY, "Frames that a script creates are declared.")
def script_frames_are_declared(document: Document) -> Iterator[Problem]:
    unknown = [frame for frame in _script_frames(document.html) if frame.address is None and not frame.own]
    if unknown and not _declared(document.csp, "frameDomains"):
        message = "makes an <iframe> by script, and declares no frameDomains: hosts show no other page in it."
        fix = "Declare the origin that it is to show in frameDomains, or do without the frame."
        yield _problem(document, unknown[0].spot, "low", message, fix)


@section.rule("REV-15", SECURITY, "The View does not insert the data of a tool as HTML.")
def no_html_from_tool_data(document: Document) -> Iterator[Problem]:
    for spot, text in _source(document.html).scripts:
        names = list(_names_of_data(text))
        for found in _TO_HTML.finditer(text):
            value = _expression(text, found.end())
            known = [name for name, since, until in names if since < found.start() < until]
            if not _is_tool_data(value, known) or _MADE_SAFE.search(value):
                continue
            message = f"makes HTML out of what a tool returned: {found[0].strip(' .=(')}."
            fix = "Use textContent, or make it harmless first: the data may hold markup that somebody else wrote."
            yield _problem(document, spot.after(text, found.start()), "low", message, fix)
            return


def _is_tool_data(value: str, names: Iterable[str]) -> bool:
    if _TOOL_DATA.search(value):
        return True
    # A name inside of a text is a word; it counts where it is code.
    code = re.sub(r"\"[^\"\n]*\"|'[^'\n]*'|`[^`$]*`|(?<=[`}])[^`$]*(?=\$\{|`)", " ", value)
    return any(re.search(rf"(?<![\w$.]){re.escape(name)}\b", code) for name in names)


def _names_of_data(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield what tool data is called, and from where to where; as far as it was named in a line that people wrote."""
    for found in _NAMED_DATA.finditer(text):
        first, end = text.rfind("\n", 0, found.start()) + 1, text.find("\n", found.end())
        if (len(text) if end < 0 else end) - first > _MINIFIED:
            continue
        if found[3] is None:
            yield found[1] or found[2], 0, len(text)
        else:  # the parameter of a handler
            yield found[3], found.end(), found.end() + _NEARBY


def _expression(text: str, at: int) -> str:
    """Return what is written from a place on, to the end of the statement; not more than some lines."""
    depth, quoted = 0, False
    for end in range(at, min(len(text), at + 1_000)):
        letter = text[end]
        if letter == "`":
            quoted = not quoted
        elif letter in "([{" and not quoted:
            depth += 1
        elif letter in ")]}" and not quoted:
            depth -= 1
        if not quoted and (depth < 0 or (depth == 0 and letter in ";\n" and text[at:end].strip())):
            return text[at:end]
    return text[at : at + 1_000]


@section.rule("REV-16", SECURITY, "The View requests every permission that it uses.")
def used_permissions_are_requested(document: Document) -> Iterator[Problem]:
    asked = document.ui.get("permissions")
    scripts = _source(document.html).scripts
    for name, uses in _NEEDS_PERMISSION.items():
        found = next(_matches(uses, scripts), None)
        if found is None or (isinstance(asked, Mapping) and asked.get(name) not in (None, False)):
            continue
        message = f"uses what needs the permission {name}, and does not ask for it: hosts deny it."
        fix = f'Add "{name}": {{}} to _meta.ui.permissions, and let the View work where it is denied.'
        yield _problem(document, found[0], "medium" if len(document.html) < _LARGE else "low", message, fix)


@section.rule("REV-13", SECURITY, "A View is the same document at each read.")
def same_document_at_each_read(seen: ServerObservation) -> Iterator[Problem]:
    look = seen.newest()
    if look is None:
        return
    for uri, response in look.rereads.items():
        first = content_item(look.reads[uri], uri) if uri in look.reads else None
        second = content_item(response, uri)
        if first is not None and second is not None and html_of(first) != html_of(second):
            message = "is another document at each read, so no host can review it once and know it again."
            yield Problem(uri, message, "Serve a fixed document, and send data by the tool.", None, "low")
