"""The TUI in a web browser: allowed origins, and what they get."""

import asyncio
import ipaddress
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

if TYPE_CHECKING:
    import aiohttp
else:
    aiohttp = pytest.importorskip("aiohttp")
pytest.importorskip("textual_serve")

CAPTURES = Path(__file__).parents[2] / "samples" / "captures"
PATIENCE = 60.0
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)


@pytest.fixture
def port() -> Iterator[int]:
    """A port that nobody else gets meanwhile: it is taken, if by nobody who listens."""
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


@pytest.fixture
def served(port: int, tmp_path: Path) -> Iterator[str]:
    # A name that a shell would take apart, and another folder than the one it is seen from.
    place = tmp_path / "it's here; $HOME"
    place.symlink_to(CAPTURES / "softmax-h100")
    command = ["-m", "irlens", "tui", place.name, "--serve", f"--port={port}"]
    with serving(command, port, tmp_path) as address:
        yield address


@contextmanager
def serving(command: list[str], port: int, folder: Path) -> Iterator[str]:
    """Start a Python that serves, and wait until it says so; yields the address."""
    environment = os.environ | {"HOME": str(folder), "XDG_STATE_HOME": str(folder / "state")}
    with subprocess.Popen(
        [sys.executable, "-P", *command],
        cwd=folder, env=environment, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stderr is not None
        said = re.fullmatch(
            rf"irlens: serving on (http://localhost:{port}/\?token=[\w-]{{32}}), "
            r"press ctrl\+c to stop\n",
            process.stderr.readline(),
        )
        try:
            assert said is not None
            yield said[1]
        finally:
            process.terminate()
            assert not process.stderr.read()
    assert process.returncode == 0


def listening(port: int) -> list[str]:
    """The addresses on which this machine listens at a port."""
    found = []
    for table in (Path("/proc/net/tcp"), Path("/proc/net/tcp6")):
        for line in table.read_text().splitlines()[1:] if table.exists() else []:
            local, state = line.split()[1], line.split()[3]
            address, _, at = local.partition(":")
            if state == "0A" and int(at, 16) == port:
                words = [bytes.fromhex(address[i : i + 8])[::-1] for i in range(0, len(address), 8)]
                found.append(str(ipaddress.ip_address(b"".join(words))))
    return found


def test_whoever_reads_where_it_is_may_come_at_once(port: int, tmp_path: Path) -> None:
    script = f"""
import socket, sys
import click

tell = click.echo

def connect_and_tell(message, **options):
    socket.create_connection(("localhost", {port})).close()
    tell(message, **options)

click.echo = connect_and_tell
sys.argv = ["irlens", "tui", {str(CAPTURES / "softmax-h100")!r}, "--serve", "--port={port}"]
from irlens.cli import main
main()
"""
    with serving(["-c", script], port, tmp_path):
        pass


async def test_shows_the_same_in_its_own_page(served: str, port: int) -> None:
    here = f"localhost:{port}"
    async with aiohttp.ClientSession() as session:
        async with session.get(served) as answer:
            assert answer.status == 200
            # The token is not in the history.
            assert re.fullmatch(rf"http://{here}/[0-9a-f]{{32}}/", str(answer.url))
            page = await answer.text()
            assert f'"ws:{str(answer.url.with_query(None))[5:]}ws"' in page
            url = f"{answer.url}ws?width=120&height=40"
            assert set(re.findall(r"(?:https?|ws):(//[^/\"]+)", page)) <= {
                f"//{here}", "//www.w3.org"  # the name of a markup, not an address
            }  # fmt: skip
            assert "default-src 'self'" in answer.headers["Content-Security-Policy"]
        if Path("/proc/net/tcp").exists():
            addresses = listening(port)
            assert addresses
            assert all(ipaddress.ip_address(each).is_loopback for each in addresses)
        shown = b""
        headers = {"Origin": f"http://{here}"}
        async with session.ws_connect(url, headers=headers) as socket, asyncio.timeout(PATIENCE):
            while b"what if" not in shown:
                shown += (await socket.receive()).data
    assert b"softmax_kernel" in shown


async def test_who_does_not_know_the_token_gets_nothing(served: str, port: int) -> None:
    here = f"http://localhost:{port}"
    for path in ("/", "/ws", "/static/js/textual.js", "/?token=", f"/?token={'a' * 32}"):
        async with aiohttp.ClientSession() as session, session.get(here + path) as answer:
            assert answer.status == 403, path
    assert served.startswith(here)


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"GET / HTTP/1.1\r\nHost: x\r\nCookie: irlens-PORT=\xff\xfe\r\n\r\n", b"403 Forbidden"),
        (b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 100_000 + b"\r\n\r\n", b"400 Bad Request"),
        (b"\x1b]0;x\x07\r\n\r\n", b"400 Bad Request"),
    ],
)
@pytest.mark.usefixtures("served")
def test_nobody_from_outside_writes_to_the_terminal(port: int, sent: bytes, status: bytes) -> None:
    """``serving`` checks that stderr stays empty."""
    with socket.create_connection(("localhost", port), PATIENCE) as client:
        client.sendall(sent.replace(b"PORT", str(port).encode()))
        assert client.makefile("rb").readline().partition(b" ")[2].strip() == status


