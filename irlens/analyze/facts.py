"""What the findings are drawn from: one capture, analysed."""

import msgspec

from irlens.gpus import Gpu
from irlens.isa.mlir import Module
from irlens.isa.ptx import Function
from irlens.model.config import Config
from irlens.model.memory import LoopLoad
from irlens.model.report import Occupancy, Pipeline
from irlens.model.resources import Resources
from irlens.model.spills import SpillSite
from irlens.model.warp_groups import WarpGroup
from irlens.model.words import VendorWords


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is known of one kernel. What is ``None`` is not known.

    Attributes:
        gpu: What it was compiled for, with the product if that is known.
        config: Compile and launch parameters.
        resources: Registers and memories.
        occupancy: Theoretical occupancy.
        pipelines: Software pipelines found in the machine-level IR.
        threads: Threads per CTA, those of partitions included.
        warp_groups: Who runs what, where not all warps do the same.
        ttir: Before layouts: what the author wrote, inlined and simplified.
        ttgir: With layouts, after software pipelining.
        loads: Reads of global memory in the ttgir's loops.
        ptx: The kernel's function in the PTX.
        spills: Accesses of the machine code to spilled registers.
        serialized: Whether ptxas serialized the matrix products of ``wgmma``.
    """

    gpu: Gpu | None
    config: Config
    resources: Resources
    occupancy: Occupancy | None = None
    pipelines: list[Pipeline] = []
    threads: int | None = None
    warp_groups: tuple[WarpGroup, ...] = ()
    ttir: Module | None = None
    ttgir: Module | None = None
    loads: tuple[LoopLoad, ...] = ()
    ptx: Function | None = None
    spills: list[SpillSite] | None = None
    serialized: bool | None = None

    @property
    def words(self) -> VendorWords:
        """What the GPU's vendor calls things."""
        if self.gpu is None:
            return VendorWords(None)
        return VendorWords(self.gpu.arch.vendor, self.gpu.arch.multiprocessor)
