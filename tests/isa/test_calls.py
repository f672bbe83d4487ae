"""Kernels with the functions that they call, in PTX and AMD's assembly."""

import lzma
from pathlib import Path

import pytest

from irlens.analyze import cfg, pressure
from irlens.analyze.graph import find_loops
from irlens.isa import amdgcn, ptx
from irlens.isa.calls import MOST_LEVELS
from irlens.isa.dialect import instruction_mix
from irlens.model.source import SourceLocation

pytestmark = pytest.mark.stored

DATA = Path(__file__).parents[1] / "data" / "calls"

LOOP = """
.func (.param .b32 r) work(.param .b32 n)
{
 .reg .pred %p<2>; .reg .b32 %r<4>;
 .loc 1 5 0
 ld.param.b32 %r1, [n];
$L1:
 .loc 1 6 0
 add.s32 %r1, %r1, -1; setp.gt.s32 %p1, %r1, 0; @%p1 bra $L1;
 st.param.b32 [r], %r1;
 ret;
}
"""


def _call(name: str, line: int, comes_from: str = "%r1") -> str:
    return (
        f" .loc 1 {line} 0\n {{ .param .b32 a; .param .b32 b; st.param.b32 [a], {comes_from};"
        f" call.uni (b), {name}, (a); ld.param.b32 %r2, [b]; }}\n"
    )


def _kernel(body: str, functions: str = LOOP) -> ptx.Function:
    text = (
        '.version 8.0\n.target sm_80\n.address_size 64\n.file 1 "k.py"\n'
        f"{functions}.visible .entry k(.param .u32 n)\n{{\n"
        " .reg .pred %p<2>; .reg .b32 %r<9>;\n ld.param.u32 %r1, [n]; mov.b32 %r4, 0;\n"
        f"{body} ret;\n}}\n"
    )
    (kernel,) = ptx.parse(text).kernels
    return kernel


def _depths(kernel: ptx.Function | amdgcn.Function) -> dict[int, int]:
    """The loops around each line of the text, in the first of its copies."""
    flow = cfg.build(kernel)
    forest = find_loops(flow.successors)
    found: dict[int, int] = {}
    for number, block in enumerate(flow.ranges):
        for index in block:
            found.setdefault(kernel.instructions[index].line, forest.depth(number))
    return found


def test_a_called_loop_is_the_kernels() -> None:
    kernel = _kernel(_call("work", 9))
    assert kernel.expansion is not None
    assert kernel.expansion.unknown == ""
    branch = next(each for each in kernel.instructions if each.opcode == "bra")
    assert [str(each) for each in branch.locations] == ["k.py:6", "k.py:9"]
    assert set(_depths(kernel).values()) == {0, 1}
    assert instruction_mix(kernel).total == len(kernel.instructions) == 12


def test_a_call_in_a_loop_is_in_it() -> None:
    again = " add.s32 %r4, %r4, 1; setp.lt.s32 %p1, %r4, %r1; @%p1 bra $L2;\n"
    kernel = _kernel("$L2:\n" + _call("work", 9) + again)
    branch, *_ = (each for each in kernel.instructions if each.opcode == "bra")
    assert _depths(kernel)[branch.line] == 2
    # %r1 and %r4 of the kernel live through the call, beside %r1 of the function.
    found = pressure.analyze(kernel, cfg.build(kernel))
    assert found.peak == 3
    assert found.source == SourceLocation("k.py", 9)


def test_a_function_that_is_called_twice_counts_once_and_runs_twice() -> None:
    kernel = _kernel(_call("work", 9) + _call("work", 10))
    callers = {each.locations[-1].line for each in kernel.instructions if each.opcode == "bra"}
    assert callers == {9, 10}
    assert len(find_loops(cfg.build(kernel).successors).loops) == 2
    assert instruction_mix(kernel).total == 15  # those of the function once
    assert instruction_mix(kernel).classes["control"] == 5


