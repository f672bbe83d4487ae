"""From what the user named to captures and reports: load or compile, then inspect."""

import shlex
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from irlens.artifacts import store
from irlens.model.capture import Capture, Disassembly, Manifest, load_notes
from irlens.model.errors import CaptureError, IrlensError, UnknownNameError
from irlens.model.text import first_of
from irlens.session import (
    Configurations,
    is_compiled,
    names_a_source,
    refuse_options,
)
from irlens.session.documents import read_stdin, saved_reports
from irlens.session.reports import Needs, inspect_sets, nothing_readable, take_equal

if TYPE_CHECKING:
    from irlens.compiler import Device, Request
    from irlens.gpus import Gpu
    from irlens.model.comparison import Side
    from irlens.model.report import Report
    from irlens.sweeps.worker_pool import WorkerPool

_DEFAULT_TARGET = "h100"
_MAX_BROKEN_SHOWN = 5
#: Captures in a directory that are made reports of at once.
_MOST_CAPTURES = 2_000
#: What a recompiled capture does not see of a program that was edited.
_EDITED = ", which has changed since; the {} as recorded"
#: Recorded grids that a note names, and files of a recording.
_MAX_GRIDS, _MAX_SOURCES = 3, 4
#: Warnings of one compilation.
_MAX_WARNINGS = 5


def ignore(message: str) -> None:
    """Drop a message."""


