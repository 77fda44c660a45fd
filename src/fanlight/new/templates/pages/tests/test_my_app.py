import pytest

from my_app.server import items, server

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend():
    return "asyncio"


async def test_an_item_is_added_and_removed(open_view):
    async with open_view(server, "show_my_app") as view:
        await view.frame.get_by_placeholder("What to buy").fill("Cheese")
        await view.frame.get_by_role("button", name="Add").click()
        await view.frame.get_by_text("Cheese").wait_for()
        assert "Cheese" in items.values()
        await view.frame.get_by_role("button", name="Remove Cheese").click()
        await view.frame.get_by_text("Cheese").wait_for(state="detached")
        assert "Cheese" not in items.values()
        assert (view.errors, view.violations) == ([], [])
