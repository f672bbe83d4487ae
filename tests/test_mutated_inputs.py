"""A small part of ``benchmarks/mutated_inputs.py``: damaged captures get an answer or one line."""

import subprocess
import sys
import time
from pathlib import Path

from irlens.isa import mlir
from irlens.isa.llir import parser as llir
from irlens.isa.mlir.syntax import MlirSyntax

BENCHMARK = Path(__file__).parents[1] / "benchmarks" / "mutated_inputs.py"


def test_no_damage_ends_in_a_traceback() -> None:
    command = [sys.executable, str(BENCHMARK), "-n", "12", "--seed", "7", "--jobs", "2"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("12 inputs of ")


def test_a_reference_that_is_no_number() -> None:
    for scope in ("!NaN", "!!2", "!"):
        text = (
            "define ptx_kernel void @k() !dbg !1 {\n  ret void, !dbg !3\n}\n"
            '!0 = !DIFile(filename: "k.py", directory: "")\n'
            f"!3 = !DILocation(line: 4, column: 1, scope: {scope})\n"
        )
        assert llir.parse(text).functions


def test_a_line_of_blanks_takes_linear_time() -> None:
    line = " " * 300_000 + "%0 = tt.x : i32 loc(#loc)"
    begun = time.process_time()
    assert list(MlirSyntax().code_lines(line)) == [(1, line.removesuffix(" loc(#loc)"))]
    assert time.process_time() - begun < 5


def test_blanks_at_the_end_take_linear_time() -> None:
    text = "module {\n}\n"
    for blanks in ("\n" * 100_000, " " * 1_000_000, "\t\n" * 100_000):
        begun = time.process_time()
        assert mlir.parse(text + blanks, stage="ttir").operations
        assert time.process_time() - begun < 5
