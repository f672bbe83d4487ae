"""The head of a report: what was compiled for what, the verdict, the figures one asks for first."""

from irlens.model.capture import stage_rank
from irlens.model.config import Config
from irlens.model.report import Pipeline, Report
from irlens.model.text import count, percent, plural, size
from irlens.model.words import Words, describe_run, describe_tensor_memory, describe_warp_groups
from irlens.render._glance import glance
from irlens.render.html._markup import Content, Markup, join, tag
from irlens.render.html._parts import State, chips, folded, phrases, stated, table, tile, tiles
from irlens.render.html._pipelines import VERDICT_STATES
from irlens.render.html._places import Places
from irlens.render.html._pressure import STAGES


def summary(report: Report, places: Places) -> Markup:
    """Return the head."""
    target = report.target
    gpu = [("", target.arch), *([("", target.product)] if target.product else [])] if target else []
    version = [("Triton", report.triton_version)] if report.triton_version else []
    return join(
        [
            tag("h1", tag("code", report.kernel)),
            chips([*gpu, *asked(report.config), *version]),
            _arguments(report.config),
            tag("p", stated(state(report), phrases(glance(report))), class_="verdict"),
            _figures(report, places),
        ]
    )


def state(report: Report) -> State:
    """Return how a report is, as a whole."""
    severities = {finding.severity for finding in report.findings}
    if "error" in severities or (report.occupancy and not report.occupancy.launchable):
        return "bad"
    return "warn" if "warning" in severities else "good"


def asked(config: Config) -> list[tuple[str, object]]:
    """Return what a kernel was compiled with, by name, each once."""
    names = ("num_warps", "num_stages", "num_ctas", "maxnreg")
    told: list[tuple[str, object]] = [
        (name, value)
        for name in names
        if (value := getattr(config, name)) is not None and (name != "num_ctas" or value > 1)
    ]
    # Kernels often take num_stages as a constexpr too.
    return told + [
        (name, value)
        for name, value in config.constexprs.items()
        if getattr(config, name, None) != value
    ]


def _arguments(config: Config) -> Markup | None:
    told: list[tuple[str, object]] = list(config.args.items())
    if config.grid:
        told.append(("grid", " × ".join(count(n) for n in config.grid)))
    return folded("arguments", chips(told)) if told else None


def _figures(report: Report, places: Places) -> Markup:
    words = Words(report)
    return tiles(
        _occupancy(report, words),
        _registers(report, words, places),
        _shared(report, words),
        _tensor_memory(report, words),
        *(_pipeline(each, places) for each in report.pipelines),
        _run(report),
    )


def _occupancy(report: Report, words: Words) -> Markup:
    found = report.occupancy
    if found is None:
        return tile("Occupancy", "unknown", report.unknown.get("occupancy"), state="warn")
    if not found.launchable:
        told = [words.refusal(each) for each in found.refusals]
        return tile("Occupancy", "cannot launch", *told, state="bad")
    limiters = ", ".join(words.resource(name) for name in found.limited_by)
    return tile(
        "Occupancy",
        percent(found.theoretical),
        f"{plural(found.blocks_per_sm, words.block)}/{words.sm} · "
        f"{found.active_warps} of {plural(found.max_warps, words.warp)}",
        f"limited by {limiters}",
    )


def _registers(report: Report, words: Words, places: Places) -> Markup:
    found = report.resources
    if found.registers is None:
        return tile("Registers", "unknown", report.unknown.get("resources.registers"), state="warn")
    spilled = bool(found.local_bytes or found.vgpr_spills or found.sgpr_spills)
    amounts = [
        (found.local_bytes, "B local memory"),
        (found.stack_bytes, "B stack"),
        (found.vgpr_spills, "VGPR spills"),
        (found.sgpr_spills, "SGPR spills"),
    ]
    kinds = [(found.vgprs, "VGPRs"), (found.agprs, "AGPRs"), (found.sgprs, "SGPRs")]
    return tile(
        "Registers",
        join([count(found.registers), tag("small", f" per {words.thread}")]),
        ", ".join(f"{count(value)} {unit}" for value, unit in amounts if value is not None),
        ", ".join(f"{count(value)} {unit}" for value, unit in kinds if value),
        _peak(report, places),
        ", ".join(describe_warp_groups(report)),
        state="warn" if spilled else "plain",
    )


