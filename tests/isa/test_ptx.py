import contextlib
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irlens.isa.ptx import (
    Address,
    ArgumentList,
    Expression,
    Immediate,
    Instruction,
    Negated,
    Pair,
    PtxModule,
    Register,
    Section,
    Symbol,
    Vector,
    parse,
)
from irlens.model.errors import OutOfWorkError, ParseError
from irlens.model.source import SourceLocation
from tests.tables import each_row

pytestmark = pytest.mark.stored

DATA = Path(__file__).parents[1] / "data" / "ptx"
SAMPLES = sorted(DATA.glob("*.ptx"))


def read(name: str) -> str:
    return (DATA / f"{name}.ptx").read_text()


def instructions(module: PtxModule) -> list[Instruction]:
    return [s for s in module.statements if isinstance(s, Instruction)]


def only(text: str) -> Instruction:
    (instruction,) = instructions(parse(text))
    return instruction


def assert_read_or_refused(text: str) -> None:
    with contextlib.suppress(ParseError):
        assert parse(text).text() == text


def naive_count(text: str) -> int:
    """Instructions of a text, counted by a walk over its characters and no grammar."""
    kept = []
    position = 0
    while position < len(text):
        if text.startswith("//", position):
            position = text.find("\n", position) if "\n" in text[position:] else len(text)
        elif text.startswith("/*", position):
            position = text.index("*/", position) + 2
        elif text[position] == '"':
            position = text.index('"', position + 1) + 1
        else:
            kept.append(text[position])
            position += 1
    pieces = "".join(kept).split(";")
    return sum(_is_instruction(piece) for piece in pieces[:-1])


def _is_instruction(piece: str) -> bool:
    lines = [line.lstrip("{} \t") for line in piece.splitlines()]
    rest = " ".join(line for line in lines if not line.startswith("."))
    rest = re.sub(r"^(?:[\s{}()]*[\w$]+:)*[\s{}()]*", "", rest)
    return bool(rest) and not rest.startswith(".")


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
class TestSamples:
    def test_joining_the_statements_rebuilds_the_text(self, path: Path) -> None:
        text = path.read_text()
        module = parse(text)
        assert module.text() == text
        for statement in module.statements:
            assert text[statement.start : statement.end] == statement.text
            assert statement.line == text.count("\n", 0, statement.start) + 1
            assert statement.end_line == text.count("\n", 0, statement.end) + 1

    def test_every_statement_is_understood(self, path: Path) -> None:
        module = parse(path.read_text())
        assert not module.unknown
        operands = [o for i in instructions(module) for o in i.operands]
        assert not [o for o in operands if isinstance(o, Expression)]

    def test_the_instructions_are_those_of_a_naive_count(self, path: Path) -> None:
        text = path.read_text()
        module = parse(text)
        assert len(instructions(module)) == naive_count(text)
        assert sum(len(f.instructions) for f in module.functions) == naive_count(text)

    def test_every_register_used_is_declared_or_special(self, path: Path) -> None:
        special = {"%tid", "%ctaid", "%ntid", "%nctaid", "%laneid"}
        for function in parse(path.read_text()).functions:
            for instruction in function.instructions:
                for operand in instruction.operands:
                    if isinstance(operand, Register) and operand.name not in special:
                        assert function.register(operand.name, instruction.scope) is not None


def test_the_module_says_what_it_is_for() -> None:
    module = parse(read("softmax_36_sm90_s4"))
    assert (module.version, module.target) == ("8.7", "sm_90a")
    assert module.files == {1: "softmax.py", 2: "standard.py"}
    assert [s.name for s in module.statements if isinstance(s, Section)] == [
        ".debug_abbrev",
        ".debug_info",
        ".debug_macinfo",
    ]
    (variable,) = module.variables
    assert (variable.name, variable.space, variable.linkage) == ("global_smem", "shared", "extern")
    assert (variable.align, variable.type, variable.dimensions) == (16, "b8", (None,))


