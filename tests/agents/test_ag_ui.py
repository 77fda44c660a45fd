"""`fanlight.agents.ag_ui` with the event streams of two real frameworks, and with hand-written ones."""

import json
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
from ag_ui_langgraph import LangGraphAgent
from langchain.agents import create_agent
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import SecretStr
from pydantic_ai import Agent, RunContext, Tool
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.ui.ag_ui import AGUIAdapter

from fanlight.agents import langchain, pydantic_ai
from fanlight.agents.ag_ui import VIEW_OPENED, follow, turn_input
from fanlight.host import Conversation
from support.agents import Shower, received, shown, tell_model, until, weather_host
from support.openai_server import OpenAIServer, ToolCall, openai_server

pytestmark = pytest.mark.anyio


def asks(text: str) -> RunAgentInput:
    return RunAgentInput(
        thread_id="c1",
        run_id="r1",
        messages=[UserMessage(id="1", content=text)],
        state={},
        tools=[],
        context=[],
        forwarded_props={},
    )


async def without_adapter(chat: Conversation, server: OpenAIServer, text: str) -> AsyncIterator[BaseEvent]:
    """An agent of pydantic-ai whose tools call the conversation, as with a framework without an adapter."""

    async def run(ctx: RunContext[None], /, **arguments: Any) -> str:
        return (await chat.run_call(str(ctx.tool_call_id), str(ctx.tool_name), arguments)).text

    tools = [
        Tool.from_schema(run, tool.name, tool.description, tool.input_schema, takes_ctx=True)
        for tool in await chat.tools()
    ]
    async for event in _pydantic_ai(server, await turn_input(chat, asks(text)), tools=tools):
        yield event


async def with_pydantic_ai(chat: Conversation, server: OpenAIServer, text: str) -> AsyncIterator[BaseEvent]:
    async for event in _pydantic_ai(server, asks(text), capabilities=[pydantic_ai.Apps(chat)]):
        yield event


async def _pydantic_ai(server: OpenAIServer, run_input: RunAgentInput, **options: Any) -> AsyncIterator[BaseEvent]:
    provider = OpenAIProvider(base_url=server.url, api_key="none")
    agent: Any = Agent(OpenAIChatModel("scripted", provider=provider), **options)
    async for event in AGUIAdapter(agent, run_input).run_stream():
        yield event
    await provider.client.close()


async def with_langgraph(chat: Conversation, server: OpenAIServer, text: str) -> AsyncIterator[BaseEvent]:
    model = ChatOpenAI(model="scripted", base_url=server.url, api_key=SecretStr("none"), max_retries=0)
    graph = create_agent(model, middleware=[langchain.Apps(chat)], checkpointer=InMemorySaver())
    async for event in LangGraphAgent(name="agent", graph=graph).run(asks(text)):
        yield event
    await model.root_async_client.close()


_DEPRECATED = pytest.mark.filterwarnings("ignore:`get_config_jsonschema` is deprecated:DeprecationWarning")
PRODUCERS = [without_adapter, with_pydantic_ai, pytest.param(with_langgraph, marks=_DEPRECATED)]


@pytest.mark.parametrize("producer", PRODUCERS)
async def test_arguments_stream_into_one_view_that_is_announced_once(producer: Any) -> None:
    async with weather_host() as (host, weather):
        chat = host.conversation("c1")
        show = Shower(host, chat)
        with openai_server(ToolCall("weather__show", {"city": "Reykjavik"}, show), "Sunny!") as server:
            events: list[Any] = [event async for event in follow(chat, producer(chat, server, "The weather?"))]
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


@pytest.mark.parametrize("producer", [without_adapter, with_pydantic_ai])
async def test_a_call_with_invalid_json_is_cancelled_in_its_view(producer: Any) -> None:
    async with weather_host() as (host, weather):
        chat = host.conversation("c1")
        with openai_server(ToolCall("weather__show", '{"city": Oslo'), "I give up.") as server:
            [event async for event in follow(chat, producer(chat, server, "The weather?"))]
        assert weather.calls == []
        assert [view.call for view in await chat.views()] == ["cancelled"]


async def test_what_a_view_wants_the_model_to_know_is_in_the_input_and_marked() -> None:
    async with weather_host() as (host, _):
        chat = host.conversation("c1")
        call = await chat.call_tool("weather__show", {"city": "Oslo"})
        await tell_model(chat, await shown(host, chat, str(call.view)), "The city is Bergen now.")
        with openai_server("I see.") as server:
            [event async for event in follow(chat, without_adapter(chat, server, "And now?"))]
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
        (json.dumps(WHOLE), WHOLE),
        ([TextPart(text="Sunny.")], {"content": [{"type": "text", "text": "Sunny."}]}),
    ],
    ids=["text", "whole", "parts"],
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
