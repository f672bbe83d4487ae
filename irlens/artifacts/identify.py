"""Identifies an artifact by its content: its stage, its kernels and its target GPU."""

import hashlib
import re
import struct
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TypeVar

import msgspec

from irlens import gpus
from irlens.artifacts import elf
from irlens.model import files
from irlens.model.capture import BINARY_STAGES, Capture, Stage
from irlens.model.config import Target
from irlens.model.errors import ArtifactError, UnknownNameError
from irlens.model.several import only

T = TypeVar("T")

NT_AMDGPU_METADATA = 32
_CUDA_ENTRY = 0x10  # in st_other
#: Notes of ptxas: the PTX's architecture and the toolkit; ptxas's version and its arguments.
_NT_CUDA_INFO, _NT_CUDA_TOOL = 1000, 2000
_VIRTUAL_ARCH = slice(2, 4)
_NEWEST_OF_OLD_ABI = 121
_TOOL_ARCH = re.compile(rb"-arch[ =]sm_(\d{1,4})")

# Lines that only one stage has. The order matters: an LLVM module may quote assembly, and ttgir is
# ttir with a layout on every tensor. None of these patterns is compiled here: captures name their
# stages, and all of them take two milliseconds.
_STAGE_MARKS = {
    "amdgcn": r'(?m)^[ \t]*\.amdgcn_target[ \t]+"',
    "ptx": r"(?m)^[ \t]*\.target[ \t]+sm_\d",
    "llir": r"(?m)^(?:target triple = |define |; ModuleID = )",
    "ttgir": r"(?m)^(?:module attributes \{[^\n]*|#\w+ = #)(?:ttg|triton_gpu)\.",
    "ttir": r"(?m)^[ \t]*tt\.func ",
}
# Those of a piece of a stage, by the operations in it.
_EXCERPT_MARKS = {
    "ttgir": r"(?<![\w.])(?:ttn?g|triton_(?:nvidia_)?gpu)\.[a-z_]{3,40}\b",
    "ttir": r"(?<![\w.])tt\.(?:load|store|dot|make_range|splat|addptr|reduce)\b",
}
# A function that is called is private; hand-written kernels may say neither.
_MLIR_KERNEL = r'\btt\.func (?:public )?@(?:([\w$.-]+)|"([^"\n]+)")'
_KERNEL_MARKS = {
    "amdgcn": r"(?m)^[ \t]*\.amdhsa_kernel[ \t]+(\S+)",
    "ptx": r"(?m)^[ \t]*(?:\.(?:visible|weak|extern)[ \t]+)?\.entry[ \t]+([\w$%]+)",
    # Bounded, since a line of a hostile file may be as long as the file.
    "llir": r"(?m)^define [^@\n]{0,200}\b(?:ptx|amdgpu)_kernel [^@\n]{0,200}"
    r'@(?:([\w$.-]+)|"([^"\n]+)")',
    "ttgir": _MLIR_KERNEL,
    "ttir": _MLIR_KERNEL,
    "source": _MLIR_KERNEL,
}

#: Threads of a warp, NVIDIA's.
_WARP = 32
_PTX_TARGET = re.compile(r"^[ \t]*\.target[ \t]+(sm_\d+)", re.MULTILINE)
_PTX_THREADS = re.compile(
    r"^[ \t]*\.reqntid[ \t]+(\d{1,5})(?:[ \t]*,[ \t]*1)*[ \t]*$", re.MULTILINE
)
#: PTX of warp-specialized kernels: named barriers, and registers moved between warp groups.
_PTX_SPECIALIZED = re.compile(
    r"\bsetmaxnreg\b|\bbar(?:rier)?(?:\.cta)?\.(?:sync|arrive|red)[.\w]*\s+(?!\s|0;)"
)
_AMDGCN_TARGET = r'(?m)^[ \t]*\.amdgcn_target[ \t]+"([^"\n]+)"'
_AMDGCN_WAVE = r"(?m)^[ \t]*\.wavefront_size:[ \t]*(\d+)"
_TTGIR_TARGET = re.compile(r'\b(?:ttg|triton_gpu)\.target = "(cuda|hip):(\w+)"')
_LLVM_TRIPLE = re.compile(r'^target triple = "amdgpu(\d+)\.(\w+)-', re.MULTILINE)
_LLVM_CPU = re.compile(r'"target-cpu"="(gfx\w+)"')


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """What an artifact states about itself.

    Attributes:
        stage: "ttir", "ttgir", "llir", "ptx", "cubin", "amdgcn" or "hsaco".
        target: The GPU it was compiled for; ``None`` if it does not say.
        num_warps: Requested warps per CTA, if the artifact states them (ttgir), or the threads of
            a kernel that is not warp-specialized (ptx).
        num_ctas: CTAs per cluster, likewise.
    """

    stage: str
    kernels: list[str]
    target: Target | None = None
    num_warps: int | None = None
    num_ctas: int | None = None


