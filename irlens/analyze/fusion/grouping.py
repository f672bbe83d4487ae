"""Form groups of operations, in the order of the program.

Groups are in an order in which they can run: whatever an operation needs is in its own group or in
an earlier one.
"""

from irlens.analyze.fusion.dataflow import Flow
from irlens.analyze.fusion.rules import Group, Verdict, own_kernel
from irlens.model.operations import RecordedProgram

#: Earlier groups that may share an input with an operation that needs none of them.
_REACH = 16
#: Beyond that many operations, groups are not united.
_MOST_UNITED = 512
#: Groups are not moved past more others than that.
_FAR = 64


class Grouping:
    """The groups of a program.

    Args:
        row_limit: Elements of a row that stay on chip.

    Attributes:
        verdicts: Of each operation what decided that it joins its group, or begins it.
    """

    def __init__(self, program: RecordedProgram, flow: Flow, row_limit: int) -> None:
        self.verdicts: list[Verdict] = []
        self._operations = program.operations
        self._flow = flow
        self._row_limit = row_limit
        self._slots: list[Group | None] = []
        #: The slot of each operation's group; views have none.
        self._slot_of: dict[int, int] = {}
        for index, operation in enumerate(self._operations):
            if operation.kind == "view":
                reason = "a view: another shape of the same memory, which moves nothing"
                self.verdicts.append(Verdict(True, "view", reason))
            else:
                self.verdicts.append(self._place(index))

    @property
    def groups(self) -> list[Group]:
        """The groups in the order in which they can run."""
        return [group for group in self._slots if group is not None]

    def _place(self, index: int) -> Verdict:
        """Put an operation into a group."""
        needed = sorted({self._slot_of[each] for each in self._flow.before[index]}, reverse=True)
        if not needed:
            return self._place_freely(index)
        first: Verdict | None = None
        for number, slot in enumerate(needed):
            group = self._slots[slot]
            assert group is not None
            verdict = group.admits(index)
            first = first or verdict
            if verdict.joins and (not number or self._is_free(slot, len(self._slots))):
                host = slot if not number else self._moved_to_end(slot)
                for other in needed:
                    if other != slot:
                        self._unite(host, other, index)
                group = self._slots[host]
                assert group is not None
                verdict = group.admits(index)
                self._take(host, index)
                return verdict
        assert first is not None
        self._begin(index)
        return (
            first
            if not first.joins
            else Verdict(False, "other space", "needs several groups that cannot be one")
        )

    def _take(self, slot: int, index: int) -> None:
        group = self._slots[slot]
        assert group is not None
        group.take(index)
        self._slot_of[index] = slot

    def _is_free(self, slot: int, until: int) -> bool:
        """Whether no group after a slot, up to another one, needs what the slot's group does."""
        group = self._slots[slot]
        assert group is not None
        if until - slot > _FAR:
            return False
        moved = set(group.members)
        return not any(
            not moved.isdisjoint(self._flow.before[each])
            for between in self._slots[slot + 1 : until]
            if between is not None
            for each in between.members
        )

    def _moved_to_end(self, slot: int) -> int:
        """Let a group run last, and return its new slot."""
        group = self._slots[slot]
        assert group is not None
        self._slots[slot] = None
        self._slots.append(group)
        self._slot_of.update(dict.fromkeys(group.members, len(self._slots) - 1))
        return len(self._slots) - 1

    def _place_freely(self, index: int) -> Verdict:
        """Put an operation that needs no other one beside one that shares an input."""
        for slot in range(len(self._slots) - 1, max(-1, len(self._slots) - 1 - _REACH), -1):
            group = self._slots[slot]
            verdict = group.admits(index) if group is not None else None
            if group is not None and verdict is not None and verdict.joins:
                self._take(slot, index)
                return verdict
        self._begin(index)
        return own_kernel(self._operations[index]) or Verdict(
            False, "first", "reads nothing that an earlier group computes or shares"
        )

    def _begin(self, index: int) -> None:
        group = Group(self._operations, self._flow, self._row_limit)
        group.begin(index)
        self._slot_of[index] = len(self._slots)
        self._slots.append(group)

    def _unite(self, slot: int, other: int, index: int) -> None:
        """Put an earlier group into a later one, if that allows it for an operation of both."""
        group, earlier = self._slots[slot], self._slots[other]
        if group is None or earlier is None:
            return
        if len(group.members) + len(earlier.members) > _MOST_UNITED:
            return
        if not self._is_free(other, slot + 1):
            return
        for parts in ((group, earlier), (earlier, group)):
            united = Group(self._operations, self._flow, self._row_limit)
            verdicts = _refill(united, [each for part in parts for each in part.members])
            if verdicts is not None and united.admits(index).joins:
                for member, verdict in verdicts.items():
                    self.verdicts[member] = verdict
                self._slots[slot], self._slots[other] = united, None
                self._slot_of.update(dict.fromkeys(earlier.members, slot))
                return


def _refill(group: Group, members: list[int]) -> dict[int, Verdict] | None:
    """Put operations into an empty group; return why each is there, the first excepted.

    Returns:
        ``None`` if a rule forbids it.
    """
    first, *others = members
    group.begin(first)
    verdicts = {}
    for member in others:
        verdicts[member] = group.admits(member, alone=True)
        if not verdicts[member].joins:
            return None
        group.take(member)
    return verdicts
