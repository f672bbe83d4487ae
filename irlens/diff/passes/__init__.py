"""What each pass of the compiler changed, from the IR that it printed before each of them."""

import re
from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise

from msgspec.structs import replace

from irlens.analyze.capture_code import CaptureCode
from irlens.artifacts.pass_dumps import Dumps
from irlens.diff.code import compare_code
from irlens.diff.code.patience import common
from irlens.model.capture import Capture, Stage
from irlens.model.code import CodeComparison
from irlens.model.comparison import side_of
from irlens.model.errors import IrlensError, UnknownNameError
from irlens.model.passes import (
    PASSES_SCHEMA,
    Counts,
    Crossing,
    CrossingKind,
    Passes,
    PassRun,
    TextChange,
)

_OPERATION = re.compile(r"^ *(?:%[^=\n]* = )?\"?([a-z]\w*(?:\.\w+)+)(?![\w.])", re.MULTILINE)
#: An instruction of LLVM IR, and one of LLVM's machine code, without words such as "tail".
_OF_LLVM = re.compile(r"^  (?:%[\w.]+ = )?(?:\w+tail |tail )?([a-z]\w*)(?![\w:])", re.MULTILINE)
_OF_MACHINE = re.compile(r"^ +(?:[^=\n(]*? = )?(?:[a-z][a-z-]* )*([A-Z]\w+)", re.MULTILINE)
#: The definitions of locations, and a location after an operation or an argument.
_LOCATIONS = re.compile(
    r"^#loc\d* = .*\n?| ?\bloc\((?:[^()]|\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))*\)", re.MULTILINE
)
#: A pass with which a pipeline begins to lower ttgir.
_LOWERS = re.compile(r"Convert\w*GPUToLLVM\w*|SCFToControlFlow(Pass)?")
_TO_TTGIR = "ConvertTritonToTritonGPU"
#: The dialect of all IR between ttir and LLVM IR, as far as its text is concerned.
STAGE = "ttgir"
#: That of LLVM's IR, in whose comparisons its machine code is compared line by line.
_LLVM = "llir"


#: The folder of a file that a remark names.
_FOLDER = re.compile(r"(?<![\w.])/(?:[^/\s:\"]+/)*(?=[^/\s:\"]+:\d+:)")


def remarks_of(dumps: Dumps) -> list[str]:
    """Return what else the compiler said, without folders, which differ between machines."""
    return [_FOLDER.sub("", line.strip()) for line in dumps.remarks]


def _mark(name: str) -> re.Pattern[str]:
    """Return how a layout or an attribute is written."""
    return re.compile(rf"#{name}<|(?<![\w.%#]){name} = ")


class States:
    """The IR before and after each pass of a compilation."""

    def __init__(self, capture: Capture, dumps: Dumps) -> None:
        self.capture = capture
        self.dumps = dumps
        self.remarks = remarks_of(dumps)

    def __len__(self) -> int:
        return len(self.dumps.passes)

    def before(self, number: int) -> str:
        """Return the IR before a pass, by its 1-based number; empty if it is cut."""
        return self.dumps.passes[number - 1].text

    def after(self, number: int) -> str | None:
        """Return the IR after a pass, or 0 for the first IR; ``None`` if unknown."""
        after = self.dumps.passes[number].text if number < len(self) else self.dumps.last
        return after or None

    @cached_property
    def counts(self) -> list[Counter[str]]:
        """The operations of the IR before each pass, by name."""
        counted: list[Counter[str]] = []
        for index, each in enumerate(self.dumps.passes):
            is_same = index and each.text == self.dumps.passes[index - 1].text
            counted.append(counted[-1] if is_same else _counted(each.text, each.stage))
        return counted

    def counts_after(self, number: int) -> Counter[str]:
        """Return the operations of the IR after a pass, by name."""
        if number < len(self):
            return self.counts[number]
        return _counted(self.dumps.last, self.dumps.passes[-1].stage)

    @cached_property
    def stages(self) -> list[str]:
        """The stage that each pass belongs to."""
        names: dict[int, str] = {}
        passes = self.dumps.passes
        for each in passes:
            if _LOWERS.fullmatch(each.name):
                names[each.pipeline] = "llir"
        first = next((i for i, each in enumerate(passes) if each.name == _TO_TTGIR), None)
        return [
            each.stage
            or names.get(each.pipeline, "ttgir" if first is not None and index >= first else "ttir")
            for index, each in enumerate(passes)
        ]

    def numbers_of(self, stage: str) -> list[int]:
        """Return the passes that belong to a stage."""
        return [number for number, each in enumerate(self.stages, 1) if each == stage]

    def marks(self, name: str) -> list[str]:
        """Return the layouts and attributes of this name, or with this end, in any of the IR."""
        mark = _mark(rf"(?:\w+\.)*{re.escape(name)}")
        found = (mark.findall(each.text) for each in self.dumps.passes)
        return sorted({each.rstrip("< =").lstrip("#") for names in found for each in names})

    def numbers(self, name: str) -> list[int]:
        """Return the passes of a number or a name: "31", "TritonGPUPipeline", "pipeline".

        Raises:
            UnknownNameError: There is none.
        """
        if name.isascii() and name.isdecimal() and len(name) < 10:
            if 1 <= int(name) <= len(self):
                return [int(name)]
            raise IrlensError(f"there is no pass {name}", hint=f"passes are 1 to {len(self)}")
        passes = list(enumerate(self.dumps.passes, 1))
        wanted = name.lower()
        known = [(number, (each.name.lower(), each.argument.lower())) for number, each in passes]
        exact = [number for number, names in known if wanted in names]
        part = [number for number, names in known if wanted and any(wanted in n for n in names)]
        if found := exact or part:
            return found
        raise UnknownNameError("pass", name, {each.name for _, each in passes})

    def is_of_llvm(self, number: int) -> bool:
        """Whether a pass is LLVM's, whose functions are no MLIR."""
        return bool(self.dumps.passes[number - 1].stage)

    def code_of(self, text: str, stage: str = STAGE) -> CaptureCode:
        """Return the code of the capture with some IR in place of its stages."""
        stages = {stage: Stage(stage, content=text.encode())}
        return CaptureCode(replace(self.capture, stages=stages))


