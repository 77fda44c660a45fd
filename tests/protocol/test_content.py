from typing import Any

import pytest

from fanlight.protocol.content import embedded_views, embeds_view, links_view

VIEW = {"uri": "ui://clock/view", "mimeType": "text/html", "text": "<p>"}
EMBEDDED = {"type": "resource", "resource": VIEW}
LINK = {"type": "resource_link", "uri": "ui://clock/view", "name": "clock"}


@pytest.mark.parametrize(
    ("block", "embeds", "links"),
    [
        (EMBEDDED, True, False),
        (LINK, False, True),
        ({"type": "resource", "resource": {**VIEW, "uri": "file:///a"}}, False, False),
        ({"type": "resource", "resource": {**VIEW, "uri": "ui://"}}, False, False),
        ({"type": "resource", "resource": {**VIEW, "uri": 3}}, False, False),
        ({"type": "resource", "resource": "ui://clock/view"}, False, False),
        ({"type": "resource", "uri": "ui://clock/view"}, False, False),
        ({"type": "resource_link", "uri": "https://a.example"}, False, False),
        ({"type": "text", "text": "ui://clock/view"}, False, False),
        ("ui://clock/view", False, False),
        (None, False, False),
    ],
)
def test_a_block_embeds_a_view_links_to_one_or_neither(block: Any, embeds: bool, links: bool) -> None:
    assert (embeds_view(block), links_view(block)) == (embeds, links)


def test_the_views_of_a_result_are_its_embedded_resources() -> None:
    assert embedded_views({"content": [{"type": "text", "text": "x"}, EMBEDDED, LINK, EMBEDDED]}) == [VIEW, VIEW]
    assert embedded_views({"content": EMBEDDED}) == []
    assert embedded_views({}) == []
