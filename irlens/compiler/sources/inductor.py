"""Kernels that TorchInductor generated: ``output_code.py``, ``TORCH_LOGS=output_code``, its cache.

A kernel's decorator ``@triton_heuristics.*`` says what TorchInductor compiles it with: types,
alignment, options, and what its heuristics choose block sizes by. It is read without being
executed, and neither are the wrapper code, the benchmark and the calls beside the kernel.
"""

import ast
import itertools
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import msgspec

from irlens.compiler.sources.inductor_calls import Calls, NotLiteralError, grid_of, literal
from irlens.model import files
from irlens.model.config import ConstexprValue

#: What every generated kernel's file has, and what begins each line of a log of them.
_MARK, _LOG_MARK = "triton_heuristics", "[__output_code]"
_PREFIX = re.compile(r"^.*?\[__output_code\] ?")
#: Lines of the log that are not the code's.
_HEADING = re.compile(r"^\s*Output code(?::| written to: .*)\s*$")
#: Where a kernel begins inside the wrapper's code: ``name = async_compile.triton('name', '''``.
_WRAPPED = re.compile(
    r"(?<!\w)(?P<name>\w+)\s*=\s*async_compile\.triton\(\s*['\"]\w+['\"],\s*"
    r"(?P<quotes>'''|\"\"\")"
)
#: The function's name unless PyTorch gives each kernel its own, which tells them apart.
_SHARED_NAME = re.compile(r"^def triton_\(", re.M)
#: First line of the code of a graph.
_GRAPH = re.compile(r"^# AOT ID: ", re.M)
#: Modules that code uses under these names, wherever PyTorch imports them from.
_IMPORTS = {
    "libdevice": "from triton.language.extra import libdevice",
    "tl_math": "from triton.language import math as tl_math",
}
#: Options that PyTorch passes to the compiler, from ``triton_meta``.
_OPTIONS = ("enable_fp_fusion", "launch_cooperative_grid", "launch_pdl")


class Specialization(msgspec.Struct, frozen=True):
    """Types and properties that a kernel's arguments have, whatever their values.

    Attributes:
        types: Triton's type of each parameter: "*bf16", "i32", "constexpr".
        constants: Values of parameters that are compiled in.
        attributes: Properties of an argument by parameter: ``("tt.divisibility", 16)``.
    """

    types: dict[str, str]
    constants: dict[str, ConstexprValue]
    attributes: dict[str, tuple[tuple[str, int], ...]]


class GeneratedKernel(msgspec.Struct, frozen=True):
    """A kernel that TorchInductor generated.

    Attributes:
        name: Its name in the wrapper's code, followed by "@LINE" if the file has another one.
        code: Source of its module, each line at its place in the file.
        heuristic: What chooses its configurations: "pointwise", "reduction", "template", ...
        args: Run-time arguments of its call, as far as the file says them: a number, or a tensor
            in the syntax of ``argument_values``.
        grid: Expressions of the grid over ``args`` and constexprs; empty if unknown.
    """

    name: str
    function: str
    code: str
    heuristic: str
    arguments: dict[str, Any]
    specialization: Specialization
    options: dict[str, ConstexprValue]
    args: dict[str, ConstexprValue]
    grid: tuple[int | str, ...]


def is_generated(text: str) -> bool:
    """Whether a file or a log has kernels that TorchInductor generated."""
    return f"@{_MARK}." in text


def plain_code(text: str) -> str:
    """Return the code of a log without prefixes, each line at its place; other text unchanged."""
    if _LOG_MARK not in text:
        return text
    lines = []
    for line in text.splitlines():
        code = _PREFIX.sub("", line, count=1) if _LOG_MARK in line else ""
        lines.append("" if _HEADING.match(code) else code)
    return "\n".join(lines) + "\n"


@lru_cache(maxsize=4)
def generated_kernels(text: str) -> tuple[GeneratedKernel, ...]:
    """Return the generated kernels of a file or a log, in order."""
    kernels: dict[str, GeneratedKernel] = {}
    seen: set[tuple[str, str]] = set()
    for graph in _graphs(plain_code(text)):
        calls = Calls(graph)
        for name, module in _modules(graph):
            kernel = _kernel(name, module, calls)
            if kernel is None or (kernel.name, module.strip()) in seen:
                continue
            seen.add((kernel.name, module.strip()))
            if kernel.name in kernels:
                kernel = msgspec.structs.replace(
                    kernel, name=f"{kernel.name}@{_first_line(module)}"
                )
            kernels[kernel.name] = kernel
    return tuple(kernels.values())


def _graphs(code: str) -> Iterator[str]:
    """Yield the code of each compiled graph, each line at its place: their buffers share names."""
    starts = [0, *(match.start() for match in _GRAPH.finditer(code) if match.start()), len(code)]
    for start, end in itertools.pairwise(starts):
        yield "\n" * code.count("\n", 0, start) + code[start:end]


