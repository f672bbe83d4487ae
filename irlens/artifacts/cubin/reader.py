"""Reads a cubin's sections into records."""

import struct
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import chain

from irlens.artifacts import elf
from irlens.artifacts.cubin.records import Attribute, Code, Cubin, Kernel, Parameter
from irlens.artifacts.sniff import cubin_arch, cubin_entries
from irlens.model.errors import ArtifactError

_OLD_ABI = 0x33  # e_ident[EI_OSABI] up to CUDA 12.8 (newer ones for sm_100 and up, or CUDA 13)

#: Shared memory that the system keeps for itself at the start of every block's, from sm_90 on.
#: Such a file says so with a section of this name, and counts these bytes in the kernel's.
_RESERVED_SECTION = ".nv.shared.reserved.0"
_RESERVED_BYTES = 1024

_PAIR = struct.Struct("<II")
_TRIPLE = struct.Struct("<III")
_PARAM = struct.Struct("<IHHI")

_KNOWN = frozenset(Code)


def read(data: bytes) -> Cubin:
    """Read what a cubin says of its kernels.

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
    sections = {section.name: section for section in file.sections}
    attributes = {
        name: list(_attributes(file.content(section), name))
        for name, section in sections.items()
        if name == ".nv.info" or name.startswith(".nv.info.")
    }
    by_symbol = _by_symbol(attributes.get(".nv.info", []))
    constants = _constant_banks(file)
    kernels = [
        _kernel(
            symbol.name,
            sections,
            attributes.get(f".nv.info.{symbol.name}", []),
            by_symbol[symbol.index],
            constants[symbol.name],
            old_abi=file.os_abi == _OLD_ABI,
        )
        for symbol in cubin_entries(file)
    ]
    codes = Counter(each.code for each in chain.from_iterable(attributes.values()))
    return Cubin(
        arch=cubin_arch(file),
        kernels=sorted(kernels, key=lambda kernel: kernel.name),
        unknown_attributes={code: codes[code] for code in sorted(codes.keys() - _KNOWN)},
    )


def _kernel(
    name: str,
    sections: dict[str, elf.Section],
    attributes: list[Attribute],
    shared_attributes: dict[int, int],
    constant_bytes: dict[int, int],
    *,
    old_abi: bool,
) -> Kernel:
    """Put together what the file says of one kernel in several places."""
    text = sections.get(f".text.{name}")
    values = {attribute.code: attribute.value for attribute in attributes}
    shared = _size(sections, f".nv.shared.{name}")
    # The bytes for the system are part of the kernel's section, if it has one.
    reserves = _RESERVED_SECTION in sections and shared >= _RESERVED_BYTES
    reserved = _RESERVED_BYTES if reserves else 0
    barriers = _number(values.get(Code.NUM_BARRIERS))
    if barriers is None:
        # Before EIATTR_NUM_BARRIERS the count was in the flags of the code's section.
        barriers = text.flags >> 20 & 0x7F if text and old_abi else 0
    version = _number(values.get(Code.CUDA_API_VERSION))
    return Kernel(
        name=name,
        registers=shared_attributes.get(Code.REGCOUNT),
        frame_bytes=shared_attributes.get(Code.FRAME_SIZE),
        stack_bytes=shared_attributes.get(Code.MIN_STACK_SIZE),
        local_section_bytes=_size(sections, f".nv.local.{name}"),
        static_shared_bytes=shared - reserved,
        reserved_shared_bytes=reserved,
        constant_bytes=constant_bytes,
        code_bytes=text.size if text else 0,
        barriers=barriers,
        mbarriers=_number(values.get(Code.NUM_MBARRIERS)),
        required_threads=_dimensions(values.get(Code.REQNTID)),
        max_threads=_dimensions(values.get(Code.MAX_THREADS)),
        max_registers=_number(values.get(Code.MAXREG_COUNT)),
        cluster=_dimensions(values.get(Code.CTA_PER_CLUSTER)),
        parameter_bytes=_number(values.get(Code.CBANK_PARAM_SIZE)),
        parameters=sorted(_parameters(attributes), key=lambda each: each.ordinal),
        toolkit=f"{version // 10}.{version % 10}" if version else None,
        attributes=attributes,
    )


def _attributes(content: bytes, section: str) -> Iterator[Attribute]:
    """Split an ``.nv.info`` section: a format, a code, and a value or the size of one."""
    at = 0
    while at < len(content):
        if at + 4 > len(content):
            raise _broken(section, at)
        layout, code = content[at], content[at + 1]
        value = content[at + 2 : at + 4]
        at += 4
        match layout:
            case 1:  # EIFMT_NVAL: that it is there says all
                value = b""
            case 2:  # EIFMT_BVAL
                value = value[:1]
            case 3:  # EIFMT_HVAL
                pass
            case 4:  # EIFMT_SVAL
                size = int.from_bytes(value, "little")
                value = content[at : at + size]
                at += size
            case _:
                raise _broken(section, at - 4)
        if at > len(content):
            raise _broken(section, at)
        yield Attribute(code, value)


def _by_symbol(attributes: list[Attribute]) -> defaultdict[int, dict[int, int]]:
    """Sort the attributes that all kernels share a section for: symbol index, then number."""
    found: defaultdict[int, dict[int, int]] = defaultdict(dict)
    for attribute in attributes:
        if len(attribute.value) == _PAIR.size:
            symbol, number = _PAIR.unpack(attribute.value)
            found[symbol][attribute.code] = number
    return found


def _parameters(attributes: list[Attribute]) -> Iterator[Parameter]:
    """Decode the parameters; the second layout came with those beyond 4 KB (CUDA 12.1)."""
    for attribute in attributes:
        if len(attribute.value) != _PARAM.size:
            continue
        _, ordinal, offset, packed = _PARAM.unpack(attribute.value)
        if attribute.code == Code.KPARAM_INFO:
            yield Parameter(ordinal, offset, packed >> 18)
        elif attribute.code == Code.KPARAM_INFO_V2:
            yield Parameter(ordinal, offset, packed & 0xFFFF)


def _constant_banks(file: elf.Elf) -> defaultdict[str, dict[int, int]]:
    """Sizes of the sections ``.nv.constantBANK.KERNEL``, by kernel and bank."""
    found: defaultdict[str, dict[int, int]] = defaultdict(dict)
    for section in file.sections:
        bank, _, kernel = section.name.removeprefix(".nv.constant").partition(".")
        if section.name.startswith(".nv.constant") and bank.isascii() and bank.isdigit():
            found[kernel][int(bank)] = section.size
    return found


def _size(sections: dict[str, elf.Section], name: str) -> int:
    return sections[name].size if name in sections else 0


def _number(value: bytes | None) -> int | None:
    """A value of one, two or four bytes."""
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
