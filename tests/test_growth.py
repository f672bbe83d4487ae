"""Work grows with the input, not with its square: each pattern is doubled.

Counted are calls of Python functions, which a machine's load does not change.
"""

import sys
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any

import pytest

from irlens.analyze import ttgir_loads
from irlens.analyze.layout_conversions import find_conversions
from irlens.artifacts.load import load_bytes
from irlens.isa import mlir
from irlens.isa.mlir import Module
from irlens.report import inspect

#: Of four times the input. Quadratic work would be sixteen times as much.
MOST = 5.0
SIZE = 150

PTX = (
    ".version 8.4\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 p)\n"
    '.reqntid 128\n{\n.reg .b32 %r<9>;\n.reg .pred %p<9>;\n.file 1 "a.py"\n',
    "\nret;\n}\n",
)
AMDGCN = (
    '.amdgcn_target "amdgcn-amd-amdhsa--gfx942"\n.text\n.globl k\n.type k,@function\nk:\n'
    '.file 1 "/x" "a.py"\n.loc 1 1 1\n',
    "\ns_endpgm\n.Lfunc_end0:\n.size k, .Lfunc_end0-k\n.amdhsa_kernel k\n.end_amdhsa_kernel\n",
)
MLIR = (
    'module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} {\n'
    "  tt.func public @k(%arg0: !tt.ptr<f32>, %a: i32) {\n",
    "\n    tt.return\n  }\n}\n",
)
COPY = "cp.async.cg.shared.global [%r1],[%r2],16;\ncp.async.commit_group;\n"
WAIT = "cp.async.wait_group 1;\n"
LOAD = "global_load_dwordx4 v[0:3], v[4:5], off\n"


def loops_in_a_row(count: int) -> str:
    return "".join(f".loc 1 {n + 1} 1\nL{n}:\n@%p1 bra L{n};\n" for n in range(count))


def pipelined_loops_at_one_line(count: int) -> str:
    return "".join(f".loc 1 1 1\nL{n}:\n{COPY}{WAIT}@%p1 bra L{n};\n" for n in range(count))


def nested_loops(count: int) -> str:
    down = reversed(range(count))
    return "".join(f"L{n}:\n{COPY}{WAIT}" for n in range(count)) + "".join(
        f"@%p1 bra L{n};\n" for n in down
    )


def irreducible_flow(count: int) -> str:
    return "@%p1 bra M0;\n" + "".join(
        f"L{n}:\nadd.s32 %r1,%r2,%r3;\nM{n}:\nadd.s32 %r1,%r2,%r3;\n"
        f"@%p2 bra M{(n + 1) % count};\n@%p1 bra L{n};\n"
        for n in range(count)
    )


def groups_in_one_loop(count: int) -> str:
    return f"L0:\n{COPY * count}{WAIT}@%p1 bra L0;\n"


def groups_and_waits_in_one_loop(count: int) -> str:
    return f"L0:\n{(COPY + WAIT) * count}@%p1 bra L0;\n"


def values_of_two_branches(count: int) -> str:
    branches = (
        f"@%p1 bra A{n};\nadd.s32 %q{n},%r1,%r2;\nbra B{n};\nA{n}:\nadd.s32 %q{n},%r2,%r2;\nB{n}:\n"
        for n in range(count)
    )
    uses = (f"add.s32 %r1,%r1,%q{n};\n" for n in range(count))
    return f".reg .b32 %q<{count}>;\n" + "".join((*branches, *uses))


def amd_loops_in_a_row(count: int) -> str:
    return "".join(
        f".L{n}:\n{LOAD}s_waitcnt vmcnt(0)\nv_add_f32 v1, v2, v0\ns_cbranch_scc1 .L{n}\n"
        for n in range(count)
    )


def amd_loads_and_waits_in_one_loop(count: int) -> str:
    waits = (f"s_waitcnt vmcnt({n % 60})\nv_add_f32 v1, v2, v3\n" for n in range(count))
    return f".L0:\n{LOAD * count}{''.join(waits)}s_cbranch_scc1 .L0\n"


