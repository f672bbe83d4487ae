"""The parts of a report in full: occupancy, pipelines, pressure, spills, memory, instructions."""

from collections import Counter
from collections.abc import Iterator
from typing import get_args

from irlens.model.capture import stage_rank
from irlens.model.memory import SharedMemory
from irlens.model.pressure import StagePressure
from irlens.model.report import InstructionMix, LimitName, Occupancy, Report
from irlens.model.resources import SpillSite
from irlens.model.terms import Terms, describe_waves
from irlens.model.text import count, percent, plural, size
from irlens.model.traffic import MatrixProduct
from irlens.render.view import nodes
from irlens.render.view.conversions import conversions_section
from irlens.render.view.drawings import memory_strip, nearest, place_of, pressure_curve, staircase
from irlens.render.view.launch_time import time_section
from irlens.render.view.memory_traffic import traffic_section, traffic_stage
from irlens.render.view.nodes import Cells, Column, Node, Run, Text, Tone, phrases, table, text
from irlens.render.view.pipelines import loads_section, pipeline_section
from irlens.render.view.roofline_chart import rooflines_of_reports

#: Products that are listed; those of unrolled loops are alike.
_MOST_PRODUCTS = 6


def details(report: Report) -> Iterator[nodes.Section]:
    """Yield every part of a report in full, the most asked for first."""
    terms = Terms(report)
    if report.occupancy is not None:
        yield _occupancy(report, report.occupancy, terms)
    for pipeline in report.pipelines:
        yield pipeline_section(pipeline, report, terms)
    if report.loads:
        yield loads_section(report)
    for stage, pressure in report.pressure.stages():
        yield _pressure(stage, pressure, report)
    if report.spills:
        yield _spills(report.spills)
    if (traffic := traffic_section(report)) is not None:
        yield traffic
    if (moved := conversions_section(report)) is not None:
        yield moved
    if (time := time_section(report)) is not None:
        yield time
    yield from rooflines_of_reports([report], [""])
    if (memory := _memory(report, terms)) is not None:
        yield memory
    for mix in report.mix:
        yield _mix(mix)


def limits(occupancy: Occupancy, terms: Terms) -> list[tuple[LimitName, int]]:
    """Return how many CTAs each resource alone would allow, the tightest first."""
    names: tuple[LimitName, ...] = get_args(LimitName)
    known = ((name, getattr(occupancy.limits, name)) for name in names)
    return sorted(((n, limit) for n, limit in known if limit is not None), key=lambda one: one[1])


def _occupancy(report: Report, occupancy: Occupancy, terms: Terms) -> nodes.Section:
    """What limits it, what would change it, and how many CTAs fit with more or less."""
    allowed = limits(occupancy, terms)
    least = min((limit for _, limit in allowed), default=0)
    rows: list[Cells] = []
    for name, limit in allowed:
        limiting = name in occupancy.limited_by
        tone: Tone = "warn" if limiting else "neutral"
        note = Run("limits", tone) if limiting else ""
        # How much of what it allows is taken: all of it where it limits.
        taken = least / limit if limit else 1.0
        rows.append([terms.resource(name), count(limit), nodes.Bar(taken, tone), note])
    columns = nodes.titled("allowed by", *nodes.numeric(f"{terms.block}s"), "", "")
    children: list[Node] = [table(columns, rows, "limits of occupancy")]
    if occupancy.next_step:
        steps = tuple(text(terms.step(step, occupancy)) for step in occupancy.next_step)
        children.append(nodes.Items(steps, label="What would change it"))
    if waves := describe_waves(report):
        children.append(phrases(*(Run(each, "dim") for each in waves)))
    children += [
        staircase(curve, terms, blocks=occupancy.blocks_per_sm) for curve in occupancy.curves
    ]
    return nodes.Section(
        title="Occupancy",
        children=tuple(children),
        key="occupancy",
        aside=text(f"{terms.block}s per {terms.sm}"),
        detail="occupancy",
        wide=True,
    )


def _pressure(stage: str, pressure: StagePressure, report: Report) -> nodes.Section:
    counted = f"live 32-bit registers per {Terms(report).thread}"
    if stage == "ptx":
        counted = "virtual registers, before ptxas allocates: not comparable with those above"
    return nodes.Section(
        title=f"Register pressure in {stage}",
        children=tuple(_pressure_parts(stage, pressure, report)),
        key="pressure",
        aside=text(counted),
        detail="pressure",
    )


def _pressure_parts(stage: str, pressure: StagePressure, report: Report) -> Iterator[Node]:
    if pressure.peak is None:
        yield nodes.Sentence(f"{stage} unknown: {pressure.reason}", "unknown")
        return
    if (curve := pressure_curve(stage, pressure, report)) is not None:
        yield curve
    predicates = pressure.predicates
    yield phrases(
        text(f"at most {count(pressure.peak)} live", *at(place_of(pressure.source))),
        plural(predicates, "predicate") if predicates else "",
    )
    if pressure.lines:
        yield nodes.Section(
            "by line of Python", (_by_line(pressure, report),), "lines", folded=True
        )
    if pressure.live:
        yield nodes.Section("what is live at the peak", (_live(pressure),), "live", folded=True)


