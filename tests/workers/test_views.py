"""What works whichever worker has the page: the call, the page and the documents are on three workers."""

import pytest

from support.chat import Chat
from support.cluster import Cluster
from support.network import sandbox_to, sockets_to

pytestmark = [pytest.mark.anyio, pytest.mark.browser, pytest.mark.process]


@pytest.fixture
def cluster(cluster: Cluster) -> Cluster:
    """The workers. Sockets of pages are on `b` and documents on `c`. Tests make calls on `a`."""
    cluster.route(sockets_to("b"), sandbox_to("c"))
    return cluster


async def test_a_view_is_shown_by_another_worker_than_the_one_that_ran_its_call(chat: Chat) -> None:
    view = await chat.shown(await chat.call("a", "one"))
    await view.has_received("input", "result")
    assert await view.received("result") == [{"text": chat.text("one"), "more": ""}]
    assert await view.write(chat.text("two")) == f"ok: {chat.text('two')}"
    assert view.page.problems == []
