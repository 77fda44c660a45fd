"""Where data goes in a script: the data of tools into HTML, and keys into requests.

Only steps that can be read from the code count: names, members, templates, `map`. A call of an unknown function ends
the trail, because that function may escape or drop the data.
"""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from fanlight.rules.javascript import FUNCTIONS, HOST_REQUESTS, Script, ancestors, unwrapped

if TYPE_CHECKING:
    from tree_sitter import Node

_RESULT_HANDLERS: Final = ("ontoolresult", "ontoolinput", "ontoolinputpartial")
_TOOL_CALLS: Final = ("callServerTool", "callTool")
_SAME_TEXT: Final = ("toString", "trim", "slice", "concat", "join", "replace", "toUpperCase", "toLowerCase", "at")
_PER_ITEM: Final = ("map", "flatMap", "forEach", "filter", "reduce")
_SANITIZERS: Final = re.compile(
    r"escape|sanitize|purify|encode|\besc\b|setHTML|\bNumber\b|parse(?:Int|Float)\b", re.IGNORECASE
)
_LONGEST: Final = 20_000
_DEEPEST: Final = 40

SENDING: Final = ("fetch", "sendBeacon", *HOST_REQUESTS)
NETWORK: Final = ("fetch", "sendBeacon", "WebSocket", "EventSource", "XMLHttpRequest")
_COMPARED_BY: Final = ("includes", "has", "test", "indexOf", "match", "startsWith", "get")
_STORED_BY: Final = ("push", "unshift", "concat", "add", "append", "set")
_ASSIGNMENTS: Final = ("assignment_expression", "augmented_assignment_expression")
_KEY: Final = ("key", "code", "keyCode", "which")


def is_tool_data(script: Script, node: "Node | None", depth: int = 0) -> bool:
    """Return whether an expression is data of a tool, or text with such data in it, as the tool returned it."""
    if node is None or depth > _DEEPEST:
        return False
    node = unwrapped(node)
    deeper = depth + 1
    match node.type:
        case "member_expression":
            return _is_data_member(script, node, deeper)
        case "subscript_expression":
            return is_tool_data(script, node.child_by_field_name("object"), deeper)
        case "identifier" | "shorthand_property_identifier":
            return _is_data_name(script, node, deeper)
        case "template_string":
            inside = [child for child in node.named_children if child.type == "template_substitution"]
            return any(
                is_tool_data(script, child.named_children[0], deeper) for child in inside if child.named_children
            )
        case "binary_expression":
            operator = node.child_by_field_name("operator")
            if operator is None or script.text(operator) not in ("+", "||", "??", "&&"):
                return False
            return any(is_tool_data(script, node.child_by_field_name(side), deeper) for side in ("left", "right"))
        case "ternary_expression":
            sides = ("consequence", "alternative")
            return any(is_tool_data(script, node.child_by_field_name(side), deeper) for side in sides)
        case "call_expression":
            return _is_data_call(script, node, deeper)
    return False


def _is_data_member(script: Script, node: "Node", depth: int) -> bool:
    owner = node.child_by_field_name("object")
    property = script.name(node.child_by_field_name("property"))
    if property == "structuredContent":
        return True
    if property in ("toolOutput", "toolInput"):
        return script.name(owner).endswith("openai")
    if property in ("content", "arguments") and owner is not None and _is_tool_result(script, unwrapped(owner)):
        return True
    return property != "length" and is_tool_data(script, owner, depth)


def _is_data_name(script: Script, node: "Node", depth: int) -> bool:
    binding = script.binding(node)
    if binding is None:
        return False
    value, keys = script.value_of(binding)
    if "structuredContent" in keys:
        return True
    if value is None:
        return False
    if value.type in FUNCTIONS:
        if _handles_results(script, value):
            return keys[:1] in (("content",), ("arguments",))
        return _is_item_of_data(script, value, depth)
    return is_tool_data(script, value, depth) or (keys[:1] == ("content",) and _is_tool_result(script, value))


def _is_item_of_data(script: Script, function: "Node", depth: int) -> bool:
    """Return whether a function is called for each item of a tool's data."""
    call = function.parent and function.parent.parent
    if call is None or call.type != "call_expression":
        return False
    callee = call.child_by_field_name("function")
    if callee is None or callee.type != "member_expression":
        return False
    method = script.name(callee.child_by_field_name("property"))
    return method in _PER_ITEM and is_tool_data(script, callee.child_by_field_name("object"), depth)


def _is_data_call(script: Script, call: "Node", depth: int) -> bool:
    callee = call.child_by_field_name("function")
    if callee is None or callee.type != "member_expression":
        return False
    method = script.name(callee.child_by_field_name("property"))
    owner = callee.child_by_field_name("object")
    if method in ("map", "flatMap"):
        function = script.function(next(iter(script.arguments(call)), None))
        return function is not None and any(is_tool_data(script, value, depth) for value in _returned(script, function))
    return method in _SAME_TEXT and is_tool_data(script, owner, depth)


