"""Spills in AMDGPU assembly: vector registers to scratch or AGPRs, scalar ones to lanes of VGPRs.

Scratch is private memory. From gfx940 on scratch instructions reach it; before, buffer
instructions do, which LLVM marks with a comment. It marks moves to AGPRs that spill likewise. A
scalar register is spilled by ``v_writelane``, one of many that a VGPR has room for.
"""

from irlens.analyze.cfg import Cfg
from irlens.analyze.graph import find_loops
from irlens.analyze.pressure import line_of
from irlens.isa.amdgcn import Function, Instruction
from irlens.isa.amdgcn.memory import access_bytes, is_spill
from irlens.isa.amdgcn.mix import classify
from irlens.model.spills import SpillPlace, SpillSite

_REGISTER_BYTES = 4


def find_spills(function: Function, cfg: Cfg) -> list[SpillSite]:
    """Return the instructions of a function that spill or reload, in the order of the text.

    The bytes of the stores to memory and AGPRs, over 4, are what the metadata counts as
    ``.vgpr_spill_count``, unless the kernel has stack arrays too.
    """
    forest = find_loops(cfg.successors)
    lanes = _spill_registers(function)
    sites = []
    for block, instructions in enumerate(cfg.ranges):
        depth = forest.depth(block)
        for index in instructions:
            site = _site(function.instructions[index], depth, lanes)
            if site is not None:
                sites.append(site)
    return sites


def _site(instruction: Instruction, depth: int, lanes: frozenset[str]) -> SpillSite | None:
    operation = instruction.operations[0]
    place: SpillPlace = "memory"
    stores = False
    size: int | None = _REGISTER_BYTES
    if is_spill(instruction):
        stores = (classify(operation) or "").endswith("store")
        size = access_bytes(operation.mnemonic)
    elif operation.mnemonic.startswith("v_accvgpr") and "Reload Reuse" in instruction.text:
        place, stores = "AGPR", operation.mnemonic.startswith("v_accvgpr_write")
    elif operation.mnemonic.startswith("v_writelane") and operation.operands[0].text in lanes:
        place, stores = "VGPR lane", True
    elif operation.mnemonic.startswith("v_readlane") and operation.operands[1].text in lanes:
        place = "VGPR lane"
    else:
        return None
    return SpillSite(
        stage="amdgcn",
        kind="store" if stores else "load",
        place=place,
        line=instruction.line,
        source=line_of(instruction.locations),
        loop_depth=depth,
        bytes=size,
    )


def _spill_registers(function: Function) -> frozenset[str]:
    """VGPRs whose lanes are written from scalar registers and read back to such, by number.

    A reduction reads a lane too, but nothing writes single lanes there.
    """
    written, read = set(), set()
    for instruction in function.instructions:
        operation = instruction.operations[0]
        if len(operation.operands) != 3 or not operation.operands[2].text.isdigit():
            continue
        if operation.mnemonic.startswith("v_writelane"):
            written.add(operation.operands[0].text)
        elif operation.mnemonic.startswith("v_readlane"):
            read.add(operation.operands[1].text)
    return frozenset(written & read)
