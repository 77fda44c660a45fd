"""`fanlight install`, from the command line to the files of the hosts."""

import argparse
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
import yaml

from fanlight import cli
from fanlight.cli import main
from fanlight.host.upstream.config import Command, load_config
from fanlight.host.upstream.servers import Servers
from fanlight.install import config_file
from fanlight.install.hosts import HOSTS
from support.docs import ROOT

CLOCK = ROOT / "examples" / "clock" / "server.py"
ENTRY = {"command": sys.executable, "args": [str(CLOCK)]}

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home folder, beside a project that is the current folder."""
    for name in ("XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr("fanlight.install.hosts.Machine.platform", "linux")
    (tmp_path / "home" / ".config" / "Claude").mkdir(parents=True)
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "home"


@pytest.fixture
def run(home: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*words: str, check: bool = False) -> tuple[int, str, str]:
        code = main(["install", *words, *([] if check else ["--no-check"])])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


@pytest.fixture
def config(home: Path) -> Path:
    return home / ".config" / "Claude" / "claude_desktop_config.json"


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.process
def test_the_written_configuration_starts_the_server(run: Run, config: Path, home: Path) -> None:
    code, out, err = run("claude-desktop", str(CLOCK), check=True)
    assert (code, err) == (0, "")
    assert out == (
        "clock starts. It has 2 tools, 2 with a View.\n"
        f"Added clock to {config}.\n"
        "Quit Claude Desktop and start it again: it reads the file only when it starts.\n"
    )
    assert json.loads(config.read_text()) == {"mcpServers": {"clock": ENTRY}}
    targets = load_config(config)

    async def tools() -> set[str]:
        async with Servers(targets) as servers:
            with anyio.fail_after(60):
                await servers["clock"].ready(60)
            return {tool["name"] for tool in servers["clock"].tools}

    assert "get_time" in anyio.run(tools)


@pytest.mark.parametrize("host", HOSTS)
def test_each_host_gets_the_server_once_and_loses_it_again(host: str, run: Run, home: Path, tmp_path: Path) -> None:
    target = CLOCK if host == "claude-desktop" else "https://maps.example/mcp"
    code, out, _ = run(host, str(target), "--name", "maps", "--json")
    report = json.loads(out)
    assert (code, report["action"], report["written"], report["backup"]) == (0, "added", True, None)
    path = Path(report["file"])
    assert path.is_relative_to(tmp_path)
    text = path.read_text()
    assert yaml.safe_load(text) == {HOSTS[host].key: {"maps": report["entry"]}}  # JSON is YAML, too

    code, out, _ = run(host, str(target), "--name", "maps", "--json")
    again = json.loads(out)
    assert (code, again["action"], again["written"], again["diff"]) == (0, "unchanged", False, None)
    assert (path.read_text(), files(path.parent)) == (text, [path.name])

    code, out, _ = run(host, str(target), "--name", "maps", "--remove", "--json")
    assert (code, json.loads(out)["action"]) == (0, "removed")
    assert yaml.safe_load(path.read_text()) == {HOSTS[host].key: {}}
    backup = path.with_name(f"{path.name}.1.bak")
    assert (json.loads(out)["backup"], backup.read_text()) == (str(backup), text)

    code, out, _ = run(host, str(target), "--name", "maps", "--remove")
    assert (code, out) == (0, f"maps is not in {path}.\n")
    assert files(path.parent) == [path.name, backup.name]


def test_a_dry_run_prints_the_change_and_writes_nothing(run: Run, config: Path) -> None:
    config.write_text('{\n  // mine\n  "theme": "dark"\n}\n')
    code, out, _ = run("claude-desktop", str(CLOCK), "--dry-run")
    assert code == 0
    assert out.startswith(f"--- {config}\n+++ {config}\n@@")
    assert '\n-  "theme": "dark"\n+  "theme": "dark",\n+  "mcpServers": {\n' in out
    assert out.endswith(f"Would add clock to {config}.\n")
    assert files(config.parent) == [config.name]
    assert "mcpServers" not in config.read_text()


def test_other_servers_comments_line_ends_and_the_byte_order_mark_stay(run: Run, config: Path) -> None:
    before = '\ufeff{\r\n  // mine\r\n  "mcpServers": {\r\n    "other": {"command": "x"}\r\n  }\r\n}\r\n'.encode()
    config.write_bytes(before)
    assert run("claude-desktop", str(CLOCK))[0] == 0
    after = config.read_bytes()
    assert after.startswith(before[: before.index(b'"x"}') + 4] + b",\r\n    " + b'"clock": {\r\n')
    assert b"\n" not in after.replace(b"\r\n", b"")
    assert run("claude-desktop", str(CLOCK), "--remove")[0] == 0
    assert config.read_bytes() == before


def test_every_change_has_a_backup_of_its_own(run: Run, config: Path) -> None:
    texts = []
    for number in range(3):
        assert run("claude-desktop", str(CLOCK), "--env", f"NUMBER={number}")[0] == 0
        texts.append(config.read_text())
    assert [config.with_name(f"{config.name}.{number}.bak").read_text() for number in (1, 2)] == texts[:2]


def test_an_update_keeps_what_the_user_added_to_the_entry(run: Run, config: Path) -> None:
    old = {**ENTRY, "command": "/old/python", "env": {"A": "1"}, "disabled": True}
    config.write_text(json.dumps({"mcpServers": {"clock": old}}, indent=2))
    code, out, err = run("claude-desktop", str(CLOCK), "--env", "B=2")
    assert (code, out.split(" ")[0]) == (0, "Updated")
    assert err == f"fanlight install: clock is turned off in {config}.\n"
    expected = {**ENTRY, "env": {"A": "1", "B": "2"}, "disabled": True}
    assert json.loads(config.read_text())["mcpServers"] == {"clock": expected}


@pytest.mark.parametrize("more", [[], ["--remove"]], ids=["install", "remove"])
@pytest.mark.parametrize("other", [{"command": "node", "args": ["x.js"]}, {"url": "https://a.example"}, "text"])
def test_another_server_of_the_same_name_stays_unless_it_is_forced(
    more: list[str], other: Any, run: Run, config: Path
) -> None:
    text = json.dumps({"mcpServers": {"clock": other}})
    config.write_text(text)
    code, out, err = run("claude-desktop", str(CLOCK), *more)
    assert (code, out) == (1, "")
    assert "has another server with the name clock" in err
    assert err.endswith("Choose another name with --name, or add --force.\n")
    assert (config.read_text(), files(config.parent)) == (text, [config.name])
    assert run("claude-desktop", str(CLOCK), *more, "--force")[0] == 0
    assert json.loads(config.read_text()) == {"mcpServers": {} if more else {"clock": ENTRY}}


def test_a_server_whose_file_is_gone_can_be_removed(run: Run, config: Path, tmp_path: Path) -> None:
    script = tmp_path / "tides" / "server.py"
    script.parent.mkdir()
    script.write_text("")
    assert run("claude-desktop", str(script))[0] == 0
    script.unlink()
    assert run("claude-desktop", str(script), "--remove")[0] == 0
    assert json.loads(config.read_text()) == {"mcpServers": {}}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"mcpServers": ', "it is not JSON: expected a value at line 1, column 16."),
        (b"[]", "its top level is a list, expected an object in braces."),
        (b'{"mcpServers": []}', '"mcpServers" is [], expected an object of servers by name.'),
        (b'{"mcpServers": {}, "mcpServers": {}}', 'it has "mcpServers" 2 times in one object. Keep one of them.'),
    ],
)
def test_a_file_that_cannot_be_edited_stays_and_what_to_add_is_printed(
    content: bytes, message: str, run: Run, config: Path
) -> None:
    config.write_bytes(content)
    code, out, err = run("claude-desktop", str(CLOCK))
    assert (code, out) == (1, "")
    intro, _, addition = err.partition(" Nothing was written. Add this:\n")
    assert intro == f"fanlight install: {config} cannot be edited: {message}"
    assert json.loads(addition) == {"mcpServers": {"clock": ENTRY}}
    assert (config.read_bytes(), files(config.parent)) == (content, [config.name])


def test_a_file_in_another_encoding_stays(run: Run, config: Path) -> None:
    config.write_bytes("{}".encode("utf-16"))
    code, _, err = run("claude-desktop", str(CLOCK), "--json")
    assert (code, "is not a text file in UTF-8" in err) == (1, True)


def test_a_file_of_goose_that_cannot_be_edited_stays(run: Run, home: Path) -> None:
    path = home / ".config" / "goose" / "config.yaml"
    path.parent.mkdir()
    path.write_text("extensions:\n    other:\n        text: |\n            no line end")
    code, _, err = run("goose", str(CLOCK))
    assert (code, "can be changed without touching something else" in err) == (1, True)
    assert yaml.safe_load(err.partition("Add this:\n")[2])["extensions"]["clock"]["cmd"] == sys.executable
    assert path.read_text().endswith("no line end")


def test_a_read_only_file_stays(run: Run, config: Path) -> None:
    config.write_text("{}")
    config.chmod(0o444)
    code, _, err = run("claude-desktop", str(CLOCK))
    assert (code, err) == (1, f"fanlight install: {config} is read-only. Make it writable, and repeat the command.\n")
    assert (config.read_text(), files(config.parent)) == ("{}", [config.name])


def test_a_link_stays_a_link_and_the_mode_of_the_file_stays(run: Run, config: Path, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "claude.json"
    real.parent.mkdir()
    real.write_text("{}")
    real.chmod(0o640)
    config.symlink_to(real)
    assert run("claude-desktop", str(CLOCK))[0] == 0
    assert config.is_symlink()
    assert json.loads(real.read_text()) == {"mcpServers": {"clock": ENTRY}}
    assert real.stat().st_mode & 0o777 == 0o640
    assert files(real.parent) == ["claude.json"]
    assert files(config.parent) == [config.name, f"{config.name}.1.bak"]
    assert (config.parent / f"{config.name}.1.bak").stat().st_mode & 0o777 == 0o640


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no modes")
@pytest.mark.parametrize(
    ("words", "mode"),
    [
        ([str(CLOCK)], 0o644),
        ([str(CLOCK), "--env", "KEY=secret"], 0o600),
        (["https://a.example/mcp", "--header", "Authorization: Bearer secret"], 0o600),
    ],
)
def test_only_the_owner_can_read_a_new_file_with_a_secret(
    words: list[str], mode: int, run: Run, tmp_path: Path
) -> None:
    before = os.umask(0o022)
    try:
        assert run("claude-code", *words)[0] == 0
    finally:
        os.umask(before)
    assert (tmp_path / "project" / ".mcp.json").stat().st_mode & 0o777 == mode


def test_a_file_that_another_program_changes_meanwhile_stays(
    run: Run, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config.write_text("{}")
    copy_rights = config_file._copy_rights

    def change(source: Path, target: Path) -> None:
        copy_rights(source, target)
        config.write_text('{"theme": "dark"}')

    monkeypatch.setattr(config_file, "_copy_rights", change)
    code, _, err = run("claude-desktop", str(CLOCK))
    assert (code, "was changed by another program" in err) == (1, True)
    assert (config.read_text(), files(config.parent)) == ('{"theme": "dark"}', [config.name])


def test_a_folder_that_cannot_be_made_is_an_error(run: Run, home: Path) -> None:
    (home / ".config" / "goose").write_text("a file")
    code, _, err = run("goose", str(CLOCK))
    assert (code, "cannot be read: Not a directory" in err) == (1, True)


def test_a_missing_host_is_noted_and_a_chosen_file_is_not(run: Run, home: Path, tmp_path: Path) -> None:
    code, _, err = run("cursor", str(CLOCK), "--scope", "user")
    assert (code, err) == (0, f"fanlight install: {home / '.cursor'} does not exist. Is Cursor installed?\n")
    chosen = tmp_path / "new" / "mcp.json"
    assert run("cursor", str(CLOCK), "--config", str(chosen))[::2] == (0, "")
    assert json.loads(chosen.read_text()) == {"mcpServers": {"clock": ENTRY}}


@pytest.mark.parametrize("host", HOSTS)
def test_the_next_step_fits_an_installation_or_a_removal(host: str, run: Run) -> None:
    installed = json.loads(run(host, str(CLOCK), "--json")[1])["next"]
    assert installed.startswith(HOSTS[host].next_step)
    code, out, _ = run(host, str(CLOCK), "--remove")
    assert (code, out.splitlines()[-1]) == (0, HOSTS[host].after_removal)
    assert not any(words in out for words in ("turn the server on", "asks", "connected", "start the server"))


@pytest.mark.parametrize(("scope", "asks"), [("project", True), ("user", False)])
def test_only_servers_of_a_project_are_said_to_need_consent(scope: str, asks: bool, run: Run) -> None:
    out = run("claude-code", str(CLOCK), "--scope", scope)[1]
    assert ("asks before it uses servers of a project" in out) is asks


@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize("option", [["--scope", "user"], ["--force"], ["--env", "A=1", "--scope=user"]])
def test_options_may_stand_at_each_place(option: list[str], place: int, run: Run, home: Path, tmp_path: Path) -> None:
    words = ["claude-code", str(CLOCK)]
    code, _, err = run(*words[:place], *option, *words[place:])
    assert (code, err) == (0, "")
    path = tmp_path / "project" / ".mcp.json" if option == ["--force"] else home / ".claude.json"
    assert list(load_config(path)) == ["clock"]


@pytest.mark.parametrize(
    ("words", "unknown"),
    [
        (["claude-code", str(CLOCK), "--force", "b.py"], "b.py"),
        (["claude-code", "--force", str(CLOCK), "b.py"], "b.py"),
        (["claude-code", "--scop", "user", str(CLOCK), "--nope"], "--nope"),
        (["claude-code", "--force", "--nope", "b.py"], "--nope b.py"),
    ],
)
def test_words_without_a_place_have_exit_code_2(
    words: list[str], unknown: str, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        run(*words)
    assert caught.value.code == 2
    assert capsys.readouterr().err.endswith(f"error: unrecognized arguments: {unknown}\n")


@pytest.mark.parametrize(
    ("words", "name", "values"),
    [
        (["dev", "a.py", "--no-open", "b.py", "--theme", "dark", "c.py"], "servers", ["a.py", "b.py", "c.py"]),
        (["chat", "a.py", "--no-open", "b.py"], "servers", ["a.py", "b.py"]),
        (["shot", "server.py", "--theme", "both", "get_time"], "names", ["server.py", "get_time"]),
    ],
)
def test_other_commands_accept_options_between_their_names(
    words: list[str], name: str, values: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    received: list[Any] = []

    def run(options: argparse.Namespace, command: list[str]) -> int:
        received.append(getattr(options, name))
        return 0

    monkeypatch.setattr(cli, f"_{words[0]}", run)
    assert cli.main(words) == 0
    assert received == [values]


def test_a_command_line_after_two_dashes_is_installed(run: Run, tmp_path: Path) -> None:
    assert main(["install", "vscode", "--no-check", "--name", "tides", "--", "uvx", "--from", "a b", "tides"]) == 0
    assert load_config(tmp_path / "project" / ".vscode" / "mcp.json") == {
        "tides": Command("uvx", ("--from", "a b", "tides"))
    }


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["claude-desktop"], "there is no server. Expected one of: a server.py"),
        (["claude-desktop", "nothing.py"], "nothing.py does not exist"),
        (["claude-desktop", "https://a.example/mcp"], "Claude Desktop reads no URLs"),
        (["goose", str(CLOCK), "--scope", "project"], "Goose has no configuration for --scope project"),
        (["vscode", str(CLOCK), "--scope", "user", "--config", "x"], "Write one of them"),
        (["vscode", "https://a.example", "--header", "x"], "expected NAME:VALUE"),
        (["vscode", "https://a.example", "--header", "A: b\nX: c"], r"contains the control character '\n'"),
        (["vscode", str(CLOCK), "--env", "A\nB=c"], "expected KEY=VALUE"),
        (["vscode", str(CLOCK), "--env", "A\n=c"], "expected KEY=VALUE"),
    ],
)
def test_a_wrong_command_line_has_exit_code_2(words: list[str], message: str, run: Run, tmp_path: Path) -> None:
    code, _, err = run(*words)
    assert code == 2
    assert files(tmp_path / "project") == []
    assert err.startswith("fanlight install: ")
    assert message in err


@pytest.mark.process
def test_a_server_that_does_not_start_has_exit_code_3_and_is_not_installed(
    run: Run, config: Path, tmp_path: Path
) -> None:
    script = tmp_path / "broken.py"
    script.write_text("import no_such_module\n")
    code, out, err = run("claude-desktop", str(script), "--json", check=True)
    assert code == 3
    assert err.startswith("fanlight install: broken: it did not start. ")
    assert "No module named 'no_such_module'" in err
    assert json.loads(out)["error"] in err
    assert not config.exists()


@pytest.mark.process
def test_a_server_that_never_answers_has_exit_code_3(run: Run, config: Path, tmp_path: Path) -> None:
    script = tmp_path / "silent.py"
    script.write_text("import sys\nsys.stdin.read()\n")
    code, _, err = run("claude-desktop", str(script), "--timeout", "1", check=True)
    assert (code, "has not answered" in err) == (3, True)
    assert not config.exists()


def test_a_missing_package_has_exit_code_3(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    monkeypatch.delitem(sys.modules, "fanlight.install.yaml_document", raising=False)
    code, _, err = run("goose", str(CLOCK))
    assert (code, err.endswith("(yaml): pip install 'fanlight[dev]'\n")) == (3, True)


def test_a_value_that_is_not_text_is_an_error(run: Run, config: Path) -> None:
    code, _, err = run("claude-desktop", str(CLOCK), "--env", "A=" + os.fsdecode(b"\xff"))
    assert (code, "is not text in UTF-8" in err) == (2, True)
    assert not config.exists()
