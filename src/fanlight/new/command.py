"""The command line of `fanlight new`: its options, messages and exit codes."""

import argparse
import json
import sys
from pathlib import Path

from fanlight.new.project import Project, ProjectExistsError, check_is_free
from fanlight.new.project_name import ProjectName
from fanlight.new.questions import Ask, ask_name, ask_template
from fanlight.new.template import DEFAULT, TEMPLATES, find_template, listing
from fanlight.protocol.errors import UsageError


def run(options: argparse.Namespace, ask: Ask = input) -> int:
    """Write a project, print what to do with it, and return the exit code."""
    if options.list:
        names = [{"name": template.name, "summary": template.summary} for template in TEMPLATES.values()]
        print(json.dumps({"templates": names}, indent=2) if options.json else listing())
        return 0
    try:
        project = _project(options, ask)
        project.write()
    except UsageError as error:
        return _fail(str(error), 2, options)
    except ProjectExistsError as error:
        return _fail(str(error), 1, options)
    except EOFError:
        print(file=sys.stderr)
        return _fail("the input has ended, so nothing was written.", 2, options)
    print(_as_json(project) if options.json else _as_text(project))
    return 0


def _project(options: argparse.Namespace, ask: Ask) -> Project:
    may_ask = not options.json and sys.stdin.isatty() and sys.stdout.isatty()
    if options.name is None and not may_ask:
        raise UsageError("expected the name of the project, such as fanlight new tide-tables.")
    template = None if options.template is None else find_template(options.template)
    name = ask_name(ask) if options.name is None else ProjectName.parse(options.name)
    check_is_free(Path(name.package))  # before a question whose answer would be in vain
    if template is None:
        template = ask_template(ask) if may_ask else find_template(DEFAULT)
    return Project(name, template, options.build_backend, Path(name.package))


def _as_text(project: Project) -> str:
    commands = "\n".join(f"  {command}" for command in project.commands())
    created = f"Created {project.folder}: template {project.template.name}, {len(project.files())} files."
    return "\n".join([f"{created} Next:\n\n{commands}", *(f"\n{note}" for note in project.notes())])


def _as_json(project: Project) -> str:
    report = {
        "created": True,
        "error": None,
        "folder": str(project.folder.resolve()),
        "template": project.template.name,
        "build_backend": project.build_backend,
        "tool": project.tool,
        "files": list(project.files()),
        "commands": project.commands(),
        "notes": project.notes(),
    }
    return json.dumps(report, indent=2)


def _fail(message: str, code: int, options: argparse.Namespace) -> int:
    if options.json:
        print(json.dumps({"created": False, "error": message}, indent=2))
    print(f"fanlight new: {message}", file=sys.stderr)
    return code
