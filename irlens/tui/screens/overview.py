"""The overview: one kernel's figures at a glance."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import takewhile
from typing import ClassVar, TypeAlias

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical, VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from irlens.model.errors import IrlensError
from irlens.model.report import Occupancy, Report
from irlens.model.source import Span
from irlens.model.text import printable, printable_line
from irlens.tui.drawing import DIM
from irlens.tui.panels import facts, memory, mix, pipelines, pressure
from irlens.tui.screens.base import EntryScreen, Place
from irlens.tui.widgets.findings import Findings
from irlens.tui.widgets.heading import Heading, title_of, views_with
from irlens.tui.widgets.hints import Hints
from irlens.tui.widgets.panel import Panel
from irlens.tui.widgets.what_if import Demand, WhatIf

#: A report and a width -> a drawing.
_Drawing: TypeAlias = Callable[[Report, int], Content]

_PANELS: dict[str, _Drawing] = {
    "pipelines": pipelines.draw,
    "pressure": pressure.draw,
    "memory": memory.draw,
    "mix": mix.draw,
    "mix-left": mix.draw,
    "facts": facts.draw,
}
#: The screen has it while two columns end nearer to each other with the mix in the left one.
_MIX_LEFT = "-mix-left"


class View(EntryScreen):
    """What a report says, drawn."""

    HELP_TEXT = """
One kernel in one configuration. Go from panel to panel with `tab`.

* **Occupancy**: `◀` marks what limits it. With the panel chosen the arrows change registers,
  shared memory and warps, and the figures follow at once; `[` and `]` go to the next cliff. Warps
  that the compiler added to those asked for stay.
* **Pipelines**: what is fetched when, over a short loop, and when it is computed with.
* **Live registers**: over the instructions, and the lines of Python where most are alive.
* **Findings**: `Enter` explains one, `i` shows the code it is about.

