"""Rings of barriers, held against what the ttgir says of the same copies."""

import re
from pathlib import Path

import pytest

from irlens.compiler import Request, capture
from irlens.model.config import Target
from irlens.report.inspection import Inspection

KERNEL = Path(__file__).parents[2] / "data" / "ptx" / "two_rings.py"
SM_100 = Target(vendor="nvidia", arch="sm_100", warp_size=32)
SM_90 = Target(vendor="nvidia", arch="sm_90", warp_size=32)


@pytest.mark.parametrize("stages", [3, 4])
def test_copies_with_a_ring_each_are_told_apart(
    stages: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IRLENS_CACHE_DIR", str(tmp_path))
    request = Request(kernel=str(KERNEL), target=SM_90, settings={"num_stages": stages})
    (found,) = capture(request)
    report = Inspection(found)
    (pipeline,) = (each for each in report.pipelines if each.kind == "tma")
    loads = report.loads
    assert len(loads) == 2
    assert {load.iterations_ahead for load in loads} == {stages - 1}
    assert pipeline.prefetch_iterations == stages - 1
    assert pipeline.bytes_per_iteration == sum(load.bytes_per_iteration or 0 for load in loads)


@pytest.mark.parametrize("stages", [2, 3])
def test_each_product_is_bounded_by_its_own_ring(
    stages: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The scores' products go around the buffers of the keys, the others around a single one."""
    monkeypatch.setenv("IRLENS_CACHE_DIR", str(tmp_path))
    kernel = KERNEL.with_name("specialized_attention.py")
    request = Request(kernel=str(kernel), target=SM_100, settings={"num_stages": stages})
    (found,) = capture(request)
    ttgir = found.stages["ttgir"].text()
    if "partition2" not in ttgir:
        pytest.skip("this Triton does not specialize the loop")
    report = Inspection(found)
    scores, weighted = (each for each in report.pipelines if each.kind == "tcgen05")
    if "tl.dot(query" not in report.code[scores.product]:
        scores, weighted = weighted, scores
    keys = {int(count) for count in re.findall(r"ttg\.local_alloc : .*<(\d)x64x64xf16", ttgir)}
    assert keys == {stages}
    assert (scores.verdict, scores.achieved_stages) == ("pipelined", None)
    assert scores.stages_at_most == stages
    assert f"within a ring of {stages} barriers" in scores.reason
    assert (weighted.verdict, weighted.stages_at_most) == ("unknown", None)
    assert weighted.reason.endswith("within a ring of 1 barrier")
    # No more results of products have room in tensor memory at once.
    results = re.findall(r"ttng\.tmem_alloc : .*<(\d)x128x64xf32", ttgir)
    assert max(map(int, results)) <= scores.stages_at_most


@pytest.mark.parametrize(("target", "stages"), [(SM_90, 3), (SM_90, 4), (SM_100, 3)])
def test_a_load_of_the_epilogue_does_not_count_against_a_flattened_nest(
    target: Target, stages: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its barrier is waited for once a tile, in a loop that goes on with the next tile."""
    monkeypatch.setenv("IRLENS_CACHE_DIR", str(tmp_path))
    kernel = str(KERNEL.with_name("flattened_epilogue.py"))
    (found,) = capture(Request(kernel=kernel, target=target, settings={"num_stages": stages}))
    report = Inspection(found)
    (pipeline,) = (each for each in report.pipelines if each.kind == "tma")
    tiles = [each for each in report.loads if each.iterations_ahead]
    assert {load.iterations_ahead for load in tiles} == {stages - 1}
    assert pipeline.verdict == "pipelined"
    assert pipeline.prefetch_iterations == stages - 1
    assert pipeline.copies_per_iteration == 2
    assert pipeline.bytes_per_iteration == sum(load.bytes_per_iteration or 0 for load in tiles)
    assert "under a branch" in pipeline.reason
    (finding,) = report.findings_of("IRL203")
    assert "flatten=True makes one loop of the nest" in finding.message
