"""Words of the field: comments and docstrings use them, and not what irlens once said instead."""

import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

IRLENS = Path(__file__).parents[1] / "irlens"
#: "after" is the word for what follows; ``hides behind`` and ``leaves behind`` are others.
BANNED = re.compile(
    r"\bso many\b|\bon its way\b|\bof AMD's\b"
    r"|\bbehind (a|an|the|each|every|any|all|which|it|them|those|these|that|another) ", re.I
)  # fmt: skip
FINE = re.compile(
    r"hides?\b.* behind|behind the caches|(leaves?|left|nothing but)\b.* behind|session behind"
    r"|figures behind|the instructions behind them|results have behind|operands have behind", re.I
)  # fmt: skip


def prose(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of comments and docstrings with their numbers."""
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            is_docstring = token.type == tokenize.STRING and token.string.startswith('"""')
            if token.type == tokenize.COMMENT or is_docstring:
                yield from enumerate(token.string.splitlines(), token.start[0])


def test_comments_use_the_words_of_the_field() -> None:
    found = [
        f"{path.relative_to(IRLENS)}:{number}: {line.strip()}"
        for path in sorted(IRLENS.rglob("*.py"))
        if path.relative_to(IRLENS).parts[0] != "kernels"
        for number, line in prose(path)
        if BANNED.search(line + " ") and not FINE.search(line)
    ]
    assert not found, "\n".join(found)


def test_no_argument_is_described_by_its_name() -> None:
    entry = re.compile(r"(\w+): (?:The |Its )?([\w ]+)\.")
    found = []
    for path in sorted(IRLENS.rglob("*.py")):
        section = ""
        for number, line in prose(path):
            section = line.strip() if line.strip().endswith(":") else section if line else ""
            told = entry.fullmatch(line.strip()) if section == "Args:" else None
            if told and told[1] == told[2].replace(" ", "_"):
                found.append(f"{path.relative_to(IRLENS)}:{number}: {line.strip()}")
    assert not found, "\n".join(found)


def test_the_check_finds_them() -> None:
    for line in ("live behind the block", "so many bytes", "waves of AMD's", "a copy on its way"):
        assert BANNED.search(line + " ")
    assert FINE.search("a double buffer hides its loads behind the compute")
