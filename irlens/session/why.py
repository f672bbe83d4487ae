"""Why a finding is there: what decides it, and a recompilation without its cause as the proof."""

import re
from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from irlens import rules
from irlens.analyze import register_holders, ttgir_refusals
from irlens.analyze.capture_code import CaptureCode
from irlens.analyze.counterfactuals import (
    ACCESSES,
    ALLOCATES,
    COALESCES,
    CONVERTS,
    DOTS,
    LASTING,
    LIMITS,
    LOOP_FINDINGS,
    MARKS,
    NEEDS_REGISTERS,
    PIPELINE_FINDINGS,
    RENAMED,
    Change,
    Symptom,
    by_assembler,
    changes_for,
    decided_by,
    is_pass,
    may_need_passes,
    operations_of,
)
from irlens.analyze.facts import Provenance
from irlens.analyze.resources import find_gpu
from irlens.diff.passes.insertions import insertions
from irlens.diff.passes.lines import LineFollower, deciding, first_changing, follow, name_of
from irlens.isa.mlir import Module
from irlens.isa.mlir.types import Tensor
from irlens.model.capture import Capture
from irlens.model.comparison import side_of
from irlens.model.config import Config
from irlens.model.errors import ArtifactError, IrlensError, UnknownNameError
from irlens.model.estimate import RESOLUTION
from irlens.model.report import Finding
from irlens.model.terms import describe_largest, largest_buffer
from irlens.model.why import WHY_SCHEMA, Experiment, Explanation, Explanations, Proof
from irlens.session import Configurations
from irlens.session.configuration_choice import single_request
from irlens.session.outcomes import Outcome, Outcomes, printed_passes
from irlens.session.passes import nothing_printed
from irlens.session.reports import complete_report
from irlens.session.session import Session

if TYPE_CHECKING:  # it loads the compiler layer
    from irlens.compiler import Request

#: Lines of ptxas that explain what it decides.
_OF_ASSEMBLER = ("C75", "registers", "spill", "Potential Performance Loss")
#: What the pipeliner says of a loop at one of its operations, whose line may be another one's.
_NOT_PIPELINED = "Pipelining will be disabled"
#: Kinds of loops that wait for loads at once.
_EXPOSED = ("exposed", "refused", "fenced")
#: Changes that are tried after one that removes the finding and makes the kernel slower.
_MORE_TRIES = 2
#: The kind of loops that request fewer stages than the launch.
_OWN = "own"
#: Findings of one line, or of none, for several resources or causes, each for itself.
_REPEATED = "IRL309"
_OF_KINDS = ("IRL101", _REPEATED)
#: Findings about one access, of which a line may have several.
_OF_ACCESSES = frozenset({"IRL203", "IRL301", "IRL302", "IRL304", "IRL307", "IRL309"})
#: Those that the layout decides, or else the pass that makes instructions of accesses.
_OF_WIDTHS = frozenset({"IRL301", "IRL302", "IRL307"})
#: Findings about loops and their loads; what the passes that divide loops into stages are named by.
_OF_LOOPS, _STAGES = PIPELINE_FINDINGS | LOOP_FINDINGS, ("Latenc", "ScheduleLoops", "Pipeline")
#: The finding of a loop that waits for all that it loads.
_DRAINED = "IRL202"
#: The finding of a loop without requested stages.
_WITHOUT_STAGES = "IRL204"
#: The finding of a tile that a pipelined loop would not convert.
_CONVERTED = "IRL314"
#: The finding of a launch that the GPU refuses.
_REFUSED = "IRL101"
#: The finding of products that ptxas serialized.
_SERIALIZED = "IRL404"
#: The finding of registers that are spilled.
_SPILL = "IRL105"


#: Receives the number of explained findings, of all findings, and what is tried.
Progress: TypeAlias = Callable[[int, int, str], None]


