"""What `fanlight new` asks in a terminal for options that are missing."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from fanlight.new.project import check_is_free
from fanlight.new.project_name import ProjectName
from fanlight.new.template import DEFAULT, TEMPLATES, Template, find_template, listing
from fanlight.protocol.errors import LocalError

Ask = Callable[[str], str]
"""Shows a prompt and returns the line that the user typed, as `input` does."""

Answer = TypeVar("Answer")


def ask_name(ask: Ask) -> ProjectName:
    """Ask for a name that is valid and whose folder is free, until there is one."""

    def read(line: str) -> ProjectName:
        name = ProjectName.parse(line)
        check_is_free(Path(name.package))
        return name

    return _ask_until_valid(ask, "Name of the project: ", read)


def ask_template(ask: Ask) -> Template:
    """Ask for a template, by number or name. An empty line chooses the default."""
    names = list(TEMPLATES)
    lines = "\n".join(f"  {number}  {line}" for number, line in enumerate(listing().splitlines(), 1))

    def read(line: str) -> Template:
        if line.isdecimal() and 1 <= int(line) <= len(names):
            return TEMPLATES[names[int(line) - 1]]
        return find_template(line or DEFAULT)

    return _ask_until_valid(ask, f"{lines}\nTemplate, by number or name [{DEFAULT}]: ", read)


def _ask_until_valid(ask: Ask, prompt: str, read: Callable[[str], Answer]) -> Answer:
    error = ""
    while True:
        try:
            return read(ask(f"{error}{prompt}").strip())
        except LocalError as refused:
            error, prompt = f"{refused}\n", prompt.splitlines()[-1]
