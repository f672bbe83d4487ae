from collections.abc import Callable

from irlens.analyze.facts import Facts
from irlens.model.report import Finding

CODE = "IRL107"
Look = Callable[..., list[Finding]]
TILE = {"M": 128, "N": 128, "BLOCK_K": 32, "STAGES": 2}
HALF = {"a_ptr": "fp16", "b_ptr": "fp16"}


def test_shows_that_fewer_compute_than_fit(look: Look, facts_of: Callable[..., Facts]) -> None:
    facts = facts_of("dots.py", "b200", args=HALF, **TILE, maxnreg=80)
    assert facts.occupancy is not None
    # An accumulator of 128 x 128 in fp32: 128 lanes and 128 columns of 512.
    assert facts.occupancy.blocks_per_sm > 4
    (finding,) = look(CODE, "dots.py", "b200", args=HALF, **TILE, maxnreg=80)
    assert finding.message == (
        f"128 of 512 columns of tensor memory per CTA: of the {facts.occupancy.blocks_per_sm} CTAs"
        " that an SM holds 4 compute at once, and the others wait"
    )
    assert facts.ptx is not None
    (alloc,) = (i for i in facts.ptx.instructions if i.modifiers[:1] == ("alloc",))
    assert finding.line == alloc.line


def test_silent_where_all_find_room(look: Look) -> None:
    assert look(CODE, "dots.py", "b200", args=HALF, M=128, N=128, BLOCK_K=128, STAGES=4) == []


def test_silent_where_accumulators_are_registers(look: Look) -> None:
    assert look(CODE, "dots.py", "h100", args=HALF, **TILE) == []
