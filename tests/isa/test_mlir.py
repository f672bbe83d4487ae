"""The MLIR parser against MLIR's own parser, and under changes that must not matter."""

import json
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irlens.isa.mlir import Module, Operation, parse
from irlens.isa.mlir.types import Pointer, Scalar, Type
from irlens.model.errors import ParseError
from irlens.model.source import SourceLocation

pytestmark = pytest.mark.stored

DATA = Path(__file__).parents[1] / "data"

# A terminator without operands is in MLIR's tree and never printed; the partitions of
# ttg.warp_specialize are printed as regions of it, and its operands belong to them.
IMPLICIT = {"scf.yield", "ttg.warp_yield"}
UNPRINTED = {"ttg.warp_specialize.partitions", "builtin.module"}


def archive(path: Path) -> dict[str, str]:
    with tarfile.open(path) as tar:
        return {
            member.name: file.read().decode()
            for member in tar
            if not member.name.endswith(".cubin") and (file := tar.extractfile(member))
        }


@pytest.fixture(scope="module")
def compiled() -> dict[str, str]:
    """What Triton 3.4 to 3.9 made of fifteen kernels for NVIDIA and AMD, and how MLIR read it."""
    return archive(DATA / "mlir" / "triton.tar.xz")


@pytest.fixture(scope="module")
def modules(compiled: dict[str, str]) -> dict[str, Module]:
    names = [name for name in compiled if name.endswith((".ttir", ".ttgir"))]
    return {name: parse(compiled[name], stage=name.rsplit(".", 1)[1]) for name in names}


@pytest.fixture(scope="module")
def example(modules: dict[str, Module]) -> Module:
    return modules["3.9.0-sm_90-softmax4.ttgir"]


def postorder(module: Module) -> Iterator[Operation]:
    waiting: list[Operation] = []
    for operation in module.operations:
        while waiting and waiting[-1].end <= operation.index:
            yield waiting.pop()
        waiting.append(operation)
    yield from reversed(waiting)


def visible(name: str, operands: int) -> bool:
    return name not in UNPRINTED and not (name in IMPLICIT and operands == 0)


def test_every_operation_is_the_one_mlir_reads(
    compiled: dict[str, str], modules: dict[str, Module]
) -> None:
    for file, module in modules.items():
        theirs = [
            row for row in json.loads(compiled[file + ".mlir.json"]) if visible(row[0], row[2])
        ]
        ours = [op for op in postorder(module) if op.name != "module"]
        ours = [op for op in ours if visible(op.name, len(op.operands))]
        for operation, (name, results, operands, regions, _) in zip(ours, theirs, strict=True):
            where = f"{file}:{operation.span.line}"
            assert operation.name == name, where
            assert sum(count for _, count in operation.results) == results, where
            if name != "ttg.warp_specialize":
                assert len(operation.operands) == operands, where
                # An empty "else" is not printed.
                assert len(operation.regions) == regions or name == "scf.if", where


def test_every_location_is_the_one_mlir_reads(
    compiled: dict[str, str], modules: dict[str, Module]
) -> None:
    compared = 0
    for file, module in modules.items():
        theirs = [
            row for row in json.loads(compiled[file + ".mlir.json"]) if visible(row[0], row[2])
        ]
        ours = [op for op in postorder(module) if op.name != "module"]
        ours = [op for op in ours if visible(op.name, len(op.operands))]
        for operation, (*_, location) in zip(ours, theirs, strict=True):
            if location is not None:
                expected = tuple(SourceLocation(*place) for place in location)
                assert operation.location == expected, f"{file}:{operation.span.line}"
                compared += 1
    assert compared > 10_000


def test_nothing_is_unknown_and_the_pieces_join(modules: dict[str, Module]) -> None:
    for file, module in modules.items():
        assert not module.unknown, file
        assert "".join(module.pieces()) == module.text, file


def test_the_count_is_that_of_lines_that_begin_an_operation() -> None:
    """Every stage of the 31 kernels that ran on an H200; printed MLIR has one operation a line."""
    begins = re.compile(r'^ *(?:%[\w:, %$-]+ = )?(?:module|"?[a-z_]+\.[\w.]+)(?=[ "(]|$)', re.M)
    kernels = archive(DATA / "h200" / "triton-cache.tar.xz")
    stages = [name for name in kernels if name.endswith((".ttir", ".ttgir"))]
    assert len(stages) == 62
    for name in stages:
        module = parse(kernels[name])
        assert not module.unknown, name
        assert len(module.operations) == len(begins.findall(kernels[name])), name
        assert all(op.location for op in module.operations if op.name == "scf.for"), name


