"""Instruction mix: how many instructions of each class a function consists of."""

from collections import Counter

from irlens.isa.dialect import ClassifiedFunction, Instruction
from irlens.model.report import InstructionMix


def instruction_mix(
    function: ClassifiedFunction[Instruction], functions_left_out: int = 0
) -> InstructionMix:
    """Count a function's operations by class, each once however often it would run.

    A dual-issue instruction counts as the two operations that it issues.

    Args:
        function: The kernel, with what it calls.
        functions_left_out: Other functions of its module, which a call of it may run.
    """
    classes: Counter[str] = Counter()
    unknown: Counter[str] = Counter()
    for name, kind in function.classes():
        if kind is None:
            unknown[name] += 1
        else:
            classes[kind] += 1
    return InstructionMix(
        stage=function.stage,
        total=classes.total() + unknown.total(),
        classes=dict(sorted(classes.items(), key=lambda item: (-item[1], item[0]))),
        unknown=dict(sorted(unknown.items())),
        functions_left_out=functions_left_out,
    )
