import pytest

from my_app.server import BUILT, server

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend():
    return "asyncio"


async def test_the_view_may_vote(scripted_view):
    async with scripted_view(server, "show_my_app") as view:
        before = view.result["structuredContent"]["votes"]["Tea"]
        result = await view.call_tool("vote", choice="Tea")
        assert result["structuredContent"]["votes"]["Tea"] == before + 1


async def test_a_vote_for_something_else_is_refused(scripted_view):
    async with scripted_view(server, "show_my_app") as view:
        result = await view.call_tool("vote", choice="Wine")
        assert result["isError"]


@pytest.mark.skipif(not BUILT.exists(), reason="the View is not built: npm install && npm run build")
async def test_a_click_votes_and_the_model_learns_of_it(open_view):
    async with open_view(server, "show_my_app") as view:
        await view.frame.get_by_role("button", name="Tea").click()
        await view.wait_until_settled()
        assert view.sent("tools/call")[0]["arguments"] == {"choice": "Tea"}
        assert view.model_context == {"content": [{"type": "text", "text": "The user voted for Tea."}]}
        assert (view.errors, view.violations) == ([], [])
