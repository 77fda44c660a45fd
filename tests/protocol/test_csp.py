import json
from pathlib import Path
from typing import Any

import pytest

from fanlight import Csp, RegistrationError
from fanlight.protocol.csp import (
    CSP_LISTS,
    check_host_name,
    host_covers,
    host_of,
    is_declared,
    is_source,
    source_covers,
)
from fanlight.protocol.metadata import PERMISSION_KEYS
from fanlight.protocol.origin import Origin

VECTORS = Path(__file__).parents[1] / "vectors" / "csp"
SOURCES = json.loads((VECTORS / "sources.json").read_text(encoding="utf-8"))
MATCHING = json.loads((VECTORS / "matching.json").read_text(encoding="utf-8"))
NAMES = json.loads((VECTORS / "names.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("source", SOURCES["valid"])
def test_a_valid_source_is_kept_unchanged(source: str) -> None:
    assert Csp(connect_domains=[source]).wire() == {"connectDomains": [source]}


@pytest.mark.parametrize("source", [*SOURCES["invalid"], b"https://a.example.com"], ids=repr)
@pytest.mark.parametrize("field", ["connect_domains", "resource_domains", "frame_domains", "base_uri_domains"])
def test_an_invalid_source_raises_with_its_index(field: str, source: object) -> None:
    with pytest.raises(RegistrationError) as caught:
        Csp(**{field: ["https://good.example.com", source]})  # type: ignore[arg-type]
    assert str(caught.value).startswith(f"{field}[1] is ")
    assert not is_source(source)
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
def test_the_error_says_what_to_write_instead(source: str, instead: str) -> None:
    with pytest.raises(RegistrationError, match=f'Write "{instead}"'):
        Csp(connect_domains=[source])


@pytest.mark.parametrize("value", ["https://a.example.com", 7, {"https://a.example.com": 1}])
def test_a_bare_string_is_not_a_list_of_origins(value: object) -> None:
    with pytest.raises(RegistrationError, match="not a list"):
        Csp(connect_domains=value)  # type: ignore[arg-type]


def test_empty_lists_are_left_out() -> None:
    assert Csp().wire() == {}
    assert Csp(connect_domains=None).wire() == {}  # type: ignore[arg-type]
    assert Csp(connect_domains=[], frame_domains=()).wire() == {}


@pytest.mark.parametrize("name", ["shop.example.com", "localhost", "a904794854a047f6.claudemcpcontent.com", "a" * 63])
def test_a_valid_host_name_is_kept_unchanged(name: str) -> None:
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
def test_an_invalid_host_name_raises(name: object) -> None:
    with pytest.raises(RegistrationError, match="not a host name"):
        check_host_name(name, "domain")


@pytest.mark.parametrize("case", MATCHING, ids=lambda case: f"{case['source']} {case['url']}")
def test_a_source_covers_the_urls_that_browsers_allow(case: dict[str, Any]) -> None:
    assert source_covers(case["source"], Origin.of(case["url"])) is case["covers"], case["title"]


def test_a_url_is_declared_if_any_source_covers_it() -> None:
    origin = Origin.of("https://b.example/x")
    assert is_declared(origin, ["https://a.example", "*.example"])
    assert not is_declared(origin, ["https://a.example", "nonsense;"])
    assert not is_declared(origin, [])


@pytest.mark.parametrize(
    ("pattern", "host", "covers"),
    [
        ("*.example", "a.example", True),
        ("*.example", "*.a.example", True),
        ("*.Example", "*.EXAMPLE", True),
        ("*.a.example", "*.example", False),
        ("a.example", "*.a.example", False),
        ("a.example", "A.example", True),
    ],
)
def test_a_host_pattern_covers_hosts_and_narrower_patterns(pattern: str, host: str, covers: bool) -> None:
    assert host_covers(pattern, host) is covers


@pytest.mark.parametrize("source", ["*.a.example", "https://*.a.example", "wss://*.a.example:*", "*.a.example:8443"])
def test_the_host_of_a_source_has_neither_scheme_nor_port(source: str) -> None:
    assert host_of(source) == "*.a.example"


def test_the_names_equal_those_of_the_sandbox_proxy() -> None:
    assert list(CSP_LISTS) == NAMES["lists"]
    assert dict(PERMISSION_KEYS) == NAMES["permissions"]
