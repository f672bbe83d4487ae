"""Reading what lies on disk: Triton caches, captures, and single artifacts.

A directory that holds a compiled kernel is an *entry*: ``NAME.ttir``, ``NAME.ttgir``, ... and
Triton's metadata ``NAME.json``; ``irlens.json`` beside them makes it a capture. Entries are found
at any place up to a few levels below the directory that is asked for, so that one cache entry, a
Triton cache, TorchInductor's tree of caches and irlens's store are all read alike. Only the JSON
files are opened; the artifacts are read when somebody asks a ``Stage`` for them.
"""

import os
import stat
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from irlens.artifacts.ttgir_head import asked_warps
from irlens.model.capture import (
    MANIFEST_NAME,
    STAGE_ORDER,
    Capture,
    Manifest,
    Metadata,
    MetadataTarget,
    Stage,
)
from irlens.model.config import Config, Target
from irlens.model.errors import ArtifactError

T = TypeVar("T")

#: Levels below the directory asked for. TorchInductor nests its Triton caches three deep; a limit
#: keeps a mistaken ``irlens inspect /`` from walking the whole disk.
MAX_DEPTH = 5

_RIGHT_PATH = (
    "name a Triton cache (such as ~/.triton/cache), one of its entries, or a single artifact: "
    "NAME.ttir, .ttgir, .llir, .ptx, .cubin, .amdgcn, .hsaco"
)
_UNKNOWN_CONFIG = Config(
    num_warps=None, num_stages=None, num_ctas=None, maxnreg=None, constexprs={}, args={}
)


class Broken(msgspec.Struct, frozen=True):
    """An entry that cannot be read: where it lies, and what is wrong with it in one line."""

    path: Path
    reason: str


class _Listing(msgspec.Struct, frozen=True):
    """A directory's children by name: the artifacts, the other files, the directories."""

    artifacts: dict[str, dict[str, Path]]
    files: set[str]
    directories: list[Path]


def load(path: Path) -> Iterator[Capture | Broken]:
    """Yield every capture that a path leads to, in the order of their paths.

    A broken entry is yielded as ``Broken`` in its place, so that one of them neither hides the
    others nor gets lost.

    Args:
        path: A directory, an artifact (an unknown extension is decided by content), or an
            entry's ``NAME.json``.

    Raises:
        ArtifactError: While iterating: there is nothing at the path, it cannot be read, or
            nothing in it was left by Triton.
    """
    mode = _mode(path)
    if stat.S_ISDIR(mode):
        yield from _load_directory(path)
    elif not stat.S_ISREG(mode):
        raise ArtifactError(f"{path} is neither a file nor a directory", hint=_RIGHT_PATH)
    elif path.suffix == ".json":
        yield from _load_json(path)
    else:
        extension = path.suffix.removeprefix(".")
        stage = extension if extension in STAGE_ORDER else None
        yield from _captures(_read(path), path=path, name=path.stem, stage=stage)


def load_bytes(content: bytes, *, name: str) -> Iterator[Capture]:
    """Yield the captures in an artifact that is already read, one for each kernel in it.

    Args:
        content: Any artifact.
        name: What to call it, in errors and where it names no kernel itself.

    Raises:
        ArtifactError: While iterating: it is not an artifact, or a broken one.
    """
    yield from _captures(content, path=None, name=name, stage=None)


def _captures(
    content: bytes, *, path: Path | None, name: str, stage: str | None
) -> Iterator[Capture]:
    """Yield a capture for each kernel of one artifact; ``stage`` is what its extension says."""
    from irlens.artifacts.sniff import identify  # a cache is read without it, and sooner

    if not content.strip():
        raise ArtifactError(f"{path or name} is empty", hint=_RIGHT_PATH)
    try:
        identity = identify(content, stage)
    except ArtifactError as error:
        raise ArtifactError(f"{path or name}: {error.message}", hint=error.hint) from error
    if identity is None:
        raise ArtifactError(
            f"{path or name} is nothing that Triton's compiler makes", hint=_RIGHT_PATH
        )
    config = msgspec.structs.replace(
        _UNKNOWN_CONFIG, num_warps=identity.num_warps, num_ctas=identity.num_ctas
    )
    artifact = Stage(identity.stage, path=path, content=None if path else content)
    for kernel in identity.kernels or [name]:
        yield Capture(
            kernel=kernel,
            target=identity.target,
            config=config,
            stages={artifact.name: artifact},
        )


def _load_directory(top: Path) -> Iterator[Capture | Broken]:
    found = False
    for each in _walk(top):
        found = True
        yield each
    if not found:
        raise ArtifactError(f"{top} holds nothing that Triton left", hint=_RIGHT_PATH)


def _load_json(path: Path) -> Iterator[Capture | Broken]:
    """Yield what a JSON file stands for: its own capture, or all that it is the manifest of."""
    try:
        listing = _list(path.parent)
    except OSError as error:
        raise _unreadable(path.parent, error) from error
    captures = list(_entry(path.parent, listing))
    if path.name != MANIFEST_NAME:
        named = path.name.removesuffix(".json")
        captures = [each for each in captures if _stem(each) == named]
    if not captures:
        raise ArtifactError(
            f"{path} has no artifact beside it, so it is not Triton's metadata", hint=_RIGHT_PATH
        )
    yield from captures


def _stem(found: Capture | Broken) -> str:
    """The name that an entry's files share, which Triton cuts at 150 characters."""
    if isinstance(found, Broken):
        return found.path.name.removesuffix(".json")
    stage = next(iter(found.stages.values()))
    return stage.path.name.removesuffix(f".{stage.name}") if stage.path else found.kernel


