"""Comparisons: one object, however many were compared."""

from irlens.model.comparison import Comparisons
from irlens.render import View
from irlens.render.json import written


def render(comparisons: Comparisons, view: View) -> str:
    """Return the record."""
    return written(comparisons)
