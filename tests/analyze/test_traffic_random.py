"""Traffic of random kernels is what their programs access, executed one after the other."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from irlens.isa.mlir import parse
from irlens.model.traffic import Traffic
from tests.analyze.random_ttir.accesses import INDEX
from tests.analyze.random_ttir.kernels import random_kernel
from tests.analyze.random_ttir.machine import Kernel, covered
from tests.analyze.traffic_counts import count

READS = {"tt.load", "tt.descriptor_load", "tt.atomic_rmw"}
WRITES = {"tt.store", "tt.descriptor_store", "tt.atomic_rmw"}


def counted(kernel: Kernel) -> Traffic:
    return count(
        parse(kernel.text, stage="ttir"), kernel.numbers, kernel.grid, contents={"index": INDEX}
    )


@settings(max_examples=200)
@given(st.integers(0, 1 << 40))
def test_traffic_is_unknown_or_what_the_programs_access(seed: int) -> None:
    kernel = random_kernel(Random(seed))
    traffic = counted(kernel)
    if traffic.read_bytes is None:
        assert traffic.reason
        return
    expected = kernel.run()
    found = {
        (each.line, each.argument): (each.bytes, each.distinct_bytes, each.masked)
        for each in traffic.accesses
    }
    # An access that no program executes may be left out.
    assert {key: each for key, each in found.items() if any(each)} == {
        key: each for key, each in expected.items() if any(each)
    }, kernel.text
    assert traffic.read_bytes == sum(each[0] for each in of_kind(expected, kernel, READS))
    assert traffic.written_bytes == sum(each[0] for each in of_kind(expected, kernel, WRITES))
    reads, writes = distinct(kernel, READS), distinct(kernel, WRITES)
    assert traffic.distinct_read_bytes == sum(reads.values())
    assert traffic.distinct_written_bytes == sum(writes.values())
    by_argument = {
        each.argument: (each.distinct_read_bytes, each.distinct_written_bytes)
        for each in traffic.arguments
    }
    assert {name: each for name, each in by_argument.items() if any(each)} == {
        name: (reads.get(name, 0), writes.get(name, 0))
        for name in {*reads, *writes}
        if reads.get(name) or writes.get(name)
    }


def of_kind(
    found: dict[tuple[int, str], tuple[int, int, int]], kernel: Kernel, operations: set[str]
) -> list[tuple[int, int, int]]:
    """Return what some operations access."""
    return [each for key, each in found.items() if kernel.operations[key[0]][0] in operations]


def distinct(kernel: Kernel, operations: set[str]) -> dict[str, int]:
    """Return the bytes that some operations access of each argument, each counted once."""
    arguments: dict[str, set[int]] = {}
    for (line, argument), (offsets, *_) in kernel.touched().items():
        operation, size = kernel.operations[line]
        if operation in operations:
            first = {int(each) for each in offsets}
            bytes_ = {each + byte for each in first for byte in range(size)}
            assert len(bytes_) == covered(offsets, size)
            arguments.setdefault(argument, set()).update(bytes_)
    return {name: len(each) for name, each in arguments.items()}


def test_many_random_kernels_are_counted() -> None:
    # Otherwise the test above would show little.
    counts = [counted(random_kernel(Random(seed))).read_bytes is not None for seed in range(100)]
    assert sum(counts) >= 60
