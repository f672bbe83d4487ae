"""The panels of the overview, drawn from a report at a width in cells.

Timelines, curves, staircases and memory strips are the nodes of ``irlens.render.view``, so that the
panels agree with the written reports.
"""

from collections.abc import Iterator, Mapping, Sequence

from textual.content import Content

from irlens import figures
from irlens.model.pressure import StagePressure
from irlens.model.report import Occupancy, Pipeline, Report, StageSize
from irlens.model.resources import Resources
from irlens.model.terms import (
    Terms,
    describe_cover,
    describe_prefetch,
    describe_waves,
)
from irlens.model.text import count, percent, plural, printable_line, size
from irlens.render.view.characters import bar, cut, draw_curve, draw_strip, draw_timeline
from irlens.render.view.details import by_class, limits, pipeline_depth
from irlens.render.view.drawings import memory_strip, pressure_curve, pressure_stage
from irlens.render.view.nodes import Run, Text
from irlens.render.view.timeline import STEADY, timeline
from irlens.tui.drawing import (
    BAD,
    DIM,
    GOOD,
    MAIN,
    WARN,
    content_of,
    contents_of,
    flowing,
    hanging,
    label_width,
    labelled,
    lines,
    occupancy_style,
)
from irlens.tui.entries.cells import settings

#: Cells of the columns of limits: names and numbers.
_LIMIT_NAME, _LIMIT_NUMBER = 15, 5
_CURVE_HEIGHT = 6
#: Lines of Python with the highest pressure, and cells of their bars.
_PRESSURE_LINES, _PRESSURE_BAR = 6, 10
#: Cells of the columns of the instruction mix: numbers and shares.
_MIX_NUMBER, _MIX_SHARE = 7, 8
_AGREEMENT = {
    True: ("matches the reference", GOOD),
    False: ("differs from the reference", WARN),
    None: ("no reference", DIM),
}


def occupancy(report: Report, shown: Occupancy | None, width: int) -> Content:
    """Return how full an SM gets, what limits it, and where the next steps are.

    Args:
        report: The report.
        shown: The occupancy to draw: the report's own, or that of another demand.
        width: Cells.
    """
    if shown is None:
        reason = report.unknown.get("occupancy", "")
        return Content.assemble(("unknown", WARN), f"  {reason}")
    return lines(list(_occupancy(report, shown, Terms(report), width)))


def _occupancy(report: Report, shown: Occupancy, terms: Terms, width: int) -> Iterator[Content]:
    yield _occupancy_headline(shown, terms, width)
    if shown.launchable:
        blocks = f"{plural(shown.blocks_per_sm, terms.block)}/{terms.sm}"
        limiting = ", ".join(terms.resource(name) for name in shown.limited_by)
        yield Content.assemble(blocks, (" · limited by ", DIM), limiting)
    for refusal in shown.refusals:
        yield hanging(Content(""), terms.refusal(refusal), BAD, width)
    for step in shown.next_step:
        yield hanging(Content(""), terms.step(step, shown), "", width)
    if shown is report.occupancy and (waves := describe_waves(shown)):
        yield flowing(Content(""), [Content.styled(wave, DIM) for wave in waves], ", ", width)
    yield Content("")
    yield Content.styled(f"{terms.block}s/{terms.sm} allowed by", DIM)
    yield from _limits(shown, terms, width)


def _occupancy_headline(shown: Occupancy, terms: Terms, width: int) -> Content:
    if not shown.launchable:
        return Content.styled("cannot launch", f"{BAD} bold")
    share = percent(shown.theoretical)
    warps = f"{shown.active_warps} of {plural(shown.max_warps, terms.warp)}"
    room = max(width - len(share) - len(warps) - 4, 4)
    return Content.assemble(
        (share, "bold"),
        "  ",
        (bar(shown.theoretical, room), occupancy_style(shown)),
        (f"  {warps}", DIM),
    )


def _limits(shown: Occupancy, terms: Terms, width: int) -> Iterator[Content]:
    allowed = limits(shown, terms)
    most = max((limit for _, limit in allowed), default=1)
    room = max(width - _LIMIT_NAME - _LIMIT_NUMBER - 4, 4)
    for name, limit in allowed:
        is_limiting = name in shown.limited_by
        drawn = bar(limit / max(most, 1), room).rstrip()
        yield Content.assemble(
            (terms.resource(name).ljust(_LIMIT_NAME), "" if is_limiting else DIM),
            f"{limit:>{_LIMIT_NUMBER}} ",
            # The shortest bar decides: thin the longer ones, which would dominate.
            (f"{drawn} ◀", MAIN) if is_limiting else ("━" * len(drawn), DIM),
        )


def memory_title(report: Report) -> str:
    """Return the title of the memory panel, in the vendor's terms."""
    terms = Terms(report)
    return "Shared memory" if terms.shared_memory == "shared memory" else terms.shared_memory