class _NamedKernel(msgspec.Struct, frozen=True):
    name: str = msgspec.field(name=".name")
    wavefront_size: int = msgspec.field(name=".wavefront_size")


class _NamedKernels(msgspec.Struct, frozen=True):
    kernels: list[_NamedKernel] = msgspec.field(name="amdhsa.kernels")
    target: str | None = msgspec.field(name="amdhsa.target", default=None)


def identify(content: bytes, stage: str | None = None) -> Identity | None:
    """Identify an artifact; ``None`` if it is none of the stages.

    Raises:
        ArtifactError: A broken ELF file, no ELF file where ``stage`` is binary, or a text stage
            that is not text.
    """
    if content.startswith(elf.MAGIC) or stage in BINARY_STAGES:
        return _identify_binary(content)
    if stage is None:
        text = content.decode("utf-8", "replace")
        marks = (*_STAGE_MARKS.items(), *_EXCERPT_MARKS.items())
        stage = next((name for name, mark in marks if re.search(mark, text)), None)
        if stage is None:
            return None
    text = files.text(content, name=stage)
    named = (match[match.lastindex or 0] for match in re.finditer(_KERNEL_MARKS[stage], text))
    kernels = list(dict.fromkeys(named))
    return Identity(
        stage=stage,
        kernels=kernels,
        target=text_target(stage, text),
        num_warps=_stated_warps(stage, text, len(kernels)),
        num_ctas=module_number("num-ctas", text) if stage == "ttgir" else None,
    )


def _stated_warps(stage: str, text: str, kernels: int) -> int | None:
    if stage == "ttgir":
        return module_number("num-warps", text)
    if stage != "ptx" or _PTX_SPECIALIZED.search(text):
        return None
    threads = list(map(int, _PTX_THREADS.findall(text)))
    return warps_of(only(threads)) if len(threads) == kernels else None


def warps_of(threads: int | None) -> int | None:
    """Return the warps of an NVIDIA GPU that threads are; ``None`` where they are no whole ones."""
    return threads // _WARP if threads and threads % _WARP == 0 else None


def cubin_arch(file: elf.Elf) -> str | None:
    """Return the architecture that a cubin was assembled for ("sm_90").

    The place of the number moved with the ABI: up to CUDA 12.8 it is the low byte of ``e_flags``
    (``EI_OSABI`` 0x33), and the second byte in what newer assemblers write (0x41), which 12.8
    itself does from sm_100 on.

    Returns:
        ``None`` where the ABI is neither of them, or other places of the file contradict it.
    """
    match file.os_abi:
        case 0x33:
            number, virtual = file.flags & 0xFF, file.flags >> 16 & 0xFF
        case 0x41:
            number, virtual = file.flags >> 8 & 0xFF, 0
        case _:
            return None
    for note in file.notes():
        if note.type == _NT_CUDA_INFO and len(note.content) >= _VIRTUAL_ARCH.stop:
            virtual = int.from_bytes(note.content[_VIRTUAL_ARCH], "little")
        if note.type == _NT_CUDA_TOOL:
            asked = _TOOL_ARCH.search(note.content)
            if asked is not None and int(asked[1]) != number:
                return None
    newest = _NEWEST_OF_OLD_ABI if file.os_abi == 0x33 else number
    return f"sm_{number}" if virtual <= number <= newest else None  # PTX runs on what came later


def cubin_entries(symbols: Iterable[elf.Symbol]) -> Iterator[elf.Symbol]:
    """Yield those of a cubin's symbols that are kernels; device functions lack the entry flag."""
    for symbol in symbols:
        if symbol.kind == elf.STT_FUNC and symbol.other & _CUDA_ENTRY and symbol.name:
            yield symbol


def code_object_metadata(file: elf.Elf, record: type[T]) -> T:
    """Decode the metadata note of an AMD code object.

    Source: User Guide for AMDGPU Backend, "Code Object V3 and Above Metadata".

    Raises:
        ArtifactError: There is none, or it lacks a required field of ``record``.
    """
    for note in file.notes():
        if note.owner == "AMDGPU" and note.type == NT_AMDGPU_METADATA:
            try:
                return msgspec.msgpack.decode(note.content, type=record)
            except files.DECODE_ERRORS as error:
                raise ArtifactError(
                    f"the metadata note of this AMD code object makes no sense: {error}",
                    hint="compile the kernel again, or copy it again",
                ) from error
    raise ArtifactError(
        "this AMD code object has no metadata note",
        hint="code objects of version 3 and above have one; compile with Triton 3.4 or newer",
    )


def target_arch(target_id: str) -> str:
    """Return the architecture in an AMD target ("amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-")."""
    return target_id.partition(":")[0].rpartition("-")[2]


