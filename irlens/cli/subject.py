"""What KERNEL on the command line means: something to compile, or something already there."""

import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from irlens.cli import output
from irlens.cli.options import Asked
from irlens.cli.saved import saved_reports, stdin
from irlens.model.capture import Capture
from irlens.model.errors import ArtifactError, IrlensError, UnknownNameError
from irlens.model.report import Report
from irlens.session.reading import report_of

if TYPE_CHECKING:
    from irlens.compiler import Device, Request
    from irlens.gpus import Gpu

DEFAULT_TARGET = "h100"
_BROKEN_SHOWN = 5


def find_reports(kernel: str, asked: Asked, *, sass: bool = False) -> list[Report]:
    """Return a report of everything KERNEL and the options mean; never an empty list.

    Args:
        kernel: KERNEL.
        asked: The options.
        sass: Whether to disassemble machine code too.

    Raises:
        IrlensError: KERNEL is nothing that can be inspected.
    """
    return [report for _, report in find_inspected(kernel, asked, sass=sass)]


def find_inspected(
    kernel: str, asked: Asked, *, sass: bool = False
) -> list[tuple[Capture | None, Report]]:
    """Return as ``find_reports`` does, and what each is of; ``None`` for a saved report."""
    saved = saved_reports(kernel)
    if saved is not None:
        refuse_options(kernel, asked)
        return [(None, report) for report in saved]
    return inspected(kernel, find_captures(kernel, asked), sass=sass)


def inspected(
    kernel: str, captures: Sequence[Capture], *, sass: bool = False
) -> list[tuple[Capture | None, Report]]:
    """Return a report of each capture that can be read; never an empty list.

    Args:
        kernel: KERNEL, to say what is wrong with.
        captures: What it means.
        sass: Whether to disassemble machine code too.

    Raises:
        ArtifactError: None can be read.
    """
    if len(captures) == 1:
        try:
            return [(captures[0], report_of(captures[0], sass=sass))]
        except ArtifactError as error:
            # Of two sides that are compared, it has to be said which.
            raise ArtifactError(f"{kernel}: {error.message}", hint=error.hint) from error
    found: list[tuple[Capture | None, Report]] = []
    for capture in captures:
        try:
            found.append((capture, report_of(capture, sass=sass)))
        except ArtifactError as error:
            # One broken artifact must not hide the rest of a cache.
            where = capture.directory or capture.kernel
            output.note(f"irlens: skipped {where}: {error.message}")
    if not found:
        raise ArtifactError(f"{kernel} holds no capture that can be read")
    return found


def find_captures(kernel: str, asked: Asked) -> list[Capture]:
    """Return every capture that KERNEL and the options mean; never an empty list.

    Raises:
        IrlensError: KERNEL is nothing that holds or makes captures.
    """
    if is_compiled(kernel):
        refuse_options(kernel, asked)
        if saved_reports(kernel) is not None:
            raise IrlensError(
                f"{'stdin' if kernel == '-' else kernel} is a saved report, which holds no code",
                hint="name the capture that it was made of",
            )
        return list(_loaded(kernel))
    return [capture for capture, _ in make_captures(kernel, asked)]


def is_compiled(kernel: str) -> bool:
    """Whether KERNEL is there already, so that options have nothing to choose."""
    return kernel == "-" or _is_artifact(kernel)


def _is_artifact(kernel: str) -> bool:
    """Whether KERNEL is a path to something compiled.

    ``softmax`` stays the sample even where a directory of that name stands around; ``./softmax``
    is the directory.
    """
    path = Path(kernel).expanduser()
    if path.suffix == ".py" or ".py:" in kernel:
        return False
    if "/" in kernel or path.is_file():
        return path.exists() or ":" not in kernel
    if path.is_dir():
        from irlens.compiler.finding import known_files

        return kernel not in known_files()
    return False


