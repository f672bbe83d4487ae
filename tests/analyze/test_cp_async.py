from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irlens.analyze import cfg
from irlens.analyze.pipelines import cp_async
from irlens.analyze.pipelines.ptx_loops import analyze_loops
from irlens.analyze.pipelines.verdicts import IRREDUCIBLE, PtxKernel
from irlens.isa.ptx import parse
from irlens.model.report import Pipeline
from irlens.model.source import SourceLocation

DATA = Path(__file__).parents[1] / "data" / "ptx"


def find(text: str, requested: int | None = None, threads: int | None = None) -> list[Pipeline]:
    found = []
    for kernel in parse(text).kernels:
        found += cp_async.find(
            PtxKernel(
                loops=analyze_loops(kernel, cfg.build(kernel)),
                threads_per_cta=threads or kernel.threads_per_cta,
                requested=lambda *_: requested,
            )
        )
    return found


def sample(name: str, requested: int | None = None, threads: int | None = None) -> list[Pipeline]:
    return find((DATA / f"{name}.ptx").read_text(), requested, threads)


def groups(pipeline: Pipeline) -> tuple[int | None, ...]:
    """Before the loop, per iteration, outstanding at and after the wait, stages achieved."""
    return (
        pipeline.groups_before_loop,
        pipeline.groups_per_iteration,
        pipeline.outstanding_at_wait,
        pipeline.outstanding_after_wait,
        pipeline.achieved_stages,
    )


COPY = "cp.async.ca.shared.global [%r1], [%rd1], {}, %r2; "
COMMIT = "cp.async.commit_group; "


def loop(before: str, body: str) -> str:
    return f"{before} L: {body} @%p1 bra L; cp.async.wait_group 0; ret;"


class TestTriton:
    def test_softmax(self) -> None:
        (pipeline,) = sample("softmax_36_sm90_s4", requested=4)
        assert pipeline == Pipeline(
            stage="ptx",
            loop="$L__BB0_2",
            line=128,
            source=SourceLocation("softmax.py", 22, 57),
            kind="cp.async",
            requested_stages=4,
            achieved_stages=4,
            prefetch_iterations=3,
            groups_before_loop=3,
            groups_per_iteration=1,
            outstanding_at_wait=3,
            outstanding_after_wait=2,
            groups_during_compute=2,
            copies_per_iteration=1,
            bytes_per_copy=16,
            bytes_per_iteration=4096,
            bytes_in_flight=8192,
            verdict="pipelined",
            reason="",
        )

    def test_unaligned_rows_come_in_four_pieces(self) -> None:
        (pipeline,) = sample("softmax_39_sm80_s3_unaligned", requested=3)
        assert groups(pipeline) == (2, 1, 2, 1, 3)
        assert (pipeline.copies_per_iteration, pipeline.bytes_per_copy) == (4, 4)
        assert (pipeline.bytes_per_iteration, pipeline.bytes_in_flight) == (4096, 4096)
        assert pipeline.source == SourceLocation("softmax.py", 22, 5)

    def test_a_matmul_commits_two_groups_an_iteration(self) -> None:
        (pipeline,) = sample("matmul_36_sm90_s3", requested=3)
        assert groups(pipeline) == (4, 2, 4, 2, 3)
        assert pipeline.prefetch_iterations == 2
        assert pipeline.bytes_per_iteration == 49152
        assert str(pipeline.source) == "workload.py:24"

    def test_attention(self) -> None:
        (pipeline,) = sample("attention_36_sm90_s3", requested=3)
        assert groups(pipeline) == (4, 2, 4, 2, 3)
        assert str(pipeline.source) == "workload.py:48"

    def test_without_cp_async_nothing_is_pipelined_but_registers_are_not_ruled_out(self) -> None:
        (pipeline,) = sample("softmax_39_sm75_s4", requested=4)
        assert (pipeline.kind, pipeline.achieved_stages) == (None, None)
        assert (pipeline.verdict, pipeline.reason) == ("not pipelined", cp_async.NO_COPIES)

    def test_bulk_copies_are_left_to_another_analysis(self) -> None:
        assert sample("matmul_tma_36_sm90_s3", requested=3) == []

    def test_the_stages_asked_for_are_looked_up_by_location(self) -> None:
        (kernel,) = parse((DATA / "softmax_36_sm90_s4.ptx").read_text()).kernels
        asked: list[tuple[SourceLocation, ...]] = []

        def requested(locations: tuple[SourceLocation, ...], _: object) -> int:
            asked.append(locations)
            return 7

        (pipeline,) = cp_async.find(
            PtxKernel(loops=analyze_loops(kernel, cfg.build(kernel)), requested=requested)
        )
        assert asked == [(SourceLocation("softmax.py", 22, 57),)]
        assert pipeline.verdict == "shallower"
        assert pipeline.reason == "7 stages requested, the groups run 4 deep"
        assert (pipeline.bytes_per_iteration, pipeline.bytes_in_flight) == (None, None)


