"""AMDGPU registers against LLVM's own machine code, and liveness against LLVM and a naive way.

``tests/data/amd/loops.py`` says where the machine code comes from.
"""

import re
import tarfile
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irlens.analyze import cfg, liveness, pressure
from irlens.analyze.cfg import Cfg
from irlens.isa.amdgcn import Function, Instruction, parse
from irlens.isa.amdgcn.registers import FILES, SCALAR, VECTOR, access
from irlens.isa.dialect import RegisterUse
from irlens.model.errors import ArtifactError
from irlens.model.source import SourceLocation
from tests.tables import each_row

DATA = Path(__file__).parents[1] / "data" / "amd"
Row = tuple[set[str], set[str], set[str]]


@cache
def _files() -> dict[str, str]:
    with tarfile.open(DATA / "loops.tar.xz") as tar:
        found = {}
        for member in tar:
            file = tar.extractfile(member)
            assert file is not None
            found[member.name] = file.read().decode()
        return found


NAMES = sorted(name.removesuffix(".mir") for name in _files() if name.endswith(".mir"))


@cache
def _kernel(name: str) -> Function:
    (kernel,) = parse(_files()[f"{name}.amdgcn"]).kernels
    return kernel


def _machine_code(name: str) -> tuple[list[Row], dict[str, set[str]], set[str]]:
    """What LLVM says: each instruction's sets, what is live into each block, what is undefined."""
    first, *lines = _files()[f"{name}.mir"].splitlines()
    rows: list[Row] = []
    live = {}
    for line in lines:
        if line.startswith("bb "):
            block, _, registers = line.removeprefix("bb ").partition(":")
            live[block] = set(registers.split())
        else:
            writes, reads, undefined = (set(part.split()) for part in line.split("|"))
            rows.append((writes, reads, undefined))
    return rows, live, set(first.split()[1:])


def _named(registers: int) -> set[str]:
    return {f"{file}{number}" for file in FILES.masks for number in FILES.numbers(registers, file)}


def _lanes(function: Function) -> int:
    return 32 if function.directives.get("wavefront_size32") else 64


def _function(*lines: str) -> Function:
    body = "".join(line + "\n" if line.endswith(":") else f"\t{line}\n" for line in lines)
    descriptor = (
        ".amdhsa_kernel k\n.amdhsa_user_sgpr_count 4\n.amdhsa_system_vgpr_workitem_id 0\n"
        ".end_amdhsa_kernel\n"
    )
    program = parse(f"\t.type k,@function\nk:\n{body}.Lfunc_end0:\n{descriptor}")
    return program.functions[0]


def _instruction(text: str) -> Instruction:
    (instruction,) = _function(text).instructions
    return instruction


@each_row("name", NAMES)
def test_operands_are_what_the_machine_code_has(name: str) -> None:
    kernel = _kernel(name)
    rows, _, _ = _machine_code(name)
    assert len(rows) == len(kernel.instructions) > 20
    for instruction, (writes, reads, undefined) in zip(kernel.instructions, rows, strict=True):
        found = access(instruction, _lanes(kernel))
        assert found is not None, instruction.text
        assert _named(found.writes) == writes, instruction.text
        assert reads <= _named(found.reads) <= reads | undefined, instruction.text


def _written_before(flow: Cfg, registers: RegisterUse) -> list[int]:
    """What is written on some way to each block, found by going all of them."""
    before = [registers.at_entry if not index else 0 for index in range(len(flow.blocks))]
    pending = set(range(len(flow.blocks)))
    while pending:
        block = pending.pop()
        behind = before[block]
        for index in flow.ranges[block]:
            behind |= registers.writes[index]
        for target in flow.successors[block]:
            if behind & ~before[target]:
                before[target] |= behind
                pending.add(target)
    return before


def _written_by_halves(kernel: Function) -> set[str]:
    return {
        f"v{register.first}"
        for instruction in kernel.instructions
        for operation in instruction.operations
        for operand in operation.operands[:1]
        for register in operand.registers
        if register.half
    }


