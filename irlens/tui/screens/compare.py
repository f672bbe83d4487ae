"""The comparison: two entries against each other, in figures and in any stage's text."""

from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll

from irlens.model.source import Span
from irlens.model.text import printable_line
from irlens.tui.screens.searching import SearchingScreen
from irlens.tui.screens.sides import SidesScreen
from irlens.tui.widgets.prompt import Prompt
from irlens.tui.widgets.searched import SearchedText

#: Columns from which the sides stand beside each other, and lines from which all that moved is
#: listed, unless the user has chosen.
_WIDE, _TALL = 150, 32
_YES_OR_NO = {True: "yes", False: "no"}
#: What needs the code, and what leads elsewhere, by the names of bindings.
_OF_CODE = frozenset(
    f"compare.{name}"
    for name in (
        "search", "next_match", "previous_match", "line", "copy", "editor", "pager", "open",
    )
)  # fmt: skip
_STAGES = frozenset({"compare.next_stage", "compare.previous_stage"})
_ELSEWHERE = frozenset(
    f"compare.{name}" for name in ("back", "overview", "inspector", "pick", "swap")
)


class Compare(SidesScreen, SearchingScreen):
    """What moved from one entry to another."""

    HELP_TEXT = """\
What moved from the first entry to the second. Above are the figures, pipelines and findings, what
matters most first; below is the code of a stage. Only real changes are shown: names of values and
registers, labels, source locations and addresses are no difference.

* `-` is only on the first side, `+` only on the second, `~` changed; what differs within such a
  line is underlined.
* A heading says which loop or function the lines below it are in, and their numbers.
* `u` puts the sides beside each other, or under each other.
* Beside a stage's name stands how many lines moved; `=` is none.
"""
    PROMPTS: ClassVar[frozenset[str]] = frozenset({"compare.search", "compare.line"})
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "cycle(1)", "Stage", id="compare.next_stage"),
        Binding("S", "cycle(-1)", "Previous stage", show=False, id="compare.previous_stage"),
        Binding("u", "split", "Split", id="compare.split"),
        Binding("d", "details", "Details", show=False, id="compare.details"),
        Binding("x", "swap", "Swap sides", show=False, id="compare.swap"),
        Binding("c", "pick", "Other", id="compare.pick"),
        Binding("enter", "open", "Open", id="compare.open"),
        Binding("slash", "search", "Search", show=False, id="compare.search"),
        Binding("n", "find(1)", "Next match", show=False, id="compare.next_match"),
        Binding("N", "find(-1)", "Previous match", show=False, id="compare.previous_match"),
        Binding("colon", "line", "Go to line", show=False, id="compare.line"),
        Binding("y", "copy", "Copy the change", show=False, id="compare.copy"),
        Binding("e", "outside('editor')", "Open in $EDITOR", show=False, id="compare.editor"),
        Binding("v", "outside('pager')", "Open in $PAGER", show=False, id="compare.pager"),
        Binding("1", "view('overview')", "Overview", show=False, id="compare.overview"),
        Binding("2", "view('inspector')", "Inspector", show=False, id="compare.inspector"),
        Binding("escape,b", "back", "Back", id="compare.back"),
    ]

    def on_resize(self) -> None:
        """Use the room there is, as far as the user has not chosen."""
        layout, size = self.lens.remembered.layout, self.app.size
        self._split(layout.get("compare.split", _YES_OR_NO[size.width >= _WIDE]) == "yes")
        self._detail(layout.get("compare.details", _YES_OR_NO[size.height >= _TALL]) == "yes")

    def is_too_early(self, binding: str) -> bool:
        """Return whether the code, or which stages there are, is still being found out."""
        if self._is_seeking and binding in _OF_CODE - self.PROMPTS:
            return True
        if binding in _STAGES:
            return not self.stages and not self.is_settled
        is_of_code = binding in _OF_CODE or binding.startswith("diff.")
        return is_of_code and not self.is_settled

    def leads_away(self, binding: str) -> bool:
        """Return whether something else is to be shown than what is being compared."""
        stages = bool(self.stages) and binding in _STAGES
        return stages or binding in _ELSEWHERE or super().leads_away(binding)

    # What is shown.

    def action_cycle(self, step: int) -> None:
        """Show the next (-1: previous) stage."""
        if self.stages:
            at = self.stages.index(self.stage) if self.stage in self.stages else -1
            self.pick_stage(self.stages[(at + step) % len(self.stages)])

    def action_split(self) -> None:
        """Put the sides beside each other, or under each other."""
        self._split(not self.diff.split)
        self.lens.remembered.layout["compare.split"] = _YES_OR_NO[self.diff.split]

    def action_details(self) -> None:
        """List everything that moved, or only the most important."""
        self._detail(self.has_class("-brief"))
        self.lens.remembered.layout["compare.details"] = _YES_OR_NO[not self.has_class("-brief")]

    def action_swap(self) -> None:
        """Exchange the sides."""
        self.before, self.after = self.after, self.before
        self.begin()

    def action_pick(self) -> None:
        """Compare the first side with something else."""
        self.lens.pick(self.before, self._compare_with)

    def _compare_with(self, key: str) -> None:
        self.after = key
        self.begin()

    def _split(self, split: bool) -> None:
        if split != self.diff.split:
            self.diff.turn(split=split)

    def _detail(self, detailed: bool) -> None:
        self.set_class(not detailed, "-brief")
        if not detailed:
            self.query_one("#deltas", VerticalScroll).scroll_home(animate=False, immediate=True)

    # Where to.

    def action_open(self) -> None:
        """Show the line in the inspector, on the side that has it."""
        line = self.diff.current
        side, half = (self.after, line.after) if line and line.after else (self.before, None)
        half = half or (line.before if line else None)
        at = Span(self.stage, half.number, half.number) if half else None
        self.lens.pop_screen()
        self.lens.show_view("inspector", side, at)

    def action_view(self, name: str) -> None:
        """Show a view of the second side."""
        self.lens.pop_screen()
        self.lens.show_view(name, self.after)

    def action_back(self) -> None:
        """Return to where the comparison was asked for."""
        self.lens.pop_screen()

    # What is asked for at the prompt.

    @property
    def searched(self) -> SearchedText:
        """The code."""
        return self.diff

    @property
    def searched_name(self) -> str:
        """What of it is searched."""
        return f"what is shown of {self.stage}"

    def action_line(self) -> None:
        """Ask which line to go to."""
        self._prompt.open("line", "line of the second side")

    @on(Prompt.Submitted)
    def _answered(self, event: Prompt.Submitted) -> None:
        if self._prompt.purpose == "line":
            self._prompt.close()
            self._go_to_line(event.value.strip())

    def _go_to_line(self, answer: str) -> None:
        numbers = [line.after.number if line.after else 0 for line in self.diff.lines]
        if not answer.isdecimal():
            self.notify(f"{printable_line(answer) or 'nothing'} is no line", markup=False)
        elif numbers:
            wanted = int(answer)
            self.diff.go_to(min(range(len(numbers)), key=lambda at: abs(numbers[at] - wanted)))

    # What leaves the screen.

    def action_copy(self) -> None:
        """Copy the change at the cursor, as a unified diff."""
        line, difference = self.diff.current, self.diff.difference
        if line is not None and difference is not None:
            self.lens.copy(difference.hunk_text(line.hunk))

    def action_outside(self, kind: str) -> None:
        """Show the stage's changes in the user's own editor or pager."""
        if self.diff.difference is not None:
            self.show_outside(kind, name=f"{self.stage}.diff", text=self.diff.difference.text)
