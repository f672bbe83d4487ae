"""``irlens completion``: a shell's completion script."""

import click
from click.shell_completion import get_completion_class

from irlens.cli import Exit, completions, output

_HELP = """Print a script that completes commands, options, kernels and GPUs.

SHELL is bash, zsh or fish.

\b
bash:  eval "$(irlens completion bash)"    in ~/.bashrc
zsh:   eval "$(irlens completion zsh)"     in ~/.zshrc
fish:  irlens completion fish > ~/.config/fish/completions/irlens.fish
"""


@click.command(help=_HELP)
@click.argument("shell", metavar="SHELL", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> Exit:
    """Print the script."""
    completions.install()
    completion = get_completion_class(shell)
    assert completion is not None  # click knows all of the choices
    root = ctx.find_root()
    output.write(completion(root.command, {}, "irlens", "_IRLENS_COMPLETE").source(), None)
    return Exit.OK
