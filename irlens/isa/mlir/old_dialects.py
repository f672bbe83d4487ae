"""The ttgir of Triton 3.0 to 3.2 in the words of later versions, so that one reader reads both.

Triton 3.3 renamed the dialects ``triton_gpu`` and ``triton_nvidia_gpu`` to ``ttg`` and ``ttng``,
moved ``!tt.memdesc`` to the former, and cut the layout ``shared`` in two (Triton,
"include/triton/Dialect", releases 3.0 to 3.3). A translated text has the same lines, with the same
operations.
"""

import re

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
