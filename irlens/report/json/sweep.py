"""A sweep: one object."""

from irlens.model.sweep import Sweep
from irlens.report import View
from irlens.report.json import written


def render(sweep: Sweep, view: View) -> str:
    """Return the record."""
    return written(sweep)
