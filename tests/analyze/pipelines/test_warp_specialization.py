"""Warp specialization: who runs what, held against the LLVM IR and against the layouts of ttgir."""

import re
from pathlib import Path

import msgspec
import pytest

from irlens import inspect as inspect_launch
from irlens import load
from irlens.analyze import cfg
from irlens.analyze.pipelines import warp_specialization
from irlens.artifacts import cubin
from irlens.compiler import Request, capture
from irlens.isa import mlir, ptx
from irlens.model.capture import Capture, Stage
from irlens.model.config import ConstexprValue, Target
from irlens.model.report import Report
from irlens.report import inspect

SPECIALIZED = Path(__file__).parents[2] / "data" / "gluon" / "specialized.py"
SAMPLES = Path(__file__).parents[3] / "samples" / "captures"
SM_90 = Target(vendor="nvidia", arch="sm_90", warp_size=32, product="h100")


@pytest.fixture(scope="module")
def one_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("store")


@pytest.fixture(autouse=True)
def _store(one_store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRLENS_CACHE_DIR", str(one_store))


def compiled(kernel: str, **settings: ConstexprValue) -> tuple[Capture, Report]:
    (found,) = capture(Request(kernel=f"{SPECIALIZED}:{kernel}", target=SM_90, settings=settings))
    return found, inspect(found)


def registers_in_llvm(llir: str) -> list[int]:
    """What each partition sets: ``switch`` leads to its block, which begins with that."""
    switch = re.search(r"switch i8 %\w+, label %\S+ \[(.*?)\]", llir, re.DOTALL)
    assert switch is not None
    cases = re.findall(r"i8 \d+, label %(\S+)", switch[1])
    blocks = [llir.split(f"\n{label}:", 1)[1] for label in cases]
    first = [re.search(r"setmaxnreg\.\S*\(i32 (\d+)\)", block) for block in blocks]
    return [int(found[1]) for found in first if found is not None]


@pytest.mark.parametrize("maxnreg", [None, 128])
def test_the_registers_of_all_warps_are_those_that_the_cta_is_launched_with(
    maxnreg: int | None,
) -> None:
    found, report = compiled("add_rows", maxnreg=maxnreg)
    default, partition = report.warp_groups
    assert (default.name, default.num_warps) == ("default", 8)
    assert (partition.name, partition.num_warps) == ("partition0", 2)
    assert partition.registers == registers_in_llvm(found.stages["llir"].text())[0]
    (kernel,) = cubin.read(found.stages["cubin"].read()).kernels
    # The two warps are filled up to a warp group of four, which setmaxnreg is for.
    assert kernel.required_threads == ((8 + 4) * 32, 1, 1)
    assert kernel.registers is not None
    assert default.registers is not None
    assert partition.registers is not None
    left = 12 * kernel.registers - 4 * partition.registers
    # setmaxnreg takes multiples of 8 (PTX ISA).
    assert default.registers == left // 8 // 8 * 8
    assert found.config.num_warps == 8
    assert found.metadata is not None
    assert found.metadata.num_warps == 12
    assert report.occupancy is not None
    assert report.occupancy.active_warps == 12 * report.occupancy.blocks_per_sm


def test_a_loop_copies_with_the_threads_of_its_own_warps() -> None:
    _, report = compiled("add_rows")
    (pipeline,) = (each for each in report.pipelines if each.kind == "cp.async")
    assert (pipeline.warp_group, pipeline.achieved_stages) == ("partition0", 3)
    (load,) = report.loads
    assert load.bytes_per_iteration == 1024 * 4
    assert pipeline.bytes_per_iteration == load.bytes_per_iteration
    assert pipeline.bytes_in_flight == 2 * load.bytes_per_iteration


@pytest.mark.parametrize("stages", [3, 4])
def test_copies_that_other_warps_wait_for_go_round_a_ring(stages: int) -> None:
    _, report = compiled("matmul", stages=stages)
    (copies,) = (each for each in report.pipelines if each.kind == "tma")
    assert copies.warp_group == "partition0"
    assert (copies.verdict, copies.stages_at_most, copies.achieved_stages) == (
        "pipelined", stages, None,
    )  # fmt: skip
    # What the barriers are told to expect is what the layouts say of the tiles.
    tiles = [load.bytes_per_iteration for load in report.loads]
    assert tiles == [128 * 64 * 2, 64 * 128 * 2]
    assert copies.bytes_per_iteration == sum(each for each in tiles if each is not None)
    (products,) = (each for each in report.pipelines if each.kind == "wgmma")
    assert (products.warp_group, products.verdict) == ("default", "not pipelined")
    assert f"are awaited at {products.source} by default: " in copies.reason


def test_gluon_is_not_asked_to_pipeline() -> None:
    found, report = compiled("add_rows")
    assert "ttir" not in found.stages
    assert report.config.num_stages is None
    assert "IRL204" not in {finding.code for finding in report.findings}
    # Its own launch has one CTA, which no limit of occupancy concerns.
    assert "IRL102" not in {finding.code for finding in report.findings}
    many = inspect_launch(found, launch={"grid": [4096, 1, 1]}).findings
    (limited,) = (each for each in many if each.code == "IRL102")
    assert "ask for maxnreg=80: " in limited.hint


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("num_warps(2)", "num_warps(6)", warp_specialization.OTHER_WARPS),
        ('"ttg.num-warps" = 8', '"ttg.num-warps" = 4', warp_specialization.OTHER_WARPS),
    ],
)
def test_what_does_not_fit_the_ptx_is_not_believed(old: str, new: str, reason: str) -> None:
    found, _ = compiled("add_rows")
    ttgir = found.stages["ttgir"].text()
    assert old in ttgir
    (function,) = ptx.parse(found.stages["ptx"].text()).kernels
    module = mlir.parse(ttgir.replace(old, new), stage="ttgir")
    specialization = warp_specialization.find(function, cfg.build(function), module)
    assert specialization is not None
    assert (specialization.groups, specialization.reason) == ((), reason)