def at(place: nodes.Place | None) -> tuple[Run, ...]:
    """Return " at softmax.py:48"; nothing for no place."""
    return () if place is None else (Run(" at "), Run(str(place), place=place))


def _by_line(pressure: StagePressure, report: Report) -> nodes.Table:
    most = max(each.peak for each in pressure.lines)
    columns = nodes.titled("line", *nodes.numeric("instructions", "live"), "", Column(code=True))
    rows: list[Cells] = []
    for line in pressure.lines:
        tone: Tone = "warn" if line.peak == most else "neutral"
        rows.append([
            Run(str(line.source), place=place_of(line.source)),
            count(line.instructions),
            Run(count(line.peak), tone),
            nodes.Bar(line.peak / max(most, 1), tone),
            Run(report.code.get(str(line.source), ""), "code"),
        ])  # fmt: skip
    return table(columns, rows, "pressure by line")


def _live(pressure: StagePressure) -> nodes.Table:
    most = max(group.registers for group in pressure.live)
    columns = nodes.titled("computed by", *nodes.numeric("registers"), "")
    rows: list[Cells] = [
        [
            Run(str(group.source or "no source"), place=place_of(group.source)),
            count(group.registers),
            nodes.Bar(group.registers / max(most, 1)),
        ]
        for group in pressure.live
    ]
    return table(columns, rows, "live at the peak")


def _spills(sites: list[SpillSite]) -> nodes.Section:
    """Spills and reloads by line of Python, the deepest loops first."""
    groups: dict[tuple[int, nodes.Place, str, str], list[SpillSite]] = {}
    for site in sites:
        place = nearest(site.source, site.stage, site.line)
        rank = 1 if site.loop_depth is None else -site.loop_depth
        groups.setdefault((rank, place, site.kind, site.place), []).append(site)
    rows: list[Cells] = []
    order = sorted(groups.items(), key=lambda item: (item[0][0], str(item[0][1]), *item[0][2:]))
    for (_, place, kind, where), members in order:
        depth = members[0].loop_depth
        sizes = [site.bytes for site in members]
        known = sum(each for each in sizes if each is not None)
        rows.append([
            Run(str(place), place=place),
            Run(plural(len(members), kind), "warn" if depth else "neutral"),
            size(known) if None not in sizes else Run("unknown size", "unknown"),
            where,
            _around(depth),
        ])  # fmt: skip
    columns = nodes.titled("line", "", *nodes.numeric(""), "of", "")
    return nodes.Section(
        title="Spills",
        children=(table(columns, rows, "spills by line"),),
        key="spills",
        aside=text(f"{plural(len(sites), 'instruction')} in {sites[0].stage}"),
        detail="pressure",
    )


def _around(depth: int | None) -> str | Run:
    if depth is None:
        return Run("loops unknown", "unknown")
    return f"in {plural(depth, 'loop')}" if depth else "outside of loops"


def _memory(report: Report, terms: Terms) -> nodes.Section | None:
    memory = report.memory
    title = "LDS" if terms.shared == "LDS" else "Shared memory"
    if memory is None or memory.total_bytes is None:
        reason = memory.reason if memory else report.unknown.get("memory", "")
        unknown = nodes.Sentence(f"unknown: {reason}".removesuffix(": "), "unknown")
        return nodes.Section(title, (unknown,), key="memory", detail="memory")
    return nodes.Section(
        title=title,
        children=tuple(_memory_parts(memory)),
        key="memory",
        aside=text(f"{size(memory.total_bytes)} dynamic per {terms.cta}"),
        detail="memory",
    )


def _memory_parts(memory: SharedMemory) -> Iterator[Node]:
    if (strip := memory_strip(memory)) is not None:
        yield strip
    if memory.scratch and memory.remainder_bytes:
        uses = Counter(
            (use.operation, nearest(use.source, "ttgir", use.line)) for use in memory.scratch
        )
        items = tuple(
            text(Run(operation, "code"), *at(place), f" ({number} times)" if number > 1 else "")
            for (operation, place), number in uses.items()
        )
        yield nodes.Items(items, label="Scratch may belong to")
    if memory.reason:
        yield nodes.Sentence(memory.reason, "dim")


