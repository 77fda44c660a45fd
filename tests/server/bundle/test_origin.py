"""A URL is within the declared domains exactly where CSP 3 says so."""

import pytest

from fanlight.server.bundle.origin import Origin


@pytest.mark.parametrize(
    ("url", "domain"),
    [
        ("https://a.com/x.js", "https://a.com"),
        ("HTTPS://A.com/x.js", "https://a.COM"),
        ("https://a.com:443/x", "https://a.com"),
        ("https://a.com/x", "http://a.com"),
        ("https://a.com/x", "a.com"),
        ("//a.com/x", "https://a.com"),
        ("https://a.com:8443/x", "https://a.com:8443"),
        ("https://a.com:8443/x", "https://a.com:*"),
        ("http://localhost:3000/x", "http://localhost:3000"),
        ("https://b.a.com/x", "https://*.a.com"),
        ("https://c.b.a.com/x", "https://*.a.com"),
        ("https://user:word@a.com/x", "https://a.com"),
        ("https://a.com/x", "https://a.com:443"),
        ("https://a.com/x", "http://a.com:80"),
        ("https://a.com/x", "wss://a.com"),
    ],
)
def test_a_url_is_within_a_domain_that_covers_it(url: str, domain: str) -> None:
    assert Origin(url).is_in([domain])


@pytest.mark.parametrize(
    ("url", "domain"),
    [
        ("https://a.com/x", "https://b.com"),
        ("http://a.com/x", "https://a.com"),
        ("http://a.com/x", "a.com"),
        ("https://a.com/x", "https://*.a.com"),
        ("https://evila.com/x", "https://*.a.com"),
        ("https://a.com.evil.com/x", "https://a.com"),
        ("https://a.com@evil.com/x", "https://a.com"),
        ("https://evil.com/https://a.com", "https://a.com"),
        ("https://evil.com#a.com", "https://a.com"),
        ("https://a.com:8443/x", "https://a.com"),
        ("https://a.com/x", "https://a.com:8443"),
        ("http://a.com/x", "wss://a.com"),
    ],
)
def test_a_url_is_not_within_a_domain_that_does_not_cover_it(url: str, domain: str) -> None:
    assert not Origin(url).is_in([domain])


@pytest.mark.parametrize(
    "url", ["https://", "https:///x", "https://a.com:99999/", "https://a.com:x/", "https://a b/x", "https://[x/"]
)
def test_a_url_without_a_host_or_with_a_bad_port_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="not a URL"):
        Origin(url)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://a.com/x?y", "https://a.com"),
        ("//A.com", "https://a.com"),
        ("http://a.com:8080/x", "http://a.com:8080"),
        ("http://[::1]:80/x", "http://[::1]"),
    ],
)
def test_an_origin_is_written_as_it_is_declared(url: str, expected: str) -> None:
    assert str(Origin(url)) == expected
