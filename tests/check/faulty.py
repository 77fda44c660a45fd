"""A server over stdio without an SDK, with the faults that its arguments name."""

import json
import os
import signal
import sys
from typing import Any

URI = "ui://faulty/view"
HTML = '<!doctype html><html lang="en"><title>x</title><p>x</p></html>'
FAULTS = set(sys.argv[1:])


def write(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def send(**message: Any) -> None:
    write(json.dumps({"jsonrpc": "2.0", **message}))


def tool(name: str) -> dict[str, Any]:
    meta = {"ui": {"resourceUri": URI}, "ui/resourceUri": URI}
    annotations = {"readOnlyHint": True}
    return {"name": name, "inputSchema": {"type": "object"}, "annotations": annotations, "_meta": meta}


def tools() -> Any:
    found = [tool("first"), tool("second"), tool("third")]
    if "no-schema" in FAULTS:
        del found[1]["inputSchema"]
    if "number" in FAULTS:
        found[1]["name"] = 7
    if "no-list" in FAULTS:
        return {"first": found[0]}
    return found + found[:1] if "twice" in FAULTS else found


def call(id: object, name: str) -> None:
    if "die" in FAULTS and name == "second":
        sys.stderr.write("Traceback\nout of cheese\n")
        sys.stderr.flush()
        os._exit(3)
    if "exit" in FAULTS and name == "second":
        os._exit(0)
    if "hang" in FAULTS and name == "second":
        sys.stderr.write("waiting for cheese\n")
        sys.stderr.flush()
        signal.pause()
    if "print" in FAULTS:
        write(f"Called {name}")
    content = [{"type": "text"}] if "no-text" in FAULTS else [{"type": "text", "text": f"It is {name}."}]
    send(id=id, result={"content": content})


for line in sys.stdin:
    message = json.loads(line)
    id, method, params = message.get("id"), message["method"], message.get("params", {})
    if id is None:
        continue
    if "mute" in FAULTS:
        continue
    if method == "initialize":
        capabilities: dict[str, Any] = {"tools": {}, "resources": {}}
        info = {"name": "faulty", "version": "1"}
        version = params["protocolVersion"]
        send(id=id, result={"protocolVersion": version, "capabilities": capabilities, "serverInfo": info})
    elif method == "tools/list":
        send(id=id, result={"tools": tools()})
    elif method == "resources/list":
        send(id=id, result={"resources": []})
    elif method == "resources/read" and params["uri"] == URI:
        item = {"uri": URI, "mimeType": "text/html;profile=mcp-app", "text": HTML}
        send(id=id, result={"contents": [{**item, "_meta": {"ui": {"prefersBorder": True}}}]})
    elif method == "tools/call":
        call(id, params["name"])
    else:
        send(id=id, error={"code": -32601, "message": "Method not found"})
