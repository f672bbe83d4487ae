"""Names of SSA values, which mean something else in each region."""

import tracemalloc

import pytest

from irlens.isa import mlir
from irlens.isa.mlir import Operation
from irlens.isa.mlir.tokens import Tokens
from irlens.isa.mlir.values import Value

pytestmark = pytest.mark.stored

# Triton 3.9's form of a persistent matmul on sm_100: %a is defined in the default region, and
# again as an argument of each partition.
WARP_SPECIALIZED = """\
module attributes {"ttg.num-warps" = 4 : i32} {
  tt.func public @k(%n: i32) {
    %x = arith.addi %n, %n : i32
    %y = arith.muli %n, %n : i32
    ttg.warp_specialize(%x, %y)
    default {
      %a = arith.subi %n, %n : i32
      "reads.default"(%a) : (i32) -> ()
      ttg.warp_yield
    }
    partition0(%a: i32, %b: i32) num_warps(4) {
      "reads.first"(%a, %b) : (i32, i32) -> ()
      ttg.warp_return
    }
    partition1(%b: i32, %a: i32) num_warps(4) {
      "reads.second"(%a, %b) : (i32, i32) -> ()
      ttg.warp_return
    } : (i32, i32) -> ()
    "reads.after"(%x, %a) : (i32, i32) -> ()
    tt.return
  }
}
"""


def test_each_region_has_its_own_names() -> None:
    module = mlir.parse(WARP_SPECIALIZED, stage="ttgir")
    values = module.values
    at = {operation.name: operation for operation in module.operations}

    def read(name: str) -> tuple[Value | None, ...]:
        return values.operands[at[name].index]

    def result(operation: Operation) -> Value:
        return Value(operation.index, 0)

    split = at["ttg.warp_specialize"].index
    assert read("ttg.warp_specialize") == (result(at["arith.addi"]), result(at["arith.muli"]))
    assert read("reads.default") == (result(at["arith.subi"]),)
    assert read("reads.first") == (Value(split, 0, 1), Value(split, 1, 1))
    assert read("reads.second") == (Value(split, 1, 2), Value(split, 0, 2))
    assert read("reads.after") == (result(at["arith.addi"]), None)


def test_operations_by_name_and_deed_stand_in_the_order_of_the_text() -> None:
    module = mlir.parse(WARP_SPECIALIZED, stage="ttgir")
    wanted = ("arith.subi", "arith.addi", "arith.muli", "arith.subi", "x.absent")
    assert [each.name for each in module.named(*wanted)] == [
        "arith.addi", "arith.muli", "arith.subi",
    ]  # fmt: skip
    assert [each.does for each in module.doing("multiply", "add", "add")] == ["add", "multiply"]
    assert module.values is module.values


def test_a_token_takes_little_memory() -> None:
    tracemalloc.start()
    tokens = Tokens("loc(callsite(" * 20_000 + "))" * 20_000, "ttgir")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 90 * len(tokens.values)  # it was 133
