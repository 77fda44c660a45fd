"""Check a target: observe it, apply the rules to the observation, and report."""

from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fanlight.check.client import TIMEOUT
from fanlight.check.finding import Finding
from fanlight.check.progress import OnProgress
from fanlight.check.report import CheckedServer, Report
from fanlight.check.saved_views import read_saved_views
from fanlight.check.scenes import made_up_result, play
from fanlight.check.scripted_host import Respond, SceneSetup
from fanlight.check.selection import mark_skipped, parse_skips, select_rules
from fanlight.check.visit import Plan, is_destructive, visit
from fanlight.check.visitor import Visitor
from fanlight.dev.arguments import example_arguments
from fanlight.dev.source_lines import Lines
from fanlight.dev.targets import servers, with_diagnostics
from fanlight.host.upstream.config import Target, Url, parse_target
from fanlight.protocol.errors import UsageError as UsageError
from fanlight.protocol.jsonrpc import JSONObject
from fanlight.protocol.visibility import for_app
from fanlight.rules.observation import (
    DENIAL,
    Document,
    Look,
    ServerObservation,
    ToolCall,
    ViewObservation,
    html_of,
    ui_of,
)
from fanlight.rules.rule import Problem, Rule
from fanlight.rules.table import RULES
from fanlight.testing.browser import launch_browser, require_playwright

if TYPE_CHECKING:
    from playwright.async_api import Browser

_Subject = Target | Path
"""What is checked: a server, or a folder of saved Views."""


async def check(
    subject: object,
    *,
    command: Sequence[str] = (),
    headers: Mapping[str, str] | None = None,
    server: str | None = None,
    browser: "Browser | str | Path | bool" = True,
    only: Collection[str] = (),
    skip: Mapping[str, str] | None = None,
    baseline: Collection[str] = (),
    guesses: bool = False,
    libraries: bool = False,
    call: bool = True,
    arguments: Mapping[str, JSONObject] | None = None,
    timeout: float = TIMEOUT,  # noqa: ASYNC109  it bounds each response, not the call
    on_progress: OnProgress | None = None,
) -> Report:
    """Check a server, or a folder of saved Views, against the rules.

    Args:
        subject: A server file, a folder, a URL or an `mcpServers` file; or a server object of this program
            (`MCPServer`, `FastMCP` or a lowlevel `Server`).
        command: A command line that starts a server, instead of `subject`.
        headers: HTTP headers for servers that are reached by URL.
        server: The name of the one server to check, if `subject` is a file with several.
        browser: A running Playwright browser, or the path of one to start. True means one that is found. With False
            no View is shown, and the rules that need a browser are left out.
        only: Check only these rules: ids, aliases, or the letters before the number.
        skip: Rules that do not count, mapped to the reason. `RULE:PLACE` limits it to a file, tool, View or library.
        baseline: The keys of known findings, which do not count.
        guesses: Whether to report what the review of the source only suspects.
        libraries: Whether findings in bundled libraries keep their severity. By default it is low.
        call: Whether tools may be called. If not, Views are shown with a made-up result.
        arguments: The arguments to call tools with, by tool name.
        timeout: How many seconds to wait for each response of a server.
        on_progress: Called with each line of progress.
    """
    rules = select_rules(only)
    skips = parse_skips(skip or {})
    needs_browser = browser is not False and any(rule.subject == "view" for rule in rules)
    if needs_browser:
        require_playwright()
    plan = Plan(call, dict(arguments or {}), timeout)
    report_progress = on_progress or (lambda progress: None)
    subjects = _subjects(subject, command, headers, server)
    with closing(Lines()) as lines:
        observed = [await _observe(name, each, plan, lines, report_progress) for name, each in subjects.items()]
        _check_tool_names(plan.arguments, [each for each, _ in observed])
        if needs_browser:
            observations = await _show(observed, browser, plan, report_progress)
        else:
            rules = tuple(rule for rule in rules if rule.subject != "view")
            observations = [each for each, _ in observed]
        found = [finding for each in observations for finding in apply_rules(each, rules)]
    wanted = [_rated(finding, libraries) for finding in found if guesses or not finding.problem.is_guess]
    findings = tuple(mark_skipped(finding, skips, baseline) for finding in wanted)
    return Report(tuple(_summary(each) for each in observations), findings, rules, dict(skip or {}))


