"""Whether the parts of a capture belong together: artifacts of another kernel are put aside.

Files of two compilations can end up in one directory, by a copy or by a damaged cache. Their
figures would be reported as those of one kernel. Where several parts state the same, only headers
are parsed: that costs a fraction of parsing the part. A part that is broken states nothing here;
who needs it reports the error.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from math import prod
from typing import TypeAlias

import msgspec
from msgspec.structs import replace

from irlens import gpus
from irlens.analyze.capture_code import CaptureCode
from irlens.analyze.facts import Provenance
from irlens.artifacts.entries import find_target
from irlens.artifacts.identify import module_line, module_number, text_target
from irlens.isa.dialect import kernel_named
from irlens.model.capture import MANIFEST_NAME, Capture, Manifest, Metadata, Stage
from irlens.model.config import Config
from irlens.model.errors import ArtifactError, UnknownNameError
from irlens.model.several import grouped

#: Values by topic, in words that a message can use.
Statements: TypeAlias = dict[str, str]

METADATA = "metadata"
#: In the order in which they are compared: what is for another GPU differs in the rest, too.
TOPICS = (
    "architecture", "vendor", "threads per warp", "kernel", "arguments", "number of parameters",
    "parameters", "threads per CTA", "CTAs per cluster", "registers at most", "registers",
    "accumulation registers", "scalar registers", "spilled registers", "spilled scalar registers",
    "shared memory", "private memory",
)  # fmt: skip

#: A code object states no more, whatever the source asks for.
_MOST_THREADS_OF_AMD = 1024
#: Bytes of a stage that its kernel's header is looked for in.
_HEAD = 1 << 16
#: Bytes that hold the target of a stage, where it does not stand after the layouts, as in ttgir.
_FIRST_LINES = 1 << 12
_NAME = r'(?P<name>[\w$.-]++|"[^"\n]{0,1000}+")'
#: What follows the name of an argument in those of its parts.
_PART = re.compile(r"(?:_\d+)+$")
_MLIR_HEADER = re.compile(rf"tt\.func public @{_NAME}(?P<arguments>\([^\n]*+)")
_MLIR_ARGUMENT = re.compile(r"[(,]\s*+%(?P<root>[\w$-]++)[\w$.-]*+\s*+:")
#: What MLIR calls an argument where it prints no names.
_UNNAMED = re.compile(r"arg\d+|\d+")
_SPECIALIZED = b"ttg.warp_specialize"
#: Begins with letters that can be looked for at once; ``ptx_kernel`` or ``amdgpu_kernel``.
_LLIR_HEADER = re.compile(
    rf"_kernel (?<=(?P<vendor>ptx|gpu)_kernel )[^@\n]{{0,200}}@{_NAME}\((?P<parameters>[^\n]*+)"
)
_LLIR_ATTRIBUTES = re.compile(r"(?<=\s)#\d{1,9}\b")
_LLIR_THREADS = re.compile(r'"(?:nvvm\.reqntid|amdgpu-flat-work-group-size)"="([\d,]{1,30})"')
_LLIR_REGISTERS = re.compile(r'"nvvm\.maxnreg"="(\d{1,9})"')
_LLIR_PARAMETER = re.compile(r"%[\w$.-]++(?=\s*+[,)])")
_PTX_HEADER = re.compile(
    r"\.entry\s++(?P<name>[\w$%]++)\s*+\((?P<parameters>[^)]*+)\)(?P<limits>[^{]*+)"
)
#: What each header begins with, and its pattern, by the stage.
_HEADERS = {
    "ttir": ("tt.func public @", _MLIR_HEADER),
    "ttgir": ("tt.func public @", _MLIR_HEADER),
    "llir": ("_kernel ", _LLIR_HEADER),
    "ptx": (".entry", _PTX_HEADER),
}
_PTX_PARAMETER = re.compile(
    r"\.param\s++(?:\.align\s++\d++\s++)?\.[a-z]{1,2}(?P<bits>8|16|32|64|128)\b"
    r"[^,\[]*+(?:\[(?P<count>\d{1,9})\])?"
)
_PTX_THREADS = re.compile(r"\.reqntid\s++(\d{1,9}(?:\s*+,\s*+\d{1,9})*+)")
_PTX_REGISTERS = re.compile(r"\.maxnreg\s++(\d{1,9})")
_AMD_METADATA = b".amdgpu_metadata"
_AMD_FIELD = re.compile(r"^[ \t]*\.(\w+):[ \t]*(\S+)[ \t]*$", re.MULTILINE)
_AMD_FIELDS = {
    "kernel": "name",
    "parameters": "kernarg_segment_size",
    "threads per CTA": "max_flat_workgroup_size",
    "registers": "vgpr_count",
    "accumulation registers": "agpr_count",
    "scalar registers": "sgpr_count",
    "spilled registers": "vgpr_spill_count",
    "spilled scalar registers": "sgpr_spill_count",
    "shared memory": "group_segment_fixed_size",
    "private memory": "private_segment_fixed_size",
}


class _Text:
    """The text of a stage, which is read once; whole megabytes are not decoded for a header."""

    def __init__(self, stage: Stage, kernel: str) -> None:
        self.content, self._name, self._kernel = stage.read(), stage.name, kernel
        if b"\0" in self.content:
            raise ArtifactError(f"{stage.name} is not text")

    @cached_property
    def _head(self) -> str:
        return self.content[:_HEAD].decode("utf-8", "replace")

    @cached_property
    def module(self) -> str:
        """The line that opens the MLIR module."""
        return module_line(self.content[:_HEAD])

    @cached_property
    def header(self) -> re.Match[str] | None:
        """The header of its kernel, or of the only one it has; see ``isa.dialect.kernel_named``."""
        mark, pattern = _HEADERS[self._name]
        others = []
        for each in _matches(pattern, mark, self._head):
            if each["name"].strip('"') == self._kernel:
                return each  # the rest of the text is not searched
            others.append(each)
        return others[0] if len(others) == 1 else None

    @cached_property
    def roots(self) -> list[str]:
        """The names of its kernel's arguments in MLIR, without what Triton's renaming appends."""
        return _MLIR_ARGUMENT.findall(self.header["arguments"]) if self.header is not None else []

    def architecture(self) -> Statements:
        """Return the architecture that it states at its beginning."""
        text = self.module if self._name == "ttgir" else self._head[:_FIRST_LINES]
        target = text_target(self._name, text)
        return {"architecture": target.arch} if target else {}


def _matches(pattern: re.Pattern[str], mark: str, text: str) -> Iterator[re.Match[str]]:
    """Yield the matches of a pattern that begins with a mark, which is found many times faster."""
    at = text.find(mark)
    while at >= 0:
        found = pattern.match(text, at)
        if found:
            yield found
        at = text.find(mark, found.end() if found else at + 1)


def read_statements(code: CaptureCode) -> dict[str, Statements]:
    """Return the statements of each part of a capture: stages, "metadata" and "irlens.json"."""
    capture = code.capture
    stated: dict[str, Statements] = {}
    texts: dict[str, _Text] = {}
    for name, stage in capture.stages.items():
        try:
            if name in _OF_TEXTS:
                texts[name] = _Text(stage, capture.kernel)
                stated[name] = _OF_TEXTS[name](texts[name])
            elif name in _OF_BINARIES:
                stated[name] = _OF_BINARIES[name](code)
        except ArtifactError:
            continue
    if capture.metadata is not None:
        stated[METADATA] = _of_metadata(capture.metadata)
    if capture.manifest is not None:
        typed = [texts[name] for name in ("ttir", "ttgir") if name in stated]
        stated[MANIFEST_NAME] = _of_manifest(capture.manifest, typed)
    for each in stated.values():
        if "architecture" in each:
            each.setdefault("vendor", _vendor(each["architecture"]))
    return stated


def _vendor(arch: str) -> str:
    return "AMD" if arch.startswith("gfx") else "NVIDIA"


def _of_metadata(metadata: Metadata) -> Statements:
    stated = {"kernel": metadata.name} if metadata.name else {}
    target = metadata.target
    if target is not None:
        arch = str(target.arch)
        stated["architecture"] = f"sm_{arch}" if arch.isdecimal() else arch
        stated["threads per warp"] = str(target.warp_size)
        if metadata.num_warps is not None:
            threads = metadata.num_warps * target.warp_size
            stated["threads per CTA"] = _threads(threads, _vendor(stated["architecture"]))
    if metadata.num_ctas is not None:
        stated["CTAs per cluster"] = str(metadata.num_ctas)
    return stated


def _of_manifest(manifest: Manifest, typed: Iterable[_Text]) -> Statements:
    """Return what irlens's own record says, which has other arguments if it is of another kernel.

    Those that are compiled in are not in the IR.
    """
    target = manifest.target
    vendor = {"amd": "AMD", "nvidia": "NVIDIA"}.get(target.vendor, target.vendor)
    stated = {
        "architecture": target.arch,
        "vendor": vendor,
        "threads per warp": f"{target.warp_size}",
    }
    if target.product and target.arch != _arch_of(target.product):
        stated["architecture"] = f"{target.arch:.60} of {target.product:.60}"
    known = {each.partition(".")[0] for each in manifest.args}
    for text in typed if known else ():
        # Up to Triton 3.6 a descriptor's pointer, sizes and strides are "a_desc_0" and the like.
        missing = [
            root
            for root in text.roots
            if root not in known
            and _PART.sub("", root) not in known
            and not _UNNAMED.fullmatch(root)
        ]
        if missing:
            stated["arguments"] = f"{len(manifest.args)} without {missing[0]:.60}"
    return stated


def _arch_of(product: str) -> str | None:
    try:
        return gpus.uncalibrated(product).arch.name
    except UnknownNameError:
        return None


def _threads(count: int, vendor: str) -> str:
    """Return the threads of a CTA; for AMD no more than a code object can state."""
    return str(min(count, _MOST_THREADS_OF_AMD) if vendor == "AMD" else count)


def _of_mlir(text: _Text) -> Statements:
    stated = text.architecture()
    if text.header is not None:
        stated["kernel"] = text.header["name"].strip('"')
        stated["arguments"] = str(len(text.roots))
    warps, lanes, ctas = (
        module_number(name, text.module) for name in ("num-warps", "threads-per-warp", "num-ctas")
    )
    if lanes is not None:
        stated["threads per warp"] = str(lanes)
    # Partitions of warp specialization have warps of their own.
    if warps is not None and lanes is not None and _SPECIALIZED not in text.content:
        stated["threads per CTA"] = _threads(warps * lanes, _vendor(stated.get("architecture", "")))
    if ctas is not None:
        stated["CTAs per cluster"] = str(ctas)
    return stated


def _of_llir(text: _Text) -> Statements:
    stated, header = text.architecture(), text.header
    if header is not None:
        stated["kernel"] = header["name"].strip('"')
        parameters = _LLIR_PARAMETER.findall(header["parameters"])
        stated["number of parameters"] = str(len(parameters))
        stated["vendor"] = "AMD" if header["vendor"] == "gpu" else "NVIDIA"
        stated |= _of_attributes(text, header["parameters"], stated["vendor"])
    return stated


def _of_attributes(text: _Text, header: str, vendor: str) -> Statements:
    """Return the limits of a kernel of LLVM IR; its header names the group of attributes."""
    names = _LLIR_ATTRIBUTES.findall(header)
    begin = text.content.rfind(f"\nattributes {names[-1]} = {{".encode()) if names else -1
    if begin < 0:
        return {}
    end = text.content.find(b"\n", begin + 1)
    group = text.content[begin : end if end > 0 else None].decode("utf-8", "replace")
    stated = {}
    if threads := _LLIR_THREADS.search(group):
        # AMD's are a range, which begins at one.
        count = prod(map(int, filter(None, threads[1].split(","))))
        stated["threads per CTA"] = _threads(count, vendor)
    if registers := _LLIR_REGISTERS.search(group):
        stated["registers at most"] = _at_most(int(registers[1]))
    return stated


def _of_ptx(text: _Text) -> Statements:
    stated, header = text.architecture(), text.header
    if header is not None:
        sizes = [
            int(each["bits"]) // 8 * int(each["count"] or 1)
            for each in _PTX_PARAMETER.finditer(header["parameters"])
        ]
        stated["kernel"] = header["name"]
        stated["number of parameters"] = str(len(sizes))
        stated["parameters"] = _sizes(sizes)
        if threads := _PTX_THREADS.search(header["limits"]):
            stated["threads per CTA"] = str(prod(map(int, threads[1].split(","))))
        if registers := _PTX_REGISTERS.search(header["limits"]):
            stated["registers at most"] = _at_most(int(registers[1]))
    return stated


def _of_amdgcn(text: _Text) -> Statements:
    stated = text.architecture()
    begin = max(text.content.rfind(_AMD_METADATA), 0)
    metadata = text.content[begin:].decode("utf-8", "replace")
    # Arguments have names, too: the kernel's stands last.
    fields = dict(_AMD_FIELD.findall(metadata))
    stated |= {topic: fields[name] for topic, name in _AMD_FIELDS.items() if name in fields}
    return stated


def _of_cubin(code: CaptureCode) -> Statements:
    file = code.cubin
    stated = {"architecture": file.arch} if file.arch else {}
    each = kernel_named(file.kernels, code.capture.kernel)
    if each is not None:
        stated["kernel"] = each.name
        stated["number of parameters"] = str(len(each.parameters))
        stated["parameters"] = _sizes([parameter.size for parameter in each.parameters])
        if each.required_threads is not None:
            stated["threads per CTA"] = str(prod(each.required_threads))
        if each.max_registers:
            stated["registers at most"] = _at_most(each.max_registers)
    return stated


def _of_hsaco(code: CaptureCode) -> Statements:
    file = code.hsaco
    stated = {"architecture": file.arch} if file.arch else {}
    each = kernel_named(file.kernels, code.capture.kernel)
    if each is not None:
        stated["kernel"] = each.name
        stated["parameters"] = str(each.kernarg_bytes)
        stated["threads per CTA"] = str(each.max_workgroup_size)
        counts = {
            "registers": each.registers,
            "accumulation registers": each.agprs,
            "scalar registers": each.sgprs,
            "spilled registers": each.vgpr_spills,
            "spilled scalar registers": each.sgpr_spills,
            "shared memory": each.lds_bytes,
            "private memory": each.scratch_bytes,
        }
        stated |= {topic: str(count) for topic, count in counts.items() if count is not None}
    return stated


def _at_most(registers: int) -> str:
    return str(min(registers, 255))  # what an instruction can name; ptxas says no more


def _sizes(sizes: list[int]) -> str:
    return f"{len(sizes)} of {sum(sizes)} B"


_OF_TEXTS: dict[str, Callable[[_Text], Statements]] = {
    "ttir": _of_mlir,
    "ttgir": _of_mlir,
    "llir": _of_llir,
    "ptx": _of_ptx,
    "amdgcn": _of_amdgcn,
}
_OF_BINARIES: dict[str, Callable[[CaptureCode], Statements]] = {
    "cubin": _of_cubin,
    "hsaco": _of_hsaco,
}


#: The figures that need a part, by its name.
_FIGURES = {
    "cubin": (
        "resources.registers", "resources.local_bytes", "resources.stack_bytes",
        "resources.shared_static_bytes", "pressure.sass",
    ),
    "hsaco": ("resources.registers", "resources.local_bytes", "resources.shared_static_bytes"),
    "ptx": ("pipelines", "mix", "pressure.ptx"),
    "amdgcn": ("pipelines", "mix", "spills", "pressure.amdgcn"),
    "ttgir": ("memory",),
    "ttir": ("traffic",),
    METADATA: ("resources.shared_dynamic_bytes", "config.options", "triton_version"),
    MANIFEST_NAME: ("config.args", "config.constexprs", "config.grid", "run", "triton_version"),
}  # fmt: skip
_UNKNOWN_CONFIG = Config(
    num_warps=None, num_stages=None, num_ctas=None, maxnreg=None, constexprs={}, args={},
    options=None,
)  # fmt: skip


class Contradiction(msgspec.Struct, frozen=True):
    """A part of a capture that is of another kernel than the rest, or one of two that differ.

    Attributes:
        part: A stage, "metadata" or "irlens.json".
        topic: What it states: "architecture", "threads per CTA", ...
        others: What the other parts say: their names by value.
    """

    part: str
    topic: str
    value: str
    others: Mapping[str, tuple[str, ...]]

    @property
    def message(self) -> str:
        """The contradiction in words."""
        others = "; ".join(f"{', '.join(names)}: {value}" for value, names in self.others.items())
        return f"{self.part} is of another kernel: {self.topic} {self.value}, but {others}"


def find_contradictions(stated: Mapping[str, Statements]) -> list[Contradiction]:
    """Return the parts that contradict others, in the order of ``TOPICS``.

    On each topic the value that most parts state is right; of as many, the one that Triton's
    metadata state. Without either, all that state something are in doubt. A part that contradicts
    on one topic has no say in the next.
    """
    found: dict[str, Contradiction] = {}
    different = {statement for values in stated.values() for statement in values.items()}
    if len(different) == len({topic for topic, _ in different}):
        return []
    for topic in TOPICS:
        parts = grouped(
            (values[topic], part)
            for part, values in stated.items()
            if part not in found and topic in values
        )
        if len(parts) < 2:
            continue
        right = _right(parts)
        for value, names in parts.items():
            others = {each: tuple(parts[each]) for each in parts if each != value}
            if value != right:
                found |= {part: Contradiction(part, topic, value, others) for part in names}
    return list(found.values())


def _right(parts: Mapping[str, list[str]]) -> str | None:
    """Return the value that is taken for the kernel's; ``None`` if no value has a majority."""
    most = max(map(len, parts.values()))
    candidates = [value for value, names in parts.items() if len(names) == most]
    if len(candidates) == 1:
        return candidates[0]
    return next((value for value in candidates if METADATA in parts[value]), None)


