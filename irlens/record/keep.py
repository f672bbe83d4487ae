"""From Triton caches and notes of launches to captures."""

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
from irlens.record.order import LAUNCHES
from irlens.version import VERSION

#: A file that a location of ttir names.
_NAMED_FILE = re.compile(r'loc\("(/[^"]+\.py)":\d')
#: Of those, what Triton brings along.
_IN_TRITON = re.compile(r"/triton/(language|experimental|tools)/")
#: Of the number that puts the captures in the order of their launches.
_DIGITS = 4


def captures(notes: Path, build: Path, target: Target) -> None:
    """Make a capture of each cache entry that a run has left.

    Args:
        notes: The run's directory.
        build: Where the captures go, each into a directory of its own.
        target: The GPU of the run.
    """
    launches = {launch.entry: launch for launch in _launches(notes)}
    compiled = {str(capture.directory): capture for capture in _compiled(notes, launches)}
    # In the order of their launches; behind them what was launched by others.
    for place in dict.fromkeys((*launches, *compiled)):
        capture = compiled.get(place)
        if capture is None or capture.metadata is None:
            continue  # a compilation that was not finished, or has been cleared away
        entry = build / f"{len(list(build.iterdir())):0{_DIGITS}}-{capture.kernel}"
        copy_artifacts(Path(place), entry)
        sources = _sources(capture, launches.get(place))
        copy_sources({path: path.read_bytes() for path in sources}, entry / PYTHON_FOLDER)
        write_manifest(_manifest(capture, launches.get(place), sources, target), entry)


def kernel_of(entry: Path) -> str:
    """Return the kernel's name of a capture that ``captures`` has made."""
    return entry.name.partition("-")[2]


def _launches(notes: Path) -> Iterator[Launch]:
    """Yield the launches that were noted; nothing of a line that a killed process left half."""
    try:
        lines = (notes / LAUNCHES).read_bytes().splitlines()
    except FileNotFoundError:
        return
    for line in lines:
        with suppress(msgspec.DecodeError):
            yield msgspec.json.decode(line, type=Launch)


def _compiled(notes: Path, launches: Iterable[str]) -> Iterator[Capture]:
    """Yield what was compiled: into this run's caches, or where the program would have it."""
    elsewhere = [Path(entry) for entry in launches if not Path(entry).is_relative_to(notes)]
    for place in (notes, *elsewhere):
        # Nothing was compiled, or the program has cleared its cache.
        with suppress(ArtifactError):
            yield from (found for found in load(place) if isinstance(found, Capture))


def _sources(capture: Capture, launch: Launch | None) -> list[Path]:
    """Return the Python files that a capture was made from, the kernel's own first.

    Its intermediate code names them; Triton's own library is left out.
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

    What is launched neither by Triton nor by TorchInductor is not watched: then nothing is known
    of constexprs, arguments and grid.
    """
    compiled_for = capture.target or target
    written = capture.metadata.triton_version if capture.metadata else None
    return Manifest(
        schema=MANIFEST_SCHEMA,
        irlens_version=VERSION,
        # A program may bring a Triton of its own.
        triton_version=written or triton_version(),
        kernel=capture.kernel,
        file=sources[0].name if sources else "",
        # The artifacts do not know what the GPU is called.
        target=target if compiled_for.arch == target.arch else compiled_for,
        constexprs=launch.constexprs if launch else {},
        args=launch.args if launch else {},
        grid=launch.grid if launch else None,
    )