def why(
    kernel: str,
    configurations: Configurations,
    session: Session,
    codes: tuple[str, ...] = (),
    progress: Progress = lambda done, total, current: None,
) -> Explanations:
    """Explain the findings of one compilation of KERNEL, and test each explanation.

    Args:
        codes: Codes or names of findings; all by default.

    Raises:
        IrlensError: KERNEL cannot be compiled.
        UnknownNameError: It has no finding of a code.
        KeyboardInterrupt: Before a finding is explained; later ones are then ``left``.
    """
    request, wanted = single_request(kernel, configurations, session), _codes_of(codes)
    passes = not wanted or any(map(may_need_passes, wanted))
    request = msgspec.structs.replace(request, passes=passes, remarks=not passes)
    return _explained(request, session, lambda laboratory: laboratory.selected(wanted), progress)


def why_finding(
    request: "Request",
    session: Session,
    finding: Finding,
    progress: Callable[[str], None] = lambda _: None,
) -> Explanations:
    """Explain one finding of a compilation, and test the explanation.

    Raises:
        IrlensError: It cannot be compiled, or no longer has the finding.
    """

    def select(laboratory: _Laboratory) -> list[Finding]:
        report = laboratory.report
        same = [each for each in report.findings if _is_same(each, finding)]
        if not same:
            place = f" at {finding.source}" if finding.source is not None else ""
            raise IrlensError(
                f"{report.kernel} has no {finding.code}{place} when it is compiled again",
                hint="its source has changed since: recompile it",
            )
        return same[:1]

    passes = may_need_passes(finding.code)
    request = msgspec.structs.replace(request, passes=passes, remarks=not passes)
    return _explained(request, session, select, lambda done, total, current: progress(current))


def _explained(
    request: "Request",
    session: Session,
    select: "Callable[[_Laboratory], list[Finding]]",
    progress: Progress,
) -> Explanations:
    progress(0, 1, "compiling")
    capture = _one(session, request)
    laboratory = _Laboratory(session, request, capture)
    findings = select(laboratory)
    explained: list[Explanation | None] = []
    try:
        for each in findings:
            label = f"{each.code}: trying "
            laboratory.progress = partial(_tried, progress, len(explained), len(findings), label)
            explained.append(laboratory.explain(each))
    except KeyboardInterrupt:
        if not any(explained):
            raise
    return Explanations(
        schema=WHY_SCHEMA,
        compiled=side_of(capture, ""),
        explanations=[each for each in explained if each is not None],
        unexplained=sorted(
            {f.code for f, each in zip(findings, explained, strict=False) if each is None}
        ),
        left=findings[len(explained) :],
        passes_unknown=laboratory.passes_unknown,
    )


def _tried(progress: Progress, done: int, total: int, label: str, change: str) -> None:
    progress(done, total, label + change)


def _one(session: Session, request: "Request") -> Capture:
    captures = session.compile(request)
    if len(captures) != 1:
        raise IrlensError(f"{request.kernel} has {len(captures)} configurations: select one")
    return captures[0]


def _codes_of(named: tuple[str, ...]) -> set[str]:
    """Return the codes of findings that are named by code or name."""
    names = {rule.NAME: rule.CODE for rule in rules.all_rules()}
    known = set(names.values())
    wanted = set()
    for code in named:
        found = names.get(code, code.upper())
        if found not in known:
            raise UnknownNameError("finding", code, known | set(names))
        wanted.add(found)
    return wanted


