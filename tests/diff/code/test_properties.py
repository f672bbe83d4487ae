"""What means the same is no difference, and one change is one difference, at every stage."""

import lzma
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irlens.analyze import cfg, liveness, sass_cfg
from irlens.analyze.graph import FlowGraph
from irlens.diff.code import compare_code
from irlens.isa import amdgcn, sass
from irlens.isa.amdgcn import registers as amdgcn_registers
from irlens.isa.sass import registers as sass_registers
from irlens.model.code import CodeComparison
from tests.diff.code.stage_texts import code_of_text

ROOT = Path(__file__).parents[3]
CAPTURES = ROOT / "samples" / "captures"
#: Enough for every stage and vendor; the others would only take longer.
SAMPLES = ("softmax-h100", "softmax-mi300x", "matmul-a100", "matmul_tma-h100")
SASS = ROOT / "tests" / "data" / "sass"


@cache
def texts() -> dict[str, tuple[str, str]]:
    """Return texts by name: the stage of each, and the text."""
    found = {
        f"{path.parent.name}.{path.suffix[1:]}": (path.suffix[1:], path.read_text())
        for name in SAMPLES
        for path in sorted((CAPTURES / name).iterdir())
        if path.suffix[1:] in ("source", "ttir", "ttgir", "llir", "ptx", "amdgcn")
    }
    for name in ("sm75_softmax", "sm90_softmax"):
        packed = (SASS / f"{name}.sass.xz").read_bytes()
        found[f"{name}.sass"] = ("sass", lzma.decompress(packed).decode())
    return found


def compared(stage: str, before: str, after: str) -> CodeComparison:
    return compare_code(code_of_text(stage, before), code_of_text(stage, after), stage)


def moved(found: CodeComparison) -> tuple[set[int], set[int]]:
    """Return the lines of both sides that are not the same."""
    rows = [row for hunk in found.hunks for row in hunk.rows if row.kind != "same"]
    return (
        {row.before_line for row in rows if row.before_line is not None},
        {row.after_line for row in rows if row.after_line is not None},
    )


def disguised(stage: str, text: str, random: Random) -> str:
    """Return the same code with other names, locations, offsets and comments."""
    return _DISGUISES[stage](text, random)


def _shuffled(text: str, name: str, random: Random) -> str:
    """Exchange the names of a kind: the text's own, so that all of them stay well formed."""
    there = sorted(set(re.findall(name, text)))
    other = dict(zip(there, random.sample(there, len(there)), strict=True))
    return re.sub(name, lambda m: other[m.group()], text)


def _mlir(text: str, random: Random) -> str:
    text = re.sub(r'(\.py":)(\d+):(\d+)', lambda m: f"{m[1]}{int(m[2]) + 7}:1", text)
    text = re.sub(r"#loc(\d+)", lambda m: f"#loc{int(m[1]) + 40}", text)
    text = text.replace("/opt/irlens", "/home/x")
    # Aliases are sorted by name: other names, another order.
    aliases = sorted(set(re.findall(r"^#(?!loc)\w+(?= = )", text, re.MULTILINE)))
    heads = [line for line in text.split("\n") if re.match(r"#(?!loc)\w+ = ", line)]
    rest = [line for line in text.split("\n") if not re.match(r"#(?!loc)\w+ = ", line)]
    random.shuffle(heads)
    text = "\n".join([*heads, *rest])
    new = {a: f"#layout{n}" for n, a in enumerate(random.sample(aliases, len(aliases)))}
    text = re.sub(r"#(?!loc)\w+\b(?![.<])", lambda m: new.get(m.group(), m.group()), text)
    values = sorted(set(re.findall(r"%[\w$-]*\w", text)))
    other = {v: f"%v{n}" for n, v in enumerate(random.sample(values, len(values)))}
    return re.sub(r"%[\w$-]*\w", lambda m: other[m.group()], text)


