"""Measure the code pane: time to open a large stage, per frame of scrolling, and to search.

    python benchmarks/tui_code_pane.py [CAPTURE]

Without a capture it repeats a sample's text up to the size of PyTorch's largest kernels.
"""

import asyncio
import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from textual.app import App, ComposeResult

from irlens.model.listing import StageListing
from irlens.model.source import SourceLocation
from irlens.tui.code import Document, stage_document
from irlens.tui.code.search import Query
from irlens.tui.themes import DEFAULTS
from irlens.tui.widgets.code_pane import CodePane

_SAMPLE = Path(__file__).parents[1] / "samples" / "captures" / "matmul-a100"
_SIZES = {"llir": 2_700_000, "ptx": 1_800_000}
_FRAMES = 200


class _Host(App[None]):
    def get_theme_variable_defaults(self) -> dict[str, str]:
        return DEFAULTS

    def compose(self) -> ComposeResult:
        yield CodePane()


def main() -> None:
    """Print a row for each stage."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    print(
        f"{'stage':<6} {'MB':>5} {'lines':>8} {'open':>9} {'frame':>9} {'worst':>9} {'search':>9}"
    )
    for stage, text in _texts(folder):
        print(f"{stage:<6} {len(text) / 1e6:5.1f} {text.count(chr(10)):8,}", end=" ", flush=True)
        opened, frames, searched = asyncio.run(_measure(stage, text))
        figures = (opened, sum(frames) / len(frames), max(frames), searched)
        print(" ".join(f"{seconds * 1e3:6.1f} ms" for seconds in figures))
    print(f"memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")


def _texts(folder: Path | None) -> Iterator[tuple[str, str]]:
    for stage, size in _SIZES.items():
        (path,) = (folder or _SAMPLE).glob(f"*.{stage}")
        text = path.read_text()
        yield stage, text if folder else text * (size // len(text) + 1)


async def _measure(stage: str, text: str) -> tuple[float, list[float], float]:
    app = _Host()
    async with app.run_test(size=(250, 60)) as pilot:
        pane = app.query_one(CodePane)
        await pilot.pause()
        with _timed() as opened:
            pane.show(_document(stage, text))
            _draw(pane)
        frames = []
        for _ in range(_FRAMES):
            with _timed() as frame:
                pane.action_page(1)
                _draw(pane)
            frames += frame
        with _timed() as searched:
            pane.search.start(Query("add.*[39]"))
            await app.workers.wait_for_complete()
            pane.search.find(1)
            _draw(pane)
        return opened[0], frames, searched[0]


@contextmanager
def _timed() -> Iterator[list[float]]:
    seconds: list[float] = []
    begun = time.perf_counter()
    yield seconds
    seconds.append(time.perf_counter() - begun)


def _draw(pane: CodePane) -> None:
    for row in range(pane.size.height):
        pane.render_line(row)


def _document(stage: str, text: str) -> Document:
    count = text.count("\n")
    return stage_document(
        StageListing(
            stage=stage,
            text=text,
            chains=[(SourceLocation("kernel.py", line),) for line in range(100)],
            chain=[line * 7 % 100 for line in range(count)],
            live=[line % 200 for line in range(count)],
            peak=199,
            loops=[],
            marks=[],
        ),
        None,
    )


if __name__ == "__main__":
    main()
