"""Grids that depend on how many CTAs fit an SM."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from irlens.compiler import Request, capture
from irlens.model.capture import Capture
from irlens.model.config import GridFormula, Target
from irlens.model.errors import CaptureError
from irlens.report import inspect
from irlens.session.recompile import request_of

A100 = Target(vendor="nvidia", arch="sm_80", warp_size=32, product="a100")

KERNEL = """
    IRLENS_KERNELS = {
        "persistent": {
            "sizes": {"n": 100_000},
            "args": {"x_ptr": "fp32[n]", "n": "n"},
            "constexprs": {"BLOCK": 64},
            "options": {"num_warps": 4},
            "grid": ["min(cdiv(n, BLOCK), sm_count * blocks_per_sm)", 2],
        }
    }

    @triton.jit
    def persistent(x_ptr, n, BLOCK: tl.constexpr):
        for tile in range(tl.program_id(0), tl.cdiv(n, BLOCK), tl.num_programs(0)):
            offsets = tile * BLOCK + tl.arange(0, BLOCK)
            tl.store(x_ptr + offsets, 1.0, mask=offsets < n)
"""


def compiled(file: Path, **options: object) -> Capture:
    request = Request(kernel=str(file), target=A100, sm_count=108, **options)  # type: ignore[arg-type]
    (found,) = capture(request)
    return found


def test_the_grid_follows_from_the_occupancy(write: Callable[..., Path]) -> None:
    found = compiled(write(KERNEL))
    assert found.config.grid is None, "the compiled kernel decides"
    assert found.manifest is not None
    formula = found.manifest.grid_formula
    assert formula is not None
    assert formula.names == {"n": 100_000, "BLOCK": 64, "sm_count": 108}
    report = inspect(found)
    assert report.occupancy is not None
    blocks = report.occupancy.blocks_per_sm
    assert report.config.grid == (min(1563, 108 * blocks), 2, 1)
    capped = inspect(compiled(write(KERNEL), settings={"num_warps": 32}))
    assert capped.config.grid == (108 * 2, 2, 1)
    assert capped.occupancy is not None
    assert capped.occupancy.waves == 2.0


def test_a_grid_that_is_given_replaces_the_formula(write: Callable[..., Path]) -> None:
    found = compiled(write(KERNEL), grid=("cdiv(n, BLOCK)",))
    assert found.config.grid == (1563, 1, 1)
    assert found.manifest is not None
    assert found.manifest.grid_formula == GridFormula(("cdiv(n, BLOCK)",), {})


def test_without_a_product_it_stays_unknown(write: Callable[..., Path]) -> None:
    target = Target(vendor="nvidia", arch="sm_80", warp_size=32)
    (found,) = capture(Request(kernel=str(write(KERNEL)), target=target))
    assert inspect(found).config.grid is None


@pytest.mark.parametrize("extent", ["-blocks_per_sm", "blocks_per_sm / 0", "nonsense", "9**9**9"])
def test_a_formula_of_somebody_elses_capture_may_say_anything(
    write: Callable[..., Path], extent: str
) -> None:
    found = compiled(write(KERNEL))
    manifest = found.manifest
    assert manifest is not None

    hostile = msgspec.structs.replace(manifest, grid_formula=GridFormula((extent,), {}))
    assert inspect(msgspec.structs.replace(found, manifest=hostile)).config.grid is None


def test_an_invalid_expression_is_an_error_when_compiling(write: Callable[..., Path]) -> None:
    with pytest.raises(CaptureError, match="not a number of CTAs"):
        compiled(write(KERNEL), grid=("0 * blocks_per_sm",))


def test_a_grid_that_no_launch_can_have_is_an_error(write: Callable[..., Path]) -> None:
    file = write(KERNEL)
    assert compiled(file, grid=(str(2**31 - 1),)).config.grid == (2**31 - 1, 1, 1)
    with pytest.raises(CaptureError, match="at most 2,147,483,647 CTAs"):
        compiled(file, grid=(str(2**31),))


def test_strides_follow_from_shapes_also_when_a_size_changes(write: Callable[..., Path]) -> None:
    file = write("""
        @triton.jit
        def rows(x_ptr, x_row_stride, y_ptr, stride_ym, stride_yn, BLOCK: tl.constexpr):
            columns = tl.arange(0, BLOCK)
            row = tl.load(x_ptr + tl.program_id(0) * x_row_stride + columns)
            tl.store(y_ptr + tl.program_id(0) * stride_ym + columns * stride_yn, row)
    """)
    first = compiled(
        file, args={"x_ptr": "fp16[8, 64]", "y_ptr": "fp16[8, 128]"}, settings={"BLOCK": 64}
    )
    strides = {
        name: first.config.args[name] for name in list(first.config.args) if "stride" in name
    }
    assert strides == {"x_row_stride": 64, "stride_ym": 128, "stride_yn": 1}
    assert list(first.config.args)[:3] == ["x_ptr", "x_row_stride", "y_ptr"]
    request = request_of(first, f"{file}:rows", {"x_ptr": "fp16[8, 256]"})
    (wider,) = capture(request)
    assert wider.config.args["x_row_stride"] == 256
    assert wider.config.args["stride_ym"] == 128
