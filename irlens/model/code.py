"""What moved in the text of one stage, as records.

Compared is what the code does. Names of SSA values and registers, labels, source locations,
addresses and metadata numbers are taken out before lines are held against each other; the rows
show the text as the compiler wrote it.
"""

from typing import Literal, TypeAlias

import msgspec

from irlens.model.comparison import Side

#: Half-open range of columns.
Columns: TypeAlias = tuple[int, int]
RowKind: TypeAlias = Literal["same", "changed", "removed", "added"]


class CodeRow(msgspec.Struct, frozen=True, kw_only=True):
    """A line on both sides.

    Attributes:
        kind: "same" in meaning, "changed", or only on the first ("removed") or second ("added")
            side.
        before_line: 1-based line on the first side, ``None`` if it is not there.
        after_line: 1-based line on the second side.
        before: Its text there.
        after: Its text here.
        before_words: Of a changed line the columns of ``before`` that differ in meaning.
        after_words: The same of ``after``.
    """

    kind: RowKind
    before_line: int | None
    after_line: int | None
    before: str | None
    after: str | None
    before_words: tuple[Columns, ...] = ()
    after_words: tuple[Columns, ...] = ()


class CodeHunk(msgspec.Struct, frozen=True, kw_only=True):
    """Rows that belong together: what moved, with some of what stands around it.

    Attributes:
        heading: What it is in: "scf.for at softmax.py:48", "$L__BB0_3"; empty for the top.
        rows: In the order of the second side; what was removed stands where it was.
    """

    heading: str
    rows: list[CodeRow]


class CodeComparison(msgspec.Struct, frozen=True, kw_only=True):
    """One stage of two captures.

    Attributes:
        stage: Its name.
        before: The first side.
        after: The second side.
        different: Whether any row is not the same.
        added: Rows of that kind.
        removed: Rows of that kind.
        changed: Rows of that kind.
        before_lines: Lines of the first side.
        after_lines: Lines of the second.
        hunks: In the order of the text.
    """

    stage: str
    before: Side
    after: Side
    different: bool
    added: int
    removed: int
    changed: int
    before_lines: int
    after_lines: int
    hunks: list[CodeHunk]
