"""Attention on AMD's GPUs without stages: what goes through LDS is used where it is loaded."""

from pathlib import Path

import pytest

from irlens.analyze.ttgir_buffers import stays_in_iteration
from irlens.compiler import Request, capture
from irlens.isa import mlir
from irlens.model.config import Target
from irlens.report.inspection import Inspection

ATTENTION = Path(__file__).parents[3] / "kernels" / "flash_attention.py"
ALLOC = "%a = ttg.local_alloc %x : (tensor<64xf16>) -> !ttg.memdesc<64xf16>"
READ = "%r = ttg.local_load %a : !ttg.memdesc<64xf16> -> tensor<64xf16>"
STORE = "ttg.local_store %x, %a : tensor<64xf16> -> !ttg.memdesc<64xf16>"
COPY = "%t = amdg.buffer_load_to_local %p[%o] into %a : <f16>[tensor<64xi32>] -> <64xf16>"


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950", "gfx1201"])
def test_attention_without_stages_uses_its_loads_in_place(
    arch: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IRLENS_CACHE_DIR", str(tmp_path))
    lanes = 64 if arch.startswith("gfx9") else 32
    target = Target(vendor="amd", arch=arch, warp_size=lanes)
    (found,) = capture(Request(kernel=str(ATTENTION), target=target, settings={"num_stages": 1}))
    report = Inspection(found)
    (pipeline,) = report.pipelines
    assert (pipeline.verdict, pipeline.prefetch_iterations) == ("not pipelined", 0)
    # The ttgir has each load where it is used, and what both bring.
    assert {load.iterations_ahead for load in report.loads} == {0}
    assert pipeline.bytes_per_iteration == sum(
        load.bytes_per_iteration or 0 for load in report.loads
    )


def _module(before: str, body: str, carried: str = "") -> mlir.Module:
    return mlir.parse(
        "module {\n  tt.func public @k(%x: tensor<64xf16>, %p: !tt.ptr<f16>, %n: i32) {\n"
        f"    {before}\n"
        f"    scf.for %i = %n to %n step %n {carried} : i32 {{\n      {body}\n    }}\n"
        "    tt.return\n  }\n}\n"
    )


@pytest.mark.parametrize(
    ("before", "body", "stays"),
    [
        ("", f"{ALLOC}\n{READ}", True),
        (ALLOC, READ, True),
        (f"{ALLOC}\n{STORE}", READ, True),
        (ALLOC, f"{READ}\n{STORE}", False),
        (ALLOC, f"{READ}\n{COPY}", False),
        ("", f"{ALLOC}\nscf.yield %a : !ttg.memdesc<64xf16>", False),
        ("", f"{ALLOC}\ntt.call @f(%a) : (!ttg.memdesc<64xf16>) -> ()", False),
    ],
)
def test_only_stores_to_existing_buffers_outlive_an_iteration(
    before: str, body: str, stays: bool
) -> None:
    module = _module(before, body)
    assert not module.unknown
    assert stays_in_iteration(module) == stays


def test_carried_buffers_and_branches_are_unknown() -> None:
    assert not stays_in_iteration(None)
    assert not stays_in_iteration(
        _module(ALLOC, READ, "iter_args(%c = %a) -> (!ttg.memdesc<64xf16>)")
    )
    assert not stays_in_iteration(_module("cf.br ^bb1\n^bb1:", READ))
