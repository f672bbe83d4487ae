"""Turn Triton's exceptions and compiler output into errors of one or two lines."""

import ast
import io
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import triton
import triton.language as tl
from triton.compiler.errors import CompilationError, CompileTimeAssertionFailure

from irlens.compiler.sources.absent_imports import remedy
from irlens.compiler.sources.loading import Loaded
from irlens.compiler.triton_compat.jit import TuningError
from irlens.compiler.triton_compat.knobs import PTXASError
from irlens.model.errors import CaptureError, IrlensError

_MAX_LENGTH = 300  # characters of a message; MLIR prints whole operations

#: ``ptxas /tmp/x.ptx, line 34; error   : Unknown modifier`` and ``ptxas fatal   : ...``.
_PTXAS = re.compile(r"ptxas[\w-]*\s(?:.*?, line (\d+); )?(?:error|fatal)\s*: (.*)")
#: ``file.py:20:1: error: ...`` from MLIR, ``error: ...`` from LLVM's assembler; an excerpt with a
#: caret may follow.
_DIAGNOSTIC = re.compile(
    r"^(?:(?P<file>[^\n:]+):(?P<line>\d+):\d+: )?error: (?P<text>.*)"
    r"(?:\n(?P<excerpt>.*\n *\^))?",
    re.M,
)
#: LLVM's errors about inline assembly that it cannot allocate: it omits the assembly and goes on.
_OMITTED = re.compile(
    r"^error: ((?:could not|couldn't) allocate (?:input|output) reg.*"
    r"|inline assembly requires more registers.*|invalid operand (?:for|in) inline asm.*)",
    re.M,
)
#: In MLIR's error about a function that returns a value.
_RETURNS = "'tt.return'"
#: Triton's exception about an MLIR pass, whose diagnostics MLIR has printed.
_PASS_FAILED = "PassManager::run failed"
#: The ``repr`` of an exception, in which Triton wraps some messages.
_REPR = re.compile(
    r"""(?P<type>\w*(?:Error|Exception))\((?P<quote>['"])(?P<text>.*)(?P=quote)\)""", re.S
)

#: What a kernel for another version of Triton asks for.
_OTHER_VERSION = re.compile(
    r"module 'triton\.[\w.]+' has no attribute|(?P<name>\w+)\(\) got an unexpected keyword argument"
)
_TRITON_HINT = "--triton VERSION compiles with the version that the kernel was written for"
#: Triton up to 3.4 runs ROCm's linker for AMD's GPUs.
_NO_LINKER = "ROCm linker"
_LINKER_HINT = "install ROCm's ld.lld, or compile with Triton 3.5 or newer, which needs none"

#: Messages about what newer versions of Triton refuse, and a version that accepts it.
_REFUSED = {
    # 3.8 has some of them: stored values have no `pointer.type.element_ty` to be converted to.
    "Block pointers have been removed": "3.7.1",
    "async_copy_global_to_shared has been removed": "3.8.0",
    "async_copy_global_to_shared_im2col has been removed": "3.8.0",
    "async_copy_shared_to_global has been removed": "3.8.0",
    "contains names that are not kernel arguments": "3.8.0",  # an autotuner's ``key``
}


def is_compile_error(error: Exception) -> bool:
    """Whether a compiler raised this exception, rather than a driver or the program."""
    if isinstance(error, CompilationError | PTXASError):
        return True
    return any(text in str(error) for text in (_PASS_FAILED, *_REFUSED))


def explain(error: Exception, kernel: str, file: Loaded, printed: str) -> IrlensError:
    """Return the error to report instead of ``error``."""
    if isinstance(error, IrlensError):
        return error
    explained = reason(error, kernel, file.sources, printed)
    # The kernel, or a function that tunes it, uses what a stand-in stands for.
    text = explained.joined("\n")
    if any(re.search(rf"\b{re.escape(name)}\b", text) for name in file.stand_ins()):
        hint = f"{', '.join(file.absent)}: not installed; {remedy(file.absent)}"
        return CaptureError(explained.message, hint="\n".join(filter(None, (explained.hint, hint))))
    return explained