@each_row("name", NAMES)
def test_live_into_blocks_is_what_the_machine_code_has(name: str) -> None:
    kernel = _kernel(name)
    flow = cfg.build(kernel)
    registers = kernel.register_use()
    assert not registers.unknown
    reads, kills = registers.reads, registers.kills
    after = liveness.live_out(flow.ranges, flow.graph, reads, kills)
    written = _written_before(flow, registers)
    _, live, undefined = _machine_code(name)
    # Of halves written one after the other we say that the first write leaves something.
    undefined |= _written_by_halves(kernel)
    compared = 0
    for index, block in enumerate(flow.blocks):
        match = re.fullmatch(r"\.LBB\d+_(\d+)", block.label or "")
        if match and match[1] in live:
            entering = liveness.live_in(flow.ranges[index], after[index], reads, kills)
            # LLVM lists a pointer that was rematerialised in the end, and nothing reads any more.
            missing = live[match[1]] - _named(entering)
            assert missing <= ({"s20", "s21", "s22", "s23"} if name == "wider_s2.gfx90a" else set())
            # What LLVM knows to be undefined it takes not to be live though something reads it,
            # and it follows that through copies of tuples of which one pair is undefined.
            more = _named(entering & written[index]) - live[match[1]] - undefined
            assert len(more) <= 4, block
            compared += 1
    assert compared


@each_row("name", NAMES)
def test_the_peak_fits_what_is_allocated(name: str) -> None:
    kernel = _kernel(name)
    flow = cfg.build(kernel)
    found = pressure.analyze(kernel, flow)
    live = [at for _, *both in pressure.live_points(flow, kernel.register_use()) for at in both]
    vgprs, agprs, sgprs = (
        max((at & mask).bit_count() for at in live)
        for mask in (FILES.masks["v"], FILES.masks["a"], SCALAR)
    )
    assert found.peak is not None
    assert vgprs <= kernel.info["NumVgprs"]
    assert agprs <= kernel.info.get("NumAgprs", 0)
    assert sgprs <= kernel.info["TotalNumSgprs"]
    assert max(vgprs, agprs) <= found.peak <= vgprs + agprs
    # LLVM numbers registers as densely as tuples let it: little is lost where there is one file.
    if not kernel.info.get("NumAgprs"):
        assert found.peak >= 0.9 * kernel.info["NumVgprs"] - 2


@each_row("name", NAMES)
def test_the_record_agrees_with_itself(name: str) -> None:
    kernel = _kernel(name)
    found = pressure.analyze(kernel, cfg.build(kernel))
    assert found.peak == max(found.curve) == sum(group.registers for group in found.live)
    at = found.curve.index(found.peak)
    assert kernel.instructions[at].line == found.line
    assert len(found.curve) == len(kernel.instructions)
    assert max(line.peak for line in found.lines) <= found.peak
    assert found.source in {line.source for line in found.lines} | {None}


def test_a_softmax_that_carries_rows_holds_one_more_pair_of_registers_per_stage() -> None:
    peaks = {}
    for stages in (3, 4, 5):
        kernel = _kernel(f"softmax_s{stages}.gfx942")
        peaks[stages] = pressure.analyze(kernel, cfg.build(kernel)).peak
    assert peaks == {3: 30, 4: 34, 5: 38}


def _naive(flow: Cfg, registers: RegisterUse) -> list[int]:
    """What is live before each instruction, found by asking of each read who it reaches."""
    before: dict[int, list[int]] = {}
    ranges = flow.ranges
    for block, instructions in enumerate(ranges):
        for index in instructions:
            if index != instructions.start:
                before.setdefault(index, []).append(index - 1)
        for target in flow.successors[block]:
            if ranges[target] and instructions:
                before.setdefault(ranges[target].start, []).append(instructions[-1])
    live = [0] * len(registers.reads)
    for reader, read in enumerate(registers.reads):
        for bit in (1 << n for n in range(read.bit_length()) if read >> n & 1):
            pending, seen = [reader], {reader}
            while pending:
                at = pending.pop()
                live[at] |= bit
                for source in before.get(at, ()):
                    if source not in seen and not registers.kills[source] & bit:
                        seen.add(source)
                        pending.append(source)
    return live


