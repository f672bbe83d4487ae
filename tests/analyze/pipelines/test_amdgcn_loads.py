"""The verdict on each load of AMD's loops, and that on the loop by its worst load."""

import pytest

from irlens.analyze.pipelines import amdgcn as pipelines
from irlens.analyze.pipelines import amdgcn_loads
from irlens.isa.amdgcn import parse
from irlens.model.report import Pipeline
from irlens.model.terms import describe_distance

A = "buffer_load_dwordx4 v[0:3], v8, s[0:3], 0 offen"
B = "buffer_load_dwordx4 v[4:7], v9, s[0:3], 0 offen"
PRODUCT = "v_mfma_f32_32x32x8_f16 v[16:31], v[32:33], v[34:35], v[16:31]"
STORE_A, STORE_B = "ds_write_b128 v10, v[0:3]", "ds_write_b128 v10, v[4:7] offset:4096"
READ = "ds_read_b128 v[32:35], v11"
BEFORE = ("ds_write_b128 v10, v[0:3]",)


def _loop(*body: str, before: tuple[str, ...] = BEFORE, asked: int | None = 2) -> Pipeline:
    """The one pipeline of a loop of these lines; line 7 of k.py is its first one, and so on."""
    lines = ['\t.file\t1 "/" "k.py"', "\t.type k,@function", "k:", "\t.loc\t1 1 1"]
    lines += [f"\t{each}" for each in before]
    lines.append(".LBB0_1:")
    for number, each in enumerate(body):
        lines += [f"\t.loc\t1 {7 + number} 1", f"\t{each}"]
    lines += ["\ts_cbranch_scc1 .LBB0_1", "\ts_endpgm", ".Lfunc_end0:"]
    lines += [".amdhsa_kernel k", ".end_amdhsa_kernel", ""]
    (kernel,) = parse("\n".join(lines)).functions
    (found,) = pipelines.find_pipelines(kernel, threads_per_cta=256, requested=lambda *_: asked)
    return found


def _distances(found: Pipeline) -> dict[int, str]:
    """How far the loads of each line run ahead."""
    return {each.source.line: describe_distance(each) for each in found.loads if each.source}


WAIT = "s_waitcnt lgkmcnt(0)"


def test_a_load_behind_the_products_decides() -> None:
    found = _loop(
        A, READ, WAIT, PRODUCT, B,
        "s_waitcnt vmcnt(1)", STORE_A, "s_waitcnt vmcnt(0)", STORE_B,
    )  # fmt: skip
    assert _distances(found) == {7: "1 iteration ahead", 11: "waited for at once"}
    assert [each.verdict for each in found.loads] == ["pipelined", "not pipelined"]
    assert (found.verdict, found.achieved_stages, found.kind) == ("not pipelined", 1, "register")
    assert found.reason == (
        "1 of the loop's 2 loads run ahead; the loop waits at once for 16 B per lane at k.py:11"
    )
    # The figures are those of all loads; in flight during the compute is only one of them.
    assert (found.copies_per_iteration, found.bytes_per_iteration) == (2, 2 * 16 * 256)
    assert (found.groups_during_compute, found.bytes_in_flight) == (1, 16 * 256)
    earlier = _loop(
        A, B, READ, WAIT, PRODUCT,
        "s_waitcnt vmcnt(1)", STORE_A, "s_waitcnt vmcnt(0)", STORE_B,
    )  # fmt: skip
    assert set(_distances(earlier).values()) == {"1 iteration ahead"}
    assert (earlier.verdict, earlier.achieved_stages) == ("pipelined", 2)


def test_a_wait_for_a_later_load_retires_the_earlier_ones() -> None:
    """Loads complete in order: whoever waits for the second one waits for the first one, too."""
    found = _loop(A, B, "s_waitcnt vmcnt(0)", STORE_B, READ, WAIT, PRODUCT, STORE_A)
    assert set(_distances(found).values()) == {"waited for at once"}
    assert (found.verdict, found.kind) == ("not pipelined", None)


