"""JSON with comments, edited as text: comments, trailing commas, the order of keys and line ends stay as they are."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from fanlight.install.errors import DocumentError

Path = Sequence[str]
"""The keys that lead from the document to a member."""

_SPACE: Final = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING: Final = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_WORD: Final = re.compile(r"[-+.0-9A-Za-z]+")
_REST_OF_LINE: Final = re.compile(r"[ \t]*(?:/\*[^\r\n]*?\*/[ \t]*)*(?://[^\r\n]*)?")
_MAX_DEPTH: Final = 100


@dataclass(frozen=True)
class _Value:
    start: int
    end: int
    data: Any
    members: tuple["_Member", ...] = ()


@dataclass(frozen=True)
class _Member:
    start: int
    key: str
    value: _Value
    comma: int | None
    """Where the comma after it is."""


class JsonDocument:
    """A document whose top level is an object. Raises `DocumentError` for text that is not one."""

    def __init__(self, text: str) -> None:
        self.text = text if text.strip() else "{}\n"
        self._root = _Parser(self.text).parse()
        if not isinstance(self._root.data, dict):
            raise DocumentError(f"its top level is {_kind(self._root.data)}, expected an object in braces.")

    @property
    def data(self) -> dict[str, Any]:
        """What the document says, without its comments."""
        data: dict[str, Any] = self._root.data
        return data

    def with_value(self, path: Path, value: object) -> "JsonDocument":
        """Return the document with a member added or replaced, and the objects around it added if they are missing."""
        parent = self._root
        for depth, key in enumerate(path):
            member = _find(parent, key)
            if member is None:
                for outer in reversed(path[depth + 1 :]):
                    value = {outer: value}
                return JsonDocument(self._with_member(parent, key, value))
            if depth < len(path) - 1 and not isinstance(member.value.data, dict):
                raise DocumentError(f'"{key}" is {_kind(member.value.data)}, expected an object in braces.')
            found, parent = member, member.value
        return JsonDocument(self._replaced(found, value))

    def without(self, path: Path) -> "JsonDocument":
        """Return the document without a member that it has."""
        parent = self._root
        for key in path[:-1]:
            parent = _existing(parent, key).value
        return JsonDocument(self._without_member(parent, _existing(parent, path[-1])))

    # Text

    def _with_member(self, parent: _Value, key: str, value: object) -> str:
        text = self.text
        if not parent.members:
            indent = self._indent_of_line(parent.start)
            inner = text[parent.start + 1 : parent.end - 1].rstrip()
            inside = self._newline + indent + self._unit + self._member(key, value, indent + self._unit)
            return text[: parent.start + 1] + inner + inside + self._newline + indent + text[parent.end - 1 :]
        last = parent.members[-1]
        indent = self._indent_of_line(last.start)
        if text[: last.start].endswith(("\n" + indent, "\r" + indent)):
            between = "," if last.comma is None else ""
            after = last.value.end if last.comma is None else last.comma + 1
            rest = _REST_OF_LINE.match(text, after)
            assert rest is not None
            new = self._newline + indent + self._member(key, value, indent)
            return text[:after] + between + text[after : rest.end()] + new + text[rest.end() :]
        member = f"{_dump(key)}: {_dump(value)}"
        if last.comma is None:
            return f"{text[: last.value.end]}, {member}{text[last.value.end :]}"
        return f"{text[: last.comma + 1]} {member}{text[last.comma + 1 :]}"

    def _replaced(self, member: _Member, value: object) -> str:
        start, end = member.value.start, member.value.end
        is_on_one_line = "\n" not in self.text[start:end]
        new = _dump(value) if is_on_one_line else self._format(value, self._indent_of_line(member.start))
        return self.text[:start] + new + self.text[end:]

    def _without_member(self, parent: _Value, member: _Member) -> str:
        text, start, end = self.text, member.start, member.value.end
        if member.comma is not None:
            # A comment between the value and its comma stays.
            text = text[: member.comma] + text[member.comma + 1 :]
            parent_end = parent.end - 1
        else:
            parent_end = parent.end
            before = [each for each in parent.members if each.start < start]
            if before and (comma := before[-1].comma) is not None:
                text = text[:comma] + text[comma + 1 :]
                start, end, parent_end = start - 1, end - 1, parent_end - 1
        line_start = max(text.rfind("\n", 0, start), text.rfind("\r", 0, start)) + 1
        starts_line = not text[line_start:start].strip()
        blank = re.compile(r"[ \t]*(?:\r\n|\n|\r)").match(text, end)
        if blank is not None and starts_line:
            start, end = line_start, blank.end()
        elif member.comma is None and not starts_line:
            start = len(text[:start].rstrip(" \t"))
        elif (spaces := re.compile(r"[ \t]+").match(text, end)) is not None:
            end = spaces.end()
        if len(parent.members) == 1 and not (text[parent.start + 1 : start] + text[end : parent_end - 1]).strip():
            start, end = parent.start + 1, parent_end - 1
        return text[:start] + text[end:]

    def _member(self, key: str, value: object, indent: str) -> str:
        return f"{_dump(key)}: {self._format(value, indent)}"

    def _format(self, value: object, indent: str) -> str:
        lines = json.dumps(value, indent=self._unit, ensure_ascii=False).split("\n")
        return (self._newline + indent).join(lines)

    def _indent_of_line(self, position: int) -> str:
        start = max(self.text.rfind("\n", 0, position), self.text.rfind("\r", 0, position)) + 1
        found = re.compile(r"[ \t]*").match(self.text, start)
        assert found is not None
        return found[0]

    @property
    def _unit(self) -> str:
        for member in self._root.members:
            if self._indent_of_line(member.start):
                return self._indent_of_line(member.start)
        return "  "

    @property
    def _newline(self) -> str:
        return "\r\n" if "\r\n" in self.text else "\n"


def _find(parent: _Value, key: str) -> _Member | None:
    found = [member for member in parent.members if member.key == key]
    if len(found) > 1:
        raise DocumentError(f'it has "{key}" {len(found)} times in one object. Keep one of them.')
    return found[0] if found else None


def _existing(parent: _Value, key: str) -> _Member:
    member = _find(parent, key)
    assert member is not None, key
    return member


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _kind(data: object) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", int: "a number", float: "a number"}
    return names.get(type(data), "null")


class _Parser:
    """Reads JSON with comments and trailing commas, and where each value is."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def parse(self) -> _Value:
        value = self._value(0)
        self._skip()
        if self._at < len(self._text):
            raise self._error("the end of the file")
        return value

    def _value(self, depth: int) -> _Value:
        self._skip()
        start = self._at
        if depth > _MAX_DEPTH:
            raise DocumentError(f"it is nested more than {_MAX_DEPTH} levels deep.")
        match self._text[start : start + 1]:
            case "{":
                members = self._members(depth)
                return _Value(start, self._at, {each.key: each.value.data for each in members}, members)
            case "[":
                items = self._items(depth)
                return _Value(start, self._at, items)
            case '"':
                data: object = self._string()
                return _Value(start, self._at, data)
        word = _WORD.match(self._text, start)
        try:
            data = json.loads(word[0] if word else "")
        except ValueError:
            raise self._error("a value") from None
        assert word is not None
        self._at = word.end()
        return _Value(start, self._at, data)

    def _members(self, depth: int) -> tuple[_Member, ...]:
        members = []
        self._take("{")
        while not self._takes("}"):
            start = self._at
            key = self._string()
            self._skip()
            self._take(":")
            value = self._value(depth + 1)
            comma = self._comma("}")
            members.append(_Member(start, key, value, comma))
        return tuple(members)

    def _items(self, depth: int) -> list[Any]:
        items = []
        self._take("[")
        while not self._takes("]"):
            items.append(self._value(depth + 1).data)
            self._comma("]")
        return items

    def _comma(self, end: str) -> int | None:
        self._skip()
        at = self._at
        if self._text.startswith(",", at):
            self._at += 1
            return at
        if not self._text.startswith(end, at):
            raise self._error(f"a comma or {end}")
        return None

    def _string(self) -> str:
        found = _STRING.match(self._text, self._at)
        try:
            text = json.loads(found[0] if found else "")
        except ValueError:
            raise self._error("a string in double quotes") from None
        assert found is not None
        self._at = found.end()
        return str(text)

    def _takes(self, mark: str) -> bool:
        self._skip()
        if self._text.startswith(mark, self._at):
            self._at += 1
            return True
        return False

    def _take(self, mark: str) -> None:
        if not self._text.startswith(mark, self._at):
            raise self._error(mark)
        self._at += 1

    def _skip(self) -> None:
        found = _SPACE.match(self._text, self._at)
        assert found is not None
        self._at = found.end()

    def _error(self, expected: str) -> DocumentError:
        line = self._text.count("\n", 0, self._at) + 1
        column = self._at - self._text.rfind("\n", 0, self._at)
        return DocumentError(f"it is not JSON: expected {expected} at line {line}, column {column}.")
