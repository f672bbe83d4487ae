"""Ledgers: bytes of each operation, groups, and the rules, on PyTorch's own operators."""

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch

from irlens.analyze.fusion import ledger_of
from irlens.compiler.operations.log import OperationLog, RecordingMode
from irlens.model.ledger import Ledger


def ledger(function: Callable[..., Any], row_limit: int = 32_768, **tensors: Any) -> Ledger:
    """Return the ledger of a function; tensors are shapes of fp32, or tensors."""
    given = {
        name: each if torch.is_tensor(each) else torch.empty(each, device="meta")
        for name, each in tensors.items()
    }
    log = OperationLog(lambda tensor: tensor.is_meta)
    with RecordingMode(log):
        result = function(**given)
    results = result if isinstance(result, tuple | list) else [result]
    program = log.program(names=given, outputs=[each for each in results if each is not None])
    return ledger_of(program, function.__name__, "reference", row_limit=row_limit)


def groups(found: Ledger) -> list[list[str]]:
    """Return the names of each group's operations."""
    names = {each.number: each.name.removeprefix("aten.") for each in found.operations}
    return [[names[number] for number in group.operations] for group in found.groups]


def rules(found: Ledger) -> list[str]:
    return [each.rule for each in found.operations if each.rule != "view"]


def naive_softmax(x: Any) -> Any:
    exponentials = (x - x.amax(dim=1, keepdim=True)).exp()
    return exponentials / exponentials.sum(dim=1, keepdim=True)


@pytest.mark.parametrize(("m", "n"), [(1, 2), (3, 5), (7, 1000), (4096, 1024), (128, 32_768)])
def test_a_naive_softmax_moves_8mn_4m(m: int, n: int) -> None:
    found = ledger(naive_softmax, x=(m, n))
    assert found.separate.read_bytes == 4 * (5 * m * n + 2 * m)
    assert found.separate.written_bytes == 4 * (3 * m * n + 2 * m)
    assert found.separate.kernels == 5
    assert found.grouped.read_bytes == found.grouped.written_bytes == 4 * m * n
    assert found.one_pass.read_bytes == found.one_pass.written_bytes == 4 * m * n
    assert len(found.groups) == 1


def test_a_maximum_with_its_index_writes_the_index_too() -> None:
    def tutorial(x: Any) -> Any:
        numerator = torch.exp(x - x.max(dim=1)[0][:, None])
        return numerator / numerator.sum(dim=1)[:, None]

    m, n = 128, 781
    found = ledger(tutorial, x=(m, n))
    assert found.separate.read_bytes == 4 * (5 * m * n + 2 * m)
    assert found.separate.written_bytes == 4 * (3 * m * n + 2 * m) + 8 * m
    assert found.grouped.written_bytes == 4 * m * n  # nobody asks for the index


def test_a_row_that_does_not_stay_on_chip_closes_the_group() -> None:
    m, n = 64, 32_769
    found = ledger(naive_softmax, x=(m, n))
    assert groups(found) == [["amax"], ["sub", "exp", "sum"], ["div"]]
    assert [r for r in rules(found) if r == "row too long"] == ["row too long"] * 2
    assert found.grouped.read_bytes == 4 * (3 * m * n + 2 * m)
    assert found.grouped.written_bytes == 4 * (2 * m * n + 2 * m)
    assert len(ledger(naive_softmax, row_limit=n, x=(m, n)).groups) == 1


def test_a_library_call_is_one_operation() -> None:
    found = ledger(lambda x: x.softmax(-1), x=(64, 100))
    assert [each.name for each in found.operations] == ["aten._softmax"]
    assert found.separate == found.grouped == found.one_pass
    assert found.separate.total == 2 * 4 * 64 * 100


def test_layer_norm_by_hand() -> None:
    def layer_norm(x: Any, weight: Any, bias: Any) -> Any:
        centered = x - x.mean(dim=1, keepdim=True)
        variance = centered.square().mean(dim=1, keepdim=True)
        return centered * (variance + 1e-5).rsqrt() * weight + bias

    m, n = 96, 515
    found = ledger(layer_norm, x=(m, n), weight=(n,), bias=(n,))
    assert len(found.groups) == 1
    # mean, sub, pow, mean, add, rsqrt, mul, mul, add
    assert found.separate.read_bytes == 4 * (7 * m * n + 4 * m + 2 * n)
    assert found.separate.written_bytes == 4 * (5 * m * n + 4 * m)
    assert found.grouped.read_bytes == 4 * (m * n + 2 * n)
    assert found.grouped.written_bytes == 4 * m * n


def test_a_chain_of_gelu() -> None:
    def gelu(x: Any) -> Any:
        inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)
        return 0.5 * x * (1 + inner.tanh())

    n = 1000
    found = ledger(gelu, x=(n,))
    assert len(found.groups) == 1
    # 0.044715 x, * x, * x, + x, * c, tanh, 1 +, 0.5 x, *: x twice is counted once.
    assert found.separate.kernels == 9
    assert found.separate.read_bytes == 4 * 13 * n
    assert found.separate.written_bytes == 4 * 9 * n
    assert (found.grouped.read_bytes, found.grouped.written_bytes) == (4 * n, 4 * n)


