"""A long document that is loaded as it is read: the View requests the parts that come into view, and no others.

The document is the reference manual that every Python has for its command `help`, some half a million characters.
"""

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache
from pydoc_data.topics import topics
from typing import Annotated, Literal

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import Field

from fanlight import Apps

server = MCPServer("document")
apps = Apps(server)

READ_ONLY = ToolAnnotations(read_only_hint=True)
PART = 5000
"""Characters of a part, about two screens."""
EXCERPT = 1500
"""Characters that the model gets of the place that the user sees. It can read more with read_document."""


@dataclass
class Block:
    kind: Literal["h1", "h2", "p", "li", "pre"]
    text: str


@dataclass
class Chapter:
    title: str
    part: int
    """The first part of the chapter."""


@dataclass
class Contents:
    """What the View gets at first: no text, but the size of every part, so that the scroll bar is right."""

    title: str
    chapters: list[Chapter]
    sizes: list[int]
    start: int


@dataclass
class Part:
    number: int
    blocks: list[Block]


@dataclass
class Hit:
    part: int
    chapter: str
    text: str


@dataclass
class Hits:
    hits: list[Hit]


def blocks_of(text: str) -> Iterator[Block]:
    """Yield the headings, paragraphs, list items and examples of a chapter, which is plain text."""
    for piece in re.split(r"\n\s*\n", text.strip("\n")):
        first, _, rest = piece.partition("\n")
        underline = rest.partition("\n")[0]
        if re.fullmatch(r"[*=\-~^]{3,}", underline):
            yield Block("h1" if underline[0] == "*" else "h2", first.strip())
            piece = rest.partition("\n")[2]
            first = piece.partition("\n")[0]
        if not piece.strip():
            continue
        if first.lstrip().startswith(("* ", "- ")) and not first.startswith("    "):
            for item in re.split(r"\n\s*[*-] ", f"\n{piece}")[1:]:
                yield Block("li", " ".join(item.split()))
        elif first.startswith("   ") and not re.match(r"   ?[A-Z][a-z]+ .*[a-z,]$", first):
            yield Block("pre", piece.rstrip())
        else:
            yield Block("p", " ".join(piece.split()))


@cache
def document() -> tuple[list[Chapter], list[list[Block]]]:
    """Return the chapters, and all parts. A chapter starts a part."""
    chapters: list[Chapter] = []
    parts: list[list[Block]] = []
    whole = {text.strip().partition("\n")[0]: text for text in topics.values()}
    for title, text in sorted(whole.items(), key=lambda item: re.sub(r"\W", "", item[0]).casefold()):
        chapters.append(Chapter(title, len(parts)))
        size = PART
        for block in blocks_of(text):
            if size >= PART and block.kind != "li":
                parts.append([])
                size = 0
            parts[-1].append(block)
            size += len(block.text)
    return chapters, parts


def chapter_of(part: int) -> str:
    return next(chapter.title for chapter in reversed(document()[0]) if chapter.part <= part)


def plain(part: int) -> str:
    return "\n\n".join(block.text for block in document()[1][part])


def find(words: str, limit: int = 20) -> list[Hit]:
    """Return the parts that contain all words, those of chapters with the words in their title first."""
    wanted = words.casefold().split()
    hits = []
    for number in range(len(document()[1])):
        text = " ".join(plain(number).split())
        low = text.casefold()
        if wanted and all(word in low for word in wanted):
            at = max(0, low.find(wanted[0]) - 40)
            hits.append(Hit(number, chapter_of(number), f"{'…' if at else ''}{text[at : at + 120]}…"))
    return sorted(hits, key=lambda hit: -sum(word in hit.chapter.casefold() for word in wanted))[:limit]


@apps.tool(view="document.html", annotations=READ_ONLY)
def open_document(
    find_words: Annotated[str, Field(description="Words to look for. The document opens there.")] = "",
) -> Annotated[CallToolResult, Contents]:
    "Open the reference manual of Python for the user, at a place that contains some words."
    chapters, parts = document()
    hits = find(find_words)
    if find_words and not hits:
        raise ToolError(f"No part of the manual contains {find_words!r}. Look for fewer words.")
    start = hits[0].part if hits else 0
    places = "".join(f"\n- part {hit.part}, {hit.chapter}: {hit.text}" for hit in hits[:5])
    text = (
        f"The manual has {len(chapters)} chapters in {len(parts)} parts, and is open at part {start}, "
        f"{chapter_of(start)}. Call read_document for the text of a part.{places}\n\n{plain(start)[:EXCERPT]}…"
    )
    sizes = [sum(len(block.text) for block in part) for part in parts]
    contents = Contents("The Python manual", chapters, sizes, start)
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=asdict(contents))


Number = Annotated[int, Field(ge=0, description="The number of a part, as open_document returns it.")]


@apps.tool(annotations=READ_ONLY)
def read_document(part: Number) -> str:
    "Read a part of the manual, without showing it."
    return f"{chapter_of(_checked(part))}, part {part} of {len(document()[1])}\n\n{plain(part)}"


@apps.tool(visibility=["app"], annotations=READ_ONLY)
def read_part(part: Number) -> Annotated[CallToolResult, Part]:
    "Return a part with its layout. The View calls this when the part comes into view."
    blocks = document()[1][_checked(part)]
    # Without this text, the part would be sent a second time as text.
    text = TextContent(type="text", text=f"Part {part} of the manual")
    return CallToolResult(content=[text], structured_content=asdict(Part(part, blocks)))


@apps.tool(visibility=["app"], annotations=READ_ONLY)
def find_in_document(words: Annotated[str, Field(max_length=200)]) -> Annotated[CallToolResult, Hits]:
    "Find words in the manual. Only the View calls this."
    hits = find(words)
    text = TextContent(type="text", text=f"{len(hits)} places")
    return CallToolResult(content=[text], structured_content=asdict(Hits(hits)))


def _checked(part: int) -> int:
    if part >= len(document()[1]):
        raise ToolError(f"There is no part {part}. The last one is {len(document()[1]) - 1}.")
    return part


if __name__ == "__main__":
    server.run()
