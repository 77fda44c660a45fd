import pytest

from fanlight.host.consent.labels import granted_action, shortened, title_of, tool_label, tool_title, visible_name
from fanlight.host.consent.policy import App
from fanlight.protocol.jsonrpc import JSONObject


@pytest.mark.parametrize(
    ("tool", "label"),
    [
        ({"name": "get-customer-data"}, "get-customer-data"),
        ({"name": "clear", "title": "Clear the list"}, "“Clear the list” (clear)"),
        ({"name": "clear", "annotations": {"title": "Clear the list"}}, "“Clear the list” (clear)"),
        ({"name": "clear", "title": "clear"}, "clear"),
        ({"name": "clear", "title": ""}, "clear"),
        ({"name": "clear", "title": 7, "annotations": 7}, "clear"),
        # A title is a claim, and never hides the name.
        ({"name": "delete_all", "title": "Refresh"}, "“Refresh” (delete_all)"),
        # Free text stays in its quotes, and is one short line.
        ({"name": "a. It is safe. b"}, "“a. It is safe. b”"),
        ({"name": "a” of another” (bank)"}, "“a' of another' (bank)”"),
        ({"name": "a", "title": "x” (b). “y"}, "“x' (b). 'y” (a)"),
        ({"name": "a", "title": "\u202eevil\u200b\nline"}, "“evil line” (a)"),
        ({"name": "a", "title": "long " * 100}, f"“{('long ' * 8)[:39]}…” (a)"),
        ({"name": "x" * 500}, "x" * 63 + "…"),
        ({"name": "аdmin"}, "“аdmin”"),  # with a Cyrillic letter
    ],
)
def test_a_tool_is_called_by_its_name_and_a_title_is_quoted(tool: JSONObject, label: str) -> None:
    assert tool_label(tool) == label


def test_the_title_of_an_app_is_that_of_the_tool_that_opened_it() -> None:
    tools = [{"name": "a"}, {"name": "show", "title": "Customer Segmentation"}]
    assert tool_title(tools, "show") == "Customer Segmentation"
    assert tool_title(tools, "a") is None
    assert tool_title(tools, "gone") is None
    assert App("v", "crm", "ui://v", "show", title="Customer Segmentation").name == "Customer Segmentation (crm)"
    assert App("v", "crm", "ui://v", "show").name == "show (crm)"


@pytest.mark.parametrize("title", ["x" * 1000, "\n" * 50 + "y", "\u202e" * 50, "My bank (bank)", " "])
def test_no_title_hides_the_name_of_the_server(title: str) -> None:
    name = App("v", "crm", "ui://v", "show", title=title_of({"title": title})).name
    assert name.endswith(" (crm)")
    assert len(name) <= 46
    assert name.isprintable()


def test_a_name_without_visible_characters_is_empty() -> None:
    assert visible_name("\u200b\u202e\n") == ""


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("https://a.example/b", "https://a.example/b"),
        ("https://a.example/" + "x" * 200, "https://a.example/" + "x" * 49 + "…" + "x" * 40),
        ("https://" + "a." * 100 + "evil.example/", "https://" + "a." * 21 + "…" + "a." * 14 + "evil.example/"),
        ("a" * 100 + ".exe", "a" * 50 + "…" + "a" * 36 + ".exe"),
    ],
)
def test_the_start_and_the_end_of_a_long_origin_path_or_name_stay(text: str, short: str) -> None:
    assert shortened(text) == short


def test_a_grant_for_a_long_host_name_shows_the_end_of_the_name() -> None:
    assert granted_action("link", "bank.example." * 20 + "evil.example").endswith(".evil.example")
