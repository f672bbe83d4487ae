"""Layouts of values of real kernels, drawn: against Triton's maps and against ``linear_map``."""

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from irlens import gpus
from irlens.analyze import layout_drawing
from irlens.analyze.layout_drawing import draw_layout, namesakes
from irlens.compiler import Request, capture
from irlens.isa.mlir import Module, parse
from irlens.isa.mlir.encoding_maps import linear_map
from irlens.isa.mlir.linear_maps import LinearMap
from irlens.model.errors import IrlensError, UnknownNameError
from irlens.model.layout import LayoutDrawing

pytestmark = pytest.mark.compiled_to("ttgir")


def _once(name: str) -> Callable[..., Any]:
    """Return a function of the module that answers from what it has answered before.

    Of dictionaries it compares the identity, and holds them so that it stays theirs.
    """
    function, known = getattr(layout_drawing, name), dict[Any, Any]()

    def answer(*arguments: Any) -> Any:
        key = tuple(id(each) if isinstance(each, dict) else each for each in arguments)
        if key not in known:
            known[key] = arguments, function(*arguments)
        return known[key][1]

    return answer


_ONCE = {
    name: _once(name)
    for name in ("_of_registers", "_of_memory", "_why_not_covered", "_vector", "_cells")
}


@pytest.fixture(autouse=True)
def _each_layout_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compute what follows from a layout once: a kernel's many values have few layouts."""
    for name, function in _ONCE.items():
        monkeypatch.setattr(layout_drawing, name, function)


@cache
def module(kernel: str, target: str) -> Module:
    (compiled,) = capture(Request(kernel=kernel, target=gpus.find(target).target))
    return parse(compiled.stages["ttgir"].text(), stage="ttgir")


def drawn(read: Module) -> list[LayoutDrawing]:
    """Return the drawing of every value with a layout."""
    with pytest.raises(UnknownNameError) as raised:
        draw_layout(read, "nosuch", "k")
    assert "unknown value with a layout '%nosuch'" in raised.value.message
    names = {name for each in read.operations for name, _ in each.results}
    found = []
    for name in sorted(names):
        try:
            found.append(draw_layout(read, name, "k"))
        except UnknownNameError:
            continue
    return found


@pytest.mark.parametrize(
    ("kernel", "target"),
    [("softmax", "h100"), ("flash_attention", "a100"), ("matmul_tiled", "h100"),
     ("flash_attention", "b200"), ("matmul_tiled", "mi300x")],
)  # fmt: skip
def test_every_value_of_a_kernel(kernel: str, target: str) -> None:
    read = module(kernel, target)
    drawings = drawn(read)
    assert len(drawings) > 10
    assert all(each.sentence and "loc(" not in each.operation for each in drawings)
    # Values of a layout share its cells.
    for each in {id(each.cells): each for each in drawings}.values():
        if each.memory == "registers":
            mapped = linear_map(each.layout, each.shape, read.aliases)
            assert isinstance(mapped, LinearMap)
            for cells in each.cells:
                for cell in cells:
                    owner = cell.owner
                    assert owner is not None
                    assert owner.warp is not None
                    assert owner.lane is not None
                    assert owner.register is not None
                    found = mapped.element(owner.register, owner.lane, owner.warp)
                    assert found == cell.element
        elif each.memory == "shared memory":
            for cells in each.cells:
                for cell in cells:
                    assert cell.owner is not None
                    assert cell.owner.offset is not None
                    bank = cell.owner.offset // 4 % 32
                    assert cell.owner.bank == bank


def _module(kind: str, layout: str) -> Module:
    text = (
        f"#shared = {layout}\n#smem = #ttg.shared_memory\nmodule {{\n  tt.func public @k() {{\n"
        f"    %x = ttg.local_alloc : () -> {kind}\n    tt.return\n  }}\n}}\n"
    )
    return parse(text, stage="ttgir")


