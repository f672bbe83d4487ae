"""Paths of warps through machine code, against the instructions that an H200 executed."""

import struct
from collections import defaultdict
from collections.abc import Iterator
from math import prod
from typing import Any

import pytest
from msgspec.structs import replace

from irlens.analyze import sass_cfg
from irlens.analyze.time.dataflow import UnknownPathError
from irlens.analyze.time.launched import Arguments, constants, follow, sample
from irlens.analyze.time.paths import PathFinder
from irlens.analyze.traffic.accesses import public_function
from irlens.artifacts import cubin
from irlens.isa import sass
from irlens.isa.mlir import parse
from irlens.isa.sass import units
from irlens.isa.sass.operands import TABLES, ThreadInputs
from irlens.isa.sass.semantics import TENSOR_LOADS
from tests.analyze.h200_launches import artifact, launches, listing

#: Relative difference that is allowed: warps poll a barrier of TMA, and the lanes and rows of a
#: program that stands for others differ.
SLACK = {"matmul_tma": 0.002, "cumsum": 0.012, "softmax_persistent": 0.002, "softmax_row": 0.006}


def _cases() -> Iterator[Any]:
    for number, launch in enumerate(launches()):
        if number % 9 == 4:
            yield pytest.param(launch, id=f"{launch['name']}-{number}")


def _arguments(launch: dict[str, Any]) -> Arguments:
    module = parse(artifact(launch, "ttir").decode(), stage="ttir")
    names = public_function(module).regions[0].blocks[0].arguments
    numbers = {n: v for n, v in launch["args"].items() if isinstance(v, int | float)}
    x, y, z = launch["grid"]
    return Arguments(
        tuple(each.name.removeprefix("%") for each in names),
        numbers,
        (x, y, z),
        launch["block"][0] // 32,
    )


@pytest.mark.parametrize("launch", [*_cases()])
def test_warps_execute_what_an_h200_counted(launch: dict[str, Any]) -> None:
    kernel = cubin.read(artifact(launch, "cubin")).kernels[0]
    section = sass.parse(listing(launch)).sections[0]
    flow = sass_cfg.build(section)
    executed: defaultdict[str, float] = defaultdict(float)
    for cta in follow(PathFinder(section, flow), kernel, _arguments(launch)):
        for each in cta:
            for block, times in each.counts.items():
                for index in flow.blocks[block].indices:
                    instruction = section.instructions[index]
                    number = times * each.warps
                    executed["all"] += number
                    executed[units.unit(instruction)] += number * units.issues(instruction)
    counted = launch["ncu"]
    slack = SLACK.get(launch["name"], 0.0001)
    assert executed["all"] == pytest.approx(counted["smsp__inst_executed.sum"], rel=slack)
    for unit in ("alu", "fma", "xu", "tensor"):
        # A rare instruction may be of another class: 1 % of all.
        difference = abs(executed[unit] - counted[f"smsp__inst_executed_pipe_{unit}.sum"])
        assert difference <= 0.01 * counted["smsp__inst_executed.sum"], unit


@pytest.mark.parametrize("launch", [*_cases()])
def test_what_is_remembered_of_loops_changes_no_path(launch: dict[str, Any]) -> None:
    """Threads of several programs, one after the other and each with nothing remembered."""
    section = sass.parse(listing(launch)).sections[0]
    flow = sass_cfg.build(section)
    arguments = _arguments(launch)
    words = constants(cubin.read(artifact(launch, "cubin")).kernels[0], arguments)
    shared = PathFinder(section, flow)
    for program in sample(arguments.grid)[::5]:
        for warp in range(arguments.warps):
            axes = dict(zip(("SR_CTAID.X", "SR_CTAID.Y", "SR_CTAID.Z"), program, strict=True))
            thread = ThreadInputs(words, {**axes, "SR_TID.X": warp * 32, "SR_LANEID": 0})
            assert shared.follow(thread) == PathFinder(section, flow).follow(thread)


def test_more_programs_are_followed_where_contents_decide_how() -> None:
    """Of sequences of any length 16 say little: attention over 256 had 0.6 times its products."""
    launch = next(each for each in launches() if each["name"] == "softmax_persistent")
    section = sass.parse(listing(launch)).sections[0]
    kernel, arguments = cubin.read(artifact(launch, "cubin")).kernels[0], _arguments(launch)
    for contents, programs in (({}, 16), ({"offsets": bytes(8)}, 64)):
        machine = PathFinder(section, sass_cfg.build(section), known=TENSOR_LOADS)
        given = replace(arguments, contents=contents)
        assert len(follow(machine, kernel, given)) == programs


