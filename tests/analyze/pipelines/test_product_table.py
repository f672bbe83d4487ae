"""Matrix products that were judged by eye, and what the machine code says of the same loops."""

import re
import subprocess
import tarfile
import tomllib
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from irlens.analyze import cfg
from irlens.analyze.pipelines import find_pipelines
from irlens.analyze.pipelines.ptx_loops import analyze_loops
from irlens.analyze.pipelines.verdicts import PtxKernel
from irlens.analyze.pipelines.wgmma import find_serialized
from irlens.artifacts import load, tools
from irlens.isa.ptx import parse
from irlens.model.capture import Capture
from irlens.model.report import COMPUTE_KINDS, Pipeline

ARCHIVE = Path(__file__).parents[2] / "data" / "products" / "captures.tar.xz"
TABLE = tomllib.loads((Path(__file__).parent / "products.toml").read_text())
LOOPS = [loop for group in TABLE["judged"] for loop in group["loops"]]
NAMES = sorted({loop["of"] for loop in LOOPS})
#: Loops whose iterations take different paths: a walk along the text is not one of them.
BRANCHING = {"branch", "persistent_flat"}
ITERATIONS = 40


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("products")
    with tarfile.open(ARCHIVE) as tar:
        tar.extractall(directory, filter="data")
    return directory


def capture_of(directory: Path) -> Capture:
    (found,) = load.load(directory)
    assert isinstance(found, Capture)
    return found


def find(directory: Path, *, assembled: bool = True) -> list[Pipeline]:
    """The products of a capture's loops, in the order of the text.

    Args:
        directory: Of the capture.
        assembled: Whether ptxas's serialization counts, and not the PTX alone.
    """
    capture = capture_of(directory)
    (kernel,) = parse(capture.stages["ptx"].text()).kernels
    pipelines = find_pipelines(
        PtxKernel(
            loops=analyze_loops(kernel, cfg.build(kernel)),
            requested=lambda *_: None,
            serialized=find_serialized(capture, kernel) if assembled else False,
        )
    )
    return [each for each in pipelines if each.kind in COMPUTE_KINDS]


def row(pipeline: Pipeline) -> list[int | None]:
    assert pipeline.product_source is not None
    return [
        pipeline.product_source.line,
        pipeline.achieved_stages,
        pipeline.prefetch_iterations,
        pipeline.groups_per_iteration,
        pipeline.outstanding_at_wait,
        pipeline.outstanding_after_wait,
        pipeline.outstanding_at_end,
    ]


def judged(name: str, key: str = "products") -> list[tuple[int, list[int]]]:
    return [
        (loop["line"], product)
        for loop in LOOPS
        if loop["of"] == name
        for product in loop.get(key, loop["products"])
    ]


@pytest.mark.parametrize("name", NAMES)
def test_each_product_is_what_it_was_judged_to_be(captures: Path, name: str) -> None:
    found = find(captures / name)
    known = [each for each in found if each.achieved_stages is not None]
    assert [(p.source and p.source.line, row(p)) for p in known] == judged(name)
    bounds = [loop["ring"] for loop in LOOPS if loop["of"] == name and "ring" in loop]
    unknown = [each.reason for each in found if each.achieved_stages is None]
    assert len(unknown) == len(bounds)
    for reason, size in zip(unknown, bounds, strict=True):
        assert reason.endswith(f"within a ring of {size} barriers")


@pytest.mark.parametrize("name", sorted({loop["of"] for loop in LOOPS if "written" in loop}))
def test_what_ptxas_serialized_was_written_to_overlap(captures: Path, name: str) -> None:
    found = find(captures / name, assembled=False)
    assert [(p.source and p.source.line, row(p)) for p in found] == judged(name, "written")


def test_the_table_is_large_enough_to_mean_something() -> None:
    assert len(LOOPS) >= 70
    assert sum("sm_90" in loop["of"] for loop in LOOPS) >= 35
    assert sum("sm_100" in loop["of"] for loop in LOOPS) >= 30


class Step(NamedTuple):
    """An instruction of machine code: its opcode, operands and line of Python."""

    offset: int
    opcode: str
    operands: str
    line: int


def disassembled(cubin: Path) -> Iterator[tuple[list[Step], dict[str, int]]]:
    """Yield the code of a cubin's functions, and the offset of each label."""
    command = [tools.find("nvdisasm"), "-c", "-g", cubin]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    steps: list[Step] = []
    labels: dict[str, int] = {}
    waiting: list[str] = []
    line, is_new = 0, True
    for each in text.splitlines():
        place = re.match(r'\s*//## File "(.*?)", line (\d+)', each)
        code = re.match(r"\s*/\*(\w{4,})\*/\s+(?:@!?U?P\w+ )?(\S+)\s*(.*?);?\s*(?:/\*.*)?$", each)
        if place is not None:
            if is_new and place[1].endswith("kernels.py"):
                line, is_new = int(place[2]), False
        elif label := re.match(r"(\.L_x_\d+):", each):
            waiting.append(label[1])
        elif code is not None:
            offset = int(code[1], 16)
            labels.update(dict.fromkeys(waiting, offset))
            waiting, is_new = [], True
            steps.append(Step(offset, code[2], code[3], line))
    yield steps, labels


