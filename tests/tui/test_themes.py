"""Contrast: the colours of each theme on each other, and on the screens."""

from collections.abc import Iterator

import pytest
from textual.color import Color
from textual.pilot import Pilot
from textual.theme import Theme

from irlens.session.interactive import Workbench
from irlens.tui.app import IrlensApp
from irlens.tui.themes import CONTRAST, READABLE, THEMES, WELL_READABLE, contrast_ratio
from tests.tui.waiting import settle

#: What is written, and on what: each of the first in each of the second.
WORDS = (
    "foreground", "dim", "primary", "secondary", "accent", "warning", "error", "success",
    "text-warning", "text-error", "text-success",
)  # fmt: skip
GROUNDS = ("background", "surface", "panel")
#: What a cursor is written with; other colours are left out where they could not be read.
CURSORS = (
    ("block-cursor-foreground", "block-cursor-background"),
    ("block-cursor-blurred-foreground", "block-cursor-blurred-background"),
    ("foreground", "block-hover-background"),
    ("input-selection-foreground", "input-selection-background"),
    ("footer-key-foreground", "panel"),
)
#: An entry to open, and the keys that lead to a place.
PLACES: dict[str, tuple[str | None, list[str]]] = {
    "browser": (None, ["G"]),
    "search": (None, ["slash", *"soft"]),
    "nothing typed": (None, ["slash"]),
    "sorting": (None, ["o"]),
    "notification": (None, ["enter"]),
    "palette": (None, ["ctrl+p", "down"]),
    "picking": (None, ["G", "k", "k", "c"]),
    "comparison": (None, ["G", "k", "k", "c", "enter"]),
    "overview": ("spill-h100", []),
    "inspector": ("softmax-h100", ["2", "p"]),
    "form": ("softmax-h100", ["r", "left"]),
    "choices": ("softmax-h100", ["r", *["down"] * 5, "left"]),
    "typing": ("softmax-h100", ["r", "down", "down", "4"]),
    "moved": ("softmax-h100", ["r", "enter"]),
    "failure": ("softmax-h100", ["r", "down", "down", *"8", "enter"]),
    "help": ("softmax-h100", ["question_mark"]),
}


@pytest.mark.parametrize(
    ("ink", "paper", "expected"),
    [("#000000", "#ffffff", 21.0), ("#767676", "#ffffff", 4.54), ("#ff0000", "#ff0000", 1.0)],
)
def test_the_ratio_is_that_of_wcag(ink: str, paper: str, expected: float) -> None:
    ratio = contrast_ratio(Color.parse(ink), Color.parse(paper))
    assert ratio == pytest.approx(expected, abs=0.005)
    assert contrast_ratio(Color.parse(paper), Color.parse(ink)) == ratio


def least_of(theme: str) -> float:
    return WELL_READABLE if theme == CONTRAST else READABLE


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
def test_every_colour_is_readable_on_every_background(theme: Theme) -> None:
    colours = theme.to_color_system().generate() | theme.variables
    pairs = [(word, ground) for word in WORDS for ground in GROUNDS]
    ratios = {
        pair: contrast_ratio(Color.parse(colours[pair[0]]), Color.parse(colours[pair[1]]))
        for pair in (*pairs, *CURSORS)
    }
    assert {pair: ratio for pair, ratio in ratios.items() if ratio < least_of(theme.name)} == {}


@pytest.mark.parametrize("place", PLACES)
async def test_everything_that_is_shown_can_be_read(bench: Workbench, place: str) -> None:
    entry, keys = PLACES[place]
    app = IrlensApp(bench, entry=entry)
    async with app.run_test(size=(140, 45), notifications=True) as pilot:
        await settle(pilot)
        for key in keys:
            await pilot.press(key)
            await settle(pilot)
        shades: list[set[str]] = []
        for theme in THEMES:  # switching colours all that is there, and is cheaper than opening
            app.theme = theme.name
            if place == "palette":  # but for Textual's own screen, which keeps its colours
                await pilot.press("escape", *keys)
            await settle(pilot)
            seen = list(written(pilot))
            assert {each for each in seen if each[1] < least_of(theme.name)} == set(), theme.name
            now = {shade for *_, shade in seen}
            assert now not in [set(), *shades], theme.name
            shades.append(now)


def written(pilot: Pilot[None]) -> Iterator[tuple[str, float, str]]:
    """Yield words with their contrast and colours; of what lies below a dialogue nothing."""
    screen = pilot.app.screen
    for y, strip in enumerate(screen._compositor.render_strips()):
        x = 0
        for text, style, _ in strip:
            if any(map(str.isalnum, text)) and not (
                screen.is_modal and screen.get_widget_at(x, y)[0] is screen
            ):
                assert style is not None
                assert style.color is not None
                assert style.bgcolor is not None
                assert not style.dim
                ink, paper = map(Color.from_rich_color, (style.color, style.bgcolor))
                told = f"{ink.hex} on {paper.hex}"
                yield text.strip(), round(contrast_ratio(ink, paper), 2), told
            x += len(text)