def _modules(code: str) -> Iterator[tuple[str, str]]:
    """Yield the name and the source of each kernel's module, each line at its place."""
    found, unclosed, at = False, set[str](), 0
    while (match := _WRAPPED.search(code, at)) is not None:
        quotes, at = match["quotes"], match.end()
        # What one string lacks to the end of the text, later ones lack, too.
        end = -1 if quotes in unclosed else _closing(code, at, quotes)
        if end < 0:
            unclosed.add(quotes)
            continue
        found, at = True, end
        before = code.count("\n", 0, match.end())
        try:
            module = "\n" * before + ast.literal_eval(code[match.start("quotes") : end])
        except files.PARSE_ERRORS:
            continue
        yield match["name"], _SHARED_NAME.sub(f"def {match['name']}(", module, count=1)
    if not found:
        yield "", code


def _closing(code: str, start: int, quotes: str) -> int:
    """Return where a string ends, its quotes included; -1 if nothing closes it."""
    at = code.find(quotes, start)
    while at >= 0 and code[at - 1] == "\\":
        at = code.find(quotes, at + 1)
    return at + len(quotes) if at >= 0 else -1


def _first_line(module: str) -> int:
    return module.count("\n", 0, len(module) - len(module.lstrip())) + 1


def _kernel(name: str, module: str, calls: Calls) -> GeneratedKernel | None:
    """Return the kernel of a module; ``None`` if it has none that can be read."""
    try:
        tree = ast.parse(module)
    except files.PARSE_ERRORS:
        return None
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            heuristic = next(filter(None, map(_heuristic, node.decorator_list)), None)
            if heuristic is not None:
                return _described(name or node.name, module, node, heuristic, calls)
    return None


def _heuristic(decorator: ast.expr) -> ast.Call | None:
    """Return the call of a decorator if it is ``triton_heuristics.NAME(...)``."""
    match decorator:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=owner))) if owner == _MARK:
            return decorator
    return None


def _described(
    name: str, module: str, node: ast.FunctionDef, heuristic: ast.Call, calls: Calls
) -> GeneratedKernel | None:
    arguments: dict[str, Any] = {}
    for keyword in heuristic.keywords:
        try:
            arguments[keyword.arg or ""] = literal(keyword.value)
        except NotLiteralError:
            continue
    meta, inductor = (arguments.get(key) for key in ("triton_meta", "inductor_meta"))
    if not isinstance(meta, dict) or not isinstance(heuristic.func, ast.Attribute):
        return None
    inductor = inductor if isinstance(inductor, dict) else {}
    specialization = _specialization(node, meta)
    constants = _constants(node)
    launch = calls.launch_of(name, _run_time(node), inductor)
    args = {n: v for n, v in constants.items() if specialization.types.get(n, "*")[0] in "iu"}
    for parameter, value in launch.args.items():
        type_ = specialization.types.get(parameter, "")
        if isinstance(value, tuple) and type_.startswith("*"):
            args[parameter] = f"{type_[1:]}[{', '.join(map(str, value))}]"
        elif isinstance(value, int | float) and not type_.startswith("*"):
            args[parameter] = value
    args = {n: args[n] for n in _run_time(node) if n in args}
    names = {**constants, **args, **dict.fromkeys(_constexprs(node))}
    return GeneratedKernel(
        name=name,
        function=node.name,
        code=module,
        heuristic=heuristic.func.attr,
        arguments=arguments,
        specialization=specialization,
        options=_options(meta, inductor),
        args=args,
        grid=launch.grid or grid_of(inductor, names),
    )


def _run_time(node: ast.FunctionDef) -> list[str]:
    """Return the parameters that are passed at a launch."""
    constexprs = _constexprs(node)
    return [each.arg for each in node.args.args if each.arg not in constexprs]


def _constexprs(node: ast.FunctionDef) -> list[str]:
    return [
        each.arg
        for each in node.args.args
        if each.annotation is not None and ast.unparse(each.annotation).endswith("constexpr")
    ]


def _constants(node: ast.FunctionDef) -> dict[str, ConstexprValue]:
    """Return the names that the kernel's first statements set to a number: ``xnumel = 4096``."""
    found: dict[str, ConstexprValue] = {}
    for statement in node.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=value)) | (
                ast.AnnAssign(target=ast.Name(id=name), value=ast.Constant(value=value))
            ) if isinstance(value, int | float | str):
                found.setdefault(name, value)
    return found


