"""``irlens cache``: the data that irlens keeps on disk, and its removal."""

import re
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click
import msgspec

from irlens.cli import Exit, output
from irlens.cli.formats import ListFormat, list_format_option
from irlens.cli.output import table, write_json
from irlens.cli.settings import F
from irlens.model.text import count, plural, rounded_size

if TYPE_CHECKING:  # help needs none of it
    from irlens.artifacts.inventory import Kind, StoredItem

_HELP = """Show what irlens keeps on disk, and how large it is.

environments: Tritons that --triton installed; captures: compiled kernels; reports,
pages and disassembly: results of analysing them; sweeps: progress of interrupted sweeps, with their
times; revisions: Python files that `irlens diff --git` took from git; scans: what `irlens
scan` read of each directory. irlens recreates everything on demand. It is stored in the
user's cache directory, or in $IRLENS_CACHE_DIR.

\b
irlens cache
irlens cache clean --environments --older-than 30d
irlens cache clean --dry-run
"""
_CLEAN_HELP = """Remove everything that irlens keeps, or only the named kinds.

Only files that irlens wrote are removed. Data in use by another irlens process is kept and
reported.

\b
irlens cache clean --captures --reports
irlens cache clean --older-than 8w --dry-run
"""
_SECONDS = {"h": 3600, "d": 24 * 3600, "w": 7 * 24 * 3600}
_UNITS = {"day": _SECONDS["d"], "hour": _SECONDS["h"]}
_KINDS = {
    "environments": "installed versions of Triton",
    "captures": "compiled kernels",
    "reports": "reports",
    "pages": "what reports were printed as",
    "disassembly": "disassembled machine code",
    "sweeps": "progress and times of interrupted sweeps",
    "revisions": "Python files of git revisions",
    "scans": "indexes of scanned directories",
}
#: The kind whose items are listed one by one.
_ITEMIZED = "environments"


class _Removal(msgspec.Struct, frozen=True):
    """The removed items of a kind, with their bytes on disk, and the number in use."""

    kind: str
    removed: int
    bytes: int
    in_use: int


def _age(_ctx: click.Context, _option: click.Parameter, text: str | None) -> int:
    """Return an age in seconds."""
    if text is None:
        return 0
    match = re.fullmatch(r"(\d+)([hdw])", text, re.ASCII)
    if match is None:
        raise click.BadParameter(f"'{text}' is not an age: write 12h, 30d or 8w")
    return int(match[1]) * _SECONDS[match[2]]


def _kind_options(command: F) -> F:
    """Add a flag for each kind."""
    for kind, content in reversed(_KINDS.items()):
        command = click.option(f"--{kind}", is_flag=True, help=f"Remove {content}.")(command)
    return command


_FORMAT = list_format_option("Select the output format.")


@click.group(help=_HELP, invoke_without_command=True)
@_FORMAT
@click.pass_context
def command(ctx: click.Context, form: ListFormat) -> Exit:
    """Show the cache, unless a subcommand is given."""
    if ctx.invoked_subcommand is not None:
        return Exit.OK
    from irlens.artifacts import inventory, store

    usage = [(kind, inventory.list_items(kind)) for kind in _kinds()]
    everything = [item for _, items in usage for item in items]
    if form == "json":
        kinds = [
            {"kind": kind.title, **_size(items), "entries": [_item(each) for each in items]}
            for kind, items in usage
        ]
        write_json({"root": str(store.root()), **_size(everything), "kinds": kinds})
    else:
        output.write(_usage_table(usage), None, paged=True)
    return Exit.OK


