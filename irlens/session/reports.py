"""Reports of captures: recalled, or made and then remembered, many of them on all cores."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from irlens.artifacts import report_cache
from irlens.model.capture import Capture, Disassembly, ReportExtent
from irlens.model.comparison import Side, side_of
from irlens.model.errors import ArtifactError, IrlensError, ToolError
from irlens.session.background import Due, disassembling, preparing

if TYPE_CHECKING:
    from irlens.analyze.capture_code import CaptureCode
    from irlens.artifacts.code_listings import CodeListings
    from irlens.model.report import Report
    from irlens.report.inspection import Inspection

#: Captures that are disassembled unless asked otherwise: each takes nvdisasm half a second, once.
_MOST_DISASSEMBLED = 8


def report_of(
    subject: "Capture | CaptureCode",
    disassembly: Disassembly = Disassembly.SKIP,
    *,
    extent: ReportExtent = "whole",
) -> "Report":
    """Return a capture's report: a remembered one, or a new one that is then remembered.

    Args:
        extent: A brief one may lack what comparisons do not show.

    Raises:
        ArtifactError: An artifact is broken or gone.
        ToolError: Machine code is required, and the disassembler is missing or failed.
    """
    capture = subject if isinstance(subject, Capture) else subject.capture
    wanted = _wanted(capture, disassembly)

    def make() -> "Report":
        with disassembling([capture.stages] if wanted is not Disassembly.SKIP else []):
            from irlens.report.inspection import Brief, Inspection

            return (Brief if extent == "brief" else Inspection)(subject, wanted).report()

    try:
        return report_cache.report_of(capture, make, wanted, extent=extent)
    except ToolError as error:
        if disassembly is not Disassembly.TRY:
            raise
        report = report_of(subject, extent=extent)
        unknown = report.unknown | {"pressure.sass": error.message}
        return replace(report, unknown=unknown)


def _wanted(capture: Capture, disassembly: Disassembly) -> Disassembly:
    """Skip the machine code of a capture that has no cubin, nor PTX for ptxas to make it of."""
    if disassembly is Disassembly.TRY and {"cubin", "ptx"}.isdisjoint(capture.stages):
        return Disassembly.SKIP
    return disassembly


def needs_machine_code(inspected: "Report | Inspection") -> bool:
    """Whether findings depend on machine code that was not read: accesses to local memory."""
    return _may_spill(inspected) and inspected.spills is None


def _may_spill(inspected: "Report | Inspection") -> bool:
    return "cubin" in inspected.stages and bool(inspected.resources.local_bytes)


def complete_report(subject: "Capture | CaptureCode") -> "Report":
    """Return a capture's report with all of its findings; few captures need machine code for it.

    Raises:
        ArtifactError: An artifact is broken or gone.
    """
    capture = subject if isinstance(subject, Capture) else subject.capture
    report = recall_complete(capture)
    if report is not None:
        return report
    from irlens.report.inspection import Inspection

    inspection = Inspection(subject)
    if needs_machine_code(inspection):
        return report_of(subject, Disassembly.TRY)
    return report_cache.report_of(capture, inspection.report, Disassembly.SKIP)


def read_brief(subject: "CaptureCode") -> "Report | Inspection":
    """Return what lists show of a capture, with all of its findings: each part once it is read.

    Raises:
        ArtifactError: An artifact is broken or gone.
    """
    report = recall_complete(subject.capture, "brief")
    if report is not None:
        return report
    from irlens.report.inspection import Brief

    inspection = Brief(subject)
    return report_of(subject, Disassembly.TRY) if needs_machine_code(inspection) else inspection


def codes_of(captures: Sequence[Capture]) -> "Iterator[CaptureCode]":
    """Yield the code of each capture, whose machine code one run of nvdisasm lists."""
    from irlens.analyze.capture_code import CaptureCode  # a remembered report needs none
    from irlens.artifacts.code_listings import CodeListings

    listings = CodeListings(captures)
    return (CaptureCode(capture, listings) for capture in captures)


def recall_complete(capture: Capture, extent: ReportExtent = "whole") -> "Report | None":
    """Return what ``complete_report`` would return if it is remembered, ``None`` otherwise."""
    report = recall(capture, extent=extent)
    if report is not None and not needs_machine_code(report):
        return report
    whole = recall(capture, Disassembly.TRY)
    return whole if whole is not None and _may_spill(whole) else None


def recall(
    capture: Capture, disassembly: Disassembly = Disassembly.SKIP, extent: ReportExtent = "whole"
) -> "Report | None":
    """Return what ``report_of`` would return if it is remembered, ``None`` otherwise."""
    try:
        report = report_cache.recall_of(capture.digest, _wanted(capture, disassembly), extent)
        capture.check_unchanged()
    except ArtifactError:  # making the report reports the error
        return None
    return report


def _make_reports(due: Sequence[Due], extent: ReportExtent) -> None:
    """Make and cache reports; who needs one that fails reports the error."""
    listings = _listings(due)
    for capture, disassembly in due:
        with suppress(IrlensError):
            _make_report(capture, disassembly, listings, extent=extent)


def _make_report(
    capture: Capture,
    disassembly: Disassembly,
    listings: "CodeListings | None",
    extent: ReportExtent,
) -> "Report":
    from irlens.analyze.capture_code import CaptureCode  # a remembered report needs none

    return report_of(CaptureCode(capture, listings), disassembly, extent=extent)


def _listings(due: Sequence[Due]) -> "CodeListings":
    """Return the code of those captures that are not disassembled for their reports."""
    from irlens.artifacts.code_listings import CodeListings

    return CodeListings(capture for capture, each in due if each is Disassembly.SKIP)


def take_equal(sets: "Sequence[list[Capture | Report]]") -> list[Side]:
    """Remove the captures that both of two sets hold, byte for byte, and return what they are.

    Sets of few stay whole: how many there are decides whether they are disassembled.
    """
    if any(len(each) <= _MOST_DISASSEMBLED for each in sets):
        return []
    before, after = (dict(_by_digest(each)) for each in sets)
    common = [key for key in before if key in after]
    equal = {id(known[key][0]) for key in common for known in (before, after)}
    for selected in sets:
        selected[:] = [each for each in selected if id(each) not in equal]
    return [before[key][1] for key in common]


def _by_digest(
    selected: "Sequence[Capture | Report]",
) -> Iterator[tuple[tuple[bytes, int], tuple[Capture, Side]]]:
    """Yield the captures that can be read by their digests, and which of equal ones they are."""
    from irlens.report.inspection import Inspection

    seen: Counter[bytes] = Counter()
    for each in selected:
        if isinstance(each, Capture):
            with suppress(ArtifactError):
                known, digest = Inspection(each), each.digest
                yield (digest, seen[digest]), (each, side_of(known, ""))
                seen[digest] += 1


class Needs(NamedTuple):
    """What a comparison needs of the reports of its sides.

    Attributes:
        is_brief: Whether pairs without a difference need no figures.
    """

    disassembly: Disassembly = Disassembly.TRY
    is_brief: bool = False


class _Recalled(NamedTuple):
    """What a KERNEL selects, and the reports that are saved or remembered."""

    kernel: str
    selected: "Sequence[Capture | Report]"
    disassembly: Disassembly
    extent: ReportExtent
    reports: "list[Report | None]"


def inspect_sets(
    sets: "Sequence[tuple[str, Sequence[Capture | Report]]]",
    disassembly: Disassembly,
    notify: Callable[[str], None],
    extent: ReportExtent = "whole",
) -> "list[list[tuple[Capture | None, Report]]]":
    """Return the reports of what several KERNELs select, see ``Session.inspect``.

    Those that are not remembered are made on all cores if they are many.

    Args:
        extent: Brief for a comparison: many reports then lack what it does not show. Who compares
            few often looks at them next.

    Raises:
        ArtifactError: A set has no readable capture.
    """
    if any(len(selected) <= _MOST_DISASSEMBLED for _, selected in sets):
        extent = "whole"
    recalled = [_recall_set(*each, disassembly, extent=extent) for each in sets]
    missing = [
        (each, one.disassembly)
        for one in recalled
        for each, report in zip(one.selected, one.reports, strict=True)
        if isinstance(each, Capture) and report is None
    ]
    listings = _listings(missing) if missing else None
    with preparing(missing, partial(_make_reports, extent=extent)):
        return [_inspect_set(one, listings, notify) for one in recalled]


def _recall_set(
    kernel: str,
    selected: "Sequence[Capture | Report]",
    disassembly: Disassembly,
    extent: ReportExtent,
) -> _Recalled:
    disassembly = _of_several(selected, disassembly)
    reports = [
        each if not isinstance(each, Capture) else recall(each, disassembly, extent)
        for each in selected
    ]
    return _Recalled(kernel, selected, disassembly, extent, reports)


def _inspect_set(
    recalled: _Recalled, listings: "CodeListings | None", notify: Callable[[str], None]
) -> "list[tuple[Capture | None, Report]]":
    kernel, selected, disassembly, extent, reports = recalled
    inspected: list[tuple[Capture | None, Report]] = []
    for each, report in zip(selected, reports, strict=True):
        if not isinstance(each, Capture):
            inspected.append((None, each))
            continue
        try:
            made = report or _make_report(each, disassembly, listings, extent=extent)
            inspected.append((each, made))
        except ArtifactError as error:
            if len(selected) == 1:
                # A comparison has two sides: the message names the broken one.
                raise ArtifactError(f"{kernel}: {error.message}", hint=error.hint) from error
            # One broken artifact must not hide the rest of a cache.
            notify(f"skipped {each.directory or each.kernel}: {error.message}")
    if not inspected:
        raise nothing_readable(kernel)
    return inspected


def nothing_readable(kernel: str) -> ArtifactError:
    """Return the error of a KERNEL without a readable capture."""
    return ArtifactError(f"{kernel} holds no readable capture")


def report_keys(
    selected: "Sequence[Capture | Report]", disassembly: Disassembly
) -> list[str] | None:
    """Return the keys of captures' reports.

    Returns:
        ``None`` if an artifact is unreadable or was changed, or reports are saved ones.
    """
    disassembly = _of_several(selected, disassembly)
    captures = [each for each in selected if isinstance(each, Capture)]
    if len(captures) < len(selected):
        return None
    try:
        keys = [report_cache.key_of(each.digest, _wanted(each, disassembly)) for each in captures]
        for each in captures:
            each.check_unchanged()
        return keys
    except ArtifactError:  # making the report reports the error
        return None


def _of_several(selected: "Sequence[Capture | Report]", disassembly: Disassembly) -> Disassembly:
    """Return ``report_of``'s argument for several captures: only few are disassembled unasked."""
    many = disassembly is Disassembly.TRY and len(selected) > _MOST_DISASSEMBLED
    return Disassembly.SKIP if many else disassembly
