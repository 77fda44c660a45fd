"""`fanlight.agents.openai_agents` with the real framework and a scripted model, over both APIs of OpenAI."""

import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from agents import (
    Model,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    Runner,
    RunState,
    SQLiteSession,
    set_tracing_disabled,
)
from openai import AsyncOpenAI

from fanlight.agents.content import NOT_RUN
from fanlight.agents.openai_agents import AppsAgent, ViewOpened, ViewsSession, follow, turn_input, views_of
from fanlight.host import Conversation
from support.agents import Shower, received, shown, until, weather_host
from support.openai_server import OpenAIServer, Step, ToolCall, openai_server

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True, scope="module")
def _no_tracing() -> Iterator[None]:
    set_tracing_disabled(True)
    yield
    set_tracing_disabled(False)


APIS: dict[str, Callable[[str, AsyncOpenAI], Model]] = {
    "responses": OpenAIResponsesModel,
    "completions": OpenAIChatCompletionsModel,
}


@asynccontextmanager
async def scripted(
    chat: Conversation, *steps: Step, api: str = "responses", kind: type[AppsAgent[None]] = AppsAgent
) -> AsyncIterator[tuple[AppsAgent[None], OpenAIServer]]:
    """Return an agent whose model follows a script, and the server of the model."""
    with openai_server(*steps) as server:
        async with AsyncOpenAI(base_url=server.url, api_key="none") as client:
            yield kind(name="Assistant", chat=chat, model=APIS[api]("scripted", client)), server


async def run(chat: Conversation, agent: AppsAgent[None], text: str, **options: Any) -> tuple[Any, list[Any]]:
    """Run a turn, and return the result and the events."""
    result = Runner.run_streamed(agent, await turn_input(chat, text), **options)
    return result, [event async for event in follow(chat, result)]


def outputs(server: OpenAIServer, request: int = -1) -> list[Any]:
    """Return the outputs of tools that a request to `/v1/responses` has."""
    return [item["output"] for item in server.requests[request]["input"] if item.get("type") == "function_call_output"]


@pytest.mark.parametrize("api", APIS)
async def test_the_model_calls_tools_and_arguments_stream_into_the_view(api: str) -> None:
    """Goes red if `follow` does not feed what the model writes."""
    async with weather_host() as (host, weather):
        chat = host.conversation("c1")
        show = Shower(host, chat)
        async with scripted(chat, ToolCall("weather__show", {"city": "Reykjavik"}, show), "Sunny!", api=api) as (
            agent,
            server,
        ):
            result, events = await run(chat, agent, "The weather?")
            assert result.final_output == "Sunny!"
            assert weather.calls == ["Reykjavik"]
            # What only Views may call is hidden from the model, and so is what belongs to the page.
            assert "weather__show" in server.tools(0)
            assert "weather__refresh" not in server.tools(0)
            (opened,) = [event for event in events if isinstance(event, ViewOpened)]
            assert opened.uri == "ui://weather/view"
            sent = json.dumps(server.requests)
            assert "It is sunny in Reykjavik." in sent
            assert opened.view not in sent
        partial, complete = await show.arguments()
        assert "Reykjavik".startswith(partial.get("city", ""))
        assert complete == {"city": "Reykjavik"}
        kinds = [event.type if event.type != "run_item_stream_event" else event.name for event in events]
        assert kinds.index("fanlight_view_opened") < kinds.index("tool_called") < kinds.index("tool_output")
        assert views_of(result.new_items) == [(opened.tool_call_id, opened.view)]


async def test_a_plain_run_works_without_streaming() -> None:
    async with weather_host() as (host, weather):
        chat = host.conversation("c1")
        async with scripted(chat, ToolCall("weather__show", {"city": "Oslo"}), "Sunny!") as (agent, _server):
            result = await Runner.run(agent, "The weather?")
        assert (result.final_output, weather.calls) == ("Sunny!", ["Oslo"])
        ((_, view),) = views_of(result.new_items)
        assert [each.id for each in await chat.views()] == [view]


async def test_a_session_keeps_views_without_tokens_and_the_model_does_not_get_them(tmp_path: Path) -> None:
    """Goes red if the session gives the model what it keeps: OpenAI rejects unknown keys."""
    async with weather_host() as (host, _):
        chat = host.conversation("c1")
        session = ViewsSession(chat, SQLiteSession("c1", tmp_path / "chat.db"))
        async with scripted(chat, ToolCall("weather__show", {"city": "Oslo"}), "Sunny!", "You are welcome.") as (
            agent,
            server,
        ):
            await run(chat, agent, "The weather?", session=session)
            await run(chat, agent, "Thanks.", session=session)
            assert outputs(server) == ["It is sunny in Oslo."]
            assert "fanlight" not in json.dumps(server.requests)
        # After a restart of the program, too.
        kept = ViewsSession(chat, SQLiteSession("c1", tmp_path / "chat.db"))
        ((call_id, view),) = await kept.views()
        assert call_id == "call_1"
        stored = json.dumps(await SQLiteSession("c1", tmp_path / "chat.db").get_items())
        assert json.dumps({"views": [{"view": view, "uri": "ui://weather/view"}]}) in stored
        page = await shown(host, chat, view)
        (tool_result,) = await received(page, "tool-result")
        assert tool_result["content"][0]["text"] == "It is sunny in Oslo."


