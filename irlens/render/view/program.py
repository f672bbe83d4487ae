"""Runs of a recorded program as nodes: where the time of its kernels goes."""

from collections.abc import Callable, Iterator, Sequence
from typing import get_args

from msgspec.structs import replace

from irlens import figures
from irlens.model.estimate import BOUND_NAMES, RESOLUTION, Bound
from irlens.model.recording import (
    CallChange,
    KernelChange,
    KernelTime,
    LibraryTime,
    ProgramChange,
    ProgramRun,
    least_time,
)
from irlens.model.several import grouped
from irlens.model.text import count, microseconds, percent, plural, rounded_size
from irlens.render.options import Options
from irlens.render.view import nodes
from irlens.render.view.axes import linear, time_unit
from irlens.render.view.nodes import Cells, Node, Run, Tone, row, table, text
from irlens.render.view.roofline_chart import rooflines_of_program
from irlens.render.view.time_charts import bound_kinds

#: nodes.Bars of kernels; those that take less are one bar together.
_MOST = 16
_BOUNDS = frozenset(get_args(Bound))


def program_bars(run: ProgramRun, name_of: Callable[[KernelTime], str]) -> Iterator[nodes.Bars]:
    """Yield a bar for each kernel whose time is known, the longest first, if there are two."""
    known = [each for each in run.kernels if each.total_us is not None]
    total = run.total_us
    if len(known) < 2 or not total:
        return
    shown, rest = known[:_MOST], known[_MOST:]
    unit = time_unit(known[0].total_us or 0.0)
    rows = [_row(each, name_of(each), total) for each in shown]
    if rest:
        rows.append(_rest(rest, total))
    yield nodes.Bars(
        described=f"estimated time of {plural(len(known), 'kernel')}, all launches together",
        names="",
        axis=linear(f"launches × estimated time ({unit.name})", max(r.amount for r in rows), unit),
        rows=tuple(rows),
        kinds=tuple(bound_kinds(_kind(each) for each in shown)),
        numbers=table(
            nodes.titled(
                "kernel", *nodes.numeric("launches", "each", "together", "share"), "bound by"
            ),
            [_numbers(each, name_of(each), total) for each in known],
            "time by kernel",
        ),
        repeats=True,
    )  # fmt: skip


def _kind(each: KernelTime) -> nodes.KindKey:
    bound = each.bound
    return bound if bound in _BOUNDS else "plain"  # type: ignore[return-value]


def _row(each: KernelTime, name: str, total: float) -> nodes.BarRow:
    us = each.total_us or 0.0
    bound = BOUND_NAMES.get(each.bound or "", "")
    parts = [f"{name}: {microseconds(us)}, {_share(us, total)} of the time"]
    if each.launches is not None and each.each_us is not None:
        parts.append(f"{plural(each.launches, 'launch')} of {microseconds(each.each_us)}")
    if bound:
        parts.append(f"bound by {bound}")
    return nodes.BarRow(
        name=name,
        described=", ".join(parts),
        parts=(nodes.Part(us, _kind(each)),),
        words=f"{microseconds(us)} {_share(us, total)}",
        label=bound,
    )


def _rest(rest: list[KernelTime], total: float) -> nodes.BarRow:
    us = sum(each.total_us or 0.0 for each in rest)
    name = f"{plural(len(rest), 'other')}"
    return nodes.BarRow(
        name=name,
        described=f"{name}: {microseconds(us)}, {_share(us, total)} of the time",
        parts=(nodes.Part(us, "plain"),),
        words=f"{microseconds(us)} {_share(us, total)}",
    )


def _share(us: float, total: float) -> str:
    return percent(round(us / total, 3))


def _numbers(each: KernelTime, name: str, total: float) -> Cells:
    us = each.total_us or 0.0
    return [
        name,
        "" if each.launches is None else count(each.launches),
        "" if each.each_us is None else microseconds(each.each_us),
        microseconds(us),
        _share(us, total),
        BOUND_NAMES.get(each.bound or "", ""),
    ]


_MORE = "; irlens scan --all shows them"
_UNTIMED = (
    "no GPU timed the configurations: those that are estimated to be the fastest count as launched"
)
#: Kernels that are named where one reason hides the time of several.
_MOST_NAMES = 3
#: From this ratio on a time is a multiple of the other.
_MULTIPLE = 2.0
#: Operators that the name of a generated kernel tells.
_MOST_OPERATIONS = 3
#: Changed calls of libraries that are listed.
_MOST_CALLS = 8


def program_view(runs: Sequence[ProgramRun], options: Options) -> nodes.Section:
    """Return the runs of a program; ``options`` limit the rows of their tables."""
    title = runs[0].program if runs else "Program"
    sections = [run_view(run, options) for run in runs]
    if len(sections) == 1:
        return replace(sections[0], title=title)
    return nodes.Section(title, tuple(sections), key="program")


