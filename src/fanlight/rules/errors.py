"""Uncaught errors of a View, and which rule reports each of them.

An error may be thrown in several scenes. It is reported once, by the rule about the situation that caused it: an error
that is thrown only if the result is an error belongs to QUA-13, one that is thrown everywhere to QUA-02.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from fanlight.rules.observation import DENIAL, LATER, Scene, ViewObservation
from fanlight.rules.rule import Problem, stable_text

UNCAUGHT: Final = "QUA-02"
"""The rule for errors that no situation in particular causes."""
ERROR_TEXT: Final = re.compile(r"(?:Uncaught )?\w*Error: ")
"""How an error begins on the console."""
LOOK_AT_PROBLEMS: Final = "Call the tool in fanlight dev: its Problems panel shows the error with file and line."
"""The fix for an error that the rule cannot explain."""

_BY_STEP: Final[Mapping[str, Mapping[str, str]]] = {
    "plain": {"theme": "QUA-17", "locale": "QUA-17", "fullscreen": "QUA-17", "pip": "QUA-17", "teardown": "QUA-14"},
    "bare": {"start": "QUA-11", "input": "QUA-11", "result": "QUA-11"},
    "odd": {"start": "QUA-10", "result": "QUA-10", "unknown": "QUA-10"},
    "partial": {"partials": "TIP-08", "cancelled": "QUA-12"},
    "error": {"input": "QUA-13", "error": "QUA-13"},
}
"""The rule of an error, by scene and step. In "plain" and "ours", all other steps belong to UNCAUGHT."""
_REFUSED_MODE: Final = {"start": "DSP-03", "result": "DSP-03", "clicked": "DSP-03"}
"""The rules of "odd" for a View that requested a display mode, which the host of that scene does not grant."""
_DENIED: Final = re.compile(r"NotAllowed|PermissionDenied|[Pp]ermission.*(?:denied|policy|dismissed)")


@dataclass(frozen=True)
class UncaughtError:
    """An error that the View did not catch, and where it was thrown."""

    text: str
    steps: Sequence[tuple[str, str]]
    """Scenes and steps."""
    place: str | None = None
    """The author's file and line, such as `clock.html:13`, if they are known."""

    def problem(self, view: ViewObservation, message: str, fix: str = "") -> Problem:
        """Return the error as a problem, with an identity that does not depend on the scene."""
        scenes = dict.fromkeys(scene for scene, _ in self.steps)
        text = self.text if self.place is None else f"{self.text} ({self.place})"
        whole = f"{message}: {text} (seen in {', '.join(scenes)})"
        return Problem(view.where, whole, fix, key=stable_text(self.text), thrown=True)


def errors_of(view: ViewObservation, rule: str) -> list[UncaughtError]:
    """Return the errors that a rule reports."""
    steps: dict[str, list[tuple[str, str]]] = {}
    texts: dict[str, str] = {}
    places: dict[str, str] = {}
    for scene in view.played():
        for step, text in scene.errors:
            texts.setdefault(stable_text(text), text)
            steps.setdefault(stable_text(text), []).append((scene.name, step))
        places |= {stable_text(text): place for text, place in scene.places.items()}
        if scene.name in ("plain", "ours"):
            for text in filter(ERROR_TEXT.match, scene.console):  # SDKs catch what a handler throws, and log it
                texts.setdefault(stable_text(text), text)
                steps.setdefault(stable_text(text), []).append((scene.name, LATER))
    refused = any(requested_modes(scene) for scene in view.played("odd"))
    found = [key for key in sorted(steps) if _rule_of(texts[key], steps[key], refused) == rule]
    return [UncaughtError(texts[key], steps[key], places.get(key)) for key in found]


def error_problems(view: ViewObservation, rule: str, message: str, fix: str = "") -> Iterator[Problem]:
    """Yield a problem for each error that a rule reports."""
    for error in errors_of(view, rule):
        yield error.problem(view, message, fix)


def requested_modes(scene: Scene) -> list[str]:
    """Return the display modes that the View requested."""
    return [str(message.params.get("mode")) for message in scene.sent("ui/request-display-mode")]


def _rule_of(text: str, steps: Sequence[tuple[str, str]], refused: bool) -> str | None:
    if DENIAL in text:
        return "QUA-22"
    rules = [_rule_of_step(text, scene, step, refused) for scene, step in steps]
    if UNCAUGHT in rules:
        return UNCAUGHT
    return next((rule for rule in rules if rule is not None), None)


def _rule_of_step(text: str, scene: str, step: str, refused: bool) -> str | None:
    if step == LATER or scene == "ours":
        return UNCAUGHT
    if scene == "bare" and _DENIED.search(text):
        return "RES-12"
    special = _REFUSED_MODE if scene == "odd" and refused else _BY_STEP.get(scene, {})
    return special.get(step, UNCAUGHT if scene == "plain" else None)
