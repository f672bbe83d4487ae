"""Renew the output blocks of the README and the user guide by running their commands.

python docs/outputs.py
"""

import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(
    r"(?P<head><!-- output: irlens (?P<arguments>.*?) -->\n```(?:text|markdown)\n)"
    r"(?P<output>.*?)(?P<tail>```\n<!-- end -->)",
    re.DOTALL,
)


def run(arguments: str) -> str:
    """Return what a command prints; it may exit with 1, as ``diff`` does."""
    command = [sys.executable, "-m", "irlens", *shlex.split(arguments)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    if ran.returncode > 1:
        raise SystemExit(f"irlens {arguments}: {ran.stderr}")
    return ran.stdout


def main() -> None:
    """Rewrite every page whose output changed."""
    for page in PAGES:
        text = page.read_text()
        renewed = BLOCK.sub(lambda m: m["head"] + run(m["arguments"]) + m["tail"], text)
        if renewed != text:
            page.write_text(renewed)
            print(page.relative_to(ROOT))


if __name__ == "__main__":
    main()
