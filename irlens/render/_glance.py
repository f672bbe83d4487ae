"""A report in a line, as every format for people says it."""

from collections import Counter

from irlens.model.report import Report
from irlens.model.text import percent, plural, size
from irlens.model.words import describe_depth


def name(report: Report) -> str:
    """Return the kernel and the GPU: "softmax_kernel on sm_90"."""
    target = report.target
    return f"{report.kernel} on {target.arch}" if target else report.kernel


def glance(report: Report) -> list[str]:
    """Return what matters most, as phrases: "occupancy 100 %", "cp.async 4 of 4 stages"."""
    occupancy, told = report.occupancy, []
    if occupancy is not None:
        fits = f"occupancy {percent(occupancy.theoretical)}"
        told.append(fits if occupancy.launchable else "cannot launch")
    told += [
        f"{each.kind or 'loads'} {deep}"
        for each in report.pipelines
        if (deep := describe_depth(each)) is not None
    ]
    if report.resources.local_bytes:
        told.append(f"{size(report.resources.local_bytes)} local memory")
    return [*told, found(report) or "no findings"]


def found(report: Report) -> str:
    """Return the findings by number: "1 warning, 2 notes"; "" if there are none."""
    severities = Counter(finding.severity for finding in report.findings)
    return ", ".join(plural(number, severity) for severity, number in severities.items())
