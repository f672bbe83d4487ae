"""Software pipelines: a timeline of prologue and steady state for each, and the loads of loops."""

from collections.abc import Iterator

from irlens.model.memory import LoopLoad
from irlens.model.report import Pipeline, Report, Verdict
from irlens.model.text import plural, size
from irlens.model.words import (
    Words,
    describe_cover,
    describe_depth,
    describe_prefetch,
    describe_tile,
    describe_way,
)
from irlens.render.html._markup import Content, Markup, join, tag
from irlens.render.html._parts import State, card, folded, phrases, stated, table
from irlens.render.html._places import Places
from irlens.render.html._svg import label, line, rectangle, svg

VERDICT_STATES: dict[Verdict, State] = {
    "pipelined": "good", "shallower": "warn", "not pipelined": "warn", "unknown": "dim",
}  # fmt: skip
#: Mechanisms that bring data. The others are the tensor cores' own, and have no tiles to wait for.
_COPIES = frozenset({"cp.async", "tma", "register", "direct-to-lds"})
#: Iterations of the steady state that a timeline shows.
_ITERATIONS = 4
#: Deeper pipelines would be a wall of bars; their numbers say it better.
_DEEPEST = 8
_COLUMN, _ROW, _LEFT, _TOP = 70, 17, 46, 22
#: Figures that the sentences above them do not tell.
_FIGURES = (
    "requested_stages", "achieved_stages", "prefetch_iterations", "groups_before_loop",
    "groups_per_iteration", "outstanding_at_wait", "outstanding_after_wait",
    "groups_during_compute", "copies_per_iteration", "bytes_per_copy", "bytes_per_iteration",
    "bytes_repeated", "bytes_in_flight", "bytes_in_flight_per_sm", "bytes_to_cover_latency",
)  # fmt: skip


def pipelines(report: Report, places: Places) -> Markup:
    """Return a card for each pipeline."""
    words = Words(report)
    return join(_pipeline(each, report, places, words) for each in report.pipelines)


def verdict(pipeline: Pipeline) -> Markup:
    """Return the verdict with how deep the pipeline is, if that is known."""
    state, deep = VERDICT_STATES[pipeline.verdict], describe_depth(pipeline)
    if deep is None:
        return stated(state, pipeline.verdict)
    return stated(state, pipeline.kind or "loads", " ", deep)


def _pipeline(pipeline: Pipeline, report: Report, places: Places, words: Words) -> Markup:
    place = places.either(pipeline.source, pipeline.stage, pipeline.line)
    code = report.code.get(str(pipeline.source), "")
    told = [*describe_prefetch(pipeline), *words.traffic(pipeline), describe_cover(pipeline)]
    rows = [
        [name.replace("_", " "), "unknown" if value is None else f"{value:,}"]
        for name in _FIGURES
        for value in (getattr(pipeline, name),)
    ]
    return card(
        "Pipeline",
        tag("p", verdict(pipeline), " ", tag("code", code, class_="line")),
        _timeline(pipeline),
        tag("p", phrases(told), class_="note"),
        tag("p", pipeline.reason, class_="note") if pipeline.reason else None,
        folded(
            "all figures",
            table(["", ""], rows, right=(1,), class_="figures", name="figures of the pipeline"),
            tag("p", "read in ", places.stage(pipeline.stage, pipeline.line), class_="note"),
        ),
        aside=place,
    )


def _timeline(pipeline: Pipeline) -> Markup | None:
    """Tiles over time: when each is under way, and when it is computed with.

    Only what the figures say is drawn: where in an iteration a copy is issued follows from how
    many are in flight during the compute. Without that it is drawn from the iteration's middle.
    """
    ahead = pipeline.prefetch_iterations
    if ahead is None or ahead > _DEEPEST or pipeline.kind not in _COPIES:
        return None
    tiles = ahead + _ITERATIONS
    width = _LEFT + _COLUMN * (_ITERATIONS + 1) + 8
    bottom = _TOP + _ROW * tiles
    described = (
        f"timeline: {plural(ahead, 'tile')} copied before the loop, then tile i is computed with "
        f"while tile i + {ahead} is issued"
        if ahead
        else "timeline: each iteration waits for its own copy"
    )
    return tag(
        "figure",
        svg(
            width, bottom + 6, described,
            rectangle(_LEFT, 4, _COLUMN, bottom - 2, class_="prologue"),
            *_columns(bottom), *_tiles(tiles, ahead, _issue(pipeline)),
        ),
        tag(
            "figcaption",
            tag("span", "in flight", class_="key flight"), " ",
            tag("span", "computed with", class_="key compute"),
        ),
    )  # fmt: skip


def _columns(bottom: float) -> Iterator[Markup]:
    yield label(_LEFT + _COLUMN / 2, 15, "prologue", class_="column")
    for index in range(_ITERATIONS):
        x = _LEFT + _COLUMN * (index + 1)
        yield line(x, 4, x, bottom + 2, class_="grid")
        yield label(x + _COLUMN / 2, 15, f"iteration {index}", class_="column")


def _tiles(tiles: int, ahead: int, issue: float) -> Iterator[Markup]:
    """One row a tile; ``issue`` is where in an iteration its copy is issued, 0..1."""
    end = _LEFT + _COLUMN * (_ITERATIONS + 1)
    for tile in range(tiles):
        y = _TOP + _ROW * tile + 2
        yield label(_LEFT - 8, y + 10, f"tile {tile}", class_="end")
        used = _LEFT + _COLUMN * (tile + 1)
        issued = used - _COLUMN * ahead + _COLUMN * issue
        if tile < ahead:  # the prologue issues them one after the other
            issued = _LEFT + _COLUMN * (tile + 0.5) / (ahead + 0.5)
        if ahead and issued < end:
            stop = min(used, end)
            yield rectangle(issued, y + 2, stop - issued, _ROW - 8, class_="flight")
        if used < end:
            yield rectangle(used + 1, y, _COLUMN * 0.8, _ROW - 4, class_="compute")


def _issue(pipeline: Pipeline) -> float:
    """Return where in an iteration the copy for a later one is issued: 0 is its start."""
    flying, per_iteration = pipeline.groups_during_compute, pipeline.groups_per_iteration
    if flying is None or not per_iteration or pipeline.prefetch_iterations is None:
        return 0.5
    if flying >= pipeline.prefetch_iterations * per_iteration:
        return 0.02  # counted as in flight during this iteration's compute already
    return 0.82


def loads(report: Report, places: Places) -> Markup | None:
    """Return a card of the loads in loops; ``None`` if there are none."""
    if not report.loads:
        return None
    rows = [
        [
            places.either(load.source, "ttgir", load.line),
            tag("code", describe_tile(load)),
            stated("warn" if load.state == "in place" else "good", describe_way(load)),
            "unknown" if load.bytes_per_iteration is None else size(load.bytes_per_iteration),
            "" if load.widest_access_bytes is None else f"≤ {load.widest_access_bytes} B",
            _reason(load),
        ]
        for load in report.loads
    ]
    header = ["load", "tile", "", "per iteration", "per access", ""]
    return card(
        "Loads in loops",
        table(header, rows, right=(3, 4), class_="figures"),
        aside="as the ttgir has them",
        wide=True,
    )


def _reason(load: LoopLoad) -> Content:
    if load.buffer_copies is not None:
        return f"into {plural(load.buffer_copies, 'buffer')}"
    return load.reason
