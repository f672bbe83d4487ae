"""Comparisons: what moved, and findings that appeared, went or changed."""

from irlens.model.comparison import Comparisons
from irlens.render import View
from irlens.render._annotations import of_comparisons, of_differences
from irlens.render.github._commands import commands


def render(comparisons: Comparisons, view: View) -> str:
    """Return a workflow command for each."""
    return commands([*of_comparisons(comparisons), *of_differences(comparisons)], view)
