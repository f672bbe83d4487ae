"""``irlens cache``: what irlens keeps on disk, and how to be rid of it."""

import re
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypedDict, Unpack

import click
import msgspec

from irlens.cli import output
from irlens.cli.exits import Exit
from irlens.cli.records import Form, format_option, write_json
from irlens.model.text import count, plural, rounded_size

if TYPE_CHECKING:  # help needs none of it
    from irlens.artifacts.kept import Kept, Kind

_HELP = """Show what irlens keeps on disk, and how much that is.

environments hold the Tritons that --triton installed, captures what was compiled, reports and
disassembly what was found out about it, sweeps how far interrupted ones came, with their
times. All of it is made again when it is needed. It lies in the user's cache directory, or
in $IRLENS_CACHE_DIR.

\b
irlens cache
irlens cache clean --environments --older-than 30d
irlens cache clean --dry-run
"""
_CLEAN_HELP = """Remove what irlens keeps: all of it, or the kinds that are named.

Only what irlens wrote is removed. What another irlens is using stays, and is told.

\b
irlens cache clean --captures --reports
irlens cache clean --older-than 8w --dry-run
"""
_SECONDS = {"h": 3600, "d": 24 * 3600, "w": 7 * 24 * 3600}
_UNITS = {"day": _SECONDS["d"], "hour": _SECONDS["h"]}
#: Kinds of which each is worth a line of its own.
_LISTED = "environments"


class _Thing(msgspec.Struct, frozen=True):
    """Something that is kept; ``last_used`` is UTC, ISO 8601."""

    name: str
    bytes: int
    last_used: str


class _Shown(msgspec.Struct, frozen=True):
    """A kind and all that there is of it; bytes on disk."""

    kind: str
    number: int
    bytes: int
    entries: list[_Thing]


class _Store(msgspec.Struct, frozen=True):
    """What is kept, and where."""

    root: str
    number: int
    bytes: int
    kinds: list[_Shown]


class _Cleaned(msgspec.Struct, frozen=True):
    """What was removed of a kind, bytes on disk, and how many of it were in use."""

    kind: str
    removed: int
    bytes: int
    in_use: int


class _Cleaning(msgspec.Struct, frozen=True):
    """What was removed, or would be."""

    root: str
    dry_run: bool
    removed: int
    bytes: int
    kinds: list[_Cleaned]


class _Chosen(TypedDict):
    """The options that name a kind."""

    environments: bool
    captures: bool
    reports: bool
    disassembly: bool
    sweeps: bool


def _age(_ctx: click.Context, _option: click.Parameter, text: str | None) -> int:
    """Return an age in seconds."""
    if text is None:
        return 0
    match = re.fullmatch(r"(\d+)([hdw])", text, re.ASCII)
    if match is None:
        raise click.BadParameter(f"'{text}' is no age: write 12h, 30d or 8w")
    return int(match[1]) * _SECONDS[match[2]]


_FORMAT = format_option("How to write it.")


@click.group(
    help=_HELP,
    short_help="Show what irlens keeps on disk, and remove it.",
    invoke_without_command=True,
)
@_FORMAT
@click.pass_context
def command(ctx: click.Context, form: Form) -> Exit:
    """Show everything, if no subcommand is to do something else."""
    if ctx.invoked_subcommand is not None:
        return Exit.OK
    from irlens.artifacts import kept, store

    found = [(kind, kept.survey(kind)) for kind in _kinds()]
    things = [each for _, several in found for each in several]
    if form == "json":
        kinds = [
            _Shown(kind.title, len(several), _bytes(several), [_thing(each) for each in several])
            for kind, several in found
        ]
        write_json(_Store(str(store.root()), len(things), _bytes(things), kinds))
    else:
        output.write(_told(found), None, paged=True)
    return Exit.OK


