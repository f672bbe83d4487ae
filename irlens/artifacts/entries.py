"""Reads a directory with a compiled kernel: an *entry* of a Triton cache, or a capture.

It holds ``NAME.ttir``, ``NAME.ttgir``, ... and Triton's metadata ``NAME.json``; an ``irlens.json``
makes it a capture. Only the JSON files are opened; a ``Stage`` reads its artifact on demand.
"""

import os
import re
from collections import defaultdict
from collections.abc import Collection, Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

import msgspec

from irlens.artifacts.compile_options import changed_options, release_defaults
from irlens.artifacts.identify import requested_warps
from irlens.model import files
from irlens.model.capture import (
    MANIFEST_NAME,
    PYTHON_FOLDER,
    STAGE_ORDER,
    Capture,
    Manifest,
    Metadata,
    MetadataTarget,
    Stage,
)
from irlens.model.config import Config, ConstexprValue, Target
from irlens.model.errors import ArtifactError

T = TypeVar("T")

#: A SHA-256 in hex, in base 32 or, in part, in base 64: what Triton calls an entry.
_CACHE_KEY = re.compile(r"[0-9a-f]{64}|[A-Z2-7]{52}|[\w-]{43}")
#: Reading the annotations of a record takes longer than decoding one.
_fields = lru_cache(maxsize=1)(msgspec.structs.fields)

#: The hint for a path that leads to nothing.
RIGHT_PATH = (
    "name a kernel (FILE.py:KERNEL), a Triton cache (such as ~/.triton/cache), one of its entries, "
    "a single artifact (NAME.ttir, .ttgir, .llir, .ptx, .cubin, .amdgcn, .hsaco), "
    "or a trace of tritonparse (NAME.ndjson)"
)


class Broken(msgspec.Struct, frozen=True):
    """An entry that cannot be read: its path, and the reason in one line."""

    path: Path
    reason: str


class Listing(msgspec.Struct, frozen=True):
    """A directory's children by name: the artifacts, the other files, the directories.

    With ``is_trace`` the entry is not a directory, but a file: a trace of tritonparse.

    ``artifacts`` has the stages of each name that artifacts share: ``NAME.ttir`` is listed as
    "ttir" of "NAME". ``refused`` has the links that would be part of a capture and lead out of the
    directory, and ``links`` the other links to directories, which are not followed.
    """

    artifacts: dict[str, list[str]]
    files: set[str]
    directories: list[Path]
    refused: list[Path]
    links: list[Path] = []
    is_trace: bool = False

    @property
    def holds_entry(self) -> bool:
        """Whether the directory itself is an entry, broken ones included."""
        return bool(self.artifacts or self.refused or MANIFEST_NAME in self.files or self.is_trace)

    @property
    def traces(self) -> list[str]:
        """Names of the files that are traces of tritonparse, each of which is an entry."""
        return sorted(filter(is_trace, self.files))


#: What stands for the listing of a trace, which is an entry in one file.
TRACE = Listing({}, set(), [], [], is_trace=True)


def is_trace(name: str) -> bool:
    """Whether a file's name is that of a trace: "NAME.ndjson", ".bin.ndjson", ".ndjson.gz"."""
    return ".ndjson" in name[1:]


def list_files(directory: Path) -> Listing:
    """List a directory, artifacts by the name that they share and by stage; or name a trace.

    Raises:
        OSError: It cannot be listed.
    """
    if is_trace(directory.name) and files.kind(directory) == "file":
        return TRACE
    artifacts: defaultdict[str, list[str]] = defaultdict(list)
    others, directories, refused, links = set(), [], [], []
    with os.scandir(directory) as children:
        for child in children:
            # Files still being written: irlens's workspaces, and Triton's ``tmp.pid_...``.
            if child.name.startswith((".", "tmp.pid_")):
                continue
            name, _, extension = child.name.rpartition(".")
            is_artifact = bool(name) and extension in STAGE_ORDER
            if child.is_dir(follow_symlinks=False):
                directories.append(child.path)
            elif _is_refused(child, directory, is_artifact=is_artifact):
                refused.append(Path(child.path))
            elif _is_file(child):
                if is_artifact:
                    artifacts[name].append(extension)
                else:
                    others.add(child.name)
            elif child.is_symlink() and files.kind(Path(child.path)) == "directory":
                links.append(Path(child.path))
    # Texts are sorted many times faster than paths.
    inner = list(map(Path, sorted(directories)))
    return Listing(dict(artifacts), others, inner, sorted(refused), sorted(links))


