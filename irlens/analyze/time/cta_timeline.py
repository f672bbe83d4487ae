"""How long a CTA takes with an SM to itself: its code as the machine schedules it.

ptxas writes into each instruction how many cycles to wait after it, which scoreboards it waits for
and which one tells that its result is there. A warp issues in order, so that its time follows from
these and from the latency of what scoreboards track: loads, shared memory, special functions,
barriers, products of tensor cores. Asynchronous copies and products are followed to the waits
that retire them, so that a loop that overlaps them with its work is as fast as the slower of both.
A fence of the GPU, as acquire-release atomics have before them, is a round trip to the L2 that
begins when the warp's writes have made theirs.

One warp stands for all of its CTA, which run side by side: an instruction occupies its unit
once for each of them.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import msgspec

from irlens.analyze.cfg import Cfg
from irlens.analyze.time.paths import Path
from irlens.analyze.time.tensor_memory import TensorMemory
from irlens.gpus.timing import Timing
from irlens.isa.sass import Instruction, units
from irlens.model.schedule import Control
from irlens.model.source import SourceLocation

#: Opcodes that a fence waits for.
_WRITES = units.GLOBAL_STORES | {"ATOM", "ATOMG"}
#: Scopes of fences that reach the L2.
_FENCED = frozenset({"GPU", "SYS"})
#: How often a repeated segment is followed before its last rounds stand for the rest.
_ROUNDS = 8


class _Timed(msgspec.Struct, frozen=True):
    """One instruction: its schedule, its latency, and what it occupies for how long."""

    stall: float
    wait: tuple[int, ...]
    write: int
    read: int
    latency: float
    source: float
    unit: int
    cycles: float
    shared: float
    bytes: float
    event: str
    argument: float
    #: The latency of a load while no other one is in flight.
    alone: float


_UNITS: tuple[units.Unit, ...] = ("alu", "fma", "xu", "lsu", "tensor")
#: Shared memory, which loads and stores, copies and products take besides their unit.
_SHARED = len(_UNITS)


class Timeline(msgspec.Struct, frozen=True, kw_only=True):
    """What a CTA's time is computed with.

    Attributes:
        timing: Latencies and rates of the GPU.
        memory: Cycles from a load to its data, by where the data are.
        multiply_adds: Of 16 bits that the tensor cores of an SM do in a cycle.
        partitions: Sub-partitions of an SM, which share a CTA's warps.
        warps: Warps of the CTA.
        request_bytes: Bytes that a load of one warp takes from the L2, for each byte it asks for.
        bulk_bytes: Bytes of one bulk copy.
        wavefronts: Of accesses to shared memory, by index, where they are known.
        tensor: Products in tensor memory.
        repeated: Part of the sectors of loads that the CTA has loaded before, by their places. The
            L1 has them when nothing is in flight any more.
    """

    timing: Timing
    memory: float
    multiply_adds: float
    partitions: int
    warps: int
    request_bytes: float = 1.0
    bulk_bytes: float = 0.0
    wavefronts: Mapping[int, float] = MappingProxyType({})
    tensor: TensorMemory = TensorMemory()
    repeated: Mapping[SourceLocation, float] = MappingProxyType({})

    def duration(
        self,
        instructions: Sequence[Instruction],
        flow: Cfg,
        path: Path,
        control: Sequence[Control],
    ) -> float:
        """Return the cycles that a CTA takes if all its warps take a path.

        Args:
            instructions: The kernel's.
            flow: Its control flow.
            path: The path.
            control: The control fields of each of the instructions.
        """
        clock = _Clock(self.timing.port)
        blocks: dict[int, list[_Timed]] = {}
        for segment in path.segments:
            for number in segment.blocks:
                if number not in blocks:
                    blocks[number] = [
                        self._timed(index, instructions[index], control[index])
                        for index in flow.blocks[number].indices
                    ]
            code = [each for number in segment.blocks for each in blocks[number]]
            clock.repeat(code, segment.times)
        return clock.end()

    def _timed(self, index: int, instruction: Instruction, control: Control) -> _Timed:
        per_scheduler = max(1.0, self.warps / self.partitions)
        event, argument = self._event(instruction)
        number, cycles = self._occupied(instruction, per_scheduler)
        shared = self._shared_cycles(instruction, self.wavefronts.get(index))
        if index in self.tensor.barriers:
            event = "signal" if instruction.opcode == "UTCBAR" else "await signal"
            argument = self.tensor.barriers[index]
        if index in self.tensor.products:  # one for the whole CTA
            product = self.tensor.products[index]
            cycles, shared = product.multiply_adds / self.multiply_adds, product.shared_cycles
            event, argument = "tensor product", self.timing.product
        latency = self._latency(instruction)
        return _Timed(
            stall=max(per_scheduler, control.stall),
            wait=tuple(bit for bit in range(6) if control.wait >> bit & 1),
            write=-1 if control.write is None else control.write,
            read=-1 if control.read is None else control.read,
            latency=latency,
            source=self.timing.source,
            unit=number,
            cycles=cycles,
            shared=shared,
            bytes=self._bytes(instruction),
            event=event,
            argument=argument,
            alone=self._alone(instruction, latency),
        )

    def _alone(self, instruction: Instruction, latency: float) -> float:
        if instruction.opcode not in units.GLOBAL_LOADS or not instruction.locations:
            return latency
        part = self.repeated.get(instruction.locations[0], 0.0)
        return latency + (self.timing.l1 - latency) * part

    def _occupied(self, instruction: Instruction, per_scheduler: float) -> tuple[int, float]:
        kind, timing = units.unit(instruction), self.timing
        if kind == "tensor":
            return 4, tensor_cycles(instruction, timing, self.multiply_adds) * self.warps
        if kind == "lsu":
            return 3, self._access_cycles(instruction) * self.warps
        cost = {"alu": timing.alu, "fma": timing.fma, "xu": timing.xu}.get(kind)
        if cost is None:
            return -1, 0.0
        return _UNITS.index(kind), cost * per_scheduler * units.issues(instruction)

    def _access_cycles(self, instruction: Instruction) -> float:
        if instruction.opcode in units.SHARED:
            return units.shared_wavefronts(instruction) * self.timing.lsu
        return self.timing.lsu

    def _shared_cycles(self, instruction: Instruction, wavefronts: float | None) -> float:
        if instruction.opcode == "UTMALDG":
            return self.bulk_bytes / units.WAVEFRONT
        return units.shared_cycles(instruction, wavefronts) * self.warps

    def _bytes(self, instruction: Instruction) -> float:
        opcode = instruction.opcode
        if opcode in units.GLOBAL_LOADS:
            asked = 32 * units.lane_bytes(instruction)
            return asked * self.warps * self.request_bytes
        return self.bulk_bytes if opcode == "UTMALDG" else 0.0

    def _latency(self, instruction: Instruction) -> float:
        opcode, timing = instruction.opcode, self.timing
        if opcode in units.GLOBAL_LOADS:
            return self.memory
        if opcode in units.LOCAL:
            return timing.l1
        if opcode in units.SHARED or opcode == "LDTM":
            return timing.shared
        if opcode == "SHFL":
            return timing.shuffle
        if opcode in ("LDC", "ULDC", "LDCU", "S2R", "S2UR", "CS2R", "R2UR", "B2R"):
            return timing.constant
        return timing.special

    def _event(self, instruction: Instruction) -> tuple[str, float]:
        opcode, modifiers = instruction.opcode, instruction.modifiers
        texts = [operand.text for operand in instruction.operands]
        match opcode:
            case "LDGSTS":
                return "copy", 0.0
            case "LDGDEPBAR":
                return "commit", 0.0
            case "DEPBAR" if "LE" in modifiers and len(texts) > 1:
                return "await", _number(texts[1])
            case "BAR" if "ARV" not in modifiers:
                return "barrier", self.timing.barrier
            case "MEMBAR" if _FENCED & set(modifiers):
                return "fence", self.timing.l2
            case _ if opcode in _WRITES:
                return "write", self.timing.l2
            case "HGMMA" | "QGMMA" | "IGMMA" | "BGMMA":
                return ("last product" if "gsb0" in texts else "product"), self.timing.product
            case "WARPGROUP" if "DEPBAR" in modifiers:
                return "await products", _number(texts[-1])
            case "SYNCS" if "ARRIVE" in modifiers and "TRANS64" in modifiers:
                return "expect", 0.0
            case "UTMALDG":
                return "bulk", self.memory + self.timing.bulk
            case "SYNCS" if "PHASECHK" in modifiers:
                return "await bulk", 0.0
        return "", 0.0


def tensor_cycles(instruction: Instruction, timing: Timing, multiply_adds: float) -> float:
    """Return the cycles for which a warp's product occupies the tensor cores of its SM."""
    grouped = instruction.opcode.endswith("GMMA")
    rate = multiply_adds if grouped else multiply_adds * timing.warp_products
    return units.multiply_adds(instruction) / rate


