"""Shaders: the model writes a fragment shader, the View compiles it, and the model learns what the compiler says."""

import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import Field

from fanlight import Apps

server = MCPServer("shader")
apps = Apps(server)

SCENE = Path(__file__).with_name("scene.glsl").read_text(encoding="utf-8")
MAIN = re.compile(r"\bvoid\s+mainImage\s*\(\s*out\s+vec4\s+\w+\s*,\s*(?:in\s+)?vec2\s+\w+\s*\)")
FORM = "void mainImage(out vec4 fragColor, in vec2 fragCoord) { … }"
Code = Annotated[
    str | None,
    Field(
        max_length=20_000,
        description=f"GLSL ES 3.00 with {FORM}, as on Shadertoy. Declared already: vec3 iResolution, float iTime, "
        "vec4 iMouse, and float iDark, which is 1 in a dark theme. No textures. Default: a scene of this server.",
    ),
]


@dataclass
class Shader:
    title: str
    code: str


@apps.tool(view="shader.html", annotations=ToolAnnotations(read_only_hint=True))
def show_shader(ctx: Context, title: str = "Drops", code: Code = None) -> Annotated[CallToolResult, Shader]:
    "Show a fragment shader, animated. The View reports whether it compiles, and each error with its line."
    if code is not None and not MAIN.search(code):
        raise ToolError(f"The code has no mainImage. Expected {FORM}: assign the colour of the pixel to fragColor.")
    code = SCENE if code is None else code
    text = f"{title}: a fragment shader of {len(code.splitlines())} lines. "
    if apps.supported(ctx):
        text += "The user's browser compiles it now; what the compiler says comes with the next message."
    else:
        text += "Nobody has compiled it yet, because this client shows no Views. The user can paste it into "
        text += f"shadertoy.com, with `#define iDark 0.0` as its first line.\n\n{code}"
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=asdict(Shader(title, code)))


if __name__ == "__main__":
    server.run()
