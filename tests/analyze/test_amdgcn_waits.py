"""What AMD's waits wait for."""

import tarfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irlens.analyze import loops
from irlens.analyze.pipelines.amdgcn import trace_loads
from irlens.analyze.pipelines.annotate.amdgcn import find_waits
from irlens.isa.amdgcn import Function, parse
from irlens.model.schedule import Awaited
from irlens.render.view.gutters import describe_waits

DATA = Path(__file__).parents[1] / "data" / "amd"
LOAD, STORE = "buffer_load_dword v1, v2, s[4:7], 0 offen", "global_store_dword v[2:3], v4, off"
READ, SCALAR = "ds_read_b32 v5, v6", "s_load_dword s1, s[2:3], 0x0"
#: Lines before the first instruction of ``of``.
BEFORE = 2


def of(*lines: str, stores_apart: bool = False) -> list[Awaited]:
    """The waits of a kernel of these lines, of which labels are lines too."""
    text = "\t.type k,@function\nk:\n" + "\n".join([*lines, "s_endpgm"])
    text += "\n.Lfunc_end0:\n.amdhsa_kernel k\n"
    text += ".amdhsa_memory_ordered 1\n" if stores_apart else ""
    (kernel,) = parse(text + ".end_amdhsa_kernel\n").kernels
    return waits(kernel)


def waits(kernel: Function) -> list[Awaited]:
    return find_waits(kernel, loops.find(kernel))


def lines_of(wait: Awaited) -> list[int]:
    return [line - BEFORE for line in wait.retired]


def test_a_wait_retires_the_oldest() -> None:
    (first, last) = of(LOAD, LOAD, LOAD, "s_waitcnt vmcnt(2)", "s_waitcnt vmcnt(0)")
    assert (first.outstanding, first.waits, lines_of(first)) == ((3, 3), (1, 1), [1])
    assert (last.outstanding, last.waits, lines_of(last)) == ((2, 2), (2, 2), [2, 3])
    assert describe_waits([first]) == "1 of 3 vmcnt: 3"
    assert describe_waits([last]) == "2 of 2 vmcnt: 4, 5"


def test_stores_count_with_the_loads_until_gfx9() -> None:
    (wait,) = of(LOAD, STORE, "s_waitcnt vmcnt(0)")
    assert lines_of(wait) == [1, 2]
    (wait,) = of(LOAD, STORE, "s_waitcnt vmcnt(0)", stores_apart=True)
    assert lines_of(wait) == [1]


def test_one_instruction_waits_for_several_counters() -> None:
    lds, vector = of(LOAD, READ, READ, "s_waitcnt vmcnt(0) lgkmcnt(1)")
    assert (lds.counter, lines_of(lds), lds.left) == ("lgkmcnt", [2], 1)
    assert (vector.counter, lines_of(vector)) == ("vmcnt", [1])
    assert describe_waits([lds, vector]) == "1 of 2 lgkmcnt: 4; 1 of 1 vmcnt: 3"


def test_a_loop_waits_for_what_it_and_the_code_before_it_issued() -> None:
    (wait,) = of(LOAD, ".LBB0_1:", LOAD, "s_waitcnt vmcnt(1)", STORE, "s_cbranch_scc1 .LBB0_1")
    # First that before the loop; then the load and the store of the iteration before.
    assert (wait.outstanding, wait.waits) == ((2, 3), (1, 2))
    assert lines_of(wait) == [1, 3, 5]
    assert describe_waits([wait]) == "1–2 of 2–3 vmcnt: 3, 5 +1"


def test_a_wait_for_nothing_names_no_line() -> None:
    (wait,) = of("s_waitcnt vmcnt(0)")
    assert describe_waits([wait]) == "0 of 0 vmcnt"


def test_scalar_loads_have_no_order() -> None:
    (wait,) = of(SCALAR, READ, "s_waitcnt lgkmcnt(0)")
    assert lines_of(wait) == [1, 2]
    first = of(SCALAR, READ, "s_waitcnt lgkmcnt(1)", READ, "s_waitcnt lgkmcnt(0)")
    # Which one of the two is outstanding behind the first wait is not known.
    assert [(each.line - BEFORE, lines_of(each)) for each in first] == [(3, [1, 2])]


