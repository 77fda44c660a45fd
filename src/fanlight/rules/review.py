"""The security review of a View's document: what its source uses, compared with what it declares. Nothing is run.

HTML and JavaScript are parsed, so a finding is a fact about the code. Where the code alone cannot decide, the problem
is marked as a guess, and `fanlight check` reports it only on request. No finding proves that a View is safe.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from fanlight.protocol.csp import CSP_LISTS, is_declared, source_covers
from fanlight.protocol.origin import Origin
from fanlight.rules.data_flow import (
    NETWORK,
    SENDING,
    is_tool_data,
    mentions_tool_data,
    records_keys,
    sent_keys,
)
from fanlight.rules.eval_libraries import libraries_in
from fanlight.rules.javascript import Position, Script
from fanlight.rules.observation import Document, ServerObservation, content_item, html_of
from fanlight.rules.rule import SECURITY, Problem, Section, Severity
from fanlight.rules.view_source import (
    CodePlace,
    ViewSource,
    is_hidden,
    known_address,
    script_frames,
)

if TYPE_CHECKING:
    from tree_sitter import Node

section = Section("Security review")

_URL: Final = re.compile(r"(?:https?|wss?):(?:\\?/){2}[A-Za-z0-9.-]+(?::[0-9]+)?", re.IGNORECASE)
_IN_STYLE: Final = re.compile(r"(?:url\(\s*[\"']?|@import\s+[\"'])((?:https?:)?//[^\"')\s]+)", re.IGNORECASE)
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
_PERMISSION_NAMES: Final = {
    "camera": ("getUserMedia", "mediaDevices"),
    "microphone": ("getUserMedia", "mediaDevices", "SpeechRecognition"),
    "geolocation": ("geolocation",),
    "clipboardWrite": ("clipboard", "execCommand"),
}
_NAMES_ONLY: Final = ("http://www.w3.org", "https://www.w3.org", "http://json-schema.org", "https://json-schema.org")
"""Origins of addresses that name something and are never fetched."""
_REFERRING: Final = {
    "script": ("src", "resourceDomains"),
    "img": ("src", "resourceDomains"),
    "link": ("href", "resourceDomains"),
    "audio": ("src", "resourceDomains"),
    "video": ("src", "resourceDomains"),
    "source": ("src", "resourceDomains"),
    "iframe": ("src", "frameDomains"),
    "base": ("href", "baseUriDomains"),
}
_LOADING_LINKS: Final = frozenset({"stylesheet", "icon", "preload", "modulepreload", "manifest", "prefetch"})
_CARD: Final = re.compile(r"^(?:cc-(?:number|csc|exp)|current-password|new-password|one-time-code)\b")
_KEY_EVENTS: Final = ("keydown", "keyup", "keypress")
_WHOLE_DOCUMENT: Final = frozenset(
    {"document", "window", "self", "globalThis", "document.body", "document.documentElement", ""}
)
_GLOBAL_OBJECTS: Final = ("window", "self", "globalThis")


def _problem(
    source: ViewSource,
    position: Position | None,
    severity: Severity,
    message: str,
    fix: str,
    *,
    is_guess: bool = False,
) -> Problem:
    document = source.document
    where = document.file or document.uri
    if position is None:
        return Problem(where, message, fix, None, severity, is_guess=is_guess)
    problem = Problem(where, message, fix, position.line, severity, is_guess=is_guess, library=source.library(position))
    place = document.place(*position) if document.place else None
    # The place of a View that is a string in Python has no file.
    return replace(problem, line=place.line, path=place.path) if place and place.path.is_file() else problem


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


def _others(count: int) -> str:
    return f" ({count} places)" if count > 1 else ""


def _calls(source: ViewSource, *names: str) -> "Iterator[tuple[Script, Node, str]]":
    """Yield calls and constructions by the last part of their name: script, call and whole name."""
    for script, match in source.find("calls"):
        name = script.callee(match["call"])
        if name.rpartition(".")[2] in names:
            yield script, match["call"], name


# Origins


def _used(source: ViewSource) -> Iterator[tuple[Position, str, str]]:
    """Yield where the document uses another origin: the place, the address, and the list that has to declare it."""
    for element in source.elements:
        attribute, needs = _REFERRING.get(element.name, ("", ""))
        if element.name == "link" and not _LOADING_LINKS & {*element.attributes.get("rel", "").lower().split()}:
            continue
        if address := element.attributes.get(attribute, ""):
            yield element.position, address, needs
    for style in source.styles:
        for found in _IN_STYLE.finditer(style.text):
            yield style.position.after(style.text[: found.start()]), found[1], "resourceDomains"
    for frame in script_frames(source):
        if frame.address is not None:
            yield frame.place.position, frame.address, "frameDomains"
    for script, call, name in _calls(source, "fetch", "WebSocket", "EventSource", "sendBeacon", "open"):
        arguments = script.arguments(call)
        number = 1 if name.endswith("open") else 0
        # XMLHttpRequest.open has the address second; window.open has it first, and a frame name second.
        known = known_address(script, arguments[number]) if len(arguments) > number else None
        if known is not None:
            yield script.position_of(call), known, "connectDomains"
    for script, match in source.find("imports"):
        node = match.get("source") or next(iter(match["all"].named_children), None)
        if known := known_address(script, node):
            yield script.position_of(match.get("source") or match["all"]), known, "resourceDomains"


@section.rule("REV-01", SECURITY, "Every origin that the source uses is declared.")
def used_origins_are_declared(document: Document) -> Iterator[Problem]:
    source = ViewSource(document)
    reported = set()
    for position, address, needs in _used(source):
        origin = _origin(address)
        if origin is None or str(origin) in _NAMES_ONLY or (origin, needs) in reported:
            continue
        if not is_declared(origin, _declared(document.csp, needs)):
            reported.add((origin, needs))
            message = f"uses {origin}, which its csp does not declare: hosts block it."
            yield _problem(source, position, "medium", message, f"Add '{origin}' to {needs}, or do without it.")


@section.rule("REV-02", SECURITY, "Every declared origin is used.")
def declared_origins_are_used(document: Document) -> Iterator[Problem]:
    source = ViewSource(document)
    origins = {origin for found in _URL.finditer(document.html) if (origin := _origin(found[0]))}
    for entry in dict.fromkeys(_declared(document.csp, *CSP_LISTS)):
        bare = entry.rpartition("://")[2].removeprefix("*.")
        if not any(source_covers(entry, origin) for origin in origins) and bare not in document.html:
            message = f"declares {entry}, which its source never names."
            yield _problem(source, None, "low", message, "Remove it: a View can leak data to any declared origin.")


@section.rule("REV-10", SECURITY, "Declared origins are narrow and encrypted.")
def narrow_origins(document: Document) -> Iterator[Problem]:
    source = ViewSource(document)
    for entry in dict.fromkeys(_declared(document.csp, *CSP_LISTS)):
        scheme, _, host = entry.rpartition("://")
        if host.startswith("*.") and host.count(".") < 2:
            message = f"declares {entry}, which covers every site below it."
            yield _problem(source, None, "high", message, "Name the hosts.")
        elif scheme.lower() in ("http", "ws") and not re.match(r"(?:localhost|127\.|\[::1\])", host):
            message = f"declares {entry}, which the network can read and change."
            yield _problem(source, None, "medium", message, f"Use {'wss' if scheme.lower() == 'ws' else 'https'}.")


@section.rule("REV-12", SECURITY, "Code that is loaded from other servers is pinned.")
def pinned_libraries(document: Document) -> Iterator[Problem]:
    source = ViewSource(document)
    for element in source.elements:
        is_style = element.name == "link" and element.attributes.get("rel", "").lower() == "stylesheet"
        address = element.attributes.get("src" if element.name == "script" else "href", "")
        if (element.name == "script" or is_style) and _origin(address) and not element.attributes.get("integrity"):
            message = f"runs {address[:80]} in whatever version that server sends."
            yield _problem(source, element.position, "low", message, 'Bundle it, or add integrity="sha384-...".')


# Code


@section.rule("REV-03", SECURITY, "The source does not evaluate text as code.")
def no_code_from_text(document: Document) -> Iterator[Problem]:
    source = ViewSource(document)
    places = [
        CodePlace(script, call) for script, call, name in _calls(source, *_EVALUATORS) if _evaluates(script, call, name)
    ]
    by_library: dict[str | None, list[CodePlace]] = {}
    for place in places:
        by_library.setdefault(source.library(place.position), []).append(place)
    cures = " ".join(library.cure for library in libraries_in(document.html))
    for name, found in by_library.items():
        what = found[0].text.partition("(")[0]
        message = f"evaluates text as code: {what}(){_others(len(found))}. Hosts forbid it."
        fix = "Avoid it, or make sure that the View works when it throws."
        fix = cures if name is not None and cures else fix
        yield _problem(source, found[0].position, "low", message, fix)


_EVALUATORS: Final = ("eval", "Function", "setTimeout", "setInterval")


def _evaluates(script: Script, call: "Node", name: str) -> bool:
    owner, _, function = name.rpartition(".")
    if owner not in ("", *_GLOBAL_OBJECTS):
        return False
    arguments = script.arguments(call)
    if function in ("setTimeout", "setInterval"):
        return bool(arguments) and arguments[0].type in ("string", "template_string")
    callee = call.child_by_field_name("function") or call.child_by_field_name("constructor")
    return bool(arguments) and callee is not None and (callee.type != "identifier" or script.is_global(callee))


@section.rule("REV-04", SECURITY, "There is no code in attributes.")
def no_inline_handlers(document: Document) -> Iterator[Problem]:
    source = ViewSource(document)
    handlers = [
        (element, name) for element in source.elements for name in element.attributes if re.fullmatch(r"on[a-z]+", name)
    ]
    if handlers:
        element, name = handlers[0]
        message = f"has code in an attribute: <{element.name} {name}=...>{_others(len(handlers))}."
        fix = "Use addEventListener: hosts may forbid code in attributes."
        yield _problem(source, element.position, "low", message, fix)


@section.rule("REV-11", SECURITY, "The source does not access the pages around the View.")
def no_access_to_outer_pages(document: Document) -> Iterator[Problem]:
    source = ViewSource(document)
    reported = set()
    for script, match in source.find("above"):
        node = match.get("member") or match["name"]
        library = source.library(script.position_of(node))
        if library not in reported and _is_outside(script, match):
            reported.add(library)
            message = f"accesses the pages around it: {script.text(node)}."
            yield _problem(source, script.position_of(node), "medium", message, "Use messages to the host only.")


def _is_outside(script: Script, match: "dict[str, Node]") -> bool:
    if "object" in match:
        owner = script.name(match["object"])
        window, _, name = owner.rpartition(".")
        if name not in ("top", "parent"):
            return False
        if window:
            return window in _GLOBAL_OBJECTS
        return match["object"].type == "identifier" and script.is_global(match["object"])
    node = match["name"]
    if node.type == "identifier":
        return script.is_global(node)
    parent = node.parent
    return parent is not None and script.name(parent.child_by_field_name("object")) in _GLOBAL_OBJECTS


@section.rule("REV-09", SECURITY, "There are no secrets in the source.")
def no_secrets(document: Document) -> Iterator[Problem]:
    source = ViewSource(document)
    for what, pattern in _SECRETS:
        if found := pattern.search(document.html):
            message = f"contains what looks like {what}; every user can read it."
            fix = "Revoke it, and let a tool of the server use the new one."
            yield _problem(source, Position(1, 1).after(document.html[: found.start()]), "high", message, fix)


# Permissions


def _requests(document: Document, permission: str) -> bool:
    permissions = document.ui.get("permissions")
    return isinstance(permissions, Mapping) and permissions.get(permission) not in (None, False)


@section.rule("REV-05", SECURITY, "The View requests only permissions that it uses.")
def requested_permissions_are_used(document: Document) -> Iterator[Problem]:
    source = ViewSource(document)
    for permission, names in _PERMISSION_NAMES.items():
        if _requests(document, permission) and not any(name in document.html for name in names):
            message = f"requests {permission}, and its source never uses it."
            yield _problem(source, None, "medium", message, "Do not request what the View does not need.")


@section.rule("REV-16", SECURITY, "The View requests every permission that it uses.")
def used_permissions_are_requested(document: Document) -> Iterator[Problem]:
    source = ViewSource(document)
    reported = set()
    for script, call, permission in _permission_uses(source):
        if permission in reported or _requests(document, permission):
            continue
        reported.add(permission)
        message = f"uses {permission} and does not request that permission: hosts deny it."
        fix = f'Add "{permission}": {{}} to _meta.ui.permissions, and let the View work where it is denied.'
        yield _problem(source, script.position_of(call), "medium", message, fix)


def _permission_uses(source: ViewSource) -> "Iterator[tuple[Script, Node, str]]":
    names = ("getUserMedia", "getCurrentPosition", "watchPosition", "writeText", "write")
    for script, call, name in _calls(source, *names, "SpeechRecognition", "webkitSpeechRecognition"):
        path = name.removeprefix("window.")
        if path.endswith("SpeechRecognition"):
            yield script, call, "microphone"
        elif path in ("navigator.geolocation.getCurrentPosition", "navigator.geolocation.watchPosition"):
            yield script, call, "geolocation"
        elif path in ("navigator.clipboard.writeText", "navigator.clipboard.write"):
            yield script, call, "clipboardWrite"
        elif path in ("navigator.mediaDevices.getUserMedia", "navigator.getUserMedia"):
            arguments = script.arguments(call)
            wanted = script.properties(arguments[0]) if arguments else {}
            for key, permission in (("video", "camera"), ("audio", "microphone")):
                if key in wanted and script.text(wanted[key]) not in ("false", "!1", "undefined", "null"):
                    yield script, call, permission


# Input of the user


@section.rule(
    "REV-06", SECURITY, "The View does not send the keys of the whole document to the network, the model or the server."
)
def no_key_logger(document: Document) -> Iterator[Problem]:
    source = ViewSource(document)
    reaches = bool(_declared(document.csp, "connectDomains", "resourceDomains")) or any(_addresses(source))
    for script, place, handler in _key_listeners(source):
        if handler is None:
            continue
        sent = sent_keys(script, handler)
        if sent is not None and (sent not in NETWORK or reaches):
            receiver = "to other origins" if sent in NETWORK else "to the model or the server"
            message = f"sends the keys that are pressed anywhere in the document {receiver}, with {sent}()."
            fix = "Listen at the field that needs it, and send what the user means to send."
            severity: Severity = "high" if sent in NETWORK else "medium"
            yield _problem(source, script.position_of(place), severity, message, fix)
            return
    yield from _suspected_key_logger(source, reaches)


def _suspected_key_logger(source: ViewSource, reaches: bool) -> Iterator[Problem]:
    """Yield a guess if keys are listened to in one place of a script and something is sent in another."""
    for script, place, handler in _key_listeners(source):
        sends = {name.rpartition(".")[2] for other, _, name in _calls(source, *SENDING, *NETWORK) if other is script}
        to_network = reaches and not sends.isdisjoint(NETWORK)
        to_model = not sends.isdisjoint(set(SENDING) - set(NETWORK))
        if to_network or (to_model and handler is not None and records_keys(script, handler)):
            message = "listens to the keys of the whole document, and the same script sends data."
            fix = "Listen at the field that needs it."
            yield _problem(source, script.position_of(place), "low", message, fix, is_guess=True)
            return


def _key_listeners(source: ViewSource) -> "Iterator[tuple[Script, Node, Node | None]]":
    """Yield the listeners to all keys of the document: script, place, and the function if it is known."""
    for script, call, name in _calls(source, "addEventListener"):
        arguments = script.arguments(call)
        owner = name.rpartition(".")[0]
        if owner in _WHOLE_DOCUMENT and len(arguments) > 1 and script.constant(arguments[0]) in _KEY_EVENTS:
            yield script, call, script.function(arguments[1])
    for script, match in source.find("assignments"):
        target = script.name(match["assignment"].child_by_field_name("left"))
        owner, _, property = target.rpartition(".")
        if owner in _WHOLE_DOCUMENT - {""} and property.removeprefix("on") in _KEY_EVENTS:
            yield script, match["assignment"], script.function(match["assignment"].child_by_field_name("right"))


def _addresses(source: ViewSource) -> Iterator[str]:
    """Yield the addresses of other origins to which scripts send requests."""
    for script, call, _ in _calls(source, "fetch", "sendBeacon", "WebSocket", "EventSource"):
        arguments = script.arguments(call)
        if arguments and (address := known_address(script, arguments[0])):
            yield address


@section.rule("REV-07", SECURITY, "No form asks for passwords or payment cards.")
def no_secret_inputs(document: Document) -> Iterator[Problem]:
    source = ViewSource(document)
    for element in source.elements:
        kind = element.attributes.get("type", "").lower()
        autocomplete = element.attributes.get("autocomplete", "").lower()
        if element.name == "input" and (kind == "password" or _CARD.match(autocomplete)):
            message = f"asks the user for a secret: <input {autocomplete or kind}>."
            fix = "Never ask for passwords or cards in a View: let the server sign in with OAuth, or open a link."
            yield _problem(source, element.position, "high", message, fix)


# Frames


@section.rule("REV-08", SECURITY, "There are no hidden frames.")
def no_hidden_frames(document: Document) -> Iterator[Problem]:
    source = ViewSource(document)
    for element in source.elements:
        if element.name in ("iframe", "frame", "object", "embed") and is_hidden(element.attributes):
            message = f"has a hidden <{element.name}>."
            yield _problem(source, element.position, "medium", message, "Show it, or remove it.")
    may_load = bool(_declared(document.csp, "frameDomains"))
    for frame in script_frames(source):
        if frame.is_hidden:
            message = "creates a hidden <iframe> by script."
            severity: Severity = "medium" if frame.address or may_load else "low"
            yield _problem(source, frame.place.position, severity, message, "Show it, or remove it.")
            return


@section.rule("REV-14", SECURITY, "Frames that a script creates are declared.")
def script_frames_are_declared(document: Document) -> Iterator[Problem]:
    source = ViewSource(document)
    unknown = [frame for frame in script_frames(source) if frame.address is None]
    if _declared(document.csp, "frameDomains"):
        return
    certain = [frame for frame in unknown if frame.has_address]
    possible = [frame for frame in unknown if not frame.has_address and not frame.has_document]
    for frames, is_guess in ((certain, False), (possible, True)):
        if frames:
            message = "creates an <iframe> by script, and declares no frameDomains: hosts show no other page in it."
            fix = "Declare the origin that it shows in frameDomains, or do without the frame."
            yield _problem(source, frames[0].place.position, "low", message, fix, is_guess=is_guess)
            return


# Data of tools


@section.rule("REV-15", SECURITY, "The View does not insert the data of a tool as HTML.")
def no_html_from_tool_data(document: Document) -> Iterator[Problem]:
    source = ViewSource(document)
    guess: Problem | None = None
    for script, node, value, sink in _html_sinks(source):
        message = f"inserts data of a tool as HTML: {sink}."
        fix = "Use textContent, or escape it first: the data may contain markup that somebody else wrote."
        if is_tool_data(script, value):
            yield _problem(source, script.position_of(node), "low", message, fix)
            return
        if guess is None and mentions_tool_data(script, value):
            guess = _problem(source, script.position_of(node), "low", message, fix, is_guess=True)
    if guess is not None:
        yield guess


def _html_sinks(source: ViewSource) -> "Iterator[tuple[Script, Node, Node, str]]":
    """Yield where text becomes HTML: script, place, the text, and the name of the sink."""
    for script, match in source.find("assignments"):
        property = script.text(match["name"])
        value = match["assignment"].child_by_field_name("right")
        if property in ("innerHTML", "outerHTML") and value is not None:
            yield script, match["assignment"], value, property
    for script, call, name in _calls(source, "insertAdjacentHTML", "write", "writeln"):
        arguments = script.arguments(call)
        if name.endswith("insertAdjacentHTML") and len(arguments) > 1:
            yield script, call, arguments[1], "insertAdjacentHTML"
        elif name in ("document.write", "document.writeln") and arguments:
            yield script, call, arguments[0], name
    for script, match in source.find("html_props"):
        yield script, match["value"], match["value"], "dangerouslySetInnerHTML"


# Servers


@section.rule("REV-13", SECURITY, "A View is the same document at each read.")
def same_document_at_each_read(server: ServerObservation) -> Iterator[Problem]:
    look = server.newest()
    if look is None:
        return
    for uri, response in look.rereads.items():
        first = content_item(look.reads[uri], uri) if uri in look.reads else None
        second = content_item(response, uri)
        if first is not None and second is not None and html_of(first) != html_of(second):
            message = "is a different document at each read, so no host can review it once and recognize it later."
            yield Problem(uri, message, "Serve a fixed document, and send data with the tool.", None, "low")


section.rules.sort(key=lambda rule: rule.id)  # the reference page lists them by number