def test_a_kernel_has_its_signature_and_registers() -> None:
    (kernel,) = parse(read("softmax_36_sm90_s4")).kernels
    assert (kernel.kind, kernel.name, kernel.threads_per_cta) == ("entry", "softmax_kernel", 256)
    assert kernel.signature is not None
    first, *_, last = kernel.signature.parameters
    assert (first.type, first.pointer, first.align) == ("u64", "global", 1)
    assert last.name == "softmax_kernel_param_7"
    assert [(g.name, g.count, g.type) for g in kernel.registers] == [
        ("%p", 14, "pred"),
        ("%r", 115, "b32"),
        ("%rd", 11, "b64"),
    ]
    predicate = kernel.register("%p13")
    assert predicate is not None
    assert predicate.type == "pred"
    assert kernel.register("%p14") is None


def test_nvcc_declares_functions_variables_and_limits() -> None:
    module = parse(read("features"))
    assert [d.name for d in module.declarations] == ["vprintf"]
    assert [d.name for d in module.declarations[0].returns] == ["func_retval0"]
    assert [f.kind for f in module.functions] == ["func", "func", "entry"]
    variables = {v.name: v for v in module.variables}
    assert variables["table"].dimensions == (16,)
    assert (variables["table"].initializer or "").startswith("{3, 0, 0, 0, 1,")
    kernel = module.kernels[0]
    assert kernel.signature is not None
    assert kernel.signature.limits == {"maxntid": (128, 1, 1), "minnctapersm": (4,)}
    assert kernel.threads_per_cta is None
    call = next(i for i in kernel.instructions if "vprintf" in i.text)
    assert (call.opcode, call.modifiers) == ("call", ("uni",))
    assert call.operands == (
        ArgumentList((Symbol("retval0"),)),
        Symbol("vprintf"),
        ArgumentList((Symbol("param0"), Symbol("param1"))),
    )
    assert call.end_line - call.line == 5


def test_inline_assembly_is_marked_and_its_names_are_scoped() -> None:
    kernel = parse(read("features")).kernels[0]
    inline = [i for i in kernel.instructions if i.inline_asm]
    assert [i.opcode for i in inline] == ["setp", "mov", "add"]
    assert inline[0].operands[0] == Register("p")
    assert inline[2].predicate == "p"
    group = kernel.register("p", inline[0].scope)
    assert group is not None
    assert group.type == "pred"
    assert kernel.register("p", 0) is None


def test_lines_of_inline_assembly_do_not_move_the_code_behind_it() -> None:
    """Triton 3.9's PTX of libdevice: the first line of the block is a brace, and has no place."""
    module = parse(
        '.file 1 "k.py"\n.loc 1 33 28\nmov.b32 %r1, 0;\n// begin inline asm\n{\n.loc 1 34 28\n'
        "mad.lo.cc.u32 %r2, %r1, %r1, %r1;\n.loc 1 35 28\nmadc.hi.u32 %r3, %r1, %r1, 0;\n}\n"
        "// end inline asm\nst.local.b32 [%r4], %r2;\n"
    )
    places = {str(each.locations[0]) for each in instructions(module)}
    assert places == {"k.py:33"}


@each_row(
    ("operand", "expected"),
    [
        ("%r1", Register("%r1")),
        ("%tid.x", Register("%tid", "x")),
        ("global_smem", Symbol("global_smem")),
        ("_", Symbol("_")),
        ("-1", Immediate("-1", -1)),
        ("0x10", Immediate("0x10", 16)),
        ("010", Immediate("010", 8)),
        ("4096U", Immediate("4096U", 4096)),
        ("0b101", Immediate("0b101", 5)),
        ("0f3F800000", Immediate("0f3F800000", 1.0)),
        ("0dC000000000000000", Immediate("0dC000000000000000", -2.0)),
        ("1.5e3", Immediate("1.5e3", 1500.0)),
        ("2.", Immediate("2.", 2.0)),
        ("[%rd1]", Address(Register("%rd1"), 0)),
        ("[ %r13 + 0 ]", Address(Register("%r13"), 0)),
        ("[%rd1+-16]", Address(Register("%rd1"), -16)),
        ("[%rd1-0x10]", Address(Register("%rd1"), -16)),
        ("[global_smem+12288]", Address(Symbol("global_smem"), 12288)),
        ("[4096]", Address(Immediate("4096", 4096), 0)),
        (
            "[%rd1, {%r1, %r2}]",
            Address(Register("%rd1"), 0, (Vector((Register("%r1"), Register("%r2"))),)),
        ),
        ("{%r1,%r2}", Vector((Register("%r1"), Register("%r2")))),
        ("%r30|%p6", Pair(Register("%r30"), Register("%p6"))),
        ("!%p1", Negated(Register("%p1"))),
        ("(4+4)*2", Expression("(4+4)*2")),
        ("a[3]", Expression("a[3]")),
    ],
)
def test_operands(operand: str, expected: object) -> None:
    assert only(f"foo.b32 %d, {operand};").operands == (Register("%d"), expected)


