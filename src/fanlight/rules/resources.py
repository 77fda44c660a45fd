"""Rules about the resources that are Views: their URIs, their documents and their metadata."""

import base64
import binascii
import json
import re
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from typing import Final

from fanlight.protocol.claude import CLAUDE_CONTENT, claude_domain, is_claude_domain
from fanlight.protocol.csp import CSP_LISTS, check_source
from fanlight.protocol.errors import RegistrationError
from fanlight.protocol.extension import MIME_TYPE, URI_SCHEME, is_view_uri
from fanlight.protocol.html import find_doctype
from fanlight.protocol.metadata import PERMISSION_KEYS
from fanlight.rules.errors import error_problems
from fanlight.rules.observation import (
    Look,
    ServerObservation,
    ViewObservation,
    content_item,
    html_of,
    label_of,
    meta_of,
    ui_of,
)
from fanlight.rules.rule import ADVICE, IMPLIED, MAY, MUST, SHOULD, TWO_VIEWS, Problem, Section, by_person

_RESOURCE_KEYS: Final = ("csp", "permissions", "domain", "prefersBorder")
_PERMISSIONS: Final = tuple(PERMISSION_KEYS.values())
_TEXT_ONLY: Final = re.compile(r"<(title|textarea)\b.*?</\1\s*>", re.IGNORECASE | re.DOTALL)
_DOMAIN: Final = re.compile(r"(?:https?://)?[A-Za-z0-9.-]+(?::[0-9]+)?/?")
_LARGE: Final = 5_000_000
"""Some hosts accept no more than this many bytes of Views from one server."""

section = Section("Resources")


@section.rule(
    "RES-01",
    MUST,
    "The URI of a View begins with `ui://`.",
    aliases=["mcp-apps-tool-01"],
    fix=f'Write a URI such as "{URI_SCHEME}clock/view".',
)
def uri_scheme(look: Look) -> Iterator[Problem]:
    for tool, uri in look.links():
        if not is_view_uri(uri):
            yield Problem(label_of(tool), f"names the View {uri!r}, which is not a {URI_SCHEME} URI.")
    for key, entries in (("uri", look.resources), ("uriTemplate", look.templates)):
        for entry in entries:
            if entry.get("mimeType") == MIME_TYPE and not str(entry.get(key)).startswith(URI_SCHEME):
                yield Problem(str(entry.get(key)), f"is listed as a View, but is not a {URI_SCHEME} URI.")


@section.rule(
    "RES-02",
    SHOULD,
    "`resources/list` lists a View with the MIME type of Views.",
    aliases=["mcp-apps-res-01"],
    fix=f"List it as {MIME_TYPE!r}.",
)
def listed_mime_type(look: Look) -> Iterator[Problem]:
    named = [uri for _, uri in look.links()]
    for entry in look.resources:
        mime_type = entry.get("mimeType")
        if entry.get("uri") in named and mime_type != MIME_TYPE:
            yield Problem(str(entry.get("uri")), f"is listed with the mimeType {mime_type!r}.")


@section.rule(
    "RES-03",
    MUST,
    "`resources/read` returns a View with exactly the MIME type of Views.",
    aliases=["mcp-apps-res-03"],
    fix=f"Serve it as {MIME_TYPE!r}: lower case, no space, no quotes.",
)
def served_mime_type(look: Look) -> Iterator[Problem]:
    for uri, item in look.view_contents():
        if (mime_type := item.get("mimeType")) != MIME_TYPE:
            yield Problem(uri, f"is served with the mimeType {mime_type!r}; hosts compare it byte for byte.")


@section.rule(
    "RES-04", MUST, "A View's HTML is in `text`, or as base64 in `blob`, and not in both.", aliases=["mcp-apps-res-04"]
)
def html_in_text_or_blob(look: Look) -> Iterator[Problem]:
    for uri, item in look.view_contents():
        present = [key for key in ("text", "blob") if item.get(key) is not None]
        if len(present) != 1:
            found = "both text and blob" if present else "neither text nor blob"
            yield Problem(uri, f"is returned with {found}.", "Return the HTML in text, or base64 of its UTF-8 in blob.")
        elif present == ["text"] and not isinstance(item["text"], str):
            yield Problem(uri, "is returned with a text that is not a string.", "Return the HTML as a string.")
        elif present == ["blob"] and (wrong := _blob_problem(item["blob"])):
            yield Problem(uri, f"is returned with a blob that {wrong}.", "Encode the HTML as UTF-8, then as base64.")


