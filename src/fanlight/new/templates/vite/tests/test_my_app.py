from pathlib import Path

import pytest
from mcp.server.mcpserver.exceptions import ToolError

from my_app.server import poll, server, vote

DOCUMENT = Path(__file__).parents[1] / "my_app" / "dist" / "index.html"


@pytest.fixture
def anyio_backend():
    return "asyncio"


def test_a_vote_is_counted():
    before = poll.votes["Tea"]
    assert vote("Tea").votes["Tea"] == before + 1


def test_a_vote_for_something_else_is_refused():
    with pytest.raises(ToolError, match="Choose one of Tea, Coffee, Water"):
        vote("Wine")


@pytest.mark.anyio
@pytest.mark.skipif(not DOCUMENT.exists(), reason="the View is not built: npm install && npm run build")
async def test_a_click_votes_and_the_model_learns_of_it(open_view):
    async with open_view(server, "show_my_app") as view:
        await view.frame.get_by_role("button", name="Tea").click()
        await view.wait_until_settled()
        assert view.sent("tools/call")[0]["arguments"] == {"choice": "Tea"}
        assert view.model_context == {"content": [{"type": "text", "text": "The user voted for Tea."}]}
        assert (view.errors, view.violations) == ([], [])
