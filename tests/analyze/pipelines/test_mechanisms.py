"""Rings of barriers, tensor-core groups and registers, in loops whose truth is known."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irlens.analyze import cfg
from irlens.analyze.pipelines import find_pipelines
from irlens.analyze.pipelines.ptx_loops import analyze_loops
from irlens.analyze.pipelines.verdicts import PtxKernel
from irlens.isa.ptx import parse
from irlens.model.report import Pipeline

DECLARE = ".reg .b32 %r<99>; .reg .b64 %rd<9>; .reg .pred %p<9>; "
LOAD = (
    "@%p8 mbarrier.arrive.expect_tx.shared.b64 _, [{0}], 4096; @%p9 cp.async.bulk.tensor.2d"
    ".shared::cluster.global.mbarrier::complete_tx::bytes [%r90], [%rd1, {{%r91, %r92}}], [{0}]; "
)
WAIT = (
    "{{ .reg .pred done; S{1}: mbarrier.try_wait.parity.shared.b64 done, [{0}], %r80;"
    " @!done bra S{1}; }} "
)
MMA = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%r1, %r2}, %rd1, %rd2, 1, 1, 1, 0, 0; "


def find(text: str, requested: int | None = None) -> list[Pipeline]:
    (kernel,) = parse(text).kernels
    return find_pipelines(
        PtxKernel(
            loops=analyze_loops(kernel, cfg.build(kernel)),
            threads_per_cta=128,
            requested=lambda *_: requested,
            serialized=False,
        )
    )


def numbers(pipeline: Pipeline) -> tuple[int | None, ...]:
    return (
        pipeline.groups_before_loop,
        pipeline.groups_per_iteration,
        pipeline.outstanding_at_wait,
        pipeline.outstanding_after_wait,
        pipeline.achieved_stages,
    )


def walk(name: str, size: int, way: str) -> str:
    """Advance a ring's index: by wrapping, by remainder, or by a mask where the size allows."""
    if way == "wrap":
        return (
            f"add.s32 %r70, {name}, 1; setp.gt.s32 %p1, %r70, {size - 1};"
            f" selp.b32 {name}, 0, %r70, %p1; "
        )
    if way == "mask" and size & (size - 1) == 0:
        return f"add.s32 {name}, {name}, 1; and.b32 {name}, {name}, {size - 1}; "
    return f"add.s32 {name}, {name}, 1; rem.u32 {name}, {name}, {size}; "


def address(register: str, index: str) -> str:
    return f"shl.b32 %r71, {index}, 3; add.s32 {register}, %r71, %r60; "


@st.composite
def rings(draw: st.DrawFn) -> tuple[int, int, bool, str]:
    """Barriers, phases begun before the loop, whether it issues before it waits, and the walk."""
    issue_first = draw(st.booleans())
    size = draw(st.integers(1 + issue_first, 8))
    # A barrier must not be armed again before it was waited for.
    ahead = draw(st.integers(0 if issue_first else 1, size - issue_first))
    return size, ahead, issue_first, draw(st.sampled_from(["wrap", "rem", "mask"]))


@given(rings())
def test_the_reading_is_what_a_running_ring_does(ring: tuple[int, int, bool, str]) -> None:
    size, ahead, issue_first, way = ring
    prologue = "".join(
        f"add.s32 %r50, %r60, {8 * slot}; " + LOAD.format("%r50") for slot in range(ahead)
    )
    issue = address("%r61", "%r62") + LOAD.format("%r61") + walk("%r62", size, way)
    wait = address("%r63", "%r64") + WAIT.format("%r63", 0) + walk("%r64", size, way)
    body = issue + wait if issue_first else wait + issue
    text = (
        f"{DECLARE} mov.b32 %r60, smem; mov.b32 %r62, {ahead % size}; mov.b32 %r64, 0; {prologue}"
        f" L: {body} add.s32 %r65, %r65, 1; setp.lt.s32 %p2, %r65, %r66; @%p2 bra L; ret;"
    )
    (pipeline,) = find(text)
    # Run it: the iteration in which each slot was filled.
    slots = {slot: slot - ahead for slot in range(ahead)}
    at_wait = after = distance = 0
    for iteration in range(100):
        if issue_first:
            slots[(iteration + ahead) % size] = iteration
        at_wait = len(slots)
        distance = iteration - slots.pop(iteration % size)
        after = len(slots)
        if not issue_first:
            slots[(iteration + ahead) % size] = iteration
    assert numbers(pipeline) == (ahead, 1, at_wait, after, distance + 1)
    assert pipeline.kind == "tma"
    assert (pipeline.bytes_per_iteration, pipeline.bytes_in_flight) == (4096, 4096 * after)
    assert pipeline.verdict == ("pipelined" if distance else "not pipelined")


