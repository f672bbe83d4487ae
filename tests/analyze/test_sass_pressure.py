"""Live registers against nvdisasm's own count, instruction by instruction, and what it gets wrong.

``tests/data/sass/README.md`` says where the disassemblies and the counts come from.
"""

import lzma
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import irlens
from irlens.analyze import sass_cfg, sass_pressure
from irlens.artifacts import tools
from irlens.isa import sass
from irlens.isa.sass import Instruction, Section
from irlens.isa.sass import registers as sass_registers
from irlens.isa.sass.registers import FILES, STACK_POINTER
from irlens.model.config import ConstexprValue
from irlens.model.errors import ToolError
from irlens.model.pressure import StagePressure
from tests.tables import each_row

DATA = Path(__file__).parents[1] / "data"
COUNTED = sorted(path.name.removesuffix(".live.xz") for path in DATA.glob("sass/*.live.xz"))
WITH_SUBROUTINES = [
    "sm80_subroutine",
    "sm90_subroutine",
    "sm90_outlined",
    "sm100_guarded",
    "sm100_subroutines",
    "sm120_outlined",
]

TILE: dict[str, ConstexprValue] = {
    "BLOCK_SIZE_M": 64, "BLOCK_SIZE_N": 64, "BLOCK_SIZE_K": 32, "GROUP_SIZE_M": 8,
    "num_warps": 4, "num_stages": 3,
}  # fmt: skip
SAMPLES: dict[str, dict[str, ConstexprValue]] = {
    "vector_add": {}, "softmax": {}, "matmul": TILE, "matmul_tma": TILE, "flash_attention": {},
    "layer_norm": {}, "spill": {},
}  # fmt: skip

#: nvdisasm's count for one instruction: general, predicate, uniform, uniform predicate.
Counts = tuple[int, int, int, int]


def section_of(name: str) -> Section:
    text = lzma.decompress((DATA / "sass" / f"{name}.sass.xz").read_bytes()).decode()
    (section,) = sass.parse(text).sections
    return section


def _analyze(section: Section) -> StagePressure:
    return sass_pressure.analyze(section, sass_cfg.build(section))


def section_from(*lines: str) -> Section:
    """A section of the given lines; instructions get their offsets, the rest are labels."""
    text, offset = '\t.section\t.text.k,"ax",@progbits\nk:\n', 0
    for line in lines:
        if line.endswith(":"):
            text += line + "\n"
        else:
            text += f"        /*{offset:04x}*/  {line} ;\n"
            offset += 16
    (section,) = sass.parse(text).sections
    return section


def oracle(name: str) -> dict[int, Counts]:
    text = lzma.decompress((DATA / "sass" / f"{name}.live.xz").read_bytes()).decode()
    rows = {}
    for line in text.splitlines():
        offset, general, predicates, uniform, uniform_predicates = line.split()
        rows[int(offset, 16)] = (
            int(general),
            int(predicates),
            int(uniform),
            int(uniform_predicates),
        )
    return rows


def kernel_end(section: Section) -> int:
    """Index behind the kernel. What nothing calls stands behind it, and nvdisasm takes
    everything to be live where such code returns."""
    return min(
        (index for index in section.functions.values() if index), default=len(section.instructions)
    )


def counts(section: Section, file: str) -> list[int]:
    occupied, unknown = sass_pressure.occupied(section, sass_cfg.build(section))
    assert unknown == ""
    return [(registers & FILES.masks[file]).bit_count() for registers in occupied]


def hides_descriptor(instruction: Instruction) -> bool:
    """Whether it accesses global memory through a descriptor that nvdisasm does not print.

    From sm_90 on it prints ``desc[UR4][R2.64]``. For sm_80 to sm_89 the same access reads
    ``[R2.64]``, and the pair of uniform registers is to be seen in the encoding only.
    """
    return any(
        operand.kind == "memory"
        and any("64" in register.suffixes for register in operand.registers)
        and all(register.file != "UR" for register in operand.registers)
        for operand in instruction.operands
    )


