"""Checks: what moved, budgets that do not hold, findings."""

from irlens.model.check import Check
from irlens.report import View
from irlens.report._annotations import of_check
from irlens.report.sarif._log import log


def render(check: Check, view: View) -> str:
    """Return a SARIF log of one run."""
    return log(of_check(check), view)
