"""Turn requests into captures: from the store, or compiled, launched and timed."""

import importlib.util
import itertools
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from irlens.artifacts import store
from irlens.artifacts.compile_options import named_files
from irlens.artifacts.entries import Broken
from irlens.artifacts.load import load
from irlens.artifacts.temporary_folders import TemporaryFolder
from irlens.compiler.calls.argument_values import Argument, manifest_value
from irlens.compiler.calls.binding import bind, evaluate_formula, evaluate_grid, grid_formula
from irlens.compiler.calls.contents import with_contents, with_shapes
from irlens.compiler.capture_files import (
    copy_artifacts,
    copy_sources,
    sha256,
    source_file,
    write_manifest,
)
from irlens.compiler.request import Request, store_key
from irlens.compiler.sources.description import KernelSource, find_kernel
from irlens.compiler.toolchains import environments, interpreters, triton_version
from irlens.model.capture import (
    MANIFEST_NAME,
    MANIFEST_SCHEMA,
    PYTHON_FOLDER,
    Capture,
    Manifest,
    RunResult,
)
from irlens.model.config import ConstexprValue, GridFormula
from irlens.model.errors import CaptureError
from irlens.model.sweep import Measurement, ProviderName
from irlens.version import VERSION

if TYPE_CHECKING:  # answering from the store does without it
    from irlens.compiler.kernel_session import KernelSession

#: Receives the number of configurations compiled so far, and their total.
Progress: TypeAlias = Callable[[int, int], None]


def ignore(_done: int, _total: int) -> None:
    """Show no progress."""


def capture(
    request: Request, entries: Callable[[Request], list[Path]] | None = None
) -> list[Capture]:
    """Return the captures of a request, from the store if it has them, otherwise compiled.

    Args:
        entries: Does what ``capture_entries`` does, which is the default.

    Returns:
        One capture per variant: several if the kernel is autotuned and the request does not fix
        what its configurations vary.

    Raises:
        UnknownNameError: The request names a kernel, constexpr or argument that does not exist.
        CaptureError: The kernel cannot be loaded, compiled or launched.
    """
    captures = []
    for entry in (entries or capture_entries)(request):
        for loaded in load(entry):
            if isinstance(loaded, Broken):
                raise CaptureError(
                    f"the stored capture {entry} is broken: {loaded.reason}",
                    hint=f"delete {entry.parent}",
                )
            captures.append(loaded)
    return with_contents(captures, request)


def capture_entries(request: Request, progress: Progress = ignore) -> list[Path]:
    """Return the directories of the captures that ``capture`` returns.

    Args:
        progress: Receives how many configurations of several this process has compiled.
    """
    store.hold()
    request = with_shapes(request)
    source = find_kernel(request.kernel)
    triton = environments.identify(request.triton)
    # What another interpreter lacks, this one may have.
    destination = _stored(store_key(request, source, triton), request.triton)
    if destination is not None and not request.run:
        store.touch(destination)
    else:
        interpreter = environments.find_interpreter(request.triton)
        if interpreter is None and request.llvm_passes:  # see ``compiler_output``
            interpreter = interpreters.examine(Path(sys.executable))
        if interpreter is None:
            destination = compile_here(request, triton, progress)
        else:
            absolute = msgspec.structs.replace(request, kernel=f"{source.path}:{source.function}")
            destination = Path(interpreter.execute("compile", [absolute]))
    return _entries(destination)


def compile_here(request: Request, triton: str, progress: Progress = ignore) -> Path:
    """Compile a kernel with this process's Triton even if the store has the captures.

    Returns:
        The store's directory of the captures.
    """
    source = find_kernel(request.kernel)
    key = store_key(request, source, triton)
    while True:
        destination = _stored(key) or next(path for path in _candidates(key) if not path.exists())
        published = _compile_into(request, source, destination, progress)
        # Another process may have published first, from other versions of the file's imports.
        if published or _is_current(destination):
            return destination


def is_stored(request: Request) -> bool:
    """Whether ``capture`` returns without compiling."""
    request = with_shapes(request)
    source = find_kernel(request.kernel)
    triton = environments.identify(request.triton)
    stored = _stored(store_key(request, source, triton), request.triton)
    return not request.run and stored is not None


