from collections.abc import Callable
from typing import Any

import msgspec
import pytest
import triton

from irlens import gpus as arch
from irlens.analyze import cfg
from irlens.analyze.facts import Facts
from irlens.analyze.pipelines import amdgcn as amd_pipelines
from irlens.analyze.pipelines import cp_async
from irlens.analyze.pipelines.ptx_loops import analyze_loops
from irlens.analyze.pipelines.verdicts import PtxKernel
from irlens.isa import amdgcn
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
    assert finding.place == ("ptx", 4, None)


def test_silent_where_the_wait_leaves_a_group_in_flight() -> None:
    assert look_at(wait=1) == []


@pytest.mark.parametrize("stages", [3, 4])
def test_silent_where_triton_did_what_it_was_asked(
    stages: int, look: Callable[..., list[Finding]]
) -> None:
    assert look(CODE, "tile_sum.py", STAGES=stages, num_stages=stages) == []


#: A's tile is loaded ahead of the product, B's behind it.
PARTLY = """
    .file 1 "/" "k.py"
    .type k,@function
k:
    ds_write_b128 v10, v[0:3]
.LBB0_1:
    .loc 1 13 1
    buffer_load_dwordx4 v[0:3], v8, s[0:3], 0 offen
    {early}
    ds_read_b128 v[32:35], v11
    s_waitcnt lgkmcnt(0)
    .loc 1 15 1
    v_mfma_f32_32x32x8_f16 v[16:31], v[32:33], v[34:35], v[16:31]
    {late}
    s_waitcnt vmcnt(1)
    ds_write_b128 v10, v[0:3]
    s_waitcnt vmcnt(0)
    ds_write_b128 v10, v[4:7] offset:4096
    .loc 1 12 1
    s_cbranch_scc1 .LBB0_1
    s_endpgm
.Lfunc_end0:
.amdhsa_kernel k
.end_amdhsa_kernel
"""


def _look_at_amd(asked: int, **where: str) -> list[Match]:
    load = ".loc 1 14 1\n    buffer_load_dwordx4 v[4:7], v9, s[0:3], 0 offen"
    text = PARTLY.format(**{"early": "", "late": "", **dict.fromkeys(where, load)})
    (kernel,) = amdgcn.parse(text).functions
    pipelines = amd_pipelines.find_pipelines(
        kernel, threads_per_cta=256, requested=lambda *_: asked
    )
    config = Config(num_warps=4, num_stages=2, num_ctas=None, maxnreg=None, constexprs={}, args={})
    resources = Resources(
        registers=None,
        shared_dynamic_bytes=None,
        shared_static_bytes=None,
        local_bytes=None,
        stack_bytes=None,
    )
    facts = Facts(gpu=arch.find("mi300x"), config=config, resources=resources, pipelines=pipelines)
    return list(pipeline_shallower.find(facts))


def test_shows_the_loads_that_are_awaited_at_once() -> None:
    (finding,) = _look_at_amd(2, late="behind the product")
    assert finding.message == (
        "the loop at k.py:12 requested 2 stages and waits at once for 1 of its 2 loads, with"
        " nothing computed since their issue: 16 B per lane at k.py:14"
    )
    assert _look_at_amd(2, early="ahead of the product") == []
    assert _look_at_amd(1, late="nobody asked for stages") == []


@pytest.mark.skipif(triton.__version__ < "3.7", reason="the remedy leaves two loads that wait")
def test_another_matrix_instruction_lets_all_loads_run_ahead(look: Callable[..., Any]) -> None:
    """The remedy that the finding proposes, on the loop of a matrix product."""
    tile = {"M": 128, "N": 128, "BLOCK_K": 64, "STAGES": 2, "PRECISION": "ieee", "num_warps": 8}
    half = {"a_ptr": "fp16", "b_ptr": "fp16"}
    found = look(CODE, "dots.py", "gfx90a", args=half, **tile)
    if not found:
        pytest.skip("this Triton lets all loads run ahead")
    assert look(CODE, "dots.py", "gfx90a", args=half, **tile, matrix_instr_nonkdim=16) == []


