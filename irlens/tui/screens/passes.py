"""The passes of the compiler: which change something, and the code that each changes."""

from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from msgspec.structs import replace
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from irlens.model.code import CodeComparison
from irlens.model.errors import IrlensError
from irlens.model.passes import Crossing, CrossingKind, FollowedLine, LineStep, Passes, PassRun
from irlens.model.source import SourceLocation
from irlens.model.text import plural, printable_line
from irlens.render.text_table import table_rows
from irlens.render.view.passes import (
    changing_passes,
    crossing_words,
    operations,
    pass_facts,
    pass_title,
    passes_verdict,
)
from irlens.tui.code import Document, python_document
from irlens.tui.code.difference import Difference
from irlens.tui.drawing import DIM, contents_of, lines
from irlens.tui.screens import EntryScreen
from irlens.tui.screens.dialogs import choice_bindings
from irlens.tui.screens.diff_actions import DiffActions, diff_bindings
from irlens.tui.services import Context, PassPlace, Place
from irlens.tui.widgets.code_pane import CodePane
from irlens.tui.widgets.compile_status import InquiryStatus
from irlens.tui.widgets.diff_view import DiffView
from irlens.tui.widgets.heading import Heading, LineFacts
from irlens.tui.widgets.key_bar import KeyBar
from irlens.tui.widgets.prompt import SearchPrompt

#: Cells of the list from which a pass has its stage and lines beside its name.
_WIDE_LIST = 66
#: Operations of a followed line that are shown below the code.
_MOST_OPERATIONS = 4
#: Bindings that need the passes.
_NEEDS_PASSES = frozenset(
    f"passes.{name}"
    for name in (
        "next", "previous", "follow", "first", "last", "search", "next_match", "previous_match",
        "line", "copy", "editor", "pager",
    )
)  # fmt: skip


class PassList(OptionList):
    """The passes that change something."""

    BINDINGS: ClassVar[list[BindingType]] = [*choice_bindings("pass_list")]

    DEFAULT_CSS = """
    PassList {
        height: 1fr;
        border: round $border-blurred;
        border-title-color: $text-muted;
        border-subtitle-color: $text-muted;
        padding: 0;
        background: $surface;
        background-tint: transparent;
        scrollbar-size-vertical: 1;
        scrollbar-gutter: stable;
        &:focus { border: round $primary; border-title-color: $primary; }
        & > .option-list--option { padding: 0; }
        & > .option-list--option-disabled { color: $text-muted; }
    }
    """


