"""What registers hold whenever a thread executes some instructions along its path."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from irlens.analyze.time.dataflow import DataFlow
from irlens.analyze.time.loop_runs import Path
from irlens.isa.sass.operands import State, ThreadInputs


class Executions:
    """Runs what some instructions depend on.

    Args:
        asked: The registers of these instructions that are asked for, as bits, by index.
    """

    def __init__(self, data: DataFlow, asked: Mapping[int, int]) -> None:
        self.data, self.asked = data, asked
        self.chosen = [frozenset(each) for each in data.slice(asked).by_block]
        self.blocks = [
            [index for index in block.indices if index in asked or index in chosen]
            for block, chosen in zip(data.flow.blocks, self.chosen, strict=True)
        ]

    def along(
        self, path: Path, thread: ThreadInputs, rounds: Mapping[int, int] = MappingProxyType({})
    ) -> Iterator[tuple[int, State]]:
        """Yield each instruction that is asked for before it runs, with the thread's state.

        Args:
            rounds: How often segments run, by how often they do on the path; by default as often.
        """
        state = thread.state(self.data.local.size, None)
        steps = {n: self.data.step(n, thread) for chosen in self.chosen for n in chosen}
        for segment in path.segments:
            for _ in range(rounds.get(segment.times, segment.times)):
                for block in segment.blocks:
                    for index in self.blocks[block]:
                        if index in self.asked:
                            yield index, state
                        if index in self.chosen[block]:
                            steps[index](state)