def test_module_and_function_headers(example: Module) -> None:
    assert example.attributes["ttg.num-warps"] == "8 : i32"
    assert example.attributes["ttg.target"] == '"cuda:90"'
    assert example.aliases["#smem"] == "#ttg.shared_memory"
    assert example.aliases["#blocked"].startswith("#ttg.blocked<{sizePerThread = [")
    assert not any(name.startswith("#loc") for name in example.aliases)
    (function,) = example.named("tt.func")
    assert function.words == ("public", "@softmax_kernel", "attributes")
    (block,) = function.regions[0].blocks
    assert block.arguments[0].name == "%output_ptr"
    assert block.arguments[0].type == Pointer(Scalar("f32"))
    assert block.arguments[0].attributes == {"tt.divisibility": "16 : i32"}
    assert block.arguments[0].location == function.location


def test_a_loop_has_its_location_although_it_stands_on_the_closing_line(example: Module) -> None:
    (loop,) = example.named("scf.for")
    assert loop.span.end_line > loop.span.line
    assert loop.attributes == {"tt.num_stages": "4 : i32"}
    induction, *carried = loop.regions[0].blocks[0].arguments
    assert induction.initial == loop.operands[0]
    assert [argument.initial for argument in carried] == list(loop.operands[3:])
    assert loop.results[0][1] == len(loop.result_types) == len(carried)
    assert loop.location == (SourceLocation("kernels.py", 72, 5),)


def test_inlined_code_names_its_callers_from_the_inside_out(example: Module) -> None:
    reduction = next(example.named("tt.reduce"))
    files = [place.file for place in reduction.location]
    assert files == ["standard.py"] * (len(files) - 1) + ["kernels.py"]
    assert len(files) >= 2
    assert reduction.attributes == {"axis": "0 : i32"}


def _texts(*kinds: tuple[Type, ...]) -> list[str]:
    return [str(kind) for each in kinds for kind in each]


def test_types_stand_on_the_side_they_are_printed_on() -> None:
    module = parse(
        "%0 = arith.extf %x : tensor<4xf16> to tensor<4xf32>\n"
        "%1 = tt.dot %a, %b, %c, inputPrecision = tf32 : tensor<2xf16> * tensor<2xf16> -> f32\n"
        '%2:2 = "tt.reduce"(%a, %b) <{axis = 1 : i32}> ({\n^bb0(%p: f32, %q: i32):\n'
        "  tt.reduce.return %p, %q : f32, i32\n}) : (tensor<4xf32, #l>, i32) -> (f32, i32)\n"
        "%3 = ttg.async_copy_global_to_local %a, %b mask %m : tensor<4xi8> -> <4xi8, #s, #smem>"
    )
    cast, dot, reduction, _, copy = module.operations
    assert _texts(cast.operand_types, cast.result_types) == ["tensor<4xf16>", "tensor<4xf32>"]
    assert _texts(dot.operand_types, dot.result_types) == ["tensor<2xf16>", "tensor<2xf16>", "f32"]
    assert dot.attributes == {"inputPrecision": "tf32"}
    assert reduction.results == (("%2", 2),)
    assert _texts(reduction.operand_types) == ["tensor<4xf32, #l>", "i32"]
    assert _texts(reduction.result_types) == ["f32", "i32"]
    assert [str(each.type) for each in reduction.regions[0].blocks[0].arguments] == ["f32", "i32"]
    assert (copy.operands, copy.words) == (("%a", "%b", "%m"), ("mask",))
    assert _texts(copy.result_types) == ["<4xi8, #s, #smem>"]


def test_operands_with_a_name_are_operands() -> None:
    module = parse(
        "%0 = amdg.buffer_load %p[%o], %m stride = %s cacheModifier = cg : tensor<4xf32>"
    )
    assert module.operations[0].operands == ("%p", "%o", "%m", "%s")
    assert module.operations[0].attributes == {"cacheModifier": "cg"}


def test_an_attribute_dictionary_is_no_region() -> None:
    module = parse(
        "scf.for %i = %a to %b step %c : i32 {\n tt.return\n} {tt.flatten, tt.num_stages = 3 : i32}"
        "\nttg.local_alloc {unit} : () -> i32\nscf.if %c { tt.return }"
    )
    loop, first, _, branch, second = module.operations
    assert loop.attributes == {"tt.flatten": "unit", "tt.num_stages": "3 : i32"}
    assert (first.parent, second.parent) == (loop.index, branch.index)
    assert len(loop.regions) == 1


