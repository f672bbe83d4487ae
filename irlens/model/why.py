"""Records of why a finding is there: the pass that decides it, and what was tried against it."""

from typing import Literal, TypeAlias

import msgspec

from irlens.model.comparison import Side
from irlens.model.report import Finding

#: Version of ``Explanations``, incremented when a path is renamed, removed or redefined.
WHY_SCHEMA = 1

#: "proved": the finding goes where the blamed cause alone is changed; "relieved": it goes with a
#: change that leaves its cause alone, as more warps leave what takes the registers; "refuted": it
#: stays whatever was tried; "untested": nothing could be tried.
Proof: TypeAlias = Literal["proved", "relieved", "refuted", "untested"]


class Experiment(msgspec.Struct, frozen=True, kw_only=True):
    """A recompilation in which one thing is changed.

    Attributes:
        change: What is changed, in words.
        gone: Whether the finding is gone from its line; ``None`` if the kernel does not compile so,
            or cannot be launched.
        is_cause: Whether that is the blamed cause; else the change may only relieve the finding.
        error: Why it does not compile; empty if it does.
        instead: A finding that has come in its place: of the same code and line for another cause,
            or of registers that are spilled now; where it stays, its other reason. Empty if none.
        spilled: The finding of registers that are spilled with the change and were not without it;
            empty if there is none.
        before_us: The estimated time without the change; ``None`` if unknown.
        after_us: That with it.
    """

    change: str
    gone: bool | None
    is_cause: bool = True
    error: str = ""
    instead: str = ""
    spilled: str = ""
    before_us: float | None = None
    after_us: float | None = None


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """Why a finding is there.

    Attributes:
        finding: The finding.
        cause: What is blamed, in words: the finding's own reason, or another finding whose change
            removes this one too; empty if unknown.
        decided_by: The pass after which the finding's line first differs from that of the
            experiment without the finding, "TritonGPUCoalesce"; "ptxas", "LLVM" or "the
            launch" where that decides; empty if unknown.
        number: The number of the pass in the compilation, see ``irlens passes``; ``None`` for a
            pass that only the experiment runs, and where no pass decides.
        operations: The operations of the line that it is about before that pass, as written.
        said: What the compiler said about it: remarks, and lines of ptxas.
        experiments: What was tried, the proof first.
        proof: See ``Proof``.
    """

    finding: Finding
    cause: str
    decided_by: str
    number: int | None
    operations: list[str]
    said: list[str]
    experiments: list[Experiment]
    proof: Proof


class Explanations(msgspec.Struct, frozen=True, kw_only=True):
    """The findings of one compilation, explained.

    Attributes:
        schema: Version of this interface.
        compiled: The kernel, GPU, Triton and configuration.
        explanations: In the order of the report's findings.
        unexplained: Codes of other findings, of which irlens has no experiment and no pass.
        left: The findings that were not looked at because the user interrupted.
        passes_unknown: Why the pass that decides is unknown: "Triton 3.9.0 printed no IR between
            its passes"; empty where they were printed, or not needed.
    """

    schema: int
    compiled: Side
    explanations: list[Explanation]
    unexplained: list[str]
    left: list[Finding] = []
    passes_unknown: str = ""
