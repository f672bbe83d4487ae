"""How panes are arranged, so that another entry's can be arranged alike."""

from collections.abc import Sequence

import msgspec

from irlens.tui.code.search import Query
from irlens.tui.widgets.linked_pane import LinkedPane
from irlens.tui.widgets.linked_panes import LinkedPanes


class Look(msgspec.Struct, frozen=True):
    """A pane.

    Attributes:
        showing: The stage or the Python file that it shows.
        weight: Its share of the width; ``None`` for that of every pane.
        folded: Whether lines without code are left out.
        sought: What is searched for in it.
        used: Whether it is in use.
    """

    showing: str
    weight: int | None = None
    folded: bool = True
    sought: Query | None = None
    used: bool = False

    def give(self, pane: LinkedPane) -> None:
        """Let a pane look like this one before it shows anything."""
        pane.folded, pane.sought = self.folded, self.sought
        if self.weight is not None:
            pane.resize_by(self.weight - pane.weight)


class Outlook(msgspec.Struct, frozen=True):
    """Panes beside each other.

    Attributes:
        looks: From the left.
        zoomed: Whether the one in use is shown alone.
    """

    looks: Sequence[Look]
    zoomed: bool = False


def outlook_of(linked: LinkedPanes) -> Outlook:
    """Return how panes are arranged."""
    looks = [
        Look(pane.showing, pane.weight, pane.folded, pane.sought, pane is linked.active)
        for pane in linked.panes
    ]
    return Outlook(looks, linked.zoomed)
