"""Conversions between layouts and accesses to shared memory as nodes: in short, and each."""

from collections.abc import Iterator, Sequence

from irlens.figures import UNKNOWN
from irlens.model.conversions import Conversion, Price, SharedAccesses
from irlens.model.estimate import RESOLUTION
from irlens.model.report import Report
from irlens.model.several import total
from irlens.model.terms import Terms, VendorTerms
from irlens.model.text import count, microseconds, plural, size
from irlens.render.view import nodes
from irlens.render.view.drawings import nearest, place_of
from irlens.render.view.launch_time import bound_name
from irlens.render.view.nodes import Cells, Node, Run, phrases, table, text

KEY = "conversions"
#: Conversions that the short form lists, and rows of the tables.
_LISTED, _ROWS = 3, 24
#: Bank conflicts below this share of the time are left out of the short form.
_LEAST = 0.01


def conversions_fact(report: Report) -> nodes.Fact | None:
    """Return the conversions of loops and the bank conflicts in short; ``None`` without any."""
    moving = [each for each in report.conversions if each.depth and each.through != "registers"]
    conflicting = _conflicting(report)
    if not moving and not conflicting:
        return None
    lines: list[nodes.Phrases] = [_conversion(each, report) for each in moving[:_LISTED]]
    if len(moving) > _LISTED:
        lines.append(phrases(Run(f"{len(moving) - _LISTED} more: --memory", "dim")))
    lines += [_conflicts(each, report) for each in conflicting[:_LISTED]]
    value = text(Run(plural(len(moving), "conversion"), "strong"), " between layouts in loops")
    if not moving:
        value = text(Run(plural(len(conflicting), "line"), "strong"), " with bank conflicts")
    elif (hidden := _hidden(report, _us(moving), _saved(moving))) is not None:
        value = text(*value, f": {hidden}")
    return nodes.Fact("Conversions", value, tuple(lines), "neutral", key=KEY)


def conversions_section(report: Report) -> nodes.Section | None:
    """Return every conversion and every line's accesses to shared memory; ``None`` without any."""
    parts = [*_conversions(report), *_accesses(report)]
    if not parts:
        return None
    return nodes.Section(
        title="Layout conversions and shared memory",
        children=tuple(parts),
        key=KEY,
        aside=text("busy: for how long they occupy shared memory, beside what other units do"),
        detail="memory",
        wide=True,
    )


def _conversion(each: Conversion, report: Report) -> nodes.Phrases:
    place = nearest(each.source, "ttgir", each.line)
    runs = "" if each.runs is None else f" × {count(round(each.runs))}"
    return phrases(
        Run(str(place), place=place),
        f"{each.type}{runs}",
        f"{each.before_kind} → {each.after_kind}",
        f"through {way(each, Terms(report))}",
        *([_price(each)] if _price(each) else []),
    )


def way(each: Conversion, terms: VendorTerms) -> str:
    """Return where a conversion moves data, in the vendor's terms: "shared memory", "LDS"."""
    if each.through is None:
        return "what is unknown"
    return terms.shared_memory if each.through == "shared memory" else each.through


def _price(each: Conversion) -> str:
    if each.price is None:
        return "" if each.least_us is None else f"at least {microseconds(each.least_us)}"
    return microseconds(each.price.us)


def _us(conversions: Sequence[Conversion]) -> float:
    return sum(each.price.us for each in conversions if each.price is not None)


def _saved(conversions: Sequence[Conversion]) -> float | None:
    """Return what the launch takes less without the conversions; ``None`` where unknown."""
    return total(each.price.saved_us if each.price is not None else None for each in conversions)


def _hidden(report: Report, us: float, saved: float | None) -> str | None:
    """Return "0.8 µs of shared memory's 3.1 µs, hidden under DRAM"; ``None`` where unknown."""
    time = report.time
    if time is None or not time.estimate_us or not us:
        return None
    words = f"{microseconds(us)} of shared memory's {microseconds(time.parts.get('shared', 0.0))}"
    if saved is None or time.bound is None:
        return words
    if saved < RESOLUTION * time.estimate_us:
        return f"{words}, hidden under {bound_name(time.bound)}"
    return f"{words}; without them about {microseconds(saved)} less"


def _conflicting(report: Report) -> list[SharedAccesses]:
    """Return the lines whose bank conflicts take a share of the time, the most first."""
    time = report.time
    if time is None or not time.estimate_us:
        return []
    least = _LEAST * time.estimate_us
    found = [each for each in report.shared_accesses if _conflict_us(each) >= least]
    return sorted(found, key=lambda each: -_conflict_us(each))


def _conflict_us(each: SharedAccesses) -> float:
    price = each.price
    return price.us * price.conflicts / price.wavefronts if price.wavefronts else 0.0


