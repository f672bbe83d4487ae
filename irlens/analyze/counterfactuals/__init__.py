"""What to change, and nothing else, so that a finding goes if its explanation is right."""

from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from irlens.analyze.counterfactuals import accesses, descriptors, launches, loads, products
from irlens.analyze.counterfactuals.accesses import ACCESSES
from irlens.analyze.counterfactuals.change import (
    SPECIALIZING,
    WAVES,
    Change,
    Maker,
    Symptom,
    enough_warps,
    fewer_warps,
    more_registers,
    more_warps,
    relieving,
)
from irlens.analyze.counterfactuals.products import DOTS
from irlens.isa.mlir.operations import Deed, names_of
from irlens.model.report import Finding

__all__ = [
    "ACCESSES",
    "ALLOCATES",
    "COALESCES",
    "CONVERTS",
    "DECIDED_BY_ASSEMBLER",
    "DOTS",
    "LASTING",
    "LIMITS",
    "LOOP_FINDINGS",
    "MARKS",
    "NEEDS_REGISTERS",
    "PIPELINE_FINDINGS",
    "RENAMED",
    "Change",
    "Symptom",
    "by_assembler",
    "changes_for",
    "decided_by",
    "is_pass",
    "may_need_passes",
]

#: Findings about accesses that take registers.
_ASK_FOR_REGISTERS = frozenset({"IRL203", "IRL301"})


def of_registers(symptom: Symptom) -> Iterator[Change]:
    """Yield what asks for the registers: the kernel's slow accesses; then warps and tiles.

    An access in narrow pieces, or one that is not pipelined, takes registers for addresses and
    values. More warps, and smaller tiles, leave each thread fewer elements of every tensor: they
    prove what ``register_holders`` finds. A limit of the configuration is lifted first. Fewer warps
    leave each thread more registers, for tensors that no more warps divide. Where registers limit
    the occupancy (IRL102), a limit of as many as would admit another CTA changes the cause itself.
    """
    if symptom.finding.code != "IRL102":
        yield from more_registers(symptom)
    elif symptom.blame.kind == "allocated":
        yield Change(f"{WAVES}=0", {WAVES: "0"})
    tried = set[str]()
    for others in _slow_accesses(symptom.others):
        one = _together(others)
        for change in _MAKERS[one.code](replace(symptom, finding=one)):
            if change.settings or change.ttir in tried:  # another GPU is no experiment on this one
                continue
            tried.add(change.ttir)
            places = " and ".join(str(each.source) for each in others if each.source)
            blamed = f"{one.code} at {places}" if places else one.code
            yield replace(
                change,
                words=f"{change.words}, against {blamed}",
                cause=f"{blamed}: {one.message}",
                against=one,
            )
    steps = symptom.occupancy.next_step if symptom.occupancy is not None else []
    step = next((each for each in steps if each.resource == "registers"), None)
    if symptom.finding.code == "IRL102" and step and symptom.registers and not symptom.is_amd:
        most = symptom.registers + step.change
        yield Change(f"maxnreg={most} in place of {symptom.registers}", {"maxnreg": str(most)})
    ways = (*more_warps(symptom), *launches.smaller_tiles(symptom), *fewer_warps(symptom))
    yield from map(relieving, ways)


def _slow_accesses(findings: Sequence[Finding]) -> Iterator[list[Finding]]:
    """Yield each finding whose access may take registers, then all narrow accesses at once."""
    yield from ([each] for each in findings if each.code in _ASK_FOR_REGISTERS)
    narrow = [
        each for each in findings
        if each.code == "IRL301" and each.blame is not None and each.blame.kind == "alignment"
    ]  # fmt: skip
    if len(narrow) > 1:
        yield narrow


def _together(findings: Sequence[Finding]) -> Finding:
    """Return one finding that blames the arguments of all."""
    first = findings[0]
    if first.blame is None or len(findings) == 1:
        return first
    blames = [each.blame for each in findings if each.blame is not None]
    names = list(dict.fromkeys(name for each in blames for name in each.arguments))
    blame = replace(first.blame, arguments=names)
    message = "; ".join(each.message for each in findings)
    return replace(first, message=message, blame=blame)


