"""``--line N``: what became of one line of Python; ``--interleave``: a stage with its source."""

from collections.abc import Iterator, Sequence
from functools import cache, partial

import click

from irlens.analyze.source_map import MAPPED, StageMap, map_stage
from irlens.model.capture import Capture
from irlens.model.errors import IrlensError
from irlens.model.source import SourceLocation
from irlens.model.text import printable_line

#: How each stage's language begins a comment.
COMMENT = {"llir": ";", "amdgcn": ";"}


def line_report(capture: Capture, place: str, *, color: bool) -> str:
    """Return what a line of Python became at every stage.

    Args:
        capture: The stages.
        place: "51", a line of the kernel's own file, or "standard.py:170".
        color: Whether to use ANSI colours.

    Raises:
        IrlensError: The place is none, or no stage has anything of it.
    """
    file, line = _parse(capture, place)
    style = _Style(color)
    code = _code(capture, SourceLocation(file, line))
    title = f"{file}:{line}"
    out = [f"{style.bold(title)}  {printable_line(code.strip())}".rstrip()]
    found = False
    for stage in MAPPED:
        mapped = map_stage(capture, stage) if stage != "source" else None
        numbers = mapped.lines_of(file, line) if mapped is not None else []
        if mapped is None:
            continue
        found = found or bool(numbers)
        lines = "line" if len(numbers) == 1 else "lines"
        out += ["", f"{style.bold(stage)}  {len(numbers)} {lines}"]
        out += _excerpt(mapped, numbers, file, line, style)
    if not found:
        raise IrlensError(
            f"{capture.kernel}: nothing at any stage came from {file}:{line}",
            hint=f"lines with code: {_lines_with_code(capture, file) or 'none'}",
        )
    return "\n".join(out) + "\n"


def interleaved(capture: Capture, stage: str) -> str:
    """Return a stage's text with the Python it came from as comments in between.

    Raises:
        IrlensError: As ``with_source``.
    """
    return "\n".join(line for _, line in with_source(capture, stage)) + "\n"


def with_source(capture: Capture, stage: str) -> Iterator[tuple[int | None, str]]:
    """Yield a stage's lines by number, and between them, without one, the Python as comments.

    Raises:
        IrlensError: The capture lacks the stage, or it is not text that can be mapped.
    """
    mapped = map_stage(capture, stage) if stage in MAPPED else None
    if mapped is None:
        raise IrlensError(
            f"{capture.kernel}: there is no source to print between the lines of {stage}",
            hint=f"stages that have one: {', '.join(_present(capture))}",
        )
    comment = COMMENT.get(stage, "//")
    caption = cache(partial(_caption, capture))
    last = ""
    for number, text in enumerate(mapped.text.splitlines(), 1):
        if text.lstrip().startswith("//## File "):
            continue  # the disassembler's own, less readable way of saying the same
        chain = mapped.chains.get(number)
        # Captions are compared, not chains: these differ in columns that a caption leaves out.
        if chain is not None and caption(chain) != last:
            last = caption(chain)
            yield None, f"{comment} {last}"
        yield number, text


def _present(capture: Capture) -> list[str]:
    return [s for s in MAPPED if s in capture.stages or (s == "sass" and "cubin" in capture.stages)]


def _caption(capture: Capture, chain: Sequence[SourceLocation]) -> str:
    if not chain:
        return "no source"
    user = chain[-1]
    inlined = "".join(f"  < {frame}" for frame in reversed(chain[:-1]))
    return printable_line(f"{user}  {_code(capture, user).strip()}{inlined}".rstrip())


class _Style:
    def __init__(self, color: bool) -> None:
        self._color = color

    def bold(self, text: str) -> str:
        return click.style(text, bold=True) if self._color else text

    def dim(self, text: str) -> str:
        return click.style(text, dim=True) if self._color else text


def _parse(capture: Capture, place: str) -> tuple[str, int]:
    """Return the file and the line that a place means."""
    file, _, number = place.rpartition(":")
    if not number.isdecimal() or int(number) < 1:
        raise IrlensError(f"'{place}' is no line", hint="write 51, or standard.py:170")
    if file:
        return file, int(number)
    if capture.manifest is not None:
        return capture.manifest.file, int(number)
    own = _own_file(capture)
    if own is None:
        raise IrlensError(
            f"{capture.kernel}: which file line {number} is in is not known",
            hint=f"write FILE.py:{number}",
        )
    return own, int(number)


def _own_file(capture: Capture) -> str | None:
    """Return the file that the kernel itself is in: the outermost frame of its instructions."""
    for stage in MAPPED:
        mapped = map_stage(capture, stage) if stage in capture.stages else None
        chains = mapped.chains.values() if mapped is not None else ()
        outermost = next((chain[-1].file for chain in chains if chain), None)
        if outermost is not None:
            return outermost
    return None


def _code(capture: Capture, place: SourceLocation) -> str:
    lines = (capture.python(place.file) or "").splitlines()
    return lines[place.line - 1] if 1 <= place.line <= len(lines) else ""


def _excerpt(
    mapped: StageMap, numbers: Sequence[int], file: str, line: int, style: _Style
) -> Iterator[str]:
    """The stage's lines, gaps marked, each with the frames it was inlined through."""
    lines = mapped.text.splitlines()
    width = len(str(numbers[-1])) if numbers else 0
    before: int | None = None
    for number in numbers:
        if before is not None and number > before + 1:
            yield style.dim(" " * (width + 1) + "⋮")
        before = number
        chain = mapped.chains[number]
        through = [str(f) for f in chain if (f.file, f.line) != (file, line)]
        note = style.dim(f"   < {' < '.join(through)}") if through else ""
        yield f"  {number:>{width}}  {printable_line(lines[number - 1].rstrip())}{note}"


def _lines_with_code(capture: Capture, file: str) -> str:
    """The lines of a file that left something, for whoever asked for another."""
    mapped = next((m for s in MAPPED if s in capture.stages and (m := map_stage(capture, s))), None)
    if mapped is None:
        return ""
    found = {f.line for chain in mapped.chains.values() for f in chain if f.file == file}
    return ", ".join(map(str, sorted(found)))
