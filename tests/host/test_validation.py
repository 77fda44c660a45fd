"""What is given wrongly is refused where it is given, in words that say what to write."""

import math
from pathlib import Path
from typing import Any

import anyio
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.testclient import TestClient

from fanlight.host import Host, Limits, NotConnectedError, SqliteStore, Timeouts
from fanlight.host.host import runtime_of
from fanlight.protocol.errors import ArgumentError
from support.calls import begin, call_tool
from support.shop import build

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("options", "kind", "words"),
    [
        ({"servers": ["python server.py"]}, TypeError, r"servers is \['python server.py'\] \(list\), expected a dict"),
        ({"servers": {3: "python server.py"}}, TypeError, r"servers has the name 3 \(int\)"),
        (
            {"store": 3},
            TypeError,
            r"store is 3 \(int\), which lacks these methods of Store: add, change,.*sqlite:",
        ),
        ({"store": Path("a.db")}, TypeError, r"store is PosixPath\('a.db'\).*Write \"sqlite:///path"),
        ({"store": "a.db"}, ValueError, "store is 'a.db', expected \"sqlite:///"),
        ({"info": "x"}, TypeError, r"info is 'x' \(str\), expected a dict. Write \{\"name\""),
        ({"info": {"name": "x"}}, TypeError, r"info\['version'\] is None, expected a string"),
        ({"context": "dark"}, TypeError, r"context is 'dark' \(str\), expected a dict"),
        ({"context": {"theme": object()}}, TypeError, "context is not JSON"),
        ({"origins": "https://a.example"}, TypeError, r"Write origins=\['https://a.example'\]"),
        ({"origins": None}, TypeError, "origins is None, expected a list of origins"),
        ({"origins": [3]}, TypeError, r"origins has 3 \(int\), expected an origin"),
        ({"origins": ["*"]}, ValueError, r"origins has '\*', expected origins without a wildcard"),
        ({"origins": ["https://*.a.example"]}, ValueError, "without a wildcard, which would let in pages of others"),
        ({"origins": ["a.example"]}, ValueError, "has 'a.example', expected an origin.* Write 'https://a.example'"),
        ({"origins": ["https://a.example/x"]}, ValueError, "without a path. Write 'https://a.example'"),
        ({"origins": ["https://a.example/"]}, ValueError, "without a path. Write 'https://a.example'"),
        ({"origins": ["https://u@a.example"]}, ValueError, "Write 'https://a.example'"),
        ({"origins": ["wss://news.example"]}, ValueError, "Write 'https://news.example'"),
        ({"origins": ["ftp://a.example"]}, ValueError, 'expected the origin of a page. Write one such as "https'),
        ({"origins": ["https://a.example; script-src *"]}, ValueError, "wildcard"),
        ({"origins": ["https://a.example;x"]}, ValueError, "expected the origin of a page"),
        ({"origins": ["http://sandbox.localhost:8000"]}, ValueError, "an origin of the sandbox"),
        ({"hosts": "localhost"}, TypeError, r"Write hosts=\['localhost'\]"),
        ({"hosts": 3}, TypeError, r"hosts is 3 \(int\), expected a list of names"),
        (
            {"hosts": ["localhost:8000"]},
            ValueError,
            "hosts has 'localhost:8000', expected a host name.*Write 'localhost'",
        ),
        ({"hosts": ["https://a.example/x"]}, ValueError, "Write 'a.example'"),
        ({"hosts": ["a b"]}, ValueError, 'Write one such as "app.example.com"'),
        ({"hosts": [None]}, TypeError, "hosts has None, expected names"),
        ({"sandbox_origin": 3}, ValueError, "sandbox_origin is 3, not an origin"),
        ({"authorize": True}, TypeError, r"authorize is True \(bool\), expected a function"),
        ({"on_elicitation": "yes"}, TypeError, r"on_elicitation is 'yes' \(str\), expected a function"),
        ({"policy": {}}, TypeError, r"policy is \{\}, expected a Policy"),
        ({"timeouts": 5}, TypeError, r"timeouts is 5, expected a Timeouts. Write Timeouts\(...\)"),
        ({"limits": {"denials": 1}}, TypeError, "expected a Limits"),
        ({"audit_arguments": "some"}, ValueError, "audit_arguments is 'some', expected"),
    ],
)
def test_a_host_says_what_is_wrong_with_its_arguments(
    options: dict[str, Any], kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind, match=words):
        Host(**{"servers": {}, **options})


def test_the_origins_of_pages_are_normalized_as_browsers_write_them() -> None:
    host = Host({}, origins=["HTTPS://App.example.com:443", "http://localhost:3000"])
    assert runtime_of(host).names.pages == {"https://app.example.com", "http://localhost:3000"}


@pytest.mark.parametrize("value", [-1, math.nan, "5", None, True])
@pytest.mark.parametrize("name", list(Timeouts.__dataclass_fields__))
def test_timeouts_are_seconds(name: str, value: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=f"{name} is {value!r}.*expected seconds. Write a number"):
        Timeouts(**{name: value})
    if name != "lease":  # a lease ends
        assert getattr(Timeouts(**{name: math.inf}), name) == math.inf


