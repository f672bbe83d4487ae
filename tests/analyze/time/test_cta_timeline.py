"""The time of a CTA that has an SM to itself."""

import pytest
from msgspec.structs import replace

from irlens import gpus
from irlens.analyze import sass_cfg
from irlens.analyze.time.cta_timeline import Timeline, tensor_cycles
from irlens.analyze.time.loop_runs import Path, Segment
from irlens.analyze.time.paths import PathFinder
from irlens.isa import sass
from irlens.isa.sass import units
from irlens.isa.sass.operands import ThreadInputs
from irlens.isa.sass.timing import demand
from irlens.model.schedule import Control
from irlens.model.source import SourceLocation

TIMING = gpus.find("h200").timing
assert TIMING is not None


def timeline(warps: int = 4) -> Timeline:
    assert TIMING is not None
    return Timeline(timing=TIMING, memory=700.0, multiply_adds=2048, partitions=4, warps=warps)


def duration(code: str, control: list[Control], line: Timeline) -> float:
    lines, at = [], 0
    for each in code.split(";"):
        comment = each.startswith("//")
        lines.append(f"        {each}" if comment else f"        /*{16 * at:04x}*/  {each} ;")
        at += not comment
    text = '.section .text.k,"ax",@progbits\nk:\n' + "\n".join(lines)
    section = sass.parse(text).sections[0]
    flow = sass_cfg.build(section)
    path = PathFinder(section, flow).follow(ThreadInputs({}, {}))
    return line.durations_at([line.memory], section.instructions, flow, [path], control)[0][0]


def stall(cycles: int, wait: int = 0, write: int | None = None) -> Control:
    return Control(cycles, write, None, wait)


LOAD = "LDG.E.128 R4, desc[UR4][R2.64]"


def test_stalls_add_up() -> None:
    assert duration("FADD R0, R0, 1;FADD R0, R0, 1;EXIT", [stall(4), stall(5), stall(1)],
                    timeline()) == 10  # fmt: skip


def test_a_wait_lasts_until_the_data_are_there() -> None:
    control = [stall(2, write=0), stall(4, wait=1), stall(1)]
    waited = duration(f"{LOAD};FADD R0, R4, 1;EXIT", control, timeline())
    # Four warps take 2,048 bytes through a port of 64 bytes a cycle, and occupy the LSU.
    assert waited == pytest.approx(700 + 4 + 2048 / 64 + 4 + 1)


def test_independent_loads_overlap() -> None:
    code = f"{LOAD};{LOAD};FADD R0, R4, 1;EXIT"
    together = [stall(1, write=0), stall(1, write=0), stall(4, wait=1), stall(1)]
    apart = [stall(1, write=0), stall(1, wait=1, write=0), stall(4, wait=1), stall(1)]
    assert duration(code, apart, timeline()) > 1400
    assert duration(code, together, timeline()) < 800


def test_local_memory_that_the_l1_lacks_comes_from_the_idle_l2() -> None:
    """A product whose accumulators are in local memory: 360 µs on an H100, not 200."""
    code = "LDL.128 R4, [R1];FADD R0, R4, 1;EXIT"
    control = [stall(2, write=0), stall(4, wait=1), stall(1)]
    timing = timeline().timing
    held = duration(code, control, timeline())
    assert timing.local_latency(0.0) == timing.l1
    assert timing.local_latency(1.0) == timing.idle_l2
    for missed in (0.5, 1.0):
        line = replace(timeline(), local=timing.local_latency(missed))
        later = duration(code, control, line) - held
        assert later == pytest.approx(missed * (timing.idle_l2 - timing.l1))


def test_a_load_of_what_the_cta_has_loaded_comes_from_the_l1_when_nothing_is_in_flight() -> None:
    """Rows that are loaded one by one, as solve_tril.py does: 52 µs on an H100, not 101."""
    code = f"{LOAD};{LOAD};FADD R0, R4, 1;EXIT"
    apart = [stall(1, write=0), stall(1, wait=1, write=0), stall(4, wait=1), stall(1)]
    together = [stall(1, write=0), stall(1, write=0), stall(4, wait=1), stall(1)]
    line = replace(timeline(), repeats={1})
    saved = duration(code, apart, timeline()) - duration(code, apart, line)
    assert saved == pytest.approx(700 - timeline().timing.l1)
    assert duration(code, together, line) == duration(code, together, timeline())


def test_loads_of_what_the_cta_has_loaded_do_not_wait_for_each_other() -> None:
    """A thread loads each row of a triangular inverse in eight parts, all of which the L1 has.

    Of 64 rows the loop takes an H100 22 µs; it was 37 as if each row came from memory.
    """
    code = f"{LOAD};{LOAD};FADD R0, R4, 1;EXIT"
    control = [stall(1, write=0), stall(1, write=0), stall(4, wait=1), stall(1)]
    again = duration(code, control, replace(timeline(), repeats={0, 1}))
    assert again == pytest.approx(
        duration(code, control, timeline()) - (700 - timeline().timing.l1)
    )
    assert duration(code, control, replace(timeline(), repeats={1})) > again


