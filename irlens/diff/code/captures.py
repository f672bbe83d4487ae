"""Code comparisons of many captures: set against set, or several against the first."""

from collections.abc import Collection, Hashable, Iterable, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from irlens.analyze.capture_code import CaptureCode
from irlens.diff import (
    by_other_settings,
    concatenate,
    first_sides,
    kernel_and_target,
    match,
    without,
)
from irlens.diff.code import compare_code
from irlens.model.capture import Capture
from irlens.model.code import CODE_SCHEMA, CodeComparison, CodeComparisons
from irlens.model.comparison import Side, side_of
from irlens.model.errors import ArtifactError
from irlens.model.label import labels, labels_among


def compare_across(
    sets: Sequence[Sequence[Capture]],
    stages: Sequence[str],
    *,
    varied: Collection[str] = (),
    context: int = 3,
) -> CodeComparisons:
    """Compare the first set with each of the others; of a single set, its first capture.

    Args:
        varied: Settings with several values, which are compared with all others equal.

    Raises:
        ArtifactError: No pair has any of the stages.
        ToolError: The disassembler is missing or failed.
    """
    if len(sets) == 1 or all(len(captures) == 1 for captures in sets):
        captures = [each for captures in sets for each in captures]
        return _against_first(captures, stages, varied, context)
    return concatenate(
        [compare_sets(sets[0], other, stages, context=context) for other in sets[1:]]
    )


def compare_sets(
    before: Sequence[Capture],
    after: Sequence[Capture],
    stages: Sequence[str],
    *,
    sides: tuple[str, str] | None = None,
    context: int = 3,
) -> CodeComparisons:
    """Compare stages of two sets of captures, which are matched as reports are.

    Args:
        sides: Labels of the sets; by default, the settings that tell each pair apart.

    Raises:
        ArtifactError: No pair has any of the stages.
        ToolError: The disassembler is missing or failed.
    """
    pairs, removed, added = match(before, after, _content)
    if len(before) == len(after) == 1:
        pairs, removed, added = [(before[0], after[0])], [], []
    settings = labels_among([side_of(one, "") for one, _ in pairs], kernel_and_target)
    labelled = []
    for pair, setting in zip(pairs, settings, strict=True):
        one, two = sides or labels([side_of(each, "") for each in pair])
        labelled.append(_Pair(*pair, (one, two), setting))
    return _compare_pairs(labelled, stages, context, removed=_sides(removed), added=_sides(added))


class _Pair(NamedTuple):
    """Two captures, their labels, and the setting that sets the pair apart from other pairs."""

    before: Capture
    after: Capture
    labels: tuple[str, str]
    setting: str = ""


def _compare_pairs(
    pairs: Sequence[_Pair],
    stages: Sequence[str],
    context: int,
    *,
    removed: Sequence[Side] = (),
    added: Sequence[Side] = (),
) -> CodeComparisons:
    comparisons: list[CodeComparison] = []
    missing: list[ArtifactError] = []
    before: CaptureCode | None = None
    for pair in pairs:
        if before is None or before.capture is not pair.before:
            before = CaptureCode(pair.before)
        after = CaptureCode(pair.after)
        one, two = pair.labels
        names = (one or "before", two or "after")
        for stage in stages:
            try:
                compared = compare_code(before, after, stage, names=names, context=context)
            except ArtifactError as error:
                missing.append(error)
            else:
                comparisons.append(replace(compared, setting=pair.setting))
        pair.before.check_unchanged()
        pair.after.check_unchanged()
    if missing and not comparisons:
        raise missing[0]
    return CodeComparisons(
        schema=CODE_SCHEMA,
        different=bool(removed or added) or any(each.different for each in comparisons),
        pairs=sorted(comparisons, key=lambda each: not each.different),
        missing=sorted({error.message for error in missing}),
        removed=list(removed),
        added=list(added),
    )


def _content(capture: Capture) -> Hashable:
    """Return the kernel and a digest of each artifact."""
    return capture.kernel, *((name, stage.sha256) for name, stage in capture.stages.items())


def _sides(captures: Iterable[Capture]) -> list[Side]:
    sides = [side_of(each, "") for each in captures]
    labelled = (
        replace(side, label=label) for side, label in zip(sides, labels(sides), strict=True)
    )
    return sorted(labelled, key=lambda side: (side.kernel, side.label))


def _against_first(
    captures: Sequence[Capture], stages: Sequence[str], varied: Collection[str], context: int
) -> CodeComparisons:
    groups = by_other_settings(captures, varied) if varied else None
    firsts = [side_of(group[0], "") for group in groups or ()]
    settings = [without(each, varied) for each in labels_among(firsts, kernel_and_target)]
    pairs = []
    for number, group in enumerate(groups or first_sides(captures)):
        names = labels([side_of(each, "") for each in group])
        (first, name), *others = zip(group, names, strict=True)
        setting = settings[number] if groups else ""
        pairs += [_Pair(first, other, (name, other_name), setting) for other, other_name in others]
    return _compare_pairs(pairs, stages, context)
