"""The arguments that a kernel writes through, by the kernels of the samples' sources."""

import pytest

from irlens.analyze.address_slice import written_arguments

HEAD = (
    "module {\n  tt.func public @k(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %n: i32) attributes "
    "{noinline = false} {\n"
)
TAIL = "    tt.return\n  }\n}\n"
LOOP = """
    %c = arith.constant 1 : i32
    %v = tt.load %x : !tt.ptr<f32>
    %p = scf.for %i = %c to %n step %c iter_args(%a = %y) -> (!tt.ptr<f32>)  : i32 {
      %next = tt.addptr %a, %c : !tt.ptr<f32>, i32
      scf.yield %next : !tt.ptr<f32>
    }
    tt.store %p, %v : !tt.ptr<f32>
"""
BRANCH = """
    %c = arith.cmpi slt, %n, %n : i32
    %p = scf.if %c -> (!tt.ptr<f32>) {
      scf.yield %x : !tt.ptr<f32>
    } else {
      scf.yield %y : !tt.ptr<f32>
    }
    %v = arith.constant 0.0 : f32
    %t = arith.constant true
    %r = tt.atomic_rmw fadd, acq_rel, gpu, %p, %v, %t : (!tt.ptr<f32>, f32, i1) -> f32
"""
CALL = "    tt.call @other(%x) : (!tt.ptr<f32>) -> ()\n"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("    %v = tt.load %x : !tt.ptr<f32>\n    tt.store %y, %v : !tt.ptr<f32>\n", {1}),
        (LOOP, {1, 2}),  # the trip count too: nobody passes a tensor there
        (BRANCH, {0, 1, 2}),  # and what decides
        (CALL, {0}),
        ("", set()),
    ],
)
def test_written_arguments(body: str, expected: set[int]) -> None:
    assert written_arguments(HEAD + body + TAIL, "ttir") == frozenset(expected)


def test_what_is_no_kernel_is_unknown() -> None:
    assert written_arguments("module {\n}\n", "ttir") is None
