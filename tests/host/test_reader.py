import base64
import hashlib
from collections.abc import Callable
from typing import Any

import anyio
import pytest
from mcp.server import MCPServer
from mcp.server.mcpserver import Context

from fanlight import Apps, Csp, View
from fanlight.host.documents.reader import DocumentReader, read_document
from fanlight.host.documents.tool_link import link_problem, view_uri
from fanlight.host.documents.view_document import ViewDocument
from fanlight.host.errors import ConnectionLostError, ServerError, ViewError, ViewUnavailableError
from fanlight.host.upstream.events import (
    Listener,
    ResourcesChanged,
    ResourceUpdated,
    ServerEvent,
    Status,
    StatusChanged,
)
from fanlight.host.upstream.servers import Servers
from fanlight.protocol.extension import MIME_TYPE
from support.shop import ALL_KINDS, BLOB_URI, CART_HTML, CART_URI, HIGH_LEVEL, Kind, build, cart_view

pytestmark = pytest.mark.anyio

URI = "ui://a/b"
PAGE = "<!doctype html><p>Grüße</p>"


class Fake:
    """A source that returns the contents, list or error that a test sets."""

    def __init__(self, *contents: Any, listed: list[dict[str, Any]] | None = None) -> None:
        self.name = "fake"
        self.user: str | None = None
        self.contents: list[Any] = list(contents)
        self.listed = listed
        self.reads = 0
        self.listeners: list[Listener] = []
        self.followed: list[str] = []
        self.during_read: Callable[[], None] = lambda: None
        self.error: Exception | None = None

    async def read_resource(self, uri: str) -> dict[str, Any]:
        self.reads += 1
        await anyio.lowlevel.checkpoint()
        self.during_read()
        if self.error is not None:
            raise self.error
        return {"contents": self.contents}

    async def list_resources(self, cursor: str | None = None) -> dict[str, Any]:
        if self.listed is None:
            raise ServerError("fake", -32601, "Method not found")
        at = int(cursor or 0)
        page: dict[str, Any] = {"resources": self.listed[at : at + 1]}
        return page if at + 1 >= len(self.listed) else {**page, "nextCursor": str(at + 1)}

    def add_listener(self, listener: Listener) -> Callable[[], None]:
        self.listeners.append(listener)
        return lambda: self.listeners.remove(listener)

    def watch_resource(self, uri: str) -> None:
        self.followed.append(uri)

    def tell(self, news: ServerEvent) -> None:
        for listener in self.listeners:
            listener(news)


def item(**more: Any) -> dict[str, Any]:
    return {"uri": URI, "mimeType": MIME_TYPE, "text": PAGE, **more}


def ui(**fields: Any) -> dict[str, Any]:
    return {"ui": fields}


async def read(*contents: Any, listed: list[dict[str, Any]] | None = None) -> ViewDocument:
    return await read_document(Fake(*contents, listed=listed), URI)


# The link of a tool


@pytest.mark.parametrize(
    ("meta", "uri"),
    [
        ({"ui": {"resourceUri": URI}}, URI),
        ({"ui/resourceUri": URI}, URI),
        ({"ui": {"resourceUri": URI}, "ui/resourceUri": "ui://old"}, URI),
        ({"ui": {"visibility": ["app"]}, "ui/resourceUri": URI}, URI),
        ({"ui": "nonsense", "ui/resourceUri": URI}, URI),
        ({"ui": {"resourceUri": "https://evil.example"}, "ui/resourceUri": URI}, None),
        ({"ui": {"resourceUri": "ui://"}}, None),
        ({"ui": {"resourceUri": 3}}, None),
        ({"ui": {}}, None),
        ({}, None),
    ],
)
def test_a_nested_link_wins_over_a_flat_one_and_must_be_a_ui_uri(meta: dict[str, Any], uri: str | None) -> None:
    assert view_uri({"name": "t", "_meta": meta}) == uri
    assert view_uri({"name": "t", "meta": meta}) == uri


