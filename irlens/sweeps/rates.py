"""What measured times achieve: bytes and operations per second, and the share of the roofline."""

import msgspec

from irlens.model.sweep import FigureValue, Measurement, Rate, Timing, Trial


def with_measurement(trial: Trial, measurement: Measurement) -> Trial:
    """Return a trial with its times and with what they achieve."""
    against = [
        msgspec.structs.replace(
            each, rate=None if each.timing is None else rate(trial, each.timing)
        )
        for each in measurement.against
    ]
    return msgspec.structs.replace(
        trial,
        timing=measurement.timing,
        rate=rate(trial, measurement.timing),
        max_abs_error=measurement.max_abs_error,
        against=against,
    )


def rate(trial: Trial, timing: Timing) -> Rate:
    """Return what a time achieves, of the bytes and operations that the trial's kernel needs.

    An implementation that moves more bytes, because it takes several passes, gets no credit for
    them: rates of one trial compare as their times do.
    """
    figures = trial.figures or {}
    seconds = timing.median_ms / 1e3
    moved = moved_bytes(figures)
    operations, floor = figures.get("flops"), figures.get("floor_us")
    return Rate(
        gb_per_s=None if moved is None else moved / 1e9 / seconds,
        tflop_per_s=None if operations is None else operations / 1e12 / seconds,
        roofline_share=None if floor is None else floor / 1e6 / seconds,
    )


def moved_bytes(figures: dict[str, FigureValue]) -> FigureValue:
    """Return the distinct bytes that a launch reads and writes; ``None`` if unknown."""
    read, written = figures.get("distinct_read_bytes"), figures.get("distinct_written_bytes")
    return None if read is None or written is None else read + written
