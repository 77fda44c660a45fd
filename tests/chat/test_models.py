"""Which model a name means, and what is said without a key."""

import sys
from pathlib import Path

import pytest
from pydantic_ai import Agent, ToolReturn

from fanlight.agents.content import history_entry
from fanlight.chat.conversations import Conversations
from fanlight.chat.models import KEYS, OTHER_KEY, ModelError, create_model
from fanlight.chat.scripted import scripted_model
from fanlight.cli import main
from fanlight.host.calls.runner import CallView
from support.openai_server import openai_server

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for variables in KEYS.values():
        for variable in variables:
            monkeypatch.delenv(variable, raising=False)
    for variable in ("OLLAMA_BASE_URL", "OPENROUTER_API_KEY"):
        monkeypatch.delenv(variable, raising=False)


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("openai:gpt-5", "OPENAI_API_KEY"),
        ("anthropic:claude-sonnet-5", "ANTHROPIC_API_KEY"),
        ("google:gemini-3-pro", "GOOGLE_API_KEY"),
    ],
)
def test_each_service_needs_its_key(name: str, variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelError, match=f"needs a key: set {variable}, or try it without one: --model scripted"):
        create_model(name)
    monkeypatch.setenv(variable, "key")
    assert create_model(name).model_name == name.partition(":")[2]


@pytest.mark.parametrize(
    ("name", "base_url", "reason"),
    [
        ("gpt-5", None, "'gpt-5' is not a model: expected a service and a model, such as openai:gpt-5"),
        ("openai:", None, "'openai:' is not a model: expected a service and a model, such as openai:gpt-5"),
        (":gpt-5", None, "':gpt-5' is not a model: expected a service and a model, such as openai:gpt-5"),
        ("nobody:x", None, "'nobody:x' is not a model: expected one that begins with openai:, anthropic: or google:"),
        ("nobody:x", None, "--model x --base-url URL for another service that is compatible with OpenAI"),
        ("ollama:qwen3", None, "For a model of Ollama, write --model qwen3 --base-url http://localhost:11434/v1."),
        ("openrouter:a/b", None, "openrouter:a/b needs OPENROUTER_API_KEY in the environment."),
        ("qwen3", "localhost:11434", "--base-url is 'localhost:11434', expected an address such as http://"),
    ],
)
def test_a_wrong_name_is_an_error_that_says_what_to_write(name: str, base_url: str | None, reason: str) -> None:
    with pytest.raises(ModelError) as raised:
        create_model(name, base_url)
    assert reason in str(raised.value)


async def test_the_key_of_openai_is_not_sent_to_another_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "of-openai")
    with openai_server("Hello.", "Hello.") as service:
        async with create_model("any", service.url) as model:
            assert (await Agent(model).run("Hi")).output == "Hello."
        monkeypatch.setenv(OTHER_KEY, "of-the-service")
        async with create_model("any", service.url) as model:
            await Agent(model).run("Hi")
        assert [headers["authorization"] for headers in service.headers] == [
            "Bearer api-key-not-set",
            "Bearer of-the-service",
        ]


def test_a_model_without_a_key_is_a_one_line_error_with_exit_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["chat", "--model", "openai:gpt-5", "--store", str(tmp_path / "chat.db")]) == 2
    error = capsys.readouterr().err
    assert error == (
        "fanlight chat: openai:gpt-5 needs a key: set OPENAI_API_KEY, or try it without one: --model scripted.\n"
    )


def test_a_negative_size_is_an_error_about_megabytes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["chat", "--max-file", "-3"])
    assert "'-3' is not a number of megabytes such as 10" in capsys.readouterr().err


def test_a_missing_extra_is_named_before_the_package_that_was_looked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, "fanlight.chat.command", raising=False)
    monkeypatch.setitem(sys.modules, "fanlight.chat.command", None)
    assert main(["chat"]) == 3
    error = capsys.readouterr().err
    assert error.startswith("fanlight chat needs packages that are not installed")
    assert "pip install 'fanlight[chat]'" in error


def test_the_terminal_reports_a_remembered_model_whose_key_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stored = Conversations(tmp_path / "chat.db")
    stored.keep_settings({"model": "openai:gpt-5", "base_url": None})
    stored.close()

    async def serve_nothing(*given: object, **options: object) -> None:
        pass

    monkeypatch.setattr("fanlight.chat.command.serve", serve_nothing)
    monkeypatch.chdir(tmp_path)
    Path("mcp.json").write_text('{"mcpServers": {"x": {"command": "x"}}}', encoding="utf-8")
    assert main(["chat", "mcp.json", "--no-open", "--port", "0", "--store", "chat.db"]) == 0
    error = capsys.readouterr().err
    assert error == "\n  openai:gpt-5 needs a key: set OPENAI_API_KEY, or try it without one: --model scripted.\n"


async def test_the_script_calls_the_tool_that_a_message_is_about() -> None:
    agent = Agent(scripted_model(pause=0))
    called = []

    @agent.tool_plain
    def get_weather(city: str) -> str:
        """Get the weather of a city."""
        called.append(city)
        return f"rain in {city}"

    @agent.tool_plain
    def add_numbers(one: int, other: int) -> int:
        """Add two numbers."""
        return one + other

    async def answer(prompt: str) -> str:
        async with agent.run_stream_events(prompt) as events:
            async for _ in events:
                pass
            assert events.result is not None
            return events.result.output

    assert "rain in Rome" in await answer('What is the weather? {"city": "Rome"}')
    assert "rain in example" in await answer("weather!")
    assert called == ["Rome", "example"]
    assert "**add_numbers**: Add two numbers." in await answer("Hmm?")

    @agent.tool_plain
    def draw_picture() -> ToolReturn:
        """Draw a picture."""
        return ToolReturn("| a | b |", metadata=history_entry([CallView("v1", "t", "ui://a/b")]))

    assert await answer("Draw!") == "The View shows the result."
