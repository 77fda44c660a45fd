import hashlib

import pytest

from fanlight import ArgumentError, claude_domain


def test_the_domain_is_the_start_of_the_hash_of_the_url() -> None:
    url = "https://example.com/mcp"
    assert claude_domain(url) == f"{hashlib.sha256(url.encode()).hexdigest()[:32]}.claudemcpcontent.com"


def test_another_path_is_another_domain() -> None:
    assert claude_domain("https://example.com/mcp/") != claude_domain("https://example.com/mcp")


@pytest.mark.parametrize("url", ["example.com/mcp", "", "https://", "ui://clock/view"])
def test_what_is_not_a_url_of_a_server_is_refused(url: str) -> None:
    with pytest.raises(ArgumentError, match="is not the URL of a server"):
        claude_domain(url)
