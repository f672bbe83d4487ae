"""Edits of ttir: what is changed, and that nothing else is."""

import pytest

from irlens.analyze.mlir_loops import carried, carried_farther
from irlens.isa.mlir import Module, edits, parse
from irlens.isa.mlir.operations import FLATTENED

pytestmark = pytest.mark.stored

TEXT = """\
#loc = loc("k.py":1:1)
module {
  tt.func public @k(%x: !tt.ptr<f32> {tt.divisibility = 16 : i32} loc("x"(#loc)), %y: !tt.ptr<f32> loc("y"(#loc)), %n: i32 loc("n"(#loc)), %s: f32 loc("s"(#loc))) attributes {noinline = false} {
    %c = arith.constant 1 : i32 loc(#loc)
    scf.for %i = %c to %n step %c  : i32 {
      %0 = tt.load %x : !tt.ptr<f32> loc(#loc)
    } loc(#loc)
    scf.for %i = %c to %n step %c  : i32 {
      %d = tt.dot %a, %b, %e, inputPrecision = ieee : tensor<16x16xf32> * tensor<16x16xf32> -> tensor<16x16xf32> loc(#loc)
      %f = tt.dot %a, %b, %e : tensor<16x16xf32> * tensor<16x16xf32> -> tensor<16x16xf32> loc(#loc)
    } {tt.num_stages = 2 : i32, tt.flatten} loc(#loc)
    tt.return loc(#loc)
  } loc(#loc)
} loc(#loc)
"""  # noqa: E501


def _read(text: str = TEXT) -> Module:
    return parse(text, stage="ttir")


def _changed(text: str) -> list[tuple[str, str]]:
    pairs = zip(TEXT.splitlines(), text.splitlines(), strict=True)
    return [(one, two) for one, two in pairs if one != two]


def test_results_become_divisible() -> None:
    module = _read()
    ((before, after),) = _changed(
        edits.with_divisible_results(module, list(module.named("tt.load")))
    )
    assert after == before.replace("%x : ", "%x {tt.divisibility = dense<16> : tensor<1xi32>} : ")
    edited = _read(TEXT.replace(before, after))
    assert edits.with_divisible_results(edited, list(edited.named("tt.load"))) == edited.text, (
        "has it"
    )


def test_arguments_become_divisible() -> None:
    module = _read()
    assert edits.not_divisible(module) == ["y", "n"]
    edited = edits.with_divisible(module, ["x", "n"])
    assert len(_changed(edited)) == 1
    kernel = _read(edited).kernel
    assert kernel is not None
    attributes = {each.name: each.attributes for each in kernel.regions[0].blocks[0].arguments}
    divisible = {"tt.divisibility": "16 : i32"}
    assert attributes == {"%x": divisible, "%y": {}, "%n": divisible, "%s": {}}
    assert edits.not_divisible(_read(edits.with_divisible(module, ["y", "n"]))) == []


@pytest.mark.parametrize("loop", [0, 1])
def test_a_loop_gets_an_attribute(loop: int) -> None:
    module = _read()
    chosen = [*module.named("scf.for")][loop]
    edited = edits.with_stages(module, chosen, 4)
    assert len(_changed(edited)) == 1
    again = [*_read(edited).named("scf.for")]
    assert again[loop].attributes["tt.num_stages"] == "4 : i32"
    assert again[1 - loop].attributes == [*module.named("scf.for")][1 - loop].attributes
    assert ("tt.flatten" in again[loop].attributes) is (loop == 1)
    flat = edits.with_flag(module, chosen, FLATTENED)
    assert [*_read(flat).named("scf.for")][loop].flag("tt.flatten")
    bare = edits.without_flag(_read(flat), [*_read(flat).named("scf.for")][loop], FLATTENED)
    assert "tt.flatten" not in [*_read(bare).named("scf.for")][loop].attributes


