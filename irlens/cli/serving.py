"""The TUI in a web browser: what ``textual-serve`` does, for the user alone."""

import os
import shlex
import socket
import sys
from contextlib import ExitStack
from typing import Any
from urllib.parse import urlsplit

import click

from irlens.model.errors import IrlensError

#: Gives the terminal in the page the keys once it is there, without a click.
_FOCUS = """<script>
new MutationObserver((_, observer) => {
  const keys = document.querySelector("#terminal textarea");
  if (keys) { keys.focus(); observer.disconnect(); }
}).observe(document.getElementById("terminal"), { childList: true, subtree: true });
</script>
</body>"""
#: Names of this machine that mean nobody else.
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


def serve(host: str, port: int) -> None:
    """Answer with this command's own TUI, a new one for each visitor, until interrupted.

    Args:
        host: Where to listen.
        port: And at which port.

    Raises:
        IrlensError: ``textual-serve`` is not installed, or nobody can listen there.
    """
    try:
        from aiohttp import web
        from aiohttp.typedefs import Handler
        from textual_serve.server import Server
    except ImportError as error:
        raise IrlensError(
            "--serve needs textual-serve", hint="pip install 'irlens[serve]'"
        ) from error
    everywhere = host in {"0.0.0.0", "::"}  # as was asked for: any name may be this machine's
    names = {host} | (_LOOPBACK if host in _LOOPBACK else set())

    @web.middleware
    async def own_pages_only(request: web.Request, handler: Handler) -> web.StreamResponse:
        # A browser lets any page open a socket to this machine, and tells which page it was.
        origin = request.headers.get("Origin")
        asked = [f"//{request.host}", *([origin] if origin is not None else [])]
        if not everywhere and not names.issuperset(urlsplit(each).hostname or "" for each in asked):
            raise web.HTTPForbidden(text=f"irlens is served to pages of {host} alone")
        return await handler(request)

    @web.middleware
    async def focused(request: web.Request, handler: Handler) -> web.StreamResponse:
        answer = await handler(request)
        if isinstance(answer, web.Response) and answer.content_type == "text/html":
            answer.text = (answer.text or "").replace("</body>", _FOCUS)
        return answer

    class OwnServer(Server):
        """Says where it is, and turns away the pages of others."""

        def initialize_logging(self) -> None:
            """Log nothing: what is wrong is seen in the browser."""

        async def on_startup(self, app: web.Application) -> None:
            """Say where it is."""
            click.echo(f"irlens: serving on {self.public_url}, ctrl+c ends it", err=True)

        async def _make_app(self) -> web.Application:
            app = await super()._make_app()
            app.middlewares.append(own_pages_only)
            app.middlewares.append(focused)
            return app

    # The tools that came with this interpreter are found as they are now; -P, because the
    # working directory need not be trusted with modules.
    same = [sys.executable, "-P", "-m", "irlens", *_without_serve(sys.argv[1:])]
    server = OwnServer(shlex.join(same), host=host, port=port, title="irlens")
    # They listen before it is said where: whoever reads that may come at once.
    web.run_app(server._make_app(), sock=_listeners(host, port), print=None)


def _without_serve(arguments: list[str]) -> list[str]:
    return [argument for argument in arguments if argument != "--serve"]


def _listeners(host: str, port: int) -> list[socket.socket]:
    """Return what listens at a port, one for each address of a host.

    Raises:
        IrlensError: It is not possible.
    """
    with ExitStack() as opened:
        try:
            places = socket.getaddrinfo(
                host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )
            found = [
                opened.enter_context(_listener(family, address))
                for family, address in dict.fromkeys((family, at) for family, *_, at in places)
            ]
        except OSError as error:
            reason = error.strerror or os.strerror(error.errno or 0)
            raise IrlensError(
                f"cannot listen on {host}:{port}: {reason}", hint="choose another --port or --host"
            ) from error
        opened.pop_all()  # they stay open for the caller
    return found


def _listener(family: int, address: tuple[Any, ...]) -> socket.socket:
    with ExitStack() as opened:
        listener = opened.enter_context(socket.socket(family, socket.SOCK_STREAM))
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind(address)
        listener.listen()
        opened.pop_all()
    return listener
