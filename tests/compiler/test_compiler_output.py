"""Output and exit code of a process that the compiler ends."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import ctypes, os, sys
from pathlib import Path
from irlens.compiler.compiler_output import redirect_output, report_crashes_to
report_crashes_to(int(sys.argv[2]))
for number in range(2):
    with redirect_output(Path(f"output{number}.txt")):
        os.write(2, b"error: what LLVM says\\n")
        if sys.argv[1] == "inside":
            ctypes.CDLL(None).exit(1)
if sys.argv[1] == "after":
    ctypes.CDLL(None).exit(1)
"""


@pytest.mark.parametrize(
    ("exits", "code", "copies"), [("inside", 2, 0), ("after", 1, 2), ("never", 0, 2)]
)
def test_the_exit_code_of_a_compiler_exit(
    tmp_path: Path, exits: str, code: int, copies: int
) -> None:
    """Triton 3.6's LLVM calls exit(1) on inline assembly; 1 means a difference in irlens."""
    crash, crash_end = os.pipe()  # its end is that of the output, which may outlive the process
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, exits, str(crash_end)],
        cwd=tmp_path, capture_output=True, text=True, check=False, pass_fds=[crash_end],
    )  # fmt: skip
    os.close(crash_end)
    with os.fdopen(crash) as stream:
        crashed = stream.read()
    assert done.returncode == code
    printed = "error: what LLVM says\n"
    assert crashed == (printed if code == 2 else "")
    assert done.stderr == printed * copies