def disagreements(section: Section, rows: dict[int, Counts], file: str) -> list[str]:
    ours = counts(section, file)
    column = ("R", "P", "UR", "UP").index(file)
    assert len(ours) == len(section.instructions)
    return [
        f"{each.offset:#06x} {each.opcode}: {count}, nvdisasm {rows[each.offset][column]}"
        for each, count in zip(section.instructions[: kernel_end(section)], ours, strict=False)
        if each.offset in rows and count != rows[each.offset][column]
    ]


def moves_predicates(section: Section) -> bool:
    return any(each.opcode in ("P2R", "R2P", "UP2UR", "UR2UP") for each in section.instructions)


def confuses_uniform_counts(section: Section) -> bool:
    """nvdisasm has no column for UR63 and above, and lets a uniform write end a life even under
    a predicate, which may be false."""
    return any(
        (register.file == "UR" and (register.index or 0) >= 62)
        or (each.guard is not None and operand.kind == "register" and register.file == "UR")
        for each in section.instructions
        for operand in each.operands
        for register in operand.registers
    )


@pytest.mark.parametrize("name", COUNTED)
def test_general_registers_are_counted_as_nvdisasm_does(name: str) -> None:
    rows = oracle(name)
    section = section_of(name)
    assert len(rows) >= len(section.instructions) - 16  # it has no row for some of the padding
    assert disagreements(section, rows, "R") == []


def test_the_corpus_knows_enough_instructions() -> None:
    """It is worth something only while it is large: about 35,000 lines, six architectures."""
    assert sum(len(oracle(name)) for name in COUNTED) > 30_000
    assert {name.split("_")[0] for name in COUNTED} == {
        *("sm75", "sm80", "sm89", "sm90", "sm100", "sm120")
    }


def test_predicates_are_counted_as_nvdisasm_does() -> None:
    compared = [name for name in COUNTED if not moves_predicates(section_of(name))]
    assert len(compared) >= 15
    for name in compared:
        section = section_of(name)
        assert disagreements(section, oracle(name), "P") == [], name
        assert disagreements(section, oracle(name), "UP") == [], name


def test_uniform_registers_are_counted_as_nvdisasm_does_where_it_shows_them() -> None:
    compared = 0
    for name in COUNTED:
        section = section_of(name)
        shown = not any(map(hides_descriptor, section.instructions))
        assert shown == (name.split("_")[0] not in ("sm80", "sm89"))
        if shown and not confuses_uniform_counts(section):
            compared += 1
            assert disagreements(section, oracle(name), "UR") == [], name
    assert compared >= 8


def test_a_predicate_saved_by_p2r_is_alive_until_then() -> None:
    """nvdisasm 12.8 and 13.1 let P2R read no predicate, so that P4 would be dead here."""
    section = section_from(
        "ISETP.NE.AND P4, PT, R2, RZ, PT",
        "ISETP.NE.AND P0, PT, R3, RZ, PT",
        "P2R R5, PR, RZ, 0x10",
        "R2P PR, R5, 0x3",
        "@P1 EXIT",
    )
    assert counts(section, "P") == [1, 2, 1, 2, 1]


@pytest.mark.parametrize("name", WITH_SUBROUTINES)
def test_calls_are_followed_as_if_they_were_inlined(name: str) -> None:
    assert_calls_followed(section_of(name))


def assert_calls_followed(section: Section) -> None:
    occupied, unknown = sass_pressure.occupied(section, sass_cfg.build(section))
    assert unknown == ""
    inlined = occupied_with_inlining(section)
    reached = {index: registers for index, registers in enumerate(inlined) if registers}
    assert len(reached) > len(section.instructions) * 0.8  # the rest is padding
    assert {index: occupied[index] for index in reached} == reached


#: An instruction, and the calls that led to it.
Node = tuple[int, tuple[int, ...]]


