import pytest

from my_app.server import load_sales, server

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend():
    return "asyncio"


async def test_the_model_gets_the_numbers_of_a_region(scripted_view):
    sales = load_sales()
    revenue = sales[sales["region"] == "South"]["revenue"].sum()
    async with scripted_view(server, "show_my_app", region="South") as view:
        assert str(revenue) in view.result["content"][0]["text"].replace(",", "")


async def test_the_user_sees_numbers_a_chart_and_a_table(open_view):
    async with open_view(server, "show_my_app") as view:
        for text in ("Revenue", "Revenue by month", "South"):
            await view.frame.get_by_text(text, exact=True).first.wait_for()
        assert (view.errors, view.violations) == ([], [])
