"""``irlens inspect --program``: one program's accesses, in text and JSON."""

import json
from pathlib import Path

import numpy as np
import pytest

import irlens
from tests import running
from tests.running import Ran

SMALL = ["inspect", "matmul_tiled", "-t", "h100", "-a", "M=200", "-a", "N=200", "-a", "K=100"]


def run(*arguments: str) -> Ran:
    return running.irlens(*SMALL, *arguments)


def test_a_tile_at_the_edge() -> None:
    ran = run("--program", "1,1")
    assert ran.code == 0, ran.err
    title, _, a, _, c, _, *tiles = ran.out.splitlines()
    assert title == "matmul_tiled_kernel, program (1, 1, 0) of 2 × 2 × 1"
    # Rows 128 to 199 of A and C: 72 of a tile's 128, and as many columns of C.
    load = ["load", "a_ptr", "128 × 64", "12,800", "19,963", "100, 1", "4,608 of 8,192", "2", "64"]
    store = ["store", "c_ptr", "128 × 128", "25,728", "39,999", "200, 1", "5,184 of 16,384", "1"]
    assert a.split()[1:] == " ".join(load).split()
    assert c.split()[1:] == " ".join(store).split()
    assert [each.partition(" ")[2] for each in tiles] == [
        "loads a_ptr[128:200, 0:64] and 1 more, [0, 64] apart",
        "loads b_ptr[0:64, 128:200] and 1 more, [64, 0] apart",
        "writes c_ptr[128:200, 128:200]",
    ]


def test_a_program_whose_loop_is_data(tmp_path: Path) -> None:
    """Two of three segments are empty; the second has 2,500 elements, of 1,024 at a time."""
    np.save(tmp_path / "offsets.npy", np.array([0, 0, 2500, 2500], np.int32))
    sizes = ["-a", "n_segments=3", "-a", "n_elements=2500"]
    given = ["-a", f"offsets_ptr=@{tmp_path / 'offsets.npy'}"]
    ran = running.irlens("inspect", "segment_sum", "-t", "h100", *sizes, *given, "--program", "1")
    assert ran.code == 0, ran.err
    assert "loads input_ptr[0:1024] and 2 more, [1024] apart" in ran.out
    without = running.irlens("inspect", "segment_sum", "-t", "h100", *sizes, "--program", "1")
    assert "offsets_ptr=@FILE.npy" in without.out + without.err


def registers() -> int:
    """Of the persistent softmax with 4 warps, which differ between versions of Triton."""
    found = irlens.inspect(irlens.capture("softmax", target="h100", num_warps=4))
    assert found.resources.registers is not None
    return found.resources.registers


def test_rows_of_a_persistent_launch() -> None:
    ran = running.irlens("inspect", "softmax", "-t", "h100", "--num-warps", "4", "--program", "3")
    assert ran.code == 0, ran.err
    title, programs, *_, load, store = ran.out.splitlines()
    assert title == "softmax_kernel, program (3, 0, 0) of 2,112 × 1 × 1"
    # The tutorial divides registers without the allocation's granularity: 28 or 30 of 4 warps
    # would admit more than 16 CTAs, 32 do not.
    tutorial = 65536 // (registers() * 4 * 32)
    differs = f"; the tutorial's formula gives {tutorial} per SM, {132 * tutorial:,}"
    assert programs == (
        "2,112 CTAs = 132 SMs × 16 that each holds" + (differs if tutorial != 16 else "")
    )
    assert load.endswith("loads input_ptr[3, 0:1024] and 1 more, [2112, 0] apart")
    assert store.endswith("writes output_ptr[3, 0:1024] and 1 more, [2112, 0] apart")


def test_json_has_the_same() -> None:
    ran = run("--program", "1", "-f", "json")
    assert ran.code == 0, ran.err
    (program,) = json.loads(ran.out)
    assert program["program"] == [1, 0, 0]
    assert [each["argument"] for each in program["accesses"]] == ["a_ptr", "b_ptr", "c_ptr"]


def test_a_program_outside_of_the_grid_is_an_error() -> None:
    ran = run("--program", "3")
    assert ran.code == 2
    assert "no such program: its grid is 2 × 2 × 1, 4 programs" in ran.err


@pytest.mark.parametrize("others", [["x"], ["1,1,1,1"], ["1", "--interpret"], ["1", "-f", "md"]])
def test_what_makes_no_sense_is_refused(others: list[str]) -> None:
    assert run("--program", *others).code == 2
