"""The format of a result: ``--format``, ``--json``, or the suffix of ``--output``."""

from collections.abc import Callable
from pathlib import Path
from typing import Literal, TypeAlias

import click
from click.shell_completion import CompletionItem

from irlens.cli.settings import F, Values, with_options
from irlens.model.errors import IrlensError
from irlens.render import Kind, check_format, extension, format_names, suffix_format

#: The value of ``list_format_option``.
ListFormat: TypeAlias = Literal["text", "json"]

_JSON_HELP = "Same as --format json."


def format_options(kind: Kind, *, plain: tuple[str, ...] = ()) -> Callable[[F], F]:
    """Return the decorator that adds ``--format``, ``--json`` and ``--output``.

    The command receives ``form``, the name of the format, and ``destination``. Without a format the
    suffix of the destination decides, and text where it has none.

    Args:
        plain: Parameters with which the result is a file's content, whatever the suffix.
    """

    def known(_ctx: click.Context, _option: click.Parameter, name: str | None) -> str | None:
        if name is not None:
            check_format(name, kind)
        return name

    def complete(
        _ctx: click.Context, _option: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return [CompletionItem(n) for n in format_names(kind) if n.startswith(incomplete)]

    file = click.Path(path_type=Path, dir_okay=False)
    options = (
        click.option("-f", "--format", "form", metavar="FORMAT", callback=known,
                     shell_complete=complete,
                     help=f"Select the format: {', '.join(format_names(kind))}.  [default: by the "
                          "suffix of -o, else text]"),
        click.option("--json", "as_json", is_flag=True, help=_JSON_HELP),
        click.option("-o", "--output", "destination", type=file,
                     help="Write to this file: report.html, report.md, ..."),
    )  # fmt: skip

    def choose(values: Values) -> Values:
        form = _named(values)
        destination: Path | None = values["destination"]
        is_plain = any(values[name] is not None for name in plain)
        if form is None and destination is not None and not is_plain:
            form = _by_suffix(destination, kind)
        return {**_without_json(values), "form": form or "text"}

    return with_options(options, choose)


def _by_suffix(destination: Path, kind: Kind) -> str | None:
    """Return the format that the suffix of a file selects; ``None`` without a suffix.

    Raises:
        IrlensError: No format that can write the result has this suffix.
    """
    form = suffix_format(destination.suffix)
    if form is not None:
        check_format(form, kind)
    elif destination.suffix:
        known = ", ".join(f".{extension(name)}" for name in format_names(kind))
        raise IrlensError(
            f"{destination}: no format has the suffix {destination.suffix}",
            hint=f"use one of {known}, or name the format: --format text",
        )
    return form


def list_format_option(help_text: str) -> Callable[[F], F]:
    """Return the decorator that adds ``--format`` (text, json) and ``--json``: ``form``."""
    options = (
        click.option("-f", "--format", "form", type=click.Choice(["text", "json"]),
                     help=f"{help_text}  [default: text]"),
        click.option("--json", "as_json", is_flag=True, help=_JSON_HELP),
    )  # fmt: skip
    return with_options(
        options, lambda values: {**_without_json(values), "form": _named(values) or "text"}
    )


def _without_json(values: Values) -> Values:
    """Return the values without that of ``--json``."""
    return {name: value for name, value in values.items() if name != "as_json"}


def _named(values: Values) -> str | None:
    """Return the format that is asked for by name."""
    form: str | None = values["form"]
    if not values["as_json"]:
        return form
    if form not in (None, "json"):
        raise click.UsageError(f"--json and --format {form} exclude each other: remove one of them")
    return "json"
