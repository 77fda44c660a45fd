"""Four in a row: its rules, its board for the user, and its tools for the model."""

from typing import Any

import pytest
from playwright.async_api import Browser, expect

from support.examples import Refusing, client_of, namespace_of, showing
from support.stage import Stage
from support.wire import NO_UI, Wire

pytestmark = pytest.mark.anyio

DRAW = [1, 2, 1, 2, 1, 2, 2, 1, 2, 1, 2, 1, 3, 4, 3, 4, 3, 4, 4, 3, 4, 3, 4, 3, 5, 6, 5, 6, 5, 6, 6, 5, 6, 5, 6, 5]
DRAW += [7, 7, 7, 7, 7, 7]


def game_of(*columns: int, first: str = "user") -> Any:
    """Play columns in turn, counted from 1."""
    example = namespace_of("game")
    game = example["Game"](1, first)
    for column in columns:
        game.drop(column - 1, game.turn)
    return game


async def play(client: Wire, *columns: int) -> dict[str, Any]:
    """Play columns in turn in game 1, the user first."""
    state: dict[str, Any] = {}
    for number, column in enumerate(columns):
        state = await client.call("play", game=1, column=column, player=("user", "model")[number % 2])
    return state


@pytest.mark.parametrize(
    "columns",
    [
        [1, 1, 2, 2, 3, 3, 4],
        [1, 2, 1, 2, 1, 2, 1],
        [1, 2, 2, 3, 3, 4, 3, 4, 4, 6, 4],
        [7, 6, 6, 5, 5, 4, 5, 4, 4, 2, 4],
    ],
    ids=["beside each other", "over each other", "rising", "falling"],
)
def test_four_in_a_row_win(columns: list[int]) -> None:
    assert game_of(*columns[:-1]).state().winner is None
    state = game_of(*columns).state()
    assert (state.winner, state.turn, len(state.four)) == ("user", None, 4)
    assert "The user has won." in state.text
    assert game_of(*columns, first="model").state().winner == "model"


def test_a_full_board_is_a_draw() -> None:
    state = game_of(*DRAW).state()
    assert (state.winner, state.turn, state.four) == (None, None, [])
    assert "a draw" in state.text


def test_every_row_of_four_is_listed_once() -> None:
    fours = namespace_of("game")["FOURS"]
    assert len(fours) == len({tuple(four) for four in fours}) == 69


@pytest.mark.parametrize(
    ("before", "column"),
    [([1, 7, 2, 7, 3, 7], 4), ([1, 7, 2, 7, 5, 7, 6], 7), ([1, 7, 2, 6, 3], 4), ([], 4)],
    ids=["wins", "wins rather than blocks", "blocks", "begins in the middle"],
)
def test_the_player_of_the_server_looks_one_move_ahead(before: list[int], column: int) -> None:
    game = game_of(*before)
    assert namespace_of("game")["good_column"](game) == column - 1


async def test_moves_against_the_rules_are_errors() -> None:
    async with client_of("game") as client:
        await client.call("start_game")

        async def refusal(**move: Any) -> str:
            result = await client.call("play", **{"game": 1, "column": 1, "player": "user", **move})
            assert result["isError"]
            text: str = result["content"][0]["text"]
            return text

        assert "It is the user's turn" in await refusal(player="model")
        assert "no game 9" in await refusal(game=9)
        assert await refusal(column=8)
        await play(client, 1, 1, 1, 1, 1, 1)
        assert "Column 1 is full. Free columns: 2, 3, 4, 5, 6, 7." in await refusal()
        await play(client, 2, 3, 2, 3, 2, 3, 2)
        assert "The game is over" in await refusal(column=4, player="model")


async def test_a_client_without_ui_plays_in_text() -> None:
    async with client_of("game", NO_UI) as client:
        assert set(await client.tools()) == {"start_game", "play"}
        text = (await client.call("start_game"))["content"][0]["text"]
        assert "Show the user this board after each move" in text
        text = (await play(client, 4, 4))["content"][0]["text"]
        assert text.splitlines()[5:8] == [". . . O . . .", ". . . X . . .", "1 2 3 4 5 6 7"]
        assert text.endswith("It is the user's turn.")
    async with client_of("game") as client:
        assert "drop_disc of the View" in (await client.call("start_game"))["content"][0]["text"]


def column(stage: Stage, number: int) -> Any:
    return stage.view.get_by_role("button", name=f"Column {number}")


async def test_a_move_of_the_user_updates_the_model_context(browser: Browser) -> None:
    async with showing(browser, "game") as stage:
        status = stage.view.get_by_role("status")
        await expect(status).to_have_text("Your turn: choose a column.")
        await column(stage, 4).click()
        await expect(status).to_have_text("You played column 4. Now it is the model's turn.")
        await expect(column(stage, 4)).to_have_accessible_name("Column 4, from the bottom: you")
        (model_context,) = await stage.sent("ui/update-model-context", 1)
        assert ". . . X . . ." in model_context["content"][0]["text"]
        await expect(column(stage, 1)).to_be_disabled()
        await stage.view.get_by_role("button", name="Move for the model").click()
        await expect(status).to_contain_text("Your turn: choose a column.")
        await expect(stage.view.locator(".cell .model")).to_have_count(1)
        await expect(column(stage, 1)).to_be_enabled()


