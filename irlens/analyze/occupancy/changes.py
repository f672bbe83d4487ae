"""How many CTAs an SM could hold if a kernel needed less of a resource, or more."""

from collections.abc import Callable

from msgspec.structs import replace

from irlens.analyze.occupancy.per_sm import Usage, limits, resident_blocks, theoretical
from irlens.gpus import Arch
from irlens.model.curve import CURVES, CurveName, OccupancyCurve
from irlens.model.report import LimitName, NextStep


def next_steps(arch: Arch, usage: Usage, blocks: int) -> list[NextStep]:
    """Return, for each resource, the smallest reduction that alone admits more CTAs.

    Warps are none of them: a kernel compiled for fewer warps is another kernel, with other
    registers and other shared memory.
    """
    # Resource, unit of the change, how much of it there is, the least a kernel can do with, and
    # the kernel with another amount.
    levers: list[tuple[LimitName, str, int, int, Callable[[int], Usage]]] = [
        *((name, *_lever(usage, name)) for name in CURVES),
        (
            "barriers",
            "barriers/CTA",
            usage.barriers,
            0,
            lambda amount: replace(usage, barriers=amount),
        ),
    ]
    steps = []
    for resource, unit, amount, least, changed in levers:

        def resident(amount: int, changed: Callable[[int], Usage] = changed) -> int:
            return resident_blocks(limits(arch, changed(amount)))

        enough = _largest(least, amount - 1, lambda amount: resident(amount) > blocks)
        if enough is not None:
            after = changed(enough)
            more = resident(enough)
            steps.append(
                NextStep(
                    resource=resource,
                    change=enough - amount,
                    unit=unit,
                    blocks_per_sm=more,
                    theoretical=theoretical(arch, after, more),
                )
            )
    return steps


def _lever(usage: Usage, name: CurveName) -> tuple[str, int, int, Callable[[int], Usage]]:
    """Return a resource's unit, how much of it there is, the least, and how to have another."""
    if name == "registers":
        return (
            "registers/thread",
            usage.registers,
            1,
            lambda amount: replace(usage, registers=amount),
        )
    return (
        "bytes/CTA",
        usage.shared_bytes,
        0,
        lambda amount: replace(usage, shared_bytes=amount),
    )


def curve(arch: Arch, usage: Usage, name: CurveName) -> OccupancyCurve:
    """Return the CTAs per SM for every amount of a resource that a CTA may have."""
    unit, at, least, changed = _lever(usage, name)
    most = {"registers": arch.registers_per_thread, "shared_memory": arch.shared_per_block_optin}
    last = max(most[name], at)

    def resident(amount: int) -> int:
        return resident_blocks(limits(arch, changed(amount)))

    start = min(least, at)
    steps = [(start, resident(start))]
    # What is left of the range always has fewer CTAs at its end than at its start.
    while resident(last) < steps[-1][1]:
        after = _first_below(steps[-1], last, resident)
        steps.append((after, resident(after)))
    return OccupancyCurve(resource=name, unit=unit, at=at, steps=steps, last=last)


def _first_below(step: tuple[int, int], last: int, resident: Callable[[int], int]) -> int:
    """Return the first amount after a step from which on fewer CTAs fit; there is one."""
    start, blocks = step
    return (_largest(start, last, lambda amount: resident(amount) == blocks) or start) + 1


def _largest(low: int, high: int, holds: Callable[[int], bool]) -> int | None:
    """Return the largest number of ``low..high`` for which ``holds``, if it holds for any.

    Less of a resource never admits fewer CTAs, so where it holds it holds for all smaller ones.
    """
    if low > high or not holds(low):
        return None
    while low < high:
        middle = (low + high + 1) // 2
        if holds(middle):
            low = middle
        else:
            high = middle - 1
    return low