@pytest.mark.parametrize("name", ["softmax_s4.gfx942", "matmul_s3.gfx1201", "some.gfx942"])
def test_liveness_is_what_a_naive_search_finds(name: str) -> None:
    kernel = _kernel(name)
    flow = cfg.build(kernel)
    registers = kernel.register_use()
    assert not registers.unknown
    naive = _naive(flow, registers)
    found = pressure.analyze(kernel, flow).curve
    after = liveness.live_out(flow.ranges, flow.graph, registers.reads, registers.kills)
    for block, leaving in zip(flow.ranges, after, strict=True):
        for index, before, _ in liveness.walk(block, leaving, registers.reads, registers.kills):
            assert before == naive[index]
            results = (registers.writes[index] & VECTOR).bit_count()
            assert results <= found[index]


@each_row(
    ("text", "reads", "writes", "kills"),
    [
        ("v_fmac_f32_e32 v0, v1, v2", "v0 v1 v2", "v0", "v0"),
        ("v_mov_b16_e32 v0.h, v1.l", "v1", "v0", ""),
        ("v_swap_b32 v0, v1", "v0 v1", "v0 v1", "v0 v1"),
        ("v_writelane_b32 v0, s1, 3", "s1 v0", "v0", "v0"),
        ("v_readlane_b32 s1, v0, 3", "v0", "s1", "s1"),
        ("ds_read_u16_d16_hi v0, v1", "v1", "v0", ""),
        ("ds_add_u32 v0, v1", "v0 v1", "", ""),
        ("ds_add_rtn_u32 v2, v0, v1", "v0 v1", "v2", "v2"),
        ("ds_bpermute_b32 v2, v0, v1", "v0 v1", "v2", "v2"),
        ("global_atomic_add v2, v[0:1], v3, off glc", "v0 v1 v3", "v2", "v2"),
        ("global_atomic_add v[0:1], v3, off", "v0 v1 v3", "", ""),
        (
            "global_atomic_add_u32 v2, v0, v3, s[2:3] th:TH_ATOMIC_RETURN scope:SCOPE_DEV",
            "s2 s3 v0 v3",
            "v2",
            "v2",
        ),
        ("buffer_atomic_add v0, v1, s[4:7], 0 offen sc0", "s4 s5 s6 s7 v0 v1", "v0", "v0"),
        ("buffer_atomic_add v0, v1, s[4:7], 0 offen", "s4 s5 s6 s7 v0 v1", "", ""),
        ("buffer_load_dwordx4 v0, s[0:3], 0 offen lds", "s0 s1 s2 s3 v0", "", ""),
        ("v_cmpx_gt_u32_e32 16, v0", "v0", "", ""),
        ("v_cmpx_gt_u32_e32 vcc, 16, v0", "v0", "vcc0 vcc1", "vcc0 vcc1"),
        ("v_smfmac_f32_16x16x32_f16 v[0:1], v2, v3, v4", "v0 v1 v2 v3 v4", "v0 v1", "v0 v1"),
        ("v_mov_b32_dpp v0, v1 row_shr:1 row_mask:0xf bank_mask:0xf", "v1", "v0", ""),
        ("s_cmov_b32 s0, s1", "s1", "s0", ""),
        ("s_addk_i32 s0, 0x10", "s0", "s0", "s0"),
        ("s_cbranch_vccz .L", "vcc0 vcc1", "", ""),
        ("v_dual_mov_b32 v0, v1 :: v_dual_fmac_f32 v2, v0, v3", "v0 v1 v2 v3", "v0 v2", "v0 v2"),
    ],
)
def test_what_the_corpus_does_not_have(text: str, reads: str, writes: str, kills: str) -> None:
    found = access(_instruction(text), 64)
    assert found is not None
    assert " ".join(sorted(_named(found.reads))) == reads
    assert " ".join(sorted(_named(found.writes))) == writes
    assert " ".join(sorted(_named(found.kills))) == kills


@pytest.mark.parametrize(
    "text",
    [
        "v_movrels_b32_e32 v0, v1",
        "s_new_op s0, s1",
    ],
)
def test_what_is_not_known_is_not_guessed(text: str) -> None:
    assert access(_instruction(text), 64) is None
    assert_unknown(text)


@pytest.mark.parametrize("name", ["s_swappc_b64", "s_swap_pc_i64"])  # gfx1250's name of it
def test_a_call_that_cannot_be_followed_is_not_guessed(name: str) -> None:
    assert_unknown(f"{name} s[0:1], s[2:3]")