@pytest.mark.parametrize("dot", [0, 1])
def test_a_dot_gets_a_precision(dot: int) -> None:
    module = _read()
    chosen = [*module.named("tt.dot")][dot]
    edited = edits.with_precision(module, chosen, "tf32")
    assert len(_changed(edited)) == 1
    assert [*_read(edited).named("tt.dot")][dot].attributes["inputPrecision"] == "tf32"


LOADED = """\
module {
  tt.func public @k(%x: !tt.ptr<f16>, %at: !tt.ptr<i64>, %n: i32) {
    %c = arith.constant 1 : i32
    %wide = arith.constant dense<5.0> : tensor<4xf64>
    %s = tt.splat %n : i32 -> tensor<4xi32>
    scf.for %i = %c to %n step %c  : i32 {
      %t = tt.load %p : tensor<64x32x!tt.ptr<f16>> loc("t")
      %r = tt.load %q : tensor<4x!tt.ptr<i64>>
      %b = tt.load %at : !tt.ptr<i64>
      %e = arith.extf %v : tensor<4xf32> to tensor<4xf64>
      %m = arith.mulf %e, %wide : tensor<4xf64>
      %d = arith.truncf %m : tensor<4xf64> to tensor<4xf32>
      tt.store %o, %d : tensor<4x!tt.ptr<f32>>
    }
    tt.return
  }
}
"""


@pytest.mark.parametrize(("wrapped", "block"), [(False, "64x32xf16"), (True, "tensor<64x32xf16>")])
def test_a_tile_comes_through_a_descriptor(wrapped: bool, block: str) -> None:
    module = _read(LOADED)
    tile = next(module.doing("load"))
    edited = edits.with_descriptors(module, [(tile, "%x", ["", "%i"])], wrapped=wrapped)
    parsed = _read(edited)
    (made,) = parsed.named("tt.make_tensor_descriptor")
    (loaded,) = parsed.named("tt.descriptor_load")
    assert made.operands[0] == "%x"
    assert edited.split("\n")[made.span.line - 1].endswith(f": <f16>, <{block}>")
    assert f"!tt.tensordesc<{block}> -> tensor<64x32xf16> loc" in edited
    assert loaded.operands[-1] == "%i"
    assert len(list(parsed.named("tt.load"))) == 2


def test_indices_are_counted() -> None:
    module = _read(LOADED)
    tile, *indices = module.doing("load")
    assert not edits.can_be_counted(tile)
    assert all(map(edits.can_be_counted, indices))
    parsed = _read(edits.with_counted(module, indices))
    extended = [str(each.result_type) for each in parsed.named("arith.extsi")]
    assert extended == ["tensor<4xi64>", "i64"]
    assert [each.results[0][0] for each in parsed.named("arith.extsi")] == ["%r", "%b"]


def test_fp64_becomes_fp32_without_conversions() -> None:
    edited = edits.with_fp32(_read(LOADED))
    assert "f64" not in edited
    assert "arith.mulf %v, %wide : tensor<4xf32>" in edited
    assert "tt.store %o, %m :" in edited


def test_an_argument_is_constant_where_some_operations_read_it() -> None:
    module = _read(LOADED)
    edited = edits.with_argument_as(module, list(module.named("tt.splat", "scf.for")), "n", 7)
    assert "tt.splat %irlens_constant_n : i32" in edited
    assert "to %n step" in edited


CARRIED = """\
#loc = loc("k.py":1:1)
module {
  tt.func public @k(%x: tensor<4x!tt.ptr<f32>>, %m: tensor<4xi1>, %n: i32, %r: i32) {
    %c = arith.constant 1 : i32 loc(#loc)
    %z = arith.constant dense<0.000000e+00> : tensor<4xf32> loc(#loc)
    %o:3 = scf.for %i = %c to %n step %r iter_args(%u = %z, %v = %z, %w = %z) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)  : i32 {
      %a = tt.load %x, %m, %z : tensor<4x!tt.ptr<f32>> loc(#loc)
      %s = arith.addf %w, %u : tensor<4xf32> loc(#loc)
      scf.yield %v, %a, %s : tensor<4xf32>, tensor<4xf32>, tensor<4xf32> loc(#loc)
    } loc(#loc)
    tt.return loc(#loc)
  } loc(#loc)
} loc(#loc)
"""  # noqa: E501


