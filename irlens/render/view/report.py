"""Reports as nodes: the verdict, the facts one asks for first, findings, then each part in full."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from irlens import figures
from irlens.model.capture import stage_rank
from irlens.model.config import LAUNCH_OPTIONS
from irlens.model.pressure import StagePressure
from irlens.model.report import InstructionMix, Pipeline, Report
from irlens.model.resources import spills_to_agprs_alone
from irlens.model.several import grouped
from irlens.model.terms import (
    Terms,
    describe_buffer,
    describe_cover,
    describe_prefetch,
    describe_run,
    describe_waves,
)
from irlens.model.text import count, percent, plural, size
from irlens.render.options import Options
from irlens.render.view import nodes
from irlens.render.view.configurations import names, overview, ranked_headline, title, winner
from irlens.render.view.conversions import conversions_fact
from irlens.render.view.details import (
    all_figures,
    at,
    bodies_left_out,
    by_class,
    details,
    limits,
    product_facts,
    sources,
)
from irlens.render.view.drawings import nearest, place_of
from irlens.render.view.findings import findings
from irlens.render.view.launch_time import measured_time, time_fact
from irlens.render.view.memory_traffic import traffic_fact
from irlens.render.view.nodes import Node, Run, Text, Tone, phrases, text
from irlens.render.view.pipelines import mechanism, pipeline_depth, pipeline_tone
from irlens.render.view.roofline_chart import rooflines_of_reports
from irlens.render.view.time_charts import times_of_reports
from irlens.render.view.verdict import describe_array, next_steps, spilled_to, spills_known, verdict

if TYPE_CHECKING:  # text shows no code
    from irlens.model.listing import Listing

_CLASSES_SHOWN = 6
_UNKNOWN = Run("unknown", "unknown")


def reports_view(reports: Sequence[Report], options: Options) -> nodes.Section:
    """Return one report, or several with a table of them first.

    Args:
        options: The code to show, the details and how the user named the reports.
    """
    code: Sequence[Listing | None] = options.listings or [None] * len(reports)
    if len(reports) == 1:
        return report_view(reports[0], options, code[0])
    inner = replace(options, subject=None)
    parts = tuple(
        nodes.Section(name, (report_view(report, inner, listing),), key=f"r{index}", folded=True,
                      detail="each")
        for index, (report, listing, name) in enumerate(
            zip(reports, code, names(reports), strict=True)
        )
    )  # fmt: skip
    settings, given = _shared_settings(reports)
    named = names(reports)
    charts = (*times_of_reports(reports, named), *rooflines_of_reports(reports, named))
    # The answer comes before the arguments, which may take many lines.
    together = (ranked_headline(reports), *given, *overview(reports), *charts, *parts)
    steps = _next_steps(reports, options)
    return nodes.Section(title(reports), (*settings, *together, *steps), key="reports")


def _shared_settings(
    reports: Sequence[Report],
) -> tuple[list[nodes.Settings], list[nodes.Settings]]:
    """Return the settings and the arguments that all reports of one kernel share."""
    if len({report.kernel for report in reports}) > 1:
        return [], []
    return _in_all([_settings(each) for each in reports]), _in_all(list(map(_arguments, reports)))


def _in_all(listed: Sequence[nodes.Settings | None]) -> list[nodes.Settings]:
    """Return what is in all lists of settings, if anything is."""
    first, *others = listed
    if first is None:
        return []
    shared = tuple(each for each in first.settings if all(o and each in o.settings for o in others))
    return [replace(first, settings=shared)] if shared else []


def report_view(
    report: Report, options: Options, listing: "Listing | None" = None
) -> nodes.Section:
    """Return one report; ``listing`` is its code, where a medium shows it."""
    children: list[Node | None] = [
        _settings(report),
        verdict(report),
        _arguments(report),
        facts(report),
        pipeline_facts(report),
        findings(report),
        _run(report),
        *details(report),
        all_figures(report) if "figures" in options.details else None,
        nodes.Code(report, listing) if listing is not None else None,
        _origins(report),
        sources(report),
        *_next_steps([report], options),
    ]
    return nodes.Section(
        title=report.kernel,
        children=tuple(child for child in children if child is not None),
        key="report",
    )


def _next_steps(reports: Sequence[Report], options: Options) -> list[nodes.NextSteps]:
    if options.subject is None:
        return []
    steps = next_steps(reports, options.subject, options.details)
    if len(reports) > 1:
        steps = nodes.NextSteps((*winner(reports, options.subject), *steps.commands))
    return [steps]


def _settings(report: Report) -> nodes.Settings:
    """The target, the options and constexprs, each once, and the compiler."""
    config, target = report.config, report.target
    chosen: list[tuple[str, object]] = []
    if target is not None:
        chosen.append(("", target.full_name))
    for name in LAUNCH_OPTIONS:
        value = getattr(config, name)
        if value is not None and (name != "num_ctas" or value > 1):
            chosen.append((name, value))
    chosen += sorted((config.options or {}).items())
    # Kernels often take num_stages as a constexpr too.
    chosen += [
        (name, value)
        for name, value in config.constexprs.items()
        if getattr(config, name, None) != value
    ]
    settings = [nodes.Setting(name, str(value)) for name, value in chosen]
    if report.triton_version:
        settings.append(nodes.Setting("Triton", report.triton_version, "dim"))
    return nodes.Settings(tuple(settings), title="compiled with")


def _arguments(report: Report) -> nodes.Settings | None:
    config = report.config
    arguments = dict(config.arguments().items())
    if config.grid:
        arguments["grid"] = " × ".join(map(count, config.grid))
    return nodes.settings(arguments, "dim", title="arguments", folded=True) if arguments else None


def facts(report: Report) -> nodes.Facts:
    """Return what the kernel takes and what that leaves room for."""
    terms = Terms(report)
    own = (
        *filter(None, (time_fact(report),)),
        replace(_occupancy(report, terms), key="occupancy"),
        _registers(report, terms),
        *_virtual(report),
        replace(_shared(report, terms), key="memory"),
        *filter(None, (traffic_fact(report), conversions_fact(report))),
        *product_facts(report),
    )
    return nodes.Facts((*own, *_listed(report)))


def _occupancy(report: Report, terms: Terms) -> nodes.Fact:
    occupancy = report.occupancy
    if occupancy is None:
        return _unknown("Occupancy", report.unknown.get("occupancy", ""))
    lines: list[nodes.Phrases] = []
    if occupancy.launchable:
        limiters = ", ".join(terms.resource(name) for name in occupancy.limited_by)
        lines.append(
            phrases(
                f"{plural(occupancy.blocks_per_sm, terms.block)}/{terms.sm}",
                f"{occupancy.active_warps} of {plural(occupancy.max_warps, terms.warp)}",
                f"limited by {limiters}",
            )
        )
    lines += [phrases(Run(terms.refusal(each), "bad")) for each in occupancy.refusals]
    allowed = [f"{terms.resource(name)} {limit}" for name, limit in limits(occupancy, terms)]
    lines.append(
        phrases(f"{terms.block}s/{terms.sm} allowed by", *allowed, stands_for="occupancy",
                separator="   ")
    )  # fmt: skip
    lines += [
        phrases(Run(terms.step(step, occupancy), "dim"), stands_for="occupancy")
        for step in occupancy.next_step
    ]
    if waves := describe_waves(report):
        lines.append(phrases(*waves, stands_for="occupancy"))
    if occupancy.launchable:
        return nodes.Fact("Occupancy", _strong(percent(occupancy.theoretical)), tuple(lines))
    return nodes.Fact("Occupancy", text(Run("cannot launch", "bad")), tuple(lines), "bad")


def _registers(report: Report, terms: Terms) -> nodes.Fact:
    held = report.resources
    if held.registers is None:
        return _unknown("Registers", report.unknown.get("resources.registers", ""))
    arrays_alone = bool(report.local_arrays) and not spills_known(report)
    to_memory = held.vgpr_spills and not spills_to_agprs_alone(held)
    spilled = bool(to_memory or held.sgpr_spills or (held.local_bytes and not arrays_alone))
    vector = "vector registers " if held.sgprs is not None else ""
    value = (Run(count(held.registers), "strong"), Run(f" {vector}per {terms.thread}"))
    first = list(_register_kinds(report, terms)) + [
        Run(f"{count(amount)} {unit}", "warn" if amount and spilled else "neutral")
        for amount, unit in _spilled(report)
    ]
    lines = [phrases(*first)] if first else []
    lines += [phrases(Run(describe_array(each))) for each in report.local_arrays]
    if (live := _live(report)) is not None:
        lines.append(live)
    return nodes.Fact("Registers", value, tuple(lines), "warn" if spilled else "neutral")


def _register_kinds(report: Report, terms: Terms) -> Iterator[Run]:
    held = report.resources
    if held.agprs:
        yield Run(f"{held.vgprs} VGPRs + {held.agprs} AGPRs")
    curves = report.occupancy.curves if report.occupancy is not None else []
    allocated = next((each.at for each in curves if each.resource == "registers"), 0)
    if held.sgprs is not None and allocated > (held.registers or allocated):
        yield Run(f"{count(allocated)} allocated, which limits the waves", "warn")
    if held.sgprs is not None:
        yield Run(f"{held.sgprs} SGPRs per {terms.warp}")


def _spilled(report: Report) -> Iterator[tuple[int, str]]:
    """Yield what lies in memory of a thread's own, in the vendor's terms."""
    held = report.resources
    amd = held.sgprs is not None
    vectors = "VGPR spill" if held.vgpr_spills == 1 else "VGPR spills"
    known = (
        (held.vgpr_spills, f"{vectors}{spilled_to(report)}"),
        (held.sgpr_spills, "SGPR spills"),
        (held.local_bytes, "B scratch" if amd else "B local"),
        (None if amd else held.stack_bytes, "B stack"),
    )
    yield from ((amount, unit) for amount, unit in known if amount is not None)


def _live(report: Report) -> nodes.Phrases | None:
    """The most registers that hold a value at once in the machine code, or why that is unknown."""
    known = report.pressure.live
    if known is None:
        reason = report.unknown.get("pressure.sass") or report.unknown.get("pressure.sass.peak")
        return phrases(Run(f"live registers unknown: {reason}", "dim")) if reason else None
    return _peak(known[1], report, f"at most {count(known[1].peak or 0)} live")


def _peak(pressure: StagePressure, report: Report, words: str) -> nodes.Phrases:
    code = report.code.get(str(pressure.source), "") if pressure.source else ""
    return phrases(text(words, *at(place_of(pressure.source))), Run(code, "code"))


def _virtual(report: Report) -> Iterator[nodes.Fact]:
    """Yield PTX's virtual registers where a capture has nothing nearer to the machine."""
    ptx = report.pressure.ptx
    if ptx is None or ptx.peak is None or report.resources.registers is not None:
        return
    value = text(Run(count(ptx.peak), "strong"), " virtual registers")
    yield nodes.Fact("In PTX", value, (_peak(ptx, report, "live at once"),))


