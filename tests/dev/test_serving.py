"""The ports that commands listen on."""

import errno
import socket

import pytest

from fanlight.dev.serving import listen
from fanlight.protocol.errors import LocalError


def test_a_port_that_is_in_use_is_replaced_by_the_next_free_one_with_a_message(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        assert capsys.readouterr().out == ""
        with listen("127.0.0.1", port) as other:
            used = other.getsockname()[1]
            assert port < used
            assert capsys.readouterr().out == f"  Port {port} is in use. Port {used} is used instead.\n"


def test_ports_are_tried_up_to_the_last_one(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []

    def refuse(self: socket.socket, address: tuple[str, int]) -> None:
        tried.append(address[1])
        raise OSError(errno.EADDRINUSE, "Address already in use")

    monkeypatch.setattr(socket.socket, "bind", refuse)
    with pytest.raises(LocalError, match=r"No port between 65500 and 65535 is free on 127\.0\.0\.1\."):
        listen("127.0.0.1", 65_500)
    assert tried == list(range(65_500, 65_536))
    tried.clear()
    with pytest.raises(LocalError, match="No port between 8000 and 8099 is free"):
        listen("127.0.0.1", 8000)
