"""A server without any SDK, over stdio, that does wrong what its arguments say."""

import json
import os
import signal
import sys
from typing import Any

URI = "ui://faulty/view"
HTML = '<!doctype html><html lang="en"><title>x</title><p>x</p></html>'
WHAT = set(sys.argv[1:])


def write(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def say(**message: Any) -> None:
    write(json.dumps({"jsonrpc": "2.0", **message}))


def tool(name: str) -> dict[str, Any]:
    meta = {"ui": {"resourceUri": URI}, "ui/resourceUri": URI}
    annotations = {"readOnlyHint": True}
    return {"name": name, "inputSchema": {"type": "object"}, "annotations": annotations, "_meta": meta}


def tools() -> Any:
    found = [tool("first"), tool("second"), tool("third")]
    if "no-schema" in WHAT:
        del found[1]["inputSchema"]
    if "number" in WHAT:
        found[1]["name"] = 7
    if "no-list" in WHAT:
        return {"first": found[0]}
    return found + found[:1] if "twice" in WHAT else found


def call(id: object, name: str) -> None:
    if "die" in WHAT and name == "second":
        sys.stderr.write("Traceback\nout of cheese\n")
        sys.stderr.flush()
        os._exit(3)
    if "leave" in WHAT and name == "second":
        os._exit(0)
    if "hang" in WHAT and name == "second":
        sys.stderr.write("waiting for cheese\n")
        sys.stderr.flush()
        signal.pause()
    if "print" in WHAT:
        write(f"Called {name}")
    content = [{"type": "text"}] if "no-text" in WHAT else [{"type": "text", "text": f"It is {name}."}]
    say(id=id, result={"content": content})


for line in sys.stdin:
    message = json.loads(line)
    id, method, params = message.get("id"), message["method"], message.get("params", {})
    if id is None:
        continue
    if "mute" in WHAT:
        continue
    if method == "initialize":
        capabilities: dict[str, Any] = {"tools": {}, "resources": {}}
        info = {"name": "faulty", "version": "1"}
        version = params["protocolVersion"]
        say(id=id, result={"protocolVersion": version, "capabilities": capabilities, "serverInfo": info})
    elif method == "tools/list":
        say(id=id, result={"tools": tools()})
    elif method == "resources/list":
        say(id=id, result={"resources": []})
    elif method == "resources/read" and params["uri"] == URI:
        item = {"uri": URI, "mimeType": "text/html;profile=mcp-app", "text": HTML}
        say(id=id, result={"contents": [{**item, "_meta": {"ui": {"prefersBorder": True}}}]})
    elif method == "tools/call":
        call(id, params["name"])
    else:
        say(id=id, error={"code": -32601, "message": "Method not found"})
