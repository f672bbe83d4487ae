"""The matrix products of loops: which instructions are one product, and its record.

A ``tl.dot`` becomes several instructions, and sometimes several commit groups: one for each slice
of an operand in registers. All of them have the location of the dot, with the calls around it.
"""

from collections.abc import Callable, Iterator
from typing import TypeAlias

import msgspec

from irlens.analyze.pipelines.ptx_loops import FunctionLoops
from irlens.analyze.pipelines.steady_state import Reading
from irlens.analyze.pipelines.verdicts import PtxKernel, judge
from irlens.isa.ptx import Instruction
from irlens.model.report import Pipeline, PipelineKind
from irlens.model.source import SourceLocation, user_frame

SERIAL = "the iteration that issues the product also waits for it"
UNDER_BRANCH = "the product is under a branch: figures are of the iterations that reach it"

#: Whether an instruction is of interest.
Matters: TypeAlias = Callable[[Instruction], bool]


class Product(msgspec.Struct, frozen=True):
    """A matrix product of a loop.

    Attributes:
        locations: Its place in the source, innermost frame first; empty if unknown.
        instructions: Its instructions in the loop, in the order of the text.
        alone: Whether the loop has no other product.
    """

    loop: int
    locations: tuple[SourceLocation, ...]
    instructions: tuple[Instruction, ...]
    alone: bool

    def owns(self, instruction: Instruction) -> bool:
        """Whether an instruction, from before the loop perhaps, belongs to it by its place."""
        return instruction.locations == self.locations if self.locations else self.alone

    @property
    def offsets(self) -> frozenset[int]:
        """Offsets of its instructions in the text."""
        return frozenset(each.start for each in self.instructions)


def find_products(loops: FunctionLoops, issues: Matters, commits: Matters) -> Iterator[Product]:
    """Yield the matrix products of every loop, in the order of the text.

    A loop around others does not have the products of these again: the first iteration of an inner
    loop, say, which stands in front of it.

    Args:
        issues: Whether an instruction issues part of a product.
        commits: Whether it commits what was issued: without debug information a product ends there.
    """
    if not any(map(issues, loops.instructions)):
        return  # most kernels have none of a kind, and some very many loops
    inside: list[set[tuple[SourceLocation, ...]]] = [set() for _ in loops.forest.loops]
    found: list[Product] = []
    for index in reversed(range(len(inside))):
        for child in loops.forest.loops[index].children:
            inside[index] |= inside[child]
        here = list(_of_loop(loops, index, issues, commits))
        found += [
            each
            for each in here
            if each.locations not in inside[index] and (each.locations or not inside[index])
        ]
        inside[index].update(each.locations for each in here)
    yield from sorted(found, key=lambda each: each.instructions[0].start)


def _of_loop(
    loops: FunctionLoops, index: int, issues: Matters, commits: Matters
) -> Iterator[Product]:
    """Yield the products of a loop without its inner loops."""
    number = 0
    grouped: dict[tuple[tuple[SourceLocation, ...], int], list[Instruction]] = {}
    for each in sorted(loops.own(index), key=lambda each: each.start):
        if issues(each):
            key = (each.locations, 0 if each.locations else number)
            grouped.setdefault(key, []).append(each)
        elif commits(each):
            number += 1
    for (locations, _), instructions in grouped.items():
        yield Product(index, locations, tuple(instructions), len(grouped) == 1)


def blank_product(
    kernel: PtxKernel, product: Product, kind: PipelineKind, reason: str = ""
) -> Pipeline:
    """Return the record of a product whose figures are unknown."""
    return msgspec.structs.replace(
        kernel.blank(product.loop, kind, reason),
        product_line=product.instructions[0].line,
        product_source=user_frame(product.locations),
    )


class ProductReading(Reading, frozen=True, kw_only=True):
    """Figures of a product, whose wait is the one that retires the last of it."""

    outstanding_at_end: int | None
    notes: tuple[str, ...] = ()


def judged(record: Pipeline, reading: ProductReading, serial: str = SERIAL) -> Pipeline:
    """Fill in the figures of a product, and the verdict.

    Args:
        serial: The reason where each iteration waits for its own product.
    """
    verdict, reason = judge(reading.prefetch, None, serial)
    return msgspec.structs.replace(
        reading.filled(record),
        outstanding_at_end=reading.outstanding_at_end,
        verdict=verdict,
        reason="; ".join(filter(None, (reason, *reading.notes))),
    )
