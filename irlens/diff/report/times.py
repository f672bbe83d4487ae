"""The predicted change of a launch's time: its range, which unit moved it, and of what work."""

from collections import Counter
from itertools import zip_longest
from math import exp, hypot, log
from typing import cast

from msgspec import structs

from irlens import gpus
from irlens.diff.report.figure_deltas import delta
from irlens.gpus.timing import Timing
from irlens.model.comparison import Delta, TimeRatio
from irlens.model.config import Config
from irlens.model.errors import UnknownNameError
from irlens.model.estimate import RESOLUTION, Bound, TimeEstimate
from irlens.model.report import Report
from irlens.model.several import grouped

#: Of the norm that combines the parts of a time, where the GPU's own is unknown.
_EXPONENT = 2.0
#: No launch takes less, in microseconds, whatever a saved report says.
_LEAST_US = 1e-6
#: What stands for an argument that one side lacks.
_ABSENT = "none"


def time_ratio(before: Report, after: Report) -> TimeRatio | None:
    """Return the time on the second side over that on the first; ``None`` where either is unknown.

    Times that were measured on one GPU decide; the estimates say what moved them, if they agree.
    """
    estimated = _estimated(before, after)
    measured = _measured(before, after)
    if measured is None or estimated is None:
        return measured or estimated
    agree = (estimated.ratio < 1) == (measured.ratio < 1)
    return structs.replace(
        measured,
        moved_by=estimated.moved_by if agree else None,
        parts=estimated.parts,
        estimated=estimated.ratio,
    )


def _measured(before: Report, after: Report) -> TimeRatio | None:
    """Return the ratio of measured times; it is noise if the ranges of both sides overlap."""
    one, other = before.run, after.run
    if one is None or other is None or one.device != other.device:
        return None
    first, second = one.timing, other.timing
    if first is None or second is None or not (first.is_plausible and second.is_plausible):
        return None
    low, high = second.fast_ms / first.slow_ms, second.slow_ms / first.fast_ms
    return TimeRatio(
        ratio=second.median_ms / first.median_ms,
        low=low,
        high=high,
        noise=low <= 1 <= high,
        device=one.device,
    )


def _estimated(before: Report, after: Report) -> TimeRatio | None:
    first, second = before.time, after.time
    if first is None or second is None or not first.estimate_us or not second.estimate_us:
        return None
    if first.estimate_us < _LEAST_US or second.estimate_us < _LEAST_US:
        return None
    ratio = second.estimate_us / first.estimate_us
    timing = _timing(before)
    below, above = _errors(before, after, ratio, timing)
    return TimeRatio(
        ratio=ratio,
        low=ratio / exp(below),
        high=ratio * exp(above),
        noise=max(ratio, 1 / ratio) <= 1 + RESOLUTION,
        moved_by=_moved_by(first, second, timing.exponent if timing else _EXPONENT),
        parts=_parts(first, second),
    )


def other_work(before: Report, after: Report) -> list[str]:
    """Return why the launches do not compute the same: "x_ptr, y_ptr fp32[512] → fp32[1024]".

    Arguments say so, of two kernels their tensors. Where nothing else differs, the grid does, if
    the launches do not write as much.
    """
    ours, theirs = before.config, after.config
    if before.kernel != after.kernel:
        first, second = Counter(_tensors(ours)), Counter(_tensors(theirs))
        gone, new = sorted((first - second).elements()), sorted((second - first).elements())
        changed = zip_longest(gone, new, fillvalue=_ABSENT)
        return list(dict.fromkeys(f"{one} → {other}" for one, other in changed))
    values = {n: (ours.args.get(n, _ABSENT), theirs.args.get(n, _ABSENT))
              for n in (*ours.args, *theirs.args)}  # fmt: skip
    names = grouped((f"{one} → {other}", n) for n, (one, other) in values.items() if one != other)
    if names:
        return [f"{', '.join(named)} {change}" for change, named in names.items()]
    written = {each.traffic.distinct_written_bytes for each in (before, after) if each.traffic}
    alike = ours.constexprs != theirs.constexprs or ours.grid == theirs.grid or len(written) < 2
    grids = ["×".join(map(str, grid)) for grid in (ours.grid, theirs.grid) if grid is not None]
    return [] if alike or len(grids) < 2 else [f"grid {' → '.join(grids)}"]


def _tensors(config: Config) -> list[str]:
    return [value for value in config.args.values() if isinstance(value, str)]


def _timing(report: Report) -> Timing | None:
    try:
        return gpus.find(report.target.name).timing if report.target is not None else None
    except UnknownNameError:  # a report of another version
        return None


def _errors(
    before: Report, after: Report, ratio: float, timing: Timing | None
) -> tuple[float, float]:
    """Return how far the logarithm of the ratio may be too high, and too low.

    How wrong the ratio of two configurations of one kernel on one GPU is was measured. The errors
    of other estimates, and of other work, are taken as independent.
    """
    alike = (before.kernel, before.target) == (after.kernel, after.target)
    if alike and timing is not None and not other_work(before, after):
        error = timing.ratio_error * (1 + abs(log(ratio)))
        return error, error
    below, above = zip(*map(_range, (before.time, after.time)), strict=True)
    return hypot(above[0], below[1]), hypot(below[0], above[1])


def _range(time: TimeEstimate | None) -> tuple[float, float]:
    """Return how far the logarithm of a time may be below and above that of its estimate."""
    if time is None or not time.estimate_us or not time.low_us or not time.high_us:
        return 0.0, 0.0
    low, high = max(time.low_us, _LEAST_US), max(time.high_us, _LEAST_US)
    return log(time.estimate_us / low), log(high / time.estimate_us)


def _moved_by(before: TimeEstimate, after: TimeEstimate, exponent: float) -> Bound | None:
    """Return the unit whose change has the largest share in the change of the whole.

    The whole is the norm of its parts: what is not busy for long hardly matters. Where a baseline
    has no parts, what binds the longer time is what made it longer.
    """
    assert before.estimate_us is not None
    assert after.estimate_us is not None
    sign = 1 if after.estimate_us > before.estimate_us else -1
    if not before.parts or not after.parts:
        return after.bound if sign > 0 else before.bound
    # Shares of the largest, as powers of a number of microseconds may be beyond any float.
    whole = max(*before.parts.values(), *after.parts.values(), 0.0) or 1.0
    moved = {
        name: sign * ((part / whole) ** exponent - (before.parts[name] / whole) ** exponent)
        for name, part in after.parts.items()
        if name in before.parts
    }
    most = max(moved, key=lambda name: (moved[name], name), default=None)
    return cast(Bound, most) if most is not None and moved[most] > 0 else None


def _parts(before: TimeEstimate, after: TimeEstimate) -> list[Delta]:
    """Return the parts of both sides, the largest first."""
    common = [name for name in before.parts if name in after.parts]
    common.sort(key=lambda name: (-max(before.parts[name], after.parts[name]), name))
    return [delta(name, before.parts[name], after.parts[name], "us", "some") for name in common]
