"""Plans: every variant of a request, without compiling."""

import math
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from irlens.compiler import Request, capture, is_stored
from irlens.compiler.planning import Plan, plan
from irlens.compiler.toolchains import triton_version
from irlens.model.config import ConstexprValue, Target
from irlens.model.errors import CaptureError, UnknownNameError

UNEVEN = """
    import helper

    @triton.autotune(
        configs=[
            triton.Config({"BLOCK": 64}, num_warps=1),
            triton.Config({"BLOCK": 128, "TWICE": True}, num_warps=2, maxnreg=64),
        ],
        key=["n"],
    )
    @triton.jit
    def tuned(x_ptr, n, BLOCK: tl.constexpr, TWICE: tl.constexpr = False):
        offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(x_ptr + offsets, TWICE, mask=offsets < n)
"""


def planned(path: Path, target: Target, *settings: dict[str, ConstexprValue]) -> Plan:
    args: dict[str, ConstexprValue] = {"x_ptr": "fp16[1024]", "n": 1024}
    return plan(
        [Request(kernel=str(path), target=target, args=args, settings=each) for each in settings]
    )


@pytest.fixture
def uneven(write: Callable[..., Path]) -> Path:
    write("", name="helper.py")
    return write(UNEVEN)


def test_a_plan_has_every_configuration_with_all_values_fixed(uneven: Path, sm_90: Target) -> None:
    found = planned(uneven, sm_90, {})
    assert found.function == "tuned"
    assert [variant.request.settings for variant in found.variants] == [
        {"BLOCK": 64, "num_warps": 1, "num_ctas": 1, "num_stages": 3, "TWICE": False,
         "maxnreg": None},
        {"BLOCK": 128, "TWICE": True, "num_warps": 2, "num_ctas": 1, "num_stages": 3,
         "maxnreg": 64},
    ]  # fmt: skip
    for variant in found.variants:
        (made,) = capture(variant.request)
        assert made.config.num_warps == variant.request.settings["num_warps"]
        assert made.config.constexprs["TWICE"] is variant.request.settings["TWICE"]
        assert is_stored(variant.request)


def test_expressions_may_use_options_sizes_and_arguments(uneven: Path, sm_90: Target) -> None:
    names = planned(uneven, sm_90, {"num_stages": 2}).variants[0].names
    assert names["num_stages"] == 2
    assert names["BLOCK"] == 64
    assert names["n"] == 1024
    assert names["TWICE"] is False
    assert names["maxnreg"] is None


def test_a_plan_has_equal_variants_once(uneven: Path, sm_90: Target) -> None:
    assert len(planned(uneven, sm_90, {}, {"num_stages": 3}).variants) == 2
    assert len(planned(uneven, sm_90, {"num_stages": 2}, {"num_stages": 3}).variants) == 4


def test_a_plan_lists_its_dependencies(uneven: Path, sm_90: Target) -> None:
    before = planned(uneven, sm_90, {}).dependencies
    assert {Path(path).name for path in before} == {"helper.py", "user_kernels.py"}
    helper = uneven.with_name("helper.py")
    helper.write_text(helper.read_text() + "# changed\n")
    after = planned(uneven, sm_90, {}).dependencies
    assert [path for path in before if before[path] != after[path]] == [str(helper)]


def test_an_unknown_name_is_an_error(uneven: Path, sm_90: Target) -> None:
    with pytest.raises(UnknownNameError, match="BLOK") as raised:
        planned(uneven, sm_90, {"BLOK": 1})
    assert "BLOCK" in (raised.value.hint or "")


def test_a_missing_value_is_an_error(write: Callable[..., Path], sm_90: Target) -> None:
    path = write("@triton.jit\ndef plain(x_ptr, n, BLOCK: tl.constexpr):\n    pass\n")
    with pytest.raises(CaptureError, match="needs a value for BLOCK"):
        planned(path, sm_90, {})
    (variant,) = planned(path, sm_90, {"BLOCK": 2}).variants
    assert msgspec.structs.asdict(variant.request)["settings"] == {"BLOCK": 2}


def test_a_function_of_a_configuration_is_named_by_its_name(
    write: Callable[..., Path], sm_90: Target
) -> None:
    path = write("""
    @triton.jit
    def double(x):
        return x * 2

    @triton.autotune(configs=[triton.Config({"BLOCK": 64, "ACT": double})], key=["n"])
    @triton.jit
    def tuned(x_ptr, n, BLOCK: tl.constexpr, ACT: tl.constexpr):
        offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(x_ptr + offsets, ACT(offsets), mask=offsets < n)
""")
    args: dict[str, ConstexprValue] = {"x_ptr": "fp16[1024]", "n": 1024}
    request = Request(kernel=f"{path}:tuned", target=sm_90, args=args)
    (variant,) = plan([request]).variants
    assert variant.request.settings["ACT"] == "double"
    (made,) = capture(variant.request)
    assert made.config.constexprs["ACT"] == "double"


def test_each_triton_plans_its_own(
    write: Callable[..., Path], sm_90: Target, other_triton: Path
) -> None:
    path = write("""
        NEWER = triton.__version__ == "3.99.0"

        @triton.autotune(
            [triton.Config({"BLOCK": size}) for size in ((64, 128) if NEWER else (32,))], key=["n"]
        )
        @triton.jit
        def tuned(x_ptr, n, BLOCK: tl.constexpr, SCALE: tl.constexpr = 1):
            tl.store(x_ptr + tl.arange(0, BLOCK), SCALE)
    """)
    args: dict[str, ConstexprValue] = {"x_ptr": "fp16[1024]", "n": 1024}
    tritons = (str(other_triton), None, triton_version())
    asked = [Request(kernel=str(path), target=sm_90, args=args, triton=each,
                     settings={"SCALE": math.inf}) for each in tritons]  # fmt: skip
    found = plan(asked)
    assert [
        (each.triton, each.request.triton, each.request.settings["BLOCK"])
        for each in found.variants
    ] == [
        ("3.99.0", str(other_triton), 64),
        ("3.99.0", str(other_triton), 128),
        (triton_version(), None, 32),
    ]  # fmt: skip
    assert {each.request.settings["SCALE"] for each in found.variants} == {math.inf}
    assert list(found.dependencies) == [str(path)]


def test_a_size_may_follow_another(sm_90: Target) -> None:
    args: dict[str, ConstexprValue] = {"M": "96", "N": "2 * M", "K": "M"}
    (made,) = capture(Request(kernel="matmul_tiled", target=sm_90, args=args))
    assert made.config.args["a_ptr"] == "fp16[96, 96]"
    assert made.config.args["b_ptr"] == "fp16[96, 192]"
    assert (made.config.args["N"], made.config.args["K"]) == (192, 96)
