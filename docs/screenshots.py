"""Renew the pictures of the TUI in ``docs/images``, from the samples alone.

python docs/screenshots.py
"""

import asyncio
from pathlib import Path

from irlens.artifacts.load import load
from irlens.capturing import Request
from irlens.tui.app import Lens
from irlens.workbench.bench import Bench

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


def _never(name: str) -> Request:
    raise AssertionError(f"{name} is not to be compiled")


async def take(name: str) -> None:
    """Take one picture."""
    size, capture, keys = PICTURES[name]
    path = CAPTURES / capture
    bench = Bench("samples", lambda: load(path), asking=_never, root=path)
    app = Lens(bench, entry=bench.single() if capture else None)
    async with app.run_test(size=size) as pilot:
        await pilot.pause(0.2)
        await app.workers.wait_for_complete()
        for key in keys:
            await pilot.press(key)
            await pilot.pause(0.3)
            await app.workers.wait_for_complete()
        await pilot.pause(0.3)
        (IMAGES / f"{name}.svg").write_text(app.export_screenshot(title=f"irlens {name}"))


def main() -> None:
    """Take them all."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    for name in PICTURES:
        asyncio.run(take(name))


if __name__ == "__main__":
    main()
