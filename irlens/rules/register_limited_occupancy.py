"""Registers limit how many CTAs an SM holds, and fewer registers would admit more CTAs.

## What it means

An SM hides the latency of memory by switching between the warps it holds. Its registers are
allocated to warps in fixed units (on NVIDIA 8 registers per thread), so occupancy falls in steps:
one register too many can cost a whole CTA per SM. The finding names the nearest step, if it gains
at least a quarter more CTAs. A launch of which the GPU holds all CTAs at once has none to admit.

Low occupancy is not a defect in itself. A matmul that keeps its tensor cores busy with large tiles
runs best with one or two CTAs per SM; a kernel that waits for memory needs more.

Of a thread's registers fewer may be live at once than it has. Where no more are live than the step
leaves, the hint is `maxnreg`, and the estimate of the time says what that saves, since the code
stays much the same. Where more are live, `maxnreg` spills, and no saving is told: whatever else
leaves a thread fewer registers is other code. `irlens explain KERNEL IRL102` tries some of it.

## Example

A layer norm of 16 warps with 72 registers per thread fits once on an SM of a B200: 16 of its 64
warps. With 64 registers it fits twice. That step is the whole difference between Triton 3.6 and 3.7
for one kernel (triton-lang/triton issue 11127).

## What to do

* Smaller tiles, or more warps for the same tile, so that each thread holds less.
* `maxnreg=N` where no more registers are live at once; look for spills (IRL105) afterwards. Without
  it a warp-specialized kernel is compiled for all registers of an SM and distributes them itself:
  the report shows how many each warp group gets.
* No `waves_per_eu`, or a larger one: it is the most waves of a SIMD, too, and LLVM allocates as
  many registers as keep others out, whatever the kernel uses.
* Load late and consume early: values that are live across a loop occupy registers throughout.

## Targets

NVIDIA and AMD. `maxnreg` exists on NVIDIA alone; AMD has `waves_per_eu`.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from irlens.analyze.facts import Facts
from irlens.analyze.occupancy import Usage, fit
from irlens.gpus import Gpu
from irlens.model.estimate import Cause
from irlens.model.report import Blame, NextStep, Occupancy, Severity
from irlens.model.text import percent
from irlens.rules import Match

CODE = "IRL102"
NAME = "register-limited-occupancy"
SEVERITY: Severity = "note"
CAUSE: Cause = "registers"
NEEDS = ("occupancy",)

_WORTHWHILE = 1.25
_TAKES_ALL = "a warp-specialized kernel is compiled for all registers of an SM"


def find(facts: Facts) -> Iterator[Match]:
    """Yield a finding where fewer registers alone would raise the occupancy."""
    occupancy = facts.occupancy
    if occupancy is None or not occupancy.launchable or facts.gpu is None:
        return
    if occupancy.waves is not None and occupancy.waves <= 1:
        return  # the GPU holds all CTAs of the launch at once
    if facts.usage is not None and facts.usage.needed is not None:
        yield from _allocated(facts, facts.gpu, occupancy, facts.usage)
        return
    step = next((step for step in occupancy.next_step if step.resource == "registers"), None)
    if step is None or step.blocks_per_sm < _WORTHWHILE * occupancy.blocks_per_sm:
        return
    registers = facts.resources.registers
    if registers is None:
        return
    words = facts.words
    yield Match(
        message=(
            f"{registers} registers per {words.thread} limit occupancy to"
            f" {percent(occupancy.theoretical)}, {words.ctas(occupancy.blocks_per_sm)}"
            f" per {words.sm}"
        ),
        hint=(
            f"{-step.change} fewer admit {words.ctas(step.blocks_per_sm)}"
            f" ({percent(step.theoretical)}): {_remedy(facts, registers, step)}"
        ),
    )


def _allocated(facts: Facts, gpu: Gpu, occupancy: Occupancy, usage: Usage) -> Iterator[Match]:
    """Yield a match if registers that are allocated beyond those used limit occupancy."""
    needed, words = usage.needed or 0, facts.words
    without = fit(gpu, replace(usage, registers=needed, needed=None))
    if without.blocks_per_sm < _WORTHWHILE * occupancy.blocks_per_sm:
        return
    waves = facts.waves_per_eu
    cause = "its waves_per_eu" if waves is None else f"waves_per_eu={waves}"
    reason = f"{cause} has LLVM allocate them, and the kernel uses {needed}"
    yield Match(
        message=(
            f"{usage.registers} registers per {words.thread} limit occupancy to"
            f" {percent(occupancy.theoretical)}, {words.ctas(occupancy.blocks_per_sm)}"
            f" per {words.sm}: {reason}"
        ),
        hint=(
            f"leave it out, or make it larger: {needed} registers admit"
            f" {words.ctas(without.blocks_per_sm)} ({percent(without.theoretical)})"
        ),
        blame=Blame(reason=reason, kind="allocated"),
    )


def _remedy(facts: Facts, registers: int, step: NextStep) -> str:
    cap = registers + step.change
    if facts.warp_groups and facts.config.maxnreg is None:
        return f"ask for maxnreg={cap}: without it {_TAKES_ALL}"
    has_warps = "num_warps" in facts.smaller_shares
    tile = f"smaller tiles need fewer{', and more warps for the same tile do' * has_warps}"
    if facts.gpu is None or facts.gpu.arch.vendor != "nvidia":
        return f"{tile}; a larger waves_per_eu makes the compiler use fewer"
    spare = facts.spare_registers()
    if spare is None:
        return tile
    if -step.change <= spare:
        live = f"at most {registers - spare} are live at once"
        return (
            f"ask for maxnreg={cap}, since {live}; ptxas may spill even so (irlens explain tells)"
        )
    return f"{tile}; {registers - spare} are live at once, so that maxnreg={cap} may spill"
