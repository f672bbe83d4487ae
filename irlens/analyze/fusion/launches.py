"""What a recorded launch of a Triton kernel reads and writes, from its ttir."""

from collections import Counter
from collections.abc import Callable

import msgspec

from irlens.analyze.regions import distinct_bytes
from irlens.analyze.traffic import survey
from irlens.isa.mlir import Module
from irlens.isa.mlir.operations import deed
from irlens.model.config import identity_of
from irlens.model.operations import RecordedLaunch, RecordedOperation, Region
from irlens.model.traffic import Traffic

_READS = frozenset({"load", "load tile"})
_WRITES = frozenset({"store", "store tile"})
_OVERLAP = "loads or stores of one argument may overlap, and count no more than the tensor has"


class Launches:
    """Counts launches, each of the same arguments and grid once.

    Args:
        read: Returns the name and the ttir of the kernel in a directory of Triton's cache;
            ``None`` if it is not there.
    """

    def __init__(self, read: Callable[[str], tuple[str, Module] | None]) -> None:
        self._read = read
        self._modules: dict[str, tuple[str, Module] | None] = {}
        self._counted: dict[bytes, Traffic] = {}

    def resolved(self, operation: RecordedOperation) -> RecordedOperation:
        """Return a launch with what it reads and writes; other operations unchanged."""
        launch = operation.launch
        if launch is None:
            return operation
        if launch.entry not in self._modules:
            self._modules[launch.entry] = self._read(launch.entry)
        known = self._modules[launch.entry]
        name = operation.name if known is None else known[0]
        traffic = self._traffic(launch, known)
        if traffic.distinct_read_bytes is None or traffic.distinct_written_bytes is None:
            everything = tuple(launch.tensors.values())
            return msgspec.structs.replace(
                operation, name=name, reads=everything, writes=everything, launch=None,
                unknown=f"{name}: {traffic.reason or 'its accesses are unknown'}",
            )  # fmt: skip
        reads, writes = _regions(launch, traffic, _READS), _regions(launch, traffic, _WRITES)
        sums = [distinct_bytes(reads), distinct_bytes(writes)]
        is_exact = sums == [traffic.distinct_read_bytes, traffic.distinct_written_bytes]
        return msgspec.structs.replace(
            operation, name=name, reads=reads, writes=writes, launch=None,
            requested_bytes=traffic.read_bytes,
            at_most="" if is_exact else _OVERLAP,
        )  # fmt: skip

    def _traffic(self, launch: RecordedLaunch, known: tuple[str, Module] | None) -> Traffic:
        if known is None:
            return Traffic(reason="its ttir is not in Triton's cache")
        if launch.grid is None:
            return Traffic(reason="its grid is unknown")
        key = identity_of((launch.entry, launch.arguments, launch.grid))
        if key not in self._counted:
            self._counted[key] = survey(known[1], launch.arguments, launch.grid).traffic
        return self._counted[key]


def _regions(launch: RecordedLaunch, traffic: Traffic, deeds: frozenset[str]) -> tuple[Region, ...]:
    """Return what some operations access of each tensor; atomic ones read and write."""
    accessed: Counter[str] = Counter()
    for each in traffic.accesses:
        if deed(each.operation) in deeds or deed(each.operation) not in _READS | _WRITES:
            accessed[each.argument] += each.distinct_bytes
    return tuple(
        _part(launch.tensors[name], size)
        for name, size in accessed.items()
        if name in launch.tensors
    )


def _part(tensor: Region, size: int) -> Region:
    """Return a number of bytes of a tensor, at most all of them."""
    whole = distinct_bytes([tensor])
    if whole is None or size >= whole:
        return tensor
    return msgspec.structs.replace(tensor, most=-(-size // tensor.item_bytes))
