"""Whether a program compiles the same kernels without the GPU as on it.

    python benchmarks/record_both_ways.py PROGRAM...

Each program runs twice under ``irlens record``: on this machine's GPU, and with that GPU pretended.
Prints for each kernel whether every stage, byte by byte, and the manifest are the same. What a
program compiles after it has asked for a value is there once only.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from irlens.capturing import find_device
from irlens.cli.subject import known_gpu
from irlens.model.capture import MANIFEST_NAME, STAGE_ORDER

_COMPARED = {f".{stage}" for stage in STAGE_ORDER} | {".json"}


def record(program: str, place: Path, *options: str) -> list[Path]:
    """Return the captures of a program, in the order of its launches."""
    command = [sys.executable, "-m", "irlens", "record", "-o", str(place), *options, program]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
    return sorted(place.iterdir())


def differing(one: Path, other: Path) -> list[str]:
    """Return the names of the files that are not the same in two captures."""
    names = {path.name for path in (*one.iterdir(), *other.iterdir()) if path.suffix in _COMPARED}
    files = [(one / name, other / name) for name in sorted(names)]
    return [a.name for a, b in files if not b.exists() or a.read_bytes() != b.read_bytes()]


def main() -> None:
    """Compare every program that is named."""
    device = find_device()
    if device is None:
        sys.exit("there is no GPU here")
    target = known_gpu(device).name
    compared = same = 0
    for program in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as folder:
            real = record(program, Path(folder, "real"))
            pretended = record(program, Path(folder, "pretended"), "--target", target)
            for one, other in zip(real, pretended, strict=False):
                different = differing(one, other)
                compared, same = compared + 1, same + (not different)
                print(
                    program, one.name, "differs in " + ", ".join(different) if different else "same"
                )
            for alone in real[len(pretended) :]:
                print(program, alone.name, "was compiled on the GPU only")
    print(f"{same} of {compared} kernels are the same, {MANIFEST_NAME} included")


if __name__ == "__main__":
    main()
