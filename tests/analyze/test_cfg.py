from pathlib import Path

import pytest

from irlens.analyze import cfg
from irlens.isa.ptx import parse
from irlens.model.errors import ArtifactError

DATA = Path(__file__).parents[1] / "data" / "ptx"


def build(text: str) -> cfg.Cfg:
    (function,) = parse(text).functions
    return cfg.build(function)


def edges(text: str) -> list[tuple[int, ...]]:
    return list(build(text).successors)


def test_a_loop() -> None:
    graph = build("mov.u32 %r1, 0;\nL:\nadd.u32 %r1, %r1, 1;\n@%p1 bra L;\nret;\n")
    assert [(b.start, b.stop, b.label, b.line) for b in graph.blocks] == [
        (0, 1, None, 1),
        (1, 3, "L", 2),
        (3, 4, None, 5),
    ]
    assert graph.successors == ((1,), (1, 2), ())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("bra M; nop; M: ret;", [(2,), (2,), ()]),
        ("@%p bra M; nop; M: ret;", [(2, 1), (2,), ()]),
        ("@!%p bra.uni M; M: ret;", [(1,), ()]),
        ("@%p ret; nop;", [(1,), ()]),
        ("@%p exit; trap; nop; exit;", [(1,), (), ()]),
        ("call.uni f; nop;", [()]),
        ("bra M; M:", [(1,), ()]),
        ("A: B: nop; @%p bra A; bra B;", [(0, 1), (0,)]),
    ],
)
def test_what_can_follow_what(text: str, expected: list[tuple[int, ...]]) -> None:
    assert edges(text) == expected


def test_an_indirect_branch_goes_to_its_list() -> None:
    text = "t: .branchtargets A, B, A; brx.idx.uni %r1, t; A: nop; ret; B: ret;"
    assert edges(text) == [(1, 2), (), ()]
    assert edges(text.replace("brx", "@%p brx")) == [(1, 2), (), ()]


def test_labels_are_looked_up_from_the_inside() -> None:
    # Triton waits for TMA in such a scope, each with a label of the same name.
    wait = "{ .reg .pred done; again: @!done bra again; } "
    assert edges(f"again: nop; {wait}{wait}bra again;") == [(1,), (1, 2), (2, 3), (0,)]


def test_no_instruction_is_one_empty_block() -> None:
    graph = build(".entry k() { }")
    assert [(b.start, b.stop, b.line) for b in graph.blocks] == [(0, 0, 1)]
    assert graph.successors == ((),)


@pytest.mark.parametrize(
    "text",
    ["nop;\nbra nowhere;", "nop;\nbrx.idx %r1, t;", "nop;\nbra;", "{ in: nop; }\nbra in;"],
)
def test_a_branch_into_nothing_is_an_error(text: str) -> None:
    with pytest.raises(ArtifactError, match="ptx:2: branch to") as caught:
        build(text)
    assert caught.value.hint


@pytest.mark.parametrize("path", sorted(DATA.glob("*.ptx")), ids=lambda path: path.stem)
def test_blocks_of_samples_cover_every_instruction_once(path: Path) -> None:
    for function in parse(path.read_text()).functions:
        blocks = cfg.build(function).blocks
        covered = [index for block in blocks for index in range(block.start, block.stop)]
        assert covered == list(range(len(function.instructions)))
        for block in blocks:
            for instruction in function.instructions[block.start : block.stop - 1]:
                assert instruction.opcode not in {"bra", "brx", "ret", "exit", "trap"}
