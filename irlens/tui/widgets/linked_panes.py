"""Panes side by side, each at what the cursor of another is at."""

from collections.abc import Sequence

from textual import events, on
from textual.containers import Horizontal

from irlens.model.source import SourceLocation
from irlens.tui.code.document import Place
from irlens.tui.widgets.linked_pane import LinkedPane

#: Cells that a pane needs to be of any use.
_NEEDED = 36


class LinkedPanes(Horizontal):
    """Panes whose marked lines and cursors follow the cursor of the one that is in use."""

    DEFAULT_CSS = """
    LinkedPanes { height: 1fr; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._active: LinkedPane | None = None
        self._chain: tuple[SourceLocation, ...] = ()
        self._place: Place | None = None

    @property
    def panes(self) -> list[LinkedPane]:
        """The panes from left to right."""
        return list(self.query(LinkedPane))

    @property
    def active(self) -> LinkedPane | None:
        """The pane that has the focus, or had it last."""
        panes = self.panes
        return self._active if self._active in panes else next(iter(panes), None)

    @property
    def room(self) -> bool:
        """Whether there is room for another pane."""
        return (len(self.panes) + 1) * _NEEDED <= self.size.width

    def beside_only(self, names: Sequence[str]) -> LinkedPane | None:
        """Return the pane in use, or the first in sight beside it if there is but what it shows.

        Args:
            names: Texts of a kind.
        """
        if self.active is None or [self.active.showing] != names:
            return self.active
        return next(
            (pane for pane in self.panes if pane.display and pane.showing not in names), None
        )

    async def add(self) -> LinkedPane:
        """Put up a pane to the right of the others."""
        self.zoom(None)
        pane = LinkedPane()
        await self.mount(pane)
        return pane

    async def close(self, pane: LinkedPane) -> None:
        """Take a pane away, and use its neighbour."""
        at = self.panes.index(pane)
        await pane.remove()
        if rest := self.panes:
            self.use(rest[min(at, len(rest) - 1)])

    @property
    def zoomed(self) -> bool:
        """Whether one pane is shown alone."""
        return not all(pane.display for pane in self.panes)

    def zoom(self, alone: LinkedPane | None) -> None:
        """Show a pane alone, or all of them."""
        # Textual's maximized view would leave out what says where the cursor is, and the prompt.
        for pane in self.panes:
            pane.display = alone is None or pane is alone

    def use(self, pane: LinkedPane, *, leads: bool = True) -> None:
        """Focus a pane; if another one is shown alone, this one is from now on.

        Args:
            pane: The pane.
            leads: Whether the others come to where its cursor is.
        """
        if leads:
            self._follow(pane)
        self._active = pane
        if not pane.display:
            self.zoom(pane)
            self.call_after_refresh(pane.focus)  # what is not there yet cannot have the focus
        else:
            pane.focus()

    def begin_at(self, place: SourceLocation) -> None:
        """Bring all panes to a line of Python as they come to show something."""
        self._chain, self._place = (place,), (place.file, place.line)

    def link(self, source: LinkedPane) -> None:
        """Bring all panes to what the cursor of one is at."""
        if source.document is not None:
            self._chain = source.document.chain(source.line)
            self._place = self._place_of(self._chain)
            for pane in self.panes:
                self._bring(pane, follow=pane is not source)

    @on(LinkedPane.Opened)
    def _opened(self, event: LinkedPane.Opened) -> None:
        """Bring a new text to where the others are, or the others to where it was asked for."""
        if event.pane is self.active and (event.at is not None or not self._chain):
            self.link(event.pane)
        else:
            # A kernel's definition may belong to nothing but its end, far from where it begins.
            self._bring(event.pane, follow=not self._is_definition)

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Follow the pane that is used now; one that was in use before is followed already."""
        # It may have gone on to another pane by now.
        if isinstance(event.widget, LinkedPane) and event.widget.has_focus:
            self._follow(event.widget)

    def _follow(self, pane: LinkedPane) -> None:
        if pane is not self._active:
            self._active = pane
            self.link(pane)

    @property
    def _is_definition(self) -> bool:
        """Whether the panes are at the line of Python that defines the kernel."""
        return any(
            pane.document is not None and self._place == (pane.showing, pane.document.begin)
            for pane in self.panes
        )

    def _place_of(self, chain: tuple[SourceLocation, ...]) -> Place | None:
        """The line of Python that a chain stands for.

        Where functions are inlined into each other it is the innermost line in a file that is
        shown, and else the outermost, the kernel's own.
        """
        if not chain:
            return None
        shown = {pane.showing for pane in self.panes}
        at = next((location for location in chain if location.file in shown), chain[-1])
        return at.file, at.line

    def _bring(self, pane: LinkedPane, *, follow: bool) -> None:
        document = pane.document
        if document is None:
            return
        if document.stage == "python":
            lines = sorted({at.line for at in self._chain if at.file == document.name})
        else:
            lines = document.places(self._place) if self._place else []
        pane.link(lines, follow=follow)
        pane.describe()
