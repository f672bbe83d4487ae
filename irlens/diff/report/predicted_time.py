"""The predicted change of a launch's time, with its range."""

from math import exp, log

from irlens import gpus
from irlens.model.comparison import TimeRatio
from irlens.model.errors import UnknownNameError
from irlens.model.estimate import RESOLUTION
from irlens.model.report import Report


def time_ratio(before: Report, after: Report) -> TimeRatio | None:
    """Return the estimated time on the second side over that on the first.

    ``None`` where either is unknown, or the sides are not two configurations of one kernel, with
    the same arguments and on the same GPU, which is what the error of a ratio was measured of.
    """
    first, second = before.time, after.time
    if first is None or second is None or not first.estimate_us or not second.estimate_us:
        return None
    if _problem(before) != _problem(after) or before.target is None:
        return None
    try:
        timing = gpus.find(before.target.name).timing
    except UnknownNameError:  # a report of another version
        return None
    if timing is None:
        return None
    ratio = second.estimate_us / first.estimate_us
    error = timing.ratio_error * (1 + abs(log(ratio)))
    return TimeRatio(
        ratio=ratio,
        low=ratio / exp(error),
        high=ratio * exp(error),
        noise=max(ratio, 1 / ratio) <= 1 + RESOLUTION,
    )


def _problem(report: Report) -> tuple[object, ...]:
    return report.kernel, report.target, report.config.args
