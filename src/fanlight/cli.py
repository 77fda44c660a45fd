"""The command `fanlight`: parses its arguments, and calls the package of the command."""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from fanlight.signals import INTERRUPTED, handle_termination

_NEW = """\
Make a project: a server with a View, a test, packaging, and a workflow that checks it. Nothing is overwritten.

  fanlight new                                asks for a name and a template
  fanlight new tides                          the template "vanilla": HTML and JavaScript, without Node
  fanlight new tides --template react         a View that Vite builds
  fanlight new --list                         the templates

Without a terminal nothing is asked.

Exit code: 0 written, 1 refused because files exist, 2 usage error.
"""

_DEV = """\
Show the apps of MCP servers in a browser, as a host would, with everything visible.

  fanlight dev server.py                      a server of yours
  fanlight dev https://maps.example/mcp       a server over HTTP
  fanlight dev -- npx some-server --stdio     a server that is a command
  fanlight dev claude_desktop_config.json     all servers of a configuration file
  fanlight dev                                the examples
"""

_CHAT = """\
Chat with a model that uses the tools of MCP servers, and see their Views, in a browser.

  fanlight chat server.py --model openai:gpt-5            also anthropic:..., google:...
  fanlight chat server.py --model qwen3 --base-url http://localhost:11434/v1
  fanlight chat https://maps.example/mcp --model scripted   no model: a script calls the tools
  fanlight chat --model openai:gpt-5 -- npx some-server --stdio

Keys come from OPENAI_API_KEY, ANTHROPIC_API_KEY and GOOGLE_API_KEY, and FANLIGHT_MODEL_KEY for --base-url.
"""

_CHECK = """\
Check a server and its Views against the rules of MCP Apps: with plain clients on every protocol version, in a real
browser, and by a security review of each View.

  fanlight check server.py                    a server of yours
  fanlight check https://maps.example/mcp     a server over HTTP
  fanlight check -- npx some-server --stdio   a server that is a command
  fanlight check saved/                       a folder of saved Views (.html)

Tools with a View are called, with arguments made from their schema, unless they are annotated as destructive.

Exit code: 0 no violations of the standard, 1 violations, 2 usage error, 3 could not start.
"""

_SHOT = """\
Take a picture of a View with its data, in a headless browser, as a host shows it.

  fanlight shot server.py get_time -o clock.png
  fanlight shot server.py get_time --args '{"zone": "Asia/Tokyo"}' --theme both
  fanlight shot server.py get_time --size 800x600,360x640 --locale en-US,de-DE --freeze
  fanlight shot get-time -- npx some-server --stdio

Several looks are put together on one sheet.

Exit code: 0 rendered, 1 not rendered, 2 usage error, 3 could not start.
"""

_INSTALL = """\
Add a server to the configuration of a host. The file is backed up, and what else it contains stays as it is.

  fanlight install claude-desktop server.py            the Python of the project, and the path of the file
  fanlight install vscode server.py --dry-run          show what would change, and write nothing
  fanlight install cursor --uvx tides --scope user     a published package
  fanlight install claude-code https://maps.example/mcp --header "Authorization: Bearer TOKEN"
  fanlight install goose -- npx some-server --stdio    a server that is a command
  fanlight install claude-desktop server.py --remove

The server is started once before, to see that it works. Values of --env and --header are written into the file.

Exit code: 0 done, or nothing to do; 1 the file cannot be changed, 2 usage error, 3 the server does not start.
"""

_BUILD = """\
Write the document of a View to one HTML file with everything inlined, and print its size and what is in it.

  fanlight build clock.html -o out/clock.html
  fanlight build server.py                    all Views of a server, each to a file
  fanlight build server.py --view get_time    the View of a tool, or the one with this URI
  fanlight build -- npx some-server --stdio

Without -o, the file is NAME.bundled.html in this folder. A file that exists is overwritten only with --force; the
server and the sources of its Views never are.

Exit code: 0 written, 1 a View could not be bundled or read, 2 usage error.
"""

_PROBE = """\
Serve an app that tests the host that shows it: each rule of MCP Apps for hosts, with pass, fail or not testable.

  fanlight probe                              over stdio, for the configuration of a host
  fanlight probe --http --port 8100           at http://127.0.0.1:8100/mcp
  fanlight dev -- fanlight probe              in the host that comes with Fanlight

Ask the model to call probe_host. See docs/how-to/probe-a-host.md.
"""

