"""The sample kernels compute what their references do, and move what their formulas say.

Triton's interpreter runs a kernel with NumPy on the CPU, independently of a GPU. Sizes that are
not multiples of a block exercise every mask.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from irlens.compiler import Request
from irlens.compiler.interpreting import Interpretation
from irlens.compiler.sources.description import find_kernel, known_kernels
from irlens.compiler.sources.lookup import samples_folder
from irlens.model.config import ConstexprValue, Target

#: Each line of input is a request, and the output whose last element is wrong; empty for none.
INTERPRET = """
import json, sys, traceback
from unittest.mock import patch
import msgspec
from irlens.compiler.interpreting import run_interpreter
from irlens.compiler.request import Request
from irlens.compiler.triton_compat.interpreter import Interpreted
launch = Interpreted.launch
for line in sys.stdin:
    request, wrong = json.loads(line)
    def launch_wrongly(self, grid, values, *others):
        moved = launch(self, grid, values, *others)
        if wrong:
            values[wrong].view(-1)[-1] += 1
        return moved
    try:
        with patch.object(Interpreted, "launch", launch_wrongly):
            told = run_interpreter(msgspec.convert(request, Request))
    except Exception:
        told = traceback.format_exc()
    print(msgspec.json.encode(told).decode(), flush=True)
"""
HEADS = {"batch": 2, "heads": 3}
BLOCKS: dict[str, ConstexprValue] = {"HEAD_DIM": 16, "BLOCK_M": 32, "BLOCK_N": 16}
TILES: dict[str, ConstexprValue] = {"BLOCK_SIZE_M": 16, "BLOCK_SIZE_N": 32, "BLOCK_SIZE_K": 16}
GROUPS = {**TILES, "GROUP_SIZE_M": 2}
RAGGED = {"M": 33, "N": 70, "K": 50}
ROWS = {"n_rows": 5, "n_cols": 37}
MANY = {"n_elements": 1001}
SAMPLES: list[tuple[str, dict[str, int], dict[str, ConstexprValue]]] = [
    ("vector_add", {"n_elements": 1000}, {"BLOCK_SIZE": 256}),
    ("softmax", {"n_rows": 20, "n_cols": 37}, {}),
    ("matmul", {"M": 40, "N": 70, "K": 50}, GROUPS),
    ("matmul", {"M": 33, "N": 64, "K": 16}, {**GROUPS, "ACTIVATION": "leaky_relu"}),
    ("matmul_tma", {"M": 40, "N": 72, "K": 56}, GROUPS),
    ("flash_attention", {**HEADS, "n_ctx": 75}, BLOCKS),
    ("flash_attention", {**HEADS, "n_ctx": 75}, {**BLOCKS, "CAUSAL": True}),
    ("flash_attention", {**HEADS, "n_ctx": 64}, {**BLOCKS, "BLOCK_N": 64, "CAUSAL": True}),
    ("layer_norm", {"n_rows": 5, "n_cols": 300}, {}),
    ("spill", {"n_rows": 5, "n_cols": 300}, {}),
    ("softmax_naive:row_max_kernel", ROWS, {}),
    ("softmax_naive:subtract_kernel", ROWS, {}),
    ("softmax_naive:exp_kernel", ROWS, {"BLOCK_SIZE": 64}),
    ("softmax_naive:row_sum_kernel", ROWS, {}),
    ("softmax_naive:divide_kernel", ROWS, {}),
    ("softmax_rows", ROWS, {}),
    ("softmax_online", {"n_rows": 3, "n_cols": 301}, {"BLOCK_SIZE": 64}),
    ("softmax_online", {"n_rows": 3, "n_cols": 37}, {"BLOCK_SIZE": 64}),
    ("gelu", MANY, {"BLOCK_SIZE": 256}),
    ("rms_norm", {"n_rows": 5, "n_cols": 301}, {}),
    ("exp_sin", MANY, {"BLOCK_SIZE": 256, "STEPS": 5}),
    ("copies:copy_coalesced_kernel", MANY, {"BLOCK_SIZE": 256}),
    ("copies:copy_strided_kernel", MANY, {"BLOCK_SIZE": 32, "STRIDE": 8}),
    ("transpose", {"n_rows": 37, "n_cols": 70}, {"BLOCK_SIZE": 16}),
    ("column_sum", {"n_rows": 37, "n_cols": 70}, {"BLOCK_M": 16, "BLOCK_N": 32}),
    ("dropout", MANY, {"BLOCK_SIZE": 256}),
    ("dropout", {**MANY, "seed": 987_654_321_987}, {"BLOCK_SIZE": 256}),
    ("segment_sum", {"n_segments": 17, **MANY}, {"BLOCK_SIZE": 32}),
    ("layer_norm_looped", {"n_rows": 3, "n_cols": 301}, {"BLOCK_SIZE": 64}),
    ("layer_norm_backward", {"n_rows": 11, "n_cols": 37, "n_programs": 4}, {}),
    ("attention_merge", {"n_queries": 75}, {"HEAD_DIM": 16, "BLOCK_M": 32}),
    ("matmul_tiled", RAGGED, TILES),
    ("matmul_fp32_output", RAGGED, TILES),
    ("matmul_bias_relu", RAGGED, TILES),
    ("matmul_batched", {"batch": 3, **RAGGED}, TILES),
    ("matmul_persistent", RAGGED, TILES),
]
# One mistake for each kernel, such as authors make: each must exceed the tolerance.
MISTAKES = {
    "softmax_naive:row_max_kernel": ('other=-float("inf")', "other=9.0"),
    "softmax_naive:subtract_kernel": ("x - tl.load(row_ptr + row)", "x - tl.load(row_ptr)"),
    "softmax_naive:exp_kernel": ("tl.exp(", "tl.exp2("),
    "softmax_naive:row_sum_kernel": ("mask=cols < n_cols, other=0.0", "mask=cols < n_cols - 1"),
    "softmax_naive:divide_kernel": ("x / tl.load", "x * tl.load"),
    "softmax_rows": ("tl.sum(numerator, axis=0)", "(tl.sum(numerator, axis=0) + 1e-3)"),
    "softmax_online": ("total * tl.exp(largest - shift)", "total"),
    "gelu": ("0.044715", "0.04"),
    "rms_norm": ("+ eps", "+ 100 * eps * eps + 1e-2"),
    "exp_sin": ("range(STEPS)", "range(STEPS - 1)"),
    "copies:copy_coalesced_kernel": ("offsets < n_elements", "offsets < n_elements - 1"),
    "copies:copy_strided_kernel": ("steps * STRIDE + tl.program_id(1)", "steps * STRIDE"),
    "transpose": ("tile.T, mask=mask.T", "tile, mask=mask.T"),
    "column_sum": ("range(0, n_rows", "range(1, n_rows"),
    "dropout": ("tl.rand(seed, offsets)", "tl.rand(seed + 1, offsets)"),
    "segment_sum": ("offsets < end", "offsets <= end"),
    "layer_norm_looped": ("axis=0) / n_cols + eps", "axis=0) / BLOCK_SIZE + eps"),
    "layer_norm_backward": (" - normalized * along", ""),
    "attention_merge": ("right_weight / total", "left_weight / total"),
    "matmul_tiled": ("range(0, K, BLOCK_SIZE_K)", "range(0, K - 2, BLOCK_SIZE_K)"),
    "matmul_fp32_output": ("range(0, K, BLOCK_SIZE_K)", "range(0, K - 2, BLOCK_SIZE_K)"),
    "matmul_bias_relu": ("bias[None, :], 0.0", "bias[None, :], -1.0"),
    "matmul_batched": ("index * K * N", "index * K * M"),
    "matmul_persistent": ("tile // num_pid_n", "tile // (num_pid_n + 1)"),
}


class Interpreter:
    """A process that has imported PyTorch, and Triton to interpret kernels."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def interpret(
        self,
        kernel: str,
        args: dict[str, int],
        settings: dict[str, ConstexprValue],
        wrong: str = "",
    ) -> Interpretation:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        target = Target(vendor="nvidia", arch="sm_90", warp_size=32)
        request = Request(kernel=kernel, target=target, args=dict(args), settings=settings)
        line = json.dumps([msgspec.to_builtins(request), wrong])
        print(line, file=self._process.stdin, flush=True)
        told = json.loads(self._process.stdout.readline())
        assert isinstance(told, dict), told
        return msgspec.convert(told, Interpretation)