def run_view(run: ProgramRun, options: Options) -> nodes.Section:
    """Return what a program runs on one GPU."""
    children: list[Node] = [nodes.Headline(tuple(_verdict(run)))]
    children += program_bars(run, kernel_name)
    if run.kernels:
        children.append(_kernels(run, options.rows))
    children += rooflines_of_program(run, kernel_name)
    if any(each.partial for each in run.kernels):
        children.append(
            nodes.Sentence(
                "launched in many sizes: rare ones count as the most frequent", "dim", "*"
            )
        )
    if any(each.choice for each in run.kernels):
        children.append(nodes.Sentence(_UNTIMED, "dim", "Autotuned"))
    unknown = grouped((each.reason, kernel_name(each)) for each in run.kernels if each.reason)
    for reason, names in unknown.items():
        many = "" if len(names) <= _MOST_NAMES else f"{len(names)} kernels"
        said = f"{many or ', '.join(names)}: {reason}"
        children.append(nodes.Sentence(said, "unknown", "Unknown"))
    if run.library:
        children.append(_library(run.library, options.rows))
    if run.others:
        calls = plural(run.others, "call")
        children.append(
            nodes.Sentence(
                f"{calls} of PyTorch's own kernels, whose time is unknown", "dim", "Beside"
            )
        )
    aside = text(run.target.full_name)
    return nodes.Section("Program", tuple(children), key="program-run", aside=aside, wide=True)


def _verdict(run: ProgramRun) -> Iterator[Run]:
    launches = sum(each.launches or 0 for each in run.kernels)
    if any(each.launches is None for each in run.kernels):
        yield Run(f"{plural(len(run.kernels), 'kernel')}, launches unknown")
    else:
        kernels = plural(len(run.kernels), "kernel")
        yield Run(f"{plural(launches, 'launch')} of {kernels}")
    unknown = sum(each.total_us is None for each in run.kernels)
    if run.total_us is not None:
        least = "at least " if unknown else "about "
        yield Run(f"{least}{microseconds(run.total_us)} together", "strong")
        top = run.kernels[0]
        if len(run.kernels) > 1 and top.share is not None:
            of = "of the known time " if unknown else ""
            yield Run(f"{percent(top.share)} {of}in {kernel_name(top)}")
    if unknown:
        yield Run(f"time of {count(unknown)} unknown", "unknown")
    if run.library:
        yield _library_time(run.library)
    if run.candidates:
        yield Run(f"{plural(run.candidates, 'candidate')} that autotuners only tried")


def _library_time(library: Sequence[LibraryTime]) -> Run:
    """Return how many calls of libraries there are, and the least time that they take."""
    calls = sum(each.call.calls for each in library)
    least = least_time(library)
    if least is None:
        return Run(f"{plural(calls, 'library call')}, time unknown")
    takes = "takes" if calls == 1 else "take"
    return Run(f"{plural(calls, 'library call')} {takes} at least {microseconds(least)} more")


def change_view(change: ProgramChange, options: Options) -> nodes.Section:
    """Return what a program gains and loses between two recordings."""
    heads = nodes.titled("kernel", *nodes.numeric("launches", "before", "after", "change"))
    rows = tuple(row(*_change(each)) for each in change.kernels)
    children: list[Node] = [
        nodes.Headline(tuple(_change_verdict(change))),
        nodes.Table(
            heads, rows, "kernels", shown=options.rows, noun="kernel", more="; --all shows them"
        ),
    ]
    if change.library:
        columns = nodes.titled("operator", "operands", *nodes.numeric("calls"))
        calls = nodes.Table(
            columns,
            tuple(row(*_call_change(each)) for each in change.library),
            "library",
            shown=_MOST_CALLS,
            noun="library call",
            more="; JSON has all",
        )
        children.append(nodes.Section("Library calls, time unknown", (calls,), key="library"))
    targets = [change.before.full_name, change.after.full_name]
    aside = text(" → ".join(dict.fromkeys(targets)))
    return nodes.Section("Program", tuple(children), key="program-change", aside=aside, wide=True)


def _change_verdict(change: ProgramChange) -> Iterator[Run]:
    before, after = change.before_us, change.after_us
    if before and after is not None:
        between = f"about {microseconds(before)} → {microseconds(after)} together"
        saved = 1 - after / before
        if abs(saved) < RESOLUTION:
            yield Run("as fast, as far as an estimate can tell", "strong")
        elif saved > 0:
            yield Run(f"{percent(saved)} less time in kernels", "good")
        else:
            longer = f"{after / before:.2g} × the time" if after >= _MULTIPLE * before else ""
            yield Run(f"{longer or f'{percent(-saved)} more time'} in kernels", "bad")
        yield Run(between)
        # Kernels come by the change of their time; without one of it, none stands out.
        if abs(saved) >= RESOLUTION and (most := change.kernels[0]).change_us:
            yield Run(f"{kernel_name(most)} {_signed(most.change_us)}")
    floors = [change.library_before_us, change.library_after_us]
    known = [microseconds(each) for each in floors if each is not None]
    if change.library and len(known) == len(floors):
        yield Run(f"library calls take at least {' → '.join(known)} more")
    launches = [
        sum(number or 0 for number in numbers)
        for numbers in zip(*((each.before, each.after) for each in change.kernels), strict=True)
    ]
    if len(set(launches)) > 1:
        yield Run(f"{' → '.join(map(count, launches))} launches")
    unknown = sum(each.change_us is None for each in change.kernels)
    if unknown:
        yield Run(f"time of {plural(unknown, 'kernel')} unknown", "unknown")
    if new := sum(each.before is None for each in change.kernels):
        yield Run(f"{count(new)} new")
    if gone := sum(each.after is None for each in change.kernels):
        yield Run(f"{count(gone)} gone")


