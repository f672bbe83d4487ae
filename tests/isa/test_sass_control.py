"""Control fields of machine code, against what nvdisasm reads in the same bits."""

import json
import re
import tarfile
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from irlens.analyze import sass_cfg
from irlens.artifacts import cubin, tools
from irlens.artifacts.code_listings import list_code
from irlens.isa import sass
from irlens.isa.sass.records import decode, decode_all
from irlens.model.schedule import Control
from irlens.render.view.gutters import notation
from tests.tables import each_row

DATA = Path(__file__).parents[1] / "data"
FIRST, BITS = 105, 17

#: Opcodes whose result takes at least four cycles, and those of the other unit. LEA is not among
#: them: it reads what it adds a cycle or two after what it shifts.
INTEGER = {"IADD3", "LOP3", "SHF", "ISETP", "SEL", "PRMT", "IMNMX", "FSETP", "FSEL", "FMNMX"}
MULTIPLY = {"FFMA", "FMUL", "FADD", "IMAD"}


@cache
def cubins(archive: str) -> dict[str, bytes]:
    with tarfile.open(DATA / archive) as files:
        return {
            member.name: files.extractfile(member).read()  # type: ignore[union-attr]  # a file
            for member in files
            if member.name.endswith(".cubin")
        }


def words(code: bytes) -> Iterator[int]:
    for at in range(0, len(code), 16):
        yield int.from_bytes(code[at : at + 16], "little")


def read_note(note: str) -> tuple[object, ...]:
    """Read "&req={1,0} &rd=0x0 &wr=0x1 ?WAIT5_END_GROUP"."""
    waits = re.search(r"&req=\{([\d,]+)\}", note)
    read = re.search(r"&rd=0x(\d)", note)
    write = re.search(r"&wr=0x(\d)", note)
    stall = re.search(r"\?(?:trans|WAIT)(\d+)(_END_GROUP)?", note)
    return (
        tuple(sorted(map(int, waits[1].split(",")))) if waits else (),
        int(read[1]) if read else None,
        int(write[1]) if write else None,
        int(stall[1]) if stall else 0,
        # nvdisasm prints nothing for neither: that is what fills a section behind its code.
        stall is None or stall[2] is not None,
    )


def test_fields_equal_what_nvdisasm_reads_in_the_same_bits() -> None:
    notes = json.loads((DATA / "sass" / "control.json").read_text())
    archs, instructions = set(), 0
    for archive in ("cubin/triton.tar.xz", "h200/triton-cache.tar.xz", "h200/launches.tar.xz"):
        for name, data in cubins(archive).items():
            archs.add((re.search(r"sm_\d+", name) or ["sm_90"])[0])
            for code in cubin.code_sections(data).values():
                decoded = decode_all(code)
                instructions += len(decoded)
                for word, control in zip(words(code), decoded, strict=True):
                    fields = word >> FIRST & (1 << BITS) - 1
                    got = (control.waits, control.read, control.write, control.stall)
                    assert (*got, control.yields) == read_note(notes[f"{fields:06x}"]), name
    assert archs == {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"}
    assert instructions > 150_000


@cache
def listings() -> dict[bytes, str | None]:
    """Listings of all cubins, those of an architecture made together."""
    return list_code(list(cubins("cubin/triton.tar.xz").values()))


@cache
def sections(name: str) -> list[tuple[sass.Section, tuple[Control, ...]]]:
    data = cubins("cubin/triton.tar.xz")[name]
    code = cubin.code_sections(data)
    parsed = sass.parse(listings()[data] or tools.disassemble(data)).sections
    return [(section, decode_all(code[section.name])) for section in parsed]


@each_row("name", sorted(cubins("cubin/triton.tar.xz")))
def test_reuse_flags_are_those_that_nvdisasm_prints(name: str) -> None:
    for section, fields in sections(name):
        for each, control in zip(section.instructions, fields, strict=False):
            registers = [one for operand in each.operands for one in operand.registers]
            assert control.reuse.bit_count() == sum("reuse" in one.suffixes for one in registers)


def test_stalls_cover_the_latency_of_arithmetic() -> None:
    least: Counter[tuple[bool, bool]] = Counter()
    pairs = 0
    for name in cubins("cubin/triton.tar.xz"):
        for section, fields in sections(name):
            for before, after, cycles in dependent(section, fields):
                same = {before, after} <= INTEGER or {before, after} <= MULTIPLY
                assert cycles >= (4 if same else 5), (name, before, after)
                pairs += 1
                least[same, cycles == (4 if same else 5)] += 1
    assert pairs > 500
    # ptxas has no reason to wait for longer: most pairs are as near as they may be.
    assert least[True, True] > 100
    assert least[False, True] > 100


def dependent(section: sass.Section, fields: tuple[Control, ...]) -> Iterator[tuple[str, str, int]]:
    """Yield instructions of a block and the first that reads their result, and the cycles between.

    Both are of the integer or the multiply unit and under no predicate, and set no scoreboard.
    """
    use = section.register_use()
    known = INTEGER | MULTIPLY
    for block in sass_cfg.build(section).blocks:
        made: dict[int, tuple[int, int]] = {}
        now = 0
        for index in block.indices:
            each = section.instructions[index]
            for register in [
                one for one in made if (use.reads[index] | use.writes[index]) >> one & 1
            ]:
                at, writer = made.pop(register)
                if use.reads[index] >> register & 1 and each.opcode in known:
                    yield section.instructions[writer].opcode, each.opcode, now - at
            if each.opcode in known and each.guard is None and fields[index].write is None:
                written = use.writes[index]
                made |= {n: (now, index) for n in range(written.bit_length()) if written >> n & 1}
            now += fields[index].stall


@each_row("name", sorted(cubins("cubin/triton.tar.xz")))
def test_scoreboards_are_set_before_they_are_waited_for(name: str) -> None:
    for section, fields in sections(name):
        flow = sass_cfg.build(section)
        if flow.unknown or flow.calls:
            continue
        reached = set_before(flow, fields)
        for number, block in enumerate(flow.blocks):
            live = reached.get(number)
            for index in block.indices:
                if live is None:
                    break
                each = section.instructions[index]
                assert not fields[index].wait & ~live, (name, each)
                live |= boards(fields[index])


def boards(control: Control) -> int:
    return sum(1 << n for n in {control.read, control.write} if n is not None)


def set_before(flow: sass_cfg.SassCfg, fields: tuple[Control, ...]) -> dict[int, int]:
    """Return the scoreboards that may have been set before each block that is reached."""
    reached = {0: 0}
    pending = [0]
    while pending:
        block = pending.pop()
        after = reached[block]
        for index in flow.blocks[block].indices:
            after |= boards(fields[index])
        for target in flow.successors[block]:
            if target not in reached or after & ~reached[target]:
                reached[target] = reached.get(target, 0) | after
                pending.append(target)
    return reached


def test_text_is_the_usual_notation() -> None:
    control = Control(stall=4, write=1, read=None, wait=0b000101)
    assert notation(control) == "B0-2---:R-:W1:-:S04"
    assert notation(Control(15, None, 3, 0, yields=True)) == "B------:R3:W-:Y:S15"
    assert notation(decode(0x000FCA00 << 96)) == "B------:R-:W-:Y:S05"


def test_the_remains_of_an_instruction_are_ignored() -> None:
    assert len(decode_all(bytes(40))) == 2