def test_a_load_at_the_end_that_the_next_iteration_awaits_first() -> None:
    """The wait is an iteration later, and yet nothing lies between it and the load."""
    body = ("s_waitcnt vmcnt(0)", STORE_A, READ, WAIT, PRODUCT)
    found = _loop(*body, A)
    assert _distances(found) == {12: "waited for at once"}
    assert (found.verdict, found.reason) == ("not pipelined", amdgcn_loads.WAITED_FOR)
    assert _loop(*body, A, PRODUCT).prefetch_iterations == 1
    assert _loop("v_exp_f32_e32 v40, v40", *body, A).prefetch_iterations == 1


def test_a_load_used_behind_computation_in_its_own_iteration_does_not_decide() -> None:
    scale, use = "buffer_load_dword v41, v12, s[0:3], 0 offen", "v_mul_f32_e32 v16, v16, v41"
    found = _loop(
        scale, A, READ, WAIT, PRODUCT, "s_waitcnt vmcnt(1)", use, "s_waitcnt vmcnt(0)", STORE_A
    )
    assert _distances(found) == {7: "used in its own iteration", 8: "1 iteration ahead"}
    assert (found.verdict, found.achieved_stages) == ("pipelined", 2)
    assert found.reason == (
        "the wait is in the iteration that issues the loads, 6 instructions later;"
        " 1 of the loop's 2 loads run ahead;"
        " 4 B per lane at k.py:7 is used in the iteration that loads it"
    )
    at_once = _loop(A, READ, WAIT, PRODUCT, scale, "s_waitcnt vmcnt(0)", use, STORE_A)
    assert _distances(at_once) == {7: "1 iteration ahead", 11: "waited for at once"}
    assert at_once.verdict == "not pipelined"


@pytest.mark.parametrize(("unpacked", "ahead"), [(31, 0), (32, 1)])
def test_unpacking_what_was_read_hides_latency_if_it_is_much(unpacked: int, ahead: int) -> None:
    unpack = ["v_lshrrev_b32_e32 v36, 4, v32"] * unpacked
    found = _loop(READ, WAIT, A, *unpack, "s_waitcnt vmcnt(0)", STORE_A, PRODUCT)
    assert found.prefetch_iterations == ahead
    # Integers that are not made of loaded data are addresses and counters.
    counters = [each.replace("v32", "v50") for each in unpack]
    assert not _loop(
        READ, WAIT, A, *counters, "s_waitcnt vmcnt(0)", STORE_A, PRODUCT
    ).prefetch_iterations


def test_the_counters_of_gfx12() -> None:
    a, b = A.replace("dwordx4", "b128"), B.replace("dwordx4", "b128")
    store_a, store_b = (each.replace("write", "store") for each in (STORE_A, STORE_B))
    product = "v_wmma_f32_16x16x16_f16 v[16:23], v[32:35], v[36:39], v[16:23]"
    found = _loop(
        a, READ.replace("read", "load"), "s_wait_dscnt 0x0", product, b,
        "s_wait_loadcnt 0x1", store_a, "s_wait_loadcnt 0x0", store_b,
        before=("ds_store_b128 v10, v[0:3]",),
    )  # fmt: skip
    assert _distances(found) == {7: "1 iteration ahead", 11: "waited for at once"}
    # One instruction that waits for loads and for LDS.
    both = _loop(
        a, b, "s_wait_loadcnt_dscnt 0x100", store_a, product, "s_wait_loadcnt 0x0", store_b,
        before=("ds_store_b128 v10, v[0:3]",),
    )  # fmt: skip
    assert _distances(both)[7] == "waited for at once"
    assert both.verdict == "not pipelined"