def test_an_instruction_is_split_at_its_dots() -> None:
    copy = only(
        "@!%p3 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
        " [%r13], [%rd1, {%r119, %r62}], [%r11];"
    )
    assert (copy.opcode, copy.predicate, copy.negated) == ("cp", "%p3", True)
    assert copy.modifiers == (
        "async",
        "bulk",
        "tensor",
        "2d",
        "shared::cluster",
        "global",
        "mbarrier::complete_tx::bytes",
    )
    assert len(copy.operands) == 3


def test_statements_may_share_a_line_or_take_several() -> None:
    text = "a: b: .loc 1 2 3 add.s32 %r1, // first\n /* second; */ %r2,\n %r3; ret; /* end */"
    module = parse(text)
    assert [type(s).__name__ for s in module.statements] == [
        "Label",
        "Label",
        "Loc",
        "Instruction",
        "Instruction",
    ]
    add, ret = instructions(module)
    assert add.operands == (Register("%r1"), Register("%r2"), Register("%r3"))
    assert (add.line, add.end_line, ret.line) == (1, 3, 3)
    assert module.trailing == " /* end */"
    assert module.text() == text


def test_a_fragment_is_a_kernel_without_a_name() -> None:
    module = parse("mov.u32 %r1, %tid.x;\nret;\n")
    (fragment,) = module.kernels
    assert (fragment.kind, fragment.name, len(fragment.instructions)) == ("fragment", "", 2)
    assert (module.version, module.target) == (None, None)


@pytest.mark.parametrize("text", ["", "\n", "// nothing\n", "/* nothing */"])
def test_nothing_is_an_empty_module(text: str) -> None:
    module = parse(text)
    assert module.text() == text
    assert not module.functions


def test_inner_labels_and_lists_hide_outer_ones() -> None:
    text = "{ L: nop; { L: nop; } { nop; } t: .branchtargets L, M; M: brx.idx %r1, t; }"
    (fragment,) = parse(text).functions
    outer, first, second, _ = fragment.instructions
    assert [label.position for label in fragment.labels if label.name == "L"] == [0, 1]
    for instruction, position in ((outer, 0), (first, 1), (second, 0)):
        label = fragment.label("L", instruction.scope)
        assert label is not None
        assert label.position == position
    assert fragment.targets("t", outer.scope) == ("L", "M")


def test_branches_that_share_a_list_of_labels_have_a_number_of_targets_at_most() -> None:
    count = 400
    labels = ", ".join(f"L{n}" for n in range(count))
    branches = "".join(f"L{n}: brx.idx %r1, t; " for n in range(count))
    (fragment,) = parse(f"{{ t: .branchtargets {labels}; {branches} }}").functions
    with pytest.raises(OutOfWorkError, match=r"lists of labels have more than 131,072 targets"):
        fragment.control_flow()


def test_what_no_rule_reads_is_kept_and_counted() -> None:
    text = "add.s32 %r1, ###;\n.frobnicate 12\n.frob;\n@@DWARF .byte 1\nret;\n"
    module = parse(text)
    assert module.text() == text
    assert module.unknown == {
        "add.s32 %r1, ###;": 1,
        ".frobnicate 12": 1,
        ".frob;": 1,
        "@@DWARF .byte 1": 1,
    }
    assert [i.name for i in instructions(module)] == ["ret"]


