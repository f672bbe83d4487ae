"""Edits of ttir: what is changed, and that nothing else is."""

import pytest

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