def measure(request: Request, against: Sequence[ProviderName] = ()) -> Measurement:
    """Time a request of a single variant on the local GPU.

    Args:
        against: Other implementations to time on the same inputs.

    Raises:
        CaptureError: The kernel cannot be compiled or launched, its results are wrong, or the
            request has several variants.
    """
    from irlens.compiler.kernel_session import open_kernel

    source = find_kernel(request.kernel)
    with (
        TemporaryFolder() as workspace,
        open_kernel(source, Path(workspace), None) as session,
    ):
        from irlens.compiler import launching
        from irlens.compiler.triton_compat import jit

        launcher = launching.GpuLauncher(request.target, source.description, session.file.module)
        call, (settings, *more) = session.expand(request, launcher.tensors)
        values = jit.manifest_values(settings)
        grid, args = evaluate_grid(call, values), bind(call, values)
        formula = grid_formula(call, values)
        if formula is not None:
            blocks = launcher.blocks_per_sm(session.kernel, args, settings)
            grid = evaluate_formula(formula, blocks)
        if more or grid is None:
            raise CaptureError(f"{source.function}: the request fixes no single configuration")
        return launcher.time(session.kernel, args, settings, grid, against)


def _entries(destination: Path) -> list[Path]:
    """Return the captures of a request in the order of the autotuner's configurations."""
    return sorted(path for path in destination.iterdir() if path.is_dir())


def _stored(key: str, elsewhere: str | None = None) -> Path | None:
    """Return the store's directory for a key whose captures match the current files, if any."""
    return next((path for path in _candidates(key) if _is_current(path, elsewhere)), None)


def _candidates(key: str) -> Iterator[Path]:
    """Yield each directory that may hold a key's captures, then the next free one.

    Captures from other versions of the file's imports are kept: they may be open or part of a
    comparison.
    """
    for number in itertools.count():
        yield (path := store.path_for(f"{key}-{number}" if number else key))
        if not path.exists():
            return


def _is_current(destination: Path, elsewhere: str | None = None) -> bool:
    """Whether the captures exist, and what they were compiled from is unchanged.

    Args:
        elsewhere: The Triton of another interpreter that compiled them, if one did.
    """
    try:
        manifests = [
            msgspec.json.decode((entry / MANIFEST_NAME).read_bytes(), type=Manifest)
            for entry in _entries(destination)
        ]
        files = {path: digest for m in manifests for path, digest in m.dependencies.items()}
        absent = {name for m in manifests for name in m.absent}
        if elsewhere is None and any(importlib.util.find_spec(name) is not None for name in absent):
            return False  # it has been installed since
        is_unchanged = bool(manifests) and all(
            sha256(Path(path).read_bytes()) == digest for path, digest in files.items()
        )
        return is_unchanged and store.is_whole(destination)
    except (OSError, ValueError):  # also of a module's name that is none
        return False


class _Variant(msgspec.Struct, frozen=True):
    """A compiled variant in Triton's cache.

    Attributes:
        options: Its other compile options, see ``Config.options``.
        files: SHA-256 of every file that its settings name, by path.
        formula: How the grid follows from the occupancy, if it does.
        passes: What the compiler printed of its passes, see ``pass_dumps``; ``None`` unless asked.
    """

    entry: Path
    constexprs: dict[str, ConstexprValue]
    options: dict[str, ConstexprValue]
    files: dict[str, str]
    args: dict[str, Argument]
    grid: tuple[int, int, int] | None
    formula: GridFormula | None
    run: RunResult | None
    passes: bytes | None


def _compile_into(
    request: Request, source: KernelSource, destination: Path, progress: Progress
) -> bool:
    """Compile every variant, and publish them together; return whether this process was first."""
    from irlens.compiler.kernel_session import open_kernel

    store.clean(destination.parent)
    with store.workspace(destination) as workspace:
        target = None if request.run else request.target
        with open_kernel(source, workspace, target) as session:
            from irlens.compiler import diagnostics

            variants = _compile_variants(request, session, workspace, progress)
            if error := diagnostics.omitted_assembly(source.function, session.printed()):
                raise error
        for index, variant in enumerate(variants):
            _write_capture(workspace / "build" / f"{index:03}", request, session, variant)
        store.seal(workspace / "build")
        # Captures that another process has published meanwhile may be in use: keep them.
        older: store.Older = "replace" if request.run else "keep"
        return store.publish(workspace / "build", destination, older=older)


