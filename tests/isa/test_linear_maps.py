"""Layouts as linear maps, against Triton's own ``toLinearLayout`` over generated layouts."""

from functools import cache
from importlib.metadata import version
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irlens.isa.mlir.encoding_maps import Unmapped, linear_map
from irlens.isa.mlir.linear_maps import LinearMap

TRITON = tuple(map(int, version("triton").split(".")[:2]))

pytestmark = pytest.mark.skipif(
    TRITON < (3, 7), reason="Triton 3.6 aborts on some layouts, and keeps bases that a size lacks"
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


def _printed(layout: Any, shape: list[int]) -> str:
    """Return the encoding as Triton prints it in a type."""
    builder = _builder()
    attribute = layout._to_ir(builder)
    text = str(builder.get_distributed_ty(builder.get_half_ty(), shape, attribute))
    return text.partition(", ")[2].removesuffix(">")


def _expected(layout: Any, shape: list[int]) -> LinearMap:
    builder = _builder()
    known = builder.to_linear_layout(layout._to_ir(builder), shape)
    bases = (known.reg_bases, known.lane_bases, known.warp_bases, known.block_bases)
    register, lane, warp, block = (tuple(map(tuple, part)) for part in bases)
    return LinearMap(tuple(shape), register, lane, warp, block)


def _check(layout: Any, shape: list[int]) -> None:
    printed = _printed(layout, shape)
    assert linear_map(printed, shape) == _expected(layout, shape), printed


def _powers(most: int, least: int = 0) -> st.SearchStrategy[int]:
    return st.integers(least, most).map(lambda exponent: 1 << exponent)


@st.composite
def _shares(draw: st.DrawFn, bits: int, rank: int) -> list[int]:
    """Return ``rank`` powers of two with a product of 2^bits."""
    sizes = [1] * rank
    for _ in range(bits):
        sizes[draw(st.integers(0, rank - 1))] *= 2
    return sizes


@st.composite
def _clusters(draw: st.DrawFn, shape: list[int]) -> list[list[int]]:
    """Return bases of a cluster of up to 4 CTAs, each along a dimension or a copy."""
    bases, sizes = [], [1] * len(shape)
    for _ in range(draw(st.integers(0, 2))):
        basis = [0] * len(shape)
        dimension = draw(st.integers(-1, len(shape) - 1))
        if dimension >= 0 and sizes[dimension] < shape[dimension]:
            basis[dimension] = sizes[dimension]
            sizes[dimension] *= 2
        bases.append(basis)
    return bases


@st.composite
def _blocked(draw: st.DrawFn, shape: list[int], *, clusters: bool = True) -> Any:
    from triton.experimental.gluon.language import BlockedLayout

    rank = len(shape)
    return BlockedLayout(
        draw(st.lists(_powers(3), min_size=rank, max_size=rank)),
        draw(_shares(draw(st.sampled_from((5, 6))), rank)),
        draw(_shares(draw(st.integers(0, 3)), rank)),
        draw(st.permutations(range(rank))),
        draw(_clusters(shape)) if clusters else [],
    )


def _shapes(rank: int, least: int = 0, most: int = 8) -> st.SearchStrategy[list[int]]:
    return st.lists(_powers(most, least), min_size=rank, max_size=rank)


@given(st.data())
@settings(deadline=None)
def test_blocked(data: st.DataObject) -> None:
    shape = data.draw(_shapes(data.draw(st.integers(1, 3))))
    _check(data.draw(_blocked(shape)), shape)


@given(st.data())
@settings(deadline=None)
def test_slice_of_blocked(data: st.DataObject) -> None:
    from triton.experimental.gluon.language import SliceLayout

    shape = data.draw(_shapes(data.draw(st.integers(1, 2))))
    dimension = data.draw(st.integers(0, len(shape)))
    whole = [*shape[:dimension], 1, *shape[dimension:]]
    _check(SliceLayout(dimension, data.draw(_blocked(whole, clusters=False))), shape)


@st.composite
def _linear(draw: st.DrawFn) -> tuple[Any, list[int]]:
    """Return a permutation of the bits of a shape, copies and crossed rows among them."""
    from triton.experimental.gluon.language import DistributedLinearLayout

    shape = draw(_shapes(draw(st.integers(1, 3)), least=1, most=4))
    bases = [
        [1 << bit if n == dimension else 0 for n in range(len(shape))]
        for dimension, extent in enumerate(shape)
        for bit in range(extent.bit_length() - 1)
    ]
    bases += [[0] * len(shape)] * draw(st.integers(0, 2))
    shuffled = draw(st.permutations(bases))
    cuts = sorted(draw(st.lists(st.integers(0, len(bases)), min_size=2, max_size=2)))
    parts = shuffled[: cuts[0]], shuffled[cuts[0] : cuts[1]], shuffled[cuts[1] :]
    return DistributedLinearLayout(*parts, [], shape), shape


@given(_linear(), st.data())
@settings(deadline=None)
def test_linear(case: tuple[Any, list[int]], data: st.DataObject) -> None:
    layout, shape = case
    scaled = [max(1, extent * 4 >> data.draw(st.integers(0, 4))) for extent in shape]
    _check(layout, scaled)


@st.composite
def _nvidia(draw: st.DrawFn, rank: int, version: int, shape: list[int]) -> Any:
    from triton.experimental.gluon.language import NVMMADistributedLayout

    if version == 3:
        warps = [4 << draw(st.integers(0, 1)), 1 << draw(st.integers(0, 1))]
        instruction = [16, draw(_powers(8, 3)), 16]
    else:
        warps = draw(_shares(draw(st.integers(0, 3)), rank))
        instruction = [1, 16, 8][-rank:]
    cluster = draw(_clusters(shape)) if rank == 2 else []
    return NVMMADistributedLayout([version, 0], warps, instruction, cluster)


@given(st.data())
@settings(deadline=None)
def test_nvidia_mma(data: st.DataObject) -> None:
    version = data.draw(st.sampled_from((2, 3)))
    rank = data.draw(st.integers(2, 3)) if version == 2 else 2
    shape = data.draw(_shapes(rank, least=3))
    layout = data.draw(_nvidia(rank, version, shape))
    _check(layout, shape)
    _check_slice(layout, shape, data)


def _check_slice(layout: Any, shape: list[int], data: st.DataObject) -> None:
    from triton.experimental.gluon.language import SliceLayout

    if not layout.cga_layout:
        dimension = data.draw(st.integers(0, len(shape) - 1))
        _check(SliceLayout(dimension, layout), [*shape[:dimension], *shape[dimension + 1 :]])


@given(st.data())
@settings(deadline=None)
def test_operand_of_nvidia_mma(data: st.DataObject) -> None:
    from triton.experimental.gluon.language import DotOperandLayout

    version = data.draw(st.sampled_from((2, 3)))
    operand = data.draw(st.integers(0, 1)) if version == 2 else 0
    rank = data.draw(st.integers(2, 3)) if version == 2 else 2
    shape = data.draw(_shapes(rank, least=3))
    parent = data.draw(_nvidia(rank, version, shape))
    _check(DotOperandLayout(operand, parent, data.draw(_powers(3))), shape)


@given(st.data())
@settings(deadline=None)
def test_operand_of_blocked(data: st.DataObject) -> None:
    from triton.experimental.gluon.language import DotOperandLayout

    shape = data.draw(_shapes(data.draw(st.integers(2, 3))))
    parent = data.draw(_blocked(shape, clusters=False))
    _check(DotOperandLayout(data.draw(st.integers(0, 1)), parent, 0), shape)


@st.composite
def _mfma(draw: st.DrawFn, rank: int) -> Any:
    from triton.experimental.gluon.language.amd import AMDMFMALayout

    rows, columns = draw(st.sampled_from(((32, 32), (16, 16), (64, 4), (4, 64))))
    transposed = (rows, columns) == (64, 4) or draw(st.booleans())
    bits = 64 if rows == columns and draw(st.booleans()) else 32
    tiles = [1] * (rank - 2) + draw(st.lists(_powers(1), min_size=2, max_size=2))
    warps = draw(_shares(draw(st.integers(0, 3)), rank))
    return AMDMFMALayout(3, [rows, columns, 16], transposed, warps, bits, tiles)


@given(st.data())
@settings(deadline=None)
def test_amd_mfma(data: st.DataObject) -> None:
    rank = data.draw(st.integers(2, 3))
    shape = data.draw(_shapes(rank, least=2))
    layout = data.draw(_mfma(rank))
    _check(layout, shape)
    _check_slice(layout, shape, data)


@given(st.data())
@settings(deadline=None)
def test_operand_of_amd_mfma(data: st.DataObject) -> None:
    from triton.experimental.gluon.language import DotOperandLayout

    rank = data.draw(st.integers(2, 3))
    shape = data.draw(_shapes(rank, least=2))
    parent, width = data.draw(_mfma(rank)), data.draw(_powers(4, 1))
    _check(DotOperandLayout(data.draw(st.integers(0, 1)), parent, width), shape)


@st.composite
def _wmma(draw: st.DrawFn, shape: list[int]) -> Any:
    from triton.experimental.gluon.language.amd import AMDWMMALayout

    version = draw(st.integers(1, 3))
    bases, sizes = [], [1, 1]
    for _ in range(draw(st.integers(0, 4))):
        dimension = draw(st.integers(0, 1))
        basis = [0, 0]
        basis[dimension] = sizes[dimension]
        sizes[dimension] *= 2
        bases.append(basis)
    cut = draw(st.integers(0, len(bases)))
    instruction = [16, 16, 16 if version < 3 else draw(st.sampled_from((32, 64, 128)))]
    cluster = draw(_clusters(shape)) if version == 3 else []
    transposed = draw(st.booleans())
    return AMDWMMALayout(version, transposed, bases[:cut], bases[cut:], instruction, cluster)


@given(st.data())
@settings(deadline=None)
def test_amd_wmma(data: st.DataObject) -> None:
    shape = data.draw(_shapes(2, least=4))
    layout = data.draw(_wmma(shape))
    _check(layout, shape)
    _check_slice(layout, shape, data)


@given(st.data())
@settings(deadline=None)
def test_operand_of_amd_wmma(data: st.DataObject) -> None:
    from triton.experimental.gluon.language import DotOperandLayout

    shape = data.draw(_shapes(2, least=4))
    parent = data.draw(_wmma(shape))
    width = 16 if parent.version == 1 else data.draw(st.sampled_from((8, 16)))
    _check(DotOperandLayout(data.draw(st.integers(0, 1)), parent, width), shape)


def test_element_of_a_thread() -> None:
    layout = (
        "#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [2, 2], "
        "order = [1, 0]}>"
    )
    found = linear_map("#blocked", (64, 64), {"#blocked": layout})
    assert isinstance(found, LinearMap)
    assert (found.registers, found.lanes, found.warps, found.blocks) == (32, 32, 4, 1)
    # Lane 5 is the second along the second dimension of the second row; its register 3 the fourth
    # of its neighbours, and warp 3 stands below and to the right.
    assert found.element(3, 5, 3) == (1 + 8, 4 + 3 + 16)


def test_clusters_as_triton_35_writes_them() -> None:
    layout = (
        "#ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0], "
        "CTAsPerCGA = [4], CTASplitNum = [2], CTAOrder = [0]}>"
    )
    found = linear_map(layout, (256,))
    assert isinstance(found, LinearMap)
    assert found.block == ((128,), (0,))
    assert found.registers == 1


@pytest.mark.parametrize("version", [1, 2])
def test_warps_of_wmma_as_triton_36_writes_them(version: int) -> None:
    begun = f"#ttg.amd_wmma<{{version = {version}, isTranspose = true, "
    before = linear_map(f"{begun}warpsPerCTA = [2, 4]}}>", (64, 128))
    after = linear_map(f"{begun}ctaLayout = {{warp = [[0, 1], [0, 2], [1, 0]]}}}}>", (64, 128))
    assert isinstance(before, LinearMap)
    assert before == after


@pytest.mark.parametrize(
    ("layout", "reason"),
    [
        ("", "no layout is not a layout that irlens reads"),
        ("#blocked", "#blocked is not a layout that irlens reads"),
        ("#ttg.swizzled_shared<{vec = 1, order = [0]}>", "no rule for this layout"),
        (
            "#ttg.nvidia_mma<{versionMajor = 5, versionMinor = 0, warpsPerCTA = [4, 1], "
            "instrShape = [16, 8]}>",
            "no rule for version 5",
        ),
        (
            "#ttg.amd_wmma<{version = 1, isTranspose = false, warpsPerCTA = [2, 2], "
            "tilesPerWarp = [2, 1]}>",
            "no rule for several tiles per warp of Triton 3.6",
        ),
        (
            "#ttg.blocked<{sizePerThread = [1, 3], threadsPerWarp = [8, 4], warpsPerCTA = [2, 2], "
            "order = [1, 0]}>",
            "3 is not a power of two",
        ),
    ],
)
def test_unknown_layouts_say_why(layout: str, reason: str) -> None:
    found = linear_map(layout, (64, 64))
    assert isinstance(found, Unmapped)
    assert found.reason.endswith(reason)


def test_extents_that_no_tensor_has() -> None:
    layout = (
        "#ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>"
    )
    found = linear_map(layout, (100,))
    assert isinstance(found, Unmapped)
    assert found.reason == "#ttg.blocked: the tensor's extents are not powers of two"
