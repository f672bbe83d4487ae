"""Changes against kernels that need too many registers: slow accesses, warps, tiles."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from irlens.analyze.counterfactuals.accesses import of_narrow
from irlens.analyze.counterfactuals.change import (
    Change,
    Maker,
    Symptom,
    fewer_warps,
    more_registers,
    more_warps,
)
from irlens.analyze.counterfactuals.launches import smaller_tiles
from irlens.analyze.counterfactuals.loads import of_load
from irlens.model.report import Finding

_ASK_FOR_REGISTERS: Mapping[str, Maker] = {"IRL203": of_load, "IRL301": of_narrow}


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
    tried = set[str]()
    for others in _slow_accesses(symptom.others):
        one = _together(others)
        for change in _ASK_FOR_REGISTERS[one.code](msgspec.structs.replace(symptom, finding=one)):
            if change.settings or change.ttir in tried:  # another GPU is no experiment on this one
                continue
            tried.add(change.ttir)
            places = " and ".join(str(each.source) for each in others if each.source)
            blamed = f"{one.code} at {places}" if places else one.code
            yield msgspec.structs.replace(
                change,
                words=f"{change.words}, against {blamed}",
                cause=f"{blamed}: {one.message}",
            )
    steps = symptom.occupancy.next_step if symptom.occupancy is not None else []
    step = next((each for each in steps if each.resource == "registers"), None)
    if symptom.finding.code == "IRL102" and step and symptom.registers and not symptom.is_amd:
        most = symptom.registers + step.change
        yield Change(f"maxnreg={most} in place of {symptom.registers}", {"maxnreg": str(most)})
    for change in (*more_warps(symptom), *smaller_tiles(symptom), *fewer_warps(symptom)):
        yield msgspec.structs.replace(change, is_cause=False)


def _slow_accesses(findings: Sequence[Finding]) -> Iterator[list[Finding]]:
    """Yield each finding that may take registers, then all of narrow accesses together."""
    yield from ([each] for each in findings if each.code in _ASK_FOR_REGISTERS)
    narrow = [each for each in findings if each.code == "IRL301" and _is_by_arguments(each)]
    if len(narrow) > 1:
        yield narrow


def _is_by_arguments(finding: Finding) -> bool:
    return finding.blame is not None and finding.blame.kind == "alignment"


def _together(findings: Sequence[Finding]) -> Finding:
    """Return one finding that blames the arguments of all."""
    first = findings[0]
    if first.blame is None or len(findings) == 1:
        return first
    blames = [each.blame for each in findings if each.blame is not None]
    names = list(dict.fromkeys(name for each in blames for name in each.arguments))
    blame = msgspec.structs.replace(first.blame, arguments=names)
    message = "; ".join(each.message for each in findings)
    return msgspec.structs.replace(first, message=message, blame=blame)
