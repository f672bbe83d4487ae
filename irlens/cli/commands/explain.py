"""``irlens explain``: what a finding means and what to do about it."""

import click

from irlens.cli import Exit, output


@click.command(short_help="Say what a finding means and what to do about it.")
@click.argument("finding", required=False)
def command(finding: str | None) -> Exit:
    """Print the documentation of FINDING, a code (IRL201) or a name (pipeline-shallower).

    Without FINDING, list all of them.
    """
    from irlens import rules as checks

    color = output.use_color()
    if finding is not None:
        text = checks.documentation(checks.find_check(finding))
        output.write(_with_headings(text) if color else text, None, paged=True)
        return Exit.OK
    header = ("code", "name", "severity", "what is found")
    rows = [
        (check.CODE, check.NAME, check.SEVERITY, checks.summary(check)) for check in checks.checks()
    ]
    output.write(output.table(header, rows, right=set()), None, paged=True)
    return Exit.OK


def _with_headings(text: str) -> str:
    """Make the headings of Markdown bold."""
    lines = text.splitlines(keepends=True)
    return "".join(click.style(line, bold=True) if line[0] == "#" else line for line in lines)
