from collections.abc import Callable
from math import prod

import pytest

from irlens.analyze.addresses import Addresses, divisors
from irlens.analyze.facts import Facts
from irlens.analyze.global_accesses import access_widths
from irlens.model.report import Finding

CODE = "IRL301"
Look = Callable[..., list[Finding]]
TILE = {
    "BLOCK_SIZE_M": 64,
    "BLOCK_SIZE_N": 64,
    "BLOCK_SIZE_K": 32,
    "GROUP_SIZE_M": 8,
    "num_warps": 4,
    "num_stages": 2,
}


def _softmax_granules(lanes: int, granule: int) -> int:
    """Return what requests of so many lanes touch in 4,096 contiguous rows of 781 floats."""
    return sum(
        (4 * (row * 781 + min(781, begin + lanes)) - 1) // granule
        - 4 * (row * 781 + begin) // granule
        + 1
        for row in range(4096)
        for begin in range(0, 781, lanes)
    )


def test_shows_a_stride_and_a_bound(look: Look) -> None:
    load, store = look(CODE, "softmax", args={"n_cols": 781})
    assert load.message == (
        "the load at softmax.py:50 moves 4 B per thread at a time and could move 16:"
        " input_row_stride=781 (address) and n_cols=781 (mask) are not known to be multiples of 16;"
        f" its {4096 * 25:,} requests touch {_softmax_granules(32, 32):,} sectors of 32 B where"
        f" {4096 * 98:,} would do"
    )
    assert store.message.startswith("the store at softmax.py:54 moves 4 B per thread")
    assert load.hint == "pad the rows to a multiple of 16 elements"


@pytest.mark.parametrize(
    ("target", "widest", "lanes", "requests"),
    [
        ("mi300x", 8, 64, 4096 * 13),
        ("mi350x", 8, 64, 4096 * 13),
        ("rx7900xtx", 16, 32, 4096 * 25),
    ],
)
def test_shows_a_stride_and_a_bound_on_amd(
    target: str, widest: int, lanes: int, requests: int, look: Look
) -> None:
    """Eight waves of 64 lanes have two of the 1,024 elements each, of 32 lanes four."""
    load, store = look(CODE, "softmax", target, args={"n_cols": 781})
    assert load.message == (
        f"the load at softmax.py:50 moves 4 B per lane at a time and could move {widest}:"
        " input_row_stride=781 (address) and n_cols=781 (mask) are not known to be multiples of 16;"
        f" its {requests:,} requests touch {_softmax_granules(lanes, 128):,} lines of 128 B where"
        " 102,400 would do"
    )
    assert store.message.startswith("the store at softmax.py:54 moves 4 B per lane")
    assert look(CODE, "softmax", target) == []


def test_shows_a_bound_alone(look: Look) -> None:
    found = look(CODE, "vector_add", args={"n_elements": 98433})
    assert len(found) == 3
    assert found[0].message.endswith(
        "could move 16: n_elements=98433 (mask) is not known to be a multiple of 16;"
        " its 3,077 requests touch 49,217 sectors of 32 B where 12,305 would do"
    )
    assert found[0].hint.startswith("pad the bound")


def test_a_multiple_that_the_compiler_was_not_told_of_needs_no_padding(look: Look) -> None:
    (load,) = look(CODE, "columns.py:untold")
    assert "row_stride=4096 (address) is not known to be a multiple of 16; its" in load.message
    assert load.hint.startswith("remove do_not_specialize: in this launch Triton would detect")
    (load,) = look(CODE, "columns.py:untold", args={"row_stride": 4001})
    assert load.hint == "pad the rows to a multiple of 16 elements"


def test_a_multiple_of_8_may_be_a_constexpr(look: Look) -> None:
    (load,) = look(CODE, "columns.py:untold", args={"row_stride": 4004})
    assert load.hint == (
        "pass row_stride as tl.constexpr to move 16 B, or pad the rows to a multiple of 16 elements"
    )
    assert look(CODE, "columns.py:columns", args={"row_stride": 4004, "column_stride": 1})
    (load,) = look(CODE, "columns.py:untold", args={"row_stride": 4002})
    assert load.hint.startswith("pass row_stride as tl.constexpr to move 8 B")


def test_shows_each_operand_its_own_stride(look: Look) -> None:
    found = look(CODE, "matmul", args={"M": 1000, "N": 1000, "K": 1000}, **TILE)
    assert ["K=1000 (mask)" in f.message for f in found] == [True, False, False]
    assert ["stride_bk=1000 (address)" in f.message for f in found] == [False, True, False]
    assert all("moves 2 B per thread at a time and could move 16" in f.message for f in found)


def test_silent_where_everything_is_a_multiple(look: Look) -> None:
    assert look(CODE, "softmax") == []
    assert look(CODE, "matmul", **TILE) == []
    # A mask that is cut at a multiple of 16 is the same for the elements of each access.
    assert look(CODE, "softmax", args={"n_cols": 784}) == []


def test_silent_where_each_thread_has_one_element(look: Look) -> None:
    """No known multiple would widen what is a single element per thread."""
    assert look(CODE, "vector_add", args={"n_elements": 98433}, BLOCK_SIZE=128) == []


