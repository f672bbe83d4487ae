"""Layouts of shared and tensor memory, against Triton's own ``toLinearLayout``."""

import itertools
from collections.abc import Iterator
from functools import cache
from importlib.metadata import version
from typing import Any

import pytest

from irlens.isa.mlir.linear_maps import UnmappedError
from irlens.isa.mlir.memory_maps import MemoryMap, memory_map

TRITON = tuple(map(int, version("triton").split(".")[:2]))
has_linear_layouts = pytest.mark.skipif(
    TRITON < (3, 7), reason="Triton 3.6 aborts on layouts of memory"
)


@cache
def _context() -> Any:
    from triton._C.libtriton import ir

    context = ir.context()
    ir.load_dialects(context)
    return context


@cache
def _builder() -> Any:
    from triton._C.libtriton import gluon_ir

    return gluon_ir.GluonOpBuilder(_context())  # which does not keep its context alive


def _printed(layout: Any, shape: list[int], memory: str) -> str:
    builder = _builder()
    attribute = layout._to_ir(builder)
    make = {"shared": builder.get_shared_mem_desc_ty, "tensor": builder.get_tensor_mem_desc_ty}
    text = str(make[memory](builder.get_half_ty(), shape, attribute, shape))
    return text.partition(", ")[2].rpartition(", #tt")[0]


def _tuples(bases: list[list[int]]) -> tuple[tuple[int, ...], ...]:
    return tuple(map(tuple, bases))


def _swizzled() -> Iterator[tuple[Any, list[int]]]:
    from triton.experimental.gluon.language import SwizzledSharedLayout

    numbers = itertools.product((1, 4, 8), (1, 2, 4), (1, 4, 8))
    for vector, per_phase, phases in numbers:
        yield SwizzledSharedLayout(vector, per_phase, phases, [0]), [256]
        for order in ([1, 0], [0, 1]):
            yield SwizzledSharedLayout(vector, per_phase, phases, order), [32, 64]
        yield SwizzledSharedLayout(vector, per_phase, phases, [2, 0, 1]), [4, 8, 32]
        yield SwizzledSharedLayout(vector, per_phase, phases, [1, 0], [[1, 0]]), [16, 64]
        yield SwizzledSharedLayout(vector, per_phase, phases, [1, 0], [[0, 0], [0, 1]]), [16, 64]


def _nvmma() -> Iterator[tuple[Any, list[int]]]:
    from triton.experimental.gluon.language import NVMMASharedLayout

    for width, bits in itertools.product((0, 32, 64, 128), (8, 16, 32)):
        for shape in ([8, 128], [64, 256], [128, 128]):
            yield NVMMASharedLayout(width, bits, 2), shape
            yield NVMMASharedLayout(width, bits, 2, transposed=True), shape[::-1]
        yield NVMMASharedLayout(width, bits, 3), [4, 16, 128]
        yield NVMMASharedLayout(width, bits, 2, cga_layout=[[1, 0]]), [64, 128]
    yield NVMMASharedLayout(128, 8, 2, fp4_padded=True), [16, 64]
    yield NVMMASharedLayout(128, 8, 2, fp4_padded=True), [64, 256]


@has_linear_layouts
@pytest.mark.parametrize("make", [_swizzled, _nvmma])
def test_shared_memory(make: Any) -> None:
    builder = _builder()
    cases = list(make())
    for layout, shape in cases:
        printed = _printed(layout, shape, "shared")
        expected = builder.to_linear_layout(layout._to_ir(builder), shape)
        found = memory_map(printed, shape)
        assert found.bases == {"offset": _tuples(expected.offset_bases)}, printed
        assert found.block == _tuples(expected.block_bases), printed
    assert len(cases) >= 90 if make is _swizzled else len(cases) >= 80