def test_a_part_is_drawn_in_its_buffer() -> None:
    """Rows of the part lie as far apart as those of the whole buffer."""
    layout = "#ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>"
    part = "!ttg.memdesc<8x16xf16, #shared, #smem, mutable, 8x64>"
    drawing = draw_layout(_module(part, layout), "%x", "k")
    assert drawing.shape == (8, 64)
    assert "a part, 8 × 16, of a buffer of 8 × 64" in drawing.sentence
    offsets = [cells[0].owner.offset for cells in drawing.cells if cells[0].owner]
    assert offsets == [row * 128 for row in range(8)]


def test_several_buffers_are_drawn_as_one() -> None:
    layout = (
        "#ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>"
    )
    drawing = draw_layout(
        _module("!ttg.memdesc<3x16x64xf16, #shared, #smem, mutable>", layout), "x", "k"
    )
    assert drawing.shape == (16, 64)
    assert drawing.sentence.startswith("3 buffers one after the other, each of 2,048 B")
    # 128-byte swizzle: row 1 begins with the second 16 bytes (PTX ISA, "Swizzling Modes").
    second = drawing.cells[1][0]
    assert second.owner is not None
    assert second.owner.offset == 128 + 16


_SHARED = "!ttg.memdesc<64x64xf16, #shared, #smem>"


@pytest.mark.parametrize(
    ("kind", "layout", "reason"),
    [
        (_SHARED, "#ttg.shared_linear<{offset = [[0, 1], [0, 2]]}>", "place 4 of 4,096 elements"),
        ("!ttg.memdesc<2x2xf16, #shared, #smem>",
         "#ttg.shared_linear<{offset = [[0, 1], [4, 0]]}>", r"element \[4, 0\], outside"),
        (_SHARED, "#ttg.padded_shared<[512:+999999999] {order = [1, 0], shape = [64, 64]}>",
         "more than any GPU's shared memory"),
        ("tensor<2xf16, #shared>",
         "#ttg.linear<{register = [], lane = [[1]], warp = [], block = []}>",
         "it is of 2 lanes, the module has 32"),
        ("tensor<32xf16, #shared>",
         "#ttg.linear<{register = [], lane = [[1], [2], [4], [8], [16]], warp = [], block = []}>",
         "it is of 1 warp, the module has 4"),
    ],
)  # fmt: skip
def test_a_layout_that_does_not_fit_is_refused(kind: str, layout: str, reason: str) -> None:
    attributes = 'attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32}'
    text = _module(kind, layout).text.replace("module {", f"module {attributes} {{")
    with pytest.raises(IrlensError, match=reason) as raised:
        draw_layout(parse(text, stage="ttgir"), "%x", "k")
    assert "\n" not in raised.value.message


