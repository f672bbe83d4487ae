"""Which sides were compared, in words, and the table of many: what formats for people share."""

from collections.abc import Sequence

from irlens.model.code import CodeComparison
from irlens.model.comparison import Comparison, Comparisons, Delta, Side
from irlens.model.moved import change_text, value_text
from irlens.model.text import count

#: Figures of the table of many sides, with a short name.
_COLUMNS = {
    "achieved_stages": "stages",
    "occupancy.theoretical": "occupancy",
    "resources.registers": "registers",
    "resources.shared_dynamic_bytes": "shared",
    "resources.local_bytes": "local",
}


def side_table(
    pairs: Sequence[Comparison],
) -> tuple[list[str], list[list[str]], list[str]]:
    """Return several sides against their first: titles, a row for each side, and their labels."""
    told = [_columns(pair) for pair in pairs]
    titles = list(dict.fromkeys(name for each in told for name in each))
    first = [_first_value(told, name) for name in titles]
    rows = [[_value_and_change(each.get(name)) for name in titles] for each in told]
    labels = [pairs[0].before.label, *(pair.after.label for pair in pairs)]
    return titles, [first, *rows], labels


def _columns(pair: Comparison) -> dict[str, Delta]:
    loops = [d for loop in pair.loops if loop.presence == "both" for d in loop.deltas]
    found: dict[str, Delta] = {}
    for path, name in _COLUMNS.items():
        same = [each for each in (*loops, *pair.figures) if each.path == path]
        for number, each in enumerate(same):
            found[name if len(same) == 1 else f"{name} {number + 1}"] = each
    return found


def _first_value(told: Sequence[dict[str, Delta]], name: str) -> str:
    found = next(each[name] for each in told if name in each)
    return value_text(found.before, found.unit)


def _value_and_change(delta: Delta | None) -> str:
    if delta is None:
        return "–"
    change = change_text(delta).removesuffix(" B")
    return f"{value_text(delta.after, delta.unit)} {change}".rstrip()


def summary(comparisons: Comparisons) -> str:
    """Return many comparisons in a line: "2 of 7 differ, 1 added"."""
    moved = sum(pair.different for pair in comparisons.pairs)
    told = [f"{count(moved)} of {count(len(comparisons.pairs))} differ"]
    partly = sum(bool(pair.not_compared) and not pair.different for pair in comparisons.pairs)
    if partly:
        told.append(f"{count(partly)} compared in part")
    for what, sides in unpaired(comparisons):
        if sides:
            told.append(f"{count(len(sides))} {what}")
    return ", ".join(told)


def left_out(comparison: Comparison) -> str:
    """Return what could not be compared; nothing if all was."""
    if not comparison.not_compared:
        return ""
    return f"only one side has {', '.join(comparison.not_compared)}"


def unpaired(comparisons: Comparisons) -> list[tuple[str, Sequence[Side]]]:
    """Return what has no counterpart, by what to call it."""
    return [
        ("added", comparisons.added),
        ("removed", comparisons.removed),
        ("unmatched before", comparisons.unmatched_before),
        ("unmatched after", comparisons.unmatched_after),
    ]


def title(comparison: Comparison | CodeComparison) -> str:
    """Return the kernel and the GPU: "softmax_kernel on sm_90"; if need be its config, too.

    Both kernels and both GPUs are told where they differ.
    """
    kernels = dict.fromkeys((comparison.before.kernel, comparison.after.kernel))
    targets = dict.fromkeys(_arch(side) for side in (comparison.before, comparison.after))
    setting = f", {comparison.setting}" if comparison.setting else ""
    return f"{' → '.join(kernels)} on {' → '.join(targets)}{setting}"


def sides(comparison: Comparison | CodeComparison) -> str:
    """Return what was asked for: "num_stages=2 → num_stages=4"; "" where the title says it."""
    pair = (comparison.before, comparison.after)
    if all(side.label in ("before", "after", side.kernel, _arch(side)) for side in pair):
        return ""
    return f"{comparison.before.label} → {comparison.after.label}"


def describe(side: Side) -> str:
    """Return a side that stands alone: "softmax_kernel on sm_90, num_stages=4"."""
    told = side.label.removeprefix(_arch(side)).strip()
    named = told not in ("", "before", "after")
    return f"{side.kernel} on {_arch(side)}" + (f", {told}" if named else "")


def _arch(side: Side) -> str:
    return side.target.arch if side.target else "an unknown target"
