"""Loops that were judged by eye: none missed, none invented, and every number right."""

import importlib.util
import tarfile
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from irlens.analyze import cfg
from irlens.analyze.pipelines import find_pipelines
from irlens.analyze.pipelines.ptx_loops import analyze_loops
from irlens.analyze.pipelines.verdicts import PtxKernel
from irlens.isa.ptx import parse
from irlens.model.report import Pipeline

DATA = Path(__file__).parents[2] / "data" / "ptx"
ARCHIVE = Path(__file__).parents[2] / "data" / "h200" / "triton-cache.tar.xz"
LABELS = tomllib.loads((Path(__file__).parent / "labels.toml").read_text())
LOOPS = [loop for group in LABELS["judged"] for loop in group["loops"]]

Compile = Callable[[str, int, int], str]


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, DATA / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def compile_loop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Compile]:
    triton = pytest.importorskip("triton")
    from irlens.compiler.triton_compat import knobs

    with pytest.MonkeyPatch.context() as patch:
        directory = tmp_path_factory.mktemp("cache")
        patch.setenv("TRITON_CACHE_DIR", str(directory))
        driver, loops = load("softmax").CompileOnly, load("loops")
        nvidia = triton.backends.nvidia.compiler.CUDABackend
        patch.setattr(nvidia, "make_cubin", lambda *_: b"")  # the labels are of the PTX

        @cache
        def compiled(kernel: str, capability: int, stages: int) -> str:
            triton.runtime.driver.set_active(driver(capability))
            with knobs.version_as_key(directory):  # a hash of Triton's files takes seconds
                return str(loops.VARIANTS[kernel](stages).asm["ptx"])

        yield compiled


def find(text: str, requested: int) -> list[Pipeline]:
    (kernel,) = parse(text).kernels
    return find_pipelines(
        PtxKernel(
            loops=analyze_loops(kernel, cfg.build(kernel)),
            threads_per_cta=kernel.threads_per_cta,
            requested=lambda *_: requested,
            serialized=False,
        )
    )


def described(pipeline: Pipeline, label: dict[str, Any], lines: list[str]) -> dict[str, Any]:
    """A record in the words of the labels, as far as the label speaks."""
    assert pipeline.source is not None
    result: dict[str, Any] = {
        "at": lines[pipeline.source.line - 1].rpartition("# ")[2],
        "verdict": pipeline.verdict,
        "kind": pipeline.kind,
        "stages": pipeline.achieved_stages,
    }
    if "groups" in label:
        result["groups"] = [
            pipeline.groups_before_loop,
            pipeline.groups_per_iteration,
            pipeline.outstanding_at_wait,
            pipeline.outstanding_after_wait,
        ]
    if "bytes" in label:
        result["bytes"] = [pipeline.bytes_per_iteration]
        if pipeline.bytes_in_flight is not None:
            result["bytes"].append(pipeline.bytes_in_flight)
    if "ring" in label:
        result["ring"] = int(pipeline.reason.rpartition("a ring of ")[2].split()[0])
    return result


@pytest.mark.parametrize(
    "loop", LOOPS, ids=[f"{loop['kernel']}-sm{loop['sm']}-s{loop['asked']}" for loop in LOOPS]
)
def test_a_loop_is_what_it_was_judged_to_be(compile_loop: Compile, loop: dict[str, Any]) -> None:
    found = find(compile_loop(loop["kernel"], loop["sm"], loop["asked"]), loop["asked"])
    lines = (DATA / "loops.py").read_text().splitlines()
    labels = [
        {"at": "loop", "kind": None, "stages": None, "verdict": "pipelined", **label}
        for label in loop["found"]
    ]
    # By kind, since versions of Triton lay out the loops of specialised warps differently.
    found.sort(key=lambda p: (p.source is not None and p.source.line, p.kind or ""))
    labels.sort(key=lambda label: (label["at"], label["kind"] or ""))
    pairs = zip(found, labels, strict=True)
    assert [described(p, label, lines) for p, label in pairs] == labels


def test_kernels_compiled_on_an_h200() -> None:
    judged = {}
    with tarfile.open(ARCHIVE) as archive:
        for member in archive:
            file = archive.extractfile(member) if member.name.endswith(".ptx") else None
            if file is not None:
                pipelines = find(file.read().decode(), 2)
                judged[member.name.split("/")[1][:6]] = [
                    f"{p.kind} {p.achieved_stages}" if p.kind else p.verdict for p in pipelines
                ]
    assert judged == LABELS["h200"]


def test_the_table_is_large_enough_to_mean_something() -> None:
    assert sum(len(loop["found"]) for loop in LOOPS) >= 40
    assert len({(loop["kernel"], loop["sm"]) for loop in LOOPS}) >= 25
