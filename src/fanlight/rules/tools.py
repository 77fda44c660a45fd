"""Rules about tools: which View they name, and who may call them."""

from collections.abc import Iterator, Mapping

from fanlight.protocol.extension import MIME_TYPE
from fanlight.protocol.metadata import FLAT_URI_KEY
from fanlight.rules.observation import Look, content_item, label_of, meta_of, ui_of
from fanlight.rules.rule import (
    ADVICE,
    IMPLIED,
    MAY,
    MUST,
    NOT_BREAKABLE,
    NOT_OBSERVABLE,
    SHOULD,
    TWO_VIEWS,
    Problem,
    Section,
    by_person,
)

section = Section("Tools and visibility")


@section.rule("DSC-01", MUST, "The View that a tool names exists.")
def linked_view_exists(look: Look) -> Iterator[Problem]:
    for tool, uri in look.links():
        if not isinstance(uri, str) or uri not in look.reads:
            continue
        response = look.reads[uri]
        fix = f"Register a resource with the URI {uri}, or correct the tool's resourceUri."
        if response.error is not None:
            message = f"names {uri}, which cannot be read: {response.error.get('message')}"
            yield Problem(label_of(tool), message, fix, key=f"names {uri}, which cannot be read")
        elif content_item(response, uri) is None:
            yield Problem(label_of(tool), f"names {uri}, which is returned without contents.", fix)


section.host_rule(
    "DSC-02",
    MUST,
    "The host fetches a View with `resources/read`.",
    aliases=["resources/read-referenced"],
)
section.unchecked(
    "DSC-03",
    MAY,
    "A host may fetch Views early and cache them.",
    NOT_BREAKABLE,
    binds="host",
    aliases=["resources/prefetch"],
)
section.unchecked("DSC-04", MAY, "A server may leave Views out of `resources/list`.", NOT_BREAKABLE, binds="server")
section.host_rule("DSC-05", IMPLIED, "The host shows the result of a tool that names a View in that View.")
section.unchecked(
    "DSC-06",
    IMPLIED,
    "A host without MCP Apps treats a tool that names a View like any other tool.",
    NOT_OBSERVABLE,
    binds="host",
)


@section.rule(
    "DSC-07",
    IMPLIED,
    "A tool names its View in `_meta.ui.resourceUri`; hosts prefer it to the older flat key, which has the same URI.",
    probe=TWO_VIEWS,
)
def nested_resource_uri(look: Look) -> Iterator[Problem]:
    for tool in look.tools:
        nested, flat = ui_of(tool).get("resourceUri"), meta_of(tool).get(FLAT_URI_KEY)
        if flat is not None and nested is None:
            message = f"names its View only under the older key {FLAT_URI_KEY!r}."
            yield Problem(label_of(tool), message, f"Add _meta.ui.resourceUri: {flat!r}.")
        elif flat is not None and flat != nested:
            message = f"names {nested} and, under the older key, {flat}: hosts show different Views."
            yield Problem(label_of(tool), message, "Write the same URI in both places.")


@section.rule(
    "ADV-01",
    ADVICE,
    "A tool names its View under the older flat key, too.",
    fix=f"Write the same URI to _meta[{FLAT_URI_KEY!r}], too.",
)
def flat_resource_uri(look: Look) -> Iterator[Problem]:
    missing = dict.fromkeys(str(tool.get("name")) for tool, _ in look.links() if FLAT_URI_KEY not in meta_of(tool))
    if missing:
        message = f"{', '.join(missing)}: hosts written for the first draft read only {FLAT_URI_KEY!r}."
        yield Problem("server", message)


@section.rule("ADV-05", ADVICE, "Metadata for ChatGPT is given in the form of the standard, too.")
def chatgpt_metadata(look: Look) -> Iterator[Problem]:
    linked = {str(tool.get("name")) for tool, _ in look.links()}
    for tool in look.tools:
        template = meta_of(tool).get("openai/outputTemplate")
        if template is not None and str(tool.get("name")) not in linked:
            message = f"names its View only as openai/outputTemplate ({template}), which only ChatGPT reads."
            fix = f"Add _meta.ui.resourceUri (a ui:// URI), and serve it as {MIME_TYPE!r} with _meta.ui.csp."
            yield Problem(label_of(tool), message, fix)
    for uri, item in look.contents():
        if "openai/widgetCSP" in meta_of(item) and "csp" not in look.view_meta(uri, item):
            message = "declares its domains only as openai/widgetCSP, which only ChatGPT reads."
            fix = "Add _meta.ui.csp with connectDomains, resourceDomains and frameDomains."
            yield Problem(uri, message, fix)


