import pytest

from fanlight.host.web.origins import HostNames, app_label

LABEL = app_label("clock", "ui://clock/view")


def test_each_app_has_a_label_of_its_own() -> None:
    assert len({LABEL, app_label("clock", "ui://clock/other"), app_label("other", "ui://clock/view")}) == 3
    assert app_label("a", "b") != app_label("a\0b", "")


def test_on_a_developers_machine_all_is_on_localhost() -> None:
    origins = HostNames().origins("http", "localhost:8000")
    assert origins.host == "http://localhost:8000"
    assert origins.proxy == "http://sandbox.localhost:8000"
    assert origins.view(LABEL) == f"http://{LABEL}.sandbox.localhost:8000"
    assert origins.ancestors == ("http://localhost:8000", "http://sandbox.localhost:8000")


def test_in_production_the_sandbox_is_where_the_operator_says() -> None:
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
def test_what_is_no_origin_is_refused(origin: str) -> None:
    with pytest.raises(ValueError, match="not an origin"):
        HostNames(origin)


@pytest.mark.parametrize("name", ["localhost", "app.localhost:8000", "127.0.0.1:80", "127.1.2.3", "[::1]:8000"])
def test_the_names_of_this_machine_are_ours_where_none_are_given(name: str) -> None:
    assert HostNames().role(name) == ("host", None)


@pytest.mark.parametrize(
    "name", ["evil.example:8000", "localhost.evil.example", "127.0.0.1.evil.example", "192.168.0.2"]
)
def test_other_names_are_not(name: str) -> None:
    assert HostNames().role(name) == ("other", None)
    assert HostNames("https://sandbox.example").role(name) == ("host", None)
    hosts = frozenset({"chat.example"})
    assert HostNames("https://sandbox.example", hosts).role(name) == ("other", None)
    assert HostNames("https://sandbox.example", hosts).role("Chat.example:443") == ("host", None)
