"""The comparison of two entries: their figures, and the code of any stage."""

from functools import partial
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.style import Style
from textual.widgets import Static

from irlens.model.comparison import Comparison
from irlens.model.errors import IrlensError
from irlens.model.source import Span
from irlens.model.text import count, printable_line
from irlens.tui.code.difference import Difference
from irlens.tui.drawing import DIM, content_of, lines, shortened
from irlens.tui.panels import draw_changes, sides
from irlens.tui.screens import view_bindings
from irlens.tui.screens.diff_actions import YES_OR_NO, DiffActions, diff_bindings
from irlens.tui.screens.stage_comparison import StageComparison
from irlens.tui.services import VIEWS, Context
from irlens.tui.widgets import Panel
from irlens.tui.widgets.diff_view import DiffView
from irlens.tui.widgets.heading import Heading
from irlens.tui.widgets.key_bar import KeyBar
from irlens.tui.widgets.prompt import SearchPrompt

#: The first stage to show: the text nearest to the machine that every capture has, or for different
#: vendors the last stage that they share.
_FIRST_STAGES = ("ptx", "amdgcn", "ttgir")
#: Lines from which all differences are listed, unless the user has chosen.
_TALL = 32
#: Lines of figures where not all differences are listed: the verdict and a few rows of the table.
_BRIEF = 6
#: Bindings that need the code, bindings that choose a stage, and bindings that lead elsewhere.
_NEEDS_CODE = frozenset(
    f"compare.{name}"
    for name in (
        "search", "next_match", "previous_match", "line", "copy", "editor", "pager", "open",
    )
)  # fmt: skip
_STAGE_BINDINGS = frozenset({"compare.next_stage", "compare.previous_stage"})
_ELSEWHERE = frozenset(f"compare.{name}" for name in ("back", "pick", "swap", *VIEWS))
#: Style metadata that names the stage a part of the text leads to.
_STAGE = "stage"


