from collections.abc import Callable

import pytest

from irlens import gpus as arch
from irlens.analyze import cfg
from irlens.analyze.facts import Facts
from irlens.analyze.pipelines import cp_async
from irlens.analyze.pipelines.ptx_loops import analyze_loops
from irlens.analyze.pipelines.verdicts import PtxKernel
from irlens.isa.ptx import parse
from irlens.model.config import Config
from irlens.model.report import Finding
from irlens.model.resources import Resources
from irlens.rules import Match, pipeline_shallower

CODE = "IRL201"

# Three buffers as one writes them by hand: two copies are committed before the loop, and each
# iteration waits until at most `{wait}` groups are outstanding, computes, and commits another.
BUFFERS = """
    cp.async.cg.shared.global [%r1], [%rd1], 16; cp.async.commit_group;
    cp.async.cg.shared.global [%r2], [%rd2], 16; cp.async.commit_group;
loop:
    cp.async.wait_group {wait}; bar.sync 0;
    ld.shared.f32 %f1, [%r1];
    cp.async.cg.shared.global [%r3], [%rd3], 16; cp.async.commit_group;
    @%p1 bra loop;
    ret;
"""


def look_at(wait: int) -> list[Match]:
    (kernel,) = parse(BUFFERS.format(wait=wait)).kernels
    loops = analyze_loops(kernel, cfg.build(kernel))
    pipelines = cp_async.find(PtxKernel(loops=loops, threads_per_cta=128, requested=lambda *_: 3))
    config = Config(num_warps=4, num_stages=3, num_ctas=None, maxnreg=None, constexprs={}, args={})
    resources = Resources(
        registers=None,
        shared_dynamic_bytes=None,
        shared_static_bytes=None,
        local_bytes=None,
        stack_bytes=None,
    )
    facts = Facts(gpu=arch.find("a100"), config=config, resources=resources, pipelines=pipelines)
    return list(pipeline_shallower.find(facts))


def test_shows_a_wait_that_retires_more_than_it_needs() -> None:
    (finding,) = look_at(wait=0)
    assert finding.message == "the loop at ptx:4 requested 3 stages and got 2"
    assert (finding.stage, finding.line, finding.source) == ("ptx", 4, None)


def test_silent_where_the_wait_leaves_a_group_in_flight() -> None:
    assert look_at(wait=1) == []


@pytest.mark.parametrize("stages", [3, 4])
def test_silent_where_triton_did_what_it_was_asked(
    stages: int, look: Callable[..., list[Finding]]
) -> None:
    assert look(CODE, "tile_sum.py", STAGES=stages, num_stages=stages) == []
