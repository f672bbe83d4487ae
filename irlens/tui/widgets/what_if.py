"""The occupancy panel: also for other registers, shared memory and warps."""

from collections.abc import Iterator
from typing import ClassVar, Protocol

import msgspec
from textual.binding import Binding, BindingType
from textual.content import Content

from irlens.model.errors import IrlensError
from irlens.model.report import Occupancy, OccupancyCurve, Report
from irlens.model.terms import Terms
from irlens.model.text import count, percent, plural, signed
from irlens.render.view.characters import draw_staircase
from irlens.render.view.drawings import staircase
from irlens.tui import panels
from irlens.tui.drawing import BAD, DIM, GOOD, MAIN, WARN, contents_of, lines
from irlens.tui.widgets import Panel

_MAX_WARPS = 32
_CURVE_HEIGHT = 3
#: Units per step, without and with shift.
_STEPS = {"registers": (1, 8), "shared_bytes": (256, 4096)}
_CURVES = {"registers": "registers", "shared_bytes": "shared_memory"}
#: The row that changes what a resource admits; more warps in a CTA fill an SM that is out of CTAs.
_ROWS = {"registers": 0, "shared_memory": 1, "warps": 2, "blocks": 2}


class Demand(msgspec.Struct, frozen=True, kw_only=True):
    """Registers per thread, shared memory per CTA in bytes, and warps per CTA."""

    registers: int
    shared_bytes: int
    num_warps: int


class ComputeOccupancy(Protocol):
    """Computes the occupancy for a demand, quickly; ``None`` if the GPU is unknown."""

    def __call__(self, *, registers: int, shared_bytes: int, num_warps: int) -> Occupancy | None:
        """Return the occupancy."""


