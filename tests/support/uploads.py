"""Uploads as a View makes them, by a client on the wire."""

import base64
from typing import Any

from fanlight.show.files.uploads import UPLOAD_TOOL
from support.wire import Wire


async def begin(client: Wire, target: str, name: str, size: int, type: str = "") -> dict[str, Any]:
    return await client.call(UPLOAD_TOOL, action="begin", target=target, name=name, size=size, type=type)


async def write(client: Wire, upload: str, start: int, data: bytes) -> dict[str, Any]:
    encoded = base64.b64encode(data).decode("ascii")
    return await client.call(UPLOAD_TOOL, action="write", upload=upload, start=start, data=encoded)


async def send(client: Wire, target: str, name: str, content: bytes, type: str = "") -> str:
    """Upload a file, and return the id of the upload."""
    begun = (await begin(client, target, name, len(content), type))["structuredContent"]
    for start in range(0, len(content), begun["part"]):
        part = await write(client, begun["upload"], start, content[start : start + begun["part"]])
        assert not part["isError"], part
    upload: str = begun["upload"]
    return upload