def test_old_style_parameters_are_registers() -> None:
    text = ".func (.reg .u32 d) twice (.reg .u32 a) { add.u32 d, a, a; ret; }"
    (function,) = parse(text).functions
    assert function.instructions[0].operands == (Register("d"), Register("a"), Register("a"))


def test_pragmas_in_a_header_do_not_end_it() -> None:
    text = '.entry k () .pragma "used;{bytes} 1"; .maxnreg 32 { .pragma "nounroll"; ret; }'
    (kernel,) = parse(text).kernels
    assert kernel.signature is not None
    assert kernel.signature.limits["maxnreg"] == (32,)


class TestLocations:
    @staticmethod
    def chain(name: str, opcode: str) -> list[str]:
        (kernel,) = parse(read(name)).kernels
        first = next(i for i in kernel.instructions if i.name == opcode)
        return [str(location) for location in first.locations]

    def test_inlining_that_is_only_in_the_comment(self) -> None:
        assert self.chain("softmax_36_sm90_s4", "max.f32") == [
            "standard.py:170",
            "standard.py:191",
            "softmax.py:28",
        ]

    def test_inlining_in_attributes_is_followed_outwards(self) -> None:
        assert self.chain("softmax_39_sm80_s3_unaligned", "max.f32") == [
            "standard.py:196",
            "standard.py:216",
            "softmax.py:28",
        ]
        copies = [
            [str(frame) for frame in instruction.locations]
            for instruction in parse(read("buffers")).kernels[0].instructions
            if instruction.opcode == "cp" and instruction.modifiers[1] == "cg"
        ]
        helpers = [
            "cuda_pipeline_helpers.h:203",
            "cuda_pipeline_helpers.h:219",
            "cuda_pipeline_helpers.h:292",
            "cuda_pipeline_primitives.h:69",
        ]
        assert copies == [
            [*helpers, "buffers.cu:8", "buffers.cu:25"],
            [*helpers, "buffers.cu:15", "buffers.cu:25"],
        ]

    def test_a_comma_may_follow_on_another_line(self) -> None:
        loc = ".loc 1 2 3 // a comment\n  , function_name f, inlined_at 1 9 8\n"
        (instruction,) = instructions(parse('.file 1 "k.py"\n' + loc + "nop;"))
        assert instruction.locations == (SourceLocation("k.py", 2, 3), SourceLocation("k.py", 9, 8))

    def test_line_zero_is_no_location(self) -> None:
        text = '.file 1 "/a/b/k.py"\n.loc 1 0 57\nnop;\n.loc 1 7 5\nnop;'
        none, some = instructions(parse(text))
        assert none.locations == ()
        assert some.locations == (SourceLocation("k.py", 7, 5),)

    def test_a_file_without_a_name_is_no_location_unless_a_comment_names_it(self) -> None:
        text = ".loc 3 7 5 // dir/k.py:7:5\nnop;\n.loc 3 8 5\nnop;"
        named, unnamed = instructions(parse(text))
        assert named.locations == (SourceLocation("k.py", 7, 5),)
        assert unnamed.locations == ()

    def test_a_location_ends_with_its_function(self) -> None:
        text = '.file 1 "k.py"\n.entry a() { .loc 1 2 3 ret; }\n.entry b() { ret; }'
        first, second = instructions(parse(text))
        assert first.locations
        assert not second.locations

    def test_a_chain_that_leads_to_itself_is_cut(self) -> None:
        loc = ".loc 1 2 3, function_name f, inlined_at 1 2 3\n"
        text = '.file 1 "k.py"\n' + loc * 500 + "nop;"
        assert 1 <= len(only(text).locations) <= 64


