"""The import of NumPy: what its OpenBLAS reads while it loads, and no child process inherits."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import os
from irlens.analyze.numpy_import import load_numpy
load_numpy()
import numpy
print(numpy.seen, os.environ.get("OPENBLAS_THREAD_TIMEOUT"))
"""


@pytest.mark.parametrize(("chosen", "expected"), [(None, "4 None"), ("20", "20 20")])
def test_openblas_does_not_poll(tmp_path: Path, chosen: str | None, expected: str) -> None:
    # A stand-in for NumPy keeps what OpenBLAS would read.
    (tmp_path / "numpy.py").write_text(
        "import os\nseen = os.environ.get('OPENBLAS_THREAD_TIMEOUT')\n"
    )
    environment = {k: v for k, v in os.environ.items() if k != "OPENBLAS_THREAD_TIMEOUT"}
    if chosen is not None:
        environment["OPENBLAS_THREAD_TIMEOUT"] = chosen
    path = os.pathsep.join([str(tmp_path), *filter(None, [environment.get("PYTHONPATH")])])
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        capture_output=True, text=True, check=True, env=environment | {"PYTHONPATH": path},
    )  # fmt: skip
    assert ran.stdout.strip() == expected