def _blob_problem(blob: object) -> str | None:
    if not isinstance(blob, str):
        return "is not a string"
    try:
        base64.b64decode(blob, validate=True).decode("utf-8")
    except binascii.Error:
        return "is not base64"
    except ValueError:
        return "is not UTF-8"
    return None


@section.rule("RES-05", MUST, "A View is a valid HTML5 document.")
def html5_document(look: Look) -> Iterator[Problem]:
    for uri, item in look.view_contents():
        html = html_of(item)
        if html is not None and (wrong := _html_problem(html)):
            yield Problem(uri, *wrong)


def _html_problem(html: str) -> tuple[str, str] | None:
    """Return what certainly keeps a text from being an HTML5 document, and the fix."""
    text = html.removeprefix("\ufeff")
    if not text.strip():
        return "is an empty document.", "Return the HTML of the View."
    if re.fullmatch(r"\s*https?://\S+\s*", text):
        return "is a URL, not a document.", "Return the page's HTML, or a document that shows the URL in an <iframe>."
    if "<" not in text:
        return "is plain text, not a document.", "Return an HTML document that begins with <!doctype html>."
    doctype = find_doctype(text)
    if doctype is None or not doctype.is_html5:
        return (
            "does not begin with <!doctype html>, so browsers may show it in quirks mode.",
            "Begin the document with <!doctype html>.",
        )
    if "\x00" in text:
        return "contains a null character.", "Remove it."
    parser = _OpenElements()
    parser.feed(_TEXT_ONLY.sub("", text))
    if parser.inside is not None:
        return f"ends inside <{parser.inside}>.", f"Close it with </{parser.inside}>."
    return None


