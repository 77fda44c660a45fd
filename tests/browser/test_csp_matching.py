"""The vectors of CSP matching, held to what Chromium does."""

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page, Route

pytestmark = pytest.mark.anyio

CASES = json.loads((Path(__file__).parents[1] / "vectors" / "csp" / "matching.json").read_text(encoding="utf-8"))

# Resolves to whether the policy blocked the request. A request that the policy allows fails later or succeeds.
ATTEMPT = """(url) => new Promise((resolve) => {
  document.addEventListener("securitypolicyviolation", () => resolve(true));
  const soon = () => setTimeout(() => resolve(false), 50);
  if (!url.startsWith("ws")) return fetch(url, { mode: "no-cors" }).then(soon, soon);
  try {
    new WebSocket(url).onerror = soon;
  } catch {
    soon();
  }
})"""


async def blocks(page: Page, case: dict[str, Any]) -> bool:
    """Return whether Chromium blocks a URL for a View whose policy has one source."""
    headers = {"content-type": "text/html", "content-security-policy": f"connect-src {case['source']}"}

    async def answer(route: Route) -> None:
        await route.fulfill(status=200, body="<!doctype html>", headers=headers)

    # Over https, except where mixed content would be blocked whatever the policy says.
    is_plain = case["source"].startswith(("http:", "ws:")) and case["url"].startswith(("http:", "ws:"))
    await page.unroute_all()
    await page.route("**/*", answer)
    await page.goto(f"{'http' if is_plain else 'https'}://view.example/")
    return bool(await page.evaluate(ATTEMPT, case["url"]))


async def test_chromium_agrees_with_the_vectors(page: Page) -> None:
    cases = [case for case in CASES if case.get("browser", True)]
    wrong = [case for case in cases if await blocks(page, case) is case["covers"]]
    assert wrong == [], "\n".join(map(str, wrong))
