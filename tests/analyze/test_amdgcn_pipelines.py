"""AMD's pipelines against loops that were read by eye.

``tests/data/amd/loops.py`` has the kernels and how they were compiled.
"""

import tarfile
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irlens.analyze.pipelines import amdgcn as pipelines
from irlens.analyze.pipelines import amdgcn_loads
from irlens.analyze.pipelines.amdgcn_trace import Left
from irlens.analyze.pipelines.distinct_bytes import SourceLoad
from irlens.isa.amdgcn import Function, Instruction, parse
from irlens.isa.amdgcn.memory import access_bytes, transfer
from irlens.isa.amdgcn.waits import Counters, limit
from irlens.model.report import Pipeline
from tests.tables import each_row

DATA = Path(__file__).parents[1] / "data" / "amd"


@cache
def _files() -> dict[str, str]:
    found = {}
    for archive in ("loops", "triton"):
        with tarfile.open(DATA / f"{archive}.tar.xz") as tar:
            for member in tar:
                file = tar.extractfile(member)
                if file is not None and member.name.endswith(".amdgcn"):
                    found[member.name.removeprefix("./")] = file.read().decode()
    return found


def _find(
    function: Function, asked: int | None = None, left: Left = Left.ANYTHING
) -> list[Pipeline]:
    return pipelines.find_pipelines(
        function, threads_per_cta=256, requested=lambda *_: asked, left=left
    )


def _pipelines(name: str, asked: int | None = None) -> list[Pipeline]:
    (kernel,) = parse(_files()[f"{name}.amdgcn"]).kernels
    return _find(kernel, asked)


def _loop(
    *body: str,
    before: tuple[str, ...] = (),
    stores_apart: bool = False,
    left: Left = Left.ANYTHING,
) -> Pipeline:
    """The one pipeline of a loop of these lines."""
    text = "\n\t".join(["\t.type k,@function\nk:", *before, "s_nop 0"])
    text += "\n.LBB0_1:\n\t" + "\n\t".join([*body, "s_cbranch_scc1 .LBB0_1", "s_endpgm"])
    text += "\n.Lfunc_end0:\n.amdhsa_kernel k\n"
    text += ".amdhsa_memory_ordered 1\n" if stores_apart else ""
    (kernel,) = parse(text + ".end_amdhsa_kernel\n").functions
    (found,) = _find(kernel, left=left)
    return found


#: Kernel, kind, loads of the loop, iterations that the worst of them runs ahead, outstanding before
#: the wait and behind it.
TABLE = [
    ("softmax_s1.gfx942", None, 1, 0, 1, 0),
    # The row is selected from the load and -inf, and so waited for, in the iteration that loads.
    ("softmax_s2.gfx942", "register", 1, 1, 1, 0),
    ("softmax_s3.gfx942", "register", 1, 1, 1, 0),
    ("softmax_s4.gfx942", "register", 1, 1, 1, 0),
    ("softmax_s5.gfx942", "register", 1, 1, 1, 0),
    ("softmax_s3.gfx908", "register", 1, 1, 1, 0),
    ("softmax_s3.gfx1100", "register", 1, 1, 1, 0),
    ("softmax_s3.gfx1250", "register", 1, 1, 1, 0),
    ("matmul_s1.gfx942", None, 2, 0, 2, 0),
    ("matmul_s1.gfx950", None, 2, 0, 2, 0),
    ("matmul_s1.gfx1100", None, 4, 0, 4, 0),
    ("matmul_s1.gfx1201", None, 4, 0, 4, 0),
    # Loads at the top, waits and ds_write at the end; the third stage is one more tile in LDS.
    ("matmul_s2.gfx942", "register", 2, 1, 2, 0),
    ("matmul_s3.gfx942", "register", 2, 1, 2, 0),
    # The fence at the barrier waits for the first operand's loads right behind their issue.
    ("matmul_s2.gfx1100", "register", 4, 0, 2, 0),
    ("matmul_s2.gfx1201", "register", 4, 0, 2, 0),
    ("wide_s2.gfx908", "register", 12, 0, 8, 0),
    # vmcnt(0) at the top, vmcnt(2) and vmcnt(4) at the end, each before the reads of LDS.
    ("matmul_s2.gfx950", "direct-to-lds", 2, 1, 2, 0),
    ("matmul_s3.gfx950", "direct-to-lds", 2, 2, 4, 2),
    ("matmul_s4.gfx950", "direct-to-lds", 2, 3, 6, 4),
    # s_wait_asynccnt 4 at the top.
    ("matmul_s3.gfx1250", "direct-to-lds", 4, 2, 8, 4),
    ("attention_s2.gfx942", "register", 4, 1, 4, 0),
    ("attention_s2.gfx950", "direct-to-lds", 4, 1, 4, 0),
    # Its registers are gone: every load is followed by its wait, and all that by the first MFMA.
    ("wider_s2.gfx942", None, 16, 0, 10, 0),
    # The data is loaded last, and awaited right behind the first load of the next iteration.
    ("gather_s3.gfx942", None, 3, 0, 3, 0),
    ("total.gfx942", None, 1, 0, 1, 0),
    ("tiles_s2.gfx942", "register", 2, 1, 2, 0),
]