#: P1 has a value from before the loop where the guard is false: what an iteration leaves differs.
GUARDED = """
.section .text.k,"ax",@progbits
k:
.text.k:
        /*0000*/                   S2R R3, SR_TID.X ;
        /*0010*/                   ISETP.GE.AND P1, PT, R3, 0x20, PT ;
        /*0020*/                   MOV R0, RZ ;
.L_x_0:
        /*0030*/                   IADD3 R0, R0, 0x1, RZ ;
        /*0040*/                   ISETP.GE.AND P2, PT, R0, 0x5, PT ;
        /*0050*/               @P2 ISETP.GE.AND P1, PT, R0, 0x9, PT ;
        /*0060*/                   ISETP.GE.AND P0, PT, R0, c[0x0][0x210], PT ;
        /*0070*/              @!P0 BRA `(.L_x_0) ;
        /*0080*/               @P1 EXIT ;
        /*0090*/                   FADD R5, R5, 1 ;
        /*00a0*/                   EXIT ;
"""


@pytest.mark.parametrize("rounds", [3, 7, 12])
def test_what_a_loop_may_leave_as_it_was_is_not_that_of_another_thread(rounds: int) -> None:
    section = sass.parse(GUARDED).sections[0]
    flow = sass_cfg.build(section)
    words = {0x210: rounds}
    shared = PathFinder(section, flow)
    for tid in (0, 32, 0, 64):
        thread = ThreadInputs(words, {"SR_TID.X": tid})
        path = shared.follow(thread)
        assert path == PathFinder(section, flow).follow(thread)
        adds = sum(path.counts()[n] for n, b in enumerate(flow.blocks) if 9 in b.indices)
        leaves = tid >= 32 if rounds < 5 else rounds >= 9
        assert adds == (not leaves)


LOOP = """
.section .text.k,"ax",@progbits
k:
.text.k:
        /*0000*/                   ULDC UR4, c[0x0][0x210] ;
        /*0010*/                   MOV R0, RZ ;
.L_x_0:
        /*0020*/                   IADD3 R0, R0, 0x3, RZ ;
        /*0030*/                   FADD R5, R5, 1 ;
        /*0040*/                   ISETP.GE.AND P0, PT, R0, UR4, PT ;
        /*0050*/              @!P0 BRA `(.L_x_0) ;
        /*0060*/                   EXIT ;
"""


def machine(text: str) -> PathFinder:
    section = sass.parse(text).sections[0]
    return PathFinder(section, sass_cfg.build(section))


@pytest.mark.parametrize(("bound", "rounds"), [(1, 1), (3, 1), (4, 2), (3000, 1000)])
def test_a_loop_runs_until_its_counter_reaches_its_bound(bound: int, rounds: int) -> None:
    path = machine(LOOP).follow(ThreadInputs({0x210: bound}, {}))
    assert path.counts()[1] == rounds


def test_only_what_branches_depend_on_is_computed() -> None:
    found = machine(LOOP)
    wanted = {index for block in found.slice.by_block for index in block}
    opcodes = {found.section.instructions[index].opcode for index in wanted}
    assert opcodes == {"ULDC", "MOV", "IADD3", "ISETP"}
    assert not found.varies_by_program
    assert not found.varies_by_warp


def test_a_loop_whose_bound_is_loaded_is_unknown() -> None:
    text = LOOP.replace("ULDC UR4, c[0x0][0x210]", "LDG.E R4, desc[UR6][R2.64]")
    with pytest.raises(UnknownPathError, match=r"BRA at 0x0050\) depends on data"):
        machine(text.replace("R0, UR4, PT", "R0, R4, PT")).follow(ThreadInputs({}, {}))


#: The bound of the loop is loaded from 8 bytes after the address in the constant bank.
LOADED = LOOP.replace(
    "ULDC UR4, c[0x0][0x210]",
    "LDC.64 R2, c[0x0][0x218] ;\n        /*0008*/  LDG{form} R4, {place}",
).replace("R0, UR4, PT", "R0, R4, PT")