def test_a_product_takes_its_epilogue() -> None:
    def layer(a: Any, b: Any, bias: Any) -> Any:
        return (a @ b + bias).relu()

    m, n, k = 96, 80, 64
    found = ledger(layer, a=(m, k), b=(k, n), bias=(n,))
    assert groups(found) == [["mm", "add", "relu"]]
    assert rules(found) == ["first", "epilogue", "epilogue"]
    assert found.grouped.read_bytes == 4 * (m * k + k * n + n)
    assert found.grouped.written_bytes == 4 * m * n
    assert found.separate.total == 4 * (m * k + k * n + m * n + 2 * m * n + n + 2 * m * n)


def test_a_product_computes_nothing_before_it() -> None:
    def half(a: Any, b: Any, bias: Any) -> Any:
        return (a.float() @ b.float() + bias.float()).relu().to(a.dtype)

    tensors = {
        "a": torch.empty(32, 64, dtype=torch.float16, device="meta"),
        "b": torch.empty(64, 48, dtype=torch.float16, device="meta"),
        "bias": torch.empty(48, dtype=torch.float16, device="meta"),
    }
    found = ledger(half, **tensors)
    assert groups(found) == [
        ["_to_copy"],
        ["_to_copy"],
        ["mm", "_to_copy", "add", "relu", "_to_copy"],
    ]
    assert rules(found)[2] == "prologue"
    assert found.grouped.read_bytes == 2 * (32 * 64 + 64 * 48 + 48) + 4 * (32 * 64 + 64 * 48)
    assert found.grouped.written_bytes == 4 * (32 * 64 + 64 * 48) + 2 * 32 * 48


def attention(q: Any, k: Any, v: Any) -> Any:
    return torch.softmax(q @ k.transpose(-1, -2) * 0.125, dim=-1) @ v


def test_attention_and_its_intermediates() -> None:
    b, n, d = 6, 128, 64
    found = ledger(attention, q=(b, n, d), k=(b, n, d), v=(b, n, d))
    assert groups(found) == [["bmm", "mul"], ["_softmax"], ["bmm"]]
    assert rules(found) == ["first", "epilogue", "tiles", "prologue"]
    qkv, scores = 4 * b * n * d, 4 * b * n * n
    assert found.separate.read_bytes == 3 * qkv + 3 * scores
    assert found.separate.written_bytes == qkv + 3 * scores
    assert found.grouped.total == 4 * qkv + 4 * scores
    assert found.one_pass.total == 4 * qkv  # what flash attention moves


def test_attention_in_one_call_has_no_intermediates() -> None:
    def fused(q: Any, k: Any, v: Any) -> Any:
        return torch.ops.aten._scaled_dot_product_flash_attention(q, k, v)[0]

    half = torch.empty(2, 3, 128, 64, dtype=torch.float16, device="meta")
    found = ledger(fused, q=half, k=half.clone(), v=half.clone())
    assert found.separate.kernels == 1
    assert found.one_pass.total == 4 * half.nbytes


def test_broadcast_operands_count_their_memory_once() -> None:
    found = ledger(lambda x, row: x + row.expand(100, 30), x=(100, 30), row=(30,))
    assert found.separate.read_bytes == 4 * (100 * 30 + 30)
    assert [each.kind for each in found.operations] == ["view", "pointwise"]


def test_views_move_nothing() -> None:
    found = ledger(lambda x: x.T.reshape(-1, 2, 5)[..., 0], x=(10, 20))
    assert all(each.kind == "view" or each.name == "aten.clone" for each in found.operations)
    assert all(each.group is None for each in found.operations if each.kind == "view")
    only_views = ledger(lambda x: x.T[3:], x=(10, 20))
    assert only_views.separate.kernels == only_views.one_pass.kernels == 0
    assert only_views.groups == []


def test_elements_through_a_view_fuse_and_parts_do_not() -> None:
    found = ledger(lambda x, w: x.relu().T + w, x=(10, 20), w=(20, 10))
    assert rules(found) == ["first", "through a view"]
    halves = ledger(lambda x: torch.mul(*x.relu().chunk(2, dim=1)), x=(10, 20))
    assert rules(halves) == ["first", "part"]


def test_one_operand_twice_is_read_once() -> None:
    assert ledger(lambda x: x * x, x=(50,)).separate.read_bytes == 200
    halves = ledger(lambda x: x[::2] * x[1::2], x=(50,))
    assert halves.separate.read_bytes == 200
    overlapping = ledger(lambda x: x[:30] * x[20:], x=(50,))
    assert overlapping.separate.read_bytes == 200


def test_in_place() -> None:
    def scaled(x: Any) -> Any:
        x.mul_(2).add_(1)
        return None

    found = ledger(scaled, x=(40,))
    assert groups(found) == [["mul_", "add_"]]
    assert found.separate.total == 4 * 160
    assert found.grouped.total == found.one_pass.total == 2 * 160  # a changed input is a result


