"""Matrix products of warpgroups in the machine code of sm_90, without a disassembler.

An instruction is 16 bytes, little-endian, its opcode the low 12 bits. NVIDIA documents none of
this: opcodes and fields were found with nvdisasm 12.8 to 13.4, and the tests compare this decoder
with nvdisasm for every instruction of every sm_90 kernel at hand.

- 0x9f0 to 0x9f3 are ``HGMMA``, ``IGMMA``, ``BGMMA`` and ``QGMMA`` with both operands in shared
  memory; bit 10 has the first one in registers. The last product of a group has a scoreboard,
  which is printed as ``gsb0`` and is 7 without one.
- 0x9c5 is ``WARPGROUP``: ``ARRIVE``, ``WAIT`` or ``DEPBAR``, the wait for a number of groups.
- Control flow has the opcodes 0x140 to 0x15f, under the bits that say where operands are.
"""

from collections.abc import Iterator
from typing import TypeAlias

import msgspec

from irlens.artifacts import elf
from irlens.artifacts.identify import cubin_arch, cubin_entries
from irlens.model.errors import ArtifactError

_BYTES = 16
_OPCODE = 0xFFF
_PRODUCT, _PRODUCT_VARIES = 0x9F0, 0x403
_WARPGROUP = 0x9C5
_CONTROL, _CONTROL_FIXED = 0x140, 0x1E0
_GUARD_AT, _ALWAYS = 12, 7
_LIMIT_AT, _LIMIT = 72, 7
_KIND_AT, _KIND, _DEPBAR = 79, 3, 2
_SCOREBOARD_AT, _SCOREBOARD, _NONE = 84, 7, 7


class Product(msgspec.Struct, frozen=True):
    """A matrix product.

    Attributes:
        offset: Bytes from the start of the kernel's code, as of all steps.
        closes: Whether it is the last one of its group.
    """

    offset: int
    closes: bool


class Wait(msgspec.Struct, frozen=True):
    """Blocks until at most ``limit`` groups are outstanding; ``certain``: it has no predicate."""

    offset: int
    limit: int
    certain: bool


class Branch(msgspec.Struct, frozen=True):
    """An instruction after which the next one need not follow."""

    offset: int


Step: TypeAlias = Product | Wait | Branch


class Code(msgspec.Struct, frozen=True):
    """A kernel's steps, in the order of its code."""

    name: str
    steps: tuple[Step, ...]


def read(data: bytes) -> list[Code] | None:
    """Read what the kernels of a cubin do about matrix products.

    Returns:
        ``None`` for another architecture than sm_90, which encodes its instructions otherwise.

    Raises:
        ArtifactError: Not a cubin, or a broken one.
    """
    file = elf.read(data)
    if file.machine != elf.MACHINE_CUDA:
        raise ArtifactError("not a cubin", hint="an AMD code object is called .hsaco")
    if cubin_arch(file) != "sm_90":
        return None
    sections = {section.name: section for section in file.sections}
    texts = {
        symbol.name: sections.get(f".text.{symbol.name}")
        for symbol in cubin_entries(file.symbols())
    }
    return [
        Code(name, tuple(decode(file.content(section))))
        for name, section in texts.items()
        if section
    ]


def decode(code: bytes) -> Iterator[Step]:
    """Yield the steps of a piece of sm_90's machine code."""
    for offset in range(0, len(code) - _BYTES + 1, _BYTES):
        opcode = int.from_bytes(code[offset : offset + 2], "little") & _OPCODE
        product = opcode & ~_PRODUCT_VARIES == _PRODUCT
        if not product and opcode != _WARPGROUP:
            if opcode & _CONTROL_FIXED == _CONTROL:
                yield Branch(offset)
            continue
        word = int.from_bytes(code[offset : offset + _BYTES], "little")
        if product:
            yield Product(offset, word >> _SCOREBOARD_AT & _SCOREBOARD != _NONE)
        elif word >> _KIND_AT & _KIND == _DEPBAR:
            certain = word >> _GUARD_AT & 0xF == _ALWAYS
            yield Wait(offset, word >> _LIMIT_AT & _LIMIT, certain)
