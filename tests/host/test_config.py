import json
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastmcp import FastMCP
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.server import MCPServer
from mcp.server.lowlevel import Server

from fanlight.host.errors import ConfigError
from fanlight.host.upstream.config import Command, InProcess, Streams, Url, load_config, parse_target


def written(folder: Path, document: object) -> Path:
    path = folder / "config.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document), encoding="utf-8")
    return path


def test_a_command_line_is_split_like_in_a_shell() -> None:
    assert parse_target("python 'my server.py' --port 3") == Command("python", ("my server.py", "--port", "3"))


def test_on_windows_backslashes_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fanlight.host.upstream.config.os.name", "nt")
    assert parse_target(r'C:\py\python.exe "C:\my files\s.py"') == Command(r"C:\py\python.exe", (r"C:\my files\s.py",))


def test_a_list_is_a_command_line_and_may_contain_paths(tmp_path: Path) -> None:
    assert parse_target(["python", tmp_path / "s.py"]) == Command("python", (str(tmp_path / "s.py"),))


@pytest.mark.parametrize("url", ["http://localhost:8000/mcp", "https://maps.example/mcp"])
def test_a_url_is_an_http_server(url: str) -> None:
    assert parse_target(url) == Url(url)


@pytest.mark.parametrize("server", [MCPServer("a"), FastMCP("a"), Server("a")])
def test_a_server_object_is_used_in_process(server: object) -> None:
    found = parse_target(server)
    assert isinstance(found, InProcess)
    assert isinstance(found.server, Server)


def test_parameters_of_the_sdk_are_a_command() -> None:
    given = StdioServerParameters(command="node", args=["s.js"], env={"A": "1"}, cwd="/tmp")
    assert parse_target(given) == Command("node", ("s.js",), {"A": "1"}, Path("/tmp"))


def test_a_transport_can_be_opened_once_and_a_function_again() -> None:
    transport = stdio_client(StdioServerParameters(command="node"))
    once, again = parse_target(transport), parse_target(lambda: transport)
    assert isinstance(once, Streams)
    assert isinstance(again, Streams)
    assert (once.once, again.once) == (True, False)
    assert once.open() is transport


def test_auth_is_passed_with_a_url() -> None:
    auth = httpx2.BasicAuth("user", "secret")
    assert parse_target({"url": "https://a.example/mcp", "auth": auth}) == Url("https://a.example/mcp", auth=auth)


def test_auth_in_a_configuration_file_is_ignored(tmp_path: Path) -> None:
    document = {"mcpServers": {"a": {"url": "https://a.example/mcp", "auth": "oauth"}}}
    assert load_config(written(tmp_path, document)) == {"a": Url("https://a.example/mcp")}


@pytest.mark.parametrize("key", ["envFile", "autoApprove", "timeout", "enabled", "oauth", "transportType", "serverUrl"])
def test_keys_of_other_hosts_are_ignored(key: str) -> None:
    assert parse_target({"url": "https://a.example/mcp", key: True}) == Url("https://a.example/mcp")


def test_the_repr_of_a_target_hides_secrets() -> None:
    shown = f"{Url('https://u:pw@a.example/mcp?key=k1', {'Authorization': 'k2'})!s}"
    shown += repr(Command("a", env={"TOKEN": "k2"})) + repr(Url("https://a.example", {"Authorization": "k2"}))
    assert not any(secret in shown for secret in ("pw", "k1", "k2"))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (3, "expected a command line, a URL"),
        ("", 'Write "python server.py"'),
        ([], 'Write "python server.py"'),
        ([1, 2], 'Write "python server.py"'),
        ("python 'open", "cannot be split into arguments"),
        ("ftp://a.example", "not an http or https URL"),
        ("http://", "not an http or https URL"),
        ({"args": []}, 'neither "command" nor "url"'),
        ({"type": "http", "command": "x"}, 'neither "command" nor "url"'),
        ({"ulr": "https://a.example/mcp"}, 'clock has the key "ulr", which is not known. Write "url".'),
        ({"url": "https://a.example/mcp", "heders": {}}, 'the key "heders", which is not known. Write "headers".'),
        ({"type": "sse", "url": "https://a.example/sse"}, "streamable HTTP replaced"),
        ({"url": "https://a.example/mcp", "auth": "oauth"}, "clock.auth is 'oauth' (str), expected an httpx2.Auth"),
        ({"command": "x", "auth": httpx2.BasicAuth("u", "p")}, 'clock.auth is for a server with a "url"'),
    ],
)
def test_an_invalid_target_raises_with_what_to_write(given: Any, words: str) -> None:
    with pytest.raises(ConfigError, match=r"^clock: |^clock has|^clock\.") as refused:
        parse_target(given, "clock")
    assert words in str(refused.value)