@command.command(help=_CLEAN_HELP, short_help="Remove all of it, or some.")
@click.option("--environments", is_flag=True, help="Installed versions of Triton.")
@click.option("--captures", is_flag=True, help="Compiled kernels.")
@click.option("--reports", is_flag=True, help="Remembered reports.")
@click.option("--disassembly", is_flag=True, help="Remembered machine code.")
@click.option("--sweeps", is_flag=True, help="What interrupted sweeps found, and their times.")
@click.option(
    "--older-than",
    "age",
    metavar="AGE",
    callback=_age,
    help="Only what was neither made nor used for so long: 12h, 30d, 8w.",
)
@click.option("--dry-run", is_flag=True, help="Remove nothing, and tell what would be.")
@_FORMAT
def clean(age: int, dry_run: bool, form: Form, **chosen: Unpack[_Chosen]) -> Exit:
    """Remove things."""
    from irlens.artifacts import store

    asked = {name for name, value in chosen.items() if value}
    before = time.time() - age if age else None
    cleaned = [
        _clean(kind, before, dry_run=dry_run)
        for kind in _kinds()
        if not asked or kind.title in asked
    ]
    done = _Cleaning(
        root=str(store.root()),
        dry_run=dry_run,
        removed=sum(each.removed for each in cleaned),
        bytes=sum(each.bytes for each in cleaned),
        kinds=cleaned,
    )
    if form == "json":
        write_json(done)
    else:
        output.write(_told_cleaning(done), None)
    return Exit.OK


def _kinds() -> "Sequence[Kind]":
    """Return the kinds, the largest first, without those whose folder is a link."""
    from irlens.artifacts import kept, store
    from irlens.artifacts.memo import REPORTS
    from irlens.artifacts.tools import DISASSEMBLY
    from irlens.compiler.environments import ENVIRONMENTS
    from irlens.sweep.journal import SWEEPS

    kinds = (ENVIRONMENTS, kept.CAPTURES, REPORTS, DISASSEMBLY, SWEEPS)
    for kind in kinds:
        if kept.is_link(kind):
            folder = store.root() / kind.folder
            output.note(f"irlens: {folder} is a link: what it leads to is left alone")
    return kinds


def _clean(kind: "Kind", before: float | None, *, dry_run: bool) -> _Cleaned:
    """Remove what is of a kind and was last used before a time."""
    from irlens.artifacts import kept

    removed, in_use = list["Kept"](), 0
    for each in kept.survey(kind):
        if before is not None and each.used >= before:
            continue
        if kept.is_used(kind, each):
            in_use += 1
        elif dry_run or kept.remove(kind, each):
            removed.append(each)
    return _Cleaned(kind.title, len(removed), _bytes(removed), in_use)


def _told(found: "Sequence[tuple[Kind, Sequence[Kept]]]") -> str:
    from irlens.artifacts import store
    from irlens.cli.table import table

    now = time.time()
    rows = []
    for kind, several in found:
        rows.append(_row(kind.title, count(len(several)), several, now))
        if kind.title == _LISTED:
            rows += [_row(f"  {each.name}", "", [each], now) for each in several]
    everything = [each for _, several in found for each in several]
    rows.append(_row("total", count(len(everything)), everything, now))
    header = ("", "number", "on disk", "longest unused")
    drawn = table(header, rows, right={1, 2}, color=output.use_color())
    return f"{store.root()}\n\n{drawn}"


def _row(title: str, number: str, several: "Sequence[Kept]", now: float) -> tuple[str, ...]:
    unused = _span(now - min(each.used for each in several)) if several else ""
    return title, number, rounded_size(_bytes(several)), unused


def _told_cleaning(done: _Cleaning) -> str:
    from irlens.cli.table import table

    rows = [
        (each.kind, count(each.removed), rounded_size(each.bytes), count(each.in_use))
        for each in done.kinds
        if each.removed or each.in_use
    ]
    if not rows:
        return "nothing to remove\n"
    header = ("", "to remove" if done.dry_run else "removed", "on disk", "left: in use")
    return table(header, rows, right={1, 2, 3}, color=output.use_color())


def _span(seconds: float) -> str:
    """Return "41 days"."""
    for unit, length in _UNITS.items():
        if seconds >= 2 * length:
            return plural(int(seconds // length), unit)
    return "less than 2 hours"


def _thing(kept: "Kept") -> _Thing:
    used = datetime.fromtimestamp(int(kept.used), UTC)
    return _Thing(kept.name, kept.bytes, used.isoformat().replace("+00:00", "Z"))


def _bytes(several: "Sequence[Kept]") -> int:
    return sum(each.bytes for each in several)
