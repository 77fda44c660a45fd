"""What a server is held to, by what plain clients saw of it. Each function yields what breaks its rule."""

import base64
import binascii
import json
import re
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from typing import Any, Final

from fanlight.check.observation import Answer, Called, Look, Seen, chosen, html_of, meta_of, texts, ui_of
from fanlight.check.rule import Problem, steady
from fanlight.protocol.csp import CSP_LISTS, check_source
from fanlight.protocol.errors import RegistrationError
from fanlight.protocol.extension import EXTENSION_ID, MIME_TYPE, URI_SCHEME, is_view_uri
from fanlight.protocol.html import find_doctype
from fanlight.protocol.jsonrpc import JSONObject
from fanlight.protocol.metadata import FLAT_URI_KEY, PERMISSION_KEYS
from fanlight.protocol.visibility import for_model

_RESOURCE_KEYS: Final = ("csp", "permissions", "domain", "prefersBorder")
_PERMISSIONS: Final = tuple(PERMISSION_KEYS.values())
_TEXT_ONLY: Final = re.compile(r"<(title|textarea)\b.*?</\1\s*>", re.IGNORECASE | re.DOTALL)
_ORIGIN: Final = re.compile(r"(?:https?://)?[A-Za-z0-9.-]+(?::[0-9]+)?/?")


def _tool(tool: Mapping[str, Any]) -> str:
    return f"tool {tool.get('name')}"


def _view_items(look: Look) -> Iterator[tuple[str, JSONObject]]:
    """Yield the content items that are meant to be Views: a tool names them, or the list calls them HTML."""
    named = [uri for _, uri in look.links()]
    for uri, item in look.contents():
        listed = look.listed(uri) or {}
        if uri in named or "html" in str(listed.get("mimeType") or item.get("mimeType")):
            yield uri, item


# Resources


def res_01(look: Look) -> Iterator[Problem]:
    fix = f'Write "{URI_SCHEME}" in front: "{URI_SCHEME}clock/view".'
    for tool, uri in look.links():
        if not is_view_uri(uri):
            yield Problem(_tool(tool), f"names the View {uri!r}, which is no {URI_SCHEME} URI.", fix)
    for key, entries in (("uri", look.resources), ("uriTemplate", look.templates)):
        for entry in entries:
            if entry.get("mimeType") == MIME_TYPE and not str(entry.get(key)).startswith(URI_SCHEME):
                yield Problem(str(entry.get(key)), f"is listed as a View, but is no {URI_SCHEME} URI.", fix)


def res_02(look: Look) -> Iterator[Problem]:
    named = [uri for _, uri in look.links()]
    for entry in look.resources:
        mime = entry.get("mimeType")
        if entry.get("uri") in named and mime != MIME_TYPE:
            yield Problem(str(entry.get("uri")), f"is listed with the mimeType {mime!r}.", f"List it as {MIME_TYPE!r}.")


def res_03(look: Look) -> Iterator[Problem]:
    for uri, item in _view_items(look):
        if (mime := item.get("mimeType")) != MIME_TYPE:
            message = f"is served with the mimeType {mime!r}; hosts compare it byte for byte."
            yield Problem(uri, message, f"Serve it as {MIME_TYPE!r}: lower case, no space, no quotes.")


def res_04(look: Look) -> Iterator[Problem]:
    for uri, item in _view_items(look):
        given = [key for key in ("text", "blob") if item.get(key) is not None]
        if len(given) != 1:
            found = "both text and blob" if given else "neither text nor blob"
            yield Problem(uri, f"comes with {found}.", "Return the HTML in text, or base64 of its UTF-8 in blob.")
        elif given == ["text"] and not isinstance(item["text"], str):
            yield Problem(uri, "comes with a text that is no string.", "Return the HTML as a string.")
        elif given == ["blob"] and (wrong := _blob_problem(item["blob"])):
            yield Problem(uri, f"comes with a blob that {wrong}.", "Encode the document's UTF-8 bytes with base64.")


