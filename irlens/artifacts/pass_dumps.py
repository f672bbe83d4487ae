"""The IR that the compiler printed before each of its passes, as a capture keeps it.

``MLIR_ENABLE_DUMP=1`` prints the whole module before each pass, under a comment that names the
pass, and ``MLIR_ENABLE_TIMING=1`` the passes' times after each pipeline. The text is a megabyte
for a softmax and twenty for attention, nearly all of it repeated: a capture keeps it compressed.
On request LLVM's passes follow, of ``LLVM_IR_ENABLE_DUMP=1``.
"""

import lzma
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

import msgspec
from msgspec.structs import replace

from irlens.model import files
from irlens.model.capture import Capture
from irlens.model.errors import ArtifactError
from irlens.model.text import rounded_size

#: The file of a capture.
NAME = "irlens-passes.xz"
#: The text may be this many times as large as an artifact.
_TIMES_AN_ARTIFACT = 16
#: Compresses 22 MB to 0.46 MB in half a second; level 6 takes fifteen times as long for half.
_LEVEL = 1

_COMMENT = re.compile(r"^// -----// (?P<text>[^\n]*)\n", re.MULTILINE)
#: "NAME: argument{option=value} (...)" since 3.8, "NAME (argument) (...)" before.
_BEFORE = re.compile(
    r"IR Dump Before (?P<name>[\w:<>]+)(?:: (?P<argument>[\w-]+)(?:\{(?P<options>.*)\})?)?"
    r"(?: \((?P<older>[\w-]+)\))? \('(?P<kind>[\w.]+|any)' operation(?:: @(?P<function>[^'\n]*))?\)"
    r" //----- //"
)
#: Stands for a module that is left out; a closing brace follows.
_LEFT_OUT = "// left out: "
_REPORT = "... Execution time report ..."
#: Up to Triton 3.4 the user's time stands before that on the clock.
_TIME = re.compile(
    r"^ +(?:\d+\.\d+ \( *[\d.]+%\) {4})?"
    r"(?P<seconds>-?\d+\.\d+) \( *[\d.-]+%\)  (?P<name> *\S.*)$",
    re.MULTILINE,
)
#: How LLVM's begin. To look for these first takes a hundredth of the time of the pattern.
_MARKS_OF_LLVM = ("Running pass: ", "Running analysis: ", "*** IR Dump After ")
_OF_LLVM = re.compile(
    r"^(?:Running (?:pass|analysis): |(?:; |# )?\*\*\* IR Dump After )", re.MULTILINE
)
_AFTER = re.compile(
    r"^(?P<mark>; |# )?\*\*\* IR Dump After (?P<name>[^\n]+?)(?: \((?P<argument>[\w.-]+)\))?"
    r"(?: on (?P<on>[^\n]+?))? \*\*\*:?\n",
    re.MULTILINE,
)
_FUNCTION = re.compile(
    r'^define [^\n]*@"?(?P<name>[\w.$-]+)"?\([^\n]*\{\n(?:.*\n)*?\}$'
    r"|^# Machine code for function (?P<machine>[\w.$-]+):(?:.*\n)*?# End machine code",
    re.MULTILINE,
)
#: What is numbered anew in each print, and locations.
_NUMBERED = re.compile(
    r",? !dbg !\d+|,? debug-location !\d+|(?<=!)\d+\b| #\d+|^(?:\d+B)?\t|"
    r" +; preds = .*$|; \S+:\d+:\d+.*$",
    re.MULTILINE,
)
#: Lines between and behind LLVM's that are not its IR: the assembler's, and remarks.
_SAID = re.compile(r"ptxas|\d+ bytes |.*\b(?:remark|note|warning|error): ")
_INLINER = frozenset({"Inliner", "InlinerPass"})


