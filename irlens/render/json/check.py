"""Checks: one object."""

from irlens.model.check import Check
from irlens.render import View
from irlens.render.json import written


def render(check: Check, view: View) -> str:
    """Return the record."""
    return written(check)
