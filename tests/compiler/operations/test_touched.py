"""The elements that operators touch, against what their results depend on, element by element."""

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any, TypeAlias

import pytest

if find_spec("torch") is None:
    pytest.skip("PyTorch is not installed", allow_module_level=True)

import torch
import torch.nn.functional as F  # noqa: N812

from irlens.analyze.regions import distinct_bytes
from irlens.compiler.operations.log import OperationLog, RecordingMode
from irlens.model.operations import RecordedOperation
from tests.tables import each_row

Tensor: TypeAlias = Any  # mypy does not follow torch

torch.set_num_threads(1)  # the operators are tiny
ROWS, CLASSES = 6, 10
PICKED = torch.tensor([7, 2, 9, 4, 0, 5])  # one class for each row, and six distinct rows of ten
PART = torch.arange(ROWS * CLASSES).reshape(ROWS, CLASSES) % 3 == 0


def _rows() -> Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.rand(ROWS, CLASSES, generator=generator) + 1


def _table() -> Tensor:
    generator = torch.Generator().manual_seed(1)
    return torch.rand(CLASSES, 4, generator=generator) + 1


def _picked() -> Tensor:
    generator = torch.Generator().manual_seed(2)
    return torch.rand(ROWS, 4, generator=generator) + 3


def _image() -> Tensor:
    generator = torch.Generator().manual_seed(3)
    return torch.rand(1, 2, 8, 8, generator=generator) + 1


def _column() -> Tensor:
    return torch.rand(ROWS, 1, generator=torch.Generator().manual_seed(4)) + 3


def _set_columns(x: Tensor) -> Tensor:
    x[:, torch.tensor([1, 3])] = torch.tensor(9.0)
    return x


