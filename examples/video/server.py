"""A video player: the View reads a WebM file in binary parts, and plays it with captions under the strict policy."""

import base64
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError
from mcp_types import CallToolResult, ImageContent, TextContent, ToolAnnotations

from fanlight import Apps

server = MCPServer("video")
apps = Apps(server)

HERE = Path(__file__).parent
PART = 16 * 1024
"""Bytes of a video in one response. Some hosts refuse messages of 1 MiB, and base64 makes 4 bytes of 3."""
CUE = re.compile(r"^(?:\d\d:)?(\d\d):(\d\d)\.\d{3} --> .+\n((?:.+\n?)+)", re.MULTILINE)


@dataclass
class Video:
    title: str
    name: str
    type: str
    size: int
    captions: str
    text: str


# scripts/example_video.py draws and encodes the video and its poster.
FILE = HERE / "day.webm"
CAPTIONS = (HERE / "day.vtt").read_text(encoding="utf-8")
TITLE = "A day in twelve seconds"


def transcript(captions: str) -> str:
    """Return the text of a WebVTT file, a line for each caption."""
    cues = CUE.finditer(captions)
    return "\n".join(
        f"{int(minute)}:{second} {' '.join(text.split())}" for minute, second, text in map(re.Match.groups, cues)
    )


@apps.tool(view="video.html", annotations=ToolAnnotations(read_only_hint=True))
def show_video() -> Annotated[CallToolResult, Video]:
    "Play a short animation: hills and a house, from before sunrise to night. It has captions and no sound."
    size = FILE.stat().st_size
    text = (
        f"{TITLE}: a WebM video without sound, 640 by 360 pixels, {size:,} bytes. Its captions:\n{transcript(CAPTIONS)}"
    )
    poster = base64.b64encode((HERE / "day.jpg").read_bytes()).decode()
    return CallToolResult(
        content=[TextContent(type="text", text=text), ImageContent(type="image", data=poster, mime_type="image/jpeg")],
        structured_content=asdict(Video(TITLE, "day", "video/webm", size, CAPTIONS, text)),
    )


@server.resource("video://day/{offset}", title="Part of the video", mime_type="application/octet-stream")
def part_of_video(offset: int) -> bytes:
    "A part of the video file, starting at an offset."
    size = FILE.stat().st_size
    if not 0 <= offset < size:
        raise ResourceError(f"Offset {offset} is not in the video, which has {size} bytes.")
    with FILE.open("rb") as file:
        file.seek(offset)
        return file.read(PART)


if __name__ == "__main__":
    server.run()
