"""Rings of barriers, held against what the ttgir says of the same copies."""

from pathlib import Path

import pytest

from irlens.compiler import Request, capture
from irlens.model.config import Target
from irlens.report import inspect

KERNEL = Path(__file__).parents[2] / "data" / "ptx" / "two_rings.py"
SM_90 = Target(vendor="nvidia", arch="sm_90", warp_size=32)


@pytest.mark.parametrize("stages", [3, 4])
def test_copies_with_a_ring_each_are_told_apart(
    stages: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IRLENS_CACHE_DIR", str(tmp_path))
    request = Request(kernel=str(KERNEL), target=SM_90, settings={"num_stages": stages})
    (found,) = capture(request)
    report = inspect(found)
    (pipeline,) = (each for each in report.pipelines if each.kind == "tma")
    loads = report.loads
    assert len(loads) == 2
    assert {load.iterations_ahead for load in loads} == {stages - 1}
    assert pipeline.prefetch_iterations == stages - 1
    assert pipeline.bytes_per_iteration == sum(load.bytes_per_iteration or 0 for load in loads)
