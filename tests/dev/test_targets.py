"""The servers that a command line names."""

import json
import os
import sys
from pathlib import Path

import pytest

from fanlight.dev.targets import EXAMPLES, parse_headers, resolve_server, servers
from fanlight.host.errors import ConfigError
from fanlight.host.upstream.config import Command, Url


def test_a_file_is_run_by_this_python(tmp_path: Path) -> None:
    path = tmp_path / "weather.py"
    path.touch()
    (served,) = servers([str(path)]).values()
    assert served.target == Command(sys.executable, (str(path),), env=dict(os.environ), cwd=tmp_path)
    assert served.folder == tmp_path
    assert list(servers([str(path)])) == ["weather"]


def test_a_folder_stands_for_its_server_and_names_it(tmp_path: Path) -> None:
    folder = tmp_path / "my app"
    folder.mkdir()
    (folder / "server.py").touch()
    assert list(servers([str(folder)])) == ["my-app"]
    assert list(servers([str(folder / "server.py"), str(folder)])) == ["my-app", "my-app-2"]


def test_urls_configuration_files_and_commands_can_be_mixed(tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"mcpServers": {"files": {"command": "npx", "args": ["x"]}}}), encoding="utf-8")
    found = servers(["http://localhost:3000/mcp", str(config)], ["npx", "some-server"])
    assert list(found) == ["localhost", "files", "some-server"]
    assert found["localhost"].target == Url("http://localhost:3000/mcp")
    assert found["some-server"].target == Command("npx", ("some-server",), env=dict(os.environ))
    assert found["files"].target == Command("npx", ("x",))  # a configuration file defines the environment itself


@pytest.mark.parametrize("entries", ['{"mcpServers": {}}', '{"servers": {"a": {"command": "x", "disabled": true}}}'])
def test_a_configuration_file_without_servers_is_an_error_and_not_the_examples(tmp_path: Path, entries: str) -> None:
    path = tmp_path / "empty.json"
    path.write_text(entries, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"empty\.json names no enabled server"):
        servers([str(path)])


def test_without_arguments_the_examples_are_shown() -> None:
    assert tuple(servers([])) == EXAMPLES


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("nothing.py", r"nothing.py does not exist"),
        ("missing/server.py", r"Its folder missing does not exist either"),
        ("npx", r"'npx' is not a server: expected a .py file.*after two dashes: -- npx \.\.\.$"),
    ],
)
def test_an_argument_that_is_not_a_server_raises_with_what_to_write(argument: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        servers([argument])


def test_headers_reach_the_servers_with_a_url_alone(tmp_path: Path) -> None:
    config = {"mcpServers": {"web": {"url": "https://a.example/mcp", "headers": {"A": "1"}}, "own": {"command": "x"}}}
    path = tmp_path / "servers.json"
    path.write_text(json.dumps(config), encoding="utf-8")
    found = servers([str(path)], headers=parse_headers(["Authorization: Bearer t:1", "X-Y:z"]))
    web, own = found["web"].target, found["own"].target
    assert isinstance(web, Url)
    assert web.headers == {"A": "1", "Authorization": "Bearer t:1", "X-Y": "z"}
    assert isinstance(own, Command)
    assert list(servers([str(path)], only="own")) == ["own"]
    with pytest.raises(ConfigError, match=r"There is no server 'other'\. There are: web, own\."):
        servers([str(path)], only="other")


@pytest.mark.parametrize("text", ["Authorization", "", ": x", "A B: c"])
def test_a_header_that_is_not_one_is_an_error(text: str) -> None:
    with pytest.raises(ConfigError, match="expected NAME:VALUE"):
        parse_headers([text])


def test_every_program_gets_the_environment_of_this_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FANLIGHT_TEST", "here")
    script = tmp_path / "server.py"
    script.write_text("", encoding="utf-8")
    for given in (script, str(script), [sys.executable, str(script)], f"{sys.executable} {script}"):
        target = resolve_server(given)
        assert isinstance(target, Command)
        assert target.env is not None
        assert target.env["FANLIGHT_TEST"] == os.environ["FANLIGHT_TEST"]


@pytest.mark.parametrize("text", ["A: b\nX: c", "A: b\r\n", "A\n: b", "\tA: b", "A: b\0", "A: b\x7f", "A: \x85b"])
def test_a_header_with_a_control_character_is_refused_without_printing_its_value(text: str) -> None:
    with pytest.raises(ConfigError, match="contains the control character") as caught:
        parse_headers([text])
    assert "b" not in str(caught.value).partition(" contains")[0]