def _specialization(node: ast.FunctionDef, meta: Mapping[str, Any]) -> Specialization:
    """Return the types of the metadata, in the form of any PyTorch since 2.4."""
    order = [each.arg for each in node.args.args]

    def named(values: object) -> dict[str, Any]:
        """Return values by parameter: up to PyTorch 2.5 they are numbered."""
        pairs = values.items() if isinstance(values, dict) else ()
        return {
            (order[k] if isinstance(k, int) and k < len(order) else str(k)): v for k, v in pairs
        }

    types = {name: str(each) for name, each in named(meta.get("signature")).items()}
    constants = named(meta.get("constants"))
    attributes: dict[str, list[tuple[str, int]]] = {}
    configs = meta.get("configs")
    for name, value in configs[0].items() if configs and isinstance(configs[0], dict) else ():
        for parameter, attribute, amount in _attributes(name, value):
            if attribute == "tt.equal_to":
                constants.setdefault(order[parameter], 1)
            elif parameter < len(order):
                attributes.setdefault(order[parameter], []).append((attribute, amount))
    return Specialization(
        types={n: "constexpr" if n in constants else types.get(n, "constexpr") for n in order},
        constants={n: v for n, v in constants.items() if n in order},
        attributes={n: tuple(v) for n, v in attributes.items() if n not in constants},
    )


#: Names of the properties up to PyTorch 2.5, and their values.
_PROPERTIES = {
    "tt.divisibility": ("tt.divisibility", 16), "divisible_by_16": ("tt.divisibility", 16),
    "tt.equal_to": ("tt.equal_to", 1), "equal_to_1": ("tt.equal_to", 1),
    "tt.pointer_range": ("tt.pointer_range", 32), "pointer_range_32": ("tt.pointer_range", 32),
}  # fmt: skip


def _attributes(name: object, value: Any) -> Iterator[tuple[int, str, int]]:
    """Yield position, property and value of the entries of ``configs``, in any of their forms."""
    if isinstance(name, tuple) and len(name) == 1 and isinstance(value, list):
        # {(0,): [['tt.divisibility', 16]]}
        yield from ((int(name[0]), str(each[0]), int(each[1])) for each in value if len(each) == 2)
    elif name == "arg_properties" and isinstance(value, dict):
        # AttrsDescriptor.from_dict({'arg_properties': {'tt.divisibility': (0, 1)}, ...})
        for inner, positions in value.items():
            yield from _attributes(inner, positions)
    elif name in _PROPERTIES and isinstance(value, list):
        # AttrsDescriptor(divisible_by_16=(0, 1), equal_to_1=())
        attribute, amount = _PROPERTIES[str(name)]
        yield from ((each, attribute, amount) for each in value if isinstance(each, int))


def _options(meta: Mapping[str, Any], inductor: Mapping[str, Any]) -> dict[str, ConstexprValue]:
    """Return the compile options that PyTorch derives from the metadata."""
    checks = inductor.get("assert_indirect_indexing", True) and not inductor.get("is_hip", False)
    options: dict[str, ConstexprValue] = {"debug": bool(checks), "sanitize_overflow": False}
    options |= {name: meta[name] for name in _OPTIONS if isinstance(meta.get(name), bool)}
    if meta.get("disable_ftz") is True:
        options["enable_reflect_ftz"] = False
    return options


def module_of(kernel: GeneratedKernel, path: str) -> ast.Module:
    """Return what of a kernel's module is executed: its functions, and the names that they use.

    Decorators other than ``triton.jit`` are left out, and so are benchmarks, calls and imports of
    what no function uses.
    """
    tree = ast.parse(kernel.code, path)
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef) and _is_jit(node)]
    for node in functions:
        node.decorator_list = [d for d in node.decorator_list if _heuristic(d) is None]
    used = {n.id for f in functions for n in ast.walk(f) if isinstance(n, ast.Name)}
    body: list[ast.stmt] = []
    for statement in tree.body:
        match statement:
            case ast.Import() | ast.ImportFrom():
                body += _needed(statement, used)
            case ast.FunctionDef() if statement in functions:
                body.append(statement)
            case ast.Assign(targets=[ast.Name(id=name)]) if name in used:
                body.append(statement)
            case ast.AnnAssign(target=ast.Name(id=name)) if name in used:
                body.append(statement)
    return ast.Module(body, [])


def _is_jit(node: ast.FunctionDef) -> bool:
    return any(ast.unparse(each).partition("(")[0].endswith("jit") for each in node.decorator_list)


def _needed(statement: ast.Import | ast.ImportFrom, used: set[str]) -> Iterator[ast.stmt]:
    """Yield an import of what the kernel uses."""
    for alias in statement.names:
        name = alias.asname or alias.name.partition(".")[0]
        if name in _IMPORTS and name in used:
            replaced = ast.parse(_IMPORTS[name]).body[0]
            yield ast.copy_location(replaced, statement)
        elif name in used:
            kept = type(statement)(**{**vars(statement), "names": [alias]})
            yield ast.copy_location(kept, statement)
