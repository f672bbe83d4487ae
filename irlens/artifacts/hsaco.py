"""Reads AMD's machine code files (hsaco): the resources in metadata and kernel descriptors.

Source: LLVM's User Guide for AMDGPU Backend, "Code Object Metadata" and "Kernel Descriptor".
"""

import re
import struct
from collections.abc import Mapping, Sequence

import msgspec

from irlens.artifacts import elf
from irlens.artifacts.identify import code_object_metadata, target_arch
from irlens.model import files
from irlens.model.errors import ArtifactError

_DESCRIPTOR_BYTES = 64
#: The lowest bytes of COMPUTE_PGM_RSRC1 and COMPUTE_PGM_RSRC3.
_RSRC1_AT, _RSRC3_AT = 48, 44
#: Bytes of LDS and of private memory, which the metadata repeat.
_SEGMENTS = struct.Struct("<II")
#: Where the code begins, from the descriptor on.
_ENTRY, _ENTRY_AT = struct.Struct("<q"), 16


class KernelNote(msgspec.Struct, frozen=True, rename=lambda name: f".{name}"):
    """A kernel in the metadata; some targets omit the optional fields."""

    name: str
    symbol: str
    vgpr_count: int
    sgpr_count: int
    group_segment_fixed_size: int
    private_segment_fixed_size: int
    kernarg_segment_size: int
    wavefront_size: int
    max_flat_workgroup_size: int
    agpr_count: int | None = None
    vgpr_spill_count: int | None = None
    sgpr_spill_count: int | None = None
    reqd_workgroup_size: tuple[int, int, int] | None = None


class _Note(msgspec.Struct, frozen=True):
    kernels: list[KernelNote] = msgspec.field(name="amdhsa.kernels")
    target: str | None = msgspec.field(name="amdhsa.target", default=None)


class Kernel(msgspec.Struct, frozen=True, kw_only=True):
    """One kernel of a code object. ``None`` means that the file does not say.

    Attributes:
        registers: 32-bit vector registers per lane, before rounding to the hardware's granularity
            (``.vgpr_count``). LLVM counts both kinds: where they share one file (gfx90a, gfx942,
            gfx950) it is the VGPRs, rounded up to 4 if AGPRs follow, plus the AGPRs; where AGPRs
            have a file of their own (gfx908) it is the larger of the two.
        register_granules: Granules of vector registers allocated per lane, from the descriptor
            (GRANULATED_WORKITEM_VGPR_COUNT, plus one); the size of a granule depends on the
            architecture. They can hold far more than ``registers``: where ``waves_per_eu`` limits
            the waves, LLVM allocates enough to keep further ones out.
        vgprs: Architectural vector registers per lane. If a kernel has AGPRs in the same file,
            they begin here: the exact count, which only the assembly has as ``; NumVgprs``, may
            be up to 3 lower. ``None`` where AGPRs of a separate file outnumber them, which hides
            their count.
        agprs: Accumulation registers per lane; ``None`` on targets that have none.
        sgprs: Scalar registers per wave, VCC and the like included.
        vgpr_spills: Vector registers spilled, counted by stores; ``sgpr_spills`` likewise.
        lds_bytes: Static local data share per workgroup. It is 0 for Triton, which allocates LDS
            at launch: see ``shared`` in its metadata.
        scratch_bytes: Private memory per lane: spills and arrays, callees included.
        code_bytes: Machine code, without padding.
        kernarg_bytes: Arguments, hidden ones included.
        max_workgroup_size: Maximum lanes per workgroup.
        required_workgroup_size: Lanes in x, y, z that a launch must use.
        doubts: Why figures are ``None`` that the file contradicts, by field.
    """

    name: str
    registers: int
    register_granules: int | None
    vgprs: int | None
    agprs: int | None
    sgprs: int
    vgpr_spills: int | None
    sgpr_spills: int | None
    lds_bytes: int | None
    scratch_bytes: int | None
    code_bytes: int | None
    kernarg_bytes: int
    max_workgroup_size: int
    required_workgroup_size: tuple[int, int, int] | None
    doubts: Mapping[str, str] = {}


class Hsaco(msgspec.Struct, frozen=True, kw_only=True):
    """A code object.

    Attributes:
        target: The full target, "amdgcn-amd-amdhsa--gfx90a:sramecc+"; ``None`` in version 3.
        kernels: In the file's order.
    """

    target: str | None
    arch: str | None
    kernels: list[Kernel]