_MAKERS: Mapping[str, Maker] = {
    "IRL101": launches.of_refusal,
    "IRL102": of_registers,
    "IRL103": launches.of_shared_memory,
    "IRL104": of_registers,
    "IRL105": of_registers,
    "IRL106": of_registers,
    "IRL107": launches.of_tensor_memory,
    "IRL201": loads.of_shallow_loop,
    "IRL202": loads.more_stages,
    "IRL203": loads.of_load,
    "IRL204": loads.stages_of_its_own,
    "IRL205": descriptors.of_one_kind_of_warp,
    "IRL206": loads.of_unused_stages,
    "IRL301": accesses.of_narrow,
    "IRL302": accesses.of_uncoalesced,
    "IRL303": accesses.of_conflict,
    "IRL304": accesses.of_outside,
    "IRL305": launches.of_redundant,
    "IRL306": launches.of_reread,
    "IRL307": accesses.of_misaligned,
    "IRL308": accesses.of_fence,
    "IRL309": accesses.of_repeated,
    "IRL310": more_warps,
    "IRL311": descriptors.of_pointers,
    "IRL312": launches.of_contended,
    "IRL313": accesses.of_scattered,
    "IRL314": loads.stages_around,
    "IRL315": accesses.of_branched,
    "IRL316": fewer_warps,
    "IRL401": products.of_dot,
    "IRL402": products.of_padding,
    "IRL403": enough_warps,
    "IRL404": products.of_serialized,
    "IRL405": products.of_converted,
    "IRL406": products.of_promoted,
    "IRL501": launches.of_tail,
    "IRL502": launches.of_small_grid,
}
_LOADS: tuple[Deed, ...] = ("load", "load tile")
_DEEDS: Mapping[str, tuple[Deed, ...]] = {
    "IRL101": ("allocate shared",),
    "IRL103": ("allocate shared",),
    "IRL107": ("allocate tensor memory",),
    "IRL201": ("for",),
    "IRL202": ("for",),
    "IRL203": _LOADS,
    "IRL204": ("for", "while"),
    "IRL205": ("for",),
    "IRL206": ("for",),
    "IRL301": ACCESSES,
    "IRL302": ACCESSES,
    "IRL303": ("load shared", "store shared", "allocate shared"),
    "IRL305": _LOADS,
    "IRL307": ACCESSES,
    "IRL308": ("atomic",),
    "IRL309": ACCESSES,
    "IRL310": ("relayout",),
    "IRL311": _LOADS,
    "IRL314": ("relayout",),
    "IRL315": ACCESSES,
    "IRL316": DOTS,
    "IRL401": DOTS,
    "IRL402": DOTS,
    "IRL403": ("reduce", "scan"),
    "IRL404": DOTS,
    "IRL405": DOTS,
}
#: Findings about what all operations of a loop's line become.
LOOP_FINDINGS = frozenset(
    {"IRL201", "IRL202", "IRL204", "IRL205", "IRL206", "IRL303", "IRL311", "IRL314"}
)
#: NVIDIA's pass that gives products to the tensor cores, which an experiment gives other types.
_ACCELERATES = "TritonGPUAccelerateMatmul"
#: Findings that no comparison of dumps leads to. IRL305: a pass leaves the load where it is, since
#: it moves loads out of loops that store nothing (Triton's ``LoopInvariantCodeMotion.cpp``).
_DECIDED_BY: Mapping[str, str] = {
    "IRL107": _ACCELERATES,
    "IRL304": "the addresses",
    "IRL305": "TritonLoopInvariantCodeMotion",
    "IRL306": "the launch",
    "IRL311": "the source",
    "IRL312": "the addresses",
    "IRL313": "the data",
    "IRL315": "TritonAMDGPUConvertToBufferOps",
    "IRL402": _ACCELERATES,
    "IRL406": "the front end",
    "IRL501": "the launch",
    "IRL502": "the launch",
}
#: Kinds of shallow loops of AMD that a pass decides, and not LLVM.
_OF_PASSES = frozenset({"buffered", "chained", "divided", "refused"})
#: AMD's pass that places the loads of loops into stages.
_OF_AMD = "TritonAMDGPUScheduleLoops"
#: The pass that awaits products.
_PIPELINES = "TritonGPUPipeline"
#: The pass that gives threads their elements.
COALESCES = "TritonGPUCoalesce"
#: NVIDIA's pass that makes instructions of accesses.
CONVERTS = "ConvertTritonGPUToLLVM"
#: The pass that makes pointers of descriptors on GPUs without TMA.
_WITHOUT_TMA = "TritonRewriteTensorDescriptorToPointer"
#: The pass that divides tiles among the CTAs of a cluster, and what newer versions call it.
_PLANS_CTAS = "TritonGPUPlanCTAPass"
#: NVIDIA's pass that allots shared memory, scratch of conversions and reductions included.
ALLOCATES = "AllocateSharedMemoryNv"
RENAMED: Mapping[str, str] = {
    ALLOCATES: "AllocateAMDGPUSharedMemory",
    CONVERTS: "ConvertTritonAMDGPUToLLVM",
    _ACCELERATES: "TritonAMDGPUAccelerateMatmul",
    _PLANS_CTAS: "TritonNvidiaGPUAssignCGALayoutsPass",
    _OF_AMD: "TritonGPUAssignLatencies",  # NVIDIA's
}
#: The same of findings of one kind.
_BY_KIND: Mapping[tuple[str, str], str] = {
    ("IRL202", "fenced"): "LLVM",
    ("IRL203", "several"): _OF_AMD,
    ("IRL302", "rows"): "the tile",
    ("IRL305", "several"): "the loops",
    ("IRL309", "ctas"): _PLANS_CTAS,
    ("IRL309", "lanes"): "TritonGPURemoveLayoutConversions",
    ("IRL311", "target"): _WITHOUT_TMA,
    ("IRL314", "operand"): "the order of operands",
    ("IRL401", "type"): _ACCELERATES,
    ("IRL405", "absent"): _ACCELERATES,
    ("IRL405", "scaled"): _ACCELERATES,
    ("IRL405", "widened"): "the operands' types",
}
#: What the names of the passes have in them that may decide a finding, where others change too.
MARKS: Mapping[str, tuple[str, ...]] = {"IRL205": SPECIALIZING}
#: Findings about conversions that the pass which removes them elsewhere decides.
LASTING = frozenset({"IRL310"})
#: Findings about the occupancy, which are gone where it is higher.
LIMITS = frozenset({"IRL102", "IRL103"})
#: Findings that a kernel has because it needs too many registers.
NEEDS_REGISTERS = frozenset({"IRL102", "IRL104", "IRL105", "IRL106"})
#: Findings about loops that are not pipelined, or not as deep as requested.
PIPELINE_FINDINGS = frozenset({"IRL201", "IRL202", "IRL203"})
#: Findings that the assembler decides, after all passes.
DECIDED_BY_ASSEMBLER = frozenset({"IRL102", "IRL104", "IRL105", "IRL106", "IRL404"})


