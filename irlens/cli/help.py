"""Help: the options of a command in groups, at the terminal's width.

Written here because importing cloup, which groups options too, takes as long as click itself.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import click

#: Help is no wider, and as wide where the terminal's width is unknown.
_COLUMNS = 80
#: The options of each group, in the order of the help; others belong to the command alone.
GROUPS = {
    "Options": "",
    "Selection": "target num-warps num-stages num-ctas maxnreg set arg grid where filter git "
    "last-save",
    "What to show": "stage interleave annotate line program pressure pipelines memory time mix "
    "figures all sass side-by-side context columns sort rank top pass first last changes passes "
    "why layout",
    "Output": "format json output summary pager source-root prune-list footer",
    "Compilation and runs": "triton python run jobs timeout cluster measure against most budget "
    "watch interpret assume configs",
}
_GROUP_OF = {f"--{name}": group for group, names in GROUPS.items() for name in names.split()}


class HelpContext(click.Context):
    """A context whose help groups options."""


class _GroupedHelp(click.HelpFormatter):
    """Writes the section of the options as one section for each group."""

    _is_options = False

    @contextmanager
    def section(self, name: str) -> Iterator[None]:
        """Write a section; that of the options has no title of its own."""
        if name != "Options":
            with super().section(name):
                yield
            return
        self._is_options = True
        try:
            yield
        finally:
            self._is_options = False

    def write_dl(
        self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2
    ) -> None:
        """Write a list of terms, options in their groups."""
        if not self._is_options:
            super().write_dl(rows, col_max, col_spacing)
            return
        groups: dict[str, list[tuple[str, str]]] = {title: [] for title in GROUPS}
        for row in rows:
            groups[group_of(row[0])].append(row)
        filled = {title: group for title, group in groups.items() if group}
        only_help = [row for row in filled.get("Options", ()) if "--help" in row[0]]
        if len(filled) > 1 and only_help == filled.get("Options"):
            filled[list(filled)[-1]] += filled.pop("Options")
        for title, group in filled.items():
            with super().section(title):
                super().write_dl(group, col_max, col_spacing)


HelpContext.formatter_class = _GroupedHelp


def group_of(written: str) -> str:
    """Return the group of an option as help writes it: "-t, --target GPU,..."."""
    names = (word.strip(",") for word in written.split() if word.startswith("--"))
    return next((_GROUP_OF[name] for name in names if name in _GROUP_OF), "Options")


def width() -> int:
    """Return the width of help, without ``shutil``, which takes long to import."""
    try:
        columns = int(os.environ.get("COLUMNS", 0))
    except ValueError:
        columns = 0
    try:
        columns = columns if columns > 0 else os.get_terminal_size(1).columns
    except OSError:  # not a terminal
        columns = 0
    return max(min(columns or _COLUMNS, _COLUMNS) - 2, 50)