def _blob_problem(blob: object) -> str | None:
    if not isinstance(blob, str):
        return "is no string"
    try:
        base64.b64decode(blob, validate=True).decode("utf-8")
    except binascii.Error:
        return "is not base64"
    except ValueError:
        return "is not UTF-8"
    return None


def res_05(look: Look) -> Iterator[Problem]:
    for uri, item in _view_items(look):
        html = html_of(item)
        if html is not None and (wrong := html_problem(html)):
            yield Problem(uri, *wrong)


def html_problem(html: str) -> tuple[str, str] | None:
    """Say what keeps a text from being an HTML5 document, and what to do; only what is certain."""
    text = html.removeprefix("\ufeff")
    if not text.strip():
        return "is an empty document.", "Return the HTML of the View."
    if re.fullmatch(r"\s*https?://\S+\s*", text):
        return "is an address, not a document.", "Return the page's HTML, or a document with a frame of that address."
    if "<" not in text:
        return "is plain text, not a document.", "Return an HTML document that begins with <!doctype html>."
    doctype = find_doctype(text)
    if doctype is None or not doctype.is_html5:
        return (
            "does not begin with <!doctype html>, so browsers may show it in quirks mode.",
            "Begin the document with <!doctype html>.",
        )
    if "\x00" in text:
        return "holds a null character.", "Remove it."
    reader = _Reader()
    reader.feed(_TEXT_ONLY.sub("", text))
    if reader.inside is not None:
        return f"ends inside <{reader.inside}>.", f"Close it with </{reader.inside}>."
    return None


class _Reader(HTMLParser):
    """Notices an element with raw text that never ends, which swallows the rest of the document."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.inside: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("script", "style"):
            self.inside = tag

    def handle_endtag(self, tag: str) -> None:
        if tag == self.inside:
            self.inside = None


def res_06(look: Look) -> Iterator[Problem]:
    for uri, answer in look.reads.items():
        item = chosen(answer, uri)
        if item is not None and item.get("uri") != uri:
            yield Problem(uri, f"is answered with the uri {item.get('uri')!r}.", "Answer with the URI asked for.")


def res_07(look: Look) -> Iterator[Problem]:
    for uri, item in _view_items(look):
        domain = _ui(look, uri, item).get("domain")
        if domain is not None and not (isinstance(domain, str) and _ORIGIN.fullmatch(domain)):
            message = f"asks for the domain {domain!r}, which is no host name."
            yield Problem(uri, message, "Write the name alone, as the documentation of the host asks, or leave it out.")


def res_08(look: Look) -> Iterator[Problem]:
    for uri, item in _view_items(look):
        border = _ui(look, uri, item).get("prefersBorder")
        if border is None:
            message = "does not say whether it wants a border; hosts differ in what they do then."
            yield Problem(uri, message, 'Set _meta.ui.prefersBorder to true or false (Fanlight: "prefers_border=").')
        elif not isinstance(border, bool):
            yield Problem(uri, f"has the prefersBorder {border!r}.", "Write true or false.")


def _ui(look: Look, uri: str, item: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a View's metadata as a host finds it: of the content item, else of the list."""
    return ui_of(item) or ui_of(look.listed(uri) or {})


# Links


def dsc_01(look: Look) -> Iterator[Problem]:
    for tool, uri in look.links():
        if not isinstance(uri, str) or uri not in look.reads:
            continue
        answer = look.reads[uri]
        fix = f"Register a resource with the URI {uri}, or correct the tool's resourceUri."
        if answer.error is not None:
            message = f"names {uri}, which cannot be read: {answer.error.get('message')}"
            yield Problem(_tool(tool), message, fix, key=f"names {uri}, which cannot be read")
        elif chosen(answer, uri) is None:
            yield Problem(_tool(tool), f"names {uri}, which is read without contents.", fix)


