"""Show a View in a browser, in several ways, and record what happens.

    plain     a host that offers everything: result, theme, locale, display modes, growth, app tools, teardown
    bare      a host that offers the minimum: a fixed small size, no capabilities, no permissions, no styles
    odd       unknown fields and messages; every request of the View is denied, and the display mode stays
    partial   arguments that are never complete, then a cancellation
    error     a result that is an error
    ours      Fanlight's own host, with its three origins; then the page is reloaded

All but the last are played by a scripted host (`fanlight.check.scripted_host`).
"""

import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Final

import anyio

from fanlight import __version__
from fanlight.check.progress import OnProgress, Progress
from fanlight.check.replay_server import replay_server
from fanlight.check.scripted_host import (
    AGE,
    HandshakeError,
    NavigationError,
    PagePool,
    ScenePage,
    SceneSetup,
    Timers,
    ViewHangsError,
    first_line,
    is_from_view,
    page_file,
)
from fanlight.dev.arguments import example_arguments
from fanlight.host.consent.policy import Policy
from fanlight.protocol.errors import FanlightError
from fanlight.protocol.jsonrpc import JSONObject
from fanlight.rules.behaviour import is_slow
from fanlight.rules.observation import DENIAL, HANGS, PolicyViolation, Scene, ViewObservation
from fanlight.testing.live_view import LiveView, ScriptError, StageError
from fanlight.testing.permissive import ALLOW_ALL
from fanlight.testing.stage import Stage

if TYPE_CHECKING:
    from playwright.async_api import Browser, Error

NAMES: Final = ("plain", "bare", "odd", "partial", "error", "ours")

_AT_ONCE: Final = min(16, 4 * (os.cpu_count() or 1))
"""Scenes mostly wait, for the View to become idle and for processes of the browser, so several run at once."""
_SCENE_LIMIT: Final = 90.0
_WATCHED: Final = 500
"""How many milliseconds to watch a View that gets no messages."""
_TIMERS: Final = 10_000
"""How many milliseconds to wait for timers that are due in the View's first seconds, on a slow machine."""

_CAPABILITIES: Final[JSONObject] = {
    "openLinks": {},
    "serverTools": {},
    "serverResources": {},
    "logging": {},
    "downloadFile": {},
    "message": {"text": {}},
    "updateModelContext": {"text": {}, "structuredContent": {}},
}


async def play(
    browser: "Browser", setups: Sequence[SceneSetup], on_progress: OnProgress, names: Sequence[str] = NAMES
) -> list[ViewObservation]:
    """Play the scenes of all Views, several at once. A scene that was slow is repeated alone."""
    limit = anyio.CapacityLimiter(_AT_ONCE)
    scenes: dict[str, dict[str, Scene]] = {setup.document.uri: {} for setup in setups}
    total, done = len(setups) * len(names), 0

    def report_done(setup: SceneSetup, name: str, count: int = 1) -> None:
        nonlocal done
        done += count
        on_progress(Progress(f"{done} of {total} scenes: {name} of {setup.document.uri}"))

    async with AsyncExitStack() as stack:
        pages = PagePool(browser)
        stack.push_async_callback(pages.close)
        ours = await stack.enter_async_context(_our_stage(browser, setups)) if "ours" in names else None

        async def play_one(setup: SceneSetup, name: str) -> None:
            async with limit:
                if name == "ours":
                    assert ours is not None
                    played = await ours(setup)
                else:
                    played = await _scene(pages, setup, name)
                scenes[setup.document.uri][name] = played

        async def play_next(setup: SceneSetup, name: str) -> None:
            await play_one(setup, name)
            report_done(setup, name)

        async def play_all(setup: SceneSetup) -> None:
            first, *others = names
            await play_one(setup, first)
            # A View that does not start in the first scene would not start in the others.
            starts = scenes[setup.document.uri][first].unfinished is None
            report_done(setup, first, 1 if starts else len(names))
            if starts:
                for name in others:
                    tasks.start_soon(play_next, setup, name)

        async with anyio.create_task_group() as tasks:
            for setup in setups:
                tasks.start_soon(play_all, setup)
        for setup in setups:
            if "plain" in names and len(setups) * len(names) > 1 and is_slow(scenes[setup.document.uri]["plain"]):
                await play_one(setup, "plain")
    played = ((setup, scenes[setup.document.uri]) for setup in setups)
    return [ViewObservation(setup.document, {name: of[name] for name in names if name in of}) for setup, of in played]


