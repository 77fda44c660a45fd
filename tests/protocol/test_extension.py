from typing import Any

import pytest

from fanlight.protocol.extension import EXTENSION_ID, MIME_TYPE, negotiated

OURS = {EXTENSION_ID: {"mimeTypes": [MIME_TYPE]}}


@pytest.mark.parametrize("place", ["extensions", "experimental"])
def test_the_extension_with_our_type_is_negotiated(place: str) -> None:
    assert negotiated({place: OURS})


@pytest.mark.parametrize(
    "capabilities",
    [
        None,
        {},
        {"extensions": None},
        {"extensions": []},
        {"extensions": {}},
        {"extensions": {EXTENSION_ID: None}},
        {"extensions": {EXTENSION_ID: True}},
        {"extensions": {EXTENSION_ID: {}}},
        {"extensions": {EXTENSION_ID: {"mimeTypes": None}}},
        {"extensions": {EXTENSION_ID: {"mimeTypes": MIME_TYPE}}},
        {"extensions": {EXTENSION_ID: {"mimeTypes": ["text/html", 7, None]}}},
        {"extensions": {"io.modelcontextprotocol/tasks": {"mimeTypes": [MIME_TYPE]}}},
        {"ui": OURS},
    ],
)
def test_other_capabilities_do_not_negotiate_the_extension(capabilities: Any) -> None:
    assert not negotiated(capabilities)
