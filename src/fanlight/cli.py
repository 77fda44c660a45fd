"""The command `fanlight`: parses and prints. The work is importable."""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

_DEV = """\
Show the apps of MCP servers in a browser, as a host would, with everything visible.

  fanlight dev server.py                      a server of yours
  fanlight dev https://maps.example/mcp       one over HTTP
  fanlight dev -- npx some-server --stdio     one that is a command
  fanlight dev claude_desktop_config.json     all of a file
  fanlight dev                                the examples
"""

_CHECK = """\
Hold a server and its Views against the rules of MCP Apps: by plain clients on every protocol version, by a real
browser, and by a security review of each View.

  fanlight check server.py                    a server of yours
  fanlight check https://maps.example/mcp     one over HTTP
  fanlight check -- npx some-server --stdio   one that is a command
  fanlight check saved/                       a folder of saved Views (.html)

Tools that have a View are called, with arguments made from their schema, unless they are annotated as destructive.

exit code: 0 nothing is broken that the standard demands, 1 something is, 2 usage, 3 it could not start
"""

_SHOT = """\
Take a picture of a View with its data, in a headless browser, as a host shows it.

  fanlight shot server.py get_time -o clock.png
  fanlight shot server.py get_time --args '{"zone": "Asia/Tokyo"}' --theme both
  fanlight shot server.py get_time --size 800x600,360x640 --locale en-US,de-DE --freeze
  fanlight shot get-time -- npx some-server --stdio

Several looks become one sheet. Exit code: 0, 1 (the View did not render), 2 (usage), 3 (could not start).
"""

_PROBE = """\
Serve an app that tests the host which shows it: each rule of MCP Apps for hosts, with pass, fail or not testable.

  fanlight probe                              over stdio, for the configuration of a host
  fanlight probe --http --port 8100           at http://127.0.0.1:8100/mcp
  fanlight dev -- fanlight probe              in the host that comes with fanlight

Ask the model to call probe_host. docs/how-to/probe-a-host.md says more.
"""

