from collections.abc import Callable

from irlens.model.report import Finding

CODE = "IRL303"
Look = Callable[..., list[Finding]]


def test_shows_columns_of_rows(look: Look) -> None:
    """On an H200 Nsight Compute counts 16.0 wavefronts per request for this kernel."""
    (finding,) = look(CODE, "transpose.py")
    assert finding.message == (
        "transpose.py:23 reads shared memory with 16-way bank conflicts: a warp's request takes 16"
        " passes instead of one"
    )


def test_silent_along_rows(look: Look) -> None:
    """Nsight Compute: 4.0 wavefronts per request of 16 bytes per thread, which is the least."""
    assert look(CODE, "transpose.py", TRANSPOSED=False) == []


def test_silent_where_the_compiler_pads(look: Look) -> None:
    """Without a pipeline the tile is transposed between layouts: no conflicts on the H200."""
    assert look(CODE, "transpose.py", STAGES=1) == []


def test_silent_on_operands_of_dots(look: Look) -> None:
    assert look(CODE, "dots.py") == []
    assert look(CODE, "dots.py", "a100") == []
