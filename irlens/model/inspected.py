"""What figures are read from: a finished report, or an inspection that computes what is read."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from irlens.model.capture import RunResult
from irlens.model.estimate import TimeEstimate
from irlens.model.label import Labelled
from irlens.model.memory import LoopLoad, SharedMemory
from irlens.model.pressure import Pressure
from irlens.model.report import Finding, InstructionMix, Occupancy, Pipeline
from irlens.model.resources import LocalArray, Resources, SpillSite, WarpGroup
from irlens.model.traffic import MatrixProduct, Roofline, Traffic


class Inspected(Labelled, Protocol):
    """The parts of a ``Report`` that figures are read from, under the report's names."""

    @property
    def resources(self) -> Resources:
        """Registers and memories."""

    @property
    def occupancy(self) -> Occupancy | None:
        """Theoretical occupancy."""

    @property
    def warp_groups(self) -> Sequence[WarpGroup]:
        """Groups of warps that run different parts of the kernel."""

    @property
    def pipelines(self) -> Sequence[Pipeline]:
        """One record per loop and mechanism."""

    @property
    def loads(self) -> Sequence[LoopLoad]:
        """Reads of global memory in loops."""

    @property
    def products(self) -> Sequence[MatrixProduct]:
        """Matrix products, and the types that they are computed in."""

    @property
    def memory(self) -> SharedMemory | None:
        """Use of dynamic shared memory."""

    @property
    def traffic(self) -> Traffic | None:
        """Traffic of global memory."""

    @property
    def roofline(self) -> Roofline | None:
        """Lower bounds of the launch's time."""

    @property
    def time(self) -> TimeEstimate | None:
        """Estimated time of the launch."""

    @property
    def pressure(self) -> Pressure:
        """Register pressure by stage."""

    @property
    def spills(self) -> Sequence[SpillSite] | None:
        """Instructions that spill registers or reload them."""

    @property
    def local_arrays(self) -> Sequence[LocalArray]:
        """Arrays in local memory."""

    @property
    def mix(self) -> Sequence[InstructionMix]:
        """Instruction mix, one record per stage."""

    @property
    def findings(self) -> Sequence[Finding]:
        """Findings, most severe first."""

    @property
    def run(self) -> RunResult | None:
        """The launch on a real GPU."""

    @property
    def unknown(self) -> Mapping[str, str]:
        """Why figures are unknown, by path: of an inspection, of what was read so far."""
