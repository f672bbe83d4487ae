"""What conversions between layouts go through, against the code that Triton makes of each."""

import random
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from irlens import gpus
from irlens.analyze.layout_conversions import find_conversions, way
from irlens.compiler import Request, capture
from irlens.isa.mlir import parse
from irlens.isa.mlir.linear_maps import LinearMap
from irlens.model.capture import Capture

pytestmark = pytest.mark.compiled_to("ptx", "amdgcn")

SAMPLES = Path(__file__).parents[2] / "samples" / "captures"

_HEAD = """
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language import (
    BlockedLayout, DotOperandLayout, NVMMADistributedLayout,
)
from triton.experimental.gluon.language.amd import AMDMFMALayout
"""
_KERNEL = """
@gluon.jit
def {name}(x, y):
    before: gl.constexpr = {before}
    after: gl.constexpr = {after}
    rows = gl.arange(0, {rows}, gl.SliceLayout(1, before))
    columns = gl.arange(0, {columns}, gl.SliceLayout(0, before))
    value = gl.load(x + rows[:, None] * {columns} + columns[None, :])
    value = gl.convert_layout(value, after)
    rows = gl.arange(0, {rows}, gl.SliceLayout(1, after))
    columns = gl.arange(0, {columns}, gl.SliceLayout(0, after))
    gl.store(y + rows[:, None] * {columns} + columns[None, :], value)
"""
_SHARED = re.compile(r"\b(?:st\.shared|stmatrix|ds_write|ds_store)")
_SHUFFLES = re.compile(r"\b(?:shfl\.|ds_bpermute|ds_permute|ds_swizzle|v_permlane|row_|quad_perm)")


