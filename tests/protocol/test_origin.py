import pytest

from fanlight.protocol.origin import Origin


@pytest.mark.parametrize(
    "url",
    [
        "",
        "x.js",
        "/x.js",
        "data:,x",
        "ftp://a.com/",
        "ui://clock/view",
        "https://",
        "https:///x",
        "https://a.com:99999/",
        "https://a.com:x/",
        "https://a b/x",
        "https://[x/",
    ],
)
def test_a_url_that_a_view_cannot_fetch_has_no_origin(url: str) -> None:
    with pytest.raises(ValueError, match="not a URL"):
        Origin.of(url)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://a.com/x?y", "https://a.com"),
        ("//A.com", "https://a.com"),
        ("http://a.com:8080/x", "http://a.com:8080"),
        ("http://[::1]:80/x", "http://[::1]"),
        ("WSS://a.com:443/x", "wss://a.com"),
        ("ws://a.com:443", "ws://a.com:443"),
        ("https://user:word@a.com/", "https://a.com"),
    ],
)
def test_an_origin_is_written_in_the_form_of_a_declaration(url: str, expected: str) -> None:
    assert str(Origin.of(url)) == expected
