"""Text with several MLIR modules, as ``MLIR_ENABLE_DUMP=1`` prints them: the module of each kernel.

The compiler prints the module before (or after) each of its passes, under a comment that names the
pass. The last module of a stage that is complete is the kernel as that stage left it.
"""

import re
from collections.abc import Iterator

import msgspec

from irlens.model.several import grouped

_HEADER = re.compile(r"^// -----// IR Dump (?P<pass>(?:Before|After)[^(:\n]{0,200})", re.MULTILINE)
_MODULE = re.compile(r"^(?:module\b|\"builtin\.module\")[^\n]*", re.MULTILINE)
#: The first line of a module's text, where no comment stands before it: a layout, or the location
#: that MLIR prints in front; it prints the others after the module.
_FIRST = re.compile(
    r"^(?:#(?!loc\d* =)\w+ = |#loc = |//|module\b|\"builtin\.module\")", re.MULTILINE
)
_KERNEL = re.compile(r'\btt\.func\s+(?:public\s+)?@(?:([\w$.-]+)|"([^"\n]+)")')
_LAYOUTS = re.compile(
    r'"?(?:ttg|triton_gpu)\.num-warps|^#\w+ = #(?:ttg|triton_gpu)\.', re.MULTILINE
)
#: What passes after the ttgir add, on the way to LLVM: offsets of buffers, branches for loops.
_LOWERED = (re.compile(r"\ballocation\.offset\b"), re.compile(r"\bcf\.(?:cond_)?br\b"))
_CLOSED = re.compile(r"^\}", re.MULTILINE)


class Dump(msgspec.Struct, frozen=True):
    """One module of the text.

    Attributes:
        number: 1-based, in the order of the text.
        stage: "ttir", "ttgir", or "" for a module without a kernel of these.
        line: 1-based line of its first character.
        after: What the compiler says of it: "Before TritonGPUPipeline"; may be empty.
    """

    number: int
    stage: str
    kernel: str
    text: str
    line: int
    after: str
    complete: bool


class Chosen(msgspec.Struct, frozen=True):
    """The modules that stand for one kernel.

    Attributes:
        dumps: The module of each of its stages.
        count: The modules of the kernel in the text, complete or not.
    """

    kernel: str
    dumps: tuple[Dump, ...]
    count: int

    @property
    def note(self) -> str:
        """Which modules were chosen, in a sentence."""
        taken = " and ".join(
            f"the {_ordinal(one.number)} module"
            + (f" ({one.after})" if one.after else "")
            + f", line {one.line:,}, as its {one.stage}"
            for one in self.dumps
        )
        return f"the file holds {self.count} modules of {self.kernel}; irlens reads {taken}"


def choose(content: bytes, number: int | None = None) -> list[Chosen]:
    """Return the kernels of a text with several modules; empty if it has at most one.

    Args:
        content: A file, or what the compiler printed.
        number: The module to read, 1-based, in place of the last of each kernel and stage.
    """
    text = content.decode("utf-8", "replace")
    if len(_MODULE.findall(text)) < 2 and number is None:
        return []
    kernels = grouped((dump.kernel, dump) for dump in dumps(text) if dump.stage)
    chosen = []
    for kernel, found in kernels.items():
        complete = [one for one in found if one.complete and number in (None, one.number)]
        stages = dict.fromkeys(one.stage for one in complete)
        last = [_last([one for one in complete if one.stage == stage]) for stage in stages]
        if last:
            chosen.append(Chosen(kernel, tuple(last), len(found)))
    return chosen


def _last(found: list[Dump]) -> Dump:
    """Return the last module of a stage, before it is lowered to the next."""
    for lowered in _LOWERED:
        found = [one for one in found if not lowered.search(one.text)] or found
    return found[-1]


def dumps(text: str) -> Iterator[Dump]:
    """Yield the modules of a text."""
    modules = list(_MODULE.finditer(text))
    # MLIR closes the brace of a module in column 1, before the next module begins.
    limits = [*(module.start() for module in modules), len(text)][1:]
    closed = [
        _CLOSED.search(text, module.end(), limit)
        for module, limit in zip(modules, limits, strict=True)
    ]
    last = zip(closed, modules, strict=True)
    ends = [0, *(brace.end() if brace else module.end() for brace, module in last)]
    starts = [_start(text, *each) for each in zip(ends, modules, strict=False)]
    line, counted = 1, 0
    for index in range(len(modules)):
        line, counted = line + text.count("\n", counted, starts[index]), starts[index]
        end = starts[index + 1] if index + 1 < len(starts) else len(text)
        # What passes print of single functions is no part of the module before.
        other = _HEADER.search(text, ends[index + 1], end)
        part = text[starts[index] : other.start() if other else end]
        header, kernel = _HEADER.search(part), _KERNEL.search(part)
        stage = ("ttgir" if _LAYOUTS.search(part) else "ttir") if kernel else ""
        yield Dump(
            number=index + 1,
            stage=stage,
            kernel=(kernel[1] or kernel[2]) if kernel else "",
            text=part,
            line=line,
            after=header["pass"].strip() if header else "",
            complete=closed[index] is not None,
        )


def _start(text: str, end_before: int, module: re.Match[str]) -> int:
    """Return where the text of a module begins: its comment, or its first alias."""
    headers = list(_HEADER.finditer(text, end_before, module.start()))
    first = headers[-1] if headers else _FIRST.search(text, end_before, module.end())
    return first.start() if first else module.start()


def _ordinal(number: int) -> str:
    suffix = {1: "st", 2: "nd", 3: "rd"}.get(number % 10 if number % 100 not in (11, 12, 13) else 0)
    return f"{number}{suffix or 'th'}"
