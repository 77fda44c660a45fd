"""Show a View in a browser, in several ways, and write down what happens.

    plain     a host that offers everything: result, theme, locale, display modes, growth, app tools, teardown
    bare      a host that offers the least: a fixed small size, no capabilities, no permissions, no styles
    odd       unknown fields and messages; whatever the View asks is denied, and the display mode stays
    partial   arguments that are never complete, then a cancellation
    error     a result that is an error
    ours      Fanlight's own host, with its three origins; and the page loaded again

All but the last are played by a scripted host (`fanlight.check.scripted_host`).
"""

import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Final

import anyio

from fanlight import __version__
from fanlight.check.arguments import example_arguments
from fanlight.check.replay_server import stand_in
from fanlight.check.scripted_host import (
    AGE,
    HandshakeError,
    NavigationError,
    Pages,
    Part,
    Script,
    Timers,
    ViewHangsError,
    first_line,
    is_own_words,
    page_file,
)
from fanlight.host.consent.policy import Policy
from fanlight.protocol.errors import FanlightError
from fanlight.protocol.jsonrpc import JSONObject
from fanlight.rules.behaviour import is_slow
from fanlight.rules.observation import DENIAL, HANGS, Scene, ViewObservation
from fanlight.testing.live_view import LiveView, ScriptError, StageError
from fanlight.testing.permissive import ALLOW_ALL
from fanlight.testing.stage import Stage

if TYPE_CHECKING:
    from playwright.async_api import Browser, Error

NAMES: Final = ("plain", "bare", "odd", "partial", "error", "ours")

_AT_ONCE: Final = min(16, 4 * (os.cpu_count() or 1))
"""A scene mostly waits: for the View to rest, and for processes of the browser to begin and to end."""
_SCENE_LIMIT: Final = 90.0
_WATCHED: Final = 500
"""How long a View that is left alone is watched, in milliseconds."""
_TIMERS: Final = 10_000
"""How long the timers that are due while a View is young are waited for, on a machine that is slow."""

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
    browser: "Browser", parts: Sequence[Part], tell: Callable[[str], None], names: Sequence[str] = NAMES
) -> list[ViewObservation]:
    """Play some scenes of all Views, several at once. What was slow among the others is played once more, alone."""
    limit = anyio.CapacityLimiter(_AT_ONCE)
    scenes: dict[str, dict[str, Scene]] = {part.document.uri: {} for part in parts}
    total, done = len(parts) * len(names), 0

    def over(part: Part, name: str, count: int = 1) -> None:
        nonlocal done
        done += count
        tell(f"{done} of {total} scenes: {name} of {part.document.uri}")

    async with AsyncExitStack() as stack:
        pages = Pages(browser)
        stack.push_async_callback(pages.close)
        ours = await stack.enter_async_context(_our_stage(browser, parts)) if "ours" in names else None

        async def one(part: Part, name: str) -> None:
            async with limit:
                if name == "ours":
                    assert ours is not None
                    played = await ours(part)
                else:
                    played = await _scene(pages, part, name)
                scenes[part.document.uri][name] = played

        async def next_one(part: Part, name: str) -> None:
            await one(part, name)
            over(part, name)

        async def all_of(part: Part) -> None:
            first, *others = names
            await one(part, first)
            # A View that does not start in one does not start in another.
            starts = scenes[part.document.uri][first].unfinished is None
            over(part, first, 1 if starts else len(names))
            if starts:
                for name in others:
                    tasks.start_soon(next_one, part, name)

        async with anyio.create_task_group() as tasks:
            for part in parts:
                tasks.start_soon(all_of, part)
        for part in parts:
            if "plain" in names and len(parts) * len(names) > 1 and is_slow(scenes[part.document.uri]["plain"]):
                await one(part, "plain")
    played = ((part, scenes[part.document.uri]) for part in parts)
    return [ViewObservation(part.document, {name: of[name] for name in names if name in of}) for part, of in played]


async def _scene(pages: Pages, part: Part, name: str) -> Scene:
    from playwright.async_api import Error

    try:
        async with pages.open(part, name) as script:
            await _played(script)
            return await script.written()
    except Error as error:
        return Scene(name, unfinished=_stopped(error))


async def _played(script: Script) -> None:
    """Play a scene; if it does not come to its end, the script says why."""
    from playwright.async_api import Error

    with anyio.move_on_after(_SCENE_LIMIT) as limit:
        try:
            await _PLAYS[script.name](script)
        except ViewHangsError:
            script.unfinished = HANGS
        except HandshakeError:
            script.unfinished = "it did not finish the handshake"
        except NavigationError:
            script.unfinished = "it reloaded itself or navigated away"
        except Error as error:
            navigated = "it reloaded itself or navigated away" if script.navigations else None
            script.unfinished = navigated or _stopped(error)
    if limit.cancelled_caught:
        script.unfinished = f"it was not over after {_SCENE_LIMIT:g} seconds"


