"""What an iteration of a loop issues, and how long it takes."""

import json
import statistics
import tarfile
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from irlens import gpus
from irlens.analyze import loops, sass_cfg
from irlens.analyze.loop_schedules import schedule
from irlens.analyze.time.cta_timeline import Timeline
from irlens.analyze.time.shared_wavefronts import Wavefronts
from irlens.artifacts import cubin
from irlens.artifacts.tools import disassemble
from irlens.isa import sass
from irlens.isa.sass.records import decode_all
from irlens.model.schedule import Alone, Control, LoopSchedule

DATA = Path(__file__).parents[1] / "data" / "h200"
TIMING = gpus.find("h200").timing
#: Cycles of a load from the L2 with nothing else in flight: 145.3 ns at 1.98 GHz, measured by
#: benchmarks/memory_latency.cu where the loops were.
L2 = 288

LOOP = """
.section .text.k,"ax",@progbits
k:
.text.k:
        /*0000*/                   MOV R0, RZ ;
.L_x_0:
        /*0010*/                   LDG.E.128 R8, desc[UR4][R2.64] ;
        /*0020*/                   F2I.S64 R12, R8 ;
        /*0030*/             @!PT  LDS RZ, [RZ] ;
{inner}        /*0060*/                   HMMA.16816.F32 R16, R8, R10, R16 ;
        /*0070*/              @!P0 BRA `(.L_x_0) ;
        /*0080*/                   EXIT ;
"""
SKIP = """        /*0040*/               @P1 BRA `(.L_x_1) ;
        /*0050*/                   FFMA R5, R5, R5, R5 ;
.L_x_1:
"""
NEST = """.L_x_1:
        /*0040*/                   FFMA R5, R5, R5, R5 ;
        /*0050*/               @P1 BRA `(.L_x_1) ;
"""


#: The warp waits for a barrier.
SPIN = """.L_x_1:
        /*0040*/                   SYNCS.PHASECHK.TRANS64.TRYWAIT P1, [UR8], R4 ;
        /*0050*/              @!P1 BRA `(.L_x_1) ;
"""
SHARED = """        /*0040*/                   LDS.128 R8, [R4] ;
        /*0050*/                   STS [R5], R8 ;
"""


def alone_on_h200() -> Timeline:
    assert TIMING is not None
    return Timeline(timing=TIMING, memory=0, multiply_adds=512, partitions=1, warps=1)


def of(
    inner: str,
    wavefronts: Mapping[int, Wavefronts] = MappingProxyType({}),
    timeline: Timeline | None = None,
) -> list[LoopSchedule]:
    section = sass.parse(LOOP.format(inner=inner)).sections[0]
    found = loops.find(section, sass_cfg.build(section))
    fields = [Control(each.offset // 16 + 1, None, None, 0) for each in section.instructions]
    return [
        schedule(found, index, fields, wavefronts, timeline)
        for index in range(len(found.forest.loops))
    ]


def test_an_iteration_has_its_slots_cycles_and_bytes() -> None:
    (loop,) = of("")
    assert loop.instructions == 5
    assert loop.cycles == 2 + 3 + 4 + 7 + 8
    # A conversion to an integer occupies its unit twice; @!PT goes to no unit.
    assert loop.units == {"xu": 2, "other": 2, "lsu": 1, "tensor": 1}
    assert loop.requested_bytes == 32 * 16
    assert not loop.branches


def test_code_that_an_iteration_may_skip_makes_an_upper_bound() -> None:
    (loop,) = of(SKIP)
    assert (loop.instructions, loop.units["fma"], loop.branches) == (7, 1, True)


def test_inner_loops_are_apart() -> None:
    outer, inner = sorted(of(NEST), key=lambda each: each.instructions, reverse=True)
    assert (outer.instructions, outer.branches) == (5, False)
    assert inner.units == {"fma": 1, "other": 1}
    assert (inner.instructions, inner.cycles) == (2, 5 + 6)


def test_accesses_take_the_wavefronts_of_their_lanes() -> None:
    known = {4: Wavefronts(32, 28), 5: Wavefronts(1, 0)}
    (loop,) = of(SHARED, known)
    assert (loop.wavefronts, loop.conflicts) == (33, 28)
    (loop,) = of(SHARED, {4: known[4]})
    assert (loop.wavefronts, loop.conflicts) == (33, None)  # the least of the store
    (loop,) = of(SHARED)
    assert (loop.wavefronts, loop.conflicts) == (4 + 1, None)


def test_without_latencies_or_a_single_path_the_time_is_unknown() -> None:
    assert [each.alone for each in of("")] == [None]
    assert [each.alone for each in of(SKIP, timeline=alone_on_h200())] == [None]
    outer, inner = sorted(of(NEST, timeline=alone_on_h200()), key=lambda each: -each.instructions)
    assert outer.alone is None
    assert inner.alone is not None
    # How many copies were in flight before the loop, only the code before it says.
    assert [each.alone for each in of(SPIN, timeline=alone_on_h200())] == [None, None]


def test_the_stalls_bound_what_an_iteration_takes() -> None:
    (loop,) = of("", timeline=alone_on_h200())
    assert loop.alone == Alone(cycles=2 + 3 + 4 + 7 + 8)  # no instruction waits for the load


def measured() -> dict[str, float]:
    rows: dict[str, float] = json.loads((DATA / "loops.json").read_text())
    return rows


def on_h200(name: str) -> LoopSchedule:
    with tarfile.open(DATA / "loops.tar.xz") as archive:
        file = archive.extractfile(f"{name}.cubin")
        assert file is not None
        content = file.read()
    (section,) = sass.parse(disassemble(content)).sections
    found = loops.find(section, sass_cfg.build(section))
    fields = decode_all(cubin.code_sections(content)[section.name])
    every = (
        schedule(found, index, fields, timeline=alone_on_h200())
        for index in range(len(found.forest.loops))
    )
    return max(every, key=lambda each: each.instructions)


def requested(name: str) -> int:
    """Bytes that an iteration of the source requests."""
    kind, *sizes = name.split("_")
    if kind == "product":
        rows, columns, depth, _ = map(int, sizes)
        return 2 * depth * (rows + columns)
    return 4 * max(32, int(sizes[0]))


def seen(name: str) -> float:
    """The time of an iteration, as a multiple of what an H200 took."""
    loop = on_h200(name)
    unrolled = loop.requested_bytes / requested(name)
    assert loop.alone is not None
    waited = loop.alone.exposed * max(0.0, L2 - (loop.alone.hidden or 0))
    return (loop.alone.cycles + waited) / unrolled / measured()[name]


def test_a_warp_alone_takes_what_an_h200_measured() -> None:
    ratios = {name: seen(name) for name in measured()}
    assert len(ratios) == 15
    assert all(0.8 < each < 1.3 for each in ratios.values()), ratios
    assert statistics.median(abs(each - 1) for each in ratios.values()) < 0.1


@pytest.mark.parametrize(("stages", "exposed"), [(2, 1), (4, 0.25)])
def test_more_stages_hide_longer_latencies(stages: int, exposed: float) -> None:
    alone = on_h200(f"product_32_32_32_{stages}").alone
    assert alone is not None
    assert alone.hidden is not None
    assert alone.exposed == pytest.approx(exposed)
    assert (alone.hidden > L2) == (stages == 4)
