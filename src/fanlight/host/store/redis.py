"""A store in Redis or Valkey, which several processes can share.

What survives a crash of the server depends on its persistence: `appendfsync everysec` can lose a second, `always`
nothing. The keys begin with a namespace, `fanlight:` by default; every index is a sorted set, so that reading is in
order and in pages.
"""

import hashlib
import json
import secrets
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from redis.asyncio import Redis
from redis.asyncio.client import Pipeline
from redis.exceptions import RedisError

from fanlight.host.errors import StoreError
from fanlight.host.store.base import (
    NO_CONDITION,
    AuditQuery,
    AuditRecord,
    Changed,
    ErasedView,
    Grant,
    OfferedTools,
    Selection,
    StoredContext,
    StoredDocument,
    UnfinishedCall,
    ViewRecord,
    ViewSummary,
)
from fanlight.host.store.sql import COLUMNS, check_changes, to_column, to_record
from fanlight.host.store.url import parse_redis_url
from fanlight.protocol.errors import sentence
from fanlight.protocol.jsonrpc import JSONObject

_VERSION: Final = 1
_PAGE_SIZE: Final = 500
_SUMMARY: Final = ("server", "tool", "uri", "created", "cancelled", "closed", "holder", "shown")

# Changes fields of a View that exists, and takes it out of the lists of those that are open or unfinished. The number
# of values after the id that are conditions comes first.
_CHANGE: Final = """
if redis.call('exists', KEYS[1]) == 0 then return 0 end
local first = 3 + 2 * tonumber(ARGV[2])
for i = 3, first - 1, 2 do
  if (redis.call('hget', KEYS[1], ARGV[i]) or '') ~= ARGV[i + 1] then return 0 end
end
for i = first, #ARGV, 2 do
  if ARGV[i + 1] == '' then redis.call('hdel', KEYS[1], ARGV[i])
  else redis.call('hset', KEYS[1], ARGV[i], ARGV[i + 1]) end
end
local state = redis.call('hmget', KEYS[1], 'closed', 'owner')
if state[1] == '=1' then redis.call('zrem', state[2], ARGV[1]) end
if state[1] == '=1' or redis.call('hexists', KEYS[1], 'result') == 1
    or redis.call('hexists', KEYS[1], 'cancelled') == 1 then
  redis.call('srem', KEYS[2], ARGV[1])
end
return redis.call('hget', KEYS[1], 'holder') or ''
"""

# Returns the context of a View if the model was not given it yet, and marks it as given.
_TAKE_CONTEXT: Final = """
if redis.call('hget', KEYS[1], 'context_is_new') ~= '=1' then return false end
redis.call('hset', KEYS[1], 'context_is_new', '=0')
return redis.call('hmget', KEYS[1], 'server', 'tool', 'context')
"""


