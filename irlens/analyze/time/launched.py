"""The paths that the warps of a launch take, a sample of its programs standing for all."""

import struct
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import chain, product
from math import prod

import msgspec

from irlens.analyze.time.barriers import BarrierUses
from irlens.analyze.time.dataflow import UnknownPathError
from irlens.analyze.time.loop_runs import Path
from irlens.analyze.time.paths import PathFinder
from irlens.analyze.time.shared_wavefronts import Wavefronts, mean_wavefronts
from irlens.analyze.time.shared_wavefronts import wavefronts as shared_wavefronts
from irlens.analyze.time.tensor_memory import Product, products_of
from irlens.artifacts.cubin import Code, Kernel
from irlens.isa.sass.operands import SPECIAL, TABLES, WORD, ThreadInputs
from irlens.isa.sass.timing import is_bulk_copy

#: Programs to follow where their paths may differ; more where tensor contents decide the paths.
_SAMPLE, _SAMPLE_BY_DATA = 16, 64
#: The first program, in x, y and z.
FIRST = (0, 0, 0)
#: For each axis: the fractions of its multiples spread evenly over 0..1, however many there are.
_STEPS = (5**0.5 / 2, 2**0.5, 3**0.5)
_WARP = 32
#: An address for pointers: any that is aligned, and far from what counts can reach.
_ADDRESS = 0x7F00_0000_0000
#: Where constant bank 0 holds the sizes of block and grid, before its parameters and from sm_100.
_SIZES, _SIZES_SM100 = (0x0, 0xC), (0x360, 0x370)


class WarpPath(msgspec.Struct, frozen=True):
    """A path and what takes it.

    Attributes:
        warps: Warps of the launch that take it; a fraction where programs stand for others.
        of_cta: Warps of one CTA that take it.
        first: The first of these warps.
        counts: How often each block runs, whichever lanes run it.
        diverges: Whether its first and last lane part: lanes then have paths of their own.
    """

    path: Path
    warps: float
    of_cta: int
    first: int
    counts: Mapping[int, int]
    diverges: bool = False


class Arguments(msgspec.Struct, frozen=True):
    """A launch as its kernel sees it.

    Attributes:
        names: Names of the kernel's parameters, in order, as the ttir has them.
        values: Numbers by name; what is not a number is taken to be a pointer.
        contents: What tensors hold, by name, where the user or the recording gives it.
    """

    names: tuple[str, ...]
    values: Mapping[str, int | float]
    grid: tuple[int, int, int]
    warps: int
    contents: Mapping[str, bytes] = {}


def constants(kernel: Kernel, arguments: Arguments) -> dict[int, int]:
    """Return constant bank 0 of a launch: the sizes of block and grid, and the parameters.

    The kernel's jump tables in bank 2 follow from ``TABLES`` on.
    """
    base = _parameter_base(kernel)
    block_at, grid_at = _SIZES_SM100 if base > _SIZES_SM100[1] else _SIZES
    words = {}
    block = (arguments.warps * _WARP, 1, 1)
    for axis in range(3):
        words[block_at + 4 * axis] = block[axis]
        words[grid_at + 4 * axis] = arguments.grid[axis]
    for parameter in kernel.parameters:
        at = parameter.ordinal
        name = arguments.names[at] if at < len(arguments.names) else ""
        bits = _bits(arguments.values.get(name), parameter.size, at)
        words[base + parameter.offset] = bits & WORD
        if parameter.size > 4:
            words[base + parameter.offset + 4] = bits >> 32 & WORD
    whole = len(kernel.jump_tables) // 4 * 4
    for at, (word,) in enumerate(struct.iter_unpack("<I", kernel.jump_tables[:whole])):
        words[TABLES + 4 * at] = word
    return words


def inputs(kernel: Kernel, arguments: Arguments) -> ThreadInputs:
    """Return what all threads of a launch can read of it."""
    memory = tuple(
        (_bits(None, 8, ordinal), arguments.contents[name])
        for ordinal, name in enumerate(arguments.names)
        if name in arguments.contents
    )
    return ThreadInputs(constants(kernel, arguments), {}, memory)


def launch_of(
    machine: PathFinder, kernel: Kernel, arguments: Arguments, program: Sequence[int]
) -> ThreadInputs:
    """Return what all threads of a program can read of a launch.

    Raises:
        UnknownPathError: Its first warp hands others what to do, and its path is not known.
    """
    launch = inputs(kernel, arguments)
    if machine.handover is None:
        return launch
    first, last = _thread(launch, program, 0, 0), _thread(launch, program, 0, _WARP - 1)
    return ThreadInputs(launch.constants, {}, launch.memory, machine.handover.by(first, last))


