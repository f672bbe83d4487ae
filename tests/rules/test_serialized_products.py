from collections.abc import Callable

import pytest
from msgspec.structs import replace

from irlens import rules
from irlens.analyze.facts import Facts
from irlens.compiler.toolchains import triton_version
from irlens.isa import ptx
from irlens.model.report import Finding

CODE = "IRL404"
HALF = {"a_ptr": "fp16", "b_ptr": "fp16"}
Look = Callable[..., list[Finding]]
FactsOf = Callable[..., Facts]


def test_shows_accumulators_that_do_not_fit(look: Look, facts_of: FactsOf) -> None:
    """256 x 128 sums over 128 threads."""
    tile = {"M": 256, "N": 128, "BLOCK_K": 64, "STAGES": 2}
    (finding,) = look(CODE, "dots.py", args=HALF, **tile)
    assert finding.message == (
        "ptxas serialized the matrix products (wgmma), first at dots.py:28: it waits for each"
        " before it issues the next"
    )
    assert finding.hint == (
        "raise num_warps or make the tile smaller: the accumulators are 256 registers per thread,"
        " of 255"
    )
    facts = facts_of("dots.py", args=HALF, **tile)
    assert facts.ptx is not None
    (at,) = (i.text for i in facts.ptx.instructions if i.line == finding.line)
    assert "wgmma.mma_async" in at
    (pipeline,) = (each for each in facts.pipelines if each.kind == "wgmma")
    assert (pipeline.verdict, pipeline.achieved_stages) == ("not pipelined", 1)


def test_shows_a_cap_on_registers(look: Look) -> None:
    (finding,) = look(CODE, "dots.py", args=HALF, M=128, N=128, BLOCK_K=64, maxnreg=128)
    assert "the accumulators are 128 registers per thread, of 128" in finding.hint


def test_shows_what_else_ptxas_minds(facts_of: FactsOf) -> None:
    facts = replace(facts_of("dots.py", args=HALF), serialized=True)
    (finding,) = (found for found in rules.run(facts) if found.code == CODE)
    assert "constexprs" in finding.hint
    (calling,) = ptx.parse(
        ".version 8.0\n.target sm_90a\n.entry k()\n{ .reg .b32 %r<9>; .reg .b64 %rd<9>;"
        " wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {%r1, %r2}, %rd1, %rd2, 1, 1, 1, 0, 0;"
        " call.uni vprintf, (%r1); ret; }\n"
    ).kernels
    (finding,) = (f for f in rules.run(replace(facts, ptx=calling)) if f.code == CODE)
    assert "device_print" in finding.hint
    assert finding.message.startswith(
        "ptxas serialized the matrix products (wgmma), first at ptx:4"
    )


def test_silent_where_the_accumulators_fit(look: Look) -> None:
    if triton_version().startswith(("3.4.", "3.5.", "3.6.")):
        pytest.skip("its ptxas serializes products in a loop that may run zero times")
    tile = {"M": 256, "N": 128, "BLOCK_K": 64, "STAGES": 2}
    assert look(CODE, "dots.py", args=HALF, num_warps=8, **tile) == []


def test_silent_where_there_is_no_wgmma(look: Look) -> None:
    tile = {"M": 256, "N": 128, "BLOCK_K": 64, "STAGES": 2}
    assert look(CODE, "dots.py", "a100", args=HALF, **tile) == []
