"""What a Python process does first that a recorded program starts."""

from pathlib import Path

import msgspec

from irlens.compiler.fake_cuda import Deviations
from irlens.compiler.import_hooks import after_import
from irlens.record.endings import Telling
from irlens.record.order import Order
from irlens.record.processes import STARTED, follow_processes


def join(order: str, token: str) -> None:
    """Carry out the order of the program's own process, as soon as there is something to watch.

    Args:
        order: The order, in JSON.
        token: What this process is called in the notes.
    """
    read = msgspec.json.decode(order, type=Order)
    notes = Path(read.notes)
    if not (notes / STARTED).exists():  # nobody waits for the program any more
        return
    (notes / STARTED / token).unlink(missing_ok=True)
    follow_processes(order, notes)
    carried_out = False

    def carry_out_once() -> None:
        nonlocal carried_out
        if carried_out:
            return
        carried_out = True
        from irlens.record.carrying_out import carry_out

        liberties = Deviations()
        carry_out(read, liberties)
        Telling(liberties, notes).at_end()

    after_import("triton", lambda module: carry_out_once())
    after_import("torch", lambda module: carry_out_once())
