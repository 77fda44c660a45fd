"""`fanlight.agents.ag_ui` with the event streams of two real frameworks, and with hand-written ones."""

import json
import re
from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest
from ag_ui.core import (
    BaseEvent,
    RunAgentInput,
    TextPart,
    ToolCallArgsEvent,
    ToolCallChunkEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
    UserMessage,
)

from fanlight.agents.ag_ui import VIEW_OPENED, follow, turn_input
from fanlight.host import Conversation
from support.adapters import PRODUCERS, Producer, close_client, received_messages, run_input, without_adapter
from support.agents import Shower, received, shown, tell_model, until, weather_host
from support.openai_server import ToolCall, openai_server
from support.page import WITH_TOOLS, Page

pytestmark = pytest.mark.anyio


def asks(text: str) -> RunAgentInput:
    return run_input([UserMessage(id="1", content=text)])


@pytest.mark.parametrize("producer", PRODUCERS)
async def test_arguments_stream_into_one_view_that_is_announced_once(producer: Any) -> None:
    async with weather_host() as (host, weather):
        chat = host.conversation("c1")
        show = Shower(host, chat)
        with openai_server(ToolCall("weather__show", {"city": "Reykjavik"}, show), "Sunny!") as server:
            events: list[Any] = [event async for event in follow(chat, producer(chat, server, asks("The weather?")))]
            await close_client(server)
        assert weather.calls == ["Reykjavik"]
        partial, complete = await show.arguments()
        assert "Reykjavik".startswith(partial.get("city", ""))
        assert complete == {"city": "Reykjavik"}
        (view,) = await chat.views()
        assert view.call == "done"
        (opened,) = [event for event in events if getattr(event, "name", None) == VIEW_OPENED]
        assert opened.value["view"] == view.id
        assert opened.value["uri"] == "ui://weather/view"
        kinds = [event.type for event in events]
        assert kinds[0] == "RUN_STARTED"
        assert kinds.index("TOOL_CALL_START") < events.index(opened) < kinds.index("TOOL_CALL_RESULT")
        await shown(host, chat, view.id)
        assert opened.value["token"] != await chat.token(view.id)


async def test_what_a_view_wants_the_model_to_know_is_in_the_input_and_marked() -> None:
    async with weather_host() as (host, _):
        chat = host.conversation("c1")
        call = await chat.call_tool("weather__show", {"city": "Oslo"})
        await tell_model(chat, await shown(host, chat, str(call.view)), "The city is Bergen now.")
        with openai_server("I see.") as server:
            [event async for event in follow(chat, without_adapter(chat, server, asks("And now?")))]
            news, last = server.requests[0]["messages"]
        assert "The user did not write it" in news["content"]
        assert json.loads(news["content"].splitlines()[-1])["text"] == "The city is Bergen now."
        assert last["content"] == "And now?"
        assert (await turn_input(chat, asks("x"))) == asks("x")  # nothing new


async def stream(*events: BaseEvent) -> AsyncIterator[BaseEvent]:
    for event in events:
        yield event


def wrote(call_id: str, name: str, text: str) -> list[BaseEvent]:
    return [
        ToolCallStartEvent(tool_call_id=call_id, tool_call_name=name),
        ToolCallArgsEvent(tool_call_id=call_id, delta=text[:5]),
        ToolCallArgsEvent(tool_call_id=call_id, delta=text[5:]),
    ]


WHOLE = {"content": [{"type": "text", "text": "Sunny."}], "structuredContent": {"degrees": 21}}


@pytest.mark.parametrize(
    ("content", "result"),
    [
        ("Sunny.", {"content": [{"type": "text", "text": "Sunny."}]}),
        ('"Sunny."', {"content": [{"type": "text", "text": "Sunny."}]}),
        (json.dumps(WHOLE), WHOLE),
        ([TextPart(text="Sunny.")], {"content": [{"type": "text", "text": "Sunny."}]}),
    ],
    ids=["text", "text as JSON", "whole", "parts"],
)
async def test_a_view_gets_the_result_of_an_agent_that_calls_the_server_itself(content: Any, result: Any) -> None:
    async with weather_host() as (host, weather):
        chat = host.conversation("c1")
        ended = ToolCallResultEvent(message_id="m", tool_call_id="a", content=content)
        events = stream(*wrote("a", "show", '{"city": "Oslo"}'), ended)
        [event async for event in follow(chat, events, tool_name=lambda name: f"weather__{name}")]
        assert weather.calls == []
        (view,) = await chat.views()
        page = await shown(host, chat, view.id)
        tool_input, tool_result = await received(page, "tool-input", "tool-result")
        assert tool_input == {"arguments": {"city": "Oslo"}}
        assert tool_result == result