def dsc_07(look: Look) -> Iterator[Problem]:
    for tool in look.tools:
        nested, flat = ui_of(tool).get("resourceUri"), meta_of(tool).get(FLAT_URI_KEY)
        if flat is not None and nested is None:
            message = f"links its View only by the older key {FLAT_URI_KEY!r}."
            yield Problem(_tool(tool), message, f"Add _meta.ui.resourceUri: {flat!r}.")
        elif flat is not None and flat != nested:
            message = f"names {nested} and, by the older key, {flat}: hosts show different Views."
            yield Problem(_tool(tool), message, "Write the same URI at both places.")


def rsv_01(look: Look) -> Iterator[Problem]:
    named = [uri for _, uri in look.links()]
    for entry in look.resources:
        uri, mime = str(entry.get("uri")), entry.get("mimeType")
        if uri.startswith(URI_SCHEME) and uri not in named and mime is not None and "html" not in str(mime):
            message = f"has the scheme of Views, but is {mime!r}."
            yield Problem(uri, message, "Give it another scheme: ui:// is kept for Views.")
    experimental = look.capabilities.get("experimental")
    if isinstance(experimental, Mapping) and EXTENSION_ID in experimental:
        message = f"{EXTENSION_ID} is advertised under experimental."
        yield Problem("capabilities", message, "Advertise it under extensions.")


def d_res_02(look: Look) -> Iterator[Problem]:
    for uri, item in _view_items(look):
        listed = ui_of(look.listed(uri) or {})
        if listed and not ui_of(item):
            message = "has its metadata in the list alone; hosts of the 2026-01-26 standard read the content item."
            yield Problem(uri, message, "Put the same _meta.ui on the item that resources/read returns.")
        elif listed and listed.get("csp") != ui_of(item).get("csp"):
            message = "declares one csp in the list and another where it is read."
            yield Problem(uri, message, "Declare the same at both places.")


# Negotiation


def neg_03(seen: Seen) -> Iterator[Problem]:
    with_ui, plain = seen.best(), seen.best(ui=False)
    if with_ui is None or plain is None:
        return
    tools = [str(tool.get("name")) for tool, _ in plain.links()]
    listed = [str(entry.get("uri")) for entry in plain.resources if str(entry.get("uri")).startswith(URI_SCHEME)]
    if tools or listed:
        what = " and ".join(
            f"{kind} {', '.join(found[:3])}{' ...' if len(found) > 3 else ''}"
            for found, kind in ((tools, "the links of"), (listed, "the Views"))
            if found
        )
        message = f"a client that did not ask for MCP Apps is shown {what}."
        fix = "Look at the client's extensions before you offer them (Fanlight: negotiate(server))."
        yield Problem("server", message, fix)


def neg_04(seen: Seen) -> Iterator[Problem]:
    with_ui, plain = seen.best(), seen.best(ui=False)
    if with_ui is None or plain is None:
        return
    names = {str(tool.get("name")) for tool in plain.tools}
    for tool, _ in with_ui.links():
        if not for_model(tool):
            continue
        if str(tool.get("name")) not in names:
            message = "is not there for a client without MCP Apps."
            yield Problem(_tool(tool), message, "Offer it to every client, with its answer as text.")
        elif (call := plain.calls.get(str(tool.get("name")))) is not None and _says_nothing(call.answer):
            message = "gives a client without MCP Apps no content."
            yield Problem(_tool(tool), message, "Return text that says what the View would show.")


def neg_05(seen: Seen) -> Iterator[Problem]:
    look = seen.best()
    if look is None:
        return
    for tool, _ in look.links():
        call = look.calls.get(str(tool.get("name")))
        if call is not None and for_model(tool) and _says_nothing(call.answer):
            message = f"answers with no content to {_short(call.arguments)}: the model gets nothing."
            yield Problem(_tool(tool), message, "Return text beside the structuredContent.")


