"""Compare the kernels that a program compiles on the GPU and on the fake device.

    python benchmarks/record_both_ways.py PROGRAM...

Runs each program twice under ``irlens record``: on this machine's GPU, and on a fake device of the
same kind. Prints for each kernel whether every stage and the manifest are identical, except for the
name of the directory in which TorchInductor wrote it, and Triton's key for the cache entry
(``hash`` in the metadata). The key has the version of ptxas, and one run on a GPU may use two:
PyTorch's CUDA builds set ``TRITON_PTXAS_PATH`` to their own in TorchInductor's worker processes,
not in the program's own process, which compiles until the workers are ready. On an H100 with
PyTorch 2.11 (CUDA 13.0) and Triton 3.6, the keys of eight kernels differed between
``TORCHINDUCTOR_COMPILE_THREADS=1`` and ``=8`` in this part alone; with ``TRITON_PTXAS_PATH`` set
for all processes they were equal. Kernels that a program compiles after it read a value, or that it
chooses by their time, exist only on the GPU.
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
from irlens.session.session import known_gpu

_COMPARED = {f".{stage}" for stage in STAGE_ORDER} | {".json"}
_WORKSPACE = re.compile(rb"\.irlens-tmp-[0-9a-f]+-[0-9a-f]+")
_KEY = re.compile(rb'"hash": "[0-9a-f]+", ')
_NUMBERS = re.compile(rb"^(\.b8 \d+|\.global .* assertFile_).*\n", re.MULTILINE)


def record(program: str, folder: Path, *options: str) -> list[Path]:
    """Return the captures of a program, in the order of its launches."""
    command = [sys.executable, "-m", "irlens", "record", "-o", str(folder), *options, program]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
    return sorted(folder.iterdir())


def differing(one: Path, other: Path) -> list[str]:
    """Return the names of the files that differ between two captures."""
    names = {path.name for path in (*one.iterdir(), *other.iterdir()) if path.suffix in _COMPARED}
    files = [(one / name, other / name) for name in sorted(names)]
    return [a.name for a, b in files if not b.exists() or content(a) != content(b)]


def content(path: Path) -> bytes:
    """Return the content of a file without the names of a run's temporary directories.

    PTX encodes the strings of debug information and assertions as numbers, and a cubin's debug
    information is compressed: both are removed.
    """
    data = path.read_bytes()
    if path.suffix == ".ptx":
        data = _NUMBERS.sub(b"", data)
    if path.suffix == ".cubin":
        file = elf.read(data)
        kept = (section for section in file.sections if "debug" not in section.name)
        data = b"".join(section.name.encode() + file.content(section) for section in kept)
    if path.suffix == ".json":
        data = _KEY.sub(b"", data)
    return _WORKSPACE.sub(b"", data)


def variant(entry: Path) -> tuple[object, ...]:
    """Return the identity of a capture among those of its program."""
    (capture,) = load(entry)
    assert isinstance(capture, Capture)
    return capture.kernel, capture.config, content(entry / MANIFEST_NAME)


def paired(real: list[Path], fake: list[Path]) -> Iterator[tuple[Path, Path | None]]:
    """Yield each capture from the GPU with its counterpart, if there is one."""
    left = [(variant(entry), entry) for entry in fake]
    for one in real:
        identity = variant(one)
        other = next((pair for pair in left if pair[0] == identity), None)
        if other is not None:
            left.remove(other)
        yield one, None if other is None else other[1]


def main() -> None:
    """Compare the programs of the command line."""
    device = find_device()
    if device is None:
        sys.exit("no GPU in this machine")
    target = known_gpu(device).name
    compared = same = 0
    for program in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as folder:
            real = record(program, Path(folder, "real"))
            fake = record(program, Path(folder, "fake"), "--target", target)
            for one, other in paired(real, fake):
                if other is None:
                    print(program, one.name, "is only compiled on the GPU")
                    continue
                different = differing(one, other)
                compared, same = compared + 1, same + (not different)
                verdict = "differs in " + ", ".join(different) if different else "same"
                print(program, one.name, verdict)
            print(program, f"compiled {len(real)} kernels on the GPU, {len(fake)} without it")
    print(f"{same} of {compared} kernels are identical, {MANIFEST_NAME} included")


if __name__ == "__main__":
    main()