class TestRings:
    def test_an_index_that_is_an_argument_is_not_guessed(self) -> None:
        body = address("%r61", "%r62") + LOAD.format("%r61") + WAIT.format("%r61", 0)
        (pipeline,) = find(
            f"{DECLARE} ld.param.b32 %r62, [n]; mov.b32 %r60, smem; L: {body} @%p2 bra L; ret;"
        )
        assert (pipeline.verdict, pipeline.achieved_stages) == ("unknown", None)
        assert "does not follow from constants" in pipeline.reason

    def test_copies_that_nobody_in_the_loop_waits_for(self) -> None:
        text = f"{DECLARE} mov.b32 %r61, smem; L: {LOAD.format('%r61')} @%p2 bra L; ret;"
        (pipeline,) = find(text, requested=3)
        assert (pipeline.verdict, pipeline.achieved_stages) == ("unknown", None)
        assert pipeline.reason.endswith("within a ring of 1 barrier")
        assert pipeline.requested_stages == 3

    def test_fewer_stages_than_asked_for(self) -> None:
        body = WAIT.format("%r61", 0) + LOAD.format("%r61")
        text = f"{DECLARE} mov.b32 %r61, smem; {LOAD.format('%r61')} L: {body} @%p2 bra L; ret;"
        (pipeline,) = find(text, requested=3)
        assert (pipeline.verdict, pipeline.achieved_stages) == ("shallower", 2)
        assert pipeline.reason == "3 stages requested, 2 achieved"

    def test_an_announced_size_that_is_no_literal(self) -> None:
        load = LOAD.format("%r61").replace("4096", "%r44")
        text = f"{DECLARE} mov.b32 %r61, smem; L: {load + WAIT.format('%r61', 0)} @%p2 bra L; ret;"
        (pipeline,) = find(text)
        assert pipeline.achieved_stages == 1
        assert (pipeline.bytes_per_iteration, pipeline.bytes_in_flight) == (None, 0)

    def test_waits_that_may_be_unrolled_copies_of_one(self) -> None:
        load = "".join(LOAD.format(r) + WAIT.format(r, n) for n, r in enumerate(("%r61", "%r63")))
        text = f"{DECLARE} mov.b32 %r61, smem; add.s32 %r63, %r61, 8; L: {load} @%p2 bra L; ret;"
        (pipeline,) = find(text)
        assert pipeline.verdict == "unknown"
        assert pipeline.reason.endswith("it may have been unrolled")

    def test_a_prologue_in_a_loop_of_its_own_leaves_the_entry_unknown(self) -> None:
        first = address("%r61", "%r62") + LOAD.format("%r61") + walk("%r62", 4, "rem")
        body = WAIT.format("%r60", 0) + LOAD.format("%r60")
        text = (
            f"{DECLARE} mov.b32 %r60, smem; mov.b32 %r62, 0; P: {first} @%p3 bra P;"
            f" L: {body} @%p2 bra L; ret;"
        )
        prologue, pipeline = find(text)
        assert prologue.verdict == "unknown"
        assert numbers(pipeline) == (None, 1, 1, 0, 2)
        assert "before the loop" in pipeline.reason

    def test_work_on_barriers_in_an_inner_loop_is_not_counted(self) -> None:
        inner = f"I: {WAIT.format('%r61', 0)} ld.shared.b32 %r1, [%r5]; @%p4 bra I; "
        text = f"{DECLARE} mov.b32 %r61, smem; L: {LOAD.format('%r61')} {inner} @%p2 bra L; ret;"
        (pipeline,) = find(text)
        assert pipeline.verdict == "unknown"
        assert pipeline.reason.startswith("an inner loop works on barriers")

    def test_two_entrances(self) -> None:
        text = f"{DECLARE} @%p1 bra M; L: {LOAD.format('%r61')} M: nop.x; @%p2 bra L; ret;"
        (pipeline,) = find(text.replace("nop.x;", "add.s32 %r1, %r1, 1;"))
        assert pipeline.verdict == "unknown"
        assert "more than one place" in pipeline.reason

    def test_commits_of_the_tensor_core(self) -> None:
        product = (
            "tcgen05.mma.cta_group::1.kind::f16 [%r90], %rd1, %rd2, %r91, %p5;"
            " tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [{}]; "
        )
        two = "mov.b32 %r61, smem; add.s32 %r63, %r61, 8; "
        swap = "mov.b32 %r64, %r61; mov.b32 %r61, %r63; mov.b32 %r63, %r64; "
        body = product.format("%r61") + WAIT.format("%r63", 0) + swap
        text = f"{DECLARE} {two} {product.format('%r63')} L: {body} @%p2 bra L; ret;"
        (pipeline,) = find(text)
        assert (pipeline.kind, numbers(pipeline)) == ("tcgen05", (1, 1, 2, 1, 2))
        serial = product.format("%r61") + WAIT.format("%r61", 0)
        (pipeline,) = find(f"{DECLARE} {two} L: {serial} @%p2 bra L; ret;")
        assert numbers(pipeline) == (0, 1, 1, 0, 1)
        assert pipeline.verdict == "not pipelined"

    def test_a_ring_beside_barriers_that_depend_on_an_argument(self) -> None:
        """The last product of a tile signals a barrier of its own, whose index is unknown."""
        commit = "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [{}]; "
        product = "tcgen05.mma.cta_group::1.kind::f16 [%r90], %rd1, %rd2, %r91, %p5; "
        each = address("%r61", "%r62") + product + commit.format("%r61") + walk("%r62", 3, "wrap")
        last = f"@%p4 bra N; {commit.format('%r88')} {WAIT.format('%r89', 0)} N: "
        loop = f"L: {each} {last} @%p2 bra L; "
        start = f"{DECLARE} mov.b32 %r60, smem; mov.b32 %r62, 0; ld.param.b32 %r88, [n]; "
        start += "ld.param.b32 %r89, [m]; "
        behind = "M: add.s32 %r66, %r66, 1; " + WAIT.format("%r60", 1) + "@%p3 bra M; ret;"
        (pipeline,) = find(start + loop + behind)
        assert (pipeline.kind, pipeline.achieved_stages) == ("tcgen05", None)
        assert pipeline.reason.endswith("within a ring of 3 barriers")
        # Without a wait for the ring elsewhere, the one in the loop may be for it.
        (pipeline,) = find(start + loop + "ret;")
        assert pipeline.reason.endswith("does not follow from constants")