def _says_nothing(answer: Answer) -> bool:
    """Tell whether a call succeeded with a content that holds nothing. Failed calls are not judged."""
    result = answer.result
    if result is None or result.get("isError"):
        return False
    content = result.get("content")
    if not isinstance(content, list) or not content:
        return True
    blocks = [block for block in content if isinstance(block, dict)]
    return all(block.get("type") == "text" and not str(block.get("text") or "").strip() for block in blocks)


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}..."


# What the standard leaves to good sense


def lnt_01(look: Look) -> Iterator[Problem]:
    for tool in look.tools:
        visibility = ui_of(tool).get("visibility")
        if visibility is None:
            continue
        if not isinstance(visibility, list):
            yield Problem(_tool(tool), f"has the visibility {visibility!r}, no list.", 'Write ["model", "app"].')
        elif not visibility:
            message = "has an empty visibility: neither the model nor a View may call it."
            yield Problem(_tool(tool), message, 'Write ["app"] or ["model"], or leave it out for both.')
        elif unknown := [who for who in visibility if who not in ("model", "app")]:
            yield Problem(_tool(tool), f"has {unknown[0]!r} in its visibility.", 'Write only "model" and "app".')


def lnt_02(look: Look) -> Iterator[Problem]:
    for tool in look.tools:
        for key in _RESOURCE_KEYS:
            if key in ui_of(tool):
                message = f"has {key} in its _meta.ui, where hosts do not look."
                yield Problem(_tool(tool), message, f"Put {key} into the _meta.ui of the View's resource.")
    for uri, item in _view_items(look):
        for place in (item, look.listed(uri) or {}):
            for key in _RESOURCE_KEYS:
                if key in meta_of(place):
                    message = f"has _meta.{key}, where hosts do not look."
                    yield Problem(uri, message, f"Write it as _meta.ui.{key}.")
            if "meta" in place and "_meta" not in place:
                yield Problem(uri, 'has its metadata under "meta".', 'Write it under "_meta".')


def lnt_03(look: Look) -> Iterator[Problem]:
    for uri, item in _view_items(look):
        csp = _ui(look, uri, item).get("csp")
        if csp is None:
            continue
        if not isinstance(csp, Mapping):
            yield Problem(uri, f"has the csp {csp!r}, no object.", 'Write {"connectDomains": ["https://..."]}.')
            continue
        for name in csp.keys() - {*CSP_LISTS}:
            yield Problem(uri, f"has {name!r} in its csp.", f"The lists are {', '.join(CSP_LISTS)}.")
        for name in CSP_LISTS:
            declared = csp.get(name)
            if declared is not None and not isinstance(declared, list):
                yield Problem(uri, f"has {name} {declared!r}, no list.", f"Write [{json.dumps(str(declared))}].")
            for i, value in enumerate(declared if isinstance(declared, list) else ()):
                try:
                    check_source(value, f"{name}[{i}]")
                except RegistrationError as error:
                    what, _, fix = str(error).rpartition(" Write ")
                    yield Problem(uri, f"declares what hosts drop: {what}", f"Write {fix}")


def lnt_04(look: Look) -> Iterator[Problem]:
    for uri, item in _view_items(look):
        asked = _ui(look, uri, item).get("permissions")
        if asked is None:
            continue
        fix = f"Write an object with some of {', '.join(_PERMISSIONS)}, each {{}}."
        if not isinstance(asked, Mapping):
            yield Problem(uri, f"asks for the permissions {asked!r}, no object.", fix)
            continue
        for name, value in asked.items():
            if name not in _PERMISSIONS:
                yield Problem(uri, f"asks for the permission {name!r}, which there is not.", fix)
            elif not isinstance(value, Mapping):
                yield Problem(uri, f"asks for {name} with {value!r}, no object.", fix)


def lnt_05(look: Look) -> Iterator[Problem]:
    if look.missing is not None and look.missing.error is None:
        message = "a View that does not exist is read without an error."
        yield Problem("resources/read", message, "Answer an unknown URI with an error (-32602 or -32002).")


