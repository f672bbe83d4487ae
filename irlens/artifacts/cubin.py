"""Reads NVIDIA's machine code files (cubin): the resources that the assembler recorded.

NVIDIA documents the tools and not the format. Section names, attribute codes and bit positions
were checked against ``cuobjdump -elf``, ``cuobjdump -res-usage`` and ``ptxas -v`` of CUDA 12.8,
12.9, 13.0, 13.1 and 13.4 for sm_50 to sm_121; the tests repeat that with the tools at hand.
"""

import struct
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from enum import IntEnum

import msgspec

from irlens.artifacts import cubin_checks, elf
from irlens.artifacts.identify import cubin_arch, cubin_entries
from irlens.model.errors import ArtifactError
from irlens.model.several import total

_OLD_ABI = 0x33  # e_ident[EI_OSABI] up to CUDA 12.8 (newer ones for sm_100 and up, or CUDA 13)

#: Shared memory that the system reserves at the start of every block's, from sm_90 on. Such a file
#: has a section of this name, and counts these bytes in the kernel's.
_RESERVED_SECTION = ".nv.shared.reserved.0"
#: Where the system's part of shared memory is addressable, at its beginning.
_FIRST_TO_RESERVE = 90
_RESERVED_BYTES = 1024
#: Bytes of a constant bank.
_MOST_TABLES = 64 << 10

#: Attributes of a section: those of a kernel are a few hundred at most, the shared ones a few of
#: each function.
_MOST_ATTRIBUTES = 100_000

#: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
_MOST_LOCAL_BYTES = 512 << 10

_ENTRY = struct.Struct("<BBH")
_PAIR = struct.Struct("<II")
_TRIPLE = struct.Struct("<III")
_PARAM = struct.Struct("<IHHI")
_CBANK = struct.Struct("<IHH")


class Code(IntEnum):
    """The attributes of ``.nv.info`` that figures come from, by cuobjdump's ``EIATTR_`` names."""

    MAX_THREADS = 0x05
    PARAM_CBANK = 0x0A
    REQNTID = 0x10
    FRAME_SIZE = 0x11
    MIN_STACK_SIZE = 0x12
    KPARAM_INFO = 0x17
    MAXREG_COUNT = 0x1B
    REGCOUNT = 0x2F
    CTA_PER_CLUSTER = 0x3D
    KPARAM_INFO_V2 = 0x45
    NUM_BARRIERS = 0x4C


class Attribute(msgspec.Struct, frozen=True, gc=False):
    """One entry of ``.nv.info``: its code and its raw bytes."""

    code: int
    value: bytes


class Parameter(msgspec.Struct, frozen=True, gc=False):
    """A kernel parameter: its index in the signature, its offset and its size in bytes."""

    ordinal: int
    offset: int
    size: int


class Kernel(msgspec.Struct, frozen=True, kw_only=True):
    """One kernel of a cubin. ``None`` means that the file does not say.

    Three sizes of per-thread memory are easily mixed up. The *frame* holds what the kernel's own
    body keeps in memory: spilled registers and arrays that are indexed at run time. The *stack* is
    the deepest frame of the kernel and its callees; the driver allocates that much *local* memory.
    ptxas has not filled the separate ``.nv.local`` section since sm_20, so ``LOCAL`` of
    ``cuobjdump -res-usage`` is 0 where the driver's "local size" is the stack.

    Attributes:
        name: The symbol, mangled if the source was C++.
        registers: 32-bit registers per thread.
        frame_bytes: Frame of the kernel's own body, per thread.
        stack_bytes: Stack per thread, callees included; 0 where a recursion has no bound.
        local_section_bytes: Size of the ``.nv.local`` section, per thread.
        static_shared_bytes: Static shared memory per CTA, reserved bytes excluded.
        reserved_shared_bytes: Shared memory per CTA that the file reserves for the system. A
            kernel without shared memory reserves none, and neither does sm_8x, where only the
            driver adds it.
        constant_bytes: Size of each of the kernel's own constant banks, by bank number.
        code_bytes: Machine code with its padding and its callees.
        barriers: Named barriers per CTA: the highest one used, plus one.
        required_threads: Threads per CTA in x, y, z that a launch must use (``.reqntid``).
        max_threads: Maximum threads per CTA in x, y, z (``.maxntid``).
        max_registers: The assembler's register limit, 255 if there was none.
        cluster: CTAs per cluster in x, y, z (``.reqnctapercluster``).
        attributes: Every attribute of the kernel's own section, in the file's order.
        jump_tables: Constant bank 2, where ptxas keeps where indexed jumps lead.
        doubts: Why figures are ``None`` that the file contradicts, by field.
    """

    name: str
    registers: int | None
    frame_bytes: int | None
    stack_bytes: int | None
    local_section_bytes: int | None
    static_shared_bytes: int | None
    reserved_shared_bytes: int | None
    constant_bytes: dict[int, int] | None
    code_bytes: int | None
    barriers: int | None
    required_threads: tuple[int, int, int] | None
    max_threads: tuple[int, int, int] | None
    max_registers: int | None
    cluster: tuple[int, int, int] | None
    parameters: list[Parameter]
    attributes: list[Attribute]
    jump_tables: bytes = b""
    doubts: Mapping[str, str] = {}

    @property
    def local_bytes(self) -> int | None:
        """Local memory per thread, as the driver and Triton's ``n_spills * 4`` count it."""
        return total((self.stack_bytes, self.local_section_bytes))


