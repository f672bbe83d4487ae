from irlens.analyze.address_slice import argument_roles, computed_from
from irlens.isa.mlir import parse

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
