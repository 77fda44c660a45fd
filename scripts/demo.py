"""Show the example apps in `fanlight dev`; or serve one of them, and say how to connect a client to it.

python scripts/demo.py [dev|host|clock|...] [--port 8000] [--no-open]
"""

import argparse
import contextlib
import runpy
import socket
import sys
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
NAMES = sorted(path.parent.name for path in EXAMPLES.glob("*/server.py"))

WORDS = """
  Fanlight demo: the example {name!r} is served at {url}
  Stop it with Ctrl+C. Another one: make demo EXAMPLE={other}
  All of them in a page, without any client: make demo

  See the View in the MCP Inspector (Node 22.19 or later; then Apps, a tool, Open App):

    npx @modelcontextprotocol/inspector@2 --transport http --server-url {url}

  Or connect a client, and ask it: {question}

    Claude Code   claude mcp add --transport http {name} {url}
    VS Code       add to .vscode/mcp.json:
                  {{"servers": {{"{name}": {{"type": "http", "url": "{url}"}}}}}}
    Claude        Settings, Connectors, Add custom connector (needs a public https address),
                  or as a command in claude_desktop_config.json:
                  {{"mcpServers": {{"{name}": {{"command": "{python}", "args": ["{script}"]}}}}}}
    Any other     streamable HTTP at {url}, or the command above over stdio

  Whether a View is shown depends on the client and its version. One without MCP Apps
  gets the same tools in plain text.
"""
QUESTIONS = {
    "clock": "What time is it in Tokyo?",
    "todo": "What is on my to-do list?",
    "chart": "Draw a chart of the five highest mountains.",
    "wizard": "Book me a meeting room.",
    "dashboard": "How busy is this computer?",
    "map": "Where are Paris, Cairo and Nairobi?",
    "image": "Show me the dunes.",
    "game": "Play four in a row with me.",
    "shader": "Show me a shader with drops.",
    "speech": "Ask me how my day was.",
    "video": "Play the video of a day.",
    "monitor": "Watch the log of the shop.",
    "outline": "Why do visitors leave our shop without an order? Show me an outline.",
    "scenario": "When does a solar roof pay off for a house that uses 4,000 kWh a year?",
    "document": "Open the manual of Python at the assert statement.",
    "qr": "Make a QR code of https://modelcontextprotocol.io.",
    "score": "Show me the Ode to Joy as sheet music.",
    "sales": "Show me the orders from the north.",
    "import": "Import a CSV file.",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("example", nargs="?", default="dev", choices=["dev", "host", *NAMES])
    parser.add_argument("--port", type=int, default=8000, help="the first port to try (default: 8000)")
    parser.add_argument("--no-open", action="store_true", help="do not open a browser")
    options = parser.parse_args()
    quiet = ["--no-open"] if options.no_open else []
    if options.example == "dev":
        print("  One of them alone, for a client of yours: make demo EXAMPLE=clock", flush=True)
        sys.exit(fanlight("dev", "--port", str(options.port), *quiet))
    port = free_port(options.port)
    if options.example == "host":
        sys.argv = [str(EXAMPLES / "host" / "app.py"), "--port", str(port), *quiet]
        runpy.run_path(sys.argv[0], run_name="__main__")
        return
    script = EXAMPLES / options.example / "server.py"
    server = runpy.run_path(str(script), run_name="demo")["server"]
    other = NAMES[(NAMES.index(options.example) + 1) % len(NAMES)]
    words = WORDS.format(
        name=options.example,
        url=f"http://127.0.0.1:{port}/mcp",
        other=other,
        question=QUESTIONS.get(options.example, "use the example"),
        python=Path(__file__).resolve().parent.parent / ".venv" / "bin" / "python",
        script=script,
    )
    print(words, flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        server.run("streamable-http", host="127.0.0.1", port=port)


def fanlight(*arguments: str) -> int:
    from fanlight.cli import main

    return main(arguments)


def free_port(first: int) -> int:
    for port in range(first, first + 100):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise SystemExit(f"demo: no free port between {first} and {first + 99}. Choose another with --port.")


if __name__ == "__main__":
    main()