def test_calls_nest() -> None:
    outer = LOOP.replace("work", "outer").replace("$L1:", "$L1:\n" + _call("work", 7))
    kernel = _kernel(_call("outer", 9), LOOP + outer)
    inner = [each for each in kernel.instructions if each.opcode == "bra"]
    assert [len(each.locations) for each in inner] == [3, 2]
    assert [_depths(kernel)[each.line] for each in inner] == [2, 1]


@pytest.mark.parametrize(
    ("body", "functions", "reason"),
    [
        (_call("gone", 9), LOOP, "gone is not in this text"),
        (_call("%rd1", 9), LOOP, "its target is in a register"),
        (_call("work", 9), LOOP.replace("$L1:", "$L1:\n" + _call("work", 7)), "work calls itself"),
    ],
)
def test_a_call_that_cannot_be_followed_is_unknown(body: str, functions: str, reason: str) -> None:
    kernel = _kernel(body, functions)
    assert kernel.expansion is not None
    assert kernel.expansion.unknown.endswith(f"runs ({reason})")
    found = pressure.analyze(kernel, cfg.build(kernel))
    assert found.peak is None
    assert reason in found.reason


def test_the_drivers_functions_are_known() -> None:
    kernel = _kernel(_call("vprintf", 9))
    assert cfg.build(kernel).unknown == ""
    assert kernel.local_arrays() == ()
    assert kernel.declared_local_bytes() is None  # it needs room of its own


def test_calls_are_followed_up_to_a_bound() -> None:
    chain = "".join(
        LOOP.replace("work", f"f{n}").replace("$L1:", "$L1:\n" + _call(f"f{n + 1}", 7))
        for n in range(MOST_LEVELS)
    )
    kernel = _kernel(_call("f0", 9), chain + LOOP.replace("work", f"f{MOST_LEVELS}"))
    assert kernel.expansion is not None
    assert "too many calls" in kernel.expansion.unknown


def test_small_functions_that_call_each_other_are_copied_up_to_a_number() -> None:
    functions = "".join(
        f".func f{n}()\n{{ call f{n + 1}; call f{n + 1}; ret; }}\n" for n in range(MOST_LEVELS)
    )
    kernel = _kernel("call f0;", functions + f".func f{MOST_LEVELS}() {{ ret; }}\n")
    assert kernel.expansion is not None
    assert len(kernel.expansion.copies) <= 1 << 14
    assert "too many calls" in kernel.expansion.unknown


@pytest.mark.parametrize(
    ("name", "levels", "copies"),
    [
        ("outer_39_gfx942", {1, 2}, 2),
        ("nested_39_gfx942", {1, 2, 3}, 21),
        ("nested_39_gfx1201", {1, 2, 3}, 21),
        ("many_39_gfx1100", {1, 2}, 5),
    ],
)
def test_functions_of_amd_are_found_by_their_address(
    name: str, levels: set[int], copies: int
) -> None:
    """Eight unrolled calls in a loop, one in the rest of it, one behind: of two functions."""
    text = lzma.decompress((DATA / f"{name}.amdgcn.xz").read_bytes()).decode()
    program = amdgcn.parse(text)
    (kernel,) = program.kernels
    assert kernel.expansion is not None
    assert kernel.expansion.unknown == ""
    assert len(kernel.expansion.copies) == copies
    assert {_level(kernel, number) for number in range(copies)} == levels
    operations = sum(len(i.operations) for one in program.functions for i in one.instructions)
    assert instruction_mix(kernel).total == operations
    assert pressure.analyze(kernel, cfg.build(kernel)).peak


def _level(kernel: amdgcn.Function, copy: int) -> int:
    """How many functions are active in a copy, the kernel among them."""
    assert kernel.expansion is not None
    caller = kernel.expansion.copies[copy].caller
    return 1 if caller < 0 else 1 + _level(kernel, caller)