def _rated(finding: Finding, libraries: bool) -> Finding:
    """Lower the severity of a finding in a bundled library: its author is not the one of the View."""
    if finding.problem.library is None or libraries:
        return finding
    return replace(finding, problem=replace(finding.problem, severity="low"))


def apply_rules(observation: ServerObservation, rules: Iterable[Rule] = RULES) -> list[Finding]:
    """Return the findings of all rules about an observation."""
    return [finding for rule in rules if rule.is_checked for finding in _findings(rule, observation)]


def _findings(rule: Rule, observation: ServerObservation) -> Iterator[Finding]:
    if rule.subject == "look":
        yield from _findings_by_version(rule, observation)
        return
    subjects: Iterable[Any] = [observation]
    if rule.subject == "view":
        subjects = observation.views
    elif rule.subject == "document":
        subjects = [view.document for view in observation.views]
    for subject in subjects:
        for problem in rule.problems(subject):
            yield Finding(rule, observation.name, problem)


def _findings_by_version(rule: Rule, observation: ServerObservation) -> Iterator[Finding]:
    """Apply a rule to each protocol version, and report the same problem once."""
    looks = [look for look in observation.looks if look.ui]
    first: dict[tuple[str, str], Problem] = {}
    versions: dict[tuple[str, str], list[str]] = {}
    for look in looks:
        for problem in rule.problems(look):
            first.setdefault(problem.identity, problem)
            versions.setdefault(problem.identity, []).append(look.version)
    for identity, having in versions.items():
        is_everywhere = len(having) == len(looks)
        yield Finding(rule, observation.name, first[identity], () if is_everywhere else tuple(having))


def _check_tool_names(arguments: Mapping[str, JSONObject], observations: Iterable[ServerObservation]) -> None:
    """Raise if there are arguments for a tool that does not exist."""
    known = sorted({str(tool.get("name")) for each in observations for look in each.looks for tool in look.tools})
    for name in arguments:
        if name not in known:
            tools = f"The tools are {', '.join(known)}." if known else "There are no tools."
            raise UsageError(f"There is no tool {name!r} to give arguments to. {tools}")


# Observing


def _subjects(
    subject: object, command: Sequence[str], headers: Mapping[str, str] | None, server: str | None
) -> dict[str, _Subject]:
    """Return what is to be checked, by name."""
    if isinstance(subject, str | Path) and (folder := Path(subject).expanduser()).is_dir():
        if (folder / "server.py").is_file():
            subject = str(folder)
        elif any(folder.rglob("*.html")):
            return {folder.resolve().name: folder}
        else:
            raise UsageError(f"{folder} contains neither a server.py nor saved Views (.html files).")
    if isinstance(subject, Path):
        subject = str(subject)
    if isinstance(subject, str) or (subject is None and command):
        named = servers([subject] if subject else [], command, headers=headers, only=server)
        return {name: served.target for name, served in named.items()}
    if subject is None:
        raise UsageError("Name what to check: fanlight check server.py")
    return {str(getattr(subject, "name", None) or "server"): parse_target(subject)}


async def _observe(
    name: str, subject: _Subject, plan: Plan, lines: Lines, on_progress: OnProgress
) -> tuple[ServerObservation, _Subject]:
    if isinstance(subject, Path):
        return read_saved_views(name, subject), subject
    looks = await visit(with_diagnostics(subject, lines), plan, _with_name(name, on_progress))
    newest = max((look for look in looks if look.ui), key=lambda look: look.version)
    views = []
    for uri, item in newest.contents():
        html = html_of(item)
        tools = [tool for tool, linked in newest.links() if linked == uri]
        listed = newest.listed(uri) or {}
        if html is not None and (tools or "html" in str(item.get("mimeType"))):
            document = Document(uri, html, dict(ui_of(item) or ui_of(listed)), tools)
            views.append(ViewObservation(replace(document, place=partial(lines.place, document.sha256))))
    return ServerObservation(name, looks, views, url=subject.url if isinstance(subject, Url) else None), subject


def _with_name(name: str, on_progress: OnProgress) -> OnProgress:
    return lambda progress: on_progress(progress.of(name))


