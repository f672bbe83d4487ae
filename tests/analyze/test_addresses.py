from hypothesis import given
from hypothesis import strategies as st

from irlens.analyze.addresses import Access, Addresses, divisors
from irlens.analyze.axis_info import Axis
from irlens.isa.mlir import parse
from irlens.model.errors import ParseError

HEAD = """module {
  tt.func public @k(%p: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %n: i32,
                    %m: i32 {tt.divisibility = 16 : i32}) {
    %zero = arith.constant 0 : i32
    %eight = arith.constant 8 : i32
    %range = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
    %base = tt.splat %p : !tt.ptr<f16> -> tensor<64x!tt.ptr<f16>>
"""
TAIL = """
    tt.return
  }
}
"""


def the_access(body: str, known: dict[str, int] | None = None) -> Access:
    module = parse(HEAD + body + TAIL, stage="ttir")
    (access,) = Addresses(module).accesses(known or divisors(module))
    return access


def load(pointer: str) -> str:
    return f"%x = tt.load {pointer} : tensor<64x!tt.ptr<f16>>"


def moved(pointer: str, offset: str, result: str) -> str:
    types = "tensor<64x!tt.ptr<f16>>, tensor<64xi32>"
    return f"{result} = tt.addptr {pointer}, {offset} : {types}\n"


def test_divisors_of_arguments() -> None:
    module = parse(HEAD + TAIL, stage="ttir")
    assert divisors(module) == {"%p": 16, "%n": 1, "%m": 16}


def test_arguments_of_a_called_function_are_not_the_kernels() -> None:
    helper = """
  tt.func private @helper(%p: !tt.ptr<f16>) {
    %range = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
    %base = tt.splat %p : !tt.ptr<f16> -> tensor<64x!tt.ptr<f16>>
"""
    text = HEAD + TAIL.rstrip().removesuffix("}")
    text += helper + moved("%base", "%range", "%q") + load("%q") + TAIL
    module = parse(text, stage="ttir")
    assert divisors(module) == {"%p": 16, "%n": 1, "%m": 16}
    (access,) = Addresses(module).accesses(divisors(module))
    assert (access.pointer.axes[0].run, access.pointer.divisor) == (1, 1)


def test_neighbours_at_an_aligned_pointer() -> None:
    access = the_access(moved("%base", "%range", "%q") + load("%q"))
    assert access.pointer.axes == (Axis(64, 2, None, 2),)
    assert [access.width(n) for n in (1, 2, 4, 8, 16)] == [2, 4, 8, 16, 16]


def test_a_pointer_that_is_not_aligned() -> None:
    access = the_access(moved("%base", "%range", "%q") + load("%q"), {"%p": 4, "%n": 1, "%m": 16})
    assert access.width(8) == 4


def test_a_stride_is_kept_by_name() -> None:
    body = """
    %s = tt.splat %n : i32 -> tensor<64xi32>
    %o = arith.muli %range, %s : tensor<64xi32>
    """
    access = the_access(body + moved("%base", "%o", "%q") + load("%q"))
    assert access.pointer.axes == (Axis(64, 2, "%n", 2),)
    assert access.width(8) == 2


def test_a_pointer_that_a_loop_moves() -> None:
    """Each iteration adds a multiple of 8 elements: 16 bytes."""
    step = "%step = tt.splat %eight : i32 -> tensor<64xi32>\n"
    for offset, width in (("%step", 16), ("%range", 2)):
        body = (
            step
            + moved("%base", "%range", "%q")
            + "%r = scf.for %i = %zero to %n step %eight iter_args(%c = %q)"
            + " -> (tensor<64x!tt.ptr<f16>>) : i32 {\n"
            + load("%c")
            + "\n"
            + moved("%c", offset, "%d")
            + "scf.yield %d : tensor<64x!tt.ptr<f16>>\n}"
        )
        assert the_access(body).width(8) == width


def test_a_transposed_tensor_has_its_dimensions_exchanged() -> None:
    rows, columns = "tensor<64x1x!tt.ptr<f16>>", "tensor<1x64x!tt.ptr<f16>>"
    access = the_access(
        moved("%base", "%range", "%q")
        + f"%r = tt.expand_dims %q {{axis = 1 : i32}} : tensor<64x!tt.ptr<f16>> -> {rows}\n"
        + f"%t = tt.trans %r {{order = array<i32: 1, 0>}} : {rows} -> {columns}\n"
        + f"%x = tt.load %t : {columns}"
    )
    assert access.pointer.shape == (1, 64)
    assert access.pointer.axes[1] == Axis(64, 2, None, 2)


def test_either_of_two_pointers() -> None:
    body = (
        moved("%base", "%range", "%q")
        + """
    %c = arith.cmpi slt, %n, %m : i32
    %one = arith.constant dense<1> : tensor<64xi32>
    %r = scf.if %c -> (tensor<64x!tt.ptr<f16>>) {
      scf.yield %q : tensor<64x!tt.ptr<f16>>
    } else {
      """
        + moved("%q", "%one", "%s")
        + """scf.yield %s : tensor<64x!tt.ptr<f16>>
    }
    """
        + load("%r")
    )
    access = the_access(body)
    assert access.pointer.axes == (Axis(64, 2, None, 2),)
    assert access.width(8) == 2


def test_an_operation_that_is_not_known() -> None:
    body = """
    %o = some.thing %range : (tensor<64xi32>) -> tensor<64xi32>
    """
    access = the_access(body + moved("%base", "%o", "%q") + load("%q"))
    assert access.pointer.axes[0].run == 1
    assert access.width(8) == 2


def test_loops_that_hand_values_on_settle() -> None:
    """One loop's values arrive at their end one iteration after the other."""
    count = 20
    names = [f"%v{n}" for n in range(count)]
    carried = ", ".join(f"{name} = %m" for name in names)
    types = ", ".join(["i32"] * count)
    body = (
        f"%r:{count} = scf.for %i = %zero to %n step %eight iter_args({carried}) -> ({types})"
        f" : i32 {{\n scf.yield %n, {', '.join(names[:-1])} : {types}\n }}\n"
        f"%s = tt.splat %r#{count - 1} : i32 -> tensor<64xi32>\n"
        "%o = arith.addi %range, %s : tensor<64xi32>\n"
    )
    access = the_access(body + moved("%base", "%o", "%q") + load("%q"))
    assert access.width(8) == 2


@given(st.integers(0, 1500), st.integers(1, 40), st.sampled_from(["", "7", "%n", "64x2x", "["]))
def test_damage_is_refused_or_borne(start: int, length: int, instead: str) -> None:
    text = HEAD + moved("%base", "%range", "%q") + load("%q") + TAIL
    start %= len(text)
    try:
        module = parse(text[:start] + instead + text[start + length :], stage="ttir")
    except ParseError:
        return
    for access in Addresses(module).accesses(divisors(module)):
        assert 1 <= access.width(8) <= 16 * access.element_bytes