class Session:
    """Loads or compiles what the user named, and returns finished records.

    Args:
        compile: Compiles a request that the store does not answer; in this process if not given.
        recompiles: Whether the source of a capture may be compiled again.
    """

    def __init__(
        self,
        notify: Callable[[str], None] = ignore,
        compile: "Callable[[Request], Sequence[Capture]] | None" = None,  # noqa: A002
        *,
        announce: Callable[[str], None] = ignore,
        recompiles: bool = True,
    ) -> None:
        self._recompiles = recompiles
        self._notify, self._announce = notify, announce
        self._compile = compile
        self._default_announced = False
        self._noted: set[str] = set()
        #: Files that have changed since captures were made from them, by KERNEL.
        self.edited: dict[str, list[str]] = {}

    def word_notes(self, worded: "Callable[[str], str]") -> None:
        """Show every later message as a function words it."""
        shown, announced = self._notify, self._announce
        self._notify = lambda message: shown(worded(message))
        self._announce = lambda message: announced(worded(message))

    def reports(
        self,
        kernel: str,
        configurations: Configurations,
        disassembly: Disassembly = Disassembly.TRY,
    ) -> "list[Report]":
        """Return a report of everything that KERNEL and the options select, never an empty list.

        Raises:
            IrlensError: KERNEL cannot be inspected.
        """
        selected = self.select(kernel, configurations)
        return [report for _, report in self.inspect(kernel, selected, disassembly)]

    def reports_of_sides(
        self, sides: Sequence[tuple[str, Configurations]], needs: Needs
    ) -> "tuple[list[list[Report]], list[Side]]":
        """Return what ``reports`` returns of each KERNEL and its configurations.

        Captures that both of two sides hold need no reports if the needs are brief: many of them
        are the second thing returned instead.

        Raises:
            IrlensError: A KERNEL cannot be inspected.
        """
        sets: list[list[Capture | Report]] = [[*self._select(*side)] for side in sides]
        disassembly = needs.disassembly
        skips = needs.is_brief and disassembly is not Disassembly.REQUIRE
        equal = take_equal(sets) if skips else []
        if equal:
            disassembly = Disassembly.SKIP  # as all of them together
        rest = [
            (kernel, each)
            for (kernel, _), each in zip(sides, sets, strict=True)
            if each or not equal
        ]
        inspected = iter(inspect_sets(rest, disassembly, self._notify, "brief"))
        return [
            [report for _, report in next(inspected)] if each or not equal else [] for each in sets
        ], equal

    def inspect(
        self,
        kernel: str,
        selected: "Sequence[Capture | Report]",
        disassembly: Disassembly = Disassembly.TRY,
    ) -> "list[tuple[Capture | None, Report]]":
        """Return each report with its capture, ``None`` for a saved report; never an empty list.

        Raises:
            ArtifactError: No capture is readable.
        """
        (inspected,) = inspect_sets([(kernel, selected)], disassembly, self._notify)
        return inspected

    def select(
        self, kernel: str, configurations: Configurations
    ) -> "Sequence[Report] | list[Capture]":
        """Return what KERNEL and the options select, and say whose source has changed since."""
        selected = self._select(kernel, configurations)
        captures = [each for each in selected if isinstance(each, Capture)]
        if is_compiled(kernel) and configurations.is_empty:
            self._note_edits(kernel, captures)
        return selected

    def _select(
        self, kernel: str, configurations: Configurations
    ) -> "Sequence[Report] | list[Capture]":
        """Return the saved reports or the captures that KERNEL and the options select."""
        saved = saved_reports(kernel)
        if saved is None:
            return self.captures(kernel, configurations)
        refuse_options(kernel, configurations)
        return saved

    def captures(self, kernel: str, configurations: Configurations) -> list[Capture]:
        """Return every capture that KERNEL and the options select, never an empty list.

        Raises:
            IrlensError: KERNEL neither holds captures nor compiles to one.
        """
        if is_compiled(kernel) and (configurations.is_empty or kernel == "-"):
            refuse_options(kernel, configurations)
            _refuse_report(kernel)
            return self._load(kernel)
        if (launched := self.launched(kernel, configurations)) is not None:
            return launched
        return [capture for capture, _ in self.compile_all(kernel, configurations)]

    def _note_edits(self, kernel: str, captures: Sequence[Capture]) -> None:
        if any(capture.source is not None for capture in captures):
            from irlens.compiler.capture_files import edited_sources

            see = "record or compile it again to see the change"
            self.edited[kernel] = edited_sources(captures)
            for path in self.edited[kernel]:
                self.note_once([f"{kernel} was compiled before {path} changed: {see}"])

    def launched(self, kernel: str, configurations: Configurations) -> list[Capture] | None:
        """Return captures that say nothing of their launch, completed with those that are given.

        Returns:
            ``None`` where KERNEL is something else, or options ask for another compilation.

        Raises:
            IrlensError: No capture can be launched so.
        """
        if kernel == "-" or not is_compiled(kernel) or configurations.is_empty:
            return None
        if not configurations.is_launch or saved_reports(kernel) is not None:
            return None
        captures = self._load(kernel)
        if any(capture.manifest is not None for capture in captures):
            return None  # irlens captured them, and can compile them again
        from irlens.session.launch import launches

        combinations = [(target, args) for target, _, args in configurations.as_written()]
        results = list(launches(captures, combinations, configurations.grid))
        launched = [each for each in results if isinstance(each, Capture)]
        refused = [each for each in results if not isinstance(each, Capture)]
        if not launched:
            raise refused[0]
        for error in refused:  # of several kernels only some have these arguments
            self._notify(f"skipped: {error.message}")
        return launched

    def compile_all(
        self, kernel: str, configurations: Configurations
    ) -> "Iterator[tuple[Capture, Request]]":
        """Yield each capture of a kernel, from the store or newly compiled, with its request.

        Raises:
            IrlensError: The kernel does not compile.
        """
        from irlens.compiler.sources.description import find_kernels
        from irlens.compiler.sources.lookup import find_file
        from irlens.compiler.sources.running import how_to_run

        recompiled = is_compiled(kernel)
        functions = [] if recompiled else [each.function for each in find_kernels(kernel)]
        requests = list(self.requests(kernel, configurations))
        if recompiled or len(functions) == 1:
            for request in requests:
                for capture in self.compile(request):
                    yield capture, request
            return
        names = [f"{kernel}:{function}" for function in functions]
        run = how_to_run(find_file(kernel))
        compiled = [each for name in names for each in self._compile_or_skip(name, requests, run)]
        if not compiled:
            named = f"name one, with its arguments: {names[0]} --arg NAME=VALUE"
            raise CaptureError(
                f"none of the {len(names)} kernels in {kernel} compiles as it is",
                hint="\n".join(filter(None, [run, named])),
            )
        yield from compiled

    def _compile_or_skip(
        self, kernel: str, requests: "Sequence[Request]", said_once: str | None
    ) -> "list[tuple[Capture, Request]]":
        """Return the captures of one kernel of several; say why if there are none.

        Args:
            said_once: A line of hints that all kernels of the file share.
        """
        own = [replace(request, kernel=kernel) for request in requests]
        try:
            return [(capture, request) for request in own for capture in self.compile(request)]
        except UnknownNameError as error:  # an option that is another kernel's
            self._notify(f"skipped {kernel}: {error.message}")
        except IrlensError as error:
            hint = [line for line in (error.hint or "").splitlines() if line != said_once]
            self._notify(f"skipped {kernel}: {'; '.join([error.message, *hint])}")
        return []

    def compile(self, request: "Request") -> Sequence[Capture]:
        """Return the captures of a request, from the store or newly compiled.

        Raises:
            IrlensError: The kernel does not compile.
        """
        from irlens.compiler import capture, is_stored, needs_install

        if is_stored(request):
            captures: Sequence[Capture] = capture(request)
            self._note_loading([each.manifest for each in captures], request)
            return captures
        self.ensure_store()
        install = needs_install(request.triton)
        if install:
            self._announce_install(request.triton)
        message = f"compiling {request.kernel} for {request.target.name} ..."
        (self._notify if install else self._announce)(message)  # an installation takes minutes
        with self._noting_warnings():
            captures = (self._compile or capture)(request)
        self._note_loading([each.manifest for each in captures], request)
        return captures

    @contextmanager
    def _noting_warnings(self) -> "Iterator[None]":
        """Show each of Python's warnings once, as a line: Triton repeats its own."""
        with warnings.catch_warnings(record=True) as caught:
            yield
        lines = dict.fromkeys(
            f"{Path(each.filename).name}:{each.lineno}: {' '.join(str(each.message).split())}"
            for each in caught
        )
        shown = list(lines)[:_MAX_WARNINGS]
        if len(lines) > len(shown):
            shown.append(f"{len(lines) - len(shown)} more warnings of the compiler")
        self.note_once(shown)

    def ensure_store(self) -> None:
        """Go on with a temporary directory, and say so, if the store cannot be written."""
        problem = store.ensure_writable()
        if problem is not None:
            self._notify(f"{problem}; using a temporary directory, which is removed at the end")

    def _note_loading(self, manifests: Sequence[Manifest | None], request: "Request") -> None:
        """Show once how a kernel's file was loaded, and the grid that a launch lacks."""
        from irlens.session.recompile import covering_grid, launched_grid

        for manifest in filter(None, manifests):
            self.note_once(load_notes(manifest.file, manifest.absent, manifest.stopped))
            if request.kernel in self._noted:
                continue
            if grid := launched_grid(manifest, request):
                said = f"--grid {shlex.quote(grid)} is that of the launch in the file"
                self.note_once([f"the grid is unknown: {said}"])
            elif grid := covering_grid(manifest, request):
                self.note_once(
                    [f"the grid is unknown: --grid {shlex.quote(grid)} covers the tensors"]
                )

    def note_once(self, notes: Sequence[str]) -> None:
        """Show the notes that this session has not shown yet."""
        for note in notes:
            if note not in self._noted:
                self._noted.add(note)
                self._notify(note)

    def requests(self, kernel: str, configurations: Configurations) -> "Iterator[Request]":
        """Yield a request for each selected configuration; the compiler varies slowest.

        Each capture that KERNEL holds is requested again, with what the options change.

        Raises:
            UnknownNameError: A target is unknown.
            CaptureError: The source of a capture is unknown or gone.
        """
        if is_compiled(kernel):
            yield from (request for _, request in self.recompilations(kernel, configurations))
            return
        from importlib.util import find_spec

        from irlens import gpus
        from irlens.compiler import Request, find_device

        device = find_device()
        default = None if configurations.targets else self.default_gpu(device)
        for triton in configurations.tritons or (None,):
            for target, settings, args in configurations.combinations():
                gpu = default or gpus.find(target or _DEFAULT_TARGET)
                self.note_once([note] if (note := gpus.support_note(gpu)) else [])
                is_present = device is not None and device.target.arch == gpu.arch.name
                # The environment of another Triton rarely has PyTorch.
                can_run = is_present and triton is None and find_spec("torch") is not None
                yield Request(
                    kernel=kernel,
                    target=gpu.target,
                    sm_count=gpu.sm_count,
                    settings=settings,
                    args=args,
                    grid=configurations.grid,
                    run=can_run if configurations.run is None else configurations.run,
                    triton=triton,
                )

    def recompilations(
        self, kernel: str, configurations: Configurations
    ) -> "Iterator[tuple[Capture, Request]]":
        """Yield each capture that KERNEL holds with its request, as ``requests`` does."""
        from irlens.session.recompile import recompilations

        _refuse_report(kernel)
        if not self._recompiles:
            raise names_a_source(kernel)
        found = list(recompilations(self._load(kernel), configurations))
        self._note_sources(found)
        self._note_recorded_launches(found)
        yield from found

    def _note_sources(self, found: "Sequence[tuple[Capture, Request]]") -> None:
        """Name the files that recompilations load, and say which have changed since."""
        from irlens.artifacts.revisions import is_kept
        from irlens.session.recompile import is_edited

        sources: dict[tuple[str, bool], dict[str, None]] = {}
        for capture, request in found:
            path, _, function = request.kernel.rpartition(":")
            key = path, is_edited(capture, request.kernel)
            sources.setdefault(key, {})[function] = None
        places = []
        for (path, edited), functions in sources.items():
            verb = "launch is" if len(functions) == 1 else "launches are"
            since = _EDITED.format(verb) if edited else ""
            place = f"the recorded copy of {Path(path).name}" if is_kept(path) else path
            places.append(f"compiling from {place}:{', '.join(functions)}{since}")
        more = len(places) - _MAX_SOURCES
        self.note_once(places if more <= 1 else [*places[:_MAX_SOURCES], f"and from {more} more"])

    def _note_recorded_launches(self, found: "Sequence[tuple[Capture, Request]]") -> None:
        """Say what recompilations take of recorded launches, once where it is the same of all."""
        from irlens.session.recompile import (
            dropped_grid,
            evident_grid,
            followed_blocks,
            grid_of_another_gpu,
            kept_grid,
        )

        grids: dict[str, None] = {}
        dropped: dict[str, dict[str, None]] = {}
        for capture, request in found:
            self._noted.add(request.kernel)  # the recorded grid is all there is to say
            if followed := followed_blocks(capture, request):
                verb = "s of {} follow" if followed[1:] else " of {} follows"
                blocks = f"the block{verb}".format(", ".join(followed))
                self.note_once([f"{blocks} the tile that the kernel loads; --arg sets another"])
            if kept := kept_grid(capture, request):
                self.note_once([f"the grid stays: no program ID depends on {', '.join(kept)}"])
            if grid := grid_of_another_gpu(capture, request):
                grids[grid] = None
            if grid := dropped_grid(capture, request):
                dropped.setdefault(evident_grid(capture, request), {})[grid] = None
        if grids:
            verb = "grids stay" if len(grids) > 1 else "grid stays"
            self.note_once([f"the {verb} as recorded: {first_of([*grids], _MAX_GRIDS, '; ')}"])
        for formula, kept_grids in dropped.items():
            ways = [f"--grid {shlex.quote(formula)} if the program computes it so"] * bool(formula)
            ways += [f"--grid {grid} keeps it" for grid in kept_grids if len(kept_grids) == 1]
            may = "the grid may follow from what changes"
            self.note_once([f"{may}: {'; '.join(ways) or '--grid says how'}"])

    def default_gpu(self, device: "Device | None") -> "Gpu":
        """Return the GPU to compile for without ``--target``: the one present, or the default.

        A default is announced once.
        """
        from irlens import gpus

        if device is not None:
            return known_gpu(device)
        if not self._default_announced:
            self._default_announced = True
            self._notify(f"no GPU present and no --target: compiling for {_DEFAULT_TARGET}")
        return gpus.find(_DEFAULT_TARGET)

    def require_triton(self, triton: str | None) -> None:
        """Install a Triton if needed, so that its absence is not reported as a kernel's error.

        Raises:
            IrlensError: The Triton does not exist.
        """
        from irlens.compiler.toolchains import environments, triton_version

        if triton is None:
            triton_version()
            return
        if environments.needs_install(triton):
            self._announce_install(triton)
        environments.find_interpreter(triton)

    def prepare(self, requests: "Sequence[Request]") -> None:
        """Prepare the Tritons and the store for the compilation of some requests.

        Raises:
            IrlensError: A Triton does not exist.
        """
        for triton in dict.fromkeys(request.triton for request in requests):
            self.require_triton(triton)
        self.ensure_store()

    @contextmanager
    def workers(self, requests: "Sequence[Request]", jobs: int | None) -> "Iterator[WorkerPool]":
        """Yield worker processes that can compile some requests.

        Args:
            jobs: Their number; as many as there are processors if not given.

        Raises:
            IrlensError: A Triton does not exist.
        """
        from irlens.sweeps.worker_pool import LocalPool

        self.prepare(requests)
        pool = LocalPool(jobs)
        try:
            yield pool
        finally:
            pool.stop()

    def _announce_install(self, triton: str | None) -> None:
        self._notify(f"installing Triton {triton}, once ...")

    def _load(self, kernel: str) -> list[Capture]:
        from irlens.artifacts.entries import Broken
        from irlens.artifacts.load import load, load_bytes

        if kernel == "-":
            return list(load_bytes(read_stdin(), name="stdin"))
        found = list(islice(load(Path(kernel).expanduser()), _MOST_CAPTURES + 1))
        if len(found) > _MOST_CAPTURES:
            many = f"{kernel} holds more than {_MOST_CAPTURES:,} captures"
            raise IrlensError(many, hint="name a folder below it, or list all with `irlens scan`")
        self.note_once([note for each in found if isinstance(each, Capture) for note in each.notes])
        captures = [each for each in found if isinstance(each, Capture)]
        broken = [each for each in found if isinstance(each, Broken)]
        for entry in broken[:_MAX_BROKEN_SHOWN]:
            self._notify(f"skipped {entry.path}: {entry.reason}")
        if len(broken) > _MAX_BROKEN_SHOWN:
            self._notify(f"skipped {len(broken) - _MAX_BROKEN_SHOWN} more")
        if not captures:
            raise nothing_readable(kernel)
        return captures


def known_gpu(device: "Device") -> "Gpu":
    """Return the GPU that is present: the product that its driver names, or its architecture."""
    from irlens import gpus

    try:
        return gpus.find(device.name or device.target.arch)
    except UnknownNameError:
        return gpus.by_arch(device.target.arch)


def _refuse_report(kernel: str) -> None:
    """Raise ``IrlensError`` for a saved report."""
    if saved_reports(kernel) is not None:
        name = "stdin" if kernel == "-" else kernel
        raise IrlensError(
            f"{name} is a saved report, which holds no code",
            hint="name the capture that the report was made from",
        )