class _Laboratory:
    """One compilation, and recompilations with a change.

    A compilation that prints its passes takes several times as long as one that does not. Of the
    experiments, the change that removes a finding needs them: most often the first that is tried,
    whose passes are therefore printed at once.

    Args:
        request: What it was compiled for, with its passes or its remarks.
    """

    progress: Callable[[str], None]
    passes_unknown = ""

    def __init__(self, session: Session, request: "Request", capture: Capture) -> None:
        self._session, self._capture = session, capture
        self._request = msgspec.structs.replace(request, passes=False, remarks=False)
        self.report = complete_report(capture)
        self._outcomes = Outcomes()
        printed, unreadable = printed_passes(capture)
        self._remarks = printed.remarks if printed is not None else []
        self._states = printed or None
        if request.passes and self._states is None:
            self.passes_unknown = unreadable or nothing_printed(capture)
        self._recompiled: dict[tuple[object, ...], Capture] = {}
        code = CaptureCode(capture).source
        if code is None:
            raise ArtifactError(f"{capture.kernel}: no ttir and no ttgir in this capture")
        self._module = code.named

    def selected(self, wanted: set[str]) -> list[Finding]:
        """Return the findings of some codes; all of the report if there are none.

        Raises:
            IrlensError: There is no finding of a code.
        """
        report = self.report
        found = [each for each in report.findings if not wanted or each.code in wanted]
        for code in sorted(wanted):
            known = {(each.message, each.source) for each in found if each.code == code}
            of_code = self._outcomes.of(self._capture).findings(code)
            found += [each for each in of_code if (each.message, each.source) not in known]
        if missing := sorted(wanted - {each.code for each in found}):
            raise IrlensError(
                f"{report.kernel} has no finding {missing[0]}",
                hint=f"it has: {', '.join(sorted({f.code for f in report.findings})) or 'none'}",
            )
        return found

    def explain(self, finding: Finding) -> Explanation | None:
        """Return the explanation of a finding; ``None`` if irlens has neither cause nor test."""
        report, capture = self.report, self._capture
        gpu = find_gpu(capture.target, capture.metadata, Provenance())
        symptom = Symptom(
            finding,
            self._module,
            report.config,
            report.findings,
            is_amd=not self._is_nvidia(),
            occupancy=report.occupancy,
            registers=report.resources.registers,
            triton=_version(capture.triton_version),
            target=report.target.arch if report.target is not None else "",
            sm_count=gpu.sm_count if gpu is not None else None,
            said=next(filter(None, map(_serialized_due_to, self._remarks)), ""),
        )
        changes = changes_for(symptom)
        said = self._said(finding)
        if not (changes or finding.blame or by_assembler(finding)):
            return None
        reason = symptom.blame.reason
        name, number, cause = "", None, "" if reason == ttgir_refusals.UNKNOWN else reason
        if finding.code == _SERIALIZED and not symptom.blame.kind:
            cause = symptom.said or cause
        if _is_of_shared_memory(finding) and report.memory is not None:
            cause = describe_largest(report.memory) or cause
        needs_registers = finding.code in NEEDS_REGISTERS
        experiments, proof = self._try_each(finding, changes)
        if needs_registers and (proof is None or not proof.is_cause):
            cause = self._holders() or cause
        if proof is not None:
            cause = proof.cause or cause
            name, number = self._decided(finding, proof)
        if finding.code == "IRL302" and not name and _proof(experiments) == "proved":
            kind = symptom.blame.kind
            name = "the addresses" if kind == "apart" else name
            name, number = self._numbered(COALESCES) if kind == "held" else (name, None)
        if by_assembler(finding):
            name = "ptxas" if self._is_nvidia() else "LLVM"
        elif (known := decided_by(finding)) and not is_pass(known):
            name = known
        elif finding.code == _SERIALIZED:
            name, number = self._numbered(known)
        elif finding.blame is not None and finding.blame.kind == "conversion":
            name, number = self._inserted(finding)
        operations = self._operations(finding, number) if is_pass(name) else []
        return Explanation(
            finding=finding,
            cause=cause,
            decided_by=name,
            number=number,
            operations=operations,
            said=said,
            experiments=sorted(experiments, key=lambda each: not each.gone),
            proof=_proof(experiments),
        )

    def _try_each(
        self, finding: Finding, changes: list[Change]
    ) -> tuple[list[Experiment], Change | None]:
        """Return what was tried, until the finding is gone, and the change that it went with.

        Where that makes the kernel slower, what else removes the finding is looked for.
        """
        experiments: list[Experiment] = []
        proof, left = None, len(changes)
        in_vain: dict[str, int] = {}
        for change in changes:
            constexpr = self._constexpr(change)
            if constexpr and constexpr[1] > in_vain.get(constexpr[0], constexpr[1]):
                continue
            experiment = self._try(finding, change, passes=not experiments)
            if constexpr and self._is_in_vain(finding, change, experiment):
                in_vain.setdefault(*constexpr)
            if experiment is None:
                continue
            experiments.append(experiment)
            left -= 1
            removes = experiment.gone and (experiment.is_cause or change.against is None)
            if removes and proof is None:
                proof, left = change, _MORE_TRIES
            if (removes and not _is_slower(experiment)) or not left:
                break
        return experiments, proof

    def _constexpr(self, change: Change) -> tuple[str, int] | None:
        """Return the constexpr that a change alone sets to a number; ``None`` for others."""
        if change.ttir or len(change.settings) != 1:
            return None
        ((name, value),) = change.settings.items()
        is_number = value.isdecimal() and name in self.report.config.constexprs
        return (name, int(value)) if is_number else None

    def _is_in_vain(self, finding: Finding, change: Change, experiment: Experiment | None) -> bool:
        """Whether still larger values of a change's constexpr are of no use, too.

        It may not be the blamed dimension at all; what does not fit, or is spilled, fits even less
        in a larger tile, which LLVM compiles for minutes; and where the grid stays, a larger tile
        solves another problem, and a still larger one does.
        """
        if experiment is not None and experiment.gone is not False:
            return experiment.gone is None
        outcome = self._outcomes.of(self._recompile(change))
        if experiment is None:
            return self._solves_same_problem(change, outcome) is False
        if outcome.findings(_SPILL):
            return True
        return change.grows is not None and change.grows not in self._grown(finding, change)

    def _holders(self) -> str:
        """Return what holds the registers: the cause where a change frees them, else likely it."""
        pressure = register_holders.needed(self.report.pressure)
        return register_holders.describe(pressure) if pressure is not None else ""

    @property
    def _scratch(self) -> frozenset[str]:
        """The operations with scratch in shared memory, where it takes more than any buffer."""
        memory = self.report.memory
        if memory is None or largest_buffer(memory) is not None:
            return frozenset()
        return frozenset(each.operation for each in memory.scratch)

    def _is_nvidia(self) -> bool:
        return self.report.target is not None and self.report.target.vendor == "nvidia"

    def _said(self, finding: Finding) -> list[str]:
        """Return what the compiler said of the finding's line, and what ptxas says of its kind."""
        source, marks = finding.source, []
        if source is not None:
            marks.append(f"{source.file}:{source.line}:")
        if finding.code in PIPELINE_FINDINGS:
            marks.append(_NOT_PIPELINED)
        of_assembler = _OF_ASSEMBLER if by_assembler(finding) else ()
        return [
            line
            for line in self._remarks
            if any(mark in line for mark in marks)
            or ("remark: " not in line and any(mark in line for mark in of_assembler))
        ]

    def _recompile(self, change: Change, *, passes: bool = False) -> Capture:
        """Return the kernel compiled with a change; experiments with the same one share it.

        Args:
            passes: Whether its passes are needed: compiles again if that experiment has none.
        """
        key = (change.ttir, *sorted(change.settings.items()))
        known = self._recompiled.get(key)
        if known is None or (passes and self._outcomes.of(known).passes is None):
            request = msgspec.structs.replace(self._request_of(change), passes=passes)
            known = self._recompiled[key] = _one(self._session, request)
        return known

    def _try(self, finding: Finding, change: Change, *, passes: bool) -> Experiment | None:
        """Recompile with a change, and look whether the finding is still there.

        Args:
            passes: Whether to print its passes, for ``_decided`` to compare, if a pass decides.

        Returns:
            ``None`` where the launch solves another problem, or where the finding is gone since a
            fact that it needs is unknown.
        """
        self.progress(change.words)
        try:
            passes = passes and self._states is not None and not decided_by(finding)
            outcome = self._outcomes.of(self._recompile(change, passes=passes))
            solves_same = self._solves_same_problem(change, outcome)
            if solves_same is False:
                return None
            here = [each for each in outcome.findings(finding.code) if _is_there(each, finding)]
            reported = outcome.reported(finding.code)  # not what a change asks of the loop itself
            same = [each for each in here if _is_same(each, finding)]
            if self._own.is_launchable and not outcome.is_launchable and finding.code != _REFUSED:
                raise IrlensError("it cannot be launched so")
            if finding.code in LIMITS and outcome.occupancy > self._own.occupancy:
                same = []  # another limit of the same resource
            if not same and self._leaves_open(finding, outcome):
                return None
            refused = "" if same else _refused_then(finding, change, outcome)
            if refused and finding.code == _CONVERTED:
                same = [finding]  # the rule asks for stages alone, and the load has none
            before, after = self._times(change, outcome)
            is_cause = solves_same is True and (
                (change.is_cause and not refused and not self._leaves(change.against, outcome))
                or self._frees_what_holds(finding, outcome)
                or self._grows_alone(finding, change)
            )
        except IrlensError as error:
            return Experiment(
                change=change.words, gone=None, is_cause=change.is_cause, error=error.message
            )
        spilled = self._spilled(outcome)
        return Experiment(
            change=change.words,
            gone=not same,
            instead=refused
            or (
                _otherwise(finding, same)
                if same
                else next((e.message for e in here if e in reported), spilled)
            ),
            spilled=spilled,
            is_cause=is_cause,
            before_us=before,
            after_us=after,
        )

    def _spilled(self, outcome: Outcome) -> str:
        """Return that a change spills registers, if the kernel does not; else empty."""
        if self._own.findings(_SPILL):
            return ""
        return next((each.message for each in outcome.findings(_SPILL)), "")

    def _leaves_open(self, finding: Finding, outcome: Outcome) -> bool:
        """Whether a finding may be gone since a fact is unknown."""
        return outcome.leaves_open(finding.code) and not self._own.leaves_open(finding.code)

    def _solves_same_problem(self, change: Change, outcome: Outcome) -> bool | None:
        """Whether the launch computes the same results; ``None`` if unknown.

        A constexpr may be the size of a tile, or one of the problem: that of a head. The launch
        accesses as many distinct bytes with other tiles. Smaller ones compute fewer elements that
        are masked off, so that operations tell only where the tiles stay.
        """
        before, after = self.report.config, outcome.config
        changed = [n for n, v in before.constexprs.items() if after.constexprs.get(n) != v]
        if not changed:
            return True
        if set(changed).intersection(before.fixed):
            return False
        pairs = list(zip(self._own.work, outcome.work, strict=True))
        if any(None not in pair and pair[0] != pair[1] for pair in pairs):
            return False
        if self._own.flops != outcome.flops and self._keeps_tiles(change):
            return False
        is_known = not any(None in pair for pair in pairs)
        return True if is_known or _divides_grid(changed, before, after) else None

    def _keeps_tiles(self, change: Change) -> bool:
        """Whether a change leaves the shapes of all tensors."""
        changed = CaptureCode(self._recompile(change)).source
        return changed is not None and _shapes(changed.named) == _shapes(self._module)

    def _leaves(self, blamed: Finding | None, outcome: Outcome) -> bool:
        """Whether a change leaves the other finding that it is to remove."""
        found = outcome.findings(blamed.code) if blamed is not None else []
        return any(_is_there(each, blamed) for each in found if blamed is not None)

    @property
    def _own(self) -> Outcome:
        return self._outcomes.of(self._capture)

    def _times(self, change: Change, outcome: Outcome) -> tuple[float | None, float | None]:
        """Return the estimated times without a change and with it, if they are of one work."""
        before = self._own.estimate_us
        if before is None or change.settings.get("target"):
            return None, None  # the time of another GPU
        compared = 1 if change.ttir else 2  # an edited address loads other bytes
        if outcome.work[:compared] != self._own.work[:compared]:
            return None, None
        return before, outcome.estimate_us

    def _grows_alone(self, finding: Finding, change: Change) -> bool:
        """Whether a change makes the blamed dimension of the tile longer, and no other."""
        return change.grows is not None and self._grown(finding, change) == [change.grows]

    def _grown(self, finding: Finding, change: Change) -> list[int]:
        """Return the dimensions of a finding's tile that a change changes, from the end (-1)."""
        changed = CaptureCode(self._recompile(change)).source
        if changed is None:
            return []
        shapes = []
        for module in (self._module, changed.named):
            tile = Symptom(finding, module, self.report.config).operation(*ACCESSES, *DOTS)
            kinds = (tile.result_type, *tile.types) if tile is not None else ()
            shapes.append(next((each.shape for each in kinds if isinstance(each, Tensor)), ()))
        rank, pairs = len(shapes[0]), enumerate(zip(*shapes, strict=False))
        return [n - rank for n, (one, other) in pairs if one != other]

    def _frees_what_holds(self, finding: Finding, outcome: Outcome) -> bool:
        """Whether the lines that hold most registers account for those that a change frees."""
        if finding.code not in NEEDS_REGISTERS:
            return False
        before, after = self._own.needed, outcome.needed
        if before is None or after is None:
            return False
        return register_holders.accounts_for(before, after)

    def _request_of(self, change: Change) -> "Request":
        if not change.settings:
            return msgspec.structs.replace(self._request, ttir=change.ttir)
        from irlens.session.recompile import request_of

        changed = request_of(self._capture, self._request.kernel, change.settings)
        return msgspec.structs.replace(changed, ttir=change.ttir)

    def _decided(self, finding: Finding, change: Change) -> tuple[str, int | None]:
        """Return the pass that decides a finding, and its number, by a change that removes it."""
        known = self._known(finding, change)
        if known and not is_pass(known):
            return known, None
        if self._states is None or by_assembler(finding):
            return "", None
        if known:
            return self._numbered(known)
        other = self._outcomes.of(self._recompile(change, passes=True)).passes
        if not other:
            return "", None
        if change.without:
            return self._numbered(first_changing(self._states, other, change.without)[0])
        if (marks := MARKS.get(finding.code)) is not None:
            return first_changing(other, self._states, marks)
        names = operations_of("IRL203" if change.at else finding.code)
        if finding.code in LOOP_FINDINGS and change.at is None:
            names = frozenset()
        name, number = deciding(
            self._states,
            other,
            change.at or finding.source,
            names,
            layouts="num_warps" not in change.settings,  # all layouts follow it
            lasting=finding.code in LASTING,
            renamed=change.renamed,
        )
        if not name and _is_of_shared_memory(finding):
            return self._numbered(ALLOCATES)
        if "target" in change.settings and "GPU" not in name:
            return "", None  # another GPU has other passes from the beginning
        its_own = finding.blame is not None and finding.blame.kind != "transposed"
        if finding.code in _OF_WIDTHS and its_own and any(mark in name for mark in _STAGES):
            return self._numbered(CONVERTS)  # what moves at once, the stages follow
        is_free = change.against is None and finding.code not in _OF_LOOPS
        if is_free and _is_of_stages(name, change, finding.code):
            return "", None  # other warps load other tiles ahead
        return name, number

    def _known(self, finding: Finding, change: Change) -> str:
        """Return what decides a finding where no comparison of dumps leads to it."""
        if finding.code == _DRAINED and finding.stage == "amdgcn" and not change.is_cause:
            return "LLVM"  # whose waits they are, however many stages the passes make
        if _is_of_shared_memory(finding) and self._scratch:
            return ALLOCATES
        return decided_by(finding)

    def _inserted(self, finding: Finding) -> tuple[str, int | None]:
        """Return the pass that inserts the conversions at a finding's line, and its number."""
        found = insertions(self._states) if self._states is not None else []
        numbers = [each.number for each in found if each.conversion.source == finding.source]
        last = max(filter(None, numbers), default=0)
        if not last or self._states is None:
            return "", None
        return self._states.dumps.passes[last - 1].name, last

    def _numbered(self, name: str) -> tuple[str, int | None]:
        """Return a pass that ran, and its number; an empty name if it did not."""
        ran = [each.name for each in self._states.dumps.passes] if self._states is not None else []
        name = name if name in ran else RENAMED.get(name, name)
        return (name, ran.index(name) + 1) if name in ran else ("", None)

    def _operations(self, finding: Finding, number: int | None) -> list[str]:
        """Return the line's operations that the finding is about, before a pass, or in ttgir."""
        if self._states is None:
            return []
        last = number or max(self._states.numbers_of("ttgir"), default=len(self._states))
        names = operations_of(finding.code)
        if _is_of_shared_memory(finding) and self._scratch:
            names = self._scratch
        if finding.source is None:
            return LineFollower(None, names).at(self._states.before(last + 1)) or []
        steps = follow(self._states, finding.source, until=last - 1).steps
        lines = steps[-1].text if steps else []
        # Before a pass allocates shared memory, the line loads or stores.
        kinds = names, operations_of("IRL301")
        found = ([line for line in lines if name_of(line) in each] for each in kinds)
        return next(filter(None, found), lines)