@pytest.mark.parametrize("target", ["gfx942", "gfx950"])
def test_says_how_long_a_loop_of_amd_keeps_what_it_loads(
    look: Callable[..., list[Finding]], target: str
) -> None:
    """Each iteration moves the data of later ones on, and a move waits for its load."""
    (finding,) = look(CODE, "softmax", target, num_stages=4)
    assert finding.message.endswith(
        "requested 4 stages and got 2: LLVM waits for the data 1 iteration after its load, and the"
        " loop then keeps it in registers for 2 more iterations"
    )
    assert finding.hint == "request num_stages=2: as far ahead, and fewer registers"
    assert look(CODE, "softmax", target, num_stages=2) == []


@pytest.mark.skipif(triton.__version__ < "3.7", reason="pipelines the loop otherwise")
@pytest.mark.parametrize("target", ["gfx942", "gfx1100"])
def test_promises_of_two_stages_what_holds_on_rdna(
    look: Callable[..., list[Finding]], target: str
) -> None:
    """With two stages LLVM unpacks bf16 right behind the load, and waits for it at once."""
    (finding,) = look(CODE, "scales.py:squares", target)
    assert finding.hint.startswith("request num_stages=2: as far ahead")
    waits = look("IRL202", "scales.py:squares", target, STAGES=2)
    assert ("unless LLVM then waits" in finding.hint) == bool(waits) == (target == "gfx1100")


@pytest.mark.skipif(triton.__version__ < "3.7", reason="copies nothing to LDS on its own")
def test_says_what_stages_of_attention_are_for(look: Callable[..., list[Finding]]) -> None:
    """In four stages AMD's compiler copies values two iterations ahead, and keys one.

    The finding said that the loop keeps the data, and that two stages bring it as early.
    """
    (finding,) = look(CODE, "flash_attention", "gfx950", num_stages=4)
    assert "got 2: the other stages are for the products" in finding.message
    assert finding.hint.startswith("request num_stages=3")
    assert "copies run 2 iterations ahead" in finding.hint
    assert look(CODE, "flash_attention", "gfx950", num_stages=3) == []


@pytest.mark.parametrize(("stages", "achieved", "farther"), [(3, 2, 5), (4, 2, 5), (6, 3, 7)])
def test_loads_that_need_each_others_values_share_the_stages(
    look: Callable[..., list[Finding]], stages: int, achieved: int, farther: int
) -> None:
    """The hint asks for as many as have each run one iteration farther ahead."""
    (finding,) = look(CODE, "indirect.py:pages", STAGES=stages)
    assert f"requested {stages} stages and got {achieved}: the load at" in finding.message
    assert "needs what is loaded at indirect.py:45" in finding.message
    assert f"num_stages={farther}" in finding.hint
    (deep,) = look(CODE, "indirect.py:pages", STAGES=farther)
    assert f"requested {farther} stages and got {achieved + 1}" in deep.message


def test_stages_are_asked_for_as_long_as_they_help(facts_of: Callable[..., Facts]) -> None:
    """The hint asked for as many as would run ahead as far as requested: 5, then 9, then 17."""
    facts = facts_of("indirect.py:pages", STAGES=3)

    def hint(share: float | None = None, **changed: Any) -> str:
        pipelines = [msgspec.structs.replace(each, **changed) for each in facts.pipelines]
        known = msgspec.structs.replace(facts, pipelines=pipelines, share_of_waits=lambda: share)
        (finding,) = pipeline_shallower.find(known)
        return finding.hint

    ahead = "request num_stages=5: each of them then runs one iteration farther ahead"
    assert hint() == hint(0.03) == ahead
    assert hint(0.029) == (
        "more stages hardly help: even if every load were as fast as one from the L1, the launch is"
        " estimated to take less than 3 % less time"
    )
    assert hint(0.5, bytes_per_iteration=1 << 18).startswith("5 stages would take 26")
    assert hint(0.5, bytes_per_iteration=1 << 18).endswith("and a CTA has at most 232,448 B")
