"""The grid that a file launches a kernel with, in terms of the kernel's parameters."""

from pathlib import Path

import pytest

from irlens.compiler.sources.launch_grids import launch_grid

PARAMETERS = ("A", "B", "M", "N", "stride", "BLOCK_M", "BLOCK_N")


def grid_of(tmp_path: Path, launcher: str) -> list[str]:
    path = tmp_path / "kernels.py"
    path.write_text(launcher)
    return launch_grid(path, "product", PARAMETERS)


@pytest.mark.parametrize(
    ("grid", "expected"),
    [
        (
            "lambda meta: (triton.cdiv(rows, meta['BLOCK_M']) * triton.cdiv(N, meta['BLOCK_N']),)",
            ["cdiv(M, BLOCK_M) * cdiv(N, BLOCK_N)"],
        ),
        ("(rows,)", ["M"]),
        ("(tiles, N)", ["cdiv(M, 64)", "N"]),
        ("[cdiv(rows, 64), 1]", ["cdiv(M, 64)", "1"]),
        ("lambda meta: (rows // meta['BLOCK_M'], b.stride(0))", ["M // BLOCK_M", "stride"]),
        ("(16,)", []),  # of other tensors
        ("(rows, 16)", []),
        ("(a.numel(),)", []),
        ("lambda meta: (meta['SPLIT'],)", []),
        ("(os.getpid(),)", []),
        ("grid", []),
    ],
)
def test_what_the_launch_passes_stands_for_parameters(
    tmp_path: Path, grid: str, expected: list[str]
) -> None:
    found = grid_of(
        tmp_path,
        f"""
def launch(a, b):
    rows, N = a.shape
    tiles = triton.cdiv(rows, 64)
    grid = {grid}
    product[grid](a, b, rows, N, b.stride(0), BLOCK_N=64)
""",
    )
    assert found == expected


def test_a_function_returns_the_grid(tmp_path: Path) -> None:
    launcher = """
def launch(a, b, M):
    def grid(META):
        return (cdiv(M, META["BLOCK_M"]),)
    product[grid](a, b, M)
"""
    assert grid_of(tmp_path, launcher) == ["cdiv(M, BLOCK_M)"]


def test_launches_with_several_grids_tell_none(tmp_path: Path) -> None:
    one, two = "product[(M,)](a, b, M)\n", "product[(M, N)](a, b, M, N)\n"
    assert grid_of(tmp_path, one + one) == ["M"]
    assert grid_of(tmp_path, one + two) == []
    assert grid_of(tmp_path, one + "product[unknown](a, b, M)\n") == []


def test_a_variable_that_is_assigned_twice_tells_nothing(tmp_path: Path) -> None:
    assert grid_of(tmp_path, "n = M\nproduct[(n,)](a, b, M)\n") == ["M"]
    assert grid_of(tmp_path, "n = M\nn += 1\nproduct[(n,)](a, b, M)\n") == []


@pytest.mark.parametrize("content", ["", "def", "product[" * 500, "-" * 100_000 + "1"], ids=len)
def test_other_files_have_none(tmp_path: Path, content: str) -> None:
    assert grid_of(tmp_path, content) == []
    assert launch_grid(tmp_path / "none.py", "product", PARAMETERS) == []