@pytest.mark.parametrize("access", ["LDG.E R4, desc[UR4][R2.64]", "STG.E desc[UR4][R2.64], R4"])
def test_requests_that_touch_many_lines_are_in_each_other_s_way(access: str) -> None:
    """Rotations of heads that lie apart take an H100 19 µs; it was 8.5 as if they were adjacent."""
    where = SourceLocation(file="k.py", line=59)
    code = f'//## File "k.py", line 59;{access};{access};EXIT'
    control = [stall(1), stall(1), stall(1)]
    scattered = replace(timeline(), request_cycles={where: 16.0})
    more = duration(code, control, scattered) - duration(code, control, timeline())
    assert more == pytest.approx(2 * (16 - 1) * 4, abs=4)


@pytest.mark.parametrize(
    ("instructions", "once", "again"), [(2000, 1.0, 1.0), (6000, 2.5, 6.0), (9000, 5.9, 5.9)]
)
def test_code_that_an_sm_does_not_cache_is_fetched(
    instructions: int, once: float, again: float
) -> None:
    """A loop of 77 KB takes an H100 6.2 cycles an instruction, which issues in less than two."""
    code = ["FFMA R4, R5, R6, R7"] * instructions
    lines = [f"        /*{16 * at:04x}*/  {each} ;" for at, each in enumerate(code)]
    section = sass.parse('.section .text.k,"ax",@progbits\nk:\n' + "\n".join(lines)).sections[0]
    flow = sass_cfg.build(section)
    control = [stall(1)] * instructions
    paths = [Path((Segment((0,), times),), frozenset()) for times in (1, 11)]
    line = timeline()
    ((first, all_rounds),) = line.durations_at(
        [line.memory], section.instructions, flow, paths, control
    )
    assert first == pytest.approx(once * instructions, rel=0.01)
    assert all_rounds - first == pytest.approx(10 * again * instructions, rel=0.01)


def test_more_warps_take_longer() -> None:
    code = ";".join(["FADD R0, R0, 1"] * 64 + ["EXIT"])
    control = [stall(1)] * 65
    assert duration(code, control, timeline(16)) == 4 * duration(code, control, timeline(4))


def products(waits: int) -> float:
    """Four groups of products, with a wait for all but so many behind each."""
    group = (
        "HGMMA.64x256x16.F32 R24, gdesc[UR8], R24, gsb0;"
        f"WARPGROUP.DEPBAR.LE gsb0, {waits:#x};FADD R0, R0, 1"
    )
    code = ";".join([group] * 4 + ["EXIT"])
    control = [stall(1), stall(1), stall(15)] * 4 + [stall(1)]
    return duration(code, control, timeline())


def test_waits_for_products_serialize_them() -> None:
    assert products(1) < products(0)
    # Four products of 64 x 256 x 16 at 2,048 multiply-adds a cycle.
    assert products(1) >= 4 * 128
    assert products(0) >= 4 * (128 + 60)


def test_asynchronous_copies_overlap_until_their_wait() -> None:
    def copies(outstanding: int) -> float:
        step = (
            f"LDGSTS.E.BYPASS.128 [R5], desc[UR4][R2.64];LDGDEPBAR;DEPBAR.LE SB0, {outstanding:#x}"
        )
        code = ";".join([step] * 8 + ["EXIT"])
        return duration(code, [stall(1)] * 25, timeline())

    assert copies(0) > 8 * 700
    assert 700 < copies(7) + 700 < copies(1) < copies(0)


def test_a_fence_waits_for_writes_and_makes_a_round_trip() -> None:
    assert TIMING is not None
    store, fence = "STG.E desc[UR4][R2.64], R4", "MEMBAR.ALL.GPU"
    fences = duration(f"{fence};{fence};EXIT", [stall(1)] * 3, timeline())
    assert fences == pytest.approx(2 * TIMING.l2 + 3)
    written = duration(f"{store};{store};{fence};EXIT", [stall(1)] * 4, timeline())
    assert written == pytest.approx(2 * TIMING.l2 + 2 * 4 + 2)
    apart = duration(f"{store};{fence};{store};{fence};EXIT", [stall(1)] * 5, timeline())
    assert apart > 4 * TIMING.l2


def test_a_fence_of_a_cta_stays_on_the_sm() -> None:
    code = "STG.E desc[UR4][R2.64], R4;MEMBAR.ALL.CTA;EXIT"
    assert duration(code, [stall(1)] * 3, timeline()) < 10


