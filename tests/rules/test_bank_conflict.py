from collections.abc import Callable

import pytest

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
    halves = {"a_ptr": "fp16[M, K]", "b_ptr": "fp16[K, N]"}
    assert look(CODE, "dots.py", args=halves) == []
    assert look(CODE, "dots.py", "a100") == []


def test_shows_an_operand_that_is_transposed_as_it_is_copied(look: Look) -> None:
    """Of such copies the lanes' addresses in the machine code take eight wavefronts, too."""
    (finding,) = look(CODE, "dots.py")
    assert "dots.py:27 writes shared memory with 8-way bank conflicts" in finding.message


@pytest.mark.parametrize("target", ["sm_80", "sm_90", "sm_100"])
def test_shows_weights_that_are_unpacked_and_joined(look: Look, target: str) -> None:
    """The lanes' addresses in sm_90's machine code take 4.0 wavefronts of 4 bytes each, too."""
    (finding,) = look(CODE, "joined_weights.py", target)
    assert finding.message == (
        "joined_weights.py:26 writes shared memory with 4-way bank conflicts: a warp's request"
        " takes 4 passes instead of one"
    )


def test_shows_a_vector_of_which_threads_hold_more_than_they_move(look: Look) -> None:
    """A swizzle would change nothing: it moves rows (triton#8149)."""
    kernel = "../gluon/vector.py"
    (finding,) = look(CODE, kernel)
    assert finding.message == (
        "vector.py:29 writes shared memory with 4-way bank conflicts: a warp's request takes 4"
        " passes instead of one"
    )
    assert finding.hint is not None
    assert finding.hint.startswith("give each thread 4 consecutive elements, 16 B, or fewer")
    assert look(CODE, kernel, along="BlockedLayout([4], [32], [4], [0])") == []


def test_counts_the_least_of_amd(look: Look) -> None:
    """64 lanes read 8 bytes each of 32 rows of 128 bytes, all in four of 32 banks."""
    (finding,) = look(CODE, "flash_attention", "gfx942")
    assert finding.message == (
        "flash_attention.py:73 reads LDS with 8-way bank conflicts: a wave's request takes at least"
        " 8 times as long"
    )
    assert look(CODE, "flash_attention", "gfx942", num_stages=1) == []
    halves = {"a_ptr": "fp16[M, K]", "b_ptr": "fp16[K, N]"}
    assert look(CODE, "dots.py", "gfx942", args=halves) == []


def test_copies_of_vectors_are_counted_by_their_elements_and_not_by_pointers(look: Look) -> None:
    """Each thread copies 8 bytes, and its neighbour the next ones."""
    assert look(CODE, "loads.py:row_sum", STAGES=3, args={"x_ptr": "int8[n_rows, n_cols]"}) == []
