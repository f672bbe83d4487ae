"""The structure that import-linter's contracts do not state: no circles, and modules of a size."""

import ast
from pathlib import Path

import grimp

PACKAGE = Path(__file__).parents[1] / "irlens"


def circles(imports: dict[str, set[str]]) -> list[list[str]]:
    """Return the modules that import each other, directly or through others (Tarjan, 1972)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(module: str) -> None:
        index[module] = low[module] = len(index)
        stack.append(module)
        for imported in imports.get(module, ()):
            if imported not in index:
                visit(imported)
                low[module] = min(low[module], low[imported])
            elif imported in stack:
                low[module] = min(low[module], index[imported])
        if low[module] == index[module]:
            members = [stack.pop()]
            while members[-1] != module:
                members.append(stack.pop())
            if len(members) > 1:
                found.append(sorted(members))

    for module in imports:
        if module not in index:
            visit(module)
    return found


def test_circles_are_found() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == [["b", "c"]]


def test_no_modules_import_each_other() -> None:
    """Imports for type checkers and inside of functions count as well."""
    graph = grimp.build_graph("irlens", exclude_type_checking_imports=False)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    assert circles(imports) == []


def test_every_module_says_what_it_holds() -> None:
    silent = [
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if not ast.get_docstring(ast.parse(path.read_text()))
    ]
    assert silent == []