class Agreement(msgspec.Struct, frozen=True):
    """The parts of a capture that agree.

    Attributes:
        contradictions: What each of the others contradicts, in words.
    """

    capture: Capture
    contradictions: tuple[str, ...] = ()


def find_agreement(code: CaptureCode, provenance: Provenance) -> Agreement:
    """Put aside the parts of a capture that contradict others."""
    capture, stated = code.capture, read_statements(code)
    contradictions = find_contradictions(stated)
    if not contradictions:
        return Agreement(capture)
    for each in contradictions:
        provenance.missing(each.message, *_FIGURES.get(each.part, ()))
    aside = {each.part for each in contradictions}
    kept = {name: stage for name, stage in capture.stages.items() if name not in aside}
    capture = replace(capture, stages=kept)
    if METADATA in aside:
        capture = replace(capture, metadata=None, config=_UNKNOWN_CONFIG)
    if MANIFEST_NAME in aside:
        capture = _without_manifest(capture)
    agreed = {stated[part].get("architecture") for part in stated if part not in aside} - {None}
    if capture.target is not None and agreed != {capture.target.arch}:
        reason = "the parts of this capture are of different architectures"
        provenance.missing(reason, "target", "occupancy")
        capture = replace(capture, target=None)
    return Agreement(capture, tuple(each.message for each in contradictions))


def _without_manifest(capture: Capture) -> Capture:
    """Return a capture with what its other parts say of its target and its launch."""
    return replace(
        capture,
        manifest=None,
        contents={},
        target=find_target(capture.metadata, capture.stages),
        config=replace(capture.config, constexprs={}, args={}, grid=None, options=None, fixed=()),
    )
