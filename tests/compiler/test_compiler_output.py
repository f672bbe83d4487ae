"""Output and exit code of a process that the compiler ends."""

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import ctypes, os, sys
from pathlib import Path
from irlens.compiler.compiler_output import redirect_output, report_crashes_to
report_crashes_to(os.open("crash.txt", os.O_CREAT | os.O_WRONLY))
for number in range(2):
    with redirect_output(Path(f"output{number}.txt")):
        os.write(2, b"error: what LLVM says\\n")
        if sys.argv[1] == "inside":
            ctypes.CDLL(None).exit(1)
if sys.argv[1] == "after":
    ctypes.CDLL(None).exit(1)
"""


@pytest.mark.parametrize(
    ("exits", "code", "copies"), [("inside", 2, 1), ("after", 1, 2), ("never", 0, 2)]
)
def test_the_exit_code_of_a_compiler_exit(
    tmp_path: Path, exits: str, code: int, copies: int
) -> None:
    """Triton 3.6's LLVM calls exit(1) on inline assembly; 1 means a difference in irlens."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, exits],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == code
    if code == 2:
        assert done.stderr == ""
        assert (tmp_path / "crash.txt").read_text() == "error: what LLVM says\n"
    else:
        assert done.stderr == "error: what LLVM says\n" * copies