def _conflicts(each: SharedAccesses, report: Report) -> nodes.Phrases:
    price = each.price
    hidden = _hidden(report, _conflict_us(each), None)
    return phrases(
        _place(each),
        f"{each.kind} with bank conflicts",
        f"{price.wavefronts / price.requests:.1f} wavefronts a request,"
        f" {price.conflicts / price.requests:.1f} of them by conflicts",
        *([hidden] if hidden is not None else []),
    )


def _place(each: SharedAccesses) -> Run:
    place = place_of(each.source)
    return Run(str(place), place=place) if place is not None else Run("no line", "dim")


def _conversions(report: Report) -> Iterator[Node]:
    rows: list[Cells] = []
    terms = Terms(report)
    for each in report.conversions[:_ROWS]:
        place = nearest(each.source, "ttgir", each.line)
        rows.append([
            Run(str(place), place=place),
            Run(each.used_by, "code"),
            each.type,
            "" if each.bytes is None else size(each.bytes),
            f"{each.before_kind} → {each.after_kind}",
            Run(way(each, terms), "warn" if each.depth and each.through == "shared memory"
                else "neutral"),
            "" if each.runs is None else _runs(each.runs),
            str(each.loop) if each.loop is not None else "",
            _price(each),
            Run(each.reason, "unknown"),
        ])  # fmt: skip
    if rows:
        columns = nodes.titled(
            "line", "for", "type", *nodes.numeric("bytes"), "layouts", "through",
            *nodes.numeric("runs"), "in loop", *nodes.numeric("busy"), "",
        )  # fmt: skip
        yield table(columns, rows, "layout conversions")
    if len(report.conversions) > _ROWS:
        yield nodes.Sentence(f"{len(report.conversions) - _ROWS} more in the JSON report", "dim")
    if any(map(_is_stored_product, report.conversions)):
        yield nodes.Sentence(
            "before a store or an atomic in a loop: a product's result goes to the threads that"
            " access neighbours; a tensor descriptor needs none of it, and took an H200 as long or"
            " longer in seven of eight loops (irlens explain IRL314)",
            "dim",
        )
    if rows:
        yield nodes.Sentence("irlens passes KERNEL --conversions names the pass of each", "dim")


def _is_stored_product(each: Conversion) -> bool:
    """Whether a conversion hands a result of NVIDIA's products to memory, in a loop."""
    return each.is_product and each.depth > 0 and each.used_by in ("tt.store", "tt.atomic_rmw")


def _runs(mean: float) -> str:
    """Return how often a warp runs something: "<1" where not every warp does."""
    return "<1" if 0 < mean < 0.95 else count(round(mean))


def _per_request(price: Price) -> str:
    """Return wavefronts per request: "<1" where lanes of some requests are all inactive."""
    if not price.requests:
        return UNKNOWN
    mean = price.wavefronts / price.requests
    return "<1" if mean < 0.995 else f"{mean:.2f}"


def _least(accesses: SharedAccesses, figure: str) -> str:
    """Return a figure as a lower bound where some addresses are unknown, which may conflict."""
    return f"≥ {figure}" if accesses.unknown else figure


def _accesses(report: Report) -> Iterator[Node]:
    rows: list[Cells] = [
        [
            _place(each),
            each.kind,
            count(each.instructions),
            _runs(each.runs),
            _least(each, _per_request(each.price)),
            Run(
                _least(each, count(round(each.price.conflicts))),
                "warn" if each.price.conflicts else "neutral",
            ),
            _least(each, microseconds(each.price.us)),
            Run(f"addresses of {each.unknown} unknown" if each.unknown else "", "unknown"),
        ]
        for each in report.shared_accesses[:_ROWS]
        if each.price.wavefronts
    ]
    if rows:
        measures = ("instructions", "runs", "wavefronts/request", "by conflicts", "busy")
        columns = nodes.titled("line", "access", *nodes.numeric(*measures), "")
        yield table(columns, rows, "accesses to shared memory")
    if rows and _meets_products(report):
        yield nodes.Sentence(
            "wavefronts are those of the lanes' addresses; wgmma of other CTAs reads shared memory"
            " meanwhile, and how many more a launch counts is unknown",
            "unknown",
        )


def _meets_products(report: Report) -> bool:
    """Whether matrix products of one CTA read shared memory while others of its SM access it.

    An H200 counts more wavefronts than the addresses cause in every such launch that was measured,
    by up to twice as many and with the stages of the loop, and in no launch of another kind.
    """
    occupancy = report.occupancy
    if occupancy is None or occupancy.blocks_per_sm < 2 or occupancy.waves is None:
        return False
    several = occupancy.waves * occupancy.blocks_per_sm > 1
    return several and any(each.kind == "wgmma" for each in report.pipelines)
