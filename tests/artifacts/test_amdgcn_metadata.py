"""What AMD's assembly says of itself, against the code object made of it."""

import tarfile
from pathlib import Path

from msgspec.structs import replace

from irlens.artifacts import hsaco
from tests.tables import each_row

SAMPLE = Path(__file__).parents[2] / "samples" / "captures" / "softmax-mi300x"
ARCHIVES = [
    Path(__file__).parents[1] / "data" / "amd" / name
    for name in ("triton.tar.xz", "loops.tar.xz", "waves_per_eu.tar.xz")
]


def pairs() -> dict[str, tuple[str, bytes]]:
    """Assembly and code object of the same compilation, by name."""
    files = {path.name: path.read_bytes() for path in SAMPLE.iterdir() if path.is_file()}
    for archive in ARCHIVES:
        with tarfile.open(archive) as tar:
            for member in tar:
                if member.name.endswith((".amdgcn", ".hsaco")) and (
                    file := tar.extractfile(member)
                ):
                    files[member.name] = file.read()
    stems = {name.removesuffix(".amdgcn") for name in files if name.endswith(".amdgcn")}
    return {
        stem: (files[f"{stem}.amdgcn"].decode(), files[f"{stem}.hsaco"])
        for stem in sorted(stems)
        if f"{stem}.hsaco" in files
    }


@each_row(("name", "both"), pairs().items())
def test_it_is_what_the_note_of_the_code_object_says(name: str, both: tuple[str, bytes]) -> None:
    text, binary = both
    expected = [
        replace(kernel, register_granules=None, code_bytes=None)
        for kernel in hsaco.read(binary).kernels
    ]
    assert hsaco.read_assembly(text) == expected, name


def test_there_is_something_to_compare() -> None:
    assert len(pairs()) >= 1


def test_text_without_metadata_describes_no_kernel() -> None:
    assert hsaco.read_assembly("v_mov_b32 v0, v1\n") == []
    broken = ".amdgpu_metadata\namdhsa.kernels:\n  - .name: k\n    .vgpr_count: x\n"
    assert hsaco.read_assembly(f"{broken}.end_amdgpu_metadata\n") == []
