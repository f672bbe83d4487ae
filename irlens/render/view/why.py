"""Explained findings as nodes: what decides each, and what was tried against it."""

from collections.abc import Iterator, Sequence

from irlens.model.report import Finding
from irlens.model.text import microseconds
from irlens.model.why import Experiment, Explanation, Explanations
from irlens.render.view import nodes
from irlens.render.view.nodes import Node, Run, Tone, text
from irlens.render.view.passes import compiled_settings

_TONES: dict[str, Tone] = {
    "proved": "good", "relieved": "warn", "refuted": "warn", "untested": "dim",
}  # fmt: skip
_VERDICTS = {
    "proved": "proved: the finding goes with its cause",
    "relieved": "likely, not proved: the finding goes with a change that leaves its cause alone",
    "refuted": "not proved: the finding stays whatever was tried",
    "untested": "likely, not tested: no experiment exists for this cause",
}
_NO_CAUSE = "cause not found: the finding goes with a change that leaves its cause alone"
#: What a pass leaves undone, where the dumps do not show it.
_LEFT = {
    ("IRL305", ""): "which moves loads out of loops that store nothing only",
    ("IRL401", "type"): "which leaves such products to multiply-adds",
    ("IRL405", "absent"): "which converts the factors to a type that the GPU multiplies",
    ("IRL405", "scaled"): "which scales the factors and multiplies them in a wider type",
    ("IRL203", "several"): "which leaves such loads to the iteration that uses them",
}
#: What decides that is no pass.
_OUTSIDE = {
    "the launch": "its grid and the order of its programs, which no pass changes",
    "the source": "no pass makes descriptors of pointers",
    "the addresses": "the source computes them, and no pass changes them",
    "the configuration": "num_warps gives a CTA its threads",
    "the assembler": "it assigns registers after all passes",
    "the tile": "its shape, which no pass changes",
    "the operands' types": "no pass multiplies what they were before",
    "the order of operands": "no pass exchanges them",
    "the layout of the vector": "no pass changes it",
    "the loops": "no pass keeps what one has loaded for another",
    "the data": "they are the addresses, which no pass knows",
    "the front end": "Triton promotes types before any pass",
}
#: Operations that are shown.
_MOST_OPERATIONS = 4


def why_view(explanations: Explanations) -> nodes.Section:
    """Return the explanations of findings."""
    children: list[Node] = [compiled_settings(explanations.compiled)]
    told = set[str]()
    for each in explanations.explanations:
        children.append(_section(each, [line for line in each.said if line not in told]))
        told.update(each.said)
    if not explanations.explanations and not explanations.unexplained:
        children.append(nodes.Sentence("no findings to explain"))
    if explanations.unexplained:
        children.append(nodes.Sentence(_unexplained(explanations.unexplained), "dim"))
    if explanations.passes_unknown:
        unknown = f"Which pass decides is unknown: {explanations.passes_unknown}."
        children.append(nodes.Sentence(unknown, "warn"))
    if explanations.left:
        left = ", ".join(map(_place, explanations.left))
        children.append(nodes.Sentence(f"Interrupted, and not looked at: {left}", "warn"))
    return nodes.Section(explanations.compiled.kernel, tuple(children), key="why")


def _unexplained(codes: Sequence[str]) -> str:
    """Return what no experiment exists for, and the command that says what is known."""
    known = ", ".join(f"irlens explain {code}" for code in codes)
    tells, them = ("tell", "them") if len(codes) > 1 else ("tells", "it")
    return (
        f"No experiment exists for {', '.join(codes)}: what decides {them} was not tested. "
        f"{known} {tells} what is known."
    )


def _section(explanation: Explanation, said: Sequence[str]) -> nodes.Section:
    """Return an explanation, with the lines of the compiler that no other has shown."""
    return nodes.Section(
        _place(explanation.finding),
        tuple(_nodes(explanation, said)),
        key="explanation",
        wide=True,
    )


def _place(finding: Finding) -> str:
    """Return a finding's code and line."""
    place = f" at {finding.source}" if finding.source is not None else ""
    return f"{finding.code}{place}"


