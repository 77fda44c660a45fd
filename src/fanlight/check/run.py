"""Check a target: look at it, judge what was seen, and report."""

import json
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fanlight.check.arguments import example_arguments
from fanlight.check.finding import Finding
from fanlight.check.report import CheckedServer, Report
from fanlight.check.scenes import play, synthetic
from fanlight.check.scripted_host import Answers, Part
from fanlight.check.visit import PATIENCE, Plan, Visitor, destructive, visit
from fanlight.dev.source_lines import Lines
from fanlight.dev.targets import servers
from fanlight.host.upstream.config import Target, parse_target
from fanlight.protocol.errors import UsageError as UsageError
from fanlight.protocol.extension import MIME_TYPE, URI_SCHEME
from fanlight.protocol.jsonrpc import JSONObject
from fanlight.protocol.visibility import for_app
from fanlight.rules.observation import (
    DENIAL,
    Document,
    Look,
    Response,
    ServerObservation,
    ToolCall,
    ViewObservation,
    html_of,
    ui_of,
)
from fanlight.rules.rule import Problem, Rule
from fanlight.rules.table import BY_NAME, RULES
from fanlight.testing.browser import launched

if TYPE_CHECKING:
    from playwright.async_api import Browser

Tell = Callable[[str], None]
SAVED: Final = "saved"
"""In place of a protocol version, for Views that were saved."""


async def check(
    given: object,
    *,
    command: Sequence[str] = (),
    browser: "Browser | str | Path | bool" = True,
    only: Collection[str] = (),
    skip: Mapping[str, str] | None = None,
    baseline: Collection[str] = (),
    call: bool = True,
    arguments: Mapping[str, JSONObject] | None = None,
    patience: float = PATIENCE,
    tell: Tell | None = None,
) -> Report:
    """Check a server, or a folder of saved Views, against the rules.

    Args:
        given: A server file, a folder, a URL or an `mcpServers` file; or a server object of this program (`MCPServer`,
            `FastMCP` or a lowlevel `Server`).
        command: A command line that starts a server, instead of `given`.
        browser: A Playwright browser that runs, or the path of one to start. True means one that is found. With False
            no View is shown, and the rules that need a browser are left out.
        only: Check only these rules: ids, aliases, or the letters before the number.
        skip: Rules that do not count, mapped to the reason.
        baseline: The keys of known findings, which do not count.
        call: Whether tools may be called. If not, Views are shown with a made-up result.
        arguments: The arguments to call tools with, by tool name.
        patience: How many seconds to wait for each response of a server.
        tell: Called with a line of progress for people.
    """
    rules = _chosen(only)
    reasons = _skipped(skip or {})
    plan = Plan(call, dict(arguments or {}), patience)
    say = tell or (lambda words: None)
    with closing(Lines()) as lines:
        seen = [await _observe(name, to, plan, lines, say) for name, to in _targets(given, command).items()]
        _check_names(plan.arguments, [each for each, _ in seen])
        if browser is not False and any(rule.subject == "view" for rule in rules):
            shown = await _shown(seen, browser, plan, say)
        else:
            rules = tuple(rule for rule in rules if rule.subject != "view")
            shown = [each for each, _ in seen]
        found = [finding for each in shown for finding in judged(each, rules)]
    findings = tuple(_marked(finding, reasons, baseline) for finding in found)
    return Report(tuple(_summary(each) for each in shown), findings, rules, reasons)


def judged(seen: ServerObservation, rules: Iterable[Rule] = RULES) -> list[Finding]:
    """Hold what was seen against the rules."""
    return [finding for rule in rules if rule.is_checked for finding in _broken(rule, seen)]


def _broken(rule: Rule, seen: ServerObservation) -> Iterator[Finding]:
    if rule.subject == "look":
        yield from _on_versions(rule, seen)
        return
    subjects: Iterable[Any] = [seen]
    if rule.subject == "view":
        subjects = seen.views
    elif rule.subject == "document":
        subjects = [view.document for view in seen.views]
    for subject in subjects:
        for problem in rule.problems(subject):
            yield Finding(rule, seen.name, problem)


def _on_versions(rule: Rule, seen: ServerObservation) -> Iterator[Finding]:
    """Ask a rule of each protocol version; what is so on all is told once."""
    looks = [look for look in seen.looks if look.ui]
    first: dict[tuple[str, str], Problem] = {}
    on: dict[tuple[str, str], list[str]] = {}
    for look in looks:
        for problem in rule.problems(look):
            first.setdefault(problem.identity, problem)
            on.setdefault(problem.identity, []).append(look.version)
    for identity, versions in on.items():
        problem = first[identity]
        everywhere = len(versions) == len(looks)
        yield Finding(rule, seen.name, problem, () if everywhere else tuple(versions))


