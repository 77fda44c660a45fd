"""What servers and tools are called in questions to the user: short, visible, and without hiding what is certain."""

import re
import unicodedata
from collections.abc import Iterable
from typing import Final

from fanlight.protocol.jsonrpc import JSONObject

_INVISIBLE: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_MAX_TITLE: Final = 40
_MAX_NAME: Final = 64
_ORIGIN: Final = re.compile(r"https?://[^/?#\\]*", re.IGNORECASE)
_PLAIN_NAME: Final = re.compile(r"[A-Za-z0-9_./-]+")
_QUOTES: Final = str.maketrans(dict.fromkeys('"“”„«»', "'"))


def visible_name(text: str, most: int = _MAX_TITLE) -> str:
    """Return a name on one line, without invisible characters, and cut if it is long."""
    shown = "".join(char if unicodedata.category(char) not in _INVISIBLE else " " for char in text)
    shown = " ".join(shown.split())
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"


def shortened(text: str, start: int = 50, end: int = 40) -> str:
    """Return a text without its middle if it is long. The origin of a URL is shortened by itself, and so stays."""
    origin = _ORIGIN.match(text)
    kept = "" if origin is None else origin[0]
    return _without_middle(kept, start, end) + _without_middle(text[len(kept) :], start, end)


def _without_middle(text: str, start: int, end: int) -> str:
    return text if len(text) <= start + end else f"{text[:start]}…{text[-end:]}"


def title_of(tool: JSONObject) -> str | None:
    """Return the title that a server gives a tool, or None."""
    annotations = tool.get("annotations")
    hints = annotations if isinstance(annotations, dict) else {}
    for title in (tool.get("title"), hints.get("title")):
        if isinstance(title, str) and visible_name(title):
            return visible_name(title)
    return None


def tool_title(tools: Iterable[JSONObject], name: str) -> str | None:
    """Return the title of the tool with this name, or None."""
    return next((title_of(tool) for tool in tools if tool.get("name") == name), None)


def app_name(server: str, title: str | None) -> str:
    """Return what an app is called in a sentence: by its title and its server, or by its server alone."""
    return f"An app of {server}" if title is None else f"{visible_name(title)} ({server})"


def tool_label(tool: JSONObject) -> str:
    """Return what a tool is called in a question: its name, after its title in quotes if it has another one.

    The title is a claim of the server, and the name is what is called. Free text is in quotes, so that it cannot
    continue the sentence that it is in.
    """
    name, title = str(tool.get("name")), title_of(tool)
    label = visible_name(name, _MAX_NAME)
    if _PLAIN_NAME.fullmatch(name) is None:
        label = _quoted(label)
    return label if title is None or title == name else f"{_quoted(title)} ({label})"


def granted_action(kind: str, key: str, tools: Iterable[JSONObject] = ()) -> str:
    """Return what a grant of a kind allows, after "may". A tool has its title if it is among `tools`."""
    name = tool_label(next((tool for tool in tools if kind == "tool" and tool.get("name") == key), {"name": key}))
    return {
        "tool": f"run {name}",
        "app-tool": f"let the model run {name} inside it",
        "link": f"open pages of {_site(key)}",
        "download": "save files",
        "message": "send messages in your name",
        "model-context": "tell the model what it likes",
        "sampling": "ask the model",
        "document": "show this very document",
        "external": f"show pages of {_site(key)}",
    }[kind]


def _site(key: str) -> str:
    """Return a host name or an origin with its end, which is the part that has an owner."""
    return shortened(visible_name(key, len(key)))


def _quoted(text: str) -> str:
    return f"“{text.translate(_QUOTES)}”"
