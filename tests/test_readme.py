"""The commands of the README and the guide run, and their output is what they print."""

import re
import shlex
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from packaging.version import Version

from docs import outputs
from irlens.compiler.toolchains import triton_version
from tests.running import Ran, inline, irlens

__all__ = ["inline"]

ROOT = Path(__file__).parents[1]
TEXTS = {page.relative_to(ROOT).as_posix(): page.read_text() for page in outputs.PAGES}
TEXT = "\n".join(TEXTS.values())
#: Versions of Triton that the pages name; what they show is the newest's.
NAMED = set(re.findall(r"Triton (\d+\.\d+\.\d+)", TEXT))
SINGLE = [
    (step["arguments"], int(step["lines"] or 0) or None, step["output"])
    for text in TEXTS.values()
    if not outputs.has_folder(text)
    for step in outputs.STEP.finditer(text)
]


def without_sizes(text: str) -> str:
    """Drop the stages' sizes: their debug information holds paths, which differ in length."""
    kept, stages = [], False
    for line in text.splitlines():
        stages = line.startswith("Stages") or (stages and line.startswith(" "))
        kept += [] if stages else [line]
    return "\n".join(kept)


def run(arguments: str, folder: Path) -> CompletedProcess[str]:
    """Run a command here; what ``record`` runs prints to its stdout, and starts from nothing."""
    if arguments.startswith("record "):
        return outputs.run(arguments, folder)
    ran = irlens(*shlex.split(arguments), cwd=folder)
    return CompletedProcess(arguments, ran.code, ran.out, ran.err)


@pytest.mark.usefixtures("inline", "preloaded")
@pytest.mark.parametrize(("arguments", "lines", "shown"), SINGLE, ids=[each[0] for each in SINGLE])
def test_the_output_shown_is_what_irlens_prints(
    arguments: str, lines: int | None, shown: str
) -> None:
    is_older = Version(triton_version()) < max(map(Version, NAMED))
    if is_older and re.search(r"^passes |--passes|--layout|^explain \w+ IRL", arguments):
        pytest.skip("the page shows the passes and values of another Triton")
    if is_older and arguments == "suggest softmax --target h200":
        pytest.skip("a neighbour is 3.1 % faster with Triton 3.6: beyond the margin of 3 %")
    if arguments.startswith("traffic "):
        pytest.importorskip("torch", reason="the references are PyTorch's")
    own = run(arguments, ROOT)
    ran = Ran(own.returncode, own.stdout.encode(), own.stderr)
    assert ran.code == (1 if arguments.startswith("diff ") else 0), ran.err
    printed = "".join(ran.out.splitlines(keepends=True)[:lines])
    if "samples/" in arguments or f"Triton {triton_version()}" in shown:
        assert without_sizes(printed) == without_sizes(shown)
    else:  # another compiler, other numbers: the same lines begin the same
        labels = [line[:12].strip() for line in shown.splitlines() if line[:1].isalpha()]
        assert all(label in ran.out for label in labels[1:])


@pytest.mark.usefixtures("inline", "preloaded")
@pytest.mark.parametrize("page", [page for page, text in TEXTS.items() if outputs.has_folder(text)])
def test_a_tutorial_shows_what_its_commands_print(page: str) -> None:
    pytest.importorskip("torch", reason="tutorials record programs")
    if f"Triton {triton_version()}" not in TEXTS[page]:
        pytest.skip("the page shows what another Triton compiles")
    assert without_sizes(outputs.renewed(TEXTS[page], run)) == without_sizes(TEXTS[page])


def test_every_option_that_the_pages_name_exists() -> None:
    commands = re.findall(r"^\$ irlens (\w+)(.*?)(?:#.*)?$", TEXT, re.M)
    assert len(commands) > 10
    for command, rest in commands:
        told = irlens(command, "--help").out
        for option in re.findall(r"(?<=\s)--?[a-z][\w-]*", rest):
            assert option in told, (command, option)
