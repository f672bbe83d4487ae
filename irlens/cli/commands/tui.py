"""``irlens tui``: look around in a terminal."""

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from irlens.artifacts import store
from irlens.artifacts.load import load
from irlens.cli import completing
from irlens.cli.exits import Exit
from irlens.cli.options import Asked, KernelOptions, asked, kernel_options
from irlens.model.errors import ArtifactError, IrlensError

if TYPE_CHECKING:
    from irlens.compiler import Request
    from irlens.session.bench import Bench
    from irlens.session.found import Found

_HELP = """Look around in KERNEL, in a terminal.

KERNEL is whatever `irlens inspect` takes: a kernel to compile, a capture, a Triton cache, an
artifact, or a saved report. One capture is opened at once, several are listed. Without KERNEL
irlens lists what it has compiled before, and the kernels that it can compile.

Press ? for the keys of a screen, ctrl+p for everything that can be done. Keys are changed in
keys.toml in irlens's configuration directory (~/.config/irlens): --keys writes one with all.

\b
irlens tui softmax --num-stages 2,4
irlens tui ~/.triton/cache
irlens tui softmax --serve
"""


class _Options(KernelOptions):
    """Those that this command shares with others."""


@click.command(help=_HELP, short_help="Look around in a kernel, in a terminal.")
@click.argument("kernel", required=False, shell_complete=completing.kernels)
@kernel_options
@click.option("--no-mouse", is_flag=True, help="Leave the mouse to the terminal.")
@click.option("--keys", is_flag=True, help="List the keys as keys.toml has them, and end.")
@click.option("--serve", is_flag=True, help="Show it in a web browser instead.")
@click.option(
    "--host",
    default="localhost",
    show_default=True,
    metavar="NAME",
    help="With --serve: where to listen. Whoever can reach it can use it.",
)
@click.option(
    "--port",
    default=8000,
    show_default=True,
    type=click.IntRange(1, 65535),
    metavar="N",
    help="With --serve: the port.",
)
def command(
    kernel: str | None,
    no_mouse: bool,
    keys: bool,
    serve: bool,
    host: str,
    port: int,
    **options: Unpack[_Options],
) -> Exit:
    """Open the terminal user interface."""
    if keys:
        from irlens.tui import keymap

        click.echo("\n".join(keymap.lines()))
        return Exit.OK
    if kernel == "-":
        raise IrlensError(
            "irlens tui needs standard input for the keys", hint="name a file instead of -"
        )
    if not serve:
        _check_terminal()
    gc.disable()  # until the first picture: a tenth of the time to it went into finding no garbage
    bench = _bench(kernel, asked(options))
    entry = bench.single() if kernel is not None else None
    from irlens.tui import keymap, memory

    changed = keymap.read(keymap.default_path())
    if serve:
        from irlens.cli import serving

        # What is wrong has been told here: each visitor's page could only stay empty.
        serving.serve(host, port)
        return Exit.OK
    from irlens.tui.app import Lens

    app = Lens(bench, entry=entry, state=memory.default_path(), keymap=changed)
    app.run(mouse=not no_mouse)
    return Exit(app.return_code or Exit.OK)


def _check_terminal() -> None:
    # Textual draws on standard error, and says in its environment that it is served.
    if not (sys.stdin.isatty() and sys.stderr.isatty()) and "TEXTUAL_DRIVER" not in os.environ:
        raise IrlensError(
            "irlens tui needs a terminal", hint="irlens inspect writes reports to files and pipes"
        )


def _bench(kernel: str | None, asked: Asked) -> "Bench":
    """Return what answers for KERNEL, or for all there is."""
    from irlens.cli.saved import saved_reports
    from irlens.cli.subject import find_requests, is_compiled, make_captures, refuse_options
    from irlens.session.bench import Bench

    def asking(name: str) -> "Request":
        return next(find_requests(name, Asked(run=False)))

    if kernel is None:
        if asked != Asked():
            raise IrlensError("--target, --set and the like need a KERNEL to compile")
        return Bench("all kernels", _everything, asking=asking, root=store.captures())
    if is_compiled(kernel):
        refuse_options(kernel, asked)
        saved = saved_reports(kernel)
        path = Path(kernel).expanduser()
        find = (lambda: load(path)) if saved is None else (lambda: iter(saved))
        return Bench(kernel, find, asking=asking, root=path)
    made = list(make_captures(kernel, asked))
    return Bench(
        kernel,
        lambda: iter([capture for capture, _ in made]),
        asking=asking,
        origins=made,
        root=store.captures(),
    )


def _everything() -> Iterator["Found"]:
    """Yield what irlens has compiled before, then the kernels that it can compile."""
    from irlens.compiler.finding import known_files
    from irlens.session.found import Uncompiled

    store.hold()
    with suppress(ArtifactError):  # nothing has been compiled yet
        yield from load(store.captures())
    for name in sorted(known_files()):
        yield Uncompiled(name)