class Cubin(msgspec.Struct, frozen=True, kw_only=True):
    """A cubin.

    Attributes:
        arch: "sm_90", without a feature suffix; ``None`` for an unknown ABI.
        kernels: In the order of their names.
    """

    arch: str | None
    kernels: list[Kernel]


def read(data: bytes) -> Cubin:
    """Read the kernels of a cubin.

    Raises:
        ArtifactError: Not a cubin, or a broken one.
    """
    file = elf.read(data)
    if file.machine != elf.MACHINE_CUDA:
        raise ArtifactError(
            f"an ELF file, but not a cubin: its machine is {file.machine}, "
            f"CUDA's is {elf.MACHINE_CUDA}",
            hint="an AMD code object is called .hsaco",
        )
    attributes = {
        section.name: list(_attributes(file.content(section), section.name))
        for section in file.sections
        if section.name == ".nv.info" or section.name.startswith(".nv.info.")
    }
    by_symbol = _by_symbol(attributes.get(".nv.info", []))
    symbols = list(file.symbols())
    source = _Source(
        file=file,
        arch=cubin_arch(file),
        sections={section.name: section for section in file.sections},
        attributes=attributes,
        by_symbol=by_symbol,
        constants=_constant_banks(file),
        with_frames=_with_frames(symbols, by_symbol),
        doubt=cubin_checks.doubted_layout(file),
    )
    kernels = [_checked(_kernel(each, source), each, source) for each in cubin_entries(symbols)]
    return Cubin(arch=source.arch, kernels=sorted(kernels, key=lambda kernel: kernel.name))


def code_sections(data: bytes) -> dict[str, bytes]:
    """Return the machine code of a cubin by section, whose names are without ".text.".

    Raises:
        ArtifactError: It is broken.
    """
    file = elf.read(data)
    return {
        section.name.removeprefix(".text."): file.content(section)
        for section in file.sections
        if section.name.startswith(".text.")
    }


class _Source(msgspec.Struct, frozen=True, kw_only=True):
    """What the kernels of a file are read from.

    Attributes:
        attributes: Those of each section of attributes, by its name.
        by_symbol: Those of the shared section, by symbol and code.
        constants: Sizes of constant banks, by kernel and bank.
        with_frames: Symbols of functions that may add to the stack of who calls them.
        doubt: Where the file's tables contradict each other; empty if nowhere.
    """

    file: elf.Elf
    arch: str | None
    sections: dict[str, elf.Section]
    attributes: dict[str, list[Attribute]]
    by_symbol: defaultdict[int, dict[int, int]]
    constants: defaultdict[str, dict[int, int]]
    with_frames: frozenset[int]
    doubt: str

    @property
    def old_abi(self) -> bool:
        return self.file.os_abi == _OLD_ABI

    @property
    def arch_number(self) -> int | None:
        return int(self.arch.removeprefix("sm_")) if self.arch else None


