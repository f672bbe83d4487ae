from collections.abc import Callable

import pytest
from msgspec.structs import replace

from irlens.analyze.facts import Facts
from irlens.analyze.pipelines.amdgcn import find_pipelines
from irlens.isa import amdgcn
from irlens.model.config import Config
from irlens.model.report import Finding
from irlens.model.resources import Resources
from irlens.rules import Match, drained_wait

CODE = "IRL202"
CONFIG = Config(num_warps=4, num_stages=2, num_ctas=None, maxnreg=None, constexprs={}, args={})
NOTHING = Resources(
    registers=None, shared_dynamic_bytes=None, shared_static_bytes=None, local_bytes=None,
    stack_bytes=None,
)  # fmt: skip
Look = Callable[..., list[Finding]]


def with_waits(facts: Facts, share: float | None) -> list[Match]:
    """Return the findings of a launch that waits for loads for a share of its time."""
    return list(drained_wait.find(replace(facts, share_of_waits=lambda: share)))


def test_shows_a_two_stage_pipeline(look: Look, facts_of: Callable[..., Facts]) -> None:
    (finding,) = look(CODE, "tile_sum.py", STAGES=2)
    assert finding.message == (
        "the loop at tile_sum.py:27 waits for all its copies: with 2 stages no copy is in flight"
        " while it computes"
    )
    assert finding.hint.startswith("more stages hardly help"), "memory is busy all the time"
    (unknown,) = with_waits(facts_of("tile_sum.py", STAGES=2), None)
    assert unknown.hint == "ask for 3 stages, or commit the next copies before the wait"
    kernel = facts_of("tile_sum.py", STAGES=2).ptx
    assert kernel is not None
    inside = [i for i in kernel.instructions if finding.line and i.line > finding.line]
    wait = next(i for i in inside if i.name == "cp.async.wait_group")
    assert "wait_group 0" in " ".join(wait.text.split())


def test_loads_that_share_the_stages_need_more_of_them(look: Look) -> None:
    """The hint was to ask for 3 stages, which the loop has asked for."""
    (finding,) = look(CODE, "indirect.py:pages", STAGES=3)
    assert finding.hint.startswith("ask for 5 stages")
    assert look(CODE, "indirect.py:pages", STAGES=5) == []


def test_no_stages_are_asked_for_that_do_not_help(facts_of: Callable[..., Facts]) -> None:
    facts = facts_of("tile_sum.py", STAGES=2)
    for share, hint in (
        (0.01, "more stages hardly help: even if every load"),
        (0.5, "ask for 3 stages"),
    ):
        (found,) = with_waits(facts, share)
        assert found.hint.startswith(hint)


def test_silent_where_groups_stay_in_flight(look: Look) -> None:
    assert look(CODE, "tile_sum.py", STAGES=3) == []


def test_silent_where_nothing_is_pipelined(look: Look) -> None:
    assert look(CODE, "tile_sum.py", STAGES=1) == []


def test_silent_where_the_copies_are_issued_behind_the_wait(
    look: Look, facts_of: Callable[..., Facts]
) -> None:
    """CDNA 4 waits for everything, issues the next tiles' copies and then multiplies."""
    tile = {"M": 128, "N": 128, "BLOCK_K": 64, "STAGES": 2, "PRECISION": "ieee"}
    half = {"a_ptr": "fp16", "b_ptr": "fp16"}
    facts = facts_of("dots.py", "mi350x", args=half, **tile)
    found = [each for each in facts.pipelines if each.kind == "direct-to-lds"]
    if not found:
        pytest.skip("this Triton has no copies to LDS on gfx950")
    (pipeline,) = found
    assert (pipeline.outstanding_after_wait, pipeline.prefetch_iterations) == (0, 1)
    assert pipeline.groups_during_compute
    assert look(CODE, "dots.py", "mi350x", args=half, **tile) == []