@pytest.mark.parametrize(
    ("kernel", "options"),
    [
        ("softmax", {}),
        ("softmax", {"args": {"n_cols": 781}}),
        ("softmax", {"args": {"n_cols": 784}}),
        ("vector_add", {}),
        ("vector_add", {"args": {"n_elements": 98440}}),
        ("vector_add", {"args": {"x_ptr": "fp16[n_elements]"}}),
        ("matmul", TILE),
        ("matmul", {"args": {"M": 1000, "N": 1000, "K": 1000}, **TILE}),
        ("matmul", {"args": {"N": 1000}, **TILE}),
        ("columns.py:columns", {}),
        ("columns.py:gather", {}),
        ("columns.py:untold", {}),
        ("short_rows.py", {"M": 8}),
    ],
)
def test_the_rule_is_the_compilers(
    kernel: str, options: dict[str, object], facts_of: Callable[..., Facts]
) -> None:
    """The width that addresses and masks allow is what stands in the PTX."""
    facts = facts_of(kernel, **options)
    assert facts.ttir is not None
    assert facts.ptx is not None
    assert facts.threads is not None
    found = Addresses(facts.ttir).accesses(divisors(facts.ttir))
    assert found
    widths = access_widths(facts.ptx)
    for access in found:
        if prod(access.pointer.shape) < facts.threads:
            continue  # threads share elements, which takes accesses of its own
        expected = access.width(prod(access.pointer.shape) // facts.threads)
        assert widths[access.direction, access.location] == {expected}, access.source


def _sectors(facts_of: Callable[..., Facts], *args: object, **options: object) -> float:
    traffic = facts_of(*args, **options).traffic
    assert traffic is not None
    assert traffic.load_sectors is not None
    assert traffic.ideal_load_sectors is not None
    return traffic.load_sectors / traffic.ideal_load_sectors


def test_shows_neighbours_of_a_stencil(look: Look, facts_of: Callable[..., Facts]) -> None:
    """The tile of the middle gives each thread 4 elements; those beside them are off by one."""
    left, right = look(CODE, "sectors.py:stencil")
    assert (
        "moves 4 B per thread at a time, and 16 B of each thread are side by side: they are"
        " shifted, and start 1 element before a multiple of 16 B; its 31,252 requests touch"
        " 507,812 sectors of 32 B where 125,000 would do"
    ) in left.message
    assert "start 1 element past a multiple of 16 B" in right.message
    assert left.hint == "give each thread one element (a tile of 128 elements or num_warps 32)"
    before = _sectors(facts_of, "sectors.py:stencil")
    for remedy in ({"BLOCK": 128}, {"num_warps": 32}):
        assert look(CODE, "sectors.py:stencil", **remedy) == []
        # What is left is the fifth sector of 128 B that are off a boundary, in 2 loads of 3.
        assert _sectors(facts_of, "sectors.py:stencil", **remedy) == pytest.approx(
            3.5 / 3, rel=0.01
        )
    assert before > 3
    larger, _ = look(CODE, "sectors.py:stencil", BLOCK=2048)
    assert larger.hint == (
        "give each thread one element (a tile of 128 elements; compare the times where that takes"
        " 16 times as many CTAs)"
    )


@pytest.mark.parametrize(
    ("kernel", "argument", "vector"), [("roll", "shift", 4), ("offset_view", "start", 8)]
)
def test_padding_does_not_mend_a_shift(kernel: str, argument: str, vector: int, look: Look) -> None:
    (finding,) = look(CODE, f"sectors.py:{kernel}")
    assert "is not known to be a multiple of 16, and shifts the tile; its" in finding.message
    assert finding.hint == (
        "give each thread one element (a tile of 128 elements or num_warps 32), or make"
        f" {argument} a multiple of 16 (of {vector} as a tl.constexpr)"
    )
    assert look(CODE, f"sectors.py:{kernel}", BLOCK=128) == []
    assert look(CODE, f"sectors.py:{kernel}", num_warps=32) == []
    assert look(CODE, f"sectors.py:{kernel}", args={argument: 32}) == []


def test_a_modulus_is_no_stride(look: Look) -> None:
    (finding,) = look(CODE, "sectors.py:wrapped")
    assert finding.hint == "pass cols as tl.constexpr to move 16 B, or make cols a multiple of 16"
    assert look(CODE, "sectors.py:wrapped", HINT=True) == []


@pytest.mark.parametrize(
    ("kernel", "changes", "remedies"),
    [
        ("constant_bound", "changes", [{"N": 1000}, {"BLOCK": 128}, {"num_warps": 32}]),
        ("two_bounds", "may change", [{"BLOCK": 128}, {"num_warps": 32}]),  # in program 0 it does
    ],
)
def test_shows_a_mask_that_changes(
    kernel: str, changes: str, remedies: list[dict[str, int]], look: Look
) -> None:
    load, store = look(CODE, f"sectors.py:{kernel}")
    assert f"side by side: the mask {changes} within them; its" in load.message
    assert f"side by side: the mask {changes} within them; its" in store.message
    assert load.hint.startswith("let the mask begin and end at multiples of 4 elements, or give")
    for remedy in remedies:
        assert look(CODE, f"sectors.py:{kernel}", **remedy) == []


@pytest.mark.parametrize(("target", "vector"), [("h100", 8), ("mi300x", 4)])
def test_shows_what_the_compiler_cannot_see(target: str, vector: int, look: Look) -> None:
    (finding,) = look(CODE, "sectors.py:halves", target)
    assert "the compiler cannot see that they are contiguous and aligned" in finding.message
    assert f"tl.max_contiguous(tl.multiple_of(offsets, {vector}), {vector})" in finding.hint
    assert look(CODE, "sectors.py:hinted_halves", target) == []
