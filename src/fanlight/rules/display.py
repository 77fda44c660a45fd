"""Rules about how a View looks: its size, its display mode, its theme and its accessibility."""

from collections.abc import Iterator
from typing import Final

from fanlight.rules.errors import LOOK_AT_PROBLEMS, errors_of, requested_modes
from fanlight.rules.observation import Scene, ViewObservation
from fanlight.rules.rule import ADVICE, IMPLIED, MAY, MUST, SHOULD, Problem, Section

_LOOP: Final = 10
"""A View that reports its size this often in half a second without a cause is in a loop."""

section = Section("Size, display mode and theme")

# Size

section.host_rule(
    "DIM-01",
    MUST,
    "If the height is not fixed, the host resizes the frame as `size-changed` asks.",
    aliases=["dimensions/listen-size-changed", "mcp-apps-life-06", "mcp-apps-ctx-05"],
)
section.host_rule(
    "DIM-02",
    IMPLIED,
    "Each axis of `containerDimensions` is fixed, has a limit or is unbounded, and never both fixed and limited.",
    aliases=["mcp-apps-ctx-04"],
)


@section.rule("DIM-03", ADVICE, "A View fits into the size that the host gives it.")
def fits_its_container(view: ViewObservation) -> Iterator[Problem]:
    for scene, step, kind in (
        ("bare", "result", "a fixed size of 320 by 240"),
        ("plain", "result", "a flexible height"),
        ("error", "error", "an unbounded size"),
    ):
        for played in view.played(scene):
            measured = played.measurements.get(step, {})
            excess = measured.get("scrollWidth", 0) - measured.get("clientWidth", 0)
            if excess > 1:
                message = f"is {excess:.0f} pixels too wide for {kind}."
                fix = "Let it shrink and wrap: max-width: 100%, min-width: 0."
                yield Problem(view.where, message, fix, key=f"is too wide for {kind}")
            elif measured.get("clipped"):
                message = f"hides a part of itself in {kind}: it is too high and cannot be scrolled."
                yield Problem(view.where, message, "Let the page scroll: no overflow: hidden on html or body.")


@section.rule("SIZ-01", SHOULD, "A View reports when its size changes.")
def reports_its_size(view: ViewObservation) -> Iterator[Problem]:
    for scene in view.played("plain"):
        if not scene.sent("ui/notifications/size-changed"):
            message = "never reports its size, so a host cannot fit its frame."
            fix = (
                "Leave autoResize on, if it uses App (of view.js or ext-apps). Without an SDK, send "
                "ui/notifications/size-changed with width and height whenever a ResizeObserver fires."
            )
            yield Problem(view.where, message, fix)
        elif _has_grown(scene) and not scene.sent("ui/notifications/size-changed", since="grown"):
            message = "does not report its size when its content has grown."
            fix = (
                "Let html and body grow with their content: with a height of 100% or 100vh they keep their size, "
                "and no ResizeObserver fires. Without an SDK, report every change, not only the first."
            )
            yield Problem(view.where, message, fix)


def _has_grown(scene: Scene) -> bool:
    before, after = scene.measurements.get("locale", {}), scene.measurements.get("grown", {})
    return bool(before and after) and after.get("scrollHeight", 0) > before.get("scrollHeight", 0) + 50


@section.rule(
    "QUA-04",
    IMPLIED,
    "A View does not report its size in an endless loop.",
    fix="Do not let the content's height depend on the frame's height (100vh).",
)
def no_resize_loop(view: ViewObservation) -> Iterator[Problem]:
    for scene in view.played("plain"):
        count = len(scene.sent("ui/notifications/size-changed", since="settled", until="theme"))
        if count >= _LOOP:
            message = f"reports its size again and again: {count} times while nothing happened."
            yield Problem(view.where, message, key="reports its size again and again")


# Display modes


