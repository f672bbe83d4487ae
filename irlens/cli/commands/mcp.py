"""``irlens mcp``: the tools of irlens for coding agents."""

import click

from irlens.cli import Exit
from irlens.model.errors import IrlensError

_HELP = """Serve irlens's tools to a coding agent, over the Model Context Protocol.

The agent starts this command and talks to it on stdin and stdout. Its tools inspect kernels,
compare them, explain findings, and read and search the stages by line ranges. They write
nothing but irlens's own cache, launch no kernel, and execute nothing that a capture holds.
Compiling a kernel loads its Python file, as `irlens inspect` does.

\b
{"mcpServers": {"irlens": {"command": "irlens", "args": ["mcp"]}}}
"""


@click.command(help=_HELP)
@click.option("--no-compile", is_flag=True, help="Only read what is compiled already.")
def command(no_compile: bool) -> Exit:
    """Serve until stdin closes."""
    try:
        from irlens.mcp.server import make_server
    except ImportError as error:
        raise IrlensError(
            "irlens mcp needs the package mcp, 2.0 or newer", hint="pip install 'irlens[mcp]'"
        ) from error
    make_server(compiles=not no_compile).run()
    return Exit.OK
