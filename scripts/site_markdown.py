"""A Python-Markdown extension that renders the pages of docs/ as they are written for a code host.

```python server.py               a code block that is a file gets the name of the file as its title
<!-- api: a.b.C --> <!-- /api -->  the summary between the lines (scripts/api_pages.py) is replaced by the full
                                  entry that mkdocstrings makes from the docstrings
[text](../../examples/x.py)       a link to a file outside of docs/ becomes text: the site does not have the file
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final
from xml.etree.ElementTree import Element

from markdown import Markdown
from markdown.extensions import Extension
from markdown.inlinepatterns import InlineProcessor
from markdown.preprocessors import Preprocessor
from markdown.treeprocessors import Treeprocessor

_FENCE: Final = re.compile(r"^(\s*```)(\w+) (\S+)$")
_BEGIN: Final = re.compile(r"^<!-- api: ([\w.]+)((?: \w+=\S+)*) -->$")
_END: Final = "<!-- /api -->"
_PUNCTUATION: Final = re.compile(r"[^\w\- ]")
_PRIVATE: Final = "!^_(?!_call__$)"  # a filter of mkdocstrings; what an object does when it is called is public
_OUTSIDE: Final = "../../"
_RULES: Final = Path(__file__).resolve().parent.parent / "docs" / "reference" / "rules.md"
_RULE_ID: Final = r"(?<![\w\x03-])((?:D-)?[A-Z]{3}-\d\d[a-z]?)(?![\w\x02-])"


def github_slug(text: str, separator: str) -> str:
    """Return the anchor of a heading as GitHub has it, so that links to headings work in both places."""
    return _PUNCTUATION.sub("", text.strip().lower()).replace(" ", separator)


def github_slugs() -> Callable[[str, str], str]:
    """Return the function above; zensical.toml can only name a function that returns one."""
    return github_slug


@dataclass(frozen=True)
class Block:
    """A line that begins an entry of the API reference."""

    path: str
    name: str
    """The heading."""
    without: tuple[str, ...] = ()
    """Members to leave out."""
    signature: bool = True
    """Whether the site shows the signature of a function."""
    init: bool = True
    """Whether the site shows the signature of a class: how one is created."""

    def directive(self) -> list[str]:
        """Return the entry for mkdocstrings, under the anchor that it has on a code host."""
        hidden = "|".join(self.without)
        options = {
            "filters": [_PRIVATE, *([f"!^({hidden})$"] if hidden else [])],
            **({} if self.signature else {"show_signature": False, "separate_signature": False}),
            **({} if self.init else {"merge_init_into_class": False}),
            **({"heading": self.name} if self.name != self.path.rpartition(".")[2] else {}),
        }
        lines = [f"        {key}: {json.dumps(value)}" for key, value in options.items()]
        anchor = f'<div id="{github_slug(self.name, "-")}" class="api-anchor"></div>'
        return [anchor, "", f"::: {self.path}", "    options:", *lines, ""]


def parse_block(line: str) -> Block | None:
    """Parse a line that begins an entry; return None for other lines."""
    found = _BEGIN.match(line)
    if found is None:
        return None
    options = dict(option.split("=", 1) for option in found[2].split())
    block = Block(
        found[1],
        options.pop("name", found[1].rpartition(".")[2]),
        tuple(filter(None, options.pop("without", "").split(","))),
        options.pop("signature", "yes") == "yes",
        options.pop("init", "yes") == "yes",
    )
    if options:
        raise ValueError(f"{line} has the option {next(iter(options))!r}. There are: name, without, signature, init.")
    return block


def site_lines(lines: list[str]) -> list[str]:
    """Return the lines of a page as the site's other extensions understand them."""
    out: list[str] = []
    inside = False
    for line in lines:
        if (block := parse_block(line)) is not None:
            inside = True
            out += block.directive()
        elif line == _END:
            inside = False
        elif not inside:
            out.append(_FENCE.sub(r'\1\2 title="\3"', line))
    if inside:
        raise ValueError(f"A block that begins with <!-- api: ... --> has no {_END}.")
    return out


class _Lines(Preprocessor):
    def run(self, lines: list[str]) -> list[str]:
        return site_lines(lines)


class _Links(Treeprocessor):
    def run(self, root: Element) -> None:
        for link in root.iter("a"):
            target = link.get("href", "")
            if target.startswith(_OUTSIDE):
                link.tag = "span"
                link.attrib.clear()
                link.set("title", f"{target.removeprefix(_OUTSIDE)} in the repository")


@cache
def rule_anchors() -> frozenset[str]:
    """Return the anchors of the page of rules."""
    return frozenset(re.findall(r'<a id="([\w-]+)"', _RULES.read_text(encoding="utf-8")))


class _RuleIds(InlineProcessor):
    ANCESTOR_EXCLUDES = ("a", "h1", "h2", "h3", "h4", "h5", "h6")

    def handleMatch(  # type: ignore[override]  # the base class says so, too
        self, m: re.Match[str], data: str
    ) -> tuple[Element | None, int | None, int | None]:
        anchor = m[1].lower()
        if anchor not in rule_anchors():
            return None, None, None
        link = Element("a", href=f"../reference/rules.html#{anchor}")
        link.text = m[1]
        return link, m.start(0), m.end(0)


class SiteExtension(Extension):
    """Registers the above: before code blocks are read, and after links are."""

    def extendMarkdown(self, md: Markdown) -> None:
        md.preprocessors.register(_Lines(md), "fanlight-lines", 50)
        md.inlinePatterns.register(_RuleIds(_RULE_ID, md), "fanlight-rules", 75)
        md.treeprocessors.register(_Links(md), "fanlight-links", 15)


def makeExtension(**options: Any) -> SiteExtension:
    """Return the extension; Python-Markdown looks for this name."""
    return SiteExtension(**options)
