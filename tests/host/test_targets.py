import json
import os
import sys
from pathlib import Path

import pytest

from fanlight.dev.targets import EXAMPLES, servers
from fanlight.host.errors import ConfigError
from fanlight.host.upstream.config import Command, Url
from fanlight.inspector.watch import scan


def test_a_file_is_a_server_that_this_python_runs(tmp_path: Path) -> None:
    path = tmp_path / "weather.py"
    path.touch()
    (served,) = servers([str(path)]).values()
    assert served.target == Command(sys.executable, (str(path),), env=dict(os.environ), cwd=tmp_path)
    assert served.folder == tmp_path
    assert list(servers([str(path)])) == ["weather"]


def test_a_folder_means_its_server_and_is_its_name(tmp_path: Path) -> None:
    folder = tmp_path / "my app"
    folder.mkdir()
    (folder / "server.py").touch()
    assert list(servers([str(folder)])) == ["my-app"]
    assert list(servers([str(folder / "server.py"), str(folder)])) == ["my-app", "my-app-2"]


def test_urls_files_of_servers_and_commands_can_be_mixed(tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"mcpServers": {"files": {"command": "npx", "args": ["x"]}}}), encoding="utf-8")
    found = servers(["http://localhost:3000/mcp", str(config)], ["npx", "some-server"])
    assert list(found) == ["localhost", "files", "some-server"]
    assert found["localhost"].target == Url("http://localhost:3000/mcp")
    assert found["some-server"].target == Command("npx", ("some-server",), env=dict(os.environ))
    assert found["files"].target == Command("npx", ("x",))  # such a file says itself what they get


def test_nothing_means_the_examples() -> None:
    assert tuple(servers([])) == EXAMPLES


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("nothing.py", r"nothing.py does not exist"),
        ("missing/server.py", r"Neither does its folder missing"),
        ("npx", r"'npx' is no server: expected a .py file.*fanlight dev -- npx"),
    ],
)
def test_what_is_no_server_says_what_to_write(given: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        servers([given])


def test_only_files_that_can_matter_are_watched(tmp_path: Path) -> None:
    for name in ("server.py", "view.html", "a.log", "node_modules/x.js", ".git/x.py", "src/deep.css"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
    found = {str(Path(path).relative_to(tmp_path)) for path in scan(tmp_path)}
    assert found == {"server.py", "view.html", str(Path("src/deep.css"))}
