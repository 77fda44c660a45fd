from typing import Any

import pytest

from fanlight.host.errors import RequestError
from fanlight.host.views.requests.downloads import safe_name, saved_file


@pytest.mark.parametrize(
    ("uri", "name"),
    [
        ("file:///a/b/report.pdf", "report.pdf"),
        ("ui://x/..%2f..%2fetc%2fpasswd", "passwd"),
        ("x/..", "download"),
        ("file:///con.txt", "download"),
        ("file:///a%00b\x1f.txt", "a_b_.txt"),
        ("file:///.bashrc", "bashrc"),
        ("file:///evil\u202efdp.exe", "evil_fdp.exe"),
        ("C:\\Windows\\x.dll", "x.dll"),
        ("", "download"),
        ("file:///" + "x" * 500, "x" * 150),
        ("file:///" + "x" * 149 + ". y", "x" * 149),
        ("file:///invoice.pdf\u200b.exe", "invoice.pdf_.exe"),
        ("file:///half\ud800.txt", "half_.txt"),
        ("file:///com¹.txt", "download"),
        ("file:///con .txt", "download"),
        ("http://[", "download"),
    ],
)
def test_a_download_has_a_name_that_is_safe_anywhere(uri: str, name: str) -> None:
    assert safe_name(uri) == name


@pytest.mark.parametrize("body", [{"text": "a"}, {"blob": "YQ=="}])
def test_an_embedded_resource_with_text_or_a_blob_is_saved(body: dict[str, str]) -> None:
    resource = {"uri": "file:///a.txt", "mimeType": "text/plain", **body}
    assert saved_file({"type": "resource", "resource": resource}) == {
        "name": "a.txt",
        "mimeType": "text/plain",
        **body,
    }


@pytest.mark.parametrize("block", [{}, {"type": "text", "text": "a"}, {"type": "resource", "resource": "a"}])
def test_other_blocks_than_embedded_resources_are_refused(block: dict[str, Any]) -> None:
    with pytest.raises(RequestError, match="Only embedded resources can be saved"):
        saved_file(block)


@pytest.mark.parametrize("body", [{}, {"text": 5}, {"text": "a", "blob": "YQ=="}])
def test_a_resource_without_one_body_is_refused(body: dict[str, Any]) -> None:
    with pytest.raises(RequestError, match="either text or a blob"):
        saved_file({"type": "resource", "resource": {"uri": "file:///a.txt", **body}})