def assert_unknown(text: str) -> None:
    function = _function(text, "s_endpgm")
    found = pressure.analyze(function, cfg.build(function))
    assert found.peak is None
    assert found.reason


def test_values_of_lanes_that_are_off_live_on() -> None:
    """Without a branch around it, a write under a narrowed EXEC leaves something of v1."""

    def peak(*between: str) -> int | None:
        function = _function(
            "v_mov_b32_e32 v1, 1",
            "v_mov_b32_e32 v2, 2",
            *between,
            "v_mov_b32_e32 v3, v2",
            "v_mov_b32_e32 v4, v3",
            "v_mov_b32_e32 v1, 2",
            "s_or_b64 exec, exec, s[0:1]",
            "global_store_dword v[0:1], v1, off",
            "s_endpgm",
        )
        return pressure.analyze(function, cfg.build(function)).peak

    assert peak("s_and_saveexec_b64 s[0:1], vcc") == 3
    assert peak("s_and_saveexec_b64 s[0:1], vcc", "s_or_b64 exec, exec, s[0:1]") == 2


def test_a_register_counts_from_its_first_write_on() -> None:
    function = _function(
        "s_cbranch_scc0 .L1",
        "v_mov_b32_e32 v9, 1",
        ".L1:",
        "s_nop 0",
        "global_store_dword v[0:1], v9, off",
        "s_endpgm",
    )
    found = pressure.analyze(function, cfg.build(function))
    # v0 is filled by the hardware, v1 by nobody.
    assert found.curve == (1, 2, 2, 2, 0)
    assert [(group.source, group.registers) for group in found.live] == [(None, 2)]


def test_places_are_lines_of_the_kernel() -> None:
    kernel = _kernel("softmax_s4.gfx942")
    found = pressure.analyze(kernel, cfg.build(kernel))
    assert {line.source.file for line in found.lines} == {"loops.py"}
    assert {line.source.file for line in found.innermost} == {"loops.py", "standard.py"}
    assert isinstance(found.source, SourceLocation)
    assert found.chain[-1].line == found.source.line


def test_control_flow() -> None:
    function = _function(
        "s_cbranch_scc0 .L2",
        ".L1:",
        "s_nop 0",
        "s_cbranch_scc1 .L1",
        "s_branch .L3",
        ".L2:",
        "s_endpgm",
        ".L3:",
    )
    flow = cfg.build(function)
    assert [(block.label, block.start, block.stop) for block in flow.blocks] == [
        (None, 0, 1),
        (".L1", 1, 3),
        (None, 3, 4),
        (".L2", 4, 5),
        (".L3", 5, 5),
    ]
    assert flow.successors == ((3, 1), (1, 2), (4,), (), ())
    assert flow.unknown == ""
    assert flow.blocks[1].line == 4


def test_a_branch_to_nowhere_is_an_error() -> None:
    with pytest.raises(ArtifactError, match=r"amdgcn:3: branch to '\.L9', which does not exist"):
        cfg.build(_function("s_branch .L9"))


@given(
    st.lists(
        st.one_of(
            st.sampled_from(["s_nop 0", "s_endpgm", "v_mov_b32_e32 v1, v0", "v_mov_b32_e32 v0, 1"]),
            st.integers(0, 12).map(lambda n: f"s_cbranch_scc1 .L{n}"),
            st.integers(0, 12).map(lambda n: f"s_branch .L{n}"),
        ),
        max_size=12,
    )
)
def test_any_control_flow_agrees_with_the_naive_search(lines: list[str]) -> None:
    labelled = [part for n, line in enumerate(lines) for part in (f".L{n}:", line)]
    labelled += [f".L{n}:" for n in range(len(lines), 13)]
    function = _function(*labelled)
    flow = cfg.build(function)
    registers = function.register_use()
    assert not registers.unknown
    naive = _naive(flow, registers)
    after = liveness.live_out(flow.ranges, flow.graph, registers.reads, registers.kills)
    for block, leaving in zip(flow.ranges, after, strict=True):
        for index, before, _ in liveness.walk(block, leaving, registers.reads, registers.kills):
            assert before == naive[index]
