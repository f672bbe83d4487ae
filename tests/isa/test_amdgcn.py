import re
import tarfile
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irlens.isa.amdgcn import (
    Comment,
    Directive,
    Function,
    Instruction,
    Label,
    Loc,
    Operation,
    Program,
    RegisterRange,
    Unknown,
    parse,
)
from irlens.isa.amdgcn.registers import FILES
from irlens.isa.dialect import instruction_mix
from irlens.model.errors import ParseError
from irlens.model.source import SourceLocation, Span
from tests.tables import each_row

pytestmark = pytest.mark.stored

ARCHIVE = Path(__file__).parent.parent / "data" / "amd" / "triton.tar.xz"


@cache
def _texts() -> dict[str, str]:
    with tarfile.open(ARCHIVE) as tar:
        texts = {}
        for member in tar:
            file = tar.extractfile(member)
            if file is not None and member.name.endswith(".amdgcn"):
                name = member.name.removeprefix("./").removesuffix(".amdgcn")
                texts[name] = file.read().decode()
        return texts


def _kernel(name: str) -> Function:
    (kernel,) = parse(_texts()[name]).kernels
    return kernel


def _operations(text: str) -> tuple[Operation, ...]:
    (statement,) = parse(text).statements
    assert isinstance(statement, Instruction)
    return statement.operations


def _joined(program: Program) -> str:
    return "".join(statement.text for statement in program.statements)


@each_row("name", sorted(_texts()))
def test_every_line_is_understood_and_joins_back(name: str) -> None:
    text = _texts()[name]
    program = parse(text)
    assert _joined(program) == text
    assert program.unknown == {}
    line = 1
    for statement in program.statements:
        assert statement.span == Span("amdgcn", line, line + statement.text.count("\n") - 1)
        line = statement.end_line + 1
    # Instructions are what LLVM indents and does not begin with a dot.
    (kernel,) = program.kernels
    body = text.partition(f"\n{kernel.name}:")[2].partition(".Lfunc_end0:")[0]
    written = re.findall(r"^\t([a-z]\w+)", body, re.MULTILINE)
    assert [each.mnemonic for each in kernel.instructions] == written
    assert instruction_mix(kernel).unknown == {}


@each_row("name", sorted(_texts()))
def test_registers_are_the_ones_that_llvm_counts(name: str) -> None:
    kernel = _kernel(name)
    highest: defaultdict[str, int] = defaultdict(int)
    for instruction in kernel.instructions:
        for operation in instruction.operations:
            for operand in operation.operands:
                for covered in operand.registers:
                    end = covered.first + covered.count
                    highest[covered.file] = max(highest[covered.file], end)
    assert highest["v"] == kernel.info["NumVgprs"]
    assert highest["a"] == kernel.info.get("NumAgprs", 0)
    assert highest["s"] == kernel.directives["next_free_sgpr"]


def test_a_kernel_and_what_is_said_of_it() -> None:
    program = parse(_texts()["wide.gfx90a.triton-3.6.0"])
    (kernel,) = program.kernels
    assert program.target == "amdgcn-amd-amdhsa--gfx90a"
    assert (kernel.name, kernel.is_kernel) == ("matmul_kernel", True)
    assert kernel.info["TotalNumVgprs"] == kernel.directives["next_free_vgpr"]
    assert kernel.info["codeLenInByte"] > 4 * len(kernel.instructions)
    assert kernel.info["LDSByteSize"] == 0
    assert kernel.info["COMPUTE_PGM_RSRC2:SCRATCH_EN"] == 0
    assert "amdhsa.kernels:" in (program.metadata or "")
    assert ".name:           matmul_kernel" in (program.metadata or "")


@pytest.mark.parametrize("version", ["3.6.0", "3.9.0"])
def test_locations_follow_the_inlining(version: str) -> None:
    kernel = _kernel(f"softmax.gfx942.triton-{version}")
    chains = {each.locations for each in kernel.instructions}
    files = {location.file for chain in chains for location in chain}
    assert files == {"kernels.py", "standard.py"}
    inlined = next(chain for chain in chains if len(chain) > 2)
    assert [location.file for location in inlined] == ["standard.py"] * 2 + ["kernels.py"]
    for chain in chains:
        assert not chain or chain[-1].file == "kernels.py"
        assert all(location.line > 0 for location in chain)


@each_row("name", sorted(_texts()))
def test_locations_are_what_llvm_comments(name: str) -> None:
    seen = 0
    for statement in parse(_texts()[name]).statements:
        if isinstance(statement, Loc) and statement.locations:
            frames = [f"{each.file}:{each.line}:{each.column}" for each in statement.locations]
            written = " @[ ".join(frames) + " ]" * (len(statement.locations) - 1)
            # LLVM writes a column of 0 at some places and omits it at others.
            comment = statement.text.partition("; ")[2].rstrip("\n")
            assert re.sub(r":0\b", "", comment) == re.sub(r":0\b", "", written)
            seen += 1
    assert seen > 10


