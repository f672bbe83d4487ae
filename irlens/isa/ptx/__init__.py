"""PTX, NVIDIA's virtual assembly: the text as records, rebuilt byte for byte by joining them."""

from irlens.isa.ptx.function import DIGITS_OF_PI, Function, LocalArray, PtxModule
from irlens.isa.ptx.locations import assembled_line
from irlens.isa.ptx.operands import (
    Address,
    ArgumentList,
    Expression,
    Immediate,
    Negated,
    Operand,
    Pair,
    Register,
    Symbol,
    Vector,
)
from irlens.isa.ptx.parser import parse
from irlens.isa.ptx.records import Instruction, Loc, Section

__all__ = [
    "DIGITS_OF_PI",
    "Address",
    "ArgumentList",
    "Expression",
    "Function",
    "Immediate",
    "Instruction",
    "Loc",
    "LocalArray",
    "Negated",
    "Operand",
    "Pair",
    "PtxModule",
    "Register",
    "Section",
    "Symbol",
    "Vector",
    "assembled_line",
    "parse",
]
