"""The text of a stage: as it is, annotated, beside the Python; and the layouts of its values."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache, partial

from irlens.analyze.capture_code import CaptureCode, StageCode
from irlens.analyze.layout_drawing import draw_layout, namesakes
from irlens.isa import mlir
from irlens.isa.dialects import PARSED, dialect_of
from irlens.model.capture import BINARY_STAGES, STAGE_ORDER, Capture
from irlens.model.errors import ArtifactError, IrlensError, UnknownNameError
from irlens.model.layout import LayoutDrawing
from irlens.model.listing import CodeLine, PythonLine, StageLines, StageListing
from irlens.model.report import Report
from irlens.model.source import SourceLocation, short_file
from irlens.model.text import printable_line
from irlens.session import Configurations
from irlens.session.session import Session


def interleaved(code: CaptureCode, stage: str) -> str:
    """Return a stage's text with the Python source as comments between the lines.

    Raises:
        IrlensError: The capture lacks the stage, or it has no source locations.
    """
    _check_source(code, stage)
    rows = _with_captions(code[stage], code.capture.python_line)
    return "\n".join(line for _, line in rows) + "\n"


def _check_source(code: CaptureCode, stage: str) -> None:
    """Raise ``IrlensError`` for a stage whose lines have no source."""
    if stage not in PARSED:
        raise IrlensError(
            f"{code.capture.kernel}: {stage} has no source locations to interleave",
            hint=f"stages with source locations: {', '.join(_located(code))}",
        )


def _with_captions(
    listed: StageCode, python_line: Callable[[SourceLocation], str | None]
) -> Iterator[tuple[int | None, str]]:
    """Yield a stage's lines with their numbers, and the Python between them without a number."""
    caption = cache(partial(_caption, python_line))
    comment, last = dialect_of(listed.name).comment, ""
    for number, text in enumerate(listed.text.splitlines(), 1):
        if text.lstrip().startswith("//## File "):
            continue  # the disassembler's own, less readable location comments
        chain = listed.chains.get(number)
        # Captions are compared, not chains, which also differ in columns.
        if chain is not None and caption(chain) != last:
            last = caption(chain)
            yield None, f"{comment} {last}"
        yield number, text


def _located(code: CaptureCode) -> list[str]:
    """Return the stages whose lines have a source."""
    return [stage for stage in code.stages if stage in PARSED]


def _caption(
    python_line: Callable[[SourceLocation], str | None], chain: Sequence[SourceLocation]
) -> str:
    """Return "softmax.py:49  CODE  < FRAME": the user's line, and the frames inlined there."""
    if not chain:
        return "no source"
    user = chain[-1]
    inlined = "".join(f"  < {frame}" for frame in reversed(chain[:-1]))
    return printable_line(f"{user}  {python_line(user) or ''}{inlined}".rstrip())


def find_line(code: CaptureCode, place: str) -> PythonLine:
    """Return the code of a Python line at every stage.

    Args:
        place: "51", a line of the kernel's own file, or "standard.py:170".

    Raises:
        IrlensError: The place is invalid, or no stage has code from it.
    """
    location = find_location(code, place)
    stages = tuple(
        StageLines(stage, tuple(_lines_of(code[stage], location)))
        for stage in _located(code)
        if stage != "source"
    )
    if not any(each.lines for each in stages):
        lines = _lines_with_code(code, location.file)
        raise IrlensError(
            f"{code.capture.kernel}: no stage has code from {location}",
            hint=f"lines with code: {lines}" if lines else "no code is from this file",
        )
    return PythonLine(location, code.capture.python_line(location) or "", stages)


def _lines_of(code: StageCode, location: SourceLocation) -> Iterator[CodeLine]:
    lines, own = code.text.splitlines(), (location.file, location.line)
    for number in code.lines_of(*own):
        frames = (each for each in code.chains[number] if (each.file, each.line) != own)
        yield CodeLine(number, lines[number - 1], tuple(frames))


def find_location(code: CaptureCode, place: str) -> SourceLocation:
    """Return the line of Python that "51" or "standard.py:170" names.

    Raises:
        IrlensError: It is not a line, or the kernel's file is unknown.
    """
    file, _, number = place.rpartition(":")
    if not (number.isascii() and number.isdecimal() and len(number) < 10 and int(number) > 0):
        short = place if len(place) < 100 else f"{place[:40]}…"
        raise IrlensError(f"'{short}' is not a line number", hint="write 51, or standard.py:170")
    own = _own_file(code)
    if file in ("", short_file(own)):
        file = own
    if not file:
        raise IrlensError(
            f"{code.capture.kernel}: the file of line {number} is unknown",
            hint=f"write FILE.py:{number}",
        )
    return SourceLocation(file, int(number))


