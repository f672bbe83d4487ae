"""The command line: the only place where an error becomes text on stderr and an exit code.

Nothing heavier than click is imported until a command runs: see ``tests/cli/test_imports.py``.
"""

import errno
import os
import sys
from pathlib import Path

from irlens.cli.exits import Exit

#: Of a pipe that nobody reads any more, and of a disk.
_STDOUT_FAULTS = (errno.EPIPE, errno.ENOSPC, errno.EIO)


def main() -> None:
    """Run ``irlens`` with the process's arguments, and leave with its exit code."""
    if sys.stdin is None:
        sys.stdin = Path(os.devnull).open(encoding="utf-8")  # noqa: SIM115  # until the end
    if sys.stdout is None or sys.stderr is None:  # closed by the shell: `>&-`
        nowhere = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115  # until the end
        sys.stdout, sys.stderr = sys.stdout or nowhere, sys.stderr or nowhere
    try:
        code = _run()
        sys.stdout.flush()
    except KeyboardInterrupt:  # while click is loaded, or what is left is written
        sys.stderr.write("irlens: interrupted\n")
        code = Exit.INTERRUPTED
    except OSError as error:
        # click prints help by itself, and takes no care of where.
        if error.errno not in _STDOUT_FAULTS:
            raise
        from irlens.cli.output import abandon_stdout

        abandon_stdout()
        code = Exit.OK  # the reader (`head`, a pager) has seen enough
        if error.errno != errno.EPIPE:
            sys.stderr.write(f"irlens: error: cannot write to stdout: {error.strerror}\n")
            code = Exit.TROUBLE
    sys.exit(code)


def _run() -> Exit:
    import click

    from irlens.cli.root import root
    from irlens.model.errors import IrlensError

    # Wherever it stands: whoever wants it has just typed a long command and adds it at the end.
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    debug = len(arguments) < len(sys.argv) - 1
    try:
        return Exit(root.main(arguments, standalone_mode=False, prog_name="irlens") or Exit.OK)
    except click.ClickException as error:
        error.show()
        return Exit.TROUBLE
    except click.Abort:
        click.echo("irlens: interrupted", err=True)
        return Exit.INTERRUPTED
    except IrlensError as error:
        if debug:
            raise
        from irlens.cli.output import tell_error

        tell_error(error)
        return Exit.TROUBLE
