"""The fixture `assert_conforms` of the pytest plugin, with the real rules."""

import os
import sys

import pytest

pytest_plugins = ["pytester"]

TESTS = """
import pytest
from mcp.server import MCPServer
from mcp.server.apps import Apps
from mcp_types import CallToolResult

pytestmark = pytest.mark.anyio

@pytest.fixture
def anyio_backend():
    return "asyncio"

def server(html):
    apps = Apps()
    apps.tool(resource_uri="ui://x/view", name="show")(lambda: "Hello.")
    apps.add_html_resource("ui://x/view", html)
    return MCPServer("x", extensions=[apps])

async def test_good(assert_conforms):
    await assert_conforms(server("<!doctype html><title>x</title><p>Hello"), browser=False)

async def test_bad(assert_conforms):
    await assert_conforms(server("<p>Hello"), browser=False)

async def test_known(assert_conforms):
    await assert_conforms(server("<p>Hello"), browser=False, skip={"RES-05": "a fragment is enough for us"})
"""


def test_assert_conforms_fails_for_a_broken_must(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
    pytester.makepyfile(TESTS)
    plugins = ("-p", "anyio.pytest_plugin", "-p", "fanlight.testing.plugin", "-p", "fanlight.check.plugin")
    result = pytester.runpytest_subprocess(*plugins, timeout=100)
    result.assert_outcomes(passed=2, failed=1)
    finding = "*RES-05 *ui://x/view: does not begin with <!doctype html>*"
    result.stdout.fnmatch_lines([finding, "*1 violation of the standard*"])