def _change(each: KernelChange) -> Cells:
    launches = [each.before, each.after]
    numbers = dict.fromkeys("–" if number is None else count(number) for number in launches)
    change = each.change_us
    tone: Tone = "neutral" if not change else "good" if change < 0 else "bad"
    if change and max(each.before_us or 0.0, each.after_us or 0.0) * RESOLUTION > abs(change):
        tone = "neutral"
    return [
        kernel_name(each),
        " → ".join(numbers),
        _time(each.before_us) if each.before is not None else "",
        _time(each.after_us) if each.after is not None else "",
        Run(figures.UNKNOWN, "unknown") if change is None else Run(_signed(change), tone),
    ]


def _signed(change: float) -> str:
    """Return a change of a time with its sign: "−185 µs"."""
    return f"{'' if not change else '+' if change > 0 else '−'}{_time(abs(change))}"


def _call_change(each: CallChange) -> Cells:
    calls = f"{count(each.before)} → {count(each.after)}"
    return [each.name.removeprefix("aten."), each.operands, calls]


def kernel_name(kernel: KernelTime | KernelChange) -> str:
    """Return what to call a kernel: what a generated one computes, otherwise its own name."""
    if not kernel.operations:
        return kernel.kernel
    shown = kernel.operations[:_MOST_OPERATIONS]
    more = " …" if len(kernel.operations) > len(shown) else ""
    return f"{' + '.join(shown)}{more}"


def _kernels(run: ProgramRun, shown: int | None) -> nodes.Table:
    heads = nodes.titled(
        "kernel", "from", *nodes.numeric("launches", "each", "together", "share"), "bound", "worst"
    )
    rows = tuple(row(*_kernel(each), note=_configuration(each)) for each in run.kernels)
    return nodes.Table(
        heads, rows, "kernels", shown=shown, sortable=True, noun="kernel", more=_MORE
    )


def _configuration(each: KernelTime) -> str:
    """Return which configuration of an autotuned kernel counts, where no GPU timed any."""
    if each.choice is None:
        return ""
    led = f"{each.configuration}: " if each.configuration else ""
    if each.choice == "estimated":
        several = (
            f", where most of the time goes; each is the mean of {count(each.variants)} variants"
            if each.variants > 1
            else ""
        )
        return f"{led}the fastest of {count(each.configurations)} by estimate{several}"
    return f"{led}the first of {count(each.configurations)}, whose times are unknown"


def _kernel(each: KernelTime) -> Cells:
    mark = "*" if each.partial and each.each_us is not None else ""
    finding = figures.UNKNOWN if each.reason and not each.finding else ""
    return [
        kernel_name(each),
        Run(each.source, "dim"),
        figures.UNKNOWN if each.launches is None else count(each.launches),
        _time(each.each_us) + mark,
        _time(each.total_us),
        figures.UNKNOWN if each.share is None else percent(each.share),
        "" if each.bound is None else BOUND_NAMES.get(each.bound, each.bound),
        Run(each.finding, nodes.SEVERITY_TONES[each.severity])
        if each.finding and each.severity
        else finding,
    ]


def _library(calls: Sequence[LibraryTime], shown: int | None) -> nodes.Section:
    heads = nodes.titled(
        "operator", "operands", "from", *nodes.numeric("calls", "bytes", "GFLOP", "floor")
    )
    rows = tuple(row(*_call(each)) for each in calls)
    calls_table = nodes.Table(heads, rows, "library", shown=shown, noun="call", more=_MORE)
    note = nodes.Sentence(
        "cuBLAS, cuDNN and attention choose their kernels on the GPU: the floor is what one call's "
        "bytes and operations take at peak rates.",
        "dim",
    )
    return nodes.Section("Library calls", (calls_table, note), key="library", wide=True)


def _call(each: LibraryTime) -> Cells:
    call = each.call
    return [
        call.name.removeprefix("aten."),
        call.operands,
        Run(call.source, "dim"),
        count(call.calls),
        rounded_size(call.bytes).replace(" ", "\u00a0"),
        figures.UNKNOWN if call.flops is None else f"{call.flops / 1e9:,.3g}",
        _time(each.floor_us),
    ]


def _time(us: float | None) -> str:
    """Return a time whose unit stays with its number."""
    return figures.UNKNOWN if us is None else microseconds(us).replace(" ", "\u00a0")