def test_only_an_invalid_link_is_reported_as_a_problem() -> None:
    assert "not a ui:// URI" in str(link_problem({"name": "t", "_meta": ui(resourceUri="https://a.example")}))
    assert link_problem({"name": "t", "_meta": ui(resourceUri=URI)}) is None
    assert link_problem({"name": "t"}) is None


# The document


async def test_the_item_with_exactly_the_requested_uri_is_used() -> None:
    other = item(uri="ui://a/B", text="no")
    assert (await read(other, item(), item(text="second"))).html == PAGE


async def test_a_single_item_with_another_uri_is_used_and_reported() -> None:
    document = await read(item(uri="ui://a/%62"))
    assert (document.uri, document.html) == (URI, PAGE)
    assert "not the one asked for" in document.problems[0]


@pytest.mark.parametrize(
    ("contents", "words"),
    [
        ([], "came without contents"),
        ([item(uri="ui://x"), item(uri="ui://y")], "came with 2 items, none of this very URI"),
        ([{"uri": URI, "mimeType": MIME_TYPE}], "neither text nor blob"),
        ([item(text=None, blob=base64.b64encode(b"\xff\xfe").decode())], "not base64 of UTF-8"),
        ([item(text=None, blob="A")], "not base64 of UTF-8"),
        ([item(text=None, blob="é")], "not base64 of UTF-8"),
        ([item(mimeType="application/json")], "has the MIME type 'application/json', not HTML"),
    ],
)
async def test_unusable_contents_are_refused_with_the_reason(contents: list[Any], words: str) -> None:
    with pytest.raises(ViewError) as refused:
        await read(*contents)
    assert words in str(refused.value)
    assert URI in str(refused.value)


async def test_a_blob_is_read_as_utf_8_and_hashed_like_the_same_text() -> None:
    blob = item(blob=base64.b64encode(PAGE.encode()).decode())
    del blob["text"]
    assert (await read(blob)).html == PAGE
    assert (await read(blob)).sha256 == (await read(item())).sha256 == hashlib.sha256(PAGE.encode()).hexdigest()


async def test_a_lone_surrogate_is_replaced() -> None:
    assert (await read(item(text="a\ud800b"))).html == "a?b"


@pytest.mark.parametrize("mime", ["text/html", 'Text/HTML; profile="mcp-app"', "text/html+skybridge", None])
async def test_another_mime_type_for_html_is_accepted_and_flagged(mime: str | None) -> None:
    document = await read(item(mimeType=mime))
    assert not document.mime_exact
    assert MIME_TYPE in document.problems[0]
    assert (await read(item())).mime_exact


# The metadata


async def test_the_items_metadata_takes_precedence_over_the_lists() -> None:
    listed = [{"uri": URI, "_meta": ui(csp={"connectDomains": ["https://list.example"]}, prefersBorder=True)}]
    document = await read(item(_meta=ui(csp={"connectDomains": ["https://item.example"]})), listed=listed)
    assert document.csp == Csp(connect_domains=["https://item.example"])
    assert document.prefers_border is None


async def test_the_lists_metadata_is_used_if_the_item_has_none() -> None:
    listed: list[dict[str, Any]] = [{"uri": "ui://other"}, {"uri": URI, "_meta": ui(prefersBorder=False)}]
    assert (await read(item(), listed=listed)).prefers_border is False


async def test_an_unlisted_view_is_read_without_metadata() -> None:
    assert (await read(item(), listed=[])).csp is None
    assert (await read(item(), listed=None)).csp is None


async def test_meta_is_read_for_underscore_meta() -> None:
    assert (await read(item(meta=ui(prefersBorder=True)))).prefers_border is True


