"""Where the hosts keep their configuration, and what an entry looks like."""

from pathlib import Path

import pytest

from fanlight.host.upstream.config import Command, Url
from fanlight.install.hosts import HOSTS, Machine, Scope
from fanlight.protocol.errors import UsageError

HOME, PROJECT = Path("/home/ada"), Path("/work/tides")


def machine(platform: str, **environment: str) -> Machine:
    return Machine(HOME, environment, PROJECT, platform)


LINUX, MAC, WINDOWS = machine("linux"), machine("darwin"), machine("win32", APPDATA="/appdata")


@pytest.mark.parametrize(
    ("host", "scope", "on", "path"),
    [
        ("claude-desktop", "user", LINUX, HOME / ".config/Claude/claude_desktop_config.json"),
        ("claude-desktop", "user", machine("linux", XDG_CONFIG_HOME="/xdg"), "/xdg/Claude/claude_desktop_config.json"),
        (
            "claude-desktop",
            "user",
            machine("linux", XDG_CONFIG_HOME="relative"),
            HOME / ".config/Claude/claude_desktop_config.json",
        ),
        ("claude-desktop", "user", MAC, HOME / "Library/Application Support/Claude/claude_desktop_config.json"),
        ("claude-desktop", "user", WINDOWS, "/appdata/Claude/claude_desktop_config.json"),
        ("claude-desktop", "user", machine("win32"), HOME / "AppData/Roaming/Claude/claude_desktop_config.json"),
        ("claude-code", "project", MAC, PROJECT / ".mcp.json"),
        ("claude-code", "user", WINDOWS, HOME / ".claude.json"),
        ("claude-code", "user", machine("linux", CLAUDE_CONFIG_DIR="/claude"), "/claude/.claude.json"),
        ("vscode", "project", LINUX, PROJECT / ".vscode/mcp.json"),
        ("vscode", "user", LINUX, HOME / ".config/Code/User/mcp.json"),
        ("vscode", "user", MAC, HOME / "Library/Application Support/Code/User/mcp.json"),
        ("vscode", "user", WINDOWS, "/appdata/Code/User/mcp.json"),
        ("cursor", "project", LINUX, PROJECT / ".cursor/mcp.json"),
        ("cursor", "user", WINDOWS, HOME / ".cursor/mcp.json"),
        ("goose", "user", MAC, HOME / ".config/goose/config.yaml"),
        ("goose", "user", WINDOWS, "/appdata/Block/goose/config/config.yaml"),
    ],
)
def test_the_file_of_each_host_on_each_system(host: str, scope: Scope, on: Machine, path: str | Path) -> None:
    assert HOSTS[host].places[scope](on) == Path(path)


def test_a_packaged_claude_desktop_has_its_own_folder(tmp_path: Path) -> None:
    folder = tmp_path / "Packages" / "Claude_abc123" / "LocalCache" / "Roaming" / "Claude"
    folder.mkdir(parents=True)
    on = machine("win32", APPDATA="/appdata", LOCALAPPDATA=str(tmp_path))
    assert HOSTS["claude-desktop"].places["user"](on) == folder / "claude_desktop_config.json"


def test_the_default_scope_is_the_project_where_the_host_has_one() -> None:
    assert {name: host.scope(None) for name, host in HOSTS.items()} == {
        "claude-desktop": "user",
        "claude-code": "project",
        "vscode": "project",
        "cursor": "project",
        "goose": "user",
    }
    with pytest.raises(UsageError, match=r"Goose has no configuration for --scope project. It has one for: user"):
        HOSTS["goose"].scope("project")


COMMAND = Command("/py thon", ("/my apps/server.py",), {"KEY": "value"})
URL = Url("https://maps.example/mcp", {"Authorization": "Bearer t"})


def test_each_host_gets_a_command_in_its_own_words() -> None:
    entries = {name: host.entry("maps", COMMAND) for name, host in HOSTS.items()}
    plain = {"command": "/py thon", "args": ["/my apps/server.py"], "env": {"KEY": "value"}}
    assert entries.pop("goose") == {
        "name": "maps",
        "type": "stdio",
        "cmd": "/py thon",
        "args": ["/my apps/server.py"],
        "envs": {"KEY": "value"},
        "description": "",
        "enabled": True,
        "timeout": 300,
    }
    assert entries == {
        "claude-desktop": plain,
        "claude-code": {"type": "stdio", **plain},
        "vscode": {"type": "stdio", **plain},
        "cursor": plain,
    }
    assert "env" not in HOSTS["cursor"].entry("maps", Command("tides"))
    assert HOSTS["cursor"].entry("maps", Command("tides")) == {"command": "tides", "args": []}


def test_each_host_gets_a_url_in_its_own_words() -> None:
    plain = {"url": "https://maps.example/mcp", "headers": {"Authorization": "Bearer t"}}
    assert HOSTS["cursor"].entry("maps", URL) == plain
    assert HOSTS["vscode"].entry("maps", URL) == {"type": "http", **plain}
    assert HOSTS["claude-code"].entry("maps", URL) == {"type": "http", **plain}
    of_goose = HOSTS["goose"].entry("maps", URL)
    assert (of_goose["type"], of_goose["uri"], of_goose["headers"]) == ("streamable_http", URL.url, plain["headers"])
    assert "args" not in of_goose
    with pytest.raises(UsageError, match="Add the URL in Claude, under Settings, Connectors"):
        HOSTS["claude-desktop"].entry("maps", URL)


def test_the_same_program_with_another_python_is_the_same_server() -> None:
    host = HOSTS["vscode"]
    new = host.entry("maps", COMMAND)
    old = {"command": "/old/python", "args": ["/my apps/server.py"], "env": {"OTHER": "x"}, "disabled": True}
    assert host.is_same_server(old, new)
    assert host.changes(old, new) == {("command",): "/py thon", ("env", "KEY"): "value"}
    assert host.is_disabled(old)
    assert not host.is_same_server({"command": "/py thon", "args": ["/other.py"]}, new)
    assert not host.is_same_server({"url": URL.url}, new)
    assert not host.is_same_server(new, host.entry("maps", URL))
    assert host.changes(new, new) == {}