def _compile_variants(
    request: Request, session: "KernelSession", workspace: Path, progress: Progress
) -> list[_Variant]:
    """Compile the kernel for each configuration, and launch it if requested."""
    from irlens.compiler.triton_compat import execution, jit, specialization, tensors

    kernel, launcher, values = session.kernel, None, tensors.placeholders
    if request.run:
        from irlens.compiler import launching  # compiling needs no references

        launcher = launching.GpuLauncher(
            request.target, session.source.description, session.file.module
        )
        request = msgspec.structs.replace(request, sm_count=launcher.sm_count)
        values = launcher.tensors
    variants: list[_Variant] = []
    printed: Callable[[], bytes | None] = _nothing
    call, expanded = session.expand(request, values)
    for number, settings in enumerate(expanded):
        chosen = jit.manifest_values(settings)
        if len(expanded) > 1:
            progress(number, len(expanded))
        grid, args = evaluate_grid(call, chosen), bind(call, chosen)
        formula, result = grid_formula(call, chosen), None
        if launcher is not None and formula is not None:
            blocks = launcher.blocks_per_sm(kernel, args, settings)
            grid = evaluate_formula(formula, blocks)
        if launcher is None:
            passed = tensors.with_descriptors(kernel, values(args), args)
            log = workspace / f"passes-{number}.txt"
            printing = _printing(request, log)
            with printing as printed, specialization.relaxed(kernel, request.relaxed):
                if request.ttir:
                    compiled = execution.compile_ttir(kernel, request.ttir, settings, workspace)
                else:
                    compiled = execution.compile_variant(kernel, passed, settings)
        elif grid is None:
            raise CaptureError(f"{kernel.name} cannot be launched: its grid is not known")
        else:
            compiled, result = launcher.launch(kernel, args, settings, grid)
        if all(compiled.entry != variant.entry for variant in variants):
            variants.append(
                _Variant(
                    entry=compiled.entry,
                    constexprs=compiled.constexprs,
                    options=compiled.options,
                    files=named_files(settings.values()),
                    args=call.args | _relaxed_constexprs(request, chosen),
                    grid=grid,
                    formula=formula if grid is None else _written_formula(request),
                    run=result,
                    passes=printed(),
                )
            )
    if len(expanded) > 1:
        progress(len(expanded), len(expanded))
    # An autotuner skips configurations that exceed the GPU's resources, and so does --run.
    if launcher is not None and all(variant.run is None for variant in variants):
        raise CaptureError(f"{kernel.name} cannot be launched: {compiled.refusal}")
    return variants


def _written_formula(request: Request) -> GridFormula | None:
    """Return a request's own grid, where it follows from names, for changes of the capture."""
    is_written = any(isinstance(extent, str) for extent in request.grid)
    return GridFormula(request.grid, {}) if is_written else None


def _nothing() -> None:
    """Return what a compilation printed of its passes, where nobody asked."""


@contextmanager
def _printing(request: Request, log: Path) -> Iterator[Callable[[], bytes | None]]:
    """Let the compiler print its passes or remarks into a file, if a request wants them."""
    if not (request.passes or request.remarks):
        yield _nothing
        return
    from irlens.compiler.compiler_output import printed_passes

    of = ("mlir",) * request.passes + ("llvm",) * request.llvm_passes
    with printed_passes(log, of) as printed:
        yield printed


def _relaxed_constexprs(
    request: Request, settings: dict[str, ConstexprValue]
) -> dict[str, Argument]:
    """Return the values of constexprs that are compiled as arguments."""
    names = [name for name, change in request.relaxed.items() if change == "argument"]
    values = {name: settings.get(name) for name in names}
    return {n: v for n, v in values.items() if v is None or isinstance(v, bool | int | float)}


def _write_capture(
    entry: Path, request: Request, session: "KernelSession", variant: _Variant
) -> None:
    """Write a capture: the artifacts of a variant, its sources, its manifest."""
    source, sources = session.source, session.file.sources
    copy_artifacts(variant.entry, entry, copy=os.replace)
    copy_sources(sources, entry / PYTHON_FOLDER)
    if variant.passes is not None:
        from irlens.artifacts import pass_dumps  # its patterns take milliseconds

        (entry / pass_dumps.NAME).write_bytes(variant.passes)
    manifest = Manifest(
        schema=MANIFEST_SCHEMA,
        irlens_version=VERSION,
        triton_version=triton_version(),
        kernel=source.function,
        file=source.path.name,
        target=request.target,
        constexprs=variant.constexprs,
        args={name: manifest_value(value) for name, value in variant.args.items()},
        grid=variant.grid,
        grid_formula=variant.formula,
        run=variant.run,
        dependencies={
            str(path): sha256(content) for path, content in sources.items() if path != source.path
        }
        | variant.files,
        options=variant.options,
        source=source_file(source.path, source.content, source.function),
        absent=tuple(session.file.absent),
        stopped=session.file.stopped,
        fixed=request.fixed,
    )
    write_manifest(manifest, entry)
