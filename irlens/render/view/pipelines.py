"""Pipelines and the loads of loops as nodes: verdict, depth, timeline, and every figure."""

from irlens.model.memory import LoopLoad
from irlens.model.report import COMPUTE_KINDS, Pipeline, PipelineLoad, Report
from irlens.model.terms import (
    Terms,
    describe_cover,
    describe_depth,
    describe_distance,
    describe_prefetch,
    describe_tile,
    describe_way,
)
from irlens.model.text import count, plural, size
from irlens.render.view import nodes
from irlens.render.view.drawings import nearest
from irlens.render.view.nodes import Cells, Node, Run, Text, Tone, phrases, table, text
from irlens.render.view.timeline import timeline


def pipeline_tone(pipeline: Pipeline) -> Tone:
    """Return the verdict on a pipeline; it is no failure where nobody asked for stages."""
    if pipeline.verdict == "not pipelined" and pipeline.kind not in COMPUTE_KINDS:
        return "warn" if (pipeline.requested_stages or 1) > 1 else "neutral"
    if pipeline.verdict == "unknown":
        return "unknown"
    return "good" if pipeline.verdict == "pipelined" and not is_drained(pipeline) else "warn"


def is_drained(pipeline: Pipeline) -> bool:
    """Whether a pipeline copies ahead and yet waits for everything before it computes."""
    ahead, flying = pipeline.prefetch_iterations, pipeline.groups_during_compute
    return bool(ahead) and flying == 0 and pipeline.kind not in COMPUTE_KINDS


def pipeline_depth(pipeline: Pipeline) -> Run:
    """Return "4 of 4 stages ✓", or the verdict where the depth is unknown."""
    depth, tone = describe_depth(pipeline), pipeline_tone(pipeline)
    if depth is None:
        return Run(pipeline.verdict, tone)
    sign = {"good": " ✓", "warn": " !" if is_drained(pipeline) else " ✗"}.get(tone, "")
    return Run(f"{depth}{sign}", tone)


def mechanism(pipeline: Pipeline, report: Report) -> Text:
    """Return "cp.async", and for a matrix product "wgmma of flash_attention.py:73"."""
    kind = pipeline.kind or "loads"
    if pipeline.product_line is None:
        return text(kind)
    place = nearest(pipeline.product_source, pipeline.stage, pipeline.product_line)
    alike = [
        each
        for each in report.pipelines
        if (each.kind, each.line, each.product) == (pipeline.kind, pipeline.line, pipeline.product)
    ]
    # A helper that is called twice has one line.
    within = f" ({pipeline.stage}:{pipeline.product_line})" if len(alike) > 1 else ""
    return text(f"{kind} of ", Run(str(place), place=place), within)


def pipeline_section(pipeline: Pipeline, report: Report, terms: Terms) -> nodes.Section:
    """Return a pipeline with its timeline and every figure of it."""
    place = nearest(pipeline.source, pipeline.stage, pipeline.line)
    code = report.code.get(pipeline.product or pipeline.place, "")
    notes = [*describe_prefetch(pipeline), *terms.traffic(pipeline), describe_cover(pipeline)]
    children: list[Node | None] = [
        phrases(
            text(*mechanism(pipeline, report), " ", pipeline_depth(pipeline)), Run(code, "code")
        ),
        timeline(pipeline),
        phrases(*(Run(each, "dim") for each in notes)) if any(notes) else None,
        nodes.Sentence(pipeline.reason, "dim") if pipeline.reason else None,
        _loads(pipeline) if pipeline.loads else None,
        nodes.Section("all figures", (_figures(pipeline),), key="figures", folded=True),
    ]
    return nodes.Section(
        title="Pipeline",
        children=tuple(child for child in children if child is not None),
        key="pipelines",
        aside=text(Run(str(place), place=place)),
        detail="pipelines",
    )


def _loads(pipeline: Pipeline) -> nodes.Table:
    """Return how far each load of an AMD loop runs ahead."""
    columns = nodes.titled(
        f"loads ({pipeline.stage})", *nodes.numeric("B/lane", "issued", "awaited"), ""
    )
    return table(columns, (_load_of(each, pipeline) for each in pipeline.loads), "loads")


def _in_stage(stage: str, line: int) -> Run:
    place = nodes.Place(stage, line, in_stage=True)
    return Run(str(line), place=place)


def _load_of(load: PipelineLoad, pipeline: Pipeline) -> Cells:
    place = nearest(load.source, pipeline.stage, load.line)
    lines = (load.line, load.wait_line)
    issued, awaited = ("" if line is None else _in_stage(pipeline.stage, line) for line in lines)
    tone: Tone = "good" if load.verdict == "pipelined" else "warn"
    if load.verdict == "unknown" or (pipeline.requested_stages or 1) == 1:
        tone = "unknown" if load.verdict == "unknown" else "neutral"
    width = load.bytes_per_lane
    return [
        Run(f"{count(load.instructions)} at {place}", place=place),
        Run("unknown", "unknown") if width is None else count(width),
        issued,
        awaited,
        Run(describe_distance(load), tone),
    ]


#: Said above the figures; the others are absent where they do not apply.
_NOT_FIGURES = frozenset(
    {"stage", "line", "loop", "source", "kind", "loads", "verdict", "reason", "product_source"}
)
_OF_SOME = frozenset({"warp_group", "stages_at_most", "product_line", "outstanding_at_end"})


def _figures(pipeline: Pipeline) -> nodes.Table:
    place = nodes.Place(pipeline.stage, pipeline.line, in_stage=True)
    rows: list[Cells] = [["read in", Run(str(place), place=place)]]
    for name in pipeline.__struct_fields__:
        value = getattr(pipeline, name)
        if name in _NOT_FIGURES or (value is None and name in _OF_SOME):
            continue
        shown = count(value) if isinstance(value, int) else str(value)
        known = shown if value is not None else Run("unknown", "unknown")
        rows.append([name.replace("_", " "), known])
    return table(nodes.titled("", *nodes.numeric("")), rows, "figures of the pipeline")


def loads_section(report: Report) -> nodes.Section:
    """Return how each load in a loop gets its data."""
    columns = nodes.titled("load", "tile", "", *nodes.numeric("per iteration"), "")
    return nodes.Section(
        title="Loads in loops",
        children=(
            table(
                columns,
                (_load(each, report) for each in report.loads),
                "loads in loops",
            ),
        ),
        key="loads",
        aside=text("as the ttgir has them"),
        detail="pipelines",
        wide=True,
    )


def _load(load: LoopLoad, report: Report) -> Cells:
    place, exposed = nearest(load.source, "ttgir", load.line), report.exposes(load)
    amount, access, copies = (
        load.bytes_per_iteration, load.widest_access_bytes, load.buffer_copies,
    )  # fmt: skip
    more = (
        "" if access is None else f"at most {access} B per access",
        load.reason if copies is None else f"into {plural(copies, 'buffer')}",
        "the machine code waits for it at once" if exposed else "",
    )
    return [
        Run(str(place), place=place),
        Run(describe_tile(load), "code"),
        Run(describe_way(load), "warn" if exposed or load.state == "in place" else "good"),
        Run("unknown", "unknown") if amount is None else size(amount),
        ", ".join(filter(None, more)),
    ]
