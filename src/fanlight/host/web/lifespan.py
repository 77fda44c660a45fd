"""The ASGI lifespan of an application together with the lifetime of the host."""

from contextlib import AbstractAsyncContextManager, AsyncExitStack

from starlette.types import ASGIApp, Message, Receive, Scope, Send


async def run_lifespan(
    app: ASGIApp, lifetime: AbstractAsyncContextManager[object], scope: Scope, receive: Receive, send: Send
) -> None:
    """Run the lifespan of an application inside a context manager, or an empty one if the application has none.

    `lifespan.shutdown.complete` is sent after the context manager has exited, because the ASGI server stops then.
    """
    started, responded = False, False
    last: list[Message] = []

    async def receive_noting_start() -> Message:
        nonlocal started
        started = True
        return await receive()

    async def send_holding_last(message: Message) -> None:
        nonlocal responded
        responded = True
        if message["type"] == "lifespan.shutdown.complete":
            last.append(message)
        else:
            await send(message)

    async with AsyncExitStack() as stack:
        try:
            await stack.enter_async_context(lifetime)
        except Exception as error:
            # Without this message, an ASGI server takes an exception for a program without a lifespan, and serves it.
            await receive()
            await send({"type": "lifespan.startup.failed", "message": str(error)})
            raise
        try:
            await app(scope, receive_noting_start, send_holding_last)
        except Exception:
            if responded:
                raise
        if not responded:
            await empty_lifespan(receive, send_holding_last, started=started)
    for message in last:
        await send(message)


async def empty_lifespan(receive: Receive, send: Send, *, started: bool = False) -> None:
    """Run the lifespan of an application that has nothing to start or stop."""
    if not started:
        await receive()
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await send({"type": "lifespan.shutdown.complete"})
