import os
import subprocess
import sys

import pytest
from click.testing import CliRunner, Result

from irlens import figures, glossary, rules
from irlens.cli.commands.explain import command
from irlens.figures import Figure
from irlens.model.errors import UnknownNameError
from irlens.session.explain import figure_name
from tests.tables import each_row


def run(*arguments: str) -> Result:
    return CliRunner().invoke(command, arguments, standalone_mode=False)


@each_row("rule", rules.all_rules())
def test_explains_a_finding_by_code_and_by_name(rule: rules.RuleModule) -> None:
    by_code = run(rule.CODE)
    assert by_code.exception is None
    assert by_code.output == rules.documentation(rule)
    assert run(rule.NAME).output.startswith(by_code.output)
    assert "## What to do" in by_code.output


@each_row("figure", figures.FIGURES)
def test_explains_a_figure_by_path_and_by_name(figure: Figure) -> None:
    for name in (figure.path, figure_name(figure)):
        explained = run(name)
        assert explained.exception is None, name
        assert f"# {figure.title} (figure)\n\n{figure.documentation}\n" in explained.output
        assert f"- path: `{figure.path}`\n" in explained.output


def test_a_figure_comes_with_the_term_of_the_same_name() -> None:
    explained = run("groups-in-flight").output
    assert "- unit: count\n- better: higher\n" in explained
    assert explained.index("(figure)") < explained.index("# Groups in flight (term)")


@each_row("term", glossary.terms())
def test_explains_a_term_by_name(term: glossary.Term) -> None:
    for name in (term.name, term.name.upper(), glossary.normalize(term.name)):
        assert run(name).output.endswith(term.documentation)


def test_lists_everything_without_an_argument() -> None:
    findings, listed, terms = (block.splitlines() for block in run().output.split("\n\n"))
    assert findings[0].split() == ["code", "finding", "severity", "summary"]
    assert [line.split()[0] for line in findings[1:]] == [rule.CODE for rule in rules.all_rules()]
    assert [line.split()[1] for line in listed[1:]] == [each.path for each in figures.FIGURES]
    names = " ".join(terms[1:]).split(", ")
    assert names == [glossary.normalize(term.name) for term in glossary.terms()]


def test_headings_stand_out_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    coloured = CliRunner().invoke(command, ["IRL201"], standalone_mode=False, color=True).output
    assert "\x1b[1m## What to do" in coloured
    assert run("IRL201").output.count("\x1b") == coloured.count("\x1b")


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("spills", "spill"), ("Bank conflicts", "bank-conflict"), ("tail_waves", "tail-wave"),
        ("register", "registers"), ("group in flight", "groups-in-flight"), ("warp", "warp"),
    ],
)  # fmt: skip
def test_number_and_separators_make_no_difference(name: str, known: str) -> None:
    assert run(name).output == run(known).output != ""


@pytest.mark.parametrize("words", ["in flight", "groups in flight", "bound by latency"])
def test_words_need_no_quotes(words: str) -> None:
    assert run(*words.split()).output == run(words).output != ""


def test_a_name_like_no_other_leads_to_the_list() -> None:
    found = run("qqq", "zzz", "xxx").exception
    assert isinstance(found, UnknownNameError)
    assert found.hint == "`irlens explain` lists them all"


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [
        ("IRL20", "IRL2"),
        ("conflict", "bank-conflict"),
        ("occupancies", "occupancy"),
        ("groups-in-flihgt", "groups-in-flight"),
        ("swizle", "swizzle"),
    ],
)
def test_an_unknown_name_is_two_lines_and_exit_code_2(name: str, suggestion: str) -> None:
    process = subprocess.run(
        [sys.executable, "-c", "from irlens.cli import main; main()", "explain", name],
        capture_output=True,
        text=True,
        env={**os.environ, "NO_COLOR": "1"},
        check=False,
    )
    assert (process.returncode, process.stdout) == (2, "")
    first, second = process.stderr.splitlines()
    assert first == f"irlens: error: unknown finding, figure or term '{name}'"
    assert second.strip().startswith("did you mean ")
    assert suggestion in second
