"""SASS, the machine code of NVIDIA GPUs, as ``nvdisasm -c -gi -gp`` prints it.

There is no public grammar. The parser reads what nvdisasm 12.8 and 13.1 print for sm_75 to sm_120;
opcodes are listed in NVIDIA's "CUDA Binary Utilities", section "Instruction Set Reference". A line
that is not understood is kept in ``Sass.unknown``.
"""

from irlens.isa.sass.function import Sass, Section
from irlens.isa.sass.parser import parse
from irlens.isa.sass.records import Guard, Instruction, Operand, Register

__all__ = ["Guard", "Instruction", "Operand", "Register", "Sass", "Section", "parse"]
