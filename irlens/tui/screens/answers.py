"""The views that ask a question about the kernel, and show the answer as text does."""

from abc import abstractmethod
from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from msgspec.structs import replace
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content

from irlens.model.errors import IrlensError
from irlens.model.text import printable_line
from irlens.render.options import Options
from irlens.render.view.limits import limits_view
from irlens.render.view.nodes import Section, Sentence, Settings
from irlens.render.view.variants import suggested_range, variants_view
from irlens.session.exchange import Inquiry
from irlens.tui.drawing import DIM, page
from irlens.tui.screens import EntryScreen, PanelActions, panel_bindings
from irlens.tui.services import Context, Place
from irlens.tui.widgets import Panel
from irlens.tui.widgets.compile_status import InquiryStatus
from irlens.tui.widgets.heading import Heading
from irlens.tui.widgets.key_bar import KeyBar
from irlens.tui.widgets.prompt import Prompt


class AnswerScreen(PanelActions):
    """A view whose content is the answer to a question.

    Attributes:
        ASKING: What is done for it: "compiling variants".
        asked: What varies, as written: "n=1..4096".
    """

    TITLE: ClassVar[str] = ""
    ASKING: ClassVar[str] = ""
    VARY_HINT: ClassVar[str] = ""
    PROMPT_BINDINGS = frozenset({"answer.vary"})
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "vary", "Vary", tooltip="Choose what varies, over which range",
                id="answer.vary"),
        Binding("R", "again", "Ask again", id="answer.again", show=False),
        *panel_bindings("answer"),
    ]  # fmt: skip

    def __init__(self, context: Context, key: str, at: Place | None = None) -> None:
        super().__init__(context, key, at)
        self.asked: Sequence[str] = ()
        #: What the prompt offers.
        self.offered = ""

    def compose(self) -> ComposeResult:
        """Lay out the answer."""
        yield Heading()
        with VerticalScroll(id="answer", can_focus=False):
            yield Panel(self.TITLE)
        yield InquiryStatus()
        yield Prompt()
        yield KeyBar()

    def on_mount(self) -> None:
        """Ask the question."""
        self.query_one(Panel).focus()
        self.load_heading()
        self.action_again()

    @abstractmethod
    def question(self, inquiry: Inquiry) -> Section:
        """Return the answer; called in a thread."""

    @property
    def status(self) -> InquiryStatus:
        """The question that is being answered."""
        return self.query_one(InquiryStatus)

    def adopt_layout(self, other: EntryScreen) -> None:
        """Vary what another view of the kind varies."""
        if isinstance(other, AnswerScreen) and other.VIEW == self.VIEW:
            self.asked, self.offered = other.asked, other.offered

    def action_again(self) -> None:
        """Ask the question again, also after it was cancelled."""
        panel = self.query_one(Panel)
        varied = printable_line(" ".join(self.asked))
        panel.border_title = f"{self.TITLE}: {varied}" if varied else self.TITLE
        panel.show(lambda _: Content.styled(f"{self.ASKING} …", DIM))
        self.status.ask(self.ASKING, self.question, self._show, self._show_error)

    def action_vary(self) -> None:
        """Ask what varies."""
        prompt = self.query_one(Prompt)
        prompt.open(self.VARY_HINT)
        prompt.value = " ".join(self.asked) or self.offered
        prompt.cursor_position = len(prompt.value)

    @on(Prompt.Submitted)
    def _on_submitted(self, event: Prompt.Submitted) -> None:
        self.query_one(Prompt).close()
        self.asked = event.value.split()
        self.action_again()

    def action_back(self) -> None:
        """Cancel the question, or return to the list of entries."""
        if self.status.is_asking:
            self.status.cancel()
        else:
            super().action_back()

    def _show(self, answer: Section) -> None:
        # The heading names the kernel and its target.
        children = [each for each in answer.children if not isinstance(each, Settings)]
        if self.offered and not self.asked:
            children.append(Sentence(f"a varies it: {self.offered}", "dim"))
        document = replace(answer, title="", children=tuple(children))
        self.query_one(Panel).show(partial(page, document))
        self.action_scroll_to(0)

    def _show_error(self, error: IrlensError) -> None:
        told = Sentence(error.joined("; "), "unknown")
        self.query_one(Panel).show(partial(page, Section("", (told,))))


class LimitsScreen(AnswerScreen):
    """The smallest sizes at which the kernel breaks, as ``irlens limits`` finds them."""

    VIEW = "limits"
    TITLE = "Limits"
    ASKING = "evaluating launches"
    VARY_HINT = "sizes to vary: tokens batch=1..4096"
    HELP_TEXT = """\
For each size the smallest value at which an offset, a mask or a loop overflows its integers, an
access leaves its tensor, the grid exceeds the GPU's, a CTA does not fit, or the kernel does not
compile; with the program, the line and the value.

Launches are evaluated without a GPU, in powers of two and then between two of them, which may take
a minute for each size. `a` chooses the sizes, `tokens`, or `tokens=1..4096`; by default all vary
from 1 to 2^32.
"""

    def question(self, inquiry: Inquiry) -> Section:
        """Return the limits in all sizes, or in those that were chosen."""
        limits = self.bench.limits(self.key, self.asked, inquiry)
        self.offered = " ".join(each.name for each in limits.sizes)
        return limits_view(limits)


class VariantsScreen(AnswerScreen):
    """What Triton compiles the kernel for, as ``irlens variants`` lists it."""

    VIEW = "variants"
    TITLE = "Variants"
    ASKING = "compiling variants"
    VARY_HINT = "arguments that vary: n_cols=1..131072 dtype=1,2"
    HELP_TEXT = """\
Triton compiles a kernel again for each type of an argument, for integers that are 1 or divisible by
16, for the alignment of pointers, and for each value of a constexpr and an option. At first this is
the variant of one launch.

`a` varies arguments, `n_cols=1..131072`, several of them with a space between: each variant that
the launches need is compiled, in at most a minute. Variants with the machine code of another are
needless; below are the changes that would leave fewer, with their price in time.

Where the kernel's source is unknown, these are the variants among the listed captures.
"""

    def question(self, inquiry: Inquiry) -> Section:
        """Return the variants of the entry's launch, or of those that vary."""
        variants = self.bench.variants(self.key, self.asked, inquiry)
        self.offered = suggested_range(variants.kernels[0]) or self.offered
        return variants_view(variants, Options(subject=None))
