"""Loads the captures at a path: Triton caches, captures, and single artifacts.

Entries are found up to a few levels below a directory, so that one cache entry, a Triton cache,
TorchInductor's tree of caches and irlens's store are all read alike.
"""

import stat
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from irlens.artifacts.entries import (
    RIGHT_PATH,
    TRACE,
    Broken,
    Listing,
    is_trace,
    list_files,
    read_entry,
)
from irlens.artifacts.tritonparse import read_trace
from irlens.model import files
from irlens.model.capture import (
    MANIFEST_NAME,
    PYTHON_FOLDER,
    STAGE_ORDER,
    Capture,
    Stage,
    stage_rank,
)
from irlens.model.config import Config
from irlens.model.errors import ArtifactError, UnknownNameError

if TYPE_CHECKING:
    from irlens.artifacts.identify import Identity
    from irlens.artifacts.mlir_dumps import Chosen

#: Levels below the given directory. TorchInductor nests its Triton caches three deep.
MAX_DEPTH = 5
#: Directories in a row without an entry, after which no more are looked into.
_MOST_FRUITLESS = 10_000

_LINK = "is a link to a directory, which is not followed"

_UNKNOWN_CONFIG = Config(
    num_warps=None,
    num_stages=None,
    num_ctas=None,
    maxnreg=None,
    constexprs={},
    args={},
    options=None,
)


def load(path: Path) -> Iterator[Capture | Broken]:
    """Yield every capture at a path, in the order of their paths.

    A broken entry is yielded as ``Broken`` in its place, so that it neither hides the others nor
    gets lost.

    Args:
        path: A directory, an artifact (an unknown extension is decided by content), or an
            entry's ``NAME.json``, or a trace of tritonparse. ``FILE#N`` is the N-th module of a
            text with several, ``PATH:NAME`` the captures of one kernel.

    Raises:
        ArtifactError: While iterating: there is nothing at the path, it cannot be read, or
            it holds nothing that Triton wrote.
        UnknownNameError: It holds no kernel of that name.
    """
    path, kernel = files.of_kernel(path)
    if kernel is None:
        yield from _load(path)
        return
    names: dict[str, None] = {}
    for each in _load(path):
        if isinstance(each, Broken) or each.kernel == kernel:
            yield each
        if isinstance(each, Capture):
            names[each.kernel] = None
    if kernel not in names:
        raise UnknownNameError("kernel", kernel, names)


def _load(path: Path) -> Iterator[Capture | Broken]:
    """Yield every capture at a path."""
    path, number = files.numbered(path)
    files.require_utf8(path)
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise files.unreadable(path, error, RIGHT_PATH) from error
    if stat.S_ISDIR(mode):
        for found in find_entries(path):
            yield from (found,) if isinstance(found, Broken) else load_entry(*found)
    elif stat.S_ISREG(mode) and path.suffix == ".json":
        yield from _load_json(path)
    elif is_trace(path.name):
        yield from read_trace(path)
    else:
        extension = path.suffix.removeprefix(".")
        stage = extension if extension in STAGE_ORDER else None
        states = files.states([path])
        content = files.read(path, hint=RIGHT_PATH)
        for each in _captures(content, path=path, name=path.stem, stage=stage, number=number):
            yield msgspec.structs.replace(each, listed=states)


def load_bytes(content: bytes, *, name: str) -> Iterator[Capture]:
    """Yield the captures in the bytes of an artifact, one per kernel.

    Args:
        name: Its name in errors, and its kernel's if it names none itself.

    Raises:
        ArtifactError: While iterating: it is not an artifact, or a broken one.
    """
    yield from _captures(content, path=None, name=name, stage=None)


def _captures(
    content: bytes, *, path: Path | None, name: str, stage: str | None, number: int | None = None
) -> Iterator[Capture]:
    """Yield a capture for each kernel of an artifact; its extension gives ``stage``.

    Of a text with several modules it is the last of each stage, or that of the given number.
    """
    # Reading a cache is faster without these.
    from irlens.artifacts import mlir_dumps
    from irlens.artifacts.identify import identify

    if not content.strip():
        raise ArtifactError(f"{path or name} is empty", hint=RIGHT_PATH)
    try:
        identity = identify(content, stage)
    except ArtifactError as error:
        raise ArtifactError(f"{path or name}: {error.message}", hint=error.hint) from error
    if identity is None:
        raise ArtifactError(
            f"{path or name} is nothing that Triton's compiler makes", hint=RIGHT_PATH
        )
    if identity.stage in ("ttir", "ttgir") and (chosen := mlir_dumps.choose(content, number)):
        yield from map(_capture_of_dumps, chosen)
        return
    if number is not None:
        raise ArtifactError(f"{path or name} has no module {number}", hint=RIGHT_PATH)
    artifact = Stage(identity.stage, path=path, content=None if path else content)
    for kernel in identity.kernels or [name]:
        yield _capture(kernel, [(artifact, identity)])


def _capture_of_dumps(chosen: "Chosen") -> Capture:
    """Return the capture of a kernel from the modules that stand for its stages."""
    from irlens.artifacts.identify import identify

    stages = [Stage(dump.stage, content=dump.text.encode()) for dump in chosen.dumps]
    known = [(stage, identify(stage.read(), stage.name)) for stage in stages]
    capture = _capture(chosen.kernel, [(one, identity) for one, identity in known if identity])
    return msgspec.structs.replace(capture, notes=(chosen.note,) if chosen.count > 1 else ())


