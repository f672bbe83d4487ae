"""Functions that SASS calls: loops around them, far branches, and what cannot be followed."""

import re
import subprocess
from pathlib import Path

import pytest

import irlens
from irlens.analyze import loops, sass_cfg, sass_pressure
from irlens.analyze.spills import find_spills
from irlens.artifacts import tools
from irlens.isa import sass

KERNELS = Path(__file__).parents[1] / "data" / "calls" / "kernels.py"


def _section(*lines: str) -> sass.Section:
    text, offset = '\t.section\t.text.k,"ax",@progbits\n\t.type k,@function\nk:\n', 0
    for line in lines:
        if line.endswith((":", "@function")):
            text += line + "\n"
        else:
            text += f"        /*{offset:04x}*/  {line} ;\n"
            offset += 16
    (section,) = sass.parse(text).sections
    return section


def _depths(section: sass.Section) -> list[int | None]:
    """The loops around each access to local memory."""
    accesses = section.stack_accesses()
    return [each.loop_depth for each in find_spills(section, accesses, sass_cfg.build(section))]


#: A function with a loop, which saves R4 in front of it and in it.
FUNCTION = (
    "\t.type f,@function",
    "f:",
    "STL [R1], R4",
    ".L_x_1:",
    "STL [R1], R4",
    "@P1 BRA `(.L_x_1)",
    "RET.REL.NODEC R2 `(k)",
)


def test_loops_around_a_call_are_around_its_function() -> None:
    assert _depths(
        _section(".L_x_0:", "MOV R2, 0x20", "CALL.REL.NOINC `(f)", "@P0 BRA `(.L_x_0)", "EXIT",
                 *FUNCTION)
    ) == [1, 2]  # fmt: skip


def test_of_several_calls_the_deepest_counts() -> None:
    twice = (".L_x_0:", "MOV R2, 0x20", "CALL.REL.NOINC `(f)", "@P0 BRA `(.L_x_0)",
             "MOV R2, 0x50", "CALL.REL.NOINC `(f)", "EXIT")  # fmt: skip
    assert _depths(_section(*twice, *FUNCTION)) == [1, 2]


def test_the_return_address_may_be_loaded_in_the_function() -> None:
    """ptxas does so where only one call leads there."""
    lines = ["CALL.REL.NOINC `(f)", "FADD R6, R6, R5", "EXIT",
             *(*FUNCTION[:-1], "MOV R2, 0x10", FUNCTION[-1])]  # fmt: skip
    section = _section(*lines)
    assert _depths(section) == [0, 1]
    registers, unknown = sass_pressure.occupied(section, sass_cfg.build(section))
    assert unknown == ""
    both = 1 << 5 | 1 << 6  # live through the call
    assert all(each & both == both for each in registers[:2])
    assert registers[3] & both == both


def test_a_far_branch_is_no_call() -> None:
    """Its address is loaded nowhere: ptxas for sm_80 leaves a loop that way."""
    section = _section(
        ".L_x_0:", "STL [R1], R4", "@P0 CALL.REL.NOINC `(.L_x_2)", "BRA `(.L_x_0)",
        ".L_x_2:", "STL [R1], R4", "EXIT",
    )  # fmt: skip
    flow = sass_cfg.build(section)
    assert [call.far_branch for call in flow.calls] == [True]
    assert flow.entries == (0,)
    assert _depths(section) == [1, 0]


def test_a_call_through_a_register_is_unknown() -> None:
    """It names the section, as RET does, and no function."""
    section = _section(
        ".L_x_0:", "MOV R20, 0x20", "CALL.REL.NOINC R2 `(k)", "@P0 BRA `(.L_x_0)", "EXIT", *FUNCTION
    )
    reason = "what the code outside that CALL at 0x0010 runs does"
    assert sass_cfg.build(section).unknown == reason
    assert sass_pressure.analyze(section, sass_cfg.build(section)).reason == reason
    assert _depths(section) == [None, None]