def _stopped(error: "Error") -> str:
    return f"the browser could not go on: {error.message.splitlines()[0]}"


# The scenes


async def _plain(script: Script) -> None:
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
    if "inputSchema" in script.part.tool:
        context["toolInfo"] = {"id": "1", "tool": script.part.tool}
    await script.begin(context, _CAPABILITIES)
    await script.input()
    await script.result()
    await script.mark("result")
    await script.take("settled")
    await anyio.sleep(_WATCHED / 1000)
    await script.take("theme")
    await script.evaluate('host.theme("dark")')
    await script.tell("ui/notifications/host-context-changed", {"theme": "dark"})
    await script.mark("theme")
    await script.take("locale")
    await script.tell("ui/notifications/host-context-changed", {"locale": "de-DE"})
    await script.mark("locale")
    await _modes(script)
    await script.take("grown")
    await script.inside("grow()")
    await script.mark("grown")
    await script.ask("ping", "ping", {})
    await _app_tools(script)
    await script.inside(f"aged({AGE})")
    await script.inside(f"over({AGE}, {_TIMERS})", "fanlight.check.timers")
    await script.take("teardown")
    await script.ask("teardown", "ui/resource-teardown", {"reason": "The check is over."})


async def _modes(script: Script) -> None:
    """Show the View in each display mode that it declared; in all, if it declared none."""
    hello = await script.evaluate('host.said.find(({ message }) => message.method === "ui/initialize")')
    params = hello["message"].get("params") if hello else None
    capabilities = params.get("appCapabilities") if isinstance(params, dict) else None
    declared = capabilities.get("availableDisplayModes") if isinstance(capabilities, dict) else None
    for mode, (width, height) in {"fullscreen": (1280, 800), "pip": (360, 240)}.items():
        if isinstance(declared, list) and declared and mode not in declared:
            continue
        await script.take(mode)
        await script.evaluate(f"host.flexible(false), host.size({width}, {height})")
        dimensions = {"width": width, "height": height}
        change = {"displayMode": mode, "containerDimensions": dimensions}
        await script.tell("ui/notifications/host-context-changed", change)
        await script.mark(mode)
    await script.take("inline")
    await script.evaluate("host.flexible(true), host.size(700, 400)")
    change = {"displayMode": "inline", "containerDimensions": {"maxHeight": 2000, "width": 700}}
    await script.tell("ui/notifications/host-context-changed", change)
    await script.rest()


async def _app_tools(script: Script) -> None:
    if "tools" not in (await script.written()).app_capabilities():
        return
    await script.take("app tools")
    await script.ask("list", "tools/list", {})
    await script.ask("call-unknown", "tools/call", {"name": "fanlight-check-no-such-tool", "arguments": {}})
    for tool in (await script.written()).app_tools():
        name, schema = tool.get("name"), tool.get("inputSchema")
        annotations = tool.get("annotations")
        harmless = isinstance(annotations, Mapping) and annotations.get("readOnlyHint") is True
        if harmless and "call-known?" not in script.steps and (made := example_arguments(schema)) is not None:
            await script.ask("call-known", "tools/call", {"name": name, "arguments": made})
        if isinstance(schema, Mapping) and schema.get("required") and "call-bad?" not in script.steps:
            await script.ask("call-bad", "tools/call", {"name": name, "arguments": {}})


async def _bare(script: Script) -> None:
    context = {
        "displayMode": "inline",
        "availableDisplayModes": ["inline"],
        "containerDimensions": {"width": 320, "height": 240},
    }
    await script.begin(context, {}, size=(320, 240), refuse={"code": -32601, "message": "Method not found"})
    await script.input()
    await script.result()
    await script.mark("result")
    await script.take("clicked")
    await script.inside("expand()")
    await script.rest()


async def _odd(script: Script) -> None:
    context: JSONObject = {
        "theme": "dark",
        "displayMode": "inline",
        "availableDisplayModes": ["inline", "fullscreen", "pip"],
        "containerDimensions": {"maxHeight": 800},
        "x-fanlight-check": {"unknown": [None, 1]},
    }
    capabilities = {**_CAPABILITIES, "x-fanlight-check": {"unknown": {}}}
    await script.begin(context, capabilities, refuse={"code": -32000, "message": DENIAL}, stay=True)
    await script.take("input")
    await script.tell("ui/notifications/tool-input", {"arguments": script.part.arguments, "x-unknown": 1})
    await script.take("result")
    odd_result = {**script.part.result, "x-unknown": {"deep": [1, None]}}
    await script.tell("ui/notifications/tool-result", odd_result)
    await script.rest()
    await script.take("unknown")
    await script.tell("ui/notifications/x-fanlight-check", {"anything": True})
    await script.ask("unknown", "ui/x-fanlight-check", {})
    await script.take("clicked")
    await script.inside("expand()")
    await script.rest()
    await script.ask("ping", "ping", {})


