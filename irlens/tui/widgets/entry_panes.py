"""The panes of an entry: loads its Python and stages, and lays them out."""

from collections.abc import Sequence
from contextlib import suppress
from functools import partial

import msgspec
from textual.app import ComposeResult
from textual.widgets import Static

from irlens.model.capture import Disassembly
from irlens.model.errors import IrlensError
from irlens.model.report import Report
from irlens.model.source import SourceLocation, Span
from irlens.model.text import printable
from irlens.tui.code import Document, python_document, stage_document
from irlens.tui.code.search import Query
from irlens.tui.services import CodePlace, Context
from irlens.tui.widgets.code_pane import CodePane
from irlens.tui.widgets.linked_panes import LinkedPanes

#: The first stage to show: the text nearest to the machine that every capture has.
_FIRST_STAGES = ("ptx", "amdgcn")
#: The stages for new panes, the most wanted first.
_NEXT_STAGES = ("ttgir", *_FIRST_STAGES, "llir", "ttir")
#: Columns from which another pane is shown at first, and the stages in it, the first that there is.
_MORE_PANES = ((160, ("ttgir",)), (240, ("sass", "llir")))
#: Panes that are shown even if they are narrower than useful.
_MIN_PANES = 2
_LAYOUT = "inspector.panes"
_LOADING = "loading the stages …\na kernel that is not compiled yet is compiled first"
_NOTHING = "no code to show: a saved report has figures alone\n" + (
    "open the capture that it was made from, or press 1 for the figures"
)


class EntryContents(msgspec.Struct, frozen=True):
    """What an entry has to show: Python files by name, and stages."""

    kernel: str = ""
    python: dict[str, str] = {}
    stages: Sequence[str] = ()

    @property
    def names(self) -> list[str]:
        """The stages, then the Python files."""
        return [*self.stages, *self.python]


class PaneLayout(msgspec.Struct, frozen=True):
    """One pane of a layout.

    Attributes:
        weight: Share of the width; ``None`` for the default.
    """

    showing: str
    weight: int | None = None
    folded: bool = True
    query: Query | None = None
    is_active: bool = False


class Layout(msgspec.Struct, frozen=True):
    """Panes from the left, and whether the active one is zoomed."""

    panes: Sequence[PaneLayout]
    is_zoomed: bool = False


