"""The overview: the figures of one kernel in panels, and its findings; Enter explains one."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static

from irlens.model.capture import Disassembly
from irlens.model.errors import IrlensError
from irlens.model.report import Finding, Report
from irlens.model.source import Span
from irlens.model.text import first_of, printable, printable_line
from irlens.model.why import Explanations
from irlens.render.view.findings import (
    by_effect,
    findings,
    not_looked_for,
    severities_in_words,
)
from irlens.render.view.nodes import SIGNS, FindingItem, Run, Text, text
from irlens.render.view.verdict import verdict
from irlens.render.view.why import summary
from irlens.tui.drawing import (
    DIM,
    SEVERITY_SIGN,
    SEVERITY_STYLE,
    flowed,
    lines,
)
from irlens.tui.panels import Panels
from irlens.tui.screens import EntryScreen, PanelActions, panel_bindings
from irlens.tui.services import Context, Place
from irlens.tui.widgets import Panel
from irlens.tui.widgets.heading import Heading, Verdict, view_tabs
from irlens.tui.widgets.key_bar import KeyBar
from irlens.tui.widgets.what_if import WhatIf

#: Codes of findings that were not looked for that are named.
_CODES = 4


class Findings(Panel):
    """A list of findings with a cursor."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "move(1)", "Next finding", id="findings.next", show=False),
        Binding("k,up", "move(-1)", "Previous finding", id="findings.previous", show=False),
        Binding("enter,x", "explain", "Explain", id="findings.explain"),
        Binding("i", "inspect", "Show the code", id="findings.inspect"),
    ]

    @dataclass
    class Chosen(Message):
        """The user asks for an explanation of a finding, or for its code."""

        finding: Finding
        explain: bool

    def __init__(self) -> None:
        super().__init__("Findings", id="findings")
        self._findings: list[Finding] = []
        self._items: Sequence[FindingItem] = ()
        self._summary: Text = ()
        self._explanation: Callable[[Finding], Explanations | None] = lambda _: None
        self._cursor = 0

    @property
    def chosen(self) -> Finding | None:
        """The finding under the cursor; ``None`` if there are no findings."""
        return self._findings[self._cursor] if self._findings else None

    def show_report(
        self, report: Report, explanation: Callable[[Finding], Explanations | None]
    ) -> None:
        """Show a report's findings, the costliest first; the cursor stays on its finding."""
        self._explanation = explanation
        chosen, shown = self.chosen, findings(report)
        self._summary = severities_in_words(report)
        if unseen := not_looked_for(report):
            self._summary += (Run(f", {first_of(unseen, _CODES)} not looked for", "unknown"),)
        self._items = shown.findings if shown is not None else ()
        self._findings = by_effect(report)
        self._cursor = self._findings.index(chosen) if chosen in self._findings else 0
        self.show(self._drawing)

    def action_move(self, step: int) -> None:
        """Go to another finding; past the last one, scroll."""
        if not 0 <= self._cursor + step < len(self._findings):
            self.screen.call_later(self.run_action, f"screen.scroll({step})")
            return
        self._cursor += step
        self.redraw()

    def action_explain(self) -> None:
        """Ask for an explanation of the finding."""
        if (finding := self.chosen) is not None:
            self.post_message(self.Chosen(finding, explain=True))

    def action_inspect(self) -> None:
        """Ask for the code of the finding."""
        if (finding := self.chosen) is not None:
            self.post_message(self.Chosen(finding, explain=False))

    def on_focus(self) -> None:
        """Show the cursor."""
        self.redraw()

    def on_blur(self) -> None:
        """Hide the cursor."""
        self.redraw()

    def _drawing(self, width: int) -> Content:
        if not self._findings:
            tone = self._summary[0].tone
            sign = f"{SIGNS.get(tone, '·')} "
            return lines(flowed([self._summary], width, first=text(Run(sign, tone))))
        rows = []
        for number, item in enumerate(self._items):
            here = number == self._cursor and self.has_focus
            place = printable_line(f"  {item.place}") if item.place is not None else ""
            rows.append(
                Content.assemble(
                    ("▸" if here else " ", "bold"),
                    (f"{SEVERITY_SIGN[item.severity]} ", SEVERITY_STYLE[item.severity]),
                    (item.code, "bold" if here else ""),
                    (place, DIM),
                )
            )
            told = [[text(item.message)], [text(Run(item.hint, "dim"))] if item.hint else []]
            if (known := self._explanation(self._findings[number])) is not None:
                told.append([(run,) for run in summary(known)])
            for phrases in filter(None, told):
                rows += flowed(phrases, width, first=text("   "))
        return lines(rows)


#: What draws each panel.
_PANELS: dict[str, Callable[[Panels, int], Content]] = {
    "time": Panels.time,
    "pipelines": Panels.pipelines,
    "pressure": Panels.pressure,
    "memory": Panels.memory,
    "traffic": Panels.traffic,
    "mix": Panels.mix,
    "mix-left": Panels.mix,
    "facts": Panels.kernel,
}
#: CSS class of the screen while the instruction mix is in the left of two columns.
_MIX_LEFT = "-mix-left"


