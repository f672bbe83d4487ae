"""What a recorded program runs, with the estimated time of its kernels."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

import msgspec
from msgspec.structs import replace

from irlens import gpus
from irlens.analyze.roofline import roofline
from irlens.artifacts.load import load
from irlens.figures import derived
from irlens.gpus import Gpu
from irlens.gpus.rates import rate_of
from irlens.model import files
from irlens.model.capture import Capture, Disassembly
from irlens.model.config import Target
from irlens.model.errors import ArtifactError, IrlensError
from irlens.model.recording import (
    PROGRAM_NAME,
    KernelTime,
    LibraryCall,
    LibraryTime,
    ProgramRun,
    RecordedIndex,
    RecordedKernel,
    RecordedLaunches,
    RecordedRun,
)
from irlens.model.report import SEVERITIES, Finding, Report
from irlens.model.several import grouped, total
from irlens.model.terms import describe_missing_time
from irlens.model.traffic import flops_of_floor
from irlens.session.reports import inspect_sets
from irlens.session.tuning import Choice, tunings, with_fastest

#: Kinds of launches of a variant whose time is estimated, the most frequent ones.
_MOST_LAUNCHES = 8
#: Launches of autotuned kernels whose configurations are compared, of each run.
_MOST_TUNINGS = 50

#: A kind of launch of a variant; ``None`` where its launches are unknown.
_LaunchOf: TypeAlias = tuple[RecordedKernel, RecordedLaunches | None]


def is_recording(directory: Path) -> bool:
    """Whether a directory is a recording that knows its launches."""
    return (directory / PROGRAM_NAME).is_file()


def recorded_launches(directory: Path) -> dict[str, int]:
    """Return the number of launches of each entry of a recording, as far as they are known.

    Raises:
        ArtifactError: The index of the recording cannot be read.
    """
    if not is_recording(directory):
        return {}
    return {
        kernel.entry: sum(each.number for each in kernel.launches)
        for run in _index(directory).runs
        for kernel in run.kernels
        if kernel.launches is not None
    }


def launches_of(captures: Iterable[Capture]) -> list[int | None]:
    """Return how often each capture was launched, as far as it is one of a recording.

    A configuration that an autotuner only tried has no launch.

    Raises:
        ArtifactError: The index of a recording cannot be read.
    """
    recordings: dict[Path, dict[str, int]] = {}
    found: list[int | None] = []
    for capture in captures:
        entry = capture.directory
        if entry is None:
            found.append(None)
            continue
        if entry.parent not in recordings:
            recordings[entry.parent] = recorded_launches(entry.parent)
        found.append(recordings[entry.parent].get(entry.name))
    return found


def program_runs(
    directory: Path, notify: Callable[[str], None] = lambda message: None
) -> list[ProgramRun]:
    """Return the runs of a recording, with the time of each kernel; one for each GPU.

    Raises:
        ArtifactError: The index of the recording cannot be read.
    """
    index = _index(directory)
    found = [
        list(tunings(run.kernels, _MOST_LAUNCHES))[:_MOST_TUNINGS] if run.is_fake else []
        for run in index.runs
    ]
    wanted: dict[object, _LaunchOf] = {}
    for run, tuned in zip(index.runs, found, strict=True):
        wanted |= {_key(each): each for each in _launches(run.kernels)}
        wanted |= {_key(each): each for _, among in tuned for each in among}
    reports = _reports(directory, list(wanted.values()), notify)
    runs = []
    for run, tuned in zip(index.runs, found, strict=True):
        kernels, choices = with_fastest(run.kernels, tuned, lambda each: reports.get(_key(each)))
        runs.append(_run(index.program, replace(run, kernels=tuple(kernels)), reports, choices))
    return runs


def _launches(kernels: Sequence[RecordedKernel]) -> Iterator[_LaunchOf]:
    """Yield the kinds of launches whose time is estimated; one where they are unknown."""
    for kernel in kernels:
        if kernel.launches is None:
            yield kernel, None
        else:
            yield from ((kernel, each) for each in kernel.launches[:_MOST_LAUNCHES])


def _key(launched: _LaunchOf) -> object:
    kernel, launch = launched
    if launch is None:
        return kernel.entry
    return kernel.entry, tuple(launch.args.items()), launch.grid


def _index(directory: Path) -> RecordedIndex:
    path = directory / PROGRAM_NAME
    try:
        return msgspec.json.decode(files.read(path), type=RecordedIndex)
    except (OSError, *files.DECODE_ERRORS) as error:
        raise ArtifactError(f"{path}: {error}") from error


def _reports(
    directory: Path, launches: Sequence[_LaunchOf], notify: Callable[[str], None]
) -> dict[object, Report]:
    """Return the reports of launches by their keys.

    Those whose capture cannot be read are left out.
    """
    present = {child.name for child in directory.iterdir()}
    captures: dict[str, Capture] = {}
    launched: list[tuple[object, Capture]] = []
    for kernel, launch in launches:
        if kernel.entry not in present:  # an index is no more trusted than a capture
            continue
        if kernel.entry not in captures:
            with suppress(ArtifactError, StopIteration):
                loaded = load(directory / kernel.entry)
                captures[kernel.entry] = next(e for e in loaded if isinstance(e, Capture))
        if (capture := captures.get(kernel.entry)) is not None:
            launched.append((_key((kernel, launch)), _launched(capture, launch)))
    if not launched:
        return {}
    try:
        inspected = inspect_sets(
            [(str(directory), [each for _, each in launched])], Disassembly.SKIP, notify
        )
    except IrlensError as error:
        notify(error.message)
        return {}
    by_capture = {id(capture): report for capture, report in inspected[0]}
    return {key: by_capture[id(each)] for key, each in launched if id(each) in by_capture}


def _launched(capture: Capture, launch: RecordedLaunches | None) -> Capture:
    """Return a capture with a kind of its launches.

    What its tensors hold is known of the first launch, and taken to be alike where they are.
    """
    if launch is None:
        return capture
    config = replace(capture.config, args=launch.args, grid=launch.grid)
    alike = {
        name: stage
        for name, stage in capture.contents.items()
        if launch.args.get(name) == capture.config.args.get(name)
    }
    return replace(capture, config=config, contents=alike)


def _run(
    program: str,
    run: RecordedRun,
    reports: Mapping[object, Report],
    choices: Mapping[str, Choice],
) -> ProgramRun:
    launched = (each for each in run.kernels if each.launches != ())
    groups = grouped(((each.kernel, each.source), each) for each in launched)
    kernels = [_kernel(group, reports, choices) for group in groups.values()]
    known = [each.total_us for each in kernels if each.total_us is not None]
    total = sum(known) if known else None
    shared = [
        replace(each, share=each.total_us / total) if each.total_us is not None and total else each
        for each in kernels
    ]
    shared.sort(key=lambda each: (each.total_us is None, -(each.total_us or 0.0)))
    gpu = _gpu(run.target)
    library = [LibraryTime(call=each, floor_us=_floor(each, gpu)) for each in run.library]
    library.sort(key=lambda each: -(each.floor_us or 0.0) * each.call.calls)
    return ProgramRun(
        program=program,
        target=run.target,
        kernels=tuple(shared),
        library=tuple(library),
        others=run.others,
        candidates=sum(each.launches == () for each in run.kernels),
        total_us=total,
        launched={each.entry: _number(each) for each in run.kernels},
    )


def _number(kernel: RecordedKernel) -> int | None:
    if kernel.launches is None:
        return None
    return sum(each.number for each in kernel.launches)


def _kernel(
    group: Sequence[RecordedKernel],
    reports: Mapping[object, Report],
    choices: Mapping[str, Choice],
) -> KernelTime:
    """Return the time of the launched variants of a kernel."""
    timed = [
        _Timed(each, list(filter(None, (reports.get(_key(one)) for one in _launches([each])))))
        for each in group
    ]
    launches = total(each.number for each in timed)
    total_us = total(each.total_us for each in timed)
    largest = max(timed, key=lambda each: each.total_us or 0.0)
    report = largest.report
    findings = [finding for each in timed if each.report for finding in each.report.findings]
    worst = min(findings, key=_severity, default=None)
    choice = choices.get(largest.kernel.entry)
    return KernelTime(
        kernel=largest.kernel.kernel,
        source=largest.kernel.source,
        operations=largest.kernel.operations,
        launches=launches,
        variants=len(group),
        each_us=total_us / launches if total_us is not None and launches else None,
        total_us=total_us,
        bound=report.time.bound if report is not None and report.time else None,
        finding=worst.code if worst else None,
        severity=worst.severity if worst else None,
        partial=any(len(each.kernel.launches or ()) > _MOST_LAUNCHES for each in timed),
        entry=largest.kernel.entry,
        reason=next((each.reason for each in timed if each.reason), ""),
        flops=derived.flops(report) if report is not None else None,
        compute_flops=flops_of_floor(report.traffic, report.roofline) if report else None,
        roofline=report.roofline if report is not None else None,
        time=report.time if report is not None else None,
        choice=choice.how if choice is not None else None,
        configuration=choice.label if choice is not None else "",
        configurations=choice.among if choice is not None else 0,
    )


class _Timed:
    """A variant with the reports of its kinds of launches.

    Args:
        reports: The reports; fewer than kinds where there are too many.

    Attributes:
        number: Its launches; ``None`` if unknown.
        total_us: Their time together; ``None`` if unknown.
        report: That of the launches that take the most time; ``None`` without any.
        reason: Why the time is unknown; empty if it is not.
    """

    def __init__(self, kernel: RecordedKernel, reports: Sequence[Report]) -> None:
        self.kernel = kernel
        self.report = reports[0] if reports else None
        self.number = _number(kernel)
        self.total_us: float | None = None
        if kernel.launches is not None:
            times = [_each_us(report) for report in reports]
            if times and None not in times:
                known = [us or 0.0 for us in times]
                known += [known[0]] * (len(kernel.launches) - len(known))
                pairs = zip(kernel.launches, known, strict=False)
                totals = [each.number * us for each, us in pairs]
                self.total_us = sum(totals)
                self.report = reports[max(range(len(reports)), key=totals.__getitem__)]
        self.reason = "" if self.total_us is not None else _reason(kernel, reports)


def _each_us(report: Report) -> float | None:
    return report.time.estimate_us if report.time is not None else None


def _reason(kernel: RecordedKernel, reports: Sequence[Report]) -> str:
    """Return why the time of a variant is unknown."""
    if kernel.launches is None:
        return "its launches were not counted: the program was killed"
    for report in reports:
        if _each_us(report) is None:
            told = describe_missing_time(report) if report.time is not None else ""
            return told or "its launch is unknown"
    return "its capture cannot be read"


def _severity(finding: Finding) -> int:
    return SEVERITIES.index(finding.severity)


def _gpu(target: Target) -> Gpu | None:
    with suppress(IrlensError):
        return gpus.find(target.name)
    return None


def _floor(call: LibraryCall, gpu: Gpu | None) -> float | None:
    """Return the least time of a library's call, in microseconds."""
    if gpu is None:
        return None
    dtype = rate_of(call.dtype)
    if call.flops and dtype is None:
        return None
    operations = {dtype: call.flops} if dtype and call.flops else {}
    on_tensor = dtype is not None and gpu.peak_flops(dtype, "tensor") is not None
    found = roofline(
        gpu, call.bytes, operations if on_tensor else {}, {} if on_tensor else operations
    )
    return found.floor_us if call.flops else found.memory_us