@has_linear_layouts
def test_tensor_memory() -> None:
    from triton.experimental.gluon.language.nvidia.blackwell import TensorMemoryLayout

    builder, cases = _builder(), 0
    for rows, columns, stride in itertools.product((64, 128), (32, 64, 128), (1, 2)):
        for shape in itertools.product((64, 128, 256), (32, 64, 128, 256)):
            if shape[0] < rows or shape[1] < columns:
                continue
            layout = TensorMemoryLayout((rows, columns), stride)
            printed = _printed(layout, list(shape), "tensor")
            expected = builder.to_linear_layout(layout._to_ir(builder), list(shape))
            found = memory_map(printed, shape)
            assert found.bases["row"] == _tuples(expected.rows), printed
            assert found.bases["column"] == _tuples(expected.cols), (printed, shape)
            cases += 1
    assert cases >= 80


@has_linear_layouts
def test_scales_in_tensor_memory() -> None:
    from triton.experimental.gluon.language.nvidia.blackwell import TensorMemoryScalesLayout

    builder, layout = _builder(), TensorMemoryScalesLayout()
    for shape in itertools.product((16, 32, 64, 128, 256, 512), (1, 2, 4, 8, 16, 32)):
        expected = builder.to_linear_layout(layout._to_ir(builder), list(shape))
        found = memory_map("#ttng.tensor_memory_scales_encoding<>", shape)
        assert found.bases["row"] == _tuples(expected.rows), shape
        assert found.bases["column"] == _tuples(expected.cols), shape


def test_written_maps_and_padding() -> None:
    from triton.experimental.gluon.language import PaddedSharedLayout, SharedLinearLayout

    offsets = [[0, 1], [0, 2], [2, 0], [1, 2]]
    printed = _printed(SharedLinearLayout(offsets, [], 16), [4, 4], "shared")
    assert memory_map(printed, [4, 4]).bases == {"offset": _tuples(offsets)}
    padded = PaddedSharedLayout.with_identity_for([[4, 2], [8, 1]], [4, 4], [1, 0])
    found = memory_map(_printed(padded, [4, 4], "shared"), [4, 4]).places()
    # Two elements after every four, one more after every eight.
    assert [found[row, 0] for row in range(4)] == [(0,), (6,), (13,), (19,)]
    assert found[1, 3] == (9,)


def test_every_element_has_a_place_of_its_own() -> None:
    for layout, shape in [*_swizzled(), *_nvmma()]:
        if getattr(layout, "cga_layout", None) or getattr(layout, "fp4_padded", False):
            continue
        places = memory_map(_printed(layout, shape, "shared"), shape).places()
        count = 1
        for extent in shape:
            count *= extent
        assert sorted(places.values()) == [(offset,) for offset in range(count)]


def test_the_place_of_one_element_is_that_among_all() -> None:
    repeated = ((1, 0), (0, 0), (1, 0), (0, 1), (1, 1), (2, 1))
    maps = [MemoryMap((4, 2), {"offset": repeated}, padding=((4, 2),))]
    maps.append(MemoryMap((4, 2), {"row": repeated[:4], "column": repeated[4:]}))
    swizzled = (layout for layout in _swizzled() if not getattr(layout[0], "cga_layout", None))
    maps += [memory_map(_printed(layout, shape, "shared"), shape) for layout, shape in swizzled]
    for each in maps:
        places = each.places()
        assert {element: each.place(element) for element in places} == places


def test_an_element_of_another_cta_has_no_place() -> None:
    half = MemoryMap((4, 2), {"offset": ((1, 0), (0, 1))}, block=((2, 0),))
    with pytest.raises(UnmappedError, match="another CTA"):
        half.place((2, 1))


@pytest.mark.parametrize(
    "layout",
    [
        "",
        "#shared",
        "#ttg.blocked<{sizePerThread = [1]}>",
        "#ttg.swizzled_shared<{vec = 0, perPhase = 1, maxPhase = 1, order = [1, 0]}>",
        "#ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [2, 0]}>",
        "#ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>",
        "#ttng.tensor_memory_encoding<blockM = 32, blockN = 8, colStride = 1>",
        "#ttg.shared_linear<{offset = [[1]]}, alignment = 16>",
        "#ttg.padded_shared<[0:+16] {order = [1, 0], shape = [4, 4]}>",
    ],
)
def test_other_layouts_are_refused(layout: str) -> None:
    with pytest.raises(UnmappedError):
        memory_map(layout, (4, 4))
    with pytest.raises(UnmappedError, match="powers of two"):
        memory_map(layout, (4, 5))
