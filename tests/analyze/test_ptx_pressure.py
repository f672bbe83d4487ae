import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irlens.analyze import cfg
from irlens.analyze.pressure import analyze
from irlens.isa.ptx import Function, parse
from irlens.model.pressure import LiveGroup, StagePressure
from irlens.model.source import SourceLocation

DATA = Path(__file__).parents[1] / "data" / "ptx"


def pressure(text: str) -> StagePressure:
    (function,) = parse(text).functions
    return analyze(function, cfg.build(function))


def curve(declarations: str, body: str) -> tuple[int, ...]:
    return pressure(f".reg .b32 %r<9>; .reg .pred %p<9>; {declarations} {body}").curve


class TestWidths:
    @pytest.mark.parametrize(
        ("kind", "registers"),
        [("b64", 2), ("f64", 2), ("b16", 1), ("s8", 1), ("b128", 4), ("f16x2", 1), (".v4 .b32", 4)],
    )
    def test_in_32_bit_registers(self, kind: str, registers: int) -> None:
        found = pressure(f".reg .{kind.lstrip('.')} x; ld.global.b8 x, [0]; st.global.b8 [0], x;")
        assert found.peak == registers
        assert found.predicates == 0

    def test_predicates_have_a_file_of_their_own(self) -> None:
        found = pressure(
            ".reg .pred %p<4>; setp.eq.b32 %p1|%p2, 1, 2; and.pred %p3, %p1, %p2; @%p3 exit; ret;"
        )
        assert (found.peak, found.predicates) == (0, 2)


class TestLiveness:
    def test_a_result_takes_the_place_of_an_operand(self) -> None:
        body = "mov.b32 %r1, 1; mov.b32 %r2, 2; add.s32 %r3, %r1, %r2; st.global.b32 [0], %r3; ret;"
        assert curve("", body) == (1, 2, 2, 1, 0)

    def test_a_result_that_nobody_reads_needs_a_register_for_its_instruction(self) -> None:
        assert curve("", "mov.b32 %r1, 1; ret;") == (1, 0)

    def test_a_vector_is_live_from_its_load(self) -> None:
        load = "ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [0];"
        assert curve("", f"{load} st.global.v4.b32 [0], {{%r1, %r2, %r3, %r4}}; ret;") == (4, 4, 0)

    def test_a_write_under_a_predicate_keeps_the_old_value(self) -> None:
        body = (
            "mov.b32 %r1, 0; setp.eq.b32 %p1, 1, 2; @%p1 ld.global.b32 %r1, [0];"
            " st.global.b32 [0], %r1; ret;"
        )
        assert curve("", body) == (1, 1, 1, 1, 0)

    def test_a_masked_load_is_not_live_from_the_start_of_the_kernel(self) -> None:
        body = (
            "setp.eq.b32 %p1, 1, 2; setp.eq.b32 %p2, 1, 2; @%p1 ld.global.b32 %r1, [0];"
            " st.global.b32 [0], %r1; ret;"
        )
        assert curve("", body) == (0, 0, 1, 1, 0)

    def test_an_accumulator_lives_around_the_loop(self) -> None:
        body = (
            "mov.b32 %r1, 0; mov.b32 %r2, 0; L: ld.global.b32 %r3, [%r2]; add.s32 %r1, %r1, %r3;"
            " add.s32 %r2, %r2, 4; setp.lt.s32 %p1, %r2, 64; @%p1 bra L; st.global.b32 [0], %r1;"
        )
        assert curve("", body) == (1, 2, 3, 3, 2, 2, 2, 1)

    def test_the_same_name_in_two_scopes_is_two_registers(self) -> None:
        body = (
            "mov.b32 %r1, 1; { .reg .b32 %r1; mov.b32 %r1, 2; st.global.b32 [0], %r1; }"
            " st.global.b32 [0], %r1; ret;"
        )
        assert curve("", body) == (1, 2, 2, 1, 0)

    def test_special_registers_take_none(self) -> None:
        assert curve("", "mov.u32 %r1, %tid.x; st.global.b32 [0], %r1; ret;") == (1, 1, 0)

    def test_wgmma_adds_to_its_accumulators(self) -> None:
        body = (
            "mov.b32 %r1, 0; mov.b32 %r2, 0; wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"
            " {%r1, %r2}, 0, 0, 1, 1, 1, 0, 0; st.global.v2.b32 [0], {%r1, %r2}; ret;"
        )
        assert curve("", body) == (1, 2, 2, 2, 0)


class TestUnknown:
    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            ("add.s32 %r1, %r2, %r3; ret;", "the text declares no registers"),
            (".reg .b32 %r<4>; frob.b32 %r1, %r2; ret;", "what 'frob.b32' does is not known"),
            (".reg .b32 %r<4>;\nadd.s32 %r1 %r2; ret;", "the statement on line 2 is not"),
            (".reg .e99 %r<4>; mov.b32 %r1, %r2; ret;", "the width of a register of type '.e99'"),
        ],
    )
    def test_there_is_no_number_but_a_reason(self, text: str, reason: str) -> None:
        found = pressure(text)
        assert (found.peak, found.curve) == (None, ())
        assert found.reason.startswith(reason)


