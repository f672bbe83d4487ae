"""``irlens schema``: the JSON report's JSON Schema."""

import click

from irlens.cli import output
from irlens.cli.exits import Exit


@click.command(short_help="Print the JSON Schema of the JSON report.")
def command() -> Exit:
    """Print the JSON Schema (draft 2020-12) of what --format json writes."""
    from irlens.report.json import schema

    output.write(schema(), None)
    return Exit.OK
