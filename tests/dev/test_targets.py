"""The servers that a command line names."""

import json
import os
import sys
from pathlib import Path

import pytest

from fanlight.dev.targets import parse_headers, resolve_server, servers
from fanlight.host.errors import ConfigError
from fanlight.host.upstream.config import Command, Url


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