def _loaded(kernel: str) -> Iterator[Capture]:
    from irlens.artifacts.entries import Broken
    from irlens.artifacts.load import load, load_bytes

    if kernel == "-":
        yield from load_bytes(stdin(), name="stdin")
        return
    broken: list[Broken] = []
    found = False
    for capture in load(Path(kernel).expanduser()):
        if isinstance(capture, Broken):
            broken.append(capture)
        else:
            found = True
            yield capture
    for entry in broken[:_BROKEN_SHOWN]:
        output.note(f"irlens: skipped {entry.path}: {entry.reason}")
    if len(broken) > _BROKEN_SHOWN:
        output.note(f"irlens: skipped {len(broken) - _BROKEN_SHOWN} more")
    if not found:
        raise ArtifactError(f"{kernel} holds no capture that can be read")


def make_captures(kernel: str, asked: Asked) -> "Iterator[tuple[Capture, Request]]":
    """Yield what a kernel is compiled to, or was before, and what asked for it.

    Raises:
        IrlensError: It cannot be compiled.
    """
    from irlens.compiler import capture, is_stored
    from irlens.compiler.messages import head_last_words

    head_last_words("irlens: error: the compiler ended the process. It said last:\n")
    for request in find_requests(kernel, asked):
        if not is_stored(request):
            tell_compiling(kernel, request)
        yield from ((made, request) for made in capture(request))


def tell_compiling(kernel: str, request: "Request") -> None:
    """Say what takes a while: to whoever looks at a terminal, and to all where it is minutes."""
    from irlens.compiler import must_install

    install = must_install(request.triton)
    if install:
        _tell_installing(request.triton)
    if install or sys.stderr.isatty():
        output.note(f"irlens: compiling {kernel} for {request.target.name} ...")


def require_triton(triton: str | None) -> None:
    """Install a Triton if need be: what no kernel can be compiled with is no kernel's fault.

    Raises:
        IrlensError: There is no such Triton.
    """
    from irlens.compiler import environments
    from irlens.compiler.request import triton_version

    if triton is None:
        triton_version()
        return
    if environments.must_install(triton):
        _tell_installing(triton)
    environments.find(triton)


def _tell_installing(triton: str | None) -> None:
    output.note(f"irlens: installing Triton {triton}, once ...")


def find_requests(kernel: str, asked: Asked) -> "Iterator[Request]":
    """Yield a request for each combination of what the options ask for, the compiler slowest.

    Raises:
        UnknownNameError: A target is unknown.
    """
    from irlens import gpus as arch
    from irlens.compiler import Request, find_device

    device = find_device()
    present = known_gpu(device) if device is not None else None
    if device is None and not asked.targets:
        tell_default_target()
    for triton in asked.tritons or (None,):
        for target, settings, args in asked.combinations():
            gpu = arch.find(target) if target else present or arch.find(DEFAULT_TARGET)
            here = device is not None and device.target.arch == gpu.arch.name
            # Another Triton's environment has hardly ever a PyTorch.
            can_run = here and triton is None and _has_torch()
            yield Request(
                kernel=kernel,
                target=gpu.target,
                sm_count=gpu.sm_count,
                settings=settings,
                args=args,
                run=can_run if asked.run is None else asked.run,
                triton=triton,
            )


@cache
def tell_default_target() -> None:
    """Say, once, that nobody has named a target."""
    output.note(f"irlens: no GPU here and no --target: compiling for {DEFAULT_TARGET}")


def known_gpu(device: "Device") -> "Gpu":
    """Return the GPU that is present: as the product its driver names, else by architecture."""
    from irlens import gpus as arch

    try:
        return arch.find(device.name or device.target.arch)
    except UnknownNameError:
        return arch.by_arch(device.target.arch)


def _has_torch() -> bool:
    """Whether kernels can be launched; looking for PyTorch does not load it."""
    from importlib.util import find_spec

    return find_spec("torch") is not None


def refuse_options(kernel: str, asked: Asked) -> None:
    """Raise ``IrlensError`` if options choose configurations of what is compiled already."""
    if asked != Asked():
        raise IrlensError(
            f"{kernel} is compiled already: --target, --set and the like have no effect on it",
            hint="leave them out, or name the kernel's source",
        )