class TestWgmma:
    @pytest.mark.parametrize(
        ("limit", "expected", "verdict"),
        [
            (0, (0, 1, 1, 0, 1), "not pipelined"),
            (1, (0, 1, 2, 1, 2), "pipelined"),
            (2, (0, 1, 3, 2, 3), "pipelined"),
        ],
    )
    def test_groups_in_flight(self, limit: int, expected: tuple[int, ...], verdict: str) -> None:
        body = f"{MMA} wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned {limit}; "
        (pipeline,) = find(f"{DECLARE} L: {body} @%p1 bra L; ret;", requested=5)
        assert (pipeline.kind, numbers(pipeline)) == ("wgmma", expected)
        assert (pipeline.verdict, pipeline.requested_stages) == (verdict, None)
        assert (pipeline.bytes_per_iteration, pipeline.copies_per_iteration) == (None, None)

    def test_a_loop_that_drains_where_a_tile_ends(self) -> None:
        body = f"{MMA} wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 1; "
        drain = "@%p2 bra M; wgmma.wait_group.sync.aligned 0; M: "
        (pipeline,) = find(f"{DECLARE} L: {body} {drain} @%p1 bra L; ret;")
        assert numbers(pipeline) == (0, 1, 2, 1, 2)
        assert pipeline.verdict == "pipelined"
        assert pipeline.reason.endswith("figures are of the iterations that do not reach it")

    def test_a_loop_that_may_drain_on_every_path_is_not_guessed(self) -> None:
        body = f"{MMA} wgmma.commit_group.sync.aligned; @%p2 bra M; "
        body += "wgmma.wait_group.sync.aligned 0; bra N; M: wgmma.wait_group.sync.aligned 1; N: "
        (pipeline,) = find(f"{DECLARE} L: {body} @%p1 bra L; ret;")
        assert pipeline.verdict == "unknown"

    def test_a_wait_that_stands_behind_the_loop(self) -> None:
        body = f"{MMA} wgmma.commit_group.sync.aligned; "
        (pipeline,) = find(f"{DECLARE} L: {body} @%p1 bra L; wgmma.wait_group.sync.aligned 0; ret;")
        assert pipeline.verdict == "unknown"


