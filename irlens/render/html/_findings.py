"""Findings: what is the case, where, and what to do."""

from collections.abc import Sequence

from irlens.model.report import Finding
from irlens.render.html._markup import Content, Markup, tag
from irlens.render.html._parts import SEVERITY_STATES, severity
from irlens.render.html._places import Places


def findings(found: Sequence[Finding], places: Places, code: dict[str, str]) -> Markup | None:
    """Return a list of them; ``None`` if there are none."""
    if not found:
        return None
    return tag("ul", *(finding(each, places, code) for each in found), class_="findings")


def finding(
    found: Finding, places: Places, code: dict[str, str], *, before: Content = None
) -> Markup:
    """Return one as an item of a list; ``before`` stands in front of it."""
    line = code.get(str(found.source)) if found.source else None
    where: Content = places.source(found.source)
    if where is None and found.stage and found.line:
        where = places.stage(found.stage, found.line)
    return tag(
        "li",
        tag(
            "p", before, severity(found.severity), " ", tag("code", found.code, class_="rule"), " ",
            where, " ", tag("code", line, class_="line") if line else None,
        ),
        tag("p", found.message),
        tag("p", found.hint, class_="hint") if found.hint else None,
        class_=SEVERITY_STATES[found.severity],
    )  # fmt: skip
