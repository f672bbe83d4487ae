"""Which pass inserted each layout conversion of the final IR."""

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from irlens.analyze.layout_conversions import find_conversions
from irlens.diff.passes import STAGE, States
from irlens.diff.passes.lines import expanded
from irlens.isa import mlir
from irlens.isa.mlir import Module, Operation
from irlens.isa.mlir.operations import names_of
from irlens.model.errors import ArtifactError
from irlens.model.passes import Insertion
from irlens.model.source import SourceLocation

#: A conversion wherever a pass moves it: its place, the type that it makes, and the one that it
#: reads, "" for any; layouts are written out.
_Key: TypeAlias = tuple[tuple[SourceLocation, ...], str, str]
_NAMES = names_of("relayout")


def insertions(states: States) -> list[Insertion]:
    """Return the conversions of the last ttgir, each with the passes that made it what it is.

    Raises:
        ArtifactError: The last ttgir cannot be read.
    """
    numbers = states.numbers_of("ttgir")
    text = states.after(max(numbers)) if numbers else None
    if text is None:
        return []
    module = mlir.parse(text, stage="ttgir")
    found = [(list(_keys(module, each)), kept) for each, kept in find_conversions(module)]
    since = _since(states, max(numbers), {key for keys, _ in found for key in keys})
    return [
        Insertion(conversion=kept, number=since.get(to), between=since.get(both))
        for (to, both), kept in found
    ]


def _since(states: States, last: int, pending: set[_Key]) -> Mapping[_Key, int]:
    """Return the last pass after which the IR has each conversion, and before which it has not.

    It is 0 for those of the first IR; those before which the IR cannot be read are left out.
    """
    since: dict[_Key, int] = {}
    text = ""
    for number in range(last, 0, -1):
        before = states.before(number)
        if before == text:
            continue
        text = before
        try:
            known = _known(before)
        except ArtifactError:
            return since
        since |= dict.fromkeys(pending - known, number)
        pending = pending & known
        if not pending:
            break
    return since | dict.fromkeys(pending, 0)


def _known(text: str) -> set[_Key]:
    if not any(name in text for name in _NAMES):
        return set()
    module = mlir.parse(text, stage=STAGE)
    return {key for each in module.doing("relayout") for key in _keys(module, each)}


def _keys(module: Module, conversion: Operation) -> Iterator[_Key]:
    """Yield the key for a conversion from any layout, then that from its own."""
    before, after = conversion.operand_type, conversion.result_type
    written = expanded(module, str(after))
    yield conversion.location, written, ""
    yield conversion.location, written, expanded(module, str(before))
