"""A line at the bottom of the screen to type something into, as ``/`` and ``:`` open it."""

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input


class Prompt(Input, can_focus=False):
    """Hidden until it is opened; gives the focus back when it closes."""

    DEFAULT_CSS = """
    Prompt {
        display: none;
        height: 1;
        border: none;
        padding: 0 1;
        background: $panel;
        &:focus { border: none; background-tint: transparent; }
        &.-open { display: block; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", "Cancel", id="prompt.cancel"),
    ]

    class Cancelled(Message):
        """Nothing is wanted after all."""

    def __init__(self) -> None:
        super().__init__(select_on_focus=False)
        self.purpose = ""
        self._before: Widget | None = None

    def open(self, purpose: str, hint: str) -> None:
        """Ask for something.

        Args:
            purpose: For whoever reads the answer: what was asked.
            hint: What is shown while nothing has been typed.
        """
        self.purpose = purpose
        self._before = self.screen.focused
        with self.prevent(Input.Changed):
            self.value = ""
        self.placeholder = hint
        self.add_class("-open")
        self.can_focus = True
        self.focus()

    def close(self) -> None:
        """Disappear."""
        self.remove_class("-open")
        self.can_focus = False
        if self._before is not None and self._before.is_attached:
            self._before.focus()

    def action_cancel(self) -> None:
        """Close without an answer."""
        self.close()
        self.post_message(self.Cancelled())
