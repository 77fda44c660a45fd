import pytest

from fanlight import Csp, RegistrationError
from fanlight.protocol.headers import (
    allow_attribute,
    connection_allowlist,
    permissions_policy,
    policy,
    proxy_directives,
    proxy_permissions_policy,
    view_directives,
    warm_directives,
)

ANCESTORS = ("http://localhost:8000", "http://sandbox.localhost:8000")
FULL = Csp(
    connect_domains=["https://api.example.com", "wss://live.example.com"],
    resource_domains=["https://*.cdn.example.com"],
    frame_domains=["https://player.example.com"],
    base_uri_domains=["https://base.example.com"],
)


def parsed(header: str) -> dict[str, list[str]]:
    """Read a policy as a browser does."""
    directives = [part.split() for part in header.split(";")]
    assert len({words[0] for words in directives}) == len(directives)
    return {words[0]: words[1:] for words in directives}


def test_a_view_that_declares_nothing_reaches_nothing() -> None:
    assert parsed(policy(view_directives(None, ANCESTORS))) == {
        "default-src": ["'none'"],
        "script-src": ["'self'", "'unsafe-inline'", "'report-sample'"],
        "style-src": ["'self'", "'unsafe-inline'"],
        "img-src": ["'self'", "data:"],
        "media-src": ["'self'", "data:"],
        "font-src": ["'self'"],
        "connect-src": ["'none'"],
        "frame-src": ["'none'"],
        "worker-src": ["'self'"],
        "base-uri": ["'self'"],
        "object-src": ["'none'"],
        "form-action": ["'none'"],
        "frame-ancestors": list(ANCESTORS),
        "report-uri": ["/report"],
    }


def test_each_declared_domain_is_in_its_directives() -> None:
    directives = view_directives(FULL, ANCESTORS)
    assert directives["connect-src"] == ("'self'", "https://api.example.com", "wss://live.example.com")
    for name in ("script-src", "style-src", "img-src", "media-src", "font-src"):
        assert directives[name][-1] == "https://*.cdn.example.com"
    assert directives["frame-src"] == ("https://player.example.com",)
    assert directives["base-uri"] == ("https://base.example.com",)
    assert directives["object-src"] == ("'none'",)


def test_compat_loosens_scripts_and_workers_and_opens_no_host() -> None:
    strict, compat = view_directives(FULL, ANCESTORS), view_directives(FULL, ANCESTORS, "compat")
    assert strict.keys() == compat.keys()
    added = {word for name in strict for word in set(compat[name]) - set(strict[name])}
    assert added == {"'unsafe-eval'", "blob:", "data:"}
    assert compat["connect-src"] == strict["connect-src"]


def test_a_view_without_ancestors_cannot_be_framed() -> None:
    assert view_directives(None, ())["frame-ancestors"] == ("'none'",)


@pytest.mark.parametrize(
    "origin", ["*", "http://a.example; script-src *", "http://a.example http://b.example", "", "x y"]
)
def test_an_ancestor_is_checked_like_any_other_source(origin: str) -> None:
    with pytest.raises(RegistrationError):
        view_directives(None, [origin])
    with pytest.raises(RegistrationError):
        proxy_directives(origin, "http://*.sandbox.localhost:8000")


def test_the_proxy_runs_its_own_script_and_reaches_views_only() -> None:
    directives = proxy_directives("http://localhost:8000", "http://*.sandbox.localhost:8000")
    assert directives["default-src"] == ("'none'",)
    assert directives["script-src"] == ("'self'",)
    assert directives["frame-src"] == ("http://*.sandbox.localhost:8000",)
    assert directives["frame-ancestors"] == ("http://localhost:8000",)
    assert directives["connect-src"] == directives["frame-src"]


def test_granted_permissions_are_for_the_view_itself_and_others_for_nobody() -> None:
    header = permissions_policy(["camera", "clipboard-write"])
    assert header.startswith("camera=(self), microphone=(), geolocation=(), clipboard-write=(self), ")
    assert "usb=()" in header
    assert header.count("(self)") == 2
    assert allow_attribute(["camera", "clipboard-write"]) == "camera; clipboard-write"
    assert allow_attribute([]) == ""


def test_the_proxy_can_delegate_only_what_views_may_request() -> None:
    never = proxy_permissions_policy()
    assert "picture-in-picture=()" in never
    for name in ("camera", "microphone", "geolocation", "clipboard-write"):
        assert name not in never


def test_connections_are_allowed_to_the_view_itself_and_to_what_it_declared() -> None:
    assert connection_allowlist(None) == "(response-origin)"
    assert connection_allowlist(Csp()) == "(response-origin)"
    assert connection_allowlist(FULL) == (
        '(response-origin "*://api.example.com/*" "*://live.example.com/*" "*://*.cdn.example.com/*"'
        ' "*://player.example.com/*")'
    )


@pytest.mark.parametrize(
    ("source", "pattern"),
    [
        ("https://a.example:8443", "*://a.example:8443/*"),
        ("https://a.example:443", "*://a.example:*/*"),
        ("http://*.a.example:*", "*://*.a.example:*/*"),
        ("a.example", "*://a.example/*"),
        ("127.0.0.1:9", "*://127.0.0.1:9/*"),
    ],
)
def test_a_declared_source_is_a_pattern_of_its_host(source: str, pattern: str) -> None:
    csp = Csp(connect_domains=[source], resource_domains=[source])
    assert connection_allowlist(csp) == f'(response-origin "{pattern}")'


def test_a_proxy_that_gets_html_leaves_its_policy_to_the_document() -> None:
    assert policy(proxy_directives("https://host.example", None)) == "frame-ancestors https://host.example"


def test_the_empty_page_that_warms_up_an_origin_loads_nothing() -> None:
    found = parsed(policy(warm_directives("https://host.example")))
    assert found.pop("frame-ancestors") == ["https://host.example"]
    assert set(map(tuple, found.values())) == {("'none'",)}