async def test_the_model_gets_images_errors_and_data() -> None:
    async with weather_host() as (host, _):
        chat = host.conversation("c1")
        calls = [ToolCall("weather__picture"), ToolCall("weather__fail"), ToolCall("weather__data")]
        async with scripted(chat, calls, "Done.") as (agent, server):
            await run(chat, agent, "Paint.")
            picture, failure, data = outputs(server)
        assert picture[0] == {"type": "input_text", "text": "A picture."}
        assert picture[1]["image_url"].startswith("data:image/png;base64,")
        assert "Error executing tool" in failure
        assert data == '{"degrees": 21}'


@pytest.mark.parametrize("text", ['{"city": Oslo', '["Oslo"]'])
async def test_a_call_with_invalid_arguments_is_cancelled_in_its_view(text: str) -> None:
    """Goes red if the View is only cancelled at the end of the run."""
    async with weather_host() as (host, weather):
        chat = host.conversation("c1")
        show = Shower(host, chat)
        async with scripted(chat, ToolCall("weather__show", text, show), "I give up.") as (agent, server):
            result, _ = await run(chat, agent, "The weather?")
            assert result.final_output == "I give up."
            assert "Write a JSON object" in outputs(server)[0]
        assert weather.calls == []
        assert show.page is not None
        assert await received(show.page, "tool-cancelled") == [{"reason": NOT_RUN}]


async def test_a_call_that_the_framework_never_runs_is_cancelled() -> None:
    """Goes red if the turn does not end with the run."""
    async with weather_host() as (host, weather):
        chat = host.conversation("c1")

        async def stop() -> None:
            await until(chat.views)
            result.cancel()

        async with scripted(chat, ToolCall("weather__show", {"city": "Reykjavik"}, stop)) as (agent, _server):
            result = Runner.run_streamed(agent, "The weather?")
            async for _ in follow(chat, result):
                pass
        assert weather.calls == []
        assert [view.call for view in await chat.views()] == ["cancelled"]


async def test_a_run_that_is_cancelled_cancels_the_call_under_way() -> None:
    async with weather_host() as (host, weather):
        chat = host.conversation("c1")
        async with scripted(chat, ToolCall("weather__hang")) as (agent, _server):
            result = Runner.run_streamed(agent, "Wait.")
            async with anyio.create_task_group() as tasks:

                async def stop() -> None:
                    await weather.is_called.wait()
                    result.cancel()

                tasks.start_soon(stop)
                async for _ in follow(chat, result):
                    pass
        assert [view.call for view in await chat.views()] == ["cancelled"]


async def test_a_call_that_needs_approval_waits_for_it() -> None:
    async with weather_host() as (host, weather):
        chat = host.conversation("c1")
        asked = ToolCall("weather__show", {"city": "Oslo"})
        async with scripted(chat, asked, "Sunny!", kind=ApprovedAgent) as (agent, _):
            first, _ = await run(chat, agent, "The weather?")
            assert weather.calls == []
            state = await RunState.from_string(agent, first.to_state().to_string())
            state.approve(state.get_interruptions()[0])
            result = Runner.run_streamed(agent, state)
            events = [event async for event in follow(chat, result)]
        assert weather.calls == ["Oslo"]
        (opened,) = [event for event in events if isinstance(event, ViewOpened)]
        assert [view.id for view in await chat.views() if view.call == "done"] == [opened.view]


class ApprovedAgent(AppsAgent[None]):
    async def get_all_tools(self, run_context: Any) -> list[Any]:
        tools = await super().get_all_tools(run_context)
        for tool in tools:
            tool.needs_approval = True  # type: ignore[union-attr]
        return tools


async def test_two_runs_of_one_conversation_at_once_do_not_share_their_calls() -> None:
    async with weather_host() as (host, weather):
        chat = host.conversation("c1")
        oslo, rome = (ToolCall("weather__show", {"city": city}) for city in ("Oslo", "Rome"))
        async with scripted(chat, oslo, rome, "1", "2") as (agent, _server), anyio.create_task_group() as tasks:
            for text in ("a", "b"):
                tasks.start_soon(run, chat, agent, text)
        assert sorted(weather.calls) == ["Oslo", "Rome"]
        assert [view.call for view in await chat.views()] == ["done", "done"]
