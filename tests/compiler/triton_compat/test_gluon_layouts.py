"""Gluon kernels: layouts and descriptors."""

import importlib.metadata
import re
from pathlib import Path

import pytest

from irlens.compiler import Request, capture
from irlens.compiler.planning import plan
from irlens.model.capture import Capture
from irlens.model.config import ConstexprValue, Target
from irlens.model.errors import CaptureError, IrlensError

GLUON = Path(__file__).parents[2] / "data" / "gluon"
COPY, SCALE = f"{GLUON / 'copying.py'}:copy", f"{GLUON / 'copying.py'}:scale"
DEFAULTS = tuple(map(int, importlib.metadata.version("triton").split(".")[:2])) >= (3, 5)


def copied(target: Target, **settings: ConstexprValue) -> Capture:
    (found,) = capture(Request(kernel=COPY, target=target, settings=settings))
    return found


def test_a_layout_in_python_syntax(sm_90: Target) -> None:
    found = copied(sm_90)
    assert "sizePerThread = [4], threadsPerWarp = [32]" in found.stages["ttgir"].text()
    assert "ld.global.v4.b32" in found.stages["ptx"].text()
    narrow = copied(sm_90, layout="gl.BlockedLayout(size_per_thread=[1], threads_per_warp=[32],"
                                  "warps_per_cta=[4], order=[0])")  # fmt: skip
    assert "ld.global.v4.b32" not in narrow.stages["ptx"].text()


def test_a_recorded_layout_gives_the_same_capture(sm_90: Target) -> None:
    first = copied(sm_90, layout="SliceLayout(0, BlockedLayout([1, 2], [1, 32], [1, 4], [1, 0]))")
    recorded = first.config.constexprs["layout"]
    assert isinstance(recorded, str)
    assert recorded.startswith("SliceLayout(dim=0, parent=BlockedLayout(size_per_thread=[1, 2]")
    again = copied(sm_90, layout=recorded)
    assert again.config.constexprs == first.config.constexprs
    assert again.stages["ttgir"].read() == first.stages["ttgir"].read()
    (planned,) = plan([Request(kernel=COPY, target=sm_90, settings={"layout": recorded})]).variants
    assert planned.names["layout"] == recorded


def test_amd_layouts() -> None:
    gfx942 = Target(vendor="amd", arch="gfx942", warp_size=64)
    found = copied(gfx942, layout="BlockedLayout([4], [64], [4], [0])")
    assert "threadsPerWarp = [64]" in found.stages["ttgir"].text()


@pytest.mark.parametrize(
    ("layout", "message"),
    [
        ("BlokedLayout([1])", "BlokedLayout"),
        ("BlockedLayout([1])", "is not a layout"),
        ("BlockedLayout(open('x'))", "open"),
        ("BlockedLayout([1], [32]", "Layout"),
        ("BlockedLayout(layout)", "is not a layout"),
        ("BlockedLayout.__init__([1])", "BlockedLayout.__init__"),
        ("NVMMASharedLayout.get_default([1])", "NVMMASharedLayout.get_default"),
    ],
)
def test_an_invalid_layout_is_an_error(layout: str, message: str, sm_90: Target) -> None:
    with pytest.raises(IrlensError, match=re.escape(message)):
        copied(sm_90, layout=layout)


def test_a_descriptor_has_the_default_layout_of_its_block(sm_90: Target) -> None:
    request = Request(kernel=SCALE, target=sm_90)
    if not DEFAULTS:
        with pytest.raises(CaptureError, match="no default layout"):
            capture(request)
        return
    (found,) = capture(request)
    # 32 elements of 4 bytes are one row of 128 bytes.
    assert "swizzlingByteWidth = 128" in found.stages["ttgir"].text()


def test_a_descriptor_may_have_another_layout(sm_90: Target) -> None:
    argument = "fp32[64, 64]:block[64, 32]:NVMMASharedLayout(32, 32, 2)"
    (found,) = capture(Request(kernel=SCALE, target=sm_90, args={"source": argument}))
    assert "swizzlingByteWidth = 32" in found.stages["ttgir"].text()
    assert found.config.args["source"] == argument


@pytest.mark.skipif(not DEFAULTS, reason="this Triton's layouts have no such function")
def test_a_layout_from_a_static_method(sm_90: Target) -> None:
    made = "gl.NVMMASharedLayout.get_default_for([64, 8], gl.float32)"
    argument = f"fp32[64, 64]:block[64, 8]:{made}"
    (found,) = capture(Request(kernel=SCALE, target=sm_90, args={"source": argument}))
    assert "swizzlingByteWidth = 32" in found.stages["ttgir"].text()
