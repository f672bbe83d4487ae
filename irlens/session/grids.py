"""Sweeps: from what the user named to a compiled grid, and to the finished record."""

import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from irlens.model.config import number_of
from irlens.model.errors import IrlensError
from irlens.model.text import count
from irlens.session import Configurations, is_compiled
from irlens.session.session import Session
from irlens.session.values import read_values, split_values

if TYPE_CHECKING:  # they load the compiler layer
    from irlens.compiler import Request
    from irlens.model.sweep import SampledSizes, Sweep
    from irlens.sweeps.measuring import Progress
    from irlens.sweeps.run import CompiledGrid
    from irlens.sweeps.selection import Selection
    from irlens.sweeps.worker_pool import WorkerPool

#: Planning more configurations takes minutes.
_MAX_CONFIGURATIONS = 100_000
#: Most sizes that a range is reduced to, the number of them in each octave, and what divides them:
#: Triton compiles other code for other sizes.
_MAX_SIZES, _OF_OCTAVE, _MULTIPLE = 1000, 64, 16
_LARGEST = 10**18
#: Sizes of a sweep that are compiled one by one.
_EACH = 64


def requests_of(
    session: Session, kernel: str, configurations: Configurations
) -> "Sequence[Request]":
    """Return the requests of a sweep, which are all of one kernel.

    Raises:
        IrlensError: KERNEL cannot be compiled, nothing or too much varies, or it holds several.
    """
    compilers = [configurations.targets or (None,), configurations.tritons or (None,)]
    settings = (*configurations.settings, *configurations.args)
    number = math.prod(len(values) for values in (*compilers, *(v for _, v in settings)))
    if number > _MAX_CONFIGURATIONS:
        raise IrlensError(
            f"{count(number)} configurations exceed the limit of {count(_MAX_CONFIGURATIONS)}",
            hint="name fewer values: --where does not reduce this number",
        )
    requests = list(session.requests(kernel, configurations))
    require_one_kernel(kernel, requests)
    if len(requests) == 1 and is_compiled(kernel) and configurations.is_empty:
        raise IrlensError(
            f"{kernel} holds one configuration, and no option says what to vary",
            hint="vary something (--num-stages 2,3,4), or use `irlens inspect`",
        )
    return requests


def require_one_kernel(kernel: str, requests: "Sequence[Request]") -> None:
    """Raise ``IrlensError`` if KERNEL, as the user wrote it, holds several kernels."""
    if len({request.kernel for request in requests}) > 1:
        raise IrlensError(f"{kernel} holds several kernels", hint=name_one(kernel))


def name_one(kernel: str) -> str:
    """Return the hint for a KERNEL that holds several captures where one is needed."""
    first = min(Path(kernel).glob("*/"), default=None)
    return "name one of its captures" + (f", such as {first}" if first is not None else "")


def compile_sweep(
    session: Session,
    requests: "Sequence[Request]",
    selection: "Selection",
    workers: "WorkerPool",
    progress: "Progress" = lambda *_: None,
    *,
    timeout: float | None = None,
) -> "CompiledGrid":
    """Compile a grid with workers, which are stopped at the end; see ``sweep.run.compile_grid``.

    Raises:
        IrlensError: See ``compile_grid``, or a Triton cannot be installed.
    """
    from irlens.sweeps.run import compile_grid

    try:
        session.prepare(requests)
        grid = compile_grid(requests, workers, selection, progress, timeout=timeout or math.inf)
    finally:
        workers.stop()
    session.note_once(grid.notes)
    return grid


def sweep(
    session: Session,
    kernel: str,
    configurations: Configurations,
    selection: "Selection",
    *,
    jobs: int | None = None,
) -> "Sweep":
    """Return the sweep of every configuration of KERNEL that is selected, without measuring.

    Over many sizes, from which nothing is selected, it is the time over the size.

    Raises:
        IrlensError: See ``requests_of`` and ``compile_sweep``.
    """
    from irlens.sweeps.run import build_sweep
    from irlens.sweeps.worker_pool import LocalPool

    if not selects(selection) and samples_sizes(configurations):
        return time_over_sizes(session, kernel, configurations, jobs=jobs)
    requests = requests_of(session, kernel, with_listed_values(configurations))
    grid = compile_sweep(session, requests, selection, LocalPool(jobs))
    with grid.journal:
        grid.journal.remove()
    return build_sweep(grid, selection)


