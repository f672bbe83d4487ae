"""Additions touch few files: scripts/additions.py derives the number from the tree."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[1] / "scripts" / "additions.py"


def test_no_addition_touches_more_files_than_its_limit() -> None:
    ran = subprocess.run(
        [sys.executable, str(SCRIPT)], capture_output=True, text=True, check=False, timeout=120
    )
    assert ran.returncode == 0, ran.stdout
    for file in ("figures/table.py", "model/resources.py", "render/csv.py"):
        assert f"irlens/{file}" in ran.stdout
