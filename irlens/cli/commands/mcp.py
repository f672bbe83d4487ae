"""``irlens mcp``: the tools of irlens for coding agents."""

from pathlib import Path

import click

from irlens.cli import Exit
from irlens.cli.options import Seconds
from irlens.model.errors import IrlensError

_HELP = """Serve irlens's tools to a coding agent, over the Model Context Protocol.

The agent starts this command and talks to it on stdin and stdout. Its tools inspect kernels,
compare them, suggest and sweep configurations, check a project, explain findings, and read
and search the stages by line ranges. They write nothing but irlens's own cache, launch no
kernel, and execute nothing that a capture holds. Compiling a kernel loads its Python file, as
`irlens inspect` does.

Tools read the files in DIRs and no others, and follow no links. Without DIR these are the roots
that the agent names, or else the current directory.

\b
{"mcpServers": {"irlens": {"command": "irlens", "args": ["mcp"]}}}
irlens mcp . ~/.triton/cache
"""


@click.command(help=_HELP)
@click.argument(
    "folders",
    metavar="[DIR]...",
    nargs=-1,
    type=click.Path(path_type=Path, file_okay=False, exists=True),
)
@click.option("--no-compile", is_flag=True, help="Only read what is compiled already.")
@click.option(
    "--timeout",
    type=Seconds(),
    default=120,
    show_default=True,
    metavar="SECONDS",
    help="Stop a call that takes longer.",
)
def command(folders: tuple[Path, ...], no_compile: bool, timeout: float) -> Exit:
    """Serve until stdin closes."""
    try:
        from irlens.mcp.server import make_server, serve
    except ImportError as error:
        raise IrlensError(
            "irlens mcp needs the package mcp, 2.0 or newer", hint="pip install 'irlens[mcp]'"
        ) from error
    serve(make_server(compiles=not no_compile, folders=folders, time_limit=timeout))
    return Exit.OK
