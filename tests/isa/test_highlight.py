"""Highlighting must never change the text."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pygments.token import Error

from irlens.isa.highlight import ansi, lexer_for

pytestmark = pytest.mark.stored

ROOT = Path(__file__).parents[2]
SAMPLES = sorted(
    path
    for path in (ROOT / "samples" / "captures").glob("softmax-*/*")
    if path.suffix[1:] in ("ttir", "ttgir", "llir", "ptx", "amdgcn", "json")
)


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: f"{path.parent.name}/{path.suffix[1:]}")
def test_without_its_colours_a_stage_is_as_it_was(path: Path) -> None:
    text = path.read_text()
    stage = "metadata" if path.suffix == ".json" else path.suffix[1:]
    colored = ansi(text, stage)
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == text
    assert colored.count("\x1b[") > 20


@pytest.mark.parametrize("stage", ["ttgir", "amdgcn", "sass"])
@given(text=st.text(alphabet=st.characters(exclude_characters="\r\ufeff"), max_size=60))
def test_any_text_is_lexed_whole(stage: str, text: str) -> None:
    tokens = list(lexer_for(stage).get_tokens(text))
    assert "".join(value for _, value in tokens) == text
    unfiltered = [kind for _, kind, _ in lexer_for(stage).get_tokens_unprocessed(text)]
    assert Error not in unfiltered


def test_a_stage_without_a_language_is_plain() -> None:
    assert ansi("a stage, as text\n", "unheard of") == "a stage, as text\n"
    assert lexer_for("unheard of").name == "Text only"
