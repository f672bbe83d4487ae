"""Shell completion, through irlens's script in bash itself and click's for the other shells."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from irlens import figures
from irlens import gpus as arch
from tests.running import irlens

KERNEL = """
import triton
import triton.language as tl

@triton.jit
def attention(q_ptr, BLOCK: tl.constexpr, CAUSAL: tl.constexpr):
    pass
"""


def offered(words: str, folder: Path | None = None, shell: str = "zsh") -> list[str]:
    """Return what a shell is told."""
    asked = {"_IRLENS_COMPLETE": f"{shell}_complete", "COMP_WORDS": words,
             "COMP_CWORD": str(words.count(" "))}  # fmt: skip
    ran = irlens(cwd=folder, environment=asked)
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.split("\n")
    return [value for kind, value in zip(lines[::3], lines[1::3], strict=False) if kind == "plain"]


def replied(line: str, folder: Path, breaks: str = " \t\n\"'><=;|&(:") -> list[str]:
    """Return the completions that bash has after a line, and "nospace" if it adds no space."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("there is no bash")
    python = f'"{sys.executable}" -m irlens'
    script = (
        f'irlens() {{ {python} "$@"; }}; export -f irlens; env() {{ command env "${{@:1:3}}" '
        f'{python}; }}\neval "$({python} completion bash)"\n'
        "compopt() { wanted+=($2); }\n"
        "COMP_LINE=$1 COMP_POINT=${#1} COMP_WORDBREAKS=$2; _irlens_completion irlens\n"
        'printf \'%s\\n\' "${COMPREPLY[@]}" "${wanted[@]}"'
    )
    ran = subprocess.run(
        [bash, "-c", script, "bash", line, breaks], cwd=folder, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    return [each for each in ran.stdout.splitlines() if each != "default"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(KERNEL)
    (tmp_path / "notes.txt").write_text("none")
    (tmp_path / ".hidden.py").write_text(KERNEL)
    (tmp_path / "captures").mkdir()
    (tmp_path / "captures" / "k.ptx").touch()
    return tmp_path


@pytest.mark.parametrize("command", ["inspect", "diff", "diff matmul", "check", "sweep", "tui"])
def test_the_folder_comes_before_the_samples(command: str, folder: Path) -> None:
    shown = offered(f"irlens {command} ", folder)
    assert shown[:3] == ["mine.py:attention", "captures/", "mine.py"]
    assert "softmax" in shown[3:]
    assert not {"notes.txt", ".hidden.py"} & {*shown}


def test_paths_and_kernels_are_completed(folder: Path) -> None:
    assert offered("irlens inspect mi", folder) == ["mine.py:attention", "mine.py"]
    assert offered("irlens inspect mine.py:", folder) == ["mine.py:attention"]
    assert offered("irlens inspect mine.py:x", folder) == []
    assert offered("irlens inspect captures/", folder) == ["captures/k.ptx"]
    assert offered("irlens inspect not", folder) == ["notes.txt"]  # may be a log with kernels
    assert offered("irlens inspect nowhere/x", folder) == []
    assert offered("irlens inspect flash", folder) == ["flash_attention"]


def test_a_file_that_does_not_parse_is_still_a_file(folder: Path) -> None:
    (folder / "mine.py").write_text("def (:")
    assert offered("irlens inspect mi", folder) == ["mine.py"]


def test_bash_gets_the_part_of_a_word_that_it_replaces(folder: Path) -> None:
    assert replied("irlens inspect mi", folder) == ["mine.py:attention", "mine.py"]
    assert replied("irlens inspect mine.py:at", folder) == ["attention"]
    assert replied("irlens inspect cap", folder) == ["captures/", "nospace"]
    assert replied("irlens inspect mine.py --set CA", folder) == ["CAUSAL=", "nospace"]
    assert replied("irlens sweep softmax --rank=time_l", folder) == ["time_low"]
    assert replied("irlens inspect vector_add -s BLOCK_SIZE=", folder) == ["1024"]
    without = " \t\n"
    assert replied("irlens inspect mine.py:at", folder, without) == ["mine.py:attention"]
    assert replied("irlens sweep softmax --rank=time_l", folder, without) == ["--rank=time_low"]


def test_the_project_s_own_kernels(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "softer.py").touch()
    (tmp_path / "pyproject.toml").write_text('[tool.irlens]\nkernels = "mine"\n')
    assert offered("irlens inspect soft", tmp_path)[:2] == ["softer", "softmax"]
    (tmp_path / "pyproject.toml").write_text('[tool.irlens]\nkernels = "nowhere"\n')
    assert offered("irlens inspect soft", tmp_path) == []


def test_gpus_one_after_the_other() -> None:
    assert offered("irlens sweep softmax -t mi300x") == ["mi300x"]
    assert "h100,mi300x" in offered("irlens sweep softmax --target h100,mi3")
    assert offered("irlens inspect softmax -t ") == [gpu.name for gpu in arch.gpus()]
    assert offered("irlens inspect softmax -t nothing") == []


def test_values_of_options(folder: Path) -> None:
    assert offered("irlens inspect softmax -f ma") == ["markdown"]
    assert offered("irlens scan -f json") == ["json", "jsonl"]
    assert offered("irlens inspect softmax --stage pt") == ["ptx"]
    assert offered("irlens diff softmax --stage ttir,pt") == ["ttir,ptx"]
    assert {*offered("irlens sweep softmax --rank ")} == {*figures.SWEEP_FIGURES}
    assert offered("irlens sweep softmax --sort registers,time_l") == ["registers,time_low"]
    assert offered("irlens inspect mine.py --set ", folder) == ["BLOCK=", "CAUSAL="]
    assert offered("irlens inspect nowhere.py --set ", folder) == []
    assert "IRL201" in offered("irlens explain irl2")
    assert "bank-conflict" in offered("irlens explain bank")


@pytest.mark.parametrize(
    ("words", "option"), [("cache clean --env", "--environments"), ("cache cl", "clean")]
)
@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_commands_and_options(words: str, option: str, shell: str) -> None:
    if shell == "zsh":
        assert offered(f"irlens {words}") == [option]
    else:
        asked = {"_IRLENS_COMPLETE": "fish_complete", "COMP_WORDS": f"irlens {words}",
                 "COMP_CWORD": words.split()[-1]}  # fmt: skip
        assert option in irlens(environment=asked).out