def operations_of(code: str) -> frozenset[str]:
    """Return the names of the operations that findings of a code are about; empty if unknown."""
    return names_of(*_DEEDS.get(code, ()))


def decided_by(finding: Finding) -> str:
    """Return what decides a finding, a pass or not, where no comparison of dumps leads to it."""
    code, kind = finding.code, finding.blame.kind if finding.blame is not None else ""
    if code == "IRL101" and kind != "shared_memory":
        return "the assembler" if kind == "registers" else "the configuration"
    suffices = finding.blame.suffices if finding.blame is not None else None
    in_gluon = code == "IRL302" and finding.stage == "ttgir" and kind == "held"
    if code == "IRL303" and suffices and kind != "vector":
        return COALESCES
    if in_gluon or (code == "IRL303" and suffices):
        return "the layout of the vector"
    if code == "IRL404" and finding.stage == "ttgir":
        return _PIPELINES
    if code == "IRL201" and finding.stage == "amdgcn" and kind not in _OF_PASSES:
        return "LLVM"
    return _BY_KIND.get((code, kind)) or _DECIDED_BY.get(code, "")


def by_assembler(finding: Finding) -> bool:
    """Whether the assembler decides a finding, after all passes."""
    return finding.code in DECIDED_BY_ASSEMBLER and finding.stage != "ttgir"


def may_need_passes(code: str) -> bool:
    """Whether the compiler's passes may say what decides a finding, or what it is about."""
    if code in ("IRL311", "IRL404"):  # a pass, on GPUs without TMA, or of products that it awaits
        return True
    known = _DECIDED_BY.get(code, "")
    return code not in DECIDED_BY_ASSEMBLER and (not known or is_pass(known))


def is_pass(name: str) -> bool:
    """Whether what decides is a pass of MLIR's, whose IR is known."""
    return bool(name) and name not in ("ptxas", "LLVM") and " " not in name


def changes_for(symptom: Symptom) -> list[Change]:
    """Return the changes to try against a finding, the most telling first."""
    maker = _MAKERS.get(symptom.finding.code)
    found = list(maker(symptom)) if maker is not None else []
    if symptom.module.stage != "ttir":  # Gluon's layouts are in its ttgir
        return [each for each in found if each.settings]
    return [each for each in found if each.settings or each.ttir != symptom.module.text]
