"""The findings of a report; Enter explains one."""

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message

from irlens.model.report import Finding
from irlens.model.text import printable_line
from irlens.render.view.findings import finding_item
from irlens.tui.drawing import DIM, GOOD, SEVERITY_SIGN, SEVERITY_STYLE, flowing, lines
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
        self._cursor = 0

    @property
    def chosen(self) -> Finding | None:
        """The finding under the cursor; ``None`` if there are no findings."""
        return self._findings[self._cursor] if self._findings else None

    def show_findings(self, findings: list[Finding]) -> None:
        """Show findings; the cursor stays on its finding."""
        chosen = self.chosen
        self._cursor = findings.index(chosen) if chosen in findings else 0
        self._findings = findings
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
        for number, finding in enumerate(self._findings):
            here = number == self._cursor and self.has_focus
            item = finding_item(finding, {})
            place = printable_line(f"  {item.place}") if item.place is not None else ""
            rows.append(
                Content.assemble(
                    ("▸" if here else " ", "bold"),
                    (f"{SEVERITY_SIGN[finding.severity]} ", SEVERITY_STYLE[finding.severity]),
                    (finding.code, "bold" if here else ""),
                    (place, DIM),
                )
            )
            for text, style in ((finding.message, ""), (finding.hint, DIM)):
                told = Content.styled(printable_line(text), style)
                rows.append(flowing(Content("   "), [told], "", width))
        return lines(rows)