@pytest.mark.parametrize("value", [-1, math.inf, math.nan, "5", None, True])
@pytest.mark.parametrize("name", list(Limits.__dataclass_fields__))
def test_limits_are_numbers(name: str, value: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=f"{name} is {value!r}.*expected a"):
        Limits(**{name: value})
    assert getattr(Limits(**{name: 1}), name) == 1


@pytest.mark.parametrize("path", ["apps", "/a b", "/apps?x", None, "//x"])
def test_a_path_begins_with_a_slash(path: Any) -> None:
    with pytest.raises(ValueError, match=r'path is .*expected one that begins with a slash. Write "/apps"'):
        Host({}).wrap(Starlette(), path=path)
    with pytest.raises(TypeError, match="app is 'x'"):
        Host({}).wrap("x")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            '{"a": 1}',
            r"arguments is '\{\"a\": 1\}' \(str\), expected a dict. If this is what a.*json.loads",
        ),
        (None, r"arguments is None, expected a dict. Write .* or \{\} for none"),
        ([1], r"arguments is \[1\] \(list\), expected a dict"),
        ({1: 2}, r"arguments has the key 1 \(int\), expected strings"),
        ({"at": object()}, "arguments is not JSON"),
    ],
)
async def test_arguments_of_the_wrong_kind_are_refused_before_anything_happens(arguments: Any, words: str) -> None:
    async with Host({"shop": build("MCPServer")}) as host:
        with pytest.raises(TypeError, match=words):
            await host.conversation().call_tool("shop__plain", arguments)
        await host.servers["shop"].ready()
        call = await host.conversation().begin("shop__show_cart")
        with pytest.raises(TypeError, match=words):
            await call.run(arguments)
        await call.run({})  # still as it was


async def test_a_call_that_begins_before_its_server_is_there_says_what_to_wait_for() -> None:
    async with Host({"shop": build("MCPServer")}) as host:
        with pytest.raises(
            NotConnectedError, match=r"shop: its tools are not known yet: it is connecting.*chat.tools\(\)"
        ):
            await begin(host, "shop", "show_cart")
        await host.conversation().tools()
        assert (await begin(host, "shop", "show_cart")).view


async def test_arguments_in_the_place_of_a_conversation_are_refused() -> None:
    async with Host({"shop": build("MCPServer")}) as host:
        await host.servers["shop"].ready()
        with pytest.raises(TypeError, match=r"id is \{'a': 1\} \(dict\), expected a string or None"):
            host.conversation({"a": 1})  # type: ignore[arg-type]
        for user in ("", 5):
            with pytest.raises(TypeError, match=r"user is .*expected a string that is not empty, or None"):
                host.conversation("c1", user=user)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match=r"feed\(\) got \{\} \(dict\), expected the next piece"):
            (await begin(host, "shop", "plain")).feed({})  # type: ignore[arg-type]


async def test_a_host_that_does_not_run_says_so_at_once() -> None:
    host = Host({"shop": build("MCPServer")})
    with anyio.fail_after(60), pytest.raises(RuntimeError, match=r"This host is not running.*with TestClient\(app\)"):
        await host.conversation().tools()
    with anyio.fail_after(60), pytest.raises(RuntimeError, match="is not running"):
        await host.conversation().call_tool("shop__plain", {})
    with pytest.raises(RuntimeError, match="is not running"):
        await host.conversation().begin("shop__plain")
    with pytest.raises(RuntimeError, match="is not running"):
        await host.forget(user="alice")
    with pytest.raises(RuntimeError, match="is not running"):
        await host.close_view("x")


# Running again


async def test_a_host_runs_again_after_its_end(tmp_path: Path) -> None:
    for store in (None, f"sqlite:///{tmp_path / 'views.db'}", SqliteStore(tmp_path / "own.db")):
        host = Host({"shop": build("MCPServer")}, store=store)
        async with host:
            view = (await call_tool(host, "shop", "show_cart", {}, "c1")).view
            with pytest.raises(RuntimeError, match="This host is already running"):
                await host.__aenter__()
        async with host:
            assert (await call_tool(host, "shop", "show_cart", {}, "c1")).view != view
            record = await runtime_of(host).store.load(str(view))
            assert record is not None
            assert record.result is not None


def test_one_program_serves_one_test_client_after_the_other() -> None:
    host = Host({"shop": build("MCPServer")})

    async def tools(request: Request) -> Response:
        call = await host.conversation().call_tool("shop__show_cart", {})
        return JSONResponse([bool(call.view), *[tool.name for tool in await host.conversation().tools()]])

    app = host.wrap(Starlette(routes=[Route("/", tools)]))
    for _ in range(3):
        with TestClient(app) as client:
            assert client.get("/").json()[0] is True
    with pytest.raises(RuntimeError, match="This host is not running"):
        TestClient(app).get("/")


def test_two_test_clients_at_once_are_refused_in_words() -> None:
    app = Host({}).wrap(Starlette())
    with TestClient(app), pytest.raises(RuntimeError, match="already running in another event loop"), TestClient(app):
        pass


def test_only_a_callable_can_be_wrapped() -> None:
    with pytest.raises(ArgumentError, match="app is None, expected an ASGI program"):
        Host({}).wrap(None)  # type: ignore[arg-type]