@each_row(("name", "kind", "loads", "prefetch", "before", "behind"), TABLE)
def test_loops_read_by_eye(
    name: str, kind: str | None, loads: int, prefetch: int, before: int, behind: int
) -> None:
    (found,) = _pipelines(name)
    assert found.kind == kind
    assert found.copies_per_iteration == loads
    assert found.prefetch_iterations == prefetch
    assert found.achieved_stages == prefetch + 1
    assert (found.outstanding_at_wait, found.outstanding_after_wait) == (before, behind)
    assert found.verdict == ("pipelined" if prefetch else "not pipelined")
    assert found.stage == "amdgcn"
    lines = _files()[f"{name}.amdgcn"].splitlines()
    assert lines[found.line - 1].startswith(f"{found.loop}:")
    assert found.source is not None
    source = (DATA / "loops.py").read_text().splitlines()[found.source.line - 1]
    assert source.lstrip().startswith("for ")


@pytest.mark.parametrize(
    ("name", "copies", "kind", "loads", "ahead", "outstanding"),
    [
        ("matmul.gfx942.triton-3.9.0", 2, "register", 2, 2, 2),
        ("matmul.gfx90a.triton-3.9.0", 2, "register", 2, 1, 2),
        ("matmul.gfx1100.triton-3.9.0", 2, "register", 4, 2, 2),
        ("matmul.gfx1201.triton-3.9.0", 2, "register", 4, 2, 2),
        ("matmul.gfx950.triton-3.9.0", 4, "direct-to-lds", 2, 2, 2),
        ("matmul.gfx1250.triton-3.9.0", 2, "direct-to-lds", 4, 4, 4),
        ("matmul.gfx942.triton-3.6.0", 1, "register", 2, 2, 2),
        ("wide.gfx950.triton-3.9.0", 1, "direct-to-lds", 12, 12, 12),
    ],
)
def test_unrolled_loops_are_read_by_the_iterations_of_the_source(
    name: str, copies: int, kind: str, loads: int, ahead: int, outstanding: int
) -> None:
    found = _pipelines(name)[0]
    assert (found.kind, found.prefetch_iterations) == (kind, int(ahead == loads))
    assert (found.copies_per_iteration, found.outstanding_at_wait) == (loads, outstanding)
    assert (f"{ahead} of the loop's {loads} loads run ahead" in found.reason) == (ahead < loads)
    unrolled = f"unrolled {copies} times; figures are per iteration of the source"
    assert (unrolled in found.reason) == (copies > 1)
    assert found.bytes_per_iteration == loads * 16 * 256
    assert found.bytes_in_flight == ahead * 16 * 256