def _llir(text: str, random: Random) -> str:
    shift, metadata = random.randrange(1, 90), random.randrange(1, 90)
    text = re.sub(r"%(\d+)\b", lambda m: f"%{int(m[1]) + shift}", text)
    text = re.sub(r"^(\d+):", lambda m: f"{int(m[1]) + shift}:", text, flags=re.MULTILINE)
    text = re.sub(r"!(\d+)\b", lambda m: f"!{int(m[1]) + metadata}", text)
    text = re.sub(r"line: \d+", "line: 1", text)
    return text.replace("/opt/irlens", "/home/x").replace("; preds", ";  preds")


def _ptx(text: str, random: Random) -> str:
    for kind in ("%r", "%rd", "%p"):
        text = _shuffled(text, rf"{kind}\d+\b", random)
    text = _shuffled(text, r"\$L__BB\d+_\d+", random)
    text = re.sub(r"(\.loc\s+\d+) \d+ \d+.*", r"\1 3 4", text)
    return text.replace("/opt/irlens", "/home/x").replace("softmax.py:", "other.py:")


def _sass(text: str, random: Random) -> str:
    shift = random.choice((8, 16, 24)) if "R250" not in text else 0
    text = re.sub(r"(?<![\w.])R(\d+)\b", lambda m: f"R{int(m[1]) + shift}", text)
    text = re.sub(r"(?<![\w.])UR(\d+)\b", lambda m: f"UR{(int(m[1]) + 4) % 60}", text)
    text = text.replace(".reuse", "")
    text = re.sub(r"\.L_x_(\d+)", lambda m: f".L_x_{int(m[1]) + 11}", text)
    text = re.sub(r"line \d+", "line 1", text)
    return re.sub(r"/\*([0-9a-f]{4})\*/", lambda m: f"/*{int(m[1], 16) + 32:04x}*/", text)


def _amdgcn(text: str, random: Random) -> str:
    shift = random.choice((2, 8, 30))

    def moved(match: re.Match[str]) -> str:
        return re.sub(r"\d+", lambda n: str(int(n.group()) + shift), match.group())

    text = re.sub(r"\b[vsa](?:\d+\b|\[\d+:\d+\])", moved, text)
    text = _shuffled(text, r"\.LBB\d+_\d+", random)
    text = re.sub(r"(\.loc\s+\d+) \d+ \d+", r"\1 3 4", text)
    return re.sub(r";.*", "; said otherwise", text)


_DISGUISES = {
    "source": _mlir, "ttir": _mlir, "ttgir": _mlir, "llir": _llir, "ptx": _ptx, "sass": _sass,
    "amdgcn": _amdgcn,
}  # fmt: skip


NAMES = sorted(texts())
few = settings(max_examples=3, deadline=None)


@pytest.mark.parametrize("name", NAMES)
def test_a_stage_is_no_different_from_itself(name: str) -> None:
    stage, text = texts()[name]
    found = compared(stage, text, text)
    assert not found.different
    assert found.hunks == []


@pytest.mark.parametrize("name", NAMES)
@few
@given(random=st.randoms(use_true_random=False))
def test_other_names_are_no_difference(name: str, random: Random) -> None:
    stage, text = texts()[name]
    other = disguised(stage, text, random)
    assert other != text
    found = compared(stage, text, other)
    assert not found.different, [row for hunk in found.hunks for row in hunk.rows][:6]


#: Of each stage: what the one operation was, and what it is made.
OPERATIONS = {
    "source": [("arith.addi", "arith.subi"), ("tt.splat", "tt.splot")],
    "ttir": [("arith.addi", "arith.subi"), ("tt.splat", "tt.splot")],
    "ttgir": [("arith.addi", "arith.subi"), ("arith.andi", "arith.ori"), ("slt,", "sle,")],
    "llir": [(" = fadd ", " = fsub "), (" = and i32", " = xor i32"), ("icmp slt", "icmp sle")],
    "ptx": [("add.s32", "sub.s32"), ("shl.b32", "shr.b32"), ("max.f32", "min.f32")],
    "sass": [("IADD3 ", "IMNMX3 "), ("FADD ", "FMUL "), ("LOP3.LUT", "LOP3.NOT")],
    "amdgcn": [("v_add_u32", "v_sub_u32"), ("v_max_f32", "v_min_f32"), ("s_mul_i32", "s_add_i32")],
}
CONSTANT = {
    "source": r"= arith\.constant (-?\d+) :",
    "ttir": r"= arith\.constant (-?\d+) :",
    "ttgir": r"= arith\.constant (-?\d+) :",
    "llir": r"= [^@]*\bi32 %\S+ (\d+)\b|= [^@]*\bi32 %\S+, (\d+)\b",
    "ptx": r"^\t[a-z].*, (\d+);",
    "sass": r"R\d+, 0x([0-9a-f]+)\b",
    "amdgcn": r"^\ts_(?:add|mul)\S* .*, (0x[0-9a-f]+)|s_waitcnt vmcnt\((\d+)\)",
}
Change = Callable[[str, str, Random], list[tuple[int, str]]]


