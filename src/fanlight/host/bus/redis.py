"""A bus in Redis or Valkey: a sorted set of leases, and a stream of messages for each worker.

A stream and not a channel of publish/subscribe: a worker that lost its connection for a moment reads on where it was.
The clock is that of Redis, so the clocks of the workers need not agree.
"""

import hashlib
import logging
from collections.abc import Awaitable, Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from time import monotonic
from typing import Any, Final

import anyio
from redis.asyncio import Redis
from redis.exceptions import RedisError

from fanlight.host.backoff import Backoff
from fanlight.host.bus.base import Receive
from fanlight.host.errors import BusError
from fanlight.host.store.url import parse_redis_url
from fanlight.protocol.errors import sentence

logger = logging.getLogger(__name__)

_MAX_MESSAGES: Final = 10_000
_BATCH: Final = 100
_BACKOFF: Final = Backoff(first=0.1, maximum=5.0)

# The time of Redis in milliseconds.
_NOW: Final = "local time = redis.call('time') local now = time[1] * 1000 + math.floor(time[2] / 1000)\n"

_RENEW: Final = (
    _NOW
    + """
redis.call('zremrangebyscore', KEYS[1], '-inf', now - 10 * ARGV[2])
return redis.call('zadd', KEYS[1], now + ARGV[2], ARGV[1])
"""
)

# Adds a message to the stream of a worker with a lease. The stream goes away some time after the worker has.
_SEND: Final = (
    _NOW
    + """
local expires = tonumber(redis.call('zscore', KEYS[1], ARGV[1]) or 0)
if expires < now then return 0 end
redis.call('xadd', KEYS[2], 'maxlen', '~', ARGV[3], '*', 'm', ARGV[2])
redis.call('pexpire', KEYS[2], ARGV[4])
return 1
"""
)

_WORKERS: Final = _NOW + "return redis.call('zrangebyscore', KEYS[1], now, '+inf')"


_OWN: Final = (
    _NOW
    + """
local owner = redis.call('get', KEYS[2])
if not owner or tonumber(redis.call('zscore', KEYS[1], owner) or 0) < now then owner = ARGV[1] end
redis.call('set', KEYS[2], owner, 'px', ARGV[2])
return owner
"""
)


class RedisBus:
    """A `Bus` in Redis or Valkey. Needs the extra `fanlight[redis]`.

    Args:
        url: The server and the number of a database: `redis://host:6379/0`. With `?namespace=chat`, the keys begin with
            `chat:bus:`. Default: `fanlight:bus:`.
        lease: After how many seconds without a sign of life a worker counts as dead.
        timeout: How many seconds to wait for the server before `BusError` is raised.
    """

    def __init__(self, url: str, lease: float = 10.0, timeout: float = 5.0) -> None:
        self._url, namespace = parse_redis_url(url)
        self._prefix = f"{namespace}:bus"
        self._leases = f"{self._prefix}:leases"
        self._lease = lease
        self._timeout = timeout
        self._client: Redis | None = None

    def _redis(self) -> Any:  # the types of redis-py do not say which replies are bytes
        if self._client is None:
            self._client = self._connect(self._timeout)
        return self._client

    def _connect(self, timeout: float) -> Redis:
        return Redis.from_url(
            self._url,
            socket_timeout=timeout,
            socket_connect_timeout=self._timeout,
            protocol=2,  # with version 3, redis-py does not notice that the server has closed an idle connection
        )

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (RedisError, OSError) as error:
            raise BusError(f"Redis: {sentence(error)}") from error

    async def run(
        self,
        worker: str,
        receive: Receive,
        on_connected: Callable[[], Awaitable[None]],
        on_lost: Callable[[], Awaitable[None]],
    ) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(self._keep_lease, worker, on_connected, on_lost)
            group.start_soon(self._listen, worker, receive, on_connected)

    async def _keep_lease(
        self, worker: str, on_connected: Callable[[], Awaitable[None]], on_lost: Callable[[], Awaitable[None]]
    ) -> None:
        """Renew the lease three times in its length. An attempt that fails is repeated sooner."""
        renewed, is_lost = monotonic(), False
        while True:
            started = monotonic()
            try:
                with anyio.fail_after(max(self._lease / 3, 1.0)):
                    await self._redis().eval(_RENEW, 1, self._leases, worker, int(self._lease * 1000))
                is_renewed = True
            except (RedisError, OSError):
                is_renewed = False
            # Also if it was renewed late: the process may have been stopped.
            if not is_lost and (started if is_renewed else monotonic()) - renewed > self._lease:
                is_lost = True
                await on_lost()
            if is_renewed:
                if is_lost:
                    await on_connected()
                renewed, is_lost = started, False
            await anyio.sleep(self._lease / 3 if is_renewed else min(self._lease / 10, 1.0))

    async def _listen(self, worker: str, receive: Receive, on_connected: Callable[[], Awaitable[None]]) -> None:
        block = max(min(self._lease / 3, 2.0), 0.1)
        failures, last = 0, "0"
        while True:
            # A connection of its own, since reading blocks it.
            client: Any = self._connect(self._timeout + block)
            try:
                await client.eval(_RENEW, 1, self._leases, worker, int(self._lease * 1000))
                if failures:
                    logger.warning("Connected to the bus again, after %d attempts", failures)
                await on_connected()
                failures = 0
                while True:
                    found = await client.xread({self._stream(worker): last}, count=_BATCH, block=int(block * 1000))
                    for _, entries in found or ():
                        last = entries[-1][0]
                        async with client.pipeline(transaction=False) as pipe:
                            pipe.time()
                            pipe.xtrim(self._stream(worker), minid=last, approximate=True)
                            (seconds, microseconds), _ = await pipe.execute()
                        now = seconds + microseconds / 1e6
                        for id, fields in entries:
                            receive(fields[b"m"].decode(), now - int(id.partition(b"-")[0]) / 1000)
            except (RedisError, OSError) as error:
                failures += 1
                if failures == 1:
                    logger.warning("The bus cannot be used: %s Trying again", sentence(error))
            except Exception:  # a worker that no longer listens would seem to be alive
                failures += 1
                logger.exception("Unhandled error while receiving messages")
            finally:
                with anyio.CancelScope(shield=True), anyio.move_on_after(1.0), suppress(RedisError, OSError):
                    await client.aclose()
            await anyio.sleep(_BACKOFF.delay(failures))

    async def send(self, worker: str, message: str) -> bool:
        expiry = int(self._lease * 20_000)
        with self._errors():
            sent = await self._redis().eval(
                _SEND, 2, self._leases, self._stream(worker), worker, message, _MAX_MESSAGES, expiry
            )
        return bool(sent)

    async def workers(self) -> Collection[str]:
        with self._errors():
            found = await self._redis().eval(_WORKERS, 1, self._leases)
        return frozenset(each.decode() for each in found)

    async def own(self, key: str, worker: str, seconds: float) -> str:
        digest = hashlib.sha256(key.encode("utf-8", "backslashreplace")).hexdigest()
        with self._errors():
            owner = await self._redis().eval(
                _OWN, 2, self._leases, f"{self._prefix}:owner:{digest}", worker, int(seconds * 1000)
            )
        return str(owner.decode())

    async def leave(self, worker: str) -> None:
        with self._errors():
            async with self._redis().pipeline() as pipe:
                pipe.zrem(self._leases, worker)
                pipe.delete(self._stream(worker))
                await pipe.execute()

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            with suppress(RedisError, OSError):
                await client.aclose()

    def _stream(self, worker: str) -> str:
        return f"{self._prefix}:worker:{worker}"
