"""A chat for several users: pydantic-ai runs the model, Fanlight shows the Views. ../README.md has the command."""

import asyncio
import itertools
import secrets
import sys
from collections.abc import AsyncIterable, AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Literal

import pydantic_ai as ai
from fastapi import BackgroundTasks, Depends, FastAPI, Form, Header, HTTPException, Response
from fastapi.requests import HTTPConnection
from fastapi.sse import EventSourceResponse, ServerSentEvent
from fastapi.staticfiles import StaticFiles
from model import MODEL

from fanlight.host import Call, Host, Message, UnknownToolError

EXAMPLES = Path(__file__).resolve().parents[1]
SERVERS = {name: [sys.executable, str(EXAMPLES / name / "server.py")] for name in ("chart", "wizard", "game")}
sessions: dict[str, str] = {}  # the user of each cookie


def identify(connection: HTTPConnection) -> str | None:
    return sessions.get(connection.cookies.get("session", ""))


host = Host(SERVERS, user=identify)


class Room:
    """The conversation of a user: the elements of the page, with Views by their ids, and what the model knows."""

    def __init__(self, user: str) -> None:
        self.chat = host.conversation("main", user=user)
        self.log: list[dict[str, str | None]] = [{"tag": "h1", "id": user, "text": f"Hello {user.title()}"}]
        self.history: list[ai.ModelMessage] = []
        self.calls: dict[str, Call] = {}
        self.busy, self.posted = asyncio.Lock(), asyncio.Event()

    def post(self, **element: str | None) -> None:
        self.log.append(element)
        self.posted.set()
        self.posted = asyncio.Event()

    async def turn(self, text: str, sender: str = "you") -> None:
        async with self.busy, self.chat.turn():
            self.post(tag="p", text=text, title=f"From {sender}")
            news = [f"[From the View of {new.tool}, not from the user] {new.content}" for new in self.chat.context()]
            prompt = [text if sender == "you" else f"[From {sender}, in the user's name] {text}", *news]
            result = await agent.run(prompt, deps=self, message_history=self.history, event_stream_handler=follow)
            self.history = result.all_messages()


agent = ai.Agent(MODEL, deps_type=Room)  # a real one: ai.Agent("anthropic:claude-sonnet-5", deps_type=Room)


async def follow(ctx: ai.RunContext[Room], events: AsyncIterable[ai.AgentStreamEvent]) -> None:
    """Pass on what the model writes: text to the page, and the arguments of a call to its View."""
    room = ctx.deps
    async for event in events:
        match event:
            case ai.PartStartEvent(part=ai.TextPart(text)) | ai.PartDeltaEvent(delta=ai.TextPartDelta(text)):
                room.post(tag="span", text=text)
            case ai.PartStartEvent(part=ai.ToolCallPart(tool_call_id=id) as part):
                with suppress(UnknownToolError):  # the agent asks the model to try again
                    room.calls[id] = call = room.chat.begin(part.tool_name)
                    call.feed(part.args_as_json_str() if part.args else "")
                    room.post(tag="mcp-app", src="/apps", view=call.view)
            case ai.PartDeltaEvent(delta=ai.ToolCallPartDelta(args_delta=str(piece), tool_call_id=str(id))):
                if id in room.calls:
                    room.calls[id].feed(piece)


async def run(ctx: ai.RunContext[Room], /, **arguments: Any) -> str:
    await (call := ctx.deps.calls.pop(ctx.tool_call_id or "")).run(arguments)
    return "\n".join(block.get("text", "") for block in call.for_model)


@agent.toolset  # for each step of a turn, because an open View can offer tools
async def tools(ctx: ai.RunContext[Room]) -> ai.FunctionToolset[Room]:
    listed = await ctx.deps.chat.tools()
    return ai.FunctionToolset([ai.Tool.from_schema(run, t.name, t.description, t.input_schema, True) for t in listed])


rooms = {user: Room(user) for user in ("alice", "bob")}


@host.on_message
async def on_message(message: Message) -> None:
    text = "\n".join(block.get("text", "") for block in message.content)
    await rooms[message.user or ""].turn(text, f"a View of {message.server}")


def room_of(connection: HTTPConnection) -> Room:
    if (user := identify(connection)) is None:
        raise HTTPException(401)
    return rooms[user]


Mine = Annotated[Room, Depends(room_of)]
web = FastAPI()


@web.post("/sign-in", status_code=303)
async def sign_in(user: Annotated[Literal["alice", "bob"], Form()], response: Response) -> None:
    sessions[session := secrets.token_urlsafe()] = user  # a demo, without a password
    response.set_cookie("session", session, httponly=True, samesite="strict")
    response.headers["Location"] = "/"


@web.post("/say", status_code=204)
async def say(room: Mine, text: Annotated[str, Form()], tasks: BackgroundTasks) -> None:
    tasks.add_task(room.turn, text)


@web.get("/events", response_class=EventSourceResponse)
async def events(room: Mine, last_event_id: Annotated[int, Header()] = 0) -> AsyncIterator[ServerSentEvent]:
    for number in itertools.count(last_event_id):
        while number >= len(room.log):
            await room.posted.wait()
        element = room.log[number]
        if (view := element.get("view")) in {each.id for each in room.chat.views()} and view:
            element = {**element, "token": await room.chat.token(view)}
        yield ServerSentEvent(data=element, id=str(number + 1))


web.mount("/", StaticFiles(directory=EXAMPLES / "chat" / "page", html=True))
app = host.wrap(web)
