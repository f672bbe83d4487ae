"""What a comparison leaves out because one side does not know it, and why.

A value that one side lacks is unknown there, or does not apply: an NVIDIA kernel has no VGPRs, and
a loop that is not pipelined no groups. Neither is a change. The unknown ones are told.
"""

from collections.abc import Iterator

import msgspec

from irlens.figures import Figure
from irlens.model.memory import LoopLoad
from irlens.model.report import Pipeline, Report

#: Fields of a load that only one through a buffer has.
_OF_COPIES = frozenset({"iterations_ahead", "buffer_copies"})


class LeftOut:
    """Collects what is left out.

    Attributes:
        reasons: Why, by dotted path: "there is no ttgir in this capture (num_stages=4)".
    """

    def __init__(self, before: Report, after: Report, names: tuple[str, str]) -> None:
        self._reports = before, after
        self._names = names
        self.reasons: dict[str, str] = {}

    def add(self, path: str, *, lacks_before: bool, reason: str = "") -> None:
        """Note what one side lacks; its report may say why."""
        side = 0 if lacks_before else 1
        reason = reason or why_unknown(path, self._reports[side])
        if not reason:
            reason = f"only in {self._names[1 - side]}"
        elif self._names[side]:
            reason = f"{reason} ({self._names[side]})"
        self.reasons.setdefault(path, reason)

    def add_figure(
        self, figure: Figure, before: msgspec.Struct, after: msgspec.Struct, *, lacks_before: bool
    ) -> bool:
        """Note a figure that one of two records lacks, and return whether it is unknown there.

        Otherwise it does not apply to that record.
        """
        record = before if lacks_before else after
        path, reason, is_unknown = figure.path, "", False
        if isinstance(record, Pipeline):
            is_unknown, reason = record.verdict == "unknown", record.reason
        elif isinstance(record, LoopLoad):
            is_unknown = record.state == "asynchronous" or figure.field not in _OF_COPIES
        elif isinstance(record, Report):
            reason = why_unknown(figure.path, record) or why_unknown(figure.needs, record)
            one_target = self._reports[0].target == self._reports[1].target
            is_unknown = bool(reason) or (one_target and not figure.vendor)
            path = _absent_part(path, record)
        if is_unknown:
            self.add(path, lacks_before=lacks_before, reason=reason)
        return is_unknown


def why_unknown(path: str, report: Report) -> str:
    """Return the report's reason for a missing figure; "" if it gives none."""
    names = path.split(".")
    prefixes = (".".join(names[:end]) for end in range(len(names), 0, -1))
    given = next((report.unknown[one] for one in prefixes if one in report.unknown), "")
    return given or next(_reasons_within(names, report), "")


def _absent_part(path: str, report: Report) -> str:
    """Return the path of the outermost part that a report lacks of those on a path."""
    value: object = report
    names = path.split(".")
    for end, name in enumerate(names, 1):
        value = getattr(value, name, value)
        if value is None:
            return ".".join(names[:end])
    return path


def _reasons_within(names: list[str], report: Report) -> Iterator[str]:
    """Yield the reasons that the records on a path give, the innermost first."""
    records: list[object] = [report]
    for name in names:
        records.append(getattr(records[-1], name, None))
    for record in reversed(records):
        reason = getattr(record, "reason", "")
        if isinstance(reason, str) and reason:
            yield reason
