"""Renew what is generated: the README's output, the JSON Schema, the samples' reports.

    python samples/make.py

Run it with the newest supported Triton after a change that is meant to change them, and read the
difference before committing it: the tests hold all of it against what irlens writes.
"""

import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OUTPUT = re.compile(r"(<!-- output: irlens (.*?) -->\n```text\n).*?(```\n<!-- end -->)", re.S)


def irlens(*arguments: str) -> str:
    """Return what a command prints."""
    return subprocess.run(
        [sys.executable, "-m", "irlens", *arguments],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    ).stdout


def main() -> None:
    """Write everything."""
    readme = ROOT / "README.md"
    renewed = OUTPUT.sub(
        lambda match: match[1] + irlens(*shlex.split(match[2])) + match[3], readme.read_text()
    )
    readme.write_text(renewed)
    (ROOT / "samples" / "report.schema.json").write_text(irlens("schema"))


if __name__ == "__main__":
    main()