def summary(explanations: Explanations) -> list[Run]:
    """Return the explanation of one finding in phrases, for a line below it."""
    if not explanations.explanations:
        return [Run("no experiment exists for this finding", "dim")]
    explanation = explanations.explanations[0]
    phrases = [_verdict(explanation)]
    if explanation.decided_by:
        number = f", pass {explanation.number}" if explanation.number is not None else ""
        phrases.append(Run(f"decided by {explanation.decided_by}{number}"))
    elif explanations.passes_unknown:
        phrases.append(Run(explanations.passes_unknown, "warn"))
    if explanation.experiments:
        phrases.append(_tried(explanation.experiments[0]))
    return phrases


def _verdict(explanation: Explanation) -> Run:
    proof = explanation.proof
    if proof == "untested" and explanation.experiments:
        cause = "likely" if explanation.cause else "cause not found"
        return Run(f"{cause}, not tested: nothing that was tried has a result", _TONES[proof])
    if proof == "untested" and not explanation.cause:
        return Run("cause not found, and no experiment exists", "dim")
    known = proof != "relieved" or explanation.cause not in ("", explanation.finding.message)
    return Run(_VERDICTS[proof] if known else _NO_CAUSE, _TONES[proof])


def _nodes(explanation: Explanation, said: Sequence[str]) -> Iterator[Node]:
    yield nodes.Headline((_verdict(explanation),))
    yield nodes.Sentence(explanation.finding.message)
    facts = []
    if explanation.cause not in explanation.finding.message:
        facts.append(nodes.Fact("Cause", text(Run(explanation.cause))))
    if explanation.decided_by:
        facts.append(nodes.Fact("Decided by", text(Run(_decided(explanation)))))
    if explanation.operations:
        shown = explanation.operations[:_MOST_OPERATIONS]
        left = len(explanation.operations) - len(shown)
        lines = [*shown, *([f"{left} more"] if left else [])]
        facts.append(nodes.Fact("Operation", text(Run("; ".join(lines)))))
    if facts:
        yield nodes.Facts(tuple(facts))
    if explanation.experiments:
        yield nodes.Items(tuple(text(_tried(each)) for each in explanation.experiments))
    if said:
        lines_said = tuple(text(Run(line)) for line in said)
        yield nodes.Section("The compiler said", (nodes.Items(lines_said),), key="remarks")


def _decided(explanation: Explanation) -> str:
    name, number = explanation.decided_by, explanation.number
    finding = explanation.finding
    left = _LEFT.get((finding.code, finding.blame.kind if finding.blame is not None else ""))
    if finding.blame is not None and finding.blame.kind == "conversion":
        left = "which inserts the conversion"
    if finding.code == "IRL404":
        left = (
            "which lets a product run on if its operands are copied and no other operation needs it"
        )
    if number is not None and left is not None:
        return f"{name}, pass {number}, {left}"
    if number is not None:
        what = "line" if finding.source is not None else "kernel"
        return (
            f"{name}, pass {number}: the first that treats the {what} differently with the change"
        )
    if name in _OUTSIDE:
        return f"{name}: {_OUTSIDE[name]}"
    if name in ("ptxas", "LLVM"):
        return f"{name}, after all passes"
    return f"{name}, which this compilation does not run"


def _tried(experiment: Experiment) -> Run:
    without = experiment.change.startswith(("without ", "compiled for "))
    change = experiment.change if without else f"with {experiment.change}"
    if experiment.gone is None:
        return Run(f"{change}: no result: {experiment.error}", "dim")
    if not experiment.gone:
        reason = f", for another reason: {experiment.instead}" if experiment.instead else ""
        spilled = f"; {experiment.spilled}" if experiment.spilled else ""
        return Run(f"{change}: the finding stays{reason}{spilled}{_effect(experiment)}", "warn")
    come = " and ".join(filter(None, dict.fromkeys((experiment.instead, experiment.spilled))))
    instead = f", and another one has come: {come}" if come else ""
    if not experiment.is_cause:
        return Run(f"{change}: the finding goes, whatever its cause{instead}{_effect(experiment)}")
    return Run(f"{change}: the finding is gone{instead}{_effect(experiment)}", "good")


def _effect(experiment: Experiment) -> str:
    before, after = experiment.before_us, experiment.after_us
    if not before or not after:
        return "; its effect on the time is unknown"
    times = f"{microseconds(before)} → {microseconds(after)}"
    ratio = after / before
    if abs(ratio - 1) <= _NOISE:
        return f"; the estimated time stays: {times}"
    change = f"{abs(ratio - 1) * 100:.0f} % {'less' if ratio < 1 else 'more'} time"
    return f"; {change}, estimated: {times}"


#: Differences of estimated times that say nothing.
_NOISE = 0.03