async def _scene(pages: PagePool, setup: SceneSetup, name: str) -> Scene:
    from playwright.async_api import Error

    try:
        async with pages.open(setup, name) as page:
            await _play_scene(page)
            return await page.record()
    except Error as error:
        return Scene(name, unfinished=_browser_failure(error))


async def _play_scene(page: ScenePage) -> None:
    """Play a scene. If it is not completed, record why."""
    from playwright.async_api import Error

    with anyio.move_on_after(_SCENE_LIMIT) as limit:
        try:
            await _PLAYS[page.name](page)
        except ViewHangsError:
            page.unfinished = HANGS
        except HandshakeError:
            page.unfinished = "it did not finish the handshake"
        except NavigationError:
            page.unfinished = "it reloaded itself or navigated away"
        except Error as error:
            navigated = "it reloaded itself or navigated away" if page.navigations else None
            page.unfinished = navigated or _browser_failure(error)
    if limit.cancelled_caught:
        page.unfinished = f"it did not end within {_SCENE_LIMIT:g} seconds"


def _browser_failure(error: "Error") -> str:
    return f"the browser failed: {error.message.splitlines()[0]}"


# The scenes


async def _plain(page: ScenePage) -> None:
    context: JSONObject = {
        "theme": "light",
        "displayMode": "inline",
        "availableDisplayModes": ["inline", "fullscreen", "pip"],
        "containerDimensions": {"maxHeight": 2000, "width": 700},
        "locale": "en-GB",
        "timeZone": "UTC",
        "userAgent": f"fanlight-check/{__version__}",
        "platform": "web",
        "deviceCapabilities": {"touch": False, "hover": True},
        "safeAreaInsets": {"top": 0, "right": 0, "bottom": 0, "left": 0},
    }
    if "inputSchema" in page.setup.tool:
        context["toolInfo"] = {"id": "1", "tool": page.setup.tool}
    await page.begin(context, _CAPABILITIES)
    await page.input()
    await page.result()
    await page.measure("result")
    await page.begin_step("settled")
    await anyio.sleep(_WATCHED / 1000)
    await page.begin_step("theme")
    await page.evaluate('host.theme("dark")')
    await page.notify("ui/notifications/host-context-changed", {"theme": "dark"})
    await page.measure("theme")
    await page.begin_step("locale")
    await page.notify("ui/notifications/host-context-changed", {"locale": "de-DE"})
    await page.measure("locale")
    await _modes(page)
    await page.begin_step("grown")
    await page.inside("grow()")
    await page.measure("grown")
    await page.request("ping", "ping", {})
    await _app_tools(page)
    await page.inside(f"aged({AGE})")
    await page.inside(f"over({AGE}, {_TIMERS})", "fanlight.check.timers")
    await page.begin_step("teardown")
    await page.request("teardown", "ui/resource-teardown", {"reason": "The check is over."})


async def _modes(page: ScenePage) -> None:
    """Show the View in each display mode that it declares, or in all if it declares none."""
    initialize = await page.evaluate('host.messages.find(({ message }) => message.method === "ui/initialize")')
    params = initialize["message"].get("params") if initialize else None
    capabilities = params.get("appCapabilities") if isinstance(params, dict) else None
    declared = capabilities.get("availableDisplayModes") if isinstance(capabilities, dict) else None
    for mode, (width, height) in {"fullscreen": (1280, 800), "pip": (360, 240)}.items():
        if isinstance(declared, list) and declared and mode not in declared:
            continue
        await page.begin_step(mode)
        await page.evaluate(f"host.flexible(false), host.size({width}, {height})")
        dimensions = {"width": width, "height": height}
        change = {"displayMode": mode, "containerDimensions": dimensions}
        await page.notify("ui/notifications/host-context-changed", change)
        await page.measure(mode)
    await page.begin_step("inline")
    await page.evaluate("host.flexible(true), host.size(700, 400)")
    change = {"displayMode": "inline", "containerDimensions": {"maxHeight": 2000, "width": 700}}
    await page.notify("ui/notifications/host-context-changed", change)
    await page.wait_until_idle()


