"""The hosts that `fanlight install` knows: where their configuration is, and what an entry for a server looks like."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from fanlight.host.upstream.config import Command, Url
from fanlight.install.errors import DocumentError
from fanlight.protocol.errors import UsageError
from fanlight.protocol.jsonrpc import JSONObject

Scope = Literal["project", "user"]


@dataclass(frozen=True)
class Machine:
    """What the places of configuration files depend on."""

    home: Path
    environment: Mapping[str, str]
    folder: Path
    """The current folder, which is the project."""
    platform: str = sys.platform

    @property
    def settings(self) -> Path:
        """The folder in which desktop programs keep their settings."""
        if self.platform == "win32":
            return self._folder("APPDATA", self.home / "AppData" / "Roaming")
        return self.home / "Library" / "Application Support" if self.platform == "darwin" else self.xdg

    @property
    def xdg(self) -> Path:
        """The folder for settings of the XDG standard, which some programs use on macOS, too."""
        return self._folder("XDG_CONFIG_HOME", self.home / ".config")

    @property
    def packages(self) -> Path:
        """The folder in which Windows keeps the data of packaged programs."""
        return self._folder("LOCALAPPDATA", self.home / "AppData" / "Local") / "Packages"

    def _folder(self, variable: str, default: Path) -> Path:
        path = Path(self.environment.get(variable) or default)
        return path if path.is_absolute() else default


@dataclass(frozen=True)
class Host:
    """A host, as the value of the command's first argument."""

    name: str
    title: str
    key: str
    """The key of the file under which servers are."""
    places: Mapping[Scope, Callable[[Machine], Path]]
    """Where the file is, by scope; the first is the default."""
    next_step: str
    """What the user does after a server was added or changed."""
    after_removal: str
    """What the user does after a server was removed."""
    format: Literal["json", "yaml"] = "json"
    command_key: str = "command"
    env_key: str = "env"
    url_key: str = "url"
    command_type: str | None = None
    url_type: str | None = None
    no_url: str | None = None
    """Why the file cannot name servers by URL, and what to do instead."""
    more: JSONObject = field(default_factory=dict)
    """What each new entry has besides."""
    project_note: str = ""
    """What the user should know about a server in the file of a project."""

    def scope(self, chosen: Scope | None) -> Scope:
        """Return the chosen scope, or the default. Raise `UsageError` for one that the host does not have."""
        scope = next(iter(self.places)) if chosen is None else chosen
        if scope not in self.places:
            only = " or ".join(self.places)
            raise UsageError(f"{self.title} has no configuration for --scope {scope}. It has one for: {only}.")
        return scope

    def next(self, scope: Scope | None, *, is_removed: bool) -> str:
        """Return what the user does after a change in the file of a scope, or in a file of their own."""
        if is_removed:
            return self.after_removal
        return f"{self.next_step} {self.project_note}" if scope == "project" and self.project_note else self.next_step

    def entry(self, name: str, target: Command | Url) -> JSONObject:
        """Return the entry for a server."""
        named: JSONObject = {"name": name} if self.format == "yaml" else {}
        if isinstance(target, Url):
            if self.no_url is not None:
                raise UsageError(self.no_url)
            of_kind: JSONObject = {"type": self.url_type, self.url_key: target.url, "headers": target.headers}
        else:
            args = list(target.args)
            of_kind = {"type": self.command_type, self.command_key: target.command, "args": args}
            of_kind[self.env_key] = target.env
        return {**named, **{key: value for key, value in of_kind.items() if value or key == "args"}, **self.more}

    def is_same_server(self, old: JSONObject, new: JSONObject) -> bool:
        """Return whether two entries start the same program, perhaps with another Python, or name the same URL."""
        if self.url_key in new or self.url_key in old:
            return bool(old.get(self.url_key) == new.get(self.url_key))
        if new["args"] or old.get("args"):
            return bool(old.get("args") == new["args"])
        return bool(old.get(self.command_key) == new[self.command_key])

    def changes(self, old: JSONObject, new: JSONObject) -> dict[tuple[str, ...], Any]:
        """Return what to write into an entry for the same server; what else it has stays as it is."""
        found: dict[tuple[str, ...], Any] = {}
        for key in ("type", self.command_key, "args", self.url_key):
            if key in new and old.get(key, new[key] if key == "type" else None) != new[key]:
                found[key,] = new[key]
        for key in (self.env_key, "headers"):
            before = old.get(key)
            for name, value in new.get(key, {}).items():
                if not isinstance(before, dict):
                    found[key,] = new[key]
                elif before.get(name) != value:
                    found[key, name] = value
        return found

    def is_disabled(self, entry: JSONObject) -> bool:
        """Return whether the user has turned a server off in the file."""
        return entry.get("disabled") is True or entry.get("enabled") is False