def lnt_06(seen: Seen) -> Iterator[Problem]:
    newest = seen.best()
    if newest is None:
        return
    links = {str(tool.get("name")): uri for tool, uri in newest.links()}
    for look in seen.looks:
        if not look.ui or look.failures:
            continue
        theirs = {str(tool.get("name")): uri for tool, uri in look.links()}
        for name in sorted(links.keys() | theirs.keys()):
            if links.get(name) != theirs.get(name):
                message = f"has the View {theirs.get(name)} on {look.version}, and {links.get(name)} on later versions."
                yield Problem(f"tool {name}", message, "Offer the same tools with the same Views on every version.")


def lnt_07(look: Look) -> Iterator[Problem]:
    for uri, _ in _view_items(look):
        count = len((look.reads[uri].result or {}).get("contents") or ())
        if count != 1:
            yield Problem(uri, f"is read as {count} items; several hosts show none then.", "Return exactly one item.")


def lnt_08(look: Look) -> Iterator[Problem]:
    for failure in look.failures:
        yield Problem("server", failure, "Correct the list: clients ask for it when they connect.", key=steady(failure))


def lnt_09(look: Look) -> Iterator[Problem]:
    for _, uri in look.links():
        if not isinstance(uri, str) or not uri.startswith(URI_SCHEME):
            continue
        if not uri.isascii() or " " in uri or "/../" in uri or "/./" in uri:
            message = "holds characters that libraries rewrite, and hosts compare URIs byte for byte."
            yield Problem(uri, message, "Use ASCII letters, digits, - and _, and no dots between slashes.")


def lnt_10(look: Look) -> Iterator[Problem]:
    if any(True for _ in look.links()):
        return
    for tool in look.tools:
        visibility = ui_of(tool).get("visibility")
        if isinstance(visibility, list) and "app" in visibility and "model" not in visibility:
            message = "can be called by Views alone, and no tool of this server has one."
            yield Problem(_tool(tool), message, 'Add "model" to its visibility, or a tool with a View.')


def lnt_11(look: Look) -> Iterator[Problem]:
    for flaw in look.flaws:
        yield Problem(flaw.where, flaw.what, flaw.fix)


def lnt_12(look: Look) -> Iterator[Problem]:
    names = [name for tool in look.tools if isinstance(name := tool.get("name"), str)]
    for name in dict.fromkeys(names):
        if (count := names.count(name)) > 1:
            message = f"is listed {count} times; hosts keep one of them, and not all the same one."
            yield Problem(f"tool {name}", message, "Give each tool a name of its own.")


def lnt_13(seen: Seen) -> Iterator[Problem]:
    for where, what, answer in _asked(seen):
        if answer.lost is not None:
            fix = "Answer with isError where it fails or exits now; what it wrote last says where to look."
            yield Problem(where, f"ends the server when it is {what}: {answer.lost}", fix, key="ends the server")


def lnt_14(seen: Seen) -> Iterator[Problem]:
    for where, what, answer in _asked(seen):
        if answer.silent:
            message = f"does not answer when it is {what}: {(answer.error or {}).get('message')}.{answer.wrote}"
            fix = (
                "Look for what it waits for, or for a thread that it ends (sys.exit). If it only needs longer: "
                "--timeout SECONDS."
            )
            yield Problem(where, message, fix, key="does not answer")


def lnt_16(seen: Seen) -> Iterator[Problem]:
    for where, _, answer in _asked(seen):
        if where.startswith("tool "):  # of what is read, RES-04 and others tell more
            for flaw in answer.flaws:
                yield Problem(where, flaw.what, flaw.fix)


