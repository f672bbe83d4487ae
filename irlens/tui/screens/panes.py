"""What an entry has to show in panes side by side, and which pane shows what."""

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import ClassVar

import msgspec
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from irlens.model.errors import IrlensError
from irlens.model.report import Report
from irlens.model.source import SourceLocation, Span
from irlens.tui.code.document import Document, python_document, stage_document
from irlens.tui.code.gutters import describe_chain, describe_line
from irlens.tui.screens.base import EntryScreen, Place
from irlens.tui.screens.outlook import Look, Outlook, outlook_of
from irlens.tui.widgets.heading import Heading, title_of, views_with
from irlens.tui.widgets.hints import Hints
from irlens.tui.widgets.line_facts import LineFacts
from irlens.tui.widgets.linked_pane import LinkedPane
from irlens.tui.widgets.linked_panes import LinkedPanes
from irlens.tui.widgets.prompt import Prompt

#: The stage to begin with: the one that is nearest to the machine and text in every capture.
_FIRST = ("ptx", "amdgcn")
#: The stages that a new pane shows, what is most often wanted first.
_NEXT = ("ttgir", *_FIRST, "llir", "ttir")
_THREE_PANES = 160
#: Panes that are there even where they are narrower than is good.
_ALWAYS = 2
_LAYOUT = "inspector.panes"


class _Contents(msgspec.Struct, frozen=True):
    """What an entry has to show: its kernel's name, Python files by theirs, and stages."""

    kernel: str
    python: dict[str, str]
    stages: Sequence[str]