def selects(selection: "Selection") -> bool:
    """Whether results are selected, or ranked, by figures that need each compiled in full."""
    chosen = (selection.where, selection.filters, selection.sort, selection.top)
    return any(chosen) or selection.rank not in (None, "time")


def varied_size(configurations: Configurations) -> str | None:
    """Return the size that ranges, as its values are written; ``None`` if none does, or several.

    A list of more numbers than are compiled one by one is like a range.
    """

    def ranges(values: Sequence[str]) -> bool:
        is_long = len(values) > _EACH and all(each.strip().isdecimal() for each in values)
        return is_long or any(".." in each for each in values)

    ranging = [name for name, values in configurations.args if ranges(values)]
    return ranging[0] if len(ranging) == 1 else None


def samples_sizes(configurations: Configurations) -> bool:
    """Whether more sizes are asked for than are compiled one by one."""
    axis = varied_size(configurations)
    if axis is None:
        return False
    values = dict(configurations.args)[axis]
    return bool(values) and number_of(read_values(values)) > _EACH


def with_listed_values(configurations: Configurations) -> Configurations:
    """Return configurations with every range of an argument as its numbers.

    Raises:
        IrlensError: A range descends or is too long.
    """
    listed = [
        (name, split_values(",".join(values)) if values else ())
        for name, values in configurations.args
    ]
    return msgspec.structs.replace(configurations, args=tuple(listed))


def sizes_between(values: Sequence[str]) -> "tuple[list[int], SampledSizes]":
    """Return the sizes to choose from, ascending, of values as they are written.

    Raises:
        IrlensError: One is not a positive whole number, or there are fewer than two.
    """
    from irlens.model.sweep import SampledSizes

    sizes: set[int] = set()
    multiple = 1
    for each in read_values(values):
        if not isinstance(each, range):
            sizes.add(_size(each))
        elif each.start < 1:
            raise IrlensError(f"{each.start} is not a size: it is at least 1")
        elif each.stop > _LARGEST:
            raise IrlensError("a size has at most 18 digits")
        elif len(each) <= _MAX_SIZES:
            sizes.update(each)
        else:
            multiple = math.lcm(_MULTIPLE, each.step)
            sizes.update(_spread(each, multiple))
    if len(sizes) < 2:
        raise IrlensError("a range of sizes holds two or more")
    found = sorted(sizes)
    return found, SampledSizes(
        first=found[0], last=found[-1], number=len(found), multiple_of=multiple
    )


def _spread(numbers: range, multiple: int) -> Iterator[int]:
    """Yield multiples in a long range, about equally many in each octave."""
    size = -(-numbers.start // multiple) * multiple
    while size < numbers.stop:
        yield size
        octave = 1 << (size.bit_length() - 1)
        size += max(octave // _OF_OCTAVE // multiple, 1) * multiple


def _size(text: str) -> int:
    if len(text) >= len(str(_LARGEST)):
        raise IrlensError("a size has at most 18 digits")
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise IrlensError(f"'{text}' is not a size: write numbers or a range, such as 256..16384")
    return int(text)


def time_over_sizes(
    session: Session,
    kernel: str,
    configurations: Configurations,
    *,
    jobs: int | None = None,
    progress: "Callable[[int, int], None]" = lambda done, most: None,
) -> "Sweep":
    """Return the estimated times of KERNEL over the size that ranges.

    Args:
        configurations: The configurations, one of whose arguments has several values, or a range
            as it is written.
        jobs: Worker processes; as many as there are processors if not given.

    Raises:
        IrlensError: KERNEL cannot be compiled, or no size ranges.
    """
    from irlens.sweeps import size_times

    lists = [name for name, values in configurations.args if len(values) > 1]
    axis = varied_size(configurations) or (lists[0] if len(lists) == 1 else None)
    if axis is None:
        raise IrlensError("one size ranges at a time: write --arg n=256..16384")
    sizes, sampled = sizes_between(dict(configurations.args)[axis])
    args = tuple(
        (name, tuple(map(str, sizes)) if name == axis else values)
        for name, values in configurations.args
    )
    requests = requests_of(session, kernel, msgspec.structs.replace(configurations, args=args))
    with session.workers(requests, jobs) as pool:
        sweep, notes = size_times.time_over_sizes(requests, axis, sampled, pool, progress)
    session.note_once(notes)
    return sweep
