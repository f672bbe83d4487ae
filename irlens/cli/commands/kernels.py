"""``irlens kernels``: the kernels that can be named without a path."""

import ast
from pathlib import Path

import click
import msgspec

from irlens.cli import output
from irlens.cli.exits import Exit
from irlens.cli.records import Form, format_option, write_json


class _Listed(msgspec.Struct, frozen=True):
    """A kernel and its defaults, as they stand in its description."""

    name: str
    function: str
    summary: str
    args: dict[str, str]
    constexprs: dict[str, str]
    options: dict[str, str]


_HELP = """List irlens's samples and the project's own kernels, with their defaults.

A project names the folder of its kernels in its pyproject.toml:

\b
[tool.irlens]
kernels = "my_kernels"

A kernel's file says how to call it in a literal named IRLENS_KERNELS; see the samples.
Listing reads that literal and runs nothing.
"""


@click.command(help=_HELP, short_help="List the kernels that can be named without a path.")
@format_option("How to write the list.")
def command(form: Form) -> Exit:
    """List the known kernels."""
    from irlens.compiler.finding import known_files

    listed = [_listed(name, path) for name, path in sorted(known_files().items())]
    if form == "json":
        write_json(listed)
        return Exit.OK
    color = output.use_color()
    lines = []
    for kernel in listed:
        lines.append(f"{click.style(kernel.name, bold=True) if color else kernel.name}")
        lines.append(f"  {kernel.summary}")
        for title, values in (
            ("--arg", kernel.args), ("--set", kernel.constexprs), ("options", kernel.options),
        ):  # fmt: skip
            if values:
                given = "  ".join(f"{name}={value}" for name, value in values.items())
                lines.append(f"  {title:<8} {given}")
        lines.append("")
    output.write("\n".join(lines), None, paged=True)
    return Exit.OK


def _listed(name: str, path: Path) -> _Listed:
    from irlens.compiler.describe import read_file
    from irlens.model.text import printable_line

    source = read_file(path)
    described = source.description
    docstring = ast.get_docstring(ast.parse(source.content)) or ""
    summary = printable_line(docstring.partition("\n")[0])
    if described is None:
        return _Listed(name, source.function, summary, {}, {}, {})
    defaults = [{**described.args, **described.sizes}, described.constexprs, described.options]
    args, constexprs, options = (
        {key: printable_line(str(value)) for key, value in values.items() if str(value) != key}
        for values in defaults
    )
    return _Listed(name, source.function, summary, args, constexprs, options)
