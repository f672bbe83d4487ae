"""The registry: each stage that the samples hold has a parser and a syntax of its own."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from irlens.isa.dialects import PARSED, dialect_of, parse, syntax_of
from irlens.isa.syntax import Syntax

pytestmark = pytest.mark.stored

CAPTURES = Path(__file__).parents[2] / "samples" / "captures"
#: SASS is no file of a capture.
IN_FILES = [stage for stage in PARSED if stage != "sass"]
COMMENTS = {"llir": ";", "amdgcn": ";"}


def text_of(stage: str) -> str:
    return next(CAPTURES.glob(f"*/*.{stage}")).read_text()


def lines_of(module: Any) -> Iterator[int]:
    """Yield the lines on which instructions or operations begin."""
    if hasattr(module, "operations"):
        yield from (each.span.line for each in module.operations)
        return
    for function in module.functions:
        yield from (each.line for each in function.instructions)


@pytest.mark.parametrize("stage", IN_FILES)
def test_a_stage_is_parsed_by_its_own_dialect(stage: str) -> None:
    text = text_of(stage)
    lines = list(lines_of(parse(stage, text)))
    assert len(lines) > 20
    assert max(lines) <= text.count("\n") + 1


@pytest.mark.parametrize("stage", [*PARSED, "metadata", "python"])
def test_a_stage_has_a_syntax_and_a_comment(stage: str) -> None:
    assert type(syntax_of(stage)) is not Syntax
    assert dialect_of(stage).comment == COMMENTS.get(stage, "//")


def test_an_unknown_stage_is_plain_text() -> None:
    assert type(syntax_of("hsaco")) is Syntax
    assert dialect_of("hsaco").parse is None
