"""Checks: one object."""

from irlens.model.check import Check
from irlens.report import View
from irlens.report.json import written


def render(check: Check, view: View) -> str:
    """Return the record."""
    return written(check)