async def _app_tools(page: ScenePage) -> None:
    if "tools" not in (await page.record()).app_capabilities():
        return
    await page.begin_step("app tools")
    await page.request("list", "tools/list", {})
    await page.request("call-unknown", "tools/call", {"name": "fanlight-check-no-such-tool", "arguments": {}})
    for tool in (await page.record()).app_tools():
        name, schema = tool.get("name"), tool.get("inputSchema")
        annotations = tool.get("annotations")
        harmless = isinstance(annotations, Mapping) and annotations.get("readOnlyHint") is True
        if harmless and "call-known?" not in page.steps and (made := example_arguments(schema)) is not None:
            await page.request("call-known", "tools/call", {"name": name, "arguments": made})
        if isinstance(schema, Mapping) and schema.get("required") and "call-bad?" not in page.steps:
            await page.request("call-bad", "tools/call", {"name": name, "arguments": {}})


async def _bare(page: ScenePage) -> None:
    context = {
        "displayMode": "inline",
        "availableDisplayModes": ["inline"],
        "containerDimensions": {"width": 320, "height": 240},
    }
    await page.begin(context, {}, size=(320, 240), refuse={"code": -32601, "message": "Method not found"})
    await page.input()
    await page.result()
    await page.measure("result")
    await page.begin_step("clicked")
    await page.inside("expand()")
    await page.wait_until_idle()


async def _odd(page: ScenePage) -> None:
    context: JSONObject = {
        "theme": "dark",
        "displayMode": "inline",
        "availableDisplayModes": ["inline", "fullscreen", "pip"],
        "containerDimensions": {"maxHeight": 800},
        "x-fanlight-check": {"unknown": [None, 1]},
    }
    capabilities = {**_CAPABILITIES, "x-fanlight-check": {"unknown": {}}}
    await page.begin(context, capabilities, refuse={"code": -32000, "message": DENIAL}, stay=True)
    await page.begin_step("input")
    await page.notify("ui/notifications/tool-input", {"arguments": page.setup.arguments, "x-unknown": 1})
    await page.begin_step("result")
    odd_result = {**page.setup.result, "x-unknown": {"deep": [1, None]}}
    await page.notify("ui/notifications/tool-result", odd_result)
    await page.wait_until_idle()
    await page.begin_step("unknown")
    await page.notify("ui/notifications/x-fanlight-check", {"anything": True})
    await page.request("unknown", "ui/x-fanlight-check", {})
    await page.begin_step("clicked")
    await page.inside("expand()")
    await page.wait_until_idle()
    await page.request("ping", "ping", {})


async def _partial(page: ScenePage) -> None:
    context = {"theme": "light", "displayMode": "inline", "availableDisplayModes": ["inline"], "locale": "en-GB"}
    await page.begin(context, _CAPABILITIES)
    await page.wait_until_idle()
    await page.begin_step("partials")
    for arguments in _partial_arguments(page.setup.arguments):
        await page.notify("ui/notifications/tool-input-partial", {"arguments": arguments})
    await page.wait_until_idle()
    await page.begin_step("cancelled")
    await page.notify("ui/notifications/tool-cancelled", {"reason": "The user cancelled it."})
    await page.wait_until_idle()


