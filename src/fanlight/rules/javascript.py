"""Scripts of Views, parsed: calls, assignments and bindings, each with its place.

tree-sitter parses without running anything and recovers from errors, so comments and strings are never mistaken for
code. Names are resolved to the declarations of the script itself; what a script does through other names stays unseen.
"""

from collections.abc import Iterator
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from fanlight.protocol.source_lines import after

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Query

FUNCTIONS: Final = (
    "arrow_function",
    "function_expression",
    "function_declaration",
    "method_definition",
    "generator_function",
    "generator_function_declaration",
)
_SCOPES: Final = ("program", "statement_block", "for_statement", "for_in_statement", "catch_clause", *FUNCTIONS)
_WRAPPERS: Final = ("parenthesized_expression", "await_expression")

HOST_REQUESTS: Final = (
    "updateModelContext",
    "sendMessage",
    "callServerTool",
    "callTool",
    "sendFollowUpMessage",
    "setWidgetState",
)
"""The methods by which a View sends data to the host."""
CALLED: Final = (
    *HOST_REQUESTS,
    "fetch",
    "sendBeacon",
    "open",
    "eval",
    "Function",
    "setTimeout",
    "setInterval",
    "addEventListener",
    "createElement",
    "insertAdjacentHTML",
    "write",
    "writeln",
    "getUserMedia",
    "getCurrentPosition",
    "watchPosition",
    "writeText",
    "jsx",
    "jsxs",
)
"""The functions and methods that the review asks about."""
_CONSTRUCTED: Final = (
    "Function",
    "WebSocket",
    "EventSource",
    "XMLHttpRequest",
    "SpeechRecognition",
    "webkitSpeechRecognition",
)
_ASSIGNED: Final = ("innerHTML", "outerHTML", "onkeydown", "onkeyup", "onkeypress", "src")
_ABOVE: Final = ("document", "location", "frames", "localStorage", "sessionStorage", "cookie")


def _alternatives(names: tuple[str, ...]) -> str:
    return " ".join(f'"{name}"' for name in names)


_QUERIES: Final = {
    "calls": f"""
        ((call_expression function: (identifier) @name) @call (#any-of? @name {_alternatives(CALLED)}))
        ((call_expression function: (member_expression property: (property_identifier) @name)) @call
          (#any-of? @name {_alternatives(CALLED)}))
        ((new_expression constructor: (identifier) @name) @call (#any-of? @name {_alternatives(_CONSTRUCTED)}))
        ((new_expression constructor: (member_expression property: (property_identifier) @name)) @call
          (#any-of? @name {_alternatives(_CONSTRUCTED)}))
    """,
    "imports": "(import_statement source: (string) @source) (call_expression function: (import) arguments: (_) @all)",
    "assignments": f"""
        ((assignment_expression left: (member_expression property: (property_identifier) @name)) @assignment
          (#any-of? @name {_alternatives(_ASSIGNED)}))
        ((augmented_assignment_expression left: (member_expression property: (property_identifier) @name)) @assignment
          (#any-of? @name {_alternatives(_ASSIGNED)}))
    """,
    "html_props": '((pair key: (property_identifier) @name value: (_) @value) (#eq? @name "__html"))',
    "above": f"""
        ((member_expression object: (_) @object property: (property_identifier) @name) @member
          (#any-of? @name {_alternatives(_ABOVE)}))
        ((identifier) @name (#eq? @name "frameElement"))
        ((property_identifier) @name (#eq? @name "frameElement"))
    """,
    "frame_markup": '((string_fragment) @text (#match? @text "<[iI][fF][rR][aA][mM][eE]"))',
    "property_writes": """
        (assignment_expression left: (member_expression)) @write
        (call_expression function: (member_expression) arguments: (_)) @write
    """,
    "names": "[(identifier) (shorthand_property_identifier)] @name",
    "members": "(member_expression) @member",
    "returns": "(return_statement (_) @value)",
}


class Position(NamedTuple):
    """A place in a document, from 1."""

    line: int
    column: int

    def after(self, text: str) -> "Position":
        """Return the place behind a text that begins here."""
        return Position(*after(text, *self))


