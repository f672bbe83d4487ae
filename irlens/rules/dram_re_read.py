"""Programs that run one after the other read the same data, and the L2 cannot keep it.

## What it means

Several programs read the same bytes: tiles of A and B in a matmul, weights in a convolution.
Programs of one wave share them through the L2. What a later wave reads again comes from the L2 too
if it is still there; where each wave reads more than the L2 holds, it comes from DRAM.

The finding counts distinct bytes wave by wave, in the order in which the hardware starts programs.
It is reported where an average wave reads more than the L2 holds, where the waves together read at
least one and a half times the distinct bytes, and where DRAM then needs longer than the arithmetic.

## Example

A matmul of 16384 x 16384 fp16 matrices whose programs walk along the rows of C: each wave reads a
few rows of A and all of B, 512 MiB.

## What to do

* Let neighbouring programs share operands: the tiles of `GROUP_SIZE_M` rows column by column, as in
  the matmul sample. `irlens sweep --set GROUP_SIZE_M=1,4,8,16` shows the bytes per wave.
* Larger tiles read each operand fewer times.
* A persistent kernel chooses the order of its tiles freely.

## Targets

NVIDIA and AMD, where the launch, the capacity of the L2 and the CTAs per SM are known. AMD's waves
of a grid are called rounds.
"""

from collections.abc import Iterator
from math import ceil

from irlens.analyze.facts import Facts
from irlens.model.estimate import Cause
from irlens.model.report import Severity
from irlens.model.text import rounded_size
from irlens.rules import Match

CODE = "IRL306"
NAME = "dram-re-read"
SEVERITY: Severity = "warning"
CAUSE: Cause = "rereads"
NEEDS = ("traffic", "product", "occupancy")

#: Tolerated ratio of the bytes that waves read to the distinct bytes.
_TOLERATED = 1.5


def find(facts: Facts) -> Iterator[Match]:
    """Yield a finding where waves read again what the L2 cannot have kept."""
    traffic, product = facts.traffic, facts.gpu.product if facts.gpu is not None else None
    if traffic is None or product is None or product.l2_bytes is None:
        return
    read, distinct = traffic.wave_read_bytes, traffic.distinct_read_bytes
    if read is None or distinct is None or facts.occupancy is None or not facts.occupancy.waves:
        return
    waves = ceil(facts.occupancy.waves)
    if read < _TOLERATED * distinct or read / waves <= product.l2_bytes:
        return
    bandwidth = product.bandwidth
    roofline = facts.launch.roofline
    compute = roofline.compute_us if roofline is not None else None
    if bandwidth is None or compute is None or read / bandwidth * 1e6 <= compute:
        return
    each = rounded_size(read // waves)
    yield Match(
        message=(
            f"DRAM delivers up to {rounded_size(read)} for {rounded_size(distinct)} of distinct"
            f" data: each of {waves:,} {facts.words.wave}s reads {each} on average, more than the"
            f" {rounded_size(product.l2_bytes)} of the L2"
        ),
        hint="let neighbouring programs share operands: group tiles, or make them larger",
    )
