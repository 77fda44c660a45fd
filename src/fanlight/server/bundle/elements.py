"""The elements of a document that refer to files or URLs, and their replacements."""

import html
import re
from collections.abc import Callable
from dataclasses import replace as changed
from pathlib import Path

from fanlight.protocol.csp import Csp
from fanlight.protocol.source_lines import Run
from fanlight.server.bundle.fontface import Face, font_element
from fanlight.server.bundle.markup import Attribute, Tag, escape_attribute
from fanlight.server.bundle.modules import Modules, Script
from fanlight.server.bundle.reference import References
from fanlight.server.bundle.sdk import sdk_element
from fanlight.server.bundle.source import Source, replace
from fanlight.server.bundle.source_map import trace
from fanlight.server.bundle.stylesheet import declarations, may_refer, merge, merge_file, style_text

_CLASSIC_TYPES = frozenset(
    {"", "text/javascript", "application/javascript", "text/ecmascript", "application/ecmascript"}
    | {"application/x-javascript", "application/x-ecmascript", "text/x-javascript", "text/x-ecmascript"}
    | {"text/jscript", "text/livescript"}
)
_ONLY_WITH_SRC = ("src", "crossorigin", "integrity", "charset", "referrerpolicy", "fetchpriority")
_ONLY_ON_LINK = (*_ONLY_WITH_SRC[1:], "rel", "href", "type", "as", "hreflang", "sizes")
_FILES_OF = {
    "img": ("src",),
    "image": ("src",),
    "source": ("src",),
    "video": ("src", "poster"),
    "audio": ("src",),
    "track": ("src",),
}
_ICONS = frozenset({"icon", "apple-touch-icon", "apple-touch-icon-precomposed", "mask-icon", "fluid-icon"})
_HINTS = frozenset({"preload", "prefetch", "modulepreload", "prerender"})
# Bundlers that turn `<link rel="stylesheet" crossorigin href>` into `<style>` keep these. Authors do not write them.
_LEFT_BY_BUNDLERS = ("rel", "crossorigin")
_IF_BUILT = (
    " If a bundler made this document, have it inline the file, or give the <style> the attribute "
    'rel="stylesheet", as Vite does: then images that do not exist are ignored.'
)
_CANDIDATE = re.compile(r"[\s,]*+(\S++)")
_PAST_DESCRIPTORS = re.compile(r"(?:[^,(]++|\([^)]*+\)?)*")