class OverviewScreen(PanelActions):
    """The figures of one entry."""

    VIEW = "overview"
    HELP_TEXT = """
One kernel in one configuration. `tab` goes from panel to panel.

* **Time**: the estimate of the launch with its range; what each unit alone would take of it, where
  units work side by side; and the changes that would save the most.
* **Findings**: `Enter` explains one and finds out why it is there, `i` shows its code.
* **Occupancy**: `limits` marks the limiting resources. `w` goes to this panel, where the arrow
  keys change registers, shared memory and warps, starting with what limits, and the figures
  follow; `[` and `]` go to the next cliff. Warps that the compiler adds to the requested ones
  stay.
* **Pipelines**: when data is copied and when it is used, over a short loop.
* **Live registers**: over the instructions, and the lines of Python with the most.
* **Global memory**: what each access of the launch requests, and what of it is distinct.

`t` compiles the configurations near this one and shows those with the least estimated time.

A kernel that was compiled here is recompiled whenever its file, or one that it imports, is saved:
the changes are summarized on top, and `,` and `.` go through the versions.
"""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f", "focus_panel('findings')", "Findings", id="overview.findings"),
        Binding("w", "focus_panel('occupancy')", "What if", id="overview.what_if"),
        *panel_bindings("overview"),
    ]

    def __init__(self, context: Context, key: str, at: Place | None = None) -> None:
        super().__init__(context, key, at)
        #: Whether the panels have content, or there is none.
        self._is_loaded = False
        #: The panel to focus and the scroll position to start with.
        self._adopted: tuple[str, float] | None = None
        #: First and last row of each panel when they were laid out last.
        self._extents: dict[Panel, tuple[int, int]] = {}
        #: Returns the row to keep to while panels grow: the bottom, or the adopted position.
        self._find_kept_row: Callable[[], float] | None = None
        #: That row, as it was last scrolled to: at any other the user has scrolled since.
        self._kept_row = 0.0

    def compose(self) -> ComposeResult:
        """Lay out the panels in as many columns as fit."""
        yield Heading()
        yield Verdict(id="verdict")
        yield Static(id="problem", markup=False)
        with VerticalScroll(id="overview", can_focus=False), Container(id="columns"):
            with Vertical(classes="-column", id="left"):
                yield Panel("Time", id="time")
                yield Findings()
                yield WhatIf()
                yield Panel("Shared memory", id="memory")
                yield Panel("Instructions", id="mix-left")
            with Container(id="others"):
                with Vertical(classes="-column"):
                    yield Panel("Pipelines", id="pipelines")
                    yield Panel("Global memory", id="traffic")
                    yield Panel("Kernel", id="facts")
                with Vertical(classes="-column"):
                    yield Panel("Live registers", id="pressure")
                    yield Panel("Instructions", id="mix")
        yield KeyBar()

    def on_mount(self) -> None:
        """Show the empty panels, then load the report."""
        title = Content.assemble(printable_line(self.bench.title), ("  loading …", DIM))
        self.query_one(Heading).show(title, view_tabs(self.VIEW, self))
        self.watch(self.scrolled, "virtual_size", self._on_virtual_size, init=False)
        # The heights of the panels are known after layout, which may take several passes.
        self.screen_layout_refresh_signal.subscribe(self, lambda _: self._balance_columns())
        # Draw first: a thread that reads holds the interpreter's lock.
        self.call_after_refresh(self._load)

    def adopt_layout(self, other: EntryScreen) -> None:
        """Start with the focused panel and the scroll position of another overview."""
        if isinstance(other, OverviewScreen) and isinstance(other.focused, Panel):
            self._adopted = str(other.focused.id), other.scrolled.scroll_y

    def defers(self, binding: str) -> bool:
        """Return whether the panels are still empty."""
        return not self._is_loaded and not self.abandons_loading(binding)

    def set_focus(
        self, widget: Widget | None, scroll_visible: bool = True, from_app_focus: bool = False
    ) -> None:
        """Focus a panel, and scroll to it before the next key scrolls elsewhere."""
        super().set_focus(widget, scroll_visible=False, from_app_focus=from_app_focus)
        if scroll_visible and isinstance(widget, Panel) and widget.region:
            # There are no extents while the screen is being removed.
            top, bottom = dict(self._find_extents()).get(widget, (0, 0))
            if bottom and not self.scrolled.can_view_entire(widget):
                centre = (top + bottom - self.scrolled.size.height) // 2
                self.scrolled.scroll_to(y=min(centre, top), animate=False, immediate=True)

    def on_screen_resume(self) -> None:
        """Show below a finding why it is there, once that is known."""
        self.query_one(Findings).redraw()

    def action_scroll_to(self, share: int) -> None:
        """Scroll to the top (0) or to the bottom (1)."""
        self._keep_row(lambda: self.scrolled.max_scroll_y * share)

    def action_focus_panel(self, panel: str) -> None:
        """Focus a panel."""
        self.query_one(f"#{panel}").focus()

    def on_findings_chosen(self, event: Findings.Chosen) -> None:
        """Explain a finding, or show its code."""
        finding, navigator = event.finding, self.context.navigator
        if event.explain:
            navigator.show_finding(self.key, finding)
        elif finding.source is not None:
            navigator.show_view("inspector", self.key, finding.source)
        elif finding.stage is not None and finding.line is not None:
            at = Span(finding.stage, finding.line, finding.line)
            navigator.show_view("inspector", self.key, at)
        else:
            self.notify("the finding applies to the whole kernel", timeout=3)

    # Loading.

    def _load(self) -> None:
        report = partial(self.bench.report, self.key)
        self.run_in_thread(report, self._on_report, self._on_error)

    def _on_report(self, report: Report) -> None:
        self._show(report)
        self.call_after_refresh(self._on_loaded)
        if "cubin" in report.stages:
            # The disassembler takes a while, and may be missing: then the rest stays.
            with_sass = partial(self.bench.report, self.key, Disassembly.REQUIRE)
            self.run_in_thread(with_sass, self._show, lambda _: None, group="sass")

    def _show(self, report: Report) -> None:
        self.show_heading(report)
        self.query_one(WhatIf).show_report(report, partial(self.bench.what_if, self.key))
        self.query_one(Findings).show_report(report, partial(self.context.explanation, self.key))
        self.query_one("#verdict", Verdict).show(verdict(report))
        panels = Panels(report)
        self.query_one("#memory", Panel).border_title = panels.memory_title
        for name, draw in _PANELS.items():
            self.query_one(f"#{name}", Panel).show(partial(draw, panels))

    def _on_loaded(self) -> None:
        self._is_loaded = True
        if self._adopted is not None:
            panel, row = self._adopted
            self.query_one(f"#{panel}").focus(scroll_visible=False)
            self._keep_row(partial(self._adopted_row, panel, row))
        self.context.keys.resume()

    def _adopted_row(self, name: str, row: float) -> float:
        """Return a row, or the top of a panel if none of the panel is in view there."""
        row = min(row, self.scrolled.max_scroll_y)
        extents = {str(panel.id): extent for panel, extent in self._find_extents()}
        top, bottom = extents.get(name, (row, row + 1))
        return row if top < row + self.scrolled.size.height and bottom > row else top

    def _on_error(self, error: IrlensError) -> None:
        self.scrolled.display = False
        self.query_one(Heading).show(Content("this entry cannot be shown"))
        problem = self.query_one("#problem", Static)
        problem.update(printable(error.joined("\n")))
        problem.display = True
        self._on_loaded()

    # Layout.

    def _on_virtual_size(self) -> None:
        # During layout the panels may be smaller for a moment.
        self._kept_row = min(self._kept_row, self.scrolled.max_scroll_y)
        self.call_later(self._keep_position)

    def _keep_row(self, find_row: Callable[[], float]) -> None:
        """Scroll to a row, and again when panels have grown, until the user scrolls elsewhere."""
        self.scrolled.scroll_to(y=find_row(), animate=False, immediate=True)
        self._find_kept_row, self._kept_row = find_row, self.scrolled.scroll_y

    def _keep_position(self) -> None:
        """Keep the visible panels in place while panels above them grow."""
        scroll = self.scrolled
        before, self._extents = self._extents, dict(self._find_extents())
        if self._find_kept_row is not None and self._kept_row == scroll.scroll_y:
            self._keep_row(self._find_kept_row)
            return
        visible = [
            panel
            for panel, (_, bottom) in before.items()
            if bottom > scroll.scroll_y and panel in self._extents
        ]
        first = min(visible, key=before.__getitem__, default=None)
        if first is not None and scroll.scroll_y > 0:
            growth = self._extents[first][0] - before[first][0]
            scroll.scroll_relative(y=growth, animate=False, immediate=True)

    def _find_extents(self) -> Iterator[tuple[Panel, tuple[int, int]]]:
        """Yield each panel with its first and last row in the scrolled content."""
        scroll = self.scrolled
        for panel in self.query(Panel):
            if panel.display:
                nodes = takewhile(lambda node: node is not scroll, panel.ancestors_with_self)
                top = sum(node.virtual_region.y for node in nodes if isinstance(node, Widget))
                yield panel, (top, top + panel.outer_size.height)

    def _balance_columns(self) -> None:
        """Put the instruction mix into the column in which the longer column is shorter."""
        if not self.scrolled.display:
            return  # what is hidden is not laid out again: the heights would never settle
        is_left = self.has_class(_MIX_LEFT)
        mix_height = self._height("mix-left" if is_left else "mix")
        left = self._height("left") - (mix_height if is_left else 0)
        right = self._height("others") - (0 if is_left else mix_height)
        is_better = max(left + mix_height, right) < max(left, right + mix_height)
        goes_left = is_better and self.has_class("-medium")
        if goes_left != is_left:
            here, there = ("mix", "mix-left") if goes_left else ("mix-left", "mix")
            has_focus = self.query_one(f"#{here}").has_focus
            self.set_class(goes_left, _MIX_LEFT)
            if has_focus:
                self.action_focus_panel(there)

    def _height(self, name: str) -> int:
        return self.query_one(f"#{name}").outer_size.height