@command.command(help=_CLEAN_HELP, short_help="Remove everything, or some kinds.")
@_kind_options
@click.option(
    "--older-than",
    "age",
    metavar="AGE",
    callback=_age,
    help="Remove only items that were not created or used for this long: 12h, 30d, 8w.",
)
@click.option("--dry-run", is_flag=True, help="List what would be removed, but remove nothing.")
@_FORMAT
def clean(age: int, dry_run: bool, form: ListFormat, **kinds: bool) -> Exit:
    """Remove items from the cache."""
    from irlens.artifacts import inventory, store

    named = {name for name, is_named in kinds.items() if is_named}
    before = time.time() - age if age else None
    removals = [
        _remove(kind, before, (lambda *_: True) if dry_run else inventory.remove)
        for kind in _kinds()
        if not named or kind.title in named
    ]
    if form == "json":
        total = {
            "removed": sum(each.removed for each in removals),
            "bytes": sum(each.bytes for each in removals),
        }
        root = str(store.root())
        write_json({"root": root, "dry_run": dry_run, **total, "kinds": removals})
    else:
        output.write(_removal_table(removals, "to remove" if dry_run else "removed"), None)
    return Exit.OK


def _kinds() -> "Sequence[Kind]":
    """Return the kinds, the largest first; those whose folder is a link are reported."""
    from irlens.artifacts import inventory, store
    from irlens.artifacts.report_cache import PAGES, REPORTS
    from irlens.artifacts.revisions import REVISIONS
    from irlens.artifacts.scan_index import SCANS
    from irlens.artifacts.tools import DISASSEMBLY
    from irlens.compiler.toolchains.environments import ENVIRONMENTS
    from irlens.sweeps.journal import SWEEPS

    kinds = (
        ENVIRONMENTS, inventory.CAPTURES, REPORTS, PAGES, DISASSEMBLY, SWEEPS, REVISIONS, SCANS,
    )  # fmt: skip
    for kind in kinds:
        if inventory.is_link(kind):
            output.note(f"{store.root() / kind.folder} is a link: its target is left alone")
    return kinds


def _remove(
    kind: "Kind", before: float | None, remove: "Callable[[Kind, StoredItem], bool]"
) -> _Removal:
    """Remove the items of a kind that were last used before a time."""
    from irlens.artifacts import inventory

    removed, in_use = list["StoredItem"](), 0
    for item in inventory.list_items(kind):
        if before is not None and item.used >= before:
            continue
        if inventory.is_used(kind, item):
            in_use += 1
        elif remove(kind, item):
            removed.append(item)
    return _Removal(kind.title, len(removed), _bytes(removed), in_use)


def _usage_table(usage: "Sequence[tuple[Kind, Sequence[StoredItem]]]") -> str:
    from irlens.artifacts import store

    now = time.time()
    rows = []
    for kind, items in usage:
        rows.append(_row(kind.title, count(len(items)), items, now))
        if kind.title == _ITEMIZED:
            rows += [_row(f"  {item.name}", "", [item], now) for item in items]
    everything = [item for _, items in usage for item in items]
    rows.append(_row("total", count(len(everything)), everything, now))
    header = ("", "number", "on disk", "longest unused")
    return f"{store.root()}\n\n{table(header, rows, right={1, 2})}"


def _row(title: str, number: str, items: "Sequence[StoredItem]", now: float) -> tuple[str, ...]:
    unused = _duration(now - min(item.used for item in items)) if items else ""
    return title, number, rounded_size(_bytes(items)), unused


def _removal_table(removals: Sequence[_Removal], title: str) -> str:
    rows = [
        (each.kind, count(each.removed), rounded_size(each.bytes), count(each.in_use))
        for each in removals
        if each.removed or each.in_use
    ]
    if not rows:
        return "nothing to remove\n"
    header = ("", title, "on disk", "kept: in use")
    return table(header, rows, right={1, 2, 3})


def _duration(seconds: float) -> str:
    """Return "41 days"."""
    for unit, length in _UNITS.items():
        if seconds >= 2 * length:
            return plural(int(seconds // length), unit)
    return "less than 2 hours"


def _item(item: "StoredItem") -> dict[str, str | int]:
    """Return an item for JSON; times are UTC, ISO 8601."""
    used = datetime.fromtimestamp(int(item.used), UTC).isoformat().replace("+00:00", "Z")
    return {"name": item.name, "bytes": item.bytes, "last_used": used}


def _size(items: "Sequence[StoredItem]") -> dict[str, int]:
    return {"number": len(items), "bytes": _bytes(items)}


def _bytes(items: "Sequence[StoredItem]") -> int:
    return sum(item.bytes for item in items)
