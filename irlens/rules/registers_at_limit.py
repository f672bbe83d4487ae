"""Each thread uses as many registers as it can have.

## What it means

An instruction can name 255 registers of a thread on NVIDIA. A kernel that is compiled to exactly
that number needed at least as many: values that do not fit are spilled to local memory or computed
again, and every further value costs more. Where large CTAs, or `maxnreg`, leave a thread fewer
registers, the finding names that limit instead.

The number of live registers may be lower, and a kernel may need exactly as many as available.

## Example

An accumulator of 128 x 256 fp32 over four warps takes 256 registers in each thread, before anything
else.

## What to do

* More warps for the same tile: each doubling halves a thread's share of it.
* A smaller tile.
* A higher `maxnreg`, or none, if that is the limit.

## Targets

NVIDIA and AMD. AMD's registers per lane are those that an instruction can address, AGPRs included
where they share one file with the VGPRs.
"""

from collections.abc import Iterator

from irlens.analyze.facts import Facts
from irlens.model.estimate import Cause
from irlens.model.report import Severity
from irlens.rules import Match

CODE = "IRL104"
NAME = "registers-at-limit"
SEVERITY: Severity = "note"
NEEDS = ("registers",)
#: What the limit costs that irlens can estimate: what does not fit is spilled.
CAUSE: Cause = "spills"


def find(facts: Facts) -> Iterator[Match]:
    """Yield a finding where the registers equal the lowest known limit."""
    registers = facts.resources.registers
    if registers is None or facts.gpu is None:
        return
    limit, whose = min(_limits(facts))
    if registers < limit or (_moves_registers(facts) and facts.resources.local_bytes == 0):
        return
    yield Match(
        message=f"{registers} registers per {facts.words.thread}: all that {whose}",
        hint=f"{facts.smaller_shares}, so that nothing is spilled",
    )


def _moves_registers(facts: Facts) -> bool:
    """Whether warps pass registers to each other: then the binary states a cap, not a need."""
    return facts.ptx is not None and any(i.opcode == "setmaxnreg" for i in facts.ptx.instructions)


def _limits(facts: Facts) -> Iterator[tuple[int, str]]:
    """Yield each limit on the registers of one thread, and what sets it."""
    if facts.gpu is not None:
        arch = facts.gpu.arch
        yield arch.registers_per_thread, f"an instruction of {arch.name} can name"
        if facts.threads is not None:
            # Registers are allocated in units, and the fullest partition decides.
            warps = -(-facts.threads // arch.warp_size)
            warps = -(-warps // arch.partitions) * arch.partitions
            units = arch.registers_per_block // (warps * arch.register_unit)
            registers = units * arch.register_unit // arch.warp_size
            yield registers, f"{arch.name} has for each of {facts.threads:,} {facts.words.thread}s"
    if facts.config.maxnreg is not None:
        yield facts.config.maxnreg, f"maxnreg={facts.config.maxnreg} leaves"
