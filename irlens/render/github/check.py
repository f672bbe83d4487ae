"""Checks: what moved, budgets that do not hold, findings."""

from irlens.model.check import Check
from irlens.render import View
from irlens.render._annotations import of_check
from irlens.render.github._commands import commands


def render(check: Check, view: View) -> str:
    """Return a workflow command for each."""
    return commands(of_check(check), view)
