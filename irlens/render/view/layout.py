"""A layout as nodes: a sentence, and a map of the elements with who holds each."""

from irlens.model.layout import LayoutCell, LayoutDrawing, Owner
from irlens.model.text import count
from irlens.render.view import nodes
from irlens.render.view.nodes import Node, Run, row, text

#: Shades of a map.
_SHADES = 4
_AMOUNTS = {
    "registers": ("warp and lane", "w l"),
    "shared memory": ("bank", "b"),
    "tensor memory": ("row and column", "r c"),
}
_GROUPS = {"registers": "warp", "shared memory": "bank", "tensor memory": "row"}


def layout_view(drawing: LayoutDrawing) -> nodes.Section:
    """Return the drawing of a layout."""
    place = f", at {drawing.source}" if drawing.source is not None else ""
    children: list[Node] = [
        nodes.Sentence(f"{drawing.type} in {drawing.memory}{place}"),
        nodes.Sentence(drawing.sentence),
        nodes.Facts((
            nodes.Fact("Operation", text(Run(drawing.operation))),
            nodes.Fact("Layout", text(Run(drawing.layout))),
        )),
        _map(drawing),
        nodes.Sentence(_drawn(drawing), "dim"),
    ]  # fmt: skip
    return nodes.Section(f"{drawing.kernel}: {drawing.value}", tuple(children), key="layout")


def _drawn(drawing: LayoutDrawing) -> str:
    """Return what a cell stands for, and what is left out."""
    parts = []
    if drawing.vector > 1:
        parts.append(f"a cell is {drawing.vector} elements side by side")
    shown = len(drawing.cells), len(drawing.cells[0])
    if shown[0] < drawing.rows:
        parts.append(f"the first {shown[0]} of {count(drawing.rows)} rows")
    if shown[1] < drawing.columns:
        parts.append(f"the first {shown[1]} of {count(drawing.columns)} cells of each")
    outer = len(drawing.shape) - 2
    if outer > 0:
        parts.append(f"index 0 of the first {'dimension' if outer == 1 else f'{outer} dimensions'}")
    return "; ".join(parts) or "all of it"


def _map(drawing: LayoutDrawing) -> nodes.HeatMap:
    columns = tuple(str(cell.element[-1]) for cell in drawing.cells[0])
    if len(drawing.shape) == 1:
        columns = tuple(f"+{each}" for each in columns)
    amount, unit = _AMOUNTS[drawing.memory]
    rows = tuple(str(cells[0].element[-2 if len(drawing.shape) > 1 else 0])
                 for cells in drawing.cells)  # fmt: skip
    shades = min(_SHADES, drawing.groups)
    size = drawing.groups // shades
    noun = _GROUPS[drawing.memory]
    steps = tuple(
        f"{noun} {at}" if size == 1 else f"{noun}s {at * size} to {(at + 1) * size - 1}"
        for at in range(shades)
    )
    if noun == "bank" and drawing.groups == 1:  # the number of banks is unknown
        (amount, unit), steps = ("offset in bytes", "+"), ("shared memory",)
    return nodes.HeatMap(
        described=f"the {drawing.memory} that hold {drawing.value}"
        if drawing.memory == "registers"
        else f"the {drawing.memory} that holds {drawing.value}",
        amount=amount,
        unit=unit,
        across="last dimension",
        down="element" if len(drawing.shape) == 1 else "row",
        columns=columns,
        rows=rows,
        cells=tuple(
            tuple(_cell(each, drawing.memory, size) for each in cells) for cells in drawing.cells
        ),
        steps=steps,
        kinds=(),
        detail="",
        marks={},
        numbers=_numbers(drawing),
    )


def _cell(cell: LayoutCell, memory: str, size: int) -> nodes.HeatCell:
    element = ", ".join(map(str, cell.element))
    if cell.owner is None:
        return nodes.HeatCell(described=f"element [{element}]: another CTA", words="–")
    group = {"registers": cell.owner.warp, "shared memory": cell.owner.bank}.get(
        memory, cell.owner.row
    )
    return nodes.HeatCell(
        described=f"element [{element}]: {_owner(cell.owner)}",
        words=_short(cell.owner),
        step=(group or 0) // size,
    )


def _owner(owner: Owner) -> str:
    if owner.register is not None:
        return f"warp {owner.warp}, lane {owner.lane}, register {owner.register}"
    if owner.offset is not None:
        bank = f", bank {owner.bank}" if owner.bank is not None else ""
        return f"offset {count(owner.offset)} B{bank}"
    return f"row {owner.row}, column {owner.column} of tensor memory"


def _short(owner: Owner) -> str:
    if owner.register is not None:
        return f"w{owner.warp} l{owner.lane}"
    if owner.offset is not None:
        return f"b{owner.bank}" if owner.bank is not None else f"+{owner.offset}"
    return f"r{owner.row} c{owner.column}"


def _numbers(drawing: LayoutDrawing) -> nodes.Table:
    rows = tuple(
        row(
            ", ".join(map(str, cell.element)),
            _owner(cell.owner) if cell.owner is not None else "another CTA",
        )
        for cells in drawing.cells
        for cell in cells
    )
    return nodes.Table(nodes.titled("element", "place"), rows, name="owners", noun="cell")
