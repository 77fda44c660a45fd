import json
from dataclasses import replace
from typing import Any

import anyio
import pytest

from fanlight.host.views.page.channel import ACK_EVERY, PageChannel
from fanlight.host.views.page.frames import CloseView, PageAck, PageFrame, ReceivedFrame, Resize, StatusText
from support.page import SHOW

pytestmark = pytest.mark.anyio


class Socket:
    def __init__(self) -> None:
        self.frames: list[dict[str, Any]] = []

    async def close_socket(self, code: int) -> None: ...

    async def send(self, text: str) -> None:
        self.frames.append(json.loads(text))

    @property
    def heights(self) -> list[Any]:
        return [frame["height"] for frame in self.frames if "height" in frame]


class SlowSocket(Socket):
    """A socket that sends nothing until `go` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.go = anyio.Event()

    async def send(self, text: str) -> None:
        await self.go.wait()
        await super().send(text)


def received(n: int | None = None, ack: int | None = None, frame: PageFrame | None = None) -> ReceivedFrame:
    return ReceivedFrame(CloseView() if frame is None else frame, n, ack, 10)


async def begun(**options: Any) -> tuple[PageChannel, Socket]:
    channel, socket = PageChannel(**options), Socket()
    await channel.begin(socket, SHOW)
    return channel, socket


async def test_frames_are_numbered_and_acknowledge_what_was_received() -> None:
    channel, socket = await begun()
    assert channel.receive(received(1, 0))
    await channel.send(Resize(1))
    await channel.send(Resize(2))
    assert socket.frames == [
        json.loads(json.dumps(SHOW.to_json())),
        {"type": "resize", "height": 1, "n": 1, "ack": 1},
        {"type": "resize", "height": 2, "n": 2, "ack": 1},
    ]


async def test_a_new_socket_gets_the_frames_that_the_page_has_not_received_and_no_others() -> None:
    channel, socket = await begun()
    for height in range(1, 6):
        await channel.send(Resize(height))
    channel.receive(received(ack=2, frame=PageAck()))
    channel.detach(socket)
    await channel.send(Resize(6))
    assert channel.can_resume(SHOW.epoch, 3)
    again = Socket()
    await channel.resume(again, 3)
    assert again.frames[0] == {"type": "resumed", "seen": 0}
    assert again.heights == [4, 5, 6]
    await channel.send(Resize(7))
    assert again.heights == [4, 5, 6, 7]
    assert socket.heights == [1, 2, 3, 4, 5]


async def test_a_frame_that_is_received_twice_is_new_once() -> None:
    channel, _ = await begun()
    assert [channel.receive(received(n, 0)) for n in (1, 2, 2, 1, 3)] == [True, True, False, False, True]
    assert channel.received == 3


async def test_ack_frames_are_sent_only_when_no_other_frame_carries_the_acknowledgement() -> None:
    channel, socket = await begun()
    for n in range(1, 2 * ACK_EVERY + 1):
        channel.receive(received(n, 0))
        await channel.acknowledge()
    assert [frame["ack"] for frame in socket.frames[1:]] == [ACK_EVERY, 2 * ACK_EVERY]


async def test_a_channel_that_had_to_drop_frames_cannot_be_resumed() -> None:
    channel, socket = await begun(max_kept=1000)
    for _ in range(100):
        await channel.send(StatusText("y" * 50))
    assert not channel.can_resume(SHOW.epoch, 0)
    assert channel._kept_size <= 1000
    await channel.begin(socket, SHOW)
    assert channel.can_resume(SHOW.epoch, 0)


@pytest.mark.parametrize("seen", [-1, 2, None, 10**30])
async def test_a_number_that_was_never_sent_cannot_be_resumed_from(seen: int | None) -> None:
    channel, _ = await begun()
    await channel.send(Resize(1))
    assert not channel.can_resume(SHOW.epoch, seen)


@pytest.mark.parametrize("epoch", ["other", "", None])
async def test_a_page_with_another_epoch_cannot_resume(epoch: str | None) -> None:
    channel = PageChannel()
    assert not channel.can_resume(None, 0)
    await channel.begin(Socket(), replace(SHOW, epoch="e1"))
    await channel.send(Resize(1))
    assert channel.can_resume("e1", 1)
    assert not channel.can_resume(epoch, 1)


async def test_numbers_out_of_range_do_no_harm() -> None:
    channel, _ = await begun()
    assert channel.receive(received(None, None))
    assert not channel.receive(received(-5, -5))
    channel.receive(received(ack=10**30, frame=PageAck()))
    assert channel.acknowledged == 0
    await channel.send(Resize(1))
    assert channel.can_resume(SHOW.epoch, 0)


async def test_a_withdrawn_frame_is_not_sent_again() -> None:
    channel, socket = await begun()
    await channel.send(Resize(1))
    number = await channel.send(Resize(2))
    channel.withdraw(number)
    channel.withdraw(99)
    channel.detach(socket)
    again = Socket()
    await channel.resume(again, 0)
    assert again.heights == [1]


async def test_one_task_sends_in_order_and_no_other_task_waits() -> None:
    channel = PageChannel()
    slow = SlowSocket()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(channel.begin, slow, SHOW)
        await anyio.wait_all_tasks_blocked()
        with anyio.fail_after(60):
            for height in range(5):
                await channel.send(Resize(height))
        assert slow.heights == []
        slow.go.set()
    assert slow.heights == [0, 1, 2, 3, 4]


async def test_a_new_socket_replaces_one_that_hangs() -> None:
    channel = PageChannel()
    stuck, socket = SlowSocket(), Socket()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(channel.begin, stuck, SHOW)
        await anyio.wait_all_tasks_blocked()
        await channel.send(Resize(1))
        await channel.resume(socket, 0)
        await channel.send(Resize(2))
        assert socket.heights == [1, 2]
        stuck.go.set()
    await channel.send(Resize(3))
    assert socket.heights == [1, 2, 3]
    assert stuck.heights == []