class RedisStore:
    """A `Store` in Redis or Valkey. Needs the extra `fanlight[redis]`.

    Args:
        url: The server and the number of a database: `redis://host:6379/0`. With `?namespace=chat`, the keys begin with
            `chat:`, so that several programs can share the database. Default: `fanlight:`.
        timeout: How many seconds to wait for the server before `StoreError` is raised.
    """

    def __init__(self, url: str, timeout: float = 10.0) -> None:
        self._url, self._namespace = parse_redis_url(url)
        self._timeout = timeout
        self._client: Redis | None = None
        self._is_current = False

    async def _redis(self) -> Any:  # the types of redis-py do not say which replies are bytes
        """Return the client. The first use checks the version of what is stored."""
        if self._client is None:
            self._client = Redis.from_url(
                self._url,
                socket_timeout=self._timeout,
                socket_connect_timeout=self._timeout,
                health_check_interval=30,
                # With version 3, redis-py does not notice that the server has closed an idle connection.
                protocol=2,
            )
        if not self._is_current:
            await self._client.set(self._key("version"), _VERSION, nx=True)
            version = int(await self._client.get(self._key("version")) or _VERSION)
            if version > _VERSION:
                raise StoreError(
                    f"The database was written by a newer Fanlight: its version is {version}, and this one reads "
                    f"versions up to {_VERSION}. Upgrade Fanlight, or name another database."
                )
            self._is_current = True
        return self._client

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except RedisError as error:
            raise StoreError(f"Redis: {sentence(error)}") from error

    async def close(self) -> None:
        client, self._client, self._is_current = self._client, None, False
        if client is not None:
            with self._errors():
                await client.aclose()

    # Views

    async def add(self, record: ViewRecord) -> None:
        with self._errors():
            redis = await self._redis()
            number = await redis.incr(self._key("views", "number"))
            owner = self._key("views", "of", record.user, record.conversation)
            fields = {column: _text(column, getattr(record, column)) for column in COLUMNS}
            async with redis.pipeline() as pipe:
                pipe.hset(
                    self._key("view", record.id),
                    mapping={"owner": owner, **{column: value for column, value in fields.items() if value}},
                )
                for index in self._view_indexes(record.user, record.conversation):
                    pipe.zadd(index, {record.id: record.created})
                if not record.closed:
                    pipe.zadd(owner, {record.id: number})
                    if record.result is None and record.cancelled is None:
                        pipe.sadd(self._key("views", "unfinished"), record.id)
                await pipe.execute()

    async def change(
        self, id: str, changes: Mapping[str, Any], only_if: Mapping[str, Any] = NO_CONDITION
    ) -> Changed | None:
        check_changes(changes)
        check_changes(only_if)
        pairs = [*only_if.items(), *changes.items()]
        fields = [part for column, value in pairs for part in (column, _text(column, value))]
        keys = [self._key("view", id), self._key("views", "unfinished")]
        with self._errors():
            redis = await self._redis()
            holder = await redis.eval(_CHANGE, len(keys), *keys, id, len(only_if), *fields)
        return None if holder == 0 else Changed(_value(holder or None))

    async def load(self, id: str) -> ViewRecord | None:
        with self._errors():
            stored = await (await self._redis()).hgetall(self._key("view", id))
        if not stored:
            return None
        fields = {name.decode(): value for name, value in stored.items()}
        row: dict[str, Any] = {column: _value(fields.get(column)) for column in COLUMNS}
        return to_record({**row, "created": float(row["created"])})

    async def _open_views(
        self, user: str | None, conversation: str | None, *columns: str
    ) -> list[tuple[str, list[Any]]]:
        """Return the ids of the open Views of a conversation, the oldest first, each with some columns."""
        redis = await self._redis()
        ids = [id.decode() for id in await redis.zrange(self._key("views", "of", user, conversation), 0, -1)]
        async with redis.pipeline(transaction=False) as pipe:
            for id in ids:
                pipe.hmget(self._key("view", id), list(columns))
            rows = await pipe.execute()
        return [
            (id, [_value(value) for value in row])
            for id, row in zip(ids, rows, strict=True)
            if row[0] is not None  # erased in the meantime
        ]

    async def views(self, user: str | None, conversation: str | None) -> list[ViewSummary]:
        with self._errors():
            found = await self._open_views(user, conversation, *_SUMMARY)
            redis = await self._redis()
            async with redis.pipeline(transaction=False) as pipe:
                for id, _ in found:
                    pipe.hexists(self._key("view", id), "result")
                done = await pipe.execute()
        return [
            ViewSummary(
                id,
                server,
                tool,
                uri,
                conversation,
                user,
                float(created),
                "done" if is_done else "running" if cancelled is None else "cancelled",
                closed == "1",
                holder,
                shown == "1",
            )
            for (id, (server, tool, uri, created, cancelled, closed, holder, shown)), is_done in zip(
                found, done, strict=True
            )
        ]

    async def contexts(self, user: str | None, conversation: str | None) -> list[StoredContext]:
        with self._errors():
            found = await self._open_views(user, conversation, "server", "tool", "context", "context_is_new")
        return [
            StoredContext(id, server, tool, json.loads(context), is_new == "1")
            for id, (server, tool, context, is_new) in found
            if context is not None
        ]

    async def take_contexts(self, user: str | None, conversation: str | None) -> list[StoredContext]:
        taken: list[StoredContext] = []
        with self._errors():
            redis = await self._redis()
            for id, _ in await self._open_views(user, conversation, "server"):
                found = await redis.eval(_TAKE_CONTEXT, 1, self._key("view", id))
                if found is not None:
                    server, tool, context = map(_value, found)
                    if context is not None:
                        taken.append(StoredContext(id, str(server), str(tool), json.loads(context), True))
        return taken

    async def offered_tools(self, user: str | None, conversation: str | None) -> list[OfferedTools]:
        with self._errors():
            found = await self._open_views(user, conversation, "server", "holder", "shown", "tools")
        return [
            OfferedTools(id, server, holder, json.loads(tools))
            for id, (server, holder, shown, tools) in found
            if shown == "1" and holder is not None and tools is not None
        ]

    async def unfinished(self) -> list[UnfinishedCall]:
        with self._errors():
            redis = await self._redis()
            ids = [id.decode() for id in await redis.smembers(self._key("views", "unfinished"))]
            async with redis.pipeline(transaction=False) as pipe:
                for id in ids:
                    pipe.hget(self._key("view", id), "caller")
                callers = await pipe.execute()
        return [UnfinishedCall(id, _value(caller)) for id, caller in zip(ids, callers, strict=True)]

    async def add_token(self, digest: str, view: str, expires: float) -> None:
        with self._errors():
            async with (await self._redis()).pipeline() as pipe:
                pipe.set(self._key("token", digest), json.dumps([view, expires]), pxat=int(expires * 1000) + 1000)
                pipe.sadd(self._key("tokens", view), digest)
                pipe.expireat(self._key("tokens", view), int(expires) + 1, gt=True)
                pipe.expireat(self._key("tokens", view), int(expires) + 1, nx=True)
                await pipe.execute()

    async def has_token(self, digest: str, view: str, now: float) -> bool:
        with self._errors():
            stored = await (await self._redis()).get(self._key("token", digest))
        if stored is None:
            return False
        owner, expires = json.loads(stored)
        return bool(owner == view and expires > now)

    # Users

    async def grant(self, grant: Grant) -> None:
        with self._errors():
            await (await self._redis()).sadd(self._key("grants", grant.user), _grant_text(grant))

    async def is_granted(self, grant: Grant) -> bool:
        with self._errors():
            return bool(await (await self._redis()).sismember(self._key("grants", grant.user), _grant_text(grant)))

    async def grants(self, user: str | None) -> list[Grant]:
        with self._errors():
            members = await (await self._redis()).smembers(self._key("grants", user))
        found = sorted(json.loads(member) for member in members)
        return [Grant(server, uri, kind, key, user) for server, uri, kind, key in found]

    async def revoke(self, grant: Grant) -> None:
        with self._errors():
            await (await self._redis()).srem(self._key("grants", grant.user), _grant_text(grant))

    async def pin(self, server: str, uri: str, sha256: str, user: str | None) -> None:
        with self._errors():
            await (await self._redis()).hset(self._key("pins", user), json.dumps([server, uri]), sha256)

    async def pinned(self, server: str, uri: str, user: str | None) -> str | None:
        with self._errors():
            sha256 = await (await self._redis()).hget(self._key("pins", user), json.dumps([server, uri]))
        return None if sha256 is None else sha256.decode()

    async def secret(self) -> str:
        with self._errors():
            redis = await self._redis()
            await redis.set(self._key("secret"), secrets.token_hex(32), nx=True)
            value: bytes = await redis.get(self._key("secret"))
        return value.decode()

    async def set_credentials(self, user: str, server: str, credentials: JSONObject) -> None:
        with self._errors():
            await (await self._redis()).hset(
                self._key("credentials", user), json.dumps(server), json.dumps(credentials)
            )

    async def credentials(self, user: str, server: str) -> JSONObject | None:
        with self._errors():
            stored = await (await self._redis()).hget(self._key("credentials", user), json.dumps(server))
        return None if stored is None else json.loads(stored)

    # Documents

    async def add_document(self, document: StoredDocument) -> None:
        key = self._key("document", document.label, document.address)
        about = json.dumps([dict(document.headers), document.expires, document.user])
        with self._errors():
            async with (await self._redis()).pipeline() as pipe:
                pipe.hset(key, mapping={"body": document.body, "about": about})
                pipe.zadd(self._key("documents"), {key: document.expires})
                if document.user is not None:
                    pipe.sadd(self._key("documents", document.user), key)
                await pipe.execute()

    async def document(self, label: str, address: str, now: float) -> StoredDocument | None:
        with self._errors():
            redis = await self._redis()
            body, about = await redis.hmget(self._key("document", label, address), ["body", "about"])
        if body is None or about is None:
            return None
        headers, expires, user = json.loads(about)
        return StoredDocument(label, address, body, headers, expires, user) if expires >= now else None

    async def remove_documents(self, expired_before: float) -> None:
        with self._errors():
            redis = await self._redis()
            keys = await redis.zrangebyscore(
                self._key("documents"), "-inf", f"({expired_before}", start=0, num=_PAGE_SIZE
            )
            if keys:
                await self._remove_documents(redis, keys)

    async def _remove_documents(self, redis: Any, keys: Sequence[bytes]) -> None:
        async with redis.pipeline() as pipe:
            pipe.delete(*keys)
            pipe.zrem(self._key("documents"), *keys)
            await pipe.execute()

    # Messages between workers

    async def put_payload(self, key: str, body: bytes, expires: float) -> None:
        with self._errors():
            await (await self._redis()).set(self._key("payload", key), body, pxat=int(expires * 1000))

    async def take_payload(self, key: str) -> bytes | None:
        with self._errors():
            body: bytes | None = await (await self._redis()).getdel(self._key("payload", key))
        return body

    # The audit

    async def record(self, records: Sequence[AuditRecord]) -> None:
        with self._errors():
            redis = await self._redis()
            # The numbers are reserved first, so that a write that is repeated after an error writes nothing twice.
            last = await redis.incrby(self._key("audit", "number"), len(records))
            async with redis.pipeline() as pipe:
                for number, record in enumerate(records, last - len(records) + 1):
                    self._write_record(pipe, number, record)
                await pipe.execute()

    async def records(self, query: AuditQuery) -> AsyncIterator[AuditRecord]:
        left = query.limit
        async for _, record in self._numbered_records(query.view, query.user, query.conversation):
            if left == 0:
                return
            if query.matches(record):
                yield record
                left = None if left is None else left - 1

    async def _numbered_records(
        self, view: str | None, user: str | None, conversation: str | None
    ) -> AsyncIterator[tuple[int, AuditRecord]]:
        """Return the records of the narrowest index, in pages, each with its number."""
        index = self._key("audit")
        for name, value in (("view", view), ("conversation", conversation), ("user", user)):
            if value is not None:
                index = self._key("audit", name, value)
                break
        last = 0
        while True:
            with self._errors():
                redis = await self._redis()
                numbers = [int(each) for each in await redis.zrangebyscore(index, f"({last}", "+inf", 0, _PAGE_SIZE)]
                texts = await redis.mget([self._key("audit", number) for number in numbers]) if numbers else []
            for number, text in zip(numbers, texts, strict=True):
                if text is not None:
                    yield number, AuditRecord._make(json.loads(text))
            if len(numbers) < _PAGE_SIZE:
                return
            last = numbers[-1]

    # Erasing

    async def erase_views(self, selection: Selection) -> list[ErasedView]:
        if selection.is_empty:
            return []
        before = "+inf" if selection.before is None else f"({selection.before}"
        erased: list[ErasedView] = []
        with self._errors():
            redis = await self._redis()
            index = self._view_indexes(selection.user, selection.conversation)[-1]
            for id in [each.decode() for each in await redis.zrangebyscore(index, "-inf", before)]:
                owner = await redis.hmget(self._key("view", id), ["user", "conversation", "owner", "holder"])
                user, conversation, holder = _value(owner[0]), _value(owner[1]), _value(owner[3])
                if selection.keeps(id, holder) or selection.user not in (None, user):
                    continue
                digests = [digest.decode() for digest in await redis.smembers(self._key("tokens", id))]
                async with redis.pipeline() as pipe:
                    pipe.delete(
                        self._key("view", id),
                        self._key("tokens", id),
                        *(self._key("token", digest) for digest in digests),
                    )
                    for each in self._view_indexes(user, conversation):
                        pipe.zrem(each, id)
                    pipe.zrem(owner[2] or self._key("views", "of", user, conversation), id)
                    pipe.srem(self._key("views", "unfinished"), id)
                    await pipe.execute()
                erased.append(ErasedView(id, holder))
        return erased

    async def erase_user(self, user: str) -> None:
        with self._errors():
            redis = await self._redis()
            documents = await redis.smembers(self._key("documents", user))
            if documents:
                await self._remove_documents(redis, list(documents))
            await redis.delete(*(self._key(name, user) for name in ("grants", "pins", "credentials", "documents")))

    async def erase_records(self, selection: Selection, pseudonym: str | None) -> None:
        if selection.is_empty:
            return
        found = self._numbered_records(None, selection.user, selection.conversation)
        selected = [(number, record) async for number, record in found if selection.selects(record)]
        with self._errors():
            redis = await self._redis()
            for start in range(0, len(selected), _PAGE_SIZE):
                async with redis.pipeline() as pipe:
                    for number, record in selected[start : start + _PAGE_SIZE]:
                        for index in self._record_indexes(record):
                            pipe.zrem(index, number)
                        if pseudonym is None:
                            pipe.delete(self._key("audit", number))
                        else:
                            self._write_record(pipe, number, record._replace(user=pseudonym, data=None))
                    await pipe.execute()

    # Keys

    def _key(self, *parts: object) -> str:
        """Return the key with a name and values. A value that is not plain is hashed, and imitates no plain one."""
        if all(isinstance(part, int) or (isinstance(part, str) and _is_plain(part)) for part in parts):
            return ":".join([self._namespace, *map(str, parts)])
        return f"{self._namespace}:{parts[0]}:#{hashlib.sha256(json.dumps(parts).encode()).hexdigest()}"

    def _view_indexes(self, user: str | None, conversation: str | None) -> list[str]:
        """Return the sorted sets, by time of creation, that a View is in. The last one is the narrowest."""
        indexes = [self._key("views")]
        if user is not None:
            indexes.append(self._key("views", "user", user))
        if conversation is not None:
            indexes.append(self._key("views", "conversation", conversation))
        return indexes

    def _record_indexes(self, record: AuditRecord) -> list[str]:
        named = [
            self._key("audit", name, value)
            for name, value in (("view", record.view), ("user", record.user), ("conversation", record.conversation))
            if value is not None
        ]
        return [self._key("audit"), *named]

    def _write_record(self, pipe: Pipeline, number: int, record: AuditRecord) -> None:
        pipe.set(self._key("audit", number), json.dumps(record))
        for index in self._record_indexes(record):
            pipe.zadd(index, {str(number): number})


def _is_plain(part: str) -> bool:
    return part.isascii() and part.replace("-", "").replace("_", "").isalnum() and len(part) <= 64


def _grant_text(grant: Grant) -> str:
    return json.dumps([grant.server, grant.uri, grant.kind, grant.key])


def _text(column: str, value: Any) -> str:
    """Return the value of a field as it is stored: with a sign before it, so that it differs from none."""
    stored = to_column(column, value)
    return "" if stored is None else f"={stored}"


def _value(stored: bytes | None) -> str | None:
    return None if stored is None else stored.decode()[1:]
