"""Reports in Markdown: the first glance at each, and the whole of it folded away."""

from collections.abc import Sequence

from irlens.model.report import Pipeline, Report
from irlens.model.text import plural
from irlens.model.words import Words, describe_depth, describe_tensor_memory, describe_warp_groups
from irlens.render import View
from irlens.render._glance import found, glance, name
from irlens.render._overview import TITLES, figures, label_or_kernel
from irlens.render.markdown import FOLDED_WIDTH
from irlens.render.markdown._document import Document, code, words
from irlens.render.markdown._findings import item
from irlens.render.text import reports as text


def render(reports: Sequence[Report], view: View) -> str:
    """Return the reports: the first glance at each, and the text report folded below."""
    document = Document("inspect")
    folded = View(width=FOLDED_WIDTH, details=view.details)
    if len(reports) == 1:
        report = reports[0]
        document.paragraph(f"**{words(name(report))}**: {words(', '.join(glance(report)))}")
        document.table(["", "", ""], _figures(report), right=(1,))
        document.bullets(item(finding) for finding in report.findings)
    else:
        document.paragraph(f"**{words(plural(len(reports), 'report'))}**")
        labels = label_or_kernel(reports)
        rows = [
            [code(label), *map(words, figures(report)), words(found(report) or "–")]
            for label, report in zip(labels, reports, strict=True)
        ]
        header = ["", *TITLES, "findings"]
        document.table(header, rows, right=range(1, len(TITLES) + 1))
    for report in reports:
        document.folded(name(report), text.render([report], folded))
    return document.text()


def _figures(report: Report) -> list[list[str]]:
    """What one wants to know first, with what it comes from."""
    occupancy, terms = report.occupancy, Words(report)
    fits = ""
    if occupancy is not None and occupancy.launchable:
        limits = ", ".join(terms.resource(name) for name in occupancy.limited_by)
        fits = (
            f"{occupancy.blocks_per_sm} per {occupancy.multiprocessor}, "
            f"{occupancy.active_warps} of {plural(occupancy.max_warps, terms.warp)}, limited by"
            f" {limits}"
        )
    registers, local, shared, share, _ = figures(report)
    rows = [
        ["occupancy", share, fits],
        ["registers", registers, f"per {terms.thread}"],
        ["local memory", local, f"bytes per {terms.thread}"],
        [terms.shared_memory, shared, f"bytes per {terms.block}"],
    ]
    if tensor_memory := describe_tensor_memory(report):
        rows.append(["tensor memory", tensor_memory, f"per {terms.block}"])
    if groups := describe_warp_groups(report):
        rows.append(["warps", ", ".join(groups), ""])
    rows += [
        [f"pipeline {each.source or each.loop}", each.kind or "loads", _pipelined(each)]
        for each in report.pipelines
    ]
    return [[words(cell) for cell in row] for row in rows]


def _pipelined(pipeline: Pipeline) -> str:
    deep = describe_depth(pipeline)
    return pipeline.verdict if deep is None else f"{deep}, {pipeline.verdict}"