def test_a_claude_desktop_file_is_read(tmp_path: Path) -> None:
    document = {
        "mcpServers": {
            "clock": {"command": "python", "args": ["s.py"], "env": {"A": "1"}, "cwd": "servers"},
            "maps": {"type": "http", "url": "https://maps.example/mcp", "headers": {"X": "y"}},
            "plain": {"url": "https://plain.example/mcp"},
            "off": {"command": "never", "disabled": True},
        }
    }
    assert load_config(written(tmp_path, document)) == {
        "clock": Command("python", ("s.py",), {"A": "1"}, tmp_path / "servers"),
        "maps": Url("https://maps.example/mcp", {"X": "y"}),
        "plain": Url("https://plain.example/mcp"),
    }


def test_a_vs_code_file_is_read_and_its_variables_are_expanded(tmp_path: Path) -> None:
    document = {"servers": {"a": {"type": "stdio", "command": "${env:BIN}/a", "env": {"KEY": "${env:KEY}"}}}}
    found = load_config(written(tmp_path, document), environ={"BIN": "/opt", "KEY": "k"})
    assert found == {"a": Command("/opt/a", (), {"KEY": "k"})}


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ("{", "is not JSON"),
        ({}, "names no servers"),
        ([], "names no servers"),
        ({"mcpServers": {"a": "python s.py"}}, "expected an object"),
        ({"mcpServers": {"a": {"command": 3}}}, "a.command is 3 (int), expected a string"),
        ({"mcpServers": {"a": {"command": "x", "args": "s.py"}}}, "expected a list of strings"),
        ({"mcpServers": {"a": {"command": "x", "args": [1]}}}, "a.args[0] is 1 (int), expected a string"),
        ({"mcpServers": {"a": {"command": "x", "env": []}}}, "expected an object of strings"),
        ({"mcpServers": {"a": {"command": "x", "env": {"P": 1}}}}, "a.env.P is 1 (int), expected a string"),
        ({"mcpServers": {"a": {"command": "${env:NOPE}"}}}, "NOPE, which is not set"),
    ],
)
def test_an_invalid_file_raises_with_the_place_and_what_to_write(tmp_path: Path, document: Any, words: str) -> None:
    path = written(tmp_path, document)
    with pytest.raises(ConfigError) as refused:
        load_config(path, environ={})
    assert str(refused.value).startswith(str(path))
    assert words in str(refused.value)


def test_a_missing_file_is_named_in_the_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.json cannot be read: No such file"):
        load_config(tmp_path / "nowhere.json")


def test_affinity_is_read_from_entries_of_commands_and_urls() -> None:
    command = parse_target({"command": "python", "affinity": "conversation"})
    url = parse_target({"url": "https://maps.example/mcp", "affinity": "conversation"})
    assert isinstance(command, Command)
    assert isinstance(url, Url)
    assert command.affinity == url.affinity == "conversation"
    stateless = parse_target({"command": "python", "affinity": "none"})
    assert isinstance(stateless, Command)
    assert stateless.affinity == "none"
    with pytest.raises(ConfigError, match=r"server\.affinity is 'user' \(str\), expected \"conversation\""):
        parse_target({"command": "python", "affinity": "user"})
