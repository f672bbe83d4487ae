"""Pipelines of AMD GPUs, from the assembly: loads that run ahead of the loop that uses them.

Data goes from global memory to registers, and often on to LDS, or directly to LDS. A load runs
ahead as far as it is in flight while the loop computes, and no further than the use of its data.
Carrying the data longer does not hide more of memory's latency: for a masked load Triton selects
between data and ``other`` in the iteration that loads, however many iterations the result is then
carried along in registers.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction

import msgspec

from irlens.analyze.cfg import Cfg
from irlens.analyze.mlir_loops import RequestedStages, find_loops, user_line
from irlens.analyze.pipelines.amdgcn_loads import fold, with_depth
from irlens.analyze.pipelines.amdgcn_loops import KernelLoops, remainders, unroll_factor
from irlens.analyze.pipelines.amdgcn_queues import Queue
from irlens.analyze.pipelines.amdgcn_trace import Left, LoopTrace
from irlens.analyze.pipelines.distinct_bytes import (
    Place,
    SourceBytes,
    SourceLoad,
    Traffic,
    find_traffic,
    largest,
    loads_of_loop,
    place_in_kernel,
    place_of,
    source_bytes,
    total,
)
from irlens.isa.amdgcn import Function, Instruction
from irlens.isa.amdgcn.memory import Counter, Transfer, is_scalar_load, transfer
from irlens.isa.amdgcn.units import may_access_memory
from irlens.isa.amdgcn.waits import Counters
from irlens.isa.mlir import Module
from irlens.model.memory import LoopLoad
from irlens.model.report import Pipeline, PipelineKind, blank_pipeline
from irlens.model.several import only
from irlens.model.source import SourceLocation, user_frame
from irlens.model.text import size

SCALAR = "the loop reads memory by scalar loads, and uses each in the iteration that issues it"
SCALAR_AHEAD = "the loop reads memory by scalar loads, which complete out of order"
CONDITIONS = "the loop contains branches or loops, so its iterations differ"
INTERLEAVED = (
    "the loop is unrolled, and its copies are interleaved: their loads are issued together"
)
LEFT_OVER = "the loop runs the iterations left over from the one that LLVM unrolled"
UNKNOWN_ACCESS = "what {} does to the counters is not known"
PILE_UP = "the loop issues loads that it never waits for"


def find_pipelines(
    function: Function,
    *,
    threads_per_cta: int | None,
    requested: RequestedStages,
    of_source: SourceBytes | None = None,
    left: Left = Left.ANYTHING,
    flow: Cfg | None = None,
) -> list[Pipeline]:
    """Describe every innermost loop that reads global memory, and how far its loads run ahead.

    Args:
        threads_per_cta: Turns bytes per lane into bytes per workgroup; ``None`` leaves these
            open.
        of_source: What the source's loops load, to count once what lanes share.
        left: What LDS holds beside an iteration's own stores in a loop before which it has data.

    Returns:
        In the order of the text, one record per loop and mechanism that runs ahead. Groups are
        single load instructions; those and the bytes in flight during the compute are those at the
        instruction with the most.

    Raises:
        ArtifactError: A branch to a label that does not exist.
    """
    finder = _Finder(function, threads_per_cta, requested, of_source or {}, left, flow)
    pipelines = [
        each for loop in finder.loops.innermost(_reads_memory) for each in finder.describe(loop)
    ]
    return sorted(pipelines, key=lambda pipeline: pipeline.line)


def _kind_of(read: Transfer) -> PipelineKind:
    return "direct-to-lds" if read.to_lds else "register"


class TracedLoad(msgspec.Struct, frozen=True):
    """A load that runs ahead, or goes directly to LDS.

    Attributes:
        header: 1-based line of its loop's header.
        line: 1-based line of the load.
        wait: 1-based line of the wait that retires it; ``None`` if unknown.
    """

    header: int
    kind: PipelineKind
    line: int
    wait: int | None


def trace_loads(function: Function) -> Iterator[TracedLoad]:
    """Yield the loads of a kernel's loops that are part of a pipeline.

    Raises:
        ArtifactError: A branch to a label that does not exist.
    """
    finder = _Finder(function, None, lambda *_: None, {}, Left.ANYTHING)
    for loop in finder.loops.innermost(_reads_memory):
        yield from finder.trace_loads(loop)


class _Finder:
    """Describes the loops of one function."""

    def __init__(
        self,
        function: Function,
        threads: int | None,
        requested: RequestedStages,
        of_source: SourceBytes,
        left: Left,
        flow: Cfg | None = None,
    ) -> None:
        self.loops = KernelLoops.of(function, flow)
        self.rests = remainders(function, self.loops)
        self.lanes = function.lanes
        self.counters = Counters.of(function)
        self.threads = threads
        self.requested = requested
        self.of_source = of_source
        self.left = left

    def describe(self, index: int) -> Iterator[Pipeline]:
        """Yield the records of one loop."""
        blank = self._blank(index)
        trace = self._trace(index)
        if trace is None:
            yield msgspec.structs.replace(blank, kind=self._kind(index), reason=CONDITIONS)
            return
        for each in trace.body:
            if may_access_memory(each.operations[0]):
                reason = UNKNOWN_ACCESS.format(each.mnemonic)
                yield msgspec.structs.replace(blank, kind=self._kind(index), reason=reason)
                return
        reads_at = _reads(trace)
        if not reads_at:
            scalar = [n for n, each in enumerate(trace.body) if is_scalar_load(each)]
            in_place = all(trace.used(n) == (0, 0) for n in scalar)
            yield msgspec.structs.replace(
                blank,
                verdict="not pipelined" if in_place else "unknown",
                reason=SCALAR if in_place else SCALAR_AHEAD,
            )
        yield from fold(
            [
                self._record(
                    blank,
                    trace,
                    {n: r for n, r in reads_at.items() if (_kind_of(r), r.counter) == mechanism},
                    *mechanism,
                )
                for mechanism in dict.fromkeys((_kind_of(r), r.counter) for r in reads_at.values())
            ]
        )

    def trace_loads(self, index: int) -> Iterator[TracedLoad]:
        """Yield the loads of one loop that are part of a pipeline."""
        trace = self._trace(index)
        if trace is None:
            return
        header = self.loops.header(index).line
        for position, read in _reads(trace).items():
            kind = _kind_of(read)
            ahead = trace.ahead(position, kind)
            if not read.to_lds and not (ahead and ahead.prefetch):
                continue
            line = trace.body[position].line
            yield TracedLoad(header, kind, line, trace.wait_line(position))

    def _trace(self, index: int) -> LoopTrace | None:
        """Return one iteration of a loop; ``None`` where iterations differ."""
        body = self.loops.iteration(index)
        if body is None:
            return None
        left = self.left if self.loops.is_lds_filled_before(index) else Left.NOTHING
        factor = unroll_factor(self.loops, self.rests, index)
        return LoopTrace(body, self.lanes, self.counters, factor, left)

    def _kind(self, index: int) -> PipelineKind | None:
        """Return the mechanism of a loop that cannot be followed."""
        kinds = {_kind_of(read) for each in self.loops.body(index) if (read := transfer(each))}
        return min(kinds, default=None)  # "direct-to-lds" before "register"

    def _record(
        self,
        blank: Pipeline,
        trace: LoopTrace,
        reads: dict[int, Transfer],
        kind: PipelineKind,
        counter: Counter,
    ) -> Pipeline:
        """Return the record of a loop's loads with the same destination and counter."""
        record = msgspec.structs.replace(blank, kind=kind)
        queue = trace.queue(counter)
        if queue is None or not queue.retired.keys() >= reads.keys():
            return msgspec.structs.replace(record, reason=PILE_UP)
        of_source = loads_of_loop(self.of_source, record.source)
        traffic = _traffic(trace, threads=self.threads, of_source=of_source)
        copies = trace.factor or len(trace.starts)
        ahead = {n: trace.ahead(n, kind) for n in reads}
        filled = with_depth(record, trace, reads, ahead, copies)
        if copies != len(trace.starts):
            note = _scalar_note(trace, of_source)
            return _in_flight(_interleaved(filled, copies, note), queue, reads, copies, traffic)
        if filled.achieved_stages is None and not trace.is_shifted:
            return filled
        filled = _in_flight(filled, queue, reads, copies, traffic)
        if traffic.times is not None and filled.achieved_stages is not None:
            filled, of_source = _with_unknown_depth(filled, traffic.times), {}
        left_over = LEFT_OVER if trace.factor == 1 else ""
        notes = filter(None, (filled.reason, left_over, _scalar_note(trace, of_source)))
        return msgspec.structs.replace(filled, reason="; ".join(notes))

    def _blank(self, index: int) -> Pipeline:
        """Return the record of a loop whose figures are unknown."""
        header = self.loops.header(index)
        locations = self._locations(index)
        return blank_pipeline(
            stage="amdgcn",
            loop=header.label or f"line {header.line}",
            line=header.line,
            source=user_frame(locations),
            kind=None,
            # Nobody requests a number of stages for what unrolling leaves over.
            requested=None
            if index in self.rests
            else self.requested(locations, self.loops.copy(index)),
            reason="",
        )

    def _locations(self, index: int) -> tuple[SourceLocation, ...]:
        """Return the location of a loop: the branch back's, or else that of the loop of its loads.

        LLVM leaves a branch that several paths lead to without a line.
        """
        locations = self.loops.locations(index)
        if user_frame(locations) is not None:
            return locations
        reads = (each for each in self.loops.body(index) if transfer(each))
        places = {place_of(user_frame(each.locations)) for each in reads}
        around = [loop for loop, loads in self.of_source.items() if places and places <= {*loads}]
        return (SourceLocation(*around[0]),) if len(around) == 1 else locations


