"""Records of the differences between the text of one stage in two captures.

Code is compared by meaning: names of SSA values and registers, labels, source locations, addresses
and metadata numbers are ignored. The rows show the text as the compiler wrote it.
"""

from typing import Literal, TypeAlias

import msgspec

from irlens.model.comparison import Side

#: Version of ``CodeComparisons``, incremented when a path is renamed, removed or redefined.
CODE_SCHEMA = 1

#: Half-open range of columns.
Columns: TypeAlias = tuple[int, int]
RowKind: TypeAlias = Literal["same", "changed", "removed", "added"]


class CodeRow(msgspec.Struct, frozen=True, kw_only=True):
    """A line of both sides, or of one.

    Attributes:
        kind: "same" in meaning, "changed", or only on the first ("removed") or second ("added")
            side.
        before_line: 1-based line on the first side, ``None`` if it is missing there.
        after_line: 1-based line on the second side.
        before: Its text on the first side, without locations and a trailing comment.
        after: Its text on the second side.
        before_words: For a changed line, the columns of ``before`` that differ in meaning.
        after_words: The same for ``after``.
    """

    kind: RowKind
    before_line: int | None
    after_line: int | None
    before: str | None
    after: str | None
    before_words: tuple[Columns, ...] = ()
    after_words: tuple[Columns, ...] = ()


class CodeHunk(msgspec.Struct, frozen=True, kw_only=True):
    """Changed rows with their context.

    Attributes:
        heading: The innermost loop, or else the function, around the first changed row:
            "scf.for at softmax.py:48  for row in ...", "softmax_kernel"; empty outside of both.
        rows: In the order of the second side; removed rows stand where they were. Lines without
            code (locations, comments, debug information) are left out.
    """

    heading: str
    rows: list[CodeRow]


class CodeComparison(msgspec.Struct, frozen=True, kw_only=True):
    """One stage of two captures.

    Attributes:
        stage: Its name.
        before: The first side.
        after: The second side.
        different: Whether any row differs.
        added: Number of added rows.
        removed: Number of removed rows.
        changed: Number of changed rows.
        before_lines: Lines of the first side.
        after_lines: Lines of the second side.
        hunks: In the order of the text. Unordered rows (attribute aliases, metadata) form hunks of
            their own.
        setting: What tells the pair from other pairs of its kernel and target: "num_warps=4";
            empty if there are none.
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
        missing: Messages about matched captures that lack a requested stage.
        removed: Captures that only the first set has.
        added: Captures that only the second set has.
    """

    schema: int
    different: bool
    pairs: list[CodeComparison]
    missing: list[str] = []
    removed: list[Side] = []
    added: list[Side] = []