def _is_of_shared_memory(finding: Finding) -> bool:
    """Whether a finding is about how much shared memory a CTA takes."""
    kind = finding.blame.kind if finding.blame is not None else ""
    return finding.code == "IRL103" or (finding.code, kind) == (_REFUSED, "shared_memory")


def _serialized_due_to(line: str) -> str:
    """Return ptxas's reason why it serialized products, in its words; empty in other lines."""
    found = re.search(r"instructions are serialized due to (.*?)(?: in the function |$)", line)
    return found[1].strip() if found is not None else ""


def _version(written: str | None) -> tuple[int, ...]:
    """Return the first two numbers of a version, as far as they are known."""
    parts = (written or "").split(".")[:2]
    return tuple(int(each) for each in parts if each.isdecimal())


def _shapes(module: Module) -> set[tuple[int, ...]]:
    """Return the shapes of a kernel's tensors."""
    kinds = (kind for each in module.operations for kind in each.types)
    return {kind.shape for kind in kinds if isinstance(kind, Tensor)}


def _divides_grid(changed: Sequence[str], before: Config, after: Config) -> bool:
    """Whether fewer programs of the larger tile cover at least as many elements."""
    values = [(each.constexprs.get(changed[0]), each.grid) for each in (before, after)]
    sizes = [(value, prod(grid)) for value, grid in values if isinstance(value, int) and grid]
    if len(changed) != 1 or len(sizes) != 2:
        return False
    (small, more), (large, fewer) = sorted(sizes)
    return 0 < small < large and fewer < more and more * small <= fewer * large


