from irlens.analyze.address_slice import (
    ALL_BOUNDS,
    START_AND_STEP,
    argument_roles,
    computed_from,
    is_multiplied,
    pointer_sources,
)
from irlens.isa.mlir import Operation, parse

TTIR = """
module {
  tt.func public @k(%x: !tt.ptr<f32>, %s: i32, %h: i32, %n: i32, %z: i32) {
    %p = tt.get_program_id x : i32
    %row = arith.muli %p, %s : i32
    %at = arith.addi %row, %h : i32
    %in = arith.remsi %at, %n : i32
    %other = arith.addi %p, %z : i32
    %q = tt.addptr %x, %in : !tt.ptr<f32>, i32
    %v = tt.load %q : !tt.ptr<f32>
    tt.return
  }
}
"""


def test_parts_of_the_arguments_in_an_address() -> None:
    module = parse(TTIR, stage="ttir")
    (load,) = module.named("tt.load")
    assert argument_roles(module, load) == {
        "x": {"pointer"},
        "s": {"stride"},
        "h": {"shift"},
        "n": {"modulus"},
    }


def test_what_an_address_is_computed_from() -> None:
    module = parse(TTIR, stage="ttir")
    (load,) = module.named("tt.load")
    names = [each.results[0][0] for each in computed_from(module, load) if each.results]
    assert names == ["%p", "%row", "%at", "%in", "%q"]


LOOP = """
module {
  tt.func public @k(%x: !tt.ptr<f32>, %m: !tt.ptr<i32>, %c0: i32, %c1: i32) {
    %n = tt.load %m : !tt.ptr<i32>
    %a = tt.load %m : !tt.ptr<i32>
    %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%p = %x, %s = %a)
        -> (!tt.ptr<f32>, i32) : i32 {
      %o = arith.muli %i, %c1 : i32
      %q = tt.addptr %x, %o : !tt.ptr<f32>, i32
      %v = tt.load %q : !tt.ptr<f32>
      %w = tt.load %p : !tt.ptr<f32>
      %p1 = tt.addptr %p, %c1 : !tt.ptr<f32>, i32
      %s1 = arith.addi %s, %c1 : i32
      scf.yield %p1, %s1 : !tt.ptr<f32>, i32
    }
    tt.return
  }
}
"""


def test_a_loop_hands_each_value_on_by_itself() -> None:
    module = parse(LOOP, stage="ttir")
    _, _, numbered, carried = module.named("tt.load")

    def names(load: Operation, *, bounds: slice) -> list[str]:
        found = computed_from(module, load, 1, bounds=bounds)
        return [each.results[0][0] for each in found if each.does not in ("for", "function")]

    assert names(numbered, bounds=ALL_BOUNDS) == ["%n", "%o", "%q"]
    assert names(numbered, bounds=START_AND_STEP) == ["%o", "%q"], "where a loop ends is no address"
    assert names(carried, bounds=START_AND_STEP) == ["%p1"]


POINTERS = """
module {
  tt.func public @k(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %m: !tt.ptr<i32>, %b: i1, %c0: i32,
      %c1: i32) {
    %n = tt.load %m : !tt.ptr<i32>
    %long = tt.load %m : !tt.ptr<i64>
    %at = tt.addptr %x, %n : !tt.ptr<f32>, i32
    %indirect = tt.load %at : !tt.ptr<f32>
    %made = tt.int_to_ptr %long : i64 -> !tt.ptr<f32>
    %address = tt.addptr %made, %n : !tt.ptr<f32>, i32
    %loaded = tt.load %address : !tt.ptr<f32>
    %either = arith.select %b, %x, %y : !tt.ptr<f32>
    %chosen = tt.load %either : !tt.ptr<f32>
    %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%p = %x, %q = %y)
        -> (!tt.ptr<f32>, !tt.ptr<f32>) : i32 {
      %carried = tt.load %q : !tt.ptr<f32>
      %k = tt.load %m : !tt.ptr<i32>
      %p1 = tt.addptr %p, %c1 : !tt.ptr<f32>, i32
      %q1 = tt.addptr %q, %k : !tt.ptr<f32>, i32
      scf.yield %p1, %q1 : !tt.ptr<f32>, !tt.ptr<f32>
    }
    %one = scf.if %b -> (!tt.ptr<f32>) {
      scf.yield %x : !tt.ptr<f32>
    } else {
      scf.yield %made : !tt.ptr<f32>
    }
    %branched = tt.load %one : !tt.ptr<f32>
    tt.return
  }
}
"""


def test_pointers_are_followed_without_their_offsets() -> None:
    module = parse(POINTERS, stage="ttir")
    sources = {
        load.results[0][0]: [
            each.results[0][0] if isinstance(each, Operation) else each.name
            for each in pointer_sources(module, load)
        ]
        for load in module.named("tt.load")
    }
    assert sources == {
        "%n": ["%m"],
        "%long": ["%m"],
        "%indirect": ["%x"],
        "%loaded": ["%made"],
        "%chosen": ["%x", "%y"],
        "%carried": ["%y"],
        "%k": ["%m"],
        "%branched": ["%x", "%made"],
    }


PRODUCT = """
module {
  tt.func public @k(%a: tensor<16x16x!tt.ptr<f16>>, %c: tensor<16x16x!tt.ptr<f32>>) {
    %x = tt.load %a : tensor<16x16x!tt.ptr<f16>>
    %y = tt.load %a : tensor<16x16x!tt.ptr<f16>>
    %t = tt.trans %y {order = array<i32: 1, 0>} : tensor<16x16xf16> -> tensor<16x16xf16>
    %sum = tt.load %c : tensor<16x16x!tt.ptr<f32>>
    %d = tt.dot %x, %t, %sum : tensor<16x16xf16> * tensor<16x16xf16> -> tensor<16x16xf32>
    %bias = tt.load %c : tensor<16x16x!tt.ptr<f32>>
    tt.return
  }
}
"""


def test_the_factors_of_products_are_multiplied() -> None:
    """What a product adds to is no factor, and what is added to it later neither."""
    module = parse(PRODUCT, stage="ttir")
    loads = module.named("tt.load")
    assert [is_multiplied(module, each) for each in loads] == [True, True, False, False]