def bodies(cubin: Path, product: str) -> Iterator[list[Step]]:
    """Yield the innermost loops of a cubin that issue products, in the order of the text."""
    for steps, labels in disassembled(cubin):
        spans = []
        for step in steps:
            target = re.search(r"`\((\.L_x_\d+)\)", step.operands)
            if step.opcode.startswith("BRA") and target is not None:
                first = labels.get(target[1], step.offset + 1)
                spans += [(first, step.offset)] if first <= step.offset else []
        having = [
            (first, last)
            for first, last in spans
            if any(first <= s.offset <= last and re.match(product, s.opcode) for s in steps)
        ]
        chosen: list[tuple[int, int]] = []
        for first, last in sorted(having, key=lambda span: span[1] - span[0]):
            # Not the loops around one, nor the way back into it from a poll out of line.
            if all(last < other[0] or other[1] < first for other in chosen):
                chosen.append((first, last))
        for first, last in sorted(chosen):
            yield [step for step in steps if first <= step.offset <= last]


def walked(body: list[Step], known: list[int]) -> list[list[int]]:
    """Walk along a loop of sm_90 again and again: what becomes of each product's groups.

    Args:
        body: The loop.
        known: The lines of its products. The line table is wrong for some instructions, so that a
            group has the line of most of its own that have one of these.

    Returns:
        As the table has them.
    """
    lines: dict[int, int] = {}
    votes: Counter[int] = Counter()
    for position, step in enumerate(body):
        if "GMMA" in step.opcode:
            votes.update([step.line] if step.line in known else [])
            if "gsb0" in step.operands:
                lines[position] = votes.most_common(1)[0][0] if votes else known[0]
                votes.clear()
    queue: deque[tuple[int, int]] = deque()
    retired: dict[int, tuple[int, int, int]] = {}
    for iteration in range(ITERATIONS):
        for position, step in enumerate(body):
            if position in lines:
                queue.append((position, iteration))
            elif step.opcode == "WARPGROUP.DEPBAR.LE" and "gsb0" in step.operands:
                limit, before = int(step.operands.split(",")[1], 16), len(queue)
                while len(queue) > limit:
                    at, begun = queue.popleft()
                    retired[at] = (iteration - begun, before, limit)
    left = Counter(lines[at] for at, _ in queue)
    rows = []
    for line in dict.fromkeys(lines.values()):
        own = [at for at, place in lines.items() if place == line]
        age, before, after = max((retired[at] for at in own), key=lambda each: each[0])
        last = max(at for at in own if retired[at][0] == age)
        _, before, after = retired[last]
        rows.append([line, age + 1, age, len(own), before, after, left[line]])
    return rows


HOPPER = [n for n in NAMES if "sm_90" in n and n.split("-")[0] not in BRANCHING]
BLACKWELL = [n for n in NAMES if "sm_100" in n]


@pytest.mark.slow
@pytest.mark.parametrize("name", HOPPER)
def test_the_machine_code_of_hopper_waits_as_judged(captures: Path, name: str) -> None:
    (cubin,) = (captures / name).glob("*.cubin")
    loops = [loop["products"] for loop in LOOPS if loop["of"] == name]
    made = list(bodies(cubin, r"\wGMMA"))
    known = [[product[0] for product in products] for products in loops]
    assert [walked(*pair) for pair in zip(made, known, strict=True)] == loops


@pytest.mark.slow
@pytest.mark.parametrize("name", BLACKWELL)
def test_the_machine_code_of_blackwell_has_the_same_order(captures: Path, name: str) -> None:
    """Products and commits of each loop stand in the order in which the PTX has them."""
    (cubin,) = (captures / name).glob("*.cubin")
    (ptx,) = (captures / name).glob("*.ptx")
    assembled = [
        runs(re.match(r"UTC\wMMA", s.opcode) is not None for s in body if is_step(s.opcode))
        for body in bodies(cubin, r"UTC\wMMA")
    ]
    assert sorted(assembled) == sorted(_loops_of_ptx(ptx.read_text()))


def is_step(opcode: str) -> bool:
    return re.match(r"UTC\wMMA|UTCBAR", opcode) is not None


def runs(products: Iterable[bool]) -> list[int]:
    """Lengths of runs of products, with a 0 for each commit."""
    lengths: list[int] = []
    for product in products:
        if not product:
            lengths.append(0)
        elif lengths and lengths[-1]:
            lengths[-1] += 1
        else:
            lengths.append(1)
    return lengths


def _loops_of_ptx(text: str) -> Iterator[list[int]]:
    """Yield the runs of each innermost loop with products, read line by line."""
    lines = text.splitlines()
    labels = {m[1]: n for n, each in enumerate(lines) if (m := re.match(r"(\$L__BB\w+):", each))}
    spans = []
    for number, each in enumerate(lines):
        target = re.search(r"\bbra(?:\.uni)?\s+(\$L__BB\w+);", each)
        if target is not None and labels[target[1]] <= number:
            spans.append((labels[target[1]], number))
    having = [(a, b) for a, b in spans if any("tcgen05.mma" in each for each in lines[a : b + 1])]
    for first, last in having:
        if not any(o != (first, last) and first <= o[0] and o[1] <= last for o in having):
            some = (re.search(r"tcgen05\.(mma|commit)", each) for each in lines[first : last + 1])
            yield runs(found[1] == "mma" for found in some if found is not None)