class Elements:
    """Collects the edits that make one document self-contained."""

    def __init__(self, source: Source, csp: Csp, openai: bool) -> None:
        self.title: str | None = None
        self.description: str | None = None
        self._source = source
        self._references = References(csp, source.folder)
        self._modules = Modules(self._references)
        self._edits: list[tuple[int, int, str]] = []
        self._deferred: list[tuple[str, int, Script]] = []
        self._origins: dict[tuple[int, int], list[tuple[int, tuple[Run, ...]]]] = {}
        self._sdk_at: int | None = None
        self._sdk: set[str] = set()
        self._openai = openai
        self._is_built = False  # by a bundler

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that were read, in order of first use."""
        return tuple(self._references.files)

    def add(self, tag: Tag) -> None:
        """Process the next tag of the document."""
        if style := tag.attributes.get("style"):
            self._style_attribute(style)
        handler = _FOREIGN_HANDLERS.get(tag.name) if tag.foreign else _HANDLERS.get(tag.name)
        if handler is not None:
            handler(self, tag)

    def apply(self, body_end: int) -> str:
        """Return the document with all edits applied."""
        if self._references.missing and not self._is_built:
            self._references.data_uri(*self._references.missing, advice=_IF_BUILT)  # raises
        if self._sdk_at is not None:
            self._edits.append((self._sdk_at, self._sdk_at, sdk_element(self._openai, frozenset(self._sdk))))
        if self._deferred:
            self._edits.append((body_end, body_end, "".join(element for element, _, _ in self._deferred)))
            origins = self._origins[body_end, body_end] = []
            before = 0
            for element, opening, script in self._deferred:
                origins.append((before + opening, script.lines))
                before += len(element)
        return replace(self._source.text, self._edits)

    def lines(self) -> list[Run]:
        """Return the source map of the document. Call it after `apply`."""
        return trace(self._source, self._edits, self._origins)

    def _set(self, attribute: Attribute, value: str) -> None:
        self._edits.append((attribute.value_start, attribute.end, f'"{escape_attribute(value)}"'))

    def _tag_without(self, tag: Tag, name: str, dropped: tuple[str, ...]) -> str:
        """Return a start tag `name` with the attributes of `tag`, except the dropped ones, as the author wrote them."""
        text = self._source.text
        kept = [text[a.start : a.end] for key, a in tag.attributes.items() if key not in dropped]
        return f"<{' '.join((name, *kept))}>"

    # Text

    def _title(self, tag: Tag) -> None:
        if self.title is None:
            self.title = html.unescape(self._source.text[tag.end : tag.content_end])

    def _meta(self, tag: Tag) -> None:
        if self.description is None and (tag.value("name") or "").strip().lower() == "description":
            self.description = tag.value("content")

    def _base(self, tag: Tag) -> None:
        base = tag.attributes.get("href")
        if base is None or self._source.base is not None:
            return
        local = self._references.local(base.value, self._source, base.start, "base_uri_domains")
        if local is not None:
            raise self._source.error(
                base.start,
                f'<base href="{base.value}"> is a local folder, and hosts cannot read local files. Remove it.',
            )
        if base.value.strip():
            self._source = changed(self._source, base=base.value.strip())

    # Scripts

    def _script(self, tag: Tag) -> None:
        kind = (tag.value("type") or "").split(";")[0].strip().lower()
        if kind == "importmap":
            self._modules.add_import_map(self._source.part(tag.end, tag.content_end))
        elif kind == "module":
            self._executed(tag, module=True)
        elif kind in _CLASSIC_TYPES and "nomodule" not in tag.attributes:
            self._executed(tag, module=False)

    def _executed(self, tag: Tag, *, module: bool) -> None:
        src = tag.attributes.get("src")
        if src is not None:
            self._script_file(tag, src, module)
            return
        self._detect_bundler(tag)
        if not self._may_import(tag):
            return
        part = self._source.part(tag.end, tag.content_end)
        script = self._modules.inline(part, module=module)
        self._use(tag, script)
        if script.text != part.text:
            self._references.count(len(script.text), self._source, tag.start)
            self._edits.append((tag.end, tag.content_end, script.text))
            self._origins[tag.end, tag.content_end] = [(0, script.lines)]

    def _may_import(self, tag: Tag) -> bool:
        text = self._source.text
        return text.find("import", tag.end, tag.content_end) >= 0 or text.find("export", tag.end, tag.content_end) >= 0

    def _script_file(self, tag: Tag, src: Attribute, module: bool) -> None:
        local = self._references.local(src.value, self._source, src.start)
        if local is None:
            return
        if tag.content_end == len(self._source.text):
            raise self._source.error(tag.start, "this <script> has no </script>. Add it.")
        assert self._source.folder is not None
        file = self._references.read_text(local.path, self._source, src.start)
        script = self._modules.file(file, self._source.folder, module=module)
        self._references.count(len(script.text), self._source, src.start)
        self._use(tag, script)
        # `async` and `defer` have no effect on an inline classic script, so it moves to the end of the body instead.
        waits = not module and ("async" in tag.attributes or "defer" in tag.attributes)
        dropped = _ONLY_WITH_SRC if module else (*_ONLY_WITH_SRC, "async", "defer")
        opening = self._tag_without(tag, "script", dropped)
        element = f"{opening}{script.text}</script>"
        self._edits.append((tag.start, tag.close, "" if waits else element))
        if waits:
            self._deferred.append((element, len(opening), script))
        else:
            self._origins[tag.start, tag.close] = [(len(opening), script.lines)]

    def _use(self, tag: Tag, script: Script) -> None:
        """Insert the stylesheets and the SDK that a script imports before the script."""
        for sheet in script.sheets:
            styles = "".join(f"<style>{style_text(text)}</style>" for text in sheet.parts)
            self._edits.append((tag.start, tag.start, styles + _fonts(sheet.faces)))
        if script.sdk:
            self._sdk |= script.sdk
            self._sdk_at = tag.start if self._sdk_at is None else self._sdk_at

    def _detect_bundler(self, tag: Tag) -> None:
        self._is_built = self._is_built or any(name in tag.attributes for name in _LEFT_BY_BUNDLERS)

    def _foreign_script(self, tag: Tag) -> None:
        for name in ("href", "xlink:href"):
            attribute = tag.attributes.get(name)
            if attribute and self._references.local(attribute.value, self._source, attribute.start):
                raise self._source.error(
                    attribute.start, "a script file inside <svg> cannot be inlined. Move the <script> out of the <svg>."
                )

    # Styles

    def _style_attribute(self, attribute: Attribute) -> None:
        if not may_refer(attribute.value):
            return
        source = self._source
        value = Source(source.path, attribute.value, source.folder, source.base, source, attribute.start)
        new = declarations(value, self._references)
        if new != attribute.value:
            self._set(attribute, new)

    def _style(self, tag: Tag) -> None:
        if (tag.value("type") or "text/css").strip().lower() != "text/css" or tag.content_end < 0:
            return
        self._detect_bundler(tag)
        part = self._source.part(tag.end, tag.content_end)
        if not may_refer(part.text):
            return
        sheet = merge(part, self._references)
        first, *rest = (style_text(text) for text in sheet.parts)
        if first != part.text:
            self._edits.append((tag.end, tag.content_end, first))
        if rest or sheet.faces:
            close = tag.close if not tag.foreign else self._foreign_close(tag)
            self._edits.append((close, close, self._style_elements(tag, rest) + _fonts(sheet.faces)))

    def _foreign_close(self, tag: Tag) -> int:
        end = self._source.text.find(">", tag.content_end + len("]]>"))
        return len(self._source.text) if end < 0 else end + 1

    def _style_elements(self, tag: Tag, texts: list[str]) -> str:
        media = tag.attributes.get("media")
        opening = f'<style media="{escape_attribute(media.value)}">' if media else "<style>"
        return "".join(f"{opening}{text}</style>" for text in texts)

    def _link(self, tag: Tag) -> None:
        href = tag.attributes.get("href")
        rel = frozenset((tag.value("rel") or "").lower().split())
        if href is None:
            if "imagesrcset" in tag.attributes:  # a hint, which is optional
                self._edits.append((tag.start, tag.end, ""))
        elif "stylesheet" in rel:
            self._stylesheet(tag, href, rel)
        elif rel & _ICONS:
            self._file(href)
        elif "manifest" in rel:
            # The CSP of Views allows no manifest, and Views are not installed.
            self._edits.append((tag.start, tag.end, ""))
        elif rel & _HINTS and self._references.local(href.value, self._source, href.start):
            self._edits.append((tag.start, tag.end, ""))

    def _stylesheet(self, tag: Tag, href: Attribute, rel: frozenset[str]) -> None:
        if (tag.value("type") or "text/css").strip().lower() != "text/css":
            return
        local = self._references.local(href.value, self._source, href.start)
        if local is None:
            return
        if "alternate" in rel or "disabled" in tag.attributes:
            raise self._source.error(
                href.start, "a disabled or alternate stylesheet cannot be inlined. Give it a media attribute instead."
            )
        sheet = merge_file(local.path, self._source, href.start, self._references)
        first, *rest = (style_text(text) for text in sheet.parts)
        opening = self._tag_without(tag, "style", (*_ONLY_ON_LINK,))
        element = f"{opening}{first}</style>{self._style_elements(tag, rest)}{_fonts(sheet.faces)}"
        self._edits.append((tag.start, tag.end, element))

    # Images, media and frames

    def _file(self, attribute: Attribute | None) -> None:
        if attribute and (uri := self._references.data_uri(attribute.value, self._source, attribute.start)):
            self._set(attribute, uri)

    def _media(self, tag: Tag) -> None:
        for name in _FILES_OF[tag.name]:
            self._file(tag.attributes.get(name))
        if srcset := tag.attributes.get("srcset"):
            self._srcset(srcset)

    def _srcset(self, attribute: Attribute) -> None:
        edits: list[tuple[int, int, str]] = []
        pos = 0
        while found := _CANDIDATE.match(attribute.value, pos):
            url = found[1].rstrip(",")
            uri = self._references.data_uri(url, self._source, attribute.start)
            if uri is not None:
                edits.append((found.start(1), found.start(1) + len(url), uri))
            pos = found.end()
            if url == found[1]:
                pos = _PAST_DESCRIPTORS.match(attribute.value, pos).end()  # type: ignore[union-attr]
        if edits:
            self._set(attribute, replace(attribute.value, edits))

    def _input(self, tag: Tag) -> None:
        if (tag.value("type") or "").strip().lower() == "image":
            self._file(tag.attributes.get("src"))

    def _svg_image(self, tag: Tag) -> None:
        self._file(tag.attributes.get("href"))
        self._file(tag.attributes.get("xlink:href"))

    def _svg_use(self, tag: Tag) -> None:
        for name in ("href", "xlink:href"):
            attribute = tag.attributes.get(name)
            if attribute and self._references.local(attribute.value, self._source, attribute.start):
                raise self._source.error(
                    attribute.start,
                    f'<use {name}="{attribute.value}"> refers to another file, and browsers allow no data: URI here. '
                    "Copy the SVG into the document and refer to its id.",
                )

    def _frame(self, tag: Tag) -> None:
        src = tag.attributes.get("src")
        if src and self._references.local(src.value, self._source, src.start, "frame_domains"):
            raise self._source.error(
                src.start,
                f'<{tag.name} src="{src.value}"> is a separate document, and a View is only one. '
                "Write its content into the srcdoc attribute, or into the View.",
            )

    def _plugin(self, tag: Tag) -> None:
        attribute = tag.attributes.get("data" if tag.name == "object" else "src")
        if attribute and not attribute.value.lstrip().startswith(("data:", "#")) and attribute.value.strip():
            raise self._source.error(
                attribute.start,
                f"<{tag.name}> is blocked by every host. Use <img>, <video>, <audio> or <iframe>.",
            )


def _fonts(faces: list[Face]) -> str:
    return font_element(faces) if faces else ""


_Handler = Callable[[Elements, Tag], None]
_HANDLERS: dict[str, _Handler] = {
    "title": Elements._title,
    "meta": Elements._meta,
    "base": Elements._base,
    "script": Elements._script,
    "style": Elements._style,
    "link": Elements._link,
    "input": Elements._input,
    "iframe": Elements._frame,
    "frame": Elements._frame,
    "object": Elements._plugin,
    "embed": Elements._plugin,
    **dict.fromkeys(_FILES_OF, Elements._media),
}
_FOREIGN_HANDLERS: dict[str, _Handler] = {
    "script": Elements._foreign_script,
    "style": Elements._style,
    "image": Elements._svg_image,
    "feimage": Elements._svg_image,
    "use": Elements._svg_use,
}