@pytest.mark.parametrize(
    ("form", "place", "held", "rounds"),
    [
        (".E", "desc[UR6][R2.64+0x8]", struct.pack("<iii", 0, 0, 3000), 1000),
        (".E.64", "desc[UR6][R2.64+0x8]", struct.pack("<qq", 0, 3000), 1000),
        (".E.U16", "desc[UR6][R2.64+0x8]", struct.pack("<HHHHH", 0, 0, 0, 0, 3000), 1000),
        (".E.S8", "desc[UR6][R2.64+0x8]", struct.pack("<9b", *range(-8, 1)), 1),
        (".E.SYS", "[R2+0x8]", struct.pack("<iii", 0, 0, 3000), 1000),  # as on sm_75
    ],
)
def test_a_loop_whose_bound_is_known_contents_of_a_tensor(
    form: str, place: str, held: bytes, rounds: int
) -> None:
    text = LOADED.replace("{form}", form).replace("{place}", place)
    section = sass.parse(text).sections[0]
    finder = PathFinder(section, sass_cfg.build(section), known=TENSOR_LOADS)
    words = {0x218: 0x1000, 0x21C: 0x7F}
    known = ThreadInputs(words, {}, ((0x7F_0000_1000, held),))
    assert finder.follow(known).counts()[1] == rounds
    for others in ((), ((0x7F_0000_1000, held[:8]),), ((0x7F_0000_2000, held),)):
        with pytest.raises(UnknownPathError, match="depends on data"):
            finder.follow(ThreadInputs(words, {}, others))
    assert finder.follow(known).counts()[1] == rounds


TWO_WAYS = """
.section .text.k,"ax",@progbits
k:
.text.k:
        /*0000*/                   LDG.E R4, desc[UR6][R2.64] ;
        /*0010*/                   BSSY B0, `(.L_x_2) ;
        /*0020*/                   FSETP.GE.AND P0, PT, R4, 0.60000002384185791016, PT ;
        /*0030*/              @!P0 BRA `(.L_x_0) ;
        /*0040*/                   FADD R5, R5, 1 ;
        /*0050*/                   BRA `(.L_x_1) ;
.L_x_0:
        /*0060*/                   FMUL R5, R5, 2 ;
.L_x_1:
        /*0070*/                   BSYNC B0 ;
.L_x_2:
        /*0080*/                   EXIT ;
"""


def test_a_warp_whose_lanes_part_takes_both_ways() -> None:
    """An H200 executes both ways of the hyperbolic tangent: its argument decides, lane by lane."""

    def counts(text: str) -> list[int]:
        found = machine(text).follow(ThreadInputs({}, {}))
        assert found.skipped == {1}
        return [found.counts()[n] for n in range(6)]

    assert counts(TWO_WAYS) == [1] * 6
    skipping = TWO_WAYS.replace("BRA `(.L_x_1)", "FADD R5, R5, 3")  # one way, and more of the other
    assert counts(skipping)[2:4] == [0, 1]
    of_integers = TWO_WAYS.replace("FSETP.GE.AND", "ISETP.GE.AND")  # a lock, one for all lanes
    assert counts(of_integers)[2:4] == [0, 1]


def test_a_loop_that_data_may_skip_is_unknown() -> None:
    text = LOOP.replace(
        "        /*0010*/                   MOV R0, RZ ;\n",
        "        /*0010*/                   LDG.E R4, desc[UR6][R2.64] ;\n"
        "        /*0014*/                   MOV R0, RZ ;\n"
        "        /*0018*/                   ISETP.GE.AND P1, PT, R4, RZ, PT ;\n"
        "        /*001c*/               @P1 BRA `(.L_x_1) ;\n",
    ).replace("        /*0060*/ ", ".L_x_1:\n        /*0060*/ ")
    with pytest.raises(UnknownPathError, match=r"BRA at 0x001c\) depends on data"):
        machine(text).follow(ThreadInputs({0x210: 8}, {}))


def test_arguments_of_sine_are_taken_to_be_small() -> None:
    text = LOOP.replace(
        "        /*0010*/                   MOV R0, RZ ;\n",
        "        /*0010*/                   LDG.E R4, desc[UR6][R2.64] ;\n"
        "        /*0014*/                   FSETP.GE.AND P1, PT, |R4|, 105615, PT ;\n"
        "        /*0018*/                   MOV R0, RZ ;\n"
        "        /*001c*/              @!P1 BRA `(.L_x_1) ;\n",
    ).replace("        /*0060*/ ", ".L_x_1:\n        /*0060*/ ")
    path = machine(text).follow(ThreadInputs({0x210: 8}, {}))
    assert path.counts() == {0: 1, 2: 1}
    assert path.skipped == {0}