async def _partial(script: Script) -> None:
    context = {"theme": "light", "displayMode": "inline", "availableDisplayModes": ["inline"], "locale": "en-GB"}
    await script.begin(context, _CAPABILITIES)
    await script.rest()
    await script.take("partials")
    for arguments in _growing(script.part.arguments):
        await script.tell("ui/notifications/tool-input-partial", {"arguments": arguments})
    await script.rest()
    await script.take("cancelled")
    await script.tell("ui/notifications/tool-cancelled", {"reason": "The user cancelled it."})
    await script.rest()


def _growing(arguments: JSONObject) -> list[JSONObject]:
    """Return arguments as a model writes them: fields that are not there, begun, and then different."""
    grown: list[JSONObject] = [{}]
    seen: JSONObject = {}
    for name, value in arguments.items():
        begun = value[: len(value) // 2] if isinstance(value, str | list) else {} if isinstance(value, dict) else value
        grown.append({**seen, name: begun})
        seen[name] = value
        grown.append(dict(seen))
    return [*grown, {}] if len(grown) > 1 else grown


async def _error(script: Script) -> None:
    context = {"theme": "light", "displayMode": "inline", "availableDisplayModes": ["inline"], "locale": "en-GB"}
    await script.begin(context, _CAPABILITIES)
    await script.input()
    await script.take("error")
    failed = {"content": [{"type": "text", "text": "The tool failed: no such thing."}], "isError": True}
    await script.tell("ui/notifications/tool-result", failed)
    await script.mark("error")


_PLAYS: Final[Mapping[str, Callable[[Script], Awaitable[None]]]] = {
    "plain": _plain,
    "bare": _bare,
    "odd": _odd,
    "partial": _partial,
    "error": _error,
}


# Our own host


@asynccontextmanager
async def _our_stage(browser: "Browser", parts: Sequence[Part]) -> AsyncIterator[Callable[[Part], Awaitable[Scene]]]:
    """Open our own host, and yield what shows a View in it."""
    rules = {**ALLOW_ALL, "links": "deny", "downloads": "deny", "permissions": ()}
    server, tools = stand_in(parts)
    by_uri = {part.document.uri: tool for part, tool in zip(parts, tools, strict=True)}
    async with Stage({"checked": server}, browser=browser, policy=Policy(rules)) as stage:
        yield lambda part: _our_scene(stage, part, by_uri[part.document.uri])


async def _our_scene(stage: Stage, part: Part, tool: str) -> Scene:
    from playwright.async_api import Error

    try:
        with anyio.fail_after(_SCENE_LIMIT):
            async with stage.open("checked", tool, part.arguments, within=15.0, script=page_file("timers.js")) as view:
                before = len(view.sent("ui/notifications/initialized"))
                steps = {"reloaded": len(view.messages)}
                await view.reload()
                marks = {"reloaded": {"shown": True}} if await _initialized_again(view, before) else {}
                console = [line.text for line in view.console if line.kind == "error" and is_own_words(line.text)]
                timers = Timers()
                for line in view.console:
                    timers.heard(line.text)
                return Scene(
                    "ours",
                    messages=view.messages,
                    errors=_located(timers, view.errors, part),
                    console=[first_line(text) for text in console],
                    violations=list(
                        dict.fromkeys(f"{each.directive} blocked {each.blocked}" for each in view.violations)
                    ),
                    measurements=marks,
                    steps=steps,
                )
    except StageError as error:
        return Scene("ours", unfinished=f"{error}")
    except TimeoutError:
        return Scene("ours", unfinished=f"it was not over after {_SCENE_LIMIT:g} seconds")
    except (Error, FanlightError) as error:
        return Scene("ours", unfinished=first_line(str(error)))


def _located(timers: Timers, errors: Sequence[ScriptError], part: Part) -> list[tuple[str, str]]:
    """Return the errors that count, each with the author's file and line if the server reported them."""
    locate = part.document.place
    texts = {}
    for error in errors:
        place = locate(error.line, error.column) if locate and error.url == part.document.uri else None
        text = first_line(error.text)
        texts[text] = text if place is None else f"{text} ({place.file}:{place.line})"
    counted = timers.counted([("result", first_line(error.text)) for error in errors])
    return [(step, texts[text]) for step, text in counted]


async def _initialized_again(view: LiveView, before: int) -> bool:
    for _ in range(500):
        if len(view.sent("ui/notifications/initialized")) > before:
            return True
        await anyio.sleep(0.02)
    return False


def synthetic(tool: JSONObject) -> JSONObject:
    """Return a result for a tool that was not called, as its output schema asks."""
    schema = tool.get("outputSchema")
    made = example_arguments(schema) if isinstance(schema, Mapping) else None
    text = "This is no real result: fanlight check did not call the tool."
    result: JSONObject = {"content": [{"type": "text", "text": json.dumps(made) if made else text}]}
    return {**result, "structuredContent": made} if made is not None else result
