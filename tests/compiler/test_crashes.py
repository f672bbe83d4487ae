"""What the last output of a compiler says."""

import pytest

from irlens.compiler.crashes import advice, crash, died, failed_pass, remarks

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
    assert "warp_specialize=False" in advice("NVWSLowerAref")
    assert "num_stages" in advice("TritonGPUPipeline")
    assert "--triton" in advice("SomethingElse")


@pytest.mark.parametrize(
    ("code", "printed", "text"),
    [
        (-6, ASSERTION, "was stopped by SIGABRT in WGMMAPipeline.cpp: dots.size() == 1"),
        (-9, "", "was stopped by SIGKILL: it said nothing"),
        (2, "error: couldn't allocate\n", "exited with 2: couldn't allocate"),
    ],
)
def test_the_error_of_a_compiler_that_ended(code: int, printed: str, text: str) -> None:
    error = died("k", code, printed)
    assert error.message == f"the compiler of k {text}"
    assert error.hint is not None
    assert error.hint.startswith("try ")
