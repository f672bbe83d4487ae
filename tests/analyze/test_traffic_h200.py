"""Traffic of launches, against Nsight Compute's counters of an H200."""

from typing import Any

import pytest

from irlens import gpus
from irlens.analyze.roofline import roofline
from irlens.gpus.rates import Dtype
from irlens.model.traffic import Traffic
from tests.analyze.h200_launches import launches, traffic
from tests.tables import each_row

H200 = gpus.find("h200")
#: Kernels that read every byte once, from DRAM, while they do not spill.
STREAMING = {"add", "gelu", "exp_chain", "softmax_row", "softmax_persistent"}


def _peaks(flops: dict[str, int] | None) -> dict[Dtype, int]:
    known: dict[str, Dtype] = {"fp16": "fp16", "bf16": "bf16", "fp32": "fp32", "tf32": "tf32"}
    return {known[dtype]: count for dtype, count in (flops or {}).items()}


@each_row("launch", launches())
def test_requests_and_sectors_equal_the_counters(launch: dict[str, Any]) -> None:
    found = traffic(launch)
    counters = {
        (what, operation): launch["ncu"][f"l1tex__t_{what}_pipe_lsu_mem_global_op_{operation}.sum"]
        for what in ("requests", "sectors")
        for operation in ("ld", "st")
    }
    assert found.reason == ""
    assert found.load_requests == counters["requests", "ld"]
    assert found.load_sectors == counters["sectors", "ld"]
    assert found.store_requests == counters["requests", "st"]
    # The counter of stored sectors wavers from run to run.
    assert found.store_sectors == pytest.approx(counters["sectors", "st"], rel=0.003)


@each_row("launch", launches())
def test_no_floor_is_above_the_measured_time(launch: dict[str, Any]) -> None:
    found = traffic(launch)
    assert found.distinct_read_bytes is not None
    assert found.distinct_written_bytes is not None
    moved = found.distinct_read_bytes + found.distinct_written_bytes
    tensor = _peaks(found.tensor_flops)
    vector = {d: n - tensor.get(d, 0) for d, n in _peaks(found.flops).items()}
    floor = roofline(H200, moved, tensor, vector).floor_us
    assert floor is not None
    assert floor <= min(launch["ms"] * 1e3, launch["ncu"]["gpu__time_duration.sum"] / 1e3)


def test_streaming_kernels_read_their_distinct_bytes_from_dram() -> None:
    streaming = [each for each in launches() if each["name"] in STREAMING and not each["n_spills"]]
    for launch in streaming:
        distinct = traffic(launch).distinct_read_bytes
        assert launch["ncu"]["dram__bytes_read.sum"] == pytest.approx(distinct, rel=0.02), launch
    assert len(streaming) > 90


def test_no_launch_leaves_its_tensors() -> None:
    for launch in launches():
        assert [each.out_of_bounds for each in traffic(launch).accesses if each.out_of_bounds] == []


def _of(name: str) -> list[tuple[dict[str, Any], Traffic]]:
    return [(each, traffic(each)) for each in launches() if each["name"] == name]


def test_operations_of_matrix_products() -> None:
    for launch, found in _of("matmul"):
        args = launch["args"]
        dtype = "tf32" if args["a_ptr"]["dtype"] == "fp32" else args["a_ptr"]["dtype"]
        assert found.tensor_flops == {dtype: 2 * args["M"] * args["N"] * args["K"]}
