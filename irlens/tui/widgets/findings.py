"""The findings of a report, one below the other; Enter explains one."""

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message

from irlens.model.report import Finding
from irlens.model.text import printable_line
from irlens.tui.drawing import DIM, GOOD, SEVERITY_SIGN, SEVERITY_STYLE, hanging, lines
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
        """A finding is to be explained, or looked at in the code."""

        def __init__(self, finding: Finding, *, explain: bool) -> None:
            super().__init__()
            self.finding = finding
            self.explain = explain

    def __init__(self) -> None:
        super().__init__("Findings", id="findings")
        self._findings: list[Finding] = []
        self._at = 0

    @property
    def chosen(self) -> Finding | None:
        """The finding under the cursor; ``None`` if there is none at all."""
        return self._findings[self._at] if self._findings else None

    def tell(self, findings: list[Finding]) -> None:
        """Show findings; the cursor stays on the one it is on."""
        chosen = self.chosen
        self._at = findings.index(chosen) if chosen in findings else 0
        self._findings = findings
        self.show(self._drawing)

    def action_move(self, step: int) -> None:
        """Go to another finding; from the last one on, scroll."""
        if not 0 <= self._at + step < len(self._findings):
            self.screen.call_later(self.run_action, f"screen.scroll({step})")
            return
        self._at += step
        self.redraw()

    def action_explain(self) -> None:
        """Say what the finding means."""
        if (finding := self.chosen) is not None:
            self.post_message(self.Chosen(finding, explain=True))

    def action_inspect(self) -> None:
        """Show the code that the finding is about."""
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
            here = number == self._at and self.has_focus
            place = f"  {finding.source}" if finding.source is not None else ""
            rows.append(
                Content.assemble(
                    ("▸" if here else " ", "bold"),
                    (f"{SEVERITY_SIGN[finding.severity]} ", SEVERITY_STYLE[finding.severity]),
                    (finding.code, "bold" if here else ""),
                    (place, DIM),
                )
            )
            for text, style in ((finding.message, ""), (finding.hint, DIM)):
                rows.append(hanging(Content("   "), printable_line(text), style, width))
        return lines(rows)
