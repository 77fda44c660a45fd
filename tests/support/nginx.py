"""nginx in front of a program, with the configuration of the documentation, on free loopback ports."""

import getpass
import os
import shutil
import socket
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import reduce
from pathlib import Path
from types import MappingProxyType

import anyio
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from playwright.async_api import Browser

from support.browser import chromium
from support.child import stopping
from support.docs import ROOT, blocks

# The main process ends with its block, and no path is outside the folder.
_MAIN = """
{user}
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log stderr warn;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    {includes}
}}
"""

NAMES = ["chat.example.com", "sandbox.example.net", "*.sandbox.example.net"]
"""The names of the documentation: of the program, of the sandbox and of Views."""

HOW_TO = ROOT / "docs" / "how-to" / "run-in-production.md"


def nginx_program() -> str:
    """Return the path of nginx, or fail with what to install."""
    found = shutil.which("nginx", path=os.pathsep.join([os.environ["PATH"], "/usr/sbin", "/usr/local/sbin"]))
    if found is None:
        pytest.fail("nginx is missing: apt-get install nginx", pytrace=False)
    return found


def write_certificate(folder: Path, names: list[str]) -> tuple[Path, Path]:
    """Write a self-signed certificate for these names and its key, and return their paths."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0])])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name) for name in names]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem, private = folder / "certificate.pem", folder / "certificate.key"
    pem.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    private.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return pem, private


@asynccontextmanager
async def nginx(
    folder: Path,
    configuration: Mapping[str, str],
    replace: Mapping[str, str],
    ports: Sequence[str] = ("80;", "443 ssl;"),
) -> AsyncIterator[int]:
    """Run nginx with the files of a configuration, and yield the port that stands for the last one that it listens on.

    Args:
        folder: Where to write the files.
        configuration: The text of each file by its path. Those in conf.d are included.
        replace: What to replace in the texts, such as the addresses of programs. Each has to occur.
        ports: What follows `listen` in the texts. Each becomes a free port of the loopback.
    """
    program = nginx_program()
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in ports]
        changes = dict(replace)
        for port, listener in zip(ports, sockets, strict=True):
            rest = port.lstrip("0123456789")
            changes[f"listen {port}"] = f"listen 127.0.0.1:{listener.getsockname()[1]}{rest}"
        for old in changes:
            assert any(old in text for text in configuration.values()), f"the configuration lacks {old!r}"
        for path, text in configuration.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            changed = reduce(lambda text, change: text.replace(*change), changes.items(), text)
            (folder / path).write_text(changed, encoding="utf-8")
        includes = "\n".join(f"include {folder / path};" for path in configuration if path.startswith("conf.d/"))
        main = folder / "nginx.conf"
        # Otherwise the worker of a root is another user, which may not enter the folder.
        user = f"user {getpass.getuser()};" if os.geteuid() == 0 else ""
        main.write_text(_MAIN.format(user=user, folder=folder, includes=includes), encoding="utf-8")
        listeners = [listener.fileno() for listener in sockets]
        # nginx takes over sockets that another process listens on already, so that no other program can get the ports.
        environment = {**os.environ, "NGINX": "".join(f"{number};" for number in listeners)}
        command = [program, "-p", str(folder), "-c", str(main), "-e", "stderr"]
        process = await anyio.open_process(command, env=environment, pass_fds=listeners, stdout=None, stderr=None)
        async with stopping(process):
            yield sockets[-1].getsockname()[1]


def documented(*paths: str) -> dict[str, str]:
    """Return files of the documentation by their paths."""
    files = {name: code for language, name, code in blocks(HOW_TO) if language == "nginx"}
    return {path: files[path] for path in ("snippets/chat-proxy.conf", "conf.d/chat.conf", *paths)}


def documented_for_two_workers() -> dict[str, str]:
    """Return the files of the documentation for two workers. The second one is at port 8001."""
    configuration = documented("conf.d/sandbox.conf", "conf.d/chat-upstream.conf")
    chat = configuration["conf.d/chat.conf"]
    configuration["conf.d/chat.conf"] = chat.replace(chat[chat.index("upstream chat") : chat.index("server {")], "")
    return configuration


@asynccontextmanager
async def proxied(
    folder: Path, port: int, configuration: dict[str, str], replace: Mapping[str, str] = MappingProxyType({})
) -> AsyncIterator[Browser]:
    """Run nginx in front of a port, and launch a browser in which the names of the documentation lead to it."""
    pem, key = write_certificate(folder, NAMES)
    changes = {
        "server 127.0.0.1:8000;": f"server 127.0.0.1:{port};",
        "include snippets/": f"include {folder}/snippets/",
        **{f"/etc/ssl/{name}.pem": str(pem) for name in NAMES[:2]},
        **{f"/etc/ssl/{name}.key": str(key) for name in NAMES[:2]},
        **replace,
    }
    async with nginx(folder, configuration, changes) as tls:
        names = ", ".join(f"MAP {name} 127.0.0.1:{tls}" for name in NAMES)
        async with chromium(f"--host-resolver-rules={names}, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1") as browser:
            yield browser
