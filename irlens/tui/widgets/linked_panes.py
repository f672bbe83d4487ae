"""Panes side by side whose cursors and marked lines follow the active pane."""

from collections.abc import Iterator, Sequence

from textual import events, on
from textual.containers import Horizontal

from irlens.model.source import SourceLocation
from irlens.tui.code import Document, Place
from irlens.tui.widgets.code_pane import CodePane

#: Cells below which a pane is of no use.
_MIN_WIDTH = 36


class LinkedPanes(Horizontal):
    """Panes that show the lines which belong to the active pane's line of Python."""

    DEFAULT_CSS = """
    LinkedPanes {
        height: 1fr;
        & > Static { padding: 1 2; color: $text-muted; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self._active: CodePane | None = None
        self._chain: tuple[SourceLocation, ...] = ()
        self._place: Place | None = None

    @property
    def panes(self) -> list[CodePane]:
        """The panes from left to right."""
        return list(self.query(CodePane))

    @property
    def active(self) -> CodePane | None:
        """The pane that has the focus, or had it last."""
        panes = self.panes
        return self._active if self._active in panes else next(iter(panes), None)

    def active_document(self) -> Iterator[tuple[CodePane, Document]]:
        """Yield the active pane with its document, if it shows one."""
        pane = self.active
        if pane is not None and pane.document is not None:
            yield pane, pane.document

    @property
    def has_room(self) -> bool:
        """Whether another pane fits."""
        return (len(self.panes) + 1) * _MIN_WIDTH <= self.size.width

    def visible_pane(self, excluding: Sequence[str]) -> CodePane | None:
        """Return the active pane, or the first visible one that shows something else.

        Args:
            excluding: If the active pane shows the only one of these, another pane is meant.
        """
        if self.active is None or [self.active.showing] != excluding:
            return self.active
        return next(
            (pane for pane in self.panes if pane.display and pane.showing not in excluding), None
        )

    def pane_with_peak(self, stage: str) -> CodePane | None:
        """Return a visible pane whose stage has a register peak: the one named, or any."""
        panes = [
            pane
            for pane in self.panes
            if pane.display
            and pane.document is not None
            and pane.document.stage != "python"
            and pane.document.peaks
        ]
        named = (pane for pane in panes if pane.showing == stage)
        return next(named, next(iter(panes), None))

    async def add(self) -> CodePane:
        """Add a pane on the right."""
        self.zoom(None)
        pane = CodePane()
        pane.resize_by(0)
        await self.mount(pane)
        return pane

    async def close(self, pane: CodePane) -> None:
        """Remove a pane, and activate its neighbour."""
        index = self.panes.index(pane)
        await pane.remove()
        if rest := self.panes:
            self.activate(rest[min(index, len(rest) - 1)])

    @property
    def is_zoomed(self) -> bool:
        """Whether one pane is shown alone."""
        return not all(pane.display for pane in self.panes)

    def zoom(self, alone: CodePane | None) -> None:
        """Show one pane alone, or all of them."""
        # Textual's maximized view would hide the line facts and the prompt.
        for pane in self.panes:
            pane.display = alone is None or pane is alone

    def activate(self, pane: CodePane, *, leads: bool = True) -> None:
        """Focus a pane; if another one is zoomed, zoom this one instead.

        Args:
            leads: Whether the other panes follow its cursor.
        """
        if leads:
            self._follow(pane)
        self._active = pane
        if not pane.display:
            self.zoom(pane)
            self.call_after_refresh(pane.focus)  # a hidden widget cannot take the focus
        else:
            pane.focus()

    def start_at(self, place: SourceLocation) -> None:
        """Open all panes at a line of Python as their documents arrive."""
        self._chain, self._place = (place,), (place.file, place.line)

    def link(self, source: CodePane, *, is_opening: bool = False) -> None:
        """Mark in all panes what belongs to the cursor of one, and move the others there.

        Args:
            is_opening: Whether it has just opened where its kernel begins, as the others do.
        """
        if source.document is not None:
            self._chain = source.document.chain(source.line)
            self._place = self._place_of(self._chain)
            follow = not (is_opening and self._is_at_definition)
            for pane in self.panes:
                self._update(pane, follow=follow and pane is not source)

    @on(CodePane.Opened)
    def _on_opened(self, event: CodePane.Opened) -> None:
        """Move a new document to where the others are, or the others to the requested line."""
        if event.pane is self.active and (event.at is not None or not self._chain):
            self.link(event.pane, is_opening=event.at is None)
        else:
            self._update(event.pane, follow=not self._is_at_definition)

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Follow the pane that was focused."""
        # The focus may have moved on to another pane by now.
        if isinstance(event.widget, CodePane) and event.widget.has_focus:
            self._follow(event.widget)

    def _follow(self, pane: CodePane) -> None:
        if pane is not self._active:
            is_first = self._active is None
            self._active = pane
            self.link(pane, is_opening=is_first)

    @property
    def _is_at_definition(self) -> bool:
        """Whether the panes are at the line of Python that defines the kernel.

        That line may belong to nothing but the kernel's end, far from where a stage begins.
        """
        return any(
            pane.document is not None and self._place == (pane.showing, pane.document.begin)
            for pane in self.panes
        )

    def _place_of(self, chain: tuple[SourceLocation, ...]) -> Place | None:
        """Return the line of Python that an inlining chain stands for.

        This is the innermost line in a file that is shown, or else the outermost one, the kernel's
        own.
        """
        if not chain:
            return None
        shown = {pane.showing for pane in self.panes}
        location = next((each for each in chain if each.file in shown), chain[-1])
        return location.file, location.line

    def _update(self, pane: CodePane, *, follow: bool) -> None:
        document = pane.document
        if document is None:
            return
        if document.stage == "python":
            lines = sorted({at.line for at in self._chain if at.file == document.name})
        else:
            lines = document.places(self._place) if self._place else []
        pane.link(lines, follow=follow)
        pane.describe()