def _blocked(choose: random.Random, lanes: int, tile: tuple[int, int] | None = None) -> str:
    """A blocked layout of four warps; with a tile one whose warps cover that each."""
    while True:
        along = 1 << choose.randrange(lanes.bit_length())
        threads = (along, lanes // along)
        sizes = (1 << choose.randrange(3), 1 << choose.randrange(4))
        if tile is not None:
            if any(extent % number for extent, number in zip(tile, threads, strict=True)):
                continue
            sizes = (tile[0] // threads[0], tile[1] // threads[1])
        warps = [4, 1] if tile is not None else choose.choice([[4, 1], [1, 4], [2, 2]])
        order = choose.choice([[1, 0], [0, 1]])
        return f"BlockedLayout({list(sizes)}, {list(threads)}, {warps}, {order})"


def _pairs(lanes: int, product: str) -> Iterator[tuple[str, str]]:
    choose = random.Random(7)
    for _ in range(3):
        yield _blocked(choose, lanes), _blocked(choose, lanes)
    for tile in ((16, 16), (8, 32), (16, 32)) if lanes == 64 else ((8, 16), (4, 32), (16, 16)):
        for _ in range(3):
            yield _blocked(choose, lanes, tile), _blocked(choose, lanes, tile)
    yield product, _blocked(choose, lanes)
    yield _blocked(choose, lanes), product
    for width in (2, 4) if lanes == 32 else (4, 8):
        yield product, f"DotOperandLayout(0, {product}, {width})"


_AMPERE = "NVMMADistributedLayout(version=[2, 0], warps_per_cta=[4, 1], instr_shape=[16, 8])"
_HOPPER = "NVMMADistributedLayout(version=[3, 0], warps_per_cta=[4, 1], instr_shape=[16, 64, 16])"
_MFMA = "AMDMFMALayout(version=3, instr_shape=[32, 32, 8], transposed=True, warps_per_cta=[4, 1])"


def _compiled(file: Path, names: list[str], target: str) -> Iterator[Capture]:
    for name in names:
        (one,) = capture(Request(kernel=f"{file}:{name}", target=gpus.find(target).target))
        yield one


@pytest.mark.parametrize(
    ("target", "product"),
    [
        ("sm_80", _AMPERE),
        ("sm_90", _HOPPER),
        ("sm_100", _AMPERE),
        ("gfx942", _MFMA),
        ("gfx950", _MFMA),
    ],
)
def test_the_machine_code_takes_that_way(tmp_path: Path, target: str, product: str) -> None:
    pytest.importorskip("triton.experimental.gluon.language.amd")
    lanes, source, described = gpus.by_arch(target).arch.warp_size, _HEAD, []
    pairs = list(_pairs(lanes, product))
    for number, (before, after) in enumerate(pairs):
        rows, columns = ((64, 64), (32, 128))[number % 2]
        source += _KERNEL.format(
            name=f"k{number}", before=before, after=after, rows=rows, columns=columns
        )
        tensor = f'"fp16[{rows * columns}]"'
        described.append(
            f'"k{number}": {{"args": {{"x": {tensor}, "y": {tensor}}},'
            ' "options": {"num_warps": 4}, "grid": [1]}'
        )
    file = tmp_path / "kernels.py"
    file.write_text(f"{source}\nIRLENS_KERNELS = {{{', '.join(described)}}}\n")
    ways = Counter[str]()
    names = [f"k{number}" for number in range(len(pairs))]
    for (before, after), one in zip(pairs, _compiled(file, names, target), strict=True):
        module = parse(one.stages["ttgir"].text(), stage="ttgir")
        ((_, conversion),) = find_conversions(module)
        code = one.stages["ptx" if "ptx" in one.stages else "amdgcn"].text()
        taken = "registers" if not _SHUFFLES.search(code) else "shuffles"
        taken = "shared memory" if _SHARED.search(code) else taken
        assert conversion.through == taken, (before, after, conversion.reason)
        ways[taken] += 1
    assert min(ways["shared memory"], ways["shuffles"]) >= 2
    assert ways.total() >= 14


@pytest.mark.parametrize(
    ("sample", "operation", "known"),
    [
        ("matmul-a100", "nvidia_mma", True),
        ("matmul-b200", "ttng.tmem_load", True),
        ("matmul-b200", "ttng.other_load", False),  # a linear layout of something else
    ],
)
def test_a_product_is_known_by_its_layout_or_by_what_reads_it(
    sample: str, operation: str, known: bool
) -> None:
    (ttgir,) = (SAMPLES / sample).glob("*.ttgir")
    text = ttgir.read_text("utf-8").replace("ttng.tmem_load", operation)
    assert operation in text
    ((_, conversion),) = find_conversions(parse(text, stage="ttgir"))
    assert conversion.is_product == known


def _map(register: str, lane: str, warp: str) -> LinearMap:
    """A layout of 4 x 4 elements by four lanes and two warps: "r" and "c" are rows and columns."""
    steps = {"r": (1, 0), "R": (2, 0), "c": (0, 1), "C": (0, 2), "-": (0, 0)}
    one, two, three = (tuple(steps[each] for each in kind) for kind in (register, lane, warp))
    return LinearMap((4, 4), one, two, three, ())


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (("cC", "r", "R"), ("Cc", "r", "R"), "registers"),
        (("cC", "r", "R"), ("cC", "R", "r"), "shared memory"),
        (("cr", "CR", ""), ("cr", "RC", ""), "shuffles"),
        (("cr", "CR", ""), ("Cr", "cR", ""), "shuffles"),  # one bit changes between them
        (("cr", "CR", ""), ("CR", "cr", ""), "shared memory"),  # two do
        # Warps that all hold everything may keep what they need, if threads need not choose.
        (("crC", "R", "-"), ("cr", "R", "C"), "shared memory"),
        (("cr", "CR", "-"), ("cr", "R", "C"), "shuffles"),
    ],
)
def test_bits_decide(
    before: tuple[str, str, str], after: tuple[str, str, str], expected: str
) -> None:
    assert way(_map(*before), _map(*after)) == expected
