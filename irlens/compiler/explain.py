"""Turning what Triton raises and prints into one or two lines for the user."""

import ast
import io
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from triton.compiler.errors import CompilationError
from triton.runtime.errors import PTXASError

from irlens.model.errors import CaptureError, IrlensError

_LONGEST = 300  # characters of a message; MLIR prints whole operations

#: ``ptxas /tmp/x.ptx, line 34; error   : Unknown modifier`` and ``ptxas fatal   : ...``.
_PTXAS = re.compile(r"ptxas[\w-]*\s(?:.*?, line (\d+); )?(?:error|fatal)\s*: (.*)")
#: ``file.py:20:1: error: ...`` of MLIR, ``error: ...`` of LLVM's assembler; the line may follow.
_DIAGNOSTIC = re.compile(
    r"^(?:(?P<file>[^\n:]+):(?P<line>\d+):\d+: )?error: (?P<text>.*)"
    r"(?:\n(?P<excerpt>.*\n *\^))?",
    re.M,
)
#: What LLVM says of inline assembly that it cannot place. It leaves the assembly out and goes on.
_LEFT_OUT = re.compile(
    r"^error: ((?:could not|couldn't) allocate (?:input|output) reg.*"
    r"|inline assembly requires more registers.*|invalid operand (?:for|in) inline asm.*)",
    re.M,
)
#: The ``repr`` of an exception, with which Triton wraps some messages.
_REPR = re.compile(
    r"""(?P<type>\w*(?:Error|Exception))\((?P<quote>['"])(?P<text>.*)(?P=quote)\)""", re.S
)


def explain(
    error: Exception, kernel: str, sources: Mapping[Path, bytes], printed: str
) -> IrlensError:
    """Return the error to show instead of ``error``.

    Args:
        error: What compiling or launching raised.
        kernel: The kernel's name.
        sources: The user's files that the kernel is made of: what they held.
        printed: What the compiler wrote to stdout and stderr meanwhile.
    """
    if isinstance(error, IrlensError):
        return error
    if isinstance(error, CompilationError):
        return _in_python(error, kernel, sources)
    if isinstance(error, PTXASError):
        return _in_ptx(error, kernel)
    found = _DIAGNOSTIC.search(printed)
    if found is None:
        return CaptureError(f"{kernel}: {_first_line(str(error)) or type(error).__name__}")
    place, excerpt = kernel, found["excerpt"]
    path, line = Path(found["file"] or ""), int(found["line"] or 0)
    if path in sources:
        # No column: Triton counts them from 0 in some versions, from 1 in others.
        place = f"{_shown(path)}:{line}"
        excerpt = _text(sources[path]).split("\n")[line - 1]
    return CaptureError(f"{place}: {_first_line(found['text'])}", hint=excerpt)


def left_out(kernel: str, printed: str) -> CaptureError | None:
    """Return the error to raise where the compiler succeeded, but not with the whole kernel.

    Args:
        kernel: The kernel's name.
        printed: What the compiler wrote to stdout and stderr.
    """
    found = _LEFT_OUT.search(printed)
    if found is None:
        return None
    return CaptureError(
        f"{kernel}: inline assembly: {_first_line(found[1])}",
        hint="the constraints are the target's own: NVIDIA's r, f and l are s and v for AMD",
    )


def _in_python(error: CompilationError, kernel: str, sources: Mapping[Path, bytes]) -> CaptureError:
    """Explain an error in the kernel's Python.

    Triton raises one ``CompilationError`` for every function on the way: the innermost has the
    message, and the innermost that lies in the user's files has the place.
    """
    chain = list(_chain(error))
    message = _message(chain[-1])
    for link in reversed(chain):
        found = _locate(link, sources)
        if found is not None:
            place, excerpt = found
            return CaptureError(f"{place}: {message}", hint=excerpt)
    return CaptureError(f"{kernel}: {message}")


def _chain(error: BaseException | None) -> Iterator[CompilationError]:
    """Yield the compilation errors from the outermost to the innermost."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if isinstance(error, CompilationError):
            yield error
        error = error.__cause__


def _message(error: CompilationError) -> str:
    """Return the message of the innermost error, without Triton's excerpt."""
    text = str(error.error_message or error.__cause__ or "")
    if not text and not isinstance(error.node, ast.AST):
        text = error.src or ""  # Triton puts there what it says of a name that it cannot take
    wrapped = _REPR.fullmatch(text.strip())
    return _first_line(wrapped["text"] if wrapped else text) or "it does not compile"


def _locate(error: CompilationError, sources: Mapping[Path, bytes]) -> tuple[str, str] | None:
    """Return where in the user's files an error is, and the line with a caret under it.

    The error only knows the function's source text, so the text is looked up in the files.
    Triton names the wrong function for an argument that a ``noinline`` function does not take:
    the callee, with the place of the call in its caller.
    """
    node, function = error.node, error.src
    if not function or not isinstance(node, ast.stmt | ast.expr) or not _holds(function, node):
        return None
    for path, content in sources.items():
        before, found, _ = _text(content).partition(function.strip("\n"))
        if found:
            line = before.count("\n") + node.lineno
            text = function.split("\n")[node.lineno - 1]
            caret = " " * node.col_offset + "^"
            return f"{_shown(path)}:{line}:{node.col_offset + 1}", f"{text}\n{caret}"
    return None


def _text(content: bytes) -> str:
    """Return what a file holds, with the ends of lines that Python sees."""
    return io.StringIO(content.decode("utf-8", "replace"), newline=None).read()


def _holds(function: str, node: ast.stmt | ast.expr) -> bool:
    """Whether a function's source has a node, where the node says that it stands."""
    return any(
        type(each) is type(node)
        and (each.lineno, each.col_offset) == (node.lineno, node.col_offset)
        and ast.dump(each) == ast.dump(node)
        for each in ast.walk(ast.parse(function))
        if isinstance(each, ast.stmt | ast.expr)
    )


def _in_ptx(error: PTXASError, kernel: str) -> CaptureError:
    """Explain what NVIDIA's assembler refused."""
    found = _PTXAS.search(str(error))
    if found is None:
        return CaptureError(f"{kernel}: {_first_line(str(error))}")
    place = f" (line {found[1]} of the PTX)" if found[1] else ""
    return CaptureError(f"{kernel}: ptxas: {found[2].strip()}{place}")


def _first_line(text: str) -> str:
    """Return the first line that says something, cut if it is very long."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= _LONGEST else line[:_LONGEST] + "…"


def _shown(path: Path) -> str:
    """Return a path relative to the working directory where it is below it."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)
