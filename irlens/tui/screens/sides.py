"""What two entries have to show against each other: figures, and the stages that both have."""

import time
from collections.abc import Callable
from functools import partial

from textual import events, on
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.style import Style
from textual.widgets import Static

from irlens.model.comparison import Comparison
from irlens.model.errors import IrlensError
from irlens.model.text import count, printable_line
from irlens.tui.code.difference import Difference
from irlens.tui.drawing import DIM
from irlens.tui.panels import deltas
from irlens.tui.screens.base import LensScreen
from irlens.tui.widgets.diff_view import DiffView
from irlens.tui.widgets.heading import Heading
from irlens.tui.widgets.hints import Hints
from irlens.tui.widgets.panel import Panel
from irlens.tui.widgets.prompt import Prompt

#: The stage to begin with: the one that is nearest to the machine and text in every capture, or
#: of different vendors the last that both have in common.
_FIRST = ("ptx", "amdgcn", "ttgir")
#: Lines of a drawing that is kept while another stage is shown: making it again takes seconds.
_KEPT_LINES = 20_000
#: Seconds for a stage above which the others are compared only when they are asked for.
_SLOW = 1.5
#: Under which a part of the text says which stage it is the name of.
_STAGE = "stage"


class SidesScreen(LensScreen):
    """Two entries.

    Args:
        before: The first entry's key.
        after: The second one's.

    Attributes:
        stage: The stage that is shown.
        stages: Those that both sides have.
        is_settled: Whether that stage is shown by now, or why it is not.
    """

    def __init__(self, before: str, after: str) -> None:
        super().__init__()
        self.before, self.after = before, after
        self.stage = ""
        self.stages: list[str] = []
        self.is_settled = False
        #: Lines that moved, by stage; ``None`` where that cannot be told.
        self._moved: dict[str, int | None] = {}
        self._kept: dict[str, Difference] = {}
        self._is_slow = False

    def compose(self) -> ComposeResult:
        """Lay it out."""
        yield Heading()
        with VerticalScroll(id="deltas", can_focus=False):
            yield Panel("What moved", id="moved")
        yield Static(id="stages")
        yield DiffView()
        yield Prompt()
        yield Hints()

    def on_mount(self) -> None:
        """Begin to compare."""
        self.begin()

    def action_scroll(self, rows: int) -> None:
        """Scroll what moved by some rows."""
        self.query_one("#deltas").scroll_relative(y=rows, animate=False, immediate=True)

    @property
    def diff(self) -> DiffView:
        """The code."""
        return self.query_one(DiffView)

    def begin(self) -> None:
        """Compare the two entries."""
        self.stages, self._moved, self._kept = [], {}, {}
        self.query_one(Heading).show(Content("comparing …"), Content(""))
        self._wait("comparing …")
        self.diff.focus()
        before, after = self.before, self.after
        self.ask(lambda: self.bench.compare(before, after), self._tell, self._failed, group="all")

        def stages() -> list[str]:
            theirs = self.bench.stages(after)
            return [stage for stage in self.bench.stages(before) if stage in theirs]

        self.ask(stages, self._choose, self._failed, group="stages")

    def _tell(self, comparison: Comparison) -> None:
        self.query_one(Panel).show(partial(deltas.draw, comparison))
        kernels = dict.fromkeys((comparison.before.kernel, comparison.after.kernel))
        title = Content.assemble(
            (printable_line(" → ".join(kernels)), "bold"), "  ", deltas.sides(comparison)
        )
        before, after = comparison.before.target, comparison.after.target
        # What sets the sides apart names targets that differ.
        target = after.arch if after is not None and after == before else ""
        self.query_one(Heading).show(title, Content(target))

    def _failed(self, error: IrlensError) -> None:
        self.query_one(Heading).show(Content("this cannot be compared"))
        self.lens.tell_error(error)
        if not self.stages:
            self._settle("there is nothing to compare")

    def _wait(self, told: str) -> None:
        self.is_settled = False
        self.diff.show_note(told)

    def _settle(self, shown: Difference | str) -> None:
        """Show code, or say why there is none."""
        if isinstance(shown, str):
            self.diff.show_note(shown)
        else:
            self.diff.show(shown)
        self.is_settled = True
        self.lens.keyboard.go_on()

    # Stages.

    def _choose(self, stages: list[str]) -> None:
        self.stages = stages
        wanted = (self.stage, self.lens.remembered.layout.get("compare.stage", ""), *_FIRST)
        chosen = next((name for name in wanted if name in stages), stages[-1] if stages else "")
        if chosen:
            self.show_stage(chosen)
        else:
            self._settle("there is no stage that both sides have")

    def show_stage(self, stage: str) -> None:
        """Show what moved in a stage, as soon as that is known."""
        self.stage = stage
        self.diff.border_title = stage
        self._tell_stages()
        self._wait(f"comparing {stage} …")
        if stage in self._kept:
            self._show(stage, self._kept[stage])
        else:
            then, failed = partial(self._show, stage), partial(self._miss, stage)
            self._compare(stage, then, failed, group="code")

    @on(events.Click, "#stages")
    def _clicked(self, event: events.Click) -> None:
        if stage := event.style.meta.get(_STAGE):
            self.pick_stage(stage)

    def pick_stage(self, stage: str) -> None:
        """Show a stage that the user asked for, and begin with it the next time."""
        self.show_stage(stage)
        self.lens.remembered.layout["compare.stage"] = stage

    def _show(self, stage: str, difference: Difference) -> None:
        self._keep(stage, difference)
        # It may have been left and returned to while it was compared.
        if stage == self.stage and not self.is_settled:
            lines = count(difference.comparison.after_lines)
            same = f"{stage} does the same on both sides, in {lines} lines"
            self._settle(difference if difference.comparison.different else same)
        self._count_another()

    def _miss(self, stage: str, error: IrlensError) -> None:
        self._moved[stage] = None
        if stage == self.stage:
            self._settle(error.message)
        self._tell_stages()

    def _count_another(self) -> None:
        """Find out how much moved in a stage that is not shown, one after the other."""
        stage = next((name for name in self.stages if name not in self._moved), None)
        if stage is None or self._is_slow:
            return

        def skip(_: IrlensError) -> None:
            self._moved[stage] = None
            self._tell_stages()
            self._count_another()

        def keep(difference: Difference) -> None:
            self._keep(stage, difference)
            self._count_another()

        # Each in a group of its own: who asks next must not abandon the one whose answer it is.
        self._compare(stage, keep, skip, group=f"count {stage}")

    def _compare(
        self,
        stage: str,
        then: Callable[[Difference], None],
        failed: Callable[[IrlensError], None],
        *,
        group: str,
    ) -> None:
        pair, since = (self.before, self.after), time.monotonic()

        def compared(difference: Difference) -> None:
            if pair == (self.before, self.after):  # not exchanged or replaced meanwhile
                self._is_slow = time.monotonic() - since > _SLOW
                then(difference)

        def missed(error: IrlensError) -> None:
            if pair == (self.before, self.after):
                failed(error)

        self.ask(lambda: Difference(self.bench.code(*pair, stage)), compared, missed, group=group)

    def _keep(self, stage: str, difference: Difference) -> None:
        told = difference.comparison
        self._moved[stage] = told.added + told.removed + told.changed
        if len(difference.unified) <= _KEPT_LINES:
            self._kept[stage] = difference
        self._tell_stages()

    def _tell_stages(self) -> None:
        """List the stages, with how much moved in each."""
        told = []
        for stage in self.stages:
            moved = self._moved.get(stage)
            number = "" if moved is None else f" {count(moved)}" if moved else " ="
            style = "bold reverse" if stage == self.stage else "" if moved else DIM
            name = Content.styled(f" {stage}{number} ", style)
            told.append(name.stylize(Style.from_meta({_STAGE: stage})))
        self.query_one("#stages", Static).update(Content(" ").join(told))