def test_functions_that_call_each_other_are_in_unknown_loops() -> None:
    itself = (*FUNCTION[:-1], "MOV R2, 0x80", "CALL.REL.NOINC `(f)", FUNCTION[-1])
    section = _section("MOV R2, 0x20", "CALL.REL.NOINC `(f)", "EXIT", *itself)
    assert _depths(section) == [None, None]


def test_loops_of_functions_are_found() -> None:
    section = _section("MOV R2, 0x20", "CALL.REL.NOINC `(f)", "EXIT", *FUNCTION)
    found = loops.find(section, sass_cfg.build(section))
    assert [found.header(n).label for n in range(len(found.forest.loops))] == [".L_x_1"]


@pytest.mark.parametrize("target", ["sm_80", "sm_90", "sm_100"])
@pytest.mark.parametrize("kernel", ["twice", "looped", "nested"])
def test_what_ptxas_makes_of_calls(kernel: str, target: str) -> None:
    """The loads of the function are in its loop, and in those around its calls."""
    capture = irlens.capture(f"{KERNELS}:{kernel}", target=target)
    report = irlens.inspect(capture, sass=True)
    assert not {"calls", "pressure.sass", "pressure.sass.peak"} & report.unknown.keys()
    registers = report.resources.registers
    assert report.pressure.sass is not None
    assert report.pressure.sass.peak is not None
    assert registers is not None
    assert registers - 12 <= report.pressure.sass.peak <= registers
    (section,) = sass.parse(tools.disassemble(capture.stages["cubin"].read())).sections
    flow = sass_cfg.build(section)
    depths = flow.loop_depths()
    loads = [
        depths[block]
        for block, indices in enumerate(flow.ranges)
        for index in indices
        if section.instructions[index].opcode == "LDG"
    ]
    assert max(filter(None, loads)) == (1 if kernel == "twice" else 2)
    (pipeline,) = report.pipelines
    assert str(pipeline.source) == "kernels.py:7"
    line = {"twice": (18, 19), "looped": (27,), "nested": (35, 36)}[kernel]
    assert report.pressure.ptx is not None
    assert report.pressure.ptx.source is not None
    assert report.pressure.ptx.source.line in line
    assert report.mix[0].functions_left_out == 0


def test_what_a_called_function_spills(tmp_path: Path) -> None:
    """All of it at the line that calls, in the loops of the function, as ptxas -v counts it."""
    capture = irlens.capture(f"{KERNELS}:spilling", target="sm_80")
    report = irlens.inspect(capture, sass=True)
    text, cubin = capture.stages["ptx"].text(), tmp_path / "k.cubin"
    (tmp_path / "k.ptx").write_text(text)
    said = subprocess.run(
        [tools.find("ptxas"), "-v", "-arch=sm_80", tmp_path / "k.ptx", "-o", cubin],
        capture_output=True, text=True, check=True,
    ).stderr  # fmt: skip
    spilled = [sum(map(int, re.findall(rf"(\d+) bytes spill {kind}", said)))
               for kind in ("stores", "loads")]  # fmt: skip
    assert report.spills is not None
    assert spilled == [
        sum(site.bytes or 0 for site in report.spills if site.kind == kind)
        for kind in ("store", "load")
    ]
    assert {site.source and site.source.line for site in report.spills} == {62}
    assert {site.loop_depth for site in report.spills} >= {0, 1}
    assert {"IRL105", "IRL106"} <= {finding.code for finding in report.findings}
    (pipeline,) = report.pipelines
    assert (pipeline.kind, pipeline.requested_stages, pipeline.achieved_stages) == (
        "cp.async", 2, 2,
    )  # fmt: skip
    assert report.traffic is not None
    assert report.traffic.load_sectors is not None
    assert report.traffic.tensor_flops == {"bf16": 2 * 2 * 128 * 128 * 4096 * 32}
