import pytest

from fanlight.host.web.origins import HostNames, app_label

LABEL = app_label("clock", "ui://clock/view")


def test_each_app_has_a_label_of_its_own() -> None:
    assert len({LABEL, app_label("clock", "ui://clock/other"), app_label("other", "ui://clock/view")}) == 3
    assert app_label("a", "b") != app_label("a\0b", "")


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