def test_gfx12_has_a_counter_for_each() -> None:
    found = of(
        "global_load_b32 v1, v[2:3], off", "ds_load_b32 v5, v6", "s_load_b32 s1, s[2:3], 0x0",
        "s_wait_kmcnt 0x0", "s_wait_loadcnt_dscnt 0x0", "s_wait_dscnt 0x0", "s_wait_alu 0xfffd",
        stores_apart=True,
    )  # fmt: skip
    assert [(each.counter, each.line - BEFORE, lines_of(each)) for each in found] == [
        ("kmcnt", 4, [3]), ("dscnt", 5, [2]), ("loadcnt", 5, [1]), ("dscnt", 6, []),
    ]  # fmt: skip


def test_gfx10_has_an_instruction_for_each_counter() -> None:
    wait, *_ = of(LOAD, LOAD, "s_waitcnt_vmcnt null, 0x1", "s_waitcnt vmcnt(0)", stores_apart=True)
    assert (wait.counter, lines_of(wait), wait.left) == ("vmcnt", [1], 1)


@pytest.mark.parametrize("wait", ["s_waitcnt 0x70", "s_wait_idle", "s_waitcnt_vmcnt s4, 0x0"])
def test_a_wait_that_is_not_understood_makes_all_unknown(wait: str) -> None:
    assert of(LOAD, wait, "s_waitcnt vmcnt(0)") == []


def test_loops_that_never_wait_make_their_waits_unknown() -> None:
    assert of(".LBB0_1:", LOAD, "s_cbranch_scc1 .LBB0_1", "s_waitcnt vmcnt(0)") == []


STEPS = st.lists(st.sampled_from([LOAD, STORE, *(f"s_waitcnt vmcnt({n})" for n in range(3))]))


@given(before=STEPS, body=STEPS, bound=st.integers(0, 2))
def test_a_loop_is_as_if_it_was_run(before: list[str], body: list[str], bound: int) -> None:
    lines = [*before, ".LBB0_1:", *body, f"s_waitcnt vmcnt({bound})", "s_cbranch_scc1 .LBB0_1"]
    once = list(range(len(before)))
    again = list(range(len(before) + 1, len(lines) - 1))
    executed = run([(n, lines[n]) for n in once + again * 6])
    found = {each.line - BEFORE - 1: each for each in of(*lines)}
    assert set(found) == {n for n, line in enumerate(lines) if line.startswith("s_waitcnt")}
    for number, wait in found.items():
        at = [(size, retired) for n, size, retired in executed if n == number]
        sizes = [size for size, _ in at]
        assert wait.outstanding == (min(sizes), max(sizes))
        retired = {each for _, some in at for each in some}
        assert [line - 1 for line in lines_of(wait)] == sorted(retired)


def run(executed: Sequence[tuple[int, str]]) -> list[tuple[int, int, list[int]]]:
    """Run lines by hand: for each wait its number, what is outstanding, and what it retires."""
    queue: list[int] = []
    seen = []
    for number, line in executed:
        if not line.startswith("s_waitcnt"):
            queue.append(number)
            continue
        most = int(line[len("s_waitcnt vmcnt(") : -1])
        retired = queue[: max(0, len(queue) - most)]
        seen.append((number, len(queue), retired))
        queue = queue[len(retired) :]
    return seen


@cache
def kernels() -> dict[str, Function]:
    found = {}
    for archive in ("loops", "triton"):
        with tarfile.open(DATA / f"{archive}.tar.xz") as tar:
            for member in tar:
                file = tar.extractfile(member)
                if file is not None and member.name.endswith(".amdgcn"):
                    (found[member.name.removeprefix("./")],) = parse(file.read().decode()).kernels
    return found


@pytest.mark.slow
def test_llvm_inserts_no_wait_for_nothing() -> None:
    total = 0
    for name, kernel in kernels().items():
        if "triton-3.6" in name:
            continue  # Triton itself put waits before its barriers, LDS in use or not
        found = waits(kernel)
        assert found, name
        total += len(found)
        idle = [each for each in found if each.waits == (0, 0)]
        assert len(idle) <= (1 if "gfx1250" in name else 0), (name, idle)
    assert total > 1000


@pytest.mark.slow
def test_pipelined_loads_are_awaited_where_the_pipelines_say() -> None:
    checked = 0
    for name, kernel in kernels().items():
        retired: dict[int, set[int]] = {}
        for each in waits(kernel):
            retired.setdefault(each.line, set()).update(each.retired)
        for load in trace_loads(kernel):
            if load.wait is not None and load.wait in retired:
                assert load.line in retired[load.wait], (name, load)
                checked += 1
    assert checked > 50