def occupied_with_inlining(section: Section) -> list[int]:
    """Liveness on a graph in which every call has its own copy of what it calls.

    A node is an instruction together with the calls that led to it. What one instruction holds
    is the union over its copies. Plain sets and plain repetition until nothing changes.
    """
    flow = sass_cfg.build(section)
    block_of = {index: n for n, block in enumerate(flow.ranges) for index in block}
    entry_of = {
        flow.blocks[call.block].stop - 1: call.entry for call in flow.calls if not call.far_branch
    }
    following: dict[Node, list[Node]] = {}
    pending: list[Node] = [(0, ())]
    while pending:
        node = pending.pop()
        if node in following:
            continue
        index, stack = node
        block = flow.blocks[block_of[index]].indices
        targets = [(flow.blocks[n].start, stack) for n in flow.successors[block_of[index]]]
        if index != block[-1]:
            targets = [(index + 1, stack)]
        elif section.instructions[index].opcode == "RET" and stack:
            targets = [*targets, (stack[-1] + 1, stack[:-1])]
        elif index in entry_of:
            assert len(stack) < 8, "recursion"
            into = (flow.blocks[entry_of[index]].start, (*stack, index))
            guarded = section.instructions[index].guard is not None
            targets = [into, *(targets if guarded else [])]
        following[node] = targets
        pending.extend(targets)
    access = [sass_registers.access(each) for each in section.instructions]
    live: dict[Node, int] = dict.fromkeys(following, 0)
    changed = True
    while changed:
        changed = False
        for node in sorted(following, reverse=True):
            each, effect = section.instructions[node[0]], access[node[0]]
            assert effect is not None
            after = 0
            for target in following[node]:
                after |= live[target]
            kept = after if each.guard is not None else after & ~effect.writes
            if live[node] != kept | effect.reads:
                live[node] = kept | effect.reads
                changed = True
    found = [0] * len(section.instructions)
    for node in following:
        effect = access[node[0]]
        assert effect is not None
        found[node[0]] |= live[node] | effect.writes | STACK_POINTER
        if node[0] in entry_of:  # what is live behind a call is there while it returns
            copies = [(node[0] + 1, node[1])]
            found[node[0]] |= sum(live.get(copy, 0) for copy in copies)
    return found


def test_code_outside_of_the_cubin_is_not_guessed_at() -> None:
    pressure = _analyze(section_of("sm90_printing"))
    assert (pressure.peak, pressure.lines, pressure.curve) == (None, (), ())
    assert pressure.reason == "what the code outside that CALL at 0x0180 runs does"
    # It comes back: which code follows which is known.
    flow = sass_cfg.build(section_of("sm90_printing"))
    assert (flow.unknown, flow.outside) == ("", pressure.reason)


@pytest.mark.parametrize(
    ("lines", "unknown"),
    [
        (["WIDGET R0, R1"], "which registers WIDGET at 0x0000 uses"),
        (["POPC.U64 R0, R2"], "which registers POPC.U64 at 0x0000 uses"),
        (["BRX R4 -0x160"], "where BRX at 0x0000 leads"),
        (["BRA `(.L_x_7)"], "where .L_x_7 is"),
        (["BSYNC B0", "EXIT"], "where BSYNC at 0x0000 leads"),
        (
            ["CALL.REL.NOINC `(.L_x_0)", "EXIT", ".L_x_0:", "RET.REL.NODEC R2 `(k)"],
            "where RET at 0x0020 leads",
        ),
    ],
)
def test_what_is_not_known_is_said(lines: list[str], unknown: str) -> None:
    assert _analyze(section_from(*lines)).reason == unknown


def names(registers: int) -> list[str]:
    return [f"{file}{n}" for file in FILES.masks for n in FILES.numbers(registers, file)]


