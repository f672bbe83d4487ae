"""What a compiler's last output says: the pass that failed, the cause, and what to try."""

import re
import signal
from collections.abc import Iterator

from irlens.model.errors import CaptureError

#: MLIR's note about a pass that failed, the innermost pass last; LLVM's about one that crashed.
_PASS = re.compile(
    r"Pipeline failed while executing \[(?P<mlir>[^\]\n]*)\]|Running pass ['\"](?P<llvm>[^'\"\n]+)"
)
_QUOTED = re.compile(r"`([\w:<>.-]+)` on ")
#: Lines that name the cause of a crash, the most telling first.
_CAUSES = (
    re.compile(r"Assertion [`'](?P<text>.*)' failed"),
    re.compile(r"LLVM ERROR: (?P<text>.*)"),
    re.compile(r"(?P<text>UNREACHABLE executed at .*)"),
    re.compile(r"^(?:.*: )?fatal error: (?P<text>.*)", re.M),
    re.compile(r"^ptxas fatal\s*: (?P<text>.*)", re.M),
    re.compile(r"^(?:.*: )?error: (?P<text>.*)", re.M),
    re.compile(r"Fatal Python error: (?P<text>.*)"),
)
#: The compiler's own source file, which an assertion names.
_FILE = re.compile(r"([\w+-]+\.(?:cpp|cc|h|hpp)):\d+:.*Assertion")
_REMARK = re.compile(r"^(?:[^\n:]+:\d+:\d+: )?(?:remark|warning): (?P<text>.*)", re.M)
#: Lines of a crash that say nothing of its cause.
_NOISE = re.compile(r"^\s*(?:#\d+ |\d+\.\s|Stack dump|PLEASE submit|Program arguments|Aborted|0x)")
_LONGEST = 300
_MOST_REMARKS = 3

#: What to try where a pass of this name fails.
_ADVICE = (
    (
        r"warp.?spec|partition|\b(?:nv)?ws",
        "compile it without warp specialization (warp_specialize=False)",
    ),
    (r"pipelin|prefetch|schedul|expand", "try another num_stages; 1 pipelines nothing"),
    (r"matmul|mma|dot|wgmma|tmem|tensor", "try other tile sizes, num_warps, or operand types"),
    (r"coalesc|layout|alloc|membar", "try another num_warps or other tile sizes"),
    (r"tma|descriptor", "check the block of each tensor descriptor, or load through pointers"),
)
_OTHERWISE = "try other values of num_warps and num_stages, or another Triton (--triton VERSION)"


def failed_pass(printed: str) -> str | None:
    """Return the name of the pass that failed, if the compiler said it."""
    found = None
    for match in _PASS.finditer(printed):
        quoted = _QUOTED.findall(match["mlir"] or "")
        found = match["llvm"] or (quoted[-1] if quoted else found)
    return found


def remarks(printed: str) -> list[str]:
    """Return the first of the compiler's own remarks and warnings."""
    return list(dict.fromkeys(m["text"].strip() for m in _REMARK.finditer(printed)))[:_MOST_REMARKS]


def advice(name: str) -> str:
    """Return what to try where a pass or a source file of the compiler of this name failed."""
    matching = (text for pattern, text in _ADVICE if re.search(pattern, name, re.IGNORECASE))
    return next(matching, _OTHERWISE)


def crash(printed: str) -> tuple[str, str]:
    """Return why a compiler crashed, in one line, and what to try.

    Args:
        printed: The end of its output; may be empty.
    """
    cause = next(_causes(printed), "")[:_LONGEST]
    name = failed_pass(printed)
    file = _FILE.search(printed)
    where = f"in the pass {name}" if name else f"in {file[1]}" if file else ""
    text = ": ".join(filter(None, (where, cause))) or "it said nothing"
    return text, advice(name or (file[1] if file else "") or cause)


def died(kernel: str, code: int, printed: str) -> CaptureError:
    """Return the error of a compiler whose process ended by itself.

    Args:
        code: The process's exit code; negative is a signal.
        printed: The end of its output; may be empty.
    """
    how = f"was stopped by {signal.Signals(-code).name}" if code < 0 else f"exited with {code}"
    text, hint = crash(printed)
    joint = " " if text.startswith("in ") else ": "
    return CaptureError(f"the compiler of {kernel} {how}{joint}{text}", hint=hint)


def is_of_compiler(printed: str) -> bool:
    """Whether a compiler says itself why it crashed."""
    return failed_pass(printed) is not None or any(each.search(printed) for each in _CAUSES)


def _causes(printed: str) -> Iterator[str]:
    for pattern in _CAUSES:
        for match in pattern.finditer(printed):
            yield match["text"].strip()
    lines = [line.strip() for line in printed.splitlines() if line.strip()]
    yield from (line for line in reversed(lines) if not _NOISE.match(line))
