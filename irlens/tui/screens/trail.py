"""Where jumps came from, and where they led: what "back" and "forward" go through."""

import msgspec

from irlens.tui.widgets.linked_pane import LinkedPane


class Position(msgspec.Struct, frozen=True):
    """Where a cursor was.

    Attributes:
        pane: In which pane.
        showing: What that showed.
        at: Line and column.
    """

    pane: LinkedPane
    showing: str
    at: tuple[int, int]


def position_of(pane: LinkedPane) -> Position:
    """Return where the cursor of a pane is."""
    return Position(pane, pane.showing, pane.position)


class Trail:
    """The positions before and after the one that is looked at."""

    def __init__(self) -> None:
        self._before: list[Position] = []
        self._after: list[Position] = []

    def leave(self, position: Position) -> None:
        """Keep where a jump comes from; what was gone back from is forgotten."""
        self._before.append(position)
        self._after.clear()

    def back(self, here: Position) -> Position | None:
        """Return where the last jump came from, ``None`` if there was none."""
        return _step(self._before, self._after, here)

    def forward(self, here: Position) -> Position | None:
        """Return where was gone back from, ``None`` if that was not."""
        return _step(self._after, self._before, here)


def _step(away: list[Position], behind: list[Position], here: Position) -> Position | None:
    while away:
        position = away.pop()
        if position.pane.is_attached and position != here:
            behind.append(here)
            return position
    return None
