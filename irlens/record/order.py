"""What the process that runs the program is told, and where it leaves its notes."""

import msgspec

from irlens.compiler.fake_cuda import Deviations
from irlens.model.config import Target

#: The module that carries an order out.
RUNNER = "irlens.record.runner"
#: A JSON ``Launch`` a line.
LAUNCHES = "launches.jsonl"
#: A JSON ``Ending``; missing where the process was killed.
ENDING = "ending.json"


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """How to run a program.

    Attributes:
        program: A script's path, or a module's name.
        is_module: Whether it is a module's.
        arguments: What the program gets.
        notes: The directory for notes.
        target: The GPU to pretend; ``None`` launches on the one that is there.
        sm_count: Its SMs (AMD: compute units), where known.
        name: Its name as its driver has it.
        pythonpath: The user's own ``PYTHONPATH``.
    """

    program: str
    is_module: bool
    arguments: tuple[str, ...]
    notes: str
    target: Target | None
    sm_count: int | None
    name: str
    pythonpath: str | None


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """How a run of the program ended, as far as it was not killed.

    Attributes:
        liberties: What was done otherwise than on a GPU.
        stopped: The place, and what was asked for there, if the program ended over a value that
            nobody has computed.
    """

    liberties: Deviations = msgspec.field(default_factory=Deviations)
    stopped: str | None = None
