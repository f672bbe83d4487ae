"""What the last output of a compiler says."""

import subprocess
import sys
from pathlib import Path

import pytest

from irlens.compiler.crashes import advice, crash, failed_pass, remarks

#: As MLIR prints it about Triton's passes (3.6 to 3.9).
FAILED = """k.py:4:1: error: 'ttng.async_tma_copy_global_to_local' op descriptor block differs
k.py:9:3: remark: Warp specialization is not supported for this loop
k.py:4:1: error: Failures have been detected while processing an MLIR pass pipeline
k.py:4:1: note: Pipeline failed while executing [`NVGPUWarpSpecialization` on 'builtin.module' \
operation]: reproducer generated at `std::errs`
"""
NESTED = (
    "note: Pipeline failed while executing [`Outer` on 'builtin.module' operation, "
    "`TritonGPUPipeline` on 'tt.func' operation: @k]: reproducer"
)
ASSERTION = (
    "python: /src/lib/Dialect/TritonGPU/Transforms/Pipeliner/WGMMAPipeline.cpp:212: void run(): "
    "Assertion `dots.size() == 1' failed.\n" + "#0 0x00007f00 foo (libtriton.so+0x1)\n" * 20
)


def test_the_innermost_pass_and_the_compilers_remarks() -> None:
    assert failed_pass(FAILED) == "NVGPUWarpSpecialization"
    assert failed_pass(NESTED) == "TritonGPUPipeline"
    assert failed_pass("error: nothing of a pass") is None
    assert failed_pass("1.\tRunning pass 'AMDGPU DAG->DAG' on function '@k'") == "AMDGPU DAG->DAG"
    assert remarks(FAILED) == ["Warp specialization is not supported for this loop"]


@pytest.mark.parametrize(
    ("printed", "text"),
    [
        (ASSERTION, "in WGMMAPipeline.cpp: dots.size() == 1"),
        ("LLVM ERROR: Cannot select: t1\nStack dump:\n", "Cannot select: t1"),
        (
            "UNREACHABLE executed at /src/lib/X.cpp:12!\n#0 0x1 f\n",
            "UNREACHABLE executed at /src/lib/X.cpp:12!",
        ),
        (
            "ptxas fatal   : Ptx assembly aborted due to errors\n",
            "Ptx assembly aborted due to errors",
        ),
        ("free(): invalid pointer\nAborted (core dumped)\n", "free(): invalid pointer"),
        ("", "it said nothing"),
    ],
)
def test_a_crash_is_one_line(printed: str, text: str) -> None:
    assert crash(printed)[0] == text


def test_what_to_try_follows_from_the_pass() -> None:
    assert "warp_specialize=False" in advice("NVGPUWarpSpecialization")
    assert "num_stages" in advice("TritonGPUPipeline")
    assert "--triton" in advice("SomethingElse")


def test_the_program_prints_a_line_and_what_to_try(tmp_path: Path) -> None:
    log = tmp_path / "output.txt"
    log.write_text(ASSERTION)
    command = [sys.executable, "-m", "irlens.compiler.crashes", "irlens: error: ", str(log)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr.splitlines() == [
        "irlens: error: in WGMMAPipeline.cpp: dots.size() == 1",
        "  try another num_stages; 1 pipelines nothing",
    ]
