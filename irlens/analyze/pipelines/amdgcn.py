"""Pipelines of AMD's GPUs, from the assembly: loads that run ahead of the loop that uses them.

Data gets from global memory to registers, and often on to LDS, or directly to LDS. A load runs
ahead as far as it is in flight while something is computed, and no farther than its data's use.
What a compiler does beyond, it does in vain as far as memory's latency goes: of a masked load
Triton selects between data and ``other`` in the iteration that loads, however many iterations the
result is then carried along in registers.
"""

from collections.abc import Collection, Iterator, Sequence

import msgspec

from irlens.analyze.amdgcn_loops import KernelLoops
from irlens.analyze.amdgcn_queue import Queue
from irlens.analyze.amdgcn_trace import Ahead, LoopTrace
from irlens.analyze.pipelines.amdgcn_traffic import left_out, reads_of, traffic_of
from irlens.analyze.pipelines.describe import RequestedStages, judge, unread
from irlens.analyze.pipelines.loops import loop_source
from irlens.analyze.pipelines.repeated import SourceBytes, Traffic, expected, largest, total
from irlens.analyze.pipelines.source_iterations import of_other_iterations
from irlens.isa.amdgcn import Function
from irlens.isa.amdgcn.memory import Counter, Transfer, is_scalar_load, stores_count_apart, transfer
from irlens.model.report import Pipeline, PipelineKind

IN_PLACE = "each load is waited for and used in the iteration that issues it"
WAITED_FOR = (
    "nothing is computed between a load and the wait for it, though its data is used in a later"
    " iteration"
)
CHAINED = "a load's address follows from what it loaded in the iteration before"
SCALAR = "the loop reads memory by scalar loads, and uses each in the iteration that issues it"
SCALAR_AHEAD = "the loop reads memory by scalar loads, which complete in no certain order"
CONDITIONS = "the loop has conditions or loops inside, so that its iterations differ"
COPIES_DIFFER = "the loop is unrolled, and its copies run ahead unequally"
PILE_UP = "the loop issues loads that it never waits for"
NOT_FOLLOWED = "where the loaded data is first used could not be followed"


def find_pipelines(
    function: Function,
    *,
    threads_per_cta: int | None,
    requested: RequestedStages,
    of_source: SourceBytes | None = None,
) -> list[Pipeline]:
    """Describe every innermost loop that reads global memory, and how far its loads run ahead.

    Args:
        function: The kernel.
        threads_per_cta: To turn bytes per lane into bytes per workgroup; ``None`` leaves these
            open.
        requested: Stages asked for, given the source location of a loop, innermost frame first.
        of_source: What the source's loops load: lanes that load the same count once, then.

    Returns:
        In the order of the text, one record per loop and mechanism. Groups are single load
        instructions. The figures of "register" are those of the loads that run ahead; how many
        are in flight during the compute, and how many bytes, is meant of the instruction with the
        most.

    Raises:
        ArtifactError: A branch to a label that is not there.
    """
    finder = _Finder(function, threads_per_cta, requested, of_source or {})
    found = [each for loop in finder.loops.innermost() for each in finder.describe(loop)]
    return sorted(found, key=lambda pipeline: pipeline.line)


class TracedLoad(msgspec.Struct, frozen=True):
    """A load that runs ahead, or goes to LDS by itself.

    Attributes:
        header: 1-based line of its loop's header.
        kind: Its mechanism.
        line: 1-based line of the load.
        wait: 1-based line of the wait that retires it; ``None`` where that is not known.
    """

    header: int
    kind: PipelineKind
    line: int
    wait: int | None


def trace_loads(function: Function) -> Iterator[TracedLoad]:
    """Yield the loads of a kernel's loops that are part of a pipeline.

    Raises:
        ArtifactError: A branch to a label that is not there.
    """
    finder = _Finder(function, None, lambda _: None, {})
    for loop in finder.loops.innermost():
        yield from finder.trace_loads(loop)