def _asked(seen: Seen) -> Iterator[tuple[str, str, Answer]]:
    """Yield what was called and read, how, and what came: where it failed once, that; else what came last."""
    asked: dict[str, tuple[str, Answer]] = {}

    def add(where: str, how: str, answer: Answer) -> None:
        before = asked[where][1] if where in asked else Answer()
        if before.lost is None and not before.silent and not before.flaws:
            asked[where] = (how, answer)

    for look in seen.looks:
        for uri, answer in look.reads.items():
            add(uri, "read", answer)
        by = "called" if look.ui else "called without MCP Apps"
        for name, call in look.calls.items():
            add(f"tool {name}", f"{by} with {_short(call.arguments)}", call.answer)
    for name, call in seen.view_calls.items():
        add(f"tool {name}", f"called by a View with {_short(call.arguments)}", call.answer)
    for where, (how, answer) in asked.items():
        yield where, how, answer


def lnt_15(seen: Seen) -> Iterator[Problem]:
    noise = next((look.noise for look in seen.looks if look.noise), None)
    if noise is not None:
        message = f"writes to its stdout what is not MCP: {noise!r}."
        fix = "Write to stderr instead (print(..., file=sys.stderr), logging): stdout is for messages alone."
        yield Problem("server", message, fix, key="writes to its stdout")


# What differs between hosts


def adv_01(look: Look) -> Iterator[Problem]:
    missing = dict.fromkeys(str(tool.get("name")) for tool, _ in look.links() if FLAT_URI_KEY not in meta_of(tool))
    if missing:
        message = f"{', '.join(missing)}: hosts made for the first draft read {FLAT_URI_KEY!r} alone."
        yield Problem("server", message, f"Write the same URI at _meta[{FLAT_URI_KEY!r}], too.")


def adv_02(look: Look) -> Iterator[Problem]:
    for uri, item in _view_items(look):
        domain = _ui(look, uri, item).get("domain")
        if isinstance(domain, str):
            message = f"asks for the domain {domain!r}: a host that wants another form may not show the View at all."
            fix = (
                "Leave it out, unless a back end must know the View's origin; Claude and ChatGPT want different forms."
            )
            yield Problem(uri, message, fix)


def adv_03(look: Look) -> Iterator[Problem]:
    sizes = {uri: len((html_of(item) or "").encode("utf-8", "replace")) for uri, item in _view_items(look)}
    total = sum(sizes.values())
    if total > 5_000_000:
        largest = max(sizes, key=lambda uri: sizes[uri])
        message = f"its Views are {total / 1e6:.1f} MB together, {largest} alone {sizes[largest] / 1e6:.1f} MB."
        fix = "Stay below 5 MB, as much as some hosts take: minify, and load large data by a tool."
        yield Problem("server", message, fix, key="its Views are large")


def _called(seen: Seen) -> Iterator[tuple[JSONObject, object, Called]]:
    """Yield the tools that name a View and were called, with what they name."""
    if (look := seen.best()) is not None:
        for tool, uri in look.links():
            if (call := look.calls.get(str(tool.get("name")))) is not None:
                yield tool, uri, call


def adv_04(seen: Seen) -> Iterator[Problem]:
    for tool, _, call in _called(seen):
        result = call.answer.result
        if result is None or not for_model(tool) or result.get("isError") or not result.get("structuredContent"):
            continue
        said = sum(len(text.strip()) for text in texts(result))
        data = len(json.dumps(result["structuredContent"]))
        if 0 < said < 25 and data > 4 * said:
            message = f"says {' '.join(texts(result))!r} to the model, and all data is in structuredContent."
            fix = "Put what the model should know into the text: hosts do not all give it structuredContent."
            yield Problem(_tool(tool), message, fix)


def adv_05(look: Look) -> Iterator[Problem]:
    linked = {str(tool.get("name")) for tool, _ in look.links()}
    for tool in look.tools:
        template = meta_of(tool).get("openai/outputTemplate")
        if template is not None and str(tool.get("name")) not in linked:
            message = f"has its View only as openai/outputTemplate ({template}), which ChatGPT alone reads."
            fix = f"Add _meta.ui.resourceUri (a ui:// URI), and serve it as {MIME_TYPE!r} with _meta.ui.csp."
            yield Problem(_tool(tool), message, fix)
    for uri, item in look.contents():
        meta = meta_of(item)
        if "openai/widgetCSP" in meta and "csp" not in _ui(look, uri, item):
            message = "declares its domains only as openai/widgetCSP, which ChatGPT alone reads."
            fix = "Add _meta.ui.csp with connectDomains, resourceDomains and frameDomains."
            yield Problem(uri, message, fix)


