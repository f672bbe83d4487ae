"""Instruction mix: how many instructions of each class a function consists of."""

from collections import Counter

from irlens.isa.dialect import ClassifiedFunction, Instruction
from irlens.model.report import InstructionMix


def instruction_mix(function: ClassifiedFunction[Instruction]) -> InstructionMix:
    """Count a function's operations by class, each once however often it would run.

    A dual-issue instruction counts as the two operations that it issues.
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
    )
