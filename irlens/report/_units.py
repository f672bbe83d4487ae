"""How numbers and their units are written in every format."""


def count(value: int) -> str:
    """Return 12320 as "12,320"."""
    return f"{value:,}"


def size(value: int) -> str:
    """Return a number of bytes exactly: "12,320 B"."""
    return f"{value:,} B"


def signed(value: int) -> str:
    """Return a change with its sign, a real minus for negative ones: "+3", "−1,024"."""
    return f"{value:+,}".replace("-", "−")


def percent(ratio: float) -> str:
    """Return 0.5 as "50 %", 0.09375 as "9.4 %"; what is not 0 or 1 is never rounded to it."""
    value = ratio * 100
    if abs(value - round(value)) < 1e-9:
        return f"{value:.0f} %"
    text = f"{value:.1f}"
    return f"{ {'0.0': '<0.1', '100.0': '>99.9'}.get(text, text) } %"


def plural(value: int, noun: str) -> str:
    """Return "1 iteration", "3 iterations"."""
    return f"{value:,} {noun}" if value == 1 else f"{value:,} {noun}s"