def _counted(text: str, stage: str) -> Counter[str]:
    if not stage:
        return Counter(_OPERATION.findall(text))
    is_machine = text.startswith("# Machine code")
    return Counter((_OF_MACHINE if is_machine else _OF_LLVM).findall(text))


def describe_passes(states: States, *, changes: bool = False) -> Passes:
    """Return every pass with what it changed.

    Args:
        changes: Whether to list the lines that each replaces.
    """
    runs = [_run(states, number) for number in range(1, len(states) + 1)]
    if changes:
        runs = [replace(each, changes=_lines(states, each.number)) for each in runs]
    return Passes(
        schema=PASSES_SCHEMA,
        compiled=side_of(states.capture, ""),
        runs=runs,
        bytes=states.dumps.size,
        remarks=states.remarks,
        first=states.before(1) if changes else "",
    )


def _lines(states: States, number: int) -> tuple[TextChange, ...]:
    before, after = states.before(number), states.after(number)
    return tuple(text_changes(before, after)) if before and after is not None else ()


def _run(states: States, number: int) -> PassRun:
    dump, before, after = states.dumps.passes[number - 1], states.before(number), None
    came: Counts = {}
    went: Counts = {}
    changed = None
    if before and (after := states.after(number)) is not None:
        one, two = states.counts[number - 1], states.counts_after(number)
        came, went = dict(sorted((two - one).items())), dict(sorted((one - two).items()))
        changed = before != after and without_locations(before) != without_locations(after)
    return PassRun(
        number=number,
        name=dump.name,
        argument=dump.argument,
        options=dump.options,
        stage=states.stages[number - 1],
        function=dump.function,
        seconds=dump.seconds,
        changed=changed,
        came=came,
        went=went,
        lines_before=before.count("\n"),
        lines_after=None if after is None else after.count("\n"),
    )


def without_locations(text: str) -> str:
    """Return a module without its locations."""
    return _LOCATIONS.sub("", text)


def text_changes(before: str, after: str) -> Iterator[TextChange]:
    """Yield the lines that turn one text into another, from its first line to its last."""
    if before == after:
        return
    ours, theirs = before.split("\n"), after.split("\n")
    whole = (0, len(ours), 0, len(theirs))
    at = other_at = 0
    for i, j in [*common(ours, theirs), (whole[1], whole[3])]:
        if i > at or j > other_at:
            yield TextChange(at, i - at, tuple(theirs[other_at:j]))
        at, other_at = i + 1, j + 1


def change_of(states: States, number: int, *, context: int = 3) -> CodeComparison:
    """Return what one pass changed, by meaning.

    Raises:
        IrlensError: It is the last one, after which the compiler prints nothing, or IR is cut.
    """
    after = states.after(number)
    if not states.before(number) or (after is None and number < len(states)):
        reason = "the printed IR is cut there"
        if states.dumps.last:
            reason = "MLIR prints the IR before each of its passes, LLVM after each"
        raise IrlensError(f"what pass {number} changes is unknown: {reason}")
    if after is None:
        raise IrlensError(
            f"what pass {number} changes is unknown: the compiler prints the IR before each pass,"
            " and this one is the last",
            hint="compare the llir: irlens inspect KERNEL --stage llir",
        )
    stage = _LLVM if states.is_of_llvm(number) else STAGE
    sides = states.code_of(states.before(number), stage), states.code_of(after, stage)
    return compare_code(*sides, stage, names=("before", "after"), context=context)


def crossing(states: States, named: str, kind: CrossingKind) -> Crossing:
    """Return the pass that brings an operation, a layout or an attribute first, or removes it last.

    Args:
        named: "ttg.async_copy_global_to_local", or the end of it; "ttg.nvidia_mma" for a layout,
            "allocation.offset" for an attribute.

    Raises:
        IrlensError: No IR has it, or the IR is cut where it crosses.
    """
    known = {name for counts in states.counts for name in counts}
    ending = sorted(name for name in known if name.endswith(f".{named}"))
    names = [named] if named in known else ending or states.marks(named)
    if len(names) != 1:
        raise UnknownNameError(
            "operation, layout or attribute of this kernel", named, names or known
        )
    written = _mark(re.escape(names[0])) if names[0] not in known else None
    has = [
        (number, counts[names[0]] > 0 if written is None else bool(written.search(text)))
        for number, counts in enumerate(states.counts, 1)
        if (text := states.before(number))
    ]
    changes = [(one[0], two[0]) for one, two in pairwise(has) if one[1] != two[1]]
    number = None
    if not has[0 if kind == "first" else -1][1]:
        number, after = changes[0 if kind == "first" else -1]
        if after > number + 1:
            raise IrlensError(
                f"the pass of the {kind} {names[0]} is unknown: "
                f"the printed IR is cut between passes {number} and {after}"
            )
    return Crossing(operation=names[0], kind=kind, number=number)
