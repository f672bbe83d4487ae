"""The summary of a scan, counted row by row."""

import heapq
import math
from collections import Counter, defaultdict
from collections.abc import Mapping

from irlens.model.report import SEVERITIES, Severity
from irlens.model.scan import (
    Duplicates,
    FindingCount,
    OccupancyBin,
    RankedCapture,
    ScanSummary,
    ScanValue,
)
from irlens.session.scan import columns

_BINS = 10
_WORST = 10
_UNKNOWN_TARGET = "unknown"


class Summary:
    """Counts what the rows of a scan have in common."""

    def __init__(self) -> None:
        self._captures = 0
        self._kernels: set[str] = set()
        self._targets: Counter[str] = Counter()
        self._bins: Counter[int] = Counter()
        self._cannot_launch = 0
        self._unknown = 0
        self._has_findings = False
        self._found: Counter[tuple[str, Severity]] = Counter()
        self._captures_with: Counter[str] = Counter()
        self._ranked: list[tuple[list[int], str, str]] = []
        self._digests: defaultdict[tuple[str, str], list[str]] = defaultdict(list)

    def add(self, values: Mapping[str, ScanValue]) -> None:
        """Count one row, which has the values that a summary needs."""
        path, kernel = str(values[columns.PATH]), str(values[columns.KERNEL])
        self._captures += 1
        self._kernels.add(kernel)
        self._targets[str(values["target"] or _UNKNOWN_TARGET)] += 1
        self._digests[kernel, str(values[columns.DIGEST])].append(path)
        occupancy = values[columns.OCCUPANCY]
        if values[columns.LAUNCHABLE] is False:
            self._cannot_launch += 1
        elif isinstance(occupancy, int | float):
            self._bins[max(math.ceil(occupancy * _BINS), 1) - 1] += 1
        else:
            self._unknown += 1
        if columns.SEVERITIES in values:
            self._add_findings(path, kernel, values)

    def _add_findings(self, path: str, kernel: str, values: Mapping[str, ScanValue]) -> None:
        self._has_findings = True
        codes, severities = values[columns.FINDINGS], values[columns.SEVERITIES]
        if not (isinstance(codes, list) and isinstance(severities, list) and codes):
            return
        named = [(str(code), _severity(each)) for code, each in zip(codes, severities, strict=True)]
        self._found.update(named)
        self._captures_with.update({code for code, _ in named})
        often = Counter(severity for _, severity in named)
        self._ranked.append(([-often[severity] for severity in SEVERITIES], path, kernel))
        if len(self._ranked) > 4 * _WORST:
            self._ranked = heapq.nsmallest(_WORST, self._ranked)

    def finish(self, *, excluded: int, skipped: int) -> ScanSummary:
        """Return the summary."""
        return ScanSummary(
            captures=self._captures,
            kernels=len(self._kernels),
            targets=dict(sorted(self._targets.items(), key=lambda each: (-each[1], each[0]))),
            excluded=excluded,
            skipped=skipped,
            occupancy=[
                OccupancyBin(above=index / _BINS, up_to=(index + 1) / _BINS, captures=number)
                for index, number in sorted(self._bins.items())
            ],
            cannot_launch=self._cannot_launch,
            occupancy_unknown=self._unknown,
            findings=self._findings() if self._has_findings else None,
            worst=self._worst(),
            duplicates=self._duplicates(),
        )

    def _findings(self) -> list[FindingCount]:
        counts = [
            FindingCount(
                code=code, severity=severity, findings=number, captures=self._captures_with[code]
            )
            for (code, severity), number in self._found.items()
        ]
        return sorted(
            counts, key=lambda each: (SEVERITIES.index(each.severity), -each.captures, each.code)
        )

    def _worst(self) -> list[RankedCapture]:
        return [
            RankedCapture(
                path=path,
                kernel=kernel,
                findings={s: -n for s, n in zip(SEVERITIES, often, strict=True) if n},
            )
            for often, path, kernel in heapq.nsmallest(_WORST, self._ranked)
        ]

    def _duplicates(self) -> list[Duplicates]:
        groups = [
            Duplicates(kernel=kernel, sha256=digest, paths=paths)
            for (kernel, digest), paths in self._digests.items()
            if len(paths) > 1
        ]
        return sorted(groups, key=lambda each: (-len(each.paths), each.kernel, each.sha256))


def _severity(value: ScanValue) -> Severity:
    return next(each for each in SEVERITIES if each == value)
