"""Traffic counted from ttir is what Triton's interpreter accesses, to the byte.

The interpreter runs a kernel's Python with NumPy, every lane with its address: it shares neither
the ttir nor a line of code with the count. Sizes are odd, so that every mask masks something.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from irlens.compiler import Request, capture
from irlens.compiler.sources.description import known_kernels
from irlens.compiler.sources.lookup import samples_folder
from irlens.isa.mlir import Module, parse
from irlens.model.config import ConstexprValue, Target
from irlens.model.traffic import Access, Traffic
from tests.analyze.traffic_counts import count

pytestmark = pytest.mark.compiled_to("ttir")

CHILD = Path(__file__).with_name("interpreted_launches.py")
KERNELS = Path(__file__).parents[1] / "data" / "traffic" / "kernels.py"
TARGETS = {
    "sm_80": Target(vendor="nvidia", arch="sm_80", warp_size=32),
    "sm_90": Target(vendor="nvidia", arch="sm_90", warp_size=32),
    "gfx942": Target(vendor="amd", arch="gfx942", warp_size=64),
}


class Case(msgspec.Struct, frozen=True):
    """A kernel in one configuration, launched with several sizes."""

    kernel: str
    sizes: list[dict[str, int]]
    settings: dict[str, ConstexprValue] = {}
    arch: str = "sm_90"


B32: dict[str, ConstexprValue] = {"BLOCK_SIZE": 32}
B64: dict[str, ConstexprValue] = {"BLOCK_SIZE": 64}
B256: dict[str, ConstexprValue] = {"BLOCK_SIZE": 256}
TILES: dict[str, ConstexprValue] = {"BLOCK_SIZE_M": 16, "BLOCK_SIZE_N": 32, "BLOCK_SIZE_K": 16}
GROUPS = {**TILES, "GROUP_SIZE_M": 2, "num_warps": 4, "num_stages": 2}
ATTENTION: dict[str, ConstexprValue] = {"HEAD_DIM": 16, "BLOCK_M": 32, "BLOCK_N": 16}
COLUMNS: dict[str, ConstexprValue] = {"BLOCK_M": 16, "BLOCK_N": 32}
MANY = [{"n_elements": 1001}, {"n_elements": 250}]
ROWS = [{"n_rows": 5, "n_cols": 37}, {"n_rows": 11, "n_cols": 63}]
LONG = [{"n_rows": 3, "n_cols": 301}]
PRODUCTS = [{"M": 33, "N": 70, "K": 50}, {"M": 50, "N": 31, "K": 7}]
BOXES = [{"M": 40, "N": 72, "K": 56}, {"M": 33, "N": 40, "K": 24}]
SAMPLES = [
    Case("vector_add", [{"n_elements": 1000}, {"n_elements": 1}], B256),
    Case("vector_add", MANY, B256, "gfx942"),
    Case("softmax", [{"n_rows": 20, "n_cols": 37}, {"n_rows": 3, "n_cols": 50}]),
    Case("softmax", [{"n_rows": 20, "n_cols": 37}], {}, "gfx942"),
    Case("matmul", BOXES, GROUPS),
    Case("matmul", PRODUCTS, {**GROUPS, "ACTIVATION": "leaky_relu"}, "gfx942"),
    Case("matmul_tma", BOXES, GROUPS),
    Case("matmul_tma", BOXES, GROUPS, "sm_80"),
    Case("flash_attention", [{"batch": 2, "heads": 3, "n_ctx": 75}], ATTENTION),
    Case("flash_attention", [{"batch": 1, "heads": 2, "n_ctx": 75}], {**ATTENTION, "CAUSAL": True}),
    Case("layer_norm", [{"n_rows": 5, "n_cols": 300}]),
    Case("spill", [{"n_rows": 5, "n_cols": 300}]),
    Case("softmax_naive:row_max_kernel", ROWS),
    Case("softmax_naive:subtract_kernel", ROWS),
    Case("softmax_naive:exp_kernel", ROWS, B64),
    Case("softmax_naive:row_sum_kernel", ROWS),
    Case("softmax_naive:divide_kernel", ROWS),
    Case("softmax_rows", ROWS),
    Case("softmax_online", [*LONG, *ROWS], B64),
    Case("gelu", MANY, B256),
    Case("rms_norm", LONG),
    Case("exp_sin", MANY, {**B256, "STEPS": 5}),
    Case("copies:copy_coalesced_kernel", MANY, B256),
    Case("copies:copy_strided_kernel", MANY, {"BLOCK_SIZE": 32, "STRIDE": 8}),
    Case("transpose", [{"n_rows": 37, "n_cols": 70}], {"BLOCK_SIZE": 16}),
    Case("column_sum", [{"n_rows": 37, "n_cols": 70}], COLUMNS),
    Case("dropout", MANY, B256),
    Case("segment_sum", [{"n_segments": 17, "n_elements": 1001}], B32),
    Case("layer_norm_looped", [*LONG, *ROWS], B64),
    Case("layer_norm_backward", [{"n_rows": 11, "n_cols": 37, "n_programs": 4}]),
    Case("attention_merge", [{"n_queries": 75}], {"HEAD_DIM": 16, "BLOCK_M": 32}),
    Case("matmul_tiled", PRODUCTS, TILES),
    Case("matmul_fp32_output", PRODUCTS, TILES),
    Case("matmul_bias_relu", PRODUCTS, TILES),
    Case("matmul_batched", [{"batch": 3, **PRODUCTS[0]}], TILES),
    Case("matmul_persistent", [*PRODUCTS, {"M": 90, "N": 95, "K": 20}], TILES),
]
OTHERS = [
    Case("histogram_kernel", [{"n_elements": 301, "n_bins": 7}, {"n_elements": 100, "n_bins": 2}]),
    Case("lock_kernel", [{"n_programs": 5}]),
    Case("grid_3d_kernel", [{"depth": 3, "height": 21, "width": 37}]),
    Case("while_kernel", [{"n_elements": 1001, "n_programs": 5}]),
    Case("branches_kernel", [{"n_elements": 301}]),
    Case("early_return_kernel", [{"n_elements": 301, "n_programs": 16}]),
    Case("call_kernel", [{"n_elements": 301}]),
    Case("reversed_kernel", [{"n_elements": 301}]),
    Case("stencil_kernel", [{"height": 19, "width": 45}]),
    Case("boxes_kernel", [{"depth": 3, "height": 12, "width": 40}]),
    Case("boxes_kernel", [{"depth": 3, "height": 12, "width": 40}], {}, "sm_80"),
    Case("host_descriptor_kernel", [{"height": 19, "width": 48}]),
    Case("host_descriptor_kernel", [{"height": 19, "width": 48}], {}, "sm_80"),
    Case("lookup_kernel", [{"n_rows": 9, "n_entries": 14, "n_cols": 21}]),
    Case("split_k_kernel", [{"M": 33, "N": 18, "K": 71, "split": 3}]),
]
CASES = [*SAMPLES, *(msgspec.structs.replace(c, kernel=f"{KERNELS}:{c.kernel}") for c in OTHERS)]


class Interpreter:
    """A process that has imported PyTorch, and Triton to interpret kernels."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def launch(self, request: Request, file: str) -> dict[str, Any]:
        """Return what a kernel was launched with, and what it accessed."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        line = json.dumps([msgspec.to_builtins(request), file])
        print(line, file=self._process.stdin, flush=True)
        told = json.loads(self._process.stdout.readline())
        assert isinstance(told, dict), told
        return told


@pytest.fixture(scope="module")
def interpreter() -> Iterator[Interpreter]:
    pytest.importorskip("torch", reason="the tensors are PyTorch's")
    with subprocess.Popen(
        [sys.executable, CHILD],
        env=os.environ | {"TRITON_INTERPRET": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield Interpreter(process)


def request(case: Case, sizes: dict[str, int]) -> Request:
    return Request(
        kernel=case.kernel,
        target=TARGETS[case.arch],
        args=dict(sizes),
        settings=case.settings,
        sm_count=4,
    )


@cache
def compiled(index: int) -> tuple[Module, str]:
    """Return a case's ttir, and the name of its file."""
    case = CASES[index]
    (found,) = capture(request(case, case.sizes[0]))
    assert found.manifest is not None
    return parse(found.stages["ttir"].text(), stage="ttir"), found.manifest.file


