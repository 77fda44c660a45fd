import pytest

from fanlight.host.web.origins import HostNames, app_label

LABEL = app_label("clock", "ui://clock/view", None)


def test_each_app_has_a_label_of_its_own() -> None:
    assert len({LABEL, app_label("clock", "ui://clock/other", None), app_label("other", "ui://clock/view", None)}) == 3
    assert app_label("a", "b", None) != app_label("a\0b", "", None)


def test_by_default_all_origins_are_below_localhost() -> None:
    origins = HostNames().origins("http", "localhost:8000")
    assert origins.host == "http://localhost:8000"
    assert origins.proxy == "http://sandbox.localhost:8000"
    assert origins.view(LABEL) == f"http://{LABEL}.sandbox.localhost:8000"
    assert origins.ancestors == ("http://localhost:8000", "http://sandbox.localhost:8000")


def test_a_sandbox_origin_replaces_the_default() -> None:
    origins = HostNames("https://sandbox.example.com").origins("https", "app.example.org")
    assert origins.host == "https://app.example.org"
    assert origins.view(LABEL) == f"https://{LABEL}.sandbox.example.com"


@pytest.mark.parametrize(
    ("authority", "role"),
    [
        ("localhost:8000", ("host", None)),
        ("127.0.0.1:8000", ("host", None)),
        ("[::1]:8000", ("host", None)),
        ("sandbox.localhost:8000", ("proxy", None)),
        ("SANDBOX.LOCALHOST", ("proxy", None)),
        ("sandbox.localhost.:8000", ("proxy", None)),
        (f"{LABEL}.sandbox.localhost.", ("view", LABEL)),
        ("x.sandbox.localhost.", ("unknown", None)),
        (f"{LABEL}.sandbox.localhost:8000", ("view", LABEL)),
        (f"x.{LABEL}.sandbox.localhost", ("unknown", None)),
        ("x.sandbox.localhost", ("unknown", None)),
        (f"{LABEL}x.sandbox.localhost", ("unknown", None)),
        (".sandbox.localhost", ("unknown", None)),
        ("", ("unknown", None)),
        ("sandbox.localhost@evil.example", ("unknown", None)),
        ("sandbox.localhost:8000:1", ("unknown", None)),
        ("sandbox.localhost/x", ("unknown", None)),
        ("sandbox.localhost\r\nx", ("unknown", None)),
        ("evilsandbox.localhost", ("host", None)),
    ],
)
def test_a_name_has_one_role(authority: str, role: tuple[str, str | None]) -> None:
    assert HostNames().role(authority) == role


OWN = HostNames("https://sandbox.example.net")


def test_behind_a_proxy_that_terminates_tls_the_page_says_which_scheme_it_has() -> None:
    origins = OWN.page_origins("http", "chat.example.com", "https://chat.example.com")
    assert origins is not None
    assert origins.ancestors == ("https://chat.example.com", "https://sandbox.example.net")
    local = HostNames().page_origins("http", "localhost:8443", "https://localhost:8443")
    assert local is not None
    assert local.ancestors == ("https://localhost:8443", "https://sandbox.localhost:8443")


@pytest.mark.parametrize(
    ("scheme", "authority", "origin"),
    [
        ("https", "chat.example.com:443", "https://chat.example.com"),
        ("http", "chat.example.com:443", "https://chat.example.com"),
        ("http", "chat.example.com:80", "http://chat.example.com"),
        ("http", "Chat.Example.com", "https://chat.example.com"),
        ("https", "chat.example.com:8443", "https://chat.example.com:8443"),
    ],
)
def test_a_page_of_the_authority_that_was_requested_may_connect(scheme: str, authority: str, origin: str) -> None:
    assert OWN.page_origins(scheme, authority, origin) == OWN.origins(*origin.split("://"))


