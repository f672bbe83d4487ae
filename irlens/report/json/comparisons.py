"""Comparisons: one object, however many were compared."""

from irlens.model.comparison import Comparisons
from irlens.report import View
from irlens.report.json import written


def render(comparisons: Comparisons, view: View) -> str:
    """Return the record."""
    return written(comparisons)
