"""What moved in the text of one stage, as records.

Compared is what the code does. Names of SSA values and registers, labels, source locations,
addresses and metadata numbers are taken out before lines are held against each other; the rows
show the text as the compiler wrote it.
"""

from typing import Literal, TypeAlias

import msgspec

from irlens.model.comparison import Side

#: Version of ``CodeComparisons``; raised when a path is renamed, removed or changes meaning.
CODE_SCHEMA = 1

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
        before: Its text there, as written but for locations, and a comment at its end.
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
        heading: What its first row that moved is in, the innermost loop or else the function:
            "scf.for at softmax.py:48  for row in ...", "softmax_kernel"; empty outside of both.
        rows: In the order of the second side; what was removed stands where it was. Lines that
            say nothing (locations, comments, debug information) are left out.
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
        hunks: In the order of the text. What has none itself (attribute aliases, metadata) is one
            hunk.
        setting: What sets the pair apart from others of its kernel and target that are compared
            beside it: "num_warps=4"; empty where nothing does.
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
    setting: str = ""


class CodeComparisons(msgspec.Struct, frozen=True, kw_only=True):
    """Stages of two sets of captures, or of several captures against the first of them.

    Attributes:
        schema: Version of this interface.
        different: Whether any pair differs, or a capture has no counterpart.
        pairs: The matched captures, stage by stage.
        missing: Matched captures of which not both have a stage that was asked for, in words.
        removed: Captures that only the first set has.
        added: Captures that only the second set has.
    """

    schema: int
    different: bool
    pairs: list[CodeComparison]
    missing: list[str] = []
    removed: list[Side] = []
    added: list[Side] = []
