"""How numbers and their units are written in every format."""

from irlens.model.text import percent as percent  # findings write it, too


def count(value: int) -> str:
    """Return 12320 as "12,320"."""
    return f"{value:,}"


def size(value: int) -> str:
    """Return a number of bytes exactly: "12,320 B"."""
    return f"{value:,} B"


def signed(value: int) -> str:
    """Return a change with its sign, a real minus for negative ones: "+3", "−1,024"."""
    return f"{value:+,}".replace("-", "−")


def plural(value: int, noun: str) -> str:
    """Return "1 iteration", "3 iterations"."""
    return f"{value:,} {noun}" if value == 1 else f"{value:,} {noun}s"