# Showing


async def _show(
    observed: list[tuple[ServerObservation, _Subject]],
    browser: "Browser | str | Path | bool",
    plan: Plan,
    on_progress: OnProgress,
) -> list[ServerObservation]:
    """Show every View of every server in one browser."""
    if not any(each.views for each, _ in observed):
        return [each for each, _ in observed]
    shown = []
    async with _browser(browser) as opened:
        for each, subject in observed:
            async with _server_behind(each, subject, plan) as server:
                setups = [_scene_setup(view, each, server) for view in each.views]
                views = await play(opened, setups, _with_name(each.name, on_progress)) if setups else []
            shown.append(replace(each, views=views, view_calls=server.failed if server else {}))
    return shown


@asynccontextmanager
async def _browser(browser: "Browser | str | Path | bool") -> "AsyncIterator[Browser]":
    if browser is True or isinstance(browser, str | Path):
        async with launch_browser(None if browser is True else browser) as found:
            yield found
    else:
        assert not isinstance(browser, bool)
        yield browser


@asynccontextmanager
async def _server_behind(
    observation: ServerObservation, subject: _Subject, plan: Plan
) -> AsyncIterator[Visitor | None]:
    """Keep a connection for the requests that Views make to their server while they are shown."""
    newest = observation.newest()
    if isinstance(subject, Path) or not plan.call or newest is None:
        yield None
        return
    async with Visitor(subject, newest.version, ui=True, response_timeout=plan.response_timeout) as visitor:
        visitor.connect_in_background()
        yield visitor


def _scene_setup(view: ViewObservation, observation: ServerObservation, server: Visitor | None) -> SceneSetup:
    """Choose the tool and the result that a View is shown with: of a successful call, or made up."""
    look = observation.newest()
    assert look is not None
    tools = view.document.tools
    called = next((tool for tool in tools if _succeeded(look.calls.get(str(tool.get("name"))))), None)
    tool = called or next(iter(tools), {})
    call = look.calls[str(tool["name"])] if called else None
    arguments = call.arguments if call else example_arguments(tool.get("inputSchema")) or {}
    result = (call.response.result if call else None) or made_up_result(tool)
    app_tools = [each for each in look.tools if for_app(each)]
    return SceneSetup(view.document, tool, arguments, result, _responder(server, look), app_tools)


def _succeeded(call: ToolCall | None) -> bool:
    return call is not None and call.response.result is not None and not call.response.result.get("isError")


def _responder(server: Visitor | None, look: Look) -> Respond:
    """Return a function that answers requests of Views as a host would. It refuses destructive tools."""
    tools = {str(tool.get("name")): tool for tool in look.tools}

    async def respond(method: str, params: JSONObject) -> JSONObject:
        if method == "tools/list":
            return {"result": {"tools": [tool for tool in look.tools if for_app(tool)]}}
        if method == "resources/list":
            return {"result": {"resources": list(look.resources)}}
        name = str(params.get("name"))
        if server is None or method not in ("tools/call", "resources/read"):
            return {"error": {"code": -32601, "message": f"fanlight check does not answer {method}"}}
        if method == "resources/read":
            response = await server.read(str(params.get("uri")))
        elif name not in tools or not for_app(tools[name]) or is_destructive(tools[name]):
            return {"error": {"code": -32000, "message": f"{DENIAL}: it does not call {name}"}}
        else:
            response = await server.call(name, params.get("arguments") or {})
        return {"result": response.result} if response.result is not None else {"error": response.error}

    return respond


def _summary(observation: ServerObservation) -> CheckedServer:
    newest = observation.newest()
    versions = tuple(dict.fromkeys(look.version for look in observation.looks))
    views = {
        view.where: {
            "sha256": view.document.sha256,
            "bytes": view.document.size,
            "ready_ms": _ready_ms(view),
            "scenes": list(view.scenes),
        }
        for view in observation.views
    }
    return CheckedServer(observation.name, versions, views, tuple(newest.calls) if newest else ())


def _ready_ms(view: ViewObservation) -> int | None:
    """Return after how many milliseconds a View was usable, or None if it was not shown."""
    for scene in view.played("plain"):
        return round(scene.ready_after() * 1000)
    return None
