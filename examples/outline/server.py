# /// script
# requires-python = ">=3.11"
# dependencies = ["fanlight"]
# ///
"""An outline that breaks a question down: the model writes it, the user edits it, the server validates it.

python server.py            # over stdio, as .mcp.json starts it
python server.py --http     # over HTTP, at http://127.0.0.1:8000/mcp
"""

import sys
from collections.abc import Iterator
from typing import Annotated, Literal

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import BaseModel, Field

from fanlight import Apps

server = MCPServer("outline")
apps = Apps(server)

READ_ONLY = ToolAnnotations(read_only_hint=True)
MAX_PARTS, MAX_LEVELS = 7, 5
Title = Annotated[str, Field(min_length=1, max_length=120)]
Action = Literal["rename", "share", "add", "remove", "up", "down", "rest", "scale"]


class Part(BaseModel):
    """A part of the question, or of the part above it."""

    title: Title
    share: Annotated[float | None, Field(ge=0, le=100, description="Percent of the part above, if known.")] = None
    parts: list["Part"] = []


EXAMPLE = [
    Part(
        title="They cannot find it",
        share=45,
        parts=[Part(title="Search returns nothing", share=70), Part(title="The menu hides it", share=20)],
    ),
    Part(title="They do not want it at this price", share=30),
    Part(
        title="They cannot pay",
        share=25,
        parts=[Part(title="Their card is rejected", share=60), Part(title="The form is too long", share=40)],
    ),
]


class Outline(BaseModel):
    """A question, and the parts of its answer."""

    question: Annotated[Title, Field(examples=["Why do visitors leave without an order?"])]
    parts: Annotated[list[Part], Field(min_length=1, max_length=50, examples=[EXAMPLE])]


class Finding(BaseModel):
    path: Annotated[str, Field(description='The part, such as "2.1", or "" for the question.')]
    text: str
    fix: Annotated[Action | None, Field(description="The action that fixes it.")] = None


class Validated(BaseModel):
    """What the View gets. The model gets text."""

    outline: Outline
    findings: list[Finding]
    selected: str = ""


def walk(parts: list[Part], above: str = "") -> Iterator[tuple[str, Part]]:
    """Yield every part with its path, from top to bottom."""
    for number, part in enumerate(parts, 1):
        path = f"{above}.{number}".lstrip(".")
        yield path, part
        yield from walk(part.parts, path)


def check(outline: Outline) -> Iterator[Finding]:
    """Yield where parts overlap, and where something is missing."""
    groups = [("", outline.question, outline.parts)]
    titles: dict[str, str] = {}
    for path, part in walk(outline.parts):
        groups.append((path, part.title, part.parts))
        first = titles.setdefault(part.title.casefold().strip(), path)
        if first != path:
            yield Finding(path=path, text=f"“{part.title}” is also at {first}, so it is counted twice.")
        if path.count(".") >= MAX_LEVELS:
            yield Finding(path=path, text=f"More than {MAX_LEVELS} levels are hard to read.")
    for path, title, parts in groups:
        shares = [part.share for part in parts if part.share is not None]
        total = sum(shares)
        if len(parts) == 1:
            yield Finding(path=path, text=f"“{title}” has only one part. What is the rest?", fix="rest")
        elif len(parts) > MAX_PARTS:
            yield Finding(path=path, text=f"“{title}” has {len(parts)} parts. Group them, so that there are at most 7.")
        if shares and len(shares) < len(parts):
            yield Finding(path=path, text=f"Only {len(shares)} of the {len(parts)} parts of “{title}” have a share.")
        elif shares and total < 99.5:
            text = f"The parts of “{title}” add up to {total:g} %: {100 - total:g} % is missing."
            yield Finding(path=path, text=text, fix="rest")
        elif shares and total > 100.5:
            yield Finding(path=path, text=f"The parts of “{title}” overlap: they add up to {total:g} %.", fix="scale")


def describe(outline: Outline, findings: list[Finding]) -> str:
    lines = [outline.question]
    for path, part in walk(outline.parts):
        share = "" if part.share is None else f" ({part.share:g} %)"
        lines.append(f"{'  ' * path.count('.')}{path} {part.title}{share}")
    lines.append("" if findings else "\nThe parts cover the question, and none overlap.")
    return "\n".join(lines + [f"- {finding.path or 'whole'}: {finding.text}" for finding in findings])


def result_of(outline: Outline, selected: str = "") -> CallToolResult:
    findings = sorted(check(outline), key=lambda finding: [int(number) for number in finding.path.split(".") if number])
    validated = Validated(outline=outline, findings=findings, selected=selected)
    text = TextContent(type="text", text=describe(outline, findings))
    return CallToolResult(content=[text], structured_content=validated.model_dump())


@apps.tool(view="outline.html", annotations=READ_ONLY)
def show_outline(outline: Outline) -> Annotated[CallToolResult, Validated]:
    "Show the user an outline that breaks a question down into parts, which the user can edit."
    return result_of(outline)


@apps.tool(annotations=READ_ONLY)
def validate_outline(outline: Outline) -> Annotated[CallToolResult, Validated]:
    "Find overlaps and gaps in an outline, without showing it."
    return result_of(outline)


@apps.tool(visibility=["app"], annotations=READ_ONLY)
def refine_node(outline: Outline, path: str, action: Action, value: str = "") -> Annotated[CallToolResult, Validated]:
    "Change one part of an outline, and validate the result. Only the View calls this, and it keeps the outline."
    found = dict(walk(outline.parts))
    if path and path not in found:
        raise ToolError(f"There is no part {path!r}. The parts are {', '.join(found)}.")
    target = found.get(path)
    above, _, number = path.rpartition(".")
    siblings = found[above].parts if above else outline.parts
    place = int(number or 1) - 1
    inside = target.parts if target else outline.parts
    match action:
        case "add":
            inside.append(Part(title=value or "New part"))
            return result_of(outline, f"{path}.{len(inside)}".lstrip("."))
        case "rest":
            missing = max(0.0, 100 - sum(part.share or 0 for part in inside))
            inside.append(Part(title="Everything else", share=missing if any(part.share for part in inside) else None))
            return result_of(outline, f"{path}.{len(inside)}".lstrip("."))
        case "scale":
            total = sum(part.share or 0 for part in inside) or 1
            for part in inside:
                part.share = None if part.share is None else round(100 * part.share / total, 1)
        case _ if target is None:
            raise ToolError(f"{action} changes a part, and the path is empty. Pass the path of a part, such as 2.1.")
        case "rename":
            target.title = value.strip()[:120] or target.title
        case "share":
            target.share = _percent(value)
        case "remove":
            if len(found) == 1:
                raise ToolError("This is the last part. Rename it instead.")
            siblings.pop(place)
            return result_of(outline, f"{above}.{min(place + 1, len(siblings))}".lstrip(".") if siblings else above)
        case "up" | "down":
            other = max(0, min(len(siblings) - 1, place + (1 if action == "down" else -1)))
            siblings.insert(other, siblings.pop(place))
            return result_of(outline, f"{above}.{other + 1}".lstrip("."))
    return result_of(outline, path)


def _percent(text: str) -> float | None:
    try:
        return None if not text.strip() else max(0.0, min(100.0, float(text)))
    except ValueError:
        raise ToolError(f"The share is {text!r}, expected a number from 0 to 100, or nothing.") from None


if __name__ == "__main__":
    server.run("streamable-http" if "--http" in sys.argv else "stdio")
