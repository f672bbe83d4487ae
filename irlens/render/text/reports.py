"""Reports for a terminal: what matters first, aligned, readable at 80 columns."""

from collections import Counter
from collections.abc import Sequence

from irlens.model.capture import stage_rank
from irlens.model.report import (
    Finding,
    InstructionMix,
    Pipeline,
    Report,
    Severity,
)
from irlens.model.text import count, plural, size
from irlens.model.words import (
    Words,
    describe_cover,
    describe_depth,
    describe_prefetch,
    describe_run,
)
from irlens.render import DETAILS, View
from irlens.render._overview import TITLES, figures, label_or_kernel
from irlens.render.text._details import add_detail
from irlens.render.text._page import Cell, Page, Style, prose
from irlens.render.text._resources import add_resources

_CLASSES_SHOWN = 6
_SEVERITY_STYLE: dict[Severity, Style] = {"error": "bad", "warning": "warn", "note": "dim"}


def render(reports: Sequence[Report], view: View) -> str:
    """Return the reports one after the other, a table of them first if there are several."""
    page = Page(width=view.width, color=view.color)
    if len(reports) > 1:
        _overview(page, reports)
    for report in reports:
        page.blank()
        _report(page, report, view)
    return page.text()


def _overview(page: Page, reports: Sequence[Report]) -> None:
    """Add one row per report: the figures one compares first, and what sets it apart."""
    rows: list[tuple[str, ...]] = [TITLES, *(figures(report) for report in reports)]
    names = ["", *label_or_kernel(reports)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(TITLES))]
    page.headline([Cell(reports[0].kernel if _one_kernel(reports) else "kernels", "bold")])
    for number, (row, label) in enumerate(zip(rows, names, strict=True)):
        cells = (cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        style: Style = "plain" if number else "dim"
        page.row(Cell("  ".join(cells), style), prose(label))


def _one_kernel(reports: Sequence[Report]) -> bool:
    return len({report.kernel for report in reports}) == 1


def _report(page: Page, report: Report, view: View) -> None:
    words = Words(report)
    _headline(page, report)
    page.blank()
    add_resources(page, report, words)
    for pipeline in report.pipelines:
        page.blank()
        _pipeline(page, pipeline, report, words)
    if report.findings:
        page.blank()
        _findings(page, report.findings)
    if report.run:
        page.blank()
        _run(page, report)
    for detail in DETAILS:
        if detail in view.details:
            add_detail(page, report, detail)
    page.blank()
    if "mix" not in view.details:
        for mix in report.mix:
            _mix(page, mix)
    _stages(page, report)
    _unknown(page, report)


def _headline(page: Page, report: Report) -> None:
    config = report.config
    cells: list[Cell | str] = [Cell(report.kernel, "bold")]
    if report.target:
        product = f" ({report.target.product})" if report.target.product else ""
        cells.append(f"{report.target.arch}{product}")
    for name in ("num_warps", "num_stages", "num_ctas", "maxnreg"):
        value = getattr(config, name)
        if value is not None and (name != "num_ctas" or value > 1):
            cells.append(f"{name} {value}")
    # Kernels often take num_stages as a constexpr too; the same fact twice helps nobody.
    cells += [
        f"{name} {value}"
        for name, value in config.constexprs.items()
        if getattr(config, name, None) != value
    ]
    if report.triton_version:
        cells.append(Cell(f"Triton {report.triton_version}", "dim"))
    page.headline(cells)
    if config.args:
        page.headline([Cell(f"{name} {value}", "dim") for name, value in config.args.items()])
    if config.grid:
        page.headline([Cell("grid " + " × ".join(count(n) for n in config.grid), "dim")])


def _pipeline(page: Page, pipeline: Pipeline, report: Report, words: Words) -> None:
    place = pipeline.place
    code = page.shortened(report.code.get(place, ""), beside=place)
    page.line("Pipeline", [place, Cell(code, "code")] if code else [place], gap="  ")
    deep = describe_depth(pipeline)
    if deep is None:
        page.text_line("", f"{pipeline.verdict}: {pipeline.reason}", _verdict_style(pipeline))
        return
    mark = {"good": " ✓", "warn": " ✗"}.get(_verdict_style(pipeline), "")
    cells: list[Cell | str] = [
        Cell(pipeline.kind or "loads", "bold"),
        Cell(f"{deep}{mark}", _verdict_style(pipeline)),
    ]
    cells += describe_prefetch(pipeline)
    page.line("", cells)
    if traffic := words.traffic(pipeline):
        cover = describe_cover(pipeline)
        page.line("", [*traffic, *([Cell(f"({cover})", "dim")] if cover else [])])
    if pipeline.reason:
        page.text_line("", pipeline.reason, "dim")


def _verdict_style(pipeline: Pipeline) -> Style:
    if pipeline.verdict == "not pipelined" and pipeline.requested_stages == 1:
        return "plain"  # as it was asked for
    return "good" if pipeline.verdict == "pipelined" else "warn"


def _findings(page: Page, findings: Sequence[Finding]) -> None:
    by_severity = Counter(finding.severity for finding in findings)
    told = [
        Cell(plural(by_severity[severity], severity), style)
        for severity, style in _SEVERITY_STYLE.items()
        if by_severity[severity]
    ]
    explain = Cell(f"irlens explain {findings[0].code} tells more", "dim")
    page.line("Findings", [*told, explain])
    for finding in findings:
        named = finding.source is not None and str(finding.source) not in finding.message
        place = [Cell(f"{finding.source}:")] if named else []
        code = Cell(finding.code, _SEVERITY_STYLE[finding.severity])
        page.line("", [code, *place, *prose(finding.message)], gap=" ")
        if finding.hint:
            page.text_line("", finding.hint, "dim")


def _run(page: Page, report: Report) -> None:
    run = report.run
    if run is None:
        return
    styles: dict[bool | None, Style] = {True: "good", False: "bad", None: "plain"}
    verdict = Cell(describe_run(run), styles[run.matches_reference])
    cells: list[Cell | str] = [run.device, verdict]
    if run.max_abs_error is not None:
        cells.append(f"largest difference {run.max_abs_error:.3g}")
    page.line("Run", cells)
    answers = [
        ("registers", run.registers),
        ("B local", run.local_bytes),
        ("blocks/SM", run.blocks_per_sm),
    ]
    told = [f"{count(value)} {unit}" for unit, value in answers if value is not None]
    if told:
        page.line("", ["the driver says", " · ".join(told)])


def _mix(page: Page, mix: InstructionMix) -> None:
    ordered = sorted(mix.classes.items(), key=lambda item: (-item[1], item[0]))
    cells: list[Cell | str] = [f"{mix.stage} {plural(mix.total, 'instruction')}:"]
    cells += [f"{name} {count(number)}" for name, number in ordered[:_CLASSES_SHOWN]]
    if len(ordered) > _CLASSES_SHOWN:
        rest = sum(number for _, number in ordered[_CLASSES_SHOWN:])
        cells.append(f"others {count(rest)}")
    if mix.unknown:
        cells.append(Cell(f"unknown {count(sum(mix.unknown.values()))}", "warn"))
    page.line("Mix", cells, gap="  ")


def _stages(page: Page, report: Report) -> None:
    cells: list[Cell | str] = [
        f"{name} {plural(stage.lines, 'line')}"
        if stage.lines is not None
        else f"{name} {size(stage.bytes)}"
        for name, stage in sorted(report.stages.items(), key=lambda item: stage_rank(item[0]))
    ]
    page.line("Stages", cells, gap=" · ")


def _unknown(page: Page, report: Report) -> None:
    by_reason: dict[str, list[str]] = {}
    for path, reason in sorted(report.unknown.items()):
        by_reason.setdefault(reason, []).append(path.rsplit(".", 1)[-1].replace("_", " "))
    for index, (reason, names) in enumerate(by_reason.items()):
        page.text_line("" if index else "Unknown", f"{', '.join(names)}: {reason}", "warn")
