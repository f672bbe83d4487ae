"""What stands on a screen while something is compiled, and after it has been."""

import time
from typing import TYPE_CHECKING, cast

from textual.content import Content
from textual.timer import Timer
from textual.widgets import Static

from irlens.tui.drawing import DIM, WARN, hanging, lines
from irlens.tui.panels import deltas

if TYPE_CHECKING:
    from irlens.tui.app import Lens

_TURNING = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
#: Seconds between two drawings of the status.
_TICK = 0.1


class CompileStatus(Static):
    """A line with what is being compiled, and for how long already; hidden while nothing is."""

    DEFAULT_CSS = """
    CompileStatus { height: 1; padding: 0 1; background: $panel; display: none; }
    """

    def __init__(self) -> None:
        super().__init__(markup=False)
        self._ticking: Timer | None = None

    def on_mount(self) -> None:
        """Hear of compilations."""
        lens = cast("Lens", self.app)
        lens.recompiling.changed.subscribe(self, lambda _: self._changed())
        self._changed()

    def _changed(self) -> None:
        attempt = cast("Lens", self.app).recompiling.running
        self.display = attempt is not None
        if self._ticking is not None:
            self._ticking.stop()
            self._ticking = None
        if attempt is not None:
            self._ticking = self.set_interval(_TICK, self._tell)
            self._tell()

    def _tell(self) -> None:
        attempt = cast("Lens", self.app).recompiling.running
        if attempt is not None:
            elapsed = time.monotonic() - attempt.since
            sign = _TURNING[int(elapsed / _TICK) % len(_TURNING)]
            here = getattr(self.screen, "may_cancel", False)
            told = f"  {elapsed:.1f} s{'  esc cancels' if here else ''}"
            self.update(Content.assemble((f"{sign} compiling ", WARN), attempt.told, (told, DIM)))


class MovedSince(Static):
    """What moved since the entry from which this one was compiled; hidden for all others."""

    DEFAULT_CSS = """
    MovedSince {
        height: auto;
        max-height: 4;
        padding: 0 1;
        background: $surface;
        border-left: outer $accent;
        display: none;
    }
    """

    def __init__(self, key: str) -> None:
        super().__init__(markup=False)
        self._key = key

    def on_mount(self) -> None:
        """Say it, if there is anything to say."""
        self._show(self.app.size.width)

    def on_resize(self) -> None:
        """Say it in the room there is."""
        self._show(self.app.size.width)

    def _show(self, width: int) -> None:
        recompiling = cast("Lens", self.app).recompiling
        entries, at = recompiling.history(self._key)
        origin = recompiling.origins.get(self._key)
        self.display = len(entries) > 1
        if len(entries) < 2:
            return
        where = f"compilation {at + 1} of {len(entries)} (, .)"
        if origin is None or origin.comparison is None:
            self.update(Content.styled(where, DIM))
            return
        sides = deltas.sides(origin.comparison)
        # A size may change every argument.
        if not origin.chosen or sides.cell_length > width // 2:
            sides = Content(origin.told)
        told = hanging(
            sides + "  ",
            deltas.phrases(origin.comparison),
            "bold",
            width - 4,
        )
        self.update(lines([told, Content.styled(f"c shows all that moved · {where}", DIM)]))
