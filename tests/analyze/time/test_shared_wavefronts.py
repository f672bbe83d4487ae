"""Wavefronts of shared memory, against Nsight Compute's on an H200 and by hand."""

import base64
import json
import lzma
from collections import Counter
from functools import cache
from itertools import islice, product
from math import prod
from typing import Any

import msgspec
import pytest

from irlens.analyze import sass_cfg
from irlens.analyze.banks import most_words_in_a_bank
from irlens.analyze.time import launched
from irlens.analyze.time.launched import Arguments, follow, inputs, lanes
from irlens.analyze.time.paths import PathFinder
from irlens.analyze.time.shared_wavefronts import Wavefronts, wavefronts
from irlens.analyze.traffic.accesses import public_function
from irlens.artifacts import cubin
from irlens.artifacts.tools import disassemble
from irlens.isa import sass
from irlens.isa.mlir import parse
from irlens.isa.sass.operands import ThreadInputs
from tests.analyze.h200_launches import DATA, WAVE, artifact, launches, listing

LOADS, STORES = ("LDS", "LDSM"), ("STS", "STSM")
#: Launches whose accesses meet none of the matrix products that read shared memory meanwhile.
KINDS = ("transpose", "softmax_row", "softmax_persistent", "rms_loop", "col_sum", "cumsum",
         "matmul", "matmul_small")  # fmt: skip


def measured(kind: str, skip: int = 0) -> Any:
    counter = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"
    rows = (row for row in launches() if row["name"] == kind and row["ncu"][counter])
    return next(islice(rows, skip, None))


def code_of(launch: dict[str, Any]) -> tuple[PathFinder, cubin.Kernel, Arguments]:
    section = sass.parse(listing(launch)).sections[0]
    module = parse(artifact(launch, "ttir").decode(), stage="ttir")
    names = public_function(module).regions[0].blocks[0].arguments
    x, y, z = launch["grid"]
    arguments = Arguments(
        tuple(each.name.removeprefix("%") for each in names),
        {n: v for n, v in launch["args"].items() if isinstance(v, int | float)},
        (x, y, z),
        launch["block"][0] // 32,
    )
    kernel = cubin.read(artifact(launch, "cubin")).kernels[0]
    return PathFinder(section, sass_cfg.build(section)), kernel, arguments


def count(
    launch: dict[str, Any],
    code: tuple[PathFinder, cubin.Kernel, Arguments] | None = None,
    grid: tuple[int, ...] = (),
) -> dict[str, Wavefronts]:
    """All wavefronts of a launch, by direction, each warp of a CTA followed.

    Programs of a persistent kernel have different shares of the rows: all of them are followed.
    """
    machine, kernel, arguments = code or code_of(launch)
    section, flow = machine.section, machine.flow
    launch_inputs = inputs(kernel, arguments)
    sums = {"ld": (0.0, 0.0), "st": (0.0, 0.0)}
    persistent = launch["name"] == "softmax_persistent"
    programs = list(product(*map(range, arguments.grid))) if persistent else [(0, 0, 0)]
    ctas = follow(machine, kernel, arguments, programs)
    alike = Counter(tuple(each.path for each in cta) for cta in ctas)
    for cta in {tuple(each.path for each in cta): cta for cta in ctas}.values():
        share = alike[tuple(each.path for each in cta)] / len(ctas) * prod(grid or launch["grid"])
        for warp, each in enumerate(path for path in cta for _ in range(path.of_cta)):
            found = wavefronts(machine.data, each.path, lanes(launch_inputs, warp))[0]
            for block, times in each.counts.items():
                for index in flow.blocks[block].indices:
                    opcode = section.instructions[index].opcode
                    if opcode in LOADS + STORES:
                        way = "ld" if opcode in LOADS else "st"
                        total, conflicts = sums[way]
                        one, scale = found[index], times * share
                        sums[way] = total + one.total * scale, conflicts + one.conflicts * scale
    return {way: Wavefronts(*both) for way, both in sums.items()}