def adv_06(look: Look) -> Iterator[Problem]:
    links = (tool for tool, _ in look.links())
    silent = dict.fromkeys(str(tool.get("name")) for tool in links if not isinstance(tool.get("annotations"), Mapping))
    if silent:
        message = f"{', '.join(silent)}: without annotations, hosts ask the user before each call."
        yield Problem("server", message, "Set readOnlyHint on tools that change nothing, destructiveHint on others.")


def adv_07(look: Look) -> Iterator[Problem]:
    for uri, item in _view_items(look):
        ui = _ui(look, uri, item)
        csp = ui.get("csp")
        lists = [name for name in ("frameDomains", "baseUriDomains") if isinstance(csp, Mapping) and csp.get(name)]
        asked = [*lists, *(["permissions"] if ui.get("permissions") else [])]
        if asked:
            message = f"needs {' and '.join(asked)}, which some hosts ignore (Goose 1.38 and Copilot, as seen in 2026)."
            yield Problem(uri, message, "Let the View work without, and say what is missing.")


def adv_08(seen: Seen) -> Iterator[Problem]:
    looks = [look for look in seen.looks if look.ui and any(True for _ in look.links())]
    advertised = [look.capabilities.get("extensions") for look in looks]
    if looks and not any(isinstance(each, Mapping) and EXTENSION_ID in each for each in advertised):
        message = f"has Views, but does not advertise {EXTENSION_ID}."
        yield Problem("capabilities", message, f'Add {{"mimeTypes": ["{MIME_TYPE}"]}} under extensions.')


def adv_11(seen: Seen) -> Iterator[Problem]:
    for tool, _, call in _called(seen):
        result = call.answer.result
        if result is None or result.get("isError") or result.get("structuredContent") is not None:
            continue
        if "outputSchema" not in tool and any(_is_json(text) for text in texts(result)):
            message = "gives its View JSON as text alone: hosts and Views look for data in structuredContent."
            fix = (
                "Return structuredContent, too. In Python, say what the dict holds: -> dict[str, str], or a TypedDict."
            )
            yield Problem(_tool(tool), message, fix)


def adv_12(seen: Seen) -> Iterator[Problem]:
    if seen.saved:
        return
    told = {}
    worked = []
    for tool, uri, call in _called(seen):
        if (words := _error_words(call.answer)) is not None:
            told[str(tool.get("name"))] = (uri, call.arguments, words)
        elif call.answer.result is not None:
            worked.append(uri)
    for name, (uri, arguments, words) in told.items():
        unseen = "" if uri in worked else " So its View was not seen with a real result."
        message = f"answers {_short(arguments)} with an error: {words}{unseen}"
        fix = f"Give it arguments that it can answer: --args '{name}={{...}}'."
        yield Problem(f"tool {name}", message, fix, key="answers with an error")


def _error_words(answer: Answer) -> str | None:
    """Return what an answer that is an error says; None if it is none, or if other rules tell of it."""
    if answer.silent or answer.lost is not None or answer.flaws:
        return None
    if answer.error is not None:
        words = str(answer.error.get("message"))
    elif answer.result is not None and answer.result.get("isError"):
        words = " ".join(texts(answer.result))
    else:
        return None
    words = " ".join(words.split()) or "it says nothing"
    words = words if len(words) <= 200 else f"{words[:197]}..."
    return words if words.endswith((".", "!", "?")) else f"{words}."


def _is_json(text: str) -> bool:
    if not text.lstrip().startswith(("{", "[")):
        return False
    try:
        return isinstance(json.loads(text), dict | list)
    except (ValueError, RecursionError):
        return False