@each_row(
    ("line", "reads", "writes"),
    [
        ("IMAD.WIDE.U32 R6, P0, R13, -0x55555556, R4", "R4 R5 R13", "R6 R7 P0"),
        ("@!P2 LDS.128 R4, [R16+UR4]", "R16 UR4 P2", "R4 R5 R6 R7"),
        ("@!PT LDS R0, [R5]", "", ""),
        ("LDG.E.128.SYS R16, [R2]", "R2 R3", "R16 R17 R18 R19"),
        ("LDG.E.SYS R12, [R4.U32+UR4]", "R4 UR4 UR5", "R12"),
        ("SHFL.BFLY P3, R4, R2, 0x10, 0x1f", "R2", "R4 P3"),
        ("IMNMX.S64 PT, PT, R4, R8, R10, !PT, !PT", "R8 R9 R10 R11", "R4 R5"),
        ("IMNMX.U32 R4, R8, R10, !PT", "R8 R10", "R4"),
        ("SEL.64 R6, R28, R6, P0", "R6 R7 R28 R29 P0", "R6 R7"),
        ("LOP3.LUT P0, RZ, R0, 0xf, RZ, 0xc0, !PT", "R0", "P0"),
        ("VOTE.ANY R21, PT, P1", "P1", "R21"),
        ("F2F.F32.F64 R4, R8", "R8 R9", "R4"),
        ("I2F.F64.S64 R4, R8", "R8 R9", "R4 R5"),
        ("HMMA.16816.F16 R8, R4, R2, RZ", "R2 R3 R4 R5 R6 R7", "R8 R9"),
        (
            "ATOMG.E.CAS.64.STRONG.GPU PT, R20, [R26], R16, R18",
            "R16 R17 R18 R19 R26 R27",
            "R20 R21",
        ),
        # As nvdisasm's life ranges have them (-plr -lrm narrow).
        ("VHMNMX.BF16_V2 R6, R5.H0_H0, R2.H1_H1, R8.H0_H0, !PT", "R2 R5 R8", "R6"),
        (
            "ATOMG.E.ADD.F32x4.FTZ.RN.STRONG.GPU PT, R16, desc[UR6][R16.64], R4",
            "R4 R5 R6 R7 R16 R17 UR6 UR7",
            "R16 R17 R18 R19",
        ),
        (
            "ATOMG.E.ADD.F32x2.FTZ.RN.STRONG.GPU PT, R22, desc[UR6][R20.64], R22",
            "R20 R21 R22 R23 UR6 UR7",
            "R22 R23",
        ),
        (
            "ATOMG.E.ADD.F16x8.RN.STRONG.GPU PT, R24, desc[UR6][R20.64+0x10], R8",
            "R8 R9 R10 R11 R20 R21 UR6 UR7",
            "R24 R25 R26 R27",
        ),
        (
            "ATOMG.E.ADD.BF16x4.RN.STRONG.GPU PT, R14, desc[UR6][R20.64+0x30], R14",
            "R14 R15 R20 R21 UR6 UR7",
            "R14 R15",
        ),
        (
            "REDG.E.ADD.F32x2.FTZ.RN.STRONG.GPU desc[UR6][R20.64+0x90], R4",
            "R4 R5 R20 R21 UR6 UR7",
            "",
        ),
        ("ATOMG.E.ADD.F16x2.RN.STRONG.GPU PT, R4, desc[UR6][R2.64], R5", "R2 R3 R5 UR6 UR7", "R4"),
        ("STG.E.64 desc[UR4][R2.64], RZ", "R2 R3 UR4 UR5", ""),
        ("FADD2 R32, R28.F32x2.HI_LO, -R26.F32", "R26 R28 R29", "R32 R33"),
        ("UTMALDG.2D [UR20], [UR24]", "UR20 UR21 UR22 UR23 UR24 UR25", ""),
        (
            "UTMALDG.2D.GATHER4 [UR48], [UR72]",
            "UR48 UR49 UR50 UR51 UR52 UR53 UR54 UR72 UR73",
            "",
        ),
        ("UTMASTG.2D.SCATTER4 [UR8], [UR20]", "UR8 UR9 UR10 UR11 UR12 UR13 UR20 UR21", ""),
        ("BRA.U !UP0, `(.L_x_0)", "UP0", ""),
        ("R2P PR, R2, 0x3", "R2", "P0 P1"),
    ],
)
def test_reads_and_writes(line: str, reads: str, writes: str) -> None:
    found = sass_registers.access(section_from(line).instructions[0])
    assert found is not None
    assert names(found.reads) == sorted(reads.split(), key=_place)
    assert names(found.writes) == sorted(writes.split(), key=_place)


def _place(name: str) -> tuple[int, int]:
    file = name.rstrip("0123456789")
    return list(FILES.masks).index(file), int(name[len(file) :])


