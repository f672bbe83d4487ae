"""The ``irlens`` command; its subcommands are the modules of ``irlens.cli.commands``."""

import importlib
import pkgutil

import click

from irlens.cli import commands
from irlens.version import VERSION


class _Commands(click.Group):
    """A group whose commands are the modules of a package, imported on demand."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(module.name for module in pkgutil.iter_modules(commands.__path__))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        module = importlib.import_module(f"{commands.__name__}.{cmd_name}")
        command: click.Command = module.command
        return command


_HELP = """See what the compiler made of a Triton kernel.

Registers, shared memory, software pipelining and occupancy, and every IR stage, for any
NVIDIA or AMD GPU, without needing one.

\b
irlens inspect softmax --num-stages 4
irlens inspect my_kernels.py:attention --target h100,mi300x --set BLOCK=64
irlens inspect ~/.triton/cache --format json
irlens inspect softmax --stage ptx
"""


@click.group(cls=_Commands, help=_HELP, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(VERSION, "--version", "-V", message="irlens %(version)s")
@click.option("--debug", is_flag=True, help="Show a traceback for errors.")
def root(debug: bool) -> None:
    """Accept the options before the command; ``main`` reads ``--debug`` itself."""