async def test_invalid_declarations_are_reported_and_valid_ones_kept() -> None:
    document = await read(
        item(
            _meta=ui(
                csp={
                    "connectDomains": ["https://good.example", "https://x; script-src *", "*", 3],
                    "resourceDomains": "https://a.example",
                    "frameDomains": None,
                },
                permissions={"camera": {}, "clipboardWrite": True, "microphone": False, "usb": {}},
                domain="https://a.example/x",
                prefersBorder="yes",
            )
        )
    )
    assert document.csp == Csp(connect_domains=["https://good.example"])
    assert document.permissions == ("camera", "clipboard-write")
    assert (document.domain, document.prefers_border) == (None, None)
    reported = "\n".join(document.problems)
    for field in ("connectDomains[1]", "connectDomains[2]", "connectDomains[3]", "resourceDomains", "usb", "domain"):
        assert field in reported
    assert "prefersBorder" in reported


@pytest.mark.parametrize("nonsense", [3, "x", ["https://a.example"], True])
async def test_metadata_of_the_wrong_type_never_raises(nonsense: Any) -> None:
    document = await read(item(_meta=ui(csp=nonsense, permissions=nonsense, domain=nonsense, prefersBorder=None)))
    assert document.csp is None
    assert document.permissions == ()
    assert (await read(item(_meta={"ui": nonsense}), listed=[])).html == PAGE
    assert (await read(item(_meta=nonsense), listed=[])).html == PAGE


# The memory


async def test_concurrent_reads_of_a_document_are_one_request() -> None:
    fake, views = Fake(item()), DocumentReader()
    async with anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(views.read, fake, URI)
    await views.read(fake, URI)
    assert fake.reads == 1


async def test_concurrent_reads_that_fail_are_one_request_too() -> None:
    """Goes red if each reader waits for the failure of the one before it, and then for its own."""
    fake, views = Fake(item()), DocumentReader()
    fake.error = ConnectionLostError("fake", "the connection was lost.")

    async def read_one() -> None:
        with pytest.raises(ViewUnavailableError):
            await views.read(fake, URI)

    async with anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(read_one)
    assert fake.reads == 1


async def test_the_documents_of_two_users_are_cached_side_by_side() -> None:
    """Goes red if the user is left out of the key: each would drop the document of the other."""
    views = DocumentReader()
    sources = [Fake(item(text=user)) for user in ("alice", "bob")]
    for source, user in zip(sources, ("alice", "bob"), strict=True):
        source.user = user
    for _ in range(3):
        assert [(await views.read(source, URI)).html for source in sources] == ["alice", "bob"]
    assert [source.reads for source in sources] == [1, 1]
    sources[0].tell(ResourcesChanged("fake", user="alice"))
    for source in sources:
        await views.read(source, URI)
    assert [source.reads for source in sources] == [2, 1]


async def test_a_failure_of_a_former_connection_is_not_that_of_the_next_one() -> None:
    """Goes red if readers of a user's new connection wait for a read over the old one."""
    former, fake, views = Fake(), Fake(item()), DocumentReader()
    go_on = anyio.Event()

    async def hang(uri: str) -> dict[str, Any]:
        await go_on.wait()
        raise ConnectionLostError("fake", "it is closed.")

    former.read_resource = hang  # type: ignore[method-assign]

    async def read_former() -> None:
        with pytest.raises(ViewUnavailableError):
            await views.read(former, URI)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read_former)
        await anyio.wait_all_tasks_blocked()
        with anyio.fail_after(60):
            assert (await views.read(fake, URI)).html == PAGE
        go_on.set()


@pytest.mark.parametrize(
    "event", [ResourcesChanged("fake"), ResourceUpdated("fake", URI), StatusChanged("fake", Status("retrying"))]
)
async def test_a_document_is_read_again_after_a_change(event: ServerEvent) -> None:
    fake, views = Fake(item(text="old")), DocumentReader()
    await views.read(fake, URI)
    fake.contents = [item(text="new")]
    fake.tell(event)
    assert (await views.read(fake, URI)).html == "new"


async def test_a_change_of_another_document_or_server_leaves_the_cache_alone() -> None:
    fake, views = Fake(item()), DocumentReader()
    await views.read(fake, URI)
    fake.tell(ResourceUpdated("fake", "ui://other"))
    fake.tell(ResourcesChanged("other"))
    await views.read(fake, URI)
    assert fake.reads == 1


