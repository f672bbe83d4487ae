"""Jump history: the positions that Back and Forward go through."""

import msgspec

from irlens.tui.widgets.code_pane import CodePane


class Position(msgspec.Struct, frozen=True):
    """A cursor position.

    Attributes:
        pane: The pane.
        showing: The document in it.
        at: Line and column.
    """

    pane: CodePane
    showing: str
    at: tuple[int, int]


def position_of(pane: CodePane) -> Position:
    """Return the cursor position of a pane."""
    return Position(pane, pane.showing, pane.position)


class JumpHistory:
    """The positions before and after the current one."""

    def __init__(self) -> None:
        self._back: list[Position] = []
        self._forward: list[Position] = []

    def push(self, position: Position) -> None:
        """Record where a jump starts; this clears the positions to go forward to."""
        self._back.append(position)
        self._forward.clear()

    def back(self, here: Position) -> Position | None:
        """Return where the last jump started; ``None`` if there was none."""
        return _pop(self._back, self._forward, here)

    def forward(self, here: Position) -> Position | None:
        """Return where the last step back started; ``None`` if there was none."""
        return _pop(self._forward, self._back, here)


def _pop(source: list[Position], target: list[Position], here: Position) -> Position | None:
    while source:
        position = source.pop()
        if position.pane.is_attached and position != here:
            target.append(here)
            return position
    return None