def _walk(top: Path) -> Iterator[Capture | Broken]:
    """Yield everything at and below a directory. Links to directories are not followed."""
    waiting = [(top, 0)]
    while waiting:
        directory, depth = waiting.pop()
        try:
            listing = _list(directory)
        except OSError as error:
            if directory == top:
                raise _unreadable(top, error) from error
            yield Broken(directory, f"cannot be read: {error.strerror}")
            continue
        yield from _entry(directory, listing)
        if depth < MAX_DEPTH:
            waiting += [(child, depth + 1) for child in reversed(listing.directories)]


def _list(directory: Path) -> _Listing:
    """List a directory; the artifacts by the name they share and by stage."""
    artifacts: defaultdict[str, dict[str, Path]] = defaultdict(dict)
    files, directories = set(), []
    with os.scandir(directory) as children:
        for child in children:
            # Hidden ones are being written: irlens's workspaces, and Triton's ``tmp.pid_...``.
            if child.name.startswith((".", "tmp.pid_")):
                continue
            if child.is_dir(follow_symlinks=False):
                directories.append(Path(child.path))
            elif _is_file(child):
                name, _, extension = child.name.rpartition(".")
                if name and extension in STAGE_ORDER:
                    artifacts[name][extension] = Path(child.path)
                else:
                    files.add(child.name)
    return _Listing(dict(artifacts), files, sorted(directories))


def _is_file(child: os.DirEntry[str]) -> bool:
    """Whether it is a file that can be opened: a link may lead nowhere, or round in a circle."""
    try:
        return child.is_file()
    except OSError:
        return False


def _entry(directory: Path, listing: _Listing) -> Iterator[Capture | Broken]:
    """Yield the captures of one directory, without its subdirectories."""
    try:
        manifest = (
            _decode(directory / MANIFEST_NAME, Manifest) if MANIFEST_NAME in listing.files else None
        )
    except ArtifactError as error:
        yield Broken(directory, error.message)
        return
    for name, artifacts in sorted(listing.artifacts.items()):
        metadata = None
        if f"{name}.json" in listing.files:
            try:
                metadata = _decode(directory / f"{name}.json", Metadata)
            except ArtifactError as error:
                yield Broken(directory / f"{name}.json", error.message)
                continue
        elif not artifacts.keys() & {"ptx", "amdgcn", "cubin", "hsaco"}:
            # Triton writes the metadata last, and a compilation that fails leaves what it had.
            stages = ", ".join(stage for stage in STAGE_ORDER if stage in artifacts)
            yield Broken(directory, f"only {stages} of {name}: its compilation did not finish")
            continue
        yield _capture(directory, name, artifacts, metadata, manifest)
    if manifest and not listing.artifacts:
        yield Broken(directory, f"{MANIFEST_NAME} without any artifact")


def _capture(
    directory: Path,
    name: str,
    artifacts: dict[str, Path],
    metadata: Metadata | None,
    manifest: Manifest | None,
) -> Capture:
    stages = {
        stage: Stage(stage, path=artifacts[stage]) for stage in STAGE_ORDER if stage in artifacts
    }
    target = None
    if manifest:
        target = manifest.target
    elif metadata:
        target = _target(metadata.target)
    return Capture(
        kernel=metadata.name if metadata else name,
        target=target,
        config=_config(metadata, manifest, stages),
        stages=stages,
        metadata=metadata,
        manifest=manifest,
        directory=directory,
    )


def _config(
    metadata: Metadata | None, manifest: Manifest | None, stages: dict[str, Stage]
) -> Config:
    warps = metadata.num_warps if metadata else None
    # Of a warp-specialized kernel the metadata counts the warps of its partitions, too.
    asked = asked_warps(stages["ttgir"]) if "ttgir" in stages else None
    # Gluon is no ttir and pipelines nothing by itself; the metadata has the option's default.
    pipelined = "ttir" in stages or "ttgir" not in stages
    return Config(
        num_warps=warps if asked is None else asked,
        num_stages=metadata.num_stages if metadata and pipelined else None,
        num_ctas=metadata.num_ctas if metadata else None,
        maxnreg=metadata.maxnreg if metadata else None,
        constexprs=manifest.constexprs if manifest else {},
        args=manifest.args if manifest else {},
        grid=manifest.grid if manifest else None,
    )


def _target(target: MetadataTarget) -> Target | None:
    """Return the target in irlens's terms; ``None`` for a backend that is neither of the two."""
    match target.backend:
        case "cuda":
            return Target(vendor="nvidia", arch=f"sm_{target.arch}", warp_size=target.warp_size)
        case "hip":
            return Target(vendor="amd", arch=str(target.arch), warp_size=target.warp_size)
    return None


def _decode(path: Path, record: type[T]) -> T:
    """Decode a JSON file.

    Raises:
        ArtifactError: It cannot be read, or is not such a record.
    """
    try:
        return msgspec.json.decode(_read(path), type=record)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ArtifactError(
            f"{path.name} is broken: {error}", hint="delete the entry; Triton will compile it anew"
        ) from error


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise _unreadable(path, error) from error


def _mode(path: Path) -> int:
    try:
        return path.stat().st_mode
    except OSError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: OSError) -> ArtifactError:
    if isinstance(error, FileNotFoundError):
        return ArtifactError(f"there is no {path}", hint=_RIGHT_PATH)
    return ArtifactError(f"cannot read {path}: {error.strerror}", hint=_RIGHT_PATH)
