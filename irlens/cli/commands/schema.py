"""``irlens schema``: the JSON Schema of ``--format json``."""

from typing import cast, get_args

import click

from irlens.cli import Exit, output
from irlens.model.errors import UnknownNameError
from irlens.render import Kind

#: Commands that write each kind of result.
_COMMANDS: dict[str, Kind] = {
    "inspect": "reports",
    "diff": "comparisons",
    "report": "reports",
    "suggest": "suggestion",
    "traffic": "ledgers",
}
_NAMES = (*get_args(Kind), *_COMMANDS)


def _kind(_ctx: click.Context, _argument: click.Parameter, name: str) -> Kind:
    if name not in _NAMES:
        raise UnknownNameError("kind of result", name, _NAMES)
    return _COMMANDS.get(name) or cast(Kind, name)


@click.command()
@click.argument("kind", default="reports", callback=_kind)
def command(kind: Kind) -> Exit:
    """Print the JSON Schema (draft 2020-12) of --format json.

    KIND is reports (several are an array), layout (irlens inspect --layout), explanations
    (irlens explain KERNEL), comparisons, code (irlens diff --stage), passes, passes-diff (irlens
    diff --passes), check, sweep, scan, ledgers (irlens traffic), suggestion (irlens suggest),
    variants or limits; by default, reports.
    """
    from irlens.render.json import schema

    output.write(schema(kind), None)
    return Exit.OK