def _is_there(one: Finding, other: Finding) -> bool:
    """Whether two findings have a code and a line in common, and of accesses a column, too."""
    places = [
        (f.source.file, f.source.line, f.code in _OF_ACCESSES and f.source.column)
        if f.source
        else None
        for f in (one, other)
    ]
    return one.code == other.code and places[0] == places[1]


def _is_same(one: Finding, other: Finding) -> bool:
    if not _is_there(one, other) or one.blame is None or other.blame is None:
        return _is_there(one, other)
    if one.code in _OF_KINDS or (one.code == "IRL301" and other.blame.kind == "alignment"):
        return one.blame.kind == other.blame.kind
    if one.code == _SERIALIZED:
        return one.stage == other.stage  # by ptxas, or by the compiler
    exposed = [each.blame.kind in _EXPOSED for each in (one, other) if each.blame]
    own = [each.blame.kind == _OWN for each in (one, other) if each.blame]
    return one.code != "IRL201" or (len(set(exposed)) == 1 and len(set(own)) == 1)


def _refused_then(finding: Finding, change: Change, outcome: Outcome) -> str:
    """Return why a load is not pipelined although the change gives its loop stages; else empty.

    Likewise of a product that tensor cores do not compute in another type, since in none.
    """
    if finding.code == "IRL405":
        dots = outcome.findings("IRL401")
        return next((each.message for each in dots if each.source == finding.source), "")
    kind = finding.blame.kind if finding.blame is not None else ""
    place = finding.source if (finding.code, kind) == (_CONVERTED, "") else change.at
    if (finding.code not in (_WITHOUT_STAGES, _CONVERTED) and kind != _OWN) or place is None:
        return ""
    loads = (each for each in outcome.findings("IRL203") if each.source is not None)
    return next((each.message for each in loads if each.source == place), "")


def _is_of_stages(name: str, change: Change, code: str) -> bool:
    """Whether a pass divides loops into stages, and differs for other warps or addresses."""
    differs = "num_warps" in change.settings or code == _REPEATED
    return differs and any(mark in name for mark in _STAGES)


def _otherwise(finding: Finding, same: list[Finding]) -> str:
    """Return the reason of a finding that stays, if that is of another kind."""
    one, other = finding.blame, same[0].blame
    if one is None or other is None or one.reason == other.reason:
        return ""
    if one.kind == other.kind and finding.code != "IRL203":
        return ""  # other figures
    return other.reason


def _is_slower(experiment: Experiment) -> bool:
    """Whether a change lengthens the estimated time by more than ``RESOLUTION``."""
    before, after = experiment.before_us, experiment.after_us
    return before is not None and after is not None and after > before * (1 + RESOLUTION)


def _proof(experiments: list[Experiment]) -> Proof:
    if gone := [each for each in experiments if each.gone]:
        return "proved" if any(each.is_cause for each in gone) else "relieved"
    return "refuted" if any(each.gone is False for each in experiments) else "untested"