def test_what_is_asked_for_and_what_becomes_of_it() -> None:
    (softmax,) = _pipelines("softmax_s4.gfx942", asked=4)
    assert (softmax.verdict, softmax.requested_stages, softmax.achieved_stages) == (
        "shallower",
        4,
        2,
    )
    assert softmax.reason == (
        "4 stages requested, 2 achieved;"
        " the wait is in the iteration that issues the loads, 24 instructions later;"
        " the data is then kept until it is used, 3 iterations after its load"
    )
    (matmul,) = _pipelines("matmul_s4.gfx950", asked=4)
    assert (matmul.verdict, matmul.reason) == ("pipelined", "")
    assert matmul.bytes_per_copy == 16
    assert matmul.bytes_per_iteration == 2 * 16 * 256
    assert matmul.groups_during_compute == 6
    assert matmul.bytes_in_flight == 6 * 16 * 256
    (starved,) = _pipelines("wider_s2.gfx942", asked=2)
    assert (starved.verdict, starved.reason) == ("not pipelined", amdgcn_loads.WAITED_FOR)
    (barrier,) = _pipelines("matmul_s2.gfx1100")
    assert (barrier.verdict, barrier.kind) == ("not pipelined", "register")
    assert barrier.reason == (
        "2 of the loop's 4 loads run ahead; the loop waits at once for 2 × 16 B per lane"
        " at loops.py:45"
    )


def test_loads_that_follow_each_other_are_not_ahead() -> None:
    found = _pipelines("chase.gfx942", asked=2)
    assert [(each.verdict, each.reason) for each in found] == [
        ("not pipelined", amdgcn_loads.CHAINED)
    ] * 2  # LLVM unrolled the loop, and left one for the rest
    (scalar,) = _pipelines("walk.gfx942")
    assert (scalar.kind, scalar.verdict, scalar.reason) == (None, "not pipelined", pipelines.SCALAR)


def test_a_loop_with_a_condition_is_not_guessed_at() -> None:
    for found in _pipelines("some.gfx942"):
        assert (found.verdict, found.reason) == ("unknown", pipelines.CONDITIONS)
        assert found.prefetch_iterations is None


def test_without_threads_there_are_no_bytes_per_workgroup() -> None:
    (kernel,) = parse(_files()["matmul_s3.gfx950.amdgcn"]).kernels
    (found,) = pipelines.find_pipelines(kernel, threads_per_cta=None, requested=lambda *_: 3)
    assert (found.bytes_per_copy, found.bytes_per_iteration, found.bytes_in_flight) == (
        16,
        None,
        None,
    )


LOAD = "global_load_dword v1, v0, s[0:1]"
ADD = "v_add_f32_e32 v2, v2, v1"
OTHER = "v_exp_f32_e32 v3, v3"


def test_what_is_in_flight_without_a_pipeline() -> None:
    """The second load is on its way while the first one's data is computed with."""
    second = "global_load_dwordx4 v[4:7], v[8:9], off"
    found = _loop(
        LOAD, second, "s_waitcnt vmcnt(1)", ADD, "s_waitcnt vmcnt(0)", "v_add_f32_e32 v2, v2, v4"
    )
    assert (found.verdict, found.outstanding_after_wait) == ("not pipelined", 0)
    assert (found.groups_during_compute, found.bytes_in_flight) == (1, 16 * 256)
    at_once = _loop(LOAD, second, "s_waitcnt vmcnt(0)", ADD, "v_add_f32_e32 v2, v2, v4")
    assert (at_once.groups_during_compute, at_once.bytes_in_flight) == (0, 0)


def test_integers_that_make_addresses_are_no_compute() -> None:
    address, add = "v_add_u32_e32 v8, 4, v8", "v_add_u32_e32 v2, v2, v1"
    found = _loop(
        "global_load_dword v1, v8, s[0:1]", address, "global_load_dword v3, v8, s[0:1]",
        address, "s_waitcnt vmcnt(0)", add, "v_add_u32_e32 v2, v2, v3",
    )  # fmt: skip
    assert (found.verdict, found.groups_during_compute) == ("not pipelined", 0)


@pytest.mark.parametrize(("shifted", "chained"), [("v7", False), ("v3", True)])
def test_what_is_issued_together_is_not_made_of_each_other(shifted: str, chained: bool) -> None:
    """A row of RDNA's that is kept for the next iteration, and the address of the one after it."""
    found = _loop(
        "s_waitcnt vmcnt(0)",
        f"v_dual_mov_b32 v4, v3 :: v_dual_lshlrev_b32 v1, 2, {shifted}",
        "v_add_nc_u32_e32 v7, s19, v7", "buffer_load_b32 v3, v1, s[8:11], 0 offen",
        "v_exp_f32_e32 v9, v4",
    )  # fmt: skip
    assert (found.reason == amdgcn_loads.CHAINED) == chained
    assert found.prefetch_iterations == (0 if chained else 1)