def reason(
    error: Exception, kernel: str, sources: Mapping[Path, bytes], printed: str
) -> CaptureError:
    """Return the error in the user's terms."""
    if isinstance(error, CompilationError):
        return _python_error(error, kernel, sources)
    if isinstance(error, PTXASError):
        return _ptxas_error(error, kernel)
    if isinstance(error, TuningError):
        place = f"{_display_path(Path(error.file))}:{error.line}" if error.file else kernel
        return CaptureError(f"{place}: {error}", hint=error.text or None)
    from irlens.compiler import crashes  # what compiles needs none of its patterns

    diagnostic = _DIAGNOSTIC.search(printed)
    name = crashes.failed_pass(printed)
    failed = f"the pass {name} failed: " if name else ""
    is_about_target = diagnostic is not None and "unsupported target" in diagnostic["text"]
    advice = [crashes.advice(name)] if name and not is_about_target else []
    if diagnostic is None:
        hint = _LINKER_HINT if _NO_LINKER in str(error) else None
        return CaptureError(f"{kernel}: {_reason(str(error)) or type(error).__name__}", hint=hint)
    location, excerpt = kernel, diagnostic["excerpt"]
    path, line = Path(diagnostic["file"] or ""), int(diagnostic["line"] or 0)
    if path in sources:
        # No column: some versions of Triton count them from 0, others from 1.
        location = f"{_display_path(path)}:{line}"
        excerpt = _text(sources[path]).split("\n")[line - 1]
    if _RETURNS in diagnostic["text"]:
        hint = "\n".join(filter(None, (excerpt, "name the kernel that calls it")))
        return CaptureError(
            f"{location}: {kernel} returns a value: kernels call it, nothing launches it", hint=hint
        )
    hint = "\n".join(filter(None, (excerpt, *crashes.remarks(printed), *advice)))
    return CaptureError(f"{location}: {failed}{_first_line(diagnostic['text'])}", hint=hint or None)


def omitted_assembly(kernel: str, printed: str) -> CaptureError | None:
    """Return the error if compilation succeeded, but omitted the kernel's inline assembly."""
    match = _OMITTED.search(printed)
    if match is None:
        return None
    return CaptureError(
        f"{kernel}: inline assembly: {_first_line(match[1])}",
        hint="constraints depend on the target: NVIDIA's r, f and l are s and v for AMD",
    )


def _python_error(
    error: CompilationError, kernel: str, sources: Mapping[Path, bytes]
) -> CaptureError:
    """Return the error in the kernel's Python.

    Triton raises one ``CompilationError`` per function on the call path: the innermost has the
    message, and the innermost in the user's files has the location.
    """
    chain = list(_chain(error))
    message = _message(chain[-1])
    for link in reversed(chain):
        located = _locate(link, sources)
        if located is not None:
            location, excerpt = located
            other = _OTHER_VERSION.search(message)
            if other is not None and (other["name"] is None or hasattr(tl, other["name"])):
                excerpt = f"{excerpt}\nTriton {triton.__version__} lacks it: {_TRITON_HINT}"
            return CaptureError(f"{location}: {message}", hint=excerpt)
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
        text = error.src or ""  # here Triton puts its message about an invalid function name
    wrapped = _REPR.fullmatch(text.strip())
    is_assertion = isinstance(error, CompileTimeAssertionFailure)
    said = _reason(wrapped["text"] if wrapped else text)
    return said or ("the assertion does not hold" if is_assertion else "it does not compile")


def _reason(text: str) -> str:
    """Return the first line, and a Triton that accepts what this one refuses."""
    line = _first_line(text)
    for refused, version in _REFUSED.items():
        if refused in line:
            return f"{line.removesuffix('.')}; an older Triton accepts it: --triton {version}"
    return line


def _locate(error: CompilationError, sources: Mapping[Path, bytes]) -> tuple[str, str] | None:
    """Return the location of an error in the user's files, and its line with a caret.

    The error only has the source text of the function, which is searched in the files. For an
    argument that a ``noinline`` function does not take, Triton combines the source of the callee
    with the node of the call in the caller; ``_contains`` detects that.
    """
    node, function = error.node, error.src
    if not function or not isinstance(node, ast.stmt | ast.expr) or not _contains(function, node):
        return None
    for path, content in sources.items():
        before, match, _ = _text(content).partition(function.strip("\n"))
        if match:
            line = before.count("\n") + node.lineno
            text = function.split("\n")[node.lineno - 1]
            caret = " " * node.col_offset + "^"
            return f"{_display_path(path)}:{line}:{node.col_offset + 1}", f"{text}\n{caret}"
    return None


def _text(content: bytes) -> str:
    """Return the text of a file with universal newlines, as Python reads it."""
    return io.StringIO(content.decode("utf-8", "replace"), newline=None).read()


def _contains(function: str, node: ast.stmt | ast.expr) -> bool:
    """Whether a function's source has this node at this position."""
    return any(
        type(each) is type(node)
        and (each.lineno, each.col_offset) == (node.lineno, node.col_offset)
        and ast.dump(each) == ast.dump(node)
        for each in ast.walk(ast.parse(function))
        if isinstance(each, ast.stmt | ast.expr)
    )


def _ptxas_error(error: PTXASError, kernel: str) -> CaptureError:
    """Return the error of NVIDIA's assembler."""
    match = _PTXAS.search(str(error))
    if match is None:
        return CaptureError(f"{kernel}: {_first_line(str(error))}")
    location = f" (line {match[1]} of the PTX)" if match[1] else ""
    return CaptureError(f"{kernel}: ptxas: {match[2].strip()}{location}")


def _first_line(text: str) -> str:
    """Return the first line that is not blank, truncated to ``_MAX_LENGTH``."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= _MAX_LENGTH else line[:_MAX_LENGTH] + "…"


def _display_path(path: Path) -> str:
    """Return a path, relative to the working directory if it is below it."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)