def _kernel(symbol: elf.Symbol, source: _Source) -> Kernel:
    """Return one kernel from the sections and attributes that describe it."""
    name, sections = symbol.name, source.sections
    attributes = source.attributes.get(f".nv.info.{name}", [])
    shared_attributes = source.by_symbol[symbol.index]
    text = sections.get(f".text.{name}")
    values = {attribute.code: attribute.value for attribute in attributes}
    shared = _size(sections, f".nv.shared.{name}")
    # The reserved bytes are part of the kernel's section, if it has one. ptxas 12.4 gives sm_90 no
    # section of their own, although the kernel's memory begins after them.
    unnamed = source.old_abi and source.arch_number == _FIRST_TO_RESERVE
    reserves = (_RESERVED_SECTION in sections or unnamed) and shared >= _RESERVED_BYTES
    reserved = _RESERVED_BYTES if reserves else 0
    barriers = _number(values.get(Code.NUM_BARRIERS))
    if barriers is None:
        # Before EIATTR_NUM_BARRIERS the count was in the flags of the code's section.
        barriers = text.flags >> 20 & 0x7F if text and source.old_abi else 0
    return Kernel(
        name=name,
        registers=shared_attributes.get(Code.REGCOUNT),
        frame_bytes=shared_attributes.get(Code.FRAME_SIZE),
        stack_bytes=shared_attributes.get(Code.MIN_STACK_SIZE),
        local_section_bytes=_size(sections, f".nv.local.{name}"),
        static_shared_bytes=shared - reserved,
        reserved_shared_bytes=reserved,
        constant_bytes=source.constants[name],
        code_bytes=text.size if text else None,
        barriers=barriers,
        required_threads=_dimensions(values.get(Code.REQNTID)),
        max_threads=_dimensions(values.get(Code.MAX_THREADS)),
        max_registers=_number(values.get(Code.MAXREG_COUNT)),
        cluster=_dimensions(values.get(Code.CTA_PER_CLUSTER)),
        parameters=sorted(_parameters(attributes), key=lambda each: each.ordinal),
        attributes=attributes,
        jump_tables=_content(source.file, sections.get(f".nv.constant2.{name}")),
    )


def _checked(kernel: Kernel, symbol: elf.Symbol, source: _Source) -> Kernel:
    """Return a kernel without the figures that the file contradicts, and with the reasons."""
    file, arch = source.file, source.arch_number
    doubts = cubin_checks.doubted_numbers(file, symbol, arch, kernel.registers)
    frame, stack = kernel.frame_bytes or 0, kernel.stack_bytes
    least = 0 if source.with_frames - {symbol.index} else stack
    if stack is not None and not (least or 0) <= frame <= stack <= _MOST_LOCAL_BYTES:
        doubts["stack_bytes"] = f"the cubin says {stack:,} B of stack and {frame:,} B of frame"
    sizes = source.doubt or cubin_checks.doubted_sections(file, symbol)
    if sizes:
        doubts |= dict.fromkeys(cubin_checks.SIZES, sizes)
    else:
        code = file.content(file.sections[symbol.section])
        doubts |= _doubted_sizes(kernel, source, cubin_checks.barriers_in(code, arch))
    if "stack_bytes" in doubts:
        doubts["local_bytes"] = doubts["stack_bytes"]
    unknown: dict[str, None] = dict.fromkeys(doubts.keys() & set(kernel.__struct_fields__))
    return msgspec.structs.replace(kernel, **unknown, doubts=doubts)


def _with_frames(
    symbols: Iterable[elf.Symbol], by_symbol: Mapping[int, Mapping[int, int]]
) -> frozenset[int]:
    """Return the functions that may add to the stack of who calls them, by symbol.

    Those of another file have no section.
    """
    return frozenset(
        each.index
        for each in symbols
        if each.kind == elf.STT_FUNC
        and (not each.section or by_symbol.get(each.index, {}).get(Code.FRAME_SIZE))
    )


def _doubted_sizes(kernel: Kernel, source: _Source, barriers: int | None) -> dict[str, str]:
    """Return why sizes are in doubt that an attribute or the code says too, by field."""
    doubts = {}
    if barriers is not None and barriers != kernel.barriers:
        doubts["barriers"] = f"the file says {kernel.barriers}, the code uses {barriers}"
    if source.arch is None:
        doubts["barriers"] = "the cubin does not say what it was assembled for"
    parameters = next((a.value for a in kernel.attributes if a.code == Code.PARAM_CBANK), b"")
    constants = (kernel.constant_bytes or {}).get(0, 0)
    if len(parameters) == _CBANK.size:
        _, offset, size = _CBANK.unpack(parameters)
        if offset + size != constants:
            reason = f"bank 0 has {constants:,} B, and its parameters end at {offset + size:,}"
            doubts["constant_bytes"] = reason
    reserving = (source.arch_number or 0) >= _FIRST_TO_RESERVE
    shared = f".nv.shared.{kernel.name}" in source.sections
    if reserving and shared and not source.old_abi and _RESERVED_SECTION not in source.sections:
        reason = f"there is no section {_RESERVED_SECTION}"
        doubts |= dict.fromkeys(("static_shared_bytes", "reserved_shared_bytes"), reason)
    return doubts


