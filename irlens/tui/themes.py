"""Themes: dark, light and high contrast, and the contrast ratio of two colours.

Colour is never the only sign: a character or a word always accompanies it.
"""

from textual.color import Color
from textual.theme import Theme

#: irlens's own colours, for themes that lack them.
DEFAULTS = {"dim": "#808080"}

#: Minimum contrast ratios of text: WCAG 2.2, success criteria 1.4.3 (AA) and 1.4.6 (AAA).
READABLE, WELL_READABLE = 4.5, 7.0

DARK, LIGHT, CONTRAST = "irlens-dark", "irlens-light", "irlens-contrast"

THEMES = (
    Theme(
        name=DARK,
        primary="#7aa2f7",
        secondary="#7dcfff",
        accent="#e0af68",
        warning="#e0af68",
        error="#f7768e",
        success="#9ece6a",
        foreground="#c0caf5",
        background="#16161e",
        surface="#1a1b26",
        panel="#24283b",
        variables={
            "dim": "#949dc6",
            "border": "#3b4261",
            "border-blurred": "#2f3549",
            "block-cursor-text-style": "none",
            "block-cursor-background": "#27335b",
            "block-cursor-foreground": "#e6ebff",
            "block-cursor-blurred-background": "#252e4e",
            "block-cursor-blurred-foreground": "#c0caf5",
            "block-hover-background": "#202436",
            "footer-key-foreground": "#7aa2f7",
            "input-selection-background": "#42589e",
            "input-selection-foreground": "#ffffff",
            "text-muted": "auto 75%",
            "text-disabled": "auto 60%",
            "scrollbar": "#3b4261",
            "scrollbar-background": "#16161e",
        },
    ),
    Theme(
        name=LIGHT,
        primary="#2755c4",
        secondary="#0a6573",
        accent="#7d5208",
        warning="#7a4f10",
        error="#b0233f",
        success="#2f6515",
        foreground="#2c3150",
        background="#f7f8fc",
        surface="#ffffff",
        panel="#e8eaf3",
        dark=False,
        variables={
            "dim": "#555b7c",
            "border": "#b4b9d0",
            "border-blurred": "#d5d8e6",
            "block-cursor-text-style": "none",
            "block-cursor-background": "#cfdcfc",
            "block-cursor-foreground": "#14183a",
            "block-cursor-blurred-background": "#e1e6f6",
            "block-cursor-blurred-foreground": "#2c3150",
            "block-hover-background": "#edf0f9",
            "footer-key-foreground": "#2755c4",
            "input-selection-background": "#9dbaf8",
            "input-selection-foreground": "#14183a",
            "text-muted": "auto 75%",
            "text-disabled": "auto 65%",
            "scrollbar": "#b4b9d0",
            "scrollbar-background": "#f7f8fc",
        },
    ),
    Theme(
        name=CONTRAST,
        primary="#00d7ff",
        secondary="#ffffff",
        accent="#ffff00",
        warning="#ffff00",
        error="#ff9c9c",
        success="#5fff5f",
        foreground="#ffffff",
        background="#000000",
        surface="#000000",
        panel="#1c1c1c",
        text_alpha=1.0,
        variables={
            "dim": "#d0d0d0",
            "border": "#ffffff",
            "border-blurred": "#8a8a8a",
            "block-cursor-text-style": "bold",
            "block-cursor-background": "#ffffff",
            "block-cursor-foreground": "#000000",
            "block-cursor-blurred-background": "#2a2a2a",
            "block-cursor-blurred-foreground": "#ffffff",
            "block-hover-background": "#1f1f1f",
            "footer-key-foreground": "#ffff00",
            "input-selection-background": "#ffff00",
            "input-selection-foreground": "#000000",
            "text-muted": "auto 85%",
            "text-disabled": "auto 75%",
            "scrollbar": "#8a8a8a",
            "scrollbar-background": "#000000",
        },
    ),
)


def contrast_ratio(foreground: Color, background: Color) -> float:
    """Return the contrast ratio of two opaque colours (WCAG 2.2): 1 if equal, 21 at most."""
    lighter, darker = sorted((_luminance(foreground), _luminance(background)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: Color) -> float:
    """Return the relative luminance, 0..1 (WCAG 2.2, "relative luminance")."""
    red, green, blue = (
        share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4
        for share in colour.normalized
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
