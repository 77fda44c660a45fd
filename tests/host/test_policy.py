from pathlib import Path
from typing import Any

import pytest

from fanlight import Csp
from fanlight.host import Allow, App, Ask, Deny, Policy, PolicyError
from fanlight.host.consent.policy import allowed_domains

APP = App("v1", "maps", "ui://maps/view", "show_map")
SAFE = {"name": "search", "annotations": {"readOnlyHint": True}}
UNSAFE = {"name": "clear", "annotations": {"readOnlyHint": False, "destructiveHint": True}}


def test_without_rules_harmless_requests_are_allowed_and_others_are_asked_about() -> None:
    policy = Policy()
    assert policy.tool_call(APP, SAFE, {}) == Allow()
    asked = policy.tool_call(APP, UNSAFE, {})
    assert isinstance(asked, Ask)
    assert asked == Ask("show_map (maps) wants to run clear.", "This may delete or overwrite something.")
    assert isinstance(policy.tool_call(APP, {"name": "plain"}, {}), Ask)
    assert isinstance(policy.app_tool(APP, {"name": "plain"}, {}), Ask)
    assert policy.app_tool(APP, SAFE, {}) == Allow()
    for decision in (
        policy.link(APP, "https://a.example"),
        policy.download(APP, ["a.txt"]),
        policy.message(APP, []),
        policy.sampling(APP, {}),
    ):
        assert isinstance(decision, Ask)
    assert policy.model_context(APP, {}) == Allow()
    assert isinstance(policy.permission(APP, "camera"), Deny)
    assert policy.domain(APP, "https://api.example.com") == Allow()
    assert policy.document(APP, "a" * 64, "b" * 64) == Allow()
    assert policy.profile(APP) == "strict"


@pytest.mark.parametrize("hint", [1, "true", None, [], {"readOnlyHint": "True"}])
def test_only_the_value_true_makes_a_hint_true(hint: Any) -> None:
    tool = {"name": "x", "annotations": {"readOnlyHint": hint}}
    assert isinstance(Policy().tool_call(APP, tool, {}), Ask)
    assert isinstance(Policy().tool_call(APP, {"name": "x", "annotations": hint}, {}), Ask)


def test_rules_of_a_server_override_shared_rules_and_rules_of_a_tool_override_both() -> None:
    policy = Policy(
        {
            "links": "deny",
            "tools": "ask",
            "servers": {
                "maps": {
                    "tools": "allow",
                    "tool": {"clear": "deny", "move": "ask"},
                    "permissions": ["geolocation"],
                    "profile": "compat",
                }
            },
        }
    )
    other = App("v2", "mail", "ui://mail/view", "show")
    assert policy.tool_call(APP, {"name": "anything"}, {}) == Allow()
    assert policy.tool_call(APP, UNSAFE, {}) == Deny("The tool 'clear' may not be called here.")
    assert isinstance(policy.tool_call(APP, {"name": "move"}, {}), Ask)
    assert isinstance(policy.tool_call(other, SAFE, {}), Ask)
    assert policy.link(APP, "https://a.example") == Deny("Views may not open links here.")
    assert policy.permission(APP, "geolocation") == Allow()
    assert isinstance(policy.permission(other, "geolocation"), Deny)
    assert (policy.profile(APP), policy.profile(other)) == ("compat", "strict")


@pytest.mark.parametrize(
    ("source", "allowed", "blocked"),
    [
        ("https://api.example.com", True, False),
        ("https://api.example.com:8443", True, False),
        ("wss://API.Example.com", True, False),
        ("https://*.api.example.com", True, False),
        ("https://*.example.com", True, True),
        ("https://bad.example.com", True, True),
        ("https://x.bad.example.com", True, False),
        ("https://example.com", False, False),
        ("https://notexample.com", False, False),
        ("https://example.com.evil.example", False, False),
        ("https://exact.example", True, False),
        ("https://*.exact.example", False, False),
        ("*.example", False, True),
        ("*.com", False, True),
    ],
)
def test_a_domain_is_allowed_if_all_its_hosts_are_and_blocked_if_any_is(
    source: str, allowed: bool, blocked: bool
) -> None:
    allow = Policy({"allow_domains": ["*.example.com", "https://exact.example"]})
    block = Policy({"block_domains": ["bad.example.com", "x.example"]})
    assert isinstance(allow.domain(APP, source), Allow) is allowed
    assert isinstance(block.domain(APP, source), Deny) is blocked


