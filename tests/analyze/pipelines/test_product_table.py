"""Matrix products that were judged by eye, and what the machine code says of the same loops."""

import re
import subprocess
import tarfile
import tomllib
from collections import Counter, deque
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from irlens.analyze import cfg
from irlens.analyze.pipelines import find_pipelines
from irlens.analyze.pipelines.ptx_loops import analyze_loops
from irlens.analyze.pipelines.verdicts import PtxKernel
from irlens.analyze.pipelines.wgmma import find_serialized
from irlens.artifacts import load, tools
from irlens.artifacts.code_listings import list_code
from irlens.isa.ptx import parse
from irlens.model.capture import Capture
from irlens.model.report import COMPUTE_KINDS, Pipeline
from tests.tables import each_row

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
            serialized=find_serialized(kernel, capture.stages.get("cubin"), capture.kernel)
            if assembled
            else False,
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


@each_row("name", NAMES)
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


def bodies(lines: list[str], label: str, jump: str, product: str) -> Iterator[list[str]]:
    """Yield the innermost loops with products of a text, in its order, line by line.

    Args:
        lines: The text.
        label: Matches a label, at the start of a line.
        jump: Matches a jump, with the label that it leads to.
        product: Matches an instruction that issues a product.
    """
    labels = {m[1]: n for n, each in enumerate(lines) if (m := re.match(label, each))}
    ends: dict[int, int] = {}
    for number, each in enumerate(lines):
        first = labels.get(m[1], number + 1) if (m := re.search(jump, each)) else number + 1
        if first <= number and any(re.search(product, one) for one in lines[first : number + 1]):
            ends[first] = number
    chosen: list[tuple[int, int]] = []
    for first, last in sorted(ends.items(), key=lambda span: span[1] - span[0]):
        # Not the loops around one.
        if all(last < other[0] or other[1] < first for other in chosen):
            chosen.append((first, last))
    for first, last in sorted(chosen):
        yield lines[first : last + 1]


@pytest.fixture(scope="module")
def listings(captures: Path) -> Callable[[str], str]:
    """Lists a capture's machine code: nvdisasm reads that of all captures at once."""
    cubins = {name: next((captures / name).glob("*.cubin")) for name in {*HOPPER, *BLACKWELL}}
    made = list_code([path.read_bytes() for path in cubins.values()])

    def listing(name: str) -> str:
        text = made[cubins[name].read_bytes()]
        if text is None:
            command = [tools.find("nvdisasm"), tools.WITHOUT_DATAFLOW, "-c", cubins[name]]
            text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        return text

    return listing


def machine_loops(text: str, product: str) -> list[list[str]]:
    """The loops with products in a listing of machine code."""
    # Without a condition: the way back from a poll that stands out of line, or that of a loop which
    # is left in front of it.
    for condition in (r"(?:@!?U?P\w+ +BRA|BRA\.U)", "BRA"):
        jump = rf"{condition} .*`\((\.L_x_\d+)\)"
        if found := list(bodies(text.splitlines(), r"(\.L_x_\d+):", jump, product)):
            return found
    return []


def walked(body: list[str], products: list[list[int]]) -> list[list[int]]:
    """Walk along a loop of sm_90 again and again: what becomes of each product's groups.

    Args:
        body: The loop.
        products: Its rows of the table, in the order of the text. The line table of machine code
            is wrong for some products, so that groups belong to them in this order.

    Returns:
        The rows, as the machine code has them.
    """
    closing = [n for n, each in enumerate(body) if "GMMA" in each and "gsb0" in each]
    places = [product[0] for product in products for _ in range(product[3])]
    lines = dict(zip(closing, places, strict=True))
    queue: deque[tuple[int, int]] = deque()
    retired: dict[int, tuple[int, int, int]] = {}
    for iteration in range(ITERATIONS):
        for position, each in enumerate(body):
            if position in lines:
                queue.append((position, iteration))
            elif wait := re.search(r"WARPGROUP\.DEPBAR\.LE gsb0, 0x(\w+)", each):
                limit, before = int(wait[1], 16), len(queue)
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
@each_row("name", HOPPER)
def test_the_machine_code_of_hopper_waits_as_judged(
    listings: Callable[[str], str], name: str
) -> None:
    loops = [loop["products"] for loop in LOOPS if loop["of"] == name]
    made = machine_loops(listings(name), r"\wGMMA")
    assert [walked(*pair) for pair in zip(made, loops, strict=True)] == loops


@pytest.mark.slow
@each_row("name", BLACKWELL)
def test_the_machine_code_of_blackwell_has_the_same_order(
    captures: Path, listings: Callable[[str], str], name: str
) -> None:
    """Products and commits of each loop stand in the order in which the PTX has them."""
    (ptx,) = (captures / name).glob("*.ptx")
    jump = r"\bbra(?:\.uni)?\s+(\$L__BB\w+);"
    written = bodies(ptx.read_text().splitlines(), r"(\$L__BB\w+):", jump, r"tcgen05\.mma")
    assembled = machine_loops(listings(name), r"UTC\wMMA")
    assert sorted(runs(body, r"UTC(\wMMA|BAR) ") for body in assembled) == sorted(
        runs(body, r"tcgen05\.(mma|commit)") for body in written
    )


def runs(body: list[str], step: str) -> list[int]:
    """Lengths of runs of products in a loop, with a 0 for each commit, in the smallest rotation.

    The two texts may begin a loop at different places.
    """
    lengths: list[int] = []
    for found in (m for each in body if (m := re.search(step, each))):
        if "MMA" not in found[1].upper():
            lengths.append(0)
        elif lengths and lengths[-1]:
            lengths[-1] += 1
        else:
            lengths.append(1)
    return min(lengths[n:] + lengths[:n] for n in range(len(lengths)))
