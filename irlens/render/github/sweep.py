"""A sweep: the findings of what fits, and what does not compile."""

from irlens.model.sweep import Sweep
from irlens.render import View
from irlens.render._annotations import of_sweep
from irlens.render.github._commands import commands


def render(sweep: Sweep, view: View) -> str:
    """Return a workflow command for each."""
    return commands(of_sweep(sweep), view)
