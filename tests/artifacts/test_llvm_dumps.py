"""LLVM's passes as the compiler prints them, and the functions between them."""

from itertools import pairwise

from irlens.artifacts import pass_dumps

_FUNCTION = """\
define void @k(i32 %0) #0 !dbg !{number} {{
  %2 = {operation} i32 %0, 1, !dbg !{number}
  ret void
}}
"""
_MACHINE = """\
# Machine code for function k: IsSSA

bb.0 (%ir-block.0):
  {instruction} debug-location !{number}; k.py:3:1

# End machine code for function k.

"""


def _after(name: str, on: str, text: str) -> str:
    return f"Running pass: {name} on {on}\n; *** IR Dump After {name} on {on} ***\n{text}\n"


_PRINTED = "".join(
    [
        "mlir says this\n",
        _after("First", "[module]", "; ModuleID = 'm'\n"
               + _FUNCTION.format(number=1, operation="mul") + "\ndeclare void @f()\n"),
        _after("Same", "k", _FUNCTION.format(number=7, operation="mul")),
        _after("LICMPass", "loop %x in function k", "; Loop:\n  br label %1\n"),
        _after("Combine", "k", _FUNCTION.format(number=2, operation="shl")),
        "k.py:3:1: remark: vectorized\n",
        "# *** IR Dump After Selection (isel) ***:\n",
        _MACHINE.format(number=1, instruction="%1:b32 = SHL32 %0"),
        "# *** IR Dump After Slots (slots) ***:\n",
        _MACHINE.format(number=9, instruction="%1:b32 = SHL32 %0"),
        "ptxas info    : Used 30 registers\n",
    ]
)  # fmt: skip


def test_a_pass_changes_what_differs_in_more_than_numbers() -> None:
    dumps = pass_dumps.read(_PRINTED)
    assert dumps.remarks == [
        "mlir says this", "k.py:3:1: remark: vectorized", "ptxas info    : Used 30 registers",
    ]  # fmt: skip
    passes = dumps.passes
    assert [each.name for each in passes] == ["First", "Same", "Combine", "Selection", "Slots"]
    assert [each.stage for each in passes] == ["llvm"] * 3 + ["codegen"] * 2
    assert [each.function for each in passes] == ["", "k", "k", "", ""]
    assert passes[0].text == ""
    after = [each.text for each in passes[1:]] + [dumps.last]
    changed = [one != two for one, two in pairwise(after)]
    assert changed == [False, True, True, False]
    assert passes[2].options == "with LICMPass on loops"
    assert "shl i32 %0, 1\n" in passes[3].text
    assert "SHL32" in dumps.last


def test_a_function_that_a_module_lost_is_gone() -> None:
    other = _FUNCTION.format(number=1, operation="mul").replace("@k", "@g")
    both = "; ModuleID = 'm'\n" + other + _FUNCTION.format(number=1, operation="mul")
    alone = "; ModuleID = 'm'\n" + _FUNCTION.format(number=1, operation="mul")
    dumps = pass_dumps.read(_after("A", "[module]", both) + _after("B", "[module]", alone))
    assert "@g" in dumps.passes[1].text
    assert "@g" not in dumps.last
