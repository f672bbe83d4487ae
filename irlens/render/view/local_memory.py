"""What lies in a thread's own memory: spilled registers, and arrays under their own name."""

from irlens.model.report import Report
from irlens.model.resources import LocalArray
from irlens.model.text import size

#: Bytes that a stack frame is rounded up to a multiple of.
_FRAME_UNIT = 16
_ORIGINS = {
    "trigonometry": "for the slow path of sin, cos or tan",
    "arguments": "for the arguments of device_print",
    "indexed": "that is indexed at run time",
}
_MOST_LINES = 3


def spills_known(report: Report) -> bool | None:
    """Whether registers are spilled to memory; ``None`` where that is not known."""
    held = report.resources
    if held.vgpr_spills or report.spills:
        return True
    if report.spills is not None or held.local_bytes == 0 or held.vgpr_spills == 0:
        return False
    arrays = sum(each.bytes or 0 for each in report.local_arrays)
    room = -(-arrays // _FRAME_UNIT) * _FRAME_UNIT
    declared = "ptx" in report.stages and "calls" not in report.unknown
    if held.local_bytes is None or not declared or held.local_bytes <= room:
        return None
    return True


def describe_array(array: LocalArray) -> str:
    """Return "array of 28 B for the slow path of sin, cos or tan at k.py:8"."""
    extent = f" of {size(array.bytes)}" if array.bytes is not None else ""
    lines = [str(each) for each in array.sources[:_MOST_LINES]]
    more = " and elsewhere" if len(array.sources) > _MOST_LINES else ""
    place = f" at {', '.join(lines)}{more}" if lines else ""
    return f"array{extent} {_ORIGINS[array.origin]}{place}"
