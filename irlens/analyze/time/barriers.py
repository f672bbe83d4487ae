"""What warps do in shared memory for others: at barriers, in their order, and what they hand on.

``ttg.warp_specialize`` writes one byte for each warp of its partitions into shared memory, which
says which partition it is to run, and at the kernel's end that it is to end. All threads of the
default warps write the same.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

import msgspec

from irlens.analyze.time.dataflow import DataFlow, UnknownPathError
from irlens.analyze.time.loop_runs import Executions, Path
from irlens.isa.sass.mbarriers import BarrierUse, Deed, barrier_use, is_other_use
from irlens.isa.sass.operands import PASSED, ThreadInputs
from irlens.isa.sass.semantics.shared import store_of


class Use(msgspec.Struct, frozen=True):
    """One execution of an instruction that does something to a barrier.

    Attributes:
        value: The arrivals that are expected or made, or the parity that is waited for.
    """

    index: int
    deed: Deed
    barrier: int
    value: int


class BarrierUses:
    """Finds what the warps of a CTA do to barriers; contains the instructions that do something.

    Args:
        threads: What the first lane of a path's first warp can read of the launch, by path.
    """

    def __init__(self, data: DataFlow, threads: Mapping[Path, ThreadInputs]) -> None:
        found = {n: barrier_use(each) for n, each in enumerate(data.section.instructions)}
        self._uses: dict[int, BarrierUse] = {n: each for n, each in found.items() if each}
        asked = {n: each.registers for n, each in self._uses.items()}
        others = (n for n, each in enumerate(data.section.instructions) if is_other_use(each))
        self._executions = Executions(data, asked | dict.fromkeys(others, 0))
        self.threads = threads
        self._section = data.section
        self._known: dict[tuple[Path, tuple[tuple[int, int], ...]], Sequence[Use | None]] = {}

    def along(
        self, path: Path, thread: ThreadInputs, rounds: Mapping[int, int]
    ) -> Sequence[Use | None]:
        """Return what happens at each execution of an instruction that uses a barrier.

        Args:
            thread: The one whose path it is, or begins like it.
            rounds: How often segments run, by how often they do in the launch; by default as often.

        Returns:
            ``None`` where a guard keeps the instruction from running.

        Raises:
            UnknownPathError: A barrier, or whether an instruction runs, is not known.
        """
        key = path, tuple(sorted(rounds.items()))
        if key not in self._known:
            self._known[key] = self._find(path, thread, rounds)
        return self._known[key]

    def _find(
        self, path: Path, thread: ThreadInputs, rounds: Mapping[int, int]
    ) -> Sequence[Use | None]:
        found: list[Use | None] = []
        for index, state in self._executions.along(path, thread, rounds):
            use = self._uses.get(index)
            runs = use.runs(state) if use is not None else None
            if runs == 0:
                found.append(None)
                continue
            address, value = (use.address(state), use.value(state)) if use else (None, None)
            if use is None or runs is None or address is None or value is None:
                each = self._section.instructions[index]
                place = f"{each.opcode} at {each.offset:#06x}"
                raise UnknownPathError(f"the barrier of {place} is unknown")
            found.append(Use(index, use.deed, address, value))
        return found

    def __contains__(self, index: object) -> bool:
        return index in self._uses

    def __iter__(self) -> Iterator[int]:
        return iter(self._uses)


#: What is written to shared memory, by address: bytes with the number of barriers of the CTA that
#: their writer had passed before.
Written: TypeAlias = Mapping[int, tuple[tuple[int, int], ...]]


class Handover:
    """Finds what the default warps of programs write for others."""

    def __init__(self, data: DataFlow, follow: Callable[[ThreadInputs], Path]) -> None:
        found = {n: store_of(each) for n, each in enumerate(data.section.instructions)}
        self._stores = {n: each for n, each in found.items() if each is not None}
        asked = {n: each.registers | 1 << PASSED for n, each in self._stores.items()}
        self._executions = Executions(data, asked)
        self._follow = follow
        self._launch = ThreadInputs({}, {})
        self._uniform: frozenset[int] = frozenset()
        self._known: dict[Path, list[Written]] = {}

    def by(self, first: ThreadInputs, last: ThreadInputs) -> Written:
        """Return what all lanes of a program's default warps write.

        Args:
            first: The program's first lane.
            last: The last lane of the same warp.
        """
        path = self._follow(first)
        if not first.is_of_launch(self._launch):
            one, other = self._by_store(path, first), self._by_store(path, last)
            self._uniform = frozenset(n for n, each in one.items() if other.get(n) == each)
            self._launch, self._known = first, {}
        known = self._known.setdefault(path, [])
        if len(known) < 2 or known[0] != known[1]:  # not the same for all programs of the path
            known.append(self._by_address(path, first))
        return known[-1]

    def _by_address(self, path: Path, thread: ThreadInputs) -> Written:
        found: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        for index, writes in self._by_store(path, thread).items():
            for passed, at, byte in writes if index in self._uniform else ():
                found[at].append((passed, byte))
        return {at: tuple(sorted(each, key=lambda one: one[0])) for at, each in found.items()}

    def _by_store(
        self, path: Path, thread: ThreadInputs
    ) -> Mapping[int, list[tuple[int, int, int]]]:
        """Return what each store writes: barriers passed before, address and byte."""
        found: defaultdict[int, list[tuple[int, int, int]]] = defaultdict(list)
        for index, state in self._executions.along(path, thread):
            if (passed := state[PASSED]) is not None:
                written = self._stores[index].written(state)
                found[index] += [(passed, at, byte) for at, byte in written]
        return found