class _Finder:
    """Describes the loops of one function."""

    def __init__(
        self,
        function: Function,
        threads: int | None,
        requested: RequestedStages,
        of_source: SourceBytes,
    ) -> None:
        self.loops = KernelLoops.of(function)
        self.lanes = 32 if function.directives.get("wavefront_size32") else 64
        self.stores_apart = stores_count_apart(function)
        self.threads = threads
        self.requested = requested
        self.of_source = of_source

    def describe(self, index: int) -> Iterator[Pipeline]:
        """The records of one loop."""
        blank = self._blank(index)
        trace = self._trace(index)
        if trace is None:
            yield msgspec.structs.replace(blank, kind=self._kind(index), reason=CONDITIONS)
            return
        reads_at = reads_of(trace)
        if not reads_at:
            scalar = [n for n, each in enumerate(trace.body) if is_scalar_load(each)]
            in_place = all(trace.used(n) == (0, 0) for n in scalar)
            yield msgspec.structs.replace(
                blank,
                verdict="not pipelined" if in_place else "unknown",
                reason=SCALAR if in_place else SCALAR_AHEAD,
            )
        for mechanism in dict.fromkeys((read.to_lds, read.counter) for read in reads_at.values()):
            yield self._record(
                blank,
                trace,
                {n: r for n, r in reads_at.items() if (r.to_lds, r.counter) == mechanism},
                *mechanism,
            )

    def trace_loads(self, index: int) -> Iterator[TracedLoad]:
        """The loads of one loop that are part of a pipeline."""
        trace = self._trace(index)
        if trace is None:
            return
        header = self.loops.header(index).line
        for position, read in reads_of(trace).items():
            queue = trace.queue(read.counter)
            ahead = trace.ahead(position, to_lds=read.to_lds)
            if not read.to_lds and not (ahead and ahead.prefetch):
                continue
            retired = queue.retired.get(position) if queue is not None else None
            yield TracedLoad(
                header,
                "direct-to-lds" if read.to_lds else "register",
                trace.body[position].line,
                trace.body[retired[1]].line if retired is not None else None,
            )

    def _trace(self, index: int) -> LoopTrace | None:
        """One iteration of a loop; ``None`` where iterations differ."""
        body = self.loops.iteration(index)
        if body is None:
            return None
        filled = self.loops.is_lds_filled_before(index)
        return LoopTrace(body, self.lanes, self.stores_apart, filled)

    def _kind(self, index: int) -> PipelineKind | None:
        """The mechanism of a loop that cannot be followed."""
        to_lds = [read.to_lds for each in self.loops.body(index) if (read := transfer(each))]
        if not to_lds:
            return None
        return "direct-to-lds" if any(to_lds) else "register"

    def _record(
        self,
        blank: Pipeline,
        trace: LoopTrace,
        reads: dict[int, Transfer],
        to_lds: bool,
        counter: Counter,
    ) -> Pipeline:
        """The record of those loads of a loop that go to the same place by the same counter."""
        kind: PipelineKind = "direct-to-lds" if to_lds else "register"
        record = msgspec.structs.replace(blank, kind=kind)
        queue = trace.queue(counter)
        if queue is None or not queue.retired.keys() >= reads.keys():
            return msgspec.structs.replace(record, reason=PILE_UP)
        ahead: dict[int, Ahead] = {}
        for position in reads:
            found = trace.ahead(position, to_lds=to_lds)
            if found is None or found.prefetch is None:
                return msgspec.structs.replace(record, reason=NOT_FOLLOWED)
            ahead[position] = found
        copies = len(trace.starts)
        if not _copies_agree([each.prefetch for each in ahead.values()], copies):
            return msgspec.structs.replace(record, reason=COPIES_DIFFER)
        running = {n: reads[n] for n, each in ahead.items() if each.prefetch}
        if not running and not to_lds:
            record = msgspec.structs.replace(record, kind=None)
        of_source = expected(self.of_source, record.source)
        traffic = traffic_of(trace, threads=self.threads, of_source=of_source)
        filled = self._filled(record, queue, running or reads, ahead, copies, traffic)
        if traffic.times is not None:
            filled, of_source = of_other_iterations(filled, traffic.times), {}
        told = filter(None, (filled.reason, left_out(trace, of_source)))
        return msgspec.structs.replace(filled, reason="; ".join(told))

    def _filled(
        self,
        record: Pipeline,
        queue: Queue,
        reads: dict[int, Transfer],
        ahead: dict[int, Ahead],
        copies: int,
        traffic: Traffic,
    ) -> Pipeline:
        """Fill in the figures of those loads that run ahead, or of all if none does."""
        prefetch = min(ahead[n].prefetch or 0 for n in reads)
        verdict, reason = judge(prefetch, record.requested_stages, _serial(ahead.values()))
        notes = [reason] if reason else []
        if prefetch:
            notes += _notes([ahead[n] for n in reads], prefetch)
        if len(reads) < len(ahead):
            notes.append(
                f"{len(reads) // copies} of the loop's {len(ahead) // copies} loads run ahead"
            )
        if copies > 1:
            notes.append(f"unrolled {copies} times; figures are per iteration of the source")
        at_wait = max(
            ([n for n in before if n in reads] for before, _ in queue.waits.values()), key=len
        )
        after_wait = min(
            ([n for n in after if n in reads] for _, after in queue.waits.values()), key=len
        )
        computing = [[n for n in found if n in reads] for found in queue.computing]
        widths = [read.bytes for read in reads.values()]
        once = list(reads)[: len(reads) // copies]
        return msgspec.structs.replace(
            record,
            achieved_stages=prefetch + 1,
            prefetch_iterations=prefetch,
            groups_per_iteration=len(reads) // copies,
            outstanding_at_wait=len(at_wait),
            outstanding_after_wait=len(after_wait),
            groups_during_compute=max(map(len, computing), default=0),
            copies_per_iteration=len(reads) // copies,
            bytes_per_copy=widths[0] if len(set(widths)) == 1 else None,
            bytes_per_iteration=total(traffic.brought[n] for n in once),
            bytes_repeated=total(traffic.repeated[n] for n in once),
            bytes_in_flight=largest(
                total(traffic.brought[n] for n in found) for found in computing
            ),
            verdict=verdict,
            reason="; ".join(notes),
        )

    def _blank(self, index: int) -> Pipeline:
        """The record of a loop of which nothing is known."""
        header = self.loops.header(index)
        locations = self.loops.locations(index)
        return unread(
            stage="amdgcn",
            loop=header.label or f"line {header.line}",
            line=header.line,
            source=loop_source(locations),
            kind=None,
            requested=self.requested(locations),
            reason="",
        )


def _copies_agree(prefetches: Sequence[int | None], copies: int) -> bool:
    """Whether each copy of an unrolled loop's body has loads that run ahead as far."""
    size, rest = divmod(len(prefetches), copies)
    parts = [sorted(p or 0 for p in prefetches[n * size :][:size]) for n in range(copies)]
    return not rest and all(part == parts[0] for part in parts)


def _serial(ahead: Collection[Ahead]) -> str:
    """Why no load runs ahead."""
    if any(each.chained for each in ahead):
        return CHAINED
    if all(each.least == 0 for each in ahead):
        return IN_PLACE
    return WAITED_FOR


def _notes(ahead: Collection[Ahead], prefetch: int) -> Iterator[str]:
    """What the verdict on loads that run ahead needs to be understood."""
    if all(each.wait == 0 for each in ahead):
        steps = min(each.steps for each in ahead)
        yield f"the wait stands in the iteration that issues the loads, {steps} instructions on"
    kept = max(each.least for each in ahead)
    if kept > prefetch:
        yield f"the data is then kept until it is used, {kept} iterations after its load"