def _claude_desktop(machine: Machine) -> Path:
    folder = machine.settings / "Claude"
    if machine.platform == "win32":
        # A packaged program (MSIX) sees its own copy of the folder.
        packaged = sorted(machine.packages.glob("Claude_*/LocalCache/Roaming/Claude"))
        folder = packaged[0] if packaged else folder
    return folder / "claude_desktop_config.json"


def _claude_code(machine: Machine) -> Path:
    folder = machine.environment.get("CLAUDE_CONFIG_DIR")
    return (Path(folder) if folder else machine.home) / ".claude.json"


def _goose(machine: Machine) -> Path:
    if machine.platform == "win32":
        return machine.settings / "Block" / "goose" / "config" / "config.yaml"
    return machine.xdg / "goose" / "config.yaml"


HOSTS: Final = {
    host.name: host
    for host in (
        Host(
            "claude-desktop",
            "Claude Desktop",
            "mcpServers",
            {"user": _claude_desktop},
            "Quit Claude Desktop and start it again: it reads the file only when it starts.",
            "Quit Claude Desktop and start it again: it reads the file only when it starts.",
            no_url="Claude Desktop reads no URLs from its configuration file. Add the URL in Claude, under Settings, "
            "Connectors, Add custom connector.",
        ),
        Host(
            "claude-code",
            "Claude Code",
            "mcpServers",
            {"project": lambda machine: machine.folder / ".mcp.json", "user": _claude_code},
            "Start claude again. /mcp shows whether the server is connected.",
            "Start claude again: sessions that are open may still have the server.",
            command_type="stdio",
            url_type="http",
            project_note="Claude Code asks before it uses servers of a project.",
        ),
        Host(
            "vscode",
            "VS Code",
            "servers",
            {
                "project": lambda machine: machine.folder / ".vscode" / "mcp.json",
                "user": lambda machine: machine.settings / "Code" / "User" / "mcp.json",
            },
            'Run "MCP: List Servers" in VS Code and start the server; VS Code asks whether you trust it.',
            'If "MCP: List Servers" in VS Code still shows the server, reload the window.',
            command_type="stdio",
            url_type="http",
        ),
        Host(
            "cursor",
            "Cursor",
            "mcpServers",
            {
                "project": lambda machine: machine.folder / ".cursor" / "mcp.json",
                "user": lambda machine: machine.home / ".cursor" / "mcp.json",
            },
            "Restart Cursor, and turn the server on in its MCP settings.",
            "Restart Cursor if the server is still listed in its MCP settings.",
        ),
        Host(
            "goose",
            "Goose",
            "extensions",
            {"user": _goose},
            "Start a new Goose session.",
            "Start a new Goose session: those that are open may still have the server.",
            format="yaml",
            command_key="cmd",
            env_key="envs",
            url_key="uri",
            command_type="stdio",
            url_type="streamable_http",
            more={"description": "", "enabled": True, "timeout": 300},
        ),
    )
}


def servers_of(host: Host, data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the servers of a host's configuration, by name."""
    servers = data.get(host.key)
    if servers is None:
        return {}
    if not isinstance(servers, dict):
        raise DocumentError(f'"{host.key}" is {servers!r}, expected an object of servers by name.')
    return servers
