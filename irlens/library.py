"""The functions of the library: what the command line can do, with the same records.

Each function imports what no other one needs, and only compiling needs Triton.
"""

import functools
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from irlens import library_arguments as given
from irlens.model.capture import Capture, Disassembly
from irlens.model.errors import ArtifactError, CaptureError, IrlensError
from irlens.model.limits import Limits, LimitSearch
from irlens.session import Configurations
from irlens.session.session import Session

if TYPE_CHECKING:
    from pathlib import Path

    from irlens.model.check import Check
    from irlens.model.comparison import Comparison
    from irlens.model.config import ConstexprValue
    from irlens.model.passes import Passes
    from irlens.model.report import Report
    from irlens.model.scan import Scan
    from irlens.model.suggestion import Suggestion
    from irlens.model.sweep import Sweep
    from irlens.model.variants import Variants
    from irlens.programs import Recording

P = ParamSpec("P")
R = TypeVar("R")


def _public(function: Callable[P, R]) -> Callable[P, R]:
    """Return a function whose errors name keywords, not options, and whose records have pages."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:

        show_in_notebooks()
        if len(args) > 1 and "target" in (getattr(function, "__kwdefaults__", None) or ()):
            given.refuse_targets(args[1:], args[0], getattr(function, "__name__", ""))
        try:
            return function(*args, **kwargs)
        except IrlensError as error:
            from irlens.session.wording import reworded

            meant = given.meant_parameter(reworded(error, "library"), function, kwargs)
            if meant.hint is not None:
                meant.add_note(meant.hint)  # a traceback has no other place for it
            raise meant from error.__cause__

    return call


@_public
def capture(
    kernel: object,
    target: str | None = None,
    *,
    args: "Mapping[str, ConstexprValue] | None" = None,
    grid: "Sequence[int | str] | None" = None,
    run: bool = False,
    triton: str | None = None,
    **settings: "ConstexprValue",
) -> "Capture":
    """Compile a kernel, or return its capture from the store.

    Args:
        kernel: A sample's name, "path/file.py:kernel", "package.module:kernel", or the function
            that ``triton.jit`` returned.
        target: A GPU: "sm_90", "h100", "gfx942", "mi300x", ...; by default the one of this
            machine, or "h100".
        args: Run-time arguments and sizes that replace the kernel's defaults: 781,
            "fp16[1024, 1024]", or "fp16[1024, 1024]:block[128, 64]" for a tensor descriptor
            created on the host.
        grid: CTAs of the launch in x, y and z: numbers, or expressions over the arguments.
        run: Also launch the kernel on the GPU of this machine.
        triton: Compile with another Triton than the installed one: a version ("3.7.1"), which is
            installed in an environment of its own if needed, or the path of an interpreter.
        **settings: Constexprs and compile options: ``num_stages=4, BLOCK_SIZE=1024``.

    Raises:
        IrlensError: A name is unknown, the kernel does not compile, or its autotuner leaves
            several configurations: ``irlens.sweep`` takes them all.
        TypeError: An argument has another type.
    """
    from irlens import gpus
    from irlens.compiler import Request, find_device

    session, named = Session(), given.kernel_name(kernel)
    chosen = given.one_target(target, "capture")
    gpu = gpus.find(chosen) if chosen else session.default_gpu(find_device())
    request = Request(
        kernel=named,
        target=gpu.target,
        sm_count=gpu.sm_count,
        settings={name: given.one_value(name, value) for name, value in settings.items()},
        args=given.argument_texts(args),
        grid=tuple(map(str, grid or ())),
        run=run,
        triton=triton,
    )
    captures = session.compile(request)
    if len(captures) > 1:
        raise CaptureError(
            f"{named} is autotuned over {len(captures)} configurations",
            hint="fix the values that they vary, or compare them with irlens.sweep",
        )
    return captures[0]


@_public
def load(path: "str | Path") -> "Iterator[Capture]":
    """Yield the captures at a path: a Triton cache, a capture, or a single artifact.

    Raises:
        ArtifactError: While iterating: the path does not exist, or an entry is broken.
        TypeError: It is no path.
    """
    return _load(given.path_of(path, "load"))


def _load(path: "Path") -> "Iterator[Capture]":
    from irlens.artifacts.entries import Broken
    from irlens.artifacts.load import load as load_all

    for entry in load_all(path.expanduser()):
        if isinstance(entry, Broken):
            raise ArtifactError(f"{entry.path}: {entry.reason}")
        yield entry


@_public
def inspect(
    capture: "Capture",
    *,
    sass: bool = False,
    launch: "Mapping[str, Any] | None" = None,
    target: str | None = None,
) -> "Report":
    """Return the report of a capture, which is remembered in irlens's cache directory.

    Args:
        capture: Any capture.
        sass: Whether to disassemble the machine code too, as ``irlens inspect`` does: its live
            registers and spills, for about half a second.
        launch: What a capture does not say of its launch, for the figures that depend on it:
            ``{"args": {"x_ptr": "fp32[4096]", "n": 4096}, "grid": [4, 1, 1]}``. Constexprs may be
            among the arguments. ``"int32[2]:values[512, 1024]"`` and ``"@FILE.npy"`` are
            tensors with their contents.
        target: The GPU to take the capture for, one of the architecture it was compiled for:
            "h200" for a cache entry that says "sm_90".

    Raises:
        CaptureError: The kernel cannot be launched so.
        UnknownNameError: An argument or the target is unknown.
        ArtifactError: An artifact is broken.
        ToolError: The disassembler is missing or failed.
        TypeError: It is no capture.
    """
    from irlens.session.reports import report_of

    given.check_capture(capture, "inspect")
    if launch is not None or target is not None:
        from irlens.session.launch import read_launch, with_launch

        capture = with_launch(capture, read_launch(launch or {}), target)
    return report_of(capture, Disassembly(sass))


@_public
def compare(before: "Report", after: "Report") -> "Comparison":
    """Return the differences between two reports, figure by figure.

    Raises:
        TypeError: One is no report.
    """
    from irlens.diff.report import compare as compare_reports

    given.check_report(before, "compare")
    given.check_report(after, "compare")
    return compare_reports(before, after)


@_public
def sweep(
    kernel: object,
    target: "str | Sequence[str] | None" = None,
    *,
    args: "Mapping[str, object] | None" = None,
    grid: "Sequence[int | str] | None" = None,
    triton: "str | Sequence[str] | None" = None,
    where: "str | Sequence[str]" = (),
    filters: "str | Sequence[str]" = (),
    sort: "str | Sequence[str]" = (),
    rank: str | None = None,
    top: int | None = None,
    jobs: int | None = None,
    **settings: object,
) -> "Sweep":
    """Compile a grid of configurations, and return which fit, with their figures.

    Every target, argument, constexpr and compile option may have several values, in a list or as a
    range ("1..5", "16..256..x2"): ``irlens.sweep("matmul", "h100", num_stages=[2, 3, 4])``. A range
    of more than 64 sizes gives the estimated time over the size, unless conditions, ``sort`` or
    ``top`` need each compiled: ``irlens.sweep("softmax", args={"n_cols": "256..16384"})``.

    Args:
        kernel: As ``capture`` takes it; or a capture's directory.
        target: GPUs.
        args: Run-time arguments and sizes.
        grid: CTAs of the launch.
        triton: Versions or interpreters.
        where: Conditions on the configurations to compile.
        filters: Conditions on the results to return.
        sort: Figures to sort by; a leading minus sorts the largest first.
        rank: The figure that ranks the results instead: "time".
        top: Results to keep on each target, of those that fit.
        jobs: Worker processes; one for each core by default.
        **settings: Constexprs and compile options.

    Raises:
        IrlensError: A name is unknown, or nothing can be compiled.
        TypeError: An argument has another type.
    """
    from irlens.session.grids import sweep as run_sweep
    from irlens.sweeps.selection import Selection

    selection = Selection(
        where=given.texts(where),
        filters=given.texts(filters),
        sort=given.texts(sort),
        rank=rank,
        top=top,
    )
    chosen = _configurations(target, given.as_ranges(args), grid, triton, settings)
    return run_sweep(Session(), given.kernel_name(kernel), chosen, selection, jobs=jobs)


@_public
def suggest(
    kernel: object,
    target: str | None = None,
    *,
    args: "Mapping[str, ConstexprValue] | None" = None,
    grid: "Sequence[int | str] | None" = None,
    triton: str | None = None,
    most: int = 40,
    budget: float = math.inf,
    jobs: int | None = None,
    **settings: "ConstexprValue",
) -> "Suggestion":
    """Compile the neighbours of a configuration, and return the fastest by estimated time.

    Args:
        kernel: As ``capture`` takes it; or a capture's directory.
        target: A GPU.
        args: Run-time arguments and sizes.
        grid: CTAs of the launch.
        triton: A version or an interpreter.
        most: Neighbours to compile at most.
        budget: Seconds to compile in; the best so far is returned when they are spent.
        jobs: Worker processes; one for each core by default.
        **settings: Constexprs and compile options of the current configuration.

    Raises:
        IrlensError: A name is unknown, the kernel does not compile, or has no estimated time.
        TypeError: An argument has another type.
    """
    from irlens.session.suggest import requests_near, suggest_near

    session = Session()
    single = {name: given.one_value(name, value) for name, value in settings.items()}
    chosen = _configurations(given.one_target(target, "suggest"), args, grid, triton, single)
    requests = requests_near(given.kernel_name(kernel), chosen, session)
    return suggest_near(requests, session, most=most, jobs=jobs, seconds=budget)


@_public
def variants(
    *kernels: object,
    target: "str | Sequence[str] | None" = None,
    args: "Mapping[str, object] | None" = None,
    grid: "Sequence[int | str] | None" = None,
    triton: "str | Sequence[str] | None" = None,
    most: int = 64,
    budget: float = 60.0,
    jobs: int | None = None,
    **settings: object,
) -> "Variants":
    """Return the variants that Triton compiles of a kernel, and what tells them apart.

    Args:
        *kernels: A kernel as ``capture`` takes it, whose variants are compiled; or the paths of
            captures, recordings and caches, whose variants are those that are there.
        target: GPUs.
        args: What run-time arguments and sizes take: ``{"n": "1..131072"}``, a range, a list.
        grid: CTAs of the launch.
        triton: Versions or interpreters.
        most: Variants of each GPU to compile; the others are counted.
        budget: Seconds to compile in; what is left then is counted.
        jobs: Worker processes; one for each core by default.
        **settings: Constexprs and compile options.

    Raises:
        IrlensError: A name is unknown, a launch is invalid, or nothing can be read.
        TypeError: An argument has another type.
    """
    from irlens.session.variants import variants_of

    if not kernels:
        raise TypeError("variants takes a kernel: irlens.variants('softmax', args={...})")
    chosen = _configurations(target, given.as_ranges(args), grid, triton, settings)
    return variants_of(
        Session(), list(map(given.kernel_name, kernels)), chosen,
        most=most, seconds=budget, jobs=jobs,
    )  # fmt: skip


@_public
def limits(
    kernel: object,
    *,
    target: str | None = None,
    along: "Mapping[str, range | str | None] | Sequence[str] | str" = (),
    args: "Mapping[str, ConstexprValue] | None" = None,
    grid: "Sequence[int | str] | None" = None,
    triton: str | None = None,
    jobs: int | None = None,
    **settings: "ConstexprValue",
) -> "Limits":
    """Return the smallest sizes at which a kernel breaks, and why.

    Args:
        kernel: As ``capture`` takes it.
        target: A GPU.
        along: The sizes to vary, each alone: ``"tokens"``, ``{"tokens": "1..4096"}``, a range;
            by default each, from 1 to 2^32.
        args: Run-time arguments and sizes; ``{"seq": "2 * tokens"}`` follows another.
        grid: CTAs of the launch.
        triton: A version or an interpreter.
        jobs: Worker processes; one for each core by default.
        **settings: Constexprs and compile options.

    Raises:
        IrlensError: A name is unknown, or the kernel is compiled already.
        TypeError: An argument has another type.
    """
    from irlens.session.limits import limits_of

    single = {name: given.one_value(name, value) for name, value in settings.items()}
    chosen = _configurations(given.one_target(target, "limits"), args, grid, triton, single)
    search = LimitSearch(jobs=jobs)
    return limits_of(Session(), given.kernel_name(kernel), chosen, given.size_ranges(along), search)


@_public
def passes(
    kernel: object,
    target: str | None = None,
    *,
    shown: "str | Sequence[str]" = (),
    first: "str | Sequence[str]" = (),
    last: "str | Sequence[str]" = (),
    line: str | int | None = None,
    changes: bool = False,
    args: "Mapping[str, ConstexprValue] | None" = None,
    triton: str | None = None,
    **settings: "ConstexprValue",
) -> "Passes":
    """Return the passes of one compilation, what each changed, and how long it took.

    Args:
        kernel: As ``capture`` takes it, or a file with the output of ``MLIR_ENABLE_DUMP=1``.
        target: A GPU.
        shown: Numbers or names of passes whose changes are shown.
        first: Operations, to name the pass that brings each.
        last: Operations, to name the pass that removes the last of each.
        line: A line of Python to follow: 51, "standard.py:170".
        changes: Whether to list the lines that each pass replaces.
        args: Run-time arguments and sizes.
        triton: A version or an interpreter.
        **settings: Constexprs and compile options.

    Raises:
        IrlensError: The kernel does not compile, its passes are unknown, or a name is.
        TypeError: An argument has another type.
    """
    from irlens.session.passes import Asked, passes_of

    single = {name: given.one_value(name, value) for name, value in settings.items()}
    chosen = _configurations(given.one_target(target, "passes"), args, None, triton, single)
    asked = Asked(
        passes=given.texts(shown), first=given.texts(first), last=given.texts(last),
        line=None if line is None else str(line), changes=changes,
    )  # fmt: skip
    return passes_of(given.kernel_name(kernel), chosen, Session(), asked)


@_public
def check(
    *kernels: object,
    target: "str | Sequence[str] | None" = None,
    args: "Mapping[str, object] | None" = None,
    baseline: "str | Path | None" = None,
    update: bool = False,
    strict: bool = False,
    **settings: object,
) -> "Check":
    """Compare kernels with the checked-in baseline and the budgets of ``pyproject.toml``.

    Args:
        *kernels: As ``capture`` takes them; those of the baseline and the project if there is none.
        target: GPUs.
        args: Run-time arguments and sizes.
        baseline: The baseline; by default ``irlens.baseline.json`` beside ``pyproject.toml``.
        update: Whether to rewrite the baseline.
        strict: Whether any difference fails.
        **settings: Constexprs and compile options.

    Raises:
        IrlensError: There is nothing to check, or a kernel does not compile.
        TypeError: An argument has another type.
    """
    from irlens.model import files
    from irlens.session.baselines import CheckRequest, run_check

    request = CheckRequest(
        kernels=tuple(map(given.kernel_name, kernels)),
        configurations=_configurations(target, args, None, None, settings),
        file=None if baseline is None else given.path_of(baseline, "check"),
        update=update,
        strict=strict,
    )
    checked = run_check(request, Session())
    if update:
        files.replace(checked.path, [checked.baseline])
    return checked.check


@_public
def scan(
    *directories: "str | Path",
    columns: "str | Sequence[str]" = (),
    where: "str | Sequence[str]" = (),
    sort: "str | Sequence[str]" = (),
    jobs: int | None = None,
) -> "Scan":
    """Return a row of figures for each capture of some directories, and what they sum up to.

    Args:
        *directories: Triton caches, trees of caches, directories of captures.
        columns: Figures, by a name that budgets and sweeps use.
        where: Conditions that a row has to meet: "local_bytes > 0".
        sort: Columns to sort by; a leading minus sorts the largest first.
        jobs: Worker processes.

    Raises:
        IrlensError: A directory or a name is unknown.
        TypeError: An argument has another type.
    """
    from irlens.session.scan import Request, Scanner
    from irlens.session.scan.columns import SUMMED_UP

    if not directories:
        raise TypeError("scan takes at least one directory: irlens.scan('~/.triton/cache')")
    conditions = given.texts(where)
    request = Request.parse(
        [given.path_of(each, "scan").expanduser() for each in directories],
        given.texts(columns) or SUMMED_UP,
        conditions,
        given.texts(sort),
        sums_up=True,
        jobs=jobs,
    )
    return Scanner(request, lambda _: None).document(conditions)


@_public
def record(
    program: "str | Path",
    *arguments: object,
    output: "str | Path | None" = None,
    target: "str | Sequence[str] | None" = None,
    module: bool = False,
    assume: float | None = None,
    configs: int | None = None,
    triton: str | None = None,
) -> "Recording":
    """Run a program in a process of its own, and capture every kernel that it compiles.

    The result has what the program launched, with estimated times, as ``programs``.

    Args:
        program: A script's path, or a module's name.
        *arguments: The program's arguments.
        output: The directory for the captures, which ``load`` and ``scan`` read; by default
            ``irlens-PROGRAM`` in the current one. An earlier recording there is replaced.
        target: GPUs to compile for without one; by default the GPU of this machine, or "h100".
        module: Whether ``program`` is a module's name.
        assume: The number to assume where the program reads what only a kernel computes.
        configs: Configurations that autotuners try; all by default.
        triton: A version, or an interpreter that runs the program.

    Raises:
        IrlensError: The program cannot be started, or the captures cannot be written.
        TypeError: An argument has another type.
    """
    import msgspec

    from irlens import gpus
    from irlens.compiler import find_device
    from irlens.compiler.sources.running import default_recording
    from irlens.programs import Options, Program
    from irlens.programs import record as run
    from irlens.session.programs import program_runs

    named = given.texts(target or ())
    device = None if named else find_device()
    chosen = [gpus.find(name) for name in named] or [Session().default_gpu(device)]
    request = Program(
        name=str(given.path_of(program, "record")),
        is_module=module,
        arguments=tuple(map(str, arguments)),
    )
    options = Options(assumed=assume, configurations=configs)
    destination = default_recording(request.name)
    if output is not None:
        destination = given.path_of(output, "record").expanduser()
    recorded = run(
        request, destination, chosen, fake=device is None, options=options, triton=triton
    )
    setattr(type(recorded), _METHOD, _repr_recording)
    if not recorded.variants:
        return recorded
    return msgspec.structs.replace(
        recorded, directory=str(destination), programs=tuple(program_runs(destination))
    )


@_public
def to_builtins(record: object) -> dict[str, Any]:
    """Return a record as dictionaries and lists, as in the JSON output.

    Raises:
        TypeError: It is no record of irlens.
    """
    import msgspec

    if not isinstance(record, msgspec.Struct):
        raise TypeError(
            f"to_builtins takes one record, such as a report, and not {type(record).__name__}"
        )
    converted: dict[str, Any] = msgspec.to_builtins(record)
    return converted


def _configurations(
    target: object,
    args: "Mapping[str, object] | None",
    grid: "Sequence[int | str] | None",
    triton: object,
    settings: Mapping[str, object],
) -> "Configurations":

    return Configurations(
        targets=given.texts(target or ()),
        settings=given.axes(settings),
        args=given.argument_axes(args),
        grid=tuple(map(str, grid or ())),
        tritons=given.texts(triton or ()),
        run=False,
    )


@functools.cache
def show_in_notebooks() -> None:
    """Give records the method that notebooks look for; they know nothing of rendering."""
    from irlens.model.comparison import Comparison
    from irlens.model.results import KINDS, record_of

    for record in (Comparison, *map(record_of, KINDS)):
        setattr(record, _METHOD, _repr_html)
    setattr(Capture, _METHOD, lambda capture: _repr_html(inspect(capture)))


def _repr_html(record: Any) -> str:
    """Return a record as the HTML report, in a frame."""
    from irlens.render.html import embedded

    return embedded(record)


def _repr_recording(recording: "Recording") -> str | None:
    """Return the scan of a recording, in a frame; ``None`` where nothing was captured."""
    return _repr_html(scan(recording.directory)) if recording.directory else None


#: The method by which IPython asks for HTML.
_METHOD = "_repr_html_"
if "IPython" in sys.modules:  # a notebook may also read records from elsewhere
    show_in_notebooks()
