"""Colours: dark, light, and one of high contrast.

A colour never says anything alone: a sign or a word says it, too.
"""

from textual.theme import Theme

#: Colours of irlens's own, for themes that do not have them.
DEFAULTS = {"dim": "#808080"}

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
            "dim": "#7580ab",
            "border": "#3b4261",
            "border-blurred": "#2f3549",
            "block-cursor-text-style": "none",
            "block-cursor-background": "#33467c",
            "block-cursor-foreground": "#e6ebff",
            "block-cursor-blurred-background": "#283457",
            "block-cursor-blurred-foreground": "#c0caf5",
            "block-hover-background": "#202436",
            "footer-key-foreground": "#7aa2f7",
            "scrollbar": "#3b4261",
            "scrollbar-background": "#16161e",
        },
    ),
    Theme(
        name=LIGHT,
        primary="#2e5fd0",
        secondary="#0f7b8a",
        accent="#96630b",
        warning="#8f5e15",
        error="#c02d4a",
        success="#3c7a1f",
        foreground="#2c3150",
        background="#f7f8fc",
        surface="#ffffff",
        panel="#e8eaf3",
        dark=False,
        variables={
            "dim": "#6b7192",
            "border": "#b4b9d0",
            "border-blurred": "#d5d8e6",
            "block-cursor-text-style": "none",
            "block-cursor-background": "#c9d7fb",
            "block-cursor-foreground": "#14183a",
            "block-cursor-blurred-background": "#e1e6f6",
            "block-cursor-blurred-foreground": "#2c3150",
            "block-hover-background": "#edf0f9",
            "footer-key-foreground": "#2e5fd0",
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
        error="#ff5f5f",
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
            "block-cursor-blurred-background": "#4e4e4e",
            "block-cursor-blurred-foreground": "#ffffff",
            "block-hover-background": "#303030",
            "footer-key-foreground": "#ffff00",
            "text-muted": "#d0d0d0",
            "scrollbar": "#8a8a8a",
            "scrollbar-background": "#000000",
        },
    ),
)
