"""A sweep: the findings of what fits, and what does not compile."""

from irlens.model.sweep import Sweep
from irlens.report import View
from irlens.report._annotations import of_sweep
from irlens.report.sarif._log import log


def render(sweep: Sweep, view: View) -> str:
    """Return a SARIF log of one run."""
    return log(of_sweep(sweep), view)
