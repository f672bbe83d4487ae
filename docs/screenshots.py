"""Renew the pictures of the TUI and of HTML reports in ``docs/images``, from the samples alone.

python docs/screenshots.py
"""

import asyncio
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from msgspec.structs import replace
from textual.pilot import Pilot
from textual.widgets import Input

from irlens.artifacts.load import load
from irlens.compiler import Request
from irlens.session.exchange import Entry
from irlens.session.interactive import Workbench
from irlens.tui.app import IrlensApp

ROOT = Path(__file__).resolve().parents[1]
CAPTURES = ROOT / "samples" / "captures"
IMAGES = ROOT / "docs" / "images"

#: Name of each picture: the size, the capture that is opened ("" lists all), and the keys.
PICTURES: dict[str, tuple[tuple[int, int], str, tuple[str, ...]]] = {
    "browser": ((120, 30), "", ("o", "r", "j", "j")),
    "overview": ((140, 44), "softmax-h100", ()),
    "what-if": ((120, 46), "matmul-a100", ("left_square_bracket",)),
    "inspector": ((160, 44), "softmax-h100", ("2", "colon", "5", "0", "enter")),
    "compare": ((160, 44), "", ("c", "enter", "S", "right_square_bracket")),
    "recompile": ((120, 30), "softmax-h100", ("r", "left", "left")),
}

#: Name of each picture of a page: the page below ``samples``, and the height that is shown.
PAGES: dict[str, tuple[str, int]] = {
    "gallery-report": ("reports/softmax-h100.html", 760),
    "gallery-sweep": ("sweeps/matmul-h200.html", 760),
    "gallery-diff": ("comparisons/layer_norm-3.6-3.7.html", 640),
    "gallery-scan": ("scans/captures.html", 640),
    "gallery-ledger": ("ledgers/rms_norm.html", 640),
}
_WIDTH = 1000

#: Hours since each sample was captured, as far as the pictures are concerned.
_AGE = 2.5


def _never(name: str) -> Request:
    raise AssertionError(f"{name} is not to be compiled")


class _Samples(Workbench):
    """Samples that are as old in every picture: a checkout writes them anew."""

    def entries(self) -> Iterator[Entry]:
        captured = time.time() - _AGE * 3600
        return (replace(entry, modified=captured) for entry in super().entries())


async def take(name: str) -> None:
    """Take one picture."""
    size, capture, keys = PICTURES[name]
    path = CAPTURES / capture
    bench = _Samples("samples", lambda: load(path), request_for=_never, root=path)
    app = IrlensApp(bench, entry=bench.single() if capture else None)
    async with app.run_test(size=size) as pilot:
        picture = await _when_still(pilot, name)
        for key in keys:
            await pilot.press(key)
            picture = await _when_still(pilot, name)
        (IMAGES / f"{name}.svg").write_text(picture)


async def _when_still(pilot: Pilot[None], name: str) -> str:
    """Return the picture when every question is answered, and nothing moves any more."""
    before, picture = None, ""
    while picture != before:
        await pilot.app.workers.wait_for_complete()
        for field in pilot.app.screen.query(Input):
            field.cursor_blink = False
        await pilot.pause(0.5)
        before, picture = picture, pilot.app.export_screenshot(title=f"irlens {name}")
    return picture


def photograph(chromium: str, name: str) -> None:
    """Take a picture of the top of a page."""
    page, height = PAGES[name]
    subprocess.run(
        [
            chromium, "--headless", "--no-sandbox", "--hide-scrollbars", "--disable-gpu",
            f"--window-size={_WIDTH},{height}", f"--screenshot={IMAGES / name}.png",
            (ROOT / "samples" / page).as_uri(),
        ],
        check=True, capture_output=True,
    )  # fmt: skip


def main() -> None:
    """Take them all."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("chromium is needed for the pictures of pages")
    for name in PAGES:
        photograph(chromium, name)
    for name in PICTURES:
        asyncio.run(take(name))


if __name__ == "__main__":
    main()
