"""The rule of dialects: engines ask ``irlens.isa`` what code does, and name no instruction.

What a dialect knows is read from its sources: every literal there that has the shape of an opcode,
a mnemonic or an operation. A literal of an engine that is one of them is counted where the engine
has to do with that dialect.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

from irlens.isa.ptx import classes
from irlens.model.report import PipelineKind

PACKAGE = Path(__file__).parents[1] / "irlens"
ENGINES = ("analyze", "diff/code")
SHAPES = {
    "sass": r"[A-Z][A-Z0-9]*[A-Z0-9]",
    "amdgcn": r"(?:s|v|ds|buffer|global|flat|scratch|image)_[a-z0-9_]+",
    "mlir": r"[a-z]+\.[a-z][a-z0-9_.]+",
}
#: Literals that are still to move to ``irlens.isa``, by module. Lower a number with each that
#: moves; it never grows.
LEFT = {
    "analyze/pipelines/mbarrier_rings.py": 1,
    "diff/code/machine_registers.py": 1,
}


def literals(path: Path) -> Iterator[str]:
    """Yield the strings of a module that are no documentation, names of types among them."""
    tree = ast.parse(path.read_text())
    lone = {id(each.value) for each in ast.walk(tree) if isinstance(each, ast.Expr)}
    for each in ast.walk(tree):
        if isinstance(each, ast.Constant) and isinstance(each.value, str) and id(each) not in lone:
            yield each.value


def known() -> dict[str, set[str]]:
    """Return the names of instructions that each dialect knows."""
    opcodes = {name.partition(".")[0] for name in classes._CLASS_OF}
    names = {"ptx": (opcodes | classes._TYPED | set(classes._MEMORY)) - set(get_args(PipelineKind))}
    for dialect, shape in SHAPES.items():
        words = {
            word
            for path in (PACKAGE / "isa" / dialect).rglob("*.py")
            for text in literals(path)
            for word in text.split()
        }
        names[dialect] = {word for word in words if re.fullmatch(shape, word)}
    return names


def imported(path: Path) -> str:
    return "\n".join(
        line for line in path.read_text().splitlines() if re.match(r"\s*(from|import) ", line)
    )


def found() -> dict[str, int]:
    """Return how many names of instructions each module of an engine has."""
    names = known()
    counts: defaultdict[str, int] = defaultdict(int)
    for engine in ENGINES:
        for path in (PACKAGE / engine).rglob("*.py"):
            imports = imported(path)
            for dialect, words in names.items():
                if re.search(rf"irlens\.isa(\.| import .*\b){dialect}\b", imports):
                    count = sum(text in words for text in literals(path))
                    counts[str(path.relative_to(PACKAGE))] += count
    return {module: count for module, count in sorted(counts.items()) if count}


def test_dialects_know_their_instructions() -> None:
    names = known()
    assert {"LDGSTS", "HGMMA", "BSSY"} <= names["sass"]
    assert {"bra", "cp", "st"} <= names["ptx"]
    assert {"s_waitcnt"} <= names["amdgcn"]
    assert {"tt.load", "scf.for", "ttng.wait_barrier"} <= names["mlir"]


def test_engines_name_no_instruction() -> None:
    assert found() == LEFT, "ask irlens.isa what the instruction does"
