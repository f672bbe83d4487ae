"""Whether a program compiles the same kernels without the GPU as on it.

    python benchmarks/record_both_ways.py PROGRAM...

Each program runs twice under ``irlens record``: on this machine's GPU, and with that GPU pretended.
Prints for each kernel whether every stage, byte by byte, and the manifest are the same, but for the
name of the directory in which TorchInductor wrote it. What a program compiles after it has asked
for a value is there once only, and so is what a program chooses by its time.
"""

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from irlens.artifacts import elf
from irlens.artifacts.load import load
from irlens.compiler import find_device
from irlens.model.capture import MANIFEST_NAME, STAGE_ORDER, Capture
from irlens.session.reports import known_gpu

_COMPARED = {f".{stage}" for stage in STAGE_ORDER} | {".json"}
_WORKSPACE = re.compile(rb"\.irlens-tmp-[0-9a-f]+-[0-9a-f]+")
_NUMBERS = re.compile(rb"^(\.b8 \d+|\.global .* assertFile_).*\n", re.MULTILINE)


def record(program: str, place: Path, *options: str) -> list[Path]:
    """Return the captures of a program, in the order of its launches."""
    command = [sys.executable, "-m", "irlens", "record", "-o", str(place), *options, program]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
    return sorted(place.iterdir())


def differing(one: Path, other: Path) -> list[str]:
    """Return the names of the files that are not the same in two captures."""
    names = {path.name for path in (*one.iterdir(), *other.iterdir()) if path.suffix in _COMPARED}
    files = [(one / name, other / name) for name in sorted(names)]
    return [a.name for a, b in files if not b.exists() or content(a) != content(b)]


def content(path: Path) -> bytes:
    """Return what a file holds, whichever directory a run was given to work in.

    In PTX the strings of debug information, and of where an assertion stands, are written out in
    numbers, and a cubin's debug information is packed: these are left out.
    """
    read = path.read_bytes()
    if path.suffix == ".ptx":
        read = _NUMBERS.sub(b"", read)
    if path.suffix == ".cubin":
        file = elf.read(read)
        kept = (section for section in file.sections if "debug" not in section.name)
        read = b"".join(section.name.encode() + file.content(section) for section in kept)
    return _WORKSPACE.sub(b"", read)


def variant(entry: Path) -> tuple[object, ...]:
    """Return what tells a capture from the others of its program."""
    (capture,) = load(entry)
    assert isinstance(capture, Capture)
    return capture.kernel, capture.config, content(entry / MANIFEST_NAME)


def paired(real: list[Path], pretended: list[Path]) -> Iterator[tuple[Path, Path | None]]:
    """Yield each capture of the GPU's with its counterpart."""
    left = [(variant(entry), entry) for entry in pretended]
    for one in real:
        known = variant(one)
        other = next((pair for pair in left if pair[0] == known), None)
        if other is not None:
            left.remove(other)
        yield one, None if other is None else other[1]


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
            for one, other in paired(real, pretended):
                if other is None:
                    print(program, one.name, "was compiled so on the GPU only")
                    continue
                different = differing(one, other)
                compared, same = compared + 1, same + (not different)
                how = "differs in " + ", ".join(different) if different else "same"
                print(program, one.name, how)
            print(program, f"compiled {len(real)} kernels on the GPU, {len(pretended)} without it")
    print(f"{same} of {compared} kernels are the same, {MANIFEST_NAME} included")


if __name__ == "__main__":
    main()
