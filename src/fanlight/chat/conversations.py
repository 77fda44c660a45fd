"""What the chat remembers: conversations, their turns and files, and settings, in the SQLite file of the host's store.

A turn is stored twice: as the page shows it (`Turn.data`), and as the messages that the model is given again. Both are
written while the turn runs, so that a program that was killed shows what there was.
"""

import os
import secrets
import sqlite3
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import anyio
import anyio.to_thread
import orjson

from fanlight.host.errors import StoreError
from fanlight.host.store.sqlite import SqliteDatabase
from fanlight.protocol.errors import LocalError
from fanlight.protocol.jsonrpc import JSONObject

Result = TypeVar("Result")

_TABLES: Final = (
    "create table if not exists chat_conversations (id text primary key, title text not null, created real not null,"
    " updated real not null)",
    "create table if not exists chat_turns (number integer primary key, id text unique not null,"
    " conversation text not null, data text not null, words text not null, messages text not null)",
    "create index if not exists chat_turns_by_conversation on chat_turns (conversation, number)",
    "create table if not exists chat_files (id text primary key, conversation text, name text not null,"
    " type text not null, data blob not null)",
    "create index if not exists chat_files_by_conversation on chat_files (conversation)",
    "create table if not exists chat_settings (name text primary key, value text not null)",
    "delete from chat_files where conversation is null",  # attached in an earlier run, and never sent
)
_LOCK_TIMEOUT: Final = 10.0
_MAX_FOUND: Final = 100
_SNIPPET: Final = 40


def default_path() -> Path:
    """Return the file in the folder where programs keep data of the user, and create the folder."""
    if sys.platform == "win32":
        folder = Path(os.environ.get("LOCALAPPDATA", Path.home()))
    elif sys.platform == "darwin":
        folder = Path.home() / "Library" / "Application Support"
    else:
        folder = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    return folder / "fanlight" / "chat.db"


@dataclass(frozen=True)
class File:
    """A file that the user attached."""

    id: str
    name: str
    type: str
    data: bytes

    def describe(self) -> JSONObject:
        """Return what the page shows of it."""
        return {"id": self.id, "name": self.name, "type": self.type, "size": len(self.data)}