class TestErrors:
    @pytest.mark.parametrize(
        ("text", "line", "column", "message"),
        [
            (".entry k()\n{\n  ret;\n", 2, 1, "'{' is not closed"),
            ("ret;\n }\n", 2, 2, "'}' closes nothing"),
            ("ret;\n/* never ends", 2, 1, "comment is not terminated"),
            ("add.s32 %r1, /* never ends", 1, 14, "comment is not terminated"),
            ('.pragma "never ends;\n', 1, 9, "string is not terminated"),
            ("ret;\nadd.s32 %r1, %r2", 2, 1, "statement is not terminated by ';'"),
            ("{\n  add.s32 %r1, %r2\n}\nret;", 3, 1, "expected ';' before '}'"),
            ("st.v2.u32 [%r1], {%r2;", 1, 1, "'{' in this statement is not closed"),
            (".entry k(", 1, 1, "function header without '{' or ';'"),
            (".section .debug_info { .b8 1", 1, 1, "section is not closed"),
            ("ret;\n.loc 1 2 3, function_name", 2, 11, "statement is not terminated by ';'"),
            (".version 8", 1, 1, "the text ends in the middle of a statement"),
        ],
    )
    def test_what_does_not_end_is_named_with_its_place(
        self, text: str, line: int, column: int, message: str
    ) -> None:
        with pytest.raises(ParseError, match=re.escape(message)) as caught:
            parse(text)
        assert (caught.value.line, caught.value.column) == (line, column)
        assert caught.value.text == text.splitlines()[line - 1]

    def test_a_sample_cut_anywhere_is_read_or_refused(self) -> None:
        text = read("jump")
        for end in range(0, len(text), 7):
            assert_read_or_refused(text[:end])

    @pytest.mark.parametrize(
        "text",
        [
            "{" * 50_000,
            "add.s32 " + "[" * 50_000 + ";",
            "add.s32 " + "{" * 50_000 + "}" * 50_000 + ";",
            "/*" * 50_000,
            '"' * 50_001,
            "a " * 50_000,
            "@" * 50_000 + ";",
            ".entry " * 50_000,
            "mov.u32 %r1, " + "9" * 50_000 + ";",
            ".reg .b32 %r<" + "9" * 50_000 + ">;",
            ".loc " + "9" * 50_000 + " 1 1\nret;",
            "{ .reg .pred p; }" * 5_000 + "ret;",
            "ret;" + "\n" * 50_000 + "ret;",
        ],
        ids=lambda text: text[:12],
    )
    def test_hostile_text_takes_no_time_and_no_stack(self, text: str) -> None:
        assert_read_or_refused(text)


TRIVIA = st.one_of(
    st.sampled_from([" ", "\n", "\t", "\r\n", "// ; } { \" '\n", '/* ; } " // */', "//\n", "/**/"]),
    st.text(alphabet='ab ;{}"/', max_size=8).map(lambda text: f"//{text}\n"),
)
EXTRA = st.one_of(
    TRIVIA,
    st.text(alphabet="ab;{}/* ", max_size=8).map(lambda text: f'.pragma "{text}";'),
    st.integers(1, 20).map(lambda depth: "{" * depth + "}" * depth),
    st.just("{ .reg .pred inserted; }"),
)


@given(st.data())
def test_insertions_between_statements_change_no_instruction(data: st.DataObject) -> None:
    module = parse(data.draw(st.sampled_from([read("jump"), read("features")])))
    pieces = []
    for statement in module.statements:
        if isinstance(statement, Instruction) and data.draw(st.integers(0, 9)) == 0:
            pieces.extend(["\n", *data.draw(st.lists(EXTRA, max_size=3))])
        pieces.extend([statement.trivia, statement.text])
    text = "".join([*pieces, module.trailing])
    changed = parse(text)
    assert changed.text() == text
    assert [(i.name, i.operands, i.predicate) for i in instructions(changed)] == [
        (i.name, i.operands, i.predicate) for i in instructions(module)
    ]


WORDS = """
.entry .func .reg .loc .file .section .version .pragma .extern .shared .b32 .branchtargets k %r1
%r<4> add.s32 ret; bra L; L: @%p1 @! { } ( ) [ ] , ; : | ! = < > + - * / // /* */ " \\ 1 0x
0f00000000 2.5 1e9 $ . .. :: é ٣ ² function_name inlined_at
"""
TOKENS = st.lists(st.sampled_from([*WORDS.split(), "\n", "\t"]), max_size=40)


@given(TOKENS.map(" ".join) | TOKENS.map("".join) | st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    assert_read_or_refused(text)