def _attributes(content: bytes, section: str) -> Iterator[Attribute]:
    """Split an ``.nv.info`` section into entries: a format, a code, and a value or its size."""
    at, count, end = 0, 0, len(content)
    while at < end:
        count += 1
        if at + _ENTRY.size > end or count > _MOST_ATTRIBUTES:
            raise _broken(section, at)
        layout, code, size = _ENTRY.unpack_from(content, at)
        at += _ENTRY.size
        if layout == 4:  # EIFMT_SVAL
            value = content[at : at + size]
            at += size
        elif layout == 3:  # EIFMT_HVAL
            value = content[at - 2 : at]
        elif layout == 2:  # EIFMT_BVAL
            value = content[at - 2 : at - 1]
        elif layout == 1:  # EIFMT_NVAL: a flag without a value
            value = b""
        else:
            raise _broken(section, at - _ENTRY.size)
        if at > end:
            raise _broken(section, at)
        yield Attribute(code, value)


def _by_symbol(attributes: list[Attribute]) -> defaultdict[int, dict[int, int]]:
    """Return the attributes of the shared section by symbol index and code."""
    found: defaultdict[int, dict[int, int]] = defaultdict(dict)
    for attribute in attributes:
        if len(attribute.value) == _PAIR.size:
            symbol, number = _PAIR.unpack(attribute.value)
            if found[symbol].setdefault(attribute.code, number) != number:
                raise ArtifactError(
                    f"broken cubin: .nv.info says {number} and {found[symbol][attribute.code]} of "
                    f"attribute {attribute.code:#x} of symbol {symbol}",
                    hint="compile the kernel again, or copy it again",
                )
    return found


def _parameters(attributes: list[Attribute]) -> Iterator[Parameter]:
    """Decode the parameters; the second layout came with parameters beyond 4 KB (CUDA 12.1)."""
    for attribute in attributes:
        if len(attribute.value) != _PARAM.size:
            continue
        _, ordinal, offset, packed = _PARAM.unpack(attribute.value)
        if attribute.code == Code.KPARAM_INFO:
            yield Parameter(ordinal, offset, packed >> 18)
        elif attribute.code == Code.KPARAM_INFO_V2:
            yield Parameter(ordinal, offset, packed & 0xFFFF)


def _constant_banks(file: elf.Elf) -> defaultdict[str, dict[int, int]]:
    """Return the sizes of the sections ``.nv.constantBANK.KERNEL``, by kernel and bank."""
    found: defaultdict[str, dict[int, int]] = defaultdict(dict)
    for section in file.sections:
        if section.name.startswith(".nv.constant"):
            bank, _, kernel = section.name.removeprefix(".nv.constant").partition(".")
            if bank.isascii() and bank.isdigit():
                found[kernel][int(bank)] = section.size
    return found


def _content(file: elf.Elf, section: elf.Section | None) -> bytes:
    return file.content(section)[:_MOST_TABLES] if section is not None else b""


def _size(sections: dict[str, elf.Section], name: str) -> int:
    return sections[name].size if name in sections else 0


def _number(value: bytes | None) -> int | None:
    """Return a value of one, two or four bytes as a number."""
    if value is None or len(value) not in (1, 2, 4):
        return None
    return int.from_bytes(value, "little")


def _dimensions(value: bytes | None) -> tuple[int, int, int] | None:
    if value is None or len(value) != _TRIPLE.size:
        return None
    x, y, z = _TRIPLE.unpack(value)
    return x, y, z


def _broken(section: str, at: int) -> ArtifactError:
    return ArtifactError(
        f"broken cubin: {section} makes no sense at byte {at}",
        hint="compile the kernel again, or copy it again",
    )