def read(data: bytes) -> Hsaco:
    """Read the kernels of an AMD code object.

    Raises:
        ArtifactError: Not an AMD code object, or a broken one.
    """
    file = elf.read(data)
    if file.machine != elf.MACHINE_AMDGPU:
        raise ArtifactError(
            f"an ELF file, but not an AMD code object: its machine is {file.machine}, "
            f"AMD's is {elf.MACHINE_AMDGPU}",
            hint="NVIDIA's machine code is called .cubin",
        )
    note = code_object_metadata(file, _Note)
    symbols = {symbol.name: symbol for symbol in file.symbols(elf.SHT_DYNSYM)}
    all_symbols = list(file.symbols(elf.SHT_SYMTAB))
    named = {kernel.symbol.removesuffix(".kd") for kernel in note.kernels}
    # A file without symbols does not say what its kernels call.
    calls = not all_symbols or any(
        symbol.name not in named and (symbol.kind == elf.STT_FUNC or _is_code(file, symbol))
        for symbol in all_symbols
    )
    layout = elf.contradiction(file)
    sizes = {symbol.name: (symbol.value, symbol.size) for symbol in all_symbols}
    return Hsaco(
        target=note.target,
        arch=target_arch(note.target) if note.target else None,
        kernels=[
            _kernel(file, symbols, sizes, kernel, layout)
            for kernel in (_own_alone(note.kernels) if calls else note.kernels)
        ],
    )


def _is_code(file: elf.Elf, symbol: elf.Symbol) -> bool:
    home = file.sections[symbol.section] if symbol.section < len(file.sections) else None
    return home is not None and bool(home.flags & elf.SHF_EXECINSTR)


def _kernel(
    file: elf.Elf,
    symbols: Mapping[str, elf.Symbol],
    sizes: Mapping[str, tuple[int, int]],
    note: KernelNote,
    layout: str,
) -> Kernel:
    code = symbols.get(note.symbol.removesuffix(".kd"))
    symbol = symbols.get(note.symbol)
    descriptor = _descriptor(file, symbol)
    doubts = _doubts(note, symbol, descriptor, code, sizes)
    if layout:
        doubts |= dict.fromkeys(("register_granules", "vgprs", "code_bytes"), layout)
    kernel = msgspec.structs.replace(
        of_note(note, _accumulation_offset(descriptor)),
        register_granules=_register_granules(descriptor),
        code_bytes=code.size if code else None,
        doubts=doubts,
    )
    unknown: dict[str, None] = dict.fromkeys(doubts)
    return msgspec.structs.replace(kernel, **unknown)


def _doubts(
    note: KernelNote,
    symbol: elf.Symbol | None,
    descriptor: bytes | None,
    code: elf.Symbol | None,
    sizes: Mapping[str, tuple[int, int]],
) -> dict[str, str]:
    """Return why figures are in doubt that the descriptor or another table contradicts."""
    if code is None or code.kind != elf.STT_FUNC:
        return dict.fromkeys(("code_bytes", "register_granules"), f"no symbol {note.name} has code")
    doubts = {}
    if sizes and sizes.get(code.name) != (code.value, code.size):
        doubts["code_bytes"] = f"the symbol tables differ on {code.name}"
    if descriptor is None or symbol is None:
        return doubts | {"register_granules": f"there is no descriptor {note.symbol}"}
    (entry,) = _ENTRY.unpack_from(descriptor, _ENTRY_AT)
    if symbol.value + entry != code.value:
        reason = f"the descriptor {note.symbol} is that of other code"
        return doubts | dict.fromkeys(("register_granules", "vgprs"), reason)
    stated = (note.group_segment_fixed_size, note.private_segment_fixed_size)
    described = _SEGMENTS.unpack_from(descriptor)
    for name, mine, other in zip(("lds_bytes", "scratch_bytes"), stated, described, strict=False):
        if mine != other:
            doubts[name] = f"the metadata say {mine:,} B, the descriptor says {other:,} B"
    return doubts


def _own_alone(notes: Sequence[KernelNote]) -> list[KernelNote]:
    """Return kernels that may call functions, without the spills, which leave out theirs."""
    return [
        msgspec.structs.replace(
            each,
            vgpr_spill_count=None if each.private_segment_fixed_size else each.vgpr_spill_count,
            sgpr_spill_count=None,
        )
        for each in notes
    ]