class TestSources:
    """A matmul for sm_90; by eye its peak is where masks become the sizes of the next copies."""

    @pytest.fixture
    def matmul(self) -> StagePressure:
        return pressure((DATA / "matmul_36_sm90_s3.ptx").read_text())

    def test_the_peak_has_a_place(self, matmul: StagePressure) -> None:
        assert matmul.source == SourceLocation("workload.py", 25)
        assert matmul.chain[-1].line == 25
        assert matmul.line is not None
        line = (DATA / "matmul_36_sm90_s3.ptx").read_text().splitlines()[matmul.line - 1]
        assert "selp.b32" in line

    def test_what_is_live_adds_up_to_the_peak(self, matmul: StagePressure) -> None:
        assert sum(group.registers for group in matmul.live) == matmul.peak
        largest = matmul.live[0]
        # 128 accumulators of a 128x256 tile over two warp groups, and their operands.
        assert largest.source == SourceLocation("workload.py", 26)
        assert largest.registers >= 128

    def test_lines_are_of_the_kernel_or_of_the_function_inlined_last(self) -> None:
        found = pressure((DATA / "softmax_39_sm75_s4.ptx").read_text())
        assert {line.source.file for line in found.lines} == {"softmax.py"}
        assert {line.source.file for line in found.innermost} == {"softmax.py", "standard.py"}
        assert max(line.peak for line in found.lines) == found.peak
        assert sum(line.instructions for line in found.lines) <= len(found.curve)

    def test_a_carried_value_belongs_to_the_line_that_computes_it_in_the_loop(self) -> None:
        found = pressure(
            ".visible .entry k() { .reg .b32 %r<4>; .reg .pred %p1; .loc 1 5 0\n mov.b32 %r1, 0;"
            " L: .loc 1 7 0\n add.s32 %r1, %r1, 1; .loc 1 6 0\n setp.eq.b32 %p1, %r1, 4;"
            " @%p1 bra L; .loc 1 8 0\n mov.b32 %r2, 1; st.global.v2.b32 [0], {%r1, %r2}; ret; }"
            ' .file 1 "k.py"'
        )
        assert found.source == SourceLocation("k.py", 8)
        assert found.live == (
            LiveGroup(source=SourceLocation("k.py", 7), registers=1, values=1),
            LiveGroup(source=SourceLocation("k.py", 8), registers=1, values=1),
        )


Step = tuple[int | None, tuple[int, ...], bool, int | None]


@st.composite
def programs(draw: st.DrawFn) -> list[Step]:
    """Instructions: register written, registers read, predicated or not, where to branch."""
    register = st.integers(0, 3)
    size = draw(st.integers(1, 9))
    step = st.tuples(
        st.none() | register,
        st.lists(register, max_size=2).map(tuple),
        st.booleans(),
        st.none() | st.integers(0, size - 1),
    )
    return draw(st.lists(step, min_size=size, max_size=size))


def write_out(program: list[Step]) -> str:
    lines = [".reg .b32 %r<4>; .reg .pred %p1; .reg .b32 x;"]
    for index, (written, read, predicated, target) in enumerate(program):
        guard = "@%p1 " if predicated else ""
        values = "".join(f"+%r{r}" for r in read)
        lines.append(f"L{index}:")
        if target is not None:
            lines.append(f"{guard}bra L{target};")
        elif written is not None and read:
            lines.append(f"{guard}add.s32 %r{written}, %r{read[0]}, %r{read[-1]};")
        elif written is not None:
            lines.append(f"{guard}mov.b32 %r{written}, 0;")
        elif values:
            lines.append(f"{guard}st.shared.v2.b32 [%r{read[0]}], {{%r{read[0]}, %r{read[-1]}}};")
        else:
            lines.append(f"{guard}membar.gl;")
    return "\n".join([*lines, "ret;"])


