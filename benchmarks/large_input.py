"""Measure time and memory of `irlens inspect` on a very large kernel.

    python benchmarks/large_input.py [--sass]

Compiles a sort and a cumulative sum over 128 x 128 in one warp for sm_90 (megabytes of PTX, LLVM IR
and machine code), then runs `irlens inspect` on the capture in a separate process.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

KERNEL = """
import triton
import triton.language as tl

@triton.jit
def large(x_ptr, out_ptr, N: tl.constexpr):
    rows = tl.arange(0, N)[:, None]
    cols = tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + rows * N + cols)
    tl.store(out_ptr + rows * N + cols, tl.cumsum(tl.sort(x), 1))
"""


def main() -> None:
    """Print the sizes of the stages, the time and the peak memory."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "large.py")
        path.write_text(KERNEL)
        environment = {**os.environ, "IRLENS_CACHE_DIR": folder}
        irlens = [sys.executable, "-m", "irlens", "inspect"]
        tensor = "fp32[128,128]"
        request = [
            f"{path}:large", "--target", "sm_90", "--num-warps", "1", "--no-run",
            "--arg", f"x_ptr={tensor}", "--arg", f"out_ptr={tensor}", "--set", "N=128",
        ]  # fmt: skip
        subprocess.run([*irlens, *request, "--stage", "metadata"], check=True, env=environment,
                       stdout=subprocess.DEVNULL)  # fmt: skip
        (capture,) = Path(folder, "captures").glob("*/*")
        for stage in sorted(capture.glob("large.*")):
            print(f"{stage.suffix[1:]:>8} {stage.stat().st_size:>12,} B")
        options = ["--sass"] if "--sass" in sys.argv else []
        begun = time.perf_counter()
        process = subprocess.Popen([*irlens, str(capture), *options], env=environment,
                                   stdout=subprocess.DEVNULL)  # fmt: skip
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - begun
        print(f"irlens inspect: {seconds:.1f} s, {usage.ru_maxrss / 1024:.0f} MiB, status {status}")


if __name__ == "__main__":
    main()