class CompareScreen(DiffActions):
    """The differences between two entries.

    Args:
        before: Key of the first entry.
        after: Key of the second entry.

    Attributes:
        is_settled: Whether its differences are shown, or why there are none.
    """

    HELP_TEXT = """\
The differences from the first entry to the second. Figures, pipelines and findings come first, the
most important on top; below them is the code of a stage. Names of values and registers, labels,
source locations and addresses are not compared.

* `-` marks lines of the first side, `+` lines of the second, `~` changed lines with the
  difference underlined.
* A heading names the loop or function of the lines below it, and their numbers.
* `u` switches between side by side and unified.
* The number beside a stage counts its differing lines; `=` means none.
"""
    PROMPT_BINDINGS = frozenset({"compare.search", "compare.line"})
    SPLIT_SETTING = "compare.split"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "cycle(1)", "Stage", id="compare.next_stage"),
        Binding("S", "cycle(-1)", "Previous stage", show=False, id="compare.previous_stage"),
        *diff_bindings("compare"),
        Binding("d", "details", "Details", show=False, id="compare.details"),
        Binding("x", "swap", "Swap sides", show=False, id="compare.swap"),
        Binding("c", "pick", "Other", id="compare.pick"),
        Binding("enter", "open", "Open", id="compare.open"),
        *view_bindings("compare"),
        Binding("escape,b", "back", "Back", id="compare.back"),
    ]  # fmt: skip

    def __init__(self, context: Context, before: str, after: str) -> None:
        super().__init__(context)
        self.before, self.after = before, after
        self.stage = ""
        self.is_settled = False
        self._comparison = self._new_comparison()

    def compose(self) -> ComposeResult:
        """Lay out the figures above the code."""
        yield Heading()
        with VerticalScroll(id="deltas", can_focus=False):
            yield Panel("Changes", id="moved")
        yield Static(id="stages")
        yield DiffView()
        yield SearchPrompt()
        yield KeyBar()

    def on_mount(self) -> None:
        """Start to compare."""
        self._begin()

    def on_resize(self) -> None:
        """Use the available space, unless the user has chosen a layout."""
        layout, size = self.context.preferences.layout, self.app.size
        self.fit_split()
        self._set_detailed(layout.get("compare.details", YES_OR_NO[size.height >= _TALL]) == "yes")

    def defers(self, binding: str) -> bool:
        """Return whether a binding needs the code, or the stages, which are still loading."""
        if binding in _NEEDS_CODE - self.PROMPT_BINDINGS and self.prompt.is_pending([self.diff]):
            return True
        if binding in _STAGE_BINDINGS:
            return not self.stages and not self.is_settled
        needs_code = binding in _NEEDS_CODE or binding.startswith("diff.")
        return needs_code and not self.is_settled

    def abandons_loading(self, binding: str) -> bool:
        """Return whether a binding shows something else than what is being compared."""
        chooses_stage = bool(self.stages) and binding in _STAGE_BINDINGS
        return chooses_stage or binding in _ELSEWHERE or super().abandons_loading(binding)

    @property
    def stages(self) -> list[str]:
        """The stages of both sides, once known."""
        return self._comparison.stages

    # Comparing.

    def _new_comparison(self) -> StageComparison:
        return StageComparison(self, self.before, self.after, self._show_stages)

    def _begin(self) -> None:
        """Compare the two entries."""
        self._comparison.close()
        self._comparison = comparison = self._new_comparison()
        self.query_one(Heading).show(Content("comparing …"), Content(""))
        self._wait("comparing …")
        self.diff.focus()
        compare = partial(self.bench.compare, self.before, self.after)
        self.run_in_thread(compare, self._show_figures, self._on_error, group="figures")
        self.run_in_thread(
            comparison.common_stages, self._on_stages, self._on_error, group="stages"
        )

    def _show_figures(self, comparison: Comparison) -> None:
        self.query_one(Panel).show(lambda width: self._draw_changes(comparison, width))
        kernels = dict.fromkeys((comparison.before.kernel, comparison.after.kernel))
        title = Content.assemble(
            (printable_line(" → ".join(kernels)), "bold"), "  ", content_of(sides(comparison))
        )
        before, after = comparison.before.target, comparison.after.target
        # Targets that differ are part of the title.
        target = after.arch if after is not None and after == before else ""
        self.query_one(Heading).show(title, Content(target))

    def _draw_changes(self, comparison: Comparison, width: int) -> Content:
        rows = draw_changes(comparison, width).split()
        if self.has_class("-brief"):
            rows = shortened(rows, _BRIEF, width, more=", d shows them")
        return lines(rows)

    def _on_error(self, error: IrlensError) -> None:
        self.query_one(Heading).show(Content("these entries cannot be compared"))
        self.context.navigator.show_error(error)
        if not self.stages:
            self._settle("nothing to compare")

    def _on_stages(self, stages: list[str]) -> None:
        self._comparison.stages = stages
        remembered = self.context.preferences.layout.get("compare.stage", "")
        wanted = (self.stage, remembered, *_FIRST_STAGES)
        stage = next((name for name in wanted if name in stages), stages[-1] if stages else "")
        if stage:
            self.show_stage(stage)
        else:
            self._settle("the two sides have no stage in common")

    def show_stage(self, stage: str) -> None:
        """Show the differences in a stage as soon as they are known."""
        self.stage = stage
        self.diff.border_title = stage
        self._show_stages()
        self._wait(f"comparing {stage} …")
        self._comparison.request(stage, self._show_code, self._on_code_error)

    def _pick_stage(self, stage: str) -> None:
        """Show a stage that the user asked for, and start with it next time."""
        self.show_stage(stage)
        self.context.preferences.layout["compare.stage"] = stage

    def _show_code(self, stage: str, difference: Difference) -> None:
        # The user may have left the stage and returned while it was compared.
        if stage == self.stage and not self.is_settled:
            lines = count(difference.comparison.after_lines)
            identical = f"{stage} is identical on both sides ({lines} lines)"
            self._settle(difference if difference.comparison.different else identical)

    def _on_code_error(self, stage: str, error: IrlensError) -> None:
        if stage == self.stage:
            self._settle(error.message)

    def _wait(self, note: str) -> None:
        self.is_settled = False
        self.diff.show_note(note)

    def _settle(self, result: Difference | str) -> None:
        """Show code, or say why there is none."""
        if isinstance(result, str):
            self.diff.show_note(result)
        else:
            self.diff.show(result)
        self.is_settled = True
        self.context.keys.resume()

    def _show_stages(self) -> None:
        """List the stages with the number of differing lines in each."""
        names = []
        for stage in self.stages:
            lines = self._comparison.differing_lines.get(stage)
            number = "" if lines is None else f" {count(lines)}" if lines else " ="
            style = "bold reverse" if stage == self.stage else "" if lines else DIM
            name = Content.styled(f" {stage}{number} ", style)
            names.append(name.stylize(Style.from_meta({_STAGE: stage})))
        self.query_one("#stages", Static).update(Content(" ").join(names))

    @on(events.Click, "#stages")
    def _on_stage_clicked(self, event: events.Click) -> None:
        if stage := event.style.meta.get(_STAGE):
            self._pick_stage(stage)

    # What is shown.

    def action_scroll(self, rows: int) -> None:
        """Scroll the figures by some rows."""
        self.query_one("#deltas").scroll_relative(y=rows, animate=False, immediate=True)

    def action_cycle(self, step: int) -> None:
        """Show the next (-1: previous) stage."""
        if self.stages:
            index = self.stages.index(self.stage) if self.stage in self.stages else -1
            self._pick_stage(self.stages[(index + step) % len(self.stages)])

    def action_details(self) -> None:
        """List all differences of the figures, or only the most important ones."""
        self._set_detailed(self.has_class("-brief"))
        detailed = YES_OR_NO[not self.has_class("-brief")]
        self.context.preferences.layout["compare.details"] = detailed

    def action_swap(self) -> None:
        """Swap the sides."""
        self.before, self.after = self.after, self.before
        self._begin()

    def action_pick(self) -> None:
        """Compare the first side with another entry."""
        self.context.navigator.pick_entry(self.before, self._compare_with)

    def _compare_with(self, key: str) -> None:
        self.after = key
        self._begin()

    def _set_detailed(self, detailed: bool) -> None:
        self.set_class(not detailed, "-brief")
        self.query_one(Panel).redraw()
        if not detailed:
            self.query_one("#deltas", VerticalScroll).scroll_home(animate=False, immediate=True)

    # Leaving.

    def action_open(self) -> None:
        """Show the line in the inspector, on the side that has it."""
        line = self.diff.current
        side, half = (self.after, line.after) if line and line.after else (self.before, None)
        half = half or (line.before if line else None)
        at = Span(self.stage, half.number, half.number) if half else None
        self.context.navigator.close_screen()
        self.context.navigator.show_view("inspector", side, at)

    def action_view(self, name: str) -> None:
        """Show a view of the second side."""
        self.context.navigator.close_screen()
        self.context.navigator.show_view(name, self.after)

    def action_back(self) -> None:
        """Return to the screen below."""
        self.context.navigator.close_screen()

    @property
    def diff_name(self) -> str:
        """What the code is called."""
        return f"the differences in {self.stage}"
