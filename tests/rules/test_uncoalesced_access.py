from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import msgspec
import numpy as np
import pytest
import triton

from irlens import gpus
from irlens.analyze.facts import Facts, Moved
from irlens.artifacts.load import load
from irlens.compiler import Request, capture_entries
from irlens.model.capture import Capture, Stage
from irlens.model.report import Finding
from irlens.report.inspection import Inspection
from irlens.rules import uncoalesced_access

CODE = "IRL302"
Look = Callable[..., list[Finding]]


def test_shows_a_walk_down_a_column(look: Look) -> None:
    (finding,) = look(CODE, "columns.py:columns")
    # 4,096 programs load 1,024 elements each, 32 at a time, and each lies in a row of its own.
    assert finding.message == (
        "the load at columns.py:55 is not coalesced: neighbours in the tile are 4,096 elements"
        " apart, and its 131,072 requests touch 4,194,304 sectors of 32 B where 524,288 would do"
    )


def test_estimates_sectors_of_a_warp_where_the_requests_are_unknown(
    facts_of: Callable[..., Facts],
) -> None:
    """A warp holds 32 x 4 elements side by side: 512 bytes, and each lies in a row of its own."""
    facts = facts_of("columns.py:columns")
    uncounted = Moved(facts.traffic)
    facts = msgspec.structs.replace(facts, evaluate_launch=lambda: uncounted)
    (finding,) = uncoalesced_access.find(facts)
    assert finding.message == (
        "the load at columns.py:55 is not coalesced: neighbours in the tile are 4,096 elements"
        " apart, and a warp touches 128 sectors of 32 B where 16 would do"
    )


def test_shows_rows_that_are_short(look: Look) -> None:
    """Two neighbours lie side by side, and the next two in another row: a sector for 8 bytes."""
    (finding,) = look(CODE, "columns.py:strip")
    assert finding.message == (
        "the load at columns.py:81 is not coalesced: rows of the tile are 2 elements long and 4,096"
        " apart, and its 16,384 requests touch 524,288 sectors of 32 B where 131,072 would do"
    )
    assert finding.hint == "make the tile wider along the dimension that is contiguous in memory"
    (finding,) = look(CODE, "columns.py:strip", WIDTH=4)  # half of each sector is used
    assert "rows of the tile are 4 elements long and 4,096 apart" in finding.message
    assert look(CODE, "columns.py:strip", WIDTH=8) == []


@pytest.mark.parametrize(
    ("target", "lines"),
    [
        ("mi210", "65,536 requests touch 4,194,304 lines of 64 B where 262,144 would do"),
        ("mi300x", "65,536 requests touch 4,194,304 lines of 128 B where 131,072 would do"),
        ("mi350x", "65,536 requests touch 4,194,304 lines of 128 B where 131,072 would do"),
        ("rx7900xtx", "131,072 requests touch 4,194,304 lines of 128 B where 131,072 would do"),
    ],
)
def test_counts_lines_on_amd(target: str, lines: str, look: Look) -> None:
    """A wave loads 64 elements at a time (RDNA: 32), each in a row of its own."""
    (finding,) = look(CODE, "columns.py:columns", target)
    assert finding.message.endswith(f"4,096 elements apart, and its {lines}")
    along = {"row_stride": 4096, "column_stride": 1}
    assert look(CODE, "columns.py:columns", target, args=along) == []


def test_shows_a_stride_that_is_not_known(facts_of: Callable[..., Facts]) -> None:
    """What a bare Triton cache tells: no values of arguments."""
    facts = facts_of("columns.py:columns")
    bare = msgspec.structs.replace(facts, config=msgspec.structs.replace(facts.config, args={}))
    (finding,) = uncoalesced_access.find(msgspec.structs.replace(bare, evaluate_launch=Moved))
    assert finding.message.endswith(
        "neighbours in the tile are column_stride elements apart, which is not known to be 1"
    )


def test_silent_where_instructions_are_narrow_and_elements_close(look: Look) -> None:
    """Four instructions of 4 B touch the sectors of four elements: IRL301 says that."""
    assert look(CODE, "columns.py:untold") == []
    assert look(CODE, "vector_add", args={"n_elements": 98433}) == []


