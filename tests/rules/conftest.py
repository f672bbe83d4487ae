"""Compiles kernels that are made to show a finding, and runs the rules on them."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TypeAlias

import pytest

from irlens import gpus as arch
from irlens import rules
from irlens.analyze import ttgir_loads
from irlens.analyze.facts import Facts
from irlens.analyze.pipelines.wgmma import find_serialized
from irlens.artifacts.load import load
from irlens.compiler import Request, capture_entries
from irlens.isa import amdgcn, mlir, ptx
from irlens.model.capture import Capture
from irlens.model.config import ConstexprValue
from irlens.model.report import Finding
from irlens.report.inspection import Inspection

KERNELS = Path(__file__).parents[1] / "data" / "findings"

FactsOf: TypeAlias = Callable[..., Facts]
Look: TypeAlias = Callable[..., list[Finding]]


@pytest.fixture
def facts_of() -> FactsOf:
    """Compile a kernel and gather its facts.

    The kernel is a sample's name or ``file.py`` of ``tests/data/findings``; keywords are its
    constexprs and compile options.
    """

    def facts_of(
        kernel: str,
        target: str = "h100",
        *,
        args: dict[str, ConstexprValue] | None = None,
        sass: bool = False,
        **settings: ConstexprValue,
    ) -> Facts:
        gpu = arch.find(target)
        request = Request(
            kernel=str(KERNELS / kernel) if ".py" in kernel else kernel,
            target=gpu.target,
            sm_count=gpu.sm_count,
            settings=settings,
            args=args or {},
        )
        (entry,) = capture_entries(request)
        return _facts(entry, sass)

    return facts_of


@pytest.fixture
def look(facts_of: FactsOf) -> Look:
    """Compile a kernel as ``facts_of`` does, and return the findings of one code."""

    def look(code: str, *args: object, **options: object) -> list[Finding]:
        return [
            finding for finding in rules.run(facts_of(*args, **options)) if finding.code == code
        ]

    return look


@cache  # the samples are looked at for every rule
def _facts(entry: Path, sass: bool) -> Facts:
    (variant,) = load(entry)
    assert isinstance(variant, Capture)
    assert variant.target is not None
    inspection = Inspection(variant, sass=sass)
    report = inspection.report()
    ttgir = mlir.parse(variant.stages["ttgir"].text())
    return Facts(
        gpu=arch.find(variant.target.product or variant.target.arch),
        config=report.config,
        resources=report.resources,
        occupancy=report.occupancy,
        pipelines=report.pipelines,
        threads=(report.config.num_warps or 0) * variant.target.warp_size or None,
        ttir=mlir.parse(variant.stages["ttir"].text(), stage="ttir"),
        ttgir=ttgir,
        loads=ttgir_loads.find(ttgir, report.config.num_stages),
        ptx=_ptx(variant),
        amdgcn=_amdgcn(variant),
        spills=report.spills,
        spare_registers=inspection.facts.spare_registers,
        data_updates=inspection.facts.data_updates,
        serialized=_serialized(variant),
        traffic=report.traffic,
        runs=inspection.runs,
        roofline=report.roofline,
        products=tuple(report.products),
        contents=variant.contents,
    )


def _amdgcn(variant: Capture) -> amdgcn.Function | None:
    if "amdgcn" not in variant.stages:
        return None
    (kernel,) = amdgcn.parse(variant.stages["amdgcn"].text()).kernels
    return kernel


def _serialized(variant: Capture) -> bool | None:
    function = _ptx(variant)
    return (
        find_serialized(function, variant.stages.get("cubin"), variant.kernel)
        if function is not None
        else None
    )


def _ptx(variant: Capture) -> ptx.Function | None:
    if "ptx" not in variant.stages:
        return None
    (kernel,) = ptx.parse(variant.stages["ptx"].text()).kernels
    return kernel
