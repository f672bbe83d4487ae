"""What runs in the background of a screen, and the changes that the last compilation made."""

import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from textual.content import Content
from textual.timer import Timer
from textual.widgets import Static

from irlens.model.errors import IrlensError
from irlens.model.text import printable_line
from irlens.render.view import nodes
from irlens.session.exchange import Inquiry
from irlens.tui.drawing import DIM, WARN, lines
from irlens.tui.services.compilations import Compilations
from irlens.tui.services.threads import run_in_thread

T = TypeVar("T")

_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
#: Seconds between two frames of the spinner.
_TICK = 0.1


class Status(Static):
    """One line with something that runs and its elapsed time; hidden otherwise."""

    DEFAULT_CSS = """
    Status { height: 1; padding: 0 1; background: $panel; display: none; }
    """

    def __init__(self) -> None:
        super().__init__(markup=False)
        self._timer: Timer | None = None

    def follow(self, *, runs: bool) -> None:
        """Show the line and redraw it periodically, or hide it."""
        self.display = runs
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        if runs:
            self._timer = self.set_interval(_TICK, self.draw)
            self.draw()

    def draw(self) -> None:
        """Draw what runs."""

    def tell(self, does: str, reached: str, started: float, hint: str) -> None:
        """Draw a line: "⠋ compiling variants  3 of 22  4.1 s  esc cancels"."""
        elapsed = time.monotonic() - started
        frame = _SPINNER[int(elapsed / _TICK) % len(_SPINNER)]
        self.update(
            Content.assemble(
                (f"{frame} ", WARN),
                printable_line(does),
                printable_line(f"  {reached}") if reached else "",
                (f"  {elapsed:.1f} s{hint}", DIM),
            )
        )


class CompileStatus(Status):
    """The running compilation."""

    def __init__(self, compilations: Compilations) -> None:
        super().__init__()
        self._compilations = compilations

    def on_mount(self) -> None:
        """Subscribe to compilations."""
        self._compilations.changed.subscribe(self, lambda _: self._changed())
        self._changed()

    def _changed(self) -> None:
        self.follow(runs=self._compilations.running is not None)

    def draw(self) -> None:
        """Draw the compilation, and how far a suggestion is."""
        compilation, inquiry = self._compilations.running, self._compilations.inquiry
        if compilation is not None:
            hint = "  esc cancels" if getattr(self.screen, "may_cancel", False) else ""
            reached = inquiry.reached if inquiry is not None else ""
            self.tell(f"compiling {compilation.label}", reached, compilation.started, hint)


class InquiryStatus(Status):
    """A question that a child process answers; the process ends with this widget."""

    def __init__(self) -> None:
        super().__init__()
        self._inquiry: Inquiry | None = None
        self._does, self._started = "", 0.0

    @property
    def is_asking(self) -> bool:
        """Whether the answer is still to come."""
        return self._inquiry is not None

    def ask(
        self,
        does: str,
        call: Callable[[Inquiry], T],
        on_answer: Callable[[T], None],
        on_error: Callable[[IrlensError], None],
    ) -> None:
        """Ask a question; one that is being answered is cancelled.

        Args:
            does: What is done for the answer: "compiling variants".
            on_error: Receives the error instead, also that of a cancelled question.
        """
        self.cancel()
        self._inquiry = inquiry = Inquiry()
        self._does, self._started = does, time.monotonic()

        def is_last() -> bool:
            if self._inquiry is inquiry:
                self._inquiry = None
                self.follow(runs=False)
                return True
            return False

        def answer(result: T) -> None:
            if is_last():
                on_answer(result)

        def fail(error: IrlensError) -> None:
            if is_last():
                cancelled = IrlensError("cancelled: press R to ask again")
                on_error(cancelled if inquiry.is_cancelled else error)

        run_in_thread(self, partial(call, inquiry), answer, fail)
        self.follow(runs=True)

    def cancel(self) -> None:
        """Abandon the answer."""
        if self._inquiry is not None:
            self._inquiry.cancel()

    def on_unmount(self) -> None:
        """Abandon the answer: the screen that asked is gone."""
        self.cancel()

    def draw(self) -> None:
        """Show the progress and how to cancel."""
        if self._inquiry is not None:
            self.tell(self._does, self._inquiry.reached, self._started, "  esc cancels")


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
        from irlens.tui import panels  # not needed before something is compiled

        sides = panels.sides(origin.comparison)
        # A changed size may change every argument: too long for one line.
        if not origin.has_changes or nodes.width(sides) > width // 2:
            sides = nodes.text(origin.label)
        summary = panels.changes_headline(origin.comparison, nodes.text(*sides, "  "), width - 4)
        self.update(lines([*summary, Content.styled(f"c shows all changes · {position}", DIM)]))
