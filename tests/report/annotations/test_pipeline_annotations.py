"""Copies, commits and waits: how many there are, and which belong together."""

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import irlens
from irlens.analyze.capture_code import CaptureCode
from irlens.analyze.graph import FlowGraph
from irlens.analyze.outstanding import follow
from irlens.analyze.pipelines.annotate.ttgir import annotate
from irlens.artifacts.load import load_bytes
from irlens.isa.events import Commit, Copy, Event, Wait
from irlens.isa.mlir import parse
from irlens.model.listing import PipelineAnnotation, StageListing
from irlens.report import inspect
from irlens.report.annotations import list_stage

AHEAD = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry ahead(.param .u64 source) {
.reg .pred %p<2>;
.reg .f32 %f<4>;
.reg .b32 %r<3>;
.reg .b64 %rd<2>;
ld.param.u64 %rd1, [source];
mov.u32 %r1, 0;
mov.f32 %f3, 0f00000000;
ld.global.f32 %f1, [%rd1];
LOOP:
add.f32 %f3, %f3, %f1;
ld.global.f32 %f2, [%rd1+4];
add.u64 %rd1, %rd1, 4;
mov.f32 %f1, %f2;
add.u32 %r1, %r1, 1;
setp.lt.u32 %p1, %r1, 64;
@%p1 bra LOOP;
st.global.f32 [%rd1], %f3;
ret;
}
"""

ROTATING = """
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32} {
  tt.func public @rotating(%n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %true = arith.constant true
    %first = ttg.local_alloc : () -> !ttg.memdesc<1xi64, #shared, #smem, mutable>
    %second = ttg.local_alloc : () -> !ttg.memdesc<1xi64, #shared, #smem, mutable>
    %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%one = %first, %two = %second) -> (!ttg.memdesc<1xi64, #shared, #smem, mutable>, !ttg.memdesc<1xi64, #shared, #smem, mutable>) : i32 {
      ttng.barrier_expect %one, 1024, %true : !ttg.memdesc<1xi64, #shared, #smem, mutable>
      ttng.wait_barrier %one, %c0, %true : !ttg.memdesc<1xi64, #shared, #smem, mutable>
      scf.yield YIELDED : !ttg.memdesc<1xi64, #shared, #smem, mutable>, !ttg.memdesc<1xi64, #shared, #smem, mutable>
    }
    tt.return
  }
}
"""  # noqa: E501

SAMPLES = Path(__file__).parents[3] / "samples" / "captures"


def listing(name: str, stage: str) -> StageListing:
    capture = next(iter(irlens.load(SAMPLES / name)))
    return list_stage(CaptureCode(capture), stage, inspect(capture))


def told(found: StageListing, wanted: str) -> list[PipelineAnnotation]:
    return [mark for mark in found.marks if mark.role == wanted]


@pytest.mark.parametrize("stage", ["ttgir", "ptx"])
@pytest.mark.parametrize("stages", [1, 2, 3, 4, 5])
def test_softmax_has_the_groups_that_were_counted_by_hand(stages: int, stage: str) -> None:
    capture = irlens.capture("softmax", target="sm_90", num_stages=stages, run=False)
    found = list_stage(CaptureCode(capture), stage, inspect(capture))
    if stages == 1:
        assert found.marks == []
        return
    (loop,) = found.loops
    copies, commits, waits = (told(found, role) for role in ("copy", "commit", "wait"))
    before = [mark for mark in commits if mark.line < loop.first]
    (own,) = [mark for mark in commits if loop.first <= mark.line <= loop.last]
    assert len(copies) == len(commits) == stages
    assert len(before) == stages - 1
    inside, after = waits
    assert loop.first <= inside.line <= loop.last < after.line
    # What the loop's wait retires was committed before the loop or by the loop itself.
    every = tuple(mark.line for mark in commits)
    assert inside.partners == after.partners == every
    assert all(mark.partners == (inside.line, after.line) for mark in commits)
    assert {mark.pipeline for mark in found.marks} == {0}
    assert [mark.partners for mark in copies] == [(mark.line,) for mark in (*before, own)]


@pytest.mark.parametrize("stage", ["ttgir", "ptx"])
def test_what_was_peeled_off_the_loop_belongs_to_its_pipeline(stage: str) -> None:
    found = listing("matmul-a100", stage)
    assert {mark.pipeline for mark in found.marks} == {0}
    commits, waits = told(found, "commit"), told(found, "wait")
    (loop,) = found.loops
    first = next(mark for mark in waits if mark.line < loop.first)
    # A and B of the first iteration; those of the second wait for the loop.
    assert first.partners == tuple(mark.line for mark in commits[:2])
    assert all(first.line not in mark.partners for mark in commits[2:])


@pytest.mark.parametrize("name", ["softmax-h100", "matmul-a100", "matmul-b200"])
def test_machine_code_has_the_groups_that_ptx_has(name: str) -> None:
    # By numbers: ptxas puts a loop's blocks into another order than PTX has them.
    def shape(stage: str) -> Counter[tuple[str, int]]:
        marks = [mark for mark in listing(name, stage).marks if mark.pipeline == 0]
        return Counter((mark.role, len(mark.partners)) for mark in marks)

    assert shape("sass") == shape("ptx")
    assert shape("ptx")


def test_a_wait_that_retires_nothing_has_no_partner() -> None:
    found = listing("matmul-a100", "ptx")
    assert sum(not mark.partners for mark in told(found, "wait")) == 2


@pytest.mark.parametrize("stage", ["ttgir", "ptx"])
def test_bulk_copies_go_with_the_barrier_and_products_with_their_groups(stage: str) -> None:
    capture = next(iter(irlens.load(SAMPLES / "matmul_tma-h100")))
    report = inspect(capture)
    found = list_stage(CaptureCode(capture), stage, report)
    kinds = {number: each.kind for number, each in enumerate(report.pipelines)}
    bulk = [
        mark for mark in found.marks if mark.pipeline is not None and kinds[mark.pipeline] == "tma"
    ]
    count = Counter(mark.role for mark in bulk)
    assert count == {"copy": 6, "commit": 3, "wait": 1}
    (wait,) = [mark for mark in bulk if mark.role == "wait"]
    commits = [mark for mark in bulk if mark.role == "commit"]
    assert wait.partners == tuple(mark.line for mark in commits)
    copies = [mark for mark in bulk if mark.role == "copy"]
    assert Counter(mark.partners for mark in copies) == {(mark.line,): 2 for mark in commits}
    products = [
        mark
        for mark in found.marks
        if mark.pipeline is not None and kinds[mark.pipeline] == "wgmma"
    ]
    (commit,) = [mark for mark in products if mark.role == "commit"]
    waits = [mark for mark in products if mark.role == "wait"]
    assert [mark.partners for mark in waits] == [(commit.line,), (commit.line,)]


def test_barriers_are_followed_into_the_partitions_of_warps() -> None:
    found = listing("specialized-h100-4", "ttgir")
    (commit,) = [mark for mark in told(found, "commit") if "barrier_expect" in _text(found, mark)]
    assert [mark.partners for mark in told(found, "copy")] == [(commit.line,)] * 2
    (wait,) = [mark for mark in told(found, "wait") if mark.line in commit.partners]
    assert wait.partners == (commit.line,)
    assert "wait_barrier" in _text(found, wait)


def _text(found: StageListing, mark: PipelineAnnotation) -> str:
    return found.text.split("\n")[mark.line - 1]


@pytest.mark.parametrize("swapped", [False, True])
def test_a_barrier_that_a_loop_exchanges_for_another_is_not_certain(swapped: bool) -> None:
    yielded = "%two, %one" if swapped else "%one, %two"
    text = ROTATING.replace("YIELDED", yielded)
    found = annotate(parse(text), [])
    (commit,) = [mark for mark in found if mark.role == "commit"]
    (wait,) = [mark for mark in found if mark.role == "wait"]
    assert bool(commit.partners) is not swapped
    assert bool(wait.partners) is not swapped


def test_blackwells_products_go_with_their_barrier() -> None:
    found = listing("matmul-b200", "ptx")
    products = [mark for mark in found.marks if mark.pipeline == 1]
    assert Counter(mark.role for mark in products) == {"copy": 4, "commit": 2, "wait": 2}
    wait, last = [mark for mark in products if mark.role == "wait"]
    assert last.partners == ()  # behind the loop, where barriers are not followed
    first, second = [mark for mark in products if mark.role == "commit"]
    assert wait.partners == (first.line, second.line)
    copies = [mark.partners for mark in products if mark.role == "copy"]
    assert copies == [(first.line,)] * 2 + [(second.line,)] * 2


EXPECT = "mbarrier.arrive.expect_tx.shared::cta.b64 _, [{0}], 1024;"
BULK = (
    "cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes"
    " [%r9], [%rd1, {{%r8, %r8}}], [{0}];"
)
ASK = "mbarrier.try_wait.parity.shared::cta.b64 %p1, [{0}], 0;"
AGAIN = "W{1}: mbarrier.try_wait.parity.shared::cta.b64 %p1, [{0}], 0;\n@!%p1 bra W{1};"
A, B = "%r1", "%r1+8"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        # Two barriers, each asked until its phase ends; what was waited for is over.
        ([EXPECT.format(A), EXPECT.format(B), AGAIN.format(B, 1), AGAIN.format(A, 2),
          AGAIN.format(A, 3)], {2: (1,), 4: (0,), 6: ()}),
        ([EXPECT.format(A), BULK.format(A), "@%p2 bra OVER;", ASK.format(A), "OVER:",
          ASK.format(A)], {3: (0,), 5: (0,)}),
        # Whether the branch is taken or not, something is begun.
        (["@%p2 bra OVER;", EXPECT.format(A), "bra DONE;", "OVER:", EXPECT.format(A), "DONE:",
          ASK.format(A)], {6: (1, 4)}),
        # How often the loop ran is not known, nor which barrier %r2 means.
        ([EXPECT.format(A), "LOOP:", EXPECT.format(A), ASK.format(B), "@%p2 bra LOOP;",
          ASK.format(A)], {3: (), 5: ()}),
        ([EXPECT.format(A), "ld.shared.b32 %r2, [%r1+64];", ASK.format("%r2"), ASK.format(A)],
         {2: (), 3: ()}),
    ],
)  # fmt: skip
def test_waits_outside_of_loops_go_with_what_they_end(
    lines: list[str], expected: dict[int, tuple[int, ...]]
) -> None:
    head = (
        ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 d) {\n"
        ".reg .pred %p<3>;\n.reg .b32 %r<10>;\n.reg .b64 %rd<2>;\n"
        ".shared .align 16 .b8 room[4096];\nmov.u32 %r1, room;\n"
    )
    text = head + "\n".join(lines) + "\nret;\n}\n"
    (capture,) = load_bytes(text.encode(), name="waits.ptx")
    found = list_stage(CaptureCode(capture), "ptx", inspect(capture))
    first = head.count("\n") + 1
    waits = {mark.line - first: mark.partners for mark in told(found, "wait")}
    assert waits == {at: tuple(first + line for line in ends) for at, ends in expected.items()}


def test_amds_loads_go_with_the_wait_that_retires_them() -> None:
    found = listing("softmax-mi300x", "amdgcn")
    load, wait = found.marks
    assert (load.role, wait.role) == ("copy", "wait")
    assert load.partners == (wait.line,)
    assert wait.partners == (load.line,)
    assert "buffer_load" in found.lines[load.line - 1]
    assert "vmcnt" in found.lines[wait.line - 1]


def test_a_load_that_runs_ahead_in_registers_goes_with_its_first_use() -> None:
    assert listing("softmax-t4", "ptx").marks == []  # used in the iteration that loads
    (capture,) = load_bytes(AHEAD.encode(), name="ahead.ptx")
    found = list_stage(CaptureCode(capture), "ptx", inspect(capture))
    use, ahead = found.marks
    assert (use.role, use.partners) == ("wait", (ahead.line,))
    assert (ahead.role, ahead.partners) == ("copy", (use.line,))
    assert "add.f32 %f3" in found.lines[use.line - 1]
    assert "%rd1+4" in found.lines[ahead.line - 1]
    assert {mark.pipeline for mark in found.marks} == {0}


EVENTS = st.lists(
    st.one_of(
        st.just("copy"),
        st.tuples(st.just("commit"), st.booleans()),
        st.tuples(st.just("wait"), st.integers(0, 3), st.booleans()),
        st.just("wait_all"),
    ),
    max_size=6,
)
GRAPH = st.integers(1, 5).flatmap(
    lambda count: st.tuples(
        st.lists(EVENTS, min_size=count, max_size=count),
        st.lists(
            st.lists(st.integers(0, count - 1), max_size=2, unique=True),
            min_size=count,
            max_size=count,
        ),
    )
)


def made(kinds: list[object], block: int) -> list[Event]:
    events: list[Event] = []
    for number, kind in enumerate(kinds):
        at = block * 100 + number
        match kind:
            case "copy":
                events.append(Copy(0, 4, at=at))
            case ("commit", bool(certain)):
                events.append(Commit(0, certain, at=at))
            case ("wait", int(limit), bool(certain)):
                events.append(Wait(0, limit, certain, at=at))
            case _:
                events += [Commit(0, True, implicit=True, at=at), Wait(0, 0, True, at=at)]
    return events


@given(graph=GRAPH, choices=st.lists(st.integers(0, 7), max_size=24))
def test_what_happens_on_any_path_is_found(
    graph: tuple[list[list[object]], list[list[int]]], choices: list[int]
) -> None:
    kinds, successors = graph
    events = {block: made(each, block) for block, each in enumerate(kinds)}
    found = follow(FlowGraph(successors), events)
    closed, retired = walked(successors, events, choices)
    assert closed <= found.closed
    if found.retired or not retired:
        assert retired <= found.retired


def walked(
    successors: list[list[int]], events: dict[int, list[Event]], choices: list[int]
) -> tuple[set[tuple[int, int]], set[tuple[int, int]]]:
    """What one path closes and retires, played with the plain rules of the PTX ISA."""
    closed, retired = set[tuple[int, int]](), set[tuple[int, int]]()
    pending: list[int] = []
    groups: list[int] = []
    block = 0
    for choice in choices:
        for event in events[block]:
            happens = isinstance(event, Copy) or event.certain or choice & 1
            if isinstance(event, Copy):
                pending.append(event.at)
            elif happens and isinstance(event, Commit):
                closed |= {(copy, event.at) for copy in pending}
                pending = []
                groups += [] if event.implicit else [event.at]
            elif happens and isinstance(event, Wait):
                while len(groups) > event.limit:
                    retired.add((groups.pop(0), event.at))
        if not successors[block]:
            break
        block = successors[block][choice // 2 % len(successors[block])]
    return closed, retired


def test_of_a_straight_line_nothing_else_is_found() -> None:
    events = made(["copy", ("commit", True), "copy", ("commit", True), ("wait", 1, True)], 0)
    found = follow(FlowGraph([()]), {0: events})
    assert found.closed == {(0, 1), (2, 3)}
    assert found.retired == {(1, 4)}


def test_groups_that_pile_up_are_closed_all_the_same() -> None:
    events = made(["copy", ("commit", True)], 0)
    found = follow(FlowGraph([(0,)]), {0: events})
    assert found.closed == {(0, 1)}
    assert found.retired == set()