class TestRegisters:
    FIRST = "ld.global.b32 %r1, [%rd1]; "
    NEXT = "add.s64 %rd1, %rd1, 4; ld.global.b32 %r2, [%rd1]; "
    USE = "add.s32 %r3, %r3, %r1; "

    def only(self, text: str) -> Pipeline:
        (pipeline,) = find(f"{DECLARE} {text} @%p1 bra L; st.global.b32 [%rd2], %r3; ret;")
        return pipeline

    def test_a_value_that_is_used_an_iteration_later(self) -> None:
        found = self.only(f"{self.FIRST} L: {self.NEXT} {self.USE} mov.b32 %r1, %r2;")
        assert (found.kind, found.prefetch_iterations, found.achieved_stages) == ("register", 1, 2)
        assert (found.copies_per_iteration, found.bytes_per_copy) == (1, 4)
        assert found.bytes_per_iteration == 4 * 128
        assert (found.verdict, found.reason) == ("pipelined", "")

    def test_two_iterations_later(self) -> None:
        carry = "mov.b32 %r1, %r4; mov.b32 %r4, %r2;"
        start = self.FIRST + "ld.global.b32 %r4, [%rd1+4]; "
        found = self.only(f"{start} L: {self.NEXT} {self.USE} {carry}")
        assert found.achieved_stages == 3

    def test_the_load_may_stand_behind_the_use(self) -> None:
        found = self.only(f"{self.FIRST} L: {self.USE} ld.global.b32 %r1, [%rd3];")
        assert found.achieved_stages == 2

    def test_a_masked_load_of_a_vector_into_pairs(self) -> None:
        first = "ld.global.v2.b32 {%r1, %r2}, [%rd3]; mov.b64 %rd4, {%r1, %r2}; "
        load = "mov.b32 %r1, 0; mov.b32 %r2, 0; @%p2 ld.global.v2.b32 {%r1, %r2}, [%rd3]; "
        use = "add.f32x2 %rd5, %rd5, %rd4; "
        found = self.only(f"{first} L: {load} {use} mov.b64 %rd4, {{%r1, %r2}};")
        assert (found.achieved_stages, found.bytes_per_copy) == (2, 8)

    def test_halves_of_a_register_that_the_next_iteration_packs(self) -> None:
        """Triton splits fp16 pairs at the load, and packs them in front of the store."""
        split = "mov.b32 {%h1, %h2}, %r2; "
        first = f".reg .b16 %h<5>; {self.FIRST} mov.b32 {{%h3, %h4}}, %r1; "
        use = "mov.b32 %r4, {%h3, %h4}; add.s32 %r3, %r3, %r4; "
        found = self.only(
            f"{first} L: {self.NEXT} {split} {use} mov.b16 %h3, %h1; mov.b16 %h4, %h2;"
        )
        assert (found.kind, found.achieved_stages) == ("register", 2)

    STORE = "st.shared.b32 [%r6], %r2; bar.sync 0; "
    READ = "ld.shared.b32 %r7, [%r6]; fma.rn.f32 %r3, %r7, %r7, %r3; bar.sync 0; "

    def test_a_value_that_is_stored_behind_the_compute(self) -> None:
        """The double buffer of CUDA before ``cp.async``."""
        first = f"{self.FIRST} st.shared.b32 [%r6], %r1; bar.sync 0; "
        found = self.only(f"{first} L: {self.NEXT} {self.READ} {self.STORE}")
        assert (found.kind, found.prefetch_iterations, found.achieved_stages) == ("register", 1, 2)
        assert found.bytes_per_iteration == 4 * 128

    @pytest.mark.parametrize(
        "text",
        [
            f"{FIRST} st.shared.b32 [%r6], %r1; L: {NEXT} {STORE} {READ}",
            f"{FIRST} st.shared.b32 [%r6], %r1; L: {READ} {NEXT} {STORE}",
            f"L: {NEXT} {READ} {STORE}",
            f"{FIRST} st.shared.b32 [%r6], %r1; L: {NEXT} {READ} {STORE} ld.b32 %r8, [%rd2];",
            f"{FIRST} st.shared.b32 [%r6], %r1; L: {NEXT} add.s32 %r2, %r2, 1; {READ} {STORE}",
        ],
        ids=[
            "read behind",
            "compute before the load",
            "nothing stored before",
            "read by address",
            "used at once",
        ],
    )
    def test_stores_that_hide_nothing(self, text: str) -> None:
        assert self.only(text).verdict == "not pipelined"

    def test_some_loads_and_not_others(self) -> None:
        other = "ld.global.b32 %r5, [%rd4]; add.s32 %r3, %r3, %r5; "
        found = self.only(f"{self.FIRST} L: {self.NEXT} {other} {self.USE} mov.b32 %r1, %r2;")
        assert found.achieved_stages == 2
        assert found.reason == "1 of the loop's 2 loads run ahead"

    @pytest.mark.parametrize(
        "text",
        [
            # Used in its own iteration, too.
            f"{FIRST} L: {NEXT} {USE} add.s32 %r3, %r3, %r2; mov.b32 %r1, %r2;",
            # Used on one path.
            f"{FIRST} L: {NEXT} @%p2 bra M; add.s32 %r3, %r3, %r2; M: {USE} mov.b32 %r1, %r2;",
            # A list: the address is what was loaded.
            "ld.global.b64 %rd1, [%rd3]; L: ld.global.b64 %rd1, [%rd1];",
            # Nothing was loaded before the loop: what is used is old, and not early.
            f"mov.b32 %r1, 0; L: {NEXT} {USE} mov.b32 %r1, %r2;",
            # Never used.
            f"{FIRST} L: {NEXT}",
        ],
        ids=["twice", "on one path", "list", "delayed", "unused"],
    )
    def test_what_does_not_run_ahead(self, text: str) -> None:
        found = self.only(text)
        assert (found.kind, found.verdict) == (None, "not pipelined")
        assert "visibly runs ahead through registers" in found.reason

    def test_many_loads_in_many_blocks_take_no_time(self) -> None:
        body = "".join(
            f"ld.global.b32 %r{n}, [%rd1]; @%p1 bra B{n}; add.s32 %q, %q, %r{n - 1}; B{n}: "
            for n in range(1, 1500)
        )
        text = f".reg .b32 %r<1500>; .reg .b32 %q; {DECLARE[17:]} L: {body} @%p2 bra L; ret;"
        assert len(find(text)) == 1


