"""``irlens explain``: the meaning of findings, figures and terms."""

import textwrap
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import click
import msgspec

from irlens.cli import Exit, load_inspection, new_session, output
from irlens.cli.options import completing, config_options
from irlens.cli.settings import received_as
from irlens.cli.writing import Writing, write, writing_options
from irlens.model.errors import UnknownNameError
from irlens.render import check_format
from irlens.session import Configurations

_HELP = """Explain a finding, a figure or a term of a report; or why a kernel has its findings.

NAME is a finding's code (IRL201) or name (pipeline-shallower), a figure's name
(groups-in-flight) or path in the JSON report (occupancy.waves), or a term of the glossary
(tail-wave). Without NAME, lists all of them.

With KERNEL, NAME is a finding that it has; without NAME, explains all that it has. Names the
compiler's pass that decides it, the operation before that pass, and what the compiler says; then
compiles the kernel again with the blamed cause alone changed (an attribute in the ttir, num_warps,
the target). If the finding goes, the explanation is proved. The effect on the estimated time is
said, too.

\b
irlens explain IRL201
irlens explain groups-in-flight
irlens explain bank-conflict
irlens explain softmax IRL301 --arg n_cols=781 --arg input_row_stride=781
irlens explain softmax --target h100
"""


class _Settings(msgspec.Struct, frozen=True):
    kernel: str | None
    name: tuple[str, ...]
    selection: Configurations
    writing: Writing


@click.command(help=_HELP)
@click.argument(
    "kernel", metavar="[KERNEL]", required=False, shell_complete=completing("explained")
)
@click.argument("name", metavar="[NAME]", nargs=-1, shell_complete=completing("explained"))
@config_options()
@writing_options("explanations")
@received_as(_Settings)
def command(settings: _Settings) -> Exit:
    """Print the documentation of a name, or list all names; or explain a kernel's finding."""
    first, writing = settings.kernel, settings.writing
    plain = settings.selection.is_empty and writing.form == "text"
    if first is not None and _is_of_kernel(first, settings.name, plain=plain):
        return show_reasons(first, settings.selection, writing, settings.name)
    if not plain:
        raise click.UsageError("options need KERNEL: irlens explain softmax IRL203 --target h100")
    if first is None:
        output.write("\n".join(_lists()), None, paged=True)
        return Exit.OK
    from irlens.session.explain import explain

    text = explain(" ".join([first, *settings.name]))
    output.write(_bold_headings(text) if output.use_color() else text, None, paged=True)
    return Exit.OK


def show_reasons(
    kernel: str, selection: Configurations, writing: Writing, codes: tuple[str, ...] = ()
) -> Exit:
    """Write why a kernel has its findings, here and for ``irlens inspect --why``.

    Args:
        codes: Codes or names of findings; all by default.
    """
    check_format(writing.form, "explanations")
    from irlens.session.why import why

    with output.progress("explaining") as show:
        explanations = why(kernel, selection, new_session(load_inspection), codes, show)
    write(explanations, "explanations", writing)
    return Exit.INTERRUPTED if explanations.left else Exit.OK


def _is_of_kernel(first: str, names: tuple[str, ...], *, plain: bool) -> bool:
    """Whether the words are a kernel, and perhaps a finding of it.

    Args:
        plain: Whether no option says that they are; words without options may be one name, written
            without quotes: in flight.
    """
    if names:
        return len(names) == 1 and not (plain and _is_term(f"{first} {names[0]}"))
    if plain and _is_term(first):
        return False
    from irlens.compiler.sources.lookup import known_files

    is_kernel = first in known_files() or ".py" in first or Path(first).exists()
    return is_kernel or not (plain or _is_term(first))


def _is_term(name: str) -> bool:
    """Whether a finding, a figure or a term has a name."""
    from irlens.session.explain import explain

    with suppress(UnknownNameError):
        return bool(explain(name))
    return False


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
    wrapped = textwrap.wrap(terms, output.width(), break_on_hyphens=False)
    yield output.table(("term",), [(line,) for line in wrapped], right=set())


def _bold_headings(text: str) -> str:
    """Make the headings of Markdown bold."""
    lines = text.splitlines(keepends=True)
    return "".join(click.style(line, bold=True) if line[0] == "#" else line for line in lines)
