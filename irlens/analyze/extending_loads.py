"""Loads whose instructions stand where their data is converted.

LLVM makes a narrow load and the extension of its value a single instruction
(``buffer_load_sbyte``), which takes the location of the extension. Where the ttgir converts the
value of a load, that is the place of the conversion.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence

from irlens.analyze.global_accesses import Place
from irlens.analyze.solver import reach
from irlens.isa.mlir import Module, Operation
from irlens.isa.mlir.copies import LOADS

#: Operations that leave each element as it is.
_CARRIES = frozenset(
    {
        "stretch",
        "insert",
        "reshape",
        "split",
        "transpose",
        "relayout",
    }
)


def find_extending(
    module: Module, issued: Mapping[Place, Sequence[int | str]], known: Collection[Place]
) -> dict[Place, Sequence[int | str]]:
    """Return the widths of the instructions of loads that have none at their own place.

    A place of instructions counts for the loads of a single place, and only if no access stands
    there.

    Args:
        module: The ttgir.
        issued: The widths of the instructions at each place.
        known: The places of the ttgir's accesses.
    """
    lost = {place: widths for place, widths in issued.items() if place not in known}
    loads = [each for each in module.named(*LOADS) if ("load", each.location) not in issued]
    if not lost or not loads:
        return {}
    users = _users(module)
    claims: defaultdict[Place, set[Place]] = defaultdict(set)
    for load in loads:
        for user in _converted_by(load, users):
            if ("load", user.location) in lost:
                claims["load", user.location].add(("load", load.location))
    owners: defaultdict[Place, list[Place]] = defaultdict(list)
    for place, claimants in claims.items():
        if len(claimants) == 1:
            owners[next(iter(claimants))].append(place)
    return {load: lost[places[0]] for load, places in owners.items() if len(places) == 1}


def _users(module: Module) -> Mapping[str, Sequence[Operation]]:
    """Return the operations that read each value, by its name without the number of a result."""
    users: defaultdict[str, list[Operation]] = defaultdict(list)
    for operation in module.operations:
        for operand in operation.operands:
            users[operand.partition("#")[0]].append(operation)
    return users


def _converted_by(load: Operation, users: Mapping[str, Sequence[Operation]]) -> Sequence[Operation]:
    """Return the operations that compute with what a load brings."""
    found = list[Operation]()

    def carried(name: str) -> Iterator[str]:
        for user in users.get(name, ()):
            if user.does in _CARRIES:
                yield from (result for result, _ in user.results)
            else:
                found.append(user)

    reach((name for name, _ in load.results), carried)
    return found
