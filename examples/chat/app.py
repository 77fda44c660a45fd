"""A chat for several users: pydantic-ai runs the model, Fanlight shows the Views. ../README.md has the command."""

import asyncio
import itertools
import secrets
import sys
from collections.abc import AsyncIterable, AsyncIterator
from pathlib import Path
from typing import Annotated, Literal

import pydantic_ai as ai
from fastapi import BackgroundTasks, Depends, FastAPI, Form, Header, HTTPException, Response
from fastapi.middleware.trustedhost import TrustedHostMiddleware
from fastapi.requests import HTTPConnection
from fastapi.sse import EventSourceResponse, ServerSentEvent
from model import MODEL

from fanlight.agents.pydantic_ai import Apps, ViewOpened
from fanlight.host import Host

EXAMPLES = Path(__file__).resolve().parents[1]
SERVERS = {name: [sys.executable, str(EXAMPLES / name / "server.py")] for name in ("chart", "wizard", "game")}
sessions: dict[str, str] = {}  # the user of each cookie


def identify(connection: HTTPConnection) -> str | None:
    return sessions.get(connection.cookies.get("session", ""))


async def credentials(user: str, server: str) -> dict[str, str]:
    return {}  # the environment of each user's own processes: these servers keep state in memory


host = Host(SERVERS, user=identify, credentials=credentials)


class Room:  # the conversation of a user: the elements of the page, with Views by their ids, and what the model knows
    def __init__(self, user: str) -> None:
        self.chat = host.conversation("main", user=user)
        self.agent = ai.Agent(MODEL, capabilities=[Apps(self.chat)])  # a real one: "anthropic:claude-sonnet-5"
        self.history: list[ai.ModelMessage] = []
        self.log = [{"tag": "h1", "id": user, "textContent": f"Hello {user.title()}"}]
        self.busy, self.posted = asyncio.Lock(), asyncio.Event()

    def post(self, **element: str) -> None:
        self.log.append(element)
        self.posted.set()
        self.posted = asyncio.Event()

    async def answer(self, text: str, sender: str = "you") -> None:
        async with self.busy:
            self.post(tag="p", textContent=text, title=f"From {sender}")
            prompt = text if sender == "you" else f"[From {sender}, in the user's name] {text}"
            result = await self.agent.run(prompt, message_history=self.history, event_stream_handler=self.follow)
            self.history = result.all_messages()

    async def follow(self, ctx: ai.RunContext, events: AsyncIterable[ai.AgentStreamEvent]) -> None:
        async for event in events:
            match event:
                case ai.PartStartEvent(part=ai.TextPart(text)) | ai.PartDeltaEvent(delta=ai.TextPartDelta(text)):
                    self.post(tag="span", textContent=text)
                case ViewOpened(view=view):
                    self.post(tag="mcp-app", src="/apps", view=view)


rooms = {user: Room(user) for user in ("alice", "bob")}
web = FastAPI()
web.add_middleware(TrustedHostMiddleware, allowed_hosts=["localhost", "127.0.0.1"])  # yours are the names you serve
host.on_message(lambda message: rooms[message.user or ""].answer(message.text, f"a View of {message.server}"))


def room_of(connection: HTTPConnection) -> Room:
    if (user := identify(connection)) is None:
        raise HTTPException(401)
    return rooms[user]


Mine = Annotated[Room, Depends(room_of)]


@web.post("/sign-in", status_code=303)
async def sign_in(user: Annotated[Literal["alice", "bob"], Form()], response: Response) -> None:
    sessions[session := secrets.token_urlsafe()] = user  # a demo, without a password
    response.set_cookie("session", session, httponly=True, samesite="strict")
    response.headers["Location"] = "/"


@web.post("/say", status_code=204)
async def say(room: Mine, text: Annotated[str, Form()], tasks: BackgroundTasks) -> None:
    tasks.add_task(room.answer, text)


@web.get("/events", response_class=EventSourceResponse)
async def events(room: Mine, last_event_id: Annotated[int, Header()] = 0) -> AsyncIterator[ServerSentEvent]:
    for number in itertools.count(last_event_id):
        while number >= len(room.log):
            await room.posted.wait()
        element = room.log[number]
        if element.get("view") in [view.id for view in await room.chat.views()]:
            element = {**element, "token": await room.chat.token(element["view"])}
        yield ServerSentEvent(data=element, id=str(number + 1))


web.frontend("/", directory=EXAMPLES / "chat" / "page")
app = host.wrap(web)
