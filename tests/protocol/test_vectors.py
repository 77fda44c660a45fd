"""Replay the conversations of tests/vectors against the bridge; tests/js replays them against view.js."""

import json
from pathlib import Path
from typing import Any

import pytest

from fanlight.protocol.bridge import Bridge

VECTORS = Path(__file__).parents[1] / "vectors"

# Conversations in which the host does what ours never does; they show how a View takes it.
OTHER_HOSTS = {
    "missing-capabilities": "a host that leaves parts of its answer out",
    "refused-handshake": "a host that refuses the handshake",
    "unknown": "a host that says what no standard names",
}


class Replay:
    """Sends the View's messages of a conversation to a bridge, and compares what the bridge sends."""

    def __init__(self, steps: list[dict[str, Any]]) -> None:
        self.names: dict[str, Any] = {}
        self.steps = [step for step in steps if "from" in step]
        self.bridge = self._bridge()
        self.queue: list[dict[str, Any]] = []
        self.fresh = 0

    def _bridge(self) -> Bridge:
        answers = (step["message"].get("result", {}) for step in self.steps if step["from"] == "host")
        hello = next(answer for answer in answers if "hostInfo" in answer)
        called = [step["message"].get("params", {}).get("name") for step in self.steps if step["from"] == "view"]
        return Bridge(hello["hostInfo"], hello["hostCapabilities"], hello["hostContext"], tools=set(called))

    def run(self) -> None:
        for number, step in enumerate(self.steps):
            if step["from"] == "view":
                self.bridge.receive({"jsonrpc": "2.0", **self.filled(step["message"])})
                self.queue += self.bridge.outgoing()
            else:
                self.cause(step["message"])
                self.queue += self.bridge.outgoing()
                assert self.queue, f"step {number}: the host says nothing, expected {step['message']}"
                sent = self.queue.pop(0)
                assert self.matches({"jsonrpc": "2.0", **step["message"]}, sent), f"step {number}: {sent}"
        assert self.queue == []

    def filled(self, value: Any, key: str = "") -> Any:
        """Replace placeholders by ids that the View chooses."""
        if isinstance(value, dict):
            return {name: self.filled(entry, name) for name, entry in value.items()}
        if isinstance(value, list):
            return [self.filled(entry) for entry in value]
        if value == "$any":
            return "anything"
        if isinstance(value, str) and value.startswith("$") and key in ("id", "requestId", "progressToken"):
            if value not in self.names:
                self.names[value] = self.fresh if self.fresh % 2 == 0 else f"id {self.fresh}"
                self.fresh += 1
            return self.names[value]
        return value

    def matches(self, expected: Any, found: Any, key: str = "") -> bool:
        if expected == "$any":
            return True
        if isinstance(expected, dict):
            if key == "" and "method" in expected and "params" not in expected:
                found = {name: entry for name, entry in found.items() if name != "params" or entry}
            return (
                isinstance(found, dict)
                and expected.keys() == found.keys()
                and all(self.matches(expected[name], found[name], name) for name in expected)
            )
        if isinstance(expected, str) and expected.startswith("$") and key in ("id", "requestId", "progressToken"):
            return bool(self.names.setdefault(expected, found) == found)
        return bool(expected == found)

    def cause(self, message: dict[str, Any]) -> None:
        """Make the bridge send a message, unless it has sent it already."""
        if self.queue:
            return
        bridge, params = self.bridge, message.get("params", {})
        if "method" not in message:
            id = self.names[message["id"]]
            if "error" in message:
                bridge.respond_error(
                    id, message["error"]["message"], message["error"]["code"], message["error"].get("data")
                )
            else:
                bridge.respond(id, message["result"])
            return
        match message["method"]:
            case "ui/notifications/tool-input-partial":
                bridge.tool_input_partial(params["arguments"])
            case "ui/notifications/tool-input":
                bridge.tool_input(params["arguments"])
            case "ui/notifications/tool-result":
                bridge.tool_result(params)
            case "ui/notifications/tool-cancelled":
                bridge.tool_cancelled(params.get("reason"))
            case "ui/notifications/host-context-changed":
                bridge.set_context(params)
            case "notifications/progress":
                token = params["progressToken"]
                bridge.progress(self.names[token], params["progress"], params.get("total"), params.get("message"))
            case "notifications/cancelled":
                bridge.cancel_request(self.names[params["requestId"]], params.get("reason"))
            case "ui/resource-teardown":
                bridge.teardown(params.get("reason"))
            case method:
                bridge.request(method, params)


def names() -> list[str]:
    return sorted(path.stem for path in VECTORS.glob("*.json"))


def test_the_exceptions_are_existing_conversations() -> None:
    assert len(names()) > 20
    assert set(OTHER_HOSTS) <= set(names())


@pytest.mark.parametrize("name", [name for name in names() if name not in OTHER_HOSTS])
def test_the_host_sends_the_messages_of_the_conversation(name: str) -> None:
    Replay(json.loads((VECTORS / f"{name}.json").read_text(encoding="utf-8"))["steps"]).run()
