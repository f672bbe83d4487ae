"""Loops of functions that a kernel calls: one record for each of the text, and what is unknown.

The copies of a loop, one for each call of its function, may be fed alike. Where a loop runs a call
that cannot be followed, copies and waits of the called function are not known.
"""

from collections.abc import Iterable

import msgspec

from irlens.analyze.cfg import Cfg
from irlens.analyze.graph import find_loops
from irlens.isa.calls import CallingFunction, Expansion
from irlens.isa.dialect import Instruction
from irlens.model.report import Pipeline, blank_pipeline


def settle(
    pipelines: Iterable[Pipeline],
    expansion: Expansion[CallingFunction[Instruction]] | None,
    flow: Cfg,
) -> list[Pipeline]:
    """Return records of equal copies of a loop once, those with an unknown call as unknown.

    Args:
        pipelines: Of the loops of a kernel with what it calls.
        expansion: Its calls; ``None`` without any.
    """
    if expansion is None:
        return list(pipelines)
    unknown = _unknown_loops(expansion, flow)
    settled: list[Pipeline] = []
    for pipeline in pipelines:
        reason = unknown.get(pipeline.line)
        record = pipeline if reason is None else _blank(pipeline, reason)
        if record not in settled:
            settled.append(record)
    return settled


def _unknown_loops(expansion: Expansion[CallingFunction[Instruction]], flow: Cfg) -> dict[int, str]:
    """Return what is not known of loops that run a call which is not followed, by their line."""
    if not expansion.unfollowed:
        return {}
    forest = find_loops(flow.successors)
    unknown: dict[int, str] = {}
    for number, block in enumerate(flow.ranges):
        for call in block:
            loop = forest.innermost[number] if call in expansion.unfollowed else None
            while loop is not None:
                line = flow.blocks[forest.loops[loop].header].line
                unknown.setdefault(line, expansion.unfollowed[call])
                loop = forest.loops[loop].parent
    return unknown


def _blank(pipeline: Pipeline, unknown: str) -> Pipeline:
    record = blank_pipeline(
        stage=pipeline.stage,
        loop=pipeline.loop,
        line=pipeline.line,
        source=pipeline.source,
        kind=pipeline.kind,
        requested=pipeline.requested_stages,
        reason=f"{unknown} is not known",
    )
    return msgspec.structs.replace(record, warp_group=pipeline.warp_group)