def _interleaved(filled: Pipeline, copies: int, note: str) -> Pipeline:
    """Return the record of an unrolled loop whose copies issue their loads together.

    A load that is awaited at once decides in it, too. How many iterations of the source the others
    run ahead is unknown, but for those that stay in one iteration of the machine code.
    """
    loads = tuple(
        msgspec.structs.replace(each, iterations_ahead=None) if each.iterations_ahead else each
        for each in filled.loads
    )
    if any(each.is_exposed for each in loads):
        reasons = [filled.reason, note]
    else:
        reasons = [f"{INTERLEAVED}; unrolled {copies} times", note]
        filled = msgspec.structs.replace(
            filled, achieved_stages=None, prefetch_iterations=None, kept_iterations=None,
            verdict="unknown",
        )  # fmt: skip
    reason = "; ".join(filter(None, reasons))
    return msgspec.structs.replace(filled, loads=loads, reason=reason)


def _in_flight(
    record: Pipeline,
    queue: Queue,
    reads: Mapping[int, Transfer],
    copies: int,
    traffic: Traffic,
) -> Pipeline:
    """Fill in the figures of a loop's loads that do not depend on where its iterations start."""
    at_wait = max(
        ([n for n in before if n in reads] for before, _ in queue.waits.values()), key=len
    )
    after_wait = min(
        ([n for n in after if n in reads] for _, after in queue.waits.values()), key=len
    )
    computing = [[n for n in flying if n in reads] for flying in queue.computing]
    return msgspec.structs.replace(
        record,
        groups_per_iteration=_share(len(reads), copies),
        outstanding_at_wait=len(at_wait),
        outstanding_after_wait=len(after_wait),
        groups_during_compute=max(map(len, computing), default=0),
        copies_per_iteration=_share(len(reads), copies),
        bytes_per_copy=only(read.bytes for read in reads.values()),
        bytes_per_iteration=_share(total(traffic.brought[n] for n in reads), copies),
        bytes_repeated=_share(total(traffic.repeated[n] for n in reads), copies),
        bytes_in_flight=largest(total(traffic.brought[n] for n in flying) for flying in computing),
    )