def test_bank_conflicts_occupy_shared_memory() -> None:
    code = ";".join(["LDS R4, [R2]"] * 16 + ["FADD R0, R4, 1", "EXIT"])
    control = [stall(1, write=0)] * 16 + [stall(4, wait=1), stall(1)]
    free = timeline()
    conflicts = replace(free, wavefronts=dict.fromkeys(range(16), 32.0))
    assert duration(code, control, free) < 200
    assert duration(code, control, conflicts) > 16 * 32 * free.warps


@pytest.mark.parametrize(
    ("code", "cycles"),
    [
        ("LDS.128 R4, [R2]", 4),
        ("LDGSTS.E.BYPASS.128 [R9], desc[UR4][R2.64]", 4),
        # Four warps share 64 rows of A and 128 columns of B, 32 bytes each.
        ("HGMMA.64x128x16.F32 R24, gdesc[UR8], R24, gsb0", (64 + 128) * 32 / 128 / 4),
        ("HGMMA.64x128x16.F32 R24, R4, gdesc[UR8], R24, gsb0", 128 * 32 / 128 / 4),
        ("FADD R0, R0, 1", 0),
    ],
)
def test_copies_and_products_take_shared_memory(code: str, cycles: float) -> None:
    text = f'.section .text.k,"ax",@progbits\nk:\n        /*0000*/  {code} ;'
    (instruction,) = sass.parse(text).sections[0].instructions
    assert units.shared_cycles(instruction) == cycles


def test_a_loop_of_products_is_as_slow_as_the_tensor_cores() -> None:
    product = "HMMA.16816.F32 R8, R4, R6, R8"
    lines = [f"        /*{16 * n:04x}*/  {each} ;" for n, each in enumerate([
        "MOV R0, RZ", product, product, "IADD3 R0, R0, 0x1, RZ",
        "ISETP.GE.AND P0, PT, R0, 0x40, PT", "@!P0 BRA `(.L_x_0)", "EXIT"])]  # fmt: skip
    lines.insert(1, ".L_x_0:")
    section = sass.parse('.section .text.k,"ax",@progbits\nk:\n' + "\n".join(lines)).sections[0]
    flow = sass_cfg.build(section)
    path = PathFinder(section, flow).follow(ThreadInputs({}, {}))
    line = timeline()
    control = [stall(1)] * 7
    busy = 64 * 2 * 4 * 16 * 8 * 16 / (line.multiply_adds * line.timing.warp_products)
    ((taken,),) = line.durations_at([line.memory], section.instructions, flow, [path], control)
    assert taken == pytest.approx(busy, rel=0.05)


@pytest.mark.parametrize(
    ("code", "times"),
    [
        ("HMMA.16816.F32.BF16 R8, R4, R6, R8", 2),
        ("QMMA.16832.F32.E4M3.E4M3 R8, R4, R6, R8", 2),
        ("HMMA.16816.F16 R8, R4, R6, R8", 1),
        ("QMMA.SF.16832.F32.E4M3.E4M3.E8 R8, R4, R6, R8, R2, R3", 1),
    ],
)
def test_sums_of_fp32_take_the_tensor_cores_of_a_geforce_twice_as_long(
    code: str, times: int
) -> None:
    (instruction,) = (
        sass.parse(f'.section .text.k,"ax",@progbits\nk:\n        /*0000*/  {code} ;')
        .sections[0]
        .instructions
    )
    geforce, workstation = gpus.find("rtx5090").timing, gpus.find("rtx-pro-6000").timing
    assert geforce is not None
    assert workstation is not None
    asked = demand(instruction)
    cycles = tensor_cycles(asked, workstation, 512)
    assert tensor_cycles(asked, geforce, 512) == times * cycles > 0


@pytest.mark.parametrize(
    ("gpu", "multiply_adds"), [("h100", 128), ("a100", 64), ("rtx4090", 2), ("b200", 64)]
)
def test_products_of_fp64_run_at_their_own_rate(gpu: str, multiply_adds: int) -> None:
    """Peaks of 67 and 19.5 TFLOP/s; GA102 and its successors have two units of fp64 to an SM."""
    text = '.section .text.k,"ax",@progbits\nk:\n        /*0000*/  DMMA.8x8x4 R8, R4, R6, R8 ;'
    (instruction,) = sass.parse(text).sections[0].instructions
    found = gpus.find(gpu)
    assert found.timing is not None
    cycles = tensor_cycles(demand(instruction), found.timing, found.multiply_adds)
    assert cycles == pytest.approx(8 * 8 * 4 / multiply_adds)


def test_one_warp_has_the_tensor_cores_of_its_sub_partition() -> None:
    code = ";".join(["HMMA.16816.F32 R8, R4, R6, R8"] * 64 + ["EXIT"])
    control = [stall(1)] * 65
    alone = duration(code, control, timeline(1))
    assert alone == pytest.approx(duration(code, control, timeline(4)))
    assert duration(code, control, timeline(8)) == pytest.approx(2 * alone, rel=0.02)
