from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

from irlens.model.report import Finding

CODE = "IRL502"
Look = Callable[..., list[Finding]]


def test_shows_sms_without_work(look: Look) -> None:
    (finding,) = look(CODE, "tile_sum.py", args={"PROGRAMS": 100})
    assert finding.message == "100 CTAs for 132 SMs of h100: 32 stay idle"


def test_silent_where_every_sm_has_a_cta(look: Look) -> None:
    assert look(CODE, "tile_sum.py", args={"PROGRAMS": 132}) == []


def test_silent_where_the_number_of_sms_is_not_known(look: Look) -> None:
    assert look(CODE, "tile_sum.py", "sm_90", args={"PROGRAMS": 100}) == []


@pytest.mark.parametrize(
    ("target", "programs", "advice"),
    [
        ("mi300x", 256, "launch a program for each CU, PROGRAMS=304: "),
        ("h100", 100, "launch a program for each SM, PROGRAMS=132: "),
    ],
)
def test_a_persistent_kernel_is_to_have_more_programs(
    look: Look, target: str, programs: int, advice: str
) -> None:
    """Its 8,192 rows are divided among as many programs as it is launched with."""
    (finding,) = look(CODE, "other_causes.py:persistent_rows", target, PROGRAMS=programs)
    assert finding.hint.startswith(advice)


def test_the_number_of_programs_may_be_the_launchs_alone(look: Look) -> None:
    """The kernel asks for it: ``range(program_id(0), tiles, num_programs(0))``."""
    sizes = {"M": 512, "N": 4096}  # 128 tiles
    (finding,) = look(CODE, "matmul_persistent", "h100", args=sizes, BLOCK_SIZE_N=256)
    assert "smaller tiles, or" in finding.hint, "each program has one of 64 tiles"
    (finding,) = look(CODE, "matmul_persistent", "mi300x", args=sizes)
    assert "smaller tiles, or" in finding.hint


def test_more_tiles_than_programs_ask_for_programs(look: Look) -> None:
    (finding,) = look(CODE, "other_causes.py:shared_tiles", "h100")
    assert finding.hint.startswith("launch a program for each tile, 120: ")


def test_a_constexpr_that_merely_equals_the_grid_decides_no_programs(
    look: Look, tmp_path: Path
) -> None:
    """Kernels of aiter are given the number of tiles, ``GRID_MN``, and some do not use it."""
    path = tmp_path / "kernels.py"
    path.write_text(
        dedent("""
        import triton
        import triton.language as tl

        IRLENS_KERNELS = {"k": {"args": {"x": "fp32[61440]"}, "grid": [60],
                                "constexprs": {"BLOCK": 1024, "TILES": 60}}}

        @triton.jit
        def k(x, BLOCK: tl.constexpr, TILES: tl.constexpr):
            at = x + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            tl.store(at, tl.load(at) * 2.0)
    """)
    )
    (finding,) = look(CODE, f"{path}:k")
    assert finding.hint.startswith("give each program less work")