CALLER = """
\t.type f,@function
f:
\tv_add_u32_e32 v0, v0, v1
\ts_setpc_b64 s[30:31]
.Lfunc_end0:
\t.type g,@function
g:
\ts_getpc_b64 s[16:17]
\ts_add_u32 s16, s16, f@rel32@lo+4
\ts_addc_u32 s17, s17, f@rel32@hi+12
\ts_setpc_b64 s[16:17]
.Lfunc_end1:
\t.type k,@function
k:
\ts_getpc_b64 s[4:5]
\ts_add_u32 s4, s4, g@rel32@lo+4
\ts_addc_u32 s5, s5, g@rel32@hi+12
.L1:
\ts_mov_b64 s[6:7], s[4:5]
\ts_swappc_b64 s[30:31], s[6:7]
\ts_cbranch_scc1 .L1
EXTRA\ts_endpgm
.Lfunc_end2:
\t.amdhsa_kernel k
\t.end_amdhsa_kernel
"""


def test_a_call_of_amd_that_leaves_its_function() -> None:
    (kernel,) = amdgcn.parse(CALLER.replace("EXTRA", "")).kernels
    assert kernel.expansion is not None
    assert kernel.expansion.unknown == ""
    assert [each.function.name for each in kernel.expansion.copies] == ["k", "g", "f"]
    add = next(each for each in kernel.instructions if each.mnemonic.startswith("v_add"))
    assert _depths(kernel)[add.line] == 1


@pytest.mark.parametrize(
    "extra",
    [
        "\ts_add_u32 s4, s4, f@rel32@lo+4\n",  # another function's address comes around
        "\ts_load_dwordx2 s[8:9], s[0:1], 0x0\n\ts_swappc_b64 s[30:31], s[8:9]\n",
    ],
)
def test_a_call_of_amd_through_an_unknown_address(extra: str) -> None:
    branch = "\ts_cbranch_scc1 .L1\n"
    text = CALLER.replace("EXTRA", "").replace(branch, extra + branch)
    (kernel,) = amdgcn.parse(text).kernels
    assert kernel.expansion is not None
    assert "its target is in a register" in kernel.expansion.unknown
    assert cfg.build(kernel).unknown


FAR_BRANCH = """
\t.type k,@function
k:
\tv_mov_b32_e32 v0, 0
.LBB0_1:
\tv_add_u32_e32 v0, v0, v1
\ts_cbranch_scc0 .LBB0_2
\ts_getpc_b64 s[30:31]
.Lpost_getpc0:
\ts_add_u32 s30, s30, (.LBB0_1-.Lpost_getpc0)&4294967295
\ts_addc_u32 s31, s31, (.LBB0_1-.Lpost_getpc0)>>32
\ts_setpc_b64 s[30:31]
.LBB0_2:
\ts_endpgm
.Lfunc_end0:
\t.amdhsa_kernel k
\t.end_amdhsa_kernel
"""


def test_a_far_branch_of_amd_is_no_call() -> None:
    """LLVM reaches labels that are more than 128 KB away so: it was an unknown function."""
    (kernel,) = amdgcn.parse(FAR_BRANCH).kernels
    assert kernel.expansion is None
    assert not cfg.build(kernel).unknown
    add, jump = kernel.instructions[1], kernel.instructions[-2]
    assert jump.mnemonic == "s_setpc_b64"
    assert _depths(kernel)[add.line] == _depths(kernel)[jump.line] == 1


@pytest.mark.parametrize(
    ("written", "instead"),
    [
        ("(.LBB0_1-.Lpost_getpc0)>>32", "s9"),
        ("\ts_getpc_b64 s[30:31]\n", ""),
        ("(.LBB0_1-.Lpost_getpc0)>>32", "(.LBB0_2-.Lpost_getpc0)>>32"),
    ],
)
def test_a_jump_to_another_address_stays_unknown(written: str, instead: str) -> None:
    text = FAR_BRANCH.replace("s[30:31]", "s[8:9]").replace("s30", "s8").replace("s31", "s9")
    text = text.replace(written.replace("s[30:31]", "s[8:9]"), instead)
    (kernel,) = amdgcn.parse(text).kernels
    assert cfg.build(kernel).unknown