def test_blocks_and_successors() -> None:
    module = parse(
        "tt.func @f(%c: i1) {\n  cf.cond_br %c, ^bb1(%c : i1), ^bb2\n"
        "^bb1(%x: i1):\n  cf.br ^bb2\n^bb2:\n  tt.return\n}"
    )
    function, branch, *_ = module.operations
    labels = [block.label for block in function.regions[0].blocks]
    assert labels == [None, "^bb1", "^bb2"]
    assert branch.operands == ("%c", "%c")
    assert branch.words == ("^bb1", "^bb2")


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ('"/a/b.py":3:4', [("b.py", 3, 4)]),
        ('"x"("/a/b.py":3:4)', [("b.py", 3, 4)]),
        ('callsite("a.py":1:2 at callsite("b.py":3:4 at "c.py":5:6))',
         [("a.py", 1, 2), ("b.py", 3, 4), ("c.py", 5, 6)]),
        ('callsite(unknown at "c.py":5:6)', [("c.py", 5, 6)]),
        ('fused<#tag<"x">>[unknown, "b.py":3:4, "c.py":5:6]', [("b.py", 3, 4)]),
        ('fused["b.py":3:4 to :9]', [("b.py", 3, 4)]),
        ("#far", [("b.py", 3, 4), ("c.py", 5, 6)]),
        ("unknown", []),
        ('"only a name"', []),
    ],
)  # fmt: skip
def test_locations(location: str, expected: list[tuple[str, int, int]]) -> None:
    aliases = '#far = loc(callsite(#near at "c.py":5:6))\n#near = loc("name"("b.py":3:4))\n'
    (operation,) = parse(f"tt.return loc({location})\n{aliases}").operations
    assert operation.location == tuple(SourceLocation(*place) for place in expected)


@pytest.mark.parametrize(
    "use", ["#loc2", '"name"(#loc2)', " #loc2", 'callsite("b.py":3:4 at #loc)']
)
@pytest.mark.parametrize("behind", [True, False])
def test_aliases_may_stand_in_any_order(use: str, behind: bool) -> None:
    aliases = [
        "#loc2 = loc(callsite(#loc1 at #loc))",
        '#loc = loc("/a/wrong.py":7:8)',
        '#loc1 = loc("b.py":3:4)',
        '#loc = loc("/a/c.py":5:6)',  # the last definition counts
    ]
    lines = [f"tt.return loc({use})", *aliases] if behind else [*aliases, f"tt.return loc({use})"]
    (operation,) = parse("\n".join(lines)).operations
    assert operation.location == (SourceLocation("b.py", 3, 4), SourceLocation("c.py", 5, 6))


