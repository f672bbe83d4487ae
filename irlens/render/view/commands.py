"""Command lines that can be pasted: one configuration of what a list shows."""

import shlex
from collections.abc import Iterator, Mapping

from irlens.model.config import LAUNCH_OPTIONS

#: The options of the command line that have a name of their own; ``--set`` takes the others.
_OPTIONS = {
    **{name: f"--{name.replace('_', '-')}" for name in LAUNCH_OPTIONS},
    "target": "--target",
    "triton": "--triton",
}
_SHORT = {"--target": "-t", "--set": "-s", "--arg": "-a"}
_LONG = {short: name for name, short in _SHORT.items()}
#: Length in characters above which commands have the short names of options.
LONG_SUBJECT = 80


def inspect_command(
    subject: str,
    chosen: Mapping[str, object],
    args: Mapping[str, object] | None = None,
    verb: str = "inspect",
) -> str:
    """Return the command that inspects one configuration.

    Args:
        subject: How the user named the list, with options: "softmax --num-stages 2,4". Options of
            what is chosen are replaced, the others stay.
        chosen: Compile options and constexprs, "target" and "triton".
        verb: The command, if it is another one.
    """
    kept = _without(subject, {*chosen, *(f"arg {name}" for name in args or ())})
    words = [word for pair in _options(chosen, args or {}) for word in pair]
    return f"irlens {verb} {shortened(' '.join([kept or 'KERNEL', shlex.join(words)]).rstrip())}"


def shortened(line: str) -> str:
    """Return subjects and options with short names of options, if they are long."""
    if len(line) <= LONG_SUBJECT:
        return line
    return shlex.join(_SHORT.get(word, word) for word in shlex.split(line))


def _options(chosen: Mapping[str, object], args: Mapping[str, object]) -> Iterator[tuple[str, ...]]:
    ordered = sorted(chosen, key=lambda name: name not in _OPTIONS)
    for name in ordered:
        value = chosen[name]
        if name in _OPTIONS:
            if value is not None:
                yield _OPTIONS[name], str(value)
        else:
            yield "--set", f"{name}={value}"
    yield from (("--arg", f"{name}={value}") for name, value in args.items())


def _without(subject: str, names: set[str]) -> str:
    """Return a subject without the options that choose some of the names."""
    kept: list[str] = []
    words = iter(shlex.split(subject))
    for word in words:
        option = _LONG.get(word, word)
        if option not in ("--set", "--arg", *_OPTIONS.values()):
            kept.append(word)
            continue
        value = next(words, "")
        named = value.partition("=")[0].strip()
        by_option = {"--set": named, "--arg": f"arg {named}"}
        name = by_option.get(option) or option.removeprefix("--").replace("-", "_")
        if name not in names:
            kept += [word, value]
    return shlex.join(kept)
