"""NVIDIA's machine code files (cubin): what each kernel needs, as the assembler recorded it.

NVIDIA documents the tools and not the format. Section names, attribute codes and bit positions
were checked against ``cuobjdump -elf``, ``cuobjdump -res-usage`` and ``ptxas -v`` of CUDA 12.8,
12.9, 13.0, 13.1 and 13.4 for sm_50 to sm_121; the tests repeat that with the tools at hand.
"""

from irlens.artifacts.cubin.reader import read
from irlens.artifacts.cubin.records import Attribute, Code, Cubin, Kernel, Parameter

__all__ = ["Attribute", "Code", "Cubin", "Kernel", "Parameter", "read"]
