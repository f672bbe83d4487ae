"""Plain tables for a terminal."""

from collections.abc import Sequence

import click

from irlens.model.text import printable_line


def table(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, right: set[int], color: bool
) -> str:
    """Return aligned columns, two spaces apart, ending in a newline.

    Args:
        header: One title per column.
        rows: Cells, as many per row as there are titles.
        right: Columns that are aligned to the right: numbers.
        color: Whether to dim the titles.
    """
    cells = [[printable_line(cell) for cell in row] for row in (header, *rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    lines = [
        "  ".join(
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]
    if color:
        lines[0] = click.style(lines[0], dim=True)
    return "\n".join(lines) + "\n"
