"""The command line: the only place where an error becomes text on stderr and an exit code.

Nothing heavier than click is imported until a command runs: see ``tests/cli/test_imports.py``.
"""

import atexit
import errno
import gc
import os
import signal
import sys
from collections.abc import Callable, Sequence
from enum import IntEnum
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from irlens.model import errors

if TYPE_CHECKING:
    from irlens.compiler import Request
    from irlens.model.capture import Capture
    from irlens.session.session import Session

#: Errors of writing to stdout: a pipe without a reader, a full or broken disk.
_STDOUT_ERRORS = (errno.EPIPE, errno.ENOSPC, errno.EIO)


#: Garbage collector thresholds: few parsed records are in cycles, and looking for them took up to a
#: tenth of the time.
COLLECTIONS = (500_000, 20, 20)


#: Whether irlens is the program of this process, which may then fork.
owns_process = False


class Exit(IntEnum):
    """Exit codes of the process."""

    OK = 0
    DIFFERENCE = 1  # a difference was found, a check failed, or no configuration fits
    TROUBLE = errors.TROUBLE  # the question could not be answered
    INTERRUPTED = 130  # as a shell reports SIGINT


def new_session(meanwhile: Callable[[], object] | None = None) -> "Session":
    """Return a session whose messages go to stderr, and which survives a crash of the compiler.

    Args:
        meanwhile: Called while the compiler is at work in a process of its own.
    """
    from irlens.cli import output
    from irlens.session.session import Session

    compile_safely = partial(_compile_in_child, meanwhile=meanwhile) if owns_process else None
    return Session(output.note, compile_safely, announce=output.announce)


def _compile_in_child(
    request: "Request", *, meanwhile: Callable[[], object] | None
) -> "Sequence[Capture]":
    from irlens.cli import output
    from irlens.compiler import forked

    with output.progress("configurations") as show:
        return forked.capture(request, meanwhile, show)


@lru_cache(maxsize=1)
def load_inspection() -> None:
    """Import the modules that make reports, and exclude them from garbage collection."""
    import irlens.report.inspection  # noqa: F401

    gc.freeze()


def main() -> None:
    """Run ``irlens`` with the process's arguments and exit with its code."""
    global owns_process  # there is one
    owns_process = True
    gc.set_threshold(*COLLECTIONS)
    atexit.register(_skip_last_collection)
    if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:  # ends irlens as Ctrl+C does
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        os.register_at_fork(after_in_child=partial(signal.signal, signal.SIGTERM, signal.SIG_DFL))
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: PTH123, SIM115  # until the end
    if sys.stdout is None or sys.stderr is None:  # closed by the shell: `>&-`
        devnull = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115  # until the end
        sys.stdout, sys.stderr = sys.stdout or devnull, sys.stderr or devnull
    try:
        code = _run()
        sys.stdout.flush()
    except KeyboardInterrupt:  # while click is loaded, or buffered output is written
        sys.stderr.write("irlens: interrupted\n")
        code = Exit.INTERRUPTED
    except OSError as error:
        # click prints help itself, without handling these errors.
        if error.errno not in _STDOUT_ERRORS:
            raise
        from irlens.cli.output import abandon

        abandon(sys.stdout)
        code = Exit.OK  # the reader (`head`, a pager) has closed the pipe
        if error.errno != errno.EPIPE:
            sys.stderr.write(f"irlens: error: cannot write to stdout: {error.strerror}\n")
            code = Exit.TROUBLE
    sys.exit(code)


def _skip_last_collection() -> None:
    """Keep Python from looking for cycles among all objects while it ends.

    Triton's bindings report objects that are not freed by then, so they are collected.
    """
    if sys.modules.keys().isdisjoint(("triton", "torch")):
        gc.freeze()


def _is_of_stdout(error: BaseException) -> bool:
    """Whether click could not print something, which is about no other full or broken disk."""
    if not isinstance(error, OSError) or error.errno not in _STDOUT_ERRORS:
        return False
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is None or trace.tb_frame.f_globals.get("__name__", "").startswith("click.")


def _run() -> Exit:
    import click

    from irlens.cli.root import root

    if "_IRLENS_COMPLETE" in os.environ:
        from irlens.cli import completions

        completions.install()
    # Accepted anywhere: it is usually appended to a long command that just failed.
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    debug = len(arguments) < len(sys.argv) - 1
    try:
        return Exit(root.main(arguments, standalone_mode=False, prog_name="irlens") or Exit.OK)
    except click.ClickException as error:
        from irlens.cli.output import show_error, usage_error

        if type(error).__name__ == "NoArgsIsHelpError":
            error.show()  # not an error: the help
        else:
            show_error(usage_error(error))
        return Exit.TROUBLE
    except click.Abort:
        from irlens.cli.output import end_interrupted_line

        end_interrupted_line()
        click.echo("irlens: interrupted", err=True)
        return Exit.INTERRUPTED
    except errors.IrlensError as error:
        if debug:
            raise
        from irlens.cli.options import with_example_as_typed
        from irlens.cli.output import show_error

        show_error(with_example_as_typed(error, arguments))
        return Exit.TROUBLE
    except (OSError, MemoryError, ImportError) as error:
        from irlens.cli.machine_errors import explain
        from irlens.cli.output import show_error

        explained = None if debug or _is_of_stdout(error) else explain(error)
        if explained is None:
            raise
        show_error(explained)
        return Exit.TROUBLE
