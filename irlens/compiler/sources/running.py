"""How to run a Python file so that it launches its kernels, without executing anything."""

import ast
import os
import re
import shlex
from pathlib import Path

from irlens.compiler.calls.pointers import names_in
from irlens.model import files
from irlens.model.errors import ArtifactError, CaptureError
from irlens.model.recording import PROGRAM_NAME

#: Files beside another that are looked at, and their bytes: a hint takes no time.
_MOST_BESIDE, _LARGEST = 50, 200_000
_TEST = re.compile(r"test|Test")


def how_to_run(path: Path) -> str | None:
    """Return a line that records a file's launches; ``None`` where nothing is known to run it.

    A file that runs nothing by itself may have a test or a program beside it.
    """
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, *files.PARSE_ERRORS):
        return None
    name = shlex.quote(_short(path))
    if _is_program(tree):
        recording = default_recording(str(path))
        if (recording / PROGRAM_NAME).is_file():
            return f"its launches are recorded:  irlens inspect {shlex.quote(str(recording))}"
        return f"it runs something: capture its own launches with  irlens record {name}"
    if defines_tests(tree):
        return f"it defines tests: capture what they launch with  irlens record -m pytest {name}"
    return _beside(path)


def why_absent(path: Path, content: bytes, name: str) -> CaptureError | None:
    """Return why a file that was executed lacks a function which it defines.

    ``None`` where it defines no such function, or defines it whatever happens.
    """
    tree = ast.parse(content)
    pending: list[tuple[ast.AST, ast.stmt | None]] = [(tree, None)]
    while pending:
        node, around = pending.pop()
        if isinstance(node, ast.FunctionDef) and node.name == name and around is not None:
            if isinstance(around, ast.FunctionDef | ast.AsyncFunctionDef):
                reason = f"only calls of {around.name} define {name}"
            else:
                line = ast.unparse(around).partition("\n")[0].rstrip(":")
                reason = f"{name} is in a branch of `{line}` that is not executed here"
            hint = "capture a program that launches it with  irlens record PROGRAM"
            return CaptureError(f"{path}:{node.lineno}: {reason}", hint=hint)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.If | ast.Try):
            around = node
        pending += [(each, around) for each in ast.iter_child_nodes(node)]
    return None


def _beside(path: Path) -> str | None:
    """Return how to record the first test, or program, beside a file that imports it."""
    others = [path.parent / f"test_{path.name}", path.parent / f"{path.stem}_test.py"]
    others += sorted(each for each in path.parent.glob("*.py") if each not in others)
    for other in others[:_MOST_BESIDE]:
        try:
            if other == path or other.stat().st_size > _LARGEST:
                continue
            tree = ast.parse(files.read(other))
        except (OSError, ArtifactError, *files.PARSE_ERRORS):
            continue
        name = shlex.quote(_short(other))
        if path.stem not in _imported(tree):
            continue
        if defines_tests(tree):
            return f"{name} tests it: capture its launches with  irlens record -m pytest {name}"
        if _is_program(tree):
            return f"{name} uses it: capture its launches with  irlens record {name}"
    return None


def _imported(tree: ast.Module) -> set[str]:
    """Return the last names of the modules that a file imports: "norm" of "ops.norm"."""
    found = [each.module or "" for each in tree.body if isinstance(each, ast.ImportFrom)]
    for each in tree.body:
        if isinstance(each, ast.Import | ast.ImportFrom):
            found += [alias.name for alias in each.names]
    return {name.rpartition(".")[2] for name in found}


def default_recording(program: str) -> Path:
    """Return the directory that a program's recording has by default, in the current one.

    Args:
        program: Its path or the name of its module: "irlens-train" for "scripts/train.py".
    """
    name = Path(program).name.removesuffix(".py")
    return Path("irlens-" + re.sub(r"[^\w.-]", "_", name))


def defines_tests(tree: ast.Module) -> bool:
    """Whether a file defines what pytest would run."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return any(isinstance(node, kinds) and _TEST.match(node.name) for node in tree.body)


def _is_program(tree: ast.Module) -> bool:
    """Whether a file is guarded as a program, or launches kernels or calls functions by itself."""
    defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    imported = {
        each.asname or each.name
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for each in node.names
    }
    for node in tree.body:
        if isinstance(node, ast.If) and "__name__" in names_in(node.test):
            return True
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Import):
            continue
        # What it only assigns may be a constant that another module computes.
        acts = isinstance(node, ast.For | ast.While | ast.With | ast.Expr)
        names = defined | imported if acts else defined
        for each in ast.walk(node):
            if isinstance(each, ast.Call) and _calls(each.func, names):
                return True
    return False


def _calls(function: ast.expr, defined: set[str]) -> bool:
    """Whether a call is a launch, or of what the file defines."""
    if isinstance(function, ast.Subscript):
        function = function.value
    while isinstance(function, ast.Attribute):
        function = function.value
    return isinstance(function, ast.Name) and function.id in defined


def _short(path: Path) -> str:
    """Return a path as short as it can be written."""
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else relative