def _identify_binary(content: bytes) -> Identity:
    file = elf.read(content)
    if file.machine == elf.MACHINE_CUDA:
        name = cubin_arch(file)
        kernels = sorted(symbol.name for symbol in cubin_entries(file.symbols()))
        target = Target(vendor="nvidia", arch=name, warp_size=_WARP) if name else None
        return Identity(stage="cubin", kernels=kernels, target=target)
    if file.machine == elf.MACHINE_AMDGPU:
        metadata = code_object_metadata(file, _NamedKernels)
        target = None
        if metadata.target and metadata.kernels:
            wave = metadata.kernels[0].wavefront_size
            target = Target(vendor="amd", arch=target_arch(metadata.target), warp_size=wave)
        names = [kernel.name for kernel in metadata.kernels]
        return Identity(stage="hsaco", kernels=names, target=target)
    raise ArtifactError(
        f"an ELF file, but neither a cubin nor an AMD code object (machine {file.machine})",
        hint="name a .cubin or .hsaco",
    )


def text_target(stage: str, text: str) -> Target | None:
    """Return the GPU that the text of a stage states; ``None`` if it does not."""
    match stage:
        case "ptx":
            found = _PTX_TARGET.search(text)
            return Target(vendor="nvidia", arch=found[1], warp_size=_WARP) if found else None
        case "amdgcn":
            found, wave = re.search(_AMDGCN_TARGET, text), re.search(_AMDGCN_WAVE, text)
            return _amd(target_arch(found[1]), int(wave[1]) if wave else None) if found else None
        case "ttgir":
            found = _TTGIR_TARGET.search(text)
            if found is None:
                return None
            if found[1] == "cuda":
                return Target(vendor="nvidia", arch=f"sm_{found[2]}", warp_size=_WARP)
            return _amd(found[2], module_number("threads-per-warp", text))
        case "llir":
            # The module does not state NVIDIA's architecture. AMD's moved from the attributes of
            # every function to the triple in Triton 3.9.
            if triple := _LLVM_TRIPLE.search(text):
                return _amd(f"gfx{triple[1]}{triple[2]}", None)
            cpu = _LLVM_CPU.search(text)
            return _amd(cpu[1], None) if cpu else None
    return None


def _amd(name: str, wave: int | None) -> Target | None:
    """Return an AMD target; the wavefront size defaults to the architecture's."""
    if wave is None:
        try:
            wave = gpus.by_arch(name).arch.warp_size
        except UnknownNameError:
            return None
    return Target(vendor="amd", arch=name, warp_size=wave)


#: Bytes at the start of a ttgir that hold its layouts and the line ``module attributes {...}``.
_HEAD = 1 << 16


def module_number(name: str, text: str) -> int | None:
    """Return an integer attribute of a ttgir module ("num-warps"); ``None`` if there is none."""
    found = _number_pattern(name).search(text)
    return int(found[1]) if found else None


@lru_cache(maxsize=8)
def _number_pattern(name: str) -> re.Pattern[str]:
    return re.compile(rf'"(?:ttg|triton_gpu)\.{name}" = (\d{{1,10}}) : i32')


def module_line(head: bytes) -> str:
    """Return the line of a ttgir that begins its module, from its first bytes; empty if none."""
    begin = 0 if head.startswith(b"module") else head.find(b"\nmodule") + 1
    if not begin and not head.startswith(b"module"):
        return ""
    return head[begin:].partition(b"\n")[0].decode("utf-8", "replace")


def requested_warps(ttgir: Stage) -> int | None:
    """Return the requested warps per CTA, without those of the kernel's partitions.

    Reads the head of the file only.

    Returns:
        ``None`` if the file cannot be read or does not say.
    """
    try:
        return module_number("num-warps", module_line(ttgir.read(most=_HEAD)))
    except ArtifactError:  # reading the whole artifact reports it
        return None


#: Sections that name things, say where the code comes from, or which run of the assembler it was.
_NAMES = frozenset(
    {".symtab", ".strtab", ".shstrtab", ".dynsym", ".dynstr", ".hash", ".gnu.hash", ".comment"}
)
_DEBUG = (".debug", ".nv_debug", ".rel.debug", ".rela.debug", ".rel.nv_debug", ".line")


def code_digest(capture: Capture) -> str | None:
    """Return a digest of a capture's machine code; ``None`` where it has none.

    Two captures have equal digests if their binaries are equal byte for byte, but for names and
    debug information: instructions, constants, the kernel's parameters, registers and memory.

    Raises:
        ArtifactError: The binary is broken or gone.
    """
    stage = capture.stages.get("cubin") or capture.stages.get("hsaco")
    if stage is None:
        return None
    file = elf.read(stage.read())
    digest = hashlib.sha256(struct.pack("<II", file.machine, file.flags))
    for section in file.sections:
        if section.name in _NAMES or section.name.startswith(_DEBUG):
            continue
        content = file.content(section)
        name = section.name.removesuffix(capture.kernel).encode()  # ".text." of ".text.add_kernel"
        digest.update(struct.pack("<IIQ", section.type, len(name), section.size))
        digest.update(name + content)
    return digest.hexdigest()