def test_location_of_an_instruction() -> None:
    program = parse(
        '\t.file\t2 "/x/language" "standard.py"\n'
        "\t.loc\t2 170 27 is_stmt 1 ; standard.py:170:27 @[ standard.py:191:3 @[ my.py:17:37 ] ]\n"
        "\ts_nop 0\n"
        "\t.loc\t3 5 0 ; /home/me/other.py:5:0\n"
        "\ts_nop 1\n"
        "\t.loc\t2 0 9\n"
        "\ts_nop 2\n"
    )
    chains = [each.locations for each in program.statements if isinstance(each, Instruction)]
    assert chains == [
        (
            SourceLocation("standard.py", 170, 27),
            SourceLocation("standard.py", 191, 3),
            SourceLocation("my.py", 17, 37),
        ),
        (SourceLocation("other.py", 5, 0),),
        (),
    ]


@each_row(
    ("text", "operands", "modifiers"),
    [
        ("s_endpgm", [], []),
        ("s_load_dwordx8 s[4:11], s[0:1], 0x8", ["s[4:11]", "s[0:1]", "0x8"], []),
        (
            "buffer_load_dwordx2 v[2:3], v5, s[4:7], 0 offen offset:16",
            ["v[2:3]", "v5", "s[4:7]", "0"],
            ["offen", "offset:16"],
        ),
        ("ds_read_u16 v24, v17 offset:4096", ["v24", "v17"], ["offset:4096"]),
        ("s_waitcnt vmcnt(0) lgkmcnt(1)", ["vmcnt(0)", "lgkmcnt(1)"], []),
        (
            "s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(VALU_DEP_2)",
            ["instid0(VALU_DEP_1)", "instskip(NEXT)", "instid1(VALU_DEP_2)"],
            [],
        ),
        (
            "v_mov_b32_dpp v15, v14 quad_perm:[1,0,3,2] row_mask:0xf bound_ctrl:1",
            ["v15", "v14"],
            ["quad_perm:[1,0,3,2]", "row_mask:0xf", "bound_ctrl:1"],
        ),
        ("global_inv scope:SCOPE_SE", [], ["scope:SCOPE_SE"]),
        ("buffer_wbl2 sc1", [], ["sc1"]),
        (
            "global_load_dword v1, v[2:3], off offset:-8 sc0 sc1",
            ["v1", "v[2:3]", "off"],
            ["offset:-8", "sc0", "sc1"],
        ),
        (
            "s_setreg_imm32_b32 hwreg(HW_REG_WAVE_MODE, 25, 1), 1",
            ["hwreg(HW_REG_WAVE_MODE, 25, 1)", "1"],
            [],
        ),
        ("v_sub_u32_e64 v26, v31, 1 clamp", ["v26", "v31", "1"], ["clamp"]),
        ("s_cbranch_scc1 .LBB0_3", [".LBB0_3"], []),
        ("s_add_u32 s4, s4, f@rel32@lo+4", ["s4", "s4", "f@rel32@lo+4"], []),
    ],
)
def test_operands_and_modifiers(text: str, operands: list[str], modifiers: list[str]) -> None:
    (operation,) = _operations(f"\t{text}  ; a comment, with v9\n")
    assert operation.mnemonic == text.split()[0]
    assert [operand.text for operand in operation.operands] == operands
    assert list(operation.modifiers) == modifiers


@each_row(
    ("operand", "registers"),
    [
        ("v4", [RegisterRange("v", 4, 1)]),
        ("v[4:7]", [RegisterRange("v", 4, 4)]),
        ("a[0:15]", [RegisterRange("a", 0, 16)]),
        ("-|v3|", [RegisterRange("v", 3, 1)]),
        ("neg(s[2:3])", [RegisterRange("s", 2, 2)]),
        ("v67.h", [RegisterRange("v", 67, 1, "h")]),
        ("ttmp8", [RegisterRange("ttmp", 8, 1)]),
        ("vcc", [RegisterRange("vcc", 0, 2)]),
        ("vcc_lo", [RegisterRange("vcc", 0, 1)]),
        ("exec_hi", [RegisterRange("exec", 1, 1)]),
        ("m0", [RegisterRange("m0", 0, 1)]),
        ("[v1, v7]", [RegisterRange("v", 1, 1), RegisterRange("v", 7, 1)]),
        ("v53 /*v309*/", [RegisterRange("v", 309, 1)]),
        ("-v[0:3] /*v[256:259]*/", [RegisterRange("v", 256, 4)]),
        ("null", []),
        ("s0_is_a_symbol", []),
        (".Lv1", []),
        ("0x10", []),
    ],
)
def test_registers_of_an_operand(operand: str, registers: list[RegisterRange]) -> None:
    (operation,) = _operations(f"\tv_mov_b32_e32 v0, {operand}\n")
    assert len(operation.operands) == 2
    assert list(operation.operands[1].registers) == registers


