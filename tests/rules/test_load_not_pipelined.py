from collections.abc import Callable

import pytest

from irlens.model.report import Finding

CODE = "IRL203"
Look = Callable[..., list[Finding]]


def test_shows_a_load_that_leads_to_no_dot(look: Look) -> None:
    (finding,) = look(CODE, "loads.py:biased_dot", STAGES=None, num_stages=4)
    assert str(finding.source) == "loads.py:52"
    assert finding.message == (
        "the load at loads.py:52 is not pipelined, in a loop of 4 stages: the loop has a dot, and"
        " the load does not lead to its operands"
    )


def test_shows_a_load_that_is_too_narrow(look: Look) -> None:
    """Rows of 781 fp16 begin at odd addresses, so that a thread reads 2 bytes at a time."""
    (finding,) = look(CODE, "loads.py:row_sum", args={"n_cols": 781}, STAGES=3)
    assert finding.message.endswith(
        "a thread reads less than 4 consecutive bytes, and the smallest asynchronous copy is 4"
    )


@pytest.mark.parametrize("target", ["sm_80", "gfx942"])
def test_a_single_value_is_pipelined_if_it_is_wide_enough(look: Look, target: str) -> None:
    (finding,) = look(CODE, "scales.py:scaled_rows", target)
    assert "less than 4 consecutive bytes" in finding.message
    assert finding.hint == "let it take 4 bytes in memory"
    assert look(CODE, "scales.py:scaled_rows", target, args={"scale": "fp32[n]"}) == []
    (finding,) = look(CODE, "scales.py:scaled_dot", target)
    assert finding.message.endswith("does not lead to its operands")
    assert look(CODE, "scales.py:scaled_dot", target, STAGES=3) == []


@pytest.mark.parametrize(
    ("settings", "movable"), [({}, True), ({"STEP": 1}, False), ({"IN_PLACE": True}, False)]
)
def test_a_load_that_every_iteration_shares_can_stand_before_the_loop(
    look: Look, settings: dict[str, int], movable: bool
) -> None:
    (finding,) = look(CODE, "scales.py:scaled_copy", "sm_80", **settings)
    assert finding.hint.startswith("load it before the loop, or ") == movable


def test_a_tile_that_is_transposed_as_both_operands_is_copied_into_one_layout(look: Look) -> None:
    (finding,) = look(CODE, "carried_operand.py:carried_operand", "sm_80")
    assert finding.message.startswith("the load at carried_operand.py:25 is not")
    assert "products take its tile in different layouts" in finding.message
    assert look(CODE, "carried_operand.py:carried_operand", "sm_80", AGAIN=True) == []


@pytest.mark.parametrize("target", ["gfx942", "gfx950"])
def test_amd_copies_a_tile_into_one_layout(look: Look, target: str) -> None:
    (finding,) = look(CODE, "two_products.py:two_products", target)
    assert "products take its tile in different layouts" in finding.message
    assert look(CODE, "two_products.py:two_products", target, AGAIN=True) == [], "as the hint says"
    assert look(CODE, "two_products.py:two_products", "sm_80") == []


def test_a_loaded_pointer_and_stride_need_their_alignment(look: Look) -> None:
    (finding,) = look(CODE, "loaded_pointers.py:listed_rows")
    assert "reads less than 4 consecutive bytes" in finding.message
    assert "tl.multiple_of(..., 16)" in finding.hint
    assert look(CODE, "loaded_pointers.py:listed_rows", ALIGNED=True) == [], "as the hint says"
    (other,) = look(CODE, "loads.py:row_sum", args={"n_cols": 781}, STAGES=3)
    assert "strides and bounds that are multiples of 16" in other.hint


def test_a_tile_may_have_too_few_bytes_for_its_threads(look: Look) -> None:
    """512 threads share 1,024 B; no alignment lets one of them copy 4 bytes."""
    narrow = {"x_ptr": "int8[n_rows, n_cols]"}
    (finding,) = look(CODE, "loads.py:row_sum", args=narrow, STAGES=3, num_warps=16)
    assert finding.hint == (
        "a larger tile, or fewer warps, before any alignment counts: 1,024 B are less than 4 for"
        " each of 512 threads"
    )
    assert look(CODE, "loads.py:row_sum", args=narrow, STAGES=3, num_warps=8) == []


def test_shows_every_load_where_the_gpu_cannot_copy(look: Look) -> None:
    found = look(CODE, "loads.py:biased_dot", "sm_75")
    assert [str(finding.source) for finding in found] == [f"loads.py:{n}" for n in (48, 49, 52)]
    assert found[0].message.endswith("the target has no asynchronous copies")


def test_silent_where_the_loop_itself_asks(look: Look) -> None:
    """A loop's own num_stages includes loads that lead to no dot."""
    assert look(CODE, "loads.py:biased_dot", STAGES=4) == []


def test_silent_where_all_loads_are_pipelined(look: Look) -> None:
    assert look(CODE, "loads.py:biased_dot", BIAS=False, STAGES=None, num_stages=4) == []
    assert look(CODE, "loads.py:row_sum", STAGES=3) == []


def test_silent_where_nobody_asked(look: Look) -> None:
    assert look(CODE, "loads.py:row_sum") == []
    assert look(CODE, "loads.py:biased_dot", STAGES=1) == []


def test_shows_an_operand_that_is_transposed_on_the_way(look: Look) -> None:
    """wgmma multiplies fp8 only with K contiguous, and the rows of B go along N."""
    fp8 = {"a_ptr": "fp8e5", "b_ptr": "fp8e5"}
    (finding,) = look(CODE, "dots.py", args=fp8, BLOCK_K=64)
    assert str(finding.source) == "dots.py:27"
    assert "takes operands of this type only with K contiguous" in finding.message
    assert finding.hint == "store the matrix with K contiguous"
    # tf32 is transposed by copies of 4 bytes.
    assert look(CODE, "dots.py") == []


def test_silent_where_the_loop_was_unrolled(look: Look) -> None:
    narrow = {"n_cols": 781}
    assert look(CODE, "loads.py:few_rows", args=narrow, STAGES=2) == []
    assert len(look(CODE, "loads.py:few_rows", args=narrow, STAGES=2, ROWS=4096)) == 1


@pytest.mark.parametrize("target", ["a100", "h100", "mi300x"])
def test_an_accumulator_is_no_operand_of_the_product_that_it_leads_to(
    target: str, look: Look
) -> None:
    """The bias is added to scores, of which the second product takes its operand."""
    (finding,) = look(CODE, "users.py:biased_attention", target)
    assert "the loop has a dot, and the load does not lead to its operands" in finding.message


def test_loads_for_a_product_before_the_loop_do_not_run_ahead(look: Look) -> None:
    """On sm_100 the first product is peeled off the loop with what it multiplies."""
    found = look(CODE, "serving.py:convolution", "sm_100")
    assert ["a thread reads less than 4" in each.message for each in found] == [True]
