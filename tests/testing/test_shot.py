"""`fanlight shot`, from the command line to the file."""

import json
import shlex
import struct
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from playwright.async_api import Browser

from fanlight.cli import main
from fanlight.dev.targets import Served, servers
from fanlight.testing.browser import find_browser, launch_browser
from support.inspecting import in_process

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[2]
TODO = str(ROOT / "examples" / "todo")

SERVER = '''
from mcp.server import MCPServer
from fanlight import Apps, View
from fanlight.mcpui import UIResource, create_ui_resource

server = MCPServer("x")
apps = Apps(server)

def page(body):
    return f"""<!doctype html><html><head><title>x</title></head><body>{body}<script type="module">
import {{ App }} from "@modelcontextprotocol/ext-apps";
await new App({{ name: "x", version: "1" }}).connect();
</script></body></html>"""

def add(name, html):
    apps.tool(name, description=name, view=View.html(html, uri=f"ui://x/{name}"))(lambda: "ok")

add("fine", page("<h1>Fine</h1>"))
add("alert", page("<h1>Title</h1><p role='alert'>The data is missing.</p>"))
add("silent", "<!doctype html><title>x</title><p>Hello</p>")
add("tall", page("<p style='height: 1500px; background: linear-gradient(red, blue)'>Tall</p>"))

@server.tool()
def card() -> UIResource:
    "A card, as mcp-ui has it."
    content = {"type": "rawHtml", "htmlString": "<h1>A card</h1>"}
    return create_ui_resource(uri="ui://x/card", content=content, legacy=True)

@server.tool(meta={"ui": {"resourceUri": "ui://nowhere/view"}})
def gone() -> str:
    "Its View cannot be read."
    return "x"

add("dead", page("<h1>Dead</h1>").replace("await new App", "app.conect(); await new App"))
throws = "const app = new App({ name: 'x', version: '1' });\\napp.ontoolresult = () => { throw new Error('boom'); };\\n"
connects = 'await new App({ name: "x", version: "1" }).connect();'
add("throws", page("<h1>Throws</h1>").replace(connects, throws + "await app.connect();"))
add("blocked", page("<h1>Blocked</h1><script>new Image().src = 'https://icons.example/a.png'</script>"))

@apps.tool(view=View.html(page("<h1>Raises</h1>"), uri="ui://x/raises"))
def raises() -> str:
    "Raises."
    return 1 / 0

@server.tool()
def two() -> list[UIResource]:
    "Two cards, as mcp-ui has them."
    contents = {name: {"type": "rawHtml", "htmlString": f"<h1>{name}</h1>"} for name in ("first", "second")}
    return [create_ui_resource(uri=f"ui://x/{name}", content=each, legacy=True) for name, each in contents.items()]

@server.tool()
def plain() -> str:
    "No View."
    return "x"

if __name__ == "__main__":
    server.run()
'''


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("x") / "broken_views.py"
    path.write_text(SERVER, encoding="utf-8")
    return str(path)


@pytest.fixture
def whole_shot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run the command as it is, with its own event loop, browser and server; return exit code and output."""
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> tuple[int, str]:
        code = main(["shot", *words])
        printed = capsys.readouterr()
        return code, printed.out + printed.err

    return run


@pytest.fixture(scope="module")
def shared_browser() -> Iterator[tuple[BlockingPortal, Browser]]:
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(launch_browser()) as browser:
        yield portal, browser


@pytest.fixture
def process_shot(
    whole_shot: Any, shared_browser: tuple[BlockingPortal, Browser], monkeypatch: pytest.MonkeyPatch
) -> Any:
    """Run the command with a server process and the browser of this module, because launching one takes a second."""
    portal, browser = shared_browser

    @asynccontextmanager
    async def shared(path: str | None) -> AsyncIterator[Browser]:
        find_browser()
        yield browser

    monkeypatch.setattr("fanlight.testing.stage.launch_browser", shared)
    monkeypatch.setattr("fanlight.signals.run", portal.call)
    return whole_shot


@pytest.fixture
def shot(process_shot: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run the command with a server object, because starting a process takes another second.

    A server object has no source lines or tracebacks to report, so tests of these use `process_shot`.
    """

    def objects(targets: Sequence[str], *rest: Any, **options: Any) -> dict[str, Served]:
        assert servers(targets, *rest, **options)
        return in_process(*targets)

    monkeypatch.setattr("fanlight.testing.shot_command.servers", objects)
    return process_shot


def size(path: str) -> tuple[int, int]:
    data = Path(path).read_bytes()
    assert data.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", data[16:24])
    return width, height


def test_frozen_shots_are_identical(whole_shot: Any) -> None:
    assert whole_shot(TODO, "show_todos", "--freeze", "-o", "a.png") == (0, "a.png  800x298  1 picture\n")
    assert whole_shot(TODO, "show_todos", "--freeze", "-o", "b.png")[0] == 0
    assert Path("a.png").read_bytes() == Path("b.png").read_bytes()


