"""`fanlight build`: the file that it writes, what it reports, and what it refuses to overwrite."""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from fanlight.cli import main
from fanlight.protocol.source_lines import VARIABLE
from support.docs import ROOT

PAGE = """<!doctype html>
<html lang="en">
<head>
<title>Ü</title>
<link rel="stylesheet" href="clock.css">
<script type="module" src="clock.js"></script>
</head>
<body><img src="face.png" alt=""></body>
</html>
"""

SERVER = """from mcp.server import MCPServer
from fanlight import Apps

server = MCPServer("clock")


@Apps(server).tool(view="clock.html")
def get_time() -> str:
    "The time."
    return "12:00"


server.run()
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(VARIABLE, raising=False)
    (tmp_path / "clock.html").write_text(PAGE, encoding="utf-8")
    (tmp_path / "clock.css").write_text("p { color: red; background: url(face.png) }", encoding="utf-8")
    (tmp_path / "clock.js").write_text(
        'import { App } from "fanlight";\nawait new App().connect();\n', encoding="utf-8"
    )
    (tmp_path / "face.png").write_bytes(b"\x89PNG" * 300)
    return tmp_path


def report(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(capsys.readouterr().out)
    return result


def test_a_view_is_written_to_one_file_and_its_parts_add_up(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["build", "clock.html", "-o", "out/clock.html", "--json"]) == 0
    written = (folder / "out" / "clock.html").read_bytes()
    assert b'src="clock.js"' not in written
    (view,) = report(capsys)["views"]
    assert view["bytes"] == len(written) == sum(part["bytes"] for part in view["parts"])
    assert 0 < view["gzip"] < view["bytes"]
    sizes = [part["bytes"] for part in view["parts"]]
    assert sizes == sorted(sizes, reverse=True)
    by_kind = {part["kind"]: part for part in view["parts"]}
    assert by_kind["View SDK"]["name"] == "view.js"
    assert by_kind["script"]["name"] == "clock.js"
    assert by_kind["image"] == {
        "kind": "image",
        "name": "image/png",
        "bytes": 2 * (len("data:image/png;base64,") + 1600),
    }
    assert by_kind["style"]["bytes"] < 100


def test_the_table_has_the_total_and_the_largest_part_first(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["build", "clock.html"]) == 0
    first, total, largest, *_ = capsys.readouterr().out.splitlines()
    assert first == "clock.bundled.html"
    assert "bytes in total" in total
    assert "View SDK" in largest


@pytest.mark.process
def test_packages_are_counted_by_name(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "node_modules").symlink_to(ROOT / "node_modules", target_is_directory=True)
    script = 'import { h } from "preact";\nconsole.log(h);\n'
    (folder / "clock.js").write_text(script, encoding="utf-8")
    assert main(["build", "clock.html", "--json"]) == 0
    (view,) = report(capsys)["views"]
    assert "preact" in {part["name"] for part in view["parts"] if part["kind"] == "package"}


@pytest.mark.parametrize("options", [["-o", "clock.html"], ["-o", "clock.js", "--force"], ["-o", "./clock.css"]])
def test_a_source_of_the_view_is_never_overwritten(
    folder: Path, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path: path.read_bytes() for path in folder.iterdir()}
    assert main(["build", "clock.html", *options]) == 2
    assert "is a source of a View and is never overwritten" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize(
    ("options", "name"),
    [([], "clock.bundled.html"), (["-o", "one.html"], "one.html"), (["-o", "server.py"], "server.py")],
)
def test_a_file_that_exists_is_overwritten_only_with_force(
    folder: Path, options: list[str], name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    output = folder / name
    output.write_text("mine", encoding="utf-8")
    assert main(["build", "clock.html", *options]) == 2
    assert f"{name} exists. Overwrite it with --force" in capsys.readouterr().err
    assert output.read_text("utf-8") == "mine"
    assert main(["build", "clock.html", *options, "--force"]) == 0
    assert output.read_text("utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 2, "Name a View"),
        (["none.html"], 2, "none.html does not exist"),
        (["none.py"], 2, "none.py does not exist"),
        (["broken.html"], 1, "broken.html:1: there is no file"),
        (["remote.html"], 1, 'Declare Csp(resource_domains=["https://cdn.example"])'),
        (["clock.html", "--view", "x"], 2, "--view is for servers"),
        (["clock.html", "--allow", "no origin"], 2, "--allow is not valid"),
        (["server.py", "--allow", "https://a.example"], 2, "--allow is for .html files"),
    ],
)
def test_an_error_has_one_line_and_an_exit_code(
    folder: Path, arguments: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "broken.html").write_text("<!doctype html><img src=none.png>", encoding="utf-8")
    (folder / "remote.html").write_text("<!doctype html><img src=https://cdn.example/x.png>", encoding="utf-8")
    assert main(["build", *arguments, "--json"]) == code
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.count("\n") == 1
    assert json.loads(captured.out)["views"] == []


def test_an_allowed_origin_is_kept(folder: Path) -> None:
    (folder / "remote.html").write_text("<!doctype html><img src=https://cdn.example/x.png>", encoding="utf-8")
    assert main(["build", "remote.html", "--allow", "https://cdn.example"]) == 0


@pytest.mark.process
def test_the_views_of_a_server_are_written_as_hosts_get_them(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    server = folder / "clock" / "server.py"
    shutil.copytree(ROOT / "examples" / "clock", server.parent)
    shutil.copy(ROOT / "examples" / "look.css", folder)
    assert main(["build", str(server), "-o", "out/", "--json"]) == 0
    (view,) = report(capsys)["views"]
    assert view["uri"].startswith("ui://")
    assert (folder / view["file"]).stat().st_size == view["bytes"] == sum(part["bytes"] for part in view["parts"])
    assert "View SDK" in {part["kind"] for part in view["parts"]}
    assert main(["build", str(server), "--view", "none"]) == 2
    assert "has no View 'none'" in capsys.readouterr().err
    source = server.with_name("clock.html")
    before = source.read_bytes()
    assert main(["build", str(server), "-o", str(source), "--force"]) == 2
    assert source.read_bytes() == before


@pytest.mark.process
@pytest.mark.parametrize(
    "named", [["server.py"], ["."], ["--", sys.executable, "server.py"]], ids=["file", "folder", "command"]
)
def test_the_server_is_never_overwritten(folder: Path, named: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    server = folder / "server.py"
    server.write_text(SERVER, encoding="utf-8")
    assert main(["build", "-o", "./server.py", "--force", *named]) == 2
    assert "server.py is the server and is never overwritten" in capsys.readouterr().err
    assert server.read_text("utf-8") == SERVER