def _returned(script: Script, function: "Node") -> "Iterator[Node]":
    body = function.child_by_field_name("body")
    if body is None:
        return
    if body.type != "statement_block":
        yield body
        return
    for match in script.find("returns", body):
        yield match["value"]


def _is_tool_result(script: Script, node: "Node") -> bool:
    """Return whether an expression is the result of a tool call."""
    node = unwrapped(node)
    if node.type == "call_expression":
        return script.callee(node).rpartition(".")[2] in _TOOL_CALLS
    if node.type != "identifier" or (binding := script.binding(node)) is None:
        return False
    value, keys = script.value_of(binding)
    if value is None or keys:
        return False
    return _handles_results(script, value) if value.type in FUNCTIONS else _is_tool_result(script, value)


def _handles_results(script: Script, function: "Node") -> bool:
    """Return whether a function is assigned as the handler of tool results or inputs."""
    parent = function.parent
    if parent is None or parent.type != "assignment_expression":
        return False
    return script.name(parent.child_by_field_name("left")).rpartition(".")[2] in _RESULT_HANDLERS


def mentions_tool_data(script: Script, value: "Node") -> bool:
    """Return whether data of a tool is somewhere in an expression, and nothing in it is named like a sanitizer."""
    text = script.text(value)
    if len(text) > _LONGEST or _SANITIZERS.search(text):
        return False
    nodes = [match["member"] for match in script.find("members", value)]
    nodes += [match["name"] for match in script.find("names", value)]
    return any(is_tool_data(script, node) for node in nodes)


# Keys


def sent_keys(script: Script, handler: "Node") -> str | None:
    """Return the call by which the keys that a listener receives are sent, directly or through a variable."""
    for use in _key_uses(script, handler):
        for around in ancestors(use, handler):
            if around.type in ("call_expression", "new_expression"):
                callee = script.callee(around).rpartition(".")[2]
                if callee in (*SENDING, "WebSocket", "EventSource"):
                    return callee
                if callee in _STORED_BY and (sent := _sent_later(script, around.child_by_field_name("function"))):
                    return sent
            elif around.type in _ASSIGNMENTS and (sent := _sent_later(script, around.child_by_field_name("left"))):
                return sent
    return None


def records_keys(script: Script, handler: "Node") -> bool:
    """Return whether a listener stores which keys were pressed."""
    for use in _key_uses(script, handler):
        for around in ancestors(use, handler):
            if around.type in _ASSIGNMENTS:
                return True
            if around.type == "call_expression" and script.callee(around).rpartition(".")[2] in _STORED_BY:
                return True
    return False


def _key_uses(script: Script, handler: "Node") -> "Iterator[Node]":
    """Yield the expressions in a listener whose value is a key, except where it is only compared."""
    parameters = script.parameters(handler)
    if not parameters:
        return
    event = script.text(parameters[0]) if parameters[0].type == "identifier" else None
    body = handler.child_by_field_name("body") or handler
    found = [match["member"] for match in script.find("members", body)] if event else []
    uses = [node for node in found if script.name(node) in {f"{event}.{name}" for name in _KEY}]
    if event is None:
        names = (match["name"] for match in script.find("names", body))
        uses = [node for node in names if _is_key_of(script, node, handler)]
    yield from (use for use in uses if not _is_compared(script, use))


def _is_key_of(script: Script, name: "Node", handler: "Node") -> bool:
    binding = script.binding(name)
    if binding is None:
        return False
    function, keys = script.value_of(binding)
    return function is not None and function.id == handler.id and keys[:1] in tuple((key,) for key in _KEY)


def _is_compared(script: Script, node: "Node") -> bool:
    parent = node.parent
    while parent is not None and parent.type in ("parenthesized_expression", "member_expression"):
        node, parent = parent, parent.parent
        if parent is not None and parent.type == "call_expression" and parent.child_by_field_name("function") == node:
            node, parent = parent, parent.parent
    if parent is None:
        return False
    if parent.type == "binary_expression":
        operator = parent.child_by_field_name("operator")
        return operator is not None and script.text(operator) in ("==", "===", "!=", "!==", "<", ">", "<=", ">=", "in")
    if parent.type == "arguments" and parent.parent is not None:
        return script.callee(parent.parent).rpartition(".")[2] in _COMPARED_BY
    return parent.type in ("switch_statement", "subscript_expression", "if_statement", "ternary_expression") and (
        parent.type != "ternary_expression" or parent.child_by_field_name("condition") == node
    )


def _sent_later(script: Script, target: "Node | None") -> str | None:
    """Return the call that sends a variable in which keys are stored."""
    while target is not None and target.type == "member_expression":
        target = target.child_by_field_name("object")
    if target is None or target.type != "identifier":
        return None
    name, binding = script.text(target), script.binding(target)
    for match in script.find("calls"):
        callee = script.callee(match["call"]).rpartition(".")[2]
        arguments = match["call"].child_by_field_name("arguments")
        if callee not in SENDING or arguments is None:
            continue
        for inner in script.find("names", arguments):
            if script.text(inner["name"]) == name and script.binding(inner["name"]) == binding:
                return callee
    return None