#: An operator, and what makes its operands; indices name as many elements as they can.
Case = tuple[Callable[..., Any], tuple[Callable[[], Tensor], ...]]
LABELS = torch.tensor([[[0, 1], [1, 0]]])
CASES: dict[str, Case] = {
    "nll_loss": (lambda x: F.nll_loss(x, PICKED), (_rows,)),
    "nll_loss of rows": (lambda x: F.nll_loss(x, PICKED, reduction="none"), (_rows,)),
    "nll_loss with weights": (
        lambda x, w: F.nll_loss(x, PICKED, weight=w, reduction="sum"),
        (_rows, lambda: _table()[:, 0].clone()),
    ),
    "nll_loss of an image": (
        lambda x: F.nll_loss(x, LABELS, reduction="sum"),
        (lambda: _image()[:, :, :2, :2].clone(),),
    ),
    "embedding": (lambda w: F.embedding(PICKED, w), (_table,)),
    "embedding_bag": (
        lambda w: F.embedding_bag(PICKED, w, torch.tensor([0, 2]), mode="sum"),
        (_table,),
    ),
    "gather": (lambda x: x.gather(1, PICKED[:, None]), (_rows,)),
    "take": (lambda x: x.take(PICKED), (_rows,)),
    "index_select": (lambda w: w.index_select(0, PICKED), (_table,)),
    "index": (lambda w: w[PICKED], (_table,)),
    "index of elements": (lambda x: x[torch.arange(ROWS), PICKED], (_rows,)),
    "index by a mask": (lambda x: x[PART], (_rows,)),
    "masked_select": (lambda x: x.masked_select(PART), (_rows,)),
    "scatter_": (lambda x, s: x.scatter_(1, PICKED[:, None], s), (_rows, _column)),
    "scatter_ of a number": (lambda x: x.scatter_(1, PICKED[:, None], 9.0), (_rows,)),
    "scatter_ of a part": (
        lambda x, s: x.scatter_(1, PICKED[:, None], s),
        (_rows, lambda: _rows() + 3),
    ),
    "scatter_add_": (lambda x, s: x.scatter_add_(1, PICKED[:, None], s), (_rows, _column)),
    "scatter_reduce_": (
        lambda x, s: x.scatter_reduce_(1, PICKED[:, None], s, "sum"),
        (_rows, _column),
    ),
    "index_put_": (lambda w, s: w.index_put_((PICKED,), s), (_table, _picked)),
    "index_put_ of a number": (
        lambda w: w.index_put_((PICKED,), torch.tensor(9.0)),
        (_table,),
    ),
    "index_put_ of elements": (
        lambda x, s: x.index_put_((torch.arange(ROWS), PICKED), s[:, 0]),
        (_rows, _column),
    ),
    "index_put_ of columns": (
        _set_columns,
        (_rows,),
    ),
    "index_put_ that adds": (
        lambda w, s: w.index_put_((PICKED,), s, accumulate=True),
        (_table, _picked),
    ),
    "index_add_": (lambda w, s: w.index_add_(0, PICKED, s), (_table, _picked)),
    "index_copy_": (lambda w, s: w.index_copy_(0, PICKED, s), (_table, _picked)),
    "index_fill_": (lambda w: w.index_fill_(0, PICKED, 9.0), (_table,)),
    "put_": (lambda x, s: x.put_(PICKED, s[:, 0]), (_rows, _column)),
    "masked_fill": (lambda x: x.masked_fill(torch.zeros_like(x) > 0, 0.0), (_rows,)),
    "roll": (lambda x: x.roll(3, 1), (_rows,)),
    "flip": (lambda x: x.flip(1), (_rows,)),
    "narrow": (lambda x: x.narrow(1, 2, 3) * 2, (_rows,)),
    "expand": (lambda x: x.expand(ROWS, 5) * 2, (_column,)),
    "as_strided": (lambda x: torch.as_strided(x, (5, 5), (3, 1)) * 2, (_rows,)),
    "pad": (lambda x: F.pad(x, (1, 2)), (_rows,)),
    "pad that crops": (lambda x: F.pad(x, (-2, 1, -1, -1)), (_rows,)),
    "reflecting pad": (lambda x: F.pad(x, (1, 1, 1, 1), mode="reflect"), (_image,)),
    "nearest, larger": (lambda x: F.interpolate(x, scale_factor=2), (_image,)),
    "nearest, smaller": (lambda x: F.interpolate(x, size=(3, 4)), (_image,)),
    "bilinear, smaller": (lambda x: F.interpolate(x, size=(2, 2), mode="bilinear"), (_image,)),
    "unfold": (lambda x: F.unfold(x, 3), (_image,)),
    "unfold with gaps": (lambda x: F.unfold(x, 1, stride=3), (_image,)),
    "max_pool2d": (lambda x: F.avg_pool2d(x, 2), (_image,)),
    "avg_pool2d with gaps": (lambda x: F.avg_pool2d(x, 1, stride=2), (_image,)),
    "conv2d with gaps": (
        lambda x: F.conv2d(x, torch.ones(3, 2, 1, 1), stride=2),
        (_image,),
    ),
    "conv2d, dilated": (
        lambda x: F.conv2d(x, torch.ones(3, 2, 2, 2), stride=4, dilation=2, padding=1),
        (_image,),
    ),
    "diagonal_copy": (lambda x: torch.diagonal_copy(x), (_rows,)),
    "trace": (lambda x: x.trace(), (_rows,)),
    "slice_copy": (lambda x: torch.slice_copy(x, 1, 2, 7, 2), (_rows,)),
    "kl_div": (lambda x, y: F.kl_div(x, y, reduction="sum"), (_rows, lambda: _rows() + 3)),
    "grid_sample": (
        lambda x: F.grid_sample(x, torch.full((1, 1, 1, 2), 0.1), align_corners=True),
        (_image,),
    ),
    "sort": (lambda x: x.sort(1)[0], (_rows,)),
    "cat": (lambda x, y: torch.cat([x, y]), (_rows, lambda: _rows() + 3)),
}


def _recorded(
    run: Callable[..., Any], operands: Sequence[Tensor]
) -> tuple[list[RecordedOperation], list[int]]:
    log = OperationLog(lambda _: True)
    memories = [log.region(each).memory for each in operands]
    with RecordingMode(log):
        run(*operands)
    return log.operations, memories


