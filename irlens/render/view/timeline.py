"""Software pipelines over time: what is issued when, and when it is used.

The picture is that of a short loop: the prologue, some iterations of the steady state, and the
last iterations, in which nothing new is fetched.
"""

from irlens.model.report import COMPUTE_KINDS, Pipeline
from irlens.model.text import plural
from irlens.render.view.nodes import Phase, Tile, Timeline

#: Deeper pipelines would be a wall of bars; their figures say more.
DEEPEST = 8
STEADY = 3

# Positions within an iteration.
_LATE, _UNKNOWN_ISSUE, _OWN_USE, _DONE, _PRODUCT = 0.8, 0.5, 0.5, 0.75, 0.5


def timeline(pipeline: Pipeline, steady: int = STEADY) -> Timeline | None:
    """Return a pipeline's timeline; ``None`` where the figures do not determine it.

    They do not where the mechanism or the prefetch distance is unknown, nor for loads to
    registers that are waited for in another iteration than the one that uses them.

    Args:
        pipeline: The pipeline.
        steady: Iterations of the steady state.
    """
    ahead = pipeline.prefetch_iterations
    if ahead is None or ahead > DEEPEST or pipeline.kind is None:
        return None
    if pipeline.kind == "register" and pipeline.verdict != "pipelined":
        return None
    product = pipeline.kind in COMPUTE_KINDS
    phases = [Phase("steady state", 0, steady)]
    if ahead and not product:
        phases.insert(0, Phase("prologue", -1, 0))
    if ahead:
        phases.append(Phase("epilogue", steady, steady + ahead))
    return Timeline(
        described=_described(ahead, product),
        phases=tuple(phases),
        iterations=steady + ahead,
        steady=steady,
        tiles=tuple(
            _product(number, ahead) if product else _copy(number, ahead, _issue(pipeline))
            for number in range(steady if product else steady + ahead)
        ),
        in_flight=pipeline.groups_during_compute,
        issued="product issued" if product else "copy issued",
        used="waited for" if product else "computed with",
    )


def _copy(number: int, ahead: int, issue: float) -> Tile:
    issued = number - ahead + issue
    if number < ahead:  # the prologue issues them one after the other
        issued = (number + 0.5) / (ahead + 0.5) - 1
    used = number + (0.0 if ahead else _OWN_USE)
    return Tile(f"data {number}", issued, used, number + _DONE)


def _product(number: int, ahead: int) -> Tile:
    used = number + ahead + (0.0 if ahead else _LATE)
    return Tile(f"product {number}", number + _PRODUCT, used, used + 1 - _LATE)


def _issue(pipeline: Pipeline) -> float:
    """Where in an iteration the copy for a later one is issued.

    It is issued before the compute where its group is already outstanding at the wait, or in
    flight during the compute.
    """
    ahead, groups = pipeline.prefetch_iterations, pipeline.groups_per_iteration
    waiting, flying = pipeline.outstanding_at_wait, pipeline.groups_during_compute
    if not ahead:
        return 0
    if not groups or (waiting is None and flying is None):
        return _UNKNOWN_ISSUE
    early = (waiting or 0) > ahead * groups or (flying or 0) >= ahead * groups
    return 0 if early else _LATE


def _described(ahead: int, product: bool) -> str:
    if product:
        return (
            f"timeline: the product of iteration i is waited for {plural(ahead, 'iteration')} later"
            if ahead
            else "timeline: each iteration waits for its own product"
        )
    if not ahead:
        return "timeline: each iteration waits for its own copy"
    return (
        f"timeline: {plural(ahead, 'tile')} copied before the loop; iteration i computes with "
        f"tile i and issues the copy of tile i + {ahead}"
    )
