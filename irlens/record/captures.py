"""Makes captures of the Triton caches and the noted launches of a run."""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from irlens.artifacts.load import load
from irlens.compiler.capture_files import Launch, copy_artifacts, copy_sources, write_manifest
from irlens.compiler.toolchains.versions import triton_version
from irlens.model.capture import MANIFEST_SCHEMA, PYTHON_FOLDER, Capture, Manifest
from irlens.model.config import Target
from irlens.model.errors import ArtifactError
from irlens.record.job import LAUNCHES
from irlens.version import VERSION

#: A file in a location of ttir.
_NAMED_FILE = re.compile(r'loc\("(/[^"]+\.py)":\d')
#: Files of Triton's own library.
_IN_TRITON = re.compile(r"/triton/(language|experimental|tools)/")
#: Digits of the number that sorts captures by launch.
_DIGITS = 4


def write_captures(folder: Path, build: Path, target: Target) -> None:
    """Make a capture of each cache entry of a run.

    Args:
        folder: The run's folder.
        build: The folder for the captures, each in a directory of its own.
        target: The GPU of the run.
    """
    launches = {launch.entry: launch for launch in _launches(folder)}
    compiled = {str(capture.directory): capture for capture in _compiled(folder, launches)}
    # In launch order, followed by kernels that were not seen to be launched.
    for directory in dict.fromkeys((*launches, *compiled)):
        capture = compiled.get(directory)
        if capture is None or capture.metadata is None:
            continue  # a compilation that did not finish, or was removed
        entry = build / f"{len(list(build.iterdir())):0{_DIGITS}}-{capture.kernel}"
        copy_artifacts(Path(directory), entry)
        sources = _sources(capture, launches.get(directory))
        copy_sources({path: path.read_bytes() for path in sources}, entry / PYTHON_FOLDER)
        write_manifest(_manifest(capture, launches.get(directory), sources, target), entry)


def kernel_of(entry: Path) -> str:
    """Return the kernel's name of a capture that ``write_captures`` made."""
    return entry.name.partition("-")[2]


def _launches(folder: Path) -> Iterator[Launch]:
    """Yield the noted launches, without a line that a killed process left incomplete."""
    try:
        lines = (folder / LAUNCHES).read_bytes().splitlines()
    except FileNotFoundError:
        return
    for line in lines:
        with suppress(msgspec.DecodeError):
            yield msgspec.json.decode(line, type=Launch)


def _compiled(folder: Path, launches: Iterable[str]) -> Iterator[Capture]:
    """Yield the compiled kernels: in this run's caches, or where the program put them."""
    elsewhere = [Path(entry) for entry in launches if not Path(entry).is_relative_to(folder)]
    for directory in (folder, *elsewhere):
        # Nothing was compiled, or the program cleared its cache.
        with suppress(ArtifactError):
            yield from (found for found in load(directory) if isinstance(found, Capture))


def _sources(capture: Capture, launch: Launch | None) -> list[Path]:
    """Return the Python files of a capture, the kernel's own first.

    Its ttir names them; Triton's own library is left out.
    """
    ttir = capture.stages.get("ttir")
    named = _NAMED_FILE.findall(ttir.text()) if ttir is not None else []
    own = [launch.file] if launch is not None and launch.file is not None else []
    files = dict.fromkeys(Path(name) for name in (*own, *named) if not _IN_TRITON.search(name))
    return [path for path in files if path.is_file()]


def _manifest(
    capture: Capture, launch: Launch | None, sources: Sequence[Path], target: Target
) -> Manifest:
    """Return a capture's manifest.

    Launches by others than Triton and TorchInductor are not noted: their constexprs, arguments and
    grid are unknown.
    """
    compiled_for = capture.target or target
    written = capture.metadata.triton_version if capture.metadata else None
    return Manifest(
        schema=MANIFEST_SCHEMA,
        irlens_version=VERSION,
        # A program may use a Triton of its own.
        triton_version=written or triton_version(),
        kernel=capture.kernel,
        file=sources[0].name if sources else "",
        # The artifacts do not state the product's name.
        target=target if compiled_for.arch == target.arch else compiled_for,
        constexprs=launch.constexprs if launch else {},
        args=launch.args if launch else {},
        grid=launch.grid if launch else None,
    )