def test_every_sample_is_counted() -> None:
    folder = samples_folder()
    samples = [k for k in known_kernels() if (folder / f"{k.partition(':')[0]}.py").is_file()]
    assert sorted(samples) == sorted({case.kernel for case in SAMPLES})


def launches() -> Iterator[object]:
    """Return each case with each of its sizes."""
    for index, case in enumerate(CASES):
        for sizes in case.sizes:
            name = f"{case.kernel.rpartition(':')[2]}-{case.arch}"
            name += "".join(f"-{size}" for size in sizes.values())
            yield pytest.param(index, sizes, id=name)


LAUNCHES = list(launches())


def test_launches_are_at_least_40() -> None:
    assert len(LAUNCHES) >= 40


@pytest.mark.parametrize(("index", "sizes"), LAUNCHES)
def test_counts_equal_the_interpreters(
    interpreter: Interpreter, index: int, sizes: dict[str, int]
) -> None:
    case = CASES[index]
    module, file = compiled(index)
    told = interpreter.launch(request(case, sizes), file)
    written = {argument for _, operation, argument, *_ in told["accesses"] if operation != "load"}
    contents = {
        name: np.array(values, kind)
        for name, (kind, values) in told["contents"].items()
        if name not in written
    }
    traffic = count(module, told["arguments"], tuple(told["grid"]), contents=contents)
    assert traffic.reason == ""
    totals = {name: getattr(traffic, name) for name in told["totals"]}
    assert totals == told["totals"]
    assert [traffic.read_bytes, traffic.written_bytes] == told["interpretation"]
    assert by_line(traffic, told["accesses"]) == told["accesses"]