def by_enumeration(program: list[Step]) -> list[int]:
    """Pressure by following, for each register, every way from its writes to its reads."""

    def following(index: int) -> list[int]:
        if index == len(program):
            return []
        _, _, predicated, target = program[index]
        ahead = [] if target is None else [target]
        return ahead + ([index + 1] if target is None or predicated else [])

    def reachable(starts: list[int], stop: set[int]) -> set[int]:
        """Instructions that control gets to the front of without passing one in ``stop``."""
        seen: set[int] = set()
        while starts:
            index = starts.pop()
            if index not in seen:
                seen.add(index)
                if index not in stop:
                    starts += following(index)
        return seen

    plain = [(None, (), p, t) if t is not None else (w, r, p, t) for w, r, p, t in program]
    before: list[set[int]] = [set() for _ in range(len(program) + 1)]
    holding: list[set[int]] = [set() for _ in range(len(program) + 1)]
    for register in range(4):
        writes = [i for i, step in enumerate(plain) if step[0] == register]
        certain = {i for i in writes if not plain[i][2]}
        for index in reachable([j for i in writes for j in following(i)], set()):
            holding[index].add(register)
            way = reachable([index], certain)
            if any(register in plain[i][1] for i in way if i < len(plain)):
                before[index].add(register)
    result = []
    for index in range(len(program) + 1):
        written = plain[index][0] if index < len(plain) else None
        own = set() if written is None else {written}
        # Behind an instruction lives what lives before one of those that follow, but for what
        # only another way to there has written.
        behind = own.union(*(before[j] & holding[index] for j in following(index)))
        result.append(max(len(before[index]), len(behind)))
    return result


@given(programs())
def test_it_is_what_enumerating_the_paths_gives(program: list[Step]) -> None:
    assert list(pressure(write_out(program)).curve) == by_enumeration(program)


_SPECIAL = re.compile(r"%(tid|ctaid|nctaid|ntid|laneid|SP)\b")
_REGISTER = re.compile(r"%[a-z]+\d+|\bcomplete\b")
_NO_RESULT = (
    "st.", "bar.", "cp.", "bra", "@", "ret", "mbarrier.init", "mbarrier.inval", "mbarrier.arrive",
    "fence", "wgmma.wait", "wgmma.commit", "wgmma.fence", "stmatrix", "trap", "tensormap", "red.",
)  # fmt: skip


def naively(function: Function) -> list[int]:
    """Pressure by sets of names, one instruction at a time, until nothing changes."""
    labels = {label.name: label.position for label in function.labels}
    count = len(function.instructions)
    reads, writes, kills, ahead = [], [], [], []
    for index, instruction in enumerate(function.instructions):
        text = " ".join(instruction.text.split())
        guard, text = text.split(" ", 1) if text.startswith("@") else ("", text)
        opcode, _, operands = text.partition(" ")
        bracketed = re.match(r"\s*(\{[^}]*\}|[^,;]*)", operands)
        first = bracketed[0] if bracketed and not opcode.startswith(_NO_RESULT) else ""
        results = set(_REGISTER.findall(first))
        rest = operands if opcode.startswith("wgmma") else operands[len(first) :]
        reads.append({*_REGISTER.findall(rest), *_REGISTER.findall(guard)})
        writes.append(results)
        kills.append(set() if guard else results)
        target = re.search(r"\$L\w+|\bwaitLoop\b", operands) if opcode.startswith("bra") else None
        jumps = [function.label(target[0], instruction.scope)] if target else []
        ahead.append([labels[j.name] if j.name != "waitLoop" else j.position for j in jumps if j])
        if (opcode.startswith("bra") and not guard) or opcode in ("ret;", "trap;"):
            continue
        ahead[index].append(index + 1)
    live: list[set[str]] = [set() for _ in range(count + 1)]
    held: list[set[str]] = [set() for _ in range(count + 1)]
    changed = True
    while changed:
        changed = False
        for index in range(count):
            after = set().union(*(live[j] for j in ahead[index] if j <= count))
            new = reads[index] | after - kills[index]
            changed |= new != live[index]
            live[index] = new
            for j in ahead[index]:
                more = held[index] | writes[index]
                changed |= not more <= held[j]
                held[j] |= more

    def weigh(names: set[str]) -> int:
        wide = sum(name.startswith("%rd") for name in names)
        narrow = sum(not name.startswith(("%rd", "%p", "complete")) for name in names)
        return 2 * wide + narrow

    result = []
    for index in range(count):
        after = set().union(*(live[j] for j in ahead[index])) & (held[index] | writes[index])
        result.append(max(weigh(live[index] & held[index]), weigh(after | writes[index])))
    return result


@pytest.mark.parametrize(
    "name",
    [
        "matmul_tma_36_sm90_s3",
        "softmax_36_sm90_s4",
        "softmax_39_sm75_s4",
        "softmax_39_sm80_s3_unaligned",
    ],
)
def test_a_second_implementation_agrees_on_real_kernels(name: str) -> None:
    (function,) = parse((DATA / f"{name}.ptx").read_text()).kernels
    assert list(analyze(function, cfg.build(function)).curve) == naively(function)


def test_many_blocks_and_registers_take_no_time() -> None:
    body = "".join(f"L{n}: add.s32 %r{n}, %r{n}, 1; @%p1 bra L{n // 2};" for n in range(2_000))
    found = pressure(f".reg .b32 %r<2000>; .reg .pred %p1; {body} ret;")
    assert found.peak == 2_000
