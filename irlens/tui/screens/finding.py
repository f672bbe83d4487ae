"""The dialog of a finding: what it says, why it is there, and what it means."""

from functools import partial
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content

from irlens.model.errors import IrlensError
from irlens.model.report import Finding
from irlens.model.text import printable
from irlens.model.why import Explanations
from irlens.render.view.nodes import Headline, Node, Section, Sentence, Settings
from irlens.render.view.why import summary, why_view
from irlens.tui.drawing import page
from irlens.tui.screens.dialogs import Reading
from irlens.tui.services import Context, PassPlace
from irlens.tui.services.threads import run_in_thread
from irlens.tui.widgets import Panel
from irlens.tui.widgets.compile_status import InquiryStatus


class FindingDialog(Reading):
    """Explains a finding; why it is there is found out while the dialog is open."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("p", "deciding_pass", "Deciding pass", id="finding.pass"),
    ]

    def __init__(self, context: Context, key: str, finding: Finding) -> None:
        super().__init__()
        self._services, self._key, self._finding = context, key, finding
        #: The pass that decides, once known.
        self._number: int | None = None

    def content(self) -> ComposeResult:
        """Yield the message, the why and the documentation."""
        from textual.widgets import Markdown  # its parser takes a while to import

        yield Panel("", id="message", classes="-bare")
        yield InquiryStatus()
        yield Panel("Why", id="why")
        yield Markdown("", id="meaning", open_links=False)

    def on_mount(self) -> None:
        """Ask for the why and the documentation, or show the why if it is known."""
        finding = self._finding
        place = f" at {finding.source}" if finding.source is not None else ""
        self.query_one(VerticalScroll).border_title = Content(f"{finding.code}{place}")
        told = Sentence(finding.message), Sentence(finding.hint, "dim")
        self.query_one("#message", Panel).show(partial(page, Section("", told)))
        bench = self._services.workbench
        explain = partial(bench.explain, finding.code)
        run_in_thread(self, explain, self._show_meaning, lambda _: None)  # unless documented
        known = self._services.explanation(self._key, finding)
        if known is not None:
            self._show(known)
        else:
            self._why.display = False
            self.query_one(InquiryStatus).ask(
                "explaining",
                lambda inquiry: bench.why(self._key, finding, inquiry),
                self._keep,
                self._show_error,
            )

    def _keep(self, explanations: Explanations) -> None:
        self._services.keep_explanation(self._key, self._finding, explanations)
        self._show(explanations)

    def _show(self, explanations: Explanations) -> None:
        for each in explanations.explanations:
            self._number = each.number
        self.refresh_bindings()
        self._show_why(_document(explanations, self._finding.message))

    def _show_why(self, document: Section) -> None:
        self._why.display = True
        self._why.show(partial(page, document))

    @property
    def _why(self) -> Panel:
        return self.query_one("#why", Panel)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer the pass where one is known to decide."""
        is_known = self._number is not None and self._finding.source is not None
        return action != "deciding_pass" or is_known

    def action_deciding_pass(self) -> None:
        """Show what the pass that decides the finding changes."""
        if self._number is not None and self._finding.source is not None:
            self.dismiss()
            place = PassPlace(self._finding.source, self._number)
            self._services.navigator.show_view("passes", self._key, place)

    def _show_error(self, error: IrlensError) -> None:
        told = Sentence(f"unknown: {error.joined('; ')}", "unknown")
        self._show_why(Section("", (told,)))

    def _show_meaning(self, text: str) -> None:
        from textual.widgets import Markdown

        self.query_one("#meaning", Markdown).update(printable(text))


def _document(explanations: Explanations, message: str) -> Section:
    """Return an explanation without what the dialog shows above it."""
    children: list[Node] = []
    if not explanations.explanations:
        return Section("", (Headline(tuple(summary(explanations))),))
    for each in why_view(explanations).children:
        if isinstance(each, Section):
            children += [c for c in each.children if c != Sentence(message)]
        elif not isinstance(each, Settings):
            children.append(each)
    return Section("", tuple(children))
