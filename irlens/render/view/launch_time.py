"""The estimated time of a launch as nodes: in short, each unit's part, and what would save time."""

from collections.abc import Iterator

from irlens import figures
from irlens.model.comparison import TimeRatio
from irlens.model.estimate import BOUND_NAMES, RESOLUTION, Cause, TimeEstimate, TimeStep
from irlens.model.ranking import measured_us
from irlens.model.report import Report
from irlens.model.terms import Terms
from irlens.model.text import count, microseconds, percent, short_size
from irlens.render.view import nodes
from irlens.render.view.nodes import Cells, Node, Run, phrases, table, text

KEY = "time"
_MEANINGS = {
    "dram": "bytes from and to memory",
    "l2": "bytes between the SMs and the L2, or between its halves",
    "l1": "requests and sectors of loads and stores",
    "shared": "accesses, copies and products in shared memory, and shuffles",
    "tensor": "matrix products",
    "fma": "floating-point and integer multiply-add",
    "alu": "integer, logic and comparisons",
    "xu": "special functions and conversions",
    "issue": "instructions of all kinds",
    "latency": "CTAs one after the other, with nothing else in their way",
    "launch": "the launch, and that of each CTA",
}
#: Parts below this share of the whole are left out of the short form, and how many it has.
_LEAST, _MOST = 0.08, 5


def launch_time(report: Report) -> str:
    """Return "about 12.6 µs (11.4 µs to 14.1 µs), bound by DRAM"; "" where it is unknown.

    A measured time comes before the estimate: "12.9 µs measured on NVIDIA H200, estimated 12.6 µs".
    """
    time, measured = report.time, measured_us(report)
    known = ""
    if measured is not None and report.run is not None:
        known = f"{microseconds(measured)} measured on {report.run.device}"
    if time is None or not time.estimate_us:
        return known
    bound = f", bound by {_bound(time, time.bound)}" if time.bound is not None else ""
    estimate = f"{microseconds(time.estimate_us)}{_range(time)}{bound}"
    return f"{known}, estimated {estimate}" if known else f"about {estimate}"


def _bound(time: TimeEstimate, bound: str) -> str:
    """Return what a time is bound by, and then what takes longer alone: "DRAM and latency".

    Lists name the bound alone: it is the busiest unit where one is busy for 60 % of the time, as
    Nsight Compute has it, though latency or the launch may take longer, and the L2 where memory has
    more to move.
    """
    return " and ".join(map(bound_name, _binding(time, bound)))


def _binding(time: TimeEstimate, bound: str) -> list[str]:
    longest = max(time.parts, key=lambda each: time.parts[each], default=bound)
    return list(dict.fromkeys((bound, longest)))


def _is_linked(time: TimeEstimate) -> bool:
    """Whether the L2 binds though memory has more to move."""
    parts = time.parts
    return time.bound == "l2" and parts.get("l2", 0.0) < parts.get("dram", 0.0)


def bound_name(bound: str | None) -> str:
    """Return what a time is bound by, as it follows "bound by": "DRAM", "the launch"."""
    if bound is None:
        return figures.UNKNOWN
    return "the launch" if bound == "launch" else BOUND_NAMES.get(bound, bound)


def time_fact(report: Report) -> nodes.Fact | None:
    """Return the estimated time in short; ``None`` where it is unknown."""
    time = report.time
    if time is None or not time.estimate_us:
        return None
    whole = text("about ", Run(microseconds(time.estimate_us), "strong"), _range(time))
    lines = [phrases(*measured_time(report))]
    lines.append(phrases(*_shares(time.parts, time.estimate_us)))
    for step in time.steps[:1]:
        lines.append(phrases(Run(describe_step(step, time.estimate_us, Terms(report)), "dim")))
    if time.reason:
        lines.append(phrases(Run(time.reason, "dim")))
    filled = tuple(each for each in lines if each.items)
    return nodes.Fact("Time", whole, filled, "neutral", key=KEY)


def measured_time(report: Report) -> Iterator[str]:
    """Yield the measured time and its range, and how far it is from the estimate."""
    run, time, measured = report.run, report.time, measured_us(report)
    if run is None or run.timing is None or measured is None:
        return
    ends = (microseconds(each * 1e3) for each in (run.timing.fast_ms, run.timing.slow_ms))
    yield f"measured {microseconds(measured)} ({' to '.join(ends)})"
    if time is not None and time.estimate_us:
        more = "more" if measured > time.estimate_us else "less"
        yield f"{percent(round(abs(measured / time.estimate_us - 1), 2))} {more} than estimated"


