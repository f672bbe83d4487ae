"""The records of a capture: the artifacts and metadata of one compilation of one kernel."""

import hashlib
import os
from collections.abc import Sequence
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import msgspec

from irlens.model import files
from irlens.model.config import Config, ConstexprValue, GridFormula, Target
from irlens.model.errors import ArtifactError

if TYPE_CHECKING:  # a remembered report needs no locations
    from irlens.model.source import SourceLocation

MANIFEST_NAME = "irlens.json"
MANIFEST_SCHEMA = 1
#: The folder of a capture with the Python it was made from. It is data: nothing imports it.
PYTHON_FOLDER = "python"

#: In the compiler's order; ptx and cubin are NVIDIA's, amdgcn and hsaco AMD's.
STAGE_ORDER = ("source", "ttir", "ttgir", "llir", "ptx", "amdgcn", "cubin", "hsaco")
BINARY_STAGES = frozenset({"cubin", "hsaco"})


#: CTAs in a dimension of a grid, which a launch passes as 32-bit numbers.
MOST_CTAS = (1 << 31) - 1
Extent = Annotated[int, msgspec.Meta(ge=0, le=MOST_CTAS)]

#: Numbers of Triton's metadata, which its launchers pass as 32-bit integers.
_Number = Annotated[int, msgspec.Meta(ge=-(1 << 31), le=(1 << 31) - 1)]
_Size = Annotated[int, msgspec.Meta(ge=0, le=(1 << 31) - 1)]


class Disassembly(Enum):
    """Whether a report covers the machine code, which takes nvdisasm a moment.

    The values are what users say: yes, no, or nothing.
    """

    SKIP = False
    #: Of few captures, and where the disassembler answers; else the report says why not.
    TRY = None
    #: A disassembler that is missing or fails is an error.
    REQUIRE = True


#: How much a report holds: a brief one lacks what lists and comparisons do not show.
ReportExtent: TypeAlias = Literal["whole", "brief"]


def stage_rank(name: str) -> int:
    """Return a stage's index in ``STAGE_ORDER``; unknown stages come last."""
    return STAGE_ORDER.index(name) if name in STAGE_ORDER else len(STAGE_ORDER)


class Stage(msgspec.Struct, frozen=True, dict=True):
    """One artifact of a capture: a file that is read on request, or bytes in memory.

    Attributes:
        name: "source", "ttir", "ttgir", "llir", "ptx", "cubin", "amdgcn" or "hsaco".
        path: The file, or ``None`` where ``content`` is given.
        content: The bytes, or ``None`` where ``path`` is given.
        home: The directory that the file must not leave by a link; ``None`` for a file that the
            user named.
    """

    name: str
    path: Path | None = None
    content: bytes | None = None
    home: Path | None = None

    def read(self, *, most: int | None = None) -> bytes:
        """Return the artifact's bytes, or the first ``most`` of them.

        Raises:
            ArtifactError: The file is gone, unreadable, too large or outside its capture.
        """
        if self.content is not None:
            return self.content[:most]
        if self.path is None:
            return b""
        return files.read(self.path, within=self.home, most=most)

    @property
    def sha256(self) -> str:
        """The artifact's SHA-256, in hex, taken once for each state of its file.

        Raises:
            ArtifactError: As ``read``.
        """
        state = files.state(self.path) if self.path is not None else None
        if state is None and self.path is not None:
            return hashlib.sha256(self.read()).hexdigest()  # which says what is wrong
        if self._hashed[:1] != [state]:
            self._hashed[:] = [state, hashlib.sha256(self.read()).hexdigest()]
        return str(self._hashed[1])

    @cached_property
    def _hashed(self) -> list[object]:
        """The state of the file, and its hash then."""
        return []

    def text(self) -> str:
        """Return the artifact decoded as UTF-8; undecodable bytes become U+FFFD.

        Raises:
            ArtifactError: As ``read``, and for an artifact that is not text.
        """
        return files.text(self.read(), name=self.path or self.name)


class Timing(msgspec.Struct, frozen=True, kw_only=True):
    """Run time of the kernel in milliseconds, over many launches with a cold L2 cache.

    Attributes:
        median_ms: Median of the launches.
        fast_ms: 20th percentile.
        slow_ms: 80th percentile.
    """

    median_ms: float
    fast_ms: float
    slow_ms: float

    @property
    def median_us(self) -> float:
        """The median in microseconds."""
        return round(self.median_ms * 1e3, 6)

    @property
    def is_plausible(self) -> bool:
        """Whether all values are plausible durations; those of a capture are not trusted."""
        return all(1e-9 < each < 1e12 for each in (self.fast_ms, self.median_ms, self.slow_ms))


class RunResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of launching the kernel on a real GPU.

    Attributes:
        device: The name that the device reports.
        matches_reference: Whether every output equals the PyTorch reference within tolerance;
            ``None`` where the kernel has no reference.
        max_abs_error: Largest absolute difference over all outputs.
        registers: Registers per thread as the driver reports them.
        local_bytes: Local memory per thread in bytes as the driver reports it.
        blocks_per_sm: CTAs per SM as the driver computes them.
        timing: The run time; ``None`` where the outputs are wrong, or it was not measured.
    """

    device: str
    matches_reference: bool | None
    max_abs_error: float | None
    registers: int | None = None
    local_bytes: int | None = None
    blocks_per_sm: int | None = None
    timing: Timing | None = None


class SourceFile(msgspec.Struct, frozen=True):
    """The Python file that a capture was compiled from.

    Attributes:
        path: Its absolute path where it was compiled.
        sha256: SHA-256 of its content then.
        seal: Proof that this user's irlens wrote the capture, see ``artifacts.authorship``; empty
            if there is none.
    """

    path: str
    sha256: str
    seal: str = ""


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """``irlens.json``: facts that Triton's own metadata lacks.

    Attributes:
        schema: Version of this file's layout.
        irlens_version: The irlens that wrote it.
        triton_version: The compiler's version.
        kernel: The kernel function's name.
        file: Base name of the Python file that defines it.
        target: The GPU it was compiled for.
        constexprs: Values of the constexpr parameters.
        args: Run-time arguments, tensors as "fp32[4096, 1024]".
        grid: CTAs in x, y, z; ``None`` where the kernel's description gives no grid.
        run: The launch on a real GPU; ``None`` where the kernel was only compiled.
        dependencies: sha256 of each local source file that the kernel's file loads, by path: a
            change of one invalidates a stored capture.
        absent: Modules that the kernel's file imports and that were not installed: stand-ins took
            their place.
        stopped: The exception that ended the kernel's file, which the kernel does not need.
        options: See ``Config.options``; ``None`` where an earlier irlens wrote the manifest.
        source: The kernel's file; ``None`` if it is a sample of irlens, or unknown.
        grid_formula: How ``grid`` follows from the occupancy, where it does and is therefore
            ``None``; or from the constexprs, where a recorded program computes it by a function;
            or from what --grid names.
        fixed: See ``Config.fixed``.
        contents: What small tensors of integers held when a recorded program first launched the
            variant, ``.npy`` files by argument; none that the kernel writes.
    """

    schema: int
    irlens_version: str
    triton_version: str
    kernel: str
    file: str
    target: Target
    constexprs: dict[str, ConstexprValue]
    args: dict[str, int | float | str]
    grid: tuple[Extent, Extent, Extent] | None = None
    run: RunResult | None = None
    dependencies: dict[str, str] = {}
    absent: tuple[str, ...] = ()
    stopped: str | None = None
    options: dict[str, ConstexprValue] | None = None
    source: SourceFile | None = None
    grid_formula: GridFormula | None = None
    fixed: tuple[str, ...] = ()
    contents: dict[str, bytes] = {}


def load_notes(file: str, absent: Sequence[str], stopped: str | None) -> tuple[str, ...]:
    """Return what a user should know about how a kernel's file was loaded; see ``Manifest``."""
    notes = []
    if absent:
        *most, last = absent
        names = f"{', '.join(most)} and {last}" if most else last
        are = "are" if most else "is"
        notes.append(f"{file} imports {names}, which {are} not installed: using stand-ins")
    if stopped is not None:
        notes.append(f"{stopped} (the kernel does not need it: executed only what it uses)")
    return tuple(notes)


class MetadataTarget(msgspec.Struct, frozen=True):
    """``target`` in Triton's metadata: backend "cuda" or "hip", arch 90 or "gfx942"."""

    backend: str
    arch: int | str
    warp_size: int


class Metadata(msgspec.Struct, frozen=True):
    """The fields of Triton's ``NAME.json`` that irlens uses. ``None`` is "not recorded".

    Which fields there are, and of which type, differs between versions.

    Attributes:
        shared: Dynamic shared memory per CTA, bytes.
        tmem_size: Tensor memory per CTA, columns (Blackwell).
        global_scratch_size: Global scratch memory per CTA, bytes.
        wgp_cu_mode: AMD RDNA: "wgp" or "cu", the unit that a workgroup is bound to.
    """

    name: str | None = None
    target: MetadataTarget | None = None
    num_warps: _Number | None = None
    shared: _Size | None = None
    num_stages: _Number | None = None
    num_ctas: _Number | None = None
    maxnreg: _Number | None = None
    tmem_size: _Size | None = None
    global_scratch_size: _Number | None = None
    triton_version: str | None = None
    wgp_cu_mode: str | None = None