def _share(amount: int | None, copies: int) -> int | None:
    """Return an amount per copy; ``None`` if it is unknown or not divisible by their number."""
    return None if amount is None or amount % copies else amount // copies


def _reads_memory(instruction: Instruction) -> bool:
    reads = transfer(instruction) is not None or is_scalar_load(instruction)
    return reads or may_access_memory(instruction.operations[0])


def _reads(trace: LoopTrace) -> dict[int, Transfer]:
    """Return the loads of an iteration by their position."""
    return {n: read for n, each in enumerate(trace.body) if (read := transfer(each))}


def _traffic(
    trace: LoopTrace, *, threads: int | None, of_source: Mapping[Place, SourceLoad]
) -> Traffic:
    """Return what the loads of an iteration bring to a workgroup."""
    return find_traffic(
        {n: (place_in_kernel(trace.body[n]), read.bytes) for n, read in _reads(trace).items()},
        threads=threads,
        copies=trace.factor or len(trace.starts),
        of_source=of_source,
        certain=trace.factor is not None,
    )


def _scalar_note(trace: LoopTrace, of_source: Mapping[Place, SourceLoad]) -> str:
    """Return a note on the bytes of scalar loads, which no figure counts; empty without them.

    A wave loads them once, for itself, and its lanes nothing.

    Args:
        of_source: What an iteration of the source loads; empty where iterations differ.
    """
    scalar = dict.fromkeys(place_in_kernel(each) for each in trace.body if is_scalar_load(each))
    if not scalar:
        return ""
    # Where other loads stand at the same place, its bytes cannot be divided between them.
    shared = {place_in_kernel(trace.body[n]) for n in _reads(trace)}
    loads = [None if p is None or p in shared else of_source.get(p) for p in scalar]
    amount = total(None if load is None else load.bytes for load in loads)
    if amount is None:
        return "bytes of scalar loads are not counted"
    return f"{size(amount)} per iteration of scalar loads are not counted"


