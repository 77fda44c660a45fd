"""The context and the observers of sessions."""

from typing import Any

import pytest

from fanlight.host.host import runtime_of
from fanlight.host.views.session_factory import SessionOptions
from host.test_host import HELLO, open_view, running
from support.calls import begin

pytestmark = pytest.mark.anyio


async def test_a_page_cannot_change_the_context_that_a_conversation_fixes() -> None:
    async with running() as host:
        sessions = runtime_of(host).sessions
        sessions.set_options("c1", SessionOptions({"theme": "dark", "displayMode": "fullscreen"}))
        call = await begin(host, "counter", "add", "c1")
        page = await open_view(host, call.view, call.token, greet=False, context={"theme": "light", "locale": "de"})
        context = (await page.ask("ui/initialize", HELLO, id=0))["result"]["hostContext"]
        assert (context["theme"], context["locale"], context["displayMode"]) == ("dark", "de", "fullscreen")
        assert page.shown["mode"] == "fullscreen"


async def test_the_options_of_one_conversation_do_not_affect_others() -> None:
    async with running() as host:
        sessions = runtime_of(host).sessions
        sessions.set_options("c1", SessionOptions({"theme": "dark"}))
        sessions.set_options("c2", SessionOptions({"theme": "dark"}))
        sessions.set_options("c2", None)
        for conversation in ("c2", None):
            call = await begin(host, "counter", "add", conversation)
            page = await open_view(host, call.view, call.token, greet=False, context={"theme": "light"})
            assert (await page.ask("ui/initialize", HELLO, id=0))["result"]["hostContext"]["theme"] == "light"


async def test_an_observer_gets_each_message_once_in_order() -> None:
    observed: list[tuple[str, Any]] = []
    async with running() as host:
        options = SessionOptions(observer=lambda sender, message: observed.append((sender, message)))
        runtime_of(host).sessions.set_options("c1", options)
        call = await begin(host, "counter", "add", "c1")
        page = await open_view(host, call.view, call.token)
        await call.run({"a": 1, "b": 2})
        assert (await page.message())["method"] == "ui/notifications/tool-input"
        assert (await page.message())["method"] == "ui/notifications/tool-result"
    assert [(sender, message.get("method")) for sender, message in observed] == [
        ("view", "ui/initialize"),
        ("host", None),
        ("view", "ui/notifications/initialized"),
        ("host", "ui/notifications/tool-input"),
        ("host", "ui/notifications/tool-result"),
    ]