@pytest.mark.parametrize("kind", KINDS)
def test_wavefronts_are_those_that_an_h200_counted(kind: str) -> None:
    launch = measured(kind)
    for way, found in count(launch).items():
        counted = launch["ncu"]
        total = counted[f"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{way}.sum"]
        conflicts = counted[f"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{way}.sum"]
        # Without conflicts of any kind both count the same.
        assert found.total - found.conflicts == pytest.approx(total - conflicts, rel=0.002)
        # What the lanes' addresses cause is among what is counted, traffic of others the rest.
        assert found.conflicts <= conflicts * 1.0001
        if kind in ("col_sum", "matmul", "matmul_small"):
            assert found.total == pytest.approx(total, rel=0.01)


def _meets(launch: dict[str, Any], machine: PathFinder) -> bool:
    """Whether wgmma of one CTA reads shared memory while another one of its SM accesses it."""
    limits = ("registers", "shared_mem", "warps")
    several = min(launch["ncu"][f"launch__occupancy_limit_{each}"] for each in limits) > 1
    return (
        several
        and prod(launch["grid"]) > WAVE
        and any(each.opcode == "HGMMA" for each in machine.section.instructions)
    )


@cache
def alone() -> dict[int, dict[str, Any]]:
    """What an H200 counts of a launch cut to as many CTAs as it has SMs, by the launch's number."""
    rows: list[dict[str, Any]] = json.loads((DATA / "alone.json").read_bytes())
    return {row["launch"]: row for row in rows}


@pytest.mark.slow
def test_every_launch_has_the_wavefronts_that_an_h200_counted() -> None:
    """Where CTAs with wgmma share an SM, it counts up to 2.2 times as many.

    Neither the stages nor the tile of a kernel tell how much: it depends on when an access of one
    meets a product of another that reads shared memory. Those are held against the same code with
    one CTA on each SM, of which the counter is exact.
    """
    compared = 0
    for number, launch in enumerate(launches()):
        counted = launch["ncu"]
        name = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{}.sum"
        if not counted[name.format("st")]:
            continue
        code, grid = code_of(launch), ()
        if _meets(launch, code[0]):
            grid = tuple(alone()[number]["grid"])
        for way, found in count(launch, code, grid).items():
            conflicts = counted[f"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{way}.sum"]
            total = counted[name.format(way)]
            if grid:
                total, conflicts = alone()[number][way]
            assert found.total - found.conflicts == pytest.approx(total - conflicts, rel=0.004)
            assert found.conflicts <= conflicts * 1.0001
            compared += bool(total)
    assert compared == 330


def test_the_first_warps_of_a_program_stand_for_all() -> None:
    launch = measured("col_sum")
    machine, kernel, arguments = code_of(launch)
    cta = follow(machine, kernel, arguments)[0]
    found = launched.wavefronts(machine, kernel, arguments, cta)
    total = sum(
        found[index].total * times * each.of_cta
        for each in cta
        for block, times in each.counts.items()
        for index in machine.flow.blocks[block].indices
        if index in found
    )
    counted = sum(
        launch["ncu"][f"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{way}.sum"]
        for way in ("ld", "st")
    )
    assert total * prod(launch["grid"]) == pytest.approx(counted, rel=0.01)


def test_columns_conflict_and_equal_words_do_not() -> None:
    assert most_words_in_a_bank([4 * lane for lane in range(32)], 4) == 1
    assert most_words_in_a_bank([128 * lane for lane in range(32)], 4) == 32
    assert most_words_in_a_bank([132 * lane for lane in range(32)], 4) == 1
    assert most_words_in_a_bank([64] * 32, 4) == 1
    assert most_words_in_a_bank([16 * lane for lane in range(8)], 16) == 1
    assert most_words_in_a_bank([], 4) == 0


