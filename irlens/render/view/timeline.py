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

#: Where data is kept that has arrived and is not used yet.
_KEPT = {"register": "kept in registers", "direct-to-lds": "kept in LDS"}

# Positions within an iteration.
_LATE, _UNKNOWN_ISSUE, _OWN_USE, _DONE, _PRODUCT = 0.8, 0.5, 0.5, 0.75, 0.5


def timeline(pipeline: Pipeline, steady: int = STEADY) -> Timeline | None:
    """Return a pipeline's timeline; ``None`` where the figures do not determine it.

    They do not where the mechanism or the prefetch distance is unknown, or where loads differ in
    it.
    """
    ahead, kept = pipeline.prefetch_iterations, pipeline.kept_iterations or 0
    if ahead is None or ahead + kept > DEEPEST or pipeline.kind is None:
        return None
    if len({load.iterations_ahead for load in pipeline.loads}) > 1:
        return None
    product = pipeline.kind in COMPUTE_KINDS
    copy = "load" if pipeline.kind in ("register", "direct-to-lds") else "copy"
    early = ahead + kept
    phases = [Phase("steady state", 0, steady)]
    if ahead and not product:
        phases.insert(0, Phase("prologue", -1, 0))
    if ahead:
        phases.append(Phase("epilogue", steady, steady + early))
    return Timeline(
        described=_described(early, pipeline.product if product else None, copy),
        phases=tuple(phases),
        iterations=steady + early,
        steady=steady,
        tiles=tuple(
            _product(number, ahead) if product else _copy(number, ahead, kept, _issue(pipeline))
            for number in range(steady if product else steady + early)
        ),
        in_flight=pipeline.outstanding_at_end if product else pipeline.groups_during_compute,
        issued="product issued" if product else f"{copy} issued",
        used="waited for" if product else "computed with",
        kept=_KEPT.get(pipeline.kind, "kept") if kept else "",
    )


def _copy(number: int, ahead: int, kept: int, issue: float) -> Tile:
    early = ahead + kept
    issued = number - early + issue
    if number < early:  # the prologue issues them one after the other
        issued = (number + 0.5) / (early + 0.5) - 1
    used = number + (0.0 if early else _OWN_USE)
    # It has arrived where the iteration of the wait ends: at the latest where the loop begins.
    arrived = max(number - kept, issued / 2 if issued < 0 else 0.0) if kept else None
    return Tile(f"data {number}", issued, used, number + _DONE, arrived)


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


def _described(ahead: int, product: str | None, copy: str) -> str:
    if product is not None:
        of = f" of {product}" if product else ""
        return (
            f"timeline: the product{of} of iteration i is waited for"
            f" {plural(ahead, 'iteration')} later"
            if ahead
            else f"timeline: each iteration waits for its own product{of}"
        )
    if not ahead:
        return f"timeline: each iteration waits for its own {copy}"
    return (
        f"timeline: {plural(ahead, 'tile')} {'loaded' if copy == 'load' else 'copied'} before the"
        f" loop; iteration i computes with tile i and issues the {copy} of tile i + {ahead}"
    )
