from datetime import date, timedelta

import pytest

from fanlight.show import FieldError
from my_app.server import Booking, book_table, server

pytestmark = pytest.mark.anyio

TOMORROW = date.today() + timedelta(days=1)


@pytest.fixture
def anyio_backend():
    return "asyncio"


def test_a_table_is_booked():
    confirmation = book_table(Booking(name="Ada", day=TOMORROW, guests=4))
    assert "for 4" in confirmation.text


def test_a_day_in_the_past_is_refused():
    with pytest.raises(FieldError, match="tomorrow"):
        book_table(Booking(name="Ada", day=date.today()))


async def test_the_user_completes_what_the_model_filled_in(open_view):
    async with open_view(server, "book_table", name="Ada", guests=3) as view:
        await view.frame.get_by_label("Day").fill(TOMORROW.isoformat())
        await view.frame.get_by_role("button", name="Book").click()
        await view.frame.get_by_text("for 3").first.wait_for()
        assert (view.errors, view.violations) == ([], [])
