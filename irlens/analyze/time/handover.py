"""What the default warps of a CTA hand to those that work for them.

``ttg.warp_specialize`` writes one byte for each warp of its partitions into shared memory, which
says which partition it is to run, and at the kernel's end that it is to end. All threads of the
default warps write the same.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import TypeAlias

from irlens.analyze.time.dataflow import DataFlow
from irlens.analyze.time.loop_runs import Executions, Path
from irlens.isa.sass.operands import PASSED, ThreadInputs
from irlens.isa.sass.semantics.shared import store_of

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
