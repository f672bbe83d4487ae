"""Loads of one program that read the same bytes again."""

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any, TypeAlias

import msgspec
import numpy as np

from irlens.analyze.program_accesses import Chunks, Executions, corners_of
from irlens.analyze.traffic import values
from irlens.analyze.traffic.accesses import Reference
from irlens.analyze.traffic.evaluated import Latest, key_of
from irlens.analyze.traffic.evaluation import run
from irlens.analyze.traffic.launch import Launch
from irlens.isa.mlir import Module
from irlens.isa.mlir.global_memory import LOADS

#: Elements whose addresses are compared one by one.
_MOST_ELEMENTS = 1 << 21


class RepeatedLoad(msgspec.Struct, frozen=True):
    """Loads of one program that read the same bytes.

    Attributes:
        operations: Indices of the loads in the ttir: several that read the same bytes, or one that
            reads the same bytes in every iteration.
        bytes: Bytes that they read, each counted once.
    """

    operations: tuple[int, ...]
    argument: str
    bytes: int
    times: int


_Repeated: TypeAlias = tuple[Sequence[RepeatedLoad], int]
#: Those of launches that configurations share.
_KNOWN = Latest[_Repeated](0)


def repeated_loads(
    module: Module,
    arguments: Mapping[str, Any],
    grid: tuple[int, int, int],
) -> _Repeated:
    """Return the repeated loads of the program in the middle of a grid, and all bytes it loads.

    Loads from arguments that the program also writes are left out: what they read may differ. Only
    loads that read the same elements in the same order count. Where the loads are unknown, there
    are none.
    """
    launch = Launch(arguments, grid)
    key = key_of(module, launch)
    return _KNOWN.recall(key) or _KNOWN.remember(key, _evaluated(module, launch))


def _evaluated(module: Module, launch: Launch) -> _Repeated:
    """Return the same of a launch."""
    middle = prod(launch.grid) // 2
    try:
        ((program, _),) = run(module, launch, range(middle, middle + 1), Executions)
        every, written = [], set[str]()
        for (index, argument), chunks in program.chunks.items():
            if module.operations[index].name in LOADS:
                every.append(_Load(index, argument, chunks))
            else:
                written.add(argument)
        loads = [each for each in every if each.argument not in written]
        return (*_in_iterations(loads), *_in_several(loads)), _bytes(every)
    except (values.UnknownTrafficError, values.TooLargeError):
        return (), 0


class _Load(msgspec.Struct, frozen=True):
    """The executions of one load by one program."""

    operation: int
    argument: str
    chunks: Chunks

    @property
    def executions(self) -> int:
        """How often it is executed."""
        return sum(count for _, count in self.chunks)

    @property
    def element_bytes(self) -> int:
        """Bytes of an element."""
        return self.chunks[0][0].element_bytes

    def elements(self) -> values.Array:
        """Return the address of each element of each execution, -1 for those masked off.

        Raises:
            TooLargeError: They are too many.
        """
        if sum(count * prod(each.shape) for each, count in self.chunks) > _MOST_ELEMENTS:
            raise values.TooLargeError
        return np.concatenate([_elements(each, count) for each, count in self.chunks])


def _in_iterations(loads: list[_Load]) -> Iterator[RepeatedLoad]:
    """Yield the loads that read the same elements every time."""
    for load in loads:
        corners = corners_of(load.chunks)
        if corners.size < 2 or (corners != corners[0]).any():
            continue
        elements = load.elements()
        if (elements != elements[0]).any():
            continue
        read = values.distinct(elements[0][elements[0] >= 0]).size * load.element_bytes
        if read:
            yield RepeatedLoad((load.operation,), load.argument, read, load.executions)


def _in_several(loads: list[_Load]) -> Iterator[RepeatedLoad]:
    """Yield the loads that read the same elements as others, and each of them once."""
    alike: dict[tuple[str, int, bytes], list[_Load]] = {}
    for load in loads:
        key = load.argument, load.element_bytes, corners_of(load.chunks).tobytes()
        alike.setdefault(key, []).append(load)
    for candidates in alike.values():
        if len(candidates) < 2:
            continue
        first = candidates[0].elements()
        same = [each for each in candidates if np.array_equal(each.elements(), first)]
        places = first[first >= 0]
        if len(same) > 1 and places.size and values.distinct(places).size == places.size:
            read = places.size * same[0].element_bytes
            operations = tuple(each.operation for each in same)
            yield RepeatedLoad(operations, same[0].argument, read, len(same))


def _bytes(loads: list[_Load]) -> int:
    """Return the bytes that a program's loads read, those of masked lanes included."""
    return sum(
        count * prod(each.shape) * each.element_bytes
        for load in loads
        for each, count in load.chunks
    )


def _elements(access: Reference, count: int) -> values.Array:
    places = np.where(*access.elements(), -1)
    return np.broadcast_to(places, (count, *access.shape)).reshape(count, -1)
