"""The ``irlens`` command and its help; its subcommands are the modules of ``irlens.cli.commands``.

Help groups the options of a command. It is written here because importing cloup, which groups
options too, takes as long as click itself.
"""

import importlib
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import click

from irlens.model.errors import UnknownNameError
from irlens.version import VERSION

#: Help is no wider, and as wide where the terminal's width is unknown.
_COLUMNS = 80
#: The options of each group, in the order of the help; others belong to the command alone.
GROUPS = {
    "Options": "",
    "Selection": "target num-warps num-stages num-ctas maxnreg set arg grid where filter git "
    "last-save",
    "What to show": "stage interleave annotate line program pressure pipelines memory time mix "
    "figures all sass side-by-side context columns sort rank top pass first last changes passes "
    "why layout",
    "Output": "format json output summary pager source-root prune-list footer",
    "Compilation and runs": "triton python run jobs timeout cluster measure against most budget "
    "watch interpret assume configs",
}
_GROUP_OF = {f"--{name}": group for group, names in GROUPS.items() for name in names.split()}


class HelpContext(click.Context):
    """A context whose help groups options."""


class _GroupedHelp(click.HelpFormatter):
    """Writes the section of the options as one section for each group."""

    _is_options = False

    @contextmanager
    def section(self, name: str) -> Iterator[None]:
        """Write a section; that of the options has no title of its own."""
        if name != "Options":
            with super().section(name):
                yield
            return
        self._is_options = True
        try:
            yield
        finally:
            self._is_options = False

    def write_dl(
        self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2
    ) -> None:
        """Write a list of terms, options in their groups."""
        if not self._is_options:
            super().write_dl(rows, col_max, col_spacing)
            return
        groups: dict[str, list[tuple[str, str]]] = {title: [] for title in GROUPS}
        for row in rows:
            groups[group_of(row[0])].append(row)
        filled = {title: group for title, group in groups.items() if group}
        only_help = [row for row in filled.get("Options", ()) if "--help" in row[0]]
        if len(filled) > 1 and only_help == filled.get("Options"):
            filled[list(filled)[-1]] += filled.pop("Options")
        for title, group in filled.items():
            with super().section(title):
                super().write_dl(group, col_max, col_spacing)


HelpContext.formatter_class = _GroupedHelp


def group_of(written: str) -> str:
    """Return the group of an option as help writes it: "-t, --target GPU,..."."""
    names = (word.strip(",") for word in written.split() if word.startswith("--"))
    return next((_GROUP_OF[name] for name in names if name in _GROUP_OF), "Options")


def width() -> int:
    """Return the width of help, without ``shutil``, which takes long to import."""
    try:
        columns = int(os.environ.get("COLUMNS", 0))
    except ValueError:
        columns = 0
    try:
        columns = columns if columns > 0 else os.get_terminal_size(1).columns
    except OSError:  # not a terminal
        columns = 0
    return max(min(columns or _COLUMNS, _COLUMNS) - 2, 50)


#: Each module of ``irlens.cli.commands``, with its line in the help, which imports none of them.
COMMANDS = {
    "cache": "Show or remove what irlens keeps on disk.",
    "calibrate": "Fit estimated times to this machine's GPU.",
    "check": "Fail on regressions and broken budgets.",
    "completion": "Print a shell's completion script.",
    "diff": "Show what changed between two captures.",
    "explain": "Explain a finding, a figure or a term.",
    "inspect": "Show what the compiler made of a kernel.",
    "kernels": "List the kernels that can be named without a path.",
    "limits": "Find the sizes at which a kernel breaks.",
    "mcp": "Serve irlens's tools to a coding agent.",
    "passes": "Show what each pass of the compiler changed.",
    "record": "Run a program and capture the kernels it compiles.",
    "scan": "List the captures of a cache with their figures.",
    "schema": "Print the JSON Schema of --format json.",
    "suggest": "Suggest a faster configuration near the current one.",
    "sweep": "Compile a grid of configurations and show which fit.",
    "targets": "List the GPUs to compile for, with their limits.",
    "traffic": "Show what a PyTorch program moves, and what fusing saves.",
    "tui": "Browse a kernel interactively.",
    "variants": "List the variants of a kernel, and what tells them apart.",
}


class _Commands(click.Group):
    """A group whose commands are the modules of a package, imported on demand."""

    def get_help(self, ctx: click.Context) -> str:
        ctx.terminal_width = ctx.terminal_width or width()
        return super().get_help(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        names = self.list_commands(ctx)
        if not args[0].startswith("-") and args[0] not in names and not ctx.resilient_parsing:
            raise UnknownNameError("command", args[0], names)
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"irlens.cli.commands.{cmd_name}").command
        command.short_help = COMMANDS[cmd_name]
        command.context_class = HelpContext
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


#: What ``irlens`` alone prints.
_FIRST_STEPS = """See what the compiler made of a Triton kernel. To begin with:

  irlens inspect softmax        report on a sample kernel
  irlens record FILE.py         capture the kernels of your unmodified program
  irlens diff FILE.py --git     show what your edit changed

`irlens --help` lists all commands.
"""


@click.group(
    cls=_Commands,
    help=_HELP,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(VERSION, "--version", "-V", message="irlens %(version)s")
@click.option("--debug", is_flag=True, help="Show a traceback for errors.")
@click.pass_context
def root(ctx: click.Context, debug: bool) -> None:
    """Accept the options before the command; ``main`` reads ``--debug`` itself."""
    if ctx.invoked_subcommand is None:
        click.echo(_FIRST_STEPS, nl=False)
