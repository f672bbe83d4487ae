"""Records of layouts: which lane and register, or which bank and offset, holds each element."""

import msgspec

from irlens.model.source import SourceLocation

#: Version of ``LayoutDrawing``, incremented when a path is renamed, removed or redefined.
LAYOUT_SCHEMA = 1


class Owner(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where an element lies; of several places the first.

    Attributes:
        warp: The warp in the CTA, of a tensor in registers.
        lane: The lane of the warp.
        register: The element's index among those of its thread.
        offset: Bytes from the start of the buffer, in shared memory.
        bank: The bank of that offset; ``None`` where the number of banks is unknown.
        row: The row (lane) of tensor memory.
        column: Its column, of the element's width.
    """

    warp: int | None = None
    lane: int | None = None
    register: int | None = None
    offset: int | None = None
    bank: int | None = None
    row: int | None = None
    column: int | None = None


class LayoutCell(msgspec.Struct, frozen=True, kw_only=True):
    """Neighbours along the columns that lie side by side.

    Attributes:
        element: Coordinates of the first of them.
        owner: Where that lies; ``None`` if another CTA of the cluster holds it.
    """

    element: tuple[int, ...]
    owner: Owner | None


class LayoutDrawing(msgspec.Struct, frozen=True, kw_only=True):
    """The layout of a value.

    Attributes:
        schema: Version of this interface.
        kernel: The kernel's name.
        value: "%row".
        operation: The operation that defines it, as written, without locations.
        source: Its line of Python.
        type: The value's type, as written.
        layout: Its encoding in full.
        memory: "registers", "shared memory" or "tensor memory".
        sentence: The layout in a sentence.
        shape: The tensor's; of several buffers that of one, of a part that of the whole buffer.
        bases: Where each bit of a number moves the element, by what it numbers ("register", "lane",
            "warp", "block", "offset", "row", "column"): the whole layout, as Triton's linear
            layouts have it.
        padding: Elements of padding after each interval of offsets, if any.
        vector: Neighbours that each cell stands for.
        cells: By row, those of the first index of outer dimensions, as far as they are drawn.
        rows: Rows that there are.
        columns: Cells of a row that there are.
        groups: Warps, banks or rows that the cells' shades tell apart.
    """

    schema: int
    kernel: str
    value: str
    operation: str
    source: SourceLocation | None
    type: str
    layout: str
    memory: str
    sentence: str
    shape: tuple[int, ...]
    bases: dict[str, tuple[tuple[int, ...], ...]]
    padding: tuple[tuple[int, int], ...]
    vector: int
    cells: list[list[LayoutCell]]
    rows: int
    columns: int
    groups: int
