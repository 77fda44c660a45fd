"""What a View is held to, by how it went in a browser. Each function yields what breaks its rule.

The scenes, and what happens in each, are those of `fanlight.check.scenes`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fanlight.check.observation import HANGS, LATER, Scene, ViewSeen
from fanlight.check.rule import Problem, steady
from fanlight.dev.presets import PRESETS, Preset
from fanlight.protocol.jsonrpc import JSONObject
from fanlight.protocol.transcript import RecordedMessage

_STANDARD: Final = frozenset(
    {
        *("ui/initialize", "ui/notifications/initialized", "ui/open-link", "ui/message", "ui/request-display-mode"),
        *("ui/update-model-context", "ui/download-file", "ui/notifications/size-changed"),
        *("ui/notifications/request-teardown", "tools/call", "tools/list", "resources/read", "resources/list"),
        *("resources/templates/list", "prompts/list", "sampling/createMessage", "notifications/message", "ping"),
        *("notifications/cancelled", "notifications/tools/list_changed"),
    }
)
_TODAY: Final = {
    "initialize": "ui/initialize",
    "notifications/initialized": "ui/notifications/initialized",
    "ui/size-change": "ui/notifications/size-changed",
    "ui/notifications/size-change": "ui/notifications/size-changed",
}
_SIDE_EFFECTS: Final = ("tools/call", "ui/message", "ui/open-link", "ui/download-file", "sampling/createMessage")
_FROM_SERVER: Final = ("tools/call", "tools/list", "resources/read", "resources/list")
_NO_METHOD: Final = -32601
_EVAL: Final = "blocked eval"
_QUERY: Final = re.compile(r"\?\S*")
_THROWN: Final = re.compile(r"(?:Uncaught )?\w*Error: ")
_CODE: Final = "Look at the View's console in fanlight dev."

HEAVY: Final = 1_000_000
SLOW: Final = 5.0
LOOP: Final = 10
"""As many reports of size in half a second in which nothing happens are a loop."""


def _params(said: RecordedMessage) -> Mapping[str, Any]:
    params = said.message.get("params")
    return params if isinstance(params, Mapping) else {}


def _capabilities(scene: Scene) -> Mapping[str, Any]:
    given = (scene.hello() or {}).get("appCapabilities")
    return given if isinstance(given, Mapping) else {}


def _code(answer: Mapping[str, Any] | None) -> object:
    error = (answer or {}).get("error")
    return error.get("code") if isinstance(error, Mapping) else None


def _failed(answer: Mapping[str, Any]) -> bool:
    """Tell whether a call of an app tool was answered as failed, in either way."""
    result = answer.get("result")
    return "error" in answer or (isinstance(result, Mapping) and result.get("isError") is True)


_COMMON: Final = "QUA-02"
_SPECIAL: Final[Mapping[str, Mapping[str, str]]] = {
    "plain": {"theme": "QUA-17", "locale": "QUA-17", "fullscreen": "QUA-17", "pip": "QUA-17", "teardown": "QUA-14"},
    "bare": {"start": "QUA-11", "input": "QUA-11", "result": "QUA-11"},
    "odd": {"start": "QUA-10", "result": "QUA-10", "unknown": "QUA-10"},
    "partial": {"partials": "TIP-08", "cancelled": "QUA-12"},
    "error": {"input": "QUA-13", "error": "QUA-13"},
}
"""The rule that tells of an error, by scene and step; in "plain" and "ours" it is the common one elsewhere."""
_REFUSED_MODE: Final = {"start": "DSP-03", "result": "DSP-03", "clicked": "DSP-03"}
"""The same for "odd", in which the host stays in its display mode, of a View that asked for another."""
_DENIED: Final = re.compile(r"NotAllowed|PermissionDenied|[Pp]ermission.*(?:denied|policy|dismissed)")


@dataclass(frozen=True)
class _Thrown:
    """An error that nobody caught, and where it was seen."""

    text: str
    steps: Sequence[tuple[str, str]]
    """Scenes and steps."""

    def told(self, view: ViewSeen, message: str, fix: str) -> Problem:
        """Return it as a problem, which is the same one wherever it was seen."""
        scenes = dict.fromkeys(scene for scene, _ in self.steps)
        said = f"{message}: {self.text} (seen in {', '.join(scenes)})"
        return Problem(view.where, said, fix, key=steady(self.text), thrown=True)


def _thrown(view: ViewSeen, rule: str) -> list[_Thrown]:
    """Return the errors that a rule is to tell: each error is told once, by what it has to do with."""
    steps: dict[str, list[tuple[str, str]]] = {}
    texts: dict[str, str] = {}
    for scene in view.played():
        for step, text in scene.errors:
            texts.setdefault(steady(text), text)
            steps.setdefault(steady(text), []).append((scene.name, step))
        if scene.name in ("plain", "ours"):
            for text in filter(_THROWN.match, scene.console):  # SDKs catch what a handler throws, and log it
                texts.setdefault(steady(text), text)
                steps.setdefault(steady(text), []).append((scene.name, LATER))
    refused = any(_requested(scene) for scene in view.played("odd"))
    found = [key for key in sorted(steps) if _teller(texts[key], steps[key], refused) == rule]
    return [_Thrown(texts[key], steps[key]) for key in found]


def _teller(text: str, steps: Sequence[tuple[str, str]], refused: bool) -> str | None:
    rules = [_teller_of(text, scene, step, refused) for scene, step in steps]
    if _COMMON in rules:
        return _COMMON
    return next((rule for rule in rules if rule is not None), None)


def _teller_of(text: str, scene: str, step: str, refused: bool) -> str | None:
    if step == LATER or scene == "ours":
        return _COMMON
    if scene == "bare" and _DENIED.search(text):
        return "RES-12"
    special = _REFUSED_MODE if scene == "odd" and refused else _SPECIAL.get(scene, {})
    return special.get(step, _COMMON if scene == "plain" else None)


# The handshake


def ini_01(view: ViewSeen) -> Iterator[Problem]:
    for scene in view.played("plain"):
        for said in scene.sent("ui/initialize"):
            given = _params(said).get("appCapabilities")
            if not isinstance(given, Mapping):
                message = f"sends ui/initialize with the appCapabilities {given!r}."
                yield Problem(view.where, message, "Send an object, which may be empty: {}.")
                return


def ini_04(view: ViewSeen) -> Iterator[Problem]:
    scene = view.scenes.get("plain")
    if scene is None:
        return
    methods = [str(said.message["method"]) for said in scene.sent() if said.message["method"] != "ping"]
    if not methods:
        if scene.unreached or scene.unfinished == HANGS:
            return  # QUA-20 and QUA-21 tell
        message = "never starts the handshake, so that no host can give it data or learn its size."
        if scene.errors:
            yield Problem(view.where, f"{message} Its script fails first: {scene.errors[0][1]}", _CODE, key=message)
            return
        yield Problem(view.where, message, "Send ui/initialize when it loads (Fanlight: App.connect() of view.js).")
        return
    if methods[0] != "ui/initialize":
        fix = f"Send ui/initialize first{' (the method was renamed)' if methods[0] in _TODAY else ''}."
        yield Problem(view.where, f"begins with {methods[0]}, not with ui/initialize.", fix)
    elif "ui/notifications/initialized" not in methods:
        message = "does not send ui/notifications/initialized, so hosts send it nothing."
        yield Problem(view.where, message, "Send it when ui/initialize is answered.")
    else:
        early = methods[1 : methods.index("ui/notifications/initialized")]
        if early := [method for method in early if method not in ("ui/initialize", "notifications/message")]:
            message = f"sends {early[0]} before ui/notifications/initialized."
            yield Problem(view.where, message, "Wait until the handshake is over.")


def ini_05(view: ViewSeen) -> Iterator[Problem]:
    told = set()
    for scene in view.scenes.values():
        for said in scene.sent():
            method = str(said.message["method"])
            if method not in _STANDARD and method not in told:
                told.add(method)
                today = f"Write {_TODAY[method]}." if method in _TODAY else "Use what the standard has instead."
                yield Problem(view.where, f"sends {method}, which is not in the standard.", today)


def res_12(view: ViewSeen) -> Iterator[Problem]:
    for error in _thrown(view, "RES-12"):
        message = "fails when a permission is not granted"
        yield error.told(view, message, "Catch the refusal, and go on without.")


# Display modes and dimensions


def _requested(scene: Scene) -> list[str]:
    return [str(_params(said).get("mode")) for said in scene.sent("ui/request-display-mode")]


def dsp_01(view: ViewSeen) -> Iterator[Problem]:
    told = set()
    for scene in view.played():
        declared = _capabilities(scene).get("availableDisplayModes")
        for mode in _requested(scene):
            if mode not in (declared if isinstance(declared, list) else ()) and mode not in told:
                told.add(mode)
                message = f"asks for the display mode {mode!r}, which it did not declare."
                yield Problem(view.where, message, f"Add {mode!r} to appCapabilities.availableDisplayModes.")


def dsp_02(view: ViewSeen) -> Iterator[Problem]:
    for scene in view.played("bare"):
        offered = (scene.host.get("hostContext") or {}).get("availableDisplayModes") or []
        for mode in dict.fromkeys(_requested(scene)):
            if mode not in offered:
                message = f"asks for the display mode {mode!r} of a host that offers only {', '.join(offered)}."
                yield Problem(view.where, message, "Look at hostContext.availableDisplayModes first.")


def dsp_03(view: ViewSeen) -> Iterator[Problem]:
    for scene in view.played("odd"):
        if not _requested(scene):
            continue
        if errors := _thrown(view, "DSP-03"):
            message = "fails when the host stays in another display mode than it asked for"
            yield errors[0].told(view, message, "Use the mode of the answer, not the one asked for.")
        elif "ping" not in scene.answers:
            message = "no longer answers after the host stayed in another display mode."
            yield Problem(view.where, message, "Use the mode of the answer, not the one asked for.")


def dim_03(view: ViewSeen) -> Iterator[Problem]:
    for scene, step, kind in (
        ("bare", "result", "a fixed size of 320 by 240"),
        ("plain", "result", "a flexible height"),
        ("error", "error", "a size without limits"),
    ):
        for played in view.played(scene):
            mark = played.marks.get(step, {})
            over = mark.get("scrollWidth", 0) - mark.get("clientWidth", 0)
            if over > 1:
                message = f"is {over:.0f} pixels too wide in {kind}."
                fix = "Let it shrink and wrap: max-width: 100%, min-width: 0."
                yield Problem(view.where, message, fix, key=f"is too wide in {kind}")
            elif mark.get("clipped"):
                message = f"hides a part of itself in {kind}: it is too high and cannot be scrolled."
                yield Problem(view.where, message, "Let the page scroll: no overflow: hidden on html or body.")


def siz_01(view: ViewSeen) -> Iterator[Problem]:
    for scene in view.played("plain"):
        if not scene.sent("ui/notifications/size-changed"):
            message = "never reports its size, so a host cannot fit its frame."
            fix = (
                "Leave autoResize on, if it uses App (of view.js or ext-apps). Without an SDK, send "
                "ui/notifications/size-changed with width and height, whenever a ResizeObserver says so."
            )
            yield Problem(view.where, message, fix)
        elif _grew(scene) and not scene.sent("ui/notifications/size-changed", since="grown"):
            message = "does not report its size when its content has grown."
            fix = (
                "Let html and body grow with what is in them: with a height of 100% or 100vh they stay as they are, "
                "and no ResizeObserver notices. Without an SDK, report at every change, not only once."
            )
            yield Problem(view.where, message, fix)


def _grew(scene: Scene) -> bool:
    before, after = scene.marks.get("locale", {}), scene.marks.get("grown", {})
    return bool(before and after) and after.get("scrollHeight", 0) > before.get("scrollHeight", 0) + 50


# Theme and context


def thm_03(view: ViewSeen) -> Iterator[Problem]:
    for scene in view.played("bare"):
        missing = scene.marks.get("result", {}).get("variables") or []
        if missing:
            names = f"{', '.join(missing[:3])}{', ...' if len(missing) > 3 else ''}"
            message = f"uses {names} without a fallback; hosts need not set them."
            yield Problem(view.where, message, f"Write var({missing[0]}, <value>), or define it under :root.")


def hcc_02(view: ViewSeen) -> Iterator[Problem]:
    for scene in view.played("plain"):
        before, after = scene.marks.get("theme", {}).get("look"), scene.marks.get("locale", {}).get("look")
        light = scene.marks.get("result", {}).get("look")
        if before and after and before != after and after == light:
            message = "forgets the theme when the host sends another part of its context."
            yield Problem(view.where, message, "Merge each update into what you have.")


# What the host sends


def tip_07(view: ViewSeen) -> Iterator[Problem]:
    harmless = {str(tool.get("name")) for tool in view.document.tools if _read_only(tool)}
    for scene in view.played("partial"):
        since = scene.sent(*_SIDE_EFFECTS, since="partials")
        earlier = len(scene.sent(*_SIDE_EFFECTS)) - len(since)
        before = {
            (str(said.message["method"]), str(_params(said).get("name")))
            for said in scene.sent(*_SIDE_EFFECTS)[:earlier]
        }
        for said in since:
            method, name = str(said.message["method"]), str(_params(said).get("name"))
            if (method, name) not in before and not (method == "tools/call" and name in harmless):
                what = f"{method} ({name})" if method == "tools/call" else method
                message = f"sends {what} for arguments that are not complete yet."
                yield Problem(view.where, message, "Act on ui/notifications/tool-input, not on the partial ones.")
                break


def _read_only(tool: Mapping[str, Any]) -> bool:
    annotations = tool.get("annotations")
    return isinstance(annotations, Mapping) and annotations.get("readOnlyHint") is True


def tip_08(view: ViewSeen) -> Iterator[Problem]:
    for error in _thrown(view, "TIP-08"):
        message = "fails on arguments that are not complete yet"
        yield error.told(view, message, "Expect every field to be missing or to change.")


# Capabilities


def d_std_01(view: ViewSeen) -> Iterator[Problem]:
    for scene in view.played("bare"):
        for method in dict.fromkeys(str(said.message["method"]) for said in scene.sent(*_FROM_SERVER)):
            needs = "serverTools" if method.startswith("tools") else "serverResources"
            message = f"sends {method} to a host that does not offer {needs}."
            fix = f"Look at hostCapabilities.{needs} first, or bear a refusal: some hosts serve what they do not tell."
            yield Problem(view.where, message, fix)


def d_smp_01(view: ViewSeen) -> Iterator[Problem]:
    for scene in view.played():
        if "sampling" not in (scene.host.get("hostCapabilities") or {}) and scene.sent("sampling/createMessage"):
            message = "sends sampling/createMessage to a host that does not offer it."
            yield Problem(view.where, message, "Look at hostCapabilities.sampling first.")
            return


def d_smp_02(view: ViewSeen) -> Iterator[Problem]:
    for scene in view.played():
        sampling = (scene.host.get("hostCapabilities") or {}).get("sampling")
        if isinstance(sampling, Mapping) and "tools" in sampling:
            continue
        if any("tools" in _params(said) for said in scene.sent("sampling/createMessage")):
            message = "sends tools with sampling/createMessage to a host that does not take them."
            yield Problem(view.where, message, "Look at hostCapabilities.sampling.tools first.")
            return


# App tools


def _declares_tools(view: ViewSeen) -> Iterator[Scene]:
    return (scene for scene in view.played("plain") if "tools" in _capabilities(scene))


def d_apt_01(view: ViewSeen) -> Iterator[Problem]:
    for scene in _declares_tools(view):
        tried = [scene.answers.get(name) for name in ("call-unknown", "call-known") if f"{name}?" in scene.steps]
        if tried and all(answer is None or _code(answer) == _NO_METHOD for answer in tried):
            message = "declares tools, and does not answer tools/call."
            yield Problem(view.where, message, "Handle tools/call, or do not declare tools.")


def d_apt_02(view: ViewSeen) -> Iterator[Problem]:
    for scene in _declares_tools(view):
        answer = scene.answers.get("list")
        if "list?" in scene.steps and (answer is None or _code(answer) == _NO_METHOD):
            message = "declares tools, and does not answer tools/list."
            yield Problem(view.where, message, "Handle tools/list, or do not declare tools.")


def d_apt_03(view: ViewSeen) -> Iterator[Problem]:
    for scene in _declares_tools(view):
        answer = scene.answers.get("call-unknown")
        if answer is not None and not _failed(answer):
            message = "answers a call of a tool that it does not have as if it had worked."
            yield Problem(view.where, message, "Answer with an error.")


def d_apt_05(view: ViewSeen) -> Iterator[Problem]:
    for scene in _declares_tools(view):
        for tool in app_tools(scene):
            lacks = [key for key in ("description", "inputSchema") if not tool.get(key)]
            if lacks:
                message = f"lists its tool {tool.get('name')} without {' and '.join(lacks)}."
                yield Problem(view.where, message, "Give the model a description and a schema.")


def d_apt_08(view: ViewSeen) -> Iterator[Problem]:
    for scene in _declares_tools(view):
        answer = scene.answers.get("call-bad")
        if answer is not None and not _failed(answer):
            message = "runs a tool whose required arguments are missing."
            yield Problem(view.where, message, "Check the arguments against the schema before the tool runs.")


def app_tools(scene: Scene) -> list[JSONObject]:
    """Return the tools that a View listed."""
    result = scene.answers.get("list", {}).get("result")
    tools = result.get("tools") if isinstance(result, Mapping) else None
    return [tool for tool in tools if isinstance(tool, dict)] if isinstance(tools, list) else []


# Good manners


def qua_01(view: ViewSeen) -> Iterator[Problem]:
    # Without the query, which may differ each time.
    texts = (text for scene in view.scenes.values() for text in scene.violations)
    blocked = dict.fromkeys(text if text.endswith(_EVAL) else _QUERY.sub("", text) for text in texts)
    for text in sorted(text for text in blocked if not text.endswith(_EVAL))[:10]:
        message = f"does what its policy forbids: {text}."
        yield Problem(view.where, message, "Declare the origin in _meta.ui.csp, or bundle what is loaded.")


def qua_02(view: ViewSeen) -> Iterator[Problem]:
    for error in _thrown(view, _COMMON)[:10]:
        yield error.told(view, "throws an error that nobody catches", _CODE)


def qua_03(view: ViewSeen) -> Iterator[Problem]:
    texts = [text for scene in view.played("plain", "ours") for text in scene.console if not _THROWN.match(text)]
    for key, text in sorted({steady(text): text for text in reversed(texts)}.items())[:5]:
        yield Problem(view.where, f"writes an error to the console: {text}", _CODE, key=key)


def qua_04(view: ViewSeen) -> Iterator[Problem]:
    for scene in view.played("plain"):
        count = len(scene.sent("ui/notifications/size-changed", since="settled", until="theme"))
        if count >= LOOP:
            message = f"reports its size again and again: {count} times while nothing happened."
            fix = "Do not let the content's height depend on the frame's (100vh)."
            yield Problem(view.where, message, fix, key="reports its size again and again")
            return


def qua_05(view: ViewSeen) -> Iterator[Problem]:
    for step, theme in (("result", "light"), ("theme", "dark")):
        for scene in view.played("plain"):
            if theme == "dark" and _same_in_the_dark(scene):
                continue
            poor = scene.marks.get(step, {}).get("contrast") or []
            if poor:
                worst = min(poor, key=lambda each: float(each["ratio"]))
                more = f" and {len(poor) - 1} more" if len(poor) > 1 else ""
                message = (
                    f"has text that is hard to read in the {theme} theme: {worst['text']!r} has a contrast of "
                    f"{worst['ratio']:.1f}, less than {worst['needed']}{more}."
                )
                fix = "Take text and background of the same pair of variables."
                yield Problem(view.where, message, fix, key=f"has text that is hard to read in the {theme} theme")


def qua_06(view: ViewSeen) -> Iterator[Problem]:
    for scene in view.played("plain"):
        unnamed = scene.marks.get("result", {}).get("unnamed") or []
        if unnamed:
            more = f" and {len(unnamed) - 1} more" if len(unnamed) > 1 else ""
            message = f"has controls or pictures without a name: {unnamed[0]}{more}."
            yield Problem(view.where, message, "Give it text, a <label>, an alt or an aria-label.")


def qua_07(view: ViewSeen) -> Iterator[Problem]:
    for scene in view.played("plain"):
        mark = scene.marks.get("result", {})
        lacks = [name for name in ("lang", "title") if not mark.get(name)]
        if mark and lacks:
            message = f"has no {' and no '.join(lacks)}, which screen readers announce."
            yield Problem(view.where, message, 'Write <html lang="en"> and a <title>.')


def qua_08(view: ViewSeen) -> Iterator[Problem]:
    if view.document.size > HEAVY:
        message = f"weighs {view.document.size / 1e6:.1f} MB, which every host reads before it shows anything."
        yield Problem(
            view.where, message, "Minify; use a smaller library; load large data by a tool.", key="weighs much"
        )


def qua_09(view: ViewSeen) -> Iterator[Problem]:
    for scene in view.played("plain"):
        if is_slow(scene):
            message = f"needs {_ready(scene):.1f} seconds until it can be used."
            yield Problem(view.where, message, "Connect first, and load what is large afterwards.", key="needs long")


def is_slow(scene: Scene) -> bool:
    """Tell whether a View needs too long until it can be used."""
    return scene.unfinished is None and _ready(scene) > SLOW


def _ready(scene: Scene) -> float:
    return next((said.at for said in scene.sent("ui/notifications/initialized")), 0.0)


def qua_10(view: ViewSeen) -> Iterator[Problem]:
    for error in _thrown(view, "QUA-10"):
        yield error.told(view, "fails on fields or messages that it does not know", "Ignore what you do not know.")
    for scene in view.played("odd"):
        if "unknown?" in scene.steps and "unknown" not in scene.answers:
            message = "does not answer a request that it does not know."
            yield Problem(view.where, message, "Answer it with the error -32601.")


def qua_11(view: ViewSeen) -> Iterator[Problem]:
    for error in _thrown(view, "QUA-11"):
        message = "fails in a host that offers the least that the standard allows"
        yield error.told(view, message, "Look at hostCapabilities and hostContext before you use them.")


def qua_12(view: ViewSeen) -> Iterator[Problem]:
    for error in _thrown(view, "QUA-12"):
        yield error.told(view, "fails when its call is cancelled", "Handle tool-cancelled.")


def qua_13(view: ViewSeen) -> Iterator[Problem]:
    for error in _thrown(view, "QUA-13"):
        message = "fails on a result that is an error"
        yield error.told(view, message, "Look at isError, and show the text of the content.")


def qua_14(view: ViewSeen) -> Iterator[Problem]:
    for scene in view.played("plain"):
        if "teardown?" in scene.steps and "teardown" not in scene.answers:
            message = "does not answer ui/resource-teardown, so hosts wait before they can remove it."
            yield Problem(view.where, message, "Answer it, with {} if there is nothing to do.")
    for error in _thrown(view, "QUA-14"):
        yield error.told(view, "fails at its teardown", "Catch it, and answer.")


def qua_15(view: ViewSeen) -> Iterator[Problem]:
    for scene in view.scenes.values():
        if scene.name != "ours":
            continue
        if scene.unfinished is not None:
            key = "is not shown by Fanlight's host"
            yield Problem(view.where, f"{key}: {scene.unfinished}", _CODE, key=key)
        elif "reloaded" in scene.steps and "reloaded" not in scene.marks:
            message = "does not come back when the page is loaded again."
            yield Problem(view.where, message, "Keep nothing that a second handshake would trip over.")


def qua_16(view: ViewSeen) -> Iterator[Problem]:
    for scene in view.played("plain"):
        if scene.marks.get("result") and not scene.marks["result"].get("visible"):
            message = "shows nothing when it has its result."
            yield Problem(view.where, message, "Show the data, or say that there is none.")


def qua_17(view: ViewSeen) -> Iterator[Problem]:
    for error in _thrown(view, "QUA-17"):
        step = next(step for scene, step in error.steps if scene == "plain")
        when = f"in the display mode {step}" if step in ("fullscreen", "pip") else f"when the {step} changes"
        yield error.told(view, f"fails {when}", _CODE)


def qua_18(view: ViewSeen) -> Iterator[Problem]:
    for scene in view.played("plain"):
        if _same_in_the_dark(scene):
            message = "does not follow the host's theme: it looks the same after the host has turned dark."
            fix = (
                "Call applyDocumentTheme(theme) with getHostContext()?.theme after connect(), and at each change of "
                "the context; write colours with light-dark(). prefers-color-scheme is the system's, not the host's."
            )
            yield Problem(view.where, message, fix)


def qua_19(view: ViewSeen) -> Iterator[Problem]:
    if any(text.endswith(_EVAL) for scene in view.scenes.values() for text in scene.violations):
        message = "tries to make code out of text, which hosts forbid."
        fix = "Make sure that the View works without; tell the library so, if it has a switch (zod: jitless)."
        yield Problem(view.where, message, fix)


def qua_20(view: ViewSeen) -> Iterator[Problem]:
    for scene in view.scenes.values():
        if scene.unreached:
            silent = " The View did not start, so little could be checked." if scene.unfinished else ""
            message = f"loads {first_of(scene.unreached)}, which could not be reached from here.{silent}"
            fix = "Bundle it: a host without the address shows nothing, too."
            yield Problem(view.where, message, fix, key="loads what could not be reached")
            return


def qua_21(view: ViewSeen) -> Iterator[Problem]:
    hung = [scene.name for scene in view.scenes.values() if scene.unfinished == HANGS]
    if hung:
        message = f"hangs: a script of it runs without end, and nothing in it answers any more ({', '.join(hung)})."
        yield Problem(
            view.where, message, "Look for a loop that does not end; give long work to a worker.", key="hangs"
        )


def first_of(addresses: Sequence[str]) -> str:
    """Return the first of some addresses, and how many more there are."""
    more = f" and {len(addresses) - 1} more" if len(addresses) > 1 else ""
    return f"{addresses[0][:100]}{more}"


def _same_in_the_dark(scene: Scene) -> bool:
    light, dark = scene.marks.get("result", {}).get("look"), scene.marks.get("theme", {}).get("look")
    return light is not None and light == dark


_NEEDS: Final = {
    "ui/message": "message",
    "ui/update-model-context": "updateModelContext",
    "ui/download-file": "downloadFile",
    "sampling/createMessage": "sampling",
    "tools/call": "serverTools",
    "resources/read": "serverResources",
}


def adv_09(view: ViewSeen) -> Iterator[Problem]:
    scenes = list(view.played())
    used = {str(said.message["method"]) for scene in scenes for said in scene.sent()}
    for method in sorted(used & _NEEDS.keys()):
        lacking = [
            f"{host.name} ({host.seen})" for host in _hosts() if _NEEDS[method] not in (host.profile.capabilities or {})
        ]
        if lacking:
            message = f"uses {method}, which {' and '.join(lacking)} did not offer."
            yield Problem(view.where, message, "Let the View work when it is refused.")
    for mode in sorted({mode for scene in scenes for mode in _requested(scene)}):
        lacking = [f"{host.name} ({host.seen})" for host in _hosts() if mode not in host.profile.display_modes]
        if lacking:
            message = f"asks for the display mode {mode!r}, which {' and '.join(lacking)} did not have."
            yield Problem(view.where, message, "Let the View work inline.")


def adv_10(view: ViewSeen) -> Iterator[Problem]:
    if any(said.message["method"] == "ui/update-model-context" and _is_text_alone(said) for said in _sent(view)):
        message = "tells the model text alone; VS Code (1.130) lists every kind of content for it but text."
        yield Problem(view.where, message, "Send structuredContent beside the text.")


def _sent(view: ViewSeen) -> Iterator[RecordedMessage]:
    for scene in view.played():
        yield from scene.sent()


def _is_text_alone(said: RecordedMessage) -> bool:
    return "structuredContent" not in _params(said)


def _hosts() -> list[Preset]:
    """Return the hosts that were looked at, with what they offered then."""
    return [preset for preset in PRESETS.values() if preset.profile.capabilities is not None]