def _python_copies(listing: Listing) -> Iterator[str]:
    """Yield the ``python`` folder, if there is one, and the copies of Python files in it."""
    for folder in listing.directories:
        if folder.name == PYTHON_FOLDER:
            yield str(folder)
            with suppress(OSError), os.scandir(folder) as children:
                yield from (child.path for child in children)


def read_entry(directory: Path, listing: Listing) -> Iterator[Capture | Broken]:
    """Yield the captures of one directory, without its subdirectories."""
    if listing.refused:
        error = files.outside(listing.refused[0])
        yield Broken(directory, error.joined("; "))
        return
    above = f"{directory}{os.sep}"
    own = files.states([above + MANIFEST_NAME, *_python_copies(listing)])
    try:
        manifest = (
            _decode(directory / MANIFEST_NAME, _read(directory / MANIFEST_NAME), Manifest)
            if MANIFEST_NAME in listing.files
            else None
        )
    except ArtifactError as error:
        yield Broken(directory, error.message)
        return
    for name, artifacts in sorted(listing.artifacts.items()):
        if not files.is_utf8(name):
            yield Broken(directory / f"{name}.{artifacts[0]}", files.NOT_UTF8)
            continue
        metadata, options = None, manifest.options if manifest else None
        states = own | files.states(f"{above}{name}.{each}" for each in (*artifacts, "json"))
        if f"{name}.json" in listing.files:
            try:
                path = directory / f"{name}.json"
                metadata, changed = decode_metadata(path, _read(path))
                options = changed if options is None else options
            except ArtifactError as error:
                yield Broken(directory / f"{name}.json", error.message)
                continue
        elif _is_unfinished(directory, artifacts):
            stages = ", ".join(stage for stage in STAGE_ORDER if stage in artifacts)
            yield Broken(directory, f"only {stages} of {name}: its compilation did not finish")
            continue
        capture = _capture(directory, name, artifacts, metadata, manifest, options)
        yield msgspec.structs.replace(capture, listed=states)
    if manifest and not listing.artifacts:
        yield Broken(directory, f"{MANIFEST_NAME} without any artifact")


def _is_unfinished(directory: Path, artifacts: Collection[str]) -> bool:
    """Whether a compilation that failed left the artifacts of a cache entry without metadata.

    Triton writes the metadata last. A folder with a name of its own is somebody's, and complete.
    """
    if len(artifacts) == 1 or {"ptx", "amdgcn", "cubin", "hsaco"}.intersection(artifacts):
        return False
    return "source" in artifacts or _CACHE_KEY.fullmatch(directory.name) is not None


def _is_file(child: os.DirEntry[str]) -> bool:
    """Whether a child is a file that can be opened: a link may be dangling or cyclic."""
    try:
        return child.is_file()
    except OSError:
        return False


def _is_refused(child: os.DirEntry[str], directory: Path, *, is_artifact: bool) -> bool:
    """Whether a child is a link that would be part of a capture and leads out of the directory."""
    is_part = is_artifact or child.name == PYTHON_FOLDER or child.name.endswith(".json")
    if not (is_part and child.is_symlink()):
        return False
    path = Path(child.path)
    return files.kind(path) is not None and files.leaves(path, directory)


def _capture(
    directory: Path,
    name: str,
    artifacts: Collection[str],
    metadata: Metadata | None,
    manifest: Manifest | None,
    options: dict[str, ConstexprValue] | None,
) -> Capture:
    stages = {
        stage: Stage(stage, path=directory / f"{name}.{stage}", home=directory)
        for stage in STAGE_ORDER
        if stage in artifacts
    }
    return Capture(
        kernel=(metadata.name if metadata else None) or name,
        target=manifest.target if manifest else find_target(metadata, stages),
        config=make_config(metadata, manifest, stages, options),
        stages=stages,
        metadata=metadata,
        manifest=manifest,
        directory=directory,
        contents={
            name: Stage(f"contents of {name}", content=content)
            for name, content in (manifest.contents if manifest else {}).items()
        },
    )


