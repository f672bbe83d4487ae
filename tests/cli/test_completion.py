"""Shell completion of kernels, GPUs and options, through click's script for bash."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from irlens import gpus as arch


def offered(words: str, folder: Path | None = None) -> list[str]:
    asked = {"_IRLENS_COMPLETE": "bash_complete", "COMP_WORDS": words,
             "COMP_CWORD": str(words.count(" "))}  # fmt: skip
    ran = subprocess.run(
        [sys.executable, "-m", "irlens"], env={**os.environ, **asked}, cwd=folder,
        capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert ran.stderr == ""
    return ran.stdout.splitlines()


@pytest.mark.parametrize(
    "words", ["inspect", "diff", "diff matmul", "check", "check matmul", "suggest", "sweep", "tui"]
)
def test_kernels_and_where_there_is_none_files(words: str) -> None:
    assert offered(f"irlens {words} flash") == ["file,flash", "plain,flash_attention"]
    assert offered(f"irlens {words} src/m") == ["file,src/m"]


def test_the_project_s_own_kernels(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "softer.py").touch()
    (tmp_path / "pyproject.toml").write_text('[tool.irlens]\nkernels = "mine"\n')
    assert offered("irlens inspect soft", tmp_path)[1:3] == ["plain,softer", "plain,softmax"]
    (tmp_path / "pyproject.toml").write_text('[tool.irlens]\nkernels = "nowhere"\n')
    assert offered("irlens inspect soft", tmp_path) == ["file,soft"]


def test_gpus_one_after_the_other() -> None:
    assert offered("irlens sweep softmax -t mi300x") == ["plain,mi300x"]
    assert "plain,h100,mi300x" in offered("irlens sweep softmax --target h100,mi3")
    every = offered("irlens inspect softmax -t ")
    assert every == [f"plain,{gpu.name}" for gpu in arch.gpus()]
    assert offered("irlens inspect softmax -t nothing") == [""]


@pytest.mark.parametrize(
    ("words", "option"), [("cache clean --env", "--environments"), ("cache cl", "clean")]
)
def test_commands_and_options(words: str, option: str) -> None:
    assert offered(f"irlens {words}") == [f"plain,{option}"]