def against_source(
    pipelines: Sequence[Pipeline], loads: Iterable[LoopLoad], ttgir: Module | None
) -> list[Pipeline]:
    """Return the pipelines of the source's own loops.

    Loops where the source has none belong to the run-time library, such as those of a
    ``device_print``, and are left out. One iteration of a loop that LLVM may have unrolled can run
    several of the source, so the distance in source iterations is unknown.

    Args:
        loads: What the ttgir's loops load, per iteration of the source.
    """
    of_source = source_bytes(loads)
    return [_by_iteration(pipeline, of_source) for pipeline in _own(pipelines, ttgir)]


def _own(pipelines: Sequence[Pipeline], ttgir: Module | None) -> Sequence[Pipeline]:
    sourced = [pipeline for pipeline in pipelines if pipeline.source is not None]
    # Loops may have become branches before the ttgir.
    if ttgir is None or any(ttgir.doing("jump", "branch")):
        return sourced or pipelines
    loops = {place_of(user_line(ttgir.operations[index])) for index in find_loops(ttgir)}
    own = [pipeline for pipeline in sourced if place_of(pipeline.source) in loops]
    # LLVM may have moved a loop's branch to another place.
    return own or (sourced or pipelines if loops else [])


def _by_iteration(pipeline: Pipeline, of_source: SourceBytes) -> Pipeline:
    # An unknown verdict already has its reason.
    if pipeline.bytes_per_iteration is None or pipeline.verdict == "unknown":
        return pipeline
    amount = total(load.bytes for load in loads_of_loop(of_source, pipeline.source).values())
    if not amount or pipeline.bytes_per_iteration <= amount:
        return pipeline
    return _with_unknown_depth(pipeline, Fraction(pipeline.bytes_per_iteration, amount))


def _with_unknown_depth(pipeline: Pipeline, times: Fraction) -> Pipeline:
    """Return a pipeline without depth, since its loop's iterations may be several of the source.

    A load that is awaited at once, beside others that run ahead, decides all the same.

    Args:
        times: Bytes that an iteration loads, as a multiple of those of a source iteration.
    """
    reason = (
        f"an iteration of the machine code loads {float(times):g} times the bytes of one of the"
        " source: LLVM may have unrolled the loop, or lanes may load the same bytes"
    )
    if reason in pipeline.reason:
        return pipeline  # the lanes' bytes said so already
    exposed = any(load.is_exposed for load in pipeline.loads)
    if exposed and any(load.iterations_ahead for load in pipeline.loads):
        return msgspec.structs.replace(pipeline, reason=f"{pipeline.reason}; {reason}")
    return msgspec.structs.replace(
        pipeline,
        achieved_stages=None,
        prefetch_iterations=None,
        loads=(),
        verdict="unknown",
        reason=reason,
    )
