from collections.abc import Callable

import msgspec
import pytest

from irlens.analyze.facts import Facts
from irlens.model.report import Finding
from irlens.rules import dram_re_read

CODE = "IRL306"
Look = Callable[..., list[Finding]]


def test_shows_waves_that_read_more_than_the_l2_holds(look: Look) -> None:
    # A wave of 132 x 4 programs covers two rows of 256 tiles: all of B, 134 MB, and little of A.
    (finding,) = look(CODE, "memory.py:products")
    assert finding.message == (
        "DRAM delivers up to 2.2 GB for 151 MB of distinct data: each of 16 waves reads 136 MB on"
        " average, more than the 52 MB of the L2"
    )


def test_silent_where_the_l2_holds_what_a_wave_reads(look: Look) -> None:
    assert look(CODE, "memory.py:products", args={"K": 256}) == []


@pytest.mark.parametrize("target", ["h100", "a100", "mi300x"])
def test_silent_on_tiles_in_groups(look: Look, target: str) -> None:
    assert look(CODE, "matmul_bias_relu", target) == []


def test_silent_where_a_figure_is_unknown(facts_of: Callable[..., Facts]) -> None:
    facts = facts_of("memory.py:products")
    assert list(dram_re_read.find(facts))
    assert facts.traffic is not None
    unknown = msgspec.structs.replace(facts.traffic, wave_read_bytes=None)
    for moved in (
        msgspec.structs.replace(facts.launch, traffic=unknown),
        msgspec.structs.replace(facts.launch, roofline=None),
    ):
        changed = msgspec.structs.replace(facts, evaluate_launch=lambda moved=moved: moved)
        assert list(dram_re_read.find(changed)) == []
    for change in ({"occupancy": None}, {"gpu": None}):
        assert list(dram_re_read.find(msgspec.structs.replace(facts, **change))) == []