def test_silent_on_results_in_the_layout_of_matrix_cores(look: Look) -> None:
    """AMD stores from that layout: 64 lanes write pieces of 32 rows, but no kernel chooses that."""
    assert look(CODE, "matmul_tiled", "mi300x") == []


def test_shows_short_rows_that_are_copied_to_padded_lds(look: Look) -> None:
    """The copies of gfx950 have linear layouts, and were taken for a product's."""
    tile = {"M": 128, "N": 128, "BLOCK_K": 32, "STAGES": 2, "PRECISION": "ieee"}
    args = {"a_ptr": "fp16", "b_ptr": "fp16"}
    for target in ("gfx942", "gfx950"):
        (finding,) = look(CODE, "dots.py", target, args=args, **tile)
        assert "rows of the tile are 32 elements long and 4,096 apart" in finding.message
        assert finding.hint.startswith("make the tile wider")
        assert look(CODE, "dots.py", target, args=args, **{**tile, "BLOCK_K": 64}) == []


def test_silent_along_a_row(look: Look) -> None:
    assert look(CODE, "columns.py:columns", args={"row_stride": 4096, "column_stride": 1}) == []


def test_shows_threads_that_hold_more_than_they_move(look: Look) -> None:
    """Of a mask of bytes a thread takes 16, so it holds 32 B of fp16, in two requests."""
    (finding,) = look(CODE, "masked_row.py")
    assert "each thread holds 32 consecutive bytes and moves 16 of them per request" in (
        finding.message
    )
    assert "a request leaves gaps of 16 B" in finding.message
    assert finding.hint.startswith("raise num_warps")
    assert look(CODE, "masked_row.py", num_warps=8) == [], "as the hint says"


def test_shows_threads_that_hold_more_than_they_move_of_each_row(look: Look) -> None:
    """A row of 64 elements is 128 B, four whole sectors: that rows are apart costs nothing."""
    (finding,) = look(CODE, "sectors.py:mixed_types")
    assert (
        "each thread holds 32 consecutive bytes and moves 16 of them per request, so that a"
        " request leaves gaps of 16 B"
    ) in finding.message
    assert finding.hint.startswith("raise num_warps")
    assert look(CODE, "sectors.py:mixed_types", num_warps=16) == [], "as the hint says"


def test_warps_that_no_cta_has_are_no_advice(look: Look) -> None:
    """Each of 32 warps would still hold 32 B of a row's fp32: its fp16 moves 8 elements."""
    finding, _ = look(CODE, "wide_rows.py")
    assert finding.hint.startswith("give the accesses of the tile types of one size")
    assert look(CODE, "wide_rows.py", num_warps=32)
    assert look(CODE, "wide_rows.py", args={"x": "fp32[64, 8192]", "y": "fp32[64, 8192]"}) == []


def test_shows_every_other_element(look: Look) -> None:
    """Half of what a warp touches is not accessed, and each of 8 elements takes a request."""
    (finding,) = look(CODE, "columns.py:columns", args={"row_stride": 4096, "column_stride": 2})
    assert "neighbours in the tile are 2 elements apart, and its 131,072" in finding.message
    assert finding.hint.startswith("load all 2 parts as one contiguous tile")


def test_silent_on_indices_that_were_loaded(look: Look) -> None:
    assert look(CODE, "columns.py:gather") == []


def test_silent_on_tiles_of_rows(look: Look) -> None:
    assert look(CODE, "dots.py") == []
    assert look(CODE, "short_rows.py", M=8) == []


def test_silent_on_the_strides_of_a_hosts_descriptor(look: Look) -> None:
    """sm_80 gets pointers and strides instead, and the last stride of a descriptor is 1."""
    assert look(CODE, "described.py", "a100", BM=64) == []


def test_taking_a_contiguous_tile_apart_mends_it(look: Look) -> None:
    (finding,) = look(CODE, "sectors.py:every_other")
    assert "2 elements apart, and its 2,048 requests touch 65,536 sectors" in finding.message
    assert look(CODE, "sectors.py:pairs") == []


@pytest.mark.skipif(triton.__version__ < "3.7", reason="it finds the contiguous dimension")
@pytest.mark.parametrize("target", ["h100", "mi300x"])
def test_shows_a_contiguous_dimension_that_the_compiler_does_not_know(
    target: str, look: Look
) -> None:
    finding = look(CODE, "sectors.py:untold_columns", target)[0]
    assert (
        "threads go along dimension 1 of the tile, whose elements are 1,024 apart, and dimension 0"
        " is contiguous"
    ) in finding.message
    assert finding.hint.startswith("let the compiler know that sm is 1")
    assert look(CODE, "sectors.py:told_columns", target) == []


