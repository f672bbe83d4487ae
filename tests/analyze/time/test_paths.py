"""Paths of warps through machine code, against the instructions that an H200 executed."""

import json
import tarfile
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from irlens.analyze import sass_cfg
from irlens.analyze.time import units
from irlens.analyze.time.launched import Arguments, constants, follow
from irlens.analyze.time.operands import Launch
from irlens.analyze.time.paths import Machine, UnknownPathError
from irlens.artifacts import cubin
from irlens.artifacts.tools import disassemble
from irlens.isa import sass

ARCHIVE = Path(__file__).parents[2] / "data" / "h200" / "executed.tar.xz"
#: Relative difference that is allowed: warps poll a barrier of TMA, and a program that a sample
#: stands for has another number of rows or lanes.
SLACK = {"matmul_tma": 0.002, "cumsum": 0.012, "softmax_persistent": 0.002}


def read() -> tuple[dict[str, bytes], list[dict[str, Any]]]:
    with tarfile.open(ARCHIVE) as archive:
        files = {
            member.name: file.read() for member in archive if (file := archive.extractfile(member))
        }
    return files, json.loads(files["executed.json"])


def test_warps_execute_what_an_h200_counted() -> None:
    files, launches = read()
    assert len(launches) == 9
    for launch in launches:
        kernel = cubin.read(files[launch["cubin"]]).kernels[0]
        section = sass.parse(disassemble(files[launch["cubin"]])).sections[0]
        flow = sass_cfg.build(section)
        arguments = Arguments(
            tuple(launch["parameters"]), launch["values"], tuple(launch["grid"]), launch["warps"]
        )
        executed: defaultdict[str, float] = defaultdict(float)
        for cta in follow(Machine(section, flow), kernel, arguments):
            for each in cta:
                for block, times in each.counts.items():
                    for index in flow.blocks[block].indices:
                        instruction = section.instructions[index]
                        number = times * each.warps
                        executed["all"] += number
                        executed[units.unit(instruction)] += number * units.issues(instruction)
        name = launch["cubin"].removesuffix(".cubin")
        slack = SLACK.get(name, 0.0001)
        assert executed["all"] == pytest.approx(launch["instructions"], rel=slack), name
        for unit in ("alu", "fma", "xu"):
            # A rare instruction may be of another class: 1 % of all.
            difference = abs(executed[unit] - launch["units"][unit])
            assert difference <= 0.01 * launch["instructions"], (name, unit)


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


def machine(text: str) -> Machine:
    section = sass.parse(text).sections[0]
    return Machine(section, sass_cfg.build(section))


@pytest.mark.parametrize(("bound", "rounds"), [(1, 1), (3, 1), (4, 2), (3000, 1000)])
def test_a_loop_runs_until_its_counter_reaches_its_bound(bound: int, rounds: int) -> None:
    path = machine(LOOP).follow(Launch({0x210: bound}, {}))
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
        machine(text.replace("R0, UR4, PT", "R0, R4, PT")).follow(Launch({}, {}))


def test_a_loop_without_end_is_unknown() -> None:
    with pytest.raises(UnknownPathError, match="more than 400,000 blocks"):
        machine(LOOP.replace("0x3, RZ", "0x0, RZ")).follow(Launch({0x210: 8}, {}))


def test_parameters_are_in_the_constant_bank() -> None:
    files, launches = read()
    launch = next(each for each in launches if each["cubin"] == "matmul.cubin")
    kernel = cubin.read(files["matmul.cubin"]).kernels[0]
    words = constants(
        kernel,
        Arguments(tuple(launch["parameters"]), launch["values"], (1024, 1, 1), launch["warps"]),
    )
    assert (words[0x0], words[0xC]) == (launch["warps"] * 32, 1024)
    assert launch["parameters"][4] == "M"
    assert words[0x210 + 32] == 4096
