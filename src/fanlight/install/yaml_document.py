"""YAML, edited as text: comments, quotes, the order of keys and line ends stay as they are.

PyYAML parses, and says where values are. New values are written as JSON on one line, which is YAML, too.
"""

import json
import re
from collections.abc import Sequence
from copy import deepcopy
from typing import Any, Final

import yaml

from fanlight.install.errors import DocumentError

_INDENT: Final = "  "


class YamlDocument:
    """A document whose top level is a mapping. Raises `DocumentError` for text that is not one."""

    def __init__(self, text: str) -> None:
        self.text = text
        try:
            self._root = yaml.compose(text, Loader=yaml.SafeLoader)
            data = yaml.safe_load(text)
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            where = "" if mark is None else f" at line {mark.line + 1}, column {mark.column + 1}"
            raise DocumentError(f"it is not YAML: {getattr(error, 'problem', None) or error}{where}.") from None
        if data is not None and not isinstance(data, dict):
            raise DocumentError(f"its top level is a {type(data).__name__}, expected a mapping.")
        self._data = data

    @property
    def data(self) -> dict[str, Any]:
        """What the document says, without its comments."""
        return {} if self._data is None else self._data

    def with_value(self, path: Sequence[str], value: object) -> "YamlDocument":
        """Return the document with a member added or replaced, and the mappings around it added if they are missing."""
        parent = self._root if self._data else None
        place, indent = len(self.text), ""
        member: Any = None
        for depth, key in enumerate(path):
            if parent is not None and parent.flow_style:
                return self._with_flow(parent, path[:depth], path[depth:], value)
            member = None if parent is None else _find(parent, key)
            if member is None:
                return YamlDocument(self._inserted(parent, place, indent, path[depth:], value))
            place, indent = member[0].end_mark.index, " " * member[0].start_mark.column + _INDENT
            parent = _mapping(member, key) if depth < len(path) - 1 else None
        if isinstance(value, dict):
            return self.without(path).with_value(path, value)
        start, end = member[0].end_mark.index + 1, _end(member[1])
        return YamlDocument(f"{self.text[:start]} {_dump(value)}{self.text[end:]}")

    def without(self, path: Sequence[str]) -> "YamlDocument":
        """Return the document without a member that it has."""
        parent = self._root
        outer: Any = None
        member: Any = None
        for depth, key in enumerate(path):
            if parent.flow_style:
                return self._with_flow(parent, path[:depth], path[depth:], None)
            outer, member = member, _find(parent, key)
            parent = member[1]
        start = self.text.rfind("\n", 0, member[0].start_mark.index) + 1
        end = self._line_end(_end(member[1]))
        if outer is None or len(outer[1].value) > 1:
            return YamlDocument(self.text[:start] + self.text[end:])
        outer_end = outer[0].end_mark.index + 1
        return YamlDocument(f"{self.text[:outer_end]} {{}}{self.text[outer_end:start]}{self.text[end:]}")

    def _with_flow(self, node: Any, outer: Sequence[str], path: Sequence[str], value: object) -> "YamlDocument":
        """Return the document with a mapping in braces written again, with a value in it, or without it (None)."""
        start, end = node.start_mark.index, node.end_mark.index
        if {"#", "\n"} <= set(self.text[start:end]):  # on one line, it is in quotes
            raise DocumentError(f'"{outer[-1]}" is in braces, with a comment in it.')
        data: Any = self.data
        for key in outer:
            data = data[key]
        written = inner = deepcopy(data)
        for key in path[:-1]:
            inner = inner.setdefault(key, {})
        if value is None:
            del inner[path[-1]]
        else:
            inner[path[-1]] = value
        return YamlDocument(self.text[:start] + json.dumps(written, ensure_ascii=False) + self.text[end:])

    def _inserted(self, parent: Any, place: int, indent: str, path: Sequence[str], value: object) -> str:
        """Return the text with a member after the last one of its parent, or after the key of an empty parent."""
        text, newline = self.text, "\r\n" if "\r\n" in self.text else "\n"
        if parent is not None:
            last = parent.value[-1]
            indent = " " * last[0].start_mark.column
            place = self._line_end(_end(last[1]))
        elif indent:  # the key of a parent without members: {} or nothing follows
            colon = text.index(":", place) + 1
            empty = re.compile(r"[ \t]*(?:\{[ \t]*\}|null|~)?").match(text, colon)
            assert empty is not None
            text = text[:colon] + text[empty.end() :]
            place = self._line_end(colon, text)
        before = text[:place]
        if before and not before.endswith("\n"):
            before += newline
        return before + newline.join(_lines(path, value, indent)) + newline + text[place:]

    def _line_end(self, position: int, text: str | None = None) -> int:
        text = self.text if text is None else text
        if position and text[position - 1] == "\n":  # such as after a block scalar
            return position
        end = text.find("\n", position)
        return len(text) if end < 0 else end + 1


def _lines(path: Sequence[str], value: object, indent: str) -> list[str]:
    """Return the lines of a member: keys of the outer mappings as a block, those of its values as JSON."""
    *outer, key = path
    lines = [f"{indent}{_INDENT * depth}{each}:" for depth, each in enumerate(outer)]
    indent += _INDENT * len(outer)
    if not isinstance(value, dict):
        return [*lines, f"{indent}{key}: {_dump(value)}"]
    inner = [f"{indent}{_INDENT}{name}: {_dump(each)}" for name, each in value.items()]
    return [*lines, f"{indent}{key}:", *inner]


def _dump(value: object) -> str:
    if isinstance(value, str) and re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", value) and yaml.safe_load(value) == value:
        return value
    return json.dumps(value, ensure_ascii=False)


def _find(parent: Any, key: str) -> Any:
    """Return the nodes of a key and its value, or None."""
    found = [member for member in parent.value if member[0].value == key]
    if len(found) > 1:
        raise DocumentError(f'it has "{key}" {len(found)} times in one mapping. Keep one of them.')
    return found[0] if found else None


def _mapping(member: tuple[Any, Any], key: str) -> Any:
    """Return the value of a member for more members, or None if it is empty."""
    value = member[1]
    if isinstance(value, yaml.MappingNode):
        return value if value.value else None
    if value.tag == "tag:yaml.org,2002:null":
        return None
    raise DocumentError(f'"{key}" is not a mapping.')


def _end(node: Any) -> int:
    """Return where a value ends. The end of a block that PyYAML gives is the start of the next one, after comments."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end(last[1] if isinstance(last, tuple) else last)
    end: int = node.end_mark.index
    return end
