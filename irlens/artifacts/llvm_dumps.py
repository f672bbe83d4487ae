"""The functions between LLVM's passes, from what LLVM prints after each of them.

``LLVM_IR_ENABLE_DUMP=1`` prints functions after each pass of the optimizer and of the code
generator, whether it changed them or not: a module, a function, machine code, or one loop.
"""

import re
from collections.abc import Iterator

import msgspec

_START = re.compile(
    r"^(?:Running (?:pass|analysis): |(?:; |# )?\*\*\* IR Dump After )", re.MULTILINE
)
_AFTER = re.compile(
    r"^(?P<mark>; |# )?\*\*\* IR Dump After (?P<name>[^\n]+?)(?: \((?P<argument>[\w.-]+)\))?"
    r"(?: on (?P<on>[^\n]+?))? \*\*\*:?\n",
    re.MULTILINE,
)
_FUNCTION = re.compile(
    r'^define [^\n]*@"?(?P<name>[\w.$-]+)"?\([^\n]*\{\n(?:.*\n)*?\}$'
    r"|^# Machine code for function (?P<machine>[\w.$-]+):(?:.*\n)*?# End machine code",
    re.MULTILINE,
)
#: What is numbered anew in each print, and locations.
_NUMBERED = re.compile(
    r",? !dbg !\d+|,? debug-location !\d+|(?<=!)\d+\b| #\d+|^(?:\d+B)?\t|"
    r" +; preds = .*$|; \S+:\d+:\d+.*$",
    re.MULTILINE,
)
#: Lines between and behind LLVM's that are not its IR: the assembler's, and remarks.
_SAID = re.compile(r"ptxas|\d+ bytes |.*\b(?:remark|note|warning|error): ")


class LlvmRun(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a pass of LLVM.

    Attributes:
        name: "InstCombinePass".
        argument: Its name on the command line, "codegenprepare"; empty if LLVM does not say it.
        loops: The passes on single loops that ran before it. LLVM prints only the loop after those,
            so that what they change shows with this pass.
        function: The function that it runs on; empty for the module.
        is_codegen: Whether it is a pass of the code generator.
        before: The functions before it; empty if unknown, as before the first one.
    """

    name: str
    argument: str
    loops: tuple[str, ...]
    function: str
    is_codegen: bool
    before: str


def split(text: str) -> tuple[str, list[LlvmRun], str]:
    """Return what the compiler printed without LLVM's passes, those, and the functions at the end.

    The functions are empty if there are no passes of LLVM.
    """
    start = _START.search(text)
    if start is None:
        return text, [], ""
    said = [line for line in text[start.start() :].split("\n") if _SAID.match(line)]
    runs: list[LlvmRun] = []
    functions: dict[str, str] = {}
    loops: list[str] = []
    meaning: dict[str, str] = {}
    for after, printed in _prints(text, start.start()):
        if (after["on"] or "").startswith("loop "):
            loops.append(after["name"])
            continue
        before = "\n".join(functions.values())
        now = _functions(printed, meaning)
        if "; ModuleID = " in printed:  # the others are gone
            functions = {name: functions[name] for name in functions if name in now}
        for function, code in now.items():
            if not (code.startswith("define") and functions.get(function, "").startswith("#")):
                functions[function] = code
        name, mark = after["on"] or "", after["mark"] or ""
        run = LlvmRun(
            name=after["name"],
            argument=after["argument"] or "",
            loops=tuple(loops),
            function="" if name == "[module]" else name.strip("()"),
            is_codegen=not mark.startswith(";"),
            before=before,
        )
        runs.append(run)
        loops = []
    return text[: start.start()] + "\n".join(said), runs, "\n".join(functions.values())


def _prints(text: str, start: int) -> Iterator[tuple[re.Match[str], str]]:
    """Yield the comment of each print, and what follows it."""
    comments = [*_AFTER.finditer(text, start)]
    for index, each in enumerate(comments):
        end = comments[index + 1].start() if index + 1 < len(comments) else len(text)
        yield each, text[each.end() : end]


def _functions(printed: str, meaning: dict[str, str]) -> dict[str, str]:
    """Return the functions of a print by name, without numbers that differ from print to print.

    Args:
        meaning: Functions as printed and without numbers, which is filled: most passes change none.
    """
    found: dict[str, str] = {}
    for each in _FUNCTION.finditer(printed):
        text = each.group()
        if text not in meaning:
            meaning[text] = _NUMBERED.sub("", text) + "\n"
        found[each["name"] or each["machine"]] = meaning[text]
    return found