@pytest.mark.parametrize(
    "scalar", ["s_load_dword s5, s[6:7], 0x0", "s_buffer_load_dword s5, s[8:11], 0x0"]
)
def test_scalar_loads_beside_others_are_left_out(scalar: str) -> None:
    plain = _loop("s_waitcnt vmcnt(0)", ADD, LOAD, OTHER)
    found = _loop("s_waitcnt vmcnt(0)", ADD, LOAD, scalar, OTHER)
    assert plain.reason == ""
    assert found.reason == "bytes of scalar loads are not counted"
    assert found.bytes_per_iteration == plain.bytes_per_iteration == 256 * 4


def test_the_wait_decides_and_not_the_use() -> None:
    """The same loop with the wait at the top, behind the load, and after more computing."""
    top = _loop("s_waitcnt vmcnt(0)", ADD, LOAD, OTHER)
    assert (top.prefetch_iterations, top.outstanding_after_wait) == (1, 0)
    at_once = _loop("s_nop 0", ADD, LOAD, "s_waitcnt vmcnt(0)", OTHER)
    assert (at_once.prefetch_iterations, at_once.reason) == (0, amdgcn_loads.WAITED_FOR)
    later = _loop(ADD, LOAD, OTHER, "s_waitcnt vmcnt(0)")
    assert (later.prefetch_iterations, later.kind) == (1, "register")
    used = _loop(LOAD, OTHER, "s_waitcnt vmcnt(0)", ADD)
    assert (used.prefetch_iterations, used.reason) == (0, amdgcn_loads.IN_PLACE)


def test_a_ring_of_registers_that_really_runs_two_ahead() -> None:
    found = _loop("s_waitcnt vmcnt(1)", "v_add_f32_e32 v3, v3, v2", "v_mov_b32_e32 v2, v1", LOAD)
    # v1 is moved on in the next iteration, when nothing has waited for it: that is a wait too few,
    # and no compiler's code; what the counter says is all that is claimed.
    assert found.prefetch_iterations == 2
    assert found.outstanding_after_wait == 1


def test_stores_count_with_loads_before_gfx10_only() -> None:
    store = "global_store_dword v0, v2, s[2:3]"
    body = ("s_waitcnt vmcnt(1)", ADD, LOAD, store, OTHER)
    together, apart = _loop(*body), _loop(*body, stores_apart=True)
    # vmcnt(1) leaves the store behind the load, or else the load itself.
    assert together.prefetch_iterations == 1
    assert (together.outstanding_at_wait, together.outstanding_after_wait) == (1, 0)
    assert (apart.outstanding_at_wait, apart.outstanding_after_wait) == (2, 1)


def test_loads_that_nothing_waits_for_are_unknown() -> None:
    found = _loop(ADD, LOAD)
    assert (found.verdict, found.reason) == ("unknown", pipelines.PILE_UP)


def test_what_lies_between_lds_stores_and_loads_is_claimed_only_where_certain() -> None:
    store, read = "ds_write_b32 v4, v1", "ds_read_b32 v5, v6"
    use = "v_add_f32_e32 v2, v2, v5"
    wait = "s_waitcnt vmcnt(0)"
    behind = _loop(LOAD, OTHER, wait, store, read, use)
    assert (behind.prefetch_iterations, behind.verdict) == (0, "not pipelined")
    filled = _loop(LOAD, OTHER, wait, store, read, use, before=("ds_write_b32 v4, v7",))
    assert (filled.prefetch_iterations, filled.reason) == (None, amdgcn_loads.NOT_FOLLOWED)
    ahead = _loop(read, use, LOAD, OTHER, wait, store, before=("ds_write_b32 v4, v7",))
    assert (ahead.prefetch_iterations, ahead.verdict) == (1, "pipelined")