def other_operation(stage: str, text: str, random: Random) -> list[tuple[int, str]]:
    return [
        (number, line.replace(was, becomes, 1))
        for number, line in enumerate(text.split("\n"))
        for was, becomes in OPERATIONS[stage]
        if was in line and not line.lstrip().startswith(("//", ";", "declare"))
    ]


def other_constant(stage: str, text: str, random: Random) -> list[tuple[int, str]]:
    found = []
    for number, line in enumerate(text.split("\n")):
        if match := re.search(CONSTANT[stage], line):
            start, stop = match.span(match.lastindex or 0)
            found.append((number, f"{line[:start]}77{line[stop:]}"))
    return found


#: Instructions that read two values, and which of them are given a wrong one.
TWO_VALUES = {
    "source": r"= arith\.\w+ (%[\w-]+), (%[\w-]+) :",
    "ttir": r"= arith\.\w+ (%[\w-]+), (%[\w-]+) :",
    "ttgir": r"= arith\.\w+ (%[\w-]+), (%[\w-]+) :",
    "llir": r"= f?(?:add|sub|mul|and|or)[a-z ]* \S+ (%\d+), (%\d+)",
    "ptx": r"^\t(?:add|sub|mul|max)\S* \t%\w+, (%\w+), (%\w+);",
    "sass": r"\*/\s+(?:FADD|FMUL|IMAD|FMNMX|LEA)\S* R\d+, (R\d+), (R\d+)\b",
    "amdgcn": r"^\tv_(?:add|sub|max|mul|lshl_or)_\w+ v\d+, (v\d+), (v\d+)\b",
}


def other_operand(stage: str, text: str, random: Random) -> list[tuple[int, str]]:
    found = []
    for number, line in enumerate(text.split("\n")):
        match = re.search(TWO_VALUES[stage], line)
        if match and match[1] != match[2]:
            start, stop = match.span(1)
            found.append((number, line[:start] + match[2] + line[stop:]))
    return found


#: Names that are read: in the IRs all behind what a line makes, in assemblies behind its first.
READ = {
    "source": (r"\s*(?:%\S* = )?", r"%[\w.$-]+"),
    "ttir": (r"\s*(?:%\S* = )?", r"%[\w.$-]+"),
    "ttgir": (r"\s*(?:%\S* = )?", r"%[\w.$-]+"),
    "llir": (r"\s+(?:%\S+ = )?", r"%[\w.$-]+"),
    "ptx": (r"\t(?:@!?(?=%)|[a-z]\S*\s+(?:%\w+|\{[^}]*\}|(?=\[)))", r"%(?:r|rd|f|p|rs)\d+\b"),
    "sass": (r"[^;]*\*/\s+(?:@!?U?P\d\s+)?(?:[A-Z][\w.]*\s+)(?:U?[RP]\d+|(?=\[))", r"\bU?R\d+\b"),
    "amdgcn": (r"\t[vsbdg]\w+\s+[vs][\d\[:\]]+,", r"\b[vs]\d+\b"),
}
_BEHIND_CODE = re.compile(r"\s*(?:loc\(|, !dbg|//|;).*")


