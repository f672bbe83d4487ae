"""Reports for a terminal: what matters first, aligned, readable at 80 columns."""

from collections import Counter
from collections.abc import Sequence

from irlens.model.capture import stage_rank
from irlens.model.report import (
    Finding,
    InstructionMix,
    LimitName,
    Occupancy,
    Pipeline,
    Report,
    Severity,
)
from irlens.model.text import count, percent, plural, size
from irlens.model.words import (
    Words,
    describe_buffer,
    describe_cover,
    describe_prefetch,
    describe_run,
    describe_waves,
)
from irlens.report import DETAILS, View
from irlens.report._glance import depth
from irlens.report._overview import TITLES, figures, label_or_kernel
from irlens.report.text._details import add_detail
from irlens.report.text._page import Cell, Page, Style, prose

_LIMITS: tuple[LimitName, ...] = ("warps", "blocks", "registers", "shared_memory", "barriers")
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
    _occupancy(page, report, words)
    _registers(page, report, words)
    _live(page, report)
    _shared(page, report, words)
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


def _occupancy(page: Page, report: Report, words: Words) -> None:
    occupancy = report.occupancy
    if occupancy is None:
        page.line("Occupancy", [Cell("unknown", "warn")])
        return
    if occupancy.launchable:
        limiters = ", ".join(words.resource(name) for name in occupancy.limited_by)
        page.line(
            "Occupancy",
            [
                Cell(percent(occupancy.theoretical), "bold"),
                f"{plural(occupancy.blocks_per_sm, words.block)}/{words.sm} · "
                f"{occupancy.active_warps} of {plural(occupancy.max_warps, words.warp)}",
                f"limited by {limiters}",
            ],
        )
    else:
        _refusals(page, occupancy, words)
    limits = [
        f"{words.resource(name)} {value}"
        for name in _LIMITS
        if (value := getattr(occupancy.limits, name)) is not None
    ]
    page.line("", [f"{words.block}s/{words.sm} allowed by", *limits])
    for step in occupancy.next_step:
        page.line("", [Cell(words.step(step, occupancy), "dim")])
    if waves := describe_waves(occupancy):
        page.line("", waves)


def _refusals(page: Page, occupancy: Occupancy, words: Words) -> None:
    page.line("Occupancy", [Cell("cannot launch", "bad")])
    for refusal in occupancy.refusals:
        page.text_line("", words.refusal(refusal), "bad")


def _registers(page: Page, report: Report, words: Words) -> None:
    found = report.resources
    if found.registers is None:
        page.line("Registers", [Cell("unknown", "warn")])
    elif found.sgprs is None:
        cells = [
            Cell(f"{found.registers} per {words.thread}"),
            _spilled(found.local_bytes, "B local"),
            _spilled(found.stack_bytes, "B stack"),
        ]
        page.line("Registers", [cell for cell in cells if cell is not None], gap=" · ")
    else:
        cells = [
            Cell(f"{found.registers} vector registers per {words.thread}"),
            Cell(f"{found.sgprs} SGPRs per {words.warp}"),
            _spilled(found.vgpr_spills, "VGPR spills"),
            _spilled(found.sgpr_spills, "SGPR spills"),
            _spilled(found.local_bytes, "B scratch"),
        ]
        if found.agprs:
            cells.insert(1, Cell(f"{found.vgprs} VGPRs + {found.agprs} AGPRs"))
        page.line("Registers", [cell for cell in cells if cell is not None], gap=" · ")


def _live(page: Page, report: Report) -> None:
    """The most registers that hold a value at once; virtual ones where only PTX was read."""
    for stage in ("sass", "amdgcn", "ptx"):
        found = getattr(report.pressure, stage)
        if found is not None and found.peak is not None:
            place = str(found.source) if found.source else ""
            told = f"at most {found.peak} live in {stage}" + (f" at {place}" if place else "")
            code = page.shortened(report.code.get(place, ""), beside=told)
            page.line("", [told, Cell(code, "code")] if code else [told], gap="  ")
            return


def _spilled(value: int | None, unit: str) -> Cell | None:
    if value is None:
        return None
    return Cell(f"{count(value)} {unit}", "warn" if value else "plain")


def _shared(page: Page, report: Report, words: Words) -> None:
    found = report.resources
    if found.shared_dynamic_bytes is None:
        page.line(words.shared, [Cell("unknown", "warn")])
        return
    parts = [f"{size(found.shared_dynamic_bytes)} dynamic"]
    if found.shared_static_bytes:
        parts.append(f"{size(found.shared_static_bytes)} static")
    if found.shared_reserved_bytes:
        parts.append(f"{size(found.shared_reserved_bytes)} reserved by the system")
    page.line(words.shared, [f"per {words.cta}", " + ".join(parts)])
    memory = report.memory
    if memory is None or memory.peak_bytes is None or not memory.buffers:
        return
    alive = [describe_buffer(buffer) for buffer in memory.buffers if buffer.at_peak]
    if memory.remainder_bytes:
        alive.append(f"{size(memory.remainder_bytes)} scratch")
    page.line("", ["= " + alive[0], *(f"+ {each}" for each in alive[1:])], gap=" ")


def _pipeline(page: Page, pipeline: Pipeline, report: Report, words: Words) -> None:
    place = str(pipeline.source) if pipeline.source else f"{pipeline.stage}:{pipeline.line}"
    code = page.shortened(report.code.get(place, ""), beside=place)
    page.line("Pipeline", [place, Cell(code, "code")] if code else [place], gap="  ")
    if pipeline.achieved_stages is None:
        page.text_line("", f"{pipeline.verdict}: {pipeline.reason}", _verdict_style(pipeline))
        return
    mark = {"good": " ✓", "warn": " ✗"}.get(_verdict_style(pipeline), "")
    cells: list[Cell | str] = [
        Cell(pipeline.kind or "loads", "bold"),
        Cell(f"{depth(pipeline)}{mark}", _verdict_style(pipeline)),
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