def _number(text: str) -> float:
    try:
        return float(int(text, 0))
    except ValueError:
        return 0.0


class _Clock:
    """The time of a CTA, when its units are free, and what it has in flight."""

    def __init__(self, memory: float) -> None:
        self.now = 0.0
        self.memory = memory
        self.ready = [0.0] * 8
        self.free = [0.0] * (len(_UNITS) + 1)
        self.arrived = 0.0
        self.loaded = 0.0
        self.open = 0.0
        self.written = 0.0
        self.groups: list[float] = []
        self.products: list[float] = []
        self.bulk: list[float] = []
        self.multiplied = 0.0
        self.signals: dict[float, list[float]] = {}

    def repeat(self, code: list[_Timed], times: int) -> None:
        """Run code so many times; after some rounds the last ones stand for all others."""
        half = _ROUNDS // 2
        begun = self.now
        for done in range(times):
            if done == half:
                begun = self.now
            if done >= _ROUNDS:
                self._advance((self.now - begun) / (_ROUNDS - half) * (times - done))
                return
            for each in code:
                self._issue(each)

    def _advance(self, cycles: float) -> None:
        self.now += cycles
        self.arrived += cycles
        self.loaded += cycles
        self.open += cycles
        self.written += cycles
        self.multiplied += cycles
        lists = (self.ready, self.free, self.groups, self.products, self.bulk)
        for times in (*lists, *self.signals.values()):
            times[:] = [each + cycles for each in times]

    def _issue(self, each: _Timed) -> None:
        now = self.now
        for bit in each.wait:
            now = max(now, self.ready[bit])
        if each.event:
            now = self._wait(each, now)
        done = now
        if each.unit >= 0:
            begun = max(now, self.free[each.unit])
            done = self.free[each.unit] = begun + each.cycles
            if not each.event.endswith(
                "product"
            ):  # products of warp groups queue, the warp goes on
                now = max(now, begun)
        if each.shared:
            self.free[_SHARED] = max(now, self.free[_SHARED]) + each.shared
            done = max(done, self.free[_SHARED])
        read, latency = done, each.latency
        if each.bytes:
            latency = each.alone if now >= self.loaded else each.latency
            self.arrived = max(self.arrived, done) + each.bytes / self.memory
            done = self.arrived
            self.loaded = max(self.loaded, done + latency)
        if each.event:
            self._record(each, done)
        if each.write >= 0:
            self.ready[each.write] = max(self.ready[each.write], done + latency)
        if each.read >= 0:
            self.ready[each.read] = max(self.ready[each.read], read + each.source)
        self.now = now + each.stall

    def _wait(self, each: _Timed, now: float) -> float:
        match each.event:
            case "barrier":
                return now + each.argument
            case "fence":
                return max(now, self.written) + each.argument
            case "await":
                return max(now, _retired(self.groups, int(each.argument)))
            case "await products":
                return max(now, _retired(self.products, int(each.argument)))
            case "await bulk" if self.bulk:
                return max(now, self.bulk.pop(0))
            case "await signal" if self.signals.get(each.argument):
                return max(now, self.signals[each.argument].pop(0))
        return now

    def _record(self, each: _Timed, done: float) -> None:
        match each.event:
            case "copy":
                self.open = max(self.open, done + each.latency)
            case "write":
                self.written = max(self.written, done + each.argument)
            case "commit":
                before = self.groups[-1] if self.groups else 0.0
                self.groups.append(max(self.open, before))
                self.open = 0.0
            case "last product":
                self.products.append(done + each.argument)
            case "tensor product":
                self.multiplied = done + each.argument
            case "signal":
                self.signals.setdefault(each.argument, []).append(max(done, self.multiplied))
            case "expect":
                self.bulk.append(done)
            case "bulk":
                if not self.bulk:
                    self.bulk.append(done)
                self.bulk[-1] = max(self.bulk[-1], done + each.argument)

    def end(self) -> float:
        """Return the cycle in which the CTA has ended."""
        return max(self.now, *self.free)


def _retired(groups: list[float], outstanding: int) -> float:
    """Remove all groups but so many, and return when the last of them was complete."""
    done = len(groups) - outstanding
    if done <= 0:
        return 0.0
    last = max(groups[:done])
    del groups[:done]
    return last