def other_name(stage: str, text: str, random: Random) -> list[tuple[int, str]]:
    """Let each line in turn read another value: any of the kind that the text names."""
    head, name = READ[stage]
    lines = text.split("\n")
    there = sorted(set(re.findall(name, text)))
    found = []
    for number, line in enumerate(lines):
        begins = re.match(head, line)
        if begins is None or line.lstrip().startswith(("#loc", "^", "}")):
            continue
        code = _BEHIND_CODE.sub("", line) if stage != "sass" else line
        if reads := list(re.finditer(name, code[begins.end() :])):
            read = random.choice(reads)
            start, stop = (begins.end() + at for at in read.span())
            kind = re.sub(r"\d.*", "", read[0]) if stage in ("ptx", "sass", "amdgcn") else "%"
            others = [n for n in there if n != read[0] and re.match(rf"{kind}(?:\d|(?<=%))", n)]
            found.append((number, line[:start] + random.choice(others) + line[stop:]))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@few
@given(random=st.randoms(use_true_random=False))
def test_another_name_read_anywhere_is_a_difference(name: str, random: Random) -> None:
    stage, text = texts()[name]
    lines = text.split("\n")
    for number, line in random.sample(other_name(stage, text, random), 3):
        after = [*lines[:number], line, *lines[number + 1 :]]
        found = compared(stage, text, "\n".join(after))
        assert found.different, (number + 1, lines[number], line)


def one_change(name: str, change: Change, random: Random) -> None:
    stage, text = texts()[name]
    choices = change(stage, text, random)
    if not choices:
        return
    number, line = random.choice(choices)
    lines = text.split("\n")
    lines[number] = line
    disguise = random.random() < 0.5
    after = "\n".join(lines)
    found = compared(stage, text, disguised(stage, after, random) if disguise else after)
    before_lines, after_lines = moved(found)
    assert before_lines == {number + 1}, (text.split("\n")[number], line)
    assert len(after_lines) == 1
    if not disguise:
        assert after_lines == {number + 1}


@pytest.mark.parametrize("name", NAMES)
@few
@given(random=st.randoms(use_true_random=False))
def test_another_operation_is_that_operation_and_nothing_else(name: str, random: Random) -> None:
    one_change(name, other_operation, random)


@pytest.mark.parametrize("name", NAMES)
@few
@given(random=st.randoms(use_true_random=False))
def test_another_constant_is_that_operation_and_nothing_else(name: str, random: Random) -> None:
    one_change(name, other_constant, random)


@pytest.mark.parametrize("name", NAMES)
@few
@given(random=st.randoms(use_true_random=False))
def test_another_operand_is_that_operation_and_nothing_else(name: str, random: Random) -> None:
    one_change(name, other_operand, random)


@pytest.mark.parametrize("name", NAMES)
@few
@given(random=st.randoms(use_true_random=False))
def test_an_operation_that_is_gone_is_that_line_and_its_readers(name: str, random: Random) -> None:
    """Where names are registers those read something else now that read what it wrote."""
    stage, text = texts()[name]
    choices = other_operation(stage, text, random)
    if not choices:
        return
    number, _ = random.choice(choices)
    lines = text.split("\n")
    found = compared(stage, text, "\n".join([*lines[:number], *lines[number + 1 :]]))
    rows = [row for hunk in found.hunks for row in hunk.rows]
    gone = [row for row in rows if row.kind == "removed"]
    assert len(gone) == 1
    assert found.added == 0
    changed = {row.before_line for row in rows if row.kind == "changed"}
    assert changed <= readers(name, gone[0].before_line or 0)


@cache
def accesses(name: str) -> dict[int, tuple[int, int]]:
    """Return what each instruction of a machine reads and writes, by line."""
    stage, text = texts()[name]
    if stage == "sass":
        each = (i for section in sass.parse(text).sections for i in section.instructions)
        found = {i.line: sass_registers.access(i) for i in each}
        return {line: (a.reads, a.writes) for line, a in found.items() if a is not None}
    parsed = [i for f in amdgcn.parse(text).functions for i in f.instructions]
    known = {i.line: amdgcn_registers.access(i, 64) for i in parsed}
    return {line: (a.reads, a.writes) for line, a in known.items() if a is not None}