class _OpenElements(HTMLParser):
    """Finds a script or style element that is never closed: it swallows the rest of the document."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.inside: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("script", "style"):
            self.inside = tag

    def handle_endtag(self, tag: str) -> None:
        if tag == self.inside:
            self.inside = None


@section.rule(
    "RES-06",
    IMPLIED,
    "The content item of a View has the URI that was requested.",
    fix="Return the content item with the URI that was requested.",
)
def same_uri(look: Look) -> Iterator[Problem]:
    for uri, response in look.reads.items():
        item = content_item(response, uri)
        if item is not None and item.get("uri") != uri:
            yield Problem(uri, f"is returned with the uri {item.get('uri')!r}.")


@section.rule(
    "RES-07",
    MUST,
    "The `domain` of a View has the form that the host's documentation asks for.",
    aliases=["mcp-apps-res-07"],
    fix="Write only the host name, as the host's documentation asks, or leave domain out.",
)
def domain_is_host_name(look: Look) -> Iterator[Problem]:
    for uri, item in look.view_contents():
        domain = look.view_meta(uri, item).get("domain")
        if domain is not None and not (isinstance(domain, str) and _DOMAIN.fullmatch(domain)):
            yield Problem(uri, f"asks for the domain {domain!r}, which is not a host name.")
        elif isinstance(domain, str) and domain.endswith(f".{CLAUDE_CONTENT}") and not is_claude_domain(domain):
            message = f"asks for the domain {domain!r}, but Claude's have 32 hexadecimal digits before the first dot."
            yield Problem(uri, message, "Compute it from the server's URL: View(..., domain=claude_domain(url)).")


@section.rule(
    "ADV-02",
    ADVICE,
    "A View asks for a `domain` only if it needs one.",
    fix="Leave it out, unless a back end must know the View's origin; Claude and ChatGPT want different forms.",
)
def no_needless_domain(look: Look) -> Iterator[Problem]:
    for uri, item in look.view_contents():
        domain = look.view_meta(uri, item).get("domain")
        if isinstance(domain, str):
            message = f"asks for the domain {domain!r}: a host that expects another form may not show the View at all."
            yield Problem(uri, message)


@section.rule(
    "ADV-15",
    ADVICE,
    "A `domain` for Claude is the one that Claude derives from the server's URL.",
    fix="Compute it from the URL that users add to Claude: View(..., domain=claude_domain(url)).",
)
def claude_domain_of_this_server(seen: ServerObservation) -> Iterator[Problem]:
    look = seen.newest()
    # A server that is checked before it is deployed has another URL than the one that users add.
    if look is None or seen.url is None or not seen.url.startswith("https://"):
        return
    expected = claude_domain(seen.url)
    for uri, item in look.view_contents():
        domain = look.view_meta(uri, item).get("domain")
        if isinstance(domain, str) and is_claude_domain(domain) and domain != expected:
            yield Problem(uri, f"asks for the domain {domain!r}, but that of {seen.url} is {expected!r}.")


section.host_rule("RES-10", IMPLIED, "A View without `domain` is served from the host's default origin.", TWO_VIEWS)


# The standard states it as a fact, which would be "implied". But nothing fails without it: only the look differs.
@section.rule(
    "RES-08", ADVICE, "A View says with `prefersBorder` whether it wants a border.", aliases=["mcp-apps-res-08"]
)
def prefers_border(look: Look) -> Iterator[Problem]:
    for uri, item in look.view_contents():
        border = look.view_meta(uri, item).get("prefersBorder")
        if border is None:
            message = "does not say whether it wants a border, and hosts have different defaults."
            fix = (
                "Set _meta.ui.prefersBorder of the resource to true or false. In Fanlight, it belongs to the View: "
                "View(..., prefers_border=True)."
            )
            yield Problem(uri, message, fix)
        elif not isinstance(border, bool):
            yield Problem(uri, f"has the prefersBorder {border!r}.", "Write true or false.")


section.host_rule(
    "RES-09",
    IMPLIED,
    "The host draws a border and a background if `prefersBorder` is true, and neither if it is false.",
    by_person("This View asks for no border. Does the host draw one around it?"),
)
section.host_rule(
    "RES-11",
    MAY,
    "The host may grant requested permissions through the `allow` attribute of the frame.",
    aliases=["security/permissions-allow-attr", "mcp-apps-sbox-03"],
)


@section.rule(
    "RES-12",
    SHOULD,
    "A View does not assume that a permission was granted.",
    fix="Catch the rejection, and continue without the permission.",
)
def survives_denied_permission(view: ViewObservation) -> Iterator[Problem]:
    yield from error_problems(view, "RES-12", "fails if a permission is not granted")


@section.rule(
    "LNT-04", IMPLIED, "The permissions that a View requests are those of the standard.", aliases=["mcp-apps-res-06"]
)
def known_permissions(look: Look) -> Iterator[Problem]:
    fix = f"Write an object with some of {', '.join(_PERMISSIONS)}, each with the value {{}}."
    for uri, item in look.view_contents():
        requested = look.view_meta(uri, item).get("permissions")
        if requested is None:
            continue
        if not isinstance(requested, Mapping):
            yield Problem(uri, f"requests the permissions {requested!r}, which is not an object.", fix)
            continue
        for name, value in requested.items():
            if name not in _PERMISSIONS:
                yield Problem(uri, f"requests the permission {name!r}, which does not exist.", fix)
            elif not isinstance(value, Mapping):
                yield Problem(uri, f"requests {name} with the value {value!r}, which is not an object.", fix)


@section.rule("LNT-03", IMPLIED, "Each domain that a View declares is one origin.", aliases=["mcp-apps-res-05"])
def declared_origins(look: Look) -> Iterator[Problem]:
    for uri, item in look.view_contents():
        csp = look.view_meta(uri, item).get("csp")
        if csp is None:
            continue
        if not isinstance(csp, Mapping):
            message = f"has the csp {csp!r}, which is not an object."
            yield Problem(uri, message, 'Write {"connectDomains": ["https://..."]}.')
            continue
        for name in csp.keys() - {*CSP_LISTS}:
            yield Problem(uri, f"has {name!r} in its csp.", f"The lists are {', '.join(CSP_LISTS)}.")
        for name in CSP_LISTS:
            yield from _list_problems(uri, name, csp.get(name))


def _list_problems(uri: str, name: str, declared: object) -> Iterator[Problem]:
    if declared is not None and not isinstance(declared, list):
        message = f"has {name} {declared!r}, which is not a list."
        yield Problem(uri, message, f"Write [{json.dumps(str(declared))}].")
    for i, value in enumerate(declared if isinstance(declared, list) else ()):
        try:
            check_source(value, f"{name}[{i}]")
        except RegistrationError as error:
            what, _, fix = str(error).rpartition(" Write ")
            yield Problem(uri, f"declares a domain that hosts drop: {what}", f"Write {fix}")


section.host_rule(
    "D-RES-01",
    MUST,
    "The host reads a View's metadata from the content item, and from the list only if the item has none.",
    TWO_VIEWS,
)


@section.rule("D-RES-02", ADVICE, "A View's metadata is on the content item, and the same in the list.")
def metadata_on_content_item(look: Look) -> Iterator[Problem]:
    for uri, item in look.view_contents():
        listed = ui_of(look.listed(uri) or {})
        if listed and not ui_of(item):
            message = "has its metadata only in the list; hosts of the 2026-01-26 standard read the content item."
            yield Problem(uri, message, "Put the same _meta.ui on the item that resources/read returns.")
        elif listed and listed.get("csp") != ui_of(item).get("csp"):
            message = "declares one csp in the list and another on the content item."
            yield Problem(uri, message, "Declare the same csp in both places.")


@section.rule("LNT-02", IMPLIED, "Metadata is where hosts look for it: in `_meta.ui` of the resource.")
def metadata_place(look: Look) -> Iterator[Problem]:
    for tool in look.tools:
        for key in _RESOURCE_KEYS:
            if key in ui_of(tool):
                message = f"has {key} in its _meta.ui, where hosts do not look for it."
                yield Problem(label_of(tool), message, f"Put {key} into the _meta.ui of the View's resource.")
    for uri, item in look.view_contents():
        for place in (item, look.listed(uri) or {}):
            for key in _RESOURCE_KEYS:
                if key in meta_of(place):
                    message = f"has _meta.{key}, where hosts do not look for it."
                    yield Problem(uri, message, f"Write it as _meta.ui.{key}.")
            if "meta" in place and "_meta" not in place:
                yield Problem(uri, 'has its metadata under "meta".', 'Write it under "_meta".')


@section.rule(
    "LNT-05",
    IMPLIED,
    "Reading a View that does not exist is an error.",
    aliases=["mcp-apps-res-09"],
    fix="Respond to an unknown URI with an error (-32602 or -32002).",
)
def unknown_uri_is_an_error(look: Look) -> Iterator[Problem]:
    if look.missing_view is not None and look.missing_view.error is None:
        yield Problem("resources/read", "returns a result for a View that does not exist.")


@section.rule(
    "LNT-07", IMPLIED, "`resources/read` returns exactly one item for a View.", fix="Return exactly one content item."
)
def one_content_item(look: Look) -> Iterator[Problem]:
    for uri, _ in look.view_contents():
        count = len((look.reads[uri].result or {}).get("contents") or ())
        if count != 1:
            yield Problem(uri, f"is returned as {count} items; several hosts then show none.")


@section.rule(
    "LNT-09",
    ADVICE,
    "A View's URI has no characters that libraries rewrite.",
    fix="Use ASCII letters, digits, - and _, and no /./ or /../.",
)
def portable_uri(look: Look) -> Iterator[Problem]:
    for _, uri in look.links():
        if not isinstance(uri, str) or not uri.startswith(URI_SCHEME):
            continue
        if not uri.isascii() or " " in uri or "/../" in uri or "/./" in uri:
            yield Problem(uri, "contains characters that libraries rewrite, and hosts compare URIs byte for byte.")


@section.rule(
    "ADV-03",
    ADVICE,
    "The Views of a server have less than 5 MB in total.",
    fix="Stay below 5 MB, the most that some hosts accept: minify, and load large data through a tool.",
)
def total_size(look: Look) -> Iterator[Problem]:
    sizes = {uri: len((html_of(item) or "").encode("utf-8", "replace")) for uri, item in look.view_contents()}
    total = sum(sizes.values())
    if total > _LARGE:
        largest = max(sizes, key=lambda uri: sizes[uri])
        message = (
            f"has Views of {total / 1e6:.1f} MB in total; the largest is {largest}, {sizes[largest] / 1e6:.1f} MB."
        )
        yield Problem("server", message, key="its Views are large")


@section.rule(
    "ADV-07",
    ADVICE,
    "A View works in hosts that ignore some of its metadata.",
    fix="Let the View work without it, and tell the user what is missing.",
)
def ignored_metadata(look: Look) -> Iterator[Problem]:
    for uri, item in look.view_contents():
        ui = look.view_meta(uri, item)
        csp = ui.get("csp")
        lists = [name for name in ("frameDomains", "baseUriDomains") if isinstance(csp, Mapping) and csp.get(name)]
        needs = [*lists, *(["permissions"] if ui.get("permissions") else [])]
        if needs:
            message = f"needs {' and '.join(needs)}, which some hosts ignore (Goose 1.38 and Copilot, as seen in 2026)."
            yield Problem(uri, message)
