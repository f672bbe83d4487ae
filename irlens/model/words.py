"""The words for what a report holds, for whoever shows it to people."""

from irlens.model.memory import SharedBuffer
from irlens.model.report import Report
from irlens.model.text import size


class Words:
    """The vendor's own words for the same things: a block is AMD's workgroup, a warp its wave."""

    def __init__(self, report: Report) -> None:
        amd = report.target is not None and report.target.vendor == "amd"
        self.warp = "wave" if amd else "warp"
        self.block = "workgroup" if amd else "block"
        self.sm = report.occupancy.multiprocessor if report.occupancy else "SM"
        self.shared = "LDS" if amd else "Shared"
        self.cta = "workgroup" if amd else "CTA"
        self.thread = "lane" if amd else "thread"
        self._resources = {
            "warps": f"{self.warp}s",
            "blocks": f"{self.block}s",
            "shared_memory": "LDS" if amd else "shared memory",
        }

    def resource(self, name: str) -> str:
        """Return what a limit ("shared_memory") is called."""
        return self._resources.get(name, name)

    def unit(self, unit: str) -> str:
        """Return a unit of a ``NextStep`` or a ``Refusal``: "bytes/workgroup"."""
        amount, _, per = unit.partition("/")
        return f"{amount}/{ {'CTA': self.cta, 'thread': self.thread}.get(per, per) }"


def describe_buffer(buffer: SharedBuffer) -> str:
    """Return "3 × 4,096 B f32[1024] at softmax.py:50"."""
    tile = buffer.shape[1:] if buffer.copies > 1 else buffer.shape
    shape = f"{buffer.element}[{', '.join(map(str, tile))}]"
    if buffer.purpose == "barrier":
        shape = "barriers"
    place = str(buffer.source) if buffer.source else f"ttgir:{buffer.line}"
    if buffer.bytes is None:
        return f"{shape} of unknown size at {place}"
    if buffer.copies > 1 and buffer.bytes % buffer.copies == 0:
        return f"{buffer.copies} × {size(buffer.bytes // buffer.copies)} {shape} at {place}"
    return f"{size(buffer.bytes)} {shape} at {place}"