_TYPES = """\
Write the types of the View SDK into a folder of a project in TypeScript, or those of <mcp-app> for the pages of a host,
with a component for React.

  fanlight types                              for Views: into fanlight-types/, which tsconfig.json extends
  fanlight types --host web/src/fanlight      for the pages of a host: <mcp-app>, and <McpApp> for React

Files of an earlier version are replaced.
"""

Run = Callable[[argparse.Namespace, Sequence[str]], int]
"""Runs a command with its options and the command line after `--`, and returns the exit code."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    command: list[str] = []
    if "--" in given:
        given, command = given[: given.index("--")], given[given.index("--") + 1 :]
    parser = argparse.ArgumentParser(prog="fanlight", description="MCP Apps for Python.")
    parser.add_argument("--version", action="store_true", help="print the version")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    _add_new(commands)
    _add_dev(commands)
    _add_chat(commands)
    _add_check(commands)
    _add_shot(commands)
    _add_install(commands)
    _add_build(commands)
    _add_probe(commands)
    _add_types(commands)
    options = _parse(parser, given)
    if options.version:
        from fanlight import __version__

        print(f"fanlight {__version__}")
        return 0
    if options.command is None:
        parser.print_help()
        return 0 if not given else 2
    run: Run = options.run
    try:
        with handle_termination():
            code = run(options, command)
        sys.stdout.flush()
    except KeyboardInterrupt:  # before the command handles it itself, such as during its imports
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has closed the pipe. Discard the rest of the buffer, or Python fails on it when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141  # the exit code of a program that SIGPIPE ended
    return code


def _parse(parser: argparse.ArgumentParser, words: Sequence[str]) -> argparse.Namespace:
    """Parse a command line whose options may stand between its positional arguments.

    argparse fills the last positional argument before it reads what follows an option, and returns the rest.
    """
    options, rest = parser.parse_known_args(words)
    last = getattr(options, "last_positional", None)
    while last is not None and rest and not rest[0].startswith("-"):
        value = getattr(options, last)
        if isinstance(value, list):
            value.append(rest.pop(0))
        elif value is None:
            setattr(options, last, rest.pop(0))
        else:
            break
    if rest:
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    return options


def _add(commands: Any, name: str, run: Run, *, help: str, description: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=help, description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.set_defaults(run=run)
    return parser


def _port(text: str) -> int:
    """Read a port from the command line."""
    if text.isdecimal() and int(text) <= 65_535:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a port: expected a number up to 65535")


def _add_server_options(parser: argparse.ArgumentParser, *, choose: bool) -> None:
    """Add the options of commands that connect to servers."""
    parser.add_argument(
        "--header", action="append", default=[], metavar="NAME:VALUE", help="send this HTTP header; can be repeated"
    )
    if choose:
        parser.add_argument("--server", metavar="NAME", help="use this server of an mcpServers file")


# fanlight new


def _add_new(commands: Any) -> None:
    new = _add(commands, "new", _new, help="make a project", description=_NEW)
    new.add_argument("name", nargs="?", metavar="NAME", help="the name of the project and of its folder")
    new.add_argument("-t", "--template", metavar="TEMPLATE", help="what to start from (default: vanilla)")
    new.add_argument(
        "--build-backend",
        choices=["hatchling", "setuptools", "uv_build"],
        default="hatchling",
        help="what builds the wheel (default: hatchling)",
    )
    new.add_argument("--list", action="store_true", help="print the templates")
    new.add_argument("--json", action="store_true", help="print what was written as JSON, and ask nothing")


def _new(options: argparse.Namespace, command: Sequence[str]) -> int:
    from fanlight.new.command import run

    return run(options)


# fanlight dev


def _add_dev(commands: Any) -> None:
    dev = _add(commands, "dev", _dev, help="show the apps of MCP servers in a browser", description=_DEV)
    dev.set_defaults(last_positional="servers")
    dev.add_argument("servers", nargs="*", metavar="SERVER", help="a .py file, a folder, a URL or a .json file")
    dev.add_argument("--host", default="127.0.0.1", help="the address to listen on (default: 127.0.0.1)")
    dev.add_argument("--port", type=_port, default=8000, help="the first port to try (default: 8000)")
    dev.add_argument("--no-open", action="store_true", help="do not open a browser")
    dev.add_argument("--theme", choices=["light", "dark"], help="the theme at the start (default: the system's)")
    dev.add_argument("--no-reload", action="store_true", help="do not watch files")
    dev.add_argument("--no-build", action="store_true", help="do not build Views that need Node")
    dev.add_argument(
        "--policy", choices=["ask", "allow"], default="ask", help="ask the user, or allow everything (default: ask)"
    )
    _add_server_options(dev, choose=False)


def _dev(options: argparse.Namespace, command: Sequence[str]) -> int:
    from fanlight.dev.targets import parse_headers
    from fanlight.inspector.startup import serve
    from fanlight.protocol.errors import FanlightError

    try:
        serve(
            options.servers,
            command,
            host=options.host,
            port=options.port,
            open_browser=not options.no_open,
            reload=not options.no_reload,
            build=not options.no_build,
            policy=options.policy,
            theme=options.theme,
            headers=parse_headers(options.header),
        )
    except ModuleNotFoundError as error:
        print(_missing("dev", error, "dev"), file=sys.stderr)
        return 3
    except FanlightError as error:
        print(f"fanlight dev: {error}", file=sys.stderr)
        return 2
    return 0


# fanlight chat


def _add_chat(commands: Any) -> None:
    chat = _add(commands, "chat", _chat, help="chat with a model that uses MCP servers", description=_CHAT)
    chat.set_defaults(last_positional="servers")
    chat.add_argument("servers", nargs="*", metavar="SERVER", help="a .py file, a folder, a URL or a .json file")
    chat.add_argument("--model", metavar="NAME", help="such as openai:gpt-5 (default: the last one that was used)")
    chat.add_argument("--base-url", metavar="URL", help="an OpenAI-compatible service that has the model")
    chat.add_argument(
        "--store", type=Path, metavar="FILE", help="where conversations are kept (default: your data folder)"
    )
    chat.add_argument("--host", default="127.0.0.1", help="the address to listen on (default: 127.0.0.1)")
    chat.add_argument("--port", type=_port, default=8000, help="the first port to try (default: 8000)")
    chat.add_argument("--no-open", action="store_true", help="do not open a browser")
    chat.add_argument(
        "--timeout",
        type=_seconds,
        default=300.0,
        metavar="SECONDS",
        help="how long the model may be silent (default: 300)",
    )
    chat.add_argument(
        "--max-file", type=_megabytes, default=10.0, metavar="MB", help="the largest file to attach (default: 10)"
    )
    _add_server_options(chat, choose=False)


def _chat(options: argparse.Namespace, command: Sequence[str]) -> int:
    from fanlight.protocol.errors import FanlightError

    try:
        from fanlight.chat.command import run
    except ModuleNotFoundError as error:
        print(_missing("chat", error, "chat"), file=sys.stderr)
        return 3
    try:
        return run(options, command)
    except FanlightError as error:
        print(f"fanlight chat: {error}", file=sys.stderr)
        return 2


# fanlight check


def _add_check(commands: Any) -> None:
    check = _add(
        commands, "check", _check, help="check a server and its Views against the standard", description=_CHECK
    )
    check.add_argument("target", nargs="?", metavar="TARGET", help="a .py file, a folder, a URL or a .json file")
    check.add_argument("--list", action="store_true", help="print the rules and which of them are checked")
    check.add_argument(
        "--only", action="append", default=[], metavar="RULE", help="check only this rule, or these (REV); repeatable"
    )
    check.add_argument(
        "--skip",
        action="append",
        default=[],
        metavar="RULE=REASON",
        help="do not count findings of this rule; RULE:PLACE=REASON only in this file, tool or View",
    )
    check.add_argument(
        "--args", action="append", default=[], metavar="TOOL=JSON", help="call a tool with these arguments"
    )
    check.add_argument("--no-call", action="store_true", help="do not call tools; show made-up results")
    check.add_argument(
        "--timeout", type=_seconds, metavar="SECONDS", help="how long to wait for each response (default: 15)"
    )
    check.add_argument("--no-browser", action="store_true", help="do not show Views; leave out rules that need it")
    check.add_argument("--guesses", action="store_true", help="report what the review of the source only suspects, too")
    check.add_argument("--libraries", action="store_true", help="count findings in bundled libraries like the author's")
    check.add_argument("--baseline", metavar="FILE", help="do not count the findings in this file")
    check.add_argument("--write-baseline", action="store_true", help="write all findings into that file")
    check.add_argument("--strict", action="store_true", help="exit with 1 for warnings, too")
    check.add_argument("--json", action="store_true", help="print the report as JSON")
    check.add_argument("--junit", metavar="FILE", help="write the report as JUnit XML, too")
    check.add_argument("--sarif", metavar="FILE", help="write the report as SARIF, too")
    check.add_argument("--quiet", action="store_true", help="print no progress")
    _add_server_options(check, choose=True)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds such as 30")
    return seconds


def _megabytes(text: str) -> float:
    try:
        size = float(text)
    except ValueError:
        size = 0
    if not 0 < size < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of megabytes such as 10")
    return size


def _check(options: argparse.Namespace, command: Sequence[str]) -> int:
    try:
        from fanlight.check.command import run
    except ModuleNotFoundError as error:
        print(_missing("check", error, "browser"), file=sys.stderr)
        return 3
    return run(options, command)


def _missing(command: str, error: ModuleNotFoundError, extra: str) -> str:
    return f"fanlight {command} needs packages that are not installed ({error.name}): pip install 'fanlight[{extra}]'"


# fanlight shot


def _add_shot(commands: Any) -> None:
    shot = _add(commands, "shot", _shot, help="take a picture of a View", description=_SHOT)
    shot.set_defaults(last_positional="names")
    shot.add_argument(
        "names", nargs="+", metavar="SERVER TOOL", help="a .py file, a folder, a URL or a .json file; and a tool"
    )
    shot.add_argument("--args", default="{}", metavar="JSON", help="the arguments of the call, or @file.json")
    shot.add_argument("-o", "--output", default="shot.png", metavar="FILE", help="the picture (default: shot.png)")
    shot.add_argument("--view", metavar="URI", help="the View to show, if the result brings several")
    shot.add_argument("--theme", choices=["light", "dark", "both"], default="light", help="(default: light)")
    shot.add_argument(
        "--size", action="append", metavar="WxH", help="the size of the window (default: 800x600); several: a,b"
    )
    shot.add_argument(
        "--mode", action="append", metavar="MODE", help="inline (default), fullscreen or pip; several: a,b"
    )
    shot.add_argument("--locale", action="append", metavar="TAG", help="such as de-DE (default: en-US); several: a,b")
    shot.add_argument("--time-zone", default="UTC", metavar="NAME", help="such as Asia/Tokyo (default: UTC)")
    shot.add_argument(
        "--freeze", action="store_true", help="fix time, random numbers and animations, for reproducible pictures"
    )
    shot.add_argument("--full", action="store_true", help="the whole View, not only the part in the window")
    shot.add_argument("--scale", type=float, default=1.0, help="device pixels per CSS pixel (default: 1)")
    shot.add_argument(
        "--timeout", type=float, default=20.0, metavar="SECONDS", help="how long to wait for the View (default: 20)"
    )
    shot.add_argument("--profile", choices=["strict", "compat"], default="strict", help="compat lets the View use eval")
    shot.add_argument("--allow-error", action="store_true", help="accept a View that shows an error")
    shot.add_argument("--strict", action="store_true", help="exit with 1 if a script throws or the browser blocks it")
    shot.add_argument("--json", action="store_true", help="print what was rendered as JSON, with the text of the View")
    _add_server_options(shot, choose=True)


def _shot(options: argparse.Namespace, command: Sequence[str]) -> int:
    try:
        from fanlight.testing.shot_command import run
    except ModuleNotFoundError as error:
        print(_missing("shot", error, "browser"), file=sys.stderr)
        return 3
    return run(options, command)


# fanlight install


def _add_install(commands: Any) -> None:
    install = _add(
        commands, "install", _install, help="add a server to the configuration of a host", description=_INSTALL
    )
    hosts = ["claude-desktop", "claude-code", "vscode", "cursor", "goose"]
    install.set_defaults(last_positional="server")
    install.add_argument("host", choices=hosts, metavar="HOST", help=", ".join(hosts))
    install.add_argument("server", nargs="?", metavar="SERVER", help="a .py file, a folder or a URL")
    install.add_argument(
        "--uvx", metavar="PACKAGE", help="run a published package with uvx, such as tides or tides@1.2"
    )
    install.add_argument("--name", help="the name in the host (default: by the file, its folder, or the package)")
    install.add_argument(
        "--env", action="append", default=[], metavar="KEY=VALUE", help="an environment variable; can be repeated"
    )
    install.add_argument(
        "--header", action="append", default=[], metavar="NAME:VALUE", help="an HTTP header for a URL; can be repeated"
    )
    install.add_argument(
        "--python", type=Path, metavar="FILE", help="the Python (default: the project's .venv, or this one)"
    )
    install.add_argument(
        "--scope", choices=["project", "user"], help="this folder, or everywhere (default: project, if the host has it)"
    )
    install.add_argument("--config", type=Path, metavar="FILE", help="the file to change, instead of the host's own")
    install.add_argument("--remove", action="store_true", help="remove the server")
    install.add_argument("--force", action="store_true", help="replace or remove another server with the same name")
    install.add_argument("--dry-run", action="store_true", help="print the change, and write nothing")
    install.add_argument("--no-check", action="store_true", help="do not start the server")
    install.add_argument(
        "--timeout", type=_seconds, default=30.0, metavar="SECONDS", help="how long it may take to start (default: 30)"
    )
    install.add_argument("--json", action="store_true", help="print what was done as JSON")


def _install(options: argparse.Namespace, command: Sequence[str]) -> int:
    try:
        from fanlight.install.command import run

        return run(options, command)
    except ModuleNotFoundError as error:
        print(_missing("install", error, "dev"), file=sys.stderr)
        return 3


# fanlight build


def _add_build(commands: Any) -> None:
    build = _add(commands, "build", _build, help="bundle a View into one file", description=_BUILD)
    build.add_argument("source", nargs="?", metavar="SOURCE", help="an .html file, or a server as for fanlight dev")
    build.add_argument("-o", "--output", metavar="FILE", help="the file to write, or a folder for several Views")
    build.add_argument("--force", action="store_true", help="overwrite a file that exists, except sources")
    build.add_argument(
        "--view", action="append", default=[], metavar="TOOL", help="only the View of this tool, or with this URI"
    )
    build.add_argument(
        "--allow", action="append", default=[], metavar="ORIGIN", help="an origin that an .html file may refer to"
    )
    build.add_argument("--json", action="store_true", help="print sizes and parts as JSON")
    _add_server_options(build, choose=True)


def _build(options: argparse.Namespace, command: Sequence[str]) -> int:
    try:
        from fanlight.single_file.command import run
    except ModuleNotFoundError as error:
        print(_missing("build", error, "host"), file=sys.stderr)
        return 3
    return run(options, command)


# fanlight probe


def _add_probe(commands: Any) -> None:
    probe = _add(commands, "probe", _probe, help="test a host with an app that it shows", description=_PROBE)
    probe.add_argument("--http", action="store_true", help="serve over HTTP instead of stdio")
    probe.add_argument("--host", default="127.0.0.1", help="the address to listen on (default: 127.0.0.1)")
    probe.add_argument("--port", type=_port, default=8000, help="the port to listen on (default: 8000)")
    probe.add_argument("--report", type=Path, metavar="FILE", help="write each report to this file, as JSON")


def _probe(options: argparse.Namespace, command: Sequence[str]) -> int:
    try:
        from fanlight.check.writable import why_not_writable
        from fanlight.probe.server import probe_server
    except ModuleNotFoundError as error:
        print(_missing("probe", error, "host"), file=sys.stderr)
        return 3

    if options.report is not None and (why := why_not_writable(options.report)) is not None:
        print(f"fanlight probe: {why}", file=sys.stderr)
        return 2
    server = probe_server(options.report)
    try:
        if options.http:
            print(f"fanlight probe: http://{options.host}:{options.port}/mcp", file=sys.stderr, flush=True)
            server.run("streamable-http", host=options.host, port=options.port)
        else:
            server.run("stdio")
    except KeyboardInterrupt:
        pass
    return 0


# fanlight types


def _add_types(commands: Any) -> None:
    types = _add(commands, "types", _types, help="write the types of the View SDK, or of <mcp-app>", description=_TYPES)
    types.add_argument(
        "folder", nargs="?", type=Path, default=Path("fanlight-types"), help="where to write (default: fanlight-types)"
    )
    types.add_argument("--host", action="store_true", help="for pages that show Views, instead of Views")


def _types(options: argparse.Namespace, command: Sequence[str]) -> int:
    from fanlight.browser.types import write_page_types, write_view_types

    write = write_page_types if options.host else write_view_types
    try:
        for path in write(options.folder):
            print(path)
    except OSError as error:
        print(f"fanlight types: cannot write to {options.folder}: {error.strerror}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
