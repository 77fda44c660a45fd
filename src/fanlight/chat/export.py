"""A conversation as a file: Markdown for people, JSON for programs."""

from collections.abc import Sequence
from datetime import UTC, datetime

import orjson

from fanlight.protocol.jsonrpc import JSONObject


def as_json(conversation: JSONObject, turns: Sequence[JSONObject]) -> bytes:
    """Return a conversation with everything that the page shows of it."""
    return orjson.dumps({**conversation, "turns": turns}, option=orjson.OPT_INDENT_2)


def as_markdown(conversation: JSONObject, turns: Sequence[JSONObject]) -> bytes:
    """Return a conversation to read: messages, answers, and the calls with their results."""
    created = datetime.fromtimestamp(conversation["created"], UTC)
    parts = [f"# {conversation['title']}", f"{created:%Y-%m-%d %H:%M} UTC"]
    for turn in turns:
        sender = f"A View of {turn['sender']}" if turn["sender"] else "You"
        parts += [f"## {sender}", turn["text"], *(f"Attached: {file['name']}" for file in turn["files"])]
        parts += [f"## {turn['model']}", *(_block(block) for block in turn["blocks"])]
        if turn["error"]:
            parts.append(f"**Error:** {turn['error']}")
    return "\n\n".join(part for part in parts if part).encode() + b"\n"


def _block(block: JSONObject) -> str:
    if block["type"] == "text":
        return str(block["text"])
    if block["type"] == "thinking":
        return _quoted(block["text"])
    call = f"**{block['title']}** ({block['name']})\n\n{_fenced(block['arguments'] or '{}', 'json')}"
    return f"{call}\n\n{_fenced(block['result'])}" if block["result"] else call


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}" for line in text.splitlines())


def _fenced(text: str, language: str = "") -> str:
    """Return text in a fence that it does not contain."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text}\n{fence}"
