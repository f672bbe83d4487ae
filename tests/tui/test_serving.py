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
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

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
    with serving(command, port, tmp_path):
        yield f"localhost:{port}"


@contextmanager
def serving(command: list[str], port: int, folder: Path) -> Iterator[None]:
    """Start a Python that serves, and wait until it says so."""
    environment = os.environ | {"HOME": str(folder), "XDG_STATE_HOME": str(folder / "state")}
    with subprocess.Popen(
        [sys.executable, "-P", *command],
        cwd=folder, env=environment, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stderr is not None
        assert process.stderr.readline() == (
            f"irlens: serving on http://localhost:{port}, press ctrl+c to stop\n"
        )
        yield
        process.terminate()
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


async def test_shows_the_same_in_a_page_of_this_machine_alone(served: str, port: int) -> None:
    async with aiohttp.ClientSession() as session:
        async with session.get(f"http://{served}/") as answer:
            assert answer.status == 200
            assert f"ws://{served}/ws" in await answer.text()
        for headers in ({"Origin": "http://example.com"}, {"Host": "example.com"}):
            async with session.get(f"http://{served}/ws", headers=headers) as answer:
                assert answer.status == 403
        if Path("/proc/net/tcp").exists():
            addresses = listening(port)
            assert addresses
            assert all(ipaddress.ip_address(each).is_loopback for each in addresses)
        shown = b""
        headers = {"Origin": f"http://{served}"}
        url = f"ws://{served}/ws?width=120&height=40"
        async with session.ws_connect(url, headers=headers) as page, asyncio.timeout(PATIENCE):
            while b"what if" not in shown:
                shown += (await page.receive()).data
    assert b"softmax_kernel" in shown


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
        # The page names a font of another site's.
        elsewhere = re.compile(rf"https?://(?!{re.escape(served)}/)")
        page.route(elsewhere, lambda route: route.abort())
        page.goto(f"http://{served}/")
        page.wait_for_selector("body.-first-byte", state="attached")
        page.keyboard.press("q")
        page.wait_for_selector("body.-closed", state="attached")
        browser.close()