def test_a_loop_that_is_left_by_a_call_runs_until_its_counter_reaches_its_bound() -> None:
    """ptxas for sm_80 jumps so to code that is far away, and does not return."""
    text = LOOP.replace(
        "              @!P0 BRA `(.L_x_0) ;\n",
        "               @P0 CALL.REL.NOINC `(.L_x_1) ;\n"
        "        /*0054*/                   BRA `(.L_x_0) ;\n",
    ).replace("        /*0060*/ ", ".L_x_1:\n        /*0060*/ ")
    path = machine(text).follow(ThreadInputs({0x210: 3000}, {}))
    assert path.counts() == {0: 1, 1: 1000, 2: 999, 3: 1}


SPILLED = (
    LOOP.replace(
        "                   IADD3 R0, R0, 0x3, RZ ;\n",
        "                   LDL.LU R0, [R1+0x8] ;\n"
        "        /*0024*/                   IADD3 R0, R0, 0x3, RZ ;\n"
        "        /*0028*/                   STL [R1+0x8], R0 ;\n",
    )
    .replace("                   MOV R0, RZ ;", "                   STL.64 [R1+0x8], RZ ;")
    .replace("/*0000*/ ", "/*0000*/                   IADD3 R1, R1, -0x10, RZ ;\n        /*0004*/ ")
)


def test_a_counter_that_is_spilled_is_followed() -> None:
    path = machine(SPILLED).follow(ThreadInputs({0x210: 3000}, {}))
    assert path.counts()[1] == 1000


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("[R1+0x8], R0", "[R2+0x8], R0"),  # another base: an array, which any word may be of
        ("[R1+0x8], R0", "[R1+0xa], R0"),  # no word
        ("LDL.LU R0", "LDL.U8 R0"),  # a part of one
        ("STL [R1+0x8], R0", "@P1 STL [R1+0x8], R0"),  # perhaps
        ("FADD R5, R5, 1", "IADD3 R1, R1, 0x8, RZ"),  # another word every time
    ],
)
def test_local_memory_that_is_not_understood_is_data(old: str, new: str) -> None:
    text = SPILLED.replace(old, new)
    assert text != SPILLED
    with pytest.raises(UnknownPathError, match="depends on data"):
        machine(text).follow(ThreadInputs({0x210: 3000}, {}))


def test_values_of_16_bits_beside_a_spilled_counter_are_data() -> None:
    beside = SPILLED.replace("FADD R5, R5, 1", "LDL.S16 R5, [R1+0x6]")
    assert beside != SPILLED
    assert machine(beside).follow(ThreadInputs({0x210: 3000}, {})).counts()[1] == 1000
    over = SPILLED.replace("FADD R5, R5, 1", "STL.S16 [R1+0xa], R5")
    with pytest.raises(UnknownPathError, match="depends on data"):
        machine(over).follow(ThreadInputs({0x210: 3000}, {}))


def test_a_spilled_pair_keeps_both_words() -> None:
    text = (
        SPILLED.replace("STL.64 [R1+0x8], RZ", "STL.64 [R1+0x4], R6")
        .replace("/*0004*/ ", "/*0004*/                   MOV R6, 0x5 ;\n        /*0006*/ ")
        .replace("/*0006*/ ", "/*0006*/                   MOV R7, 0x9 ;\n        /*0008*/ ")
    )
    assert machine(text).follow(ThreadInputs({0x210: 12}, {})).counts()[1] == 1  # the second is 9
    assert machine(text).follow(ThreadInputs({0x210: 15}, {})).counts()[1] == 2


def test_a_loop_without_end_is_unknown() -> None:
    with pytest.raises(UnknownPathError, match="more than 400,000 blocks"):
        machine(LOOP.replace("0x3, RZ", "0x0, RZ")).follow(ThreadInputs({0x210: 8}, {}))


def test_parameters_are_in_the_constant_bank() -> None:
    launch = next(each for each in launches() if each["name"] == "matmul")
    kernel = cubin.read(artifact(launch, "cubin")).kernels[0]
    words = constants(kernel, _arguments(launch))
    assert (words[0x0], words[0xC]) == (launch["block"][0], launch["grid"][0])
    assert _arguments(launch).names[4] == "M"
    assert words[0x210 + 32] == 4096


@pytest.mark.parametrize("grid", [(64, 128, 1), (8192, 1, 1), (1, 3, 700), (4, 4, 1), (17, 1, 1)])
def test_sampled_programs_stand_for_all(grid: tuple[int, int, int]) -> None:
    assert len(sample(grid, 10_000)) == min(prod(grid), 10_000)
    programs = sample(grid)
    assert len(programs) == 16
    assert all(
        0 <= place < size for each in programs for place, size in zip(each, grid, strict=True)
    )
    first = next(axis for axis, size in enumerate(grid) if size > 1)
    # Work that grows along the first axis, and work that repeats with a period in a flat grid.
    mean = sum(each[first] for each in programs) / 16
    assert mean == pytest.approx((grid[first] - 1) / 2, rel=0.05, abs=0.5)
    if grid[0] == 8192:
        inner = sum(each[0] % 64 for each in programs) / 16
        assert inner == pytest.approx(31.5, rel=0.1)


