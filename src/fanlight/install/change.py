"""What a configuration file becomes with a server, or without it: decided before anything is written."""

import json
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, Self

from fanlight.install.config_file import ConfigFile
from fanlight.install.errors import DocumentError, InstallError
from fanlight.install.hosts import Host, servers_of
from fanlight.install.json_document import JsonDocument
from fanlight.protocol.jsonrpc import JSONObject

Action = Literal["added", "updated", "replaced", "removed", "unchanged", "absent"]


class Document(Protocol):
    """A configuration file that is edited as text."""

    @property
    def text(self) -> str:
        """The text of the file."""

    @property
    def data(self) -> dict[str, Any]:
        """What the text says."""

    def with_value(self, path: Sequence[str], value: object) -> Self:
        """Return the document with a member added or replaced."""

    def without(self, path: Sequence[str]) -> Self:
        """Return the document without a member."""


@dataclass(frozen=True)
class Change:
    """A change that is not written yet."""

    host: Host
    name: str
    file: ConfigFile
    action: Action
    entry: JSONObject | None
    """The entry after the change."""
    text: str | None = None
    """The new text, or None if nothing changes."""
    notes: tuple[str, ...] = ()

    def write(self) -> Path | None:
        """Write the file, if it changes, and return the backup, if there was a file."""
        if self.text is None:
            return None
        has_values = any((self.entry or {}).get(key) for key in (self.host.env_key, "headers"))
        return self.file.write(self.text, is_secret=has_values)


def install(host: Host, path: Path, name: str, entry: JSONObject, *, force: bool = False) -> Change:
    """Return the change that adds or updates a server. Raise `InstallError` if another server has its name."""
    file = ConfigFile(path)
    try:
        return _install(host, file, name, entry, force)
    except DocumentError as error:
        addition = _document(host, "").with_value((host.key, name), entry).text
        raise InstallError(f"{path} cannot be edited: {error} Nothing was written. Add this:\n{addition}") from None


def remove(host: Host, path: Path, name: str, entry: JSONObject, *, force: bool = False) -> Change:
    """Return the change that removes a server. Raise `InstallError` if another server has its name."""
    file = ConfigFile(path)
    try:
        return _remove(host, file, name, entry, force)
    except DocumentError as error:
        raise InstallError(f"{path} cannot be edited: {error} Nothing was written. Remove {name} yourself.") from None


def _install(host: Host, file: ConfigFile, name: str, entry: JSONObject, force: bool) -> Change:
    document = _document(host, file.text)
    old = servers_of(host, document.data).get(name)
    values: dict[tuple[str, ...], Any] = {(): entry}
    action: Action = "added"
    if old is not None and _is_same(host, file, name, old, entry, force):
        values, action = host.changes(old, entry), "updated"
    elif old is not None:
        action = "replaced"
    expected = deepcopy(document.data)
    for keys, value in values.items():
        document = document.with_value((host.key, name, *keys), value)
        _set(expected, (host.key, name, *keys), value)
    _check_edit(document, expected)
    after = servers_of(host, expected)[name]
    notes = (f"{name} is turned off in {file.path}.",) if host.is_disabled(after) else ()
    if not values:
        return Change(host, name, file, "unchanged", after, notes=notes)
    return Change(host, name, file, action, after, document.text, notes)


def _remove(host: Host, file: ConfigFile, name: str, entry: JSONObject, force: bool) -> Change:
    document = _document(host, file.text)
    servers = servers_of(host, document.data)
    if name not in servers:
        return Change(host, name, file, "absent", None)
    _is_same(host, file, name, servers[name], entry, force)
    expected = deepcopy(document.data)
    del expected[host.key][name]
    document = document.without((host.key, name))
    _check_edit(document, expected)
    return Change(host, name, file, "removed", None, document.text)


def _document(host: Host, text: str) -> Document:
    if host.format == "json":
        return JsonDocument(text)
    from fanlight.install.yaml_document import YamlDocument  # PyYAML is needed for this format only

    return YamlDocument(text)


def _is_same(host: Host, file: ConfigFile, name: str, old: object, entry: JSONObject, force: bool) -> bool:
    """Return whether an entry is for the same server. Raise `InstallError` for another one, unless it is forced."""
    if isinstance(old, dict) and host.is_same_server(old, entry):
        return True
    if not force:
        found = old.get(host.command_key) or old.get(host.url_key) if isinstance(old, dict) else old
        raise InstallError(
            f"{file.path} has another server with the name {name}: {json.dumps(found)}. Choose another name with "
            "--name, or add --force."
        )
    return False


def _set(data: dict[str, Any], path: Sequence[str], value: object) -> None:
    for key in path[:-1]:
        if data.get(key) is None:
            data[key] = {}
        data = data[key]
    data[path[-1]] = value


def _check_edit(document: Document, expected: object) -> None:
    """Raise `DocumentError` if an edited text does not say exactly what it should."""
    if document.data != expected:
        raise DocumentError("its form is not one that can be changed without touching something else.")