def test_wgmma_accumulates_in_half_as_many_registers_as_columns() -> None:
    (each,) = section_from(
        "HGMMA.64x128x16.F32 R24, R132, gdesc[UR8].tnspB, R24, gsb0"
    ).instructions
    found = sass_registers.access(each)
    assert found is not None
    accumulator = [f"R{index}" for index in range(24, 88)]
    assert names(found.writes) == accumulator
    a_and_b = ["R132", "R133", "R134", "R135", "UR8", "UR9", "UR10", "UR11"]
    assert names(found.reads) == accumulator + a_and_b


def test_pressure_sums_up_lines_and_peak() -> None:
    section = section_of("sm90_softmax")
    pressure = _analyze(section)
    rows = oracle("sm90_softmax")
    assert pressure.peak == max(general for general, *_ in rows.values())
    assert pressure.offset == next(at for at, row in rows.items() if row[0] == pressure.peak)
    assert list(pressure.curve) == counts(section, "R")
    assert pressure.source is not None
    assert pressure.chain[-1] == pressure.source
    by_line = {line.source: line for line in pressure.lines}
    assert by_line[pressure.source].peak == pressure.peak
    assert sum(line.instructions for line in pressure.lines) == sum(
        bool(each.locations) for each in section.instructions
    )


def test_spilling_kernels_are_full() -> None:
    """Where ptxas had to spill at 255 registers, nearly all of them hold something."""
    section = section_of("sm90_spills_255")
    peak = _analyze(section).peak
    assert peak is not None
    assert 250 <= peak <= 255


FORMS = """IMAD.WIDE HMMA.16816.F32 HGMMA.64x64x16 F2F.F64.F32 P2R R2P UTMALDG.2D LDTM.x32
LDSM.16.M88.4 LDTM.x999 IADD3 SHFL LDG.E.128 BSYNC BSSY BMOV BREAK CALL.REL BRA RET EXIT
LDG.E.ENL2.256 ISETP.EX SYNCS.EXCH.64 UTCHMMA QMMA.99999"""
OPCODES = st.sampled_from(FORMS.split())
OPERANDS = st.lists(
    st.sampled_from(
        [
            "R0",
            "R254",
            "RZ",
            "UR4",
            "P6",
            "!PT",
            "[R2.64]",
            "gdesc[UR4]",
            "0x7",
            "B0",
            "`(k)",
            "",
            "PR",
        ]
    ),
    max_size=7,
)


@given(st.lists(st.tuples(OPCODES, OPERANDS), max_size=8))
def test_hostile_operands_get_an_answer_or_none(code: list[tuple[str, list[str]]]) -> None:
    section = section_from(*(f"{opcode} {', '.join(operands)}" for opcode, operands in code))
    found = _analyze(section)
    assert found.reason or len(found.curve) == len(section.instructions)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["sm_80", "sm_90", "sm_100"])
def test_the_tools_at_hand_agree_on_every_sample(target: str, tmp_path: Path) -> None:
    """The corpus cannot know the compiler and the nvdisasm that are installed.

    nvdisasm is no oracle where a subroutine is called: it takes nearly all registers to be
    overwritten there. Such code is compared with a solution that follows each call as if the
    subroutine were inlined.
    """
    nvdisasm = tools.find("nvdisasm")
    for kernel, settings in SAMPLES.items():
        capture = irlens.capture(
            kernel, target=target, args=None, grid=None, run=False, triton=None, **settings
        )
        path = tmp_path / f"{kernel}.cubin"
        path.write_bytes(capture.stages["cubin"].read())
        (section,) = sass.parse(tools.disassemble(path.read_bytes())).sections
        if any(each.opcode == "CALL" for each in section.instructions):
            assert_calls_followed(section)
            continue
        try:
            table = tools.run(nvdisasm, ["-c", "-plr", "-lrm", "count", str(path)])
        except ToolError:
            continue  # at 255 registers, and 13.1 for what older assemblers made
        assert disagreements(section, printed_counts(table), "R") == [], kernel


def printed_counts(table: str) -> dict[int, Counts]:
    """The GPR column of ``-lrm count``: ``// |  12   |   5    |``."""
    rows = {}
    for offset, count in re.findall(r"/\*([0-9a-f]{4,})\*/.*?// \| *(\d*) *\|", table):
        rows[int(offset, 16)] = (int(count or 0), 0, 0, 0)
    return rows
