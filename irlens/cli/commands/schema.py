"""``irlens schema``: the JSON Schema of what ``--format json`` writes."""

from typing import cast, get_args

import click

from irlens.cli import output
from irlens.cli.exits import Exit
from irlens.model.errors import UnknownNameError
from irlens.render import Kind

#: What people call each kind, after the command that writes it.
_COMMANDS: dict[str, Kind] = {"inspect": "reports", "diff": "comparisons", "report": "reports"}
_NAMES = (*get_args(Kind), *_COMMANDS)


def _known(_ctx: click.Context, _argument: click.Parameter, name: str) -> Kind:
    if name not in _NAMES:
        raise UnknownNameError("kind of result", name, _NAMES)
    return _COMMANDS.get(name) or cast(Kind, name)


@click.command(short_help="Print the JSON Schema of what --format json writes.")
@click.argument("kind", default="reports", callback=_known)
def command(kind: Kind) -> Exit:
    """Print the JSON Schema (draft 2020-12) of what --format json writes.

    KIND is reports (of which several are an array), comparisons, code (irlens diff --stage), check
    or sweep; default reports.
    """
    from irlens.render.json import schema

    output.write(schema(kind), None)
    return Exit.OK
