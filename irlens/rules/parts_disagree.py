"""A part of the capture belongs to another kernel than the rest.

## What it means

Every artifact of a compilation states what it was made for: the architecture, the kernel's name,
its parameters, its threads. One of them contradicts the others, so that it comes from another
compilation: a file was copied into the wrong directory, or a cache is damaged. irlens takes what
most parts state for the kernel's, puts the part aside, and reports its figures as unknown.

## Example

The directory of a matmul for sm_80 holds the cubin of a softmax for sm_75. Its 26 registers are not
the matmul's, which needs 96.

## What to do

Delete the entry from the cache and compile the kernel again, or copy all files of the
entry again.

## Targets

NVIDIA and AMD.
"""

from collections.abc import Iterator

from irlens.analyze.facts import Facts
from irlens.model.report import Severity
from irlens.rules import Match

CODE = "IRL601"
NAME = "parts-disagree"
SEVERITY: Severity = "error"
NEEDS: tuple[str, ...] = ()


def find(facts: Facts) -> Iterator[Match]:
    """Yield one finding for each part that is of another kernel."""
    for contradiction in facts.contradictions:
        yield Match(
            message=contradiction,
            hint="delete this entry and compile again, or copy all of its files again",
        )
