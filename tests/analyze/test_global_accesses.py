from irlens.analyze.global_accesses import Place, access_widths, read_once, uncounted
from irlens.isa.ptx import parse
from irlens.model.source import SourceLocation

PLACE = (SourceLocation("k.py", 30, 9),)


def widths(body: str) -> dict[Place, frozenset[int]]:
    (kernel,) = parse('.file 1 "k.py"\n.loc 1 30 9\n' + body).kernels
    return dict(access_widths(kernel))


def test_width_of_vectors_and_copies() -> None:
    assert widths("ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%rd1];") == {
        ("load", PLACE): frozenset({16})
    }
    assert widths("ld.global.L1::evict_last.v2.f64 {%d1, %d2}, [%rd1];") == {
        ("load", PLACE): frozenset({16})
    }
    assert widths("st.global.b16 [%rd1], %rs1;") == {("store", PLACE): frozenset({2})}
    assert widths("cp.async.ca.shared.global [%r1], [%rd1], 8, %r2;") == {
        ("load", PLACE): frozenset({8})
    }


def test_other_memories_do_not_count() -> None:
    assert widths("ld.shared.b32 %r1, [%r2]; st.local.b32 [%rd1], %r1; ret;") == {}


def test_the_lines_of_inline_assembly_are_one_place() -> None:
    """Triton 3.9's PTX: each line of the assembly claims a line of Python further down."""
    text = """
    .loc 1 30 9
    // begin inline asm
    .loc 1 30 9
    mov.u32 %r1, 0x0;
    .loc 1 31 9
    @%p1 ld.global.b32 { %r1 }, [ %rd1 + 0 ];
    // end inline asm
    .loc 1 30 9
    // begin inline asm
    .loc 1 30 9
    mov.u32 %r2, 0x0;
    .loc 1 31 9
    @%p1 ld.global.b32 { %r2 }, [ %rd1 + 4 ];
    // end inline asm
    .loc 1 32 5
    st.global.b32 [%rd2], %r1;
    """
    assert widths(text) == {
        ("load", PLACE): frozenset({4}),
        ("store", (SourceLocation("k.py", 32, 5),)): frozenset({4}),
    }


def test_a_place_is_read_once_if_none_of_its_loads_is_in_a_loop() -> None:
    text = """
    .file 1 "k.py"
    .loc 1 3 1
    ld.global.b32 %r1, [%rd1];
    .loc 1 4 1
    ld.global.b32 %r2, [%rd2];
    $loop:
    .loc 1 4 1
    ld.global.b32 %r2, [%rd2];
    .loc 1 5 1
    ld.shared.b32 %r3, [%r2];
    st.global.b32 [%rd3], %r3;
    @%p1 bra $loop;
    .loc 1 6 1
    st.global.b32 [%rd4], %r3;
    ret;
    """
    (kernel,) = parse(text).kernels
    assert read_once(kernel) == {SourceLocation("k.py", 3, 1)}


def test_accesses_of_unknown_width_are_named() -> None:
    (kernel,) = parse(
        "ld.global.b32 %r1, [%rd1]; ld.global.x9 %r1, [%rd1]; ld.shared.x9 %r1, [%r2];"
        "st.global.x9 [%rd1], %r1; st.global.x9 [%rd2], %r1;"
    ).kernels
    assert uncounted(kernel) == ["ld.global.x9", "st.global.x9"]
    assert access_widths(kernel) == {}
