"""Shell completion of values: what is in the folder first, then irlens's names."""

import ast
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import ClassVar

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    add_completion_class,
    split_arg_string,
)

from irlens.model.errors import IrlensError

#: Files to look for kernels in.
_MOST_PARSED = 40
#: Artifacts, recordings and reports.
_ARTIFACTS = frozenset({
    ".ttir", ".ttgir", ".llir", ".ptx", ".cubin", ".amdgcn", ".hsaco", ".mlir", ".json", ".ndjson",
    ".log",
})  # fmt: skip
_BASH = """\
%(complete_func)s() {
    local IFS=$'\\n' type value completion
    COMPREPLY=()
    for completion in $(env %(complete_var)s=bash_complete COMP_CWORD="$COMP_WORDBREAKS" \
COMP_WORDS="${COMP_LINE:0:$COMP_POINT}" $1); do
        IFS=',' read -r type value <<< "$completion"
        case $type in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            plain) COMPREPLY+=("$value") ;;
            open) COMPREPLY+=("$value"); compopt -o nospace ;;
        esac
    done
}
complete -o nosort -F %(complete_func)s %(prog_name)s
"""


class _Bash(BashComplete):
    """Completion for bash of words with ":" and "=", which bash takes for several words."""

    name: ClassVar[str] = "bash"
    source_template: ClassVar[str] = _BASH

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words before the one that is completed, and that word."""
        line = os.environ["COMP_WORDS"]
        words = split_arg_string(line)
        is_begun = bool(words) and not line[-1:].isspace()
        incomplete = words.pop() if is_begun else ""
        breaks = set(os.environ["COMP_CWORD"]) & set(":=")
        option, equals, value = incomplete.partition("=")
        is_long = bool(equals) and option.startswith("--")  # click completes the value alone
        self._before = f"{option}=" if is_long and "=" not in breaks else ""
        word = value if is_long else incomplete
        self._kept = max((word.rfind(each) for each in breaks), default=-1) + 1
        return words[1:], incomplete

    def format_completion(self, item: CompletionItem) -> str:
        """Return an item as the script reads it: without what bash keeps of the word."""
        kind = (
            "open" if item.type == "plain" and item.value.endswith(("/", "=", ":")) else item.type
        )
        return f"{kind},{self._before}{item.value[self._kept :]}"

    @staticmethod
    def _check_version() -> None:
        """Trust that bash is 4.4 or newer, as it has been since 2016."""


def install() -> None:
    """Use irlens's script for bash."""
    add_completion_class(_Bash)


def _kernels(_: click.Context, incomplete: str) -> list[CompletionItem]:
    """Return the completions of KERNEL: kernels and files of the folder, then known names."""
    from irlens.compiler.sources.lookup import known_files

    try:
        names = [name for name in sorted(known_files()) if name.startswith(incomplete)]
    except IrlensError:  # a project with invalid settings; the command reports it
        names = []
    return [*map(CompletionItem, (*_local(incomplete), *names)), CompletionItem("", type="file")]


def _stages(_: click.Context, incomplete: str) -> list[CompletionItem]:
    """Return the completions of the last stage in a comma-separated list."""
    from irlens.session.stages import STAGES

    return _listed(STAGES, incomplete)


def _figures(_: click.Context, incomplete: str) -> list[CompletionItem]:
    """Return the completions of the last figure of a sweep in a comma-separated list."""
    from irlens.figures import SWEEP_FIGURES

    before, comma, last = incomplete.rpartition(",")
    minus = "-" * last.startswith("-")
    return _listed([f"{minus}{name}" for name in SWEEP_FIGURES], f"{before}{comma}{last}")


def _explained(_: click.Context, incomplete: str) -> list[CompletionItem]:
    """Return the completions of a finding, a figure or a term."""
    from irlens.session.explain import names

    return [
        CompletionItem(name)
        for name in dict.fromkeys(names())
        if name.lower().startswith(incomplete.lower())
    ]


def _gpus(_: click.Context, incomplete: str) -> list[CompletionItem]:
    """Return the completions of the last GPU in a comma-separated list."""
    from irlens import gpus

    return _listed((gpu.name for gpu in gpus.gpus()), incomplete)


def _settings(context: click.Context, incomplete: str) -> list[CompletionItem]:
    """Return the completions of NAME=VALUE for the constexprs of the kernel before."""
    from irlens.compiler.sources.description import find_kernel

    # Parsing stops at the option without a value, and leaves what stands before it.
    kernel = context.params.get("kernel") or next(iter(context.args), None)
    try:
        source = find_kernel(kernel) if isinstance(kernel, str) else None
    except IrlensError:
        source = None
    if source is None:
        return []
    defaults = source.description.constexprs if source.description is not None else {}
    name, equals, _ = incomplete.partition("=")
    if equals:
        offered = [f"{name}={defaults[name]}"] if name in defaults else []
    else:
        offered = [f"{each}=" for each in _constexprs(source.content, source.function)]
    return [CompletionItem(each) for each in offered if each.startswith(incomplete)]


def _listed(names: Iterable[str], incomplete: str) -> list[CompletionItem]:
    """Return the names that complete the last one of a comma-separated list."""
    before, comma, last = incomplete.rpartition(",")
    return [CompletionItem(f"{before}{comma}{name}") for name in names if name.startswith(last)]


#: What completes a value, by its kind.
COMPLETERS: dict[str, Callable[[click.Context, str], list[CompletionItem]]] = {
    "kernels": _kernels,
    "stages": _stages,
    "figures": _figures,
    "explained": _explained,
    "gpus": _gpus,
    "constexprs": _settings,
}


def _local(incomplete: str) -> Iterator[str]:
    """Yield the kernels and files of the folder that complete a path."""
    folder, slash, start = incomplete.rpartition("/")
    file, colon, _ = start.partition(":")
    try:
        entries = sorted(
            os.scandir(Path(f"{folder}{slash}" or ".").expanduser()), key=lambda e: e.name
        )
    except OSError:
        return
    entries = [each for each in entries if each.name.startswith(file if colon else start)]
    entries = [each for each in entries if start[:1] == "." or not each.name.startswith(".")]
    parsed = 0
    for entry in entries:
        if entry.name.endswith(".py") and parsed < _MOST_PARSED and (names := _jitted(entry)):
            parsed += 1
            paths = (f"{folder}{slash}{entry.name}:{name}" for name in names)
            yield from (path for path in paths if path.startswith(incomplete))
    for entry in entries:
        path = f"{folder}{slash}{entry.name}"
        if entry.is_dir():
            yield f"{path}/"
        elif path.startswith(incomplete) and (start or _is_kernel_file(entry.name)):
            yield path


def _is_kernel_file(name: str) -> bool:
    return name.endswith(".py") or Path(name).suffix in _ARTIFACTS


def _jitted(entry: "os.DirEntry[str]") -> list[str]:
    """Return the names of the kernels in a Python file."""
    from irlens.compiler.sources.description import read_kernels

    try:
        return [source.function for source in read_kernels(Path(entry.path))]
    except IrlensError:
        return []


def _constexprs(content: bytes, function: str) -> list[str]:
    """Return the parameters of a kernel that its file annotates as constexprs."""
    for node in ast.walk(ast.parse(content)):
        if isinstance(node, ast.FunctionDef) and node.name == function.rpartition(".")[2]:
            arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            return [
                each.arg
                for each in arguments
                if each.annotation is not None
                and ast.unparse(each.annotation).strip("'\"").endswith("constexpr")
            ]
    return []