async def test_a_document_is_subscribed_to_before_it_is_read() -> None:
    fake = Fake(item())
    fake.during_read = lambda: asked.extend(fake.followed)
    asked: list[str] = []
    await DocumentReader().read(fake, URI)
    assert asked == [URI]


async def test_a_document_that_changes_while_it_is_read_is_not_cached() -> None:
    fake, views = Fake(item()), DocumentReader()
    fake.during_read = lambda: fake.tell(ResourcesChanged("fake"))
    await views.read(fake, URI)
    await views.read(fake, URI)
    assert fake.reads == 2


async def test_a_failure_is_not_cached_and_its_type_says_whether_to_retry() -> None:
    fake, views = Fake(item()), DocumentReader()
    fake.error = ServerError("fake", -32002, "Resource not found")
    with pytest.raises(ViewError, match=r"fake cannot give the View ui://a/b: Resource not found\. Register the View"):
        await views.read(fake, URI)
    fake.error = ConnectionLostError("fake", "the connection was lost.")
    with pytest.raises(ViewUnavailableError, match="could not be read from fake: the connection was lost"):
        await views.read(fake, URI)
    fake.error = None
    assert (await views.read(fake, URI)).html == PAGE


async def test_only_ui_uris_are_read() -> None:
    fake = Fake(item())
    with pytest.raises(ViewError, match="no ui:// URI"):
        await DocumentReader().read(fake, "file:///etc/passwd")
    assert fake.reads == 0


# Real servers


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("kind", ALL_KINDS)
async def test_a_view_of_each_kind_of_server_is_read_with_its_metadata(kind: Kind, mode: str) -> None:
    async with Servers({"shop": build(kind)}, mode=mode) as servers:
        document = await DocumentReader().read(servers["shop"], CART_URI)
    view = cart_view()
    assert document.html == CART_HTML
    assert document.csp == view.csp
    assert document.permissions == ("camera", "microphone", "geolocation", "clipboard-write")
    assert (document.domain, document.prefers_border) == ("shop.example.com", True)
    assert document.mime_exact
    assert document.problems == ()


@pytest.mark.parametrize("kind", HIGH_LEVEL)
@pytest.mark.parametrize("uri", [BLOB_URI, "ui://shop/unlisted"])
async def test_blobs_and_unlisted_views_of_real_servers_are_read(kind: Kind, uri: str) -> None:
    async with Servers({"shop": build(kind)}) as servers:
        assert (await DocumentReader().read(servers["shop"], uri)).html == CART_HTML


async def test_the_error_for_a_missing_view_of_a_real_server_has_the_reason() -> None:
    async with Servers({"shop": build("MCPServer")}) as servers:
        with pytest.raises(ViewError, match="shop cannot give the View ui://shop/nosuch: "):
            await DocumentReader().read(servers["shop"], "ui://shop/nosuch")


@pytest.mark.parametrize("kind", [ResourcesChanged, ResourceUpdated])
async def test_a_document_is_read_again_after_a_change_notification_of_a_real_server(kind: type[ServerEvent]) -> None:
    server: MCPServer[Any] = MCPServer("news")
    apps = Apps(server)
    apps.view(View.html(PAGE, uri=URI, name="b"))

    @server.tool()
    async def change(context: Context[Any]) -> str:
        if kind is ResourcesChanged:
            await context.notify_resources_changed()
        else:
            await context.notify_resource_updated(URI)
        return "changed"

    views = DocumentReader()
    async with Servers({"news": server}) as servers:
        connection = servers["news"]
        heard = anyio.Event()
        connection.add_listener(lambda news: heard.set() if isinstance(news, kind) else None)
        first = await views.read(connection, URI)
        assert await views.read(connection, URI) is first
        with anyio.fail_after(60):
            while not heard.is_set():  # the subscription is made after the connection is ready
                await connection.call_tool("change")
        assert await views.read(connection, URI) is not first
