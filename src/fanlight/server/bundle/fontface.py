"""Local fonts of a View, loaded by a script because the default CSP has no `font-src` (CSP-02)."""

import base64
import json
import re
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from fanlight.server.bundle.css import skip_space, tokens, unescape
from fanlight.server.bundle.reference import Local, References
from fanlight.server.bundle.source import Source

_DESCRIPTORS = {
    "font-style": "style",
    "font-weight": "weight",
    "font-stretch": "stretch",
    "font-width": "stretch",
    "unicode-range": "unicodeRange",
    "font-feature-settings": "featureSettings",
    "font-variation-settings": "variationSettings",
    "font-language-override": "languageOverride",
    "font-display": "display",
    "ascent-override": "ascentOverride",
    "descent-override": "descentOverride",
    "line-gap-override": "lineGapOverride",
    "size-adjust": "sizeAdjust",
}
_BEST_FIRST = ("woff2", "woff", "opentype", "truetype")
_BY_SUFFIX = {".woff2": "woff2", ".woff": "woff", ".otf": "opentype", ".ttf": "truetype"}
_FORMAT = re.compile(r"""\s*+format\(\s*+["']?([\w-]++)""", re.IGNORECASE)


class Face(NamedTuple):
    """A font to load: the arguments of the FontFace constructor, with the data in base64."""

    family: str
    data: str
    descriptors: dict[str, str]


def font_face(block: Source, references: References) -> Face | None:
    """Return the font of an `@font-face` rule from its block, or None if no source is a local file."""
    declared = {name: (start, value) for name, start, value in _declarations(block.text)}
    src_at, src = declared.pop("src", (0, ""))
    found = _local_sources(block, src_at, src, references)
    if not found:
        return None
    best = _best(found)
    if best is None:
        raise block.error(
            src_at, "no source of this @font-face is WOFF2, WOFF, OpenType or TrueType. Add a .woff2 file."
        )
    family = _family(declared.get("font-family", (0, ""))[1])
    if not family:
        raise block.error(0, "this @font-face has no font-family. Add one.")
    data = base64.b64encode(references.read(best.path, block, src_at)).decode("ascii")
    references.count(len(data), block, src_at)
    descriptors = {_DESCRIPTORS[name]: value for name, (_, value) in declared.items() if name in _DESCRIPTORS}
    return Face(family, data, descriptors)


def font_element(faces: list[Face]) -> str:
    """Return the script element that loads fonts. It contains no `<` or `&`, so it is valid inside SVG, too."""
    data = json.dumps(faces, separators=(",", ":")).replace("<", "\\u003C").replace("&", "\\u0026")
    return f"<script>({_loader()})({data});</script>"


@cache
def _loader() -> str:
    # The file is one expression. The semicolon at its end is required by the formatter.
    return files(__package__).joinpath("fontface.js").read_text(encoding="utf-8").strip().removesuffix(";")


def _declarations(text: str) -> list[tuple[str, int, str]]:
    """Split a block into (name, position of the value, value)."""
    ends = [token.start for token in tokens(text) if token.kind == "semicolon"]
    declarations: list[tuple[str, int, str]] = []
    start = 0
    for end in (*ends, len(text)):
        begin = skip_space(text, start)
        name, colon, value = text[begin:end].partition(":")
        if colon:
            declarations.append((name.strip().lower(), begin + len(name) + 1, value.strip()))
        start = end + 1
    return declarations


def _local_sources(block: Source, pos: int, src: str, references: References) -> list[tuple[Local, str | None]]:
    found: list[tuple[Local, str | None]] = []
    for token in tokens(src):
        if token.kind == "url" and (local := references.local(token.value, block, pos)):
            named = _FORMAT.match(src, token.end)
            found.append((local, named[1].lower() if named else _BY_SUFFIX.get(local.path.suffix.lower())))
    return found


def _best(found: list[tuple[Local, str | None]]) -> Local | None:
    for best in _BEST_FIRST:
        for local, name in found:
            if name is not None and name.removesuffix("-variations") == best:
                return local
    return None


def _family(value: str) -> str:
    if value[:1] in ('"', "'"):
        return unescape(value[1:-1])
    return unescape(" ".join(value.split()))
