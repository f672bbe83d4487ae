"""Compilations on a screen: the running one, and the changes that the last one made."""

import time

from textual.content import Content
from textual.timer import Timer
from textual.widgets import Static

from irlens.tui.drawing import DIM, WARN, lines
from irlens.tui.services.compilations import Compilations

_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
#: Seconds between two frames of the spinner.
_TICK = 0.1


class CompileStatus(Static):
    """One line with the running compilation and its elapsed time; hidden otherwise."""

    DEFAULT_CSS = """
    CompileStatus { height: 1; padding: 0 1; background: $panel; display: none; }
    """

    def __init__(self, compilations: Compilations) -> None:
        super().__init__(markup=False)
        self._compilations = compilations
        self._timer: Timer | None = None

    def on_mount(self) -> None:
        """Subscribe to compilations."""
        self._compilations.changed.subscribe(self, lambda _: self._changed())
        self._changed()

    def _changed(self) -> None:
        self.display = self._compilations.running is not None
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        if self.display:
            self._timer = self.set_interval(_TICK, self._draw)
            self._draw()

    def _draw(self) -> None:
        compilation = self._compilations.running
        if compilation is not None:
            elapsed = time.monotonic() - compilation.started
            frame = _SPINNER[int(elapsed / _TICK) % len(_SPINNER)]
            hint = "  esc cancels" if getattr(self.screen, "may_cancel", False) else ""
            done, total = self._compilations.reached
            reached = f"  {done} of {total}" if compilation.is_suggestion and total else ""
            self.update(
                Content.assemble(
                    (f"{frame} compiling ", WARN),
                    compilation.label,
                    reached,
                    (f"  {elapsed:.1f} s{hint}", DIM),
                )
            )


class ChangesSince(Static):
    """Summary of the changes since the entry from which this one was compiled; hidden otherwise."""

    DEFAULT_CSS = """
    ChangesSince {
        height: auto;
        max-height: 4;
        padding: 0 1;
        background: $surface;
        border-left: outer $accent;
        display: none;
    }
    """

    def __init__(self, key: str, compilations: Compilations) -> None:
        super().__init__(markup=False)
        self._key = key
        self._compilations = compilations

    def on_mount(self) -> None:
        """Draw the summary, if there is one."""
        self._draw(self.app.size.width)

    def on_resize(self) -> None:
        """Draw it for another width."""
        self._draw(self.app.size.width)

    def _draw(self, width: int) -> None:
        entries, index = self._compilations.history(self._key)
        origin = self._compilations.origins.get(self._key)
        self.display = len(entries) > 1
        if not self.display:
            return
        position = f"compilation {index + 1} of {len(entries)} (, .)"
        if origin is None or origin.comparison is None:
            self.update(Content.styled(position, DIM))
            return
        from irlens.tui import changes  # not needed before something is compiled

        sides = changes.sides(origin.comparison)
        # A changed size may change every argument: too long for one line.
        if not origin.has_changes or sides.cell_length > width // 2:
            sides = Content(origin.label)
        summary = changes.headline(origin.comparison, sides + "  ", width - 4)
        self.update(lines([*summary, Content.styled(f"c shows all changes · {position}", DIM)]))
