"""``irlens explain``: the meaning of findings, figures and terms."""

import textwrap
from collections.abc import Iterator

import click
from click.shell_completion import CompletionItem

from irlens.cli import Exit, output

_HELP = """Explain a finding, a figure or a term of a report.

NAME is a finding's code (IRL201) or name (pipeline-shallower), a figure's name
(groups-in-flight) or path in the JSON report (occupancy.waves), or a term of the glossary
(tail-wave). Without NAME, lists all of them.

\b
irlens explain IRL201
irlens explain groups-in-flight
irlens explain bank-conflict
"""


def _complete(
    _ctx: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    from irlens.cli import completions

    return completions.explained(incomplete)


@click.command(help=_HELP)
@click.argument("name", required=False, shell_complete=_complete)
def command(name: str | None) -> Exit:
    """Print the documentation of a name, or list all names."""
    if name is None:
        output.write("\n".join(_lists()), None, paged=True)
        return Exit.OK
    from irlens.session.explain import explain

    text = explain(name)
    output.write(_bold_headings(text) if output.use_color() else text, None, paged=True)
    return Exit.OK


def _lists() -> Iterator[str]:
    """Yield a table of findings, a table of figures and the terms."""
    from irlens import figures, glossary, rules
    from irlens.session.explain import figure_name

    findings = [
        (rule.CODE, rule.NAME, rule.SEVERITY, rules.summary(rule)) for rule in rules.all_rules()
    ]
    yield output.table(("code", "finding", "severity", "summary"), findings, right=set())
    rows = [(figure_name(figure), figure.path) for figure in figures.FIGURES]
    yield output.table(("figure", "path"), rows, right=set())
    terms = ", ".join(glossary.normalize(term.name) for term in glossary.terms())
    yield output.table(("term",), [(line,) for line in _wrap(terms)], right=set())


def _wrap(text: str) -> list[str]:
    return textwrap.wrap(text, output.width(), break_on_hyphens=False)


def _bold_headings(text: str) -> str:
    """Make the headings of Markdown bold."""
    lines = text.splitlines(keepends=True)
    return "".join(click.style(line, bold=True) if line[0] == "#" else line for line in lines)
