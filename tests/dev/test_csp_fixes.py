import re
from typing import Final

import pytest

from fanlight.dev.csp_fixes import suggest_fix
from fanlight.protocol.headers import view_directives

URL: Final = "https://a.example/x.js?y"


@pytest.mark.parametrize(
    ("directive", "blocked", "expected"),
    [
        ("connect-src", "https://api.example:8443/v1", 'csp=Csp(connect_domains=["https://api.example:8443"])'),
        ("connect-src", "wss://live.example/x", 'csp=Csp(connect_domains=["wss://live.example"])'),
        ("script-src-elem", URL, 'csp=Csp(resource_domains=["https://a.example"])'),
        ("style-src-elem", URL, 'csp=Csp(resource_domains=["https://a.example"])'),
        ("img-src", URL, 'csp=Csp(resource_domains=["https://a.example"])'),
        ("frame-src", URL, 'csp=Csp(frame_domains=["https://a.example"])'),
        ("base-uri", URL, 'csp=Csp(base_uri_domains=["https://a.example"])'),
        ("script-src", "eval", 'render_mode="svg"'),
        ("script-src", "eval", "ast: true"),
        ("script-src", "wasm-eval", "WebAssembly"),
        ("img-src", "blob", "canvas.toDataURL()"),
        ("img-src", "blob:https://x.example/1", "canvas.toDataURL()"),
        ("font-src", "data", "--font-sans"),
        ("worker-src", "blob", "workers"),
        ("worker-src", URL, "workers"),
        ("form-action", URL, "event.preventDefault()"),
        ("object-src", URL, "<object>"),
        ("prefetch-src", URL, "Include the content in the document"),
    ],
)
def test_each_violation_has_a_fix(directive: str, blocked: str, expected: str) -> None:
    assert expected in suggest_fix(directive, blocked)


@pytest.mark.parametrize("directive", view_directives(None, ()))
@pytest.mark.parametrize("blocked", [URL, "inline", "eval", "blob", "data", ""])
def test_a_fix_is_one_sentence_or_more(directive: str, blocked: str) -> None:
    assert re.fullmatch(r"[A-Z].+\.", suggest_fix(directive, blocked))
