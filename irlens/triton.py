"""Cuts the time of ``@triton.autotune``: only the configurations that irlens ranks first are timed.

One line is enough::

    from irlens.triton import early_config_prune


    @triton.autotune(
        configs=[...],
        key=["M", "N", "K"],
        prune_configs_by={"early_config_prune": early_config_prune},
    )
    @triton.jit
    def kernel(...): ...

Each tuning compiles its configurations in parallel, for the current GPU and with the arguments and
the grid of the call, and keeps the eight that are estimated to be the fastest; ``prune(top=4)`` in
place of ``early_config_prune`` keeps four, and ``prune(before=mine)`` ranks what a function of your
own leaves. The compilation runs in another process, which loads the kernel's file as
``irlens sweep`` does.
"""

import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from irlens.artifacts import processes
from irlens.artifacts.processes import Refused
from irlens.model.config import identity_of
from irlens.model.errors import IrlensError

if TYPE_CHECKING:  # the user's program has imported Triton; this module does without
    from irlens.compiler import Request
    from irlens.model.sweep import Trial

__all__ = ["early_config_prune", "prune"]

#: Configurations to keep by default.
_TOP = 8
#: A file whose import never ends, or hundreds of slow configurations, must not hold up a program.
_PATIENCE_S = 1800.0
#: Set in the process that compiles: the kernel's file may launch the kernel when it is loaded.
_COMPILING = "IRLENS_PRUNING"
_warned: set[str] = set()


class Job(msgspec.Struct, frozen=True):
    """What the child process is to rank."""

    requests: "list[Request]"
    top: int


class Kept(msgspec.Struct, frozen=True, tag="kept"):
    """The child's answer.

    Attributes:
        places: Which configurations to keep, in their order.
        reason: Why none could be ranked; empty if some were.
    """

    places: list[int]
    reason: str = ""


def prune(
    top: int = _TOP, *, before: Callable[..., list[Any]] | None = None
) -> Callable[..., list[Any]]:
    """Return an ``early_config_prune`` that keeps another number of configurations.

    Args:
        top: How many, at least one.
        before: An ``early_config_prune`` of your own: only what it leaves is compiled and ranked.
    """
    if top < 1:
        raise ValueError(f"prune(top={top}): at least one configuration has to stay")

    def early_config_prune(
        configs: list[Any], named_args: dict[str, Any], **kwargs: Any
    ) -> list[Any]:
        """Return the configurations with the shortest estimated times.

        Those that do not fit the GPU are dropped, and those whose time is unknown are kept. A
        failure of any kind keeps all and warns once: tuning then takes as long as without irlens.

        Args:
            named_args: The positional arguments of the call by name.
        """
        configs = list(configs if before is None else before(configs, named_args, **kwargs))
        planned = "grid" not in kwargs  # irlens asks for the configurations, nothing is launched
        if planned or len(configs) <= top or os.environ.get(_COMPILING):
            return configs
        try:
            # Triton does not pass the kernel, but the autotuner's own method is the caller.
            kept = _rank(sys._getframe(1).f_locals.get("self"), configs, named_args, kwargs, top)
        except IrlensError as error:
            _warn(error.message)
        except Exception as error:  # a bug of irlens must not break the user's program
            _warn(f"{type(error).__name__}: {error}")
        else:
            if kept.reason:
                _warn(kept.reason)
            return [configs[place] for place in kept.places] or configs
        return configs

    return early_config_prune


#: Keeps eight configurations; see ``prune``.
early_config_prune = prune()


def _rank(
    tuner: Any, configs: Sequence[Any], named_args: dict[str, Any], kwargs: dict[str, Any], top: int
) -> Kept:
    from irlens.compiler.triton_compat.tuning import tuned_requests

    if not hasattr(tuner, "base_fn"):
        raise IrlensError("early_config_prune was not called by triton.autotune")
    requests = tuned_requests(tuner, configs, named_args, kwargs)
    process = subprocess.run(
        processes.command(__name__),
        input=msgspec.json.encode(Job(requests, top)),
        capture_output=True,
        env=processes.environment(**{_COMPILING: "1"}),
        check=False,
        timeout=_PATIENCE_S,
        process_group=processes.group(),
    )
    try:
        answer = msgspec.json.decode(process.stdout, type=Kept | Refused)
    except msgspec.DecodeError:
        lines = process.stderr.decode("utf-8", "replace").split("\n")
        last = next((line for line in reversed(lines) if line.strip()), "")
        raise IrlensError(
            f"the compiling process ended with {process.returncode}: {last}"
        ) from None
    if isinstance(answer, Refused):
        raise IrlensError(answer.message, hint=answer.hint)
    return answer


def _warn(reason: str) -> None:
    if reason not in _warned:
        _warned.add(reason)
        warnings.warn(f"irlens keeps all configurations: {reason}", RuntimeWarning, stacklevel=4)


def select(trials: "Sequence[Trial]", top: int) -> Kept:
    """Return which configurations to keep.

    Args:
        trials: Their results, in their order.
        top: How many of those with an estimate to keep.
    """
    times = {n: trial.figure("time") for n, trial in enumerate(trials) if trial.outcome == "fits"}
    known = {n: time for n, time in times.items() if time is not None}
    if not known:
        failed = next((f": {each.reason}" for each in trials if each.reason), "")
        return Kept(list(range(len(trials))), f"their time is unknown{failed}")
    slow = sorted(known, key=lambda n: known[n])[top:]
    hopeless = [n for n, each in enumerate(trials) if each.outcome in ("does not fit", "died")]
    return Kept([n for n in range(len(trials)) if n not in {*slow, *hopeless}])


def _answer(job: Job) -> Kept | Refused:
    from irlens.sweeps.run import compile_grid
    from irlens.sweeps.selection import Selection
    from irlens.sweeps.worker_pool import LocalPool

    encoded = [identity_of(request) for request in job.requests]
    distinct = list(dict.fromkeys(encoded))  # an autotuner may have a configuration twice
    places = [distinct.index(each) for each in encoded]
    requests = [job.requests[encoded.index(each)] for each in distinct]
    pool = LocalPool(min(len(requests), processes.processors()))
    try:
        grid = compile_grid(requests, pool, Selection())
        with grid.journal:
            grid.journal.remove()
    except IrlensError as error:
        return Refused(error.message, error.hint)
    finally:
        pool.stop()
    if len(grid.trials) != len(requests):
        reason = f"{len(requests)} configurations compile to {len(grid.trials)} kernels"
        return Refused(reason)
    kept = select(grid.trials, job.top)
    return Kept([n for n, place in enumerate(places) if place in set(kept.places)], kept.reason)


def main() -> None:
    """Run the child process: rank the requests on stdin."""
    from irlens.compiler import Request

    with processes.answering() as stream:
        fields = msgspec.json.decode(sys.stdin.buffer.read())
        job = Job(msgspec.convert(fields["requests"], list[Request]), fields["top"])
        stream.write(msgspec.json.encode(_answer(job)))


if __name__ == "__main__":
    main()
