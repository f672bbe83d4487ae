"""Hints in the caller's language: errors name options as on the command line, callers otherwise.

An error says ``--arg NAME=VALUE``, or a whole command. The library writes ``args={"NAME": VALUE}``
and a call, an agent the name of a tool's argument.
"""

import json
import re
import shlex
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple, TypeAlias

from irlens.model.errors import IrlensError
from irlens.model.text import split_list

#: Who reads: a person who calls the library, or an agent that calls a tool.
Caller: TypeAlias = Literal["library", "agent"]


class _Option(NamedTuple):
    """How an option is called elsewhere.

    Attributes:
        library: The keyword of the library; empty where it is no keyword of its own.
        agent: The argument of a tool; empty where there is none.
    """

    library: str = ""
    agent: str = ""


#: Every option that errors name, see ``tests/session/test_wording.py``.
OPTIONS = {
    "--arg": _Option("args", "args"),
    "--set": _Option("", "settings"),
    "--grid": _Option("grid", "grid"),
    "--target": _Option("target", "targets"),
    "--num-warps": _Option("num_warps", "settings"),
    "--num-stages": _Option("num_stages", "settings"),
    "--triton": _Option("triton"),
    "--python": _Option("triton"),
    "--run": _Option("run"),
    "--sass": _Option("sass", "sass"),
    "--where": _Option("where", "where"),
    "--filter": _Option("filters", "filters"),
    "--rank": _Option("rank", "rank"),
    "--sort": _Option("sort", "sort"),
    "--along": _Option("along", "along"),
    "--jobs": _Option("jobs"),
    "--update": _Option("update"),
    "--strict": _Option("strict", "strict"),
    "--git": _Option("", "revision"),
    "--stage": _Option("", "stage"),
}
#: Commands that the library and the tools have, too.
COMMANDS = {
    "inspect": ("irlens.inspect", "inspect"),
    "diff": ("irlens.compare", "diff"),
    "check": ("irlens.check", "check"),
    "sweep": ("irlens.sweep", "sweep"),
    "suggest": ("irlens.suggest", "suggest"),
    "scan": ("irlens.scan", "scan"),
    "variants": ("irlens.variants", "variants"),
    "limits": ("irlens.limits", "limits"),
    "passes": ("irlens.passes", ""),
    "targets": ("", "targets"),
    "kernels": ("", "kernels"),
}
#: Options without a value.
_FLAGS = frozenset({"--run", "--sass", "--strict", "--update"})
_VALUE = (
    r"(?:[\w.]+=(?:[^\s,;`\[]|,(?=\S)|\[[^\]]*\])+"
    r"|[A-Z][A-Z]+\b|[\w./-]*\d[\w.,/-]*|HEAD|sass)"
)
_OPTION = re.compile(rf"(?<![\w-])(?P<name>--[a-z][a-z-]*)(?: (?P<value>{_VALUE}))?")
_COMMAND = re.compile(
    rf"(?P<quote>`?)irlens (?P<command>{'|'.join(COMMANDS)})\b"
    rf"(?P<rest>(?: (?:{_OPTION.pattern.replace('?P<name>', '').replace('?P<value>', '')}"
    r"|[A-Z][A-Z]+\b|\w[\w./~-]*-[\w./:~-]*\w|[\w./~-]*[/.:][\w./:~-]*\w"
    r"|\w+(?= --update`)))*)(?P=quote)"
)

#: The line of a hint that is a whole command, see ``require_values``.
_EXAMPLE = re.compile(r"(?m)(?<=^for example  )irlens (?P<command>inspect) (?P<rest>.*)$")

#: The command in the hint of ``how_to_run``: "irlens record FILE.py".
_RECORD = re.compile(r"irlens record (?:-m (?P<module>\w+) )?(?P<file>[\w./~-]+\.py)\b")


def reworded(error: IrlensError, caller: Caller) -> IrlensError:
    """Return an error with its message and hint in the caller's language: the same error."""
    error.message = worded(error.message, caller)
    error.hint = None if error.hint is None else worded(error.hint, caller)
    error.args = (error.message,)
    return error


def worded(text: str, caller: Caller) -> str:
    """Return a text that names options and commands in the caller's language."""
    option: Callable[[re.Match[str]], str] = _keyword if caller == "library" else _argument
    text = _EXAMPLE.sub(lambda match: _example(match, caller), text)
    if caller == "agent":
        text = _COMMAND.sub(lambda match: f"`{COMMANDS[match['command']][1]}`{match['rest']}", text)
    else:
        text = _RECORD.sub(_recording, _COMMAND.sub(_call, text))
    return _OPTION.sub(option, text)