def _shared(report: Report, terms: Terms) -> nodes.Fact:
    held, memory = report.resources, report.memory
    title, short = ("LDS", "") if terms.shared == "LDS" else ("Shared memory", "Shared")
    if held.shared_dynamic_bytes is None:
        return _unknown(title, report.unknown.get("resources.shared_dynamic_bytes", ""), short)
    first = []
    if held.shared_static_bytes:
        first.append(f"+ {size(held.shared_static_bytes)} static")
    if held.shared_reserved_bytes:
        first.append(f"+ {size(held.shared_reserved_bytes)} reserved by the system")
    lines = [phrases(*first)]
    if memory is not None and memory.peak_bytes is not None and memory.buffers:
        alike = Counter(describe_buffer(buffer) for buffer in memory.buffers if buffer.at_peak)
        alive = [f"{number} × {each}" if number > 1 else each for each, number in alike.items()]
        if memory.remainder_bytes:
            alive.append(f"{size(memory.remainder_bytes)} scratch")
        signed = (f"{'+' if number else '='} {part}" for number, part in enumerate(alive))
        lines.append(phrases(*signed, stands_for="memory", separator=" "))
    value = text(Run(size(held.shared_dynamic_bytes), "strong"), f" per {terms.cta}")
    return nodes.Fact(title, value, tuple(line for line in lines if line.items), short=short)