def test_lds_that_no_iteration_leaves_to_the_next_is_read_where_it_is_stored() -> None:
    one, two = '.file 1 "/" "k.py"', ".loc 1 7 3"
    store, read = "ds_write_b32 v4, v1", "ds_read_b32 v5, v6"
    use, wait = "v_add_f32_e32 v2, v2, v5", "s_waitcnt vmcnt(0)"
    before = (one, "ds_write_b32 v4, v7")
    behind = (two, LOAD, OTHER, wait, store, read, use)
    assert _loop(*behind, before=before).reason == amdgcn_loads.NOT_FOLLOWED
    own = Left.OTHER_OPERATIONS
    found = _loop(*behind, before=before, left=own)
    assert (found.prefetch_iterations, found.verdict) == (0, "not pipelined")
    # Another operation's read does not say when this one's is.
    other = (two, LOAD, OTHER, wait, store, ".loc 1 8 3", read, use)
    assert _loop(*other, before=before, left=own).reason == amdgcn_loads.NOT_FOLLOWED
    # Nor do reads around the store: the loop may be rotated.
    around = (two, read, LOAD, OTHER, wait, store, read, use)
    assert _loop(*around, before=before, left=own).reason == amdgcn_loads.NOT_FOLLOWED


def test_spilled_data_is_followed_to_its_reload() -> None:
    wait, use = "s_waitcnt vmcnt(0)", "v_add_f32_e32 v2, v2, v9"
    spill = "scratch_store_b32 off, v1, off offset:8"
    reload = "scratch_load_b32 v9, off, off offset:8"
    here = _loop(LOAD, OTHER, wait, spill, reload, wait, use)
    assert (here.prefetch_iterations, here.verdict) == (0, "not pipelined")
    later = _loop(reload, wait, use, LOAD, OTHER, wait, spill)
    assert (later.prefetch_iterations, later.verdict) == (1, "pipelined")
    clause = "s_clause 0x1 ; 8-byte Folded Spill"
    clustered = _loop(LOAD, OTHER, wait, clause, spill, reload, wait, use)
    assert clustered.prefetch_iterations == 0
    # Another address, one that is not constant, and one that the next load may depend on.
    other = reload.replace("offset:8", "offset:12")
    assert _loop(LOAD, OTHER, wait, spill, other, wait, use).reason == amdgcn_loads.NOT_FOLLOWED
    indexed = reload.replace("off, off", "v7, off")
    assert _loop(LOAD, OTHER, wait, spill, indexed, wait, use).reason == amdgcn_loads.NOT_FOLLOWED
    address = "v_add_u32_e32 v8, v9, v3"
    assert (
        _loop(LOAD, OTHER, wait, spill, reload, wait, address).reason == amdgcn_loads.NOT_FOLLOWED
    )


def test_each_register_of_a_wide_spill_has_its_own_address() -> None:
    wait, use = "s_waitcnt vmcnt(0)", "v_add_f32_e32 v2, v2, v9"
    spill = "scratch_store_b64 off, v[0:1], off offset:8"
    body = (LOAD, OTHER, wait, spill, "scratch_load_b32 v9, off, off offset:{}", wait, use)
    loaded = _loop(*(line.format(12) for line in body))
    assert (loaded.prefetch_iterations, loaded.verdict) == (0, "not pipelined")
    assert _loop(*(line.format(8) for line in body)).reason == amdgcn_loads.NOT_FOLLOWED


def test_code_that_is_skipped_without_lanes_belongs_to_the_iteration() -> None:
    found = _loop(
        "s_and_saveexec_b64 s[4:5], vcc",
        "s_cbranch_execz .LBB0_2",
        LOAD,
        "\n.LBB0_2:",
        "s_or_b64 exec, exec, s[4:5]",
        "s_waitcnt vmcnt(0)",
        ADD,
    )
    assert (found.verdict, found.reason) == ("not pipelined", amdgcn_loads.IN_PLACE)


def _instruction(text: str) -> Instruction:
    (statement,) = parse(f"\t{text}\n").statements
    assert isinstance(statement, Instruction)
    return statement


@pytest.mark.parametrize(
    ("text", "load", "asynchronous"),
    [
        ("s_waitcnt vmcnt(3)", 3, None),
        ("s_waitcnt vmcnt(0) lgkmcnt(2)", 0, None),
        ("s_waitcnt lgkmcnt(2)", None, None),
        ("s_waitcnt_vscnt null, 0x0", None, None),
        ("s_wait_loadcnt 0xa", 10, None),
        ("s_wait_loadcnt_dscnt 0x302", 3, None),
        ("s_wait_dscnt 0x2", None, None),
        ("s_wait_asynccnt 0x4", None, 4),
        ("v_mov_b32_e32 v0, 0x4", None, None),
    ],
)
def test_waits(text: str, load: int | None, asynchronous: int | None) -> None:
    assert limit(_instruction(text), "load") == load
    assert limit(_instruction(text), "async") == asynchronous


