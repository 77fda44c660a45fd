"""A to-do list: state on the server, a form in the View, and tools that only the View can call."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

from fanlight import Apps

server = MCPServer("todo")
apps = Apps(server)


@dataclass
class Todo:
    id: int
    text: str
    done: bool = False


@dataclass
class Todos:
    items: list[Todo]
    text: str


@dataclass
class Store:
    """The to-do items, in memory."""

    items: dict[int, Todo] = field(default_factory=dict)
    ids: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def add(self, text: str) -> None:
        if not text.strip():
            raise ToolError("The text of a to-do is empty. Write what is to be done.")
        todo = Todo(next(self.ids), text.strip()[:200])
        self.items[todo.id] = todo

    def get(self, id: int) -> Todo:
        if id not in self.items:
            raise ToolError(f"There is no to-do {id}. Call show_todos for the list.")
        return self.items[id]

    def all(self) -> Todos:
        items = list(self.items.values())
        lines = [f"{'[x]' if item.done else '[ ]'} {item.id}. {item.text}" for item in items]
        return Todos(items, "\n".join(lines) or "Nothing to do.")


store = Store()
for text in ("Read the tutorial", "Write a View", "Show it to somebody"):
    store.add(text)


@apps.tool(view="todo.html")
def show_todos() -> Todos:
    "Show the to-do list."
    return store.all()


@apps.tool(view="todo.html")
def add_todo(text: str) -> Todos:
    "Add a to-do to the list."
    store.add(text)
    return store.all()


@apps.tool(visibility=["app"])
def toggle_todo(id: int) -> Todos:
    "Mark a to-do as done, or as not done."
    todo = store.get(id)
    todo.done = not todo.done
    return store.all()


@apps.tool(visibility=["app"])
def remove_todo(id: int) -> Todos:
    "Remove a to-do from the list."
    del store.items[store.get(id).id]
    return store.all()


if __name__ == "__main__":
    server.run()