def test_loads_in_place_beside_copies_to_lds_belong_to_the_same_loop() -> None:
    copy = "buffer_load_dwordx4 v8, s[0:3], 0 offen lds"
    scale = "buffer_load_dword v41, v12, s[0:3], 0 offen"
    use = "v_mul_f32_e32 v16, v16, v41"
    found = _loop("s_waitcnt vmcnt(0)", READ, WAIT, scale, copy, PRODUCT, "s_waitcnt vmcnt(1)", use)
    assert (found.kind, found.verdict, found.achieved_stages) == ("direct-to-lds", "pipelined", 2)
    assert _distances(found) == {10: "used in its own iteration", 11: "1 iteration ahead"}
    assert found.reason == "4 B per lane at k.py:10 is used in the iteration that loads it"
    assert found.bytes_per_copy == 16
    at_once = _loop(
        "s_waitcnt vmcnt(0)", READ, WAIT, copy, PRODUCT, scale, "s_waitcnt vmcnt(0)", use
    )
    assert (at_once.kind, at_once.verdict) == ("direct-to-lds", "not pipelined")
    assert at_once.achieved_stages == 1
    assert at_once.reason.endswith("the loop waits at once for 4 B per lane at k.py:12")


def _at(line: int, text: str) -> str:
    return f".loc\t1 {line} 1\n\t{text}"


COPIES = (
    _at(40, "buffer_load_dwordx4 v8, s[0:3], 0 offen lds"),
    _at(41, "buffer_load_dwordx4 v9, s[4:7], 0 offen lds"),
)
UNROLLED = "unrolled 2 times; figures are per iteration of the source"


def test_copies_to_lds_whose_products_come_after_the_next_ones() -> None:
    """Nothing is computed between the two iterations' copies but what hands over the buffers.

    The copies of the first are in flight during the products of one iteration, those of the
    second during the products of two: fewer stages would not run as far ahead.
    """
    hand_over = (READ, "s_waitcnt vmcnt(2) lgkmcnt(0)", "s_barrier")
    found = _loop(*COPIES, *hand_over, *COPIES, PRODUCT, *hand_over, PRODUCT, asked=3)
    assert (found.copies_per_iteration, found.outstanding_at_wait) == (2, 4)
    assert (found.bytes_per_iteration, found.bytes_in_flight) == (2 * 16 * 256, 4 * 16 * 256)
    assert (found.verdict, found.achieved_stages) == ("unknown", None)
    assert [each.iterations_ahead for each in found.loads] == [1, 1, 2, 2]
    assert found.kind == "direct-to-lds"
    assert amdgcn_loads.SHIFTED in found.reason


def test_all_copies_of_an_unrolled_loop_are_measured_from_their_own_loads() -> None:
    """Before the first one's loads the loop moves what it addresses them by."""
    wait = ("s_waitcnt vmcnt(2)", "s_barrier")
    work = (COPIES[0], READ, COPIES[1], WAIT, PRODUCT)
    found = _loop(*wait, *("s_add_i32 s9, s9, 1",) * 6, *(work + wait) * 2, *work, asked=3)
    assert {each.iterations_ahead for each in found.loads} == {2}
    assert (found.verdict, found.achieved_stages) == ("pipelined", 3)
    assert UNROLLED.replace("2", "3") in found.reason


def test_the_copy_of_a_loop_that_runs_ahead_least_counts() -> None:
    """One row is used in the iteration that loads it, the next one was loaded before."""
    row, other = (_at(40, each) for each in (A, B))
    uses = tuple(f"v_mul_f32_e32 v40, v40, v{n}" for n in (4, 0))
    found = _loop(
        row,
        "s_waitcnt vmcnt(1)",
        uses[0],
        "s_waitcnt vmcnt(0)",
        uses[1],
        other,
        "v_exp_f32_e32 v41, v41",
        "v_exp_f32_e32 v41, v41",
    )
    assert [each.iterations_ahead for each in found.loads] == [0, 1]
    assert (found.verdict, found.achieved_stages) == ("not pipelined", 1)
    assert found.reason == f"{amdgcn_loads.COPIES_DIFFER}; {UNROLLED}"