Run = Callable[[argparse.Namespace, Sequence[str]], int]
"""What does a command: it gets its options and the command line after `--`, and returns the exit code."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    command: list[str] = []
    if "--" in given:
        given, command = given[: given.index("--")], given[given.index("--") + 1 :]
    parser = argparse.ArgumentParser(prog="fanlight", description="MCP Apps for Python.")
    parser.add_argument("--version", action="store_true", help="print the version")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    _add_dev(commands)
    _add_check(commands)
    _add_shot(commands)
    _add_probe(commands)
    options = parser.parse_args(given)
    if options.version:
        from fanlight import __version__

        print(f"fanlight {__version__}")
        return 0
    if options.command is None:
        parser.print_help()
        return 0 if not given else 2
    run: Run = options.run
    try:
        code = run(options, command)
        sys.stdout.flush()
    except BrokenPipeError:
        # Who reads has read enough. What is left in the buffer must not be tried again at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141  # what a shell says of a program that was told so by a signal
    return code


def _add(commands: Any, name: str, run: Run, *, help: str, description: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=help, description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.set_defaults(run=run)
    return parser


def _port(text: str) -> int:
    """Read a port from the command line."""
    if text.isdecimal() and int(text) <= 65_435:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is no port: expected a number up to 65435")


# fanlight dev


def _add_dev(commands: Any) -> None:
    dev = _add(commands, "dev", _dev, help="show the apps of MCP servers in a browser", description=_DEV)
    dev.add_argument("servers", nargs="*", metavar="SERVER", help="a .py file, a folder, a URL or a .json file")
    dev.add_argument("--host", default="127.0.0.1", help="the address to listen at (default: 127.0.0.1)")
    dev.add_argument("--port", type=_port, default=8000, help="the first port to try (default: 8000)")
    dev.add_argument("--no-open", action="store_true", help="do not open a browser")
    dev.add_argument("--theme", choices=["light", "dark"], help="the theme to begin with (default: the system's)")
    dev.add_argument("--no-reload", action="store_true", help="do not watch files")
    dev.add_argument(
        "--policy", choices=["ask", "allow"], default="ask", help="ask the user, or allow all (default: ask)"
    )


def _dev(options: argparse.Namespace, command: Sequence[str]) -> int:
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
            policy=options.policy,
            theme=options.theme,
        )
    except FanlightError as error:
        print(f"fanlight dev: {error}", file=sys.stderr)
        return 2
    return 0


# fanlight check


def _add_check(commands: Any) -> None:
    check = _add(commands, "check", _check, help="hold a server and its Views against the standard", description=_CHECK)
    check.add_argument("target", nargs="?", metavar="TARGET", help="a .py file, a folder, a URL or a .json file")
    check.add_argument("--list", action="store_true", help="print the rules, and which of them are checked")
    check.add_argument("--only", action="append", default=[], metavar="RULE", help="ask only this rule, or these (REV)")
    check.add_argument("--skip", action="append", default=[], metavar="RULE", help="do not count this rule; needs ...")
    check.add_argument(
        "--because", action="append", default=[], metavar="WHY", help="... a reason, one for each --skip"
    )
    check.add_argument("--args", action="append", default=[], metavar="TOOL=JSON", help="call a tool with these")
    check.add_argument("--no-call", action="store_true", help="call no tools, and show made-up results")
    check.add_argument(
        "--timeout", type=_seconds, metavar="SECONDS", help="how long to wait for each answer (default: 15)"
    )
    check.add_argument("--no-browser", action="store_true", help="show no Views: leave out the rules that need it")
    check.add_argument("--baseline", metavar="FILE", help="findings in this file do not count")
    check.add_argument("--write-baseline", action="store_true", help="write all findings into that file")
    check.add_argument("--strict", action="store_true", help="exit with 1 for anything but advice and low risks, too")
    check.add_argument("--json", action="store_true", help="print the report as JSON")
    check.add_argument("--junit", metavar="FILE", help="write it as JUnit XML, too")
    check.add_argument("--sarif", metavar="FILE", help="write it as SARIF, too")
    check.add_argument("--quiet", action="store_true", help="no progress on stderr")


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds, such as 30")
    return seconds


def _check(options: argparse.Namespace, command: Sequence[str]) -> int:
    try:
        from fanlight.check.command import run
    except ModuleNotFoundError as error:
        print(f"fanlight check needs {error.name}: pip install 'fanlight[browser]'", file=sys.stderr)
        return 3
    return run(options, command)


# fanlight shot


def _add_shot(commands: Any) -> None:
    shot = _add(commands, "shot", _shot, help="take a picture of a View", description=_SHOT)
    shot.add_argument(
        "names", nargs="+", metavar="SERVER TOOL", help="a .py file, a folder or a URL; and one of its tools"
    )
    shot.add_argument("--args", default="{}", metavar="JSON", help="the arguments of the call, or @file.json")
    shot.add_argument("-o", "--output", default="shot.png", metavar="FILE", help="where it goes (default: shot.png)")
    shot.add_argument("--theme", choices=["light", "dark", "both"], default="light", help="(default: light)")
    shot.add_argument("--size", action="append", metavar="WxH", help="of the window (default: 800x600); several: a,b")
    shot.add_argument(
        "--mode", action="append", metavar="MODE", help="inline (default), fullscreen or pip; several: a,b"
    )
    shot.add_argument("--locale", action="append", metavar="TAG", help="such as de-DE (default: en-US); several: a,b")
    shot.add_argument("--time-zone", default="UTC", metavar="NAME", help="such as Asia/Tokyo (default: UTC)")
    shot.add_argument(
        "--freeze", action="store_true", help="pin time, chance and animations: the same picture each time"
    )
    shot.add_argument("--full", action="store_true", help="the whole View, not only what is in the window")
    shot.add_argument("--scale", type=float, default=1.0, help="points per pixel (default: 1)")
    shot.add_argument(
        "--timeout", type=float, default=20.0, metavar="SECONDS", help="for the View to rest (default: 20)"
    )
    shot.add_argument("--profile", choices=["strict", "compat"], default="strict", help="compat lets the View use eval")
    shot.add_argument("--allow-error", action="store_true", help="a View that shows an error is a picture, too")


def _shot(options: argparse.Namespace, command: Sequence[str]) -> int:
    try:
        from fanlight.testing.shot_command import run
    except ModuleNotFoundError as error:
        print(f"fanlight shot needs {error.name}: pip install 'fanlight[browser]'", file=sys.stderr)
        return 3
    return run(options, command)


# fanlight probe


def _add_probe(commands: Any) -> None:
    probe = _add(commands, "probe", _probe, help="test a host with an app that it shows", description=_PROBE)
    probe.add_argument("--http", action="store_true", help="serve over HTTP instead of stdio")
    probe.add_argument("--host", default="127.0.0.1", help="the address to listen at (default: 127.0.0.1)")
    probe.add_argument("--port", type=_port, default=8000, help="the port to listen at (default: 8000)")
    probe.add_argument("--report", type=Path, metavar="FILE", help="write each report to this file, as JSON")


def _probe(options: argparse.Namespace, command: Sequence[str]) -> int:
    try:
        from fanlight.check.writable import why_not_writable
        from fanlight.probe.server import probe_server
    except ModuleNotFoundError as error:
        print(f"fanlight probe needs {error.name}: pip install 'fanlight[host]'", file=sys.stderr)
        return 2

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


if __name__ == "__main__":
    sys.exit(main())