def _parameter_base(kernel: Kernel) -> int:
    for attribute in kernel.attributes:
        if attribute.code == Code.PARAM_CBANK and len(attribute.value) >= 8:
            return int(struct.unpack_from("<H", attribute.value, 4)[0])
    return 0x160


def _bits(value: float | None, size: int, ordinal: int) -> int:
    if value is None:
        return _ADDRESS + (ordinal << 34)
    if isinstance(value, float):
        kind, whole = ("<d", "<Q") if size == 8 else ("<f", "<I")
        return int(struct.unpack(whole, struct.pack(kind, value))[0])
    return int(value) & (1 << 64) - 1


def follow(
    machine: PathFinder,
    kernel: Kernel,
    arguments: Arguments,
    programs: Sequence[Sequence[int]] = (),
) -> list[list[WarpPath]]:
    """Return the paths of a sample of CTAs, each path with the warps that take it.

    Args:
        programs: Those to follow; a sample of the grid if none is given.

    Raises:
        UnknownPathError: A branch depends on data, or a path is too long.
    """
    ctas = prod(arguments.grid)
    if not programs:
        most = _SAMPLE_BY_DATA if arguments.contents else _SAMPLE
        programs = sample(arguments.grid, most) if machine.varies_by_program else [FIRST]
    alike: list[list[int]] | None = None
    followed = []
    for program in programs:
        launch = launch_of(machine, kernel, arguments, program)
        groups = alike or ([[w] for w in range(arguments.warps)] if machine.varies_by_warp
                           else [list(range(arguments.warps))])  # fmt: skip
        found = [(group, *_warp(machine, launch, program, group[0])) for group in groups]
        merged: dict[Path, tuple[list[int], Counter[int], bool]] = {}
        for group, path, counts, diverges in found:
            merged.setdefault(path, ([], counts, diverges))[0].extend(group)
        alike = alike or [group for group, _, _ in merged.values()]
        followed.append([
            WarpPath(
                path, len(group) * ctas / len(programs), len(group), group[0], counts, diverges
            )
            for path, (group, counts, diverges) in merged.items()
        ])  # fmt: skip
    return followed


def sample(grid: tuple[int, int, int], most: int = _SAMPLE) -> list[tuple[int, ...]]:
    """Return programs that stand for all of a grid, as numbers in x, y and z.

    The first axis that has several is cut into equal parts with one program each, since work may
    grow along it. Where in its part a program lies, and on the other axes, follows no period, since
    work may repeat with any.

    Args:
        most: How many of them at most.
    """
    if prod(grid) <= most:
        return list(product(*map(range, grid)))
    cut = next(axis for axis, size in enumerate(grid) if size > 1)
    programs = []
    for index in range(most):
        shares = [(index * step + 0.5) % 1 for step in _STEPS]
        shares[cut] = (index + shares[cut]) / most
        programs.append(tuple(int(size * share) for size, share in zip(grid, shares, strict=True)))
    return programs


def wavefronts(
    machine: PathFinder,
    kernel: Kernel,
    arguments: Arguments,
    cta: Sequence[WarpPath],
) -> dict[int, Wavefronts]:
    """Return the wavefronts of accesses to shared memory by a warp, the mean over a CTA's paths.

    The first warp of a path stands for all of them.
    """
    return mean_of_cta(cta, wavefronts_of_warps(machine, kernel, arguments, cta))


def one_warp(_: WarpPath) -> int:
    """Return 1: the first warp of a path stands for all of them."""
    return 1


def all_warps(path: WarpPath) -> int:
    """Return the warps of a path: a guard may leave an access to one of them."""
    return path.of_cta


def wavefronts_of_warps(
    machine: PathFinder,
    kernel: Kernel,
    arguments: Arguments,
    cta: Sequence[WarpPath],
    warps: Callable[[WarpPath], int] = one_warp,
) -> list[list[dict[int, Wavefronts]]]:
    """Return the wavefronts of accesses to shared memory by the warps of each path of a CTA.

    Args:
        warps: ``one_warp`` or ``all_warps``: how many warps of a path to take.

    Returns:
        For each path and warp, by index of the instruction; absent where the lanes' addresses
        depend on data.
    """
    launch = launch_of(machine, kernel, arguments, FIRST)
    found = []
    for each in cta:
        taken = [lanes(launch, each.first + n) for n in range(warps(each))]
        found.append(
            [_of_lanes(machine, launches) for launches in taken]
            if each.diverges
            else shared_wavefronts(machine.data, each.path, list(chain.from_iterable(taken)))
        )
    return found


