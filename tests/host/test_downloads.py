import pytest

from fanlight.host.views.requests.downloads import safe_name


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
