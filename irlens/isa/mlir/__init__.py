"""ttir and ttgir text as a tree of operations.

The grammar is MLIR's generic surface syntax (MLIR Language Reference, "Operations", "Regions",
"Blocks", "Attribute dictionary", "Location"); nothing here knows a particular operation.
"""

from irlens.isa.mlir.module import Module
from irlens.isa.mlir.parser import parse
from irlens.isa.mlir.tree import Argument, Block, Operation

__all__ = ["Argument", "Block", "Module", "Operation", "parse"]
