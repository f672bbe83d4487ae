"""What to change, and nothing else, so that a finding goes if its explanation is right."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

import msgspec

from irlens.analyze import ttgir_refusals as refusals
from irlens.analyze.address_slice import computed_from, loaded_parts
from irlens.analyze.loops import ONLY
from irlens.analyze.mlir_loops import requested_stages
from irlens.isa.mlir import Module, Operation, edits
from irlens.isa.mlir.copies import STORES
from irlens.isa.mlir.operations import LOADS
from irlens.model.config import Config
from irlens.model.report import Finding
from irlens.model.source import SourceLocation, user_frame

#: Stages to ask for where a loop has none.
_STAGES = 3
_MOST_WARPS = 32
#: An argument that IRL301 blames: "n_cols=781 (mask)". Its other words may be arguments' names too.
_BLAMED = re.compile(r"([A-Za-z_]\w*)(?:=-?\d+)? \((?:address|mask)\)")


class Change(msgspec.Struct, frozen=True):
    """One change of a compilation.

    Attributes:
        words: What is changed.
        settings: Options by name, as written on the command line.
        ttir: The kernel's ttir with the change in it; empty if that stays.
        is_cause: Whether it changes what is blamed; one that may only relieve it proves nothing.
        cause: What it blames instead of the finding's own reason; empty for that.
    """

    words: str
    settings: Mapping[str, str] = {}
    ttir: str = ""
    is_cause: bool = True
    cause: str = ""


class Symptom(msgspec.Struct, frozen=True):
    """A finding with what its changes are made of.

    Attributes:
        module: The kernel's ttir.
        others: All findings of the kernel.
    """

    finding: Finding
    module: Module
    config: Config
    others: Sequence[Finding] = ()


_Maker: TypeAlias = Callable[[Symptom], Iterator[Change]]


def changes_for(symptom: Symptom) -> list[Change]:
    """Return the changes to try against a finding, the most telling first."""
    maker = _MAKERS.get(symptom.finding.code)
    found = list(maker(symptom)) if maker is not None else []
    return [each for each in found if each.settings or each.ttir != symptom.module.text]


def cause_of(finding: Finding) -> str:
    """Return what a finding blames: its reason, after the last colon of its message."""
    _, colon, reason = finding.message.rpartition(": ")
    return reason if colon else finding.message


def _of_load(symptom: Symptom) -> Iterator[Change]:
    """Yield the changes for a load that is not pipelined, by the reason that the finding gives."""
    reason, module = cause_of(symptom.finding), symptom.module
    load = _at(module, symptom.finding.source, *LOADS)
    loop = _enclosing(module, load, "scf.for")
    if reason == refusals.NO_CP_ASYNC:
        yield Change("compiled for sm_80, which has asynchronous copies", {"target": "sm_80"})
    elif reason == refusals.NARROW:
        yield from _loaded_divisible(module, load)
        yield from _all_divisible(symptom)
    elif loop is not None and reason == refusals.OUTER:
        text = edits.with_attribute(module, loop, "tt.flatten", "")
        yield Change("flatten=True on the loop", ttir=text)
    elif loop is not None and reason in _ANSWERED_BY_STAGES:
        asked = requested_stages(module, symptom.config.num_stages)(loop.location, ONLY) or 1
        more = max(asked + (reason == refusals.INDIRECT), _STAGES)
        text = edits.with_attribute(module, loop, "tt.num_stages", f"{more} : i32")
        yield Change(f"num_stages={more} on the loop itself (tl.range)", ttir=text)


_ANSWERED_BY_STAGES = frozenset(
    {
        refusals.ONE_STAGE, refusals.SWITCHED_OFF, refusals.NO_DOT, refusals.NO_OPERAND,
        refusals.INDIRECT,
    }
)  # fmt: skip


def _of_access(symptom: Symptom) -> Iterator[Change]:
    """Yield the changes for an access that arguments make narrow: the arguments that it names."""
    named = set(_BLAMED.findall(symptom.finding.message))
    blamed = [name for name in edits.not_divisible(symptom.module) if name in named]
    if blamed:
        text = edits.with_divisible(symptom.module, blamed)
        known = "known to be a multiple" if len(blamed) == 1 else "known to be multiples"
        yield Change(f"{' and '.join(blamed)} {known} of 16", ttir=text)


def _all_divisible(symptom: Symptom) -> Iterator[Change]:
    names = edits.not_divisible(symptom.module)
    if names:
        text = edits.with_divisible(symptom.module, names)
        known = "known to be a multiple" if len(names) == 1 else "known to be multiples"
        yield Change(f"{', '.join(names)} {known} of 16", ttir=text)


def _loaded_divisible(module: Module, load: Operation | None) -> Iterator[Change]:
    """Yield the change that declares pointers and strides from memory multiples of 16."""
    loaded = loaded_parts(module, load) if load is not None else []
    lines = sorted({at.line for each in loaded if (at := _line_of(each)) is not None})
    if load is None or not lines:
        return
    pointers = [each for each in computed_from(module, load, 1) if each.does == "to pointer"]
    text = edits.with_divisible_results(module, [*loaded, *pointers])
    at_lines = f"line{'s' if len(lines) > 1 else ''} {', '.join(map(str, lines))}"
    yield Change(f"what is loaded at {at_lines} known to be multiples of 16", ttir=text)


def _of_dot(symptom: Symptom) -> Iterator[Change]:
    """Yield the change for a dot of fp32 without tensor cores."""
    dot = _at(symptom.module, symptom.finding.source, "tt.dot")
    if dot is not None and str(dot.operand_types[0].element) == "f32":
        text = edits.with_precision(symptom.module, dot, "tf32")
        yield Change('input_precision="tf32" for the dot', ttir=text)


def _more_warps(symptom: Symptom) -> Iterator[Change]:
    """Yield more warps, each with fewer registers for the same tile."""
    warps = symptom.config.num_warps
    while warps is not None and warps < _MOST_WARPS:
        warps *= 2
        yield Change(f"num_warps={warps}", {"num_warps": str(warps)})


def _of_registers(symptom: Symptom) -> Iterator[Change]:
    """Yield what asks for the registers: the kernel's slow accesses; then more warps.

    An access in narrow pieces, or one that is not pipelined, takes registers for addresses and
    values. More warps leave each fewer elements, whatever takes the registers.
    """
    tried = set[str]()
    for others in _slow_accesses(symptom.others):
        maker = _ASK_FOR_REGISTERS[others[0].code]
        message = "; ".join(each.message for each in others)
        one = msgspec.structs.replace(others[0], message=message)
        for change in maker(msgspec.structs.replace(symptom, finding=one)):
            if change.settings or change.ttir in tried:  # another GPU is no experiment on this one
                continue
            tried.add(change.ttir)
            places = " and ".join(str(each.source) for each in others if each.source)
            blamed = f"{one.code} at {places}" if places else one.code
            words = f"{change.words}, against {blamed}"
            yield msgspec.structs.replace(change, words=words, cause=f"{blamed}: {message}")
    for change in _more_warps(symptom):
        yield msgspec.structs.replace(change, is_cause=False)


def _slow_accesses(findings: Sequence[Finding]) -> Iterator[list[Finding]]:
    """Yield each finding that may take registers, then all of narrow accesses together."""
    yield from ([each] for each in findings if each.code in _ASK_FOR_REGISTERS)
    narrow = [each for each in findings if each.code == "IRL301"]
    if len(narrow) > 1:
        yield narrow


_ASK_FOR_REGISTERS: Mapping[str, _Maker] = {"IRL203": _of_load, "IRL301": _of_access}


def _more_stages(symptom: Symptom) -> Iterator[Change]:
    """Yield one stage more for the loop of a wait that drains its pipeline."""
    module, source = symptom.module, symptom.finding.source
    loops = [each for each in module.named("scf.for") if _line_of(each) == source]
    for loop in loops[:1]:
        asked = requested_stages(module, symptom.config.num_stages)(loop.location, ONLY) or 1
        text = edits.with_attribute(module, loop, "tt.num_stages", f"{asked + 1} : i32")
        yield Change(f"num_stages={asked + 1} on the loop", ttir=text)


_MAKERS: Mapping[str, _Maker] = {
    "IRL104": _of_registers,
    "IRL105": _of_registers,
    "IRL106": _of_registers,
    "IRL202": _more_stages,
    "IRL203": _of_load,
    "IRL301": _of_access,
    "IRL310": _more_warps,
    "IRL401": _of_dot,
    "IRL404": _more_warps,
}
#: The operations that a finding is about.
OPERATIONS: Mapping[str, tuple[str, ...]] = {
    "IRL202": ("scf.for",),
    "IRL203": tuple(LOADS),
    "IRL301": (*LOADS, *sorted(STORES)),
    "IRL310": ("ttg.convert_layout",),
    "IRL401": ("tt.dot",),
}
#: Findings that one pass is known to decide, where a change of the options changes all before it,
#: too: it loads again in another layout what has fewer elements than the CTA has threads
#: (``isExpensiveLoadOrStore`` in Triton's ``lib/Dialect/TritonGPU/Transforms/Utility.cpp``).
DECIDED_BY: Mapping[str, str] = {"IRL310": "TritonGPURemoveLayoutConversions"}
#: Findings that the assembler decides, after all passes.
DECIDED_BY_ASSEMBLER = frozenset({"IRL104", "IRL105", "IRL106", "IRL404"})


def _line_of(operation: Operation) -> SourceLocation | None:
    return user_frame(operation.location)


def _at(module: Module, source: SourceLocation | None, *names: str) -> Operation | None:
    """Return the first operation of a line of Python with one of these names."""
    if source is None:
        return None
    place = (source.file, source.line)
    frames = ((each, _line_of(each)) for each in module.named(*names))
    return next((each for each, at in frames if at and (at.file, at.line) == place), None)


def _enclosing(module: Module, operation: Operation | None, name: str) -> Operation | None:
    """Return the innermost operation of a name around another one."""
    while operation is not None and operation.parent is not None:
        operation = module.operations[operation.parent]
        if operation.name == name:
            return operation
    return None