def test_a_loop_yields_other_values() -> None:
    module = _read(CARRIED)
    (loop,) = module.named("scf.for")
    assert carried(module, loop) == {"%u": "%v", "%v": "%a", "%w": "%s"}
    assert carried_farther(module, loop) == {"%u": "%v"}
    edited = edits.with_yielded(module, loop, {"%u": "%a"})
    types = "tensor<4xf32>, tensor<4xf32>, tensor<4xf32>"
    assert f"      scf.yield %a, %a, %s : {types} loc(#loc)\n" in edited
    assert len(edited.splitlines()) == len(CARRIED.splitlines())


def test_a_load_has_no_mask() -> None:
    module = _read(CARRIED)
    (load,) = module.named("tt.load")
    edited = edits.without_mask(module, load)
    assert "      %a = tt.load %x : tensor<4x!tt.ptr<f32>> loc(#loc)\n" in edited


def test_several_arguments_are_constants() -> None:
    text = edits.with_constant(_read(CARRIED), "n", 7)
    parsed = _read(edits.with_constant(_read(text), "r", 1))
    (loop,) = parsed.named("scf.for")
    assert loop.operands[1:3] == ("%irlens_constant_n", "%irlens_constant_r")
    names = [name for each in parsed.named("arith.constant") for name, _ in each.results]
    assert len(names) == len(set(names))


COUNTED = """\
#loc = loc("k.py":1:1)
module {
  tt.func public @k(%x: !tt.ptr<f32>, %n: i32) {
    %c = arith.constant 8 : i32 loc(#loc)
    %z = arith.constant 0.000000e+00 : f32 loc(#loc)
    %s:2 = scf.while (%t = %z, %i = %c) : (f32, i32) -> (f32, i32) {
      %0 = arith.cmpi RELATION, %i, %n : i32 loc(#loc)
      scf.condition(%0) %t, %i : f32, i32 loc(#loc)
    } do {
    ^bb0(%u: f32 loc(#loc), %j: i32 loc(#loc)):
      %a = tt.load %x : !tt.ptr<f32> loc(#loc)
      %v = arith.addf %u, %a : f32 loc(#loc)
      %k = arith.addi %j, %c : i32 loc(#loc)
      scf.yield %v, %k : f32, i32 loc(#loc)
    } loc(#loc)
    tt.return loc(#loc)
  } loc(#loc)
} loc(#loc)
"""


def test_a_while_loop_that_counts_is_a_for_loop() -> None:
    module = _read(COUNTED.replace("RELATION", "slt"))
    (loop,) = module.named("scf.while")
    parsed = _read(edits.as_for(module, loop, 3))
    (made,) = parsed.named("scf.for")
    assert not any(parsed.named("scf.while"))
    assert made.operands[:3] == ("%c", "%n", "%c")
    assert carried(parsed, made) == {"%u": "%v", "%j": "%k"}
    assert made.integer("tt.num_stages") == 3


def test_a_while_loop_with_another_condition_stays() -> None:
    module = _read(COUNTED.replace("RELATION", "ne"))
    (loop,) = module.named("scf.while")
    assert edits.as_for(module, loop, 3) == module.text


