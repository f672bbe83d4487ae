"""A sweep: the findings of what fits, and what does not compile."""

from irlens.model.sweep import Sweep
from irlens.render import View
from irlens.render._annotations import of_sweep
from irlens.render.sarif._log import log


def render(sweep: Sweep, view: View) -> str:
    """Return a SARIF log of one run."""
    return log(of_sweep(sweep), view)