def readers(name: str, line: int) -> set[int]:
    """Return the lines that read a register which one line writes; of other stages none."""
    if texts()[name][0] not in ("sass", "amdgcn"):
        return set()
    known = accesses(name)
    _, written = known[line]
    return {other for other, (read, _) in known.items() if read & written}


def test_where_nothing_but_the_unknown_differs_it_is_a_difference() -> None:
    """No BSSY has named where this BSYNC leads: of no register anything is known, on one side."""
    text = lzma.decompress((SASS / "sm90_tma.sass.xz").read_bytes()).decode()
    assert compared("sass", text, text.replace("BSYNC B0", "BSYNC B1", 1)).different


#: Instructions that write one register, which the text names first.
_WRITES_ONE = {
    "sass": r"\*/\s+(?:FADD|FMUL|FFMA|MOV|LOP3\.LUT|SHF\S*|FSEL|IMAD\.MOV\.U32) (R\d+),",
    "amdgcn": r"^\tv_(?:add|sub|max|mul|mov|lshlrev|or|and)_[iubf]\w*32\w* (v\d+),",
}


@pytest.mark.parametrize("name", [n for n in NAMES if texts()[n][0] in _WRITES_ONE])
@few
@given(random=st.randoms(use_true_random=False))
def test_a_value_put_elsewhere_is_a_difference_where_it_is_read(name: str, random: Random) -> None:
    """Also behind labels; where nothing reads it, it is none."""
    stage, text = texts()[name]
    lines = text.split("\n")
    found = [(n, m) for n, each in enumerate(lines) if (m := re.search(_WRITES_ONE[stage], each))]
    number, match = random.choice(found)
    start, stop = match.span(1)
    lines[number] = f"{lines[number][:start]}{match[1][0]}201{lines[number][stop:]}"
    before_lines, _ = moved(compared(stage, text, "\n".join(lines)))
    assert bool(before_lines) == read_later(stage, text, number + 1)
    assert before_lines <= {number + 1, *readers(name, number + 1)}


def read_later(stage: str, text: str, line: int) -> bool:
    """Whether some path reads what an instruction writes: by liveness, which goes backwards."""
    if stage == "sass":
        (section,) = sass.parse(text).sections
        flow = sass_cfg.build(section)
        blocks, successors = flow.ranges, flow.successors
        lines = [each.line for each in section.instructions]
        known = [sass_registers.access(each) for each in section.instructions]
        reads = [each.reads for each in known if each is not None]
        writes = [each.writes for each in known if each is not None]
        guards = [each.guard is None for each in section.instructions]
        kills = [each if certain else 0 for each, certain in zip(writes, guards, strict=True)]
    else:
        (function,) = amdgcn.parse(text).functions
        plain = cfg.build(function)
        blocks, successors = plain.ranges, plain.successors
        found = function.register_use()
        assert not found.unknown
        lines = [each.line for each in function.instructions]
        reads, writes, kills = list(found.reads), list(found.writes), list(found.kills)
    index = lines.index(line)
    after = liveness.live_out(blocks, FlowGraph(successors), reads, kills)
    (at,) = [n for n, block in enumerate(blocks) if index in block]
    behind = {i: b for i, _, b in liveness.walk(blocks[at], after[at], reads, kills)}
    return bool(behind[index] & writes[index])


def test_every_stage_can_be_changed() -> None:
    """The properties above hold of something."""
    for change, stages in (
        (other_operation, OPERATIONS), (other_constant, CONSTANT), (other_operand, TWO_VALUES),
        (other_name, READ),
    ):  # fmt: skip
        for stage in stages:
            found = [
                change(stage, text, Random(0)) for kind, text in texts().values() if kind == stage
            ]
            assert any(found), (change, stage)


#: A stage with a NUL is refused.
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=300)


@few
@given(TEXT, TEXT, st.sampled_from(sorted(OPERATIONS)))
def test_any_text_is_compared(before: str, after: str, stage: str) -> None:
    assert not compared(stage, before, before).different
    found = compared(stage, before, after)
    assert found.different == compared(stage, after, before).different
