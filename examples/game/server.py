"""Four in a row, user against model: the View offers app tools, with which the model plays on the user's board."""

import itertools
from dataclasses import asdict, dataclass, field
from typing import Annotated, Literal

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import Field

from fanlight import Apps

server = MCPServer("game")
apps = Apps(server)

READ_ONLY = ToolAnnotations(read_only_hint=True)
HARMLESS = ToolAnnotations(destructive_hint=False)
COLUMNS, ROWS = 7, 6
MAX_GAMES = 100

Player = Literal["user", "model"]
Cell = tuple[int, int]
Column = Annotated[int, Field(ge=1, le=COLUMNS, description="The column, counted from 1 at the left.")]

# All groups of four cells in a row. A cell is a column and a height.
FOURS: list[list[Cell]] = [
    four
    for column, height in itertools.product(range(COLUMNS), range(ROWS))
    for right, up in ((1, 0), (0, 1), (1, 1), (1, -1))
    if (four := [(column + step * right, height + step * up) for step in range(4)])
    and all(0 <= c < COLUMNS and 0 <= h < ROWS for c, h in four)
]


@dataclass
class State:
    """A game as the View draws it: each column's discs from the bottom up."""

    game: int
    columns: list[list[Player]]
    turn: Player | None
    winner: Player | None
    four: list[Cell]
    last: int | None
    text: str


@dataclass
class Game:
    """A game is determined by the first player and the sequence of played columns."""

    id: int
    first: Player
    moves: list[int] = field(default_factory=list)

    @property
    def turn(self) -> Player:
        return self.first if len(self.moves) % 2 == 0 else other(self.first)

    def columns(self) -> list[list[Player]]:
        columns: list[list[Player]] = [[] for _ in range(COLUMNS)]
        for number, column in enumerate(self.moves):
            columns[column].append(self.first if number % 2 == 0 else other(self.first))
        return columns

    def four(self) -> list[Cell]:
        """Return the four winning cells, or an empty list."""
        owner = {
            (column, height): player
            for column, discs in enumerate(self.columns())
            for height, player in enumerate(discs)
        }
        return next((four for four in FOURS if len({owner.get(cell) for cell in four}) == 1 and four[0] in owner), [])

    @property
    def over(self) -> bool:
        return bool(self.four()) or len(self.moves) == COLUMNS * ROWS

    def free(self) -> list[int]:
        return [column for column in range(COLUMNS) if self.moves.count(column) < ROWS]

    def drop(self, column: int, player: Player) -> None:
        if self.over:
            raise ToolError("The game is over. Call start_game for another.")
        if player != self.turn:
            raise ToolError(f"It is the {self.turn}'s turn, not the {player}'s.")
        if column not in self.free():
            free = ", ".join(str(index + 1) for index in self.free())
            raise ToolError(f"Column {column + 1} is full. Free columns: {free}.")
        self.moves.append(column)

    def state(self) -> State:
        columns, four = self.columns(), self.four()
        winner = columns[four[0][0]][four[0][1]] if four else None
        last = self.moves[-1] + 1 if self.moves else None
        turn = None if self.over else self.turn
        return State(self.id, columns, turn, winner, four, last, self._text(winner))

    def _text(self, winner: Player | None) -> str:
        """Return the board as text, for models and for clients without Views."""
        signs = {"user": "X", "model": "O"}
        columns = self.columns()
        lines = [
            " ".join(signs[discs[height]] if height < len(discs) else "." for discs in columns)
            for height in reversed(range(ROWS))
        ]
        if winner:
            outcome = f"The {winner} has won."
        elif self.over:
            outcome = "The board is full: a draw."
        else:
            outcome = f"It is the {self.turn}'s turn."
        head = f"Four in a row, game {self.id}. X is the user, O the model."
        numbers = " ".join(str(number + 1) for number in range(COLUMNS))
        return "\n".join([head, *lines, numbers, outcome])


def other(player: Player) -> Player:
    return "model" if player == "user" else "user"


def good_column(game: Game) -> int:
    """Return a simple move: a column that wins, else one that blocks the opponent, else one near the middle."""

    def wins(player: Player, column: int) -> bool:
        height = game.moves.count(column)
        owner = {(c, h): disc for c, discs in enumerate(game.columns()) for h, disc in enumerate(discs)}
        owner[column, height] = player
        return any((column, height) in four and {owner.get(cell) for cell in four} == {player} for four in FOURS)

    free = sorted(game.free(), key=lambda column: abs(column - COLUMNS // 2))
    for player in (game.turn, other(game.turn)):
        for column in free:
            if wins(player, column):
                return column
    return free[0]


games: dict[int, Game] = {}
numbers = itertools.count(1)

WITH_VIEW = """\
The board is open in front of the user, who drops discs by hand. When it is your turn, use the tool drop_disc of the \
View if it is available, else the tool play with player "model". Do not play for the user."""
WITHOUT_VIEW = """\
Show the user this board after each move, and ask for a column. Call play with player "user" for theirs, then with \
player "model" for your own."""


def find_game(game: int) -> Game:
    if game not in games:
        raise ToolError(f"There is no game {game}. Call start_game for a new one.")
    return games[game]


def result_of(state: State, more: str = "") -> CallToolResult:
    text = f"{state.text}\n\n{more}" if more else state.text
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=asdict(state))


@apps.tool(view="game.html", annotations=HARMLESS)
def start_game(ctx: Context, first: Player = "user") -> Annotated[CallToolResult, State]:
    "Start a game of four in a row between the user and you, the model."
    game = Game(next(numbers), first)
    games[game.id] = game
    if len(games) > MAX_GAMES:
        del games[min(games)]
    return result_of(game.state(), WITH_VIEW if apps.supported(ctx) else WITHOUT_VIEW)


@apps.tool(annotations=HARMLESS)
def play(game: int, column: Column, player: Player) -> Annotated[CallToolResult, State]:
    "Drop a disc into a column for the user or the model. It must be that player's turn."
    find_game(game).drop(column - 1, player)
    return result_of(find_game(game).state())


@apps.tool(visibility=["app"], annotations=HARMLESS)
def play_for_model(game: int) -> Annotated[CallToolResult, State]:
    "Let the server move for the model, in hosts without a model. Only the View calls this."
    playing = find_game(game)
    if not playing.over:
        playing.drop(good_column(playing), "model")
    return result_of(playing.state())


@apps.tool(visibility=["app"], annotations=READ_ONLY)
def look_at_game(game: int) -> Annotated[CallToolResult, State]:
    "Return the state of a game, because the model may have moved with the tool play. Only the View calls this."
    return result_of(find_game(game).state())


if __name__ == "__main__":
    server.run()
