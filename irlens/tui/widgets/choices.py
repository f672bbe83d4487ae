"""A list to choose from, also by vim's keys."""

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widgets import OptionList


class Choices(OptionList):
    """What a dialogue offers."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "cursor_down", "Down", id="choices.down", show=False),
        Binding("k", "cursor_up", "Up", id="choices.up", show=False),
        Binding("g", "first", "First", id="choices.first", show=False),
        Binding("G", "last", "Last", id="choices.last", show=False),
        Binding("ctrl+d", "page_down", "Page down", id="choices.page_down", show=False),
        Binding("ctrl+u", "page_up", "Page up", id="choices.page_up", show=False),
    ]