def _listed(report: Report) -> Iterator[nodes.Fact]:
    """Yield the figures that are listed as they are."""
    vendor = report.target.vendor if report.target is not None else None
    for figure, values, reason in figures.facts(report):
        title, short = (
            name[:1].upper() + name[1:] for name in (figure.title_for(vendor), figure.short)
        )
        if reason:
            yield _unknown(title, reason, short)
        else:
            rest = (phrases(*values[1:]),) if values[1:] else ()
            yield nodes.Fact(title, _strong(values[0]), rest, short=short)


def pipeline_facts(report: Report) -> nodes.Facts | None:
    """Return the pipelines' facts; ``None`` where there are no pipelines."""
    terms = Terms(report)
    known = tuple(_pipeline(pipeline, report, terms) for pipeline in report.pipelines)
    return nodes.Facts(known) if known else None


def _pipeline(pipeline: Pipeline, report: Report, terms: Terms) -> nodes.Fact:
    """How deep the pipeline is, how far it runs ahead, what it moves, and why no deeper."""
    place = nearest(pipeline.source, pipeline.stage, pipeline.line)
    code = report.code.get(pipeline.product or pipeline.place, "")
    lines = [
        phrases(text(*mechanism(pipeline, report), *at(place)), *describe_prefetch(pipeline)),
        phrases(Run(code, "code"), stands_for="pipelines"),
        phrases(*terms.traffic(pipeline), Run(describe_cover(pipeline), "dim"),
                stands_for="pipelines"),
        phrases(Run(pipeline.reason, "dim"), stands_for="pipelines"),
    ]  # fmt: skip
    return nodes.Fact(
        title="Pipeline",
        value=text(pipeline_depth(pipeline)),
        lines=tuple(line for line in lines if line.items),
        tone=pipeline_tone(pipeline),
    )