async def test_chunks_are_fed_too_and_a_call_without_a_result_is_cancelled() -> None:
    async with weather_host() as (host, _):
        chat = host.conversation("c1")
        first = ToolCallChunkEvent(tool_call_id="a", tool_call_name="weather__show", delta='{"city"')
        events = [event async for event in follow(chat, stream(first, ToolCallChunkEvent(delta=': "Oslo"}')))]
        assert [event.type for event in events] == ["TOOL_CALL_CHUNK", "CUSTOM", "TOOL_CALL_CHUNK"]
        assert [view.call for view in await chat.views()] == ["cancelled"]


async def test_a_stream_that_is_cancelled_cancels_its_calls() -> None:
    async with weather_host() as (host, _):
        chat = host.conversation("c1")

        async def endless() -> AsyncIterator[BaseEvent]:
            for event in wrote("a", "weather__show", "{}"):
                yield event
            await anyio.sleep_forever()

        async def consume() -> None:
            [event async for event in follow(chat, endless())]

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(consume)
            await until(chat.views)
            tasks.cancel_scope.cancel()
        assert [view.call for view in await chat.views()] == ["cancelled"]


async def test_tools_of_others_and_all_other_events_pass_unchanged() -> None:
    async with weather_host() as (host, _):
        chat = host.conversation("c1")
        sent = [*wrote("a", "other", "{}"), ToolCallResultEvent(message_id="m", tool_call_id="a", content="x")]
        assert [event async for event in follow(chat, stream(*sent))] == sent
        assert await chat.views() == []


# Front ends that render MCP Apps themselves


def proxied(view: str, method: str, /, **params: Any) -> RunAgentInput:
    return run_input([], __proxiedMCPRequest={"serverHash": view, "serverId": view, "method": method, "params": params})


async def answered(chat: Conversation, request: RunAgentInput, src: str = "/apps") -> Any:
    """Return the event that ends a run, which the agent must not begin."""

    async def agent() -> AsyncIterator[BaseEvent]:
        raise AssertionError
        yield

    started, ended = [event async for event in follow(chat, agent(), relay=request, src=src)]
    assert started.type == "RUN_STARTED"
    assert (started.thread_id, started.run_id) == ("c1", "r0")  # type: ignore[attr-defined]
    return ended


async def test_a_call_with_a_view_gives_an_activity_that_names_the_view_as_its_server() -> None:
    async with weather_host() as (host, _):
        chat = host.conversation("c1")
        ended = ToolCallResultEvent(message_id="m", tool_call_id="a", content="Sunny.")
        events = stream(*wrote("a", "weather__show", '{"city": "Oslo"}'), ended)
        *_, result, activity = [event async for event in follow(chat, events, relay=asks("The weather?"))]
        (view,) = await chat.views()
    assert result is ended
    assert activity.model_dump(by_alias=True, exclude_none=True) == {
        "type": "ACTIVITY_SNAPSHOT",
        "messageId": view.id,
        "activityType": "mcp-apps",
        "content": {
            "result": {"content": [{"type": "text", "text": "Sunny."}]},
            "resourceUri": "ui://weather/view",
            "serverHash": view.id,
            "serverId": view.id,
            "toolInput": {"city": "Oslo"},
        },
        "replace": True,
    }


async def test_a_run_that_is_a_request_of_a_view_is_answered_without_the_agent() -> None:
    async with weather_host() as (host, _):
        chat = host.conversation("c1")
        view = str((await chat.call_tool("weather__show", {"city": "Oslo"})).view)
        called = await answered(chat, proxied(view, "tools/call", name="refresh"))
        assert called.type == "RUN_FINISHED"
        assert called.result["content"][0]["text"] == "secret"
        assert (await answered(chat, proxied(view, "ping"))).result == {}


