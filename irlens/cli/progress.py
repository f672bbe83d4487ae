"""How far something is, on a terminal."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Protocol

import click

if TYPE_CHECKING:  # click has no public name for it
    from click._termui_impl import ProgressBar


class Tell(Protocol):
    """Is told how many are done, of how many."""

    def __call__(self, done: int, total: int) -> None:
        """Show it."""


@contextmanager
def progress(label: str) -> Iterator[Tell]:
    """Show a bar on stderr from the first telling on; nothing where that is no terminal."""
    with ExitStack() as stack:
        bar: ProgressBar[int] | None = None

        def tell(done: int, total: int) -> None:
            nonlocal bar
            if bar is None and sys.stderr.isatty():
                bar = stack.enter_context(
                    click.progressbar(length=total, label=label, file=sys.stderr, show_pos=True)
                )
            if bar is not None:
                bar.update(done - bar.pos)

        yield tell