def _peak(report: Report, places: Places) -> Content:
    for stage in STAGES:
        found = getattr(report.pressure, stage)
        if found is not None and found.peak is not None:
            place = places.source(found.source)
            return join([f"{found.peak} live in {stage}", " at " if place else None, place])
    return None


def _shared(report: Report, words: Words) -> Markup:
    found = report.resources
    title = words.resource("shared_memory").capitalize() if words.shared != "LDS" else "LDS"
    if found.shared_dynamic_bytes is None:
        why = report.unknown.get("resources.shared_dynamic_bytes")
        return tile(title, "unknown", why, state="warn")
    parts = [(found.shared_static_bytes, "static"), (found.shared_reserved_bytes, "of the system")]
    return tile(
        title,
        size(found.shared_dynamic_bytes),
        f"dynamic, per {words.cta}",
        *(f"+ {size(value)} {what}" for value, what in parts if value),
    )


def _tensor_memory(report: Report, words: Words) -> Markup | None:
    told = describe_tensor_memory(report)
    if not told:
        return None
    if told == "unknown":
        why = report.unknown["resources.tensor_memory_columns"]
        return tile("Tensor memory", told, why, state="warn")
    columns, _, in_bytes = told.partition(", ")
    return tile("Tensor memory", columns, f"{in_bytes}, per {words.cta}")


def _pipeline(found: Pipeline, places: Places) -> Markup:
    stages, asked = found.achieved_stages, found.requested_stages
    told = f" of {plural(asked, 'stage')}" if asked is not None else " stages"
    value: Content = "unknown"
    if stages is not None:
        value = join([count(stages), tag("small", told)])
    elif found.stages_at_most is not None:
        value = join([tag("small", "up to "), count(found.stages_at_most), tag("small", told)])
    place = places.either(found.source, found.stage, found.line)
    return tile(
        "Pipeline",
        value,
        join([found.kind, " at ", place]) if found.kind else place,
        found.verdict,
        state=VERDICT_STATES[found.verdict],
    )


def _run(report: Report) -> Markup | None:
    run = report.run
    if run is None:
        return None
    states: dict[bool | None, State] = {True: "good", False: "bad", None: "plain"}
    error = run.max_abs_error
    return tile(
        "Run",
        run.device,
        describe_run(run),
        None if error is None else f"largest difference {error:.3g}",
        state=states[run.matches_reference],
    )


def origins(report: Report) -> Markup:
    """Return the artifacts, where figures were read, and why others are missing."""
    rows = [
        [name, "" if each.lines is None else count(each.lines), count(each.bytes),
         tag("code", each.sha256[:16])]
        for name, each in sorted(report.stages.items(), key=lambda item: stage_rank(item[0]))
    ]  # fmt: skip
    artifacts = table(
        ["artifact", "lines", "bytes", "sha256"], rows, right=(1, 2), class_="figures"
    )
    read = table(
        ["figure", "read in"],
        [[tag("code", path), told] for path, told in sorted(report.sources.items())],
        class_="figures",
    )
    unknown = table(
        ["figure", "why it is not known"],
        [[tag("code", path), told] for path, told in sorted(report.unknown.items())],
        class_="figures",
    )
    return join(
        [
            folded(f"artifacts ({len(report.stages)})", artifacts),
            folded("where the figures come from", read) if report.sources else None,
            folded(f"what is not known ({len(report.unknown)})", unknown)
            if report.unknown
            else None,
        ]
    )
