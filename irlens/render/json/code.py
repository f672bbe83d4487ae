"""What moved in stages' text: one object, however many were compared."""

from irlens.model.code import CodeComparisons
from irlens.render import View
from irlens.render.json import written


def render(comparisons: CodeComparisons, view: View) -> str:
    """Return the record."""
    return written(comparisons)