@pytest.fixture(scope="module")
def interpreter() -> Iterator[Interpreter]:
    pytest.importorskip("torch", reason="the references are PyTorch's")
    with subprocess.Popen(
        [sys.executable, "-c", INTERPRET],
        env=os.environ | {"TRITON_INTERPRET": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield Interpreter(process)


def test_every_sample_is_interpreted() -> None:
    folder = samples_folder()
    samples = [k for k in known_kernels() if (folder / f"{k.partition(':')[0]}.py").is_file()]
    assert sorted(samples) == sorted({kernel for kernel, _, _ in SAMPLES})


@pytest.mark.parametrize(("kernel", "args", "settings"), SAMPLES)
def test_a_sample_computes_what_its_reference_does(
    interpreter: Interpreter, kernel: str, args: dict[str, int], settings: dict[str, ConstexprValue]
) -> None:
    done = interpreter.interpret(kernel, args, settings)
    assert done.matches
    assert done.max_abs_error is not None
    assert done.max_abs_error < 0.05
    if done.formula is not None:
        assert done.formula == (done.read, done.written)


def test_the_samples_with_a_mistake_are_those_with_a_formula() -> None:
    described = {k: find_kernel(k).description for k, _, _ in SAMPLES}
    with_formula = {k for k, each in described.items() if each is not None and each.traffic}
    assert with_formula == set(MISTAKES)


@pytest.mark.parametrize(("kernel", "mistake"), MISTAKES.items())
def test_a_mistake_exceeds_the_tolerance(
    interpreter: Interpreter, tmp_path: Path, kernel: str, mistake: tuple[str, str]
) -> None:
    source = find_kernel(kernel)
    text = source.content.decode()
    head, define, body = text.partition(f"def {source.function}(")
    assert mistake[0] in body
    wrong = tmp_path / "wrong.py"
    wrong.write_text(head + define + body.replace(*mistake, 1))
    _, args, settings = next(sample for sample in SAMPLES if sample[0] == kernel)
    assert not interpreter.interpret(f"{wrong}:{source.function}", args, settings).matches


def test_one_wrong_element_is_detected(interpreter: Interpreter) -> None:
    done = interpreter.interpret(
        "vector_add", {"n_elements": 70}, {"BLOCK_SIZE": 32}, wrong="output_ptr"
    )
    assert done.matches is False
    assert done.max_abs_error == pytest.approx(1.0)


def test_five_naive_kernels_move_eight_matrices_and_four_columns(interpreter: Interpreter) -> None:
    kernels = [kernel for kernel, _, _ in SAMPLES if kernel.startswith("softmax_naive")]
    moved = [interpreter.interpret(kernel, ROWS, {}) for kernel in kernels]
    values = ROWS["n_rows"] * ROWS["n_cols"]
    assert sum(each.read for each in moved) == 4 * (5 * values + 2 * ROWS["n_rows"])
    assert sum(each.written for each in moved) == 4 * (3 * values + 2 * ROWS["n_rows"])
