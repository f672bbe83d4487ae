"""Global-memory traffic of a launch: every byte that all programs of its grid request.

The integer and pointer part of the ttir is evaluated for all programs at once. What depends on
data, and what is not understood, makes the traffic unknown, with the line and the reason.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from math import prod
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import msgspec

from irlens.analyze import work
from irlens.analyze.issue_table import IssueTable
from irlens.analyze.request_runs import Runs
from irlens.analyze.traffic.accesses import Reference, public_function
from irlens.analyze.traffic.coverage import MANY, TooManyIntervalsError
from irlens.analyze.traffic.evaluated import LAUNCHES, Evaluated, Key, Tape, key_of, new_tape
from irlens.analyze.traffic.evaluation import run
from irlens.analyze.traffic.flops import Flops, count_flops
from irlens.analyze.traffic.launch import Launch, Numbers
from irlens.analyze.traffic.strided_coverage import ByteSet, Strides
from irlens.analyze.traffic.tally import Machine, Moved, Tally
from irlens.analyze.traffic.tiles import tiles_of
from irlens.analyze.traffic.values import Array, UnknownTrafficError
from irlens.analyze.warp_requests import Requests
from irlens.isa.mlir import Module, Operation
from irlens.isa.mlir.global_memory import ATOMICS, LOADS, POINTERS, STORES
from irlens.isa.mlir.types import Scalar
from irlens.model.errors import OutOfWorkError
from irlens.model.several import total
from irlens.model.traffic import Access, ArgumentTraffic, MatrixProduct, OutOfBounds, Traffic

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Footprint", "Survey", "count", "survey"]

#: Lanes of a warp.
_LANES = 32
#: Bytes of integers that the lanes of a warp add up by an instruction.
_SUMMED_BYTES = 4
#: Bytes of neighbouring addresses that one slice of the L2 is home to, by what atomics of few
#: addresses take (``benchmarks/atomics.py``).
_GRANULE = 512

#: Accesses that ask once for what elements share. Atomics update it, and the TMA copies it, again.
_ONCE = POINTERS.keys() - ATOMICS
_READS, _WRITES = LOADS | ATOMICS, STORES | ATOMICS


class Footprint(msgspec.Struct, frozen=True, kw_only=True):
    """What a launch takes from memory in whole granules, each counted once. In bytes.

    Attributes:
        wave_read_bytes: The same, each granule counted once in every wave; ``None`` if the wave is
            unknown.
        wave_written_bytes: Bytes that are written, counted likewise.
        read_sector_bytes: Of all sectors that are read, the granules of the caches.
    """

    read_bytes: int
    wave_read_bytes: int | None
    written_bytes: int
    read_sector_bytes: int
    written_sector_bytes: int
    wave_written_bytes: int | None = None


class Updates(msgspec.Struct, frozen=True, kw_only=True):
    """What the lanes of one atomic operation update, over all programs of a launch.

    Attributes:
        line: Line of the operation in the ttir.
        passes: Sectors that warps' instructions update, each as often as lanes update one address.
        depth: Updates of one address, on average.
        granules: Distinct 512-byte granules that are updated.
        element_bytes: Bytes of an address's number.
    """

    line: int
    argument: str
    passes: float
    depth: float
    granules: int
    element_bytes: int
    floating: bool


class Granules(NamedTuple):
    """In how many bytes at once memory and the caches are read."""

    memory: int
    sector: int


class Repetition(NamedTuple):
    """Sectors of an access by whether they were accessed before.

    Attributes:
        distinct: Those that it accesses.
        new: Those of them that no access before it in the text has accessed.
        touched: Those that warps touch, as often as they do; of warps that touch the same at once,
            those of one.
        of_tiles: Those that its tiles hold, each tile being what it accesses at once.
    """

    distinct: float
    new: float
    touched: float
    of_tiles: float


class Survey(msgspec.Struct, frozen=True):
    """The traffic of a launch, and what follows from the same addresses.

    Attributes:
        footprint: What it takes from memory; ``None`` where that is unknown.
        runs: The runs of bytes of each access of the traffic, in its order; ``None`` where its
            requests are unknown.
        repeated: How far each access of the traffic repeats what it or one before it has accessed;
            empty for more than one program, and where the footprint is unknown.
        assumed: What was assumed of data; empty if nothing.
        scattered: Whether addresses were.
        may_return: Whether data decide if programs return early.
        lines: Lines of 128 bytes that the requests of each access of the traffic touch, in its
            order; 0 where the requests are unknown.
        wavefronts: Cycles for which the L1 delivers what each access loads, likewise.
        apart: How far apart the pieces of memory are that each access touches at once, 0..1.
    """

    traffic: Traffic
    footprint: Footprint | None = None
    runs: tuple[Runs | None, ...] = ()
    repeated: tuple[Repetition, ...] = ()
    assumed: str = ""
    scattered: bool = False
    may_return: bool = False
    lines: tuple[int, ...] = ()
    wavefronts: tuple[int, ...] = ()
    updates: tuple[Updates, ...] = ()
    apart: tuple[float, ...] = ()


@work.budget()
def survey(
    module: Module,
    arguments: Mapping[str, Any],
    grid: tuple[int, int, int],
    *,
    granules: Granules | None = None,
    issued: IssueTable | None = None,
    wave: int | None = None,
    contents: "Mapping[str, NDArray[Any]] | None" = None,
    products: Mapping[int, MatrixProduct] | None = None,
    first: int | None = None,
    numbers: Numbers | None = None,
) -> Survey:
    """Count what a launch requests of global memory, and its floating-point operations.

    Args:
        arguments: The launch's arguments by name: numbers, and tensors as "fp32[4096, 1024]".
        granules: What to count the footprint in; ``None`` for no footprint.
        issued: How the machine issues the accesses, for requests and sectors.
        wave: Programs that run at the same time, for ``wave_read_bytes``.
        contents: What tensors of integers hold, by argument, where addresses depend on them.
        products: The types that its products are computed in, by index of the operation.
        first: Number of programs to count, the first in the order x, y, z.
        numbers: What may be assumed of data, as ``Launch`` says.
    """
    launch = Launch(arguments, grid, contents or {}, numbers)
    counted = partial(_counted, module, launch, issued, wave, first, granules, products)
    try:
        with suppress(TooManyIntervalsError):
            return counted(Strides(many=MANY))
        with suppress(TooManyIntervalsError):
            return counted(_strides(module, launch))
        return counted(Strides())
    except (UnknownTrafficError, TooManyIntervalsError, OutOfWorkError) as error:
        return Survey(Traffic(reason=str(error)))


def _strides(module: Module, launch: Launch) -> Strides:
    """Return the strides of the accesses of the first program."""
    noted = Strides()
    for _ in run(module, launch, range(1), lambda: _Tallies(module, launch, None, None, noted)):
        pass
    return noted.found()


def _counted(
    module: Module,
    launch: Launch,
    issued: IssueTable | None,
    wave: int | None,
    first: int | None,
    granules: Granules | None,
    products: Mapping[int, MatrixProduct] | None,
    strides: Strides,
) -> Survey:
    """Return a launch's survey.

    Raises:
        TooManyIntervalsError: So are its distinct bytes, with these strides.
    """
    programs = prod(launch.grid) if first is None else min(first, prod(launch.grid))
    key = key_of(module, launch, programs, strides.known)
    evaluated = LAUNCHES.recall(key)
    if evaluated is None:
        evaluated, tallies = _evaluated(module, launch, issued, wave, programs, strides)
        LAUNCHES.remember(key, evaluated)
    else:
        tallies = _Tallies(module, launch, issued, wave, strides)
        tallies.replay(evaluated)
    tallies.settle(evaluated)
    reason = evaluated.reason
    traffic = tallies.traffic(count_flops(module, evaluated.executed, products), reason)
    if evaluated.waits:
        least = f"{evaluated.waits}: this loop waits for other programs, and counts once"
        traffic = msgspec.structs.replace(traffic, at_least=least)
    footprint = None if reason or granules is None else tallies.footprint(granules)
    repeated = tallies.repeated(granules.sector) if footprint and granules and first == 1 else ()
    requests = tallies.requests()
    return Survey(
        traffic,
        footprint,
        runs=tuple(each.runs if each else None for each in requests),
        repeated=repeated,
        assumed=evaluated.assumed,
        scattered=evaluated.scattered,
        may_return=evaluated.may_return,
        lines=tuple(each.lines if each else 0 for each in requests),
        wavefronts=tuple(each.wavefronts if each else 0 for each in requests),
        updates=tallies.updates(),
        apart=tuple(moved.first.apart for _, moved in sorted(tallies.moved.items())),
    )


def _evaluated(
    module: Module,
    launch: Launch,
    issued: IssueTable | None,
    wave: int | None,
    programs: int,
    strides: Strides,
) -> tuple[Evaluated, "_Tallies"]:
    """Return what a launch accesses, and its tallies; raises as ``_counted`` does."""
    tape = new_tape()

    def begin() -> _Tallies:
        return _Tallies(module, launch, issued, wave, strides, tape.for_more())

    tallies = _Tallies(module, launch, issued, wave, strides, tape)
    found = Evaluated(tape)
    for some, evaluation in run(module, launch, range(programs), begin):
        tallies.update(some)
        found.executed.update(evaluation.executions)
        found.reason = found.reason or evaluation.reason
        found.assumed = found.assumed or evaluation.assumed
        found.waits = found.waits or evaluation.waits
        found.scattered |= evaluation.scattered
        found.may_return |= evaluation.may_return
    found.moved = tallies.moved
    return found, tallies


#: Returns the bytes that an access touches: of the launch, or of each of its waves.
_Part: TypeAlias = Callable[[Tally], ByteSet | None]


def _of_launch(tally: Tally) -> ByteSet:
    return tally.moved.coverage


def _of_waves(tally: Tally) -> ByteSet | None:
    return tally.waves


class _Tallies:
    """What the accesses of some programs move.

    Attributes:
        moved: The same by access, whatever machine runs them.
    """

    def __init__(
        self,
        module: Module,
        launch: Launch,
        issued: IssueTable | None,
        wave: int | None,
        strides: Strides,
        tape: Tape | None = None,
    ) -> None:
        self._module = module
        self._launch = launch
        self._issued = issued
        self._issue = issued.of_module(module) if issued is not None else None
        self._wave = wave
        self._strides = strides
        self._tape = tape if tape is not None else Tape(0)
        self._sizes = launch.sizes(public_function(module))
        self.moved: dict[Key, Moved] = {}
        self._tallies: dict[Key, Tally] = {}
        #: What some operations access of each argument, once all programs are counted.
        self._unions: dict[tuple[frozenset[str], _Part], dict[str, ByteSet]] = {}

    def __call__(self, operation: Operation, access: Reference, programs: Array) -> None:
        """Count an access."""
        argument = access.pointer.argument
        key = (operation.index, argument)
        if key not in self.moved:
            coverage = self._strides.coverage(argument, access.element_bytes)
            self.moved[key] = Moved(access.element_bytes, self._sizes.get(argument), coverage)
        moved = self.moved[key]
        try:
            tiles = self._tape.add(key, tiles_of(access, programs))
            moved.access(tiles)
            self._tally(key).issue(tiles)
        finally:
            self._strides.note(argument, moved.leap)

    def _tally(self, key: Key) -> Tally:
        if key not in self._tallies:
            self._tallies[key] = Tally(self.moved[key], self._machine(key))
        return self._tallies[key]

    def _machine(self, key: Key) -> Machine:
        operation = self._module.operations[key[0]]
        issue = self._issue(operation) if self._issue is not None else None
        update = None
        if self._issued is not None and operation.name in ATOMICS:
            update = self._issued.update(operation)
        return Machine(self._wave, issue, update)

    def update(self, other: "_Tallies") -> None:
        """Add what other programs move."""
        for key, moved in other.moved.items():
            if key in self.moved:
                self.moved[key].update(moved)
                self._tally(key).update(other._tally(key))
            else:
                self.moved[key], self._tallies[key] = moved, other._tally(key)
        self._tape.update(other._tape)

    def replay(self, evaluated: Evaluated) -> None:
        """Take the accesses of a launch that was evaluated for another machine."""
        self.moved = evaluated.moved
        known: set[Key] = set()
        for key, tiles in evaluated.tape.tiles:
            if key not in self._tallies:
                tally = self._tally(key)
                self._tallies[key] = evaluated.tallies.get((key, tally.machine), tally)
                known |= {key} if self._tallies[key] is not tally else set()
            if key not in known:
                self._tallies[key].issue(tiles)

    def settle(self, evaluated: Evaluated) -> None:
        """Finish the tallies once all programs are counted, and keep them for later replays."""
        for tally in self._tallies.values():
            tally.settle()
        evaluated.keep(self._tallies)

    def traffic(self, flops: Flops | None, reason: str) -> Traffic:
        """Return the record of a launch."""
        accesses = [
            self._access(self._module.operations[index], argument, tally)
            for (index, argument), tally in sorted(self._tallies.items())
        ]
        operations = Traffic(accesses=accesses, reason=reason)
        if flops is not None:
            operations = msgspec.structs.replace(
                operations, flops=flops.total, tensor_flops=flops.tensor,
                multiplied_flops=flops.multiplied,
            )  # fmt: skip
        if reason:
            return operations
        arguments = self._arguments(accesses)
        waves = self._covered(_READS, _of_waves).values()
        return msgspec.structs.replace(
            operations,
            read_bytes=sum(each.read_bytes for each in arguments),
            written_bytes=sum(each.written_bytes for each in arguments),
            distinct_read_bytes=sum(each.distinct_read_bytes for each in arguments),
            distinct_written_bytes=sum(each.distinct_written_bytes for each in arguments),
            wave_read_bytes=None if self._wave is None else sum(each.size() for each in waves),
            arguments=arguments,
            **_requests("load", [each for each in accesses if each.operation in LOADS]),
            **_requests("store", [each for each in accesses if each.operation in STORES]),
        )

    def _arguments(self, accesses: Sequence[Access]) -> list[ArgumentTraffic]:
        """Return what is accessed through each argument, in the order of their first access."""
        read, written = (self._covered(kind, _of_launch) for kind in (_READS, _WRITES))

        def moved(argument: str, operations: frozenset[str]) -> int:
            alike = (each for each in accesses if each.operation in operations)
            return sum(each.bytes for each in alike if each.argument == argument)

        return [
            ArgumentTraffic(
                argument=name,
                read_bytes=moved(name, _READS),
                distinct_read_bytes=read[name].size() if name in read else 0,
                written_bytes=moved(name, _WRITES),
                distinct_written_bytes=written[name].size() if name in written else 0,
            )
            for name in dict.fromkeys(each.argument for each in accesses)
        ]

    def _access(self, operation: Operation, argument: str, tally: Tally) -> Access:
        requests, moved = tally.requests, tally.moved
        outside = moved.outside
        return Access(
            line=operation.span.line,
            source=operation.location[0] if operation.location else None,
            operation=operation.name,
            argument=argument,
            bytes=moved.bytes if operation.name in _ONCE else moved.lanes * moved.element_bytes,
            distinct_bytes=moved.coverage.size(),
            masked=moved.masked,
            requests=requests.requests if requests else None,
            sectors=requests.sectors if requests else None,
            ideal_sectors=requests.ideal_sectors if requests else None,
            width=tally.width,
            out_of_bounds=None
            if not outside.lanes
            else OutOfBounds(
                lanes=outside.lanes,
                program=self._launch.program(outside.program),
                offset=outside.offset,
                tensor_bytes=self._sizes[argument] or 0,
            ),
            reason=tally.reason,
        )

    def requests(self) -> list[Requests | None]:
        """Return the requests of each access, in the order of the accesses of ``traffic``."""
        return [tally.requests for _, tally in sorted(self._tallies.items(), key=itemgetter(0))]

    def updates(self) -> tuple[Updates, ...]:
        """Return what the atomic operations update."""
        found = []
        for (index, argument), tally in self._tallies.items():
            operation = self._module.operations[index]
            if operation.name in ATOMICS and tally.moved.lanes:
                found.append(self._updates(operation, argument, tally))
        return tuple(found)

    def _updates(self, operation: Operation, argument: str, tally: Tally) -> Updates:
        moved, size = tally.moved, tally.moved.element_bytes
        distinct = moved.coverage.size()
        value = (*operation.types, *operation.result_types)[-1]
        floating = isinstance(value.element, Scalar) and not value.element.is_integer
        lanes = float(moved.lanes)
        by_data = self._launch.numbers == "equal"
        if distinct == size <= _SUMMED_BYTES and not floating and not by_data:
            lanes /= min(_LANES, prod(value.shape))  # ptxas has each warp add up its lanes first
        passes = lanes if tally.updated is None else min(lanes, tally.updated)
        try:
            granules = moved.coverage.granules(_GRANULE)
        except TooManyIntervalsError:  # too many to be few: those that hold the bytes
            granules = max(1, distinct // _GRANULE)
        return Updates(
            line=operation.span.line,
            argument=argument,
            passes=passes,
            depth=lanes * size / distinct,
            granules=granules,
            element_bytes=size,
            floating=floating,
        )

    def footprint(self, granules: Granules) -> Footprint:
        """Return what memory delivers and takes in granules of a size in bytes."""

        def total(operations: frozenset[str], size: int, of: _Part = _of_launch) -> int:
            sets = self._covered(operations, of).values()
            return size * sum(each.granules(size) for each in sets)

        def of_waves(operations: frozenset[str]) -> int | None:
            return None if self._wave is None else total(operations, granules.memory, _of_waves)

        return Footprint(
            read_bytes=total(_READS, granules.memory),
            wave_read_bytes=of_waves(_READS),
            wave_written_bytes=of_waves(_WRITES),
            written_bytes=total(_WRITES, granules.memory),
            read_sector_bytes=total(_READS, granules.sector),
            written_sector_bytes=total(_WRITES, granules.sector),
        )

    def repeated(self, sector: int) -> tuple[Repetition, ...]:
        """Return for each access how many of its sectors it or an earlier one has accessed."""
        seen: dict[str, ByteSet] = {}
        found = []
        for (_, argument), tally in sorted(self._tallies.items(), key=itemgetter(0)):
            coverage = tally.moved.coverage
            before = seen.setdefault(argument, coverage.empty())
            known = before.granules(sector)
            before.update(coverage)
            new = before.granules(sector) - known
            found.append(
                Repetition(coverage.granules(sector), new, tally.touched(sector), tally.of_tiles)
            )
        return tuple(found)

    def _covered(self, operations: frozenset[str], of: _Part) -> dict[str, ByteSet]:
        """Return the bytes that some operations access, of each argument."""
        key = operations, of
        if key not in self._unions:
            sets: dict[str, list[ByteSet]] = {}
            for (index, argument), tally in self._tallies.items():
                coverage = of(tally)
                if self._module.operations[index].name in operations and coverage is not None:
                    sets.setdefault(argument, []).append(coverage)
            self._unions[key] = {name: _union(each) for name, each in sets.items()}
        return self._unions[key]


def _union(sets: Sequence[ByteSet]) -> ByteSet:
    """Return the bytes of at least one set."""
    if len(sets) == 1:
        return sets[0]
    whole = sets[0].empty()
    for each in sets:
        whole.update(each)
    return whole


def _requests(kind: str, accesses: list[Access]) -> dict[str, int | None]:
    """Return the totals of some accesses; unknown if one is."""
    return {
        f"{kind}_requests": total(each.requests for each in accesses),
        f"{kind}_sectors": total(each.sectors for each in accesses),
        f"ideal_{kind}_sectors": total(each.ideal_sectors for each in accesses),
    }
