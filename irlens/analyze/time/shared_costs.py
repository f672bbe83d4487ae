"""What accesses to shared memory and shuffles cost a launch: by line, and for any of them.

The wavefronts are those that the lanes' addresses cause (``shared_wavefronts``), as Nsight Compute
counts them for each instruction. Its counters of a launch have as many where nothing else uses
shared memory meanwhile, and more where accesses meet data that arrive from the L2, or operands that
tensor cores of other CTAs read: when these meet depends on time alone.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable

from msgspec.structs import replace

from irlens.analyze.time import estimate, sm_share
from irlens.analyze.time.counting import CostedLaunch, count, executed
from irlens.analyze.time.shared_wavefronts import Wavefronts
from irlens.isa.sass import Instruction, units
from irlens.isa.sass.timing import ordering
from irlens.model.conversions import AccessKind, Price, SharedAccesses, Way
from irlens.model.source import SourceLocation, user_frame

#: Estimates of a launch without some of its instructions; each takes about 10 ms.
_MOST_TRIED = 8


class SharedCosts:
    """The accesses of a launch to shared memory, with what they cost.

    Args:
        launch: What the prices are of, with its paths and its wavefronts.
    """

    def __init__(self, launch: CostedLaunch) -> None:
        self.launch = launch
        self._tries = _MOST_TRIED
        self._wavefronts = {**launch.code.wavefronts, **launch.of_warps()}
        self._now = estimate(launch.counts, launch.machine.gpu).estimate_us
        self._us = sm_share(launch.counts, launch.machine.gpu)
        self._executed = executed(launch.code, launch.followed)
        self._warps = sum(each.warps for cta in launch.followed for each in cta)

    def by_line(self) -> list[SharedAccesses]:
        """Return the accesses of each line of Python, the most expensive first."""
        groups: defaultdict[tuple[SourceLocation | None, AccessKind], list[int]] = defaultdict(list)
        for index in self._executed:
            each = self._instruction(index)
            kind = units.shared_access(each)
            if kind is not None:
                source = user_frame(each.locations)
                place = None if source is None else SourceLocation(source.file, source.line)
                groups[place, kind].append(index)
        found = [
            SharedAccesses(
                source=source,
                kind=kind,
                runs=self.runs(indices),
                instructions=len(indices),
                price=self.price(indices),
                unknown=sum(
                    self._instruction(index).opcode in units.ADDRESSED
                    and index not in self._wavefronts
                    for index in indices
                ),
            )
            for (source, kind), indices in groups.items()
        ]
        return sorted(found, key=lambda each: (-each.price.us, str(each.source), each.kind))

    def at(self, frames: tuple[SourceLocation, ...]) -> list[int]:
        """Return the accesses, shuffles and barriers whose locations are those of an operation."""
        return [
            index
            for index in self._executed
            if (
                units.shared_access(each := self._instruction(index)) is not None
                or _is_barrier(each)
            )
            and _is_of(each.locations, frames)
        ]

    def of_way(self, indices: Iterable[int], way: Way) -> list[int]:
        """Return those of some instructions that a conversion's way takes: shuffles, or others."""
        kinds = {"shuffle"} if way == "shuffles" else {"load", "store", None}
        found = [each for each in indices if units.shared_access(self._instruction(each)) in kinds]
        only_barriers = all(_is_barrier(self._instruction(each)) for each in found)
        return [] if only_barriers else found

    def runs(self, indices: Collection[int]) -> float:
        """Return how often a warp runs instructions, the mean over the launch."""
        return max((self._executed[each] for each in indices), default=0.0) / self._warps

    def price(
        self, indices: Collection[int], *, removed: bool = False, share: float = 1.0
    ) -> Price:
        """Return what some instructions cost.

        Args:
            removed: Whether to estimate the launch without them, too.
            share: The part of that.
        """
        requests = wavefronts = conflicts = cycles = 0.0
        for index in indices:
            each, times = self._instruction(index), self._executed[index]
            if units.shared_access(each) is None:
                continue
            least = units.shared_cycles(each) or 1.0
            found = self._wavefronts.get(index, Wavefronts(least, 0.0))
            requests += times
            wavefronts += times * found.total
            conflicts += times * max(0.0, found.total - least)
            cycles += times * found.cycles
        saved = self._saved(indices) if removed else None
        return Price(
            requests=requests * share,
            wavefronts=wavefronts * share,
            conflicts=conflicts * share,
            us=cycles * share * self._us,
            saved_us=None if saved is None else saved * share,
        )

    def _saved(self, indices: Collection[int]) -> float | None:
        if not self._tries:
            return None
        self._tries -= 1
        code = replace(self.launch.code, removed=frozenset(indices))
        changed = count(replace(self.launch, code=code))
        after = estimate(changed, self.launch.machine.gpu).estimate_us
        return None if after is None or self._now is None else max(0.0, self._now - after)

    def _instruction(self, index: int) -> Instruction:
        return self.launch.code.section.instructions[index]


def _is_barrier(instruction: Instruction) -> bool:
    return ordering(instruction) == "barrier"


def _is_of(instruction: tuple[SourceLocation, ...], operation: tuple[SourceLocation, ...]) -> bool:
    """Whether an instruction's lines are an operation's; before 3.8 it may have the first alone."""
    one, other = ([(each.file, each.line) for each in it] for it in (instruction, operation))
    return one == other or (len(one) == 1 and one == other[:1])
