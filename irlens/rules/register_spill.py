"""Registers were spilled to memory.

## What it means

Where a kernel needs more registers than it may use, the compiler writes some of them to local
memory (AMD: scratch) and reads them back. That is ordinary device memory behind the caches, at
hundreds of cycles, and a loop pays for it in every iteration.

On NVIDIA the figure is the stack frame of the machine code minus the bytes that the PTX itself
declares there (arrays such as the one `tl.sin` needs for large arguments), for the kernel with the
functions that it calls; registers that these save count as spilled, as for `ptxas -v`. Where a call
cannot be followed, it is not reported. On AMD it is the compiler's own count of spilled registers,
without those that it moves to AGPRs, or the assembly's where called functions spill. An AGPR takes
a move in place of an access to memory: a kernel that spills to AGPRs alone is not reported.

## Example

A tile of 128 x 256 fp32 over four warps: the accumulator alone takes 256 registers per thread, of
255 available.

## What to do

* A smaller tile, or more warps for the same tile. Where all registers are shared out, from 16 warps
  on for NVIDIA, each thread of twice as many warps has half of the registers, and fewer warps may
  be what helps: `irlens explain KERNEL IRL105` tries both.
* A higher `maxnreg`, or none; on AMD a lower `waves_per_eu`.
* Fewer `num_stages` where a pipeline is kept in registers, fewer values live across the loop.

## Targets

NVIDIA and AMD.
"""

from collections.abc import Iterator

from irlens.analyze.facts import Facts
from irlens.model.estimate import Cause
from irlens.model.report import Severity
from irlens.model.resources import kept_in_agprs, spills_to_agprs_alone
from irlens.model.several import all_known
from irlens.model.text import plural
from irlens.rules import Match

CODE = "IRL105"
NAME = "register-spill"
SEVERITY: Severity = "warning"
CAUSE: Cause = "spills"
NEEDS = ("registers",)


def find(facts: Facts) -> Iterator[Match]:
    """Yield a finding where registers were certainly spilled."""
    spilled = _spilled(facts)
    if spilled is None:
        return
    yield Match(
        message=f"{spilled} spilled to memory{_kept(facts)}",
        hint=_asked(facts) + (_shares_all(facts) or facts.smaller_shares),
    )


def _asked(facts: Facts) -> str:
    """Return the option that leaves a thread no more registers than it has, if one does."""
    held, waves, most = facts.resources.registers, facts.waves_per_eu, facts.config.maxnreg
    if facts.gpu is None or held is None:
        return ""
    arch = facts.gpu.arch
    unit = arch.register_unit // arch.warp_size
    option = f"maxnreg={most}"
    if arch.vendor == "amd" and waves is not None:
        option = f"waves_per_eu={waves}"
        of_lane = arch.registers_per_partition // arch.warp_size
        most = of_lane // waves // unit * unit
    without = arch.registers_per_thread
    if facts.threads:  # the CTA must fit, whatever is asked for
        without = min(without, arch.registers_per_block // facts.threads // unit * unit)
    if most is None or most >= without or held <= most - unit:
        return ""
    return f"{option} leaves a {facts.words.thread} {most} registers: leave it out; or "


def _shares_all(facts: Facts) -> str:
    """Return what helps where the CTA has all registers, and more threads get fewer each."""
    arch = facts.gpu.arch if facts.gpu is not None else None
    if arch is None or not facts.threads:
        return ""
    if arch.registers_per_block // facts.threads >= arch.registers_per_thread:
        return ""
    fewer = f"leave each {facts.words.thread} more registers"
    if "num_warps" not in facts.smaller_shares:
        return f"make the tile smaller, or try fewer warps, which {fewer}"
    return (
        f"make the tile smaller, or try other numbers of warps: fewer {fewer}, more leave it fewer"
        " elements"
    )


def _kept(facts: Facts) -> str:
    """Return what is spilled to AGPRs beside."""
    kept = kept_in_agprs(facts.spills or ())
    return f", and {kept:,} more to AGPRs" if kept else ""


def _spilled(facts: Facts) -> str | None:
    resources = facts.resources
    if resources.vgpr_spills:
        number = resources.vgpr_spills - kept_in_agprs(facts.spills or ())
        if number <= 0 or spills_to_agprs_alone(resources):
            return None
        return f"{plural(number, 'vector register')} per lane {'is' if number == 1 else 'are'}"
    if facts.amdgcn is not None:
        return _stored(facts)
    if facts.ptx is None or not resources.local_bytes or facts.spills == []:
        return None
    declared = facts.ptx.declared_local_bytes()
    if declared is None or resources.local_bytes <= declared:
        return None
    # Declared arrays may have been optimized away, and spills use their space.
    least = "at least " if declared else ""
    return f"{least}{resources.local_bytes - declared:,} B of registers per thread are"


def _stored(facts: Facts) -> str | None:
    """Return what the functions that an AMD kernel calls spill, which its count leaves out."""
    stores = [each for each in facts.spills or () if each.kind == "store"]
    widths = all_known(each.bytes for each in stores if each.place == "memory")
    if facts.resources.vgpr_spills is not None or not widths:
        return None
    return f"{sum(widths):,} B of registers per lane are"
