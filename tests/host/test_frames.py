import json
from typing import Any

import pytest

from fanlight.host.views.page.frames import (
    MAX_TEXT,
    CloseView,
    CommandResult,
    ContextChanged,
    CspViolation,
    DisplayModeChanged,
    LoadFailed,
    MessageFromView,
    MessageToView,
    OpenView,
    PageFrame,
    SetDisplayMode,
    decode_frame,
    read_answer,
)


def decoded(**fields: Any) -> PageFrame | None:
    received = decode_frame(json.dumps(fields))
    assert received is not None
    return received.frame


@pytest.mark.parametrize(
    ("fields", "frame"),
    [
        ({"type": "open", "view": "v"}, OpenView("v")),
        ({"type": "open", "view": "v", "token": 7, "context": [], "seen": True}, OpenView("v")),
        ({"type": "open", "view": "v", "token": "t", "seen": 3}, OpenView("v", "t", {}, 3)),
        ({"type": "message"}, MessageFromView(None)),
        ({"type": "message", "message": [1]}, MessageFromView([1])),
        (
            {"type": "context", "context": {"theme": "dark", "styles": {}, "locale": None}},
            ContextChanged({"theme": "dark"}),
        ),
        ({"type": "display-mode", "mode": "pip"}, DisplayModeChanged("pip")),
        ({"type": "command-result", "id": 1, "result": 7, "error": 7}, CommandResult(1)),
        ({"type": "command-result", "id": 1, "error": "no"}, CommandResult(1, error="no")),
        ({"type": "load-failed", "message": "x" * 1000}, LoadFailed("x" * MAX_TEXT)),
        ({"type": "load-failed"}, LoadFailed("")),
        ({"type": "csp-violation", "directive": {}, "blocked": "b"}, CspViolation("", "b")),
        ({"type": "close", "anything": 1}, CloseView()),
    ],
)
def test_a_frame_of_a_page_is_validated(fields: dict[str, Any], frame: PageFrame) -> None:
    assert decoded(**fields) == frame


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"type": None},
        {"type": ["open"]},
        {"type": "loaded"},
        {"type": "show"},
        {"type": "open"},
        {"type": "open", "view": 7},
        {"type": "display-mode", "mode": "sideways"},
        {"type": "display-mode", "mode": ["inline"]},
        {"type": "command-result", "id": "1"},
        {"type": "command-result", "id": True},
        {"type": "command-result", "id": 1.0},
    ],
)
def test_an_unknown_or_invalid_frame_is_ignored_and_its_number_counts(fields: dict[str, Any]) -> None:
    received = decode_frame(json.dumps({**fields, "n": 3, "ack": 2}))
    assert received is not None
    assert (received.frame, received.n, received.ack) == (None, 3, 2)


@pytest.mark.parametrize("number", [True, "1", 1.0, None, [], {}, -1, 2**53, 10**400])
def test_a_number_that_a_page_cannot_count_to_is_ignored(number: Any) -> None:
    received = decode_frame(json.dumps({"type": "close", "n": number, "ack": number}))
    assert received is not None
    assert (received.n, received.ack) == (None, None)


@pytest.mark.parametrize("text", ["", "[]", "7", "{", '{"a":' * 300 + "1" + "}" * 300])
def test_text_that_is_not_an_object_is_not_a_frame(text: str) -> None:
    assert decode_frame(text) is None


@pytest.mark.parametrize("result", [None, {}, {"answer": "yes"}, {"answer": ["once"]}, {"answer": True}])
def test_everything_but_a_clear_yes_is_a_no(result: dict[str, Any] | None) -> None:
    assert read_answer(result) == "deny"
    assert read_answer({"answer": "once"}) == "once"
    assert read_answer({"answer": "always"}) == "always"


def test_fields_without_a_value_are_left_out_and_names_are_camel_case() -> None:
    assert MessageToView({}).to_json() == {"type": "message", "message": {}}
    assert MessageToView({}, ack_now=True).to_json() == {"type": "message", "message": {}, "ackNow": True}
    assert SetDisplayMode(mode="pip", id=3).to_json() == {"type": "set-display-mode", "id": 3, "mode": "pip"}


def test_the_size_of_a_frame_is_counted_in_bytes() -> None:
    """Goes red if characters are counted."""
    received = decode_frame('{"type":"message","message":"ö😀"}')
    assert received is not None
    assert received.size == len('{"type":"message","message":""}') + 2 + 4