class WhatIf(Panel):
    """The occupancy; the arrow keys change the kernel's demand.

    Attributes:
        demand: The demand on show; ``None`` if the occupancy is unknown.
        row: Index of the resource that the arrow keys change.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(key, action, description, id=f"what_if.{name}", show=False)
        for key, action, description, name in (
            ("j,down", "row(1)", "Next", "down"),
            ("k,up", "row(-1)", "Previous", "up"),
            ("l,right", "change(1)", "More", "more"),
            ("h,left", "change(-1)", "Less", "less"),
            ("L,shift+right", "change(1, True)", "Much more", "much_more"),
            ("H,shift+left", "change(-1, True)", "Much less", "much_less"),
            ("right_square_bracket", "cliff(1)", "Next cliff", "next_cliff"),
            ("left_square_bracket", "cliff(-1)", "Previous cliff", "previous_cliff"),
            ("0", "reset", "As compiled", "reset"),
        )
    ]

    def __init__(self) -> None:
        super().__init__("Occupancy", id="occupancy")
        self._report: Report | None = None
        self._compute: ComputeOccupancy | None = None
        self._compiled: Demand | None = None
        self.demand: Demand | None = None
        self.row = 0

    def show_report(self, report: Report, compute: ComputeOccupancy) -> None:
        """Show a report's occupancy."""
        self._report, self._compute = report, compute
        compiled = _compiled_demand(report)
        try:
            is_known = compiled is not None and self._occupancy_for(compiled) is not None
        except IrlensError:  # the capture was deleted: keep what is known
            is_known = False
        before, self._compiled = self._compiled, compiled if is_known else None
        # The report comes again with the disassembly: keep the user's demand then.
        if before is None or before != self._compiled:
            self.demand = self._compiled
            self.row = _limiting_row(report.occupancy)
        self.show(self._draw_all)

    def action_row(self, step: int) -> None:
        """Choose the resource to change."""
        names = Demand.__struct_fields__
        if not 0 <= self.row + step < len(names):
            self.screen.call_later(self.run_action, f"screen.scroll({step})")
            return
        self.row += step
        self.redraw()

    def action_change(self, step: int, far: int = 0) -> None:
        """Change the resource."""
        if self.demand is None:
            return
        name = Demand.__struct_fields__[self.row]
        value: int = getattr(self.demand, name)
        if name == "num_warps":
            value = value * 2 if step > 0 else value // 2
            self._set(name, min(max(value, 1), _MAX_WARPS))
            return
        unit = _STEPS[name][far]
        # To a multiple of the unit first: 24,592 goes to 24,576.
        value = value // unit * unit + unit if step > 0 else -(-value // unit) * unit - unit
        self._set(name, value)

    def action_cliff(self, step: int) -> None:
        """Change the resource just far enough that another number of CTAs fits."""
        name = Demand.__struct_fields__[self.row]
        curve = self._curve()
        if self.demand is None or curve is None:
            return
        value: int = getattr(self.demand, name)
        starts = [start for start, _ in curve.steps]
        # Up: to the first amount of the next step. Down: to the last amount of the previous one.
        if step > 0:
            reached = [start for start in starts if start > value]
            self._set(name, reached[0] if reached else value)
        else:
            reached = [start - 1 for start in starts if start - 1 < value and start > starts[0]]
            self._set(name, reached[-1] if reached else value)

    def action_reset(self) -> None:
        """Return to the compiled demand."""
        self.demand = self._compiled
        self.redraw()

    def _set(self, name: str, value: int) -> None:
        if self.demand is None:
            return
        curve = self._curve()
        if curve is not None:
            value = min(max(value, curve.steps[0][0]), curve.last)
        self.demand = msgspec.structs.replace(self.demand, **{name: value})
        self.redraw()

    def _curve(self) -> OccupancyCurve | None:
        """The curve of the chosen resource, with the rest of the demand as it is."""
        wanted = _CURVES.get(Demand.__struct_fields__[self.row])
        shown = self._shown()
        curves = shown.curves if shown is not None else []
        return next((curve for curve in curves if curve.resource == wanted), None)

    def _shown(self) -> Occupancy | None:
        if self.demand is None or self.demand == self._compiled:
            return self._report.occupancy if self._report is not None else None
        return self._occupancy_for(self.demand)

    def _occupancy_for(self, demand: Demand) -> Occupancy | None:
        if self._compute is None:
            return None
        return self._compute(**msgspec.structs.asdict(demand))

    def _draw_all(self, width: int) -> Content:
        report = self._report
        assert report is not None
        shown = self._shown()
        rows = [panels.occupancy(report, shown, width)]
        if self.demand is not None and shown is not None:
            terms = Terms(report)
            rows += [Content(""), self._headline(shown, terms), *self._rows(terms)]
            curve = self._curve()
            if curve is not None:
                value: int = getattr(self.demand, Demand.__struct_fields__[self.row])
                drawn = draw_staircase(staircase(curve, terms, at=value), width, _CURVE_HEIGHT)
                rows += contents_of(drawn)
        return lines(rows)

    def _headline(self, shown: Occupancy, terms: Terms) -> Content:
        before = self._report.occupancy if self._report is not None else None
        if before is None or self.demand == self._compiled:
            return Content.styled("what if?  ↑ ↓ select  ← → change  [ ] next cliff", DIM)
        gain = shown.theoretical - before.theoretical
        style = GOOD if gain > 0 else BAD if gain < 0 else DIM
        change = f"{percent(before.theoretical)} → {percent(shown.theoretical)}"
        blocks = f"{before.blocks_per_sm} → {plural(shown.blocks_per_sm, terms.block)}/{terms.sm}"
        return Content.assemble(("what if  ", WARN), (f"{change}  ", style), blocks)

    def _rows(self, terms: Terms) -> Iterator[Content]:
        titles = (
            f"registers/{terms.thread}",
            f"{terms.shared_memory} B/{terms.cta}",
            f"{terms.warp}s/{terms.cta}",
        )
        for number, (name, title) in enumerate(zip(Demand.__struct_fields__, titles, strict=True)):
            value: int = getattr(self.demand, name)
            compiled: int = getattr(self._compiled, name)
            here = number == self.row
            change = f"  {signed(value - compiled)}" if value != compiled else ""
            yield Content.assemble(
                ("▸ " if here else "  ", MAIN),
                (title.ljust(22), "" if here else DIM),
                (
                    f"{'◂' if here else ' '} {count(value):>9} {'▸' if here else ' '}",
                    MAIN if here else "",
                ),
                (change, WARN),
                (self._added_warps() if name == "num_warps" else "", DIM),
            )

    def _added_warps(self) -> str:
        """The warps that the compiler adds to the requested ones: they stay as they are."""
        occupancy = self._report.occupancy if self._report is not None else None
        if occupancy is None or not occupancy.blocks_per_sm or self._compiled is None:
            return ""
        added = occupancy.active_warps // occupancy.blocks_per_sm - self._compiled.num_warps
        return f"  + {added} added" if added else ""


def _limiting_row(occupancy: Occupancy | None) -> int:
    """Return the row of a resource that limits the occupancy, if possible one to save on."""
    if occupancy is None:
        return 0
    steps = [step.resource for step in occupancy.next_step if step.resource in occupancy.limited_by]
    rows = (_ROWS[name] for name in steps or occupancy.limited_by if name in _ROWS)
    return min(rows, default=0)


def _compiled_demand(report: Report) -> Demand | None:
    """The kernel's demand as compiled, in the amounts that occupancy is computed from."""
    if report.occupancy is None or report.config.num_warps is None:
        return None
    at = {curve.resource: curve.at for curve in report.occupancy.curves}
    if not {"registers", "shared_memory"} <= at.keys():
        return None
    return Demand(
        registers=at["registers"],
        shared_bytes=at["shared_memory"],
        num_warps=report.config.num_warps,
    )
