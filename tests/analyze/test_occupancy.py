"""What occupancy says beyond the number: limits, refusals, next steps, waves."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from irlens import gpus as arch
from irlens.analyze.occupancy import Usage, compute
from irlens.model.errors import ArtifactError
from irlens.model.report import NextStep, Occupancy, OccupancyCurve, OccupancyLimits

H100 = arch.find("h100")
SOFTMAX = Usage(threads=256, registers=31, shared_bytes=12_320)


def test_the_softmax_of_the_tutorial() -> None:
    ours = compute(H100, SOFTMAX, grid_ctas=1584)
    assert (ours.blocks_per_sm, ours.active_warps, ours.max_warps) == (8, 64, 64)
    assert ours.theoretical == 1.0
    assert ours.limits == OccupancyLimits(
        warps=8, blocks=32, registers=8, shared_memory=17, barriers=64
    )
    assert ours.limited_by == ["warps", "registers"]
    assert (ours.waves, ours.tail) == (1.5, 0.5)


def test_a_resource_that_is_not_used_does_not_limit() -> None:
    limits = compute(
        arch.find("t4"), Usage(threads=32, registers=0, shared_bytes=0, barriers=0)
    ).limits
    assert (limits.registers, limits.shared_memory, limits.barriers) == (None, None, None)


def test_every_reason_for_a_refusal_is_given() -> None:
    usage = Usage(threads=1056, registers=264, shared_bytes=300_000, barriers=65, max_threads=512)
    ours = compute(H100, usage)
    assert [(why.resource, why.requested, why.limit, why.unit) for why in ours.refusals] == [
        ("threads", 1056, 512, "threads/CTA"),
        ("registers", 264, 256, "registers/thread"),
        ("registers", 264 * 32 * 36, 65_536, "registers/CTA"),
        ("shared_memory", 300_000, 232_448, "bytes/CTA"),
        ("barriers", 65, 64, "barriers/CTA"),
    ]
    assert not ours.launchable
    assert (ours.blocks_per_sm, ours.active_warps, ours.theoretical) == (0, 0, 0.0)
    assert ours.limited_by == ["warps", "registers", "shared_memory", "barriers"]
    assert (ours.waves, ours.tail) == (None, None)


def test_a_workgroup_that_overflows_the_register_file_cannot_launch() -> None:
    ours = compute(arch.find("mi300x"), Usage(threads=1024, registers=136, shared_bytes=0))
    assert [(why.requested, why.limit) for why in ours.refusals] == [(136 * 1024, 128 * 1024)]
    assert (
        NextStep(
            resource="registers",
            change=-8,
            unit="registers/thread",
            blocks_per_sm=1,
            theoretical=0.5,
        )
        in ours.next_step
    )


def test_scalar_registers_limit_cdna_and_not_rdna() -> None:
    usage = Usage(threads=64, registers=32, shared_bytes=0, scalar_registers=92)
    # A wave holds 96 and the trap handler's 16 of 800, so a SIMD has room for 7: hardware was
    # seen to hold 28 one-wave workgroups per CU (ROCm, rocm-systems pull request 10618).
    assert compute(arch.find("gfx942"), usage).blocks_per_sm == 28
    assert compute(arch.find("gfx1100"), usage).limits.registers == 64


@pytest.mark.parametrize(
    "wrong",
    [
        {"threads": 0},
        {"registers": -1},
        {"shared_bytes": -1},
        {"barriers": -1},
        {"scalar_registers": -1},
        {"cluster_ctas": 0},
    ],
    ids=str,
)
def test_damaged_metadata_is_named(wrong: dict[str, int]) -> None:
    with pytest.raises(ArtifactError, match="no kernel has"):
        replace(SOFTMAX, **wrong)


def test_waves_are_unknown_without_a_product_a_grid_or_with_clusters() -> None:
    assert compute(H100, SOFTMAX).waves is None
    assert compute(arch.find("sm_90"), SOFTMAX, grid_ctas=1000).waves is None
    clusters = compute(H100, replace(SOFTMAX, cluster_ctas=2), grid_ctas=1000)
    assert (clusters.waves, clusters.tail) == (None, None)
    assert clusters.blocks_per_sm == compute(H100, SOFTMAX).blocks_per_sm


@pytest.mark.parametrize(
    ("grid", "waves", "tail"),
    [(0, 0.0, None), (1, 1 / 1056, 1 / 1056), (1056, 1.0, 1.0), (2640, 2.5, 0.5)],
)
def test_waves_and_tail(grid: int, waves: float, tail: float | None) -> None:
    ours = compute(H100, SOFTMAX, grid_ctas=grid)
    assert ours.waves == pytest.approx(waves)
    assert ours.tail == (None if tail is None else pytest.approx(tail))


usages = st.builds(
    Usage,
    threads=st.integers(1, 1100),
    registers=st.integers(0, 300),
    shared_bytes=st.one_of(st.integers(0, 4096), st.integers(0, 340_000)),
    barriers=st.integers(0, 20),
    scalar_registers=st.integers(0, 108),
)
gpus = st.sampled_from([gpu for gpu in arch.gpus() if gpu.product is None])


def amounts(usage: Usage) -> dict[str, int]:
    return {
        "registers": usage.registers,
        "shared_memory": usage.shared_bytes,
        "barriers": usage.barriers,
    }


def changed(gpu: arch.Gpu, usage: Usage, resource: str, amount: int) -> Occupancy:
    match resource:
        case "registers":
            usage = replace(usage, registers=amount)
        case "shared_memory":
            usage = replace(usage, shared_bytes=amount)
        case _:
            usage = replace(usage, barriers=amount)
    return compute(gpu, usage)


@settings(deadline=None)  # a busy machine is not a slow rule
@given(gpu=gpus, usage=usages)
def test_a_next_step_admits_more_and_one_unit_less_of_it_does_not(
    gpu: arch.Gpu, usage: Usage
) -> None:
    before = compute(gpu, usage)
    for step in before.next_step:
        amount = amounts(usage)[step.resource]
        after = changed(gpu, usage, step.resource, amount + step.change)
        assert step.change < 0
        assert after.blocks_per_sm == step.blocks_per_sm > before.blocks_per_sm
        assert after.theoretical == step.theoretical > before.theoretical
        if step.change < -1:
            short = changed(gpu, usage, step.resource, amount + step.change + 1)
            assert short.blocks_per_sm <= before.blocks_per_sm


@settings(deadline=None)
@given(gpu=gpus, usage=usages, resource=st.sampled_from(["registers", "shared_memory"]))
def test_where_no_next_step_is_given_none_exists(
    gpu: arch.Gpu, usage: Usage, resource: str
) -> None:
    before = compute(gpu, usage)
    if any(step.resource == resource for step in before.next_step):
        return
    least = {"registers": 1, "shared_memory": 0}[resource]
    if amounts(usage)[resource] > least:
        assert changed(gpu, usage, resource, least).blocks_per_sm <= before.blocks_per_sm


@settings(deadline=None)
@given(
    gpu=gpus,
    usage=usages,
    more=st.sampled_from(["threads", "registers", "shared_bytes", "barriers", "scalar_registers"]),
    by=st.integers(1, 5000),
)
def test_asking_for_more_never_admits_more(gpu: arch.Gpu, usage: Usage, more: str, by: int) -> None:
    greedier = replace(usage, **{more: getattr(usage, more) + by})
    assert compute(gpu, greedier).blocks_per_sm <= compute(gpu, usage).blocks_per_sm


@settings(deadline=None)
@given(gpu=gpus, usage=usages)
def test_an_occupancy_agrees_with_itself(gpu: arch.Gpu, usage: Usage) -> None:
    ours = compute(gpu, usage)
    assert ours.launchable == (ours.blocks_per_sm > 0) == (not ours.refusals)
    assert ours.limited_by
    assert ours.active_warps <= ours.max_warps
    assert ours.theoretical == ours.active_warps / ours.max_warps


def at(curve: OccupancyCurve, amount: int) -> int:
    return next(blocks for start, blocks in reversed(curve.steps) if start <= amount)


@settings(max_examples=40)
@given(
    st.sampled_from([gpu.arch.name for gpu in arch.gpus() if gpu.product is None]),
    st.integers(1, 1024),
    st.integers(1, 600),
    st.integers(0, 300_000),
    st.integers(0, 300_000),
)
def test_the_curves_say_what_another_kernel_would_get(
    name: str, threads: int, registers: int, shared_bytes: int, other: int
) -> None:
    gpu = arch.find(name)
    usage = Usage(threads=threads, registers=registers, shared_bytes=shared_bytes)
    ours = compute(gpu, usage)
    by_registers, by_shared = ours.curves
    assert at(by_registers, by_registers.at) == at(by_shared, by_shared.at) == ours.blocks_per_sm
    fewer = other % by_registers.last + 1
    changed = compute(gpu, replace(usage, registers=fewer))
    assert at(by_registers, fewer) == changed.blocks_per_sm
    less = min(other, by_shared.last)
    changed = compute(gpu, replace(usage, shared_bytes=less))
    assert at(by_shared, less) == changed.blocks_per_sm
    for curve in ours.curves:
        blocks = [number for _, number in curve.steps]
        assert blocks == sorted(set(blocks), reverse=True)
