import pytest

from fanlight import Csp, RegistrationError
from fanlight.protocol.csp import check_host_name

GOOD = [
    "https://api.example.com",
    "http://localhost:8000",
    "https://127.0.0.1:8443",
    "wss://live.example.com",
    "ws://live.example.com:*",
    "https://*.example.com",
    "*.example.com",
    "api.example.com",
    "https://xn--bcher-kva.example",
    "https://a-b.example.com:65535",
    "HTTPS://A.example.com",
]

BAD = [
    "",
    " ",
    "https://a.example.com https://b.example.com",
    "https://a.example.com\thttps://b.example.com",
    "https://a.example.com\n",
    "\nhttps://a.example.com",
    "https://a.example.com\r\nSet-Cookie: x=1",
    "https://a.example.com; script-src *",
    "https://a.example.com;",
    "https://a.example.com,https://b.example.com",
    "'self'",
    "'unsafe-inline'",
    "'nonce-abc'",
    '"https://a.example.com"',
    "`https://a.example.com`",
    "*",
    "*:*",
    "https://*",
    "https://*:443",
    "https://*.",
    "https://a.*.example.com",
    "https://*a.example.com",
    "https:",
    "https://",
    "https",
    "http",
    "data:",
    "data",
    "blob:",
    "filesystem:",
    "javascript:alert(1)",
    "file:///etc/passwd",
    "ftp://a.example.com",
    "ui://clock/view",
    "https://a.example.com/",
    "https://a.example.com/v1",
    "https://a.example.com?x=1",
    "https://a.example.com#x",
    "//a.example.com",
    "https://user:secret@a.example.com",
    "https://a.example.com:",
    "https://a.example.com:99999999",
    "https://a.example.com:65536",
    "https://[::1]:8000",
    "https://bücher.example",
    "https://a..example.com",
    "https://-a.example.com",
    "https://a_b.example.com",
    "https://a.example.com\x00",
    "https://a.example.com\x7f",
    "https://a.example.com\u2028",
    "https://a\u00a0.example.com",
    "'none'",
    None,
    7,
    b"https://a.example.com",
    ["https://a.example.com"],
]


@pytest.mark.parametrize("source", GOOD)
def test_one_origin_is_taken_as_it_is(source: str) -> None:
    assert Csp(connect_domains=[source]).wire() == {"connectDomains": [source]}


@pytest.mark.parametrize("source", BAD, ids=repr)
@pytest.mark.parametrize("field", ["connect_domains", "resource_domains", "frame_domains", "base_uri_domains"])
def test_what_is_not_exactly_one_origin_is_refused_with_its_place(field: str, source: object) -> None:
    with pytest.raises(RegistrationError) as caught:
        Csp(**{field: ["https://good.example.com", source]})  # type: ignore[arg-type]
    assert str(caught.value).startswith(f"{field}[1] is ")
    assert "https://" in str(caught.value)


@pytest.mark.parametrize(
    ("source", "instead"),
    [
        ("https://api.example.com/v1", "https://api.example.com"),
        ("api.example.com/v1", "https://api.example.com"),
        ("https://user@api.example.com", "https://api.example.com"),
        ("wss://live.example.com/socket", "wss://live.example.com"),
        ("https://api.example.com; script-src *", "https://api.example.com"),
    ],
)
def test_the_refusal_says_what_to_write_instead(source: str, instead: str) -> None:
    with pytest.raises(RegistrationError, match=f'Write "{instead}"'):
        Csp(connect_domains=[source])


@pytest.mark.parametrize("value", ["https://a.example.com", 7, {"https://a.example.com": 1}])
def test_a_bare_string_is_not_a_list_of_origins(value: object) -> None:
    with pytest.raises(RegistrationError, match="not a list"):
        Csp(connect_domains=value)  # type: ignore[arg-type]


def test_an_empty_declaration_puts_nothing_on_the_wire() -> None:
    assert Csp().wire() == {}
    assert Csp(connect_domains=[], frame_domains=()).wire() == {}


@pytest.mark.parametrize("name", ["shop.example.com", "localhost", "a904794854a047f6.claudemcpcontent.com", "a" * 63])
def test_a_host_name_is_taken_as_it_is(name: str) -> None:
    assert check_host_name(name, "domain") == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        "https://shop.example.com",
        "shop.example.com/x",
        "shop.example.com:443",
        "*.example.com",
        "shop example.com",
        "shop.example.com\n",
        "-shop.example.com",
        "shop..example.com",
        "a" * 64,
        "a." * 127 + "example",
        None,
        7,
    ],
    ids=repr,
)
def test_what_is_no_host_name_is_refused(name: object) -> None:
    with pytest.raises(RegistrationError, match="not a host name"):
        check_host_name(name, "domain")