@pytest.mark.parametrize("producer", PRODUCERS)
async def test_a_view_comes_back_with_the_messages_that_a_front_end_kept(producer: Producer) -> None:
    async with weather_host() as (host, _):
        chat = host.conversation("c1")
        given = asks("The weather?")
        with openai_server(ToolCall("weather__show", {"city": "Oslo"}), "Sunny!") as server:
            events = [event async for event in follow(chat, producer(chat, server, given), relay=given)]
            await close_client(server)
        kept = [message.model_dump_json(by_alias=True) for message in received_messages(events)]
        assert [json.loads(each)["role"] for each in kept] == ["assistant", "tool", "activity", "assistant"]
        assert "Sunny!" in kept[-1]
        (view,) = await chat.views()
        activity = json.loads(kept[2])["content"]
        assert activity["serverId"] == view.id
        assert "token" not in "".join(kept)
        read = await answered(chat, proxied(activity["serverId"], "resources/read", uri=activity["resourceUri"]))
        page = await Page().open(host, view.id, _token(read))
        assert (await page.next())["type"] == "show"
        await page.ask("ui/initialize", WITH_TOOLS, id=0)
        await page.say({"method": "ui/notifications/initialized"})
        (result,) = await received(page, "tool-result")
        assert result["content"][0]["text"] == "It is sunny in Oslo."


def _token(read: Any) -> str:
    """Return the token in the frame that shows a View."""
    found = re.search(r'token="([^"]+)"', read.result["contents"][0]["text"])
    assert found is not None
    return found[1]


@pytest.mark.parametrize(
    ("src", "domains"),
    [("/apps", {}), ("https://chat.example.com/apps/", {"resourceDomains": ["https://chat.example.com"]})],
)
async def test_the_document_of_a_view_is_a_frame_with_a_sandbox_of_its_own(src: str, domains: Any) -> None:
    """CopilotKit would show the document of the View at the origin of the page."""
    async with weather_host() as (host, _):
        chat = host.conversation("c1")
        view = str((await chat.call_tool("weather__show", {"city": "Oslo"})).view)
        read = await answered(chat, proxied(view, "resources/read", uri="ui://weather/view"), src)
        (content,) = read.result["contents"]
        assert content["uri"] == "ui://weather/view"
        assert content["_meta"] == {"ui": {"csp": domains}}
        assert f'<script type="module" src="{src.rstrip("/")}/mcp-app.js">' in content["text"]
        assert f'view="{view}"' in content["text"]
        await Page().open(host, view, _token(read))


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        ({"serverId": "nonsense", "method": "tools/call", "params": {"name": "refresh"}}, "no open View"),
        ({"method": "tools/call"}, "serverId and method"),
        ({"serverId": "VIEW", "method": "tools/call", "params": {"name": "nonsense"}}, "Views may not call"),
        (
            {"serverId": "VIEW", "method": "ui/message", "params": {}},
            "expected one of ping, resources/read",
        ),
        ({"serverId": "nonsense", "method": "resources/read", "params": {"uri": "ui://weather/view"}}, "no open View"),
        ({"serverHash": "VIEW", "method": "resources/read", "params": {"uri": "ui://other"}}, "ui://other"),
    ],
)
async def test_a_request_that_is_refused_says_why(request_: dict[str, Any], reason: str) -> None:
    async with weather_host() as (host, _):
        chat = host.conversation("c1")
        view = str((await chat.call_tool("weather__show", {"city": "Oslo"})).view)
        given = {key: view if value == "VIEW" else value for key, value in request_.items()}
        ended = await answered(chat, run_input([], __proxiedMCPRequest=given))
        if given["method"] == "tools/call":
            assert ended.result["isError"]
            assert reason in ended.result["content"][0]["text"]
        else:
            assert ended.type == "RUN_ERROR"
            assert reason in ended.message


async def test_a_view_of_another_conversation_cannot_be_used() -> None:
    """Goes red if the owner is not compared."""
    async with weather_host() as (host, _):
        other = str((await host.conversation("c2").call_tool("weather__show", {"city": "Oslo"})).view)
        for request in (
            proxied(other, "tools/call", name="refresh"),
            proxied(other, "resources/read", uri="ui://weather/view"),
        ):
            ended = await answered(host.conversation("c1"), request)
            assert "no open View" in ended.model_dump_json()