class TestEveryMechanism:
    def test_a_loop_has_one_record_per_mechanism(self) -> None:
        copy = "cp.async.ca.shared.global [%r1], [%rd1], 4; cp.async.commit_group; "
        body = (
            f"cp.async.wait_group 0; {WAIT.format('%r61', 0)} {MMA}"
            " wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;"
            f" {copy} {LOAD.format('%r61')}"
        )
        text = (
            f"{DECLARE} mov.b32 %r61, smem; {copy} {LOAD.format('%r61')} L: {body} @%p2 bra L; ret;"
        )
        found = find(text)
        assert [p.kind for p in found] == ["cp.async", "tma", "wgmma"]
        assert {p.loop for p in found} == {"L"}
        assert [p.achieved_stages for p in found] == [2, 2, 1]

    def test_a_plain_load_beside_bulk_copies_is_not_a_loop_of_its_own(self) -> None:
        body = f"ld.global.b32 %r3, [%rd2]; {WAIT.format('%r61', 0)} {LOAD.format('%r61')}"
        (pipeline,) = find(f"{DECLARE} mov.b32 %r61, smem; L: {body} @%p2 bra L; ret;")
        assert pipeline.kind == "tma"


class TestTables:
    """The loop of libdevice's ``sin``: it walks over a table in the PTX."""

    TEXT = """
    .global .align 4 .b8 table[24]{initial};
    .entry k(.param .b64 data) {{
        .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<9>;
        ld.param.b64 %rd1, [data];
        mov.b64 %rd2, table;
    OUTER:
        ld.global.b32 %r1, [%rd1];
        mov.b64 %rd3, 0;
    INNER:
        add.s64 %rd4, %rd2, %rd3;
        ld.global.nc.b32 %r2, [%rd4];
        mad.lo.s32 %r1, %r2, %r2, %r1;
        add.s64 %rd3, %rd3, 4;
        setp.ne.b64 %p1, %rd3, 24;
        @%p1 bra INNER;
        st.global.b32 [%rd1], %r1;
        add.s64 %rd1, %rd1, 4;
        @%p2 bra OUTER;
        ret;
    }}
    """

    def test_its_loop_is_not_described_and_does_not_hide_the_kernels_own(self) -> None:
        (pipeline,) = find(self.TEXT.format(initial=" = {65, 144, 67}"))
        assert pipeline.loop == "OUTER"
        assert pipeline.verdict == "not pipelined"

    def test_a_variable_without_initial_values_is_data(self) -> None:
        (pipeline,) = find(self.TEXT.format(initial=""))
        assert pipeline.loop == "INNER"
