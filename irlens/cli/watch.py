"""``--watch``: re-run on every save of the kernel."""

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

import click

from irlens.cli import Exit, output
from irlens.compiler.sources.watcher import SourceWatcher
from irlens.diff.code.captures import compare_sets
from irlens.diff.report.comparisons import match
from irlens.model.capture import Capture
from irlens.model.code import CodeComparison, CodeComparisons
from irlens.model.errors import IrlensError
from irlens.model.text import first_of, plural, printable_line
from irlens.render.view.code import code_summary
from irlens.render.view.comparison_verdict import verdict
from irlens.session import Configurations, is_compiled
from irlens.session.compilation import Compiler
from irlens.session.reports import report_of
from irlens.session.session import Session

#: The assembler's input: the last stage that is readable without a disassembler.
_CODE_STAGES = ("ptx", "amdgcn")

#: Prepares the result for the captures after a save, given those before it (none at first):
#: returns the comparison of a stage's code if there is one, and what writes the result.
Show: TypeAlias = Callable[
    [Sequence[Capture], Sequence[Capture]], tuple[CodeComparisons | None, Callable[[], object]]
]


def watch(kernel: str, configurations: Configurations, show: Show) -> Exit:
    """Show a kernel's captures, after each save with what changed above them, until ctrl+c.

    A compile error is shown, and the next save awaited. Each compilation runs in a process of its
    own, so that it inherits no state from the previous one.

    Raises:
        IrlensError: KERNEL has no source that can be saved.
    """
    if is_compiled(kernel):
        raise IrlensError(
            f"--watch needs a kernel's source, and {kernel} is already compiled",
            hint="write path/file.py:kernel, or a kernel's name",
        )
    saves = SourceWatcher(kernel)
    before: list[Capture] = []
    compiler = Compiler()
    session = Session(output.note, compiler.compile, announce=output.announce)
    try:
        while True:
            try:
                after = session.captures(kernel, configurations)
                compared, write = show(before, after)
                changes = _differences(before, after, compared) if before else []
                _clear()
                for line in changes:
                    output.talk(line, bold=True)
                write()
            except IrlensError as error:
                saves.failed()
                _clear()
                output.show_error(error)
            else:
                saves.compiled(after)
                before = after
            output.note(f"watching {_named(saves.files)}; press ctrl+c to stop")
            output.note(f"{_named(saves.wait())} saved")
    except KeyboardInterrupt:
        output.end_interrupted_line()
        return Exit.OK
    finally:
        compiler.cancel()


def _clear() -> None:
    if sys.stdout.isatty() and os.environ.get("TERM") != "dumb":
        click.clear()


def _differences(
    before: Sequence[Capture], after: Sequence[Capture], compared: CodeComparisons | None
) -> list[str]:
    """Return the differences from the last version that compiled, as lines."""
    figures = match(
        [report_of(capture) for capture in before],
        [report_of(capture) for capture in after],
    )
    phrases = {
        pair.setting: [verdict(pair).words] if pair.different else [] for pair in figures.pairs
    }
    for code in _compare_code(before, after, compared):
        if code.different:
            phrases.setdefault(code.setting, []).append(f"{code.stage}: {code_summary(code)}")
    gone = len(figures.removed) + len(figures.unmatched_before)
    new = len(figures.added) + len(figures.unmatched_after)
    lines = [f"{name}: {', '.join(e)}".removeprefix(": ") for name, e in phrases.items() if e]
    lines += [
        f"{plural(n, 'configuration')} {what}" for n, what in ((gone, "gone"), (new, "new")) if n
    ]
    return [printable_line(f"changed: {line}") for line in lines or ["nothing"]]


def _compare_code(
    before: Sequence[Capture], after: Sequence[Capture], compared: CodeComparisons | None
) -> list[CodeComparison]:
    """Return the code comparison of each pair; a stage that ``show`` compared is not repeated."""
    stages = [name for name in _CODE_STAGES if any(name in capture.stages for capture in after)]
    known = [pair for pair in compared.pairs if pair.stage in stages] if compared else []
    others = [name for name in stages if all(pair.stage != name for pair in known)]
    return known + compare_sets(before, after, others).pairs if others else known


def _named(files: Sequence[Path]) -> str:
    """Return "softmax.py and 2 more"."""
    return first_of([each.name for each in files], 1)
