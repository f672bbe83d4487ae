"""``--watch``: the same question again whenever the kernel has been saved."""

import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import TypeAlias

import click

from irlens.cli import output
from irlens.cli.exits import Exit
from irlens.cli.options import Asked
from irlens.cli.subject import find_requests, is_compiled, tell_compiling
from irlens.compiler import capture, is_stored
from irlens.compiler.saves import Saves
from irlens.diff.code.captures import compare_sets as compare_code_sets
from irlens.diff.report.comparisons import match
from irlens.model.capture import Capture
from irlens.model.code import CodeComparison, CodeComparisons
from irlens.model.code_lines import summary
from irlens.model.errors import IrlensError
from irlens.model.moved import verdict
from irlens.model.text import plural, printable_line
from irlens.session.compiling import Compiler
from irlens.session.reading import report_of

#: What the assembler is given: the last stage that a person can read without a disassembler.
_CODE = ("ptx", "amdgcn")

#: Writes what was asked for of the captures before a save, none at first, and of those after it;
#: returns what moved in a stage's text if it had to find that out.
Show: TypeAlias = Callable[[Sequence[Capture], Sequence[Capture]], CodeComparisons | None]


def watch(kernel: str, asked: Asked, show: Show) -> Exit:
    """Show what the compiler makes of a kernel, and what moved with each save, until ctrl+c.

    What cannot be compiled is told, and the next save waited for.

    Args:
        kernel: KERNEL.
        asked: The options.
        show: Is given the captures before a save and after it.

    Raises:
        IrlensError: KERNEL is nothing that can be saved.
    """
    if is_compiled(kernel):
        raise IrlensError(
            f"--watch needs a kernel's source, and {kernel} is compiled already",
            hint="write path/file.py:kernel, or a kernel's name",
        )
    saves = Saves(kernel)
    before: list[Capture] = []
    with closing(_Compiling(kernel, asked)) as compiling:
        try:
            while True:
                try:
                    after = compiling.captures()
                    _clear()
                    shown = show(before, after)
                    if before:
                        _tell_moved(before, after, shown)
                except IrlensError as error:
                    saves.failed()
                    _clear()
                    output.tell_error(error)
                else:
                    saves.compiled(after)
                    before = after
                output.note(f"irlens: watching {_listed(saves.files)}; ctrl+c ends")
                output.note(f"irlens: {_listed(saves.wait())} saved")
        except KeyboardInterrupt:
            return Exit.OK


class _Compiling:
    """What compiles: processes of its own, so that no state of one compilation is the next's."""

    def __init__(self, kernel: str, asked: Asked) -> None:
        self._kernel, self._asked = kernel, asked
        self._compiler = Compiler()

    def captures(self) -> list[Capture]:
        """Return what is asked for, made of what the files hold now."""
        found: list[Capture] = []
        for request in find_requests(self._kernel, self._asked):
            if is_stored(request):
                found += capture(request)
            else:
                tell_compiling(self._kernel, request)
                found += self._compiler.compile(request)
        return found

    def close(self) -> None:
        """Abandon what is being compiled."""
        self._compiler.cancel()


def _clear() -> None:
    if sys.stdout.isatty():
        click.clear()


def _tell_moved(
    before: Sequence[Capture], after: Sequence[Capture], shown: CodeComparisons | None
) -> None:
    """Say what moved since the last version that could be compiled."""
    figures = match(
        [report_of(capture) for capture in before],
        [report_of(capture) for capture in after],
    )
    told = {pair.setting: verdict(pair) if pair.different else [] for pair in figures.pairs}
    for code in _compared(before, after, shown):
        if code.different:
            told.setdefault(code.setting, []).append(f"{code.stage}: {summary(code)}")
    gone = len(figures.removed) + len(figures.unmatched_before)
    new = len(figures.added) + len(figures.unmatched_after)
    lines = [f"{name}: {', '.join(each)}".removeprefix(": ") for name, each in told.items() if each]
    lines += [
        f"{plural(n, 'configuration')} {what}" for n, what in ((gone, "gone"), (new, "new")) if n
    ]
    for line in lines:
        click.secho(printable_line(f"moved: {line}"), bold=True, err=True)
    if not lines:
        output.note("moved: nothing")


def _compared(
    before: Sequence[Capture], after: Sequence[Capture], shown: CodeComparisons | None
) -> list[CodeComparison]:
    """Return what moved in the code of each pair; what has been shown is not compared again."""
    stages = [name for name in _CODE if any(name in capture.stages for capture in after)]
    known = [pair for pair in shown.pairs if pair.stage in stages] if shown else []
    others = [name for name in stages if all(pair.stage != name for pair in known)]
    return known + compare_code_sets(before, after, others).pairs if others else known


def _listed(files: Sequence[Path]) -> str:
    """Return what files are called: "softmax.py and 2 more"."""
    more = f" and {len(files) - 1} more" if len(files) > 1 else ""
    return f"{files[0].name}{more}"
