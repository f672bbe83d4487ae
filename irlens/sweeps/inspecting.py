"""Makes the results of sweeps: what their configurations compiled to, inspected."""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

import msgspec

from irlens.analyze.capture_code import CaptureCode
from irlens.analyze.time.counts import CountedLaunch
from irlens.artifacts import report_cache
from irlens.artifacts.code_listings import CodeListings, Instructions
from irlens.figures import SWEEP_FIGURES
from irlens.model.capture import Capture, Disassembly
from irlens.model.errors import ArtifactError
from irlens.model.estimate import TimeEstimate
from irlens.model.ranking import of_report
from irlens.model.report import Pipeline, Report
from irlens.model.sweep import Depth, FigureValue, Outcome, Result, from_error
from irlens.model.traffic import flops_of_floor
from irlens.report.inspection import Brief, Inspection
from irlens.report.launch_figures import load_numpy
from irlens.rules import all_rules, cannot_launch


class Counted(msgspec.Struct, frozen=True):
    """The answer of ``tasks.run_count``: a launch, or why what it asks for is unknown."""

    launch: CountedLaunch | None
    reason: str = ""


def prepare() -> None:
    """Import the analyses, and NumPy, ahead of the first capture."""
    load_numpy()
    from irlens.analyze.time import changes, launched  # noqa: F401  # see ``count``

    all_rules()


def instructions(captured: Iterable[Capture | Result]) -> bytes:
    """Return the instructions of captures, disassembled together, for ``results``.

    Those of captures whose result is remembered are left out.
    """
    unknown = (
        each
        for each in captured
        if isinstance(each, Capture)
        and report_cache.recall_of(each.digest, Disassembly.SKIP, "brief") is None
    )
    return msgspec.msgpack.encode(CodeListings(unknown).instructions())


def results(captured: Sequence[Capture | Result], known: bytes = b"") -> list[Result]:
    """Return the result of each capture.

    Args:
        captured: The captures. What did not compile has its result already.
        known: Their ``instructions``. Without them they are disassembled here, together.
    """
    captures = (each for each in captured if isinstance(each, Capture))
    listings = CodeListings(captures, _decoded(known) if known else None)
    return [each if isinstance(each, Result) else _result(each, listings) for each in captured]


@lru_cache(maxsize=1)
def _decoded(known: bytes) -> Instructions:
    return msgspec.msgpack.decode(known, type=Instructions)


def _result(capture: Capture, listings: CodeListings) -> Result:
    try:
        brief = Brief(CaptureCode(capture, listings))
        report = report_cache.report_of(capture, brief.report, Disassembly.SKIP, extent="brief")
    except ArtifactError as error:
        return from_error(error)
    return from_report(report)


def count(capture: Capture) -> Counted:
    """Return what a launch asks of each unit."""
    from irlens.analyze.time.fitting import counted  # with NumPy, which compiling does not need

    launch = Inspection(capture).launch
    if isinstance(launch, str):
        return Counted(launch=None, reason=launch)
    return Counted(launch=counted(launch))


def from_report(report: Report) -> Result:
    """Return the result of a configuration that compiles."""
    refused = [each for each in report.findings if each.code == cannot_launch.CODE]
    reason = "; ".join(finding.message for finding in refused)
    values = {name: figure.read(report) for name, figure in SWEEP_FIGURES.items()}
    return msgspec.structs.replace(
        _from_inspected(report, report.time, values),
        reason=report.unknown.get("occupancy", "") if report.occupancy is None else reason,
        hint=refused[0].hint if refused else "",
        pipelines=[_depth(pipeline) for pipeline in report.pipelines],
        findings=report.findings,
        untimed=of_report(report).missing,
    )


def from_launch(launch: Inspection) -> Result:
    """Return the result of a launch of what compiles, with the figures of launches alone."""
    occupancy, time = launch.occupancy, launch.time_alone
    values = {
        name: figure.read(launch)
        for name, figure in SWEEP_FIGURES.items()
        if (figure.of_launch or figure.of_binary) and figure.needs != "time"
    }
    times = (time.estimate_us, time.low_us, time.high_us) if time is not None else (None,) * 3
    values |= dict(zip(("time", "time_low", "time_high"), times, strict=True))
    return msgspec.structs.replace(
        _from_inspected(launch, time, values),
        reason=occupancy.why_refused if occupancy is not None else "",
        findings=launch.accesses_outside,
        untimed="" if time is not None and time.estimate_us is not None else launch.why_untimed,
    )


def _from_inspected(
    inspected: Report | Inspection, time: TimeEstimate | None, values: Mapping[str, object]
) -> Result:
    occupancy = inspected.occupancy
    outcome: Outcome = "unknown"
    if occupancy is not None:
        outcome = "fits" if occupancy.launchable else "does not fit"
    return Result(
        outcome=outcome,
        figures=msgspec.convert(values, dict[str, FigureValue]),
        limited_by=occupancy.limited_by if occupancy is not None and occupancy.launchable else [],
        bound=time.bound if time is not None else None,
        compute_type=inspected.roofline.compute_type if inspected.roofline is not None else "",
        compute_flops=flops_of_floor(inspected.traffic, inspected.roofline),
    )


def _depth(pipeline: Pipeline) -> Depth:
    return Depth(
        place=str(pipeline.source or pipeline.loop),
        kind=pipeline.kind,
        requested=pipeline.requested_stages,
        achieved=pipeline.achieved_stages,
        verdict=pipeline.verdict,
    )