class TestHandWritten:
    """``buffers.cu``: what its author meant is in the names and comments."""

    @pytest.fixture
    def by_kernel(self) -> dict[str, list[Pipeline]]:
        module = parse((DATA / "buffers.ptx").read_text())
        return {
            kernel.name: cp_async.find(
                PtxKernel(
                    loops=analyze_loops(kernel, cfg.build(kernel)),
                    threads_per_cta=128,
                    requested=lambda *_: None,
                )
            )
            for kernel in module.kernels
        }

    @pytest.mark.parametrize(
        ("kernel", "expected", "in_flight"),
        [
            ("double_buffer", (1, 1, 2, 1, 2), 2048),
            ("triple_buffer", (2, 1, 3, 2, 3), 4096),
            ("persistent", (1, 1, 2, 1, 2), 2048),
        ],
    )
    def test_buffers(
        self,
        by_kernel: dict[str, list[Pipeline]],
        kernel: str,
        expected: tuple[int, ...],
        in_flight: int,
    ) -> None:
        (pipeline,) = by_kernel[kernel]
        assert groups(pipeline) == expected
        assert (pipeline.bytes_per_iteration, pipeline.bytes_in_flight) == (2048, in_flight)
        assert (pipeline.verdict, pipeline.reason) == ("pipelined", "")
        line = {"persistent": 75}.get(kernel, 13)
        assert str(pipeline.source) == f"buffers.cu:{line}"

    def test_waiting_at_once_overlaps_nothing(self, by_kernel: dict[str, list[Pipeline]]) -> None:
        (pipeline,) = by_kernel["no_overlap"]
        assert groups(pipeline) == (0, 1, 1, 0, 1)
        assert pipeline.verdict == "not pipelined"

    def test_a_commit_under_a_branch_is_not_guessed(
        self, by_kernel: dict[str, list[Pipeline]]
    ) -> None:
        (pipeline,) = by_kernel["commit_under_branch"]
        assert pipeline.verdict == "unknown"
        assert pipeline.reason.endswith("a commit stands under a branch")
        assert pipeline.achieved_stages is None

    def test_an_unrolled_loop_is_read_per_iteration_of_the_source(
        self, by_kernel: dict[str, list[Pipeline]]
    ) -> None:
        unrolled, rest = by_kernel["unrolled"]
        assert groups(unrolled) == groups(rest) == (2, 1, 3, 2, 3)
        assert unrolled.bytes_per_iteration == rest.bytes_per_iteration == 2048
        assert unrolled.reason.startswith("unrolled 4 times")
        assert rest.reason == ""