def test_dual_issue_is_one_instruction_and_two_operations() -> None:
    first, second = _operations("\tv_dual_mov_b32 v8, 0 :: v_dual_lshlrev_b32 v9, 1, v0\n")
    assert (first.mnemonic, second.mnemonic) == ("v_dual_mov_b32", "v_dual_lshlrev_b32")
    assert [operand.text for operand in second.operands] == ["v9", "1", "v0"]


@pytest.mark.parametrize(
    "line",
    ["hello", "what is this?", "s_nop 0)", "v_mov_b32 v0,, v1", "x = 5", ".", "a: s_nop 0", "0:1"],
)
def test_what_is_not_understood_is_kept_and_counted(line: str) -> None:
    program = parse(f"\t{line}\n\ts_endpgm\n")
    assert isinstance(program.statements[0], Unknown)
    assert program.unknown == {line.split()[0]: 1}
    assert _joined(program) == f"\t{line}\n\ts_endpgm\n"


def test_small_things() -> None:
    program = parse('f: ; @f\r\n"quoted name":\n;;#ASMSTART\n\n\t.asciz "a;b\\";"\n.x')
    label, quoted, mark, empty, string, last = program.statements
    assert isinstance(label, Label)
    assert isinstance(quoted, Label)
    assert isinstance(mark, Comment)
    assert isinstance(empty, Comment)
    assert isinstance(string, Directive)
    assert isinstance(last, Directive)
    assert (label.name, quoted.name) == ("f", "quoted name")
    assert (mark.comment, empty.comment) == ("#ASMSTART", "")
    assert (string.name, string.arguments) == (".asciz", '"a;b\\";"')
    assert parse("").statements == ()


def test_a_function_that_is_not_a_kernel() -> None:
    program = parse(
        "\t.type f,@function\nf:\n\ts_nop 0\n.Lfunc_end0:\n; Function info:\n; NumVgprs: 7\n"
        "\t.type k,@function\nk:\n\ts_endpgm\n\t.amdhsa_kernel k\n\t\t.amdhsa_next_free_vgpr 9\n"
        "\t.end_amdhsa_kernel\n.Lfunc_end1:\n; Kernel info:\n; NumVgprs: 9\n; Occupancy: 8\n"
        "\t.text\n; Occupancy: 99\n"
    )
    function, kernel = program.functions
    assert (function.name, function.is_kernel, function.info) == ("f", False, {"NumVgprs": 7})
    assert program.kernels == [kernel]
    assert kernel.info == {"NumVgprs": 9, "Occupancy": 8}
    assert kernel.directives == {"next_free_vgpr": 9}
    assert len(function.instructions) == len(kernel.instructions) == 1


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ('\ts_nop 0\n\t.file 1 "/x', 2, 10, "string is not terminated"),
        ("\ts_nop 0\n\t.amdgpu_metadata\n---\n", 2, 2, "the text ends before .end_amdgpu_metadata"),
        ("\t.amdhsa_kernel k\n\t\t.amdhsa_x 1\n", 1, 2, "the text ends before .end_amdhsa_kernel"),
        ("k:\n\t.cfi_startproc\n\ts_nop 0\n", 2, 2, "the text ends before .cfi_endproc"),
    ],
)
def test_text_that_ends_too_early(text: str, line: int, column: int, message: str) -> None:
    with pytest.raises(ParseError, match=re.escape(message)) as caught:
        parse(text)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert caught.value.text == text.splitlines()[line - 1]


@given(st.integers(0))
def test_a_real_file_cut_anywhere_is_read_or_refused(cut: int) -> None:
    text = _texts()["softmax.gfx942.triton-3.9.0"]
    part = text[: cut % len(text)]
    code = text.index(".cfi_startproc"), text.index(".cfi_endproc")
    try:
        program = parse(part)
    except ParseError:
        return
    assert _joined(program) == part
    assert not code[0] + 20 < len(part) < code[1], "a function without its end was accepted"


@given(st.text(alphabet=st.sampled_from('vs_ab019[]():;,."/*|-+ \t\n\\@%#.')))
def test_any_text_joins_back_or_is_refused(text: str) -> None:
    try:
        program = parse(text)
    except ParseError:
        return
    assert _joined(program) == text


@pytest.mark.parametrize(
    "piece", ["(", "[", "v1, ", "|", '"a" ', "/*", "a:", "v1 /*", " @[ a:1:1", ";", " "]
)
def test_time_grows_with_the_text_and_no_faster(piece: str) -> None:
    # A quadratic reader would need minutes for a line this long.
    size = 300_000 // len(piece)
    for start in ("\tv_mov_b32 ", "\t.loc 1 1 1 ; a:1:1", "\t.set "):
        text = start + piece * size + "\n"
        assert _joined(parse(text)) == text


@pytest.mark.parametrize("count", [-1, 10**18])
def test_a_number_of_registers_that_no_wave_has(count: int) -> None:
    assert FILES.bits("s", 0, count) == (0 if count < 0 else FILES.masks["s"])
    assert FILES.bits("s", 10**18) == 0