def _run(report: Report) -> nodes.Facts | None:
    """Whether a launch gave the right result, and what the driver says."""
    run = report.run
    if run is None:
        return None
    tones: dict[bool | None, Tone] = {True: "good", False: "bad", None: "neutral"}
    verdict = tones[run.matches_reference]
    error = run.max_abs_error
    answers = (
        ("registers", run.registers), ("B local", run.local_bytes), ("blocks/SM", run.blocks_per_sm)
    )  # fmt: skip
    driver = [f"{count(value)} {unit}" for unit, value in answers if value is not None]
    lines = [
        phrases(run.device, "" if error is None else f"largest difference {error:.3g}"),
        phrases(*(measured_time(report) if time_fact(report) is None else ())),
        phrases(*(["driver reports", *driver] if driver else [])),
    ]
    value = text(Run(describe_run(run), verdict))
    return nodes.Facts(
        (nodes.Fact("Run", value, tuple(each for each in lines if each.items), verdict),)
    )


def _origins(report: Report) -> nodes.Facts:
    """The mix in short, the artifacts and what is unknown, for media that show no more of them."""
    known = [_mix(mix) for mix in report.mix]
    ordered = sorted(report.stages.items(), key=lambda item: stage_rank(item[0]))
    if ordered:
        stages = [
            f"{name} {size(each.bytes) if each.lines is None else plural(each.lines, 'line')}"
            for name, each in ordered
        ]
        known.append(
            nodes.Fact("Stages", text(stages[0]), (phrases(*stages[1:]),), stands_for="sources")
        )
    if note := report.sources.get("stages"):
        known.append(nodes.Fact("Read from", text(note), stands_for="sources"))
    reasons = grouped(
        (reason, path.rsplit(".", 1)[-1].replace("_", " "))
        for path, reason in sorted(report.unknown.items())
    )
    known += [
        nodes.Fact("" if index else "Unknown", text(Run(", ".join(names), "unknown")),
                   (phrases(Run(reason, "unknown")),), stands_for="sources")
        for index, (reason, names) in enumerate(reasons.items())
    ]  # fmt: skip
    return nodes.Facts(tuple(known))


def _mix(mix: InstructionMix) -> nodes.Fact:
    classes = [(name, number) for name, number, unknown in by_class(mix) if not unknown]
    shares = [Run(f"{name} {count(number)}") for name, number in classes[:_CLASSES_SHOWN]]
    if rest := sum(number for _, number in classes[_CLASSES_SHOWN:]):
        shares.append(Run(f"others {count(rest)}"))
    if mix.unknown:
        shares.append(Run(f"unknown {count(sum(mix.unknown.values()))}", "warn"))
    if left_out := bodies_left_out(mix):
        shares.append(Run(left_out, "warn"))
    value = text(f"{mix.stage} {plural(mix.total, 'instruction')}")
    return nodes.Fact("Mix", value, (phrases(*shares),) if shares else (), stands_for="mix")


def _unknown(title: str, reason: str, short: str = "") -> nodes.Fact:
    lines = (phrases(Run(reason, "dim")),) if reason else ()
    return nodes.Fact(title, text(_UNKNOWN), lines, "unknown", short=short)


def _strong(value: str) -> Text:
    return text(Run(value, "strong"))
