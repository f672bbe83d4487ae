"""Several sides against the first of them: a table with a column for each."""

import itertools
from collections.abc import Collection, Iterator, Sequence
from string import ascii_uppercase

from msgspec.structs import replace

from irlens import figures
from irlens.model.comparison import Comparison
from irlens.model.several import grouped
from irlens.model.text import plural
from irlens.render.view import nodes
from irlens.render.view.changes import (
    Change,
    changes,
    figure_title,
    main_changes,
    row_tone,
    signed_change,
    weightiest_first,
)
from irlens.render.view.comparison_verdict import in_short, verdict
from irlens.render.view.findings import delta_items, merge
from irlens.render.view.nodes import Node, Run, Text, row, text

_TIME = "time.estimate_us"


def sides_tables(pairs: Sequence[Comparison]) -> Iterator[Node]:
    """Yield a table of the sides that share their first: a column each, and the new findings."""
    groups = grouped((_arch(pair), pair) for pair in pairs)
    for name, group in groups.items():
        labels = [group[0].before.label, *(pair.after.label for pair in group)]
        together = nodes.Table(
            columns=nodes.titled("", *nodes.numeric(*labels)),
            rows=tuple(_sides(group)),
            name="sides",
            splits=True,
        )
        found = _changed_findings(group)
        if len(groups) == 1:
            yield together
            yield from found
        else:
            yield nodes.Section(name, (together, *found), key="target", wide=True)


def _arch(pair: Comparison) -> str:
    target = pair.before.target
    return "" if target is None else target.arch


def _sides(pairs: Sequence[Comparison]) -> Iterator[nodes.Row]:
    """Yield a row for each figure: its first value, then the others and how far they changed."""
    known = [{change.name: change for change in changes(pair)} for pair in pairs]
    main = [change for pair in pairs for change in main_changes(pair)]
    order = weightiest_first(main)
    firsts = {change.name: change for change in reversed(order)}
    yield row("overall", "", *map(_overall, pairs))
    for name in dict.fromkeys(change.name for change in order):
        cells = (
            _after(each[name]) if name in each else _absent(firsts[name], pair, each)
            for pair, each in zip(pairs, known, strict=True)
        )
        changed = any(name in each and each[name].changed for each in known)
        tone = row_tone(firsts[name].weight if changed else None)
        yield row(name, firsts[name].before, *cells, tone=tone)


def _absent(change: Change, pair: Comparison, known: Collection[str]) -> Text:
    """A figure that a comparison leaves out: it did not change, or was not compared there."""
    is_of_loop = "." not in change.path
    if is_of_loop:
        # Each loop of both sides has its stages.
        stages = figure_title("achieved_stages", (pair.before, pair.after), "pipeline")
        of_loop = change.name.removeprefix(
            figure_title(change.path, (pair.before, pair.after), "pipeline")
        )
        compared = stages + of_loop in known
    else:
        figure = figures.get(change.path)
        lacking = {change.path, figure.needs if figure is not None else ""}
        compared = lacking.isdisjoint(pair.not_compared)
    return text(Run(figures.UNCHANGED if compared else figures.UNKNOWN, "dim"))


def _overall(pair: Comparison) -> Text:
    tone = verdict(pair).tone
    sign = nodes.SIGNS.get(tone, "")
    return text(Run(f"{in_short(pair)} {sign}".strip(), tone))


def _after(change: Change) -> Text:
    """A figure of another side, and how far it changed."""
    if figures.UNKNOWN in (change.before, change.after):
        return text(Run(change.after, "dim"))
    if not change.changed and change.path == _TIME:
        return text(Run(f"{change.after} {figures.UNCHANGED}", "dim"))
    if not change.changed:
        return text(Run(figures.UNCHANGED, "dim"))
    changed = signed_change(change._replace(change=change.change.removesuffix(" B")))
    return text(Run(f"{change.after} ", change.tone), *changed)


def _changed_findings(pairs: Sequence[Comparison]) -> list[nodes.Findings]:
    items = merge(
        (pair.after.label, item, (item.state, item.code, item.place, item.message))
        for pair in pairs
        for each in pair.findings
        for item in delta_items(each, pair)
        if item.state != "was"
    )
    return [nodes.Findings(tuple(items), text(plural(len(items), "change")))] if items else []


#: A longer label makes its column wider than the values under it.
_LONGEST = 20


def lettered(pairs: Sequence[Comparison]) -> tuple[list[Comparison], list[nodes.Facts]]:
    """Return the comparisons with sides A, B, …, and what the letters stand for.

    Labels that are short enough stay, and need no explanation.
    """
    both = [side.label for pair in pairs for side in (pair.before, pair.after)]
    labels = list(dict.fromkeys(both))
    if not any(len(label) > _LONGEST for label in labels):
        return list(pairs), []
    letters = dict(zip(labels, _letters(), strict=False))
    named = [
        replace(
            pair,
            before=replace(pair.before, label=letters[pair.before.label]),
            after=replace(pair.after, label=letters[pair.after.label]),
        )
        for pair in pairs
    ]
    return named, [nodes.Facts(tuple(nodes.Fact(letters[label], text(label)) for label in labels))]


def _letters() -> Iterator[str]:
    """Yield A to Z, then A1 to Z1, and so on."""
    for turn in itertools.count():
        yield from (f"{letter}{turn or ''}" for letter in ascii_uppercase)
