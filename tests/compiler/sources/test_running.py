"""How a file is run so that it launches its kernels."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from irlens.compiler.sources.description import find_kernel, read_kernels
from irlens.compiler.sources.running import how_to_run
from irlens.model.errors import CaptureError
from irlens.model.recording import PROGRAM_NAME

KERNEL = """
import triton
@triton.jit
def scale(x):
    pass
def main():
    scale[(1,)](1)
"""


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        ("if __name__ == '__main__':\n    main()\n", "irlens record mine.py"),
        ("main()\n", "irlens record mine.py"),
        ("for n in (1, 2):\n    scale[(n,)](n)\n", "irlens record mine.py"),
        ("out = scale[(1,)](1)\n", "irlens record mine.py"),
        ("def test_scale():\n    main()\n", "irlens record -m pytest mine.py"),
        ("class TestScale:\n    pass\n", "irlens record -m pytest mine.py"),
        ("from ops import go\nfor _ in range(3):\n    go()\n", "irlens record mine.py"),
        ("from ops import go\nGO = go(3)\n", None),
        ("SIZES = list(range(3))\n", None),
        ("@triton.jit\ndef other(x):\n    pass\n", None),
        ("def broken(", None),
    ],
)
def test_what_runs_by_itself_is_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rest: str, expected: str | None
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "mine.py"
    path.write_text(KERNEL + rest)
    said = how_to_run(path)
    assert said is None if expected is None else said is not None and said.endswith(f"  {expected}")


def test_a_recorded_program_names_its_recording(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To record it again would not help: only the recording knows the launches."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "my file.py"
    path.write_text(KERNEL + "main()\n")
    recording = tmp_path / "irlens-my_file"
    recording.mkdir()
    assert "irlens record" in (how_to_run(path) or "")
    (recording / PROGRAM_NAME).write_text("{}")
    assert how_to_run(path) == "its launches are recorded:  irlens inspect irlens-my_file"


@pytest.mark.parametrize(
    ("other", "content", "line"),
    [
        ("test_norm.py", "from a.norm import f\ndef test_f(): f()\n", "-m pytest test_norm.py"),
        ("a.py", "import norm\ndef test_f():\n    norm.f()\n", "-m pytest a.py"),
        ("train.py", "from . import norm\nif __name__ == '__main__':\n    norm.f()\n", "train.py"),
        ("train.py", "import other\nif __name__ == '__main__':\n    other.f()\n", None),
        ("lib.py", "import norm\n", None),
    ],
)
def test_what_runs_nothing_names_what_runs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: str, content: str, line: str | None
) -> None:
    """Nothing of what is beside a file is executed."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "norm.py"
    path.write_text(KERNEL)
    (tmp_path / "broken.py").write_text("def broken(")
    (tmp_path / "deep.py").write_text(f"x = {'-' * 100_000}1")
    (tmp_path / other).write_text(content)
    said = how_to_run(path)
    assert said is None if line is None else (said or "").endswith(f"  irlens record {line}")


def test_a_pipe_beside_a_file_is_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "norm.py"
    path.write_text("import triton\n")
    os.mkfifo(tmp_path / "a.py")
    (tmp_path / "b.py").write_text("import norm\n\nif __name__ == '__main__':\n    norm.f()\n")
    script = (
        "import pathlib, sys\n"
        "from irlens.compiler.sources.running import how_to_run\n"
        "print(how_to_run(pathlib.Path(sys.argv[1])))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, path],
        capture_output=True, text=True, timeout=20, check=True,
    )  # fmt: skip
    assert "b.py uses it" in done.stdout


def test_a_name_is_quoted_for_the_shell(tmp_path: Path) -> None:
    path = tmp_path / "my file.py"
    path.write_text(KERNEL + "main()\n")
    assert (how_to_run(path) or "").endswith(f"irlens record '{path}'")


def test_errors_about_a_file_name_it(tmp_path: Path) -> None:
    several = tmp_path / "several.py"
    several.write_text(KERNEL + "@triton.jit\ndef other(x):\n    pass\nmain()\n")
    with pytest.raises(CaptureError) as raised:
        find_kernel(str(several))
    assert raised.value.hint is not None
    assert raised.value.hint.splitlines() == [
        f"it runs something: capture its own launches with  irlens record {several}",
        f"write {several}:scale",
    ]
    bench = tmp_path / "bench.py"
    bench.write_text("from several import main\nif __name__ == '__main__':\n    main()\n")
    with pytest.raises(CaptureError, match=r"has no @triton\.jit function") as raised:
        read_kernels(bench)
    assert "irlens record" in (raised.value.hint or "")
