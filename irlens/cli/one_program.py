"""``irlens inspect --program``: the offsets and masks of one program's accesses."""

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

import click

from irlens.cli import Exit, output
from irlens.model.errors import CaptureError
from irlens.model.text import printable

if TYPE_CHECKING:  # running the command loads them
    from irlens.cli.writing import ReportOptions
    from irlens.model.capture import Capture
    from irlens.model.program import Program, ProgramAccess
    from irlens.model.report import Report

_HEADER = ("Line", "Operation", "Argument", "Shape", "First", "Last", "Strides", "Active", "Runs",
           "Step")  # fmt: skip


def parse_program(text: str) -> tuple[int, int, int]:
    """Return the place in the grid that "3" or "3,0,1" names.

    Raises:
        UsageError: It names none.
    """
    parts = [part.strip() for part in text.split(",")]
    if len(parts) > 3 or not all(part.isdecimal() for part in parts):
        raise click.UsageError(f"--program {text}: write a program's number, or x,y,z")
    x, y, z = (*map(int, parts), 0, 0)[:3]
    return x, y, z


def show(
    inspected: "Sequence[tuple[Capture | None, Report]]",
    program: tuple[int, int, int],
    options: "ReportOptions",
) -> Exit:
    """Print what one program of each launch accesses.

    Raises:
        CaptureError: A launch is unknown, or has no such program.
        UsageError: The format is neither text nor JSON.
    """
    if options["form"] not in ("text", "json"):
        raise click.UsageError("--program prints text or json: remove --format, or choose one")
    found = [_evaluated(capture, report, program) for capture, report in inspected]
    if options["form"] == "json":
        output.write_json(found, options["destination"])
    else:
        output.write("\n".join(map(describe, found)), options["destination"])
    return Exit.OK


def describe(found: "Program") -> str:
    """Return a program's accesses as a table."""
    place = ", ".join(map(str, found.program))
    programs = " × ".join(f"{extent:,}" for extent in found.grid)
    title = f"{printable(found.kernel)}, program ({place}) of {programs}\n"
    table = output.table(_HEADER, [_row(each) for each in found.accesses], right={4, 5, 7, 8, 9})
    reason = f"Unknown: {printable(found.reason)}\n" if found.reason else ""
    notes = "Offsets, strides and steps between runs in elements; offsets of the first run.\n"
    return title + (f"{table.rstrip()}\n{notes}" if found.accesses else "") + reason


def _evaluated(
    capture: "Capture | None", report: "Report", program: tuple[int, int, int]
) -> "Program":
    from irlens.analyze.program_accesses import program_accesses
    from irlens.isa.mlir import parse
    from irlens.model.program import Program

    grid = report.config.grid
    if capture is None or "ttir" not in capture.stages:
        raise CaptureError("--program needs a capture with its ttir")
    if grid is None or not report.config.args:
        raise CaptureError(f"the launch of {report.kernel} is unknown", hint="add --arg and --grid")
    if any(at >= extent for at, extent in zip(program, grid, strict=True)):
        raise CaptureError(
            f"{report.kernel} has no such program: its grid is {' × '.join(map(str, grid))},"
            f" {prod(grid):,} programs"
        )
    module = parse(capture.stages["ttir"].text(), stage="ttir")
    accesses, reason = program_accesses(module, report.config.args, grid, program)
    return Program(
        kernel=report.kernel, grid=grid, program=program, accesses=accesses, reason=reason
    )


def _row(access: "ProgramAccess") -> list[str]:
    lanes = prod(access.shape)
    return [
        printable(str(access.source or f"ttir:{access.line}")),
        access.operation.removeprefix("tt."),
        printable(access.argument),
        " × ".join(map(str, access.shape)) or "scalar",
        _number(access.first),
        _number(access.last),
        ", ".join(map(_number, access.strides)),
        f"{access.active:,} of {lanes:,}",
        f"{access.executions:,}",
        "" if access.executions == 1 else _number(access.step),
    ]


def _number(value: int | None) -> str:
    return "varies" if value is None else f"{value:,}"
