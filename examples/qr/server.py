"""QR codes: Python computes the modules, the View draws them as SVG, and the model and other clients get a PNG."""

import base64
import struct
import zlib
from itertools import product
from typing import Annotated

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, ImageContent, TextContent, ToolAnnotations
from pydantic import BaseModel, Field

from fanlight import Apps

server = MCPServer("qr")
apps = Apps(server)

READ_ONLY = ToolAnnotations(read_only_hint=True)
Modules = list[list[bool]]
UTF_8 = "011100011010"
"""What declares the encoding of the text. Without it, scanners guess, and take some texts for Japanese or Latin."""

# For versions 1 to 10 at the error correction level M: data bytes, error correction bytes of a block, and blocks.
CAPACITY = [(16, 10, 1), (28, 16, 1), (44, 26, 1), (64, 18, 2), (86, 24, 2)]
CAPACITY += [(108, 16, 4), (124, 18, 4), (154, 22, 4), (182, 22, 5), (216, 26, 5)]
# Where the small squares are, in versions 2 to 10.
ALIGNMENT = [[], [6, 18], [6, 22], [6, 26], [6, 30], [6, 34], [6, 22, 38], [6, 24, 42], [6, 26, 46], [6, 28, 50]]

# Powers of 2 in the field of 256 elements that error correction counts in.
POWERS = [1]
for _ in range(254):
    POWERS.append(POWERS[-1] << 1 ^ (0x11D if POWERS[-1] & 0x80 else 0))
LOGARITHMS = {power: exponent for exponent, power in enumerate(POWERS)}


def multiply(a: int, b: int) -> int:
    return POWERS[(LOGARITHMS[a] + LOGARITHMS[b]) % 255] if a and b else 0


def error_correction(data: bytes, count: int) -> bytes:
    """Return the remainder of the data, divided by the polynomial of Reed and Solomon."""
    divisor = [1]
    for exponent in range(count):
        shifted = [0, *(multiply(part, POWERS[exponent]) for part in divisor)]
        divisor = [a ^ b for a, b in zip([*divisor, 0], shifted, strict=True)]
    rest = [*data, *[0] * count]
    for at in range(len(data)):
        factor = rest[at]
        for index, part in enumerate(divisor):
            rest[at + index] ^= multiply(part, factor)
    return bytes(rest[len(data) :])


def codewords(text: bytes, version: int) -> bytes:
    """Return the bytes of a code: the text, padding and error correction, in interleaved blocks."""
    size, count, blocks = CAPACITY[version - 1]
    length = 8 if version < 10 else 16
    bits = "" if text.isascii() else UTF_8
    bits += f"0100{len(text):0{length}b}" + "".join(f"{byte:08b}" for byte in text)
    bits += "0" * min(4, size * 8 - len(bits))
    bits += "0" * (-len(bits) % 8)
    data = bytes(int(bits[at : at + 8], 2) for at in range(0, len(bits), 8))
    data += (b"\xec\x11" * size)[: size - len(data)]
    short, longer = divmod(size, blocks)
    parts, at = [], 0
    for block in range(blocks):
        end = at + short + (block >= blocks - longer)
        parts.append(data[at:end])
        at = end
    corrections = [error_correction(part, count) for part in parts]
    mixed = [part[at] for at in range(short + 1) for part in parts if at < len(part)]
    return bytes(mixed + [part[at] for at in range(count) for part in corrections])


def check_bits(value: int, generator: int, count: int) -> int:
    """Return a value with the check bits of a BCH code."""
    rest = value << count
    while rest.bit_length() > count:
        rest ^= generator << rest.bit_length() - generator.bit_length()
    return value << count | rest