def of_note(note: KernelNote, accumulation_offset: int | None) -> Kernel:
    """Return a kernel as its metadata describes it.

    Args:
        accumulation_offset: Where its AGPRs begin in a unified register file, from its descriptor.
    """
    return Kernel(
        name=note.name,
        registers=note.vgpr_count,
        register_granules=None,
        vgprs=_vgprs(note, accumulation_offset),
        agprs=note.agpr_count,
        sgprs=note.sgpr_count,
        vgpr_spills=note.vgpr_spill_count,
        sgpr_spills=note.sgpr_spill_count,
        lds_bytes=note.group_segment_fixed_size,
        scratch_bytes=note.private_segment_fixed_size,
        code_bytes=None,
        kernarg_bytes=note.kernarg_segment_size,
        max_workgroup_size=note.max_flat_workgroup_size,
        required_workgroup_size=note.reqd_workgroup_size,
    )


def _vgprs(note: KernelNote, accumulation_offset: int | None) -> int | None:
    """Return the architectural registers in a count that may include AGPRs."""
    if not note.agpr_count:
        return note.vgpr_count
    if accumulation_offset is None:
        return None
    if note.vgpr_count == accumulation_offset + note.agpr_count:
        # An offset of 4 is a field of zero bits, which every target without the field has too.
        return accumulation_offset if accumulation_offset > 4 else None
    return note.vgpr_count if note.vgpr_count > note.agpr_count else None


def _descriptor(file: elf.Elf, symbol: elf.Symbol | None) -> bytes | None:
    """Return a kernel's descriptor; ``None`` where the file does not hold it."""
    if symbol is None or symbol.size != _DESCRIPTOR_BYTES or symbol.section >= len(file.sections):
        return None
    home = file.sections[symbol.section]
    start = symbol.value - home.address
    content = file.content(home)
    if not 0 <= start <= len(content) - _DESCRIPTOR_BYTES:
        return None
    return content[start : start + _DESCRIPTOR_BYTES]


def _register_granules(descriptor: bytes | None) -> int | None:
    """Return the granules of vector registers per lane (COMPUTE_PGM_RSRC1, bits 5:0)."""
    return None if descriptor is None else (descriptor[_RSRC1_AT] & 0x3F) + 1


def _accumulation_offset(descriptor: bytes | None) -> int | None:
    """Return where the AGPRs begin in a unified register file (COMPUTE_PGM_RSRC3, bits 5:0).

    The field exists on gfx90a, gfx942 and gfx950; elsewhere its value means nothing.
    """
    return None if descriptor is None else ((descriptor[_RSRC3_AT] & 0x3F) + 1) * 4


#: LLVM writes the metadata note as YAML into the assembly, and the kernel descriptor as directives
#: (User Guide for AMDGPU Backend, "Assembler Directives").
_METADATA = re.compile(
    r"^[ \t]*\.amdgpu_metadata\b(.*?)^[ \t]*\.end_amdgpu_metadata\b", re.DOTALL | re.MULTILINE
)
#: A kernel is an item of the list, two columns in; its fields are two columns further.
_ITEM = re.compile(r"^  - ", re.MULTILINE)
_FIELD = re.compile(r"^    (\.\w+):[ \t]*([^\n]*)$", re.MULTILINE)
_DESCRIPTOR = re.compile(
    r"^[ \t]*\.amdhsa_kernel[ \t]+(\S+)(.*?)^[ \t]*\.end_amdhsa_kernel\b", re.DOTALL | re.MULTILINE
)
_FUNCTION = re.compile(r"^[ \t]*\.type[ \t]+(\S+),@function\b", re.MULTILINE)
_ACCUMULATION = re.compile(r"^[ \t]*\.amdhsa_accum_offset[ \t]+(\d{1,4})\b", re.MULTILINE)


def read_assembly(text: str) -> list[Kernel]:
    """Return the kernels that the metadata of an assembly text describes, in its order.

    A kernel whose metadata lacks a field is left out.
    """
    found = _METADATA.search(text)
    if found is None:
        return []
    offsets = {name: _offset(directives) for name, directives in _DESCRIPTOR.findall(text)}
    _, *items = _ITEM.split(found[1])
    notes = [note for each in items if (note := _note(each)) is not None]
    calls = any(name not in offsets for name in _FUNCTION.findall(text))
    return [
        of_note(note, offsets.get(note.name)) for note in (_own_alone(notes) if calls else notes)
    ]


def _offset(directives: str) -> int:
    """Return where AGPRs begin: an absent directive is a field of zero bits, which stands for 4."""
    offset = _ACCUMULATION.search(directives)
    return int(offset[1]) if offset else 4


def _note(item: str) -> KernelNote | None:
    # The list of arguments is indented deeper; the first field stands beside the hyphen.
    fields = dict(_FIELD.findall(f"    {item}"))
    given = {name: value.strip().strip("'\"") for name, value in fields.items() if value.strip()}
    try:
        return msgspec.convert(given, KernelNote, strict=False)
    except files.DECODE_ERRORS:
        return None