@pytest.mark.parametrize("target", ["h100", "mi300x"])
def test_names_the_argument_whose_value_tells_the_order(target: str, look: Look) -> None:
    """Of ``pixel % width`` the compiler knows no neighbours, unless it knows the width."""
    if triton.__version__ < "3.7":  # which spreads the threads along the pixels by itself
        assert look(CODE, "other_causes.py:pixels", target) == []
        return
    (finding,) = look(CODE, "other_causes.py:pixels", target)
    assert "threads go along dimension 1 of the tile" in finding.message
    assert finding.hint == "pass width as tl.constexpr"
    assert finding.blame is not None
    assert finding.blame.arguments == ["width"]
    (finding,) = look(CODE, "other_causes.py:pixels", target, args={"width": 61})
    assert "tl.max_contiguous(addresses, [N, 1])" in finding.hint  # an odd value tells nothing


def test_names_a_tensor_of_which_no_dimension_is_contiguous(look: Look) -> None:
    (finding,) = look(CODE, "sectors.py:one_tap")
    assert finding.hint.startswith("no dimension of the tile is contiguous in memory: store x with")


def test_shows_what_lies_between_most_neighbours(look: Look) -> None:
    (finding,) = look(CODE, "sectors.py:every_second")
    assert "most neighbours in the tile are 2 elements apart" in finding.message
    assert finding.hint.startswith("load all 2 parts as one contiguous tile")


def test_shows_rows_that_indices_cut(look: Look) -> None:
    """28 of 30 pixels of a row: indices with // and % jump after each row."""
    (finding,) = look(CODE, "sectors.py:inner")
    assert "its neighbours lie side by side in rows of 25.6 on average" in finding.message
    assert finding.hint.startswith("let a dimension of the tile follow the contiguous rows")


def test_shows_interleaved_stores(look: Look) -> None:
    found = look(CODE, "sectors.py:interleave")
    assert [each.hint.partition(" (")[0] for each in found] == ["put all 2 parts together"] * 2
    assert look(CODE, "sectors.py:joined") == []


def test_shows_interleaved_channels(look: Look) -> None:
    (finding,) = look(CODE, "sectors.py:channels_last")
    assert "neighbours in the tile are 48 elements apart" in finding.message


def test_shows_requests_shorter_than_a_line(look: Look) -> None:
    """32 lanes of a byte each are a quarter of a line."""
    found = look(CODE, "sectors.py:bytes", "rx7900xtx")
    assert all("a request has 32 B, less than a line" in each.message for each in found)
    assert len(found) == 2
    assert look(CODE, "sectors.py:bytes", "rx7900xtx", SHIFT=0, BLOCK=512) == []


def test_shows_addresses_that_are_loaded() -> None:
    """Contents of the indices are given: nearly each of 4,096 elements has a sector of its own."""
    gpu = gpus.find("h100")
    kernel = Path(__file__).parents[1] / "data" / "findings" / "sectors.py"
    request = Request(kernel=f"{kernel}:indirect", target=gpu.target, sm_count=gpu.sm_count)
    (entry,) = capture_entries(request)
    (capture,) = load(entry)
    assert isinstance(capture, Capture)
    content = BytesIO()
    np.save(content, np.random.default_rng(0).permutation(65536)[:4096].astype(np.int32))
    indices = Stage(name="at", content=content.getvalue())
    report = Inspection(msgspec.structs.replace(capture, contents={"at": indices})).report()
    (finding,) = [each for each in report.findings if each.code == CODE]
    assert "its addresses are loaded from memory and lie apart" in finding.message
    assert finding.hint == "sort the indices, or let each of them name a longer row"


def test_a_value_that_many_lanes_take_makes_short_requests(look: Look) -> None:
    """A wave's request has 8 rows of 4 bytes, each of them for 8 lanes."""
    found = look(CODE, "attention_merge", "gfx942")
    assert {each.blame.kind for each in found if each.blame} == {"broadcast"}
    assert "32 B, less than a line, since 8 lanes take each element" in found[0].message
