"""A finding as an item of a list."""

from irlens.model.report import Finding
from irlens.render.markdown._document import code, words


def item(finding: Finding) -> str:
    """Return severity, code, place and message."""
    named = finding.source is not None and str(finding.source) not in finding.message
    place = f"{code(str(finding.source))}: " if named else ""
    return f"{finding.severity} {code(finding.code)} {place}{words(finding.message)}"
