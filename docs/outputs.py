"""Renew the output blocks of the README and the documentation by running their commands.

python docs/outputs.py [PAGE...]

A block follows the comment ``<!-- output: irlens ARGUMENTS -->``, which may end with ``| head -N``.
A page with the comment ``<!-- folder: tutorial -->`` runs its commands in a copy of that folder,
one after the other, so that a later one finds what an earlier one left; ``<!-- run: COMMAND -->``
is a shell command between them, such as an edit or a commit.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
#: What a page runs: the arguments of irlens and the output shown, or a shell command.
STEP = re.compile(
    r"(?P<head><!-- output: irlens (?P<arguments>.*?)(?: \| head -(?P<lines>\d+))? -->\n"
    r"```(?:text|markdown)\n)"
    r"(?P<output>.*?)(?P<tail>```\n<!-- end -->)"
    r"|<!-- run: (?P<command>.*?) -->",
    re.DOTALL,
)
_FOLDER = re.compile(r"<!-- folder: (\S+) -->")


def has_folder(page: str) -> bool:
    """Return whether a page's commands depend on each other."""
    return _FOLDER.search(page) is not None


@contextmanager
def folder_of(page: str) -> Iterator[Path]:
    """Yield where a page's commands run: the repository, or a copy of the page's folder."""
    named = _FOLDER.search(page)
    if named is None:
        yield ROOT
        return
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / Path(named[1]).name
        shutil.copytree(ROOT / "docs" / named[1], copy, ignore=shutil.ignore_patterns("*.md"))
        yield copy


def run(arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run an irlens command as the page's reader does.

    The output of ``record`` is the program's, and irlens's own answer goes to stderr: both are
    shown.
    """
    command = [sys.executable, "-m", "irlens", *shlex.split(arguments)]
    errors = subprocess.STDOUT if arguments.startswith("record ") else subprocess.PIPE
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return subprocess.run(
        command, stdout=subprocess.PIPE, stderr=errors, text=True, check=False, cwd=folder,
        env=os.environ | {"PYTHONPATH": path, "PYTHONWARNINGS": "ignore"},
    )  # fmt: skip


def run_shell(command: str, folder: Path) -> None:
    """Run a step between the commands."""
    subprocess.run(["bash", "-euc", command], check=True, cwd=folder, capture_output=True)


def renewed(page: str, run: Callable[[str, Path], subprocess.CompletedProcess[str]] = run) -> str:
    """Return a page with what its commands print now; ``diff`` and ``check`` may exit with 1.

    Args:
        run: Runs a command.
    """
    with folder_of(page) as folder:

        def output(step: re.Match[str]) -> str:
            if step["command"]:
                run_shell(step["command"], folder)
                return step[0]
            ran = run(step["arguments"], folder)
            if ran.returncode > 1:
                raise SystemExit(f"irlens {step['arguments']}: {ran.stderr}")
            shown = ran.stdout.splitlines(keepends=True)[: int(step["lines"] or 0) or None]
            return step["head"] + "".join(shown) + step["tail"]

        return STEP.sub(output, page)


def main() -> None:
    """Rewrite every page whose output changed."""
    for path in [Path(name).resolve() for name in sys.argv[1:]] or PAGES:
        text = path.read_text()
        if (now := renewed(text)) != text:
            path.write_text(now)
            print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
