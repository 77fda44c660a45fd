import pytest


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """One loop for all tests here, so that they can share a browser."""
    return "asyncio"