@section.rule(
    "ADV-06",
    ADVICE,
    "Tools that name a View have annotations.",
    fix=(
        "Set readOnlyHint on tools that change nothing, destructiveHint on others. In Python: "
        "@apps.tool(..., annotations=ToolAnnotations(read_only_hint=True)), with ToolAnnotations from mcp_types."
    ),
)
def tool_annotations(look: Look) -> Iterator[Problem]:
    linked = (tool for tool, _ in look.links())
    without = dict.fromkeys(
        str(tool.get("name")) for tool in linked if not isinstance(tool.get("annotations"), Mapping)
    )
    if without:
        message = f"{', '.join(without)}: without annotations, hosts ask the user before each call."
        yield Problem("server", message)


@section.rule("LNT-12", SHOULD, "Each tool has a unique name.", fix="Give each tool a different name.")
def unique_tool_names(look: Look) -> Iterator[Problem]:
    names = [name for tool in look.tools if isinstance(name := tool.get("name"), str)]
    for name in dict.fromkeys(names):
        if (count := names.count(name)) > 1:
            yield Problem(f"tool {name}", f"is listed {count} times; hosts differ in which one they keep.")


# Visibility

section.host_rule(
    "VIS-01",
    IMPLIED,
    "The model and the View may both call a tool without `visibility`.",
    aliases=["mcp-apps-tool-03", "mcp-apps-tool-06", "mcp-apps-req-04"],
)
section.host_rule(
    "VIS-02",
    MUST,
    'The host does not offer the model a tool without "model" in its `visibility`.',
    by_person(
        "Ask the model which tools of this server it has. probe_wait, probe_record and probe_report must be missing."
    ),
    aliases=["visibility/app-tool-hidden", "mcp-apps-tool-04"],
)
section.host_rule(
    "VIS-03",
    MUST,
    'The host rejects a View\'s call of a tool without "app" in its `visibility`.',
    aliases=["visibility/app-tool-call-guard", "mcp-apps-tool-05"],
)
section.host_rule("VIS-04", IMPLIED, "A View can call only tools of its own server.")
section.host_rule("VIS-05", IMPLIED, "Neither the model nor a View may call a tool with an empty `visibility`.")


@section.rule(
    "LNT-01", IMPLIED, 'The `visibility` of a tool is a list of "model" and "app".', aliases=["mcp-apps-tool-07"]
)
def visibility_values(look: Look) -> Iterator[Problem]:
    for tool in look.tools:
        visibility = ui_of(tool).get("visibility")
        if visibility is None:
            continue
        if not isinstance(visibility, list):
            message = f"has the visibility {visibility!r}, which is not a list."
            yield Problem(label_of(tool), message, 'Write ["model", "app"].')
        elif not visibility:
            message = "has an empty visibility: neither the model nor a View may call it."
            yield Problem(label_of(tool), message, 'Write ["app"] or ["model"], or leave it out for both.')
        elif unknown := [value for value in visibility if value not in ("model", "app")]:
            yield Problem(label_of(tool), f"has {unknown[0]!r} in its visibility.", 'Write only "model" and "app".')


@section.rule(
    "LNT-10",
    ADVICE,
    "A server with a tool that only Views may call has a View.",
    fix='Add "model" to its visibility, or add a tool with a View.',
)
def app_only_tool_has_a_view(look: Look) -> Iterator[Problem]:
    if any(True for _ in look.links()):
        return
    for tool in look.tools:
        visibility = ui_of(tool).get("visibility")
        if isinstance(visibility, list) and "app" in visibility and "model" not in visibility:
            yield Problem(label_of(tool), "can be called only by Views, and no tool of this server has one.")