def memory(report: Report, width: int) -> Content:
    """Return the shared memory of a CTA, drawn to scale."""
    resources, terms = report.resources, Terms(report)
    rows: list[Content] = []
    if resources.shared_dynamic_bytes is None:
        rows.append(Content.styled("unknown", WARN))
    else:
        amounts = [f"{size(resources.shared_dynamic_bytes)} dynamic"]
        if resources.shared_static_bytes:
            amounts.append(f"+ {size(resources.shared_static_bytes)} static")
        if resources.shared_reserved_bytes:
            amounts.append(f"+ {size(resources.shared_reserved_bytes)} reserved by the system")
        label = Content.styled(f"per {terms.cta}  ", DIM)
        rows.append(flowing(label, [Content(amount) for amount in amounts], " ", width))
    if report.memory is not None:
        if (strip := memory_strip(report.memory)) is not None:
            rows += [_fitted(row, width) for row in draw_strip(strip, width)]
        if report.memory.reason:
            rows.append(hanging(Content(""), report.memory.reason, DIM, width))
    return lines(rows)


def _fitted(row: Text, width: int) -> Content:
    """Return a row of a strip; a name that is too long continues beside its fill."""
    return flowing(content_of(row[:1]), [content_of(row[1:])], "", width)


def pipelines(report: Report, width: int) -> Content:
    """Return every pipeline with its timeline."""
    if not report.pipelines:
        return Content.styled(report.unknown.get("pipelines", "none"), DIM)
    rows: list[Content] = []
    for number, pipeline in enumerate(report.pipelines):
        if number:
            rows.append(Content(""))
        rows += _pipeline(pipeline, report, Terms(report), width)
    return lines(rows)


def _pipeline(pipeline: Pipeline, report: Report, terms: Terms, width: int) -> Iterator[Content]:
    place = pipeline.place
    code = cut(printable_line(report.code.get(place, "")), width - len(place) - 2)
    yield Content.assemble((place, "bold"), "  ", (code, DIM))
    ahead = [Content(printable_line(phrase)) for phrase in describe_prefetch(pipeline)]
    yield flowing(Content(""), [kind_and_depth(pipeline), *ahead], " · ", width)
    if pipeline.reason:
        yield hanging(Content(""), pipeline.reason, DIM, width)
    traffic = filter(None, [*terms.traffic(pipeline), describe_cover(pipeline)])
    if phrases := [Content.styled(phrase, DIM) for phrase in traffic]:
        yield flowing(Content(""), phrases, " · ", width)
    if drawn := pipeline_timeline(pipeline, width):
        yield Content("")
        yield from drawn


def pipeline_timeline(pipeline: Pipeline, width: int) -> list[Content]:
    """Return the timeline with as many steady iterations as fit; empty if it is unknown."""
    for steady in range(STEADY, 0, -1):
        node = timeline(pipeline, steady)
        if node is not None and (drawn := draw_timeline(node, width)):
            return contents_of(drawn)
    return []


def kind_and_depth(pipeline: Pipeline) -> Content:
    """Return "cp.async 4 of 4 stages ✓" or "unknown"."""
    depth = pipeline_depth(pipeline)
    if depth.tone == "unknown":
        return content_of((depth,))
    return content_of((Run(f"{pipeline.kind or 'loads'} "), depth))


def pressure(report: Report, width: int) -> Content:
    """Return the live registers over the instructions, and the lines of Python with the most."""
    known = pressure_stage(report)
    if known is None:
        stages = (report.pressure.ptx, report.pressure.amdgcn)
        reasons = " ".join(stage.reason for stage in stages if stage)
        return Content.assemble(("unknown", WARN), f"  {reasons}")
    stage, stage_pressure = known
    rows = [_peak(stage, stage_pressure, report, width)]
    if (curve := pressure_curve(stage, stage_pressure, report)) is not None:
        rows += contents_of(draw_curve(curve, width, _CURVE_HEIGHT))
    return lines([*rows, Content(""), *_pressure_lines(stage_pressure, report, width)])


def _peak(stage: str, peak: StagePressure, report: Report, width: int) -> Content:
    at = f" at {peak.source}" if peak.source else ""
    phrases = [Content.assemble((f"{peak.peak}", "bold"), f" live in {stage}", (at, DIM))]
    # PTX's registers are virtual: the allocated ones are no limit to compare with.
    if stage != "ptx" and report.resources.registers is not None:
        phrases.append(Content.styled(f"{report.resources.registers} allocated", DIM))
    return flowing(Content(""), phrases, "  ", width)


