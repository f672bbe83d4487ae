"""Calls in LLVM IR that copy asynchronously or wait for that: inline assembly and intrinsics.

NVIDIA's stand for PTX. Sources: LLVM Language Reference, "Inline Assembler Expressions"; LLVM,
"User Guide for NVPTX Back-end", whose intrinsics are named after the instructions.

AMD's copies to LDS are grouped by ``asyncmark``, or counted one by one by ASYNCcnt and TENSORcnt
(LLVM, "User Guide for AMDGPU Backend", intrinsics and "Asynchronous Operations"). The number of
``s.waitcnt`` counts other loads, too, and which of them LLVM makes is not visible here, only in the
machine code.
"""

import re
from collections.abc import Iterator
from typing import Literal, TypeAlias

from irlens.isa import ptx
from irlens.isa.events import Commit, Copy, Event, Wait
from irlens.model.errors import ParseError

#: Every call of interest contains one of these.
_INTEREST = re.compile(r"async|mbarrier|tcgen05|wgmma")
_ASM = re.compile(r'\basm (?:[a-z]+ )*"(?P<text>[^"]*)", "(?P<constraints>[^"]*)"\(')
_INTRINSIC = re.compile(r"@llvm\.nvvm\.(?P<name>[\w.]+)\(")
_ESCAPE = re.compile(r"\\([0-9A-Fa-f]{2})")
_PLACEHOLDER = re.compile(r"\$(?:\{(?P<long>\d{1,4})(?::\w)?\}|(?P<short>\d{1,4})|\$)")
_INTEGER = re.compile(r"i\d+ (?:\w+ )*(?P<value>-?\d+)")
_VALUE = re.compile(r'[%@](?:"[^"]*"|[\w$.-]+)$')
_OPEN, _CLOSE = frozenset("([{<"), frozenset(")]}>")

_INTO_SHARED = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
_OUT_OF_SHARED = "cp.async.bulk.global.shared::cta.bulk_group"
#: Intrinsics by the beginning of their name; the first match counts.
_INTRINSICS = (
    ("cp.async.ca.shared.global", "cp.async.ca.shared.global"),
    ("cp.async.cg.shared.global", "cp.async.cg.shared.global"),
    ("cp.async.commit.group", "cp.async.commit_group"),
    ("cp.async.wait.group", "cp.async.wait_group"),
    ("cp.async.wait.all", "cp.async.wait_all"),
    ("cp.async.mbarrier.arrive", "cp.async.mbarrier.arrive"),
    ("cp.async.bulk.commit.group", "cp.async.bulk.commit_group"),
    ("cp.async.bulk.wait.group", "cp.async.bulk.wait_group"),
    ("cp.async.bulk.global.to.shared", _INTO_SHARED),
    ("cp.async.bulk.shared.cta.to.cluster", _INTO_SHARED),
    ("cp.async.bulk.tensor.g2s", _INTO_SHARED),
    ("cp.async.bulk.shared.cta.to.global", _OUT_OF_SHARED),
    ("cp.async.bulk.tensor.s2g", _OUT_OF_SHARED),
    ("cp.async.bulk.tensor.reduce", _OUT_OF_SHARED),
    ("mbarrier.arrive.expect.tx", "mbarrier.arrive.expect_tx"),
    ("mbarrier.expect.tx", "mbarrier.expect_tx"),
    ("mbarrier.test.wait", "mbarrier.test_wait"),
    ("mbarrier.try.wait", "mbarrier.try_wait"),
    ("wgmma.commit_group", "wgmma.commit_group"),
    ("wgmma.wait_group", "wgmma.wait_group"),
    ("wgmma.mma_async", "wgmma.mma_async"),
    ("tcgen05.commit", "tcgen05.commit"),
    ("tcgen05.cp", "tcgen05.cp"),
    ("tcgen05.ld", "tcgen05.ld"),
    ("tcgen05.mma", "tcgen05.mma"),
    ("tcgen05.shift", "tcgen05.shift"),
    ("tcgen05.st", "tcgen05.st"),
    ("tcgen05.wait.ld", "tcgen05.wait::ld"),
    ("tcgen05.wait.st", "tcgen05.wait::st"),
)

#: A queue that is waited for separately.
AmdCounter: TypeAlias = Literal["marks", "async", "tensor"]

