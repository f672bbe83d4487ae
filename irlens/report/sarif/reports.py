"""Reports: their findings."""

from collections.abc import Sequence

from irlens.model.report import Report
from irlens.report import View
from irlens.report._annotations import of_reports
from irlens.report.sarif._log import log


def render(reports: Sequence[Report], view: View) -> str:
    """Return a SARIF log of one run."""
    return log(of_reports(reports), view)
