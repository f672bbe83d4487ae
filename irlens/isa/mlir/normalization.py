"""MLIR text normalized for one reader: old dialects, parts of a module, arguments without names.

Triton 3.3 renamed the dialects ``triton_gpu`` and ``triton_nvidia_gpu`` to ``ttg`` and ``ttng``,
moved ``!tt.memdesc`` to the former, and cut the layout ``shared`` in two (Triton,
"include/triton/Dialect", releases 3.0 to 3.3). A translated text has the same lines, with the same
operations.
"""

import re
from collections.abc import Iterable, Mapping

from irlens.isa.mlir.module import Module
from irlens.isa.mlir.tree import Argument
from irlens.isa.mlir.types import Pointer

_OLD = "triton_gpu."
_NAMES = re.compile(
    r"""
    \btriton_nvidia_gpu\.(?P<product>dot_async|dot_wait)\b  # up to 3.1
    | \btriton_(?P<nvidia>nvidia_)?gpu\.
    | !tt\.(?P<type>memdesc)\b
    """,
    re.VERBOSE,
)
_PRODUCTS = {"dot_async": "warp_group_dot", "dot_wait": "warp_group_dot_wait"}
#: A layout of shared memory, bounded since a line of a hostile file may be as long as the file.
_SHARED = re.compile(r"#ttg\.shared<\{([^{}<>\n]{0,400})\}>")
_LEADING_OFFSET = re.compile(r",?\s*hasLeadingOffset = (true|false)")
_VECTOR = re.compile(r"\bvec = (\d{1,4})")
_PHASES = re.compile(r"\bperPhase = (\d{1,4}), maxPhase = (\d{1,4})")
_ORDER = re.compile(r"\border = \[(\d)")
#: Bytes of a swizzled row by ``perPhase`` and ``maxPhase`` (``NVMMASharedEncodingAttr``).
_SWIZZLES = {("4", "2"): 32, ("2", "4"): 64, ("1", "8"): 128}
#: ``vec`` elements are a unit of the swizzle, 16 bytes.
_UNIT_BITS = 128


def translate(text: str) -> str:
    """Return the text of a stage with the names of Triton 3.3 and later."""
    if _OLD not in text:
        return text
    return _SHARED.sub(_layout, _NAMES.sub(_name, text))


def _name(found: re.Match[str]) -> str:
    if found["product"]:
        return f"ttng.{_PRODUCTS[found['product']]}"
    if found["type"]:
        return "!ttg.memdesc"
    return "ttng." if found["nvidia"] else "ttg."


def _layout(found: re.Match[str]) -> str:
    """Return a layout of shared memory under its new name, or as it is if it is not understood."""
    fields = found[1]
    leading = _LEADING_OFFSET.search(fields)
    if leading is None or leading[1] == "false":
        return f"#ttg.swizzled_shared<{{{_LEADING_OFFSET.sub('', fields)}}}>"
    vector, phases, order = (one.search(fields) for one in (_VECTOR, _PHASES, _ORDER))
    swizzle = _SWIZZLES.get((phases[1], phases[2])) if phases else None
    if vector is None or order is None or swizzle is None or not int(vector[1]):
        return found[0]
    transposed = "true" if order[1] == "0" else "false"
    return (
        f"#ttg.nvmma_shared<{{swizzlingByteWidth = {swizzle}, transposed = {transposed},"
        f" elementBitWidth = {_UNIT_BITS // int(vector[1])}}}>"
    )


_MODULE = re.compile(r'^\s*(?:module\b|"builtin\.module")', re.MULTILINE)
#: What may hold a brace that delimits nothing, and the braces.
_BRACE = re.compile(r'//[^\n]*|"(?:[^"\\\n]|\\.)*"|[{}]')


def is_excerpt(text: str) -> bool:
    """Whether a text is part of a module, and no module."""
    return _MODULE.search(text) is None


def balanced(text: str) -> str:
    """Return a text whose braces have partners: lone closing ones are blanks, open ones closed.

    Its lines stay where they are.
    """
    opened, lone = 0, []
    for found in _BRACE.finditer(text):
        if found[0] == "{":
            opened += 1
        elif found[0] == "}" and opened:
            opened -= 1
        elif found[0] == "}":
            lone.append(found.start())
    for offset in reversed(lone):
        text = f"{text[:offset]} {text[offset + 1 :]}"
    return text + "}" * opened


_NUMBERED = re.compile(r"%arg\d{1,4}")


#: An argument of a function with the location that its name is kept in, and such a location.
_PLACED = re.compile(r'%(?P<name>[\w$.-]+): [^%"]*?loc\("[^"\n]*"\((?P<at>#loc\d+)\)\)')
_NAMED_PLACE = re.compile(r'^(?P<at>#loc\d+) = loc\("(?P<name>\w+)"\((?P<rest>#loc\d*)\)\)', re.M)


def named_text(module: Module, given: Mapping[str, object]) -> str | None:
    """Return the text of a module whose kernel's arguments have the names of its parameters.

    Args:
        given: The arguments of the kernel that are no constexprs, in the order of its parameters:
            numbers, and tensors as "fp32[4096, 1024]".

    Returns:
        ``None`` where they have names already, or it is not certain which is which.
    """
    kernel = module.kernel
    if kernel is None or not (arguments := kernel.parameters):
        return None
    if all(_NUMBERED.fullmatch(each.name) for each in arguments):
        names = _names(arguments, given)
        if names is None:
            return None
        # Arguments of inner blocks are numbered on from the kernel's own.
        renamed = {f"arg{number}": name for number, name in enumerate(names)}
    else:
        renamed = _assigned(module.text, kernel.start)
    text = module.text
    body = text[kernel.start : kernel.stop]
    if not renamed or re.search(_uses(renamed.values()), body):
        return None
    body = re.sub(_uses(renamed), lambda use: f"%{renamed[use[1]]}", body)
    return text[: kernel.start] + body + text[kernel.stop :]


def _uses(names: Iterable[str]) -> str:
    """Return the pattern of uses of some values."""
    return rf"(?<![\w$.%-])%({'|'.join(map(re.escape, names))})(?![\w$.-])"


def _assigned(text: str, start: int) -> dict[str, str]:
    """Return the parameters that a kernel assigns to other names, by the name that they got.

    Triton renames a value when it is assigned, and keeps the name before in its location.
    """
    header = text[start : text.find("\n", start)]
    places = {each["name"]: each["at"] for each in _PLACED.finditer(header)}
    if not places:
        return {}
    named = {each["at"]: (each["name"], each["rest"]) for each in _NAMED_PLACE.finditer(text)}
    found = {}
    for name, at in places.items():
        first = ""
        while at in named:
            first, at = named.pop(at)
        if first not in ("", name):
            found[name] = first
    return found


def _names(arguments: tuple[Argument, ...], given: Mapping[str, object]) -> list[str] | None:
    """Return the name of each argument: Triton compiles a number that is 1 into the code."""
    passed = {name: value for name, value in given.items() if value is not None}
    without_ones = {
        name: value for name, value in passed.items() if type(value) is not int or value != 1
    }
    for candidates in (passed, without_ones):
        fits = len(candidates) == len(arguments) and all(
            (isinstance(value, str) and "[" in value) == isinstance(argument.type, Pointer)
            for argument, value in zip(arguments, candidates.values(), strict=True)
        )
        if fits:
            return list(candidates)
    return None
