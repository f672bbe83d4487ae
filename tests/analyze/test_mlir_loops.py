"""What was asked for, against what Triton did."""

import json
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from irlens.analyze import cfg
from irlens.analyze.loops import ONLY
from irlens.analyze.mlir_loops import Loop, find_loops, requested_stages
from irlens.analyze.pipelines.cp_async import find
from irlens.analyze.pipelines.ptx_loops import analyze_loops
from irlens.analyze.pipelines.verdicts import PtxKernel
from irlens.isa import ptx
from irlens.isa.mlir import parse
from irlens.model.source import SourceLocation

DATA = Path(__file__).parents[1] / "data"
ASYNC = {"ttg.async_copy_global_to_local", "ttng.async_tma_copy_global_to_local"}


def archive(path: Path) -> dict[str, str]:
    with tarfile.open(path) as tar:
        return {
            member.name: file.read().decode()
            for member in tar
            if not member.name.endswith((".cubin", ".mlir.json"))
            and (file := tar.extractfile(member))
        }


@pytest.fixture(scope="module")
def compiled() -> dict[str, str]:
    return archive(DATA / "mlir" / "triton.tar.xz")


def loop_of(text: str) -> Loop:
    (loop,) = find_loops(parse(text, stage="ttir")).values()
    return loop


def stages(text: str, default: int | None = 3) -> int | None:
    requested = requested_stages(parse(text, stage="ttir"), default)
    return requested((SourceLocation("k.py", 2),), ONLY)


FOR = 'scf.for %i = %a to %b step %c : i32 {{\n{body}\n}}{attributes} loc("k.py":2:4)'
DOT = (
    "%p = tt.load %x : tensor<4xf16>\n%q = tt.trans %p : tensor<4xf16>\n"
    "%r = tt.dot %q, %y, %z : tensor<4xf16> * tensor<4xf16> -> tensor<4xf32>"
)
ACCUMULATOR = (
    "%p = tt.load %x : tensor<4xf16>\n"
    "%r = tt.dot %y, %y, %p : tensor<4xf16> * tensor<4xf16> -> tensor<4xf32>"
)
SCALED = (
    "%p = tt.load %x : tensor<4xi8>\n%r = tt.dot_scaled %y scale %p, %y scale %s, %z "
    "lhs = e4m3 rhs = e4m3 : tensor<4xf8>, tensor<4xi8> * tensor<4xf8>, tensor<4xi8> -> f32"
)
LOAD = "%p = tt.load %x : tensor<4xf16>"
CONDITIONAL = f"scf.if %k {{\n{DOT}\n}}"


@pytest.mark.parametrize(
    ("body", "attributes", "expected"),
    [
        (DOT, "", 3),
        (DOT, " {tt.num_stages = 5 : i32}", 5),
        (SCALED, "", 3),
        (LOAD, "", None),
        (LOAD, " {tt.num_stages = 4 : i32}", 4),
        (ACCUMULATOR, "", None),
        (CONDITIONAL, "", None),
        ("", "", None),
    ],
)
def test_a_default_is_meant_for_loads_that_feed_a_dot(
    body: str, attributes: str, expected: int | None
) -> None:
    assert stages(FOR.format(body=body, attributes=attributes)) == expected


def test_an_unknown_default_stays_unknown() -> None:
    assert stages(FOR.format(body=DOT, attributes=""), None) is None


@pytest.mark.parametrize(
    ("outer", "inner", "expected"),
    [
        ("{tt.flatten}", "", 3),
        ("{tt.flatten, tt.num_stages = 4 : i32}", "", 4),
        ("{tt.flatten, tt.num_stages = 4 : i32}", " {tt.num_stages = 5 : i32}", 5),
        ("{tt.num_stages = 4 : i32}", "", 4),
        ("", "", None),
    ],
)
def test_a_loop_nest(outer: str, inner: str, expected: int | None) -> None:
    body = FOR.format(body=DOT, attributes=inner).replace('"k.py":2:4', '"k.py":3:4')
    nest = FOR.format(body=body, attributes=" " + outer)
    assert stages(nest) == expected
    first, second = find_loops(parse(nest)).values()
    assert (first.depth, second.depth) == (0, 1)
    assert (first.inner, second.parent) == ((second.operation,), first.operation)


def test_a_place_with_two_answers_has_none() -> None:
    first = FOR.format(body=DOT, attributes="")
    second = FOR.format(body=DOT, attributes=" {tt.num_stages = 1 : i32}")
    assert stages(first + "\n" + second) is None
    assert stages(first + "\n" + first) == 3


def test_no_ttir_is_no_answer() -> None:
    assert requested_stages(None, 3)((SourceLocation("k.py", 2),), ONLY) is None


def test_what_the_author_wrote_on_the_loop() -> None:
    loop = loop_of(FOR.format(body="", attributes=" {tt.flatten, tt.warp_specialize}"))
    assert loop.flatten
    assert loop.num_stages is None
    assert loop.location == (SourceLocation("k.py", 2, 4),)
    assert not loop_of('scf.while (%i = %a) : (i32) -> i32 {\n} do {\n} loc("k.py":1:1)').feeds_dot


def test_a_loop_is_found_without_a_body() -> None:
    assert not loop_of("scf.for %i = %a to %b step %c : i32").feeds_dot


def kernels() -> Iterator[tuple[str, dict[str, str]]]:
    files = archive(DATA / "h200" / "triton-cache.tar.xz")
    for name in files:
        if name.endswith(".ttir"):
            stem = name.removesuffix(".ttir")
            yield stem, {end: files[f"{stem}.{end}"] for end in ("ttir", "ptx", "json")}


def test_what_was_asked_is_what_the_ptx_of_an_h200_does() -> None:
    """Triton grants every depth it can: where copies are followed, asked equals achieved."""
    compared = 0
    for name, files in kernels():
        requested = requested_stages(
            parse(files["ttir"], stage="ttir"), json.loads(files["json"])["num_stages"]
        )
        for function in ptx.parse(files["ptx"]).functions:
            loops = analyze_loops(function, cfg.build(function))
            for found in find(PtxKernel(loops=loops, requested=requested)):
                if found.achieved_stages is not None:
                    assert found.requested_stages == found.achieved_stages, name
                    compared += 1
                elif found.verdict == "not pipelined":
                    assert found.requested_stages in (None, 1), name
    assert compared >= 20


def test_what_was_not_asked_for_is_not_pipelined(compiled: dict[str, str]) -> None:
    """In every ttgir of every version: asynchronous copies stand only in loops that asked."""
    asked, silent = 0, 0
    for name in compiled:
        if not name.endswith(".ttir"):
            continue
        stem = name.removesuffix(".ttir")
        default = json.loads(compiled[f"{stem}.json"])["num_stages"]
        requested = requested_stages(parse(compiled[name], stage="ttir"), default)
        module = parse(compiled[f"{stem}.ttgir"])
        for index, loop in find_loops(module).items():
            if loop.inner:
                continue
            operation = module.operations[index]
            copies = any(inner.name in ASYNC for inner in module.body(operation))
            wanted = requested(loop.location, ONLY)
            if copies:
                assert wanted is not None, stem
                assert wanted > 1, stem
                asked += 1
            elif wanted is None:
                silent += 1
    assert asked > 50
    assert silent > 50
