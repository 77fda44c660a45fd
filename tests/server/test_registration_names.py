"""Names of tools: two tools of one name are an error when the second one is registered."""

from typing import Any

import pytest
from fastmcp import FastMCP
from mcp.server import MCPServer

from fanlight import Apps, RegistrationError


@pytest.fixture(params=[MCPServer, FastMCP])
def server(request: pytest.FixtureRequest) -> Any:
    return request.param("names")


@pytest.mark.parametrize("decorator", ["tool", "show", "form"])
def test_a_second_tool_of_one_name_is_an_error(server: Any, decorator: str) -> None:
    apps = Apps(server)
    register = getattr(apps, decorator)

    def listed(text: str = "") -> list[str]:
        return [text]

    register(name="same")(listed)
    with pytest.raises(
        RegistrationError, match=r"The server already has a tool same\. Give one of them another name\."
    ):
        register(name="same")(listed)


def test_a_tool_of_the_author_cannot_take_the_name_of_one_that_fanlight_needs(server: Any) -> None:
    server.tool(name="fanlight_data")(lambda: "mine")
    with pytest.raises(RegistrationError, match="The server already has a tool fanlight_data"):
        Apps(server).show()


def test_versions_of_a_tool_share_its_name() -> None:
    apps = Apps(FastMCP("names"))
    apps.tool(name="same", version="1")(lambda: "one")
    apps.tool(name="same", version="2")(lambda: "two")