def _own_file(code: CaptureCode) -> str:
    """Return the kernel's file: the manifest's, or the outermost frame of an instruction."""
    if code.capture.manifest is not None:
        return code.capture.manifest.file
    for stage in _located(code):
        chains = code[stage].chains.values()
        outermost = next((chain[-1].file for chain in chains if chain), "")
        if outermost:
            return outermost
    return ""


def _lines_with_code(code: CaptureCode, file: str) -> str:
    """Return the lines of a file that have code, for an error's hint."""
    chains = next((code[stage].chains.values() for stage in _located(code)), ())
    lines = {frame.line for chain in chains for frame in chain if frame.file == file}
    return ", ".join(map(str, sorted(lines)))


STAGES = (*STAGE_ORDER, "metadata", "sass")


def check_stage(name: str) -> None:
    """Raise ``UnknownNameError`` unless a stage has this name."""
    if name not in STAGES:
        raise UnknownNameError("stage", name, STAGES)


def check_text(stage: str) -> None:
    """Raise ``IrlensError`` for a stage without lines."""
    if stage in BINARY_STAGES:
        raise IrlensError(f"{stage} is binary and has no lines", hint=binary_hint(stage))


def binary_hint(stage: str) -> str | None:
    """Return how to read the code of a binary stage as text, if there is a way."""
    return "read it with --stage sass" if stage == "cubin" else None


def read_stage(code: CaptureCode, name: str) -> bytes:
    """Return the content of a stage; SASS is disassembled from the cubin.

    Raises:
        IrlensError: The capture lacks the stage.
    """
    capture = code.capture
    if name == "metadata" and capture.metadata_stage is not None:
        return capture.metadata_stage.read()
    stage = capture.stages.get(name)
    return stage.read() if stage is not None else code[name].text.encode()


def listed(
    code: CaptureCode, stage: str, report: Report
) -> tuple[StageListing, Iterable[tuple[int | None, str]]]:
    """Return what is known of a stage's lines, and these with their numbers.

    Raises:
        IrlensError: The capture lacks the stage, or it is not text.
    """
    check_text(stage)
    from irlens.report.annotations import list_stage

    listing = list_stage(code, stage, report)
    return listing, enumerate(listing.lines, 1)


def interleaved_listing(
    code: CaptureCode, stage: str, report: Report
) -> tuple[StageListing, Iterable[tuple[int | None, str]]]:
    """Return what ``listed`` does, with the Python source between the lines, without numbers.

    Raises:
        IrlensError: As ``listed``, or nothing says which source a line has.
    """
    check_text(stage)
    _check_source(code, stage)
    listing, _ = listed(code, stage, report)
    return listing, _with_captions(code[stage], code.capture.python_line)


#: Further values of a name that a note lists.
_MOST_NAMES = 6


def layout_of(
    kernel: str, configurations: Configurations, session: Session, value: str
) -> LayoutDrawing:
    """Return the layout of a value of KERNEL's ttgir.

    Raises:
        IrlensError: KERNEL is several captures, has no ttgir, or no such value with a layout that
            irlens draws.
    """
    captures = session.captures(kernel, configurations)
    if len(captures) != 1:
        raise IrlensError(
            f"{kernel} is {len(captures)} captures: a layout is drawn of one",
            hint="name one capture, or select one configuration: --set NAME=VALUE",
        )
    drawing = layout_in(captures[0], [value])
    module = mlir.parse(captures[0].stages["ttgir"].text(), stage="ttgir")
    if others := namesakes(module, value):
        shown = [f"{name} ({shape})" for name, shape in others.items()][:_MOST_NAMES]
        shown += ["…"] if len(others) > _MOST_NAMES else []
        session.note_once([f"{drawing.value} is the first of its name; also {', '.join(shown)}"])
    return drawing


def layout_in(capture: Capture, names: Sequence[str], line: int | None = None) -> LayoutDrawing:
    """Return the layout of the first of some values of a capture's ttgir that has one.

    Args:
        names: The values, at least one.
        line: The line that names them: of several values of a name, the one that it sees.

    Raises:
        IrlensError: There is no ttgir, or no such value with a layout that irlens draws.
    """
    if "ttgir" not in capture.stages:
        raise ArtifactError(f"{capture.kernel}: no ttgir in this capture")
    module = mlir.parse(capture.stages["ttgir"].text(), stage="ttgir")
    if line is None:
        return draw_layout(module, names[0], capture.kernel)
    for name in names:
        with suppress(UnknownNameError):
            return draw_layout(module, name, capture.kernel, line)
    raise IrlensError(f"neither a tensor nor a buffer: {', '.join(names)}")
