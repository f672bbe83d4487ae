"""Events of asynchronous copies: what an instruction begins, commits or awaits.

Every dialect translates its instructions into these, and the analyses of pipelines follow them
without knowing the instructions.
"""

from collections.abc import Hashable
from typing import TypeAlias

import msgspec

#: Stands for "no bound": larger than any count of groups or bytes.
UNBOUNDED = 1 << 62


class Copy(msgspec.Struct, frozen=True):
    """One copy instruction.

    Every event has its line, and its offset in the text (``at``) by which events are ordered.

    Attributes:
        bytes: Per thread; ``None`` where they are not a literal.
        amount: What is added up instead, if anything is: bytes of all threads, say.
    """

    line: int
    bytes: int | None
    at: int = 0
    amount: int | None = None


class Commit(msgspec.Struct, frozen=True):
    """Closes a group.

    Attributes:
        certain: Whether it always does, having no predicate.
        implicit: Whether it belongs to a ``wait_all``, where an empty group has no effect.
        copies: Whether it is itself the copy, which nothing else commits.
    """

    line: int
    certain: bool
    implicit: bool = False
    at: int = 0
    copies: bool = False


class Wait(msgspec.Struct, frozen=True):
    """Blocks until at most ``limit`` groups are outstanding.

    Attributes:
        certain: Whether it always does, having no predicate.
        origin: Whatever tells unrolled copies of one wait in the source from different ones.
    """

    line: int
    limit: int
    certain: bool
    origin: Hashable = None
    at: int = 0


Event: TypeAlias = Copy | Commit | Wait
