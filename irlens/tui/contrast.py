"""How well one colour can be read on another, as WCAG 2.2 measures it."""

from textual.color import Color

#: The least for text: success criterion 1.4.3 (AA), and 1.4.6 (AAA) for who needs more.
READABLE, WELL_READABLE = 4.5, 7.0


def contrast_ratio(ink: Color, paper: Color) -> float:
    """Return the contrast ratio of two opaque colours, from 1 (the same) to 21 (black on white)."""
    lighter, darker = sorted((_luminance(ink), _luminance(paper)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: Color) -> float:
    """Return the relative luminance, 0..1 (WCAG 2.2, definition of that name)."""
    red, green, blue = (
        share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4
        for share in colour.normalized
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
