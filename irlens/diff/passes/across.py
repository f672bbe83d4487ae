"""Two compilations pass by pass: the first pass behind which their IR differs."""

from collections import Counter

from msgspec.structs import replace

from irlens.diff.code import compare_code
from irlens.diff.code.patience import common
from irlens.diff.code.stage import side_of
from irlens.diff.passes import STAGE, States
from irlens.model.code import CodeComparison
from irlens.model.errors import ArtifactError
from irlens.model.label import labels
from irlens.model.passes import DifferingLine, PassDifference, PassesDiff
from irlens.model.source import SourceLocation, user_frame


def first_difference(before: States, after: States, *, context: int = 3) -> PassesDiff:
    """Return how two compilations differ behind each pass that both ran.

    Passes are matched by name, in order; their options may differ. IR is compared by meaning.

    Args:
        before: The first compilation.
        after: The second.
        context: Lines around a change.
    """
    compare = _Comparer(before, after, context)
    start = compare.at(1, 1)
    names = [[each.name.removesuffix("Pass") for each in side.dumps.passes]
             for side in (before, after)]  # fmt: skip
    passes: list[PassDifference] = []
    lines: list[DifferingLine] = []
    last, first, code = _differing(start), None, None
    for i, j in common(*names):
        if i + 1 >= len(before) or j + 1 >= len(after):
            continue  # the compiler prints nothing behind the last one
        comparison = compare.at(i + 2, j + 2)
        differing = _differing(comparison)
        passes.append(
            PassDifference(
                name=after.dumps.passes[j].name,
                before_number=i + 1,
                after_number=j + 1,
                differing=differing,
                grown=differing - last,
            )
        )
        if first is None and differing > last:
            first, code = j + 1, comparison
            lines = _lines(before, i + 2, after, j + 2, comparison)
        last = differing
    one, two = labels([side_of(each.capture, "") for each in (before, after)])
    return PassesDiff(
        before=side_of(before.capture, one or "before"),
        after=side_of(after.capture, two or "after"),
        at_start=_differing(start),
        passes=passes,
        first=first,
        only_before=_alone(before, names[1]),
        only_after=_alone(after, names[0]),
        code=code,
        lines=lines,
    )


def _differing(comparison: CodeComparison) -> int:
    return comparison.added + comparison.removed + comparison.changed


def _lines(
    before: States, number: int, after: States, other: int, comparison: CodeComparison
) -> list[DifferingLine]:
    """Return the lines of Python of the rows that differ before two passes."""
    ours, theirs = _sources(before, number), _sources(after, other)
    rows = [row for hunk in comparison.hunks for row in hunk.rows if row.kind != "same"]
    sources = [
        theirs.get(row.after_line) if row.after_line else ours.get(row.before_line or 0)
        for row in rows
    ]
    counted = Counter((each.file, each.line) for each in sources if each is not None)
    return [
        DifferingLine(
            source=SourceLocation(file, line),
            code=after.capture.python_line(SourceLocation(file, line)) or "",
            differing=number,
        )
        for (file, line), number in counted.most_common()
    ]


def _sources(states: States, number: int) -> dict[int, SourceLocation | None]:
    """Return the user's line of Python of each line of the IR; nothing if it cannot be read."""
    try:
        chains = states.code_of(states.before(number))[STAGE].chains
    except ArtifactError:
        return {}
    return {line: user_frame(chain) for line, chain in chains.items()}


def _alone(states: States, others: list[str]) -> list[str]:
    """Return the passes that change something and that the other side does not have."""
    numbered = enumerate(states.dumps.passes, 1)
    return list(
        dict.fromkeys(
            each.name
            for number, each in numbered
            if each.name.removesuffix("Pass") not in others
            and each.text != (states.after(number) or each.text)
        )
    )


class _Comparer:
    """Compares the IR of two compilations; behind passes that change nothing only once."""

    def __init__(self, before: States, after: States, context: int) -> None:
        self._before, self._after, self._context = before, after, context
        one, two = labels([side_of(each.capture, "") for each in (before, after)])
        self._names = (one or "before", two or "after")
        self._last: tuple[str, str, CodeComparison] | None = None

    def at(self, number: int, other: int) -> CodeComparison:
        """Return the comparison of the IR before two passes."""
        one, two = self._before.before(number), self._after.before(other)
        if self._last is None or (one, two) != self._last[:2]:
            sides = self._before.code_of(one), self._after.code_of(two)
            compared = compare_code(*sides, STAGE, names=self._names, context=self._context)
            self._last = one, two, replace(compared, setting="")
        return self._last[2]
