"""Reports: their findings."""

from collections.abc import Sequence

from irlens.model.report import Report
from irlens.render import View
from irlens.render._annotations import of_reports
from irlens.render.sarif._log import log


def render(reports: Sequence[Report], view: View) -> str:
    """Return a SARIF log of one run."""
    return log(of_reports(reports), view)