def _example(match: re.Match[str], caller: Caller) -> str:
    """Return a whole command as a call that can be pasted; as it is where it is cut or unknown."""
    try:
        kernel, *words = shlex.split(match["rest"])
    except ValueError:  # cut within a quotation
        return match[0]
    given: dict[str, dict[str, object]] = {"--arg": {}, "--set": {}}
    grid: dict[str, object] = {}
    for option, value in zip(words[::2], words[1::2], strict=False):
        name, _, text = value.partition("=")
        if option in given:
            given[option][name] = _value(text)
        elif option == "--grid":
            grid = {"grid": [_value(each) for each in split_list(value)]}
        else:
            return match[0]
    args, settings = ({"args": given["--arg"]} if given["--arg"] else {}), given["--set"]
    if caller == "agent":
        named = {"kernel": kernel, **args, **({"settings": settings} if settings else {}), **grid}
        return f"`{COMMANDS[match['command']][1]}` {json.dumps(named)}"
    keywords = [f"{name}={value!r}" for name, value in (args | grid | settings).items()]
    return f"irlens.capture({', '.join([repr(kernel), *keywords])})".replace("'", '"')


def _value(text: str) -> object:
    """Return a number or a truth value as itself, and any other text as it is."""
    return json.loads(text) if re.fullmatch(r"-?\d+(\.\d+)?|true|false", text) else text


def _recording(match: re.Match[str]) -> str:
    """Return the call that records a program, which runs in a module such as pytest or alone."""
    if match["module"]:
        return f'irlens.record("{match["module"]}", "{match["file"]}", module=True)'
    return f'irlens.record("{match["file"]}")'


def _call(match: re.Match[str]) -> str:
    """Return the call of the library that a command is; the command where there is none."""
    function, rest = COMMANDS[match["command"]][0], shlex.split(match["rest"])
    if not function or not rest:
        return function or match[0]
    kernel = next((word for word in rest if not word.startswith("--")), None)
    if kernel is None:
        return f"{function}(...){match['rest']}"
    if match.string[: match.start()].endswith("recorded:  "):
        function = "irlens.load"
    elif function == "irlens.inspect" and not kernel.endswith(("/", ".ptx", ".json")):
        function = "irlens.capture"
    words = [repr(kernel).replace("'", '"'), *_keywords(match["rest"])]
    return f"{function}({', '.join(words)})"


def _keywords(rest: str) -> Iterator[str]:
    """Yield the options of a command as keywords, those of arguments as one."""
    args: list[str] = []
    for option in _OPTION.finditer(rest):
        written = _keyword(option)
        if option["name"] == "--arg" and option["value"]:
            args.append(written.removeprefix("args={").removesuffix("}"))
        else:
            yield written
    if args:
        yield f"args={{{', '.join(args)}}}"


def _keyword(match: re.Match[str]) -> str:
    """Return an option as a keyword of the library."""
    name, value = match["name"], match["value"]
    option = OPTIONS.get(name)
    if option is None:
        return match[0]
    key, equals, given = (value or "").partition("=")
    if name == "--arg":
        return f'args={{"{key}": {_literal(given)}}}' if equals else "args"
    if name == "--set":
        return f"{key}={_literal(given)}" if equals else "a keyword argument"
    if not option.library:
        return match[0].removeprefix("--")
    if value is None:
        return f"{option.library}={name in _FLAGS or '...'}"
    return f"{option.library}={_list(value)}"


def _argument(match: re.Match[str]) -> str:
    """Return an option as an argument of a tool."""
    name, value = match["name"], match["value"]
    option = OPTIONS.get(name)
    plain = name.removeprefix("--").replace("-", "_")
    if option is None:
        return match[0]
    if not option.agent:
        return f"{plain} {value}" if value else plain
    if option.agent == "settings" and name != "--set":
        return f'`settings` {{"{plain}": {_list(value)}}}' if value else f"`{plain}` of `settings`"
    key, equals, given = (value or "").partition("=")
    if equals:
        return f'`{option.agent}` {{"{key}": {_literal(given)}}}'
    return f"`{option.agent}` {value}" if value else f"`{option.agent}`"


def _list(value: str) -> str:
    """Return comma-separated values as a literal, a list if there are several."""
    literals = ", ".join(map(_literal, value.split(",")))
    return f"[{literals}]" if "," in value else literals


def _literal(text: str) -> str:
    """Return a value as a literal: a number, a placeholder, or a string in quotes."""
    if re.fullmatch(r"-?\d+(\.\d+)?|[A-Z]+|\.\.\.|True|False", text):
        return text
    return f'"{text}"'