# What was asked for


def _chosen(only: Collection[str]) -> tuple[Rule, ...]:
    if not only:
        return RULES
    ids = {rule.id for name in only for rule in _named(name)}
    return tuple(rule for rule in RULES if rule.id in ids)


def _skipped(skip: Mapping[str, str]) -> dict[str, str]:
    return {rule.id: because for name, because in skip.items() for rule in _named(name)}


def _named(name: str) -> list[Rule]:
    """Return the rules that a name means: an id, an alias, or the beginning of ids such as REV."""
    if name in BY_NAME:
        return [BY_NAME[name]]
    found = [rule for rule in RULES if rule.id.startswith(f"{name.rstrip('-')}-")]
    if not found:
        raise UsageError(f"There is no rule {name!r}. fanlight check --list prints them all.")
    return found


def _check_names(arguments: Mapping[str, JSONObject], seen: Iterable[ServerObservation]) -> None:
    """Raise for arguments of a tool that there is not."""
    known = sorted({str(tool.get("name")) for each in seen for look in each.looks for tool in look.tools})
    for name in arguments:
        if name not in known:
            there = f"The tools are {', '.join(known)}." if known else "There are no tools."
            raise UsageError(f"There is no tool {name!r} to give arguments to. {there}")


def _marked(finding: Finding, reasons: Mapping[str, str], baseline: Collection[str]) -> Finding:
    if finding.rule.id in reasons:
        return replace(finding, skipped=reasons[finding.rule.id])
    return replace(finding, skipped="It is in the baseline.") if finding.key in baseline else finding


# Targets

_Where = Target | Path


def _targets(given: object, command: Sequence[str]) -> dict[str, _Where]:
    if isinstance(given, str | Path) and (folder := Path(given).expanduser()).is_dir():
        if (folder / "server.py").is_file():
            given = str(folder)
        elif any(folder.rglob("*.html")):
            return {folder.resolve().name: folder}
        else:
            raise UsageError(f"{folder} holds neither a server.py nor saved Views (.html files).")
    if isinstance(given, Path):
        given = str(given)
    if isinstance(given, str) or (given is None and command):
        return {name: served.target for name, served in servers([given] if given else [], command).items()}
    if given is None:
        raise UsageError("Name what is to be checked: fanlight check server.py")
    return {str(getattr(given, "name", None) or "server"): parse_target(given)}


async def _observe(name: str, to: _Where, plan: Plan, lines: Lines, tell: Tell) -> tuple[ServerObservation, _Where]:
    if isinstance(to, Path):
        return _saved(name, to), to

    looks = await visit(lines.asked_of(to), plan, _named_by(name, tell))
    best = max((look for look in looks if look.ui), key=lambda look: look.version)
    views = []
    for uri, item in best.contents():
        html = html_of(item)
        tools = [tool for tool, linked in best.links() if linked == uri]
        listed = best.listed(uri) or {}
        if html is not None and (tools or "html" in str(item.get("mimeType"))):
            ui = dict(ui_of(item) or ui_of(listed))
            document = Document(uri, html, ui, tools)
            views.append(ViewObservation(replace(document, place=partial(lines.place, document.sha256))))
    return ServerObservation(name, looks, views), to


def _named_by(name: str, tell: Tell) -> Tell:
    return lambda words: tell(f"{name} {words}")


def _saved(name: str, folder: Path) -> ServerObservation:
    """Read saved Views: each .html file, with what a .json file of the same name tells of it.

    The .json file is a content item (`uri`, `mimeType`, `_meta`) without its text, and may have `tool`, `arguments`
    and `result`.
    """
    reads: dict[str, Response] = {}
    tools: list[JSONObject] = []
    calls: dict[str, ToolCall] = {}
    views = []
    for path in sorted(folder.rglob("*.html")):
        told = _sidecar(path.with_suffix(".json"))
        file = path.relative_to(folder).as_posix()
        uri = str(told.get("uri") or f"{URI_SCHEME}{name}/{file.removesuffix('.html')}")
        html = path.read_text(encoding="utf-8", errors="replace")
        item = {"uri": uri, "mimeType": told.get("mimeType", MIME_TYPE), "text": html}
        if "_meta" in told:
            item["_meta"] = told["_meta"]
        reads[uri] = Response({"contents": [item]})
        mine = [told["tool"]] if isinstance(told.get("tool"), dict) else []
        tools += mine
        if mine and isinstance(told.get("result"), dict):
            calls[str(mine[0].get("name"))] = ToolCall(told.get("arguments") or {}, Response(told["result"]))
        views.append(ViewObservation(Document(uri, html, dict(ui_of(item)), mine, file)))
    look = Look(SAVED, True, {"extensions": {"io.modelcontextprotocol/ui": {}}}, tools, reads=reads, calls=calls)
    return ServerObservation(name, [look], views, saved=True)


