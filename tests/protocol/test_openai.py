from typing import Any

import pytest

from fanlight import Csp, RegistrationError
from fanlight.protocol import openai


def test_openai_is_the_only_other_format() -> None:
    assert openai.check_formats([]) == ()
    assert openai.check_formats({"openai"}) == ("openai",)
    with pytest.raises(RegistrationError, match="not a list"):
        openai.check_formats("openai")
    with pytest.raises(RegistrationError, match='expected "openai"'):
        openai.check_formats(["claude"])


@pytest.mark.parametrize("status", ["", "x" * 65, 7, None])
def test_an_invalid_status_raises_with_what_to_write(status: Any) -> None:
    with pytest.raises(RegistrationError, match="expected a line of 1 to 64 characters"):
        openai.check_status(status, "invoking")


def test_the_keys_of_a_tool_follow_from_its_view_and_visibility() -> None:
    assert openai.tool_meta("ui://a/b", invoking="Wait", invoked="Done") == {
        "openai/outputTemplate": "ui://a/b",
        "openai/widgetAccessible": True,
        "openai/visibility": "public",
        "openai/toolInvocation/invoking": "Wait",
        "openai/toolInvocation/invoked": "Done",
    }
    assert openai.tool_meta(None, ["app"]) == {"openai/widgetAccessible": True, "openai/visibility": "private"}
    assert openai.tool_meta(None, ["model"]) == {"openai/widgetAccessible": False, "openai/visibility": "public"}


def test_the_keys_of_a_resource_follow_from_its_metadata() -> None:
    assert openai.resource_meta(None, None, None) == {
        "openai/widgetCSP": {"connect_domains": [], "resource_domains": []}
    }
    csp = Csp(connect_domains=["https://a.example"], frame_domains=["https://b.example"])
    assert openai.resource_meta(csp, "app.example.com", False) == {
        "openai/widgetCSP": {
            "connect_domains": ["https://a.example"],
            "resource_domains": [],
            "frame_domains": ["https://b.example"],
        },
        "openai/widgetDomain": "https://app.example.com",
        "openai/widgetPrefersBorder": False,
    }


@pytest.mark.parametrize(
    ("capabilities", "expected"), [({"openai/visibility": {"enabled": True}}, True), ({}, False), (None, False)]
)
def test_chatgpt_is_recognised_by_its_experimental_capability(capabilities: Any, expected: bool) -> None:
    assert openai.is_chatgpt(capabilities) is expected