def predicted_time(time: TimeRatio | None) -> nodes.Fact | None:
    """Return the parts of both sides' times that matter; ``None`` where the times are unknown."""
    if time is None or not time.parts:
        return None
    sides = [(each.path, float(each.before or 0), float(each.after or 0)) for each in time.parts]
    least = _LEAST * max(max(before, after) for _, before, after in sides)
    shown = [
        f"{BOUND_NAMES.get(name, name)} {_moved(before, after)}"
        for name, before, after in sides[:_MOST]
        if max(before, after) >= least
    ]
    whole = text("by unit alone: ", Run(shown[0], "strong"))
    return nodes.Fact("Time", whole, (phrases(*shown[1:]),) if shown[1:] else (), key=KEY)


def _moved(before: float, after: float) -> str:
    """Return "53.2 µs → 82.6 µs", or the second where they are within noise."""
    same = max(before, after) <= min(before, after) * (1 + RESOLUTION)
    return microseconds(after) if same else f"{microseconds(before)} → {microseconds(after)}"


def time_section(report: Report) -> nodes.Section | None:
    """Return what each unit alone would take; ``None`` where the time is unknown."""
    time = report.time
    if time is None or not time.estimate_us:
        return None
    return nodes.Section(
        title="Time",
        children=(
            *_parts(time, time.estimate_us),
            *_link(time),
            *_changes(report, time, time.estimate_us),
        ),
        key=KEY,
        aside=text("what each unit alone would take; they work side by side"),
        detail="time",
        wide=True,
    )


def _link(time: TimeEstimate) -> Iterator[Node]:
    """Yield why the L2 binds where memory has more to move."""
    if _is_linked(time):
        yield nodes.Sentence(
            "while the launch runs, more bytes cross between the L2's halves than reach memory:"
            " what it writes last stays in the L2",
            "dim",
        )


def _changes(report: Report, time: TimeEstimate, whole: float) -> Iterator[Node]:
    """Yield what would save time, or that nothing would."""
    if time.steps:
        terms = Terms(report)
        steps = tuple(text(describe_step(step, whole, terms)) for step in time.steps)
        yield nodes.Items(steps, label="What would change it")
    elif time.bound is not None:
        # A finding may ask for other code, of which this says nothing.
        none = "fewer resources, sectors or bank conflicts would save no more than"
        bound = _bound(time, time.bound)
        yield nodes.Sentence(
            f"with the same code, {none} {percent(RESOLUTION)}: bound by {bound}", "dim"
        )


def describe_step(step: TimeStep, whole: float, terms: Terms) -> str:
    """Return "up to 16 % less time with 37 fewer registers/thread".

    A limit to the registers, or one stage less, is other code, which takes no less time than the
    same code would.
    """
    saved = _share(1 - step.estimate_us / whole)
    per = terms.unit(step.unit) if "/" in step.unit else step.unit
    is_size = step.unit == "bytes"
    fewer = f"{short_size(-step.change)} less" if is_size else f"{count(-step.change)} fewer {per}"
    words: dict[Cause, str] = {
        "shared_memory": f"with {fewer} of {terms.shared_memory}",
        "spills": f"without spills: {fewer} between L1 and L2",
        "coalescing": f"with only the sectors that the bytes need: {fewer}",
        "rereads": f"if memory delivered each byte once: {fewer}",
        "bank_conflicts": f"without bank conflicts: {fewer}",
        "grid": f"with the work in {fewer}, so that each {terms.sm} gets as many",
    }
    how = words.get(step.cause, f"with {fewer}")
    most = "up to" if step.cause in ("registers", "shared_memory") else "about"
    return f"{most} {saved} less time {how}"


def _range(time: TimeEstimate) -> str:
    if time.low_us is None or time.high_us is None:
        return ""
    return f" ({microseconds(time.low_us)} to {microseconds(time.high_us)})"


def _shares(parts: dict[str, float], whole: float) -> Iterator[str]:
    for name, part in _largest_first(parts)[:_MOST]:
        if part >= _LEAST * whole:
            yield f"{BOUND_NAMES.get(name, name)} {_share(part / whole)}"


def _share(value: float) -> str:
    """Return a share of the time in whole per cent: "16 %"."""
    return f"{value:.0%}".replace("%", " %")


def _largest_first(parts: dict[str, float]) -> list[tuple[str, float]]:
    """JSON keeps no order of its keys, and so the record has none."""
    return sorted(parts.items(), key=lambda part: (-part[1], part[0]))


def _parts(time: TimeEstimate, whole: float) -> Iterator[Node]:
    binding = _binding(time, time.bound) if time.bound is not None else []
    rows: list[Cells] = [
        [
            BOUND_NAMES.get(name, name),
            microseconds(part),
            _share(part / whole),
            nodes.Bar(min(part / whole, 1.0), "warn" if name in binding else "neutral"),
            Run(_MEANINGS.get(name, ""), "dim"),
        ]
        for name, part in _largest_first(time.parts)
        if part
    ]
    columns = nodes.titled("unit", *nodes.numeric("alone", "share"), "", "what for")
    yield table(columns, rows, "time by unit")
    if time.reason:
        yield nodes.Sentence(time.reason, "unknown")