@section.rule("DSP-01", MUST, "A View declares every display mode that it requests.")
def declares_requested_modes(view: ViewObservation) -> Iterator[Problem]:
    reported = set()
    for scene in view.played():
        declared = scene.app_capabilities().get("availableDisplayModes")
        for mode in requested_modes(scene):
            if mode not in (declared if isinstance(declared, list) else ()) and mode not in reported:
                reported.add(mode)
                message = f"requests the display mode {mode!r}, which it did not declare."
                yield Problem(view.where, message, f"Add {mode!r} to appCapabilities.availableDisplayModes.")


@section.rule(
    "DSP-02",
    MUST,
    "A View requests only display modes that the host offers.",
    fix="Look at hostContext.availableDisplayModes first.",
)
def requests_offered_modes(view: ViewObservation) -> Iterator[Problem]:
    for scene in view.played("bare"):
        offered = (scene.initialize_result.get("hostContext") or {}).get("availableDisplayModes") or []
        for mode in dict.fromkeys(requested_modes(scene)):
            if mode not in offered:
                message = f"requests the display mode {mode!r} from a host that offers only {', '.join(offered)}."
                yield Problem(view.where, message)


@section.rule(
    "DSP-03",
    MUST,
    "A View works if the host stays in another display mode than the requested one.",
    fix="Use the mode in the response, not the requested one.",
)
def accepts_another_mode(view: ViewObservation) -> Iterator[Problem]:
    for scene in view.played("odd"):
        if not requested_modes(scene):
            continue
        if errors := errors_of(view, "DSP-03"):
            yield errors[0].problem(view, "fails if the host stays in another display mode than the requested one")
        elif "ping" not in scene.responses:
            message = "stops responding after the host stayed in another display mode than the requested one."
            yield Problem(view.where, message)


section.host_rule(
    "DSP-04",
    MUST,
    "The host does not switch a View to a display mode that the View did not declare.",
    aliases=["display/no-undeclared-mode", "mcp-apps-ctx-02"],
)
section.host_rule(
    "DSP-05",
    MUST,
    "The host responds to `ui/request-display-mode` with the resulting mode.",
    aliases=["display/return-resulting-mode", "mcp-apps-ctx-03"],
)
section.host_rule(
    "DSP-06",
    SHOULD,
    "If a requested display mode is not available, the host responds with the current one.",
    aliases=["display/unavailable-returns-current"],
)
section.unchecked(
    "DSP-07",
    MAY,
    "The host may decline a display mode that the View did not declare.",
    "DSP-04 demands it.",
    binds="host",
    aliases=["display/decline-undeclared"],
)
section.host_rule("DSP-08", IMPLIED, "The host sends a new display mode in `host-context-changed`, too.")


@section.rule(
    "QUA-17",
    IMPLIED,
    "A View survives every display mode, and changes of theme and locale.",
    fix=LOOK_AT_PROBLEMS,
)
def survives_context_changes(view: ViewObservation) -> Iterator[Problem]:
    for error in errors_of(view, "QUA-17"):
        step = next(step for scene, step in error.steps if scene == "plain")
        when = f"in the display mode {step}" if step in ("fullscreen", "pip") else f"when the {step} changes"
        yield error.problem(view, f"fails {when}")


# Theme and context

section.host_rule(
    "THM-01",
    IMPLIED,
    "`styles.variables` has only variables of the standard, each with a string.",
    aliases=["mcp-apps-ctx-01"],
)
section.host_rule("THM-02", ADVICE, "The host writes colours that depend on the theme with `light-dark()`.")


@section.rule("THM-03", ADVICE, "A View has a fallback for every style variable of the host.")
def variable_fallbacks(view: ViewObservation) -> Iterator[Problem]:
    for scene in view.played("bare"):
        missing = scene.measurements.get("result", {}).get("variables") or []
        if missing:
            names = f"{', '.join(missing[:3])}{', ...' if len(missing) > 3 else ''}"
            message = f"uses {names} without a fallback; hosts need not set them."
            yield Problem(view.where, message, f"Write var({missing[0]}, <value>), or define it under :root.")