async def test_the_cookie_reaches_no_other_server_of_the_machine(served: str, port: int) -> None:
    async with aiohttp.ClientSession() as session:
        async with session.get(served) as answer:
            page = answer.url
        jar = session.cookie_jar
        assert jar.filter_cookies(page)
        for elsewhere in (page.with_port(port + 1).with_path("/"), page.with_path("/")):
            assert not jar.filter_cookies(elsewhere)


async def test_a_page_of_another_origin_gets_nothing(served: str, port: int) -> None:
    async with aiohttp.ClientSession() as session:
        async with session.get(served) as answer:
            assert answer.status == 200
            page = answer.url
        for origin in (
            "http://example.com", "http://localhost:9999", f"https://localhost:{port}", "null",
            f"http://127.0.0.1:{port}",
        ):  # fmt: skip
            headers = {"Origin": origin}
            async with session.get(f"{page}ws", headers=headers) as answer:
                assert answer.status == 403, origin


async def test_sessions_are_limited(
    port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = f"""
import sys
from irlens.cli import main, serving
serving.MOST_SESSIONS = 1
sys.argv = ["irlens", "tui", {str(CAPTURES / "softmax-h100")!r}, "--serve", "--port={port}"]
main()
"""
    with serving(["-c", script], port, tmp_path) as address:
        async with aiohttp.ClientSession() as session:
            async with session.get(address) as answer:
                url = f"{answer.url}ws"
            async with session.ws_connect(url), session.get(url) as answer:
                assert answer.status == 503
            async with asyncio.timeout(PATIENCE):  # the first has gone
                while True:
                    with suppress(aiohttp.WSServerHandshakeError):
                        async with session.ws_connect(url):
                            break
                    await asyncio.sleep(0.1)


def told(*arguments: str) -> str:
    ran = subprocess.run(
        [sys.executable, "-P", "-m", "irlens", "tui", *arguments],
        capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=PATIENCE,
    )  # fmt: skip
    assert ran.returncode == 2
    assert ran.stdout == ""
    return ran.stderr


def test_mistakes_are_reported_before_serving(tmp_path: Path) -> None:
    assert "holds nothing that Triton left" in told(str(tmp_path), "--serve")
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        taken = str(other.getsockname()[1])
        assert "already in use" in told(str(CAPTURES), "--serve", "--port", taken)


def test_a_missing_extra_is_named(tmp_path: Path) -> None:
    script = (
        "import sys; sys.modules['textual_serve'] = None;"
        f"sys.argv = ['irlens', 'tui', {str(CAPTURES)!r}, '--serve'];"
        "from irlens.cli import main; main()"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert ran.returncode == 2
    assert ran.stderr.splitlines() == [
        "irlens: error: --serve needs textual-serve",
        "  pip install 'irlens[serve]'",
    ]


def test_without_a_terminal_it_says_so() -> None:
    assert "irlens tui needs a terminal" in told(str(CAPTURES))
    assert "reads keys from standard input" in told("-")
    assert "reads keys from standard input" in told("-", "--serve")


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on the PATH")
def test_the_page_takes_keys_without_a_click(served: str) -> None:
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox"], timeout=PATIENCE * 1000
        )
        page = browser.new_page()
        page.set_default_timeout(PATIENCE * 1000)
        requested: list[str] = []
        page.on("request", lambda request: requested.append(request.url))
        page.goto(served)
        page.wait_for_selector("body.-first-byte", state="attached")
        page.keyboard.press("q")
        page.wait_for_selector("body.-closed", state="attached")
        assert requested
        assert all(urlsplit(url).netloc == urlsplit(served).netloc for url in requested)
        browser.close()
