"""A turn keeps the calls of an agent by the ids of its framework, and ends those that were begun and never run."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
import pytest
from mcp.server import MCPServer
from mcp_types import EmbeddedResource, TextResourceContents

from fanlight import Apps, View
from fanlight.host import Call, CallView, Conversation, Host, Turn
from fanlight.host.calls.turn import _REMEMBERED_CALLS, Turns
from fanlight.host.errors import NotConnectedError
from fanlight.host.host import runtime_of
from fanlight.host.views.records import Owner
from fanlight.protocol.errors import ArgumentError, StateError

pytestmark = pytest.mark.anyio

URI = "ui://notes/view"


def notes() -> MCPServer[Any]:
    server: MCPServer[Any] = MCPServer("notes")
    apps = Apps(server)
    apps.view(View.html("<!doctype html><title>Notes</title>", uri=URI))

    @apps.tool(view=URI)
    def show(text: str = "") -> list[str]:
        return ["first", text]

    @apps.tool()
    def plain() -> str:
        return "no View"

    @apps.tool()
    def embed() -> EmbeddedResource:
        contents = TextResourceContents(uri="ui://notes/own", mime_type="text/html", text="<!doctype html><p>own")
        return EmbeddedResource(type="resource", resource=contents)

    return server


@asynccontextmanager
async def conversation(**options: Any) -> AsyncIterator[tuple[Host, Conversation]]:
    async with Host({"notes": notes()}, **options) as host:
        await host.servers["notes"].ready()
        yield host, host.conversation("c1", user="alice")


async def test_a_call_begins_with_its_first_piece_and_runs_by_its_id() -> None:
    async with conversation() as (host, chat):
        seen: list[tuple[str, CallView]] = []
        async with chat.turn(on_view=lambda id, view: seen.append((id, view))) as turn:
            await turn.feed("call_1", "notes__show", "")
            assert [(id, view.uri) for id, view in seen] == [("call_1", URI)]
            await turn.feed("call_1", None, '{"text": ')
            await turn.feed("call_1", "notes__show", '"milk"}')
            call = await turn.run("call_1", "notes__show", {"text": "milk"})
        assert [view.view for _, view in seen] == [call.view]
        assert call.text == "first\nmilk"
        assert (await host.view(str(call.view))).call == "done"


async def test_calls_are_kept_apart_by_their_ids() -> None:
    async with conversation() as (_, chat), chat.turn() as turn:
        await turn.feed("a", "notes__show", '{"text": "x')
        await turn.feed("b", "notes__show", '{"text": "y')
        first = await turn.run("a", "notes__show", {"text": "x"})
        second = await turn.run("b", "notes__show", {"text": "y"})
        assert (first.text, second.text) == ("first\nx", "first\ny")
        assert first.view != second.view


async def test_a_call_that_was_not_fed_runs_too() -> None:
    async with Host({"notes": notes()}) as host:  # not ready yet
        async with host.conversation("c1").turn() as turn:
            call = await turn.run("call_1", "notes__plain", {})
        assert call.text == "no View"
        assert call.view is None


async def test_a_view_that_a_result_brings_is_reported_after_the_run() -> None:
    async with conversation(dialects=True) as (_, chat):
        seen: list[str] = []
        async with chat.turn(on_view=lambda id, view: seen.append(view.uri)) as turn:
            await turn.feed("call_1", "notes__embed", "{}")
            assert seen == []
            await turn.run("call_1", "notes__embed", {})
        assert seen == ["ui://notes/own"]


async def test_an_unknown_tool_does_not_raise_in_the_stream_and_its_error_is_the_result() -> None:
    async with conversation() as (_, chat), chat.turn() as turn:
        await turn.feed("call_1", "notes__imagined", '{"a"')
        await turn.feed("call_1", None, ": 1}")
        call = await turn.run("call_1", "notes__imagined", {"a": 1})
        assert call.result is not None
        assert call.result["isError"] is True
        assert call.text.startswith("The model has no tool 'notes__imagined'. The tools are: ")


async def test_a_tool_that_becomes_known_while_it_is_fed_gets_no_half_text() -> None:
    async with Host({"notes": notes()}) as host, host.conversation("c1").turn() as turn:
        await turn.feed("call_1", "notes__show", '{"text": "mi')  # the server is not connected yet
        await host.servers["notes"].ready()
        await turn.feed("call_1", "notes__show", 'lk"}')
        call = await turn.run("call_1", "notes__show", {"text": "milk"})
        assert call.text == "first\nmilk"
        assert call.arguments == {}


@pytest.mark.process
async def test_a_server_that_is_not_there_raises_its_reason_at_run() -> None:
    async with Host({"gone": "definitely-not-a-command"}) as host, host.conversation("c1").turn() as turn:
        await turn.feed("call_1", "gone__tool", "{}")
        with pytest.raises(NotConnectedError, match="definitely-not-a-command"):
            await turn.run("call_1", "gone__tool", {})


async def test_a_call_that_was_fed_and_never_run_is_cancelled_at_the_end_of_the_turn() -> None:
    async with conversation() as (host, chat):
        seen: list[str] = []
        with suppress(ValueError):
            async with chat.turn(on_view=lambda id, view: seen.append(view.view)) as turn:
                await turn.feed("done", "notes__show", "{}")
                await turn.run("done", "notes__show", {})
                await turn.feed("left", "notes__show", '{"text": ')
                json.loads("{")  # what the model wrote
        assert [(await host.view(view)).call for view in seen] == ["done", "cancelled"]


async def test_a_call_that_the_framework_rejects_is_cancelled_once() -> None:
    async with conversation() as (host, chat), chat.turn() as turn:
        await turn.feed("call_1", "notes__show", "{")
        assert turn.is_waiting
        await turn.cancel("call_1", "The arguments are not JSON.")
        await turn.cancel("call_1", "again")
        await turn.cancel("unknown")
        assert not turn.is_waiting
        (view,) = await chat.views()
        record = await runtime_of(host).records.find(view.id)
        assert record is not None
        assert record.cancelled == "The arguments are not JSON."


async def test_a_result_that_the_framework_got_by_other_means_is_shown_once() -> None:
    async with conversation() as (host, chat), chat.turn() as turn:
        await turn.feed("call_1", "notes__show", "{}")
        await turn.show_result("call_1", {}, {"content": [{"type": "text", "text": "from the cache"}]})
        await turn.show_result("call_1", {}, {"content": []})
        await turn.show_result("unknown", {}, {"content": []})
        call = await turn.run("call_2", "notes__plain", {})
        assert call.text == "no View"
        (view,) = await chat.views()
        record = await runtime_of(host).records.find(view.id)
        assert record is not None
        assert record.result == {"content": [{"type": "text", "text": "from the cache"}]}


async def test_a_first_piece_without_a_name_is_ignored() -> None:
    async with conversation() as (_, chat), chat.turn() as turn:
        await turn.feed("call_1", None, "{}")
        assert not turn.is_waiting
        assert (await turn.run("call_1", "notes__plain", {})).text == "no View"


async def test_only_the_views_of_the_newest_calls_are_remembered() -> None:
    turns, owner = Turns(), Owner("alice", "c1")
    for number in range(_REMEMBERED_CALLS + 1):
        turns.keep_view(owner, str(number), CallView(f"v{number}", URI, "token"))
    assert turns.views(owner, "0") == ()
    assert [view.view for view in turns.views(owner, "1")] == ["v1"]


async def test_the_calls_of_a_cancelled_turn_are_cancelled_too() -> None:
    async with conversation() as (host, chat):
        seen: list[str] = []
        with anyio.CancelScope() as scope:
            async with chat.turn(on_view=lambda id, view: seen.append(view.view)) as turn:
                await turn.feed("left", "notes__show", "{")
                scope.cancel()
                await anyio.sleep_forever()
        assert [(await host.view(view)).call for view in seen] == ["cancelled"]


async def test_turns_of_one_conversation_do_not_end_each_others_calls() -> None:
    async with conversation() as (_, chat), chat.turn() as outer:
        await outer.feed("call_1", "notes__show", "{")
        async with chat.turn() as inner:
            await inner.feed("call_1", "notes__show", "{")
        assert (await outer.run("call_1", "notes__show", {})).cancelled is None


async def test_wrong_uses_of_a_turn_say_what_to_do() -> None:
    async with conversation() as (_, chat):
        async with chat.turn() as turn:
            await turn.feed("call_1", "notes__show", "{}")
            with pytest.raises(ArgumentError, match="'notes__plain' for the call 'call_1', which began as 'notes__sh"):
                await turn.run("call_1", "notes__plain", {})
            await turn.run("call_1", "notes__show", {})
            with pytest.raises(StateError, match="a call runs once"):
                await turn.run("call_1", "notes__show", {})
        with pytest.raises(StateError, match="after the end of the turn"):
            await turn.feed("call_2", "notes__show", "{}")
        with pytest.raises(StateError, match="after the end of the turn"):
            await turn.run("call_2", "notes__show", {})


async def test_a_call_runs_by_its_id_in_the_open_turn_that_was_fed_it() -> None:
    async with conversation() as (host, chat):
        async with chat.turn() as turn:
            await turn.feed("call_1", "notes__show", '{"text": "mi')
            async with host.conversation("c1", user="alice").turn():  # a newer one, which has other calls
                call = await chat.run_call("call_1", "notes__show", {"text": "milk"})
        assert [view.id for view in await chat.views()] == [call.view]
        assert chat.views_of_call("call_1") == call.views
        assert host.conversation("c1", user="bob").views_of_call("call_1") == ()


async def test_a_call_without_a_turn_runs_by_its_id() -> None:
    async with conversation() as (_, chat):
        call = await chat.run_call("call_1", "notes__show", {"text": "milk"})
        assert call.text == "first\nmilk"
        assert chat.views_of_call("call_1") == call.views
        assert (await chat.run_call("call_2", "notes__nothing", {})).result is not None


async def test_a_turn_of_another_conversation_is_left_alone() -> None:
    async with conversation() as (host, chat), host.conversation("c1", user="bob").turn() as turn:
        await turn.feed("call_1", "notes__show", "{")
        call = await chat.run_call("call_1", "notes__show", {})
        assert call.user == "alice"


async def test_pieces_that_come_late_or_twice_open_no_second_view() -> None:
    async with conversation() as (_, chat), chat.turn() as turn:
        await chat.run_call("call_1", "notes__show", {})
        await turn.feed("call_1", "notes__show", "{}")
        async with chat.turn() as second:
            await second.feed("call_1", "notes__show", "{}")
        assert len(await chat.views()) == 1


async def test_a_call_that_runs_while_its_first_piece_arrives_is_one_call() -> None:
    """Goes red without the lock around the beginning of a call."""
    async with conversation() as (_, chat):

        async def begin(name: str) -> Call:
            await anyio.lowlevel.checkpoint()  # as a store in a database does
            return await chat.begin(name)

        turn = Turn(begin, begin, None, Turns(), Owner(chat.user, chat.id))
        async with turn, anyio.create_task_group() as tasks:
            tasks.start_soon(turn.feed, "call_1", "notes__show", "{}")
            tasks.start_soon(turn.run, "call_1", "notes__show", {})
        assert len(await chat.views()) == 1