@pytest.mark.parametrize(
    ("scheme", "authority", "origin"),
    [
        ("http", "chat.example.com", ""),
        ("http", "chat.example.com", "null"),
        ("http", "chat.example.com", "https://evil.example"),
        ("http", "chat.example.com", "https://chat.example.com.evil.example"),
        ("http", "chat.example.com", "https://chat.example.com@evil.example"),
        ("http", "chat.example.com", "https://evil.example@chat.example.com"),
        ("http", "chat.example.com", "https://evil.example/chat.example.com"),
        ("http", "chat.example.com", "https://chat.example.com/"),
        ("http", "chat.example.com", "https://chat.example.com https://evil.example"),
        ("http", "chat.example.com", "https://chat.example.com; script-src *"),
        ("http", "chat.example.com", "https://chat.example.com:8443"),
        ("http", "chat.example.com:443", "http://chat.example.com"),
        ("http", "chat.example.com", "ftp://chat.example.com"),
        ("http", "chat.example.com", "wss://chat.example.com"),
        ("http", "chat.example.com", "//chat.example.com"),
        ("http", "chat.example.com", "chat.example.com"),
        ("http", "", "https://"),
        ("https", "chat.example.com", "http://chat.example.com"),
    ],
)
def test_a_page_of_another_origin_may_not_connect(scheme: str, authority: str, origin: str) -> None:
    """Goes red without the comparison of the authority, and the last case without that of the scheme."""
    assert OWN.page_origins(scheme, authority, origin) is None


FRONT_END = HostNames("https://sandbox.example.net", pages=frozenset({"https://app.example.com"}))


def test_a_listed_page_may_connect_from_its_own_origin() -> None:
    origins = FRONT_END.page_origins("https", "api.example.com", "https://app.example.com")
    assert origins is not None
    assert origins.ancestors == ("https://app.example.com", "https://sandbox.example.net")
    assert origins.program == "https://api.example.com"
    local = HostNames(pages=frozenset({"http://localhost:3000"}))
    origins = local.page_origins("http", "localhost:8000", "http://localhost:3000")
    assert origins is not None
    assert origins.proxy == "http://sandbox.localhost:8000"


@pytest.mark.parametrize(
    "origin",
    [
        "http://app.example.com",
        "https://app.example.com:8443",
        "https://app.example.com.evil.example",
        "https://x.app.example.com",
        "https://api.example.net",
        "null",
        "",
    ],
)
def test_a_page_that_is_not_listed_may_not_connect(origin: str) -> None:
    """Goes red if `page in self.pages` is replaced by a comparison of the beginning or the end."""
    assert FRONT_END.page_origins("https", "api.example.com", origin) is None


def test_pages_of_the_program_may_still_connect() -> None:
    origin = "https://api.example.com"
    assert FRONT_END.page_origins("https", "api.example.com", origin) == FRONT_END.origins("https", "api.example.com")


def test_which_pages_may_frame_the_sandbox() -> None:
    names = HostNames(
        "https://sandbox.example.net", frozenset({"api.example.com"}), frozenset({"https://app.example.com"})
    )
    assert names.is_page("https://app.example.com")
    assert names.is_page("https://api.example.com")
    assert not names.is_page("http://app.example.com")
    assert not names.is_page("https://evil.example")


@pytest.mark.parametrize("page", ["https://sandbox.example.net", f"https://{LABEL}.sandbox.example.net:444"])
def test_an_origin_of_the_sandbox_cannot_be_listed(page: str) -> None:
    with pytest.raises(ValueError, match="an origin of the sandbox"):
        HostNames("https://sandbox.example.net", pages=frozenset({page}))


@pytest.mark.parametrize("origin", ["sandbox.example.com", "https://a/b", "ftp://a", "https://", "https://a?x"])
def test_a_sandbox_that_is_not_an_origin_raises(origin: str) -> None:
    with pytest.raises(ValueError, match="not an origin"):
        HostNames(origin)


@pytest.mark.parametrize("name", ["localhost", "app.localhost:8000", "127.0.0.1:80", "127.1.2.3", "[::1]:8000"])
def test_without_hosts_the_names_of_this_machine_are_the_applications(name: str) -> None:
    assert HostNames().role(name) == ("host", None)


@pytest.mark.parametrize(
    "name", ["evil.example:8000", "localhost.evil.example", "127.0.0.1.evil.example", "192.168.0.2"]
)
def test_other_names_are_the_applications_only_if_there_is_a_sandbox_or_they_are_listed(name: str) -> None:
    assert HostNames().role(name) == ("other", None)
    assert HostNames("https://sandbox.example").role(name) == ("host", None)
    hosts = frozenset({"chat.example"})
    assert HostNames("https://sandbox.example", hosts).role(name) == ("other", None)
    assert HostNames("https://sandbox.example", hosts).role("Chat.example:443") == ("host", None)