MASKS = [
    lambda y, x: (y + x) % 2,
    lambda y, x: y % 2,
    lambda y, x: x % 3,
    lambda y, x: (y + x) % 3,
    lambda y, x: (y // 2 + x // 3) % 2,
    lambda y, x: y * x % 2 + y * x % 3,
    lambda y, x: (y * x % 2 + y * x % 3) % 2,
    lambda y, x: ((y + x) % 2 + y * x % 3) % 2,
]


def draw(data: bytes, version: int, mask: int) -> Modules:
    """Return the modules of a code; True is dark."""
    size = 17 + 4 * version
    fixed: dict[tuple[int, int], bool] = {}
    for at in range(size):  # timing
        fixed[6, at] = fixed[at, 6] = at % 2 == 0
    for y, x in product(ALIGNMENT[version - 1], repeat=2):
        if (y, x) not in ((6, 6), (6, size - 7), (size - 7, 6)):
            for down, right in product(range(-2, 3), repeat=2):
                fixed[y + down, x + right] = max(abs(down), abs(right)) != 1
    for y, x in ((3, 3), (3, size - 4), (size - 4, 3)):  # the three corners
        for down, right in product(range(-4, 5), repeat=2):
            if 0 <= y + down < size and 0 <= x + right < size:
                fixed[y + down, x + right] = max(abs(down), abs(right)) in (0, 1, 3)
    form = check_bits(mask, 0x537, 10) ^ 0x5412  # the level M is 00
    for at in range(15):
        bit = bool(form >> at & 1)
        fixed[at if at < 6 else at + 1 if at < 8 else size - 15 + at, 8] = bit
        fixed[8, size - 1 - at if at < 8 else 7 if at == 8 else 14 - at] = bit
    fixed[size - 8, 8] = True
    if version >= 7:
        number = check_bits(version, 0x1F25, 12)
        for at in range(18):
            short, far = at // 3, size - 11 + at % 3
            fixed[short, far] = fixed[far, short] = bool(number >> at & 1)
    stream = (bool(byte >> bit & 1) for byte in data for bit in range(7, -1, -1))
    modules = [[fixed.get((y, x), False) for x in range(size)] for y in range(size)]
    for column in range((size - 1) // 2):
        right = size - 1 - 2 * column
        right -= right <= 6
        for step, x in product(range(size), (right, right - 1)):
            y = step if column % 2 else size - 1 - step
            if (y, x) not in fixed:
                modules[y][x] = next(stream, False) ^ (MASKS[mask](y, x) == 0)
    return modules


def penalty(modules: Modules) -> int:
    """Return how hard a code is to scan: long runs, squares, false corners, and too much of one colour."""
    total = 0
    size = len(modules)
    for line in (*modules, *zip(*modules, strict=True)):
        text = "".join("10"[not dark] for dark in line)
        total += sum(len(run) - 2 for run in text.replace("01", "0 1").replace("10", "1 0").split() if len(run) >= 5)
        total += 40 * sum(text.startswith(("10111010000", "00001011101"), at) for at in range(size - 10))
    for y, x in product(range(size - 1), repeat=2):
        square = (modules[y][x], modules[y][x + 1], modules[y + 1][x], modules[y + 1][x + 1])
        total += 3 * (len(set(square)) == 1)
    dark = sum(map(sum, modules))
    return total + 10 * int(abs(dark * 20 - size * size * 10) / (size * size))


def encode(text: str) -> Modules:
    raw = text.encode()
    header = 0 if raw.isascii() else len(UTF_8)
    for version, (capacity, *_) in enumerate(CAPACITY, 1):
        if header + (12 if version < 10 else 20) + 8 * len(raw) <= 8 * capacity:
            data = codewords(raw, version)
            return min((draw(data, version, mask) for mask in range(8)), key=penalty)
    limit = 213 if raw.isascii() else 212
    raise ToolError(f"The text has {len(raw)} bytes, and a code holds at most {limit}. Use a shorter text or link.")


def png(modules: Modules, scale: int = 8) -> bytes:
    """Return a PNG file with one bit per pixel, and a quiet zone of four modules."""
    wide = [False] * 4
    rows = [wide * 2 + [False] * len(modules)] * 4
    rows = [*rows, *([*wide, *row, *wide] for row in modules), *rows]
    width = len(rows) * scale
    lines = []
    for row in rows:
        bits = "".join("01"[not dark] * scale for dark in row)
        lines += [b"\0" + int(bits, 2).to_bytes(width // 8, "big")] * scale

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, width, 1, 0, 0, 0, 0)
    body = zlib.compress(b"".join(lines))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


class Code(BaseModel):
    content: str
    size: int
    path: str
    """The dark modules as an SVG path."""


@apps.tool(view="qr.html", annotations=READ_ONLY)
def make_qr_code(
    # Without max_length: encode() knows the limit in bytes, and its error says what to do.
    content: Annotated[
        str, Field(min_length=1, description="At most 213 bytes.", examples=["https://modelcontextprotocol.io"])
    ],
) -> Annotated[CallToolResult, Code]:
    "Show a QR code of a link or a text."
    modules = encode(content)
    path = "".join(f"M{x} {y}h1v1h-1z" for y, row in enumerate(modules) for x, dark in enumerate(row) if dark)
    code = Code(content=content, size=len(modules), path=path)
    text = TextContent(type="text", text=f"A QR code of {len(modules)} by {len(modules)} modules that says: {content}")
    image = ImageContent(type="image", data=base64.b64encode(png(modules)).decode(), mime_type="image/png")
    return CallToolResult(content=[text, image], structured_content=code.model_dump())


if __name__ == "__main__":
    server.run()