@pytest.mark.parametrize(
    ("text", "to_lds", "counter"),
    [
        ("buffer_load_dwordx4 v[0:3], v4, s[0:3], 0 offen", False, "load"),
        ("buffer_load_dwordx4 v4, s[0:3], 0 offen lds", True, "load"),
        ("global_load_lds_dwordx4 v[2:3], off", True, "load"),
        ("global_load_async_to_lds_b128 v52, v[48:49], off", True, "async"),
        ("tensor_load_to_lds s[0:3], s[4:11]", True, "tensor"),
        ("buffer_load_dword v1, off, s[0:3], 0 offset:4 ; 4-byte Folded Reload", None, "load"),
        ("scratch_load_dword v1, off, off", None, "load"),
        ("global_atomic_add v2, v[0:1], v3, off glc", None, "load"),
        ("global_atomic_add v[0:1], v3, off", None, None),
        ("global_inv scope:SCOPE_SE", None, "load"),
        ("ds_read_b32 v0, v1", None, None),
    ],
)
def test_what_reads_global_memory_and_what_counts_it(
    text: str, to_lds: bool | None, counter: str | None
) -> None:
    read = transfer(_instruction(text))
    assert (read.to_lds if read else None) == to_lds
    assert Counters(stores_apart=True).raised_by_load(_instruction(text)) == counter


@pytest.mark.parametrize(
    ("mnemonic", "width"),
    [
        ("buffer_load_dword", 4),
        ("buffer_load_dwordx3", 12),
        ("buffer_load_b128", 16),
        ("global_load_lds_dwordx4", 16),
        ("global_load_async_to_lds_b64", 8),
        ("buffer_load_ubyte", 1),
        ("buffer_load_sbyte_d16", 1),
        ("global_load_short_d16_hi", 2),
        ("global_load_d16_b16", 2),
        ("global_load_u8", 1),
        ("tensor_load_to_lds", None),
    ],
)
def test_widths(mnemonic: str, width: int | None) -> None:
    assert access_bytes(mnemonic) == width


_LINES = st.sampled_from(
    [LOAD, ADD, OTHER, "s_waitcnt vmcnt(0)", "s_waitcnt vmcnt(1)", "v_mov_b32_e32 v4, v1",
     "v_add_f32_e32 v2, v2, v4", "ds_write_b32 v5, v1", "ds_read_b32 v6, v7"]
)  # fmt: skip


@given(st.lists(_LINES, min_size=1, max_size=12).filter(lambda lines: LOAD in lines))
def test_no_claim_exceeds_what_a_replay_of_the_counter_allows(lines: list[str]) -> None:
    """Run the loop for a while and see how many loads ever are in flight at a point."""
    found = _loop(*lines)
    outstanding: list[int] = []
    longest = 0
    for iteration in range(40):
        for line in lines:
            if line == LOAD:
                outstanding.append(iteration)
            if line.startswith("s_waitcnt"):
                left = int(line[-2])
                retired = outstanding[: len(outstanding) - left] if left else outstanding
                longest = max([longest, *(iteration - issued for issued in retired)])
                outstanding = outstanding[len(retired) :]
    if found.prefetch_iterations is not None:
        assert found.prefetch_iterations <= longest + 1
        assert found.outstanding_after_wait is not None
        assert found.outstanding_after_wait <= 1
    if not any(line.startswith("s_waitcnt") for line in lines):
        assert found.reason == pipelines.PILE_UP


