"""What is known about one capture: the input of the rules, and where each figure comes from."""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from irlens.analyze.addresses import Addresses
from irlens.analyze.global_accesses import read_once
from irlens.analyze.occupancy import Usage
from irlens.analyze.request_runs import Runs
from irlens.analyze.warp_requests import Requests
from irlens.gpus import Gpu
from irlens.isa.mlir import Module
from irlens.isa.ptx import Function
from irlens.model.capture import Stage
from irlens.model.config import Config
from irlens.model.memory import LoopLoad
from irlens.model.report import Occupancy, Pipeline
from irlens.model.resources import Resources, SpillSite, WarpGroup
from irlens.model.source import SourceLocation
from irlens.model.terms import VendorTerms
from irlens.model.traffic import MatrixProduct, Roofline, Traffic

if TYPE_CHECKING:
    from irlens.analyze.sector_causes import SectorCause
    from irlens.analyze.traffic import Updates
    from irlens.isa.amdgcn import Function as AmdFunction


class Moved(msgspec.Struct, frozen=True):
    """What a launch moves; ``None`` is unknown.

    Attributes:
        runs: The runs of bytes of each access of the traffic, in its order; ``None`` where its
            requests are unknown.
    """

    traffic: Traffic | None = None
    runs: tuple[Runs | None, ...] = ()
    roofline: Roofline | None = None


