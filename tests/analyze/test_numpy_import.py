"""The import of NumPy: what its OpenBLAS reads while it loads, and no child process inherits."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import os
from irlens.report.launch_figures import load_numpy
load_numpy()
import numpy
print(numpy.seen, os.environ.get("OPENBLAS_NUM_THREADS"))
"""


@pytest.mark.parametrize(("chosen", "expected"), [(None, "1 None"), ("2", "2 2")])
def test_openblas_starts_no_threads(tmp_path: Path, chosen: str | None, expected: str) -> None:
    # A stand-in for NumPy keeps what OpenBLAS would read.
    (tmp_path / "numpy.py").write_text("import os\nseen = os.environ.get('OPENBLAS_NUM_THREADS')\n")
    environment = {k: v for k, v in os.environ.items() if k != "OPENBLAS_NUM_THREADS"}
    if chosen is not None:
        environment["OPENBLAS_NUM_THREADS"] = chosen
    path = os.pathsep.join([str(tmp_path), *filter(None, [environment.get("PYTHONPATH")])])
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        capture_output=True, text=True, check=True, env=environment | {"PYTHONPATH": path},
    )  # fmt: skip
    assert ran.stdout.strip() == expected