def test_several_looks_become_one_reproducible_contact_sheet(shot: Any) -> None:
    looks = ["--theme", "both", "--size", "500x400", "--locale", "en-US", "--locale", "de-DE", "--freeze"]
    code, output = shot(TODO, "show_todos", *looks, "-o", "a.png")
    assert (code, output.endswith("4 pictures\n")) == (0, True)
    width, height = size("a.png")
    assert width > 1000
    assert height > 300
    assert shot(TODO, "show_todos", *looks, "-o", "b.png")[0] == 0
    assert Path("a.png").read_bytes() == Path("b.png").read_bytes()


def test_mode_scale_and_full_change_the_size_of_the_picture(shot: Any, server: str) -> None:
    code, output = shot(server, "tall", "-o", "a.png")
    assert (code, size("a.png")) == (0, (800, 600))
    assert "The View is 15" in output
    assert "--full shows all of it" in output
    assert shot(server, "tall", "--full", "--scale", "2", "--size", "300x200", "-o", "b.png")[0] == 0
    width, height = size("b.png")
    assert width == 600
    assert height > 3000
    assert shot(server, "fine", "--mode", "fullscreen", "-o", "c.png")[0] == 0
    assert size("c.png")[1] > 500


def test_a_view_that_does_not_render_is_exit_code_1_with_step_and_reason(shot: Any, server: str) -> None:
    code, output = shot(server, "alert")
    where = "light, 800x600, inline, en-US"
    assert (code, f"not rendered (render): {where}: The View shows an error: The data is missing." in output) == (
        1,
        True,
    )
    assert Path("shot.failed.png").exists()
    assert not Path("shot.png").exists()


@pytest.mark.parametrize("more", [(), ("--allow-error",), ("--theme", "both")])
def test_a_view_that_never_connects_leaves_a_picture_of_the_page(more: tuple[str], shot: Any, server: str) -> None:
    code, output = shot(server, "silent", "--timeout", "3", *more)
    assert code == 1
    picture = "shot.failed.png  800x600  1 picture\n"
    reason = "The View did not send ui/initialize within 3 seconds."
    assert output == f"{picture}fanlight shot: not rendered (initialize): {reason}\n"
    assert size("shot.failed.png") == (800, 600)
    assert not Path("shot.png").exists()


def test_a_view_that_cannot_be_read_leaves_a_picture_of_the_error(shot: Any, server: str) -> None:
    code, output = shot(server, "gone", "--timeout", "3")
    assert (code, "not rendered (open): The View cannot be shown" in output) == (1, True)
    assert size("shot.failed.png") == (800, 600)


def test_an_embedded_view_is_shown_in_every_look(shot: Any, server: str) -> None:
    code, output = shot(server, "card", "--theme", "both", "--freeze")
    assert (code, output.endswith("2 pictures\n")) == (0, True)
    assert shot(server, "plain") == (
        2,
        "fanlight shot: The tool 'plain' has no View: there is no ui.resourceUri in its _meta, "
        "and its result brings none.\n",
    )


def test_json_has_what_the_view_shows(shot: Any, server: str) -> None:
    code, output = shot(server, "fine", "--theme", "both", "--json")
    report = json.loads(output)
    assert (code, report["rendered"], report["error"], report["file"]) == (0, True, None, "shot.png")
    assert (report["width"], report["height"]) == size("shot.png")
    assert [(each["theme"], each["text"], each["failure"]) for each in report["pictures"]] == [
        ("light", "Fine", None),
        ("dark", "Fine", None),
    ]


def test_json_says_why_a_view_is_not_rendered(shot: Any, server: str) -> None:
    code, output = shot(server, "alert", "--json")
    report = json.loads(output[: output.rindex("}") + 1])
    assert (code, report["rendered"], report["file"]) == (1, False, "shot.failed.png")
    (picture,) = report["pictures"]
    assert (picture["step"], picture["failure"]) == ("render", "The View shows an error: The data is missing.")


def test_json_says_why_there_is_no_picture(shot: Any, server: str) -> None:
    code, output = shot(server, "plain", "--json")
    report = json.loads(output[: output.rindex("}") + 1])
    assert (code, report["rendered"], report["file"], report["pictures"]) == (2, False, None, [])
    assert report["error"].startswith("The tool 'plain' has no View")


