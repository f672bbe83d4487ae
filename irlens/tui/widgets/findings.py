"""The findings of a report; Enter explains one."""

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message

from irlens.model.report import Finding, Report
from irlens.model.text import printable_line
from irlens.model.why import Explanations
from irlens.render.view.findings import by_effect, findings
from irlens.render.view.nodes import FindingItem
from irlens.render.view.why import summary
from irlens.tui.drawing import (
    DIM,
    GOOD,
    SEVERITY_SIGN,
    SEVERITY_STYLE,
    contents_of,
    flowing,
    lines,
)
from irlens.tui.widgets.panel import Panel


class Findings(Panel):
    """A list of findings with a cursor."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "move(1)", "Next finding", id="findings.next", show=False),
        Binding("k,up", "move(-1)", "Previous finding", id="findings.previous", show=False),
        Binding("enter,x", "explain", "Explain", id="findings.explain"),
        Binding("i", "inspect", "Show the code", id="findings.inspect"),
    ]

    class Chosen(Message):
        """The user asks for an explanation of a finding, or for its code."""

        def __init__(self, finding: Finding, *, explain: bool) -> None:
            super().__init__()
            self.finding = finding
            self.explain = explain

    def __init__(self) -> None:
        super().__init__("Findings", id="findings")
        self._findings: list[Finding] = []
        self._items: Sequence[FindingItem] = ()
        self._explanation: Callable[[Finding], Explanations | None] = lambda _: None
        self._cursor = 0

    @property
    def chosen(self) -> Finding | None:
        """The finding under the cursor; ``None`` if there are no findings."""
        return self._findings[self._cursor] if self._findings else None

    def show_report(
        self, report: Report, explanation: Callable[[Finding], Explanations | None]
    ) -> None:
        """Show a report's findings, the costliest first; the cursor stays on its finding.

        Args:
            explanation: Returns why a finding is there, if that is known.
        """
        self._explanation = explanation
        chosen, shown = self.chosen, findings(report)
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
            return Content.styled("✓ none", GOOD)
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
            for text, style in ((item.message, ""), (item.hint, DIM)):
                told = Content.styled(printable_line(text), style)
                rows.append(flowing(Content("   "), [told], "", width))
            if (known := self._explanation(self._findings[number])) is not None:
                phrases = contents_of([(run,) for run in summary(known)])
                rows.append(flowing(Content("   "), phrases, " · ", width))
        return lines(rows)
