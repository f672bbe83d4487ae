"""The overview: one kernel's figures at a glance."""

from textual.app import ComposeResult
from textual.widgets import Footer, Static

from irlens.model.report import Report
from irlens.model.text import printable_line
from irlens.tui.screens.base import EntryScreen


class View(EntryScreen):
    """What a report says, drawn."""

    def compose(self) -> ComposeResult:
        """Lay it out."""
        yield Static("reading ...", id="title", markup=False)
        yield Footer()

    def on_mount(self) -> None:
        """Ask for the report."""
        self.ask(lambda: self.bench.report(self.key), self._show)

    def _show(self, report: Report) -> None:
        self.query_one("#title", Static).update(printable_line(report.kernel))
