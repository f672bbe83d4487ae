"""What conversions and accesses to shared memory cost, against an H200's counters and by hand."""

from math import prod
from pathlib import Path

import pytest

import irlens
from irlens.model.conversions import Conversion
from irlens.report.inspection import Inspection
from irlens.session.launch import Launch, with_launch
from tests.analyze.h200_launches import arguments, launches, unpacked


def inspected(kind: str, folder: Path, **config: int) -> tuple[dict[str, float], Inspection]:
    row = next(
        row for row in launches() if row["name"] == kind and config.items() <= row["config"].items()
    )
    (capture,) = irlens.load(unpacked(row, folder))
    x, y, z = row["grid"]
    launch = Launch(args=arguments(row), grid=(x, y, z))
    return row["ncu"], Inspection(with_launch(capture, launch, "h200"))


@pytest.mark.parametrize(
    ("kind", "config"),
    [
        ("col_sum", {}),
        ("matmul_small", {"BM": 128, "BN": 128, "num_warps": 8}),
        ("matmul", {"BM": 128, "BN": 256, "num_stages": 3}),
        ("matmul", {"BM": 32, "num_stages": 2}),
        ("attention", {"BM": 128, "BN": 128, "num_stages": 2}),
        ("softmax_row", {"cols": 256, "num_warps": 2}),
        ("rms_loop", {}),
        ("transpose", {"BM": 64, "num_warps": 8}),
    ],
)
def test_wavefronts_are_those_that_an_h200_counts(
    kind: str, config: dict[str, int], tmp_path: Path
) -> None:
    counted, inspection = inspected(kind, tmp_path, **config)
    found = dict.fromkeys(("load", "store"), 0.0)
    for each in inspection.shared_accesses:
        if each.kind in found:
            found[each.kind] += each.price.wavefronts - each.price.conflicts
    for kind, way in (("load", "ld"), ("store", "st")):
        wavefronts = counted[f"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{way}.sum"]
        # Those of traffic that meets the accesses are among the conflicts.
        wavefronts -= counted[f"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{way}.sum"]
        assert found[kind] == pytest.approx(wavefronts, rel=0.02)


def test_the_conversion_before_a_store_writes_and_reads_the_tile_once(tmp_path: Path) -> None:
    _, inspection = inspected("matmul", tmp_path, BM=128, BN=128, num_warps=8)
    (conversion,) = (each for each in inspection.conversions if each.through == "shared memory")
    grid = inspection.config.grid
    assert grid is not None
    assert conversion.used_by == "tt.store"
    assert conversion.bytes == 128 * 128 * 2
    assert (conversion.depth, conversion.loop, conversion.runs) == (0, None, 1.0)
    price = conversion.price
    assert price is not None
    assert price.wavefronts == 2 * conversion.bytes / 128 * prod(grid)
    assert price.conflicts == 0
    shared = inspection.time.parts["shared"] if inspection.time is not None else 0.0
    assert 0 < price.us < shared
    assert price.saved_us is None  # it is in no loop


def test_the_parts_of_lines_are_the_launch_s(tmp_path: Path) -> None:
    """All accesses and copies are what the time's own part of shared memory is made of."""
    _, inspection = inspected("softmax_persistent", tmp_path, STAGES=2, cols=8192, num_warps=8)
    parts = [each.price.us for each in inspection.shared_accesses if each.kind != "shuffle"]
    assert inspection.time is not None
    assert sum(parts) <= inspection.time.parts["shared"] * 1.001


def test_what_ptxas_never_lets_run_is_no_request() -> None:
    """``@!PT LDS RZ, [RZ]`` stands in front of asynchronous copies, three times for each."""
    (capture,) = irlens.load(SAMPLES / "captures/softmax-h100")
    loads = [each for each in Inspection(capture).shared_accesses if each.kind == "load"]
    (load,) = (each for each in loads if each.source is not None and each.source.line == 50)
    assert load.instructions == 1
    assert load.price.wavefronts == 4 * load.price.requests


SAMPLES = Path(__file__).parents[2] / "samples"
FINDINGS = Path(__file__).parents[1] / "data/findings"


def _converted(target: str) -> list[Conversion]:
    kernel = f"{FINDINGS}/transposed_sum.py:transposed_sum"
    return irlens.inspect(irlens.capture(kernel, target=target)).conversions


def test_lds_moves_each_byte_of_a_conversion_twice_at_least() -> None:
    """304 CUs with 32 banks of 4 bytes, at 2.1 GHz; 64 workgroups of 64 iterations."""
    found = _converted("mi300x")
    assert [each.through for each in found] == ["shared memory"] * 2
    for each in found:
        assert each.price is None
        assert each.reason == "how long instructions take on mi300x is unknown"
        assert each.runs == 4096 / 64
        cycles = 2 * 64 * 64 * 4 * 64 * 64 / (32 * 4)
        assert each.least_us == pytest.approx(cycles / 304 / 2.1e9 * 1e6)


def test_what_banks_a_work_group_processor_has_is_open() -> None:
    assert [each.least_us for each in _converted("rx7900xtx")] == [None] * 2


def test_an_atomic_whose_result_nobody_reads_leaves_shared_memory_to_the_conversion() -> None:
    capture = irlens.capture(f"{FINDINGS}/users.py:split_k", "h100", BM=32, BN=32, BK=32)
    inspection = Inspection(capture)
    (each,) = (each for each in inspection.conversions if each.used_by == "tt.atomic_rmw")
    assert each.price is not None
    assert each.price.wavefronts == 2 * 32 * 32 * 4 / 128 * prod(inspection.config.grid or ())
