"""``irlens inspect --program``: the offsets and masks of one program's accesses."""

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

import click

from irlens.cli import Exit, output
from irlens.cli.options import is_number
from irlens.model.errors import CaptureError
from irlens.model.text import printable

if TYPE_CHECKING:  # running the command loads them
    from irlens.cli.writing import Writing
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
    if len(parts) > 3 or not all(map(is_number, parts)):
        raise click.UsageError(f"--program {text[:60]}: write a program's number, or x,y,z")
    x, y, z = (*map(int, parts), 0, 0)[:3]
    return x, y, z


def show(
    inspected: "Sequence[tuple[Capture | None, Report]]",
    program: tuple[int, int, int],
    writing: "Writing",
) -> Exit:
    """Print what one program of each launch accesses.

    Raises:
        CaptureError: A launch is unknown, or has no such program.
        UsageError: The format is neither text nor JSON.
    """
    if writing.form not in ("text", "json"):
        raise click.UsageError("--program prints text or json: remove --format, or choose one")
    found = [_evaluated(capture, report, program) for capture, report in inspected]
    if writing.form == "json":
        output.write_json(found, writing.destination)
    else:
        output.write("\n".join(map(describe, found)), writing.destination)
    return Exit.OK


def describe(found: "Program") -> str:
    """Return a program's accesses as a table."""
    place = ", ".join(map(str, found.program))
    programs = " × ".join(f"{extent:,}" for extent in found.grid)
    title = f"{printable(found.kernel)}, program ({place}) of {programs}\n"
    table = output.table(_HEADER, [_row(each) for each in found.accesses], right={4, 5, 7, 8, 9})
    reason = f"Unknown: {printable(found.reason)}\n" if found.reason else ""
    tiles = "".join(map(_tile, found.accesses))
    notes = "Offsets, strides and steps between runs in elements; offsets of the first run.\n"
    accesses = f"{table.rstrip()}\n{notes}{tiles}" if found.accesses else ""
    return title + _programs(found) + accesses + reason


def _programs(found: "Program") -> str:
    """Return how a persistent launch fills the GPU, as a line; empty for another launch."""
    launch = found.persistence
    if launch is None:
        return ""
    held, sm = launch.blocks_per_sm, launch.multiprocessor
    line = f"{launch.sm_count * held:,} CTAs = {launch.sm_count} {sm}s × {held} that each holds"
    other = launch.tutorial_blocks_per_sm
    if other is not None and other != held:
        line += f"; the tutorial's formula gives {other} per {sm}, {launch.sm_count * other:,}"
    return f"{line}\n"


def _tile(access: "ProgramAccess") -> str:
    """Return the part of the tensor that an access covers, as a line; empty if it is unknown."""
    if access.tile is None:
        return ""
    extents = ", ".join(
        f"{start}" if stop == start + 1 else f"{start}:{stop}" for start, stop in access.tile
    )
    verb = "loads" if access.operation.endswith("load") else "writes"
    line = f"{printable(str(access.source or f'ttir:{access.line}'))} {verb}"
    line += f" {printable(access.argument)}[{extents}]"
    if access.executions > 1:
        times = f"{access.executions - 1:,} more"
        if access.tile_step is None:
            line += f" and {times}"
        else:
            line += f" and {times}, [{', '.join(map(str, access.tile_step))}] apart"
    return f"{line}\n"


def _evaluated(
    capture: "Capture | None", report: "Report", program: tuple[int, int, int]
) -> "Program":
    from irlens.analyze.capture_code import CaptureCode
    from irlens.analyze.facts import Provenance
    from irlens.analyze.occupancy import persistence
    from irlens.analyze.program_accesses import program_accesses
    from irlens.analyze.resources import find_gpu
    from irlens.artifacts import npy
    from irlens.model.program import Program

    grid = report.config.grid
    source = CaptureCode(capture).source if capture is not None else None
    if capture is None or source is None:
        raise CaptureError("--program needs a capture with its ttir, or its ttgir")
    if grid is None or not report.config.args:
        raise CaptureError(f"the launch of {report.kernel} is unknown", hint="add --arg and --grid")
    if any(at >= extent for at, extent in zip(program, grid, strict=True)):
        raise CaptureError(
            f"{report.kernel} has no such program: its grid is {' × '.join(map(str, grid))},"
            f" {prod(grid):,} programs"
        )
    contents = {name: npy.read(stage) for name, stage in capture.contents.items()}
    accesses, reason = program_accesses(source.named, report.config.args, grid, program, contents)
    return Program(
        kernel=report.kernel,
        grid=grid,
        program=program,
        persistence=persistence(
            find_gpu(capture.target, capture.metadata, Provenance()),
            report.occupancy,
            report.resources,
            report.config,
        ),
        accesses=accesses,
        reason=reason,
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
