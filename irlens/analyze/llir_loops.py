"""Loops of LLVM IR, from its labels and the branches that end its blocks.

Source: LLVM Language Reference, "Terminator Instructions".
"""

import re

import msgspec

from irlens.analyze.graph import LoopForest, Successors
from irlens.analyze.graph import find_loops as find_in_graph
from irlens.isa.llir.parser import Function, Instruction
from irlens.model.source import SourceLocation

_NAME = r'(?:"[^"\n]*"|[\w$.-]+)'
_LABEL = re.compile(rf"(?P<name>{_NAME}):")
_TARGET = re.compile(rf"label %(?P<name>{_NAME})")
_TERMINATORS = frozenset(
    {"ret", "br", "switch", "indirectbr", "invoke", "callbr", "resume", "unreachable"}
)


class Loop(msgspec.Struct, frozen=True, kw_only=True):
    """A loop.

    Attributes:
        header: 1-based line of its header's label.
        lines: Of its instructions, first and last.
        depth: 1 for an outermost loop.
        location: Of the branch back, innermost frame first; empty if unknown.
    """

    header: int
    lines: tuple[int, ...]
    depth: int
    location: tuple[SourceLocation, ...]


class Block(msgspec.Struct):
    """A basic block: the line it begins on, and its instructions."""

    line: int
    instructions: list[Instruction]


class Flow(msgspec.Struct, frozen=True):
    """A function's basic blocks, how they follow each other, and its loops."""

    blocks: list[Block]
    successors: Successors
    forest: LoopForest

    def location(self, loop: int) -> tuple[SourceLocation, ...]:
        """Where a loop's branch back is, innermost frame first; empty if that is unknown."""
        latches = [self.blocks[n].instructions[-1:] for n in self.forest.loops[loop].latches]
        chains = (each.locations for latch in latches for each in latch if each.locations)
        return next(chains, ())


def build(function: Function, lines: list[str]) -> Flow:
    """Find the basic blocks of a function, and its loops.

    Args:
        function: One of the module's.
        lines: The module's text, line by line.
    """
    blocks, named = _blocks(function, lines)
    successors = [
        tuple(dict.fromkeys(named[name] for name in _targets(block, lines) if name in named))
        for block in blocks
    ]
    return Flow(blocks, successors, find_in_graph(successors))


def list_loops(flow: Flow) -> list[Loop]:
    """Return the loops of a function, outer ones before those inside."""
    found = []
    for index, loop in enumerate(flow.forest.loops):
        body = [each for n in flow.forest.body(index) for each in flow.blocks[n].instructions]
        found.append(
            Loop(
                header=flow.blocks[loop.header].line,
                lines=tuple(line for each in body for line in (each.line, each.end_line)),
                depth=loop.depth,
                location=flow.location(index),
            )
        )
    return found


def _blocks(function: Function, lines: list[str]) -> tuple[list[Block], dict[str, int]]:
    """Cut a function at its labels and terminators."""
    blocks: list[Block] = []
    named: dict[str, int] = {}
    before = function.line
    for instruction in function.instructions:
        # Labels stand on lines of their own between the instructions.
        for number in range(before + 1, instruction.line):
            label = _LABEL.match(lines[number - 1])
            if label:
                named[label["name"]] = len(blocks)
                blocks.append(Block(number, []))
        if not blocks or _ended(blocks[-1]):
            blocks.append(Block(instruction.line, []))
        blocks[-1].instructions.append(instruction)
        before = instruction.end_line
    return blocks, named


def _ended(block: Block) -> bool:
    return bool(block.instructions) and block.instructions[-1].opcode in _TERMINATORS


def _targets(block: Block, lines: list[str]) -> list[str]:
    """The labels that a block's last instruction can lead to."""
    if not _ended(block):
        return []
    last = block.instructions[-1]
    text = "\n".join(lines[last.line - 1 : last.end_line])
    return [match["name"] for match in _TARGET.finditer(text)]
