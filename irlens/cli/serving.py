"""The TUI in a web browser (``irlens tui --serve``): who gets in, and what a page may do.

A visitor's page drives irlens with the rights of the user who serves it. So the address has a
token, as Jupyter's has, that only who sees it knows; the browser keeps it as a cookie. Browsers
send cookies to all ports of a machine, but only below the cookie's path, so the page is at one
that nobody guesses.
"""

import hmac
import logging
import os
import re
import secrets
import shlex
import socket
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import click

from irlens.model.errors import IrlensError

if TYPE_CHECKING:  # an optional dependency
    from aiohttp import web
    from aiohttp.typedefs import Handler

#: Visitors at a time, each with a process of its own.
MOST_SESSIONS = 8
_TOKEN = "token"
#: Moves the keyboard focus to the terminal in the page as soon as it exists.
_FOCUS = """<script>
new MutationObserver((_, observer) => {
  const keys = document.querySelector("#terminal textarea");
  if (keys) { keys.focus(); observer.disconnect(); }
}).observe(document.getElementById("terminal"), { childList: true, subtree: true });
</script>
</body>"""
#: The page names a font of another site.
_ELSEWHERE = re.compile(r"<link\b[^>]*https?://fonts\.[^>]*>")
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data:; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class _Gate:
    """Lets in who knows the token.

    Args:
        port: The server's port: another server of this machine has other cookies.
    """

    def __init__(self, port: int) -> None:
        self.token = secrets.token_urlsafe(24)
        self.path = f"/{secrets.token_hex(16)}"
        self._cookie = f"irlens-{port}"
        self._sessions = 0

    async def check(self, request: "web.Request", handler: "Handler") -> "web.StreamResponse":
        """Answer a request, or refuse it: who has no token, and pages of other origins."""
        from aiohttp import web

        origin = request.headers.get("Origin")
        if origin is not None and origin != _origin(request):
            raise web.HTTPForbidden(text="irlens answers its own page only")
        if request.path == "/" and self._is_token(request.query.get(_TOKEN)):
            entered = web.HTTPFound(f"{self.path}/")  # without the token in the address
            entered.set_cookie(
                self._cookie, self.token, path=f"{self.path}/", httponly=True, samesite="Strict"
            )
            raise entered
        if not self._is_token(request.cookies.get(self._cookie)):
            raise web.HTTPForbidden(text="open the address that irlens tui --serve printed")
        if request.path != f"{self.path}/ws":
            return await handler(request)
        if self._sessions >= MOST_SESSIONS:
            raise web.HTTPServiceUnavailable(text=f"{MOST_SESSIONS} visitors are here already")
        self._sessions += 1
        try:
            return await handler(request)
        finally:
            self._sessions -= 1

    def _is_token(self, given: str | None) -> bool:
        # Bytes of a header that are not UTF-8 are halves of surrogate pairs.
        known = (given or "").encode("utf-8", "replace")
        return hmac.compare_digest(known, self.token.encode())


def serve_tui(host: str, port: int) -> None:
    """Serve the TUI of this command line, one process per visitor, until interrupted.

    Raises:
        IrlensError: ``textual-serve`` is not installed, or the address is unavailable.
    """
    try:
        from aiohttp import web
        from textual_serve.server import Server
    except ImportError as error:
        raise IrlensError(
            "--serve needs textual-serve", hint="pip install 'irlens[serve]'"
        ) from error
    gate = _Gate(port)

    class OwnServer(Server):
        """Announces its address with the token, and adapts the page."""

        def initialize_logging(self) -> None:
            """Log nothing: the browser shows errors."""

        async def on_startup(self, app: web.Application) -> None:
            """Announce the address."""
            address = f"{self.public_url}/?{_TOKEN}={gate.token}"
            click.echo(f"irlens: serving on {address}, press ctrl+c to stop", err=True)

        async def _make_app(self) -> web.Application:
            app = web.Application(middlewares=[check, adapt])
            app.add_subapp(gate.path, await super()._make_app())
            return app

    @web.middleware
    async def check(request: web.Request, handler: "Handler") -> web.StreamResponse:
        return await gate.check(request, handler)

    @web.middleware
    async def adapt(request: web.Request, handler: "Handler") -> web.StreamResponse:
        response = await handler(request)
        if not response.prepared:
            response.headers.update(_HEADERS)
        if isinstance(response, web.Response) and response.content_type == "text/html":
            here = _origin(request).partition(":")[2]
            page = (response.text or "").replace(server.public_url.partition(":")[2], here)
            response.text = _ELSEWHERE.sub("", page).replace("</body>", _FOCUS)
        return response

    # Nobody without the token writes to this terminal: aiohttp logs what it cannot read.
    logging.getLogger().addHandler(logging.NullHandler())
    # The same interpreter finds the same tools; -P: the working directory is not trusted with
    # modules.
    arguments = [argument for argument in sys.argv[1:] if argument != "--serve"]
    command_line = shlex.join([sys.executable, "-P", "-m", "irlens", *arguments])
    server = OwnServer(command_line, host=host, port=port, title="irlens")
    # The sockets listen before the address is announced: a reader may connect at once.
    web.run_app(server._make_app(), sock=_listen(host, port), print=None)


def _origin(request: "web.Request") -> str:
    """Return the origin of this server as the visitor calls it."""
    return f"{request.scheme}://{request.host}"


def _listen(host: str, port: int) -> list[socket.socket]:
    """Return listening sockets, one for each address of a host."""
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


def _open_socket(family: int, address: tuple[Any, ...]) -> socket.socket:
    with ExitStack() as opened:
        listener = opened.enter_context(socket.socket(family, socket.SOCK_STREAM))
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind(address)
        listener.listen()
        opened.pop_all()
    return listener
