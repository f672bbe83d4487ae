"""Reports in Markdown: the first glance at each, and the whole of it folded away."""

from collections import Counter
from collections.abc import Sequence

from irlens.model.report import Pipeline, Report
from irlens.model.text import percent, plural, size
from irlens.report import View
from irlens.report._overview import TITLES, figures, label_or_kernel
from irlens.report.markdown import FOLDED_WIDTH
from irlens.report.markdown._document import Document, code, words
from irlens.report.markdown._findings import item
from irlens.report.text import reports as text


def render(reports: Sequence[Report], view: View) -> str:
    """Return the reports: the first glance at each, and the text report folded below."""
    document = Document("inspect")
    folded = View(width=FOLDED_WIDTH, details=view.details)
    if len(reports) == 1:
        report = reports[0]
        document.paragraph(f"**{words(_name(report))}**: {words(', '.join(_glance(report)))}")
        document.table(["", "", ""], _figures(report), right=(1,))
        document.bullets(item(finding) for finding in report.findings)
    else:
        document.paragraph(f"**{words(plural(len(reports), 'report'))}**")
        labels = label_or_kernel(reports)
        rows = [
            [code(label), *map(words, figures(report)), words(_found(report) or "–")]
            for label, report in zip(labels, reports, strict=True)
        ]
        header = ["", *TITLES, "findings"]
        document.table(header, rows, right=range(1, len(TITLES) + 1))
    for report in reports:
        document.folded(_name(report), text.render([report], folded))
    return document.text()


def _name(report: Report) -> str:
    target = report.target
    return f"{report.kernel} on {target.arch}" if target else report.kernel


def _glance(report: Report) -> list[str]:
    """The report in a line."""
    occupancy, told = report.occupancy, []
    if occupancy is not None:
        fits = f"occupancy {percent(occupancy.theoretical)}"
        told.append(fits if occupancy.launchable else "cannot launch")
    told += [
        f"{each.kind} {_depth(each)}"
        for each in report.pipelines
        if each.achieved_stages is not None
    ]
    if report.resources.local_bytes:
        told.append(f"{size(report.resources.local_bytes)} local memory")
    return [*told, _found(report) or "no findings"]


def _found(report: Report) -> str:
    severities = Counter(finding.severity for finding in report.findings)
    return ", ".join(plural(number, severity) for severity, number in severities.items())


def _depth(pipeline: Pipeline) -> str:
    asked = f" of {pipeline.requested_stages}" if pipeline.requested_stages is not None else ""
    return f"{pipeline.achieved_stages}{asked} stages"


def _figures(report: Report) -> list[list[str]]:
    """What one wants to know first, with what it comes from."""
    occupancy = report.occupancy
    fits = ""
    if occupancy is not None and occupancy.launchable:
        limits = ", ".join(name.replace("_", " ") for name in occupancy.limited_by)
        fits = (
            f"{occupancy.blocks_per_sm} per {occupancy.multiprocessor}, "
            f"{occupancy.active_warps} of {occupancy.max_warps} warps, limited by {limits}"
        )
    registers, local, shared, share, _ = figures(report)
    rows = [
        ["occupancy", share, fits],
        ["registers", registers, "per thread"],
        ["local memory", local, "bytes per thread"],
        ["shared memory", shared, "bytes per block"],
    ]
    rows += [
        [f"pipeline {each.source or each.loop}", each.kind or "none", _pipelined(each)]
        for each in report.pipelines
    ]
    return [[words(cell) for cell in row] for row in rows]


def _pipelined(pipeline: Pipeline) -> str:
    if pipeline.achieved_stages is None:
        return pipeline.verdict
    return f"{_depth(pipeline)}, {pipeline.verdict}"