def make_config(
    metadata: Metadata | None,
    manifest: Manifest | None,
    stages: dict[str, Stage],
    options: dict[str, ConstexprValue] | None,
) -> Config:
    """Return a configuration from all that says something of it."""
    warps = metadata.num_warps if metadata else None
    # For a warp-specialized kernel the metadata includes the warps of its partitions.
    requested = requested_warps(stages["ttgir"]) if "ttgir" in stages else None
    # Gluon has no ttir and pipelines nothing by itself; its metadata has the option's default.
    pipelined = "ttir" in stages or "ttgir" not in stages
    return Config(
        num_warps=warps if requested is None else requested,
        num_stages=metadata.num_stages if metadata and pipelined else None,
        num_ctas=metadata.num_ctas if metadata else None,
        maxnreg=metadata.maxnreg if metadata else None,
        constexprs=manifest.constexprs if manifest else {},
        args=manifest.args if manifest else {},
        grid=manifest.grid if manifest else None,
        options=options,
        fixed=manifest.fixed if manifest else (),
    )


def decode_metadata(
    path: Path, content: bytes
) -> tuple[Metadata, dict[str, ConstexprValue] | None]:
    """Return Triton's metadata, and the options that differ from its release's defaults.

    A field of another type than expected is not recorded. Without a target, the options are not
    known.

    Raises:
        ArtifactError: The content is no JSON object.
    """
    everything = _decode(path, content, dict[str, object])
    metadata = _metadata(everything)
    if metadata.target is None:
        return metadata, None
    return metadata, _options(metadata, metadata.target, everything)


def _metadata(everything: dict[str, object]) -> Metadata:
    """Return the fields that irlens uses; one of another type than expected is not recorded."""
    try:
        return msgspec.convert(everything, Metadata)
    except msgspec.ValidationError:
        pass
    known: dict[str, object] = {}
    for field in _fields(Metadata):
        try:
            known[field.name] = msgspec.convert(everything.get(field.name), field.type)
        except msgspec.ValidationError:
            continue
    return Metadata(**known)  # type: ignore[arg-type]  # each has just been checked


def find_target(metadata: Metadata | None, stages: dict[str, Stage]) -> Target | None:
    """Return the target in Triton's metadata, or else the one that an artifact states."""
    if metadata and metadata.target:
        return _target(metadata.target)
    from irlens.artifacts.identify import identify  # metadata makes it needless

    for stage in reversed(stages.values()):
        try:
            identity = identify(stage.read(), stage.name)
        except ArtifactError:  # reading the artifact for the report says so
            continue
        if identity is not None and identity.target is not None:
            return identity.target
    return None


def _options(
    metadata: Metadata, target: MetadataTarget, everything: dict[str, object]
) -> dict[str, ConstexprValue]:
    """Return the options in an entry's metadata that differ from its release's defaults."""
    defaults = release_defaults(metadata.triton_version, target.backend, target.arch)
    return changed_options(everything, defaults)


def _target(target: MetadataTarget) -> Target | None:
    """Return the target in irlens's terms; ``None`` for a backend that is neither of the two."""
    match target.backend:
        case "cuda":
            return Target(vendor="nvidia", arch=f"sm_{target.arch}", warp_size=target.warp_size)
        case "hip":
            return Target(vendor="amd", arch=str(target.arch), warp_size=target.warp_size)
    return None


def _read(path: Path) -> bytes:
    return files.read(path, within=path.parent)


def _decode(path: Path, content: bytes, record: type[T]) -> T:
    """Decode the content of a JSON file."""
    try:
        return msgspec.json.decode(content, type=record)
    except files.DECODE_ERRORS as error:
        raise ArtifactError(
            f"{path.name} is broken: {error}", hint="delete the entry; Triton compiles it again"
        ) from error