def test_without_the_way_into_a_partition_nothing_is_said_of_it() -> None:
    found, _ = compiled("add_rows")
    text = found.stages["ptx"].text()
    assert len(re.findall(r"ld\.shared\.[bsu]8", text)) == 1
    (function,) = ptx.parse(re.sub(r"ld\.shared\.([bsu])8", r"ld.shared.\g<1>16", text)).kernels
    module = mlir.parse(found.stages["ttgir"].text(), stage="ttgir")
    specialization = warp_specialization.find(function, cfg.build(function), module)
    assert specialization is not None
    assert (specialization.groups, specialization.reason) == ((), warp_specialization.NOT_FOUND)


def test_without_ptx_the_groups_are_unknown() -> None:
    found, report = compiled("add_rows")
    assert "warp_groups" not in report.unknown
    stages = {"ttgir": found.stages["ttgir"], "cubin": found.stages["cubin"]}
    report = inspect(msgspec.structs.replace(found, stages=stages))
    assert report.warp_groups == []
    assert report.unknown["warp_groups"] == report.unknown["pipelines"]


def test_amds_groups_are_unknown() -> None:
    (amd,) = load(SAMPLES / "softmax-mi300x")
    assert isinstance(amd, Capture)
    assert "warp_groups" not in inspect(amd).unknown
    found, _ = compiled("add_rows")
    text = found.stages["ttgir"].text().replace("cuda:90", "hip:gfx942")
    text = text.replace('"ttg.threads-per-warp" = 32', '"ttg.threads-per-warp" = 64')
    ttgir = Stage("ttgir", content=text.replace("@add_rows", f"@{amd.kernel}").encode())
    stages = {"amdgcn": amd.stages["amdgcn"], "ttgir": ttgir}
    report = inspect(msgspec.structs.replace(amd, stages=stages, manifest=None))
    assert report.warp_groups == []
    assert report.unknown["warp_groups"] == warp_specialization.NO_PTX


def test_the_ptx_alone_does_not_tell_who_copies() -> None:
    found, _ = compiled("add_rows")
    stages = {"ptx": found.stages["ptx"], "cubin": found.stages["cubin"]}
    report = inspect(msgspec.structs.replace(found, stages=stages))
    assert report.warp_groups == []
    assert report.unknown["warp_groups"] == warp_specialization.NO_TTGIR
    (pipeline,) = (each for each in report.pipelines if each.kind == "cp.async")
    assert (pipeline.achieved_stages, pipeline.bytes_per_iteration) == (3, None)


def test_a_kernel_may_specialize_its_warps_twice() -> None:
    """Both loops have the same partitions, which the same warps run one after the other."""
    kernel = SPECIALIZED.parents[1] / "ptx" / "specialized_twice.py"
    target = Target(vendor="nvidia", arch="sm_100", warp_size=32, product="b200")
    (found,) = capture(Request(kernel=str(kernel), target=target))
    report = inspect(found)
    module = mlir.parse(found.stages["ttgir"].text())
    if len([each for each in module.named("ttg.warp_specialize") if each.regions]) < 2:
        pytest.skip("this Triton specializes one loop only")
    llvm = registers_in_llvm(found.stages["llir"].text())
    default, *partitions = report.warp_groups
    assert (default.name, default.num_warps) == ("default", 8)
    assert [each.name for each in partitions] == ["partition0", "partition1"]
    assert {each.registers for each in partitions} <= set(llvm)
    copies = [each for each in report.pipelines if each.kind == "tma"]
    assert len({each.source for each in copies}) == 2
    assert {each.stages_at_most for each in copies} == {3}
    assert all(each.warp_group in ("partition0", "partition1") for each in copies)
