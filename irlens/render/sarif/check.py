"""Checks: what moved, budgets that do not hold, findings."""

from irlens.model.check import Check
from irlens.render import View
from irlens.render._annotations import of_check
from irlens.render.sarif._log import log


def render(check: Check, view: View) -> str:
    """Return a SARIF log of one run."""
    return log(of_check(check), view)