def _unrolled(
    factor: int, loads: int, step: int, names: tuple[str, str] = ("", "; %.lr.ph.epil")
) -> list[Pipeline]:
    """The pipelines of a loop whose loads LLVM issued together, and of its remainder."""

    def body(times: int) -> list[str]:
        registers = range(10, 10 + times * loads)
        issue = [f"buffer_load_dword v{n}, v1, s[8:11], 0 offen" for n in registers]
        use = [f"v_add_f32_e32 v2, v2, v{n}" for n in registers]
        return ["s_waitcnt vmcnt(0)", *use, *issue, "v_exp_f32_e32 v3, v3"]

    lines = [
        *('\t.file\t1 "/" "k.py"', "\t.type k,@function", "k:", "\t.loc\t1 7 5"),
        *("\ts_nop 0", "\ts_cbranch_scc0 .LBB0_2"),
        ".LBB0_1:                                ; %.lr.ph",
        *(f"\t{line}" for line in body(factor)),
        *(f"\ts_add_i32 s6, s6, {step}", "\ts_cmp_lg_u32 s7, s6", "\ts_cbranch_scc1 .LBB0_1"),
        *(f".LBB0_2:                                {names[0]}", "\ts_mov_b32 s13, s5"),
        f".LBB0_3:                                {names[1]}",
        *(f"\t{line}" for line in body(1)),
        *("\ts_add_i32 s13, s13, -1", "\ts_cmp_lg_u32 s13, 0", "\ts_cbranch_scc1 .LBB0_3"),
        *("\ts_endpgm", ".Lfunc_end0:", ".amdhsa_kernel k", ".end_amdhsa_kernel", ""),
    ]
    return _find(parse("\n".join(lines)).functions[0], 3)


@given(st.integers(2, 16), st.integers(1, 3))
def test_the_remainder_tells_how_often_llvm_unrolled_a_loop(factor: int, loads: int) -> None:
    loop, rest = _unrolled(factor, loads, step=factor)
    assert (loop.verdict, loop.achieved_stages, loop.requested_stages) == ("unknown", None, 3)
    assert loop.reason == f"{pipelines.INTERLEAVED}; unrolled {factor} times"
    # The remainder runs one iteration a round, so both load as much per iteration of the source.
    assert loop.bytes_per_iteration == rest.bytes_per_iteration == 4 * 256 * loads
    assert loop.bytes_in_flight == factor * 4 * 256 * loads


@given(st.integers(1, 3), st.integers(3, 16))
def test_nobody_requests_stages_of_what_unrolling_leaves_over(loads: int, factor: int) -> None:
    rest = _unrolled(factor, loads, step=factor)[1]
    assert (rest.verdict, rest.requested_stages, rest.achieved_stages) == ("pipelined", None, 2)
    assert pipelines.LEFT_OVER in rest.reason


def test_the_block_before_names_a_remainder_without_a_name() -> None:
    names = ("; %.epil.preheader", "; =>This Inner Loop Header: Depth=1")
    loop, rest = _unrolled(8, 1, 8, names)
    assert loop.reason == f"{pipelines.INTERLEAVED}; unrolled 8 times"
    assert rest.requested_stages is None
    assert pipelines.LEFT_OVER in rest.reason


@given(st.integers(2, 16), st.integers(1, 64))
def test_counters_that_disagree_with_the_loads_tell_no_factor(factor: int, step: int) -> None:
    loop = _unrolled(factor, 1, step)[0]
    assert (f"unrolled {factor} times" in loop.reason) == (step == factor)


NOWHERE = """
    .file 1 "/" "k.py"
    .type k,@function
k:
    s_nop 0
.LBB0_1:
    .loc 1 7 1
    buffer_load_dwordx4 v[0:3], v8, s[0:3], 0 offen
    s_cbranch_vccnz .LBB0_2
    .loc 1 {other} 1
    buffer_load_dwordx4 v[4:7], v9, s[0:3], 0 offen
.LBB0_2:
    .loc 1 0 1
    s_cbranch_scc1 .LBB0_1
    s_endpgm
.Lfunc_end0:
"""


@pytest.mark.parametrize(("other", "line"), [(8, 6), (21, None)])
def test_a_loop_whose_branch_has_no_line_is_that_of_its_loads(other: int, line: int | None) -> None:
    """As LLVM leaves a branch that the two halves of an unrolled loop share."""
    (kernel,) = parse(NOWHERE.format(other=other)).functions
    load = SourceLoad(bytes=4096)
    of_source = {
        ("k.py", 6): {("k.py", 7): load, ("k.py", 8): load},
        ("k.py", 20): {("k.py", 21): load},
    }
    (found,) = pipelines.find_pipelines(
        kernel, threads_per_cta=256, requested=lambda *_: 2, of_source=of_source
    )
    assert found.verdict == "unknown"
    assert (found.source.line if found.source is not None else None) == line