@pytest.mark.parametrize(("target", "banks"), [("mi300x", 32), ("mi350x", 64), ("gfx1201", None)])
def test_the_banks_are_the_architectures(target: str, banks: int | None) -> None:
    read = module("matmul_tiled", target)
    shared = [each for each in drawn(read) if each.memory == "shared memory"]
    owners = [c.owner for each in shared for row in each.cells for c in row if c.owner is not None]
    assert owners
    for each in owners:
        assert each.offset is not None
        assert each.bank == (each.offset // 4 % banks if banks else None)


def test_a_rotating_layout_moves_its_phase_on_with_every_block() -> None:
    """As the encoding's documentation has it: column ^ phase ^ block (Triton, AMDRotating...)."""
    layout = "#ttg.amd_rotating_shared<{vec = 1, perPhase = 1, maxPhase = 4, order = [1, 0]}>"
    drawing = draw_layout(_module("!ttg.memdesc<16x16xf32, #shared, #smem>", layout), "x", "k")
    for row, cells in enumerate(drawing.cells):
        for column, cell in enumerate(cells):
            moved = column ^ row % 4 ^ row // 4 % 4
            assert cell.owner is not None
            assert cell.owner.offset == 4 * (16 * row + moved)


def test_values_of_a_name_are_told_apart() -> None:
    """MLIR names the mask of a load after the load: who asks for "a" learns of the others."""
    read = parse(
        """#l = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [1], order = [0]}>
module attributes {"ttg.num-warps" = 1 : i32, ttg.target = "cuda:90"} {
  tt.func @f() {
    %a = arith.constant dense<true> : tensor<32xi1, #l>
    %a_0 = arith.constant dense<false> : tensor<32xi1, #l>
    %a_1 = arith.constant dense<0.0> : tensor<32xf16, #l>
    %a_2 = arith.addf %a_1, %a_1 : tensor<32xf16, #l>
    tt.return
  }
}
""",  # noqa: E501
        stage="ttgir",
    )
    assert namesakes(read, "a") == {"%a_1": "32xf16"}
    assert namesakes(read, "a_2") == {}


def test_a_value_has_its_own_type_not_its_operands() -> None:
    """Of loads, comparisons and pointers with an offset MLIR prints the operands' types alone."""
    read = parse(
        """#l = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [1], order = [0]}>
module attributes {"ttg.num-warps" = 1 : i32, ttg.target = "cuda:90"} {
  tt.func @f(%p: tensor<32x!tt.ptr<f16>, #l>, %c: tensor<32xi1, #l>, %o: tensor<32xi32, #l>) {
    %x = tt.load %p : tensor<32x!tt.ptr<f16>, #l>
    %q = arith.select %c, %p, %p : tensor<32xi1, #l>, tensor<32x!tt.ptr<f16>, #l>
    %m = arith.cmpf olt, %x, %x : tensor<32xf16, #l>
    %r = tt.addptr %q, %o : tensor<32x!tt.ptr<f16>, #l>, tensor<32xi32, #l>
    tt.return
  }
}
""",  # noqa: E501
        stage="ttgir",
    )
    assert draw_layout(read, "x", "f").type == "tensor<32xf16, #l>"
    assert draw_layout(read, "q", "f").type == "tensor<32x!tt.ptr<f16>, #l>"
    assert draw_layout(read, "m", "f").type == "tensor<32xi1, #l>"
    assert draw_layout(read, "r", "f").type == "tensor<32x!tt.ptr<f16>, #l>"


def test_a_layout_of_very_many_threads_is_refused() -> None:
    layout = "sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [1048576], order = [0]"
    with pytest.raises(IrlensError, match="too many to draw"):
        draw_layout(_module("tensor<32xf16, #shared>", f"#ttg.blocked<{{{layout}}}>"), "%x", "k")


def test_a_layout_of_many_elements_takes_a_step_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LinearMap, "element", None)  # takes a step for each bit, too
    layout = "sizePerThread = [1, 1], threadsPerWarp = [4, 8], warpsPerCTA = [2, 2], order = [1, 0]"
    kind = "tensor<512x512xf32, #shared>"
    drawing = draw_layout(_module(kind, f"#ttg.blocked<{{{layout}}}>"), "%x", "k")
    owner = drawing.cells[9][3].owner
    assert owner is not None
    assert (owner.warp, owner.lane, owner.register) == (0, 11, 32)


def test_amds_lanes_are_of_waves() -> None:
    read = module("matmul_tiled", "mi300x")
    for each in drawn(read):
        if each.memory == "registers":
            assert "lanes of a wave" in each.sentence
            assert "warp" not in each.sentence


@pytest.mark.parametrize(("width", "steps"), [(32, "16"), (128, "16 to 64")])
def test_how_rows_are_swizzled(width: int, steps: str) -> None:
    layout = f"swizzlingByteWidth = {width}, transposed = false, elementBitWidth = 8"
    text = f"""
#smem = #ttg.shared_memory
#shared = #ttg.nvmma_shared<{{{layout}}}>
module attributes {{ttg.target = "cuda:90"}} {{
  %x = ttg.local_alloc : () -> !ttg.memdesc<64x128xi8, #shared, #smem, mutable>
}}
"""
    drawing = draw_layout(parse(text, stage="ttgir"), "%x", "k")
    assert drawing.sentence.endswith(f"XORed into the offset, in steps of {steps} elements")
