"""Reports as a page: the verdict, figures and charts, and the code with its stages linked."""

from collections.abc import Sequence

from irlens.model.listing import Listing
from irlens.model.report import Report
from irlens.model.text import plural
from irlens.render import View
from irlens.render._glance import found, name
from irlens.render._overview import TITLES, figures, label_or_kernel
from irlens.render.html._code import SCRIPT, panes
from irlens.render.html._findings import findings
from irlens.render.html._markup import Markup, tag
from irlens.render.html._memory import memory
from irlens.render.html._mix import mixes
from irlens.render.html._occupancy import occupancy
from irlens.render.html._page import document
from irlens.render.html._parts import folded, stated, table
from irlens.render.html._pipelines import loads, pipelines
from irlens.render.html._places import Places
from irlens.render.html._pressure import pressure
from irlens.render.html._summary import origins, state, summary

#: The command brings the stages' text along.
SHOWS_CODE = True


def render(reports: Sequence[Report], view: View) -> str:
    """Return a page of one report, or of several with a table of them first."""
    listings: Sequence[Listing | None] = view.listings or [None] * len(reports)
    scripts = (SCRIPT,) if view.listings else ()
    if len(reports) == 1:
        body = tag("main", *_report(reports[0], listings[0], ""))
        return document(name(reports[0]), body, scripts=scripts)
    kernels = {report.kernel for report in reports}
    title = plural(len(reports), "report")
    if len(kernels) == 1:
        title = f"{reports[0].kernel}: {title}"
    labels = label_or_kernel(reports)
    numbered = enumerate(zip(reports, listings, labels, strict=True))
    folds = [
        folded(tag("b", label), _whole(report, listing, f"r{index}-"))
        for index, (report, listing, label) in numbered
    ]
    body = tag("main", tag("h1", title), _overview(reports, labels), *folds, class_="many")
    return document(title, body, scripts=scripts)


def _overview(reports: Sequence[Report], labels: Sequence[str]) -> Markup:
    rows = [
        [
            tag("a", label, href=f"#r{index}-"),
            *figures(report),
            stated(state(report), found(report) or "no findings"),
        ]
        for index, (report, label) in enumerate(zip(reports, labels, strict=True))
    ]
    return table(["", *TITLES, "findings"], rows, right=range(1, len(TITLES) + 1), class_="figures")


def _whole(report: Report, listing: Listing | None, prefix: str) -> Markup:
    return tag("article", *_report(report, listing, prefix), id=prefix)


def _report(report: Report, listing: Listing | None, prefix: str) -> list[Markup | None]:
    places = Places(prefix, listing)
    return [
        tag("header", summary(report, places)),
        findings(report.findings, places, report.code),
        tag(
            "div",
            occupancy(report),
            pipelines(report, places),
            pressure(report, places),
            memory(report, places),
            mixes(report),
            loads(report, places),
            class_="cards",
        ),
        panes(report, listing, places) if listing else None,
        tag("footer", origins(report)),
    ]