def _pressure_lines(pressure: StagePressure, report: Report, width: int) -> Iterator[Content]:
    highest = sorted(pressure.lines, key=lambda line: (-line.peak, line.source))[:_PRESSURE_LINES]
    places = max((len(str(line.source)) for line in highest), default=0)
    for line in highest:
        place = str(line.source)
        label = f"{place:<{places}} {count(line.peak):>5} "
        code = printable_line(report.code.get(place, ""))
        room = max(width - len(label) - _PRESSURE_BAR - 1, 0)
        share = line.peak / max(pressure.peak or 1, 1)
        yield Content.assemble(
            label, (bar(share, _PRESSURE_BAR), MAIN), (f" {cut(code, room)}", DIM)
        )


def mix(report: Report, width: int) -> Content:
    """Return a bar for each class of instructions, the largest first."""
    rows: list[Content] = []
    for each in report.mix:
        rows.append(Content.styled(f"{plural(each.total, 'instruction')} in {each.stage}", DIM))
        classes = by_class(each)
        label = max((len(name) for name, _, _ in classes), default=0) + 1
        room = max(width - label - _MIX_NUMBER - _MIX_SHARE - 1, 4)
        most = max((number for _, number, _ in classes), default=1)
        for name, number, is_unknown in classes:
            rows.append(
                Content.assemble(
                    printable_line(name).ljust(label),
                    f"{count(number):>{_MIX_NUMBER}}",
                    (f"{percent(number / each.total):>{_MIX_SHARE}} ", DIM),
                    (bar(number / most, room), MAIN),
                    (" unknown" if is_unknown else "", WARN),
                )
            )
    return lines(rows) if rows else Content.styled("no assembly in this capture", DIM)


def facts(report: Report, width: int) -> Content:
    """Return how the kernel was compiled and is called, and which figures are unknown."""
    return lines(list(_facts(report, width)))


def _facts(report: Report, width: int) -> Iterator[Content]:
    terms, config = Terms(report), report.config
    listed = list(figure_facts(report))
    beside = label_width(label for label, _ in listed)

    def rows(label: str, items: Sequence[Content], gap: str) -> Iterator[Content]:
        if items:
            yield flowing(labelled(label, width=beside), items, gap, width)

    yield from rows("registers", _registers(report.resources, terms), " · ")
    yield from rows("memory", _spills(report.resources), "  ")
    for label, items in listed:
        yield from rows(label, items, " · ")
    yield from rows("settings", _pairs(settings(config)), "  ")
    arguments = {name: str(value) for name, value in config.args.items()}
    yield from rows("arguments", _pairs(arguments), "  ")
    if config.grid:
        yield labelled("grid", " × ".join(map(count, config.grid)), width=beside)
    stages = [Content(f"{name} {_length(stage)}") for name, stage in report.stages.items()]
    yield from rows("stages", stages, " · ")
    if report.run is not None:
        device = printable_line(report.run.device)
        agreement = _AGREEMENT[report.run.matches_reference]
        yield labelled("launched", f"{device}  ", agreement, width=beside)
    for path, reason in report.unknown.items():
        unknown = f"{printable_line(path)}: {printable_line(reason)}"
        yield hanging(labelled("unknown", width=beside), unknown, DIM, width)


def figure_facts(report: Report) -> Iterator[tuple[str, list[Content]]]:
    """Yield the figures that the registry lists among a kernel's facts: label and values."""
    for figure, values, _ in figures.facts(report):
        items = [Content(printable_line(value)) for value in values]
        yield figure.short or figure.title, items or [Content.styled("unknown", WARN)]


def _registers(resources: Resources, terms: Terms) -> list[Content]:
    if resources.registers is None:
        return [Content.styled("unknown", WARN)]
    if resources.sgprs is None:
        return [Content(f"{resources.registers} per {terms.thread}")]
    phrases = [Content(f"{resources.registers} vector registers per {terms.thread}")]
    if resources.agprs:
        phrases.append(Content(f"{resources.vgprs} VGPRs + {resources.agprs} AGPRs"))
    return [*phrases, Content(f"{resources.sgprs} SGPRs per {terms.warp}")]


def _spills(resources: Resources) -> list[Content]:
    """The memory private to a thread, in the vendor's terms."""
    is_amd = resources.sgprs is not None
    amounts = (
        (resources.local_bytes, "B scratch" if is_amd else "B local"),
        (None if is_amd else resources.stack_bytes, "B stack"),
        (resources.vgpr_spills, "VGPR spills"),
        (resources.sgpr_spills, "SGPR spills"),
    )
    return [
        Content.styled(f"{count(amount)} {unit}", WARN if amount else "")
        for amount, unit in amounts
        if amount is not None
    ]


def _length(stage: StageSize) -> str:
    return size(stage.bytes) if stage.lines is None else plural(stage.lines, "line")


def _pairs(values: Mapping[str, str]) -> list[Content]:
    return [
        Content(f"{printable_line(name)} {printable_line(value)}") for name, value in values.items()
    ]