@pytest.mark.parametrize("kernel", ["segment_sum", "lookup_kernel"])
def test_what_depends_on_data_is_unknown_without_it(interpreter: Interpreter, kernel: str) -> None:
    index = next(n for n, case in enumerate(CASES) if case.kernel.endswith(kernel))
    module, file = compiled(index)
    told = interpreter.launch(request(CASES[index], CASES[index].sizes[0]), file)
    traffic = count(module, told["arguments"], tuple(told["grid"]))
    assert traffic.read_bytes is None
    assert "depends on data in " in traffic.reason


def by_line(traffic: Traffic, expected: list[list[Any]]) -> list[list[Any]]:
    """Return line of Python, operation, argument, bytes, distinct bytes and masked lanes.

    Where several operations of the ttir belong to one line, the distinct bytes are taken as
    expected: those of each operation do not add up, and the traffic's total has been compared.
    """
    kinds = {
        "tt.load": "load",
        "tt.descriptor_load": "load",
        "tt.store": "store",
        "tt.descriptor_store": "store",
        "tt.atomic_rmw": "atomic",
        "tt.atomic_cas": "atomic",
    }
    found: dict[tuple[int, str, str], list[Access]] = {}
    for each in traffic.accesses:
        assert each.source is not None
        key = each.source.line, kinds[each.operation], each.argument
        found.setdefault(key, []).append(each)
    distinct = {tuple(each[:3]): each[4] for each in expected}
    return sorted(
        [
            *key,
            sum(each.bytes for each in accesses),
            accesses[0].distinct_bytes if len(accesses) == 1 else distinct.get(key),
            sum(each.masked for each in accesses),
        ]
        for key, accesses in found.items()
    )
