"""Records of what the compiler's passes did to a kernel, one after the other."""

from typing import Literal, TypeAlias

import msgspec

from irlens.model.code import CodeComparison
from irlens.model.comparison import Side
from irlens.model.conversions import Conversion
from irlens.model.source import SourceLocation

#: Version of ``Passes``, incremented when a path is renamed, removed or redefined.
PASSES_SCHEMA = 1

#: Number of operations by name.
Counts: TypeAlias = dict[str, int]
CrossingKind: TypeAlias = Literal["first", "last"]


class TextChange(msgspec.Struct, frozen=True):
    """Consecutive lines of a text that are replaced.

    Attributes:
        start: 0-based line of the text before, of which this many lines precede the change.
        removed: Number of lines that go.
        added: The lines that come, without their line breaks.
    """

    start: int
    removed: int
    added: tuple[str, ...]


class PassRun(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a pass.

    Attributes:
        number: 1-based, in the order of execution.
        name: "TritonGPUPipeline".
        argument: Its name in a pipeline's description, "tritongpu-pipeline"; empty if unknown.
        options: What it was run with, "num-stages=4"; empty if nothing.
        stage: The stage that its pipeline makes: "ttir", "ttgir" or "llir"; of LLVM's passes "llvm"
            for its optimizer and "codegen" for its code generator.
        function: The function that it ran on; empty for the whole module.
        seconds: Its time, without that of printing; ``None`` if the compiler did not say it.
        changed: Whether the IR differs afterwards in more than locations; ``None`` for the last
            pass, after which the compiler prints nothing, and where what it printed is cut.
        came: Operations that there are more of afterwards.
        went: Operations that there are fewer of.
        lines_before: Lines of the IR before it.
        lines_after: Lines afterwards; ``None`` if unknown.
        changes: The lines that it replaces; empty unless asked for.
    """

    number: int
    name: str
    argument: str
    options: str
    stage: str
    function: str
    seconds: float | None
    changed: bool | None
    came: Counts
    went: Counts
    lines_before: int
    lines_after: int | None
    changes: tuple[TextChange, ...] = ()


class Crossing(msgspec.Struct, frozen=True, kw_only=True):
    """The pass that brings an operation, or removes it.

    Attributes:
        operation: The full name of the operation, the layout or the attribute.
        kind: "first": the kernel has it for the first time after the pass; "last": the pass
            removes the last one.
        number: The pass; ``None`` if none does: the IR has it from the start, or to the end.
    """

    operation: str
    kind: CrossingKind
    number: int | None


class LineStep(msgspec.Struct, frozen=True, kw_only=True):
    """What a pass made of a line of Python.

    Attributes:
        number: The pass; 0 for the IR before the first one.
        operations: The line's operations after the pass, by name.
        text: The first line of each as written, without locations.
    """

    number: int
    operations: Counts
    text: list[str]


class FollowedLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line of Python through the passes.

    Attributes:
        source: The line.
        code: Its text; empty if unknown.
        steps: The IR at first, then the passes that changed its operations.
        until: The last pass whose IR could be read; later ones were not looked at.
    """

    source: SourceLocation
    code: str
    steps: list[LineStep]
    until: int


class Insertion(msgspec.Struct, frozen=True, kw_only=True):
    """A layout conversion of the last ttgir.

    Attributes:
        conversion: Where and between which layouts it is, without what it costs.
        number: The pass that inserted it: the last one after which its line has a conversion to
            this layout, and before which it has none; 0 where the first IR has it, as Gluon's does;
            ``None`` where the IR before it cannot be read.
        between: The pass from which on it is one between these two layouts; the same, or a later
            one that changed the layout that it reads.
    """

    conversion: Conversion
    number: int | None
    between: int | None


class PassChange(msgspec.Struct, frozen=True, kw_only=True):
    """What one pass changed, by meaning: a pass by its number, and the rows."""

    number: int
    code: CodeComparison


class PassDifference(msgspec.Struct, frozen=True, kw_only=True):
    """How far two compilations differ after a pass that both ran.

    Attributes:
        name: The pass.
        before_number: Its number in the first compilation.
        after_number: Its number in the second.
        differing: Lines of the two IRs that differ in meaning; of LLVM's passes, instructions of a
            kind of which one compilation has more than the other.
        grown: How many more than after the last pass that both ran.
    """

    name: str
    before_number: int
    after_number: int
    differing: int
    grown: int


class DifferingLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line of Python whose IR differs after a pass.

    Attributes:
        source: The line.
        code: Its text; empty if unknown.
        differing: Lines of IR of it that differ; those of the second compilation, and those that
            only the first has.
    """

    source: SourceLocation
    code: str
    differing: int


class StageDifference(msgspec.Struct, frozen=True, kw_only=True):
    """How far two compilations differ in a stage after all passes of MLIR.

    Attributes:
        stage: "llir", what LLVM's optimizer leaves; "ptx" or "amdgcn", what its code generator
            makes of that.
        differing: Lines that differ in meaning.
        came: Instructions that the second has more of.
        went: Instructions that the second has fewer of.
        lines: The lines of Python that the differing lines belong to.
    """

    stage: str
    differing: int
    came: Counts
    went: Counts
    lines: list[DifferingLine]


class PassesDiff(msgspec.Struct, frozen=True, kw_only=True):
    """Two compilations held against each other, pass by pass.

    Attributes:
        before: The first.
        after: The second.
        at_start: Lines that differ before the first pass.
        passes: The passes that both ran, after which the IR was compared.
        first: The number in the second compilation of the first pass after which they differ (more
            than at the start, if they do there); ``None`` if there is none.
        only_before: Names of passes that change something in the first compilation and that the
            second does not run.
        only_after: Those of the second.
        code: The difference after the first pass; ``None`` if there is none.
        lines: The lines of Python that it belongs to, those with most of it first.
        llvm: The passes of LLVM that both ran, if they were asked for.
        after_passes: The stages after the passes.
        registers: Registers per thread of both; ``None`` where unknown.
    """

    before: Side
    after: Side
    at_start: int
    passes: list[PassDifference]
    first: int | None
    only_before: list[str]
    only_after: list[str]
    code: CodeComparison | None
    lines: list[DifferingLine] = []
    llvm: list[PassDifference] = []
    after_passes: list[StageDifference] = []
    registers: tuple[int | None, int | None] = (None, None)

    @property
    def different(self) -> bool:
        """Whether they differ after a pass, or in what is made after all passes."""
        later = any(each.differing for each in self.after_passes)
        return bool(self.at_start) or self.first is not None or later


class Passes(msgspec.Struct, frozen=True, kw_only=True):
    """The passes of one compilation of a kernel.

    Attributes:
        schema: Version of this interface.
        compiled: The kernel, GPU, Triton and configuration.
        runs: Every run of a pass, in order.
        bytes: Size of the IR that the compiler printed.
        remarks: What else the compiler said: its remarks, warnings and the assembler's lines.
        shown: The changes of the passes that were asked for; of those of one name, the runs that
            change something.
        crossings: The passes that bring or remove the operations that were asked for.
        followed: The line that was asked for.
        insertions: The layout conversions of the last ttgir; ``None`` unless asked for.
        first: The IR before the first pass, to which the passes' changes can be applied in order;
            empty unless asked for.
    """

    schema: int
    compiled: Side
    runs: list[PassRun]
    bytes: int
    remarks: list[str] = []
    shown: list[PassChange] = []
    crossings: list[Crossing] = []
    followed: FollowedLine | None = None
    insertions: list[Insertion] | None = None
    first: str = ""