class Capture(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """One compiled variant of one kernel: its artifacts and its configuration.

    Attributes:
        kernel: The kernel's name.
        target: The GPU it was compiled for; ``None`` where no artifact says.
        config: The known launch and compile parameters.
        stages: Artifacts by stage name, in the compiler's order.
        metadata: Triton's metadata, if present.
        manifest: irlens's own record, if irlens made the capture.
        directory: Its directory, if it has one.
        notes: What a reader should know about what the artifacts were taken from.
        contents: Contents of tensors of the launch, ``.npy`` files by argument, as far as the user
            gives them or a recording has them.
        listed: The state of its files before the first one was read, by path.
    """

    kernel: str
    target: Target | None
    config: Config
    stages: dict[str, Stage]
    metadata: Metadata | None = None
    manifest: Manifest | None = None
    directory: Path | None = None
    contents: dict[str, Stage] = {}
    notes: tuple[str, ...] = ()
    listed: dict[str, files.State] = {}

    def check_unchanged(self) -> None:
        """Raise if its files are no longer those that were listed.

        What is made of some of them before a change and of others after it is of no compilation.

        Raises:
            ArtifactError: A file was written, replaced or removed meanwhile.
        """
        for path, state in self.listed.items():
            if files.state(path) != state:
                raise ArtifactError(f"{path} changed while irlens read it", hint="run it again")

    @property
    def digest(self) -> bytes:
        """SHA-256 of everything in it.

        Raises:
            ArtifactError: An artifact is gone or unreadable.
        """
        given = (self.kernel, self.target, self.config, self.metadata, self.manifest, self.notes)
        files_of = (sorted(each.items()) for each in (self.stages, self.contents))
        read = [[(name, stage.sha256) for name, stage in some] for some in files_of]
        python = [(name, self.python(name)) for name in self.python_files]
        return hashlib.sha256(msgspec.json.encode((given, read, python))).digest()

    @property
    def first_path(self) -> Path | None:
        """The file of the first stage that is one; ``None`` where all are in memory."""
        return next((stage.path for stage in self.stages.values() if stage.path), None)

    @property
    def triton_version(self) -> str | None:
        """The compiler's version; ``None`` where neither the manifest nor the metadata says."""
        if self.manifest is not None:
            return self.manifest.triton_version
        return (self.metadata.triton_version or None) if self.metadata is not None else None

    @property
    def source(self) -> SourceFile | None:
        """The Python file that it was compiled from, if its manifest says."""
        return self.manifest.source if self.manifest is not None else None

    @property
    def metadata_stage(self) -> Stage | None:
        """Triton's own metadata file, if the capture has it."""
        artifact = self.first_path
        if self.directory is None or artifact is None:
            return None
        path = artifact.with_suffix(".json")  # the kernel's name may be longer than the file's
        return Stage("metadata", path=path, home=self.directory) if path.is_file() else None

    @property
    def python_files(self) -> tuple[str, ...]:
        """Base names of the Python files that the capture keeps, the kernel's own first."""
        if self.directory is None:
            return ()
        folder = self.directory / PYTHON_FOLDER
        if files.leaves(folder, self.directory):
            return ()
        try:
            names = [path.name for path in folder.iterdir()]
        except OSError:
            return ()
        own = self.manifest.file if self.manifest is not None else None
        return tuple(sorted(names, key=lambda name: (name != own, name)))

    def python(self, file: str) -> str | None:
        """Return the text of a Python file that the capture keeps; ``None`` if it does not.

        Args:
            file: A base name, as source locations have it.
        """
        if self.directory is None or Path(file).name != file:
            return None
        path = self.directory / PYTHON_FOLDER / file
        try:
            return files.read(path, within=self.directory).decode("utf-8", "replace")
        except ArtifactError:
            return None

    def python_line(self, location: "SourceLocation") -> str | None:
        """Return a line of Python without its indentation; ``None`` if it is not kept."""
        if location.file not in self._lines:
            self._lines[location.file] = (self.python(location.file) or "").splitlines()
        lines = self._lines[location.file]
        return lines[location.line - 1].strip() if 1 <= location.line <= len(lines) else None

    @cached_property
    def _lines(self) -> dict[str, list[str]]:
        """The lines of Python files that were asked for."""
        return {}

    def python_texts(self) -> dict[str, str]:
        """Return the texts of ``python_files`` by name, without those that cannot be read."""
        texts = {name: self.python(name) for name in self.python_files}
        return {name: text for name, text in texts.items() if text is not None}

    def refuses_python(self, file: str) -> bool:
        """Whether a Python file's copy is a link that leads out of the capture, so not read."""
        if self.directory is None or Path(file).name != file:
            return False
        path = self.directory / PYTHON_FOLDER / file
        return os.path.lexists(path) and files.leaves(path, self.directory)