A kernel that was compiled here is compiled again whenever its file is saved, or one that it
imports: what moved stands on top, and `,` and `.` go through the versions.
"""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("w", "choose('occupancy')", "What if", id="overview.what_if", show=False),
        Binding("f", "choose('findings')", "Findings", id="overview.findings"),
        Binding("g", "scroll_to(0)", "Top", id="overview.top", show=False),
        Binding("G", "scroll_to(1)", "Bottom", id="overview.bottom", show=False),
        Binding("ctrl+d", "scroll(12)", "Page down", id="overview.page_down", show=False),
        Binding("ctrl+u", "scroll(-12)", "Page up", id="overview.page_up", show=False),
        Binding("v", "outside('pager')", "Open in $PAGER", id="overview.pager", show=False),
        Binding("e", "outside('editor')", "Open in $EDITOR", id="overview.editor", show=False),
        Binding("y", "copy", "Copy as text", id="overview.copy", show=False),
    ]

    def __init__(self, key: str, at: Place | None = None) -> None:
        super().__init__(key, at)
        #: Whether there is something to see by now.
        self._is_told = False
        #: Which panel to begin with, and how far to scroll.
        self._like: tuple[str, float] | None = None
        #: Where panels began and ended when they were laid out last.
        self._spans: dict[Panel, tuple[int, int]] = {}
        #: How far down the bottom was when it was gone to; there is the bottom, however deep.
        self._end = -1.0

    def compose(self) -> ComposeResult:
        """Lay out the panels in columns, as many as there is room for."""
        yield Heading()
        yield Static(id="problem", markup=False)
        with VerticalScroll(id="overview", can_focus=False), Container(id="columns"):
            with Vertical(classes="-column", id="left"):
                yield WhatIf()
                yield Panel(memory.TITLE, id="memory")
                yield Panel(facts.TITLE, id="facts")
                yield Panel(mix.TITLE, id="mix-left")
            with Container(id="others"):
                with Vertical(classes="-column"):
                    yield Panel(pipelines.TITLE, id="pipelines")
                    yield Findings()
                with Vertical(classes="-column"):
                    yield Panel(pressure.TITLE, id="pressure")
                    yield Panel(mix.TITLE, id="mix")
        yield Hints()

    def on_mount(self) -> None:
        """Show the frames; ask for what they hold once they are seen."""
        reading = Content.assemble(printable_line(self.bench.title), ("  reading …", DIM))
        self.query_one(Heading).show(reading, views_with("overview", self))
        overview = self.query_one("#overview")
        self.watch(overview, "virtual_size", self._has_grown, init=False)
        # How high panels are is known when they are laid out, which may take several turns.
        self.screen_layout_refresh_signal.subscribe(self, lambda _: self._balance())
        # A thread that reads would keep the interpreter from drawing.
        self.call_after_refresh(self._read)

    def is_too_early(self, binding: str) -> bool:
        """Return whether the panels that a key is for are still empty."""
        return not self._is_told and not self.leads_away(binding)

    def set_focus(
        self, widget: Widget | None, scroll_visible: bool = True, from_app_focus: bool = False
    ) -> None:
        """Focus a panel, and bring it into sight before the next key scrolls elsewhere."""
        super().set_focus(widget, scroll_visible=False, from_app_focus=from_app_focus)
        if scroll_visible and isinstance(widget, Panel) and widget.region:
            overview = self.query_one("#overview")
            # None of a screen that is being taken apart.
            top, bottom = dict(self._spans_now()).get(widget, (0, 0))
            if bottom and not overview.can_view_entire(widget):
                centre = (top + bottom - overview.size.height) // 2
                overview.scroll_to(y=min(centre, top), animate=False, immediate=True)

    def action_scroll(self, rows: int) -> None:
        """Scroll by some rows."""
        self.query_one("#overview").scroll_relative(y=rows, animate=False, immediate=True)

    def action_scroll_to(self, share: int) -> None:
        """Scroll to the top (0) or to the bottom (1)."""
        overview = self.query_one("#overview")
        overview.scroll_to(y=overview.max_scroll_y * share, animate=False, immediate=True)
        self._end = overview.scroll_y if share else -1.0

    def action_choose(self, panel: str) -> None:
        """Choose a panel."""
        self.query_one(f"#{panel}").focus()

    def action_outside(self, kind: str) -> None:
        """Show the panel that is chosen in the user's own editor or pager."""
        if isinstance(self.focused, Panel):
            self.show_outside(kind, name="panel.txt", text=str(self.focused.content))

    def action_copy(self) -> None:
        """Copy the panel that is chosen."""
        if isinstance(self.focused, Panel):
            self.lens.copy(str(self.focused.content))

    def on_findings_chosen(self, event: Findings.Chosen) -> None:
        """Explain a finding, or show its code."""
        finding = event.finding
        if event.explain:

            def show(text: str) -> None:
                if self.is_current:
                    self.lens.show_text(f"{finding.message}\n\n{finding.hint}\n\n{text}")

            self.ask(lambda: self.bench.explain(finding.code), show)
        elif finding.source is not None:
            self.lens.show_view("inspector", self.key, finding.source)
        elif finding.stage is not None and finding.line is not None:
            at = Span(finding.stage, finding.line, finding.line)
            self.lens.show_view("inspector", self.key, at)
        else:
            self.notify("the finding is about the whole kernel", timeout=3)

    def _read(self) -> None:
        """Ask for the report, and then for what takes the disassembler."""
        self.ask(lambda: self.bench.report(self.key), self._show_first, self._failed)

    def _show_first(self, report: Report) -> None:
        self._show(report)
        self.call_after_refresh(self._has_told)
        if "cubin" in report.stages:
            # It takes the disassembler, and may fail for want of it: then the rest stays.
            with_sass = lambda: self.bench.report(self.key, sass=True)  # noqa: E731
            self.ask(with_sass, self._show, lambda _: None, group="sass")

    def _show(self, report: Report) -> None:
        self.query_one(Heading).show(title_of(report), views_with("overview", self))
        self.query_one(WhatIf).tell(report, self._what_if)
        self.query_one(Findings).tell(report.findings)
        self.query_one("#memory", Panel).border_title = memory.title(report)
        for name, draw in _PANELS.items():
            self.query_one(f"#{name}", Panel).show(partial(draw, report))

    def _has_grown(self) -> None:
        # While panels are laid out there may be less of them for a moment.
        self._end = min(self._end, self.query_one("#overview").max_scroll_y)
        self.call_later(self._keep_still)

    def _keep_still(self) -> None:
        """Leave what is seen where it is, although panels above it have grown."""
        overview = self.query_one("#overview")
        before, self._spans = self._spans, dict(self._spans_now())
        if 0 <= self._end <= overview.scroll_y:
            self.action_scroll_to(1)
            return
        seen = [
            panel
            for panel, (_, bottom) in before.items()
            if bottom > overview.scroll_y and panel in self._spans
        ]
        first = min(seen, key=before.__getitem__, default=None)
        if first is not None and overview.scroll_y > 0:
            moved = self._spans[first][0] - before[first][0]
            overview.scroll_relative(y=moved, animate=False, immediate=True)

    def _spans_now(self) -> Iterator[tuple[Panel, tuple[int, int]]]:
        """Yield where panels begin and end, in lines of all that can be scrolled."""
        overview = self.query_one("#overview")
        for panel in self.query(Panel):
            if panel.display:
                around = takewhile(lambda node: node is not overview, panel.ancestors_with_self)
                top = sum(node.virtual_region.y for node in around if isinstance(node, Widget))
                yield panel, (top, top + panel.outer_size.height)

    def resemble(self, other: EntryScreen) -> None:
        """Begin with the other's panel, scrolled as far."""
        if isinstance(other, View) and isinstance(other.focused, Panel):
            self._like = str(other.focused.id), other.query_one("#overview").scroll_y

    def _has_told(self) -> None:
        self._is_told = True
        if self._like is not None:
            panel, top = self._like
            self.query_one(f"#{panel}").focus(scroll_visible=False)
            self.query_one("#overview").scroll_to(y=top, animate=False, immediate=True)
        self.lens.keyboard.go_on()

    def _balance(self) -> None:
        """Put the mix where the longer one of two columns is shorter with it."""
        is_left = self.has_class(_MIX_LEFT)
        moved = self._height("mix-left" if is_left else "mix")
        left = self._height("left") - (moved if is_left else 0)
        right = self._height("others") - (0 if is_left else moved)
        better = max(left + moved, right) < max(left, right + moved)
        goes_left = better and self.has_class("-medium")
        if goes_left != is_left:
            here, there = ("mix", "mix-left") if goes_left else ("mix-left", "mix")
            is_chosen = self.query_one(f"#{here}").has_focus
            self.set_class(goes_left, _MIX_LEFT)
            if is_chosen:
                self.action_choose(there)

    def _height(self, name: str) -> int:
        return self.query_one(f"#{name}").outer_size.height

    def _what_if(self, demand: Demand) -> Occupancy | None:
        return self.bench.what_if(
            self.key,
            registers=demand.registers,
            shared_bytes=demand.shared_bytes,
            num_warps=demand.num_warps,
        )

    def _failed(self, error: IrlensError) -> None:
        self.query_one("#overview").display = False
        self.query_one(Heading).show(Content("this cannot be shown"))
        told = printable(error.told("\n"))
        problem = self.query_one("#problem", Static)
        problem.update(told)
        problem.display = True
        self._has_told()