def _first_touches(operations: list[RecordedOperation], memory: int) -> int:
    """Return the elements of a memory that operators read, each once."""
    regions = [
        region
        for each in operations
        if each.kind != "view"
        for region in each.reads
        if region.memory == memory
    ]
    size = distinct_bytes(regions)
    assert size is not None
    return size // 4


def _depends(run: Callable[..., Any], operands: Sequence[Tensor], number: int) -> int:
    """Return how many elements of an operand the result depends on.

    An element that an operator in place leaves as it is does not count.
    """
    given = [each.clone() for each in operands]
    before = run(*[each.clone() for each in given])
    in_place = before.shape == given[number].shape and number == 0 and _is_in_place(run, given)
    count = 0
    for place in range(given[number].numel()):
        changed = [each.clone() for each in given]
        changed[number].view(-1)[place] += 0.125
        after = run(*[each.clone() for each in changed])
        differs = (after != before).reshape(-1)
        if in_place and (after.reshape(-1)[place] == changed[number].reshape(-1)[place]):
            differs[place] = False
        count += bool(differs.any())
    return count


def _is_in_place(run: Callable[..., Any], operands: Sequence[Tensor]) -> bool:
    own = [each.clone() for each in operands]
    result = run(*own)
    return bool(result.data_ptr() == own[0].data_ptr())


@each_row("name", CASES)
@pytest.mark.filterwarnings("ignore")
def test_counts_the_elements_that_results_depend_on(name: str) -> None:
    run, makers = CASES[name]
    operands = [make() for make in makers]
    copies = [each.clone() for each in operands]
    operations, memories = _recorded(run, operands)
    for number, memory in enumerate(memories):
        read = _first_touches(operations, memory)
        assert read == _depends(run, copies, number), f"operand {number}"


IN_PLACE = [name for name, (run, makers) in CASES.items() if "_" in name.split()[0][-1:]]


@each_row("name", IN_PLACE)
def test_counts_the_elements_that_are_written(name: str) -> None:
    run, makers = CASES[name]
    operands = [make() for make in makers]
    before = operands[0].clone()
    operations, memories = _recorded(run, operands)
    size = distinct_bytes(
        [each for op in operations for each in op.writes if each.memory == memories[0]]
    )
    assert size == 4 * int((operands[0] != before).sum())


def test_a_mask_writes_at_most_everywhere() -> None:
    x = _rows()
    operations, _ = _recorded(lambda x: x.index_put_((PART,), torch.tensor(0.0)), [x])
    (put,) = [each for each in operations if each.kind == "scatter"]
    assert put.at_most
    assert distinct_bytes(put.writes) == 4 * ROWS * CLASSES


@pytest.mark.parametrize(
    ("forward", "backward"),
    [
        (lambda x: F.nll_loss(x, PICKED), "aten.nll_loss_backward"),
        (
            lambda x: F.max_pool2d(x[None, None], 2),
            "aten.max_pool2d_with_indices_backward",
        ),
        (
            lambda x: F.pad(x[None], (1, 1), mode="reflect"),
            "aten.reflection_pad1d_backward",
        ),
    ],
)
def test_a_derivative_does_not_read_what_only_gives_its_shape(
    forward: Callable[[Tensor], Tensor], backward: str
) -> None:
    x = _rows().requires_grad_()
    operations, (memory,) = _recorded(lambda x: forward(x).sum().backward(), [x])
    (found,) = [each for each in operations if each.name == backward]
    assert memory not in {each.memory for each in found.reads}
    assert distinct_bytes(found.writes) == 4 * ROWS * CLASSES


def test_a_loss_of_a_thousand_classes() -> None:
    """One element of each row, its class, the loss and the weight: not 4.2 MB."""
    x, target = torch.zeros(1024, 1000), torch.zeros(1024, dtype=torch.int64)
    operations, _ = _recorded(lambda x, t: F.nll_loss(x, t), [x, target])
    (loss,) = [each for each in operations if each.kind != "view"]
    assert distinct_bytes(loss.reads) == 1024 * (4 + 8)
    assert distinct_bytes(loss.writes) == 8
    assert loss.at_most
