"""The loops of a stage, with the ``for`` in Python that each is.

In MLIR the text has them; in LLVM IR and assemblies they are found from labels and branches.
"""

from bisect import bisect_right
from collections.abc import Hashable, Mapping, Sequence
from typing import TypeAlias

from msgspec.structs import replace

from irlens.analyze.graph import LoopForest, find_loops
from irlens.analyze.pipelines.loops import loop_source
from irlens.diff.code.statements import Code, Scope, Statement
from irlens.model.source import SourceLocation

#: Source lines by line of the stage, innermost first.
Chains: TypeAlias = Mapping[int, tuple[SourceLocation, ...]]


def find(code: Code, chains: Chains) -> list[Scope]:
    """Return the loops of all functions. Of those that share lines in part only one is kept."""
    lines = [each.line for each in code.statements]
    # The location of a loop stands on its closing brace, or on the branch back.
    found = [(loop, loop.last) for loop in code.loops] or [
        loop for function in code.functions for loop in _of_function(code, lines, function)
    ]
    return nested([replace(loop, source=loop_source(chains.get(at, ()))) for loop, at in found])


def nested(scopes: Sequence[Scope]) -> list[Scope]:
    """Return the scopes, outer ones first, without those that cross another."""
    kept: list[Scope] = []
    around: list[Scope] = []
    for scope in sorted(scopes, key=lambda each: (each.first, -each.last)):
        while around and around[-1].last < scope.first:
            around.pop()
        if not around or scope.last <= around[-1].last:
            kept.append(scope)
            around.append(scope)
    return kept


def _of_function(code: Code, lines: Sequence[int], function: Scope) -> list[tuple[Scope, int]]:
    """Return the loops of a function, each with the line of its branch back."""
    first, stop = bisect_right(lines, function.first - 1), bisect_right(lines, function.last)
    body = code.statements[first:stop]
    starts = _starts(body)
    if not starts:
        return []
    blocks = [body[start:end] for start, end in zip(starts, [*starts[1:], len(body)], strict=True)]
    forest = find_loops(_successors(blocks))
    return [_scope(blocks, forest, index) for index in range(len(forest.loops))]


def _starts(body: Sequence[Statement]) -> list[int]:
    """Where blocks begin: at labels and behind what branches."""
    starts = {0} if body else set()
    for index, each in enumerate(body):
        if each.flow == "label":
            starts.add(index)
        elif each.flow and index + 1 < len(body):
            starts.add(index + 1)
    return sorted(starts)


def _successors(blocks: Sequence[Sequence[Statement]]) -> list[list[int]]:
    labelled: dict[Hashable, int] = {}
    for number, block in enumerate(blocks):
        if block[0].flow == "label":
            labelled[block[0].names[0].value] = number
    successors = []
    for number, block in enumerate(blocks):
        last = block[-1]
        following = []
        if last.flow in ("branch", "jump"):
            following = [labelled[n.value] for n in last.names if n.value in labelled]
        if last.flow != "jump" and number + 1 < len(blocks):
            following.append(number + 1)
        successors.append(following)
    return successors


def _scope(
    blocks: Sequence[Sequence[Statement]], forest: LoopForest, index: int
) -> tuple[Scope, int]:
    body, loop = forest.body(index), forest.loops[index]
    header = blocks[loop.header][0]
    first = min(blocks[number][0].line for number in body)
    last = max(blocks[number][-1].line for number in body)
    name = header.text.partition(":")[0] if header.flow == "label" else f"on line {header.line}"
    return Scope("loop", f"loop {name}", first, last), blocks[loop.latches[0]][-1].line