def test_silent_where_the_tensor_core_works_when_the_next_copies_are_committed(
    look: Look, facts_of: Callable[..., Facts]
) -> None:
    """Two stages: ``cp.async.wait_group 0``, a product, ``wgmma.wait_group 1``, the copies."""
    tile = {"M": 128, "N": 128, "BLOCK_K": 64, "STAGES": 2, "PRECISION": "ieee"}
    half = {"a_ptr": "fp16", "b_ptr": "fp16"}
    facts = facts_of("dots.py", args=half, **tile)
    (copies,) = (each for each in facts.pipelines if each.kind == "cp.async")
    assert (copies.outstanding_after_wait, copies.groups_during_compute) == (0, 2)
    assert copies.bytes_in_flight == copies.bytes_per_iteration
    assert look(CODE, "dots.py", args=half, **tile) == []


def test_names_what_keeps_the_loads_of_amd_in_place(look: Look) -> None:
    """The hint asked for less to load, to free registers: the loop holds a tenth of them."""
    (finding,) = look(CODE, "scales.py:squares", "gfx1100", STAGES=2)
    assert "try 3 stages, other tiles or another num_warps, and" in finding.hint
    assert look(CODE, "scales.py:squares", "gfx1100", STAGES=3) == [], "as the hint says"
    (finding,) = look(CODE, "scales.py:squares", "gfx942", args={"n": 4100})
    assert finding.hint.startswith("the compiler leaves these loads in place")
    assert look("IRL203", "scales.py:squares", "gfx942", args={"n": 4100})


LOOP = """
	.globl	kernel
	.type	kernel,@function
kernel:
.LBB0_1:
	s_waitcnt lgkmcnt(0)
	s_barrier
	ds_read_b128 v[0:3], v20
	global_load_dwordx4 v[4:7], v[8:9], off
	{between}
	s_waitcnt vmcnt(0)
	{behind}
	s_waitcnt lgkmcnt(0)
	s_barrier
	ds_write_b128 v21, v[4:7]
	s_cbranch_scc1 .LBB0_1
	s_endpgm
	.size	kernel, 1
"""


@pytest.mark.parametrize("drained", [True, False])
def test_a_loop_of_amd_that_waits_as_soon_as_it_has_loaded(drained: bool) -> None:
    product = "v_mfma_f32_16x16x16_f16 v[10:13], v[0:1], v[2:3], v[10:13]"
    code = LOOP.format(between="" if drained else product, behind=product if drained else "")
    (kernel,) = amdgcn.parse(code).functions
    pipelines = find_pipelines(kernel, threads_per_cta=256, requested=lambda *_: 2)
    facts = Facts(gpu=None, config=CONFIG, resources=NOTHING, pipelines=pipelines)
    found = list(drained_wait.find(facts))
    assert [each.message for each in found] == drained * [
        "the loop at amdgcn:5 requested 2 stages and waits for all its loads (vmcnt 0): none is in"
        " flight while it computes"
    ]


FENCED_TWICE = """
	.file	1 "/" "k.py"
	.globl	kernel
	.type	kernel,@function
kernel:
.LBB0_1:
	.loc	1 7 3
	global_load_b128 v[4:7], v[8:9], off
	s_waitcnt vmcnt(0)
	FIRST
	ds_store_b128 v21, v[4:7]
	.loc	1 8 3
	global_load_b128 v[12:15], v[8:9], off
	s_waitcnt vmcnt(0)
	s_barrier
	ds_store_b128 v22, v[12:15]
	s_cbranch_scc1 .LBB0_1
	s_endpgm
	.amdhsa_kernel kernel
		.amdhsa_memory_ordered 1
	.end_amdhsa_kernel
	.size	kernel, 1
"""


@pytest.mark.parametrize(("first", "is_fenced"), [("s_barrier", True), ("s_nop 0", False)])
def test_all_loads_of_a_loop_are_fenced_or_none(first: str, is_fenced: bool) -> None:
    """The other load would be waited for without any fence."""
    (kernel,) = amdgcn.parse(FENCED_TWICE.replace("FIRST", first)).functions
    pipelines = find_pipelines(kernel, threads_per_cta=256, requested=lambda *_: 2)
    facts = Facts(gpu=None, config=CONFIG, resources=NOTHING, pipelines=pipelines, amdgcn=kernel)
    (found,) = drained_wait.find(facts)
    assert (found.blame is not None) == is_fenced