def _partial_arguments(arguments: JSONObject) -> list[JSONObject]:
    """Return arguments as a model writes them, with fields that are missing, incomplete and then different."""
    grown: list[JSONObject] = [{}]
    seen: JSONObject = {}
    for name, value in arguments.items():
        begun = value[: len(value) // 2] if isinstance(value, str | list) else {} if isinstance(value, dict) else value
        grown.append({**seen, name: begun})
        seen[name] = value
        grown.append(dict(seen))
    return [*grown, {}] if len(grown) > 1 else grown


async def _error(page: ScenePage) -> None:
    context = {"theme": "light", "displayMode": "inline", "availableDisplayModes": ["inline"], "locale": "en-GB"}
    await page.begin(context, _CAPABILITIES)
    await page.input()
    await page.begin_step("error")
    failed = {"content": [{"type": "text", "text": "The tool failed: no such thing."}], "isError": True}
    await page.notify("ui/notifications/tool-result", failed)
    await page.measure("error")


_PLAYS: Final[Mapping[str, Callable[[ScenePage], Awaitable[None]]]] = {
    "plain": _plain,
    "bare": _bare,
    "odd": _odd,
    "partial": _partial,
    "error": _error,
}


# Our own host


@asynccontextmanager
async def _our_stage(
    browser: "Browser", setups: Sequence[SceneSetup]
) -> AsyncIterator[Callable[[SceneSetup], Awaitable[Scene]]]:
    """Open our own host, and yield a function that shows a View in it."""
    rules = {**ALLOW_ALL, "links": "deny", "downloads": "deny", "permissions": ()}
    server, tools = replay_server(setups)
    by_uri = {setup.document.uri: tool for setup, tool in zip(setups, tools, strict=True)}
    async with Stage({"checked": server}, browser=browser, policy=Policy(rules)) as stage:
        yield lambda setup: _our_scene(stage, setup, by_uri[setup.document.uri])


async def _our_scene(stage: Stage, setup: SceneSetup, tool: str) -> Scene:
    from playwright.async_api import Error

    try:
        with anyio.fail_after(_SCENE_LIMIT):
            async with stage.open("checked", tool, setup.arguments, within=15.0, script=page_file("timers.js")) as view:
                before = len(view.sent("ui/notifications/initialized"))
                steps = {"reloaded": len(view.messages)}
                await view.reload()
                marks = {"reloaded": {"shown": True}} if await _initialized_again(view, before) else {}
                console = [line.text for line in view.console if line.kind == "error" and is_from_view(line.text)]
                timers = Timers()
                for line in view.console:
                    timers.on_console(line.text)
                return Scene(
                    "ours",
                    messages=view.messages,
                    errors=timers.counted([("result", first_line(error.text)) for error in view.errors]),
                    places=_error_places(view.errors, setup),
                    console=[first_line(text) for text in console],
                    violations=list(
                        dict.fromkeys(PolicyViolation(each.directive, each.blocked) for each in view.violations)
                    ),
                    measurements=marks,
                    steps=steps,
                )
    except StageError as error:
        return Scene("ours", unfinished=f"{error}")
    except TimeoutError:
        return Scene("ours", unfinished=f"it did not end within {_SCENE_LIMIT:g} seconds")
    except (Error, FanlightError) as error:
        return Scene("ours", unfinished=first_line(str(error)))


def _error_places(errors: Sequence[ScriptError], setup: SceneSetup) -> dict[str, str]:
    """Return the author's file and line of each error, by its text, if the server reported them."""
    locate = setup.document.place
    places = {}
    for error in errors:
        place = locate(error.line, error.column) if locate and error.url == setup.document.uri else None
        if place is not None:
            places[first_line(error.text)] = f"{place.file}:{place.line}"
    return places


async def _initialized_again(view: LiveView, before: int) -> bool:
    for _ in range(500):
        if len(view.sent("ui/notifications/initialized")) > before:
            return True
        await anyio.sleep(0.02)
    return False


def made_up_result(tool: JSONObject) -> JSONObject:
    """Return a result for a tool that was not called, by its output schema."""
    schema = tool.get("outputSchema")
    made = example_arguments(schema) if isinstance(schema, Mapping) else None
    text = "This result is made up: fanlight check did not call the tool."
    result: JSONObject = {"content": [{"type": "text", "text": json.dumps(made) if made else text}]}
    return {**result, "structuredContent": made} if made is not None else result