def mean_of_cta(
    cta: Sequence[WarpPath], found: Sequence[Sequence[dict[int, Wavefronts]]]
) -> dict[int, Wavefronts]:
    """Return the mean wavefronts of each access over the warps of a CTA.

    Args:
        found: Those of the warps of each path, all or some that stand for them.
    """
    weighted: dict[int, list[tuple[Wavefronts, int]]] = {}
    for each, of_warps in zip(cta, found, strict=True):
        for of_warp in of_warps:
            for index, one in of_warp.items():
                weighted.setdefault(index, []).append((one, each.of_cta // len(of_warps)))
    return {index: mean_wavefronts(each) for index, each in weighted.items()}


def _of_lanes(machine: PathFinder, launches: Sequence[ThreadInputs]) -> dict[int, Wavefronts]:
    """Return the wavefronts of a warp's accesses, each by the lanes that come to it."""
    paths: dict[Path, int] = {}
    active: dict[int, int] = {}
    for lane, one in enumerate(launches):
        path = machine.follow(one)
        paths[path] = paths.get(path, 0) | 1 << lane
    for path, mask in paths.items():
        for block in path.counts():
            active[block] = active.get(block, 0) | mask
    found: dict[int, Wavefronts] = {}
    for path in sorted(paths, key=lambda each: -each.counts().total()):
        found = shared_wavefronts(machine.data, path, launches, active)[0] | found
    return found


def tensor_memory_products(
    machine: PathFinder,
    kernel: Kernel,
    arguments: Arguments,
    followed: Sequence[Sequence[WarpPath]],
) -> dict[int, Product]:
    """Return the products in tensor memory of a launch, by index of the instruction.

    Raises:
        UnknownPathError: Their sizes, or which warps issue them, are not known.
    """
    products = machine.tensor_memory_products
    if not products:
        return {}
    launch = launch_of(machine, kernel, arguments, FIRST)
    issuing = {
        each.path: _thread(launch, FIRST, each.first, 0)
        for each in chain.from_iterable(followed)
        if any(not products.isdisjoint(machine.flow.blocks[n].indices) for n in each.counts)
    }
    if not issuing:
        raise UnknownPathError("which warps issue products in tensor memory is unknown")
    return products_of(machine.data, issuing)


def barrier_uses(
    machine: PathFinder,
    kernel: Kernel,
    arguments: Arguments,
    followed: Sequence[Sequence[WarpPath]],
) -> BarrierUses | None:
    """Return what a launch's warps do to barriers, where that has to be followed; else ``None``.

    It has to where warps work for others, and where products in tensor memory tell by a barrier
    that they are done. Elsewhere the order of copies and waits tells which wait is for which copy,
    but not where a loop of copies is entered again: the guards of its last rounds leave out copies,
    and each time more of them seem to be under way.
    """
    if not must_follow_barriers(machine) and not _copies_in_inner_loop(machine):
        return None
    launch = launch_of(machine, kernel, arguments, FIRST)
    first = {each.path: each.first for cta in followed for each in cta}
    threads = {path: _thread(launch, FIRST, warp, 0) for path, warp in first.items()}
    return BarrierUses(machine.data, threads)


def must_follow_barriers(machine: PathFinder) -> bool:
    """Whether nothing but its barriers tells how long a kernel's warps wait."""
    return machine.handover is not None or bool(machine.tensor_memory_products)


def _copies_in_inner_loop(machine: PathFinder) -> bool:
    """Whether a loop within another one copies tiles."""
    instructions, flow = machine.section.instructions, machine.flow
    return any(
        flow.forest.depth(number) > 1
        for number, block in enumerate(flow.blocks)
        if any(is_bulk_copy(instructions[index]) for index in block.indices)
    )


def lanes(launch: ThreadInputs, warp: int) -> list[ThreadInputs]:
    """Return what each lane of a warp of the first program can read of its launch."""
    return [_thread(launch, FIRST, warp, lane) for lane in range(_WARP)]


def _thread(launch: ThreadInputs, program: Sequence[int], warp: int, lane: int) -> ThreadInputs:
    """Return what a lane can read of its launch, its special registers among it."""
    special = dict(zip(SPECIAL, (*program, warp * _WARP + lane, 0, 0, lane, 0), strict=True))
    return ThreadInputs(launch.constants, special, launch.memory, launch.shared)


def _warp(
    machine: PathFinder, launch: ThreadInputs, program: Sequence[int], warp: int
) -> tuple[Path, Counter[int], bool]:
    """Return the longest path of a warp's lanes, the blocks that any runs, and if lanes part."""
    best = machine.follow(_thread(launch, program, warp, 0))
    counts = own = best.counts()
    diverges = False
    if machine.varies_by_warp:
        last = machine.follow(_thread(launch, program, warp, _WARP - 1))
        diverges = last != best
        if diverges:
            others = last.counts()
            counts = own | others
            best = last if others.total() > own.total() else best
    return best, counts, diverges
