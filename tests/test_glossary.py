"""The glossary: every entry is complete, and its names are unambiguous."""

from collections import Counter

import pytest

from irlens import glossary
from irlens.model.estimate import BOUND_NAMES
from irlens.session.explain import explain
from tests.tables import each_row


def test_terms_are_sorted_and_unambiguous() -> None:
    names = [term.name for term in glossary.terms()]
    assert len(names) > 50
    assert names == sorted(names, key=str.lower)
    normalized = Counter(map(glossary.normalize, names))
    assert max(normalized.values()) == 1
    aliases = Counter(
        glossary.normalize(a) for term in glossary.terms() for a in (*term.aliases, *term.words)
    )
    assert max(aliases.values()) == 1
    assert not aliases.keys() & normalized.keys()


@each_row("term", glossary.terms())
def test_a_term_has_an_explanation_and_a_source(term: glossary.Term) -> None:
    paragraphs = term.text.strip().split("\n\n")
    assert paragraphs[-1].startswith("Source: ")
    assert 1 <= term.explanation.count(". ") + 1 <= 6
    assert not term.explanation.startswith(("Also:", "Asked as:"))
    assert all(len(line) <= 99 for line in term.text.splitlines())


@pytest.mark.parametrize(
    ("name", "term"),
    [("tail wave", "Tail wave"), ("CP.ASYNC", "Async copy"), ("tail-wave", "Tail wave"),
     ("workgroup", "CTA"), ("VGPR", "AGPR"), ("warp specialization", "Warp specialization")],
)  # fmt: skip
def test_finds_a_term_by_name_and_alias(name: str, term: str) -> None:
    found = glossary.find(name)
    assert found is not None
    assert found.name == term


@each_row("bound", [*BOUND_NAMES, *BOUND_NAMES.values()])
def test_what_a_time_is_bound_by_is_explained(bound: str) -> None:
    assert explain(bound)


@each_row("words", [
     "bound", "bound by", "bound by latency", "waves", "tail", "last wave", "floor", "in flight",
     "moves the minimum", "not pipelined", "no spills", "achieved stages", "blocks/SM", "likely",
     "despite", "not judged", "other arguments", "by unit alone", "ideal sectors", "FLOP/B",
     "recording", "variant"])  # fmt: skip
def test_the_words_of_a_verdict_are_explained(words: str) -> None:
    assert explain(words)


def test_an_unknown_term_is_none() -> None:
    assert glossary.find("no such term") is None