class Script:
    """The text of one `<script>`, parsed."""

    def __init__(self, text: str, position: Position) -> None:
        from tree_sitter import Parser

        self.source = text
        self.position = position
        self._data = text.encode("utf-8", "replace")
        self.root: Node = Parser(_language()).parse(self._data).root_node
        self._found: dict[str, list[dict[str, Node]]] = {}

    def find(self, query: str, inside: "Node | None" = None) -> "list[dict[str, Node]]":
        """Return the matches of a query, each as nodes by capture name, in the order of the text."""
        if inside is not None:
            return self._run(query, inside)
        if query not in self._found:
            self._found[query] = self._run(query, self.root)
        return self._found[query]

    def _run(self, query: str, inside: "Node") -> "list[dict[str, Node]]":
        from tree_sitter import QueryCursor

        matches = QueryCursor(_query(query)).matches(inside)
        found = [{name: nodes[0] for name, nodes in captures.items()} for _, captures in matches]
        return sorted(found, key=lambda match: min(node.start_byte for node in match.values()))

    def text(self, node: "Node") -> str:
        """Return the source of a node."""
        return self._data[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def position_of(self, node: "Node") -> Position:
        """Return where in the document a node begins."""
        return self.position.after(self._data[: node.start_byte].decode("utf-8", "replace"))

    # Expressions

    def name(self, node: "Node | None") -> str:
        """Return the dotted name of an expression, such as `navigator.clipboard`; unknown parts are `?`."""
        if node is None:
            return "?"
        if node.type in ("identifier", "property_identifier", "this", "import"):
            return self.text(node)
        if node.type == "member_expression":
            return f"{self.name(node.child_by_field_name('object'))}.{self.name(node.child_by_field_name('property'))}"
        if node.type in _WRAPPERS and node.named_child_count:
            return self.name(node.named_children[0])
        return "?"

    def callee(self, call: "Node") -> str:
        """Return the dotted name of what is called or constructed."""
        return self.name(call.child_by_field_name("function") or call.child_by_field_name("constructor"))

    def arguments(self, call: "Node") -> "list[Node]":
        """Return the arguments of a call."""
        arguments = call.child_by_field_name("arguments")
        if arguments is None or arguments.type != "arguments":
            return []
        return [node for node in arguments.named_children if node.type != "comment"]

    def constant(self, node: "Node | None") -> str | None:
        """Return the text of a string that is known in full; None for anything else."""
        if node is None or node.type not in ("string", "template_string"):
            return None
        parts = []
        for child in node.named_children:
            if child.type == "string_fragment":
                parts.append(self.text(child))
            elif child.type == "escape_sequence":
                parts.append(_unescaped(self.text(child)))
            else:
                return None
        return "".join(parts)

    def known_start(self, node: "Node | None") -> str:
        """Return the beginning of a string, as far as it is known."""
        if node is None:
            return ""
        if (constant := self.constant(node)) is not None:
            return constant
        if node.type == "template_string" and node.named_children and node.named_children[0].type == "string_fragment":
            return self.text(node.named_children[0])
        if node.type == "binary_expression":
            return self.known_start(node.child_by_field_name("left"))
        return ""

    def properties(self, node: "Node") -> "dict[str, Node]":
        """Return the values of an object literal by key."""
        found = {}
        for child in node.named_children if node.type == "object" else ():
            if child.type == "pair":
                key, value = child.child_by_field_name("key"), child.child_by_field_name("value")
                if key is not None and value is not None:
                    found[self.constant(key) or self.text(key)] = value
            elif child.type == "shorthand_property_identifier":
                found[self.text(child)] = child
        return found

    # Names

    def binding(self, name: "Node") -> "Node | None":
        """Return the name in the declaration that an identifier refers to; None for globals."""
        text = self.text(name)
        scope = name.parent
        while scope is not None:
            if scope.type in _SCOPES:
                for declared in self._declared(scope):
                    if self.text(declared) == text:
                        return declared
            scope = scope.parent
        return None

    def is_global(self, name: "Node") -> bool:
        """Return whether an identifier is declared nowhere in the script."""
        return self.binding(name) is None

    def _declared(self, scope: "Node") -> "Iterator[Node]":
        if scope.type in FUNCTIONS:
            for field in ("parameters", "parameter", "name"):
                yield from _names_in(scope.child_by_field_name(field))
            return
        if scope.type == "catch_clause":
            yield from _names_in(scope.child_by_field_name("parameter"))
            return
        if scope.type == "for_in_statement":
            yield from _names_in(scope.child_by_field_name("left"))
            return
        for child in scope.named_children:
            yield from self._declared_by(child)

    def _declared_by(self, statement: "Node") -> "Iterator[Node]":
        if statement.type in ("lexical_declaration", "variable_declaration"):
            for declarator in statement.named_children:
                if declarator.type == "variable_declarator":
                    yield from _names_in(declarator.child_by_field_name("name"))
        elif statement.type in ("function_declaration", "generator_function_declaration", "class_declaration"):
            yield from _names_in(statement.child_by_field_name("name"))
        elif statement.type == "export_statement":
            for child in statement.named_children:
                yield from self._declared_by(child)
        elif statement.type == "import_statement":
            yield from (match["name"] for match in self.find("names", statement))

    def value_of(self, binding: "Node") -> "tuple[Node | None, tuple[str, ...]]":
        """Return what a declared name is bound to, and the keys under which the name takes it out of that.

        That is the value of a declaration, or the function of which it is a parameter.
        """
        keys: list[str] = []
        node: Node | None = binding
        while node is not None:
            parent = node.parent
            if parent is None:
                return None, ()
            if parent.type == "pair_pattern":
                keys.insert(0, self.text(parent.named_children[0]))
            elif node.type == "shorthand_property_identifier_pattern":
                keys.insert(0, self.text(node))
            if parent.type == "variable_declarator":
                return parent.child_by_field_name("value"), tuple(keys)
            if parent.type in FUNCTIONS:
                return parent, tuple(keys)
            node = parent
        return None, ()

    def function(self, node: "Node | None") -> "Node | None":
        """Return the function that an expression is: itself, or the declaration that a name refers to."""
        if node is None or node.type in FUNCTIONS:
            return node
        if node.type != "identifier" or (binding := self.binding(node)) is None:
            return None
        if binding.parent is not None and binding.parent.type in FUNCTIONS and _is_name_of(binding, binding.parent):
            return binding.parent
        value, keys = self.value_of(binding)
        return value if value is not None and not keys and value.type in FUNCTIONS else None

    def parameters(self, function: "Node") -> "list[Node]":
        """Return the parameters of a function, as patterns."""
        if (single := function.child_by_field_name("parameter")) is not None:
            return [single]
        parameters = function.child_by_field_name("parameters")
        return list(parameters.named_children) if parameters is not None else []


def unwrapped(node: "Node") -> "Node":
    """Return an expression without parentheses and `await`."""
    while node.type in _WRAPPERS and node.named_child_count:
        node = node.named_children[0]
    return node


def ancestors(node: "Node", top: "Node | None" = None) -> "Iterator[Node]":
    """Yield the nodes around a node, from the inside, up to `top`."""
    parent = node.parent
    while parent is not None:
        yield parent
        if top is not None and parent.id == top.id:
            return
        parent = parent.parent


def _is_name_of(name: "Node", function: "Node") -> bool:
    own = function.child_by_field_name("name")
    return own is not None and own.id == name.id


def _names_in(pattern: "Node | None") -> "Iterator[Node]":
    """Yield the names that a pattern declares."""
    if pattern is None:
        return
    if pattern.type in ("identifier", "shorthand_property_identifier_pattern"):
        yield pattern
    elif pattern.type == "pair_pattern":
        yield from _names_in(pattern.child_by_field_name("value"))
    elif pattern.type in ("assignment_pattern", "object_assignment_pattern"):
        yield from _names_in(pattern.child_by_field_name("left"))
    elif pattern.type in ("object_pattern", "array_pattern", "formal_parameters", "rest_pattern"):
        for child in pattern.named_children:
            yield from _names_in(child)


def _unescaped(text: str) -> str:
    """Return the character of an escape sequence, if it stands for itself, such as a slash."""
    return text[1:] if len(text) == 2 and not text[1].isalnum() else "\ufffd"


@lru_cache(maxsize=64)
def parse(text: str, position: Position) -> Script:
    """Parse a script. The same script is parsed once for all rules."""
    return Script(text, position)


@cache
def _language() -> "Language":
    import tree_sitter_javascript
    from tree_sitter import Language

    grammar: Any = tree_sitter_javascript.language()
    return Language(grammar)


@cache
def _query(name: str) -> "Query":
    from tree_sitter import Query

    return Query(_language(), _QUERIES[name])
