"""``irlens explain``: what a finding means and what to do about it."""

import click

from irlens.cli import output
from irlens.cli.exits import Exit


@click.command(short_help="Say what a finding means and what to do about it.")
@click.argument("finding", required=False)
def command(finding: str | None) -> Exit:
    """Print the documentation of FINDING, a code (IRL201) or a name (pipeline-shallower).

    Without FINDING, list all of them.
    """
    from irlens import checks

    if finding is not None:
        text = checks.documentation(checks.find_check(finding))
        if output.use_color():
            from irlens.highlight import ansi

            text = ansi(text, "markdown")
        output.write(text, None, paged=True)
        return Exit.OK
    from irlens.cli.table import table

    rows = [
        (check.CODE, check.NAME, check.SEVERITY, checks.summary(check)) for check in checks.checks()
    ]
    header = ("code", "name", "severity", "what is found")
    output.write(table(header, rows, right=set(), color=output.use_color()), None, paged=True)
    return Exit.OK
