"""Copies in flight while the tensor core works, against loops that are run step by step."""

from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irlens.analyze import cfg
from irlens.analyze.pipelines import find_pipelines
from irlens.analyze.pipelines.products import UNSEEN
from irlens.analyze.pipelines.ptx_loops import analyze_loops
from irlens.analyze.pipelines.verdicts import PtxKernel
from irlens.isa.ptx import parse
from irlens.model.report import Pipeline

DECLARE = ".reg .b32 %r<99>; .reg .b64 %rd<9>; .reg .pred %p<9>; "
COPY = "cp.async.cg.shared.global [%r1], [%rd1], 0x10; cp.async.commit_group; "
PRODUCT = (
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%r1, %r2}, %rd1, %rd2, 1, 1, 1, 0, 0;"
    " wgmma.commit_group.sync.aligned; "
)
ITERATIONS = 40


def find(text: str, serialized: bool | None = False) -> list[Pipeline]:
    (kernel,) = parse(text).kernels
    return find_pipelines(
        PtxKernel(
            loops=analyze_loops(kernel, cfg.build(kernel)),
            threads_per_cta=128,
            requested=lambda *_: None,
            serialized=serialized,
        )
    )


@st.composite
def loops(draw: st.DrawFn) -> tuple[int, list[tuple[str, int]]]:
    """Groups copied before a loop, and the steps of its body.

    The body waits for its operands, issues the product, and waits for a product and copies for a
    later iteration somewhere behind it.
    """
    ahead = draw(st.integers(1, 4))
    behind = draw(st.permutations([("copy", 0), ("products", draw(st.integers(0, 2)))]))
    return ahead, [("copies", ahead - 1), ("product", 0), *behind]


@given(loops())
def test_what_is_in_flight_is_what_a_running_loop_shows(
    loop: tuple[int, list[tuple[str, int]]],
) -> None:
    ahead, body = loop
    written = {
        "copy": COPY,
        "copies": "cp.async.wait_group {0}; ",
        "product": PRODUCT,
        "products": "wgmma.wait_group.sync.aligned {0}; ",
    }
    steps = "".join(written[kind].replace("{0}", str(limit)) for kind, limit in body)
    pipeline = find(f"{DECLARE} {COPY * ahead} L: {steps} @%p1 bra L; ret;")[0]
    # Run it, and look after each step at what is outstanding of either kind.
    copies, products = deque(range(ahead)), deque[int]()
    most = 0
    for iteration in range(ITERATIONS):
        most = 0 if iteration < ITERATIONS - 1 else most
        for kind, limit in body:
            if kind == "copy":
                copies.append(iteration)
            elif kind == "product":
                products.append(iteration)
            queue = copies if kind == "copies" else products
            while kind in ("copies", "products") and len(queue) > limit:
                queue.popleft()
            if products:
                most = max(most, len(copies))
    assert pipeline.kind == "cp.async"
    assert pipeline.groups_during_compute == most
    assert pipeline.bytes_in_flight == most * 16 * 128
    assert pipeline.outstanding_after_wait == ahead - 1


BODY = f"cp.async.wait_group 0; {PRODUCT} wgmma.wait_group.sync.aligned 1; {COPY}"
TEXT = f"{DECLARE} {COPY} L: {BODY} @%p1 bra L; ret;"


@pytest.mark.parametrize(("serialized", "groups"), [(False, 1), (True, 0), (None, None)])
def test_ptxas_decides_whether_copies_overlap_with_products(
    serialized: bool | None, groups: int | None
) -> None:
    pipeline = find(TEXT, serialized)[0]
    assert (pipeline.kind, pipeline.achieved_stages) == ("cp.async", 2)
    assert pipeline.groups_during_compute == groups
    assert pipeline.bytes_in_flight == (None if groups is None else groups * 2048)
    assert pipeline.reason == (UNSEEN if groups is None else "")


def test_a_wait_under_a_branch_that_another_wait_covers() -> None:
    text = TEXT.replace("L: ", "L: @%p2 bra M; wgmma.wait_group.sync.aligned 0; M: ")
    assert find(text)[0].groups_during_compute == 1


LOAD = (
    "mbarrier.arrive.expect_tx.shared.b64 _, [{0}], 4096; cp.async.bulk.tensor.2d"
    ".shared::cluster.global.mbarrier::complete_tx::bytes [%r90], [%rd1, {{%r91, %r92}}], [{0}]; "
)
WAIT = (
    "{{ .reg .pred done; S{1}: mbarrier.try_wait.parity.shared.b64 done, [{0}], %r80;"
    " @!done bra S{1}; }} "
)
TCGEN05 = (
    "tcgen05.mma.cta_group::1.kind::f16 [%r90], %rd1, %rd2, %r91, %p5;"
    " tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [{}]; "
)
SWAP = "mov.b32 %r65, {0}; mov.b32 {0}, {1}; mov.b32 {1}, %r65; "


@pytest.mark.parametrize(("limit", "groups"), [(0, 0), (1, 1)])
def test_bulk_copies_behind_a_product_of_wgmma(limit: int, groups: int) -> None:
    body = (
        "add.s32 %r66, %r66, 1; "
        + WAIT.format("%r61", 0)
        + PRODUCT
        + f"wgmma.wait_group.sync.aligned {limit}; "
    )
    body += LOAD.format("%r63") + SWAP.format("%r61", "%r63")
    start = "mov.b32 %r61, smem; add.s32 %r63, %r61, 8; " + LOAD.format("%r61")
    pipeline = find(f"{DECLARE} {start} L: {body} @%p1 bra L; ret;")[0]
    assert (pipeline.kind, pipeline.reason, pipeline.achieved_stages) == ("tma", "", 2)
    assert pipeline.outstanding_after_wait == 0
    assert (pipeline.groups_during_compute, pipeline.bytes_in_flight) == (groups, groups * 4096)


@pytest.mark.parametrize(("serial", "groups"), [(True, 0), (False, 1)])
def test_copies_behind_a_product_of_tcgen05(serial: bool, groups: int) -> None:
    awaited = "%r71" if serial else "%r72"
    body = "cp.async.wait_group 0; " + TCGEN05.format("%r71")
    body += WAIT.format(awaited, 0) + COPY + SWAP.format("%r71", "%r72")
    start = "mov.b32 %r71, smem; add.s32 %r72, %r71, 8; " + COPY
    start += "" if serial else TCGEN05.format("%r72")
    pipeline = find(f"{DECLARE} {start} L: {body} @%p1 bra L; ret;")[0]
    assert (pipeline.kind, pipeline.outstanding_after_wait) == ("cp.async", 0)
    assert pipeline.groups_during_compute == groups
