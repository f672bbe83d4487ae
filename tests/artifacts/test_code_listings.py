"""The code of many cubins at once, against nvdisasm's own listing of each."""

import tarfile
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from irlens import report
from irlens.analyze.capture_code import CaptureCode
from irlens.artifacts import code_listings, store, tools
from irlens.artifacts.code_listings import CodeListings, list_code
from irlens.artifacts.load import load
from irlens.isa import sass
from irlens.model.capture import Capture
from irlens.model.errors import ToolError

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "samples" / "captures"
DATA = ROOT / "tests" / "data"
ARCHIVES = (
    DATA / "h200" / "triton-cache.tar.xz",
    DATA / "cubin" / "triton.tar.xz",
    DATA / "cubin" / "kinds.tar.xz",
)


def contents() -> list[bytes]:
    cubins = [path.read_bytes() for path in SAMPLES.rglob("*.cubin")]
    for path in ARCHIVES:
        with tarfile.open(path) as archive:
            packed = [archive.extractfile(each) for each in archive if each.name.endswith("cubin")]
            cubins += [each.read() for each in packed[::3] if each is not None]
    return list(dict.fromkeys(cubins))


def instructions(section: sass.Section) -> list[tuple[object, ...]]:
    """What a section says, with the places that its labels name."""
    return [
        (
            each.offset, each.guard, each.opcode, each.modifiers, each.schedule,
            [(one.kind, one.registers) for one in each.operands],
            [one.text for one in each.operands if "`(" not in one.text],
            [section.labels[label] for label in each.targets],
        )
        for each in section.instructions
    ]  # fmt: skip


def test_a_listing_says_what_nvdisasm_says_of_the_file() -> None:
    cubins = contents()
    listings = list_code(cubins)
    alone = [cubin for cubin, listing in listings.items() if listing is None]
    assert len(alone) < len(cubins) / 20
    count = other_calls = 0
    for cubin, listing in listings.items():
        whole = tools.disassemble(cubin)
        if listing is None:
            assert tools.INDIRECT_BRANCH.search(whole)
            continue
        listed, known = sass.parse(listing), sass.parse(whole)
        assert not listed.unknown
        for one, other in zip(listed.sections, known.sections, strict=True):
            assert (one.name, one.functions) == (other.name, other.functions)
            assert instructions(one) == instructions(other)
            count += len(one.instructions)
            for mine, its in zip(one.instructions, other.instructions, strict=True):
                assert mine.ptx_line == its.ptx_line
                assert mine.locations[:1] == its.locations[:1]
                other_calls += mine.locations != its.locations
    assert count > 10_000
    assert other_calls < count / 10_000  # where nvdisasm goes on with an earlier call


def capture(name: str) -> Capture:
    (found,) = load(SAMPLES / name)
    assert isinstance(found, Capture)
    return found