def test_what_is_no_statement_is_kept() -> None:
    module = parse("tt.return loc(unknown)\n{-# dialect_resources: { x: 1 } #-}")
    assert [unknown.line for unknown in module.unknown] == [2]
    assert module.unknown[0].text.startswith("{-#")


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("module {\n  tt.return", 2, 12, "the text ends inside the '{' of line 1"),
        ("module {\n)", 2, 1, "')' closes the '{' of line 1"),
        ("module {\n}\n}", 3, 1, "'}' closes nothing"),
        ("tt.return)", 1, 10, "')' closes nothing"),
        ('tt.print "abc', 1, 10, "a string has no end"),
        ("#a = #b\nmodule attributes {x = 1}", 2, 1, "a module has no body"),
        ("module {} loc(#loc9)", 1, 15, "location '#loc9' is not defined"),
        ("tt.return loc(#a)\n#a = loc(#a)", 2, 10, "location '#a' is defined by itself"),
        ('tt.return loc("f":x:1)', 1, 15, "expected a line and a column"),
        ("hello", 1, 1, "no operation"),
        ("", 1, 1, "no operation"),
    ],
)
def test_errors_have_a_place(text: str, line: int, column: int, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(text)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert message in caught.value.message
    assert caught.value.hint == caught.value.text + "\n" + " " * (column - 1) + "^"


def test_a_chain_of_calls_cannot_grow_without_bound() -> None:
    doubled = "".join(f"#l{i + 1} = loc(callsite(#l{i} at #l{i}))\n" for i in range(100))
    with pytest.raises(ParseError, match="more than 256 calls"):
        parse(f'tt.return loc(#l100)\n#l0 = loc("f.py":1:2)\n{doubled}')


DEPTH = 20_000


@pytest.mark.parametrize(
    "text",
    [
        "scf.if %a {\n" * DEPTH + "}\n" * DEPTH,
        '"x"() ({' * DEPTH + "})" * DEPTH,
        "a.b : tensor<" + "tensor<" * DEPTH + ">" * DEPTH + ">",
        "a.b {x = " + "[" * DEPTH + "]" * DEPTH + "}",
        "a.b loc(" + "callsite(" * DEPTH + "unknown" + " at unknown)" * DEPTH + ")",
        "a.b " + "%a, " * DEPTH,
        'a.b loc(#l0)\n#l20000 = loc("f":1:2)\n'
        + "".join(f"#l{i} = loc(#l{i + 1})\n" for i in range(DEPTH)),
    ],
    ids=["regions", "brackets", "types", "attributes", "locations", "operands", "aliases"],
)
def test_depth_and_length_cost_no_python_frames(text: str) -> None:
    module = parse(text)
    assert "".join(module.pieces()) == text
    assert module == parse(text)


def shape(module: Module) -> list[tuple[object, ...]]:
    """Everything but where it stands in the text."""
    return [
        (op.name, op.parent, op.end, op.results, op.operands, op.words, op.attributes,
         op.operand_types, op.result_types, op.regions, op.location)
        for op in module.operations
    ]  # fmt: skip


FILES = ["3.9.0-sm_90-softmax4.ttgir", "3.6.0-sm_90-tma_ws.ttgir", "3.9.0-gfx1100-misc.ttir"]


@pytest.mark.parametrize("file", FILES)
@settings(max_examples=8, deadline=None)
@given(data=st.data())
def test_blanks_line_breaks_and_comments_mean_nothing(
    modules: dict[str, Module], file: str, data: st.DataObject
) -> None:
    module = modules[file]
    gaps = st.sampled_from([" ", "  ", "\n", "\t", " // a { comment \n", "\r\n"])
    choices = iter(data.draw(st.lists(gaps, min_size=50, max_size=50)) * 10_000)
    # A blank inside a string is no gap.
    changed = re.sub(
        r'("(?:[^"\\]|\\.)*")|[ \n]+', lambda gap: gap[1] or next(choices), module.text
    )
    assert changed != module.text
    again = parse(changed, stage=module.stage)
    assert shape(again) == shape(module)
    assert "".join(again.pieces()) == changed


@pytest.mark.parametrize("file", FILES)
@settings(max_examples=8, deadline=None)
@given(prefix=st.from_regex(r"[A-Za-z_$][\w$]{0,5}", fullmatch=True))
def test_renaming_values_renames_nothing_else(
    modules: dict[str, Module], file: str, prefix: str
) -> None:
    module = modules[file]
    renamed = parse(re.sub("%", f"%{prefix}", module.text), stage=module.stage)
    back = [tuple(name.replace(prefix, "", 1) for name in op.operands) for op in renamed.operations]
    assert back == [op.operands for op in module.operations]
    for ours, theirs in zip(renamed.operations, module.operations, strict=True):
        assert (ours.name, ours.end, ours.attributes) == (
            theirs.name,
            theirs.end,
            theirs.attributes,
        )
        assert ours.location == theirs.location


@pytest.mark.parametrize("file", FILES)
def test_operations_are_told_apart_without_locations_too(
    modules: dict[str, Module], file: str
) -> None:
    text = re.sub(r"(?m)^#loc.*\n", "", modules[file].text)
    bare = re.sub(r" loc\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)", "", text)
    assert "loc(" not in bare

    def names(module: Module) -> list[tuple[object, ...]]:
        return [(op.name, op.results, op.operands, op.end, op.words) for op in module.operations]

    assert names(parse(bare)) == names(modules[file])


@pytest.mark.parametrize("file", FILES)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_a_text_that_is_cut_off_is_refused(
    modules: dict[str, Module], file: str, data: st.DataObject
) -> None:
    text = modules[file].text.rstrip()
    cut = data.draw(st.integers(0, len(text) - 1))
    with pytest.raises(ParseError):
        parse(text[:cut])


TOKENS = (
    '%a , = a.b ( ) { } [ ] < > : -> loc #l "s" ^bb !t @f 1 module to scf.for tt.return callsite at'
)


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.text(), st.lists(st.sampled_from(TOKENS.split()), max_size=30).map(" ".join)))
def test_any_text_parses_or_raises_parse_error(text: str) -> None:
    try:
        module = parse(text)
    except ParseError:
        return
    assert "".join(module.pieces()) == text


class TestExcerpts:
    """What people paste is part of a module: its locations and some braces are elsewhere."""

    def test_locations_that_are_not_there_are_unknown(self) -> None:
        module = parse('%0 = tt.load %p loc(#loc3)\n%1 = tt.load %q loc("a.py":1:2)')
        assert [op.location for op in module.operations] == [(), (SourceLocation("a.py", 1, 2),)]
        assert module.unknown == ()

    def test_braces_without_partners(self) -> None:
        text = "%0 = tt.load %p\n}\nscf.for %i = %a to %b step %c {\n  tt.store %p, %0"
        module = parse(text)
        assert [op.name for op in module.operations] == ["tt.load", "scf.for", "tt.store"]
        assert module.operations[2].parent == 1
        assert [op.span.line for op in module.operations] == [1, 3, 4]
        assert "".join(module.pieces()) == text

    def test_a_module_that_is_cut_off_is_an_error(self) -> None:
        with pytest.raises(ParseError, match="text ends inside"):
            parse("module {\n  tt.return")
