"""``irlens tui``: the terminal user interface, also served to a web browser."""

import gc
import os
import sys

import click
import msgspec

from irlens.cli import Exit, new_session
from irlens.cli.options import complete_kernels, config_options
from irlens.cli.settings import received_as
from irlens.model.errors import IrlensError
from irlens.session import Configurations

_HELP = """Browse KERNEL interactively.

KERNEL is anything `irlens inspect` accepts: a kernel to compile, a capture, a Triton cache,
an artifact, or a saved report. A single capture opens directly, several are listed. Without
KERNEL, lists the kernels of the current folder and of its pyproject.toml, the captures in
irlens's store, the newest first, and the samples.

Press ? for the keys of a screen, ctrl+p for all commands. Change keys in keys.toml in
irlens's configuration directory (~/.config/irlens): --keys prints such a file with every key.

\b
irlens tui softmax --num-stages 2,4
irlens tui ~/.triton/cache
irlens tui softmax --serve
"""


class _Settings(msgspec.Struct, frozen=True):
    kernel: str | None
    selection: Configurations
    no_mouse: bool
    keys: bool
    serve: bool
    host: str
    port: int


@click.command(help=_HELP)
@click.argument("kernel", required=False, shell_complete=complete_kernels)
@config_options(run=True)
@click.option("--no-mouse", is_flag=True, help="Leave the mouse to the terminal.")
@click.option("--keys", is_flag=True, help="Print the keys in the format of keys.toml, and exit.")
@click.option("--serve", is_flag=True, help="Serve the TUI to a web browser instead.")
@click.option(
    "--host",
    default="localhost",
    show_default=True,
    metavar="NAME",
    help="With --serve: listen on this address. Anyone who can reach it can use the TUI.",
)
@click.option(
    "--port",
    default=8000,
    show_default=True,
    type=click.IntRange(1, 65535),
    metavar="N",
    help="With --serve: listen on this port.",
)
@received_as(_Settings)
def command(settings: _Settings) -> Exit:
    """Open the terminal user interface."""
    if settings.keys:
        from irlens.tui.services import keymap

        click.echo("\n".join(keymap.lines()))
        return Exit.OK
    if settings.kernel == "-":
        raise IrlensError(
            "irlens tui reads keys from standard input", hint="name a file instead of -"
        )
    if not settings.serve:
        _check_terminal()
    gc.disable()  # until the first frame: collections took a tenth of the start-up time
    from irlens.session.interactive import open_session

    session = open_session(settings.kernel, settings.selection, new_session())
    entry = session.single() if settings.kernel is not None else None
    from irlens.tui.services import keymap, preferences

    custom_keys = keymap.read(keymap.default_path())
    if settings.serve:
        # Errors have been raised by now: a visitor's page could not show them.
        from irlens.cli.serving import serve_tui

        serve_tui(settings.host, settings.port)
        return Exit.OK
    from irlens.tui.app import IrlensApp

    app = IrlensApp(session, entry=entry, state=preferences.default_path(), keymap=custom_keys)
    app.run(mouse=not settings.no_mouse)
    return Exit(app.return_code or Exit.OK)


def _check_terminal() -> None:
    # Textual draws on stderr; a served app is recognised by its environment.
    if not (sys.stdin.isatty() and sys.stderr.isatty()) and "TEXTUAL_DRIVER" not in os.environ:
        raise IrlensError(
            "irlens tui needs a terminal", hint="irlens inspect writes reports to files and pipes"
        )
