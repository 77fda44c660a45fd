"""The pytest fixture `assert_conforms`. The fixtures that show Views are in `fanlight.testing.plugin`."""

from typing import Any

import pytest

from fanlight.testing.plugin import GetBrowser


class Conformance:
    """What the fixture `assert_conforms` provides: `await assert_conforms(server)`."""

    def __init__(self, browser: GetBrowser) -> None:
        self._browser = browser

    async def __call__(self, server: object, **options: Any) -> None:
        """Fail if a server or one of its Views violates a MUST. `options` are those of `fanlight.check.check`."""
        __tracebackhide__ = True
        from fanlight.check import check

        if options.get("browser", True) is True:
            options["browser"] = await self._browser()
        report = await check(server, **options)
        if not report.conforms:
            pytest.fail(str(report), pytrace=False)


@pytest.fixture
def assert_conforms(_get_browser: GetBrowser) -> Conformance:
    """Check servers against the rules of the standard."""
    return Conformance(_get_browser)