CALLING = """\
#loc = loc("k.py":1:1)
module {
  tt.func public @k(%x: !tt.ptr<i32>, %n: i32) {
    %c0_i32 = arith.constant 0 : i32 loc(#loc)
    %a = tt.call @k.tripled(%n) : (i32) -> i32 loc(#loc)
    %a_0 = tt.call @k.tripled(%a) : (i32) -> i32 loc(#loc)
    scf.for %i = %c0_i32 to %n step %a_0  : i32 {
      %0 = tt.call @k.tripled(%i) : (i32) -> i32 loc(#loc)
      tt.store %x, %0 : !tt.ptr<i32> loc(#loc)
    } loc(#loc)
    %0 = arith.addi %a, %a_0 : i32 loc(#loc)
    tt.store %x, %0 : !tt.ptr<i32> loc(#loc)
    tt.return loc(#loc)
  } loc(#loc)
  tt.func private @k.tripled(%n: i32) -> i32 {
    %0 = arith.muli %n, %n : i32 loc(#loc)
    tt.return %0 : i32 loc(#loc)
  } loc(#loc)
} loc(#loc)
"""
EARLY = """\
    %0 = arith.cmpi sgt, %n, %n : i32 loc(#loc)
    cf.cond_br %0, ^bb1, ^bb2 loc(#loc)
  ^bb1:  // pred: ^bb0
    tt.return %n : i32 loc(#loc)
  ^bb2:  // pred: ^bb0
    %1 = arith.muli %n, %n : i32 loc(#loc)
    tt.return %1 : i32 loc(#loc)
"""


def test_calls_of_what_calls_return_are_inlined() -> None:
    lines = edits.with_inlined(_read(CALLING)).splitlines()
    one, two, three = (f"%irlens_constant_{number}_0" for number in (1, 2, 4))
    assert lines[4:7] == [
        f"    {one} = arith.muli %n, %n : i32 loc(#loc)",
        f"    {two} = arith.muli {one}, {one} : i32 loc(#loc)",
        f"    scf.for %i = %c0_i32 to %n step {two}  : i32 {{",
    ]
    assert f"tt.store %x, {three} :" in lines[8]
    assert lines[10:12] == [
        f"    %0 = arith.addi {one}, {two} : i32 loc(#loc)",
        "    tt.store %x, %0 : !tt.ptr<i32> loc(#loc)",  # the loop's %0 is another one
    ]


@pytest.mark.parametrize("value", ["%n : i32 ", "%1 : i32 ", ""])
def test_a_function_that_returns_early_is_not_inlined(value: str) -> None:
    """The last operation of its first block is a branch: its operand is no result."""
    before, _, after = CALLING.partition("    %0 = arith.muli %n, %n")
    text = before + EARLY + after.partition("loc(#loc)\n")[2].partition("loc(#loc)\n")[2]
    module = _read(text.replace("tt.return %n : i32 ", f"tt.return {value}"))
    assert edits.with_inlined(module) == module.text


SUMS = """\
#loc = loc("k.py":1:1)
module {
  tt.func public @k(%n: i32, %a: tensor<16x16xf16>, %q: !tt.ptr<i32>) {
    %cst = arith.constant dense<0.000000e+00> : tensor<16x16xf16> loc(#loc)
    %cst_0 = arith.constant dense<1.000000e+00> : tensor<16x16xf16> loc(#loc)
    %r:3 = scf.for %i = %n to %n step %n iter_args(%t = %cst, %u = %cst, %w = %cst_0) -> (tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf16>)  : i32 {
      tt.store %q, %i : !tt.ptr<i32> loc(#loc)
      %d = tt.dot %a, %a, %u : tensor<16x16xf16> * tensor<16x16xf16> -> tensor<16x16xf16> loc(#loc)
      scf.yield %t, %d, %w : tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf16> loc(#loc)
    } loc(#loc)
    tt.return loc(#loc)
  } loc(#loc)
} loc(#loc)
"""  # noqa: E501


def test_one_sum_of_several_is_fp32() -> None:
    module = _read(SUMS)
    (loop,), (dot,) = module.named("scf.for"), module.named("tt.dot")
    text = edits.with_single_sum(module, loop, dot)
    assert "iter_args(%t = %cst, %u = %irlens_constant_widened, %w = %cst_0)" in text
    assert "%irlens_constant_widened = arith.extf %cst :" in text