async def test_the_board_is_played_with_keys_and_keeps_the_focus(browser: Browser) -> None:
    async with showing(browser, "game") as stage:
        await expect(stage.view.get_by_role("status")).to_have_text("Your turn: choose a column.")
        await column(stage, 1).focus()
        await stage.page.keyboard.press("ArrowRight")
        await expect(column(stage, 2)).to_be_focused()
        await stage.page.keyboard.press("5")
        await stage.page.keyboard.press("Enter")
        await expect(column(stage, 5)).to_have_accessible_name("Column 5, from the bottom: you")
        await expect(column(stage, 5)).to_be_focused()
        move = stage.view.get_by_role("button", name="Move for the model")
        await move.press("Enter")
        await expect(move).to_be_hidden()
        await expect(column(stage, 5)).to_be_focused()


async def test_the_model_reads_the_board_and_moves_with_app_tools(browser: Browser) -> None:
    async with showing(browser, "game") as stage:
        await expect(stage.view.get_by_role("status")).to_have_text("Your turn: choose a column.")
        tools = {tool["name"]: tool for tool in (await stage.ask("tools/list", {}))["result"]["tools"]}
        assert tools["look_at_board"]["annotations"] == {"readOnlyHint": True}
        move = {"name": "drop_disc", "arguments": {"column": 3}}
        early = (await stage.ask("tools/call", move))["result"]
        assert early["isError"]
        assert "It is the user's turn" in early["content"][0]["text"]
        await column(stage, 4).click()
        await expect(stage.view.locator(".cell .user")).to_have_count(1)
        done = (await stage.ask("tools/call", move))["result"]
        assert ". . O X . . ." in done["content"][0]["text"]
        await expect(column(stage, 3)).to_have_accessible_name("Column 3, from the bottom: the model")
        seen = (await stage.ask("tools/call", {"name": "look_at_board", "arguments": {}}))["result"]
        assert seen["content"] == done["content"]
        assert "error" in await stage.ask("tools/call", {"name": "drop_disc", "arguments": {"column": "left"}})


async def test_a_move_with_the_tool_of_the_server_is_shown_on_the_board(browser: Browser) -> None:
    async with showing(browser, "game") as stage:
        await column(stage, 4).click()
        await expect(stage.view.locator(".cell .user")).to_have_count(1)
        assert stage.client is not None
        await stage.client.call("play", game=1, column=7, player="model")
        await expect(column(stage, 7)).to_have_accessible_name("Column 7, from the bottom: the model")
        await expect(stage.view.get_by_role("status")).to_have_text(
            "The model played column 7. Your turn: choose a column."
        )


async def test_the_model_is_asked_to_move_by_a_message(browser: Browser) -> None:
    async with showing(browser, "game") as stage:
        await column(stage, 4).click()
        await stage.view.get_by_role("button", name="Ask the model to move").click()
        (message,) = await stage.sent("ui/message", 1)
        assert "I have played column 4. It is your turn" in message["content"][0]["text"]
        await expect(stage.view.get_by_role("status")).to_have_text("Asked. Waiting for the model…")


async def test_a_won_game_is_marked_and_a_new_one_can_be_started(browser: Browser) -> None:
    async with showing(browser, "game") as stage:
        await expect(stage.view.get_by_role("status")).to_have_text("Your turn: choose a column.")
        assert stage.client is not None
        await play(stage.client, 1, 2, 1, 3, 1, 5)
        await column(stage, 1).click()
        await expect(stage.view.get_by_role("status")).to_have_text("You have won!")
        await expect(stage.view.locator(".cell .four")).to_have_count(4)
        await expect(column(stage, 2)).to_be_disabled()
        await stage.view.get_by_role("button", name="New game").click()
        await expect(stage.view.get_by_role("status")).to_have_text("Your turn: choose a column.")
        await expect(stage.view.locator(".cell i")).to_have_count(0)


async def test_a_rejected_move_changes_nothing_and_shows_the_reason(browser: Browser) -> None:
    async with showing(browser, "game") as stage:
        await expect(stage.view.get_by_role("status")).to_have_text("Your turn: choose a column.")
        stage.client = Refusing()
        await column(stage, 4).click()
        await expect(stage.view.get_by_role("status")).to_have_text("The host refuses.")
        await expect(stage.view.locator(".cell i")).to_have_count(0)
        await expect(column(stage, 4)).to_be_enabled()


async def test_a_cancelled_and_a_failed_start_are_shown(browser: Browser) -> None:
    async with showing(browser, "game") as stage:
        await stage.notify("ui/notifications/tool-cancelled", {"reason": "Too late."})
        await expect(stage.view.get_by_role("status")).to_have_text("Cancelled: Too late.")
        await stage.notify(
            "ui/notifications/tool-result", {"content": [{"type": "text", "text": "No."}], "isError": True}
        )
        await expect(stage.view.get_by_role("status")).to_have_text("No.")
