"""Many captures: two sets matched by kernel, target and config, or several against the first."""

import hashlib
from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from irlens.diff.code import compare_code
from irlens.diff.code.reading import side_of
from irlens.diff.report.matching import built, match_by
from irlens.model.capture import Capture
from irlens.model.code import CODE_SCHEMA, CodeComparison, CodeComparisons
from irlens.model.comparison import Side
from irlens.model.errors import ArtifactError
from irlens.model.label import labels, labels_among


def across(
    sets: Sequence[Sequence[Capture]], stages: Sequence[str], *, context: int = 3
) -> CodeComparisons:
    """Return what moved from the first set to each of the others; of one set, from its first.

    Raises:
        ArtifactError: No pair has any of the stages.
        ToolError: The disassembler is missing or failed.
    """
    if len(sets) == 1 or all(len(captures) == 1 for captures in sets):
        return _against_first([each for captures in sets for each in captures], stages, context)
    found = [match(sets[0], other, stages, context=context) for other in sets[1:]]
    return CodeComparisons(
        schema=CODE_SCHEMA,
        different=any(each.different for each in found),
        pairs=[pair for each in found for pair in each.pairs],
        missing=[told for each in found for told in each.missing],
        removed=[one for each in found for one in each.removed],
        added=[one for each in found for one in each.added],
    )


def match(
    before: Sequence[Capture], after: Sequence[Capture], stages: Sequence[str], *, context: int = 3
) -> CodeComparisons:
    """Return what moved in some stages between two sets of captures, matched as reports are.

    Raises:
        ArtifactError: No pair has any of the stages.
        ToolError: The disassembler is missing or failed.
    """
    pairs, left, right = match_by(before, after, _same)
    if len(before) == len(after) == 1:
        pairs, left, right = [(before[0], after[0])], [], []
    settings = labels_among([side_of(one, "") for one, _ in pairs], built)
    told = []
    for pair, setting in zip(pairs, settings, strict=True):
        one, two = labels([side_of(each, "") for each in pair])
        told.append(_Pair(*pair, (one, two), setting))
    return _compared(told, stages, context, removed=_sides(left), added=_sides(right))


class _Pair(NamedTuple):
    """Two captures, what to call them, and what sets them apart from other pairs."""

    before: Capture
    after: Capture
    names: tuple[str, str]
    setting: str = ""


def _compared(
    pairs: Sequence[_Pair],
    stages: Sequence[str],
    context: int,
    *,
    removed: Sequence[Side] = (),
    added: Sequence[Side] = (),
) -> CodeComparisons:
    found: list[CodeComparison] = []
    missing: list[ArtifactError] = []
    for pair in pairs:
        one, two = pair.names
        names = (one or "before", two or "after")
        for stage in stages:
            try:
                moved = compare_code(pair.before, pair.after, stage, names=names, context=context)
            except ArtifactError as error:
                missing.append(error)
            else:
                found.append(replace(moved, setting=pair.setting))
    if missing and not found:
        raise missing[0]
    return CodeComparisons(
        schema=CODE_SCHEMA,
        different=bool(removed or added) or any(pair.different for pair in found),
        pairs=sorted(found, key=lambda pair: not pair.different),
        missing=sorted({error.message for error in missing}),
        removed=list(removed),
        added=list(added),
    )


def _same(capture: Capture) -> Hashable:
    """The artifacts themselves."""
    return capture.kernel, *(
        (name, hashlib.sha256(stage.read()).digest()) for name, stage in capture.stages.items()
    )


def _sides(captures: Iterable[Capture]) -> list[Side]:
    alone = [side_of(each, "") for each in captures]
    found = (replace(each, label=label) for each, label in zip(alone, labels(alone), strict=True))
    return sorted(found, key=lambda one: (one.kernel, one.label))


def _against_first(
    captures: Sequence[Capture], stages: Sequence[str], context: int
) -> CodeComparisons:
    names = labels([side_of(each, "") for each in captures])
    (first, name), *others = zip(captures, names, strict=True)
    pairs = [_Pair(first, other, (name, named)) for other, named in others]
    return _compared(pairs, stages, context)
