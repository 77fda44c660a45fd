"""Rules about how a View behaves in a browser: errors, blocked requests, speed and navigation."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from fanlight.rules.errors import ERROR_TEXT, LOOK_AT_PROBLEMS, UNCAUGHT, errors_of
from fanlight.rules.eval_libraries import libraries_in
from fanlight.rules.observation import HANGS, VIEW_ORIGIN, PolicyViolation, Scene, ViewObservation
from fanlight.rules.rule import ADVICE, IMPLIED, Problem, Section, stable_text

LARGE: Final = 1_000_000
"""In bytes."""
SLOW: Final = 5.0
"""In seconds."""
_EVAL: Final = "eval"
_QUERY: Final = re.compile(r"\?\S*")

section = Section("How a View behaves")


@section.rule(
    "QUA-01",
    IMPLIED,
    "A View does nothing that its policy forbids.",
    fix="Declare the origin in _meta.ui.csp, or bundle what is loaded.",
)
def respects_its_policy(view: ViewObservation) -> Iterator[Problem]:
    # Without the query, which may differ each time.
    texts = {_QUERY.sub("", str(each)) for each in _violations(view) if each.blocked != _EVAL}
    for text in sorted(texts)[:10]:
        yield Problem(view.where, f"does something that its policy forbids: {text}.")


@section.rule("QUA-02", IMPLIED, "A View catches its errors.", fix=LOOK_AT_PROBLEMS)
def catches_its_errors(view: ViewObservation) -> Iterator[Problem]:
    for error in errors_of(view, UNCAUGHT)[:10]:
        yield error.problem(view, "throws an uncaught error", f"Look at {error.place}." if error.place else "")


@section.rule("QUA-03", ADVICE, "A View writes no errors to the console.", fix=LOOK_AT_PROBLEMS)
def quiet_console(view: ViewObservation) -> Iterator[Problem]:
    texts = [text for scene in view.played("plain", "ours") for text in scene.console if not ERROR_TEXT.match(text)]
    for key, text in sorted({stable_text(text): text for text in reversed(texts)}.items())[:5]:
        yield Problem(view.where, f"writes an error to the console: {text}", key=key)


@section.rule(
    "QUA-19",
    ADVICE,
    "A View does not evaluate text as code.",
    fix="Make sure that the View works without eval, new Function and timers with text.",
)
def no_eval(view: ViewObservation) -> Iterator[Problem]:
    if not any(each.blocked == _EVAL for each in _violations(view)):
        return
    message = "tries to evaluate text as code (eval), which hosts forbid"
    libraries = libraries_in(view.document.html)
    for library in libraries:
        yield Problem(view.where, f"{message}: it contains {library.name}.", library.cure)
    if not libraries:
        yield Problem(view.where, f"{message}.")


def _violations(view: ViewObservation) -> Iterator[PolicyViolation]:
    for scene in view.scenes.values():
        yield from scene.violations


@section.rule(
    "QUA-20",
    ADVICE,
    "A View loads nothing from other servers.",
    fix="Bundle it: a host that cannot reach the address shows nothing, either.",
)
def loads_nothing_external(view: ViewObservation) -> Iterator[Problem]:
    for scene in view.scenes.values():
        if scene.unreached:
            consequence = " The View did not start, so little could be checked." if scene.unfinished else ""
            message = f"loads {_first_of(scene.unreached)}, which could not be reached from here.{consequence}"
            yield Problem(view.where, message, key="loads what could not be reached")
            return


def _first_of(addresses: Sequence[str]) -> str:
    more = f" and {len(addresses) - 1} more" if len(addresses) > 1 else ""
    return f"{addresses[0][:100]}{more}"


@section.rule(
    "QUA-21",
    IMPLIED,
    "A View does not hang.",
    fix="Look for a loop that does not end; move long work to a worker.",
)
def does_not_hang(view: ViewObservation) -> Iterator[Problem]:
    hung = [scene.name for scene in view.scenes.values() if scene.unfinished == HANGS]
    if hung:
        message = f"hangs: one of its scripts runs without end, and the View stops responding ({', '.join(hung)})."
        yield Problem(view.where, message, key="hangs")


@section.rule("QUA-23", IMPLIED, "A View stays where it is: it neither reloads itself nor navigates away.")
def stays_in_place(view: ViewObservation) -> Iterator[Problem]:
    for scene in view.scenes.values():
        if not scene.navigations:
            continue
        if scene.navigations[0].startswith(VIEW_ORIGIN):
            message = f"reloads itself (seen in {scene.name}): it loses its data, and the host does not send it again."
            fix = "Update the page in place instead of location.reload(), and call preventDefault() in submit handlers."
            yield Problem(view.where, message, fix, key="reloads itself")
        else:
            address = _QUERY.sub("", scene.navigations[0])[:100]
            message = f"navigates to {address} (seen in {scene.name}): its frame then shows another page, or nothing."
            fix = "Open links with app.openLink({ url }), and call preventDefault() in submit handlers."
            yield Problem(view.where, message, fix, key="navigates away")
        return


@section.rule(
    "QUA-08", ADVICE, "A View is smaller than 1 MB.", fix="Minify; use a smaller library; load large data by a tool."
)
def document_size(view: ViewObservation) -> Iterator[Problem]:
    if view.document.size > LARGE:
        message = f"has {view.document.size / 1e6:.1f} MB, which every host loads before it shows anything."
        yield Problem(view.where, message, key="is large")


@section.rule(
    "QUA-09", ADVICE, "A View is ready within 5 seconds.", fix="Connect first, and load what is large afterwards."
)
def start_time(view: ViewObservation) -> Iterator[Problem]:
    for scene in view.played("plain"):
        if is_slow(scene):
            message = f"takes {scene.ready_after():.1f} seconds until it is ready."
            yield Problem(view.where, message, key="is slow")


def is_slow(scene: Scene) -> bool:
    """Return whether a View takes too long until it is ready."""
    return scene.unfinished is None and scene.ready_after() > SLOW
