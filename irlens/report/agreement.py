"""Whether the parts of a capture belong together: artifacts of another kernel are put aside.

Files of two compilations can end up in one directory, by a copy or by a damaged cache. Their
figures would be reported as those of one kernel.
"""

from collections import defaultdict
from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from irlens.analyze.facts import Provenance
from irlens.model.capture import Capture
from irlens.model.config import Config
from irlens.report import statements
from irlens.report.statements import METADATA, Statements

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
}  # fmt: skip
_UNKNOWN_CONFIG = Config(
    num_warps=None, num_stages=None, num_ctas=None, maxnreg=None, constexprs={}, args={},
    options=None,
)  # fmt: skip


class Contradiction(msgspec.Struct, frozen=True):
    """A part of a capture that is of another kernel than the rest, or one of two that differ.

    Attributes:
        part: A stage, or "metadata".
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
    """Return the parts that contradict others, in the order of ``statements.TOPICS``.

    On each topic the value that most parts state is right; of as many, the one that Triton's
    metadata state. Without either, all that state something are in doubt. A part that contradicts
    on one topic has no say in the next.
    """
    found: dict[str, Contradiction] = {}
    for topic in statements.TOPICS:
        parts: defaultdict[str, list[str]] = defaultdict(list)
        for part, values in stated.items():
            if part not in found and topic in values:
                parts[values[topic]].append(part)
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
        capture: Without the others.
        contradictions: What each of the others contradicts, in words.
    """

    capture: Capture
    contradictions: tuple[str, ...] = ()


def find_agreement(capture: Capture, provenance: Provenance) -> Agreement:
    """Put aside the parts of a capture that contradict others.

    Args:
        provenance: Receives why the figures of those parts are unknown.
    """
    stated = statements.read(capture)
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
    agreed = {stated[part].get("architecture") for part in stated if part not in aside} - {None}
    if capture.target is not None and agreed != {capture.target.arch}:
        reason = "the parts of this capture are of different architectures"
        provenance.missing(reason, "target", "occupancy")
        capture = replace(capture, target=None)
    return Agreement(capture, tuple(each.message for each in contradictions))
