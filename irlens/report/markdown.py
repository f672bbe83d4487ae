"""Markdown for a comment on a pull request: the verdict, a table, and the rest folded away."""

from collections import Counter
from collections.abc import Sequence

from irlens.model.comparison import Comparison, Comparisons, FindingDelta
from irlens.model.report import Finding, Pipeline, Report
from irlens.report import View
from irlens.report import text as text_format
from irlens.report._changes import (
    describe,
    finding_state,
    main_rows,
    one_sided,
    side_table,
    sides,
    summary,
    title,
    unpaired,
    verdict,
)
from irlens.report._markdown_document import Document, code, words
from irlens.report._overview import TITLES, figures, label_or_kernel
from irlens.report._units import percent, plural, size

EXTENSION = "md"

#: Columns of the text that is folded away: comments are narrow, and scroll sideways.
_FOLDED_WIDTH = 100


def render(reports: Sequence[Report], view: View) -> str:
    """Return the reports: the first glance at each, and the text report folded below."""
    document = Document("inspect")
    folded = View(width=_FOLDED_WIDTH, details=view.details)
    if len(reports) == 1:
        report = reports[0]
        document.paragraph(f"**{words(_name(report))}**: {words(', '.join(_glance(report)))}")
        document.table(["", "", ""], _figures(report), right=(1,))
        document.bullets(_finding(finding) for finding in report.findings)
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
        document.folded(_name(report), text_format.render([report], folded))
    return document.text()


def render_comparison(comparisons: Comparisons, view: View) -> str:
    """Return what moved: the verdict and a table, and each comparison in full folded below."""
    document = Document("diff")
    pairs = comparisons.pairs
    if len(pairs) == 1 and not any(alone for _, alone in unpaired(comparisons)):
        _one(document, pairs[0])
    elif comparisons.against_first:
        document.paragraph(f"**{words(title(pairs[0]))}**: {words(summary(comparisons))}")
        header, rows, labels = side_table(pairs)
        cells = [[code(label), *map(words, row)] for label, row in zip(labels, rows, strict=True)]
        document.table(["", *header], cells, right=())
    else:
        document.paragraph(f"**{words(summary(comparisons))}**")
        rows = [
            [words(title(pair)), words(", ".join(verdict(pair)))]
            for pair in pairs
            if pair.different
        ]
        document.table(["kernel", "what moved"], rows, right=())
        document.bullets(
            f"{what}: {words(describe(side))}"
            for what, alone in unpaired(comparisons)
            for side in alone
        )
    folded = View(width=_FOLDED_WIDTH, details=view.details)
    for pair in pairs:
        if pair.different:
            alone = Comparisons(
                schema=comparisons.schema, different=True, against_first=False, pairs=[pair]
            )
            named = ", ".join(filter(None, (title(pair), sides(pair))))
            document.folded(named, text_format.render_comparison(alone, folded))
    return document.text()


def _one(document: Document, pair: Comparison) -> None:
    document.paragraph(f"**{words(title(pair))}**: {words(', '.join(verdict(pair)))}")
    if not pair.different:
        return
    rows = [
        [words(row.name), words(row.before), words(row.after), words(row.change)]
        for row in main_rows(pair)
    ]
    document.table(["", code(pair.before.label), code(pair.after.label), ""], rows, right=(1, 2))
    document.bullets(words(told) for told in one_sided(pair))
    document.bullets(_moved(found) for found in pair.findings)


def _moved(found: FindingDelta) -> str:
    finding = found.after or found.before
    return f"{finding_state(found)}: {_finding(finding)}" if finding is not None else ""


def _finding(finding: Finding) -> str:
    named = finding.source is not None and str(finding.source) not in finding.message
    place = f"{code(str(finding.source))}: " if named else ""
    return f"{finding.severity} {code(finding.code)} {place}{words(finding.message)}"


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
