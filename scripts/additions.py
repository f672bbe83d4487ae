"""Print which files of irlens three past additions would touch today.

    python scripts/additions.py

An addition touches the files whose code names it: an identifier, or a text that is not a
docstring. The answer comes from the tree, so that it grows when an idea spreads. Findings and GPUs
are additions of their own, one file and one row each: `irlens/rules` and `irlens/gpus` are listed
apart. Exits with 1 if an addition touches more files than its limit.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

IRLENS = Path(__file__).parents[1] / "irlens"
#: Additions of their own.
APART = ("rules", "gpus")


class Addition(NamedTuple):
    """A past addition.

    Attributes:
        name: Its name.
        kind: What it consists of.
        pattern: Matches what its code is called.
        limit: Files it may touch.
        before: Files of irlens that it touched when it was made.
    """

    name: str
    kind: str
    pattern: str
    limit: int
    before: int


ADDITIONS = (
    Addition(
        "tensor memory",
        "a figure: its field, its computation, its row",
        r"(resources\.)?tensor_memory_(columns|bytes)|with_tensor_memory|tmem_size",
        limit=5,
        before=13,
    ),
    Addition(
        "warp groups",
        "a record with figures: the record, what finds it, its rows",
        r"WarpGroup|(report\.)?warp_groups(\[\]\.\w+)?",
        limit=8,
        before=29,
    ),
    Addition(
        "CSV",
        "an output format: a writer",
        r"csv|irlens\.render\.csv",
        limit=3,
        before=5,
    ),
)


def names_of_files() -> dict[Path, set[str]]:
    """Return the identifiers and texts of each module of irlens."""
    paths = sorted(IRLENS.rglob("*.py"))
    return {path: set(_names(ast.parse(path.read_text("utf-8")))) for path in paths}


def touched(addition: Addition, files: dict[Path, set[str]]) -> tuple[list[Path], list[Path]]:
    """Return the files that an addition touches, and those of additions of their own."""
    own: list[Path] = []
    apart: list[Path] = []
    for path, names in files.items():
        if any(re.fullmatch(addition.pattern, name) for name in names):
            place = path.relative_to(IRLENS.parent)
            (apart if place.parts[1] in APART else own).append(place)
    return own, apart


def _names(tree: ast.Module) -> Iterator[str]:
    """Yield the identifiers and texts of a module, docstrings excluded."""
    nodes = list(ast.walk(tree))
    docstrings = {
        id(node.value)
        for node in nodes
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in nodes:
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                yield name
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
                yield name
            case ast.keyword(arg=str(name)):
                yield name
            case ast.alias(name=name):
                yield name
            case ast.ImportFrom(module=str(name)):
                yield name
            case ast.Constant(value=str(name)) if id(node) not in docstrings:
                yield name


def main() -> int:
    """Print the answer."""
    too_many = False
    files = names_of_files()
    for addition in ADDITIONS:
        own, apart = touched(addition, files)
        too_many |= len(own) > addition.limit
        print(f"{addition.name}: {addition.kind}")
        print(f"  {len(own)} files, at most {addition.limit} (once {addition.before})")
        for path in own:
            print(f"    {path}")
        for path in apart:
            print(f"    {path} (a finding or a GPU: an addition of its own)")
    return 1 if too_many else 0


if __name__ == "__main__":
    sys.exit(main())