class Conversations:
    """The conversations in a SQLite file, which one program uses at a time.

    Args:
        path: The file, which is that of the host's store, too.
    """

    def __init__(self, path: Path) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._lock = _locked(path)
            self._database = SqliteDatabase(str(path), _LOCK_TIMEOUT)
            self._database.write([(statement, ()) for statement in _TABLES])
        except (OSError, sqlite3.Error) as error:
            raise LocalError(f"{path} cannot be used: {error}. Choose another file with --store.") from None
        self._path = path
        self._limiter: anyio.CapacityLimiter | None = None

    def close(self) -> None:
        """Close the file, and let other programs use it."""
        self._database.close()
        self._lock.close()

    # Conversations

    async def create(self, title: str) -> str:
        """Create a conversation, and return its id."""
        id, now = secrets.token_hex(8), time.time()
        await self._write("insert into chat_conversations values (?, ?, ?, ?)", id, title, now, now)
        return id

    async def search(self, words: str = "") -> list[JSONObject]:
        """Return the conversations, the newest first; with words, those that contain all of them, with an excerpt."""
        rows = await self._query("select id, title, created, updated from chat_conversations order by updated desc")
        listed = [dict(zip(("id", "title", "created", "updated"), row, strict=True)) for row in rows]
        wanted = words.lower().split()
        if not wanted:
            return listed
        like = " and ".join(["words like ? escape '!'"] * len(wanted))
        texts: dict[str, str] = dict(
            await self._query(
                f"select conversation, words from chat_turns where {like} order by number desc",  # noqa: S608
                *(f"%{_escaped(word)}%" for word in wanted),
            )
        )
        found = []
        for each in listed:
            if each["id"] in texts:
                found.append({**each, "excerpt": _excerpt(texts[each["id"]], wanted[0])})
            elif all(word in each["title"].lower() for word in wanted):
                found.append(each)
        return found[:_MAX_FOUND]

    async def find(self, id: str) -> JSONObject | None:
        """Return a conversation, or None."""
        rows = await self._query("select id, title, created, updated from chat_conversations where id = ?", id)
        return dict(zip(("id", "title", "created", "updated"), rows[0], strict=True)) if rows else None

    async def rename(self, id: str, title: str) -> None:
        """Give a conversation another title."""
        await self._write("update chat_conversations set title = ? where id = ?", title, id)

    async def delete(self, id: str) -> None:
        """Delete a conversation with its turns and files."""
        await self._in_thread(
            self._database.write,
            [
                ("delete from chat_turns where conversation = ?", (id,)),
                ("delete from chat_files where conversation = ?", (id,)),
                ("delete from chat_conversations where id = ?", (id,)),
            ],
        )

    # Turns

    async def turns(self, conversation: str) -> list[JSONObject]:
        """Return the turns of a conversation as the page shows them, in order."""
        rows = await self._query("select data from chat_turns where conversation = ? order by number", conversation)
        return [orjson.loads(data) for (data,) in rows]

    async def messages(self, conversation: str, before: str) -> list[bytes]:
        """Return the model's messages of each turn before a turn, as they were saved."""
        rows = await self._query(
            "select messages from chat_turns where conversation = ?"
            " and number < (select number from chat_turns where id = ?) order by number",
            conversation,
            before,
        )
        return [messages.encode() for (messages,) in rows]

    async def save(self, conversation: str, turn: JSONObject, words: str, messages: bytes) -> None:
        """Write a turn as it is now, unless its conversation was deleted."""
        values = (turn["id"], conversation, orjson.dumps(turn).decode(), words, messages.decode(), conversation)
        await self._in_thread(
            self._database.write,
            [
                (
                    "insert into chat_turns (id, conversation, data, words, messages) select ?, ?, ?, ?, ?"
                    " where exists (select 1 from chat_conversations where id = ?)"
                    " on conflict (id) do update set data = excluded.data, words = excluded.words,"
                    " messages = excluded.messages",
                    values,
                ),
                ("update chat_conversations set updated = ? where id = ?", (time.time(), conversation)),
            ],
        )

    async def save_end(self, turn: JSONObject) -> None:
        """Write a turn that has ended, with the model's messages that were saved last."""
        await self._write("update chat_turns set data = ? where id = ?", orjson.dumps(turn).decode(), turn["id"])

    async def cut(self, conversation: str, turn: str) -> list[JSONObject]:
        """Remove a turn and all after it, and return them. Their files stay, because the turn may be sent again."""
        first = "number >= (select number from chat_turns where id = ? and conversation = ?)"
        rows = await self._query(
            f"select data from chat_turns where conversation = ? and {first} order by number",  # noqa: S608
            conversation,
            turn,
            conversation,
        )
        removed = [orjson.loads(data) for (data,) in rows]
        for each in removed:
            await self._write("delete from chat_turns where id = ?", each["id"])
        return removed

    # Files

    async def add_file(self, name: str, type: str, data: bytes) -> File:
        """Keep a file that the user attached, and will send."""
        file = File(secrets.token_hex(8), name, type, data)
        await self._write(
            "insert into chat_files (id, name, type, data) values (?, ?, ?, ?)", file.id, name, type, data
        )
        return file

    async def files(self, ids: Iterable[str]) -> list[File]:
        """Return the files with these ids, in this order, without those that do not exist."""
        found = []
        for id in ids:
            rows = await self._query("select id, name, type, data from chat_files where id = ?", id)
            found += [File(*row) for row in rows]
        return found

    async def send_files(self, conversation: str, ids: Iterable[str]) -> None:
        """Make files part of a conversation."""
        for id in ids:
            await self._write("update chat_files set conversation = ? where id = ?", conversation, id)

    # Settings

    def settings(self) -> JSONObject:
        """Return the settings. It reads the file in this thread, for the start of the program."""
        return {name: orjson.loads(value) for name, value in self._database.query("select * from chat_settings")}

    def keep_settings(self, settings: JSONObject) -> None:
        """Change settings in this thread, for the start of the program."""
        statement = "insert or replace into chat_settings values (?, ?)"
        self._database.write([(statement, (name, orjson.dumps(value).decode())) for name, value in settings.items()])

    async def change_setting(self, name: str, value: object) -> None:
        """Change a setting."""
        await self._write("insert or replace into chat_settings values (?, ?)", name, orjson.dumps(value).decode())

    async def _query(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        return await self._in_thread(self._database.query, query, values)

    async def _write(self, statement: str, *values: object) -> None:
        await self._in_thread(self._database.write, [(statement, values)])

    async def _in_thread(self, work: Callable[..., Result], *arguments: Any) -> Result:
        if self._limiter is None:
            self._limiter = anyio.CapacityLimiter(1)  # the connection is used by one thread at a time
        try:
            return await anyio.to_thread.run_sync(work, *arguments, limiter=self._limiter)
        except sqlite3.OperationalError as error:
            raise StoreError(f"{self._path}: {error}.") from error


def _locked(path: Path) -> sqlite3.Connection:
    """Lock a store until the connection is closed or the process ends.

    A program that starts takes calls that have no result for those of a program that was killed, and cancels them.
    """
    file = Path(f"{path}.lock")
    with suppress(OSError):  # SQLite reports what is wrong with the path, and gives its journal the same mode
        file.touch(mode=0o600)
        file.chmod(0o600)
    lock = sqlite3.connect(file, timeout=0, isolation_level=None, check_same_thread=False)
    try:
        lock.execute("begin exclusive")
    except sqlite3.OperationalError:
        lock.close()
        raise LocalError(
            f"Another fanlight chat uses {path}. Stop it, or choose another file with --store, such as --store chat.db."
        ) from None
    return lock


def _escaped(word: str) -> str:
    return word.replace("!", "!!").replace("%", "!%").replace("_", "!_")


def _excerpt(text: str, word: str) -> str:
    at = max(text.lower().find(word), 0)
    start, end = max(at - _SNIPPET, 0), at + len(word) + _SNIPPET
    middle = " ".join(text[start:end].split())
    return f"{'…' if start else ''}{middle}{'…' if end < len(text) else ''}"
