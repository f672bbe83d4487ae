"""Reports: one as an object, several as an array."""

from collections.abc import Sequence

from irlens.model.report import Report
from irlens.render import View
from irlens.render.json import written


def render(reports: Sequence[Report], view: View) -> str:
    """Return one report as an object, several as an array."""
    return written(reports[0] if len(reports) == 1 else list(reports))