def cubin_of(found: Capture) -> bytes:
    return found.stages["cubin"].read()


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The runs of nvdisasm from an empty store, by their last argument."""
    monkeypatch.setenv("IRLENS_CACHE_DIR", str(tmp_path / "cache"))
    known: list[str] = []
    run = tools.run

    def count(tool: Path, arguments: list[str], **options: object) -> str:
        known.append(arguments[-1])
        return run(tool, arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(tools, "run", count)
    return known


def nvidia_samples() -> list[Capture]:
    found = [each for path in sorted(SAMPLES.iterdir()) for each in load(path)]
    return [each for each in found if isinstance(each, Capture) and "cubin" in each.stages]


def test_nvdisasm_runs_once_for_each_architecture_and_when_asked(runs: list[str]) -> None:
    captures = nvidia_samples()
    listings = CodeListings(captures)
    assert runs == []
    for each in captures:
        listings.of(cubin_of(each))
    archs = {each.target.arch for each in captures if each.target is not None}
    assert runs == ["code"] * len(archs)
    assert listings.of(b"another") is None
    assert not (store.root() / tools.DISASSEMBLY.folder).exists()


def test_instructions_that_are_known_are_not_disassembled_again(runs: list[str]) -> None:
    captures = nvidia_samples()
    known = CodeListings(captures).instructions()
    once = len(runs)
    listings = CodeListings(captures)
    for each in captures:
        listing = CodeListings([each], known).of(cubin_of(each))
        assert listing == listings.of(cubin_of(each)) is not None
    assert len(runs) == 2 * once
    assert CodeListings(captures[:1], {}).of(cubin_of(captures[0])) is None


def test_what_nvdisasm_refuses_is_left_to_who_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    captures = nvidia_samples()

    def refuse(*_: object, **__: object) -> str:
        raise ToolError("nvdisasm failed")

    monkeypatch.setattr(tools, "run", refuse)
    assert set(list_code([cubin_of(each) for each in captures]).values()) == {None}

    def miss(_: str) -> Path:
        raise ToolError("nvdisasm is missing")

    monkeypatch.setattr(tools, "find", miss)
    assert CodeListings(captures).of(cubin_of(captures[0])) is None


@pytest.mark.parametrize(
    "printed",
    [
        "",
        "        /*0000*/                   EXIT ;\n",
        "        /*0000*/                   EXIT ;\n        /*0008*/                   NOP ;\n",
    ],
)
def test_a_listing_that_misses_instructions_is_none(
    monkeypatch: pytest.MonkeyPatch, printed: str
) -> None:
    monkeypatch.setattr(tools, "run", lambda *_, **__: printed)
    (cubin,) = [cubin_of(each) for each in nvidia_samples()[:1]]
    assert list_code([cubin]) == {cubin: None}


def section(*code: str, functions: dict[int, str] | None = None) -> str | None:
    words = [bytes([number]) * 16 for number, _ in enumerate(code)]
    body = code_listings._Section("k", b"".join(words), functions or {}, {})
    printed = {
        word: code_listings._instruction(f"                   {each} ;", 16 * number)
        for number, (word, each) in enumerate(zip(words, code, strict=True), 1)
    }
    return code_listings._write(body, printed)


def test_addresses_become_labels() -> None:
    text = section("@P0 BRA 0x40", "WARPSYNC 0x10", "CALL.REL.NOINC R2 0x30", "EXIT",
                   functions={0: "k", 32: "$k$f"})  # fmt: skip
    assert text is not None
    (parsed,) = sass.parse(text).sections
    assert parsed.functions == {"k": 0, "$k$f": 2}
    targets = [[parsed.labels[label] for label in each.targets] for each in parsed.instructions]
    assert targets == [[3], [], [2], []]
    assert parsed.instructions[1].operands[0].kind == "immediate"


@pytest.mark.parametrize("code", ["BRA 0x0", "BRA 0x41", "BRA 0x1000", "BRX R2 -0x20", "JMP 0x20"])
def test_what_leads_elsewhere_is_disassembled_alone(code: str) -> None:
    assert section(code, "EXIT", "EXIT") is None


def test_nvdisasm_reads_each_word_once(runs: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    captures = nvidia_samples()
    sizes: list[int] = []
    written = tools.folder_with

    def note(tool: Path, name: str, content: bytes) -> AbstractContextManager[Path]:
        sizes.append(len(content))
        assert len(set(code_listings._words(content))) == len(content) // 16
        return written(tool, name, content)

    monkeypatch.setattr(tools, "folder_with", note)
    cubins = [cubin_of(each) for each in captures]
    listings = list_code(cubins)
    assert len(runs) == len(sizes) > 1
    listed = sum(text.count("*/ ") for text in listings.values() if text is not None)
    assert sum(sizes) // 16 < 0.9 * listed


def test_what_is_no_cubin_is_left_alone() -> None:
    whole = cubin_of(nvidia_samples()[0])
    for damaged in (b"", b"\x7fELF", whole[: len(whole) // 2]):
        assert list_code([damaged]) == {damaged: None}


def test_reports_are_the_same_with_code_that_is_listed_together() -> None:
    captures = nvidia_samples()
    listings = CodeListings(captures)
    timed = 0
    for each in captures:
        together = report.inspect(CaptureCode(each, listings))
        assert together == report.inspect(each)
        timed += together.time is not None
    assert timed > 3