def access(instruction: str, address: str = "SHF.L.U32 R2, R0, 0x2, RZ") -> Wavefronts | None:
    text = f"""
.section .text.k,"ax",@progbits
k:
.text.k:
        /*0000*/                   S2R R0, SR_TID.X ;
        /*0010*/                   {address} ;
        /*0020*/                   ISETP.GE.AND P0, PT, R0, 0x1, PT ;
        /*0030*/              {instruction} ;
        /*0040*/                   EXIT ;
"""
    section = sass.parse(text).sections[0]
    machine = PathFinder(section, sass_cfg.build(section))
    warp = lanes(ThreadInputs({}, {}), 0)
    return wavefronts(machine.data, machine.follow(warp[0]), warp)[0].get(3)


@pytest.mark.parametrize(
    ("instruction", "shift", "total", "conflicts"),
    [
        ("LDS R4, [R2]", 2, 1, 0),
        ("LDS R4, [R2+0x80]", 3, 2, 1),
        ("STS [R2.X4+-0x4], R9", 2, 4, 3),
        ("LDS.64 R4, [R2]", 3, 2, 0),
        ("LDS.128 R4, [R2]", 4, 4, 0),
        ("LDS.128 R4, [UR4]", 4, None, None),  # the register is not set
        ("LDS.128 R4, [RZ+0x40]", 4, 2, 0),  # of all lanes the same
        ("@!P0 STS [R2], R9", 7, 1, 0),  # of one lane
        ("STS.64 [RZ+0x40], R8", 2, 1, 0),  # of all lanes the same
        ("@!PT LDS RZ, [RZ]", 2, 0, 0),
        ("LDSM.16.M88.4 R4, [R2]", 4, 4, 0),
        ("LDSM.16.M88.2 R4, [R2]", 7, 16, 14),
    ],
)
def test_an_access_is_split_into_wavefronts(
    instruction: str, shift: int, total: int | None, conflicts: int | None
) -> None:
    found = access(instruction, f"SHF.L.U32 R2, R0, {shift:#x}, RZ")
    expected = None if total is None or conflicts is None else Wavefronts(total, conflicts)
    assert found == expected


def test_an_address_that_is_loaded_is_unknown() -> None:
    assert access("LDS R4, [R2]", "LDG.E R2, desc[UR4][R6.64]") is None


@cache
def by_instruction() -> list[dict[str, Any]]:
    """What Nsight Compute counts of each instruction on an H100, other traffic left out."""
    with lzma.open(DATA.parent / "h100" / "shared_wavefronts.json.xz") as file:
        rows: list[dict[str, Any]] = json.load(file)["launches"]
    return rows


@pytest.mark.parametrize("number", range(10))
def test_each_instruction_takes_what_an_h100_counts(number: int) -> None:
    launch = by_instruction()[number]
    content = base64.b64decode(launch["cubin"])
    section = sass.parse(disassemble(content)).sections[0]
    machine = PathFinder(section, sass_cfg.build(section))
    kernel = cubin.read(content).kernels[0]
    x, y, z = launch["grid"]
    arguments = Arguments(tuple(launch["names"]), {"n": 2048}, (x, y, z), launch["warps"])
    found = dict.fromkeys(map(int, launch["wavefronts"]), 0.0)
    for each in follow(machine, kernel, arguments)[0]:
        for warp in range(each.first, each.first + each.of_cta):
            one = msgspec.structs.replace(each, first=warp, of_cta=1)
            wavefronts_of = launched.wavefronts(machine, kernel, arguments, [one])
            for block, times in each.counts.items():
                for index in machine.flow.blocks[block].indices:
                    if index in found:
                        found[index] += wavefronts_of[index].total * times * x * y * z
    for index, counted in launch["wavefronts"].items():
        instruction = section.instructions[int(index)]
        if instruction.opcode == "LDGSTS" and "BYPASS" not in instruction.modifiers:
            # Copies of 4 bytes by way of the L1: two more each, where they load at all.
            assert 0.75 * counted <= found[int(index)] <= counted
        else:
            assert found[int(index)] == counted
