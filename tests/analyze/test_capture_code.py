"""Lines of Python and what became of them, on what the compiler at hand makes."""

import pytest
from msgspec.structs import replace

import irlens
from irlens.analyze.capture_code import CaptureCode, StageCode
from irlens.analyze.sass_origin import lines_of
from irlens.isa import ptx, sass
from irlens.model.capture import Capture
from irlens.model.config import ConstexprValue
from irlens.model.errors import ArtifactError
from irlens.model.source import SourceLocation

TILE: dict[str, ConstexprValue] = {"BLOCK_SIZE_M": 64, "BLOCK_SIZE_N": 64, "BLOCK_SIZE_K": 32}
MATMUL: dict[str, ConstexprValue] = {**TILE, "num_warps": 4, "num_stages": 3, "GROUP_SIZE_M": 8}
SAMPLES: dict[str, dict[str, ConstexprValue]] = {
    "vector_add": {},
    "softmax": {},
    "matmul": MATMUL,
    "matmul_tma": MATMUL,
    "flash_attention": {},
    "layer_norm": {},
    "spill": {},
}


@pytest.fixture(scope="module", params=["sm_80", "sm_90", "gfx942"])
def softmax(request: pytest.FixtureRequest) -> Capture:
    return irlens.capture("softmax", target=request.param, num_stages=3)


def line_of(capture: Capture, code: str) -> int:
    lines = (capture.python("softmax.py") or "").splitlines()
    (found,) = (number for number, line in enumerate(lines, 1) if code in line)
    return found


@pytest.mark.parametrize("code", ["tl.max(", "tl.sum(", "tl.load(", "tl.store("])
def test_a_line_is_found_at_every_stage(softmax: Capture, code: str) -> None:
    number = line_of(softmax, code)
    found = CaptureCode(softmax)
    assert {"ttir", "ttgir", "llir"} < set(found.stages)
    for stage in set(found.stages) - {"metadata"}:
        assert found[stage].lines_of("softmax.py", number), (stage, code)


def test_what_was_inlined_keeps_its_own_line_too(softmax: Capture) -> None:
    found = CaptureCode(softmax)
    for stage in ("ttgir", "llir", "ptx", "sass", "amdgcn"):
        if stage not in found.stages:
            continue
        inlined = [chain for chain in found[stage].chains.values() if len(chain) > 1]
        assert inlined, stage
        assert all(chain[-1].file == "softmax.py" for chain in inlined)
        assert {chain[0].file for chain in inlined} == {"standard.py"}


def test_keys_are_file_and_line(softmax: Capture) -> None:
    inlined = (SourceLocation("standard.py", 57), SourceLocation("kernel.py", 3))

    found = StageCode(CaptureCode(softmax), "ptx")
    found.chains = {1: inlined, 2: (SourceLocation("kernel.py", 57, 4),), 3: ()}
    assert found.lines_of("kernel.py", 57) == [2]
    assert found.lines_of("standard.py", 57) == [1]
    assert found.lines_of("kernel.py", 3) == [1]


@pytest.mark.parametrize("target", ["sm_80", "sm_90", "sm_100"])
def test_nearly_every_instruction_of_the_samples_has_a_source(target: str) -> None:
    mapped, instructions = {"ptx": 0, "sass": 0}, {"ptx": 0, "sass": 0}
    for kernel, settings in SAMPLES.items():
        capture = irlens.capture(
            kernel, target=target, args=None, grid=None, run=False, triton=None, **settings
        )
        code = CaptureCode(capture)
        for stage in mapped:
            found = code[stage]
            own = of_no_line(capture, found.text) if stage == "sass" else set()
            assert not any(found.chains[line] for line in own)
            mapped[stage] += sum(map(bool, found.chains.values()))
            instructions[stage] += len(found.chains) - len(own)
        assert unexplained(code["ptx"]) == []
    assert mapped["sass"] >= 0.99 * instructions["sass"]
    assert mapped["ptx"] >= 0.96 * instructions["ptx"]


def of_no_line(capture: Capture, listing: str) -> set[int]:
    """Lines of machine code whose PTX is the compiler's own: LLVM says ".loc FILE 0 0" of it."""
    assembled = lines_of(ptx.parse(capture.stages["ptx"].text()).functions).assembled
    code = (each for section in sass.parse(listing).sections for each in section.instructions)
    return {each.line for each in code if assembled.get(each.ptx_line or 0) == 0}


def unexplained(found: StageCode) -> list[str]:
    """PTX without a source for another reason than that LLVM says there is none.

    LLVM gives merged and hoisted instructions a ".loc FILE 0 0", and writes no .loc before the
    first instruction that has a place.
    """
    lines = found.text.splitlines()
    strange, begun = [], False
    for function in ptx.parse(found.text).functions:
        for instruction in function.instructions:
            if found.chains[instruction.line]:
                begun = True
                continue
            above = [line for line in lines[: instruction.line] if line.lstrip().startswith(".loc")]
            if begun and above[-1].split()[2] != "0":
                strange.append(lines[instruction.line - 1])
    return strange


def test_a_missing_stage_has_no_code(softmax: Capture) -> None:
    absent = "ptx" if "amdgcn" in softmax.stages else "amdgcn"
    with pytest.raises(ArtifactError, match=f"no {absent} in this capture"):
        CaptureCode(softmax)[absent]


def test_another_state_of_a_capture_shares_what_it_has_in_common(softmax: Capture) -> None:
    code = CaptureCode(softmax)
    same = code.with_capture(replace(softmax, target=None))
    assert all(same[stage] is code[stage] for stage in code.stages if stage != "metadata")
    assembly = "ptx" if "ptx" in softmax.stages else "amdgcn"
    kept = {name: stage for name, stage in softmax.stages.items() if name != assembly}
    without = code.with_capture(replace(softmax, stages=kept))
    assert assembly not in without.stages
    assert without["llir"] is code["llir"]
    if "sass" in code.stages:  # has the source of its PTX
        assert without["sass"] is not code["sass"]