class PassesScreen(DiffActions, EntryScreen):
    """The passes beside the source, and the change of the selected one.

    Attributes:
        followed: The line of Python that the list is filtered to; ``None`` for all passes.
        number: The selected pass; 0 for none.
    """

    VIEW = "passes"
    SPLIT_SETTING = "passes.split"
    HELP_TEXT = """\
The kernel is compiled once more, and the IR caught that MLIR prints before each pass, from ttir to
LLVM IR. The list has the passes that change something, the operations that came and went, and the
time of each; beside it is what the selected pass changed. The compiler prints nothing after the
last pass.

* `s` and `S` select the next and the previous pass, from anywhere on the screen.
* `f` follows the line of Python at the cursor: the list has the passes that change its operations
  alone, and the operations after the pass are below. `f` again shows all passes.
* `o` names an operation (`ttg.async_wait`, or `async_wait`) and selects the pass that brings the
  first, `O` the one that removes the last. `Enter` alone takes the operation at the cursor.
* `z` shows or hides the source.
"""
    PROMPT_BINDINGS = frozenset({"passes.search", "passes.line", "passes.first", "passes.last"})
    LESS_IMPORTANT: ClassVar[tuple[str, ...]] = (
        "suggest", "recompile", "compare", "split", "hunk(1)",
    )  # fmt: skip
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "step(1)", "Next pass", id="passes.next"),
        Binding("S", "step(-1)", "Previous pass", id="passes.previous", show=False),
        Binding("f", "follow", "Follow line", id="passes.follow"),
        Binding("o", "crossing('first')", "First operation", id="passes.first",
                tooltip="Select the pass that brings an operation"),
        Binding("O", "crossing('last')", "Last operation", id="passes.last", show=False,
                tooltip="Select the pass that removes the last of an operation"),
        Binding("z", "toggle_source", "Source", id="passes.source", show=False),
        Binding("p", "python(1)", "Next Python file", id="passes.python", show=False),
        Binding("R", "again", "Compile again", id="passes.again", show=False),
        *diff_bindings("passes"),
    ]  # fmt: skip

    def __init__(self, context: Context, key: str, at: Place | None = None) -> None:
        super().__init__(context, key, at)
        self.passes: Passes | None = None
        self.followed: FollowedLine | None = None
        self.number = at.number if isinstance(at, PassPlace) else 0
        #: The pass that was asked for: listed although it may leave the followed line alone.
        self._asked = self.number
        self._documents: list[Document] = []
        self._differences: dict[int, Difference] = {}
        #: Whether the passes are known, or there are none.
        self._is_settled = False

    def compose(self) -> ComposeResult:
        """Lay out the source and the passes beside the code."""
        yield Heading()

        with Horizontal(id="passes"):
            with Vertical(id="beside"):
                yield CodePane()
                yield PassList(markup=False)
            yield DiffView()
        yield LineFacts()
        yield InquiryStatus()
        yield SearchPrompt()
        yield KeyBar()

    def on_mount(self) -> None:
        """Load the source, and compile with the passes kept."""
        self.load_heading()
        self.list.border_title = "Passes"
        self.list.focus()
        self.run_in_thread(self._read_python, self._on_python, lambda _: None, group="python")
        self.action_again()

    def on_resize(self) -> None:
        """Draw the list and the code for another size."""
        self.call_after_refresh(self._fit)

    def _fit(self) -> None:
        self.fit_split()
        self._list_passes()

    def defers(self, binding: str) -> bool:
        """Return whether a binding needs the passes, which are still compiled."""
        return binding in _NEEDS_PASSES and not self._is_settled

    def adopt_layout(self, other: EntryScreen) -> None:
        """Follow the line that another entry's passes follow."""
        if isinstance(other, PassesScreen) and other.followed is not None:
            self.at = other.followed.source

    @property
    def list(self) -> PassList:
        """The list of passes."""
        return self.query_one(PassList)

    @property
    def source(self) -> CodePane:
        """The Python."""
        return self.query_one(CodePane)

    @property
    def diff_name(self) -> str:
        """What the code is called."""
        return f"what pass {self.number} changes"

    @property
    def diff_width(self) -> int:
        """The columns of the code."""
        return self.diff.size.width

    @property
    def status(self) -> InquiryStatus:
        """The compilation that keeps the passes."""
        return self.query_one(InquiryStatus)

    # Loading.

    def _read_python(self) -> Sequence[Document]:
        bench, key = self.bench, self.key
        kernel, report = bench.kernel(key), bench.report(key)
        return [
            python_document(name, text, kernel, report) for name, text in bench.python(key).items()
        ]

    def _on_python(self, documents: Sequence[Document]) -> None:
        self._documents = [*documents]
        if documents:
            self._show_python(self._line)
        else:
            self.source.display = False

    def _show_python(self, at: SourceLocation | None) -> None:
        named = (each for each in self._documents if at is not None and each.name == at.file)
        document = next(named, self._documents[0])
        self.source.present(document, (at.line, 0) if at is not None else None)

    @on(CodePane.Opened)
    @on(CodePane.Moved)
    def _on_source_moved(self) -> None:
        self.source.describe()

    def action_again(self) -> None:
        """Compile again, also after it was cancelled."""
        self._is_settled = False
        self.diff.show_note("compiling, and keeping the IR between the passes …")
        ask = partial(self.bench.passes, self.key)
        self.status.ask("compiling with passes", ask, self._on_passes, self._on_error)

    def _on_passes(self, passes: Passes) -> None:
        self.passes = passes
        self._differences.clear()
        self._is_settled = True
        if self._line is not None:
            self._follow(self._line)
        else:
            self._list_passes()
        self.context.keys.resume()

    def _on_error(self, error: IrlensError) -> None:
        self._is_settled = True
        self.diff.show_note(error.joined("\n"))
        self.context.keys.resume()

    # The list.

    @property
    def _steps(self) -> dict[int, LineStep]:
        """What the followed line is after each pass that changes it."""
        steps = self.followed.steps if self.followed is not None else ()
        return {step.number: step for step in steps if step.number}

    @property
    def _shown(self) -> Sequence[PassRun]:
        """The passes in the list."""
        runs = self.passes.runs if self.passes is not None else ()
        if self.followed is not None:
            steps = self._steps
            return [run for run in runs if run.number in steps or run.number == self._asked]
        return [run for run in runs if run.changed or run.number == self._asked]

    def _list_passes(self) -> None:
        """List the passes, and select the one that was selected, or the next one."""
        width = self.list.scrollable_content_region.width
        if self.passes is None or not width:
            return
        shown = self._shown
        table = changing_passes(shown, brief=width < _WIDE_LIST)
        # A line for the operations where there is room; those of the selected pass are below.
        notes = [Content.styled(f"    {each.note}", DIM) for each in table.rows]
        bare = replace(table, rows=tuple(replace(each, note="") for each in table.rows))
        rows = [contents_of(each) for each in table_rows(bare, width)[1:]]
        for drawn, note in zip(rows, notes, strict=True):
            if not self.has_class("-short"):
                drawn.append(note.truncate(width, ellipsis=True))
        options = zip(shown, rows, strict=True)
        self.list.set_options(Option(lines(row), id=str(run.number)) for run, row in options)
        self.list.border_subtitle = (
            " · ".join(passes_verdict(self.passes))
            if self.followed is None
            else f"{len(shown)} change line {self.followed.source.line} · f shows all"
        )
        self._select(self.number)

    def _select(self, number: int) -> None:
        """Select a pass, or the next one in the list."""
        numbers = [run.number for run in self._shown]
        if numbers:
            at = next((at for at, each in enumerate(numbers) if each >= number), len(numbers) - 1)
            self.list.highlighted = at
        else:
            self.number = 0
            self.diff.show_note("no pass changes anything")

    @on(OptionList.OptionHighlighted)
    def _on_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        if event.option_id is not None and self.passes is not None:
            self.number = int(event.option_id)
            self._show_change()
            self._show_facts()

    @on(OptionList.OptionSelected)
    def _on_selected(self) -> None:
        self.diff.focus()

    def _show_change(self) -> None:
        """Show what the selected pass changed, as soon as it is known."""
        number = self.number
        run = self.passes.runs[number - 1] if self.passes is not None else None
        self.diff.border_title = printable_line(pass_title(run)) if run is not None else ""
        if number in self._differences:
            self._show_difference(number, self._differences[number])
            return

        def compare() -> Difference:
            comparison: CodeComparison = self.bench.pass_change(self.key, number)
            return Difference(comparison)

        def fail(error: IrlensError) -> None:
            if number == self.number:
                self.diff.show_note(error.joined("\n"))

        self.run_in_thread(compare, partial(self._show_difference, number), fail, group="change")

    def _show_difference(self, number: int, difference: Difference) -> None:
        self._differences[number] = difference
        if number != self.number:
            return
        if not difference.comparison.different:
            run = self.passes.runs[number - 1] if self.passes is not None else None
            is_same = run is not None and not run.changed
            self.diff.show_note("it changes nothing" if is_same else "nothing but names and order")
            return
        self.diff.show(difference)
        if (step := self._steps.get(number)) is not None:
            own = {line.strip() for line in step.text}
            rows = (
                row
                for row, line in enumerate(self.diff.lines)
                if line.mark not in " @" and any(half.text.strip() in own for half in line.halves)
            )
            self.diff.go_to(next(rows, self.diff.row))

    def _show_facts(self) -> None:
        """Show the selected pass below the code, and what it makes of the followed line."""
        run = self.passes.runs[self.number - 1] if self.passes is not None else None
        if run is None:
            return
        facts = [operations(run.came, run.went)]
        if (step := self._steps.get(self.number)) is not None and self.followed is not None:
            more = len(step.text) - _MOST_OPERATIONS
            facts = [
                f"{self.followed.source.file}:{self.followed.source.line} is then",
                *(step.text[:_MOST_OPERATIONS] or ["nothing"]),
                *([plural(more, "more operation")] if more > 0 else []),
            ]
        self.query_one(LineFacts).show("   ".join(pass_facts(run)), facts)

    def action_step(self, step: int) -> None:
        """Select the next (-1: previous) pass."""
        numbers = [run.number for run in self._shown]
        if self.number in numbers:
            self.list.highlighted = min(max(numbers.index(self.number) + step, 0), len(numbers) - 1)

    # Filters and jumps.

    def action_follow(self) -> None:
        """Show only the passes that change the line of Python at the cursor, or all again."""
        document = self.source.document
        here = SourceLocation(document.name, self.source.line) if document is not None else None
        is_same = self.followed is not None and here == self.followed.source
        if self.passes is None or here is None:
            return
        if self.followed is not None and (is_same or not self.source.has_focus):
            self.followed = None
            self._list_passes()
            self._show_facts()
        else:
            self._follow(here)

    def _follow(self, place: SourceLocation) -> None:
        def show(followed: FollowedLine) -> None:
            self.followed = followed
            self._list_passes()
            self._show_change()
            self._show_facts()

        def fail(error: IrlensError) -> None:
            self.context.navigator.show_error(error)
            self._list_passes()

        place = SourceLocation(place.file, place.line)
        follow = partial(self.bench.line_through_passes, self.key, place)
        self.run_in_thread(follow, show, fail, group="follow")

    def go_to(self, at: Place) -> None:
        """Follow a line of Python."""
        super().go_to(at)
        if isinstance(at, PassPlace):
            self.number = self._asked = at.number
        if self._line is not None and self._documents:
            self._show_python(self._line)
            if self.passes is not None:
                self._follow(self._line)

    @property
    def _line(self) -> SourceLocation | None:
        """The line of Python to open."""
        if isinstance(self.at, PassPlace):
            return self.at.source
        return self.at if isinstance(self.at, SourceLocation) else None

    def action_crossing(self, kind: CrossingKind) -> None:
        """Ask for an operation, and select the pass that brings it first, or removes the last."""
        if self.passes is None:
            return
        here = self.diff.current.operation if self.diff.current is not None else ""
        does = "brings" if kind == "first" else "removes"
        alone = f"   Enter: {here}" if here else ""
        self.ask(f"operation that a pass {does}: ttg.async_wait{alone}",
                 lambda answer: self._cross(answer or here, kind))  # fmt: skip

    def _cross(self, operation: str, kind: CrossingKind) -> None:
        if not operation:
            return

        def show(crossing: Crossing) -> None:
            assert self.passes is not None
            runs = {run.number: run for run in self.passes.runs}
            words = printable_line(crossing_words(crossing, runs))
            self.notify(words, timeout=6, markup=False)
            if crossing.number is not None:
                if self.followed is not None:
                    self.followed = None
                    self._list_passes()
                self._select(crossing.number)

        find = partial(self.bench.crossing, self.key, operation, kind)
        self.run_in_thread(find, show, group="crossing")

    # What is shown.

    def action_toggle_source(self) -> None:
        """Show or hide the source."""
        self.toggle_class("-other-source")

    def action_python(self, step: int) -> None:
        """Show the next file of Python."""
        names = [each.name for each in self._documents]
        if len(names) > 1 and self.source.showing in names:
            document = self._documents[(names.index(self.source.showing) + step) % len(names)]
            self.source.present(document)

    def action_back(self) -> None:
        """Cancel the compilation, show all passes again, or return to the list of entries."""
        if self.status.is_asking:
            self.status.cancel()
        elif self.followed is not None:
            self.followed = None
            self._list_passes()
            self._show_facts()
        else:
            super().action_back()
