"""One conversation with each adapter of `fanlight.agents`: the real framework, and a model that tests script."""

from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest
from ag_ui.core import (
    ActivityMessage,
    AssistantMessage,
    BaseEvent,
    FunctionCall,
    Message,
    RunAgentInput,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from ag_ui_langgraph import LangGraphAgent
from agents import OpenAIResponsesModel, Runner, SQLiteSession
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from openai import AsyncOpenAI
from pydantic import SecretStr
from pydantic_ai import Agent, ModelMessage, RunContext, Tool
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.ui.ag_ui import AGUIAdapter

from fanlight.agents import ag_ui, langchain, openai_agents, pydantic_ai
from fanlight.host import Conversation
from support.openai_server import OpenAIServer

Say = Callable[[str], Coroutine[Any, Any, None]]
"""Runs a turn of the agent with what the user says. The agent remembers the turns before it."""

Adapter = Callable[[Conversation, OpenAIServer], AbstractAsyncContextManager[Say]]


@asynccontextmanager
async def with_pydantic_ai(chat: Conversation, server: OpenAIServer) -> AsyncIterator[Say]:
    history: list[ModelMessage] = []
    provider = OpenAIProvider(base_url=server.url, api_key="none")
    agent = Agent(OpenAIChatModel("scripted", provider=provider), capabilities=[pydantic_ai.Apps(chat)])

    async def say(text: str) -> None:
        history[:] = (await agent.run(text, message_history=history)).all_messages()

    yield say
    await provider.client.close()


@asynccontextmanager
async def with_openai_agents(chat: Conversation, server: OpenAIServer) -> AsyncIterator[Say]:
    async with AsyncOpenAI(base_url=server.url, api_key="none") as client:
        model = OpenAIResponsesModel("scripted", client)
        agent = openai_agents.AppsAgent[None](name="Assistant", chat=chat, model=model)
        session = SQLiteSession("c1")

        async def say(text: str) -> None:
            result = Runner.run_streamed(agent, await openai_agents.turn_input(chat, text), session=session)
            try:
                async for _ in openai_agents.follow(chat, result):
                    pass
            finally:
                result.cancel()

        yield say


@asynccontextmanager
async def with_langchain(chat: Conversation, server: OpenAIServer) -> AsyncIterator[Say]:
    agent: Any = create_agent(_chat_openai(server), middleware=[langchain.Apps(chat)], checkpointer=InMemorySaver())
    config: RunnableConfig = {"configurable": {"thread_id": "c1"}}

    async def say(text: str) -> None:
        await agent.ainvoke({"messages": [HumanMessage(text)]}, config)

    yield say
    await close_client(server)


def _chat_openai(server: OpenAIServer) -> ChatOpenAI:
    return ChatOpenAI(model="scripted", base_url=server.url, api_key=SecretStr("none"), max_retries=0)


# AG-UI: the framework writes events, and the front end keeps the messages


def run_input(messages: list[Message], **props: Any) -> RunAgentInput:
    return RunAgentInput(
        thread_id="c1",
        run_id=f"r{len(messages)}",
        messages=messages,
        state={},
        tools=[],
        context=[],
        forwarded_props=props,
    )


Producer = Callable[[Conversation, OpenAIServer, RunAgentInput], AsyncIterator[BaseEvent]]


async def without_adapter(chat: Conversation, server: OpenAIServer, given: RunAgentInput) -> AsyncIterator[BaseEvent]:
    """An agent of pydantic-ai whose tools call the conversation, as with a framework without an adapter."""

    async def run(ctx: RunContext[None], /, **arguments: Any) -> str:
        return (await chat.run_call(str(ctx.tool_call_id), str(ctx.tool_name), arguments)).text

    tools = [
        Tool.from_schema(run, tool.name, tool.description, tool.input_schema, takes_ctx=True)
        for tool in await chat.tools()
    ]
    async for event in _pydantic_ai_events(server, await ag_ui.turn_input(chat, given), tools=tools):
        yield event


async def pydantic_ai_events(
    chat: Conversation, server: OpenAIServer, given: RunAgentInput
) -> AsyncIterator[BaseEvent]:
    async for event in _pydantic_ai_events(server, given, capabilities=[pydantic_ai.Apps(chat)]):
        yield event


async def _pydantic_ai_events(server: OpenAIServer, given: RunAgentInput, **options: Any) -> AsyncIterator[BaseEvent]:
    provider = OpenAIProvider(base_url=server.url, api_key="none")
    agent: Any = Agent(OpenAIChatModel("scripted", provider=provider), **options)
    try:
        async for event in AGUIAdapter(agent, given).run_stream():
            yield event
    finally:
        await provider.client.close()


async def langgraph_events(chat: Conversation, server: OpenAIServer, given: RunAgentInput) -> AsyncIterator[BaseEvent]:
    graph = create_agent(_chat_openai(server), middleware=[langchain.Apps(chat)], checkpointer=InMemorySaver())
    async for event in LangGraphAgent(name="agent", graph=graph).run(given):
        yield event


def with_ag_ui(producer: Producer) -> Adapter:
    """Return an adapter that follows the events of a producer, and keeps messages as a front end does."""

    @asynccontextmanager
    async def adapter(chat: Conversation, server: OpenAIServer) -> AsyncIterator[Say]:
        messages: list[Message] = []

        async def say(text: str) -> None:
            messages.append(UserMessage(id=f"u{len(messages)}", content=text))
            given = run_input(list(messages))
            events: list[Any] = []
            async for event in ag_ui.follow(chat, producer(chat, server, given), relay=given):
                events.append(event)
            # As the client of AG-UI, which does not send activities to agents.
            messages.extend(message for message in received_messages(events) if message.role != "activity")

        yield say
        await close_client(server)

    return adapter


async def close_client(server: OpenAIServer) -> None:
    """Close the client of LangChain's models, which all models of one URL share."""
    await _chat_openai(server).root_async_client.close()


def received_messages(events: list[Any]) -> list[Message]:
    """Return the messages that a front end makes of the events of a run: calls, results, text and activities."""
    found: list[Message] = []
    texts: dict[str, str] = {}
    names: dict[str, str] = {}
    arguments: dict[str, str] = {}
    for event in events:
        match event.type:
            case "TEXT_MESSAGE_CONTENT":
                texts[event.message_id] = texts.get(event.message_id, "") + event.delta
            case "TOOL_CALL_START":
                names[event.tool_call_id] = event.tool_call_name
            case "TOOL_CALL_ARGS":
                arguments[event.tool_call_id] = arguments.get(event.tool_call_id, "") + event.delta
            case "TOOL_CALL_RESULT":
                id = event.tool_call_id
                function = FunctionCall(name=names[id], arguments=arguments.get(id) or "{}")
                call = ToolCall(id=id, type="function", function=function)
                found.append(AssistantMessage(id=f"a-{id}", tool_calls=[call]))
                found.append(ToolMessage(id=f"t-{id}", tool_call_id=id, content=event.content))
            case "ACTIVITY_SNAPSHOT":
                found.append(
                    ActivityMessage(id=event.message_id, activity_type=event.activity_type, content=event.content)
                )
    found += [AssistantMessage(id=id, content=text) for id, text in texts.items()]
    return found


_DEPRECATED = pytest.mark.filterwarnings("ignore:`get_config_jsonschema` is deprecated:DeprecationWarning")

PRODUCERS = [
    pytest.param(without_adapter, id="without an adapter"),
    pytest.param(pydantic_ai_events, id="pydantic-ai"),
    pytest.param(langgraph_events, id="langgraph", marks=_DEPRECATED),
]

ADAPTERS = [
    pytest.param(with_pydantic_ai, id="pydantic-ai"),
    pytest.param(with_openai_agents, id="openai-agents"),
    pytest.param(with_langchain, id="langchain"),
    pytest.param(with_ag_ui(without_adapter), id="ag-ui without an adapter"),
    pytest.param(with_ag_ui(pydantic_ai_events), id="ag-ui of pydantic-ai"),
    pytest.param(with_ag_ui(langgraph_events), id="ag-ui of langgraph", marks=_DEPRECATED),
]