def test_conditions_in_the_bits_of_one_register_are_known() -> None:
    """ptxas sets them one by one, and never the whole register."""
    text = LOOP.replace(
        "        /*0010*/                   MOV R0, RZ ;\n",
        "        /*0010*/                   LOP3.LUT R9, R9, 0xfffffffe, RZ, 0xc0, !PT ;\n"
        "        /*0011*/                   ISETP.GE.AND P1, PT, RZ, UR4, PT ;\n"
        "        /*0012*/               @P1 LOP3.LUT R9, R9, 0x1, RZ, 0xfc, !PT ;\n"
        "        /*0013*/                   MOV R0, RZ ;\n"
        "        /*0014*/                   LOP3.LUT P1, RZ, R9, 0x1, RZ, 0xc0, !PT ;\n"
        "        /*001c*/               @P1 BRA `(.L_x_1) ;\n",
    ).replace("        /*0060*/ ", ".L_x_1:\n        /*0060*/ ")
    assert machine(text).follow(ThreadInputs({0x210: 0}, {})).counts() == {0: 1, 2: 1}
    assert machine(text).follow(ThreadInputs({0x210: 6}, {})).counts() == {0: 1, 1: 2, 2: 1}


SWAP = """
.section .text.k,"ax",@progbits
k:
.text.k:
        /*0000*/                   LDG.E R11, desc[UR16][R6.64] ;
.L_x_0:
        /*0010*/                   HADD2.BF16_V2 R24, R11, R10.H0_H0 ;
        /*0020*/                   ATOMG.E.CAS.STRONG.GPU PT, R24, [R6], R11, R24 ;
        /*0030*/                   ISETP.NE.U32.AND P1, PT, R24, R11, PT ;
        /*0040*/                   MOV R11, R24 ;
        /*0050*/               @P1 BRA `(.L_x_0) ;
        /*0060*/                   EXIT ;
"""


def test_a_compare_and_swap_is_taken_to_succeed() -> None:
    """An atomic addition of bf16 is a loop around one."""
    path = machine(SWAP).follow(ThreadInputs({}, {}))
    assert path.counts() == {0: 1, 1: 1, 2: 1}
    assert path.skipped == {1}


def test_a_loop_that_also_loads_is_no_retry() -> None:
    text = SWAP.replace("HADD2.BF16_V2 R24, R11, R10.H0_H0", "LDG.E R24, desc[UR16][R6.64]")
    with pytest.raises(UnknownPathError, match=r"BRA at 0x0050\) depends on data"):
        machine(text).follow(ThreadInputs({}, {}))


#: What a warp is handed chooses between three ends, as for the partitions of specialized warps.
JUMP = """.section .text.k,"ax",@progbits
k:
        /*0000*/                   LDC R4, c[0x0][0x210] ;
        /*0010*/                   IMAD.SHL.U32 R4, R4, 0x4, RZ ;
        /*0020*/                   LDC R2, c[0x2][R4] ;
        /*0030*/                   BRX R2 -0x40 (*"BRANCH_TARGETS .L_x_1,.L_x_2,.L_x_3"*);
.L_x_1:
        /*0040*/                   EXIT ;
.L_x_2:
        /*0050*/                   NOP ;
        /*0060*/                   EXIT ;
.L_x_3:
        /*0070*/                   NOP ;
        /*0080*/                   NOP ;
        /*0090*/                   EXIT ;
"""


@pytest.mark.parametrize(("chosen", "block"), [(0, 3), (1, 1), (2, 2), (3, 1)])
def test_an_indexed_jump_leads_where_the_table_says(chosen: int, block: int) -> None:
    table = {TABLES + 4 * n: at for n, at in enumerate((0x70, 0x40, 0x50, 0x40))}
    path = machine(JUMP).follow(ThreadInputs({0x210: chosen, **table}, {}))
    assert list(path.counts()) == [0, block]


@pytest.mark.parametrize("table", [{}, {TABLES: 0x60}])  # none, and the middle of a block
def test_an_indexed_jump_elsewhere_is_unknown(table: dict[int, int]) -> None:
    with pytest.raises(UnknownPathError, match="where BRX at 0x0030 leads is unknown"):
        machine(JUMP).follow(ThreadInputs({0x210: 0, **table}, {}))
