"""From the subject to captures and reports: load or compile, then analyse or recall."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from irlens.artifacts import report_cache
from irlens.model.capture import Capture
from irlens.model.errors import ArtifactError, IrlensError, UnknownNameError
from irlens.model.report import Report
from irlens.session.subject import (
    Configurations,
    is_compiled,
    read_stdin,
    refuse_options,
    saved_reports,
)

if TYPE_CHECKING:
    from irlens.compiler import Device, Request
    from irlens.gpus import Gpu

DEFAULT_TARGET = "h100"
_MAX_BROKEN_SHOWN = 5


class Notify(Protocol):
    """Receives messages that are not part of a result."""

    def __call__(self, message: str, *, transient: bool = False) -> None:
        """Show a message; a ``transient`` one matters only to a person who waits."""


def ignore(message: str, *, transient: bool = False) -> None:
    """Drop a message."""


def report_of(capture: Capture, *, sass: bool = False) -> Report:
    """Return a capture's report: a remembered one, or a new one that is then remembered.

    Args:
        capture: Any capture.
        sass: Whether to disassemble machine code too.

    Raises:
        ArtifactError: An artifact is broken or gone.
        ToolError: The disassembler is missing or failed.
    """

    def make() -> Report:
        from irlens.report import inspect

        return inspect(capture, sass=sass)

    return report_cache.report_of(capture, make, sass=sass)


class Session:
    """Loads or compiles what the user named, and returns finished records.

    Args:
        notify: Receives messages about skipped captures and slow steps.
        compile: Compiles a request that the store does not answer; in this process if not given.
    """

    def __init__(
        self,
        notify: Notify = ignore,
        compile: "Callable[[Request], Sequence[Capture]] | None" = None,  # noqa: A002
    ) -> None:
        self._notify = notify
        self._compile = compile
        self._default_announced = False

    def reports(
        self, kernel: str, configurations: Configurations, *, sass: bool = False
    ) -> list[Report]:
        """Return a report of everything that KERNEL and the options select, never an empty list.

        Args:
            kernel: KERNEL.
            configurations: The configurations to compile.
            sass: Whether to disassemble machine code too.

        Raises:
            IrlensError: KERNEL cannot be inspected.
        """
        return [report for _, report in self.inspect(kernel, configurations, sass=sass)]

    def inspect(
        self, kernel: str, configurations: Configurations, *, sass: bool = False
    ) -> list[tuple[Capture | None, Report]]:
        """Return each report of ``reports`` with its capture, ``None`` for a saved report."""
        saved = saved_reports(kernel)
        if saved is not None:
            refuse_options(kernel, configurations)
            return [(None, report) for report in saved]
        return self.inspect_captures(kernel, self.captures(kernel, configurations), sass=sass)

    def inspect_captures(
        self, kernel: str, captures: Sequence[Capture], *, sass: bool = False
    ) -> list[tuple[Capture | None, Report]]:
        """Return the report of each readable capture, never an empty list.

        Args:
            kernel: KERNEL, for error messages.
            captures: The captures that it selects.
            sass: Whether to disassemble machine code too.

        Raises:
            ArtifactError: No capture is readable.
        """
        if len(captures) == 1:
            try:
                return [(captures[0], report_of(captures[0], sass=sass))]
            except ArtifactError as error:
                # A comparison has two sides: the message names the broken one.
                raise ArtifactError(f"{kernel}: {error.message}", hint=error.hint) from error
        inspected: list[tuple[Capture | None, Report]] = []
        for capture in captures:
            try:
                inspected.append((capture, report_of(capture, sass=sass)))
            except ArtifactError as error:
                # One broken artifact must not hide the rest of a cache.
                self._notify(f"skipped {capture.directory or capture.kernel}: {error.message}")
        if not inspected:
            raise _nothing_readable(kernel)
        return inspected

    def captures(self, kernel: str, configurations: Configurations) -> list[Capture]:
        """Return every capture that KERNEL and the options select, never an empty list.

        Raises:
            IrlensError: KERNEL neither holds captures nor compiles to one.
        """
        if is_compiled(kernel):
            refuse_options(kernel, configurations)
            if saved_reports(kernel) is not None:
                name = "stdin" if kernel == "-" else kernel
                raise IrlensError(
                    f"{name} is a saved report, which holds no code",
                    hint="name the capture that the report was made from",
                )
            return self._load(kernel)
        return [capture for capture, _ in self.compile_all(kernel, configurations)]

    def compile_all(
        self, kernel: str, configurations: Configurations
    ) -> "Iterator[tuple[Capture, Request]]":
        """Yield each capture of a kernel, from the store or newly compiled, with its request.

        Raises:
            IrlensError: The kernel does not compile.
        """
        from irlens.compiler.compiler_output import set_crash_heading

        set_crash_heading("irlens: error: the compiler ended the process. It said last:\n")
        for request in self.requests(kernel, configurations):
            for capture in self.compile(request):
                yield capture, request

    def compile(self, request: "Request") -> Sequence[Capture]:
        """Return the captures of a request, from the store or newly compiled.

        Raises:
            IrlensError: The kernel does not compile.
        """
        from irlens.compiler import capture, is_stored, needs_install

        if is_stored(request):
            return capture(request)
        install = needs_install(request.triton)
        if install:
            self._announce_install(request.triton)
        message = f"compiling {request.kernel} for {request.target.name} ..."
        self._notify(message, transient=not install)  # an installation takes minutes
        return (self._compile or capture)(request)

    def requests(self, kernel: str, configurations: Configurations) -> "Iterator[Request]":
        """Yield a request for each selected configuration; the compiler varies slowest.

        Raises:
            UnknownNameError: A target is unknown.
        """
        from irlens import gpus
        from irlens.compiler import Request, find_device

        device = find_device()
        default = None if configurations.targets else self.default_gpu(device)
        for triton in configurations.tritons or (None,):
            for target, settings, args in configurations.combinations():
                gpu = default or gpus.find(target or DEFAULT_TARGET)
                is_present = device is not None and device.target.arch == gpu.arch.name
                # The environment of another Triton rarely has PyTorch.
                can_run = is_present and triton is None and _has_torch()
                yield Request(
                    kernel=kernel,
                    target=gpu.target,
                    sm_count=gpu.sm_count,
                    settings=settings,
                    args=args,
                    run=can_run if configurations.run is None else configurations.run,
                    triton=triton,
                )

    def default_gpu(self, device: "Device | None") -> "Gpu":
        """Return the GPU to compile for without ``--target``: the one present, or the default.

        A default is announced once.
        """
        from irlens import gpus

        if device is not None:
            return known_gpu(device)
        if not self._default_announced:
            self._default_announced = True
            self._notify(f"no GPU present and no --target: compiling for {DEFAULT_TARGET}")
        return gpus.find(DEFAULT_TARGET)

    def require_triton(self, triton: str | None) -> None:
        """Install a Triton if needed, so that its absence is not reported as a kernel's error.

        Raises:
            IrlensError: The Triton does not exist.
        """
        from irlens.compiler.toolchains import environments
        from irlens.compiler.toolchains.versions import triton_version

        if triton is None:
            triton_version()
            return
        if environments.needs_install(triton):
            self._announce_install(triton)
        environments.find_interpreter(triton)

    def _announce_install(self, triton: str | None) -> None:
        self._notify(f"installing Triton {triton}, once ...")

    def _load(self, kernel: str) -> list[Capture]:
        from irlens.artifacts.entries import Broken
        from irlens.artifacts.load import load, load_bytes

        if kernel == "-":
            return list(load_bytes(read_stdin(), name="stdin"))
        broken: list[Broken] = []
        captures: list[Capture] = []
        for entry in load(Path(kernel).expanduser()):
            if isinstance(entry, Broken):
                broken.append(entry)
            else:
                captures.append(entry)
        for entry in broken[:_MAX_BROKEN_SHOWN]:
            self._notify(f"skipped {entry.path}: {entry.reason}")
        if len(broken) > _MAX_BROKEN_SHOWN:
            self._notify(f"skipped {len(broken) - _MAX_BROKEN_SHOWN} more")
        if not captures:
            raise _nothing_readable(kernel)
        return captures


def known_gpu(device: "Device") -> "Gpu":
    """Return the GPU that is present: the product that its driver names, or its architecture."""
    from irlens import gpus

    try:
        return gpus.find(device.name or device.target.arch)
    except UnknownNameError:
        return gpus.by_arch(device.target.arch)


def _nothing_readable(kernel: str) -> ArtifactError:
    return ArtifactError(f"{kernel} holds no readable capture")


def _has_torch() -> bool:
    """Whether kernels can be launched; the check does not load PyTorch."""
    from importlib.util import find_spec

    return find_spec("torch") is not None
