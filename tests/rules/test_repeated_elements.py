from collections.abc import Callable

import pytest

from irlens.model.report import Finding

CODE = "IRL309"
Look = Callable[..., list[Finding]]


def test_shows_more_threads_than_elements(look: Look) -> None:
    """Two of four warps have a thread for each of 64 elements, and the other two load them too."""
    (finding,) = look(CODE, "sectors.py:few_elements")
    assert finding.message.endswith(
        " takes the same elements in each of 2 warps: the tile has 64 elements for 128 threads, and"
        " its 16,384 requests touch 32,768 sectors of 32 B where 16,384 would do"
    )
    assert finding.hint == "num_warps 2, or a tile of 128 elements or more"
    assert look(CODE, "sectors.py:few_elements", num_warps=2) == []
    assert look(CODE, "sectors.py:few_elements", D=128) == []


@pytest.mark.parametrize(("target", "warps"), [("mi300x", 1), ("rx7900xtx", 1)])
def test_fewer_waves_fill_a_line_on_amd(target: str, warps: int, look: Look) -> None:
    """64 elements are 128 bytes, a line: more than one wave would take it several times."""
    (finding,) = look(CODE, "sectors.py:few_elements", target)
    assert finding.hint.startswith(f"num_warps {warps}, ")
    assert look(CODE, "sectors.py:few_elements", target, num_warps=warps) == []
    assert look("IRL302", "sectors.py:few_elements", target, num_warps=warps) == []


def test_words_of_several_weights_repeat_and_are_aligned(look: Look) -> None:
    """Lanes copy the same word, in more requests than one; its rows start at boundaries."""
    (finding,) = look(CODE, "serving.py:packed", "h100")
    assert "8 times: neighbours in the tile have the same address" in finding.message
    assert look("IRL307", "serving.py:packed", "h100") == []


@pytest.mark.parametrize("target", ["h100", "gfx942"])
def test_fewer_warps_for_a_vector_beside_a_tile_bring_a_conversion(look: Look, target: str) -> None:
    """IRL310 asks for the warps that IRL309 would take away."""
    kernel, lanes = "vector_beside.py", {"h100": 32, "gfx942": 64}[target]
    warps = {"N": 4 * lanes, "num_warps": 8}, {"N": 4 * lanes, "num_warps": 2}
    (finding,) = look(CODE, kernel, target, **warps[0])
    assert finding.hint.startswith("num_warps 2, or")
    assert "in every iteration: compare the times" in finding.hint
    (other,) = look("IRL310", kernel, target, **warps[1])
    assert other.hint.startswith("try num_warps=8")


def test_windows_overlap_without_neighbours_of_one_address(look: Look) -> None:
    found = look(CODE, "serving.py:convolution", "h100")
    (loaded,) = (each for each in found if "load of x" in each.message)
    assert "parts of the tile overlap, as a convolution's windows do" in loaded.message
    assert loaded.blame is not None
    assert loaded.blame.kind == "overlapping"


def test_single_values_count_only_where_the_rest_of_the_launch_is_known(look: Look) -> None:
    assert look(CODE, "serving.py:grouped", "gfx942") == []


def test_silent_about_a_number_beside_tiles_that_the_tma_moves(look: Look) -> None:
    assert look(CODE, "rows.py:scaled_rows", "h100") == []


@pytest.mark.parametrize(
    ("kernel", "complaint", "remedy"),
    [
        ("windows", "7.79 times: the rows of the tile are windows that", "gathered_windows"),
        ("upsample", "2 times: neighbours in the tile have the same address", "doubled"),
    ],
)
def test_shows_elements_that_repeat(kernel: str, complaint: str, remedy: str, look: Look) -> None:
    (finding,) = look(CODE, f"sectors.py:{kernel}")
    assert f"takes each element {complaint}" in finding.message
    assert [each for each in look(CODE, f"sectors.py:{remedy}") if "times" in each.message] == []
    for code in ("IRL301", "IRL302", "IRL307"):
        assert look(code, f"sectors.py:{kernel}") == []  # padding rows would not help


def test_a_value_for_each_element_of_a_tile_is_counted(look: Look) -> None:
    (finding,) = look(CODE, "scales.py:scaled_rows", args={"scale": "fp32[n]"}, SPREAD=True)
    assert "takes each element 1,024 times: its address does not depend" in finding.message


def test_shows_the_layout_of_a_larger_tile(look: Look) -> None:
    (finding,) = look(CODE, "sectors.py:spread")
    assert "in 32 threads of a warp: its layout is that of a tile that" in finding.message
    assert finding.hint.startswith("a tile of 128 elements or more")
    assert look(CODE, "sectors.py:spread", M=128, N=32) == []


def test_silent_where_each_element_is_taken_once(look: Look) -> None:
    assert look(CODE, "sectors.py:repeated") == []  # ptxas makes one load of a thread's eight
    assert look(CODE, "softmax") == []
    assert look(CODE, "sectors.py:column_bias") == []
    assert look(CODE, "sectors.py:transpose") == []


def test_shows_what_each_cta_of_a_cluster_loads(look: Look) -> None:
    """Both CTAs share the rows of A, and each of them copies all of its tile."""
    (finding,) = look(CODE, "dots.py", num_ctas=2)
    assert "takes the same elements in each of the cluster's 2 CTAs" in finding.message
    assert finding.hint == "num_ctas=1 takes them once"
    assert look("IRL302", "dots.py", num_ctas=2) == []
    assert look(CODE, "dots.py") == []


def test_copies_that_repeat_rows_are_not_misaligned(look: Look) -> None:
    """The eight rows of a word of 4-bit weights are copied from one, in groups of 128 bytes."""
    (finding,) = look(CODE, "grouped_weights.py")
    assert " takes each element 8 times: neighbours in the tile have the same address" in (
        finding.message
    )
    assert look("IRL307", "grouped_weights.py") == []
