"""AMDGPU assembly as LLVM prints it: the text as records, rebuilt byte for byte by joining them."""

from irlens.isa.amdgcn.function import Function, Program
from irlens.isa.amdgcn.parser import parse
from irlens.isa.amdgcn.records import (
    Comment,
    Directive,
    Instruction,
    Label,
    Loc,
    Metadata,
    Operand,
    Operation,
    RegisterRange,
    Statement,
    Unknown,
)

__all__ = [
    "Comment",
    "Directive",
    "Function",
    "Instruction",
    "Label",
    "Loc",
    "Metadata",
    "Operand",
    "Operation",
    "Program",
    "RegisterRange",
    "Statement",
    "Unknown",
    "parse",
]
