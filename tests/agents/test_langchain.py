"""`fanlight.agents.langchain` with the real framework and a scripted model."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain.tools import tool
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command
from pydantic import SecretStr

from fanlight.agents.content import NOT_RUN
from fanlight.agents.langchain import Apps, tools, views_of
from fanlight.host import Conversation
from support.agents import Shower, received, shown, until, weather_host
from support.openai_server import OpenAIServer, Step, ToolCall, openai_server

pytestmark = pytest.mark.anyio

THREAD: RunnableConfig = {"configurable": {"thread_id": "c1"}}


@asynccontextmanager
async def scripted(chat: Conversation, *steps: Step, **options: Any) -> AsyncIterator[tuple[Any, OpenAIServer]]:
    """Return an agent whose model follows a script, and the server of the model."""
    with openai_server(*steps) as server:
        model = ChatOpenAI(model="scripted", base_url=server.url, api_key=SecretStr("none"), max_retries=0)
        middleware = [*options.pop("middleware", ()), Apps(chat)]
        try:
            yield create_agent(model, middleware=middleware, **options), server
        finally:
            await model.root_async_client.close()


def says(text: str) -> dict[str, Any]:
    return {"messages": [HumanMessage(text)]}


def results(server: OpenAIServer, request: int = -1) -> list[Any]:
    """Return the contents of the tool messages that a request has."""
    return [message["content"] for message in server.requests[request]["messages"] if message["role"] == "tool"]


async def test_the_model_calls_tools_and_arguments_stream_into_the_view_with_a_plain_run() -> None:
    """Goes red if the model is not made to stream, or if the handler does not feed what it writes."""
    async with weather_host() as (host, weather):
        chat = host.conversation("c1")
        show = Shower(host, chat)
        async with scripted(chat, ToolCall("weather__show", {"city": "Reykjavik"}, show), "Sunny!") as (agent, server):
            state = await agent.ainvoke(says("The weather?"))
            assert state["messages"][-1].content == "Sunny!"
            assert weather.calls == ["Reykjavik"]
            # What only Views may call is hidden from the model, and so is what belongs to the page.
            assert "weather__show" in server.tools(0)
            assert "weather__refresh" not in server.tools(0)
            assert results(server) == ["It is sunny in Reykjavik."]
            ((call_id, view),) = views_of(state["messages"])
            assert view not in json.dumps(server.requests)
        assert call_id == "call_1"
        partial, complete = await show.arguments()
        assert "Reykjavik".startswith(partial.get("city", ""))
        assert complete == {"city": "Reykjavik"}


async def test_views_are_in_the_custom_stream_before_their_call_has_run() -> None:
    async with weather_host() as (host, _):
        chat = host.conversation("c1")
        async with scripted(chat, ToolCall("weather__show", {"city": "Oslo"}), "Sunny!") as (agent, _server):
            seen = [item async for item in agent.astream(says("The weather?"), stream_mode=["custom", "updates"])]
        kinds = [mode if mode == "custom" else next(iter(item)) for mode, item in seen]
        assert kinds.index("custom") < kinds.index("model") < kinds.index("tools")
        (opened,) = [item for mode, item in seen if mode == "custom"]
        (view,) = await chat.views()
        assert opened == {
            "type": "fanlight.view_opened",
            "view": view.id,
            "uri": "ui://weather/view",
            "tool_call_id": "call_1",
        }


async def test_a_model_that_does_not_stream_works() -> None:
    async with weather_host() as (host, weather):
        chat = host.conversation("c1")
        asked = AIMessage("", tool_calls=[{"id": "a", "name": "weather__show", "args": {"city": "Oslo"}}])
        model = ModelWithTools(messages=iter([asked, AIMessage("Sunny!")]), disable_streaming=True)
        agent: Any = create_agent(model, middleware=[Apps(chat)])
        seen = [item async for item in agent.astream(says("The weather?"), stream_mode="custom")]
        assert weather.calls == ["Oslo"]
        assert [each.id for each in await chat.views()] == [opened["view"] for opened in seen]


class ModelWithTools(GenericFakeChatModel):
    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self


async def test_an_agent_keeps_its_own_tools() -> None:
    @tool
    def double(number: int) -> int:
        """Double a number."""
        return 2 * number

    async with weather_host() as (host, weather):
        chat = host.conversation("c1")
        calls = [ToolCall("double", {"number": 21}), ToolCall("weather__show", {"city": "Oslo"})]
        async with scripted(chat, calls, "Done.", tools=[double]) as (agent, server):
            await agent.ainvoke(says("Both."))
            assert results(server) == ["42", "It is sunny in Oslo."]
        assert weather.calls == ["Oslo"]


async def test_checkpoints_on_disk_keep_views_without_tokens(tmp_path: Path) -> None:
    async with weather_host() as (host, _):
        chat = host.conversation("c1")
        steps = (ToolCall("weather__show", {"city": "Oslo"}), "Sunny!", "You are welcome.")
        path = str(tmp_path / "chat.db")
        with openai_server(*steps) as server:
            for text in ("The weather?", "Thanks."):  # each in a program of its own
                model = ChatOpenAI(model="scripted", base_url=server.url, api_key=SecretStr("none"))
                async with AsyncSqliteSaver.from_conn_string(path) as saver:
                    agent: Any = create_agent(model, middleware=[Apps(chat)], checkpointer=saver)
                    await agent.ainvoke(says(text), THREAD)
                    messages = (await agent.aget_state(THREAD)).values["messages"]
            await model.root_async_client.close()  # which models of one URL share
            assert results(server) == ["It is sunny in Oslo."]
            assert "fanlight" not in json.dumps(server.requests)
        ((_, view),) = views_of(messages)
        (artifact,) = [message.artifact for message in messages if isinstance(message, ToolMessage)]
        assert artifact == {"fanlight": {"views": [{"view": view, "uri": "ui://weather/view"}]}}
        page = await shown(host, chat, view)
        (tool_result,) = await received(page, "tool-result")
        assert tool_result["content"][0]["text"] == "It is sunny in Oslo."


async def test_a_call_that_is_approved_after_an_interrupt_runs_in_its_view() -> None:
    async with weather_host() as (host, weather):
        chat = host.conversation("c1")
        steps = (ToolCall("weather__show", {"city": "Oslo"}), "Sunny!")
        async with scripted(chat, *steps, middleware=[asks()], checkpointer=InMemorySaver()) as (agent, _):
            state = await agent.ainvoke(says("The weather?"), THREAD)
            assert "__interrupt__" in state
            assert weather.calls == []
            (waiting,) = await chat.views()
            assert waiting.call == "running"
            await agent.ainvoke(Command(resume={"decisions": [{"type": "approve"}]}), THREAD)
        assert weather.calls == ["Oslo"]
        (view,) = await chat.views()
        assert (view.id, view.call) == (waiting.id, "done")


async def test_a_call_that_is_rejected_after_an_interrupt_is_cancelled_in_its_view() -> None:
    """Goes red if the View is only cancelled at the end of the run."""
    async with weather_host() as (host, weather):
        chat = host.conversation("c1")
        states: list[str] = []

        async def look() -> None:
            states.extend([view.call for view in await chat.views()])

        steps = (ToolCall("weather__show", {"city": "Oslo"}), ToolCall("weather__data", between=look), "Then not.")
        async with scripted(chat, *steps, middleware=[asks()], checkpointer=InMemorySaver()) as (agent, _):
            await agent.ainvoke(says("The weather?"), THREAD)
            await agent.ainvoke(Command(resume={"decisions": [{"type": "reject"}]}), THREAD)
        assert weather.calls == []
        assert states == ["cancelled"]


def asks() -> HumanInTheLoopMiddleware[Any, Any, Any]:
    return HumanInTheLoopMiddleware(interrupt_on={"weather__show": True})


@pytest.mark.parametrize("text", ['{"city": Oslo', '{"city": "Osl'])
async def test_a_call_with_invalid_json_is_cancelled_in_its_view_and_not_run(text: str) -> None:
    """Goes red if LangChain is allowed to run what it could read of the arguments."""
    async with weather_host() as (host, weather):
        chat = host.conversation("c1")
        show = Shower(host, chat)
        async with scripted(chat, ToolCall("weather__show", text, show), "I give up.") as (agent, server):
            await agent.ainvoke(says("The weather?"))
            assert "Write a JSON object" in results(server)[0]
        assert weather.calls == []
        assert show.page is not None
        assert await received(show.page, "tool-cancelled") == [{"reason": NOT_RUN}]


async def test_a_run_that_is_cancelled_while_the_model_writes_cancels_its_call() -> None:
    """Goes red if a failure of the model's call leaves what it has begun."""
    async with weather_host() as (host, weather):
        chat = host.conversation("c1")
        async with anyio.create_task_group() as tasks:

            async def stop() -> None:
                await until(chat.views)
                tasks.cancel_scope.cancel()

            async with scripted(chat, ToolCall("weather__show", {"city": "Reykjavik"}, stop)) as (agent, _):
                await agent.ainvoke(says("The weather?"))
        assert weather.calls == []
        assert [view.call for view in await chat.views()] == ["cancelled"]


async def test_a_tool_that_does_not_exist_is_reported_to_the_model() -> None:
    async with weather_host() as (host, _):
        chat = host.conversation("c1")
        async with scripted(chat, ToolCall("weather__nothing"), "Sorry.") as (agent, server):
            await agent.ainvoke(says("?"))
            assert "weather__nothing" in results(server)[0]


async def test_the_tools_work_in_a_graph_without_the_middleware() -> None:
    async with weather_host() as (host, _):
        chat = host.conversation("c1")
        graph: Any = StateGraph(MessagesState)
        graph.add_node("tools", ToolNode(await tools(chat)))
        graph.set_entry_point("tools")
        asked = AIMessage("", tool_calls=[{"id": "a", "name": "weather__show", "args": {"city": "Oslo"}}])
        state = await graph.compile().ainvoke({"messages": [asked]})
        assert state["messages"][-1].content == "It is sunny in Oslo."
        assert [view for _, view in views_of(state["messages"])] == [view.id for view in await chat.views()]