class TestFragments:
    def test_four_narrow_copies_in_one_group_are_two_stages(self) -> None:
        group = COPY.format(4) * 4 + COMMIT
        text = loop(group, f"cp.async.wait_group 0; ld.shared.f32 %f1, [%r1]; {group}")
        (pipeline,) = find(text, threads=256)
        assert groups(pipeline) == (1, 1, 1, 0, 2)
        assert (pipeline.copies_per_iteration, pipeline.bytes_per_copy) == (4, 4)
        assert (pipeline.bytes_per_iteration, pipeline.bytes_in_flight) == (4096, 0)
        assert pipeline.verdict == "pipelined"

    @pytest.mark.parametrize(
        ("compute", "expected", "computing"),
        [
            # Copy the next, compute, wait, swap: one copy flies while the loop computes.
            ("ld.shared.f32 %f1, [%r1]; add.f32 %f2, %f2, %f1;", (0, 1, 1, 0, 2), 1),
            # The same where the wait is followed by reading the next operands into registers.
            ("mma.sync {%f2}, {%r5}, {%r6}, {%f2};", (0, 1, 1, 0, 2), 1),
        ],
    )
    def test_a_wait_at_the_end_is_for_the_next_iteration(
        self, compute: str, expected: tuple[int, ...], computing: int
    ) -> None:
        group = COPY.format(16) + COMMIT
        ahead = "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r7}, [%r1]; mov.b32 %r5, %r7;"
        wait = "cp.async.wait_group 0; " + (ahead if "mma" in compute else "")
        (pipeline,) = find(loop(group + wait, group + compute + wait), threads=32)
        assert groups(pipeline) == expected
        assert pipeline.groups_during_compute == computing
        assert pipeline.bytes_in_flight == 512
        assert pipeline.prefetch_iterations == 1
        assert "the data that the next one uses" in pipeline.reason

    def test_a_wait_for_data_used_at_once_is_not_for_the_next_iteration(self) -> None:
        group = COPY.format(16) + COMMIT
        use = "ld.shared.f32 %f1, [%r1]; cvt.f64.f32 %fd1, %f1; add.f64 %fd2, %fd2, %fd1;"
        (pipeline,) = find(loop("", f"{group} cp.async.wait_group 0; {use}"), threads=32)
        assert groups(pipeline) == (0, 1, 1, 0, 1)
        assert pipeline.groups_during_compute == 0

    def test_two_stages_for_four_asked(self) -> None:
        group = COPY.format(16) + COMMIT
        (pipeline,) = find(loop(group, f"cp.async.wait_group 0; {group}"), requested=4)
        assert pipeline.verdict == "shallower"

    def test_an_mbarrier_tracks_no_group(self) -> None:
        body = COPY.format(16) + "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%r9];"
        (pipeline,) = find(loop("", body))
        assert (pipeline.verdict, pipeline.reason) == ("unknown", cp_async.MBARRIER)

    def test_copies_that_are_committed_outside(self) -> None:
        (pipeline,) = find(loop("", COPY.format(16)))
        assert (pipeline.verdict, pipeline.reason) == ("unknown", cp_async.OUTSIDE_COMMITS)

    def test_groups_that_nothing_retires(self) -> None:
        (pipeline,) = find(loop("", COPY.format(16) + COMMIT))
        assert (pipeline.verdict, pipeline.reason) == ("unknown", cp_async.PILE_UP)

    def test_wait_all_commits_what_is_pending_and_else_nothing(self) -> None:
        group = COPY.format(16) + COMMIT
        (explicit,) = find(loop(group, f"cp.async.wait_all; {group}"))
        assert groups(explicit) == (1, 1, 1, 0, 2)
        (implicit,) = find(loop("", COPY.format(16) + "cp.async.wait_all;"))
        assert groups(implicit) == (0, 1, 1, 0, 1)

    def test_empty_groups_count_for_waits_and_not_for_ages(self) -> None:
        # The second group of each iteration is empty: nobody waits for it.
        group = COPY.format(16) + COMMIT + COMMIT
        (pipeline,) = find(loop(group, f"cp.async.wait_group 1; {group}"), threads=32)
        assert groups(pipeline) == (2, 2, 3, 1, 2)
        assert pipeline.bytes_in_flight == 0

    def test_predicated_copies_count_and_their_commit_is_certain(self) -> None:
        group = "@%p2 " + COPY.format(16) + COMMIT
        (pipeline,) = find(loop(group * 2, f"cp.async.wait_group 1; {group}"), threads=32)
        assert groups(pipeline) == (2, 1, 2, 1, 3)
        assert pipeline.bytes_in_flight == 512

    @pytest.mark.parametrize(
        ("body", "reason"),
        [
            (COPY.format(16) + "@%p2 " + COMMIT + "cp.async.wait_group 1;", "is predicated"),
            (COPY.format(16) + COMMIT + "@%p2 cp.async.wait_group 1; ", "path taken"),
            (
                COPY.format(16) + "@%p2 bra M; " + COMMIT + "M: cp.async.wait_group 1;",
                "under a branch",
            ),
        ],
    )
    def test_what_depends_on_the_path_is_unknown(self, body: str, reason: str) -> None:
        (pipeline,) = find(loop("", body))
        assert pipeline.verdict == "unknown"
        assert reason in pipeline.reason
        assert pipeline.achieved_stages is None

    def test_the_size_of_a_copy_is_its_third_operand(self) -> None:
        group = "cp.async.cg.shared.global [%r1], [%rd1], 16, 4, %rd2; " + COMMIT
        (pipeline,) = find(loop(group, f"cp.async.wait_group 0; {group}"), threads=1)
        assert pipeline.bytes_per_iteration == 16

    def test_a_size_that_is_no_literal_is_unknown(self) -> None:
        group = "cp.async.cg.shared.global [%r1], [%rd1], size; " + COMMIT
        (pipeline,) = find(loop(group, f"cp.async.wait_group 0; {group}"), threads=1)
        assert pipeline.achieved_stages == 2
        assert (pipeline.bytes_per_iteration, pipeline.bytes_per_copy) == (None, None)

    def test_a_rolled_prologue_leaves_only_the_entry_unknown(self) -> None:
        group = COPY.format(16) + COMMIT
        prologue = f"P: {group} @%p3 bra P; "
        prologue_loop, main = find(
            loop(prologue, f"{group} cp.async.wait_group 2; ld.shared.f32 %f1, [%r1];")
        )
        assert prologue_loop.reason == cp_async.PILE_UP
        assert groups(main) == (None, 1, 3, 2, 3)
        assert "before the loop" in main.reason

    def test_every_innermost_loop_that_reads_global_memory_is_named(self) -> None:
        text = (
            "A: ld.global.f32 %f1, [%rd1]; B: ld.global.nc.f32 %f2, [%rd2]; @%p1 bra B; @%p2 bra A;"
            " C: ld.shared.f32 %f1, [%r1]; @%p3 bra C; D: ld.f32 %f1, [%rd3]; @%p4 bra D; ret;"
        )
        assert [p.loop for p in find(text)] == ["B", "D"]

    def test_copies_of_an_inner_loop_belong_to_the_loop_that_commits(self) -> None:
        inner = f"I: {COPY.format(16)} @%p2 bra I; "
        text = f"L: nop; {inner} {COMMIT} cp.async.wait_group 1; @%p1 bra L; ret;"
        (pipeline,) = find(text, threads=32)
        assert pipeline.loop == "L"
        assert groups(pipeline) == (0, 1, 2, 1, 2)
        assert (pipeline.copies_per_iteration, pipeline.bytes_in_flight) == (None, None)

    def test_a_loop_with_two_entrances_is_unknown(self) -> None:
        text = (
            f"@%p1 bra M; L: {COPY.format(16)} {COMMIT} M: cp.async.wait_group 1; @%p2 bra L; ret;"
        )
        (pipeline,) = find(text)
        assert (pipeline.verdict, pipeline.reason) == ("unknown", IRREDUCIBLE)

    def test_a_loop_around_the_first_instruction(self) -> None:
        (pipeline,) = find(f"L: {COPY.format(16)} {COMMIT} cp.async.wait_group 0; bra L;")
        assert groups(pipeline) == (0, 1, 1, 0, 1)

    def test_a_wait_for_more_groups_than_anyone_commits(self) -> None:
        text = loop("", f"{COPY.format(16)} {COMMIT} cp.async.wait_group 4000000;")
        (pipeline,) = find(text)
        assert pipeline.verdict == "unknown"

    def test_deep_nests_take_no_time(self) -> None:
        depth = 2_000
        opened = "".join(f"L{n}: {COPY.format(16)}{COMMIT}" for n in range(depth))
        closed = "".join(f"cp.async.wait_group 1; @%p1 bra L{n}; " for n in reversed(range(depth)))
        (pipeline,) = find(opened + closed + "ret;")
        assert pipeline.loop == f"L{depth - 1}"