def _sidecar(path: Path) -> JSONObject:
    if not path.is_file():
        return {}
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UsageError(f"{path} is not JSON: {error}.") from None
    if not isinstance(told, dict):
        raise UsageError(f'{path} is no object. Write {{"uri": "ui://...", "_meta": {{"ui": {{}}}}}}.')
    return told


# The browser


async def _shown(
    seen: list[tuple[ServerObservation, _Where]], browser: "Browser | str | Path | bool", plan: Plan, tell: Tell
) -> list[ServerObservation]:
    """Show every View of every server in one browser."""
    if not any(each.views for each, _ in seen):
        return [each for each, _ in seen]
    shown = []
    async with _browser(browser) as opened:
        for each, to in seen:
            async with _server_behind(each, to, plan) as server:
                parts = [_part(view, each, server) for view in each.views]
                views = await play(opened, parts, _named_by(each.name, tell)) if parts else []
            shown.append(replace(each, views=views, view_calls=server.failed if server else {}))
    return shown


@asynccontextmanager
async def _browser(given: "Browser | str | Path | bool") -> "AsyncIterator[Browser]":
    if given is True or isinstance(given, str | Path):
        async with launched(None if given is True else given) as browser:
            yield browser
    else:
        assert not isinstance(given, bool)
        yield given


@asynccontextmanager
async def _server_behind(seen: ServerObservation, to: _Where, plan: Plan) -> AsyncIterator[Visitor | None]:
    """Keep a connection for what Views ask of their server while they are shown."""
    best = seen.newest()
    if isinstance(to, Path) or not plan.call or best is None:
        yield None
        return
    async with Visitor(to, best.version, ui=True, patience=plan.patience) as visitor:
        visitor.connect_meanwhile()
        yield visitor


def _part(view: ViewObservation, seen: ServerObservation, server: Visitor | None) -> Part:
    """Find what a View is shown with: the tool that was called for it, or one with a result that is made up."""
    look = seen.newest()
    assert look is not None
    tools = view.document.tools
    called = next((tool for tool in tools if _worked(look.calls.get(str(tool.get("name"))))), None)
    tool = called or next(iter(tools), {})
    call = look.calls[str(tool["name"])] if called else None
    made = call.arguments if call else example_arguments(tool.get("inputSchema")) or {}
    result = (call.response.result if call else None) or synthetic(tool)
    return Part(
        view.document, tool, made, result, _answers(server, look), [each for each in look.tools if for_app(each)]
    )


def _worked(call: ToolCall | None) -> bool:
    return call is not None and call.response.result is not None and not call.response.result.get("isError")


def _answers(server: Visitor | None, look: Look) -> Answers:
    """Answer what a View asks of its server, as a host would; nothing that destroys, and nothing that is not for it."""
    tools = {str(tool.get("name")): tool for tool in look.tools}

    async def answer(method: str, params: JSONObject) -> JSONObject:
        if method == "tools/list":
            return {"result": {"tools": [tool for tool in look.tools if for_app(tool)]}}
        if method == "resources/list":
            return {"result": {"resources": list(look.resources)}}
        name = str(params.get("name"))
        if server is None or method not in ("tools/call", "resources/read"):
            return {"error": {"code": -32601, "message": f"fanlight check does not answer {method}"}}
        if method == "resources/read":
            got = await server.read(str(params.get("uri")))
        elif name not in tools or not for_app(tools[name]) or destructive(tools[name]):
            return {"error": {"code": -32000, "message": f"{DENIAL}: it does not call {name}"}}
        else:
            got = await server.call(name, params.get("arguments") or {})
        return {"result": got.result} if got.result is not None else {"error": got.error}

    return answer


def _summary(seen: ServerObservation) -> CheckedServer:
    best = seen.newest()
    versions = tuple(dict.fromkeys(look.version for look in seen.looks))
    views = {
        view.where: {
            "sha256": view.document.sha256,
            "bytes": view.document.size,
            "ready_ms": _ready(view),
            "scenes": list(view.scenes),
        }
        for view in seen.views
    }
    return CheckedServer(seen.name, versions, views, tuple(best.calls) if best else ())


def _ready(view: ViewObservation) -> int | None:
    """Return after how many milliseconds a View could be used, if it was shown."""
    for scene in view.played("plain"):
        return round(scene.ready_after() * 1000)
    return None
