"""What warps do to the barriers in shared memory by which they hand data on, in their order."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from irlens.analyze.time.dataflow import DataFlow, UnknownPathError
from irlens.analyze.time.loop_runs import Executions, Path
from irlens.isa.sass.mbarriers import BarrierUse, Deed, barrier_use, is_other_use
from irlens.isa.sass.operands import ThreadInputs


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
