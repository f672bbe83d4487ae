"""A sweep: one object."""

from irlens.model.sweep import Sweep
from irlens.render import View
from irlens.render.json import written


def render(sweep: Sweep, view: View) -> str:
    """Return the record."""
    return written(sweep)
