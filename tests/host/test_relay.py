"""`Host.relay`: the back end of front ends that render MCP Apps themselves, over HTTP and without a browser."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import pytest
from mcp.server import MCPServer
from starlette.requests import HTTPConnection

from fanlight import Apps, Csp, View
from fanlight.host import Host, Limits, Message, Policy, Question, RequestError, UnknownViewError
from fanlight.host.host import runtime_of
from fanlight.host.relay.documents import relayed_directives
from fanlight.protocol import csp as declared
from support.calls import context_of
from support.fake_web import PROXY_NAME, VIEW_NAME
from support.mcpui import embedding, html_resource

pytestmark = pytest.mark.anyio

URI = "ui://deals/view"
HTML = "<!doctype html><title>Deals</title><p>Two deals</p>"
ADDRESS = "http://localhost:8000"
OWN = {"origin": ADDRESS, "sec-fetch-site": "same-origin"}


class Deals:
    """A server with a View, a tool that anybody may call, one only for Views, and one only for the model."""

    def __init__(self) -> None:
        self.deleted: list[int] = []
        self.is_waiting = anyio.Event()
        self.go_on = anyio.Event()
        self.server: MCPServer[Any] = MCPServer("deals")
        apps = Apps(self.server)
        csp = Csp(connect_domains=["https://api.example.com"], resource_domains=["https://cdn.example.com"])
        apps.view(View.html(HTML, uri=URI, csp=csp, permissions=["camera"], prefers_border=True))

        @apps.tool(view=URI)
        def show_deals() -> str:
            return "two deals"

        @apps.tool(view=URI, visibility=["app"])
        def delete_deal(id: int = 1) -> str:
            self.deleted.append(id)
            return f"deleted {id}"

        @apps.tool(view=URI, visibility=["model"])
        def pay() -> str:
            raise AssertionError("Only the model may call this.")

        @apps.tool(view=URI, visibility=["app"])
        async def wait() -> str:
            self.is_waiting.set()
            await self.go_on.wait()
            return "done"

        @apps.tool(view=URI, visibility=["app"])
        def big() -> str:
            return "x" * 5_000

        @self.server.resource("data://deals")
        def data() -> str:
            return "data"


def cookie(connection: HTTPConnection) -> str | None:
    return connection.cookies.get("user")


ALLOWED = Policy({"tools": "allow", "messages": "allow", "links": "allow"})


@asynccontextmanager
async def hosted(**options: Any) -> AsyncIterator[tuple[Host, Deals]]:
    deals = Deals()
    async with Host({"deals": deals.server}, **{"policy": ALLOWED, **options}) as host:
        await host.servers["deals"].ready()
        yield host, deals


def client(host: Host, /, user: str | None = None, **headers: str) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(
        transport=httpx2.ASGITransport(app=host.relay()),
        base_url=ADDRESS,
        headers={**OWN, **headers},
        cookies={} if user is None else {"user": user},
    )


async def opened(host: Host, user: str | None = None, conversation: str = "c1") -> str:
    """Call the tool with the View, and return the `serverId` for the front end."""
    chat = host.conversation(conversation, user=user)
    call = await chat.call_tool("deals__show_deals", {})
    app = await chat.relay_app(call.views[0].view)
    assert app["resourceUri"] == URI
    assert app["mimeType"] == "text/html;profile=mcp-app"
    return str(app["serverId"])


async def post(http: httpx2.AsyncClient, server_id: str, method: str, **params: Any) -> httpx2.Response:
    return await http.post("/", json={"method": method, "params": {"serverId": server_id, **params}})


def message(response: httpx2.Response) -> str:
    return str(response.json()["error"]["message"])


# What the contract has


async def test_a_document_comes_with_its_policy_inside_and_what_the_host_approved() -> None:
    """Whatever the sandbox of the front end allows, the View reaches only what it declared."""
    async with hosted() as (host, _), client(host) as http:
        response = await post(http, await opened(host), "mcp-apps/read-resource", uri=URI)
    assert response.status_code == 200
    document = response.json()
    html = document.pop("html")
    assert html.startswith('<!doctype html><meta http-equiv="Content-Security-Policy" content="default-src &#x27;none')
    assert "connect-src https://api.example.com;" in html
    assert html.endswith(HTML.removeprefix("<!doctype html>"))
    sandbox = document.pop("sandboxUrl")
    assert sandbox.startswith("http://sandbox.localhost:8000/proxy?host=http%3A%2F%2Flocalhost%3A8000&")
    assert "view=" not in sandbox
    assert document == {
        "uri": URI,
        "mimeType": "text/html;profile=mcp-app",
        "meta": {
            "csp": {"connectDomains": ["https://api.example.com"], "resourceDomains": ["https://cdn.example.com"]},
            "prefersBorder": True,
        },
        "tools": ["show_deals", "delete_deal", "wait", "big"],
    }


def test_the_policy_inside_a_document_does_not_name_the_documents_own_origin() -> None:
    """A front end may show it at the origin of the page, which `'self'` would be then."""
    assert "'self'" not in str(relayed_directives(declared.Csp(connect_domains=("https://a.example",)), "compat"))
    assert relayed_directives(None, "strict")["base-uri"] == ("'none'",)
    assert "frame-ancestors" not in relayed_directives(None, "strict")


async def test_a_view_calls_tools_and_reads_resources_of_its_own_server() -> None:
    async with hosted() as (host, deals), client(host) as http:
        server_id = await opened(host)
        called = await post(http, server_id, "tools/call", name="delete_deal", arguments={"id": 7})
        read = await post(http, server_id, "resources/read", uri="data://deals")
        listed = await post(http, server_id, "resources/list")
    assert called.json()["content"] == [{"type": "text", "text": "deleted 7"}]
    assert deals.deleted == [7]
    assert read.json()["contents"][0]["text"] == "data"
    assert "data://deals" in [each["uri"] for each in listed.json()["resources"]]
    assert called.headers["cache-control"] == "no-store"


async def test_a_view_sends_messages_and_model_context_if_the_page_forwards_them() -> None:
    async with hosted() as (host, _), client(host) as http:
        received: list[Message] = []
        host.on_message(received.append)
        server_id = await opened(host)
        text = [{"type": "text", "text": "Two left."}]
        sent = await post(http, server_id, "ui/message", role="user", content=text)
        told = await post(http, server_id, "ui/update-model-context", content=text, structuredContent={"left": 2})
        link = await post(http, server_id, "ui/open-link", url="https://example.com/")
        assert [response.json() for response in (sent, told, link)] == [{}, {}, {}]
        assert [each.text for each in received] == ["Two left."]
        (update,) = await host.conversation("c1").context()
        assert update.text == "Two left."
        assert update.structured_content == {"left": 2}
        assert len(await context_of(host, "c1")) == 1


@pytest.mark.parametrize(
    ("method", "params", "status", "part"),
    [
        ("nonsense", {}, 400, "Method not found"),
        ("tools/call", {"name": 7}, 400, "expected a string"),
        ("tools/call", {"name": "delete_deal", "arguments": []}, 400, "expected an object"),
        ("ui/message", {"role": "assistant", "content": []}, 400, 'expected "user"'),
        ("ui/download-file", {"contents": []}, 400, "Only <mcp-app>"),
        ("ui/open-link", {"url": "javascript:alert(1)"}, 403, "Only http and https"),
        ("resources/read", {"uri": "data://none"}, 400, "data://none"),
    ],
)
async def test_an_invalid_request_gets_an_error_that_says_why(
    method: str, params: dict[str, Any], status: int, part: str
) -> None:
    async with hosted() as (host, _), client(host) as http:
        response = await post(http, await opened(host), method, **params)
    assert response.status_code == status
    assert part in message(response)


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (b"[]", "Expected a JSON object"),
        (b"{", "Expected a JSON object"),
        (b'{"method": "tools/call"}', "params to be an object"),
        (b'{"method": "tools/call", "params": {}}', "Conversation.relay_app()"),
    ],
)
async def test_a_body_without_a_request_gets_an_error_that_says_what_was_expected(content: bytes, part: str) -> None:
    async with hosted() as (host, _), client(host) as http:
        response = await http.post("/", content=content, headers={"content-type": "application/json"})
    assert response.status_code == 400
    assert part in message(response)


# Who may use it


async def test_a_view_of_another_user_cannot_be_used() -> None:
    """Goes red if the owner is not compared. Bob knows the id of the View of Alice."""
    async with hosted(user=cookie) as (host, deals):
        server_id = await opened(host, "alice")
        for user, status in (("alice", 200), ("bob", 404), (None, 401)):
            async with client(host, user) as http:
                response = await post(http, server_id, "tools/call", name="delete_deal")
                assert response.status_code == status
                assert (await post(http, server_id, "mcp-apps/read-resource", uri=URI)).status_code == status
        assert deals.deleted == [1]


async def test_without_users_a_view_needs_its_token() -> None:
    """Goes red if the token is not checked: the id of a View is not a secret."""
    async with hosted() as (host, deals), client(host) as http:
        server_id, other = await opened(host), await opened(host)
        view = server_id.partition(".")[0]
        for wrong in (view, f"{view}.", f"{view}.x", f"{view}.{other.partition('.')[2]}"):
            response = await post(http, wrong, "tools/call", name="delete_deal")
            assert response.status_code == 404
            assert "not yours" in message(response)
        assert deals.deleted == []


async def test_with_users_the_server_id_has_no_token_so_that_a_history_can_keep_it() -> None:
    async with hosted(user=cookie) as (host, _):
        assert "." not in await opened(host, "alice")


async def test_a_closed_view_and_one_that_does_not_exist_cannot_be_used() -> None:
    async with hosted(user=cookie) as (host, _), client(host, "alice") as http:
        server_id = await opened(host, "alice")
        await host.close_view(server_id)
        for closed in (server_id, "nonsense"):
            response = await post(http, closed, "tools/call", name="delete_deal")
            assert (response.status_code, "was closed" in message(response)) == (404, True)


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "null"},
        {"origin": "http://evil.example"},
        {"origin": "http://sandbox.localhost:8000"},
        {"origin": f"http://{VIEW_NAME}"},
        {"origin": ADDRESS, "sec-fetch-site": "cross-site"},
    ],
)
async def test_a_page_of_another_origin_cannot_use_it(headers: dict[str, str]) -> None:
    """Cross-site request forgery. Goes red without the check of the origin."""
    async with hosted(user=cookie) as (host, deals), client(host, "alice", **headers) as http:
        response = await post(http, await opened(host, "alice"), "tools/call", name="delete_deal")
        assert response.status_code == 403
        assert "access-control-allow-origin" not in response.headers
        assert deals.deleted == []


async def test_a_request_without_an_origin_is_refused() -> None:
    async with hosted(user=cookie) as (host, _):
        transport = httpx2.ASGITransport(app=host.relay())
        async with httpx2.AsyncClient(transport=transport, base_url=ADDRESS, cookies={"user": "alice"}) as http:
            response = await post(http, await opened(host, "alice"), "tools/call", name="delete_deal")
    assert response.status_code == 403


async def test_a_form_of_another_site_has_another_content_type() -> None:
    """Goes red without the check of the content type, which a form or a simple request cannot have."""
    async with hosted() as (host, deals), client(host) as http:
        body = {"method": "tools/call", "params": {"serverId": await opened(host), "name": "delete_deal"}}
        response = await http.post("/", content=json.dumps(body), headers={"content-type": "text/plain"})
        assert response.status_code == 415
        assert deals.deleted == []


@pytest.mark.parametrize("name", [PROXY_NAME, VIEW_NAME, "evil.example:8000"])
async def test_no_other_host_name_has_the_route(name: str) -> None:
    async with hosted() as (host, _), client(host, host=name) as http:
        response = await post(http, await opened(host), "tools/call", name="delete_deal")
    assert response.status_code == 421


async def test_only_post_is_allowed() -> None:
    async with hosted() as (host, _), client(host) as http:
        response = await http.get("/")
    assert (response.status_code, response.headers["allow"]) == (405, "POST")


async def test_a_page_of_a_configured_origin_may_use_it_with_cookies() -> None:
    page = {"origin": "https://app.example.com", "sec-fetch-site": "cross-site"}
    async with hosted(user=cookie, origins=[page["origin"]]) as (host, _), client(host, "alice", **page) as http:
        preflight = await http.options("/")
        response = await post(http, await opened(host, "alice"), "tools/call", name="delete_deal")
        document = await post(http, await opened(host, "alice"), "mcp-apps/read-resource", uri=URI)
    assert preflight.status_code == 204
    assert preflight.headers["access-control-allow-headers"] == "content-type"
    assert response.status_code == 200
    assert response.headers["access-control-allow-origin"] == page["origin"]
    assert response.headers["access-control-allow-credentials"] == "true"
    assert "host=https%3A%2F%2Fapp.example.com" in document.json()["sandboxUrl"]


async def test_the_programs_own_check_can_refuse_a_view() -> None:
    """Goes red if `Host(authorize=)` is not asked."""
    asked: list[str] = []

    def authorize(connection: HTTPConnection, view: str) -> bool:
        asked.append(view)
        return connection.headers.get("x-may") == "yes"

    async with hosted(user=cookie, authorize=authorize) as (host, deals):
        server_id = await opened(host, "alice")
        for may, status in (("no", 403), ("yes", 200)):
            async with client(host, "alice", **{"x-may": may}) as http:
                assert (await post(http, server_id, "tools/call", name="delete_deal")).status_code == status
        assert asked == [server_id, server_id]
        assert deals.deleted == [1]


async def test_a_host_that_stops_sends_requests_to_another_process() -> None:
    async with hosted() as (host, _), client(host) as http:
        server_id = await opened(host)
        await host.drain(0)
        assert (await post(http, server_id, "tools/call", name="delete_deal")).status_code == 503
    async with client(host) as http:
        assert (await post(http, server_id, "tools/call", name="delete_deal")).status_code == 503


# What a View may do


@pytest.mark.parametrize("name", ["pay", "nonsense"])
async def test_a_view_cannot_call_a_tool_that_only_the_model_may_call(name: str) -> None:
    """VIS-03, VIS-04."""
    async with hosted() as (host, _), client(host) as http:
        response = await post(http, await opened(host), "tools/call", name=name)
    assert response.status_code == 400
    assert "Views may not call" in message(response)


async def test_a_view_cannot_call_the_tools_of_another_server() -> None:
    other: MCPServer[Any] = MCPServer("other")

    @other.tool()
    def reach() -> str:
        raise AssertionError

    async with Host({"deals": Deals().server, "other": other}, policy=ALLOWED) as host, client(host) as http:
        for server in ("deals", "other"):
            await host.servers[server].ready()
        response = await post(http, await opened(host), "tools/call", name="reach")
    assert response.status_code == 400


async def test_what_needs_consent_is_refused_if_nobody_can_be_asked() -> None:
    async with hosted(policy=Policy({"tools": "ask"})) as (host, deals), client(host) as http:
        response = await post(http, await opened(host), "tools/call", name="delete_deal")
        assert response.status_code == 403
        assert "this page cannot ask" in message(response)
        assert "Host.on_question" in message(response)
        assert deals.deleted == []


@pytest.mark.parametrize(("answer", "deleted"), [("deny", []), ("once", [1, 1]), ("always", [1, 1])])
async def test_the_program_asks_for_consent(answer: Any, deleted: list[int]) -> None:
    asked: list[Question] = []
    async with hosted(policy=Policy({"tools": "ask"}), user=cookie) as (host, deals), client(host, "alice") as http:

        @host.on_question
        def ask(question: Question) -> Any:
            asked.append(question)
            return answer

        server_id = await opened(host, "alice")
        for _ in range(2):
            response = await post(http, server_id, "tools/call", name="delete_deal")
            assert response.status_code == (403 if answer == "deny" else 200)
        assert deals.deleted == deleted
        assert asked[0].user == "alice"
        assert asked[0].conversation == "c1"
        assert "delete_deal" in asked[0].text
        assert len(asked) == (2 if answer == "deny" else 1)
        assert len(await host.grants("alice")) == (answer == "always")
        assert await host.grants("bob") == []


async def test_a_document_that_the_policy_denies_is_not_given() -> None:
    async with hosted(policy=Policy({"allow_documents": ["0" * 64]})) as (host, _), client(host) as http:
        response = await post(http, await opened(host), "mcp-apps/read-resource", uri=URI)
    assert response.status_code == 403
    assert "is not shown" in message(response)


async def test_domains_that_the_policy_denies_are_not_in_the_document() -> None:
    async with hosted(policy=Policy({"block_domains": ["*.example.com"]})) as (host, _), client(host) as http:
        document = (await post(http, await opened(host), "mcp-apps/read-resource", uri=URI)).json()
    assert "example.com" not in document["html"]
    assert "example.com" not in json.dumps(document["meta"])


async def embedded(host: Host) -> str:
    """Call the tool that embeds a View of mcp-ui, and return the `serverId`."""
    await host.servers["w"].ready()
    chat = host.conversation("c1")
    call = await chat.call_tool("w__show", {})
    return str((await chat.relay_app(call.views[0].view))["serverId"])


async def test_a_view_that_is_a_web_page_in_a_frame_cannot_be_relayed() -> None:
    page = html_resource("https://example.com/", "text/uri-list")
    async with Host({"w": embedding("w", show=page)}) as host, client(host) as http:
        response = await post(http, await embedded(host), "mcp-apps/read-resource")
    assert response.status_code == 403
    assert message(response) == "This View is a web page in a frame, which only <mcp-app> can show."


async def test_a_view_of_mcp_ui_gets_its_shim() -> None:
    async with Host({"w": embedding("w", show=html_resource("<p>Hello</p>"))}) as host, client(host) as http:
        html = (await post(http, await embedded(host), "mcp-apps/read-resource")).json()["html"]
    assert html.startswith("<!doctype html><meta http-equiv=")
    assert "<script>" in html
    assert html.endswith("<p>Hello</p>")


# Limits


async def test_a_request_that_is_too_large_is_refused() -> None:
    async with hosted(limits=Limits(message_bytes=1_000)) as (host, deals), client(host) as http:
        server_id = await opened(host)
        response = await post(http, server_id, "tools/call", name="delete_deal", arguments={"x": "y" * 1_000})
        assert response.status_code == 413
        view = server_id.partition(".")[0]
        with pytest.raises(RequestError, match="at most 1,000 are allowed"):
            await host.conversation("c1").relay(view, "tools/call", {"name": "delete_deal", "x": "y" * 1_000})
        assert deals.deleted == []


async def test_a_result_that_is_too_large_is_an_error() -> None:
    async with hosted(limits=Limits(result_characters=1_000)) as (host, _), client(host) as http:
        response = await post(http, await opened(host), "tools/call", name="big")
    assert response.status_code == 403
    assert "at most 1,000 are allowed" in message(response)


async def test_a_view_that_sends_too_many_requests_is_refused_and_others_are_not() -> None:
    async with hosted(limits=Limits(messages_per_second=1)) as (host, deals), client(host) as http:
        first, other = await opened(host), await opened(host)
        statuses = [(await post(http, first, "tools/call", name="delete_deal")).status_code for _ in range(3)]
        assert statuses[0] == 200
        assert 429 in statuses
        assert (await post(http, other, "tools/call", name="delete_deal")).status_code == 200
        assert len(deals.deleted) == statuses.count(200) + 1


async def test_a_view_has_a_limited_number_of_requests_at_once() -> None:
    async with hosted(limits=Limits(requests_in_flight=1)) as (host, deals), client(host) as http:
        server_id = await opened(host)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: post(http, server_id, "tools/call", name="wait"))
            with anyio.fail_after(60):
                await deals.is_waiting.wait()
            response = await post(http, server_id, "tools/call", name="delete_deal")
            assert response.status_code == 429
            assert "1 requests without a response" in message(response)
            deals.go_on.set()
        assert (await post(http, server_id, "tools/call", name="delete_deal")).status_code == 200


async def test_what_is_kept_of_views_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fanlight.host.relay.service._MAX_VIEWS", 1)
    async with hosted(policy=Policy({"tools": "ask"})) as (host, deals), client(host) as http:
        host.on_question(lambda _: "once")
        first, second = await opened(host), await opened(host)
        for server_id in (first, second, first):
            assert (await post(http, server_id, "tools/call", name="delete_deal")).status_code == 200
        assert len(runtime_of(host).relayed._usage) == 1
        assert len(deals.deleted) == 3


# What is recorded


async def test_requests_decisions_and_documents_are_in_the_audit_as_those_of_views_in_pages_are() -> None:
    limits = Limits(requests_in_flight=1)
    async with hosted(user=cookie, limits=limits) as (host, _), client(host, "alice") as http:
        server_id = await opened(host, "alice")
        await post(http, server_id, "mcp-apps/read-resource", uri=URI)
        await post(http, server_id, "tools/call", name="delete_deal", arguments={"id": 3})
        await post(http, server_id, "tools/call", name="pay")
        records = [record async for record in host.audit(view=server_id)]
    assert {(record.user, record.conversation, record.server) for record in records} == {("alice", "c1", "deals")}
    seen = {(record.kind, record.name, record.outcome) for record in records}
    assert {
        ("document", URI, "shown"),
        ("message", "mcp-apps/read-resource", "ok"),
        ("message", "tools/call", "ok"),
        ("message", "tools/call", "error"),
        ("decision", "tool", "allowed"),
    } <= seen
    (called,) = [record for record in records if record.name == "tools/call" and record.outcome == "ok"]
    assert called.data is not None
    assert called.data["tool"] == "delete_deal"
    assert called.bytes_in
    assert called.duration is not None


# The same for programs


async def test_a_conversation_relays_only_for_its_own_views() -> None:
    async with hosted(user=cookie) as (host, deals):
        view = await opened(host, "alice")
        chat = host.conversation("c1", user="alice")
        result = await chat.relay(view, "tools/call", {"name": "delete_deal"})
        assert result["content"][0]["text"] == "deleted 1"
        for other in (host.conversation("c2", user="alice"), host.conversation("c1", user="bob")):
            with pytest.raises(UnknownViewError):
                await other.relay(view, "tools/call", {"name": "delete_deal"})
            with pytest.raises(UnknownViewError):
                await other.relay_app(view)
        assert deals.deleted == [1]
        assert await chat.relay(view, "ping", {}) == {}
