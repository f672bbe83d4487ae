"""How long the L2 updates what atomic operations of a launch write to.

An address is updated by one lane at a time. A slice of the L2, which is home to some hundreds of
neighbouring bytes, takes one lane's instruction after the other, whatever it updates, and the
sectors that all slices update in a second are limited. Updates of few addresses therefore take
long however many SMs send them: 2^20 additions of fp32 to one address take an H100 1.85 ms, to 256
addresses in a row 44 µs, and to 2^20 addresses 8 µs.
"""

from collections.abc import Iterable

from irlens.analyze.traffic import Updates

# In microseconds, fitted to what an H100 took (``benchmarks/atomics.py``, tests/data/h100). Other
# GPUs are assumed to be as fast.
#: Between two updates of one address: floating-point numbers, and integers.
_FLOATING, _INTEGER = 1.76e-3, 0.74e-3
#: Between two instructions of lanes that a slice takes: of fp64, and others.
_DOUBLE, _OTHER = 0.86e-3, 0.32e-3
#: Between two of them that all slices together take.
_INSTRUCTION = 1 / 120e3
#: Between two sectors that all slices together update.
_SECTOR = 1 / 65e3


def colliding_us(updates: Iterable[Updates]) -> float:
    """Return the microseconds for which atomic operations keep the L2 busy."""
    return sum(map(_busy, updates))


def _busy(updates: Updates) -> float:
    address = updates.depth * (_FLOATING if updates.floating else _INTEGER)
    own = _DOUBLE if updates.floating and updates.element_bytes == 8 else _OTHER
    instruction = own / updates.granules + _INSTRUCTION
    return max(address, updates.instructions * instruction, updates.sectors * _SECTOR)