class PanesScreen(EntryScreen):
    """Panes that show an entry's Python and stages."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "cycle(1)", "Stage", id="inspector.next_stage"),
        Binding("S", "cycle(-1)", "Previous stage", show=False, id="inspector.previous_stage"),
        Binding("a", "add_pane", "Add pane", id="inspector.add"),
        Binding("x", "close_pane", "Close pane", show=False, id="inspector.close"),
        Binding("greater_than_sign", "widen(1)", "Wider", show=False, id="inspector.wider"),
        Binding("less_than_sign", "widen(-1)", "Narrower", show=False, id="inspector.narrower"),
        Binding("z", "zoom", "Zoom", show=False, id="inspector.zoom"),
        Binding("i", "all_lines", "Lines without code", show=False, id="inspector.all_lines"),
    ]

    def __init__(self, key: str, at: Place | None = None) -> None:
        super().__init__(key, at)
        self._contents = _Contents("", {}, ())
        self._documents: dict[str, Document] = {}
        self._is_laid_out = False
        self._outlook: Outlook | None = None

    def compose(self) -> ComposeResult:
        """Lay it out."""
        yield Heading()
        yield LinkedPanes()
        yield LineFacts()
        yield Prompt()
        yield Hints()

    def on_mount(self) -> None:
        """Begin to read."""
        self._say("reading …")
        self.ask(self._read, self._arrived, self._failed, group="contents")
        # A large kernel's report takes a while, and its text can be shown before.
        self.ask(lambda: self.bench.report(self.key), self._reported, _ignore, group="report")

    @property
    def linked(self) -> LinkedPanes:
        """The panes."""
        return self.query_one(LinkedPanes)

    @property
    def names(self) -> list[str]:
        """Everything that can be shown, the stages first."""
        return [*self._contents.stages, *self._contents.python]

    @property
    def here(self) -> SourceLocation | None:
        """The line of Python that the cursor is at: those of a stage move with every change."""
        pane, python = self.linked.active, self._contents.python
        if pane is None or pane.document is None:
            return None
        if pane.showing in python:
            return SourceLocation(pane.showing, pane.line)
        chain = pane.document.chain(pane.line)
        return next((place for place in chain if place.file in python), None)

    def go_to(self, at: Place) -> None:
        """Show a place, in the pane that has it or in the one that is in use."""
        self.at = at
        name = _name_of(at)
        pane = self._pane_for(name)
        if pane is not None:  # otherwise nothing is read yet, and this is gone to when it is
            self.show(pane, name, (at.line, 0))
            self.linked.use(pane)

    def _pane_for(self, name: str) -> LinkedPane | None:
        panes = self.linked.panes
        python = name in self._contents.python
        alike = [pane for pane in panes if (pane.showing in self._contents.python) == python]
        return next((pane for pane in alike if pane.showing == name), next(iter(alike), None))

    def is_too_early(self, binding: str) -> bool:
        """Return whether there are no panes yet."""
        return not self._is_laid_out and not self.leads_away(binding)

    def leads_away(self, binding: str) -> bool:
        """Return whether something else is to be shown than what is being read."""
        stages = {"inspector.next_stage", "inspector.previous_stage"}
        return super().leads_away(binding) or (self._is_laid_out and binding in stages)

    def _read(self) -> _Contents:
        bench, key = self.bench, self.key
        return _Contents(bench.kernel(key), bench.python(key), bench.stages(key))

    def _failed(self, error: IrlensError) -> None:
        self._say(error.told("; "))
        self._has_laid_out()

    def _arrived(self, contents: _Contents) -> None:
        self._contents = contents
        self.call_later(self._lay_out)

    def _reported(self, report: Report) -> None:
        self.query_one(Heading).show(title_of(report), views_with("inspector", self))

    def resemble(self, other: EntryScreen) -> None:
        """Begin with the other's panes, at the same line of Python."""
        if isinstance(other, PanesScreen):
            self.at, self._outlook = other.here, outlook_of(other.linked)

    async def _lay_out(self) -> None:
        outlook = self._outlook or Outlook([Look(name) for name in self._first_layout()])
        used: LinkedPane | None = None
        begin = self.at if self._outlook and isinstance(self.at, SourceLocation) else None
        if begin is not None:
            self.linked.begin_at(begin)
        for look in outlook.looks:
            has_room = len(self.linked.panes) < _ALWAYS or self.linked.room
            if has_room and look.showing in self.names:
                pane = await self.linked.add()
                look.give(pane)
                self.show(pane, look.showing)
                used = pane if look.used else used
        if used is not None:
            self.linked.use(used, leads=begin is None)
            self.linked.zoom(used if outlook.zoomed else None)
        elif self.at is not None and self._pane_for(_name_of(self.at)) is not None:
            self.go_to(self.at)
        elif self.linked.panes:
            self.linked.use(self.linked.panes[0])
        self.app.call_later(self._has_laid_out)  # the focus moves as late

    def _has_laid_out(self) -> None:
        self._is_laid_out = True
        self.lens.keyboard.go_on()

    def _first_layout(self) -> list[str]:
        stages = self._contents.stages
        kept = self.lens.remembered.layout.get(_LAYOUT, "").split(",")
        shown = [name for name in kept if name in stages]
        if not shown:
            shown = [name for name in _FIRST if name in stages] or list(stages[-1:])
            if self.size.width >= _THREE_PANES and "ttgir" in stages and "ttgir" not in shown:
                shown.insert(0, "ttgir")
        return [*list(self._contents.python)[:1], *shown]

    def _keep_layout(self) -> None:
        shown = [pane.showing for pane in self.linked.panes]
        stages = [name for name in shown if name in self._contents.stages]
        self.lens.remembered.layout[_LAYOUT] = ",".join(stages)

    def show(self, pane: LinkedPane, name: str, at: tuple[int, int] | None = None) -> None:
        """Show a stage or a Python file in a pane, as soon as there is something to show."""
        if at is not None and pane.showing == name and pane.document is not None:
            pane.go_to(*at)
            return
        document = self._documents.get(name)
        if document is None:
            pane.open(name, partial(self._fetch, name), at)
        else:
            pane.present(document, at)

    def _fetch(self, name: str, annotated: bool) -> Document:
        text = self._contents.python.get(name)
        if text is None:
            listing = self.bench.listing(self.key, name, annotated=annotated)
            return stage_document(listing, self.bench.report(self.key) if annotated else None)
        report = None
        with suppress(IrlensError):  # the stages tell of it; Python can be read all the same
            report = self.bench.report(self.key) if annotated else None
        return python_document(name, text, self._contents.kernel, report)

    @on(LinkedPane.Opened)
    def _opened(self, event: LinkedPane.Opened) -> None:
        if event.pane.complete and event.pane.document is not None:
            self._documents[event.pane.showing] = event.pane.document
        self._tell()
        self.lens.keyboard.go_on()

    @on(LinkedPane.Moved)
    def _moved(self, event: LinkedPane.Moved) -> None:
        if event.pane is self.linked.active:
            self.linked.link(event.pane)
            self._tell()

    def on_descendant_focus(self) -> None:
        """Say what is known of the line in the pane that is used now."""
        self._tell()

    def _tell(self) -> None:
        """Say what is known of the cursor's line."""
        pane = self.linked.active
        if pane is None or pane.document is None:
            return
        chain = describe_chain(pane.document, pane.line)
        known = describe_line(pane.document, pane.line)
        problem = pane.document.listing.problem or pane.problem
        self._say(chain, known or [problem])

    def _say(self, first: str, facts: Sequence[str] = ()) -> None:
        self.query_one(LineFacts).tell(first, facts)

    def action_cycle(self, step: int) -> None:
        """Show the next stage, or in the pane of Python the next file if there is one."""
        python = list(self._contents.python)
        pane = self.linked.beside_only(python)
        if pane is None:
            self.notify("no stage is in sight; a adds a pane", severity="warning")
        else:
            names = python if pane.showing in python else list(self._contents.stages)
            self.show(pane, names[(names.index(pane.showing) + step) % len(names)])
            self._keep_layout()

    async def action_add_pane(self) -> None:
        """Put up a pane with what tells most of what is not shown."""
        shown = {pane.showing for pane in self.linked.panes}
        if not self.linked.room:
            self.notify("no room for another pane; x closes one", severity="warning")
        elif names := self.names:
            pane = await self.linked.add()
            wanted = [name for name in (*_NEXT, *names) if name in names and name not in shown]
            self.show(pane, next(iter(wanted), names[0]))
            pane.focus()
            self._keep_layout()

    async def action_close_pane(self) -> None:
        """Take the pane away, unless it is the last."""
        pane = self.linked.active
        if pane is not None and len(self.linked.panes) > 1:
            await self.linked.close(pane)
            self._keep_layout()

    def action_widen(self, step: int) -> None:
        """Give the pane a larger share of the width."""
        if pane := self.linked.active:
            pane.resize_by(step)

    def action_zoom(self) -> None:
        """Show the pane alone, or all again."""
        self.linked.zoom(None if self.linked.zoomed else self.linked.active)

    def action_all_lines(self) -> None:
        """Show the lines without code, too, or leave them out again."""
        if pane := self.linked.active:
            pane.fold(not pane.folded)
            pane.describe()


def _name_of(at: Place) -> str:
    return at.stage if isinstance(at, Span) else at.file


def _ignore(error: IrlensError) -> None:
    """The panes ask for it, too, and tell."""