class Dump(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a pass, with the module as it was before.

    Attributes:
        argument: "tritongpu-pipeline"; empty if the compiler does not say it.
        options: "num-stages=4"; empty if there are none. Of a pass of LLVM the passes on loops
            before it, after which LLVM prints the loop alone.
        function: The function that it runs on; empty for the module.
        text: The module; empty if it is missing, cut or left out.
        stage: "llvm" for a pass of LLVM's optimizer, "codegen" for one of its code generator; empty
            for MLIR's.
    """

    name: str
    argument: str
    options: str
    function: str
    pipeline: int
    text: str
    seconds: float | None = None
    stage: str = ""


class Dumps(msgspec.Struct, frozen=True):
    """What the compiler printed.

    Attributes:
        passes: The passes in the order of their execution. What the inliner runs inside itself is
            part of it.
        last: The functions after the last pass; empty if unknown, as after the last of MLIR.
    """

    passes: list[Dump]
    remarks: list[str]
    size: int
    last: str = ""


def most_bytes() -> int:
    """Return how much of what the compiler printed is kept and read."""
    return _TIMES_AN_ARTIFACT * files.size_limit()


def compressed(text: str) -> bytes:
    """Return what the compiler printed as the content of a capture's file.

    The largest modules are left out where the file would be larger than what is read of one.
    """
    content = text.encode("utf-8", "replace")
    excess = len(content) - most_bytes()
    if excess > 0:
        content = _shortened(text, excess).encode("utf-8", "replace")
    return lzma.compress(content, preset=_LEVEL)


def _shortened(text: str, excess: int) -> str:
    """Return what the compiler printed, shorter by its largest modules.

    A conversion to LLVM's dialect may print a hundred times the lines that the next pass leaves.
    """
    comments = [*_COMMENT.finditer(text)]
    ends = [*(each.start() for each in comments[1:]), len(text)]
    modules = []
    for comment, end in zip(comments, ends, strict=True):
        stop, is_whole = _end_of_module(text, comment.end(), end)
        before = _BEFORE.match(comment["text"])
        if is_whole and before is not None:
            modules.append((stop - comment.end(), comment.end(), before["name"]))
    left_out = {}
    for length, start, name in sorted(modules, reverse=True):
        if excess <= 0:
            break
        line = f"{_LEFT_OUT}the IR before {name}, {rounded_size(length)}, which is too large\n}}\n"
        left_out[start] = line, start + length
        excess -= length - len(line)
    pieces, at = [], 0
    for start, (line, stop) in sorted(left_out.items()):
        pieces += [text[at:start], line]
        at = stop
    return "".join([*pieces, text[at:]])


def of_capture(capture: Capture) -> Dumps | None:
    """Return what the compiler printed of a capture; ``None`` if it was not kept.

    Raises:
        ArtifactError: The file is broken, or too large.
    """
    if capture.directory is None or files.kind(path := capture.directory / NAME) != "file":
        return None
    return read(_decompressed(path, capture.directory))


def _decompressed(path: Path, home: Path) -> str:
    most = most_bytes()
    try:
        stream = lzma.LZMADecompressor(memlimit=1 << 28)
        content = stream.decompress(files.read(path, within=home), most + 1)
    except lzma.LZMAError as error:
        raise ArtifactError(f"{path}: not the compiler's passes: {error}") from error
    files.check_size(len(content), path, multiple=_TIMES_AN_ARTIFACT)
    if not stream.eof:
        raise ArtifactError(f"{path}: its end is missing")
    return content.decode("utf-8", "replace")


def has_dumps(text: str) -> bool:
    """Whether a text holds a module that was printed before a pass."""
    return next((m for m in _COMMENT.finditer(text) if _BEFORE.match(m["text"])), None) is not None


def read(text: str) -> Dumps:
    """Return the passes in what the compiler printed."""
    size = len(text)
    text, of_llvm, last = _without_llvm(text)
    comments = [*_COMMENT.finditer(text)]
    found: list[Dump] = []
    rest = [text[: comments[0].start()] if comments else text]
    pipeline = first = 0
    for index, comment in enumerate(comments):
        end = comments[index + 1].start() if index + 1 < len(comments) else len(text)
        stop, is_whole = _end_of_module(text, comment.end(), end)
        after = text[stop:end]
        before = _BEFORE.match(comment["text"])
        if before is not None and not _is_inside(found, before):
            module = text[comment.end() : stop] if is_whole else ""
            if module.startswith(_LEFT_OUT):
                rest.append(module.removeprefix("// ").partition("\n")[0])
                module = ""
            found.append(_dump(before, pipeline, module))
        rest.append(_without_times(after))
        if _REPORT in after:
            found[first:] = _timed(found[first:], after)
            pipeline, first = pipeline + 1, len(found)
    lines = (line.rstrip() for each in rest for line in each.splitlines())
    return Dumps([*found, *of_llvm], list(dict.fromkeys(filter(None, lines))), size, last)


def _without_llvm(text: str) -> tuple[str, list[Dump], str]:
    """Return what the compiler printed without LLVM's passes, those, and the functions at the end.

    LLVM prints functions after each pass, whether it changed them or not: a module, a function,
    machine code, or one loop. What a pass on a loop changes shows with the next one on a function.
    """
    start = _OF_LLVM.search(text) if any(mark in text for mark in _MARKS_OF_LLVM) else None
    if start is None:
        return text, [], ""
    said = [line for line in text[start.start() :].split("\n") if _SAID.match(line)]
    found: list[Dump] = []
    functions: dict[str, str] = {}
    loops: list[str] = []
    meaning: dict[str, str] = {}
    for after, printed in _prints(text, start.start()):
        on = after["on"] or ""
        if on.startswith("loop "):
            loops.append(after["name"])
            continue
        dump = Dump(
            name=after["name"],
            argument=after["argument"] or "",
            options=f"with {', '.join(dict.fromkeys(loops))} on loops" if loops else "",
            function="" if on == "[module]" else on.strip("()"),
            pipeline=0,
            text="\n".join(functions.values()),
            stage="llvm" if (after["mark"] or "").startswith(";") else "codegen",
        )
        found.append(dump)
        loops = []
        now = _functions(printed, meaning)
        if "; ModuleID = " in printed:  # the others are gone
            functions = {name: functions[name] for name in functions if name in now}
        for function, code in now.items():
            if not (code.startswith("define") and functions.get(function, "").startswith("#")):
                functions[function] = code
    return text[: start.start()] + "\n".join(said), found, "\n".join(functions.values())


def _prints(text: str, start: int) -> Iterator[tuple[re.Match[str], str]]:
    """Yield the comment of each print, and what follows it."""
    comments = [*_AFTER.finditer(text, start)]
    for index, each in enumerate(comments):
        end = comments[index + 1].start() if index + 1 < len(comments) else len(text)
        yield each, text[each.end() : end]


def _functions(printed: str, meaning: dict[str, str]) -> dict[str, str]:
    """Return the functions of a print by name, without numbers that differ from print to print.

    Args:
        meaning: Functions as printed and without numbers, which is filled: most passes change none.
    """
    found: dict[str, str] = {}
    for each in _FUNCTION.finditer(printed):
        text = each.group()
        if text not in meaning:
            meaning[text] = _NUMBERED.sub("", text) + "\n"
        found[each["name"] or each["machine"]] = meaning[text]
    return found


def _dump(before: re.Match[str], pipeline: int, module: str) -> Dump:
    return Dump(
        name=before["name"],
        argument=before["argument"] or before["older"] or "",
        options=" ".join((before["options"] or "").split()),
        function=before["function"] or "",
        pipeline=pipeline,
        text=module,
    )


def _is_inside(found: Sequence[Dump], before: re.Match[str]) -> bool:
    """Whether the inliner runs a pass on a function, between the calls that it inlines."""
    return bool(found) and found[-1].name in _INLINER and before["function"] is not None


def _end_of_module(text: str, start: int, end: int) -> tuple[int, bool]:
    """Return where a module's text ends, and whether it is whole.

    It ends at the first empty line after its closing brace.
    """
    closed = text.find("\n}", start - 1, end)
    if closed < 0:  # the compiler died, or the text is cut
        return end, False
    empty = text.find("\n\n", closed + 2, end)
    return (end if empty < 0 else empty + 1), True


def _without_times(text: str) -> str:
    """Return the lines after a module that are no report of times."""
    if _REPORT not in text:
        return text
    kept = [line for line in text.splitlines() if not _is_of_report(line)]
    return "\n".join(kept)


def _is_of_report(line: str) -> bool:
    marks = ("===-", _REPORT, "Total Execution Time:", "----Wall Time----", "----User Time--")
    return any(mark in line for mark in marks) or _TIME.match(line) is not None


def _timed(passes: Sequence[Dump], report: str) -> list[Dump]:
    """Return the passes of one pipeline with their times; without, where the report disagrees."""
    rows, nested = _rows(report)
    named, inner = (Counter(each.name for each in passes), Counter(name for name, _ in nested))
    # Runs of a pass on several functions, or by several runs of another pass, may share a row.
    runs = named - Counter(name for name, _ in rows)
    timed = []
    for each in passes:
        seconds: float | None = None
        if rows and rows[0][0] == each.name:
            _, seconds = rows.pop(0)
        elif not inner[each.name]:
            return list(passes)
        elif runs[each.name] == inner[each.name]:
            at = next(index for index, (name, _) in enumerate(nested) if name == each.name)
            _, seconds = nested.pop(at)
        timed.append(replace(each, seconds=seconds))
    return timed if not rows else list(passes)


_Row: TypeAlias = tuple[str, float | None]


def _rows(report: str) -> tuple[list[_Row], list[_Row]]:
    """Return the passes of a report with their times, and those of pipelines inside of it.

    MLIR lists a pipeline after the pass that runs it, and counts it in the pass's time, with the
    printing between its passes. It is subtracted for the inliner; of a pass that runs one elsewhere
    ('any' pipelines, which several runs of it share) the time is unknown.
    """
    rows: list[_Row] = []
    nested: list[_Row] = []
    unknown: set[str] = set()
    inlines = False
    for match in _TIME.finditer(report):
        name, seconds = match["name"].strip(), float(match["seconds"])
        is_inner = match["name"].startswith(" ")
        if name.startswith("(A)") or name in ("Rest", "Total"):
            continue
        if name.endswith(" Pipeline"):
            inlines = bool(rows) and rows[-1][0] in _INLINER
            if inlines:
                rows[-1] = rows[-1][0], (rows[-1][1] or 0.0) - seconds
            elif name == "'any' Pipeline" and rows:
                unknown.add(rows[-1][0])
        elif is_inner and inlines:
            rows[-1] = rows[-1][0], (rows[-1][1] or 0.0) + seconds
        elif is_inner:
            nested.append((name, seconds))
        else:
            rows.append((name, seconds))
    known = [
        (name, None if name in unknown or seconds is None else max(round(seconds, 4), 0.0))
        for name, seconds in rows
    ]
    return known, nested