def _mix(mix: InstructionMix) -> nodes.Section:
    most = max([1, *mix.classes.values(), *mix.unknown.values()])
    rows: list[Cells] = []
    for name, number, unknown in by_class(mix):
        tone: Tone = "warn" if unknown else "neutral"
        share = percent(number / max(mix.total, 1))
        label: Text = text(name, Run(" unknown opcode", "warn")) if unknown else text(name)
        rows.append([label, count(number), share, nodes.Bar(number / most, tone)])
    columns = nodes.titled("class", *nodes.numeric("", ""), "")
    return nodes.Section(
        title=f"Instructions in {mix.stage}",
        children=(table(columns, rows, f"instruction mix of {mix.stage}"),),
        key="mix",
        aside=text(
            f"{plural(mix.total, 'instruction')}, each counted once",
            f", {left_out}" if (left_out := bodies_left_out(mix)) else "",
        ),
        detail="mix",
    )


def bodies_left_out(mix: InstructionMix) -> str:
    """Return what is not counted: "without the bodies of 2 functions (.func)"; "" for nothing."""
    if not mix.functions_left_out:
        return ""
    bodies = "the body" if mix.functions_left_out == 1 else "the bodies"
    return f"without {bodies} of {plural(mix.functions_left_out, 'function')} (.func)"


def by_class(mix: InstructionMix) -> list[tuple[str, int, bool]]:
    """Return classes with their counts, the largest first, then opcodes of unknown class."""
    ordered = sorted(mix.classes.items(), key=lambda item: (-item[1], item[0]))
    return [
        *((name, number, False) for name, number in ordered),
        *((name, number, True) for name, number in sorted(mix.unknown.items())),
    ]


def all_figures(report: Report) -> nodes.Section:
    """Return every figure of the registry that the report knows."""
    from irlens import figures  # a report that does not list them does not need the registry

    vendor = report.target.vendor if report.target is not None else None
    multiprocessor = report.occupancy.multiprocessor if report.occupancy else "SM"
    rows: list[Cells] = []
    for figure in figures.of_scope("report"):
        value = None if figure.path in report.unknown else figure.read(report)
        if value is not None and figure.vendor in (None, vendor):
            title = figure.title_for(vendor, multiprocessor)
            rows.append([figure.path, figure.format(value, vendor), Run(title, "dim")])
    columns = nodes.titled("figure", *nodes.numeric("value"), "")
    return nodes.Section(
        "All figures", (table(columns, rows, "all figures"),), key="all", detail="figures",
        folded=True, wide=True,
    )  # fmt: skip


def sources(report: Report) -> nodes.Section:
    """Return the artifacts, where figures were read, and why others are unknown."""
    ordered = sorted(report.stages.items(), key=lambda item: stage_rank(item[0]))
    sizes: list[Cells] = [
        [name, "" if each.lines is None else count(each.lines), count(each.bytes),
         Run(each.sha256[:16], "code")]
        for name, each in ordered
    ]  # fmt: skip
    columns = nodes.titled("artifact", *nodes.numeric("lines", "bytes"), "sha256")
    artifacts = table(columns, sizes, "artifacts")
    children: list[Node] = [artifacts]
    for title, reasons in (("read in", report.sources), ("unknown because", report.unknown)):
        if reasons:
            rows: list[Cells] = [[Run(path, "code"), why] for path, why in sorted(reasons.items())]
            children.append(table(nodes.titled("figure", title), rows, title))
    return nodes.Section(
        "Artifacts and sources", tuple(children), key="sources", detail="sources", folded=True,
        wide=True,
    )  # fmt: skip


def product_facts(report: Report) -> Iterator[nodes.Fact]:
    """Yield a fact for each product, those at one place and alike once."""
    alike: dict[object, MatrixProduct] = {}
    for product in report.products:
        key = (product.source, product.shape, product.operands, product.computed)
        alike.setdefault(key, product)
    listed = list(alike.values())
    yield from (_product_fact(product, report) for product in listed[:_MOST_PRODUCTS])
    if (rest := len(listed) - _MOST_PRODUCTS) > 0:
        yield nodes.Fact("", text(Run(f"and {plural(rest, 'product')} more", "dim")))


def _product_fact(product: MatrixProduct, report: Report) -> nodes.Fact:
    terms = Terms(report)
    tone: Tone = "neutral"
    if product.computed is None:
        value, tone = f"{product.operands}, the type that it is computed in is unknown", "unknown"
    elif product.computed == product.operands and not product.slows_down:
        value = product.operands
    else:
        value = f"{product.operands} computed {product.computed_how}"
    slower = ""
    if product.slows_down:
        tone, slower = "warn", f"{product.slowdown:.3g} × the time of its own type"
    place = nearest(product.source, traffic_stage(report), product.line)
    unit = product.instruction
    if unit is None and product.on_tensor_cores is False:
        unit = f"without {terms.tensor_core}s"
    first = phrases(
        text(" × ".join(map(str, product.shape)), *at(place)),
        unit or "",
        f"{product.repeated} products for each" if product.repeated > 1 else "",
        slower,
    )
    reason = phrases(Run(product.reason, "dim"))
    return nodes.Fact(
        "Product", text(Run(value, tone)), tuple(e for e in (first, reason) if e.items), tone
    )
