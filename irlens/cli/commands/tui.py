"""``irlens tui``: the terminal user interface, also served to a web browser."""

import gc
import os
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Unpack

import click

from irlens.cli import Exit, output
from irlens.cli.options import KernelOptions, complete_kernels, kernel_options, selected
from irlens.model.errors import IrlensError

if TYPE_CHECKING:  # only --serve needs it
    from socket import socket

_HELP = """Browse KERNEL interactively.

KERNEL is anything `irlens inspect` accepts: a kernel to compile, a capture, a Triton cache,
an artifact, or a saved report. A single capture opens directly, several are listed. Without
KERNEL, lists the captures in irlens's store and the kernels that it can compile.

Press ? for the keys of a screen, ctrl+p for all commands. Change keys in keys.toml in
irlens's configuration directory (~/.config/irlens): --keys prints such a file with every key.

\b
irlens tui softmax --num-stages 2,4
irlens tui ~/.triton/cache
irlens tui softmax --serve
"""
#: Moves the keyboard focus to the terminal in the page as soon as it exists.
_FOCUS = """<script>
new MutationObserver((_, observer) => {
  const keys = document.querySelector("#terminal textarea");
  if (keys) { keys.focus(); observer.disconnect(); }
}).observe(document.getElementById("terminal"), { childList: true, subtree: true });
</script>
</body>"""
#: Names of this machine that only its own users can reach.
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


@click.command(help=_HELP)
@click.argument("kernel", required=False, shell_complete=complete_kernels)
@kernel_options
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
def command(
    kernel: str | None,
    no_mouse: bool,
    keys: bool,
    serve: bool,
    host: str,
    port: int,
    **options: Unpack[KernelOptions],
) -> Exit:
    """Open the terminal user interface."""
    if keys:
        from irlens.tui.services import keymap

        click.echo("\n".join(keymap.lines()))
        return Exit.OK
    if kernel == "-":
        raise IrlensError(
            "irlens tui reads keys from standard input", hint="name a file instead of -"
        )
    if not serve:
        _check_terminal()
    gc.disable()  # until the first frame: collections took a tenth of the start-up time
    from irlens.session.interactive import open_session
    from irlens.session.session import Session

    session = open_session(kernel, selected(options), Session(output.note))
    entry = session.single() if kernel is not None else None
    from irlens.tui.services import keymap, preferences

    custom_keys = keymap.read(keymap.default_path())
    if serve:
        # Errors have been raised by now: a visitor's page could not show them.
        _serve(host, port)
        return Exit.OK
    from irlens.tui.app import IrlensApp

    app = IrlensApp(session, entry=entry, state=preferences.default_path(), keymap=custom_keys)
    app.run(mouse=not no_mouse)
    return Exit(app.return_code or Exit.OK)


def _check_terminal() -> None:
    # Textual draws on stderr; a served app is recognised by its environment.
    if not (sys.stdin.isatty() and sys.stderr.isatty()) and "TEXTUAL_DRIVER" not in os.environ:
        raise IrlensError(
            "irlens tui needs a terminal", hint="irlens inspect writes reports to files and pipes"
        )


def _serve(host: str, port: int) -> None:
    """Serve the TUI of this command line, one process per visitor, until interrupted.

    Does what ``textual-serve`` does, but only for pages of the host itself.

    Args:
        host: The address to listen on.
        port: The port to listen on.

    Raises:
        IrlensError: ``textual-serve`` is not installed, or the address is unavailable.
    """
    import shlex
    from urllib.parse import urlsplit

    try:
        from aiohttp import web
        from aiohttp.typedefs import Handler
        from textual_serve.server import Server
    except ImportError as error:
        raise IrlensError(
            "--serve needs textual-serve", hint="pip install 'irlens[serve]'"
        ) from error
    is_public = host in {"0.0.0.0", "::"}  # requested explicitly: any name may be this machine's
    names = {host} | (_LOOPBACK if host in _LOOPBACK else set())

    @web.middleware
    async def refuse_other_origins(request: web.Request, handler: Handler) -> web.StreamResponse:
        # A browser lets any page open a socket to this machine, and names the page's origin.
        origin = request.headers.get("Origin")
        urls = [f"//{request.host}", *([origin] if origin is not None else [])]
        if not is_public and not names.issuperset(urlsplit(url).hostname or "" for url in urls):
            raise web.HTTPForbidden(text=f"irlens serves pages of {host} only")
        return await handler(request)

    @web.middleware
    async def add_focus(request: web.Request, handler: Handler) -> web.StreamResponse:
        response = await handler(request)
        if isinstance(response, web.Response) and response.content_type == "text/html":
            response.text = (response.text or "").replace("</body>", _FOCUS)
        return response

    class OwnServer(Server):
        """Announces its address, and refuses pages of other origins."""

        def initialize_logging(self) -> None:
            """Log nothing: the browser shows errors."""

        async def on_startup(self, app: web.Application) -> None:
            """Announce the address."""
            click.echo(f"irlens: serving on {self.public_url}, press ctrl+c to stop", err=True)

        async def _make_app(self) -> web.Application:
            app = await super()._make_app()
            app.middlewares.append(refuse_other_origins)
            app.middlewares.append(add_focus)
            return app

    # The same interpreter finds the same tools; -P: the working directory is not trusted with
    # modules.
    arguments = [argument for argument in sys.argv[1:] if argument != "--serve"]
    command_line = shlex.join([sys.executable, "-P", "-m", "irlens", *arguments])
    server = OwnServer(command_line, host=host, port=port, title="irlens")
    # The sockets listen before the address is announced: a reader may connect at once.
    web.run_app(server._make_app(), sock=_listen(host, port), print=None)


def _listen(host: str, port: int) -> "list[socket]":
    """Return listening sockets, one for each address of a host.

    Raises:
        IrlensError: An address is unavailable.
    """
    import socket

    with ExitStack() as opened:
        try:
            infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
            sockets = [
                opened.enter_context(_open_socket(family, address))
                for family, address in dict.fromkeys((family, at) for family, *_, at in infos)
            ]
        except OSError as error:
            reason = error.strerror or os.strerror(error.errno or 0)
            raise IrlensError(
                f"cannot listen on {host}:{port}: {reason}", hint="choose another --port or --host"
            ) from error
        opened.pop_all()  # the caller closes them
    return sockets


def _open_socket(family: int, address: tuple[Any, ...]) -> "socket":
    import socket

    with ExitStack() as opened:
        listener = opened.enter_context(socket.socket(family, socket.SOCK_STREAM))
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind(address)
        listener.listen()
        opened.pop_all()
    return listener
