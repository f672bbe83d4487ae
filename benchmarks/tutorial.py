"""Time each step of docs/tutorial/slow-to-fast.md on a GPU, and check what it computes.

    python benchmarks/tutorial.py

Needs PyTorch and a Hopper GPU or newer. Each time is the median of the launches of 200 ms,
with a cleared L2 before each, as ``triton.testing.do_bench`` takes it.
"""

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import triton
from triton.tools.tensor_descriptor import TensorDescriptor

FOLDER = Path(__file__).parents[1] / "docs" / "tutorial"
M, N, K = 8192, 4096, 4096
#: Tile, warps and stages by step; a file other than linear.py where the step has one.
STEPS: tuple[tuple[str, str, torch.dtype, tuple[int, int, int], int, int], ...] = (
    ("2. as written", "linear", torch.float32, (32, 32, 32), 4, 1),
    ("3. two stages", "linear", torch.float32, (32, 32, 32), 4, 2),
    ("4. tiles of 128 x 256, 8 warps", "linear", torch.float32, (128, 256, 32), 8, 3),
    ("5. the same, 4 warps", "linear", torch.float32, (128, 256, 32), 4, 3),
    ("6. bf16", "linear", torch.bfloat16, (128, 256, 64), 8, 3),
    ("7. grouped", "grouped", torch.bfloat16, (128, 256, 64), 8, 3),
    ("8. descriptors", "descriptors", torch.bfloat16, (128, 256, 64), 8, 3),
)


def _kernel(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.linear


def _launch(
    name: str,
    operands: tuple[torch.Tensor, ...],
    tile: tuple[int, int, int],
    options: dict[str, int],
) -> Callable[[], None]:
    x, w, bias, y = operands
    bm, bn, bk = tile
    down, across = triton.cdiv(M, bm), triton.cdiv(N, bn)
    kernel = _kernel(name)
    if name == "linear":
        return lambda: kernel[(down, across)](x, w, bias, y, M, N, K, *tile, **options)
    if name == "descriptors":
        x = TensorDescriptor.from_tensor(x, [bm, bk])
        w = TensorDescriptor.from_tensor(w, [bn, bk])
        y = TensorDescriptor.from_tensor(y, [bm, bn])
    return lambda: kernel[(down * across,)](x, w, bias, y, M, N, K, *tile, 8, **options)


def main() -> None:
    """Print a row for each step."""
    print(torch.cuda.get_device_name(), "Triton", triton.__version__)
    for title, name, dtype, tile, warps, stages in STEPS:
        x = torch.randn(M, K, device="cuda", dtype=dtype)
        w = torch.randn(N, K, device="cuda", dtype=dtype)
        bias = torch.randn(N, device="cuda", dtype=dtype)
        y = torch.empty(M, N, device="cuda", dtype=dtype)
        launch = _launch(name, (x, w, bias, y), tile, {"num_warps": warps, "num_stages": stages})
        launch()
        torch.testing.assert_close(
            y.float(), torch.nn.functional.linear(x, w, bias).float(), rtol=2e-2, atol=0.5
        )
        times = triton.testing.do_bench(launch, rep=200, return_mode="all")
        print(f"{title:34} {sorted(times)[len(times) // 2] * 1e3:8.1f} us")


if __name__ == "__main__":
    main()
