"""Replays tests/vectors/page against the host's end of the page protocol. The README there explains the steps."""

import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from fanlight.host.json_text import encode_json
from fanlight.host.views.page.channel import ACK_EVERY, PageChannel
from fanlight.host.views.page.frames import (
    HOST_FRAMES,
    PAGE_FRAMES,
    HostFrame,
    MessageFromView,
    OpenView,
    PageAck,
    PageFrame,
    ShowView,
    decode_frame,
    wire_names,
)

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[2]
VECTORS = sorted((ROOT / "tests" / "vectors" / "page").glob("*.json"))
ELEMENT = (ROOT / "src" / "fanlight" / "browser" / "mcp-app.js").read_text(encoding="utf-8")
NUMBERS = {"type", "n", "ack"}


def read(path: Path) -> dict[str, Any]:
    vector: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return vector


def frames(sender: str) -> list[dict[str, Any]]:
    """Return all frames of one end in all conversations."""
    return [step["frame"] for path in VECTORS for step in read(path)["steps"] if step.get("from") == sender]


def host_frame(fields: dict[str, Any]) -> HostFrame:
    """Build the frame that has these fields on the wire."""
    (kind,) = [frame for frame in HOST_FRAMES if fields["type"] == frame.TYPE]
    names = wire_names(kind)
    assert fields.keys() - NUMBERS <= set(names.values()), fields
    return kind(**{name: fields[wire] for name, wire in names.items() if wire in fields})


class Socket:
    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []

    async def close_socket(self, code: int) -> None: ...

    async def send(self, text: str) -> None:
        self.sent.append(json.loads(text))


class HostEnd:
    """A host that sends what the steps say, and numbers and repeats frames by itself."""

    def __init__(self) -> None:
        self.channel, self.socket = PageChannel(), Socket()
        self.opened: OpenView | None = None

    async def send(self, expected: dict[str, Any]) -> None:
        """Send a frame, unless the channel has sent one by itself, and compare it with the step's."""
        if not self.socket.sent:
            frame = host_frame(expected)
            if isinstance(frame, ShowView):
                await self.channel.begin(self.socket, frame)
            elif frame.TYPE == "resumed":
                assert self.opened is not None
                assert self.opened.seen is not None
                if self.channel.epoch is None:
                    await self.channel.take_over(self.socket, str(self.opened.epoch), self.opened.seen)
                else:
                    assert self.channel.can_resume(self.opened.epoch, self.opened.seen)
                    await self.channel.resume(self.socket, self.opened.seen)
            elif "n" in expected:
                await self.channel.send(frame)
            else:
                await self.socket.send(encode_json(frame.to_json()))
        assert self.socket.sent.pop(0) == expected

    async def receive(self, fields: dict[str, Any]) -> None:
        received = decode_frame(json.dumps(fields))
        assert received is not None
        assert received.frame is not None, fields
        assert self.channel.receive(received) is (not isinstance(received.frame, PageAck))
        if isinstance(received.frame, OpenView):
            self.opened = received.frame
        elif isinstance(received.frame, MessageFromView):
            await self.channel.acknowledge()

    def lose_socket(self, received: int) -> None:
        self.channel.detach(self.socket)
        self.socket = Socket()
        # The host's own count goes back to what it had received: the frames after it were lost with the socket.
        self.channel.received = received

    def end(self) -> None:
        self.channel, self.socket = PageChannel(), Socket()


@pytest.mark.parametrize("path", VECTORS, ids=lambda path: path.stem)
async def test_the_host_replays(path: Path) -> None:
    host = HostEnd()
    for step in read(path)["steps"]:
        match step:
            case {"from": "host", "frame": frame}:
                await host.send(frame)
            case {"from": "page", "frame": frame}:
                await host.receive(frame)
            case {"socket": "lost", "received": received}:
                host.lose_socket(received)
            case {"host": "ends"}:
                host.end()
            case {"host": "sends", "frame": frame}:
                await host.channel.send(host_frame(frame))
    assert host.socket.sent == []


class Recorder(dict[str, Any]):
    """A decoded frame that records which of its fields are read."""

    def __init__(self, fields: dict[str, Any]) -> None:
        super().__init__(fields)
        self.read = {"type", "n", "ack"}

    def get(self, key: str, default: Any = None) -> Any:
        self.read.add(key)
        return super().get(key, default)


def test_the_host_reads_every_field_that_a_page_sends() -> None:
    kinds = {frame.TYPE: frame for frame in PAGE_FRAMES}
    for fields in frames("page"):
        recorder = Recorder(fields)
        assert kinds[fields["type"]].from_json(recorder) is not None
        assert recorder.read >= fields.keys(), fields


@pytest.mark.parametrize(("sender", "kinds"), [("host", HOST_FRAMES), ("page", PAGE_FRAMES)])
def test_the_conversations_have_every_frame_with_every_field(
    sender: str, kinds: tuple[type[HostFrame | PageFrame], ...]
) -> None:
    seen: dict[str, set[str]] = defaultdict(set)
    for fields in frames(sender):
        seen[fields["type"]] |= fields.keys() - NUMBERS
    expected = {frame.TYPE: set(wire_names(frame).values()) - NUMBERS for frame in kinds}
    assert dict(seen) == expected


def test_both_ends_know_the_same_frames() -> None:
    """Goes red if mcp-app.js sends a type that the host does not read, or the other way round."""
    assert set(re.findall(r'\{ type: "([a-z-]+)"', ELEMENT)) == {frame.TYPE for frame in PAGE_FRAMES}
    handled = set(re.findall(r'\btype === "([a-z-]+)"', ELEMENT))
    assert handled | {"ack"} == {frame.TYPE for frame in HOST_FRAMES}  # an ack is done when its number is read


def test_both_ends_acknowledge_after_the_same_number_of_frames() -> None:
    assert re.findall(r"^const ACK_EVERY = (\d+);", ELEMENT, re.MULTILINE) == [str(ACK_EVERY)]
