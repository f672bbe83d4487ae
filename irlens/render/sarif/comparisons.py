"""Comparisons: findings that appeared, went or changed."""

from irlens.model.comparison import Comparisons
from irlens.render import View
from irlens.render._annotations import of_comparisons
from irlens.render.sarif._log import log


def render(comparisons: Comparisons, view: View) -> str:
    """Return a SARIF log of one run."""
    return log(of_comparisons(comparisons), view)
