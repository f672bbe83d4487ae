"""``irlens kernels``: the kernels that can be named without a path."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from irlens.cli import Exit, output
from irlens.cli.formats import ListFormat, list_format_option
from irlens.cli.output import write_json
from irlens.model.errors import IrlensError

if TYPE_CHECKING:  # listing the commands needs no kernels
    from irlens.compiler.sources.description import KernelSource


class _Kernel(msgspec.Struct, frozen=True):
    """A kernel and the defaults in its description."""

    name: str
    function: str
    summary: str
    args: dict[str, str]
    constexprs: dict[str, str]
    options: dict[str, str]
    traffic: dict[str, str]


_HELP = """List irlens's sample kernels and the project's own, with their defaults.

A project names the folder of its kernels in its pyproject.toml:

\b
[tool.irlens]
kernels = "my_kernels"

A kernel's file describes how to call it in a literal named IRLENS_KERNELS; see the samples.
Listing reads that literal and executes nothing.
"""


@click.command(help=_HELP)
@list_format_option("Select the output format.")
def command(form: ListFormat) -> Exit:
    """List the known kernels."""
    from irlens.compiler.sources.lookup import known_files

    kernels = [each for name, path in sorted(known_files().items()) for each in _read(name, path)]
    if form == "json":
        write_json(kernels)
        return Exit.OK
    color = output.use_color()
    lines = []
    for kernel in kernels:
        lines.append(f"{click.style(kernel.name, bold=True) if color else kernel.name}")
        lines.append(f"  {kernel.summary}")
        for title, values in (
            ("--arg", kernel.args), ("--set", kernel.constexprs), ("options", kernel.options),
            ("bytes", kernel.traffic),
        ):  # fmt: skip
            if values:
                defaults = "  ".join(f"{name}={value}" for name, value in values.items())
                lines.append(f"  {title:<8} {defaults}")
        lines.append("")
    output.write("\n".join(lines), None, paged=True)
    return Exit.OK


def _read(name: str, path: Path) -> Iterator[_Kernel]:
    """Yield the kernels of a file; one that cannot be read is reported, and hides no other."""
    from irlens.compiler.sources.description import read_kernels

    try:
        sources = read_kernels(path)
    except IrlensError as error:
        output.note(f"skipped {name}: {error.message}")
        return
    for source in sources:
        yield _describe(f"{name}:{source.function}" if len(sources) > 1 else name, source)


def _describe(name: str, source: "KernelSource") -> _Kernel:
    from irlens.model.text import printable_line

    description = source.description
    tree = ast.parse(source.content)
    own = next((node for node in tree.body if getattr(node, "name", "") == source.function), None)
    docstring = (isinstance(own, ast.FunctionDef) and ast.get_docstring(own)) or ""
    if ":" not in name or not docstring:
        docstring = ast.get_docstring(tree) or docstring
    summary = printable_line(docstring.partition("\n")[0])
    if description is None:
        return _Kernel(name, source.function, summary, {}, {}, {}, {})
    sizes_and_args = {**description.args, **description.sizes}
    args, constexprs, options = (
        {key: printable_line(str(value)) for key, value in values.items() if str(value) != key}
        for values in (sizes_and_args, description.constexprs, description.options)
    )
    traffic = msgspec.to_builtins(description.traffic) or {}
    traffic = {key: printable_line(value) for key, value in traffic.items()}
    return _Kernel(name, source.function, summary, args, constexprs, options, traffic)
