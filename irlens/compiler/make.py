"""From a request to captures: out of the store, or compiled into it."""

import itertools
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from irlens.artifacts import store
from irlens.artifacts.entries import Broken
from irlens.artifacts.load import load
from irlens.compiler import describe, environments
from irlens.compiler.keeping import copy_artifacts, keep_sources, sha256, write_manifest
from irlens.compiler.loading import loaded
from irlens.compiler.messages import held_back
from irlens.compiler.request import Request, key, triton_version
from irlens.compiler.values import recorded
from irlens.model.capture import (
    MANIFEST_NAME,
    MANIFEST_SCHEMA,
    PYTHON_FOLDER,
    Capture,
    Manifest,
)
from irlens.model.errors import CaptureError
from irlens.version import VERSION

if TYPE_CHECKING:  # importing it imports Triton
    from irlens.compiler.variants import Variant

#: Triton's active driver, its environment and file descriptor 2 belong to the whole process.
ONE_AT_A_TIME = threading.Lock()


def capture(request: Request) -> list[Capture]:
    """Compile a kernel, or answer from the store.

    Returns:
        One capture for every variant: several where the kernel is autotuned and the request
        leaves open what its configurations vary.

    Raises:
        UnknownNameError: The request names a kernel, constexpr or argument that does not exist.
        CaptureError: The kernel cannot be loaded, compiled or launched.
    """
    captures = []
    for entry in capture_entries(request):
        for found in load(entry):
            if isinstance(found, Broken):
                raise CaptureError(
                    f"the stored capture {entry} is broken: {found.reason}",
                    hint=f"delete {entry.parent}",
                )
            captures.append(found)
    return captures


def capture_entries(request: Request) -> list[Path]:
    """Do what ``capture`` does, and return the captures' directories instead."""
    store.hold()
    source = describe.find_kernel(request.kernel)
    triton = environments.identify(request.triton)
    destination = _stored(key(request, source, triton))
    if destination is not None and not request.run:
        store.touch(destination)
    else:
        other = environments.find(request.triton)
        if other is None:
            destination = compile_here(request, triton)
        else:
            named = msgspec.structs.replace(request, kernel=f"{source.path}:{source.function}")
            destination = Path(other.carry_out("compile", [named]))
    return _entries(destination)


def compile_here(request: Request, triton: str) -> Path:
    """Compile a kernel with this process's Triton, whatever the store has.

    Args:
        request: What is asked for.
        triton: What tells this Triton from others.

    Returns:
        The store's directory of the captures.
    """
    source = describe.find_kernel(request.kernel)
    name = key(request, source, triton)
    while True:
        destination = _stored(name) or _free(name)
        with ONE_AT_A_TIME:
            made = _make(request, source, destination)
        # Another process may have been first there, with other versions of what the file imports.
        if made or _is_current(destination):
            return destination


def is_stored(request: Request) -> bool:
    """Whether ``capture`` would answer without compiling."""
    source = describe.find_kernel(request.kernel)
    triton = environments.identify(request.triton)
    return not request.run and _stored(key(request, source, triton)) is not None


def _entries(destination: Path) -> list[Path]:
    """Return the captures of a request in the order of the autotuner's configurations."""
    return sorted(path for path in destination.iterdir() if path.is_dir())


def _stored(key: str) -> Path | None:
    """Return the store's captures of a key that are of what the files hold now, if it has them."""
    return next((place for place in _places(key) if _is_current(place)), None)


def _free(key: str) -> Path:
    """Return where a key's captures go that the store does not have yet."""
    return next(place for place in _places(key) if not place.exists())


def _places(key: str) -> Iterator[Path]:
    """Yield each place where the store may have a key's captures, and then the next free one.

    Those of another version of what the kernel's file imports stay beside: somebody may look at
    them, or compare.
    """
    for number in itertools.count():
        yield (place := store.path_for(f"{key}-{number}" if number else key))
        if not place.exists():
            return


def _is_current(destination: Path) -> bool:
    """Whether the store has the captures, and the files they were made from are unchanged."""
    try:
        manifests = [
            msgspec.json.decode((entry / MANIFEST_NAME).read_bytes(), type=Manifest)
            for entry in _entries(destination)
        ]
        files = {path: digest for m in manifests for path, digest in m.dependencies.items()}
        return bool(manifests) and all(
            sha256(Path(path).read_bytes()) == digest for path, digest in files.items()
        )
    except (OSError, msgspec.DecodeError):
        return False


def _make(request: Request, source: describe.KernelSource, destination: Path) -> bool:
    """Compile every variant in a workspace and publish them together.

    Returns:
        Whether they are what lies there now.
    """
    with not_interpreted():
        # These import Triton, which takes a third of a second and is not on every machine.
        from irlens.compiler import explain
        from irlens.compiler import triton_compat as triton_door
        from irlens.compiler.variants import make_variants

    store.clean(destination.parent)
    with ExitStack() as stack:
        work = stack.enter_context(store.workspace(destination))
        # Twice: for what the file compiles while it is loaded, and against knobs that it sets.
        stack.enter_context(triton_door.private_cache(work / "cache"))
        module, sources = stack.enter_context(loaded(source))
        stack.enter_context(triton_door.private_cache(work / "cache"))
        kernel = triton_door.find(vars(module), source.function)
        printed = stack.enter_context(held_back(work / "messages.txt"))
        try:
            made = make_variants(request, source.description, module, kernel)
        except Exception as error:  # whatever Triton, or the file's own functions, may raise
            raise explain.explain(error, source.function, sources, printed()) from error
        if incomplete := explain.left_out(source.function, printed()):
            raise incomplete
        for index, variant in enumerate(made):
            _write(work / "build" / f"{index:03}", request, source, sources, variant)
        # What another process has published meanwhile may already be in use: it stays.
        return store.publish(work / "build", destination, replace=request.run)


def _write(
    entry: Path,
    request: Request,
    source: describe.KernelSource,
    sources: Mapping[Path, bytes],
    variant: "Variant",
) -> None:
    """Make a capture of a compiled variant: its artifacts, its sources, its manifest."""
    copy_artifacts(variant.entry, entry)
    keep_sources(sources, entry / PYTHON_FOLDER)
    manifest = Manifest(
        schema=MANIFEST_SCHEMA,
        irlens_version=VERSION,
        triton_version=triton_version(),
        kernel=source.function,
        file=source.path.name,
        target=request.target,
        constexprs=variant.constexprs,
        args={name: recorded(value) for name, value in variant.args.items()},
        grid=variant.grid,
        run=variant.run,
        dependencies={
            str(path): sha256(content) for path, content in sources.items() if path != source.path
        },
    )
    write_manifest(manifest, entry)


@contextmanager
def not_interpreted() -> Iterator[None]:
    """Hide ``TRITON_INTERPRET``: Triton imported under it has lost its own library to compile."""
    chosen = os.environ.pop("TRITON_INTERPRET", None)
    try:
        yield
    finally:
        if chosen is not None:
            os.environ["TRITON_INTERPRET"] = chosen