def _capture(kernel: str, stages: "list[tuple[Stage, Identity]]") -> Capture:
    """Return a capture of stages that say all that is known."""
    identities = [identity for _, identity in stages]
    return Capture(
        kernel=kernel,
        target=next((one.target for one in identities if one.target), None),
        config=msgspec.structs.replace(
            _UNKNOWN_CONFIG,
            num_warps=next((one.num_warps for one in identities if one.num_warps), None)
            or _warps_of_cubin(kernel, stages),
            num_ctas=next((one.num_ctas for one in identities if one.num_ctas), None),
        ),
        stages={
            stage.name: stage
            for stage, _ in sorted(stages, key=lambda each: stage_rank(each[0].name))
        },
    )


def _warps_of_cubin(kernel: str, stages: "list[tuple[Stage, Identity]]") -> int | None:
    """Return the warps that a cubin has to be launched with; ``None`` where it does not say.

    Those of a warp-specialized kernel are more than were requested. They meet at named barriers,
    where a kernel whose warps do all the same has the CTA's alone.
    """
    stage = next((each for each, _ in stages if each.name == "cubin"), None)
    if stage is None:
        return None
    from irlens.artifacts import cubin
    from irlens.artifacts.identify import warps_of

    found = next((each for each in cubin.read(stage.read()).kernels if each.name == kernel), None)
    if found is None or found.required_threads is None or found.barriers not in (0, 1):
        return None
    threads, *others = found.required_threads
    return warps_of(threads) if others == [1, 1] else None


def load_entry(directory: Path, listing: Listing) -> Iterator[Capture | Broken]:
    """Yield the captures of one entry: those of a directory, or of a trace."""
    if not listing.is_trace:
        yield from read_entry(directory, listing)
        return
    try:
        yield from read_trace(directory)
    except ArtifactError as error:
        yield Broken(directory, error.message)


def _load_json(path: Path) -> Iterator[Capture | Broken]:
    """Yield the capture of a metadata file, or all captures of a manifest."""
    try:
        listing = list_files(path.parent)
    except OSError as error:
        raise files.unreadable(path.parent, error, RIGHT_PATH) from error
    captures = list(read_entry(path.parent, listing))
    if path.name != MANIFEST_NAME:
        named = path.name.removesuffix(".json")
        captures = [each for each in captures if _stem(each) == named]
    if not captures:
        raise ArtifactError(
            f"{path} has no artifact beside it, so it is not Triton's metadata", hint=RIGHT_PATH
        )
    yield from captures


def _stem(found: Capture | Broken) -> str:
    """Return the name that an entry's files share, which Triton cuts at 150 characters."""
    if isinstance(found, Broken):
        return found.path.name.removesuffix(".json")
    stage = next(iter(found.stages.values()))
    return stage.path.name.removesuffix(f".{stage.name}") if stage.path else found.kernel


def find_entries(top: Path, *, links: bool = False) -> Iterator[tuple[Path, Listing] | Broken]:
    """Yield every entry at and below a directory, by path; the traces of each after its own.

    Args:
        top: The directory, or a trace.
        links: Whether links to directories are yielded, as broken: they are not followed.

    Raises:
        ArtifactError: While iterating: the directory cannot be listed, or holds no entry.
    """
    files.require_utf8(top)
    if top.resolve() == Path(top.resolve().anchor):
        raise ArtifactError(f"{top} is the whole file system", hint="name a folder below it")
    is_empty, fruitless = True, 0
    for found in _walk(top):
        if isinstance(found, Broken):
            is_empty = False
            yield found
            continue
        directory, listing = found
        fruitless = 0 if listing.holds_entry or listing.traces else fruitless + 1
        if fruitless > _MOST_FRUITLESS:
            yield Broken(directory, f"not looked into, after {_MOST_FRUITLESS:,} without a capture")
            return
        for link in listing.links if links else ():
            is_empty = False
            yield Broken(link, _LINK)
        if listing.holds_entry:
            is_empty = False
            yield found if files.is_utf8(directory) else Broken(directory, files.NOT_UTF8)
        for name in listing.traces:
            is_empty = False
            trace = directory / name
            yield (trace, TRACE) if files.is_utf8(trace) else Broken(trace, files.NOT_UTF8)
    if is_empty:
        raise ArtifactError(f"{top} holds nothing that Triton left", hint=RIGHT_PATH)


def _walk(top: Path) -> Iterator[tuple[Path, Listing] | Broken]:
    """Yield every directory at and below one, by path. Links to directories are not followed.

    Raises:
        ArtifactError: While iterating: the first directory cannot be listed.
    """
    waiting = [(top, 0)]
    while waiting:
        directory, depth = waiting.pop()
        try:
            listing = list_files(directory)
        except OSError as error:
            if directory == top:
                raise files.unreadable(top, error, RIGHT_PATH) from error
            yield Broken(directory, f"cannot be read: {error.strerror}")
            continue
        yield directory, listing
        if depth < MAX_DEPTH:
            # A capture's copies of its Python files are none of its entries.
            inner = (
                child
                for child in reversed(listing.directories)
                if child.name != PYTHON_FOLDER or MANIFEST_NAME not in listing.files
            )
            waiting += [(child, depth + 1) for child in inner]