def test_denied_domains_are_removed_from_every_list() -> None:
    declared = Csp(connect_domains=["https://a.example", "https://b.example"], resource_domains=["https://b.example"])
    csp, denied = allowed_domains(Policy({"block_domains": ["b.example"]}), APP, declared)
    assert csp == Csp(connect_domains=["https://a.example"])
    assert denied == ["https://b.example"]
    assert allowed_domains(Policy({"block_domains": ["b.example"]}), APP, None) == (None, [])


def test_documents_are_blocked_allowed_and_pinned_by_their_digest() -> None:
    one, two = "1" * 64, "2" * 64
    assert isinstance(Policy({"block_documents": [one]}).document(APP, one, None), Deny)
    assert isinstance(Policy({"allow_documents": [one]}).document(APP, two, None), Deny)
    assert Policy({"allow_documents": [one]}).document(APP, one, None) == Allow()
    pinned = Policy({"pin_documents": True})
    assert pinned.document(APP, one, None) == Allow()
    assert pinned.document(APP, one, one) == Allow()
    assert isinstance(pinned.document(APP, two, one), Ask)


def test_rules_are_read_from_a_toml_file(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text('links = "allow"\n[servers.maps]\nlinks = "deny"\ntool.clear = "allow"\n', encoding="utf-8")
    policy = Policy.from_file(path)
    assert isinstance(policy.link(APP, "https://a.example"), Deny)
    assert policy.tool_call(APP, UNSAFE, {}) == Allow()


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ({"link": "allow"}, r"link is not a rule. The rules are: tools, .*links"),
        ({"links": "maybe"}, r"links is 'maybe', expected one of: allow, ask, deny"),
        ({"links": "read-only"}, r"links is 'read-only', expected one of: allow, ask, deny"),
        ({"tools": True}, r"tools is True, expected one of: allow, ask, deny, read-only"),
        ({"tool": "allow"}, r"tool is 'allow', expected a table"),
        ({"servers": []}, r"servers is \[\], expected a table"),
        ({"servers": {"maps": "allow"}}, r"servers.maps is 'allow', expected a table"),
        ({"servers": {"maps": {"tool": {"x": 1}}}}, r"servers.maps.tool.x is 1, expected one of"),
        ({"permissions": "camera"}, r"permissions is 'camera', expected a list"),
        ({"permissions": ["camara"]}, r"permissions has 'camara'"),
        ({"allow_domains": ["*"]}, r"allow_domains\[0\] is '\*', which would allow every host"),
        ({"block_domains": ["a b"]}, r"block_domains\[0\] is 'a b'"),
        ({"block_documents": ["abc"]}, r"block_documents\[0\] is 'abc', expected a SHA-256 digest"),
        ({"pin_documents": "yes"}, r"pin_documents is 'yes', expected true or false"),
        ({"profile": "loose"}, r"profile is 'loose', expected one of: strict, compat"),
    ],
)
def test_the_error_for_invalid_rules_says_what_to_write(rules: dict[str, Any], words: str) -> None:
    with pytest.raises(PolicyError, match=words):
        Policy(rules)


@pytest.mark.parametrize("text", ["links = ", "\xff"])
def test_the_error_for_an_invalid_file_names_the_file(text: str, tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(PolicyError, match=r"policy.toml is not a TOML file"):
        Policy.from_file(path)
    with pytest.raises(PolicyError, match=r"missing.toml cannot be read"):
        Policy.from_file(tmp_path / "missing.toml")
    path.write_text('links = "x"', encoding="utf-8")
    with pytest.raises(PolicyError, match=r"policy.toml: links is 'x'"):
        Policy.from_file(path)


@pytest.mark.parametrize(
    ("tool", "name"),
    [
        ("show_map", "show_map (maps)"),
        ("Your bank" + " " * 500, "Your bank (maps)"),
        ("a\u202e\u2066\nb\u200b", "a b (maps)"),
        ("W" * 41, "W" * 39 + "… (maps)"),
    ],
)
def test_a_tools_name_cannot_hide_its_server(tool: str, name: str) -> None:
    assert App("v1", "maps", "ui://maps/view", tool).name == name