def products_of_one_loop(count: int) -> str:
    types = "tensor<16x16xf16, #a> * tensor<16x16xf16, #b> -> tensor<16x16xf32, #c>"
    products = (f"%d{n} = tt.dot %x, %y, %z : {types}\n" for n in range(count))
    return f"scf.for %i = %a to %a step %a : i32 {{\n{''.join(products)}}}\n"


def nested_source_loops(count: int) -> str:
    return "scf.for %i = %a to %a step %a : i32 {\n" * count + "}\n" * count


@pytest.mark.parametrize(
    ("frame", "pattern"),
    [
        (PTX, loops_in_a_row),
        (PTX, pipelined_loops_at_one_line),
        (PTX, nested_loops),
        (PTX, irreducible_flow),
        (PTX, groups_in_one_loop),
        (PTX, groups_and_waits_in_one_loop),
        (PTX, values_of_two_branches),
        (MLIR, products_of_one_loop),
        (MLIR, nested_source_loops),
        (AMDGCN, amd_loops_in_a_row),
        (AMDGCN, amd_loads_and_waits_in_one_loop),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_work_grows_with_the_input(frame: tuple[str, str], pattern: Callable[[int], str]) -> None:
    def text(count: int) -> bytes:
        return (frame[0] + pattern(count) + frame[1]).encode()

    calls_of(text(8))  # imports, and what is computed once
    base = calls_of(text(8))
    small, large = calls_of(text(SIZE)) - base, calls_of(text(4 * SIZE)) - base
    assert large < MOST * small


def calls_of(content: bytes) -> int:
    """Return how many calls an inspection makes, those of a generator's next element included."""
    calls = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    (capture,) = load_bytes(content, name="k")
    sys.setprofile(count)
    try:
        inspect(capture)
    finally:
        sys.setprofile(None)
    return calls


def conversions_in_loops(count: int) -> str:
    layouts = "tensor<16x16xf16, #a> -> tensor<16x16xf16, #b>"
    return "".join(
        f"scf.for %i = %a to %a step %a : i32 {{\n%c{n} = ttg.convert_layout %x : {layouts}\n}}\n"
        for n in range(count)
    )


def copies_and_products_in_loops(count: int) -> str:
    buffer = "!ttg.memdesc<16x16xf16, #s, #smem, mutable>"
    types = "tensor<16x16xf16, #a> * tensor<16x16xf16, #b> -> tensor<16x16xf32, #c>"
    return f"%m = ttg.local_alloc : () -> {buffer}\n" + "".join(
        "scf.for %i = %a to %a step %a : i32 {\n"
        f"%p{n} = ttg.async_copy_global_to_local %arg0, %m : tensor<16x16x!tt.ptr<f16>, #a>"
        " -> <16x16xf16, #s, #smem, mutable>\n"
        f"%l{n} = ttg.local_load %m : {buffer} -> tensor<16x16xf16, #a>\n"
        f"%d{n} = tt.dot %l{n}, %l{n}, %z : {types}\n}}\n"
        for n in range(count)
    )


@pytest.mark.parametrize(
    ("pattern", "analyze"),
    [
        (conversions_in_loops, lambda module: list(find_conversions(module))),
        (copies_and_products_in_loops, lambda module: ttgir_loads.find(module, 3)),
    ],
)
def test_steps_of_an_analysis_grow_with_the_input(
    pattern: Callable[[int], str], analyze: Callable[[Module], object]
) -> None:
    def steps(count: int) -> int:
        return steps_of(partial(analyze, mlir.parse(pattern(count).join(MLIR), stage="ttgir")))

    steps(8)
    assert steps(200) < MOST * steps(50)


def steps_of(call: Callable[[], object]) -> int:
    """Return how many instructions of Python a call takes: comprehensions call nothing."""
    steps = 0

    def step(frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal steps
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        steps += event == "opcode"
        return step

    sys.settrace(step)
    try:
        call()
    finally:
        sys.settrace(None)
    return steps
