"""AMDGPU assembly as LLVM prints it: the text as records, rebuilt byte for byte by joining them."""

from irlens.isa.amdgcn.function import Function, Program
from irlens.isa.amdgcn.parser import parse
from irlens.isa.amdgcn.records import (
    Comment,
    Directive,
    Instruction,
    Label,
    Loc,
    Operation,
    RegisterRange,
    Unknown,
)

__all__ = [
    "Comment",
    "Directive",
    "Function",
    "Instruction",
    "Label",
    "Loc",
    "Operation",
    "Program",
    "RegisterRange",
    "Unknown",
    "parse",
]