def test_in_place_with_aliasing() -> None:
    def transposed(x: Any) -> Any:
        y = x.T + 1
        return x.add_(y)

    found = ledger(transposed, x=(8, 8))
    assert rules(found) == ["first", "aliased"]

    def part(x: Any) -> Any:
        x[:, 0].add_(1)
        return x * 2

    found = ledger(part, x=(8, 8))
    assert rules(found) == ["first", "aliased"]
    assert found.separate.read_bytes == 4 * (8 + 64)
    assert found.one_pass.read_bytes == 4 * 64
    assert found.one_pass.written_bytes == 4 * (8 + 64)


def test_memory_that_is_filled_part_by_part_is_written_once() -> None:
    def joined(a: Any, b: Any) -> Any:
        out = torch.empty(10, 20, device="meta")
        out[:, :10].copy_(a)
        out[:, 10:].copy_(b)
        return out

    found = ledger(joined, a=(10, 10), b=(10, 10))
    assert found.separate.written_bytes == found.grouped.written_bytes == 4 * 200
    assert found.one_pass.written_bytes == 4 * 200


def test_dtypes() -> None:
    half = torch.empty(100, dtype=torch.float16, device="meta")
    found = ledger(lambda x: x.float().exp().to(torch.bfloat16) > 0, x=half)
    sizes = [(each.read_bytes, each.written_bytes) for each in found.operations]
    assert sizes == [(200, 400), (400, 400), (400, 200), (200, 100)]
    assert (found.grouped.read_bytes, found.grouped.written_bytes) == (200, 100)


def test_a_result_with_two_readers_is_written_once_and_not_read() -> None:
    def two(x: Any) -> Any:
        y = x.exp()
        return y, (y + 1) * y

    found = ledger(two, x=(100,))
    assert len(found.groups) == 1
    assert (found.grouped.read_bytes, found.grouped.written_bytes) == (400, 800)


def test_branches_that_meet_are_united() -> None:
    found = ledger(lambda x, y: x.relu() + y.sigmoid(), x=(100,), y=(100,))
    assert len(found.groups) == 1
    assert found.grouped.total == 3 * 400


def test_operations_that_share_an_input_fuse() -> None:
    found = ledger(lambda x: (x.relu(), x.sigmoid()), x=(100,))
    assert rules(found) == ["first", "shared input"]
    assert found.grouped.read_bytes == 400


def test_random_numbers_and_data_close_a_group() -> None:
    found = ledger(lambda x: torch.nn.functional.dropout(x.relu(), 0.5), x=(100,))
    assert "random" in rules(found)
    index = torch.zeros(7, dtype=torch.int64, device="meta")
    found = ledger(lambda table, index: table.exp()[index] * 2, table=(50, 16), index=index)
    assert groups(found) == [["exp"], ["index", "mul"]]
    gather = found.operations[1] if found.operations[1].kind == "gather" else found.operations[2]
    assert gather.read_bytes == 4 * 7 * 16 + 8 * 7
    assert gather.at_most
    assert found.at_most == [gather.at_most]


def test_a_column_sum_keeps_the_columns_of_a_sector() -> None:
    def centered(x: Any) -> Any:
        return x - x.mean(dim=0)

    assert len(ledger(centered, x=(4096, 64)).groups) == 1
    assert len(ledger(centered, x=(4097, 64)).groups) == 2
    assert len(ledger(centered, x=(4097, 1)).groups) == 1


def test_folds_of_different_axes_do_not_fuse() -> None:
    found = ledger(lambda x: (x.sum(dim=0), x.sum(dim=1)), x=(64, 64))
    assert len(found.groups) == 2
    loss = ledger(lambda x: x.square().sum(dim=1).mean(), x=(64, 64))
    assert groups(loss) == [["pow", "sum"], ["mean"]]
    assert rules(loss)[-1] == "other axes"


def test_results_of_rows_need_no_row() -> None:
    found = ledger(lambda x: (x.square().mean(dim=1) + 1e-6).sqrt(), x=(8, 100_000))
    assert len(found.groups) == 1
    whole = ledger(lambda x, y: y * x.sum(), x=(1000, 100), y=(1000, 100))
    assert rules(whole) == ["first", "row too long"]


def test_every_row_says_why() -> None:
    found = ledger(attention, q=(2, 16, 8), k=(2, 16, 8), v=(2, 16, 8))
    for each in found.operations:
        assert each.reason
    begun = [each for each in found.operations if each.reason.startswith("new group: ")]
    assert sorted(each.group or 0 for each in begun) == [group.number for group in found.groups]


def test_a_product_takes_an_epilogue_with_what_another_kernel_writes() -> None:
    def dropped(a: Any, b: Any) -> Any:
        return torch.nn.functional.dropout(a @ b, 0.5)

    found = ledger(dropped, a=(32, 16), b=(16, 32))
    assert groups(found)[-1] == ["mm", "div_", "mul"]


def test_an_operation_that_is_alone_writes_what_nobody_reads() -> None:
    found = ledger(lambda x: x.max(dim=1)[0], x=(10, 20))
    assert found.grouped == found.separate
    assert found.separate.written_bytes == 12 * 10
    assert found.one_pass.written_bytes == 4 * 10
