"""Runs a launch, some programs at a time, and again with fewer where they are too many."""

from collections.abc import Callable, Iterator
from typing import TypeVar

from irlens.analyze.traffic.evaluation import Evaluation, Visitor, public_function
from irlens.analyze.traffic.launch import Launch
from irlens.analyze.traffic.loops import NotAffineError
from irlens.analyze.traffic.values import TooLargeError, UnknownTrafficError
from irlens.isa.mlir import Module

#: Programs that are evaluated at once: 1 MB for each array of a number.
_AT_ONCE = 1 << 17
_Visits = TypeVar("_Visits", bound=Visitor)


def run(
    module: Module, launch: Launch, programs: range, begin: Callable[[], _Visits]
) -> Iterator[tuple[_Visits, Evaluation]]:
    """Evaluate programs, and yield what was made of each part of them.

    Args:
        module: The kernel's ttir.
        programs: Numbers of the programs, x fastest.
        begin: Returns a visitor of the accesses of one part; it may be called again for the same
            part, whose first visitor is then dropped.

    Raises:
        UnknownTrafficError: A branch or a loop's bounds are not known, or too much is to be done.
    """
    function = public_function(module)
    stepwise: frozenset[int] = frozenset()
    at, step = programs.start, _AT_ONCE
    while at < programs.stop:
        visitor = begin()
        part = range(at, min(at + step, programs.stop))
        evaluation = Evaluation(module, launch, part, visitor, stepwise, at_once=step)
        try:
            evaluation.run(function)
        except NotAffineError as error:
            stepwise |= {error.operation}
            continue
        except TooLargeError:
            if step == 1:
                raise UnknownTrafficError("a tensor of addresses is too large") from None
            step = max(1, min(step, _AT_ONCE) // 4)
            continue
        yield visitor, evaluation
        at = part.stop