_AMD_CALL = re.compile(r"@llvm\.amdgcn\.(?P<name>[\w.]+)\((?:i\d+ (?P<number>\d{1,9}))?")
_INTO_LDS = re.compile(
    r"(?:raw|struct)\.(?:ptr\.)?buffer\.load(?:\.async)?\.lds|global\.load(?:\.async)?\.lds"
    r"|load(?:\.async)?\.to\.lds"
)
_COUNTED: dict[str, AmdCounter] = {
    "global.load.async.to.lds": "async",
    "cluster.load.async.to.lds": "async",
    "global.store.async.from.lds": "async",
    "tensor.load.to.lds": "tensor",
    "tensor.store.from.lds": "tensor",
}
_WAITS: dict[str, AmdCounter] = {
    "s.wait.asynccnt": "async",
    "s.wait.tensorcnt": "tensor",
    "wait.asyncmark": "marks",
}


class PtxCalls:
    """Reads the calls of one function: the same value is the same register in all of them."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def read(self, text: str) -> tuple[ptx.Instruction, ...]:
        """Return the instructions that a call stands for, as far as they are asynchronous."""
        if not _INTEREST.search(text):
            return ()
        written = self._inline(text) or self._intrinsic(text)
        try:
            module = ptx.parse(f".version 8.0\n.target sm_80\n.entry k()\n{{\n{written}\n}}\n")
        except ParseError:  # inline assembly in a syntax that only its assembler accepts
            return ()
        return tuple(each for function in module.functions for each in function.instructions)

    def _inline(self, text: str) -> str:
        call = _ASM.search(text)
        if call is None:
            return ""
        results = sum(each.startswith("=") for each in call["constraints"].split(","))
        arguments = [self._operand(each) for each in _arguments(text, call.end())]

        def filled(placeholder: re.Match[str]) -> str:
            number = placeholder["long"] or placeholder["short"]
            if number is None:
                return "$"
            at = int(number) - results
            return arguments[at] if 0 <= at < len(arguments) else f"%result{number}"

        assembly = _ESCAPE.sub(lambda m: chr(int(m[1], 16)), call["text"])
        return f"{{ {_PLACEHOLDER.sub(filled, assembly)}\n }}"

    def _intrinsic(self, text: str) -> str:
        call = _INTRINSIC.search(text)
        if call is None:
            return ""
        name = next((to for begin, to in _INTRINSICS if call["name"].startswith(begin)), None)
        operands = (
            f"[{self._operand(each)}]" if each.startswith("ptr") else self._operand(each)
            for each in _arguments(text, call.end())
        )
        return f"{name} {', '.join(operands)};" if name is not None else ""

    def _operand(self, argument: str) -> str:
        """Return an argument in PTX: a literal, or a register that represents the value."""
        literal = _INTEGER.fullmatch(argument)
        if literal:
            return literal["value"]
        value = _VALUE.search(argument)
        name = value.group() if value else argument
        return self._names.setdefault(name, f"%value{len(self._names)}")


def _arguments(text: str, start: int) -> Iterator[str]:
    """Yield a call's arguments; ``start`` is the offset after its bracket."""
    depth, begin = 0, start
    for at in range(start, len(text)):
        character = text[at]
        if character in _OPEN:
            depth += 1
        elif character in _CLOSE and depth:
            depth -= 1
        elif character == ")" or (character == "," and not depth):
            if text[begin:at].strip():
                yield text[begin:at].strip()
            if character == ")":
                return
            begin = at + 1


def amd_event(text: str, line: int, at: int) -> tuple[AmdCounter, Event] | None:
    """Return the event of a call and its counter; ``None`` if it neither copies nor waits.

    Args:
        line: 1-based line.
        at: Its position in the order of events.
    """
    call = _AMD_CALL.search(text)
    if call is None:
        return None
    name = call["name"]
    counter = next((c for begin, c in _COUNTED.items() if name.startswith(begin)), None)
    if counter is not None:
        return counter, Commit(line, certain=True, at=at, copies=True)
    if _INTO_LDS.match(name):
        return "marks", Copy(line, None, at=at)
    if name == "asyncmark":
        return "marks", Commit(line, certain=True, at=at)
    if name in _WAITS and call["number"] is not None:
        return _WAITS[name], Wait(line, int(call["number"]), certain=True, at=at)
    return None


def leaves_lds(text: str) -> bool:
    """Whether a call copies out of LDS."""
    return ".from.lds" in text
