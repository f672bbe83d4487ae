"""Two compilations pass by pass: the first pass after which their IR differs."""

import re
from collections import Counter

from msgspec.structs import replace

from irlens.analyze.capture_code import CaptureCode
from irlens.analyze.facts import Provenance
from irlens.analyze.resources import find_gpu, read_demand
from irlens.diff.code import compare_code
from irlens.diff.code.patience import common
from irlens.diff.code.statements import operation, read_code
from irlens.diff.passes import STAGE, States
from irlens.model.capture import Capture
from irlens.model.code import CodeComparison
from irlens.model.comparison import side_of
from irlens.model.errors import ArtifactError
from irlens.model.label import labels
from irlens.model.passes import DifferingLine, PassDifference, PassesDiff, StageDifference
from irlens.model.source import SourceLocation, user_frame

#: The stages after MLIR's passes that are compared as text.
_BEHIND = ("llir", "ptx", "amdgcn")
_TARGET = re.compile(r"\bttg\.target = \"[^\"]*\"")
_INSTRUCTION = re.compile(r"[a-z][\w.:]*")


def first_difference(
    before: States, after: States, *, context: int = 3, names: tuple[str, str] | None = None
) -> PassesDiff:
    """Return how two compilations differ after each pass that both ran.

    Passes are matched by name, in order; their options may differ. IR is compared by meaning.
    """
    compare = _Comparer(before, after, context)
    start = compare.at(1, 1)
    runs = [
        [each.name.removesuffix("Pass") for each in side.dumps.passes if not each.stage]
        for side in (before, after)
    ]
    passes: list[PassDifference] = []
    lines: list[DifferingLine] = []
    last, first, code = _differing(start), None, None
    for i, j in common(*runs):
        if i + 1 >= len(runs[0]) or j + 1 >= len(runs[1]):
            continue  # MLIR prints nothing after the last one
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
    one, two = names or _labels(before.capture, after.capture)
    return PassesDiff(
        before=side_of(before.capture, one),
        after=side_of(after.capture, two),
        at_start=_differing(start),
        passes=passes,
        first=first,
        only_before=_alone(before, after),
        only_after=_alone(after, before),
        code=code,
        lines=lines,
        llvm=_of_llvm(before, after),
        after_passes=stage_differences(before.capture, after.capture),
        registers=(_registers(before.capture), _registers(after.capture)),
    )


def _labels(before: Capture, after: Capture) -> tuple[str, str]:
    """Return what tells two compilations apart: their kernels, or else their settings."""
    if before.kernel != after.kernel:
        return before.kernel, after.kernel
    one, two = labels([side_of(each, "") for each in (before, after)])
    return one or "before", two or "after"


def _of_llvm(before: States, after: States) -> list[PassDifference]:
    """Return how the instructions of two compilations differ after each pass of LLVM's.

    What differs before LLVM's first pass is counted there: the dumps do not tell it apart.
    """
    numbers = [
        [number for number in range(1, len(side) + 1) if side.is_of_llvm(number)]
        for side in (before, after)
    ]
    names = [
        [side.dumps.passes[number - 1].name for number in own]
        for side, own in zip((before, after), numbers, strict=True)
    ]
    found: list[PassDifference] = []
    for i, j in common(*names):
        one, two = before.counts_after(numbers[0][i]), after.counts_after(numbers[1][j])
        differing = (one - two).total() + (two - one).total()
        found.append(
            PassDifference(
                name=names[1][j],
                before_number=numbers[0][i],
                after_number=numbers[1][j],
                differing=differing,
                grown=differing - (found[-1].differing if found else 0),
            )
        )
    return found


def _differing(comparison: CodeComparison) -> int:
    return comparison.added + comparison.removed + comparison.changed


def _lines(
    before: States, number: int, after: States, other: int, comparison: CodeComparison
) -> list[DifferingLine]:
    """Return the lines of Python of the rows that differ before two passes."""
    sides = (before.code_of(before.before(number)), after.code_of(after.before(other)))
    return _lines_of(*sides, STAGE, comparison)


def _lines_of(
    before: CaptureCode, after: CaptureCode, stage: str, comparison: CodeComparison
) -> list[DifferingLine]:
    ours, theirs = _sources(before, stage), _sources(after, stage)
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


def _sources(code: CaptureCode, stage: str) -> dict[int, SourceLocation | None]:
    """Return the user's line of Python of each line of a stage; nothing if it cannot be read."""
    try:
        chains = code[stage].chains
    except ArtifactError:
        return {}
    return {line: user_frame(chain) for line, chain in chains.items()}


def stage_differences(before: Capture, after: Capture) -> list[StageDifference]:
    """Return how two compilations differ in the stages after MLIR's passes."""
    sides = CaptureCode(before), CaptureCode(after)
    found = []
    for stage in _BEHIND:
        if all(stage in side for side in sides):
            compared = compare_code(*sides, stage, context=0)
            one, two = (_instructions(side, stage) for side in sides)
            difference = StageDifference(
                stage=stage,
                differing=_differing(compared),
                came=dict(sorted((two - one).items())),
                went=dict(sorted((one - two).items())),
                lines=_lines_of(*sides, stage, compared),
            )
            found.append(difference)
    return found


def _instructions(code: CaptureCode, stage: str) -> Counter[str]:
    """Count the instructions of a stage by name."""
    statements = read_code(code[stage]).statements
    names = (operation(each.skeleton)[0] for each in statements)
    return Counter(name for name in names if _INSTRUCTION.fullmatch(name))


def _registers(capture: Capture) -> int | None:
    provenance = Provenance()
    try:
        usage = read_demand(
            CaptureCode(capture), find_gpu(capture.target, capture.metadata, provenance), provenance
        ).resources
    except ArtifactError:
        return None
    return usage.registers if usage.registers is not None else usage.vgprs


def _alone(states: States, other: States) -> list[str]:
    """Return the passes that change something and that the other side does not have."""
    theirs = {each.name.removesuffix("Pass") for each in other.dumps.passes}
    numbered = enumerate(states.dumps.passes, 1)
    return list(
        dict.fromkeys(
            each.name
            for number, each in numbered
            if each.name.removesuffix("Pass") not in theirs
            and each.text != (states.after(number) or each.text)
        )
    )


class _Comparer:
    """Compares the IR of two compilations; after passes that change nothing only once."""

    def __init__(self, before: States, after: States, context: int) -> None:
        self._before, self._after, self._context = before, after, context
        one, two = labels([side_of(each.capture, "") for each in (before, after)])
        self._names = (one or "before", two or "after")
        self._last: tuple[str, str, CodeComparison] | None = None

    def at(self, number: int, other: int) -> CodeComparison:
        """Return the comparison of the IR before two passes."""
        one, two = self._before.before(number), self._after.before(other)
        if (target := _TARGET.search(one)) is not None:  # which GPU is no difference of a pass
            two = _TARGET.sub(target.group(), two, count=1)
        if self._last is None or (one, two) != self._last[:2]:
            sides = self._before.code_of(one), self._after.code_of(two)
            compared = compare_code(*sides, STAGE, names=self._names, context=self._context)
            self._last = one, two, replace(compared, setting="")
        return self._last[2]
