"""Reports: their findings."""

from collections.abc import Sequence

from irlens.model.report import Report
from irlens.render import View
from irlens.render._annotations import of_reports
from irlens.render.github._commands import commands


def render(reports: Sequence[Report], view: View) -> str:
    """Return a workflow command for each."""
    return commands(of_reports(reports), view)