def test_allow_error_accepts_a_view_that_shows_an_error(shot: Any, server: str) -> None:
    code, output = shot(server, "alert", "--allow-error")
    assert code == 0
    assert "rendered with an error, which --allow-error accepts (render): " in output
    assert "not rendered" not in output
    assert Path("shot.png").exists()


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ((TODO,), "expected SERVER TOOL, but got"),
        (("nothing.py", "x"), "nothing.py does not exist"),
        ((TODO, "x", "--args", "{"), '--args is not JSON, expected an object such as \'{"zone": "UTC"}\'. Expecting'),
        ((TODO, "x", "--args", "[]"), "--args is [], expected an object"),
        (
            (TODO, "x", "--args", "@list.json"),
            ", 1, 1..., expected an object",
        ),
        ((TODO, "x", "--args", "@picture.png"), "picture.png is not a text file in UTF-8."),
        ((TODO, "x", "--args", "@none.json"), "none.json cannot be read"),
        ((TODO, "x", "--size", "big"), "--size is 'big', expected something like 800x600"),
        ((TODO, "x", "--scale", "0"), "--scale is 0, expected a number greater than 0"),
        ((TODO, "x", "--timeout", "-1"), "--timeout is -1, expected a number greater than 0"),
        ((TODO, "x", "--time-zone", "Mars/X"), "--time-zone is 'Mars/X', expected a name such as"),
        ((TODO, "x", "--locale", "zz zz"), "--locale is 'zz zz', expected a language tag"),
        ((TODO, "x", "--mode", "big"), "--mode is 'big', expected one of: inline, fullscreen, pip"),
    ],
)
def test_an_invalid_option_is_one_line_and_exit_code_2(words: tuple[str], reason: str, whole_shot: Any) -> None:
    Path("list.json").write_text(f"[\n{'1, ' * 100}1\n]", encoding="utf-8")
    Path("picture.png").write_bytes(b"\x89PNG")
    code, output = whole_shot(*words)
    assert (code, output.count("\n")) == (2, 1)
    assert output.startswith("fanlight shot: ")
    assert reason in output


def test_an_unknown_tool_or_one_without_a_view_is_exit_code_2(process_shot: Any, server: str) -> None:
    code, output = process_shot("none", "--", *shlex.split(f"{sys.executable} {server}"))
    assert (code, "has no tool 'none'. Its tools are: fine, " in output) == (2, True)
    code, output = process_shot("plain", "--", sys.executable, server)
    assert (code, "The tool 'plain' has no View" in output) == (2, True)


def test_a_missing_server_or_browser_is_exit_code_3(
    process_shot: Any, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, output = process_shot("x", "--", "there-is-no-such-program")
    assert (code, output.count("\n")) == (3, 1)
    monkeypatch.setenv("FANLIGHT_BROWSER", "no-such-browser")
    assert process_shot(server, "fine") == (
        3,
        "fanlight shot: FANLIGHT_BROWSER is 'no-such-browser', and there is no such program.\n",
    )


def test_the_exception_of_a_tool_is_printed_with_its_source_line(process_shot: Any, server: str) -> None:
    code, output = process_shot(server, "raises")
    assert code == 1
    assert "The tool raised ZeroDivisionError: division by zero\n" in output
    assert "broken_views.py:" in output
    assert "return 1 / 0" in output


def test_a_script_that_fails_is_reported_with_its_line_before_the_timeout(process_shot: Any, server: str) -> None:
    code, output = process_shot(server, "dead", "--timeout", "90")
    assert code == 1
    assert "not rendered (initialize): A script of the View died before ui/initialize. ReferenceError: app is" in output
    assert "app is not defined (View.html(...):3)" in output


def test_an_exception_in_a_handler_is_printed_with_its_line_and_fails_if_strict(process_shot: Any, server: str) -> None:
    code, output = process_shot(server, "throws")
    assert code == 0
    assert "A handler of the View threw Error: boom (View.html(...):4)." in output
    assert process_shot(server, "throws", "--strict")[0] == 1


def test_a_blocked_request_is_printed_with_a_fix_and_fails_if_strict(process_shot: Any, server: str) -> None:
    code, output = process_shot(server, "blocked")
    assert code == 0
    assert "Blocked: img-src blocked https://icons.example/a.png" in output
    assert 'csp=Csp(resource_domains=["https://icons.example"])' in output
    assert process_shot(server, "blocked", "--strict")[0] == 1


def test_one_of_several_views_can_be_chosen(shot: Any, server: str) -> None:
    assert shot(server, "two", "--view", "ui://x/second", "-o", "second.png")[0] == 0
    code, output = shot(server, "two", "--view", "ui://x/third")
    assert code == 2
    assert "shows no View 'ui://x/third'. It shows ui://x/first, ui://x/second." in output


def test_one_of_several_servers_can_be_chosen(process_shot: Any, server: str) -> None:
    entry = {"command": sys.executable, "args": [server]}
    Path("servers.json").write_text(json.dumps({"mcpServers": {"a": entry, "b": entry}}), encoding="utf-8")
    assert "names 2 servers: a, b. Choose one with --server NAME." in process_shot("servers.json", "fine")[1]
    assert process_shot("servers.json", "fine", "--server", "b")[0] == 0
    code, output = process_shot("servers.json", "fine", "--server", "b", "--header", "X: y")
    assert (code, "--header is for servers that have a URL" in output) == (2, True)
