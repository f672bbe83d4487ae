"""Limits as nodes: for each size the smallest value at which something breaks, and why."""

from collections.abc import Iterator, Sequence

from irlens.model.limits import Limit, Limits, SizeLimits, TileCover
from irlens.model.several import grouped
from irlens.model.text import count
from irlens.render.view import nodes
from irlens.render.view.launch_time import bound_name
from irlens.render.view.nodes import Node, Run, Tone, row
from irlens.render.view.size_times import phrase

#: Tones of verdicts, the worst first.
_TONES: tuple[Tone, ...] = ("bad", "unknown")


def limits_view(limits: Limits) -> nodes.Section:
    """Return the limits of a kernel."""
    return nodes.Section(limits.kernel, tuple(_nodes(limits)), key="limits")


def _nodes(limits: Limits) -> Iterator[Node]:
    yield nodes.settings({"target": limits.target.full_name, "Triton": limits.triton_version})
    verdicts = [_verdict(each, limits.follows) for each in limits.sizes]
    tones = {each.tone for each in verdicts}
    tone: Tone = next((each for each in _TONES if each in tones), "good")
    yield nodes.Headline(tuple(verdicts), tone)
    rows = tuple(_row(size, each) for size in limits.sizes for each in size.limits)
    if rows:
        yield nodes.Table(nodes.titled("from", "breaks", "where"), rows, "limits")
    for words, names in grouped(_fixes(limits)).items():
        led = f"{', '.join(dict.fromkeys(names))}: " if len(limits.sizes) > 1 else ""
        yield nodes.Sentence(f"{led}{words}", label="Fix")
    for size in limits.sizes:
        if size.bounds or size.untimed:
            yield nodes.Sentence(_bounds(size), "dim", label="Time")
        if size.unknown:
            yield nodes.Sentence(f"More of {size.name} is unknown: {size.unknown}", "unknown")
        if size.alone:
            yield nodes.Sentence(_alone(size.name), "unknown")
        if size.cover is not None and size.uncovered:
            yield nodes.Sentence(_uncovered(size.name, size.cover), "unknown")
    if limits.follows:
        yield nodes.Sentence(
            f"Values that were equal in the recorded launch follow each other:"
            f" {'; '.join(limits.follows)}. --arg and --grid replace that.",
            "unknown",
        )
    inexact = any(not limit.is_exact for size in limits.sizes for limit in size.limits)
    if inexact or any(size.sampled and not size.limits for size in limits.sizes):
        most = "at most: " if inexact else ""
        yield nodes.Sentence(
            f"{most}of many programs some were evaluated, and others may break", "unknown"
        )


def _fixes(limits: Limits) -> Iterator[tuple[str, str]]:
    """Yield what becomes of an overflow with wider integers, and the size that overflows."""
    for size in limits.sizes:
        for limit in size.limits:
            file = limit.cause.at.file if limit.cause.at is not None else ""
            if limit.fix is not None and (words := limit.fix.words(file)):
                yield words, size.name


def _alone(name: str) -> str:
    """Return what was not looked at where nothing else of the launch follows a size."""
    return (
        f"The launch's grid and tensors do not follow {name}: more programs and larger tensors"
        f" were not looked at. Write them as functions of it, such as --grid 'cdiv({name}, 128)'"
        f" --arg 'x=fp16[{name}, 64]'"
    )


def _uncovered(name: str, cover: TileCover) -> str:
    """Return what is left out of sizes beyond a tile, and how the tile follows."""
    return (
        f"{cover.name} stays {count(cover.elements)} while {name} grows: beyond {count(cover.last)}"
        f" the kernel leaves elements out, and the program launches something else. A recording of"
        f" launches with two values of {cover.name} tells how it follows, and so does a description"
        f" of the kernel."
    )


def _bounds(size: SizeLimits) -> str:
    """Return what binds the time: "n: bound by latency up to 4,096, DRAM from 4,112 on"."""
    if not size.bounds:
        return f"{size.name}: unknown: {size.untimed}"
    spans = [(bound_name(each.bound), each.first, each.last) for each in size.bounds]
    multiple = size.bounds[0].multiple_of
    of = f", of multiples of {multiple}" if multiple > 1 else ""
    tried = f" (evaluated up to {count(size.bounds[-1].last)}{of})"
    more = f"; more is unknown: {size.untimed}" if size.untimed else ""
    return f"{size.name}: bound by {phrase(spans, len(spans))}{tried}{more}"


def _verdict(size: SizeLimits, follows: Sequence[str]) -> Run:
    """Return up to which size nothing breaks."""
    if size.limits:
        least = next((e for e in size.limits if not e.is_of_fixed_tensor), size.limits[0])
        most = "" if least.is_exact else "at most "
        if size.uncovered:
            breaks = f"with that {least.breaks} from {most}{count(least.size)} on"
            return Run(f"{size.name}: {size.uncovered}; {breaks}", "unknown")
        tone: Tone = "unknown" if least.is_of_fixed_tensor else "bad"
        return Run(f"{size.name}: {least.breaks} from {most}{count(least.size)} on", tone)
    if size.unknown:
        return Run(f"{size.name}: unknown", "unknown")
    if size.uncovered:
        return Run(f"{size.name}: {size.uncovered}", "unknown")
    if size.sampled:
        return Run(f"{size.name}: nothing found up to {count(size.last)}", "unknown")
    if size.alone:
        here = "in this grid and these tensors"
        return Run(f"{size.name}: nothing breaks up to {count(size.last)} {here}", "unknown")
    if follows:
        return Run(f"{size.name}: nothing breaks up to {count(size.last)} as recorded", "unknown")
    return Run(f"{size.name}: nothing breaks up to {count(size.last)}", "good")


def _row(size: SizeLimits, limit: Limit) -> nodes.Row:
    least = "=" if limit.is_exact else "≤"
    first = f"{size.name} {least} {count(limit.size)}"
    return row(first, limit.breaks, limit.cause.where, note=limit.why)
