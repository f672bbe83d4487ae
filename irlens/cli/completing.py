"""What a shell is offered for KERNEL and for GPUs when Tab is pressed."""

import click
from click.shell_completion import CompletionItem

from irlens.model.errors import IrlensError


def kernels(
    _ctx: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the names of kernels that begin so; files where there is none."""
    from irlens.compiler.finding import known_files

    try:
        names = [name for name in sorted(known_files()) if name.startswith(incomplete)]
    except IrlensError:  # a project whose settings are wrong; the command will say so
        names = []
    # Files come first: bash forgets what stands before them, and asks for them if nothing follows.
    return [CompletionItem(incomplete, type="file"), *map(CompletionItem, names)]


def gpus(_ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the GPUs that may end a list, each with what stands before it."""
    from irlens import gpus as arch

    before, comma, last = incomplete.rpartition(",")
    names = (gpu.name for gpu in arch.gpus())
    return [CompletionItem(f"{before}{comma}{name}") for name in names if name.startswith(last)]