class Facts(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """Everything that is known about one kernel; ``None`` is unknown.

    Attributes:
        gpu: The GPU it was compiled for, with the product if that is known.
        threads: Threads per CTA, those of partitions included.
        usage: What a CTA needs of an SM.
        warp_groups: Which warps run what, where not all of them do the same.
        ttir: The IR before layouts: the source, inlined and simplified. For Gluon, which has none,
            the ttgir.
        ttgir: The IR with layouts, after software pipelining.
        loads: Reads of global memory in the ttgir's loops.
        spare_registers: Returns how many of a thread's registers are never live at once; ``None``
            if unknown.
        share_of_waits: Returns the part of the launch's estimated time, 0..1, that would go if its
            loads took no longer than those that the L1 holds; ``None`` if unknown.
        serialized: Whether ptxas serialized the matrix products of ``wgmma``.
        find_data_updates: Returns what each atomic operation updates whose addresses depend on
            data: where these are random, and where they are equal.
        contradictions: Why parts of the capture were put aside.
        products: Matrix products, and the types that they are computed in.
        contents: Files with what tensors of integers hold, by argument.
    """

    gpu: Gpu | None
    config: Config
    resources: Resources
    occupancy: Occupancy | None = None
    pipelines: list[Pipeline] = []
    threads: int | None = None
    usage: Usage | None = None
    warp_groups: tuple[WarpGroup, ...] = ()
    ttir: Module | None = None
    ttgir: Module | None = None
    loads: tuple[LoopLoad, ...] = ()
    ptx: Function | None = None
    amdgcn: "AmdFunction | None" = None
    spills: list[SpillSite] | None = None
    spare_registers: Callable[[], int | None] = lambda: None
    share_of_waits: Callable[[], float | None] = lambda: None
    serialized: bool | None = None
    evaluate_launch: Callable[[], Moved] = Moved
    find_data_updates: "Callable[[], tuple[tuple[Updates, Updates], ...]]" = tuple
    contradictions: tuple[str, ...] = ()
    products: tuple[MatrixProduct, ...] = ()
    contents: Mapping[str, Stage] = {}

    @property
    def waves_per_eu(self) -> int | None:
        """The waves of a SIMD that AMD's compiler was asked for; ``None`` for its own choice."""
        waves = (self.config.options or {}).get("waves_per_eu")
        return waves if isinstance(waves, int) and waves > 0 else None

    @property
    def smaller_shares(self) -> str:
        """What leaves each thread fewer elements: a CTA may have all the warps that it can."""
        tile = "make the tile smaller"
        arch = self.gpu.arch if self.gpu is not None else None
        if arch is not None and self.threads and 2 * self.threads > arch.threads_per_block:
            return tile
        return f"raise num_warps or {tile}"

    @cached_property
    def launch(self) -> Moved:
        """What the launch moves: its programs are evaluated for the first rule that looks at it."""
        return self.evaluate_launch()

    @property
    def traffic(self) -> Traffic | None:
        """The traffic of the launch."""
        return self.launch.traffic

    @cached_property
    def data_updates(self) -> "tuple[tuple[Updates, Updates], ...]":
        """What atomic operations update whose addresses depend on data."""
        return self.find_data_updates()

    @property
    def unread_loop(self) -> str:
        """Why it is unknown how far the loads of a loop run ahead; empty where it is known."""
        unread = (each for each in self.pipelines if each.verdict == "unknown")
        return next((f"the loop at {each.place}: {each.reason}" for each in unread), "")

    @cached_property
    def addresses(self) -> Addresses | None:
        """The addresses of the ttir's accesses."""
        return Addresses(self.ttir) if self.ttir is not None else None

    @cached_property
    def sector_causes(self) -> "list[SectorCause]":
        """Why accesses of the launch touch notably too many sectors."""
        module = self.ttir or self.ttgir
        if module is None or self.ttgir is None or self.assembly is None:
            return []
        if self.traffic is None or self.granule is None:
            return []
        from irlens.analyze.sector_causes import EvaluatedLaunch, sector_causes  # needs numpy

        return sector_causes(
            EvaluatedLaunch(
                module=module,
                ttgir=self.ttgir,
                assembly=self.assembly,
                config=self.config,
                contents=self.contents,
                traffic=self.traffic,
                granule=self.granule,
            )
        )

    def requests(self, line: int) -> Requests | None:
        """Return the launch's requests of an access by its line of the ttir.

        ``None`` if they are unknown, or there are none: the TMA makes none.
        """
        if self.traffic is None:
            return None
        total = Requests(0, 0, 0)
        for access, runs in zip(self.traffic.accesses, self.launch.runs, strict=False):
            if access.line != line:
                continue
            if runs is None or access.requests is None:
                return None
            sectors, ideal = access.sectors or 0, access.ideal_sectors or 0
            total += Requests(access.requests, sectors, ideal, runs)
        return total if total.requests else None

    @property
    def is_specialized(self) -> bool:
        """Whether warps run different parts of the kernel."""
        return bool(self.warp_groups)

    @property
    def assembly(self) -> "Function | AmdFunction | None":
        """The kernel's function in PTX or AMD's assembly, whichever there is."""
        return self.ptx or self.amdgcn

    @cached_property
    def read_once(self) -> frozenset[SourceLocation]:
        """The places whose loads are in no loop of the assembly."""
        return read_once(self.assembly) if self.assembly is not None else frozenset()

    @property
    def granule(self) -> int | None:
        """Bytes of the GPU's sector or cache line; ``None`` if unknown."""
        return self.gpu.arch.memory_granule if self.gpu is not None else None

    @property
    def words(self) -> VendorTerms:
        """What the GPU's vendor calls things."""
        if self.gpu is None:
            return VendorTerms(None)
        return VendorTerms(self.gpu.arch.vendor, self.gpu.arch.multiprocessor)


class Provenance:
    """Collects where each figure of a report comes from, and why others are missing.

    Attributes:
        sources: Origin by the figure's dotted path in the report.
        unknown: Why a figure is missing, by its dotted path.
    """

    def __init__(self) -> None:
        self.sources: dict[str, str] = {}
        self.unknown: dict[str, str] = {}

    def known(self, origin: str, *paths: str) -> None:
        """Record where figures were read."""
        self.sources.update(dict.fromkeys(paths, origin))

    def missing(self, reason: str, *paths: str) -> None:
        """Record why figures are missing; the first reason is kept."""
        for path in paths:
            self.unknown.setdefault(path, reason)