class EntryPanes(LinkedPanes):
    """Panes with the Python and the stages of one entry.

    Attributes:
        contents: What the entry has to show; empty until loaded.
    """

    def __init__(self, context: Context, key: str) -> None:
        super().__init__()
        self._services, self._key = context, key
        self._documents: dict[str, Document] = {}
        self._adopted: Layout | None = None
        self.contents = EntryContents()

    @property
    def here(self) -> SourceLocation | None:
        """The line of Python at the cursor: unlike a stage's, it survives a recompilation."""
        pane, python = self.active, self.contents.python
        if pane is None or pane.document is None:
            return None
        if pane.showing in python:
            return SourceLocation(pane.showing, pane.line)
        chain = pane.document.chain(pane.line)
        return next((place for place in chain if place.file in python), None)

    @property
    def layout_of_panes(self) -> Layout:
        """The current layout."""
        panes = [
            PaneLayout(
                pane.showing, pane.weight, pane.folded, pane.search.query, pane is self.active
            )
            for pane in self.panes
        ]
        return Layout(panes, self.is_zoomed)

    def compose(self) -> ComposeResult:
        """Say that the panes are still to come."""
        yield Static(_LOADING, markup=False)

    def adopt(self, layout: Layout) -> None:
        """Use another entry's layout instead of the default one."""
        self._adopted = layout

    def read_contents(self) -> EntryContents:
        """Return what the entry has to show; called in a thread."""
        bench, key = self._services.workbench, self._key
        return EntryContents(bench.kernel(key), bench.python(key), bench.stages(key))

    async def lay_out(self, contents: EntryContents, at: CodePlace | None) -> None:
        """Create the panes, and open a position."""
        self.contents = contents
        if not contents.names:
            await self.tell(_NOTHING)
            return
        await self.query(Static).remove()
        layout = self._adopted or Layout([PaneLayout(name) for name in self._default_names()])
        start = at if self._adopted and isinstance(at, SourceLocation) else None
        if start is not None:
            self.start_at(start)
        active: CodePane | None = None
        for each in layout.panes:
            has_room = len(self.panes) < _MIN_PANES or self.has_room
            if has_room and each.showing in contents.names:
                pane = await self._add(each)
                active = pane if each.is_active else active
        if active is not None:
            self.activate(active, leads=start is None)
            self.zoom(active if layout.is_zoomed else None)
        elif at is not None and self.pane_for(document_name(at)) is not None:
            self.go_to(at)
        elif self.panes:
            self.activate(self.panes[0])

    async def tell(self, text: str) -> None:
        """Show some lines in place of panes: that they are loading, or why there are none."""
        await self.query(Static).remove()
        await self.mount(Static(printable(text), markup=False))

    def go_to(self, at: CodePlace) -> None:
        """Open a position in the pane that shows it, or else in the active one."""
        name = document_name(at)
        pane = self.pane_for(name)
        if pane is not None:  # before that nothing is laid out, and ``lay_out`` opens it
            self.show(pane, name, (at.line, 0))
            self.activate(pane)

    def pane_for(self, name: str) -> CodePane | None:
        """Return the pane for a document: one that shows it, or one of its kind."""
        is_python = name in self.contents.python
        same_kind = [
            pane for pane in self.panes if (pane.showing in self.contents.python) == is_python
        ]
        showing = (pane for pane in same_kind if pane.showing == name)
        return next(showing, next(iter(same_kind), None))

    def show(self, pane: CodePane, name: str, at: tuple[int, int] | None = None) -> None:
        """Show a stage or a Python file in a pane, as soon as it is loaded."""
        if at is not None and pane.showing == name and pane.document is not None:
            pane.go_to(*at)
            return
        document = self._documents.get(name)
        if document is None:
            pane.open(name, partial(self._fetch, name), at)
        else:
            pane.present(document, at)

    def cycle(self, step: int) -> bool:
        """Show the next stage, or in a pane of Python the next file; return whether one was shown.

        If the active pane shows the only Python file, the first pane with a stage changes.
        """
        python = list(self.contents.python)
        pane = self.visible_pane(python)
        if pane is None:
            return False
        names = python if pane.showing in python else list(self.contents.stages)
        self.show(pane, names[(names.index(pane.showing) + step) % len(names)])
        self.remember_layout()
        return True

    async def add_next(self) -> None:
        """Add a pane with the most useful stage that is not shown."""
        if names := self.contents.names:
            shown = {pane.showing for pane in self.panes}
            wanted = (name for name in (*_NEXT_STAGES, *names) if name in names)
            name = next((name for name in wanted if name not in shown), names[0])
            pane = await self.add()
            self.show(pane, name)
            pane.focus()
            self.remember_layout()

    def keep_document(self, pane: CodePane) -> None:
        """Keep a document that is loaded completely, to show it again at once."""
        if pane.complete and pane.document is not None:
            self._documents[pane.showing] = pane.document

    def remember_layout(self) -> None:
        """Remember the stages that are shown, for the next entry."""
        shown = [pane.showing for pane in self.panes]
        stages = [name for name in shown if name in self.contents.stages]
        self._services.preferences.layout[_LAYOUT] = ",".join(stages)

    async def _add(self, layout: PaneLayout) -> CodePane:
        pane = await self.add()
        pane.folded, pane.search.query = layout.folded, layout.query
        if layout.weight is not None:
            pane.resize_by(layout.weight - pane.weight)
        self.show(pane, layout.showing)
        return pane

    def _default_names(self) -> list[str]:
        stages = self.contents.stages
        remembered = self._services.preferences.layout.get(_LAYOUT, "").split(",")
        shown = [name for name in remembered if name in stages]
        if not shown:
            shown = [name for name in _FIRST_STAGES if name in stages] or list(stages[-1:])
            for width, wanted in _MORE_PANES:
                more = next((name for name in wanted if name in stages), None)
                if self.screen.size.width >= width and more is not None and more not in shown:
                    shown.append(more)
            shown.sort(key=list(stages).index)
        return [*list(self.contents.python)[:1], *shown]

    def _fetch(self, name: str, annotated: bool) -> Document:
        bench, key = self._services.workbench, self._key
        text = self.contents.python.get(name)
        if text is None:
            listing = bench.listing(key, name, annotated=annotated)
            return stage_document(listing, bench.report(key) if annotated else None)
        report = self._report_with_machine_code() if annotated else None
        return python_document(name, text, self.contents.kernel, report)

    def _report_with_machine_code(self) -> Report | None:
        """Return the report whose registers are the machine's where it can be disassembled."""
        bench, key = self._services.workbench, self._key
        for disassembly in (Disassembly.REQUIRE, Disassembly.SKIP):
            with suppress(IrlensError):  # the stages report it; Python can be shown all the same
                return bench.report(key, disassembly)
        return None


def document_name(at: CodePlace) -> str:
    """Return the stage or the Python file that a position is in."""
    return at.stage if isinstance(at, Span) else at.file