section.host_rule("THM-04", IMPLIED, "The fonts in `styles.css.fonts` can be loaded.", aliases=["mcp-apps-ctx-06"])
section.host_rule(
    "HCC-01",
    MAY,
    "The host may send changes of the context in `host-context-changed`, with values of the right types.",
    aliases=["context/context-changed", "mcp-apps-life-07"],
)


@section.rule(
    "HCC-02",
    SHOULD,
    "A View merges changes into the context that it has.",
    fix="Merge each update into the stored context.",
)
def merges_context_changes(view: ViewObservation) -> Iterator[Problem]:
    for scene in view.played("plain"):
        before, after = (scene.measurements.get(step, {}).get("look") for step in ("theme", "locale"))
        light = scene.measurements.get("result", {}).get("look")
        if before and after and before != after and after == light:
            yield Problem(view.where, "forgets the theme when the host sends another part of its context.")


@section.rule(
    "QUA-18",
    ADVICE,
    "A View follows the theme of the host.",
    fix=(
        'Import App from "fanlight", which sets the theme, the fonts and the variables of the host, and write colours '
        "with light-dark(). With ext-apps, call applyDocumentTheme(theme) with getHostContext()?.theme after connect() "
        "and at each change of the context. prefers-color-scheme is the system's theme, not the host's."
    ),
)
def follows_the_theme(view: ViewObservation) -> Iterator[Problem]:
    for scene in view.played("plain"):
        if _ignores_the_theme(scene):
            message = "does not follow the host's theme: it looks the same after the host has changed to dark."
            yield Problem(view.where, message)


def _ignores_the_theme(scene: Scene) -> bool:
    light, dark = (scene.measurements.get(step, {}).get("look") for step in ("result", "theme"))
    return light is not None and light == dark


@section.rule(
    "QUA-05",
    IMPLIED,
    "Text has enough contrast in both themes: 4.5, large text 3.",
    fix="Use text and background variables of the same pair.",
)
def readable_text(view: ViewObservation) -> Iterator[Problem]:
    for step, theme in (("result", "light"), ("theme", "dark")):
        for scene in view.played("plain"):
            if theme == "dark" and _ignores_the_theme(scene):
                continue
            poor = scene.measurements.get(step, {}).get("contrast") or []
            if poor:
                worst = min(poor, key=lambda each: float(each["ratio"]))
                more = f" and {len(poor) - 1} more" if len(poor) > 1 else ""
                message = (
                    f"has text that is hard to read in the {theme} theme: {worst['text']!r} has a contrast of "
                    f"{worst['ratio']:.1f}, less than {worst['needed']}{more}."
                )
                yield Problem(view.where, message, key=f"has text that is hard to read in the {theme} theme")


@section.rule(
    "QUA-06",
    IMPLIED,
    "Controls and images have a name for screen readers.",
    fix="Give it text, a <label>, an alt or an aria-label.",
)
def accessible_names(view: ViewObservation) -> Iterator[Problem]:
    for scene in view.played("plain"):
        unnamed = scene.measurements.get("result", {}).get("unnamed") or []
        if unnamed:
            more = f" and {len(unnamed) - 1} more" if len(unnamed) > 1 else ""
            yield Problem(view.where, f"has controls or images without a name: {unnamed[0]}{more}.")


@section.rule("QUA-07", ADVICE, "The document has a language and a title.", fix='Write <html lang="en"> and a <title>.')
def language_and_title(view: ViewObservation) -> Iterator[Problem]:
    for scene in view.played("plain"):
        measured = scene.measurements.get("result", {})
        missing = [name for name in ("lang", "title") if not measured.get(name)]
        if measured and missing:
            yield Problem(view.where, f"has no {' and no '.join(missing)}, which screen readers announce.")