@st.composite
def programs(draw: st.DrawFn) -> tuple[int, list[str]]:
    """Groups before a loop, and its body: one kind of wait and a commit or more, in any order."""
    limit = draw(st.integers(0, 4))
    commits = draw(st.integers(1, 3))
    body = draw(st.permutations(["commit"] * commits + [f"wait {limit}"]))
    return draw(st.integers(0, 8)), list(body)


def simulate(before: int, body: list[str]) -> tuple[int, int, int]:
    """Run the queue itself: outstanding at and after the wait, and the least age at retirement."""
    queue = [-1] * before
    at_wait = after_wait = age = 0
    for iteration in range(60):
        for step in body:
            if step == "commit":
                queue.append(iteration)
                continue
            at_wait = len(queue)
            keep = int(step.split()[1])
            retired, queue = queue[: len(queue) - keep], queue[max(len(queue) - keep, 0) :]
            after_wait = len(queue)
            if retired:
                age = iteration - max(retired)
    return at_wait, after_wait, age


@given(programs())
def test_the_reading_is_what_a_running_queue_does(program: tuple[int, list[str]]) -> None:
    before, body = program
    group = COPY.format(16) + COMMIT
    steps = [group if step == "commit" else f"cp.async.wait_group {step[5:]}; " for step in body]
    (pipeline,) = find(loop(group * before, "".join(steps)), threads=1)
    at_wait, after_wait, age = simulate(before, body)
    assert (pipeline.outstanding_at_wait, pipeline.outstanding_after_wait) == (at_wait, after_wait)
    assert pipeline.prefetch_iterations == age
    assert pipeline.bytes_in_flight == 16 * after_wait
    assert pipeline.groups_before_loop == before
